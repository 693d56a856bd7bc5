"""Conversion of Arrow values to Python objects, or to NumPy times that Python cannot represent.

Python's datetimes are limited to the years 1 to 9999, also after conversion to the time zone of the
value, and its durations to 999,999,999 days. For values beyond these limits, pyarrow raises errors
that do not name the row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from deeplake_lite.errors import InvalidValueError


def python_values(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Return a list of the values of a column as Python objects, as `python_value` does.

    If Python cannot represent one of the times, all times of the column become NumPy times.

    >>> python_values(pa.array([0, 3_000_000], pa.int32()).cast(pa.date32()))
    [np.datetime64('1970-01-01'), np.datetime64('10183-09-21')]
    """
    try:
        return list(column.to_pylist())
    except (ValueError, OverflowError):
        return [_exact(item) for item in column]


def python_value(item: pa.Scalar) -> Any:
    r"""Return a value as a Python object.

    Times that Python cannot represent become NumPy times. Invalid UTF-8 bytes in a string become
    lone surrogates. No htype accepts a string with lone surrogates, so encoding this string raises
    an error that names the row.

    Raises
    ------
    InvalidValueError
        For a struct with two fields of the same name.

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
        case pa.TimestampScalar():  # without its time zone, since lakes store times in UTC
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
            f"the field names of a struct must be unique, but its type is {item.type}. Rename one "
            "of the fields."
        )
    return {name: _exact(item[i]) for i, name in enumerate(names)}
