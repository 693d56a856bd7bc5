"""Everything that talks to DuckDB: connections, threads, errors, and conversion of columns."""
