"""Datasets, views, columns and diffs: the objects through which users work with a lake."""
