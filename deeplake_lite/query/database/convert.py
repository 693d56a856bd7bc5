"""Columns between NumPy, which computes tensors, and DuckDB, which takes and gives Arrow."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import xxhash

from deeplake_lite.dataset.arrow.cells import numbers_in, numbers_of
from deeplake_lite.dataset.arrow.decimals import as_floats
from deeplake_lite.dataset.arrow.times import common_times
from deeplake_lite.dataset.arrow.types import is_bytes, is_list, is_text
from deeplake_lite.dataset.export.strings import plain
from deeplake_lite.errors import QueryTypeError
from deeplake_lite.query.database.spans import check_times, durations_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

_SQL_TYPES = {
    "bool": "BOOLEAN", "int8": "TINYINT", "int16": "SMALLINT", "int32": "INTEGER",
    "int64": "BIGINT", "uint8": "UTINYINT", "uint16": "USMALLINT", "uint32": "UINTEGER",
    "uint64": "UBIGINT", "float16": "FLOAT", "float32": "FLOAT", "float64": "DOUBLE",
    "str": "VARCHAR", "object": "VARCHAR", "bytes": "BLOB", "datetime64[s]": "TIMESTAMP_S",
    "datetime64[ms]": "TIMESTAMP_MS", "datetime64[us]": "TIMESTAMP", "datetime64[ns]":
    "TIMESTAMP_NS",
}  # fmt: skip


def sql_type(dtype: str) -> str:
    """Return DuckDB's type for scalars of a dtype. Raises QueryTypeError where it has none.

    >>> sql_type("uint8"), sql_type("float16")
    ('UTINYINT', 'FLOAT')
    """
    if dtype.startswith("timedelta64"):
        return "INTERVAL"
    if dtype.startswith("datetime64") and dtype not in _SQL_TYPES:
        return "TIMESTAMP_S"
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
    if dtype.endswith("]"):
        return _times(values, dtype)
    if isinstance(values, np.ndarray) and values.dtype.kind not in "OU":
        return as_sql_numbers(numbers_of(np.ma.getdata(values), _null(values)))
    present = [None if v is None or v is np.ma.masked else v for v in values]
    if dtype == "str":
        return pa.array([None if v is None else str(v) for v in present], pa.string())
    if dtype == "bytes":
        return pa.array(present, pa.large_binary())
    if dtype == "object":
        return pa.array([None if v is None else json_document(v) for v in present], pa.string())
    kind = pa.from_numpy_dtype(np.dtype(dtype))
    return as_sql_numbers(
        pa.array([None if v is None else np.asarray(v).item() for v in present], kind)
    )


def _times(values: Any, dtype: str) -> pa.Array:
    """Return moments or spans of time; NaT and None are null."""
    moments = np.array([None if v is np.ma.masked else v for v in values], dtype)
    null = np.isnat(moments)
    moments[null] = np.zeros(1, dtype)[0]  # DuckDB converts the spans behind nulls, too
    times = numbers_of(common_times(moments), null)
    check_times(times, "a computed value")
    return times


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
        array = as_floats(array)
    if array.type == pa.month_day_nano_interval():
        array = durations_of(array)
    if is_list(array.type) and pa.types.is_struct(array.type.value_type):
        return _groups(array)
    if any(
        holds(array.type) for holds in (pa.types.is_nested, pa.types.is_null, is_text, is_bytes)
    ):
        out = np.empty(len(array), object)
        out[:] = _lists_of_times(array) if _lists_times(array.type) else array.to_pylist()
        return out
    if array.null_count:
        return masked(array)
    if pa.types.is_integer(array.type) or pa.types.is_floating(array.type):
        return numbers_in(array)
    return array.to_numpy(zero_copy_only=False)


def _lists_times(kind: pa.DataType) -> bool:
    """Tell whether a type is that of lists of moments or spans, or of lists of those."""
    while is_list(kind):
        kind = kind.value_type
    return bool(pa.types.is_timestamp(kind) or kind == pa.month_day_nano_interval())


def _lists_of_times(array: pa.Array) -> list[Any]:
    """Return lists of times with NumPy's moments and spans, as Python's have no nanoseconds.

    >>> _lists_of_times(pa.array([[1], None, [None, 2]], pa.list_(pa.timestamp("ns"))))[2]
    [None, np.datetime64('1970-01-01T00:00:00.000000002')]
    """
    if not is_list(array.type):
        span = array.type == pa.month_day_nano_interval()
        times = (durations_of(array) if span else array).to_numpy(zero_copy_only=False)
        return [None if np.isnat(time) else time for time in times]
    items = iter(_lists_of_times(array.flatten()))
    counts = array.value_lengths().to_pylist()
    return [None if count is None else list(islice(items, count)) for count in counts]


@dataclass(frozen=True)
class Members:
    """The rows of a group; equal where the rows are."""

    env: Mapping[str, Any] = field(compare=False)
    """Per key an array of an entry per row, as `from_arrow` gives it."""
    digest: int
    """Of the rows and their order."""

    def __len__(self) -> int:
        return max(map(len, self.env.values()), default=0)

    @property
    def nbytes(self) -> int:
        """Size in memory, about."""
        return sum(values.nbytes for values in self.env.values())


def _groups(array: pa.Array) -> NDArray[Any]:
    """Return lists of structs as `Members`, None where null."""
    columns = array.flatten()
    names = [f.name for f in columns.type]
    values = [from_arrow(columns.field(at)) for at in range(len(names))]
    lengths = np.diff(array.offsets.to_numpy()).astype(np.int64)
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    lengths[~valid] = 0
    ends, out = np.cumsum(lengths), np.empty(len(array), object)
    for row in range(len(array)):
        if valid[row]:
            span = slice(ends[row] - lengths[row], ends[row])
            parts = [of_key[span] for of_key in values]
            out[row] = Members(dict(zip(names, parts, strict=True)), _digest(parts))
    return out


def _digest(parts: Sequence[Any]) -> int:
    found = xxhash.xxh3_128()
    for values in parts:
        data = np.ma.getdata(values)
        found.update(repr(data.tolist()).encode() if data.dtype.hasobject else data.tobytes())
        found.update(np.ma.getmaskarray(values).tobytes() if np.ma.isMaskedArray(values) else b"")
    return found.intdigest()


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


def json_document(value: Any) -> str:
    """Return a value as JSON, written as columns of JSON are.

    >>> json_document({"a": [1, "b"]})
    '{"a":[1,"b"]}'
    """
    return json.dumps(value, default=plain, ensure_ascii=False, separators=(",", ":"))
