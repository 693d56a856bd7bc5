"""Compare constant numbers with integers and floats exactly.

A constant number may be an integer of any size, a number with a decimal point, or a number in
quotes. Its exact value is a `Decimal`. If the constant is compared with integers, it is replaced
with an integer that gives the same result: ``x < 2.5`` becomes ``x < 3``, and ``x < 10**200``
becomes ``x <= 2**64 - 1``. Otherwise, DuckDB and NumPy would convert the integers to floats.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
from sqlglot import exp

from deeplake_lite.query.bind.expressions.constants import MOST, constant
from deeplake_lite.query.bind.expressions.types import HUGE
from deeplake_lite.query.values import Constant, Kind, Sql, Tensor

if TYPE_CHECKING:
    from deeplake_lite.query.values import Value

MIRRORED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.EQ, exp.NEQ: exp.NEQ,
    exp.LT: exp.GT, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.GTE: exp.LTE,
}  # fmt: skip
"""Maps each comparison to the comparison that is equivalent if the two sides are swapped."""

_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,4})?\s*", re.ASCII | re.IGNORECASE)

_DECIMAL = re.compile(r"-?\d{0,9}\.\d{1,9}", re.ASCII)
"""Matches numbers that DuckDB reads as decimals. When DuckDB compares such a decimal with a 32-bit
float, it converts the decimal to a 32-bit float."""

_OF_COLUMNS = -(2**63), 2**64 - 1
"""Smallest and largest integer that a column can contain."""

NO_INTEGER = 0.5
"""A number that equals no integer."""

_NO_FLOAT = 2**53 + 1
"""An integer that equals no float."""

_HELD = {"float16": 2**24, "float32": 2**24, "float64": 2**53}
"""Maps each float dtype to the largest number up to which it represents all integers exactly. In
DuckDB, float16 values are 32-bit floats."""


def number_of(value: Value) -> Decimal | None:
    """Return the exact value of a constant number, which may be in quotes.

    Returns None for NaN, and if the value is not a constant number.

    >>> number_of(constant("9007199254740993.0")), number_of(constant(0.5))
    (Decimal('9007199254740993.0'), Decimal('0.5'))
    >>> number_of(constant("half")), number_of(constant(True))
    (None, None)
    """
    if not isinstance(value, Constant):
        return None
    if value.number is not None:
        return value.number
    match value.value:
        case bool():
            return None
        case int():
            return Decimal(value.value)
        case float() if not math.isnan(value.value):
            return Decimal(value.value)
        case str(text) if _NUMBER.fullmatch(text):
            return Decimal(text.strip())
    return None


def adapt_to_integers(
    kind: type[exp.Expr], left: Value, right: Value
) -> tuple[type[exp.Expr], Value, Value]:
    """Return a comparison that is equivalent to ``left kind right`` and does not round.

    If a constant is compared with integers, it is replaced with an integer. If it is compared with
    other numbers and exceeds DuckDB's integers, it is replaced with a float.

    Returns
    -------
    tuple
        The comparison operator, which may differ from `kind`, and the two values.
    """
    if isinstance(right, Constant):
        kind, right = _adapt(kind, left, right)
    elif isinstance(left, Constant):
        mirrored, left = _adapt(MIRRORED[kind], right, left)
        kind = MIRRORED[mirrored]
    return kind, left, right


def _adapt(
    kind: type[exp.Expr], value: Value, constant_: Constant
) -> tuple[type[exp.Expr], Constant]:
    """Return an operator and a constant with which to compare `value`; see `adapt_to_integers`."""
    number, span = number_of(constant_), _integers(value, constant_)
    if number is None or (_has_axes(value) and isinstance(constant_.value, str)):
        return kind, constant_
    if span is not None:
        return _bound(kind, number, *span)
    if (rounded := _nearest(number, constant_, value)) is not None:
        return kind, rounded
    if number.copy_abs() > _HELD.get(_dtype_of(value), math.inf):
        return adapt_to_floats(kind, number)
    is_tensor = isinstance(value, Tensor) and value.type.is_number
    if is_tensor or (isinstance(value, Sql) and value.kind.name == "number"):
        most = np.iinfo(np.int64).max if is_tensor else MOST
        return (kind, constant_) if number.copy_abs() <= most else adapt_to_floats(kind, number)
    return kind, constant_


def _nearest(number: Decimal, constant_: Constant, value: Value) -> Constant | None:
    """Return the float that a constant stands for in a comparison with float16 or float32 scalars.

    There are three cases in which this is the nearest float of the type: the number has a fraction
    and is in a range in which floats have fractions, it is written with an exponent, or it is
    written with a decimal point and is the shortest way to write the float. DuckDB would compare
    numbers with an exponent or many digits in 64 bits. In all other cases, and if DuckDB itself
    rounds the constant to float32, this returns None.

    Parameters
    ----------
    number : Decimal
        The exact value of the constant.
    constant_ : Constant
        The constant.
    value : Value
        The value that the constant is compared with.
    """
    dtype = "" if _has_axes(value) else _dtype_of(value)
    if dtype not in ("float16", "float32") or not number.is_finite():
        return None
    has_fraction = number != number.to_integral_value() and number.copy_abs() <= _HELD[dtype]
    with np.errstate(over="ignore"):
        nearest = np.dtype(dtype).type(float(number))
    if has_fraction and dtype == "float32" and _DECIMAL.fullmatch(constant_.node.sql("duckdb")):
        return None
    has_exponent = "e" in constant_.literal.lower()
    is_shortest = "." in constant_.literal and Decimal(str(nearest)) == number
    if not (has_fraction or has_exponent or is_shortest) or not np.isfinite(nearest):
        return None
    text = str(nearest if dtype == "float32" else float(nearest))
    return Constant(float(nearest), exp.cast(exp.Literal.string(text), "FLOAT"))


def _dtype_of(value: Value) -> str:
    """Return the dtype of a number, or of the numbers in a list, or "" if it is unknown."""
    if isinstance(value, Tensor):
        return (value.type if value.type.items is None else value.type.items.of).dtype
    return value.kind.number_dtype if isinstance(value, Sql) else ""


def _has_axes(value: Value) -> bool:
    """Return whether a value is a tensor with axes, which cannot be compared with strings."""
    return isinstance(value, Tensor) and not value.is_scalar


def _bound(
    kind: type[exp.Expr], number: Decimal, least: int, most: int
) -> tuple[type[exp.Expr], Constant]:
    """Return an operator and an integer with which to compare integers from `least` to `most`.

    This comparison is equivalent to the comparison with the operator `kind` and `number`.

    >>> kind, bound = _bound(exp.LT, Decimal("2.5"), 0, 255)
    >>> kind.__name__, bound.value
    ('LT', 3)
    >>> kind, bound = _bound(exp.GT, Decimal(-1), 0, 255)
    >>> kind.__name__, bound.value
    ('GTE', 0)
    """
    if kind in (exp.EQ, exp.NEQ):
        return kind, _equal(number, least, most)
    is_less = kind in (exp.LT, exp.LTE)
    if number > most:
        return (exp.LTE if is_less else exp.GT), constant(most)
    if number < least:
        return (exp.LT if is_less else exp.GTE), constant(least)
    rounded = math.ceil if kind in (exp.LT, exp.GTE) else math.floor
    return kind, constant(rounded(number))


def _equal(number: Decimal, least: int, most: int) -> Constant:
    """Return the integer that equals a number, or `NO_INTEGER` if there is none."""
    is_integer = least <= number <= most and number == math.floor(number)
    return constant(math.floor(number) if is_integer else NO_INTEGER)


def adapt_to_huge_integers(
    kind: type[exp.Expr], number: Decimal
) -> tuple[type[exp.Expr], Constant]:
    """Return an operator and an integer with which to compare 128-bit integers.

    This comparison is equivalent to the comparison with the operator `kind` and `number`.
    """
    kind, bound = _bound(kind, number, -MOST, MOST)
    return (exp.LT, constant(-MOST)) if bound.value == NO_INTEGER else (kind, bound)


def adapt_to_floats(kind: type[exp.Expr], number: Decimal) -> tuple[type[exp.Expr], Constant]:
    """Return an operator and a float with which to compare floats.

    This comparison is equivalent to the comparison with the operator `kind` and `number`. A number
    below 2**53, such as 0.1, stands for the nearest float. Any other number that equals no float
    lies between two floats, and the upper one may be infinity.

    >>> kind, bound = adapt_to_floats(exp.LT, Decimal(2**53 + 1))
    >>> kind.__name__, bound.value
    ('LTE', 9007199254740992.0)
    """
    nearest = float(number)
    if _is_between_floats(number, nearest):
        if kind in (exp.EQ, exp.NEQ):  # a comparison that is false, or true, for every float
            return (exp.LT, _as_double(-math.inf)) if kind is exp.EQ else (kind, constant(math.nan))
        above = Decimal(nearest) > number
        is_less = kind in (exp.LT, exp.LTE)
        kind = (exp.LT if above else exp.LTE) if is_less else (exp.GTE if above else exp.GT)
    return kind, _as_double(nearest)


def _is_between_floats(number: Decimal, nearest: float) -> bool:
    """Return whether a number lies between two floats and is too large to stand for the nearest."""
    is_fraction = number.copy_abs() < _HELD["float64"]
    return number.is_finite() and not is_fraction and Decimal(nearest) != number


def _as_double(value: float) -> Constant:
    return Constant(value, exp.cast(exp.Literal.string(str(value)), "DOUBLE"))


def adapt_for_equality(constant_: Value, value: Value) -> Value:
    """Return a value that replaces `constant_` when `value` is tested for equality with it.

    If `value` is an integer, the constant becomes an equal integer. If `value` is a float and the
    constant equals no float, it becomes an integer that equals no float and is compared exactly,
    or, if `value` is a tensor, NaN. In all other cases, the constant is returned unchanged.
    """
    number = number_of(constant_)
    if number is None or not isinstance(constant_, Constant):
        return constant_
    dtype = _dtype_of(value)
    if (rounded := _nearest(number, constant_, value)) is not None:
        return rounded
    if number.copy_abs() > _HELD.get(dtype, math.inf) and number.is_finite():
        with np.errstate(over="ignore"):
            nearest = float(np.dtype(dtype).type(float(number)))
        if Decimal(nearest) != number:
            if _has_axes(value):  # NumPy would convert an integer to a float
                return constant(math.nan)
            return Sql(exp.cast(exp.convert(_NO_FLOAT), "HUGEINT"), Kind("number", dtype=HUGE))
    span = _integers(value, constant_)
    return constant_ if span is None else _equal(number, *span)


def _integers(value: Value, constant_: Constant) -> tuple[int, int] | None:
    """Return the smallest and largest integer that a value can be, or None if it is no integer.

    Also returns None if the constant with which the value is compared is the name of a class.
    """
    if isinstance(value, Tensor):
        is_named = isinstance(constant_.value, str) and value.type.meaning is not None
        dtype = np.dtype(value.type.dtype) if value.type.is_number else None
        if dtype is None or dtype.kind not in "iu" or is_named:
            return None
        return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    if not isinstance(value, Sql):
        return None
    if value.kind.name == "class":
        return None if isinstance(constant_.value, str) else _OF_COLUMNS
    of_kind = value.kind.number_dtype
    if of_kind == HUGE:
        return -MOST, MOST
    return _OF_COLUMNS if of_kind and np.dtype(of_kind).kind in "iu" else None


# ---- strings


def parse_fraction(value: Value) -> Value:
    """Return a constant string with a decimal point as a number. Return other values unchanged.

    If DuckDB compared such a string with integers, it would round the number.

    >>> parse_fraction(constant(" 1.4")).value, parse_fraction(constant("1.4 m")).value
    (1.4, '1.4 m')
    """
    if isinstance(value, Constant) and isinstance(value.value, str) and "." in value.value:
        return parse_number(value)
    return value


def parse_number(value: Value) -> Value:
    """Return a constant string as a number, if it is a number. Return other values unchanged."""
    is_text = isinstance(value, Constant) and isinstance(value.value, str)
    number = number_of(value) if is_text else None
    if number is None:
        return value
    return constant(number) if number.copy_abs() <= MOST else _as_double(float(number))
