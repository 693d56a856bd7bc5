"""Ingesting datasets of Deep Lake, versions 4 and 3, with their history."""
