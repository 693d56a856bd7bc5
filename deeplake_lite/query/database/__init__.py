"""Connect to DuckDB, run SQL in its own thread, translate errors, and convert columns."""
