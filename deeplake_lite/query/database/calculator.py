"""A small database beside the one that runs queries: for single values, and types of expressions.

It starts no threads that a fork would lose, and is asked while a query runs, too.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from deeplake_lite.query.database.connect import connect

if TYPE_CHECKING:
    import duckdb


def calculator() -> duckdb.DuckDBPyConnection:
    """Return a connection of the caller's own, as threads share none."""
    return _database().cursor()


@cache
def _database() -> duckdb.DuckDBPyConnection:
    return connect(threads=1)
