"""Generate SQL for scalars that follows the rules of the query language where DuckDB's differ.

Scalars are numbers, times, strings, JSON, bytes, lists and structs.
"""
