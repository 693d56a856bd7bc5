"""Define the SQL function with which DuckDB checks that the values of a vector fit in memory.

DuckDB computes an expression for up to 2,048 rows at a time. The values for these rows are a
vector. DuckDB's memory limit does not apply to them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    import duckdb

HAVE_ROOM = "lake_have_room"
"""Name of the SQL function, which takes the size of each value in bytes."""

MAX_BYTES = 1 << 30
"""Maximum total size of the values in one vector, in bytes."""


def have_room(sizes: pa.Array) -> pa.Array:
    """Return true for each value of a vector if all values together are within the limit.

    >>> have_room(pa.array([2.0**29, None])).to_pylist(), have_room(pa.array([2.0**29] * 3))[0]
    ([True, True], <pyarrow.BooleanScalar: False>)
    """
    total = np.nansum(sizes.to_numpy(zero_copy_only=False))  # `to_numpy` returns NaN for null
    return pa.array(np.full(len(sizes), total <= MAX_BYTES))


def create_have_room(connection: duckdb.DuckDBPyConnection) -> None:
    """Register the SQL function in a database."""
    from duckdb.func import FunctionNullHandling, PythonUDFType

    connection.create_function(
        HAVE_ROOM,
        have_room,
        ["DOUBLE"],
        "BOOLEAN",
        type=PythonUDFType.ARROW,
        null_handling=FunctionNullHandling.SPECIAL,
    )
