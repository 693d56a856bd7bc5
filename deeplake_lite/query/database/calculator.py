"""A second DuckDB database, without tables, in which types and constants are computed.

It can be used while the main database runs a query. It starts no threads, so it also works in a
forked process.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from deeplake_lite.query.database.connect import connect

if TYPE_CHECKING:
    import duckdb


def calculator() -> duckdb.DuckDBPyConnection:
    """Return a new connection to the database. Each thread needs a connection of its own."""
    return _database().cursor()


@cache
def _database() -> duckdb.DuckDBPyConnection:
    return connect(threads=1)
