"""Create DuckDB databases in memory, without access to files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deeplake_lite.errors import StorageError
from deeplake_lite.query.database.json_keys import create_json_key
from deeplake_lite.query.database.vector_room import create_have_room

if TYPE_CHECKING:
    import duckdb


def connect(**config: Any) -> duckdb.DuckDBPyConnection:
    """Return a new database that has the SQL functions of this package, and no access to files.

    Parameters
    ----------
    **config : object
        Additional DuckDB settings.

    Raises
    ------
    StorageError
        If the system has run out of memory or file descriptors.
    """
    import duckdb

    try:
        database = duckdb.connect(
            config={
                "enable_external_access": False,
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
                "python_enable_replacements": False,
                **config,
            }
        )
    except (duckdb.IOException, duckdb.OutOfMemoryException) as error:
        raise StorageError(
            f"DuckDB, which runs the queries, could not start: {error}. Close files or free "
            "memory, and run the query again."
        ) from error
    # If a statement takes two seconds in a notebook or another program that is not a script, DuckDB
    # prints a bar on stdout. Connections made from this one have none.
    database.execute("SET enable_progress_bar = false")
    database.execute("SET GLOBAL TimeZone = 'UTC'")  # the default is the machine's time zone
    create_json_key(database)
    create_have_room(database)
    return database
