"""The interface to DuckDB: connections, threads, errors, and conversion of columns."""
