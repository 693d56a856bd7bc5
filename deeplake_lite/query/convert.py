"""Columns between NumPy, which computes tensors, and DuckDB, which takes and gives Arrow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from deeplake_lite.dataset.arrow import numbers_in, numbers_of


def as_arrow(values: Any, dtype: str) -> pa.Array:
    """Return computed scalars as Arrow; None and masked become null.

    >>> as_arrow([1, None], "int64").to_pylist()
    [1, None]
    """
    if np.ma.isMaskedArray(values):
        return numbers_of(np.ma.getdata(values), np.ma.getmaskarray(values))
    if isinstance(values, np.ndarray):
        return numbers_of(values)
    plain = [None if v is None or v is np.ma.masked else v for v in values]
    if dtype in ("str", "object"):
        return pa.array([None if v is None else str(v) for v in plain], pa.string())
    kind = pa.from_numpy_dtype(np.dtype(dtype))
    return pa.array([None if v is None else np.asarray(v).item() for v in plain], kind)


def from_arrow(column: pa.Array | pa.ChunkedArray) -> Any:
    """Return a column of DuckDB's as NumPy's: masked where null, lists as objects."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks)
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    if (
        pa.types.is_nested(column.type)
        or pa.types.is_string(column.type)
        or pa.types.is_large_string(column.type)
    ):
        out = np.empty(len(column), object)
        out[:] = column.to_pylist()
        return out
    if column.null_count:
        null = column.is_null().to_numpy(zero_copy_only=False)
        filled = column.fill_null(False if pa.types.is_boolean(column.type) else 0)
        return np.ma.MaskedArray(filled.to_numpy(zero_copy_only=False), null)
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return numbers_in(column)
    return column.to_numpy(zero_copy_only=False)
