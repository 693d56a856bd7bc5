"""Columns between NumPy, which computes tensors, and DuckDB, which takes and gives Arrow."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa

from deeplake_lite.dataset.arrow import numbers_in, numbers_of
from deeplake_lite.dataset.arrow_types import is_text
from deeplake_lite.dataset.texts import plain
from deeplake_lite.errors import QueryTypeError

_SQL_TYPES = {
    "bool": "BOOLEAN", "int8": "TINYINT", "int16": "SMALLINT", "int32": "INTEGER",
    "int64": "BIGINT", "uint8": "UTINYINT", "uint16": "USMALLINT", "uint32": "UINTEGER",
    "uint64": "UBIGINT", "float16": "FLOAT", "float32": "FLOAT", "float64": "DOUBLE",
    "str": "VARCHAR", "object": "VARCHAR",
}  # fmt: skip


def sql_type(dtype: str) -> str:
    """Return DuckDB's type for scalars of a dtype. Raises QueryTypeError where it has none.

    >>> sql_type("uint8"), sql_type("float16")
    ('UTINYINT', 'FLOAT')
    """
    if dtype not in _SQL_TYPES:
        raise QueryTypeError(
            f"Conditions, orders and groups are of real numbers, truth values and texts, got "
            f"{dtype}. HASH(…) of it tells which values are equal."
        )
    return _SQL_TYPES[dtype]


def as_arrow(values: Any, dtype: str) -> pa.Array:
    """Return computed scalars as Arrow; None and masked become null.

    Raises
    ------
    QueryTypeError
        For complex numbers, which SQL does not have.

    Examples
    --------
    >>> as_arrow([1, None], "int64").to_pylist()
    [1, None]
    """
    sql_type(dtype)
    if isinstance(values, np.ndarray) and values.dtype.kind not in "OU":
        return as_sql_numbers(numbers_of(np.ma.getdata(values), _null(values)))
    present = [None if v is None or v is np.ma.masked else v for v in values]
    if dtype == "str":
        return pa.array([None if v is None else str(v) for v in present], pa.string())
    if dtype == "object":
        return pa.array([None if v is None else _json_text(v) for v in present], pa.string())
    kind = pa.from_numpy_dtype(np.dtype(dtype))
    return as_sql_numbers(
        pa.array([None if v is None else np.asarray(v).item() for v in present], kind)
    )


def as_sql_numbers(array: pa.Array) -> pa.Array:
    """Return numbers as DuckDB knows them: halves as floats."""
    return array.cast(pa.float32()) if pa.types.is_float16(array.type) else array


def from_arrow(column: pa.Array | pa.ChunkedArray) -> Any:
    """Return a column of DuckDB's as NumPy's: masked where null, texts and lists as objects.

    >>> from_arrow(pa.array([1, None]))
    masked_array(data=[1, --],
                 mask=[False,  True],
           fill_value=...)
    """
    array = in_one(column)
    if pa.types.is_decimal(array.type):
        array = array.cast(pa.float64())
    if pa.types.is_nested(array.type) or is_text(array.type):
        out = np.empty(len(array), object)
        out[:] = array.to_pylist()
        return out
    if array.null_count:
        return masked(array)
    if pa.types.is_integer(array.type) or pa.types.is_floating(array.type):
        return numbers_in(array)
    return array.to_numpy(zero_copy_only=False)


def in_one(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return a column as one array."""
    found = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return pa.concat_arrays(found.chunks) if isinstance(found, pa.ChunkedArray) else found


def masked(array: pa.Array) -> np.ma.MaskedArray[Any, Any]:
    """Return numbers or truth values as NumPy's, masked where null."""
    null = array.is_null().to_numpy(zero_copy_only=False)
    filler = pa.scalar(False if pa.types.is_boolean(array.type) else 0, array.type)
    return np.ma.MaskedArray(array.fill_null(filler).to_numpy(zero_copy_only=False), null)


def _null(values: np.ndarray[Any, Any]) -> Any:
    return np.ma.getmaskarray(values) if np.ma.isMaskedArray(values) else None


def _json_text(value: Any) -> str:
    """Return the text of a JSON value: a string without its quotes."""
    return value if isinstance(value, str) else json.dumps(value, default=plain, ensure_ascii=False)
