"""The parameters of a query: converted to a few plain types, copied, and stored as JSON.

Users pass lists, arrays and scalars of any library. `plain_value` converts each value to one of the
types that queries support: None, bool, int, float, complex, Decimal, str, bytes, Python's dates and
times, ``datetime64[ns]`` for times that Python cannot represent, arrays of numbers or times, dicts
that are JSON objects, and lists of all these. `params_from_json` is the inverse of
`params_to_json` on these types.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.dataset.export.strings import to_json_value
from deeplake_lite.errors import InvalidValueError, QueryTypeError
from deeplake_lite.htypes.base import is_null
from deeplake_lite.htypes.foreign import column_array, is_column
from deeplake_lite.htypes.json_values import check_keys
from deeplake_lite.htypes.tensors import array_of
from deeplake_lite.htypes.times import cast_time

type Params = Sequence[Any] | Mapping[str, Any]


def copy_params(params: Params) -> Params:
    """Return a copy of a query's parameters, as a list or a dict of plain values.

    Unsupported values are kept. Unsupported values are only rejected when the query is bound,
    because the error can then show their position in the query.

    >>> copy_params((np.float32(0.5), range(2)))
    [0.5, [0, 1]]
    """
    if isinstance(params, str | bytes):
        return params
    if isinstance(params, Mapping):
        return {name: _copy_value(value) for name, value in params.items()}
    if isinstance(params, Sequence) or (isinstance(params, np.ndarray) and params.ndim):
        return [_copy_value(value) for value in params]
    return params


def _copy_value(value: object) -> object:
    try:
        return _copy_arrays(plain_value(value))
    except (QueryTypeError, InvalidValueError, RecursionError):
        return value


def _copy_arrays(value: object) -> object:
    """Return a plain value in which arrays are replaced by read-only copies."""
    if isinstance(value, list):
        return [_copy_arrays(part) for part in value]
    if not isinstance(value, np.ndarray):
        return value
    copy = value.copy()
    copy.flags.writeable = False
    return copy


def plain_value(value: object) -> object:
    """Convert a query's parameter to one of the plain types.

    Times with a time zone are converted to UTC, as in columns. Arrays of other libraries become
    NumPy arrays.

    Raises
    ------
    QueryTypeError
        When queries do not support the value.

    Examples
    --------
    >>> plain_value(np.datetime64("2026-01-31")), plain_value(("a", np.int8(1)))
    (datetime.datetime(2026, 1, 31, 0, 0), ['a', 1])
    """
    if isinstance(value, bytes):  # including `np.bytes_`, which looks like an array
        return bytes(value)
    value = _with_nulls(value)
    # Such objects come from libraries such as pandas and PyTorch.
    if hasattr(value, "to_numpy") or hasattr(value, "__array__"):
        value = _from_array(value)
    match value:
        case None | bool() | complex() | np.ndarray():
            return value
        case int():
            return int(value)
        case float():
            return float(value)
        case str():
            return str.__str__(value)
        case bytes() | bytearray() | memoryview():
            return bytes(value)
        case list() | tuple() | set() | frozenset() | range():
            return [plain_value(part) for part in value]
        case np.datetime64() | np.timedelta64() | dt.date() | dt.time() | dt.timedelta():
            return _time(value)
        case Decimal() if value.is_finite():
            return value
        case dict():
            return _json_object(value)
    raise QueryTypeError(
        "A parameter must be a number, string, bytes, bool, date or time, list, JSON object or "
        f"array, but it is {type(value).__name__} {brief(value)}."
    )


def _from_array(value: object) -> object:
    """Convert a NumPy scalar or an array-like to a Python value or a NumPy array."""
    if np.ma.isMaskedArray(value) and np.ma.getmaskarray(value).any():
        return _with_none(value)
    array = array_of(value.to_numpy() if hasattr(value, "to_numpy") else value)
    if array.dtype.kind in "mM" and array.ndim == 0:
        return array[()]
    if array.dtype.kind not in "biufcmMUO" or (array.ndim == 0 and array.dtype.kind == "O"):
        raise QueryTypeError(
            f"An array parameter must hold numbers or strings, but this {type(value).__name__} has "
            f"the dtype {array.dtype}."
        )
    if array.ndim == 0:
        return array.item()
    if array.dtype.kind in "UO":
        return array.tolist()
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _with_nulls(value: Any) -> object:
    """Convert a value, array or column of Arrow, pandas or polars, so that its nulls are None.

    NumPy would turn nulls into NaN, and the integers among them into floats.
    """
    if is_null(type(value)):
        return None
    library = type(value).__module__.partition(".")[0]
    if library == "pyarrow" and hasattr(value, "null_count"):
        return _from_arrow(value)
    if library == "pyarrow" and hasattr(value, "as_py"):
        return _from_arrow_scalar(value)
    if library == "polars" and is_column(type(value)):
        array = column_array(value)
        return array.tolist() if array.dtype == object else array
    has_nulls = library == "pandas" and getattr(value, "ndim", 0) == 1 and hasattr(value, "isna")
    if not has_nulls or (isinstance(value.dtype, np.dtype) and value.dtype.kind != "O"):
        return value
    null = np.asarray(value.isna())
    if not null.any():
        return value
    return [None if is_null else item for item, is_null in zip(value, null, strict=True)]


def _from_arrow(value: Any) -> Any:
    """Convert an Arrow array to a NumPy array, or to a list with None for null."""
    import pyarrow as pa

    from deeplake_lite.htypes.arrow_scalars import python_values

    kind = value.type
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return list(value.to_numpy(zero_copy_only=False))  # nulls become NaT
    if is_number and not value.null_count:
        return value.to_numpy(zero_copy_only=False)
    return python_values(value)


def _from_arrow_scalar(value: Any) -> object:
    """Convert an Arrow scalar in the same way as the items of an Arrow array."""
    import pyarrow as pa

    return _from_arrow(pa.array([value], value.type))[0] if value.is_valid else None


def _with_none(values: np.ma.MaskedArray[Any, Any]) -> object:
    """Convert a masked array to nested lists, with None for masked elements."""
    if values.ndim and values.dtype.kind in "mM":  # `tolist` would return nanoseconds as integers
        return [None if value is np.ma.masked else value for value in values]
    return values.tolist()


def _json_object(value: dict[object, object]) -> object:
    """Convert a dict to plain JSON values. Raises QueryTypeError if JSON cannot hold a value."""
    try:
        check_keys(value)
        return json.loads(json.dumps(value, default=_json_part))
    except (TypeError, ValueError, RecursionError) as error:
        raise QueryTypeError(
            "A dict parameter must be a JSON object of strings, numbers, bools, None, lists and "
            f"dicts, but it is {brief(value)}: {error}. Convert its values first."
        ) from error


def _json_part(value: object) -> object:
    """Convert a NumPy value to a JSON value. Raises TypeError for times and unsupported types."""
    converted = to_json_value(value)
    is_time = getattr(getattr(value, "dtype", None), "kind", "") in ("m", "M")
    if converted is value or is_time:
        raise TypeError(f"{type(value).__name__} is not JSON")
    return converted


def _time(value: Any) -> object:
    """Convert a point in time, date, time of day or duration to Python's types, if they fit."""
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return _in_utc(value)
    if isinstance(value, dt.datetime | dt.time):
        return value.replace(fold=0)  # `fold` has no meaning without a time zone
    if isinstance(value, dt.date | dt.timedelta):
        return value
    if np.isnat(value):
        return None
    if isinstance(value, np.datetime64) and _is_finer(value):
        return value
    return _in_microseconds(value)


def _in_utc(value: dt.datetime) -> dt.datetime:
    """Convert a time to UTC and drop its time zone. Raises QueryTypeError if the year overflows."""
    try:
        return value.astimezone(dt.UTC).replace(tzinfo=None)
    except OverflowError as error:
        raise QueryTypeError(
            f"A time parameter must be between the years 1 and 9999 in UTC, but it is {value}."
        ) from error


def _is_finer(value: np.datetime64) -> bool:
    """Return whether a time has digits below a microsecond, which Python's types would lose."""
    return np.datetime_data(value.dtype)[0] == "ns" and int(value.astype(np.int64)) % 1000 != 0


def _in_microseconds(value: Any) -> object:
    """Convert a NumPy time or duration to Python's type, exactly. Raises QueryTypeError."""
    kind = f"{value.dtype.kind}8[us]"
    try:
        converted = cast_time(np.asarray(value), np.dtype(kind)).item()
    except InvalidValueError:
        converted = None
    # NumPy returns an int for a time that Python cannot represent.
    if not isinstance(converted, dt.date | dt.timedelta):
        raise QueryTypeError(
            "A time parameter must be within the years 1 to 9999, in whole microseconds, but it is "
            f"{value!r}. Durations in months or years are compared as numbers: "
            "pass the count as an integer."
        )
    return converted


# ---- as JSON


def params_to_json(params: Params) -> object:
    """Return a query's plain parameters as JSON.

    A value of a type that JSON lacks becomes an object with one key, which names the type. Arrays
    are stored as little-endian bytes in base64. The user's own JSON objects are stored as strings,
    so that they cannot be mistaken for such an object.

    >>> params_to_json([1, dt.date(2026, 1, 31), np.array([1, 2], "uint8"), {"date": "today"}])
    [1, {'date': '2026-01-31'}, {'array': 'AQI=', 'dtype': 'uint8', 'shape': [2]}, {'json': ...}]
    """
    if isinstance(params, Mapping):
        return {name: _to_json(value) for name, value in params.items()}
    return [_to_json(value) for value in params]


def params_from_json(document: Any) -> Params:
    """Return the parameters that `params_to_json` wrote.

    >>> params_from_json(params_to_json({"since": dt.datetime(2026, 1, 31, 12), "k": [1, b"2"]}))
    {'since': datetime.datetime(2026, 1, 31, 12, 0), 'k': [1, b'2']}
    """
    if isinstance(document, Mapping):
        return {name: _from_json(value) for name, value in document.items()}
    return [_from_json(value) for value in document]


def _to_json(value: object) -> object:
    match value:
        case np.ndarray():
            data = np.ascontiguousarray(value, value.dtype.newbyteorder("<")).tobytes()
            shape = list(value.shape)
            return {"array": _base64(data), "dtype": value.dtype.name, "shape": shape}
        case np.datetime64():
            return {"nanoseconds": int(value.astype("M8[ns]").astype(np.int64))}
        case float() if not np.isfinite(value):
            return {"float": str(value)}
        case complex():
            return {"complex": [repr(value.real), repr(value.imag)]}
        case Decimal():
            return {"decimal": str(value)}
        case bytes():
            return {"bytes": _base64(value)}
        case dt.datetime():  # before dates, because a datetime is also a date
            return {"datetime": value.isoformat()}
        case dt.date():
            return {"date": value.isoformat()}
        case dt.time():
            return {"time": value.isoformat()}
        case dt.timedelta():
            return {"microseconds": value // dt.timedelta(microseconds=1)}
        case dict():
            return {"json": json.dumps(value)}
        case list():
            return [_to_json(part) for part in value]
        case None | bool() | int() | float() | str():
            return value
    raise InvalidValueError(
        f"The parameters of a saved query must be storable as JSON, but one is {brief(value)}, of "
        f"type {type(value).__name__}. Pass a number, string, time, list or array."
    )


def _from_json(value: object) -> object:
    match value:
        case {"array": data, "dtype": dtype, "shape": shape}:
            little = np.dtype(dtype).newbyteorder("<")
            return np.frombuffer(base64.b64decode(data), little).reshape(shape).astype(dtype)
        case {"nanoseconds": count}:
            return np.datetime64(count, "ns")
        case {"float": text}:
            return float(text)
        case {"complex": [real, imaginary]}:
            return complex(float(real), float(imaginary))
        case {"decimal": text}:
            return Decimal(text)
        case {"bytes": data}:
            return base64.b64decode(data)
        case {"datetime": text}:
            return dt.datetime.fromisoformat(text)
        case {"date": text}:
            return dt.date.fromisoformat(text)
        case {"time": text}:
            return dt.time.fromisoformat(text)
        case {"microseconds": count}:
            return dt.timedelta(microseconds=count)
        case {"json": text}:
            return json.loads(text)
        case list():
            return [_from_json(part) for part in value]
        case _:  # a number, string, bool or null
            return value


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
