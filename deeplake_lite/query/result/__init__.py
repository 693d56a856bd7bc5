"""From what DuckDB and NumPy computed to a view and its columns."""
