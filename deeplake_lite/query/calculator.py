"""A small database beside the one that runs queries: for single values, and types of expressions.

It starts no threads that a fork would lose, and is asked while a query runs, too.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from deeplake_lite.query.json_keys import create_json_key
from deeplake_lite.query.vector_room import create_have_room

if TYPE_CHECKING:
    import duckdb


def calculator() -> duckdb.DuckDBPyConnection:
    """Return a connection of the caller's own, as threads share none."""
    return _database().cursor()


@cache
def _database() -> duckdb.DuckDBPyConnection:
    import duckdb

    database = duckdb.connect(
        config={
            "threads": 1,
            "enable_external_access": False,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "python_enable_replacements": False,
        }
    )
    create_json_key(database)
    create_have_room(database)
    return database
