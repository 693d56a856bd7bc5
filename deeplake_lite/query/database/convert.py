"""Convert columns between NumPy and DuckDB, by way of Arrow."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import xxhash

from deeplake_lite.brief import brief
from deeplake_lite.dataset.arrow.cells import numbers_in, numbers_of
from deeplake_lite.dataset.arrow.decimals import as_floats
from deeplake_lite.dataset.arrow.times import common_times
from deeplake_lite.dataset.arrow.types import is_bytes, is_list, is_text
from deeplake_lite.dataset.export.strings import to_json_value
from deeplake_lite.errors import QueryTypeError
from deeplake_lite.query.database.times import check_result, check_times, durations_of

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
    """Return DuckDB's type for scalars of a dtype.

    Raises QueryTypeError if DuckDB has no such type.

    >>> sql_type("uint8"), sql_type("float16")
    ('UTINYINT', 'FLOAT')
    """
    if dtype.startswith("timedelta64"):
        return "INTERVAL"
    if dtype.startswith("datetime64") and dtype not in _SQL_TYPES:
        return "TIMESTAMP_S"
    if dtype not in _SQL_TYPES:
        raise QueryTypeError(
            "Conditions, ORDER BY and GROUP BY need real numbers, booleans, strings or times, but "
            f"a value is {dtype}. To find equal values, use HASH(…) of the value."
        )
    return _SQL_TYPES[dtype]


def as_arrow(values: Any, dtype: str) -> pa.Array:
    """Return computed scalars as Arrow. None and masked values become null.

    Raises
    ------
    QueryTypeError
        If the values are complex numbers, which SQL does not support.

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
    """Return timestamps or durations as Arrow. NaT, None and masked values become null."""
    times = np.array([None if v is np.ma.masked else v for v in values], dtype)
    null = np.isnat(times)
    times[null] = np.zeros(1, dtype)[0]  # DuckDB also converts the values of masked durations
    column = numbers_of(common_times(times), null)
    check_times(column, "a computed value")
    return column


def as_sql_numbers(array: pa.Array) -> pa.Array:
    """Return numbers with a type that DuckDB supports: float16 becomes float32."""
    return array.cast(pa.float32()) if pa.types.is_float16(array.type) else array


def from_arrow(column: pa.Array | pa.ChunkedArray) -> Any:
    """Return a DuckDB column as a NumPy array, masked where it is null.

    For strings, bytes, lists, structs and maps, the array has dtype object. Lists of structs become
    arrays of `GroupRows`.

    Raises
    ------
    QueryTypeError
        If a time is infinite, which NumPy does not support.

    Examples
    --------
    >>> from_arrow(pa.array([1, None]))
    masked_array(data=[1, --],
                 mask=[False,  True],
           fill_value=...)
    """
    array = concat_chunks(column)
    check_result(array)
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
        return to_masked(array)
    if pa.types.is_integer(array.type) or pa.types.is_floating(array.type):
        return numbers_in(array)
    return array.to_numpy(zero_copy_only=False)


def _lists_times(kind: pa.DataType) -> bool:
    """Return whether a type is a list, at any depth, of timestamps or durations."""
    while is_list(kind):
        kind = kind.value_type
    return bool(pa.types.is_timestamp(kind) or kind == pa.month_day_nano_interval())


def _lists_of_times(array: pa.Array) -> list[Any]:
    """Return lists of times as Python lists of NumPy times, since Python's times lack nanoseconds.

    >>> _lists_of_times(pa.array([[1], None, [None, 2]], pa.list_(pa.timestamp("ns"))))[2]
    [None, np.datetime64('1970-01-01T00:00:00.000000002')]
    """
    if not is_list(array.type):
        is_duration = array.type == pa.month_day_nano_interval()
        times = (durations_of(array) if is_duration else array).to_numpy(zero_copy_only=False)
        return [None if np.isnat(time) else time for time in times]
    items = iter(_lists_of_times(array.flatten()))
    counts = array.value_lengths().to_pylist()
    return [None if count is None else list(islice(items, count)) for count in counts]


@dataclass(frozen=True)
class GroupRows:
    """The inputs of a tree for the rows of a group.

    Two objects are equal if they have the same rows in the same order.
    """

    env: Mapping[str, Any] = field(compare=False)
    """Maps each key of the tree to an array from `from_arrow`, which has one entry per row."""
    digest: int
    """Hash of the rows and their order."""

    def __len__(self) -> int:
        return max(map(len, self.env.values()), default=0)

    @property
    def nbytes(self) -> int:
        """Approximate size in memory."""
        return sum(values.nbytes for values in self.env.values())


def _groups(array: pa.Array) -> NDArray[Any]:
    """Return lists of structs as an object array of `GroupRows`, with None for null."""
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
            parts = [column[span] for column in values]
            out[row] = GroupRows(dict(zip(names, parts, strict=True)), _digest(parts))
    return out


def _digest(parts: Sequence[Any]) -> int:
    digest = xxhash.xxh3_128()
    for values in parts:
        data = np.ma.getdata(values)
        digest.update(repr(data.tolist()).encode() if data.dtype.hasobject else data.tobytes())
        digest.update(np.ma.getmaskarray(values).tobytes() if np.ma.isMaskedArray(values) else b"")
    return digest.intdigest()


def concat_chunks(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return a column as a single array."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole


def to_masked(array: pa.Array) -> np.ma.MaskedArray[Any, Any]:
    """Return numbers or booleans as a NumPy array, masked where they are null."""
    null = array.is_null().to_numpy(zero_copy_only=False)
    filler = pa.scalar(False if pa.types.is_boolean(array.type) else 0, array.type)
    return np.ma.MaskedArray(array.fill_null(filler).to_numpy(zero_copy_only=False), null)


def _null(values: np.ndarray[Any, Any]) -> Any:
    return np.ma.getmaskarray(values) if np.ma.isMaskedArray(values) else None


def json_document(value: object) -> str:
    """Return a value as JSON, formatted like the values of JSON columns.

    >>> json_document({"a": [1, "b"]})
    '{"a":[1,"b"]}'
    """
    return json.dumps(value, default=_json_part, ensure_ascii=False, separators=(",", ":"))


def _json_part(value: Any) -> Any:
    """Return a NumPy value as a JSON value. Raises QueryTypeError if JSON has no such type."""
    converted = to_json_value(value)
    if converted is value:
        raise QueryTypeError(
            "A list of values of several types is treated as JSON, which supports strings, "
            f"numbers, booleans and lists, but a list contains {type(value).__name__} "
            f"{brief(value)}. Pass a separate list for each type."
        )
    return converted
