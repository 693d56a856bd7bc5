"""Tensors of a query, computed by NumPy in blocks of rows."""
