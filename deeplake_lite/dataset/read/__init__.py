"""Reads of a view: indices, values, comparisons, and columns that are not stored."""
