"""How much the long values of a vector take, as a function that DuckDB calls before it makes any.

DuckDB computes an expression for up to 2,048 rows at once, outside of its memory limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    import duckdb

HAVE_ROOM = "lake_have_room"
"""Name of the function: from the bytes of each value to whether all of a vector have room."""

MOST_BYTES = 1 << 30
"""Bytes of all values that are computed at once, at the most."""


def have_room(sizes: pa.Array) -> pa.Array:
    """Return for each value whether those of the whole vector have room together.

    >>> have_room(pa.array([2.0**29, None])).to_pylist(), have_room(pa.array([2.0**29] * 3))[0]
    ([True, True], <pyarrow.BooleanScalar: False>)
    """
    total = pc.sum(sizes).as_py() or 0
    return pa.array(np.full(len(sizes), total <= MOST_BYTES))


def create_have_room(connection: duckdb.DuckDBPyConnection) -> None:
    """Let queries of a database call the function."""
    from duckdb.func import FunctionNullHandling, PythonUDFType

    connection.create_function(
        HAVE_ROOM,
        have_room,
        ["DOUBLE"],
        "BOOLEAN",
        type=PythonUDFType.ARROW,
        null_handling=FunctionNullHandling.SPECIAL,
    )
