"""Convert constants in a query's text or parameters to SQL and to NumPy arrays."""

from __future__ import annotations

import datetime as dt
import decimal
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlglot import exp

from deeplake_lite.checks import find_lone_surrogate
from deeplake_lite.dataset.saved.parameters import plain_value
from deeplake_lite.errors import QueryError, QueryTypeError
from deeplake_lite.htypes.json_values import canonical_json
from deeplake_lite.query.database.convert import json_document
from deeplake_lite.query.functions import Type
from deeplake_lite.query.functions.times import times_of
from deeplake_lite.query.functions.value_type import Items
from deeplake_lite.query.parse.dialect import text_of
from deeplake_lite.query.parse.duckdb_nodes import func
from deeplake_lite.query.values import Constant, Given, Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deeplake_lite.query.bind.expressions.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope


def constant(value: object) -> Constant:
    """Return a Python value, such as the value of a parameter, as a constant.

    Raises
    ------
    QueryTypeError
        If queries do not support the type of the value.
    """
    value = plain_value(value)
    match value:
        case np.ndarray():
            return Constant(value, lambda: exp.Array(expressions=[constant(v).node for v in value]))
        case list():
            return list_of([constant(v) for v in value], is_json=_is_json(value))
        case float() if not np.isfinite(value) or str(value) == "-0.0":
            # SQL has no literal for such floats.
            return Constant(value, exp.cast(exp.Literal.string(str(value)), "DOUBLE"))
        case decimal.Decimal():
            return _decimal_constant(value)
        case int() if abs(value) > MOST:
            return Constant(value, partial(_too_large, value))
        case str():
            return Constant(value, exp.convert(_encodable(value)))
        case complex():
            return Constant(value, partial(_reject_complex, value))
        case bytes():
            return Constant(value, func("unhex", exp.Literal.string(value.hex())))
        case dict():
            return Constant(value, _as_json(_encodable(json_document(value))))
        case np.datetime64():
            text = np.datetime_as_string(value, unit="ns").replace("T", " ")
            return Constant(value, exp.cast(exp.Literal.string(text), exp.DType.TIMESTAMP_NS))
        case dt.timedelta():
            return Constant(value, partial(_as_interval, value))
        case dt.time():
            return Constant(value, exp.cast(exp.Literal.string(value.isoformat()), "TIME"))
    return Constant(value, exp.convert(value))


def _as_interval(value: dt.timedelta) -> exp.Expr:
    """Return a duration as SQL. Raises QueryTypeError if it exceeds 64 bits of microseconds."""
    count = value // dt.timedelta(microseconds=1)
    if abs(count) >= 2**63:
        raise QueryTypeError(
            "SQL computes with durations in whole microseconds, up to 292,271 years, but a "
            f"constant is {value}. Compare integers of an int64 column instead."
        )
    return exp.cast(exp.Literal.string(f"{count} microseconds"), "INTERVAL")


def list_of(parts: Sequence[Constant], *, is_json: bool = False) -> Constant:
    """Return a list of constants as one constant. If one is a dict, the items become JSON."""
    return Constant(
        [p.value for p in parts],
        lambda: exp.Array(expressions=_nodes(parts, is_json=is_json)),
        items=tuple(parts),
        is_json=is_json or any(isinstance(part.value, dict) for part in parts),
    )


def _is_json(items: Sequence[Any]) -> bool:
    """Return whether a list, or a list within it, mixes strings, numbers and lists.

    Only JSON allows such lists.
    """
    if not all(isinstance(item, str | int | float | list | None) for item in items):
        return False
    lists = [item for item in items if isinstance(item, list)]
    kinds = {
        str if isinstance(i, str) else list if isinstance(i, list) else float
        for i in items
        if i is not None
    }
    return len(kinds) > 1 or any(map(_is_json, lists))


def _nodes(parts: Sequence[Constant], *, is_json: bool) -> list[exp.Expr]:
    """Return the items of a list as SQL. If one of them is a dict, all of them become JSON."""
    if not is_json and not any(isinstance(part.value, dict) for part in parts):
        return [part.node.copy() for part in parts]
    return [
        exp.null() if part.value is None else _as_json(canonical_json(part.value)) for part in parts
    ]


def _as_json(text: str) -> exp.Expr:
    return exp.cast(exp.Literal.string(text), "JSON")


def items_of(value: Constant) -> Sequence[Constant]:
    """Return the items of a constant list or array."""
    return value.items or [constant(item) for item in value.value]


MOST = 2**127 - 1
"""Largest integer that DuckDB can compute with."""

_DECIMALS = 18
"""Maximum number of decimal places of DuckDB decimals that can represent all 64-bit integers."""


def _decimal_constant(number: decimal.Decimal) -> Constant:
    """Return a decimal number as a constant. With over 18 decimal places, it is a float in SQL."""
    if number.copy_abs() > MOST:
        return Constant(float(number), partial(_too_large, number), number)
    is_short = int(number.as_tuple().exponent) >= -_DECIMALS
    text = format(number, "f") if is_short else repr(float(number))
    is_whole = is_short and number == int(number)
    node = exp.Literal.number(text)
    return Constant(int(number) if is_whole else float(number), node, number)


def literal_constant(e: exp.Literal) -> Constant:
    """Return a number in the text of a query as a constant. With an exponent, it is a float64.

    Raises
    ------
    QueryError
        If the literal is not a number.
    """
    try:
        number = decimal.Decimal(e.this)
    except decimal.InvalidOperation:
        raise QueryError(f"A number must look like 3, 2.5 or 1e-3, but it is {e.this}.") from None
    if not e.this.isdecimal():
        return _float_constant(float(e.this), e, number)
    return Constant(int(number), e) if number <= MOST else constant(int(number))


_SHORT = 15
"""Maximum number of digits of decimals that DuckDB always converts to the nearest double."""


def _float_constant(value: float, e: exp.Literal, number: decimal.Decimal) -> Constant:
    """Return a number that is written with a decimal point or an exponent as a constant.

    A large number with an exponent has the exact value of the nearest float64.

    Parameters
    ----------
    value : float
        The nearest float64.
    e : exp.Literal
        The number as written.
    number : Decimal
        The exact number.
    """
    has_exponent = "e" in e.this.lower()
    if has_exponent and np.isfinite(value) and abs(value) >= _MAX_EXACT_INTEGER:
        number = decimal.Decimal(value)
    is_long = len(number.as_tuple().digits) > _SHORT and value < _MAX_EXACT_INTEGER
    is_decimal = is_long and not has_exponent
    node = exp.Literal.number(f"{e.this}e0") if is_decimal else e
    return Constant(value, node, number, literal=e.this)


_MAX_EXACT_INTEGER = 2**53
"""Doubles represent all integers from 0 to this number exactly."""


def negate(value: Constant) -> Constant:
    """Return the negative of a number."""
    number = None if value.number is None else value.number.copy_negate()
    return Constant(
        -value.value,
        lambda: exp.Neg(this=value.node.copy()),
        number,
        literal=value.literal,
    )


def _too_large(value: int | decimal.Decimal) -> exp.Expr:
    """Raise QueryTypeError for an integer with more than 128 bits."""
    raise QueryTypeError(
        "SQL computes with integers of up to 128 bits, but a constant is "
        f"{decimal.Decimal(value):.6e}. Only compare columns with the constant, as in x < "
        "constant, or write it as a float, such as 1e40."
    )


def _reject_complex(value: complex) -> exp.Expr:
    """Raise QueryTypeError for a complex number in an expression that SQL computes."""
    raise QueryTypeError(
        f"SQL has only real numbers, but a constant is {value!r}. Use the constant only to "
        "compare it with a complex column, by = or <>."
    )


def _encodable(text: str) -> str:
    """Return a string that UTF-8 can encode. Raises QueryTypeError for a lone surrogate."""
    if (position := find_lone_surrogate(text)) is not None:
        raise QueryTypeError(
            f"A string parameter must be valid Unicode, but {text!a:.60} has a lone surrogate "
            f"at position {position}. Decode the string with errors='replace'."
        )
    return text


def as_array(value: Any) -> tuple[Any, Type]:
    """Convert a constant to an array or list for NumPy, and return it with its type.

    Raises
    ------
    QueryTypeError
        For an integer with more than 64 bits.
    """
    if isinstance(value, str) or value is None:
        return value, Type("str")
    if isinstance(value, bytes | dict):
        return value, Type("bytes" if isinstance(value, bytes) else "object")
    if isinstance(value, list) and (times := times_of(value)) is not None:
        return times, Type(times.dtype.name, times.shape)
    if isinstance(value, list) and len(_kinds(value)) > 1:  # has nulls, or is JSON
        return _as_items(value), _list_type(value)
    try:
        array = np.asarray(value)
    except ValueError:
        return _as_items(value), _list_type(value)
    if array.dtype == object and any(type(v) is int for v in array.flat):
        raise QueryTypeError(
            f"Tensors can contain integers of up to 64 bits, but this constant is {value!s:.60}. "
            "Compare with single numbers instead of a list, or pass floats."
        )
    if array.dtype.kind in "OS" and array.ndim:  # bytes, dates and other objects
        return value, _list_type(value)
    if array.dtype.kind == "U":
        return value, Type("str", array.shape)
    return array, Type(array.dtype.name, array.shape)


def _kinds(items: Sequence[object]) -> set[type]:
    """Return the Python types of all items in nested lists, with float for all numbers."""
    kinds: set[type] = set()
    for item in items:
        if isinstance(item, list):
            kinds |= _kinds(item)
        else:
            kinds.add(float if isinstance(item, int | float) else type(item))
    return kinds


def _as_items(value: Any) -> Any:
    """Return a value in which numbers and times, at any depth of lists, are NumPy scalars.

    The items of sequence columns have such types, too.
    """
    if isinstance(value, list):
        times = times_of([item for item in value if item is not None])
        if times is not None:
            following = iter(times)
            return [None if item is None else next(following) for item in value]
        return [_as_items(item) for item in value]
    return np.asarray(value)[()] if isinstance(value, int | float) else value


def _list_type(items: Sequence[Any]) -> Type:
    """Return the type of a list. The items may be null, or be lists of different lengths."""
    present = [item for item in items if item is not None]
    if present and all(isinstance(item, list) for item in present):
        return Type("object", (None,), Items(_list_type([part for i in present for part in i])))
    dtype = "object"
    if (times := times_of(present)) is not None:
        return Type("object", (None,), Items(Type(times.dtype.name)))
    if (kinds := _kinds(present)) == {float}:
        dtype = np.result_type(*(np.asarray(item).dtype for item in present)).name
    elif kinds in ({str}, {bytes}):
        dtype = "str" if str in kinds else "bytes"
    return Type("object", (None,), Items(Type(dtype)))


def null_tensor(type_: Type, text: str) -> Tensor:
    """Return a tensor that is null in every row."""
    nothing = exp.cast(exp.null(), "BIGINT")
    return Tensor(Given("g_NULL", type_), {"g_NULL": nothing}, text)


def option(low: Lowering, part: exp.Expr, scope: Scope) -> object:
    """Return the Python value of a constant argument, such as ``axis = 0``. Lists become tuples.

    Raises
    ------
    QueryTypeError
        If the argument is not a constant.
    """
    value = low.value(part, scope)
    if isinstance(value, Constant):
        return tuple(value.value) if isinstance(value.value, list) else value.value
    parts = part.expressions if isinstance(part, exp.Tuple) else ()
    if parts:
        return tuple(option(low, p, scope) for p in parts)
    raise QueryTypeError(
        f"An option must be a constant, but it is {text_of(part)}. Write a literal, or pass a "
        "parameter."
    )
