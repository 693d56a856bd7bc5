"""Build a view and its columns from the results of DuckDB and NumPy."""
