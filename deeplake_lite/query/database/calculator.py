"""A small second database that computes constants and determines the types of expressions.

It can be used while a query runs. It starts no threads, so it also works in a forked process.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from deeplake_lite.query.database.connect import connect

if TYPE_CHECKING:
    import duckdb


def calculator() -> duckdb.DuckDBPyConnection:
    """Return a new connection. Each thread needs its own."""
    return _database().cursor()


@cache
def _database() -> duckdb.DuckDBPyConnection:
    return connect(threads=1)
