"""The tensor part of a query, which NumPy computes in blocks of rows."""
