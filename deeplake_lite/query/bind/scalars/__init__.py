"""Generate SQL for scalars that follows the rules of the query language, not those of DuckDB.

Scalars are numbers, times, strings, JSON, bytes, lists and structs.
"""
