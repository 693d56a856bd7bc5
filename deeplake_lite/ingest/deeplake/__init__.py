"""Ingesting Deep Lake datasets, versions 3 and 4, with their history."""
