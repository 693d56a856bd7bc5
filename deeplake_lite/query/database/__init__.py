"""DuckDB: its connections, threads and errors, and columns on the way to it and back."""
