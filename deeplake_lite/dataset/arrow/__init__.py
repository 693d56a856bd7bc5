"""Conversion to and from Arrow: types, cells, and the values of columns that users pass."""
