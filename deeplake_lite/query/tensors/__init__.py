"""Evaluate trees with NumPy, in blocks of rows."""
