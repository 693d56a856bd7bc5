"""Connect to DuckDB, run SQL in a separate thread, translate errors, and convert columns."""
