"""Values that a query is asked with: of a few types, in memory of their own, and as JSON.

Users give lists, arrays and scalars of any library. `plain_value` turns each into one of the types
that the rest knows: None, bool, int, float, complex, Decimal, str, bytes, Python's dates and times,
``datetime64[ns]`` for moments that those do not hold, arrays of numbers, JSON objects as dicts, and
lists of all these. `params_to_json` and `params_from_json` are each other's inverse on them.
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
from deeplake_lite.dataset.export.strings import plain
from deeplake_lite.errors import InvalidValueError, QueryTypeError
from deeplake_lite.htypes.base import is_null
from deeplake_lite.htypes.foreign import column_array, is_column
from deeplake_lite.htypes.json_values import check_keys
from deeplake_lite.htypes.tensors import array_of
from deeplake_lite.htypes.times import cast_time

type Params = Sequence[Any] | Mapping[str, Any]


def owned_params(params: Params) -> Params:
    """Return a query's values as a list or a dict of plain values, which nobody else changes.

    What queries do not take stays as it is; it is refused where the query has its place.

    >>> owned_params((np.float32(0.5), range(2)))
    [0.5, [0, 1]]
    """
    if isinstance(params, str | bytes):
        return params
    if isinstance(params, Mapping):
        return {name: _owned(value) for name, value in params.items()}
    if isinstance(params, Sequence) or (isinstance(params, np.ndarray) and params.ndim):
        return [_owned(value) for value in params]
    return params


def _owned(value: Any) -> Any:
    try:
        return _copied(plain_value(value))
    except (QueryTypeError, InvalidValueError, RecursionError):
        return value


def _copied(value: Any) -> Any:
    """Return a plain value with copies of its arrays, which are read-only."""
    if isinstance(value, list):
        return [_copied(part) for part in value]
    if not isinstance(value, np.ndarray):
        return value
    kept = value.copy()
    kept.flags.writeable = False
    return kept


def plain_value(value: Any) -> Any:
    """Return a value of a query as one of the few types that queries know.

    Moments with a time zone count as UTC, as columns do; arrays of other libraries become NumPy's.

    Raises
    ------
    QueryTypeError
        For a value that queries do not take.

    Examples
    --------
    >>> plain_value(np.datetime64("2026-01-31")), plain_value(("a", np.int8(1)))
    (datetime.datetime(2026, 1, 31, 0, 0), ['a', 1])
    """
    if isinstance(value, bytes):  # NumPy's scalars among them, which have an array
        return bytes(value)
    value = _with_nulls(value)
    if hasattr(value, "to_numpy") or hasattr(value, "__array__"):  # pandas', PyTorch's
        value = _of_array(value)
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
        "A parameter is a number, a text, bytes, a truth value, a date or time, a list, a JSON "
        "object or an array, got "
        f"{type(value).__name__} {brief(value)}."
    )


def _of_array(value: Any) -> Any:
    """Return a NumPy scalar, or what has an array, as Python's or NumPy's."""
    if np.ma.isMaskedArray(value) and np.ma.getmaskarray(value).any():
        return _with_none(value)
    array = array_of(value.to_numpy() if hasattr(value, "to_numpy") else value)
    if array.dtype.kind in "mM":
        return array[()] if array.ndim == 0 else list(array)
    if array.dtype.kind not in "biufcUO" or (array.ndim == 0 and array.dtype.kind == "O"):
        raise QueryTypeError(
            f"A parameter's array has numbers or texts, got {type(value).__name__} of "
            f"{array.dtype}."
        )
    if array.ndim == 0:
        return array.item()
    if array.dtype.kind in "UO":
        return array.tolist()
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _with_nulls(value: Any) -> Any:
    """Return a value, an array or a column of Arrow's or pandas' with None where it is null.

    NumPy has no nulls: they would become NaN, and the integers beside them floats.
    """
    if is_null(type(value)):
        return None
    library = type(value).__module__.partition(".")[0]
    if library == "pyarrow" and hasattr(value, "null_count"):
        return _of_arrow(value)
    if library == "pyarrow" and hasattr(value, "as_py"):
        return _of_arrow_scalar(value)
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


def _of_arrow(value: Any) -> Any:
    """Return an array of Arrow's as NumPy's, or as a list with None."""
    import pyarrow as pa

    from deeplake_lite.htypes.arrow_scalars import python_values

    kind = value.type
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    is_moment = pa.types.is_timestamp(kind) or pa.types.is_duration(kind)  # null is NaT
    if is_moment or (is_number and not value.null_count):
        return value.to_numpy(zero_copy_only=False)
    return python_values(value)


def _of_arrow_scalar(value: Any) -> Any:
    """Return a value of Arrow's as NumPy's or Python's, as it is in an array."""
    import pyarrow as pa

    return _of_arrow(pa.array([value], value.type))[0] if value.is_valid else None


def _with_none(values: np.ma.MaskedArray[Any, Any]) -> Any:
    """Return a masked array as lists with None."""
    if values.ndim and values.dtype.kind in "mM":  # whose nanoseconds `tolist` gives as integers
        return [None if value is np.ma.masked else value for value in values]
    return values.tolist()


def _json_object(value: dict[Any, Any]) -> Any:
    """Return a dict as JSON has it. Raises QueryTypeError where JSON has no such value."""
    try:
        check_keys(value)
        return json.loads(json.dumps(value, default=_json_part))
    except (TypeError, ValueError, RecursionError) as error:
        raise QueryTypeError(
            "A dict as a parameter is a JSON object, of texts, numbers, truth values, None, lists "
            f"and dicts, but it is {brief(value)}: {error}."
        ) from error


def _json_part(value: Any) -> Any:
    """Return NumPy's values as JSON has them. Raises TypeError for others that it does not have."""
    found = plain(value)
    if found is value:
        raise TypeError(f"{type(value).__name__} is not JSON")
    return found


def _time(value: Any) -> Any:
    """Return a moment, a date, a time of day or a span as Python's where that holds it."""
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return _in_utc(value)
    if isinstance(value, dt.datetime | dt.time):
        return value.replace(fold=0)  # which says something only where clocks are set back
    if isinstance(value, dt.date | dt.timedelta):
        return value
    if np.isnat(value):
        return None
    if isinstance(value, np.datetime64) and _is_finer(value):
        return value
    return _in_microseconds(value)


def _in_utc(value: dt.datetime) -> dt.datetime:
    """Return a moment in UTC, without its time zone. Raises QueryTypeError beyond all years."""
    try:
        return value.astimezone(dt.UTC).replace(tzinfo=None)
    except OverflowError as error:
        raise QueryTypeError(
            f"A moment as a parameter is in a year from 1 to 9999 in UTC, got {value}."
        ) from error


def _is_finer(value: np.datetime64) -> bool:
    """Tell whether a moment is in nanoseconds that microseconds do not hold."""
    return np.datetime_data(value.dtype)[0] == "ns" and int(value.astype(np.int64)) % 1000 != 0


def _in_microseconds(value: Any) -> Any:
    """Return a moment or a span as Python's, exactly. Raises QueryTypeError."""
    kind = f"{value.dtype.kind}8[us]"
    try:
        found = cast_time(np.asarray(value), np.dtype(kind)).item()
    except InvalidValueError as error:
        found = error
    if not isinstance(found, dt.date | dt.timedelta):  # Python's years have four digits
        raise QueryTypeError(
            f"A time as a parameter has a length in whole microseconds, and a year from 1 to 9999, "
            f"got {value!r}. Months and years of a duration compare as numbers: pass their count."
        )
    return found


# ---- as JSON


def params_to_json(params: Params) -> Any:
    """Return a query's plain values as JSON: what JSON has not is an object of a key that says so.

    Arrays are base64 of their bytes, little-endian; objects are texts, so that none of a user's is
    taken for one of these.

    >>> params_to_json([1, dt.date(2026, 1, 31), np.array([1, 2], "uint8"), {"date": "today"}])
    [1, {'date': '2026-01-31'}, {'array': 'AQI=', 'dtype': 'uint8', 'shape': [2]}, {'json': ...}]
    """
    if isinstance(params, Mapping):
        return {name: _to_json(value) for name, value in params.items()}
    return [_to_json(value) for value in params]


def params_from_json(document: Any) -> Params:
    """Return the values of a query.

    >>> params_from_json(params_to_json({"since": dt.datetime(2026, 1, 31, 12), "k": [1, b"2"]}))
    {'since': datetime.datetime(2026, 1, 31, 12, 0), 'k': [1, b'2']}
    """
    if isinstance(document, Mapping):
        return {name: _from_json(value) for name, value in document.items()}
    return [_from_json(value) for value in document]


def _to_json(value: Any) -> Any:
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
        case dt.datetime():
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
        f"A saved query keeps the values that it was asked with, but one is {brief(value)}, of "
        f"{type(value).__name__}, which has no form in JSON. Pass a number, a text, a time, a list "
        "or an array."
    )


def _from_json(value: Any) -> Any:
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
        case _:  # a number or a text
            return value


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
