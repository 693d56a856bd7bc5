"""Values of Arrow as Python has them, or as NumPy has times that Python's calendar does not reach.

Times of Python begin with year 1 and end with year 9999, also in their time zone, and durations
have at most 999,999,999 days: for others, pyarrow raises errors that name no row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from deeplake_lite.errors import InvalidValueError


def python_values(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Return the values of a column as `python_value` does; all its times are NumPy's if one is.

    >>> python_values(pa.array([0, 3_000_000], pa.int32()).cast(pa.date32()))
    [np.datetime64('1970-01-01'), np.datetime64('10183-09-21')]
    """
    try:
        return list(column.to_pylist())
    except (ValueError, OverflowError):
        return [_exact(item) for item in column]


def python_value(item: pa.Scalar) -> Any:
    r"""Return a value as a Python object.

    Times that Python cannot represent become NumPy's. Bytes in a text that are not UTF-8 become
    lone surrogates, which no type takes: an error names the row, and `on_error="skip"` leaves it
    out.

    Raises
    ------
    InvalidValueError
        For a struct that has two fields with the same name.

    Examples
    --------
    >>> python_value(pa.scalar({"a": 10**12}, pa.struct({"a": pa.timestamp("s")})))
    {'a': np.datetime64('33658-09-27T01:46:40')}
    >>> python_value(pa.scalar(b"caf\xe9").cast(pa.binary()).cast(pa.string(), safe=False))
    'caf\udce9'
    """
    try:
        return item.as_py()
    except (ValueError, OverflowError):
        return _exact(item)


def _exact(item: pa.Scalar) -> object:
    if not item.is_valid:
        return None
    match item:
        case pa.StringScalar() | pa.LargeStringScalar() | pa.StringViewScalar():
            return item.as_buffer().to_pybytes().decode("utf-8", "surrogateescape")
        case pa.Date32Scalar():
            return np.datetime64(item.value, "D")
        case pa.Date64Scalar():
            return np.datetime64(item.value, "ms")
        case pa.TimestampScalar():  # in UTC, as lakes have it
            return np.datetime64(item.value, item.type.unit)
        case pa.DurationScalar():
            return np.timedelta64(item.value, item.type.unit)
        case pa.MapScalar():
            return [(_exact(pair[0]), _exact(pair[1])) for pair in item.values]
        case pa.ListScalar():
            return [_exact(value) for value in item.values]
        case pa.StructScalar():
            return _fields(item)
        case pa.DictionaryScalar() | pa.ExtensionScalar() | pa.RunEndEncodedScalar():
            return _exact(item.value)
    return item.as_py()


def _fields(item: pa.StructScalar) -> dict[str, object]:
    names = [f.name for f in item.type]
    if len({*names}) < len(names):
        raise InvalidValueError(
            f"a struct must have fields of different names, but it is {item.type}. Rename one."
        )
    return {name: _exact(item[i]) for i, name in enumerate(names)}
