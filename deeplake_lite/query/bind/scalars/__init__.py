"""SQL for scalars (numbers, times, JSON, bytes, lists) that follows our rules, not DuckDB's."""
