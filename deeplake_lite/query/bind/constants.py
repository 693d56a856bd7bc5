"""Constants of a query: of its text, and parameters."""

from __future__ import annotations

import datetime as dt
import decimal
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlglot import exp

from deeplake_lite.checks import half_of_a_pair
from deeplake_lite.errors import InvalidValueError, QueryTypeError
from deeplake_lite.htypes.tensors import array_of
from deeplake_lite.htypes.times import cast_time
from deeplake_lite.query.convert import json_document
from deeplake_lite.query.dialect import func, text_of
from deeplake_lite.query.functions import Type
from deeplake_lite.query.values import Constant, Given, Tensor

if TYPE_CHECKING:
    from deeplake_lite.query.bind.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope


def constant(value: Any) -> Constant:
    """Return a parameter's value.

    Moments with a time zone count as UTC, as columns do; arrays of other libraries become NumPy's.

    Raises
    ------
    QueryTypeError
        For a value that queries do not know.
    """
    if hasattr(value, "to_numpy") or hasattr(value, "__array__"):  # pandas', PyTorch's
        value = _of_array(value)
    match value:
        case np.ndarray():
            return Constant(value, lambda: exp.Array(expressions=[constant(v).node for v in value]))
        case list() | tuple() | set() | frozenset() | range():
            parts = [constant(v) for v in value]
            return Constant(
                [p.value for p in parts], exp.Array(expressions=[p.node for p in parts])
            )
        case np.datetime64() | np.timedelta64() | dt.date() | dt.time() | dt.timedelta():
            return _time(value)
        case float() if not np.isfinite(value):
            return Constant(value, exp.cast(exp.Literal.string(str(value)), "DOUBLE"))
        case decimal.Decimal() if value.is_finite():
            return Constant(float(value), exp.Literal.number(format(value, "f")))
        case str():
            return Constant(value, exp.convert(_encodable(value)))
        case complex():
            return Constant(value, partial(_no_sql, value))
        case None | bool() | int() | float():
            return Constant(value, exp.convert(value))
        case bytes() | bytearray() | memoryview():
            return Constant(bytes(value), func("unhex", exp.Literal.string(bytes(value).hex())))
        case dict():
            return Constant(value, exp.Literal.string(_encodable(json_document(value))))
    raise QueryTypeError(
        "A parameter is a number, a text, bytes, a truth value, a date or time, a list, a JSON "
        "object or an array, got "
        f"{type(value).__name__} {value!r:.60}."
    )


def _no_sql(value: complex) -> exp.Expr:
    """Refuse a complex number where SQL computes. Raises QueryTypeError."""
    raise QueryTypeError(
        f"SQL computes with real numbers, but this is {value!r}. Compare complex columns with it "
        "by = or <>."
    )


def _encodable(text: str) -> str:
    """Return a text that UTF-8 can hold. Raises QueryTypeError for half a surrogate pair."""
    if (half := half_of_a_pair(text)) is not None:
        raise QueryTypeError(
            f"A text as a parameter is Unicode, but {text!a:.60} has half a surrogate pair at "
            f"position {half}. Decode it with errors='replace'."
        )
    return text


def _of_array(value: Any) -> Any:
    """Return a NumPy scalar, or what has an array, as Python's or NumPy's."""
    if np.ma.isMaskedArray(value) and np.ma.getmaskarray(value).any():
        return value.tolist()  # with None
    array = array_of(value.to_numpy() if hasattr(value, "to_numpy") else value)
    if array.dtype.kind in "mM":
        return array[()] if array.ndim == 0 else list(array)
    if array.dtype.kind not in "biufcUO" or (array.ndim == 0 and array.dtype.kind == "O"):
        raise QueryTypeError(
            f"A parameter's array has numbers or texts, got {type(value).__name__} of "
            f"{array.dtype}."
        )
    return (
        array.item() if array.ndim == 0 else array.tolist() if array.dtype.kind in "UO" else array
    )


def _time(value: Any) -> Constant:
    """Return a moment, a date, a time of day or a span."""
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        value = value.astimezone(dt.UTC).replace(tzinfo=None)
    if isinstance(value, np.datetime64 | np.timedelta64):
        if np.isnat(value):
            return Constant(None, exp.null())
        if isinstance(value, np.datetime64) and _finer(value):
            text = np.datetime_as_string(value, unit="ns").replace("T", " ")
            return Constant(value, exp.cast(exp.Literal.string(text), exp.DType.TIMESTAMP_NS))
        value = _in_microseconds(value)
    if isinstance(value, dt.timedelta):
        span = f"{value // dt.timedelta(microseconds=1)} microseconds"
        return Constant(value, exp.cast(exp.Literal.string(span), "INTERVAL"))
    if isinstance(value, dt.time):
        return Constant(value, exp.cast(exp.Literal.string(value.isoformat()), "TIME"))
    return Constant(value, exp.convert(value))


def _finer(value: np.datetime64) -> bool:
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


def as_array(value: Any) -> tuple[Any, Type]:
    """Return a constant as NumPy's, and its type."""
    if isinstance(value, str) or value is None:
        return value, Type("str")
    if isinstance(value, bytes | dict):
        return value, Type("bytes" if isinstance(value, bytes) else "object")
    if isinstance(value, list) and any(isinstance(v, bytes | dict | None) for v in value):
        return value, Type("bytes" if isinstance(value[0], bytes) else "object").listed()
    try:
        array = np.asarray(value)
    except ValueError:
        return value, Type("object").listed()
    if array.dtype == object and array.ndim:  # dates, and what else is no number
        return value, Type("object").listed()
    if array.dtype.kind == "U":
        return value, Type("str", array.shape)
    return array, Type(array.dtype.name, array.shape)


def null_tensor(type_: Type, text: str) -> Tensor:
    """Return a tensor that is null in all rows."""
    nothing = exp.cast(exp.null(), "BIGINT")
    return Tensor(Given("g_NULL", type_), {"g_NULL": nothing}, text)


def option(low: Lowering, part: exp.Expr, scope: Scope) -> Any:
    """Return the value of a constant argument; lists are tuples. Raises QueryTypeError."""
    value = low.value(part, scope)
    if isinstance(value, Constant):
        return tuple(value.value) if isinstance(value.value, list) else value.value
    parts = part.expressions if isinstance(part, exp.Tuple) else ()
    if parts:
        return tuple(option(low, p, scope) for p in parts)
    raise QueryTypeError(f"An option is a constant, got {text_of(part)}.")
