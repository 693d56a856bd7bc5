"""Scalars in SQL, compared as the language promises: numbers, times, JSON, bytes, lists."""
