"""Compute with timestamps in nanoseconds, and compare them, without rounding.

Before DuckDB adds a duration to a timestamp or subtracts a timestamp, it drops the nanoseconds,
which are the digits after the microseconds. The SQL generated here therefore splits the nanoseconds
off first. If the result is a timestamp, it adds them again. A duration (INTERVAL) has only
microseconds, so a difference that is not a whole number of microseconds is an error.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from sqlglot import exp

from deeplake_lite.errors import QueryTypeError
from deeplake_lite.htypes import Scalar
from deeplake_lite.query.bind.calls.catalog import casts_moments
from deeplake_lite.query.bind.expressions.constants import constant
from deeplake_lite.query.bind.scalars.agreement import agree
from deeplake_lite.query.bind.scalars.exact import MIRRORED
from deeplake_lite.query.bind.scalars.kinds import WORDS, kind_of
from deeplake_lite.query.database.times import check_microseconds, read_timestamp
from deeplake_lite.query.parse.dialect import text_of
from deeplake_lite.query.parse.duckdb_nodes import build_error, func
from deeplake_lite.query.values import NANOSECONDS, Constant, Kind, Sql, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deeplake_lite.query.bind.expressions.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope

IN_MICROSECONDS = {"ADD", "AGE", "GENERATE_SERIES", "RANGE", "SUBTRACT"}
"""Functions in which DuckDB drops the nanoseconds of timestamps, as with `+` and `-`."""


def is_fine(value: Value) -> bool:
    """Return whether a value is known to be a timestamp in nanoseconds."""
    return _dtype(value) == "datetime64[ns]"


def is_coarse(value: Value) -> bool:
    """Return whether a value is known to be a timestamp in a unit coarser than microseconds."""
    dtype = _dtype(value)
    return dtype.startswith("datetime64") and dtype[11:-1] not in ("us", "ns")


def as_timestamp(node: exp.Expr, value: Value) -> exp.Expr:
    """Return SQL for a timestamp, converted to microseconds if its unit is coarser.

    Since DuckDB 2.0.1, functions that accept microseconds and nanoseconds, such as EPOCH, convert
    seconds to nanoseconds, which cover only the years 1677 to 2262.
    """
    return exp.cast(node, "TIMESTAMP") if is_coarse(value) else node


def floor_to_microseconds(node: exp.Expr, value: Value) -> exp.Expr:
    """Return SQL for a timestamp in nanoseconds, rounded down to microseconds.

    Other values are returned unchanged. DuckDB itself would round towards 1970, so that the last
    nanosecond of 1969 would become the start of 1970.
    """
    return _floor(node) if is_fine(value) else node


def takes_microseconds(name: str, args: Sequence[Value]) -> bool:
    """Return whether a function ignores the nanoseconds of a timestamp."""
    if name.upper() in _PARTS:
        unit = args[0].value if isinstance(args[0], Constant) else None
        units = {str(u).lower() for u in (unit if isinstance(unit, list) else [unit]) if u}
        return bool(units) and not units & FINE_UNITS
    return name.upper() in _OF_MICROSECONDS or casts_moments(name)


_PARTS = {"DATE_PART", "DATEPART"}

FINE_UNITS = {"nanosecond", "nanoseconds", "ns", "nsec", "nsecs", "epoch"}
"""Parts of a timestamp that include its nanoseconds."""

_OF_MICROSECONDS = {
    "EPOCH_MS", "EPOCH_US", "HOUR", "MICROSECOND", "MILLISECOND", "MINUTE", "SECOND",
}  # fmt: skip
"""Functions that accept timestamps in nanoseconds, but whose results ignore the nanoseconds."""


def _dtype(value: Value) -> str:
    """Return the dtype of a time, or "" if the value is not a time or the dtype is unknown."""
    if isinstance(value, Constant):
        is_time = isinstance(value.value, np.datetime64 | np.timedelta64)
        return str(value.value.dtype) if is_time else ""
    return kind_of(value).time_dtype


def read_quoted_times(sign: type[exp.Expr], sides: Sequence[Value]) -> list[Value]:
    """Return both operands of + or -. If one is a time, the other, a constant string, is parsed.

    Raises
    ------
    QueryTypeError
        If the string has more digits than SQL can represent.
    """
    return [
        _read_operand(sign, value, other) for value, other in zip(sides, sides[::-1], strict=True)
    ]


def _read_operand(sign: type[exp.Expr], value: Value, other: Value) -> Value:
    text = value.value if isinstance(value, Constant) else None
    if isinstance(text, str) and kind_of(other).is_clock:  # SQL reads the string as a duration
        check_microseconds(text)
        return value
    if sign is exp.Sub or not isinstance(text, str) or kind_of(other).name != "time":
        return read_quoted_time(value, other)
    if read_timestamp(text) is None:  # the string is a duration to add
        check_microseconds(text)
        return value
    return read_quoted_time(value, other)


def read_quoted_time(value: Value, other: Value) -> Value:
    """Return a constant string as a time if `other` is a time. Return other values unchanged.

    Raises
    ------
    QueryTypeError
        If the string is not a time, or has more digits than SQL can represent.
    """
    text = value.value if isinstance(value, Constant) else None
    if not isinstance(text, str) or kind_of(other).name != "time":
        return value
    moment = None if kind_of(other).is_clock else read_timestamp(text)
    return agree(value, other) if moment is None else constant(moment)


def sum_of_moments(
    e: exp.Expr, left: Value, right: Value, low: Lowering, scope: Scope
) -> Sql | None:
    """Return the value of + or - if an operand is a timestamp in nanoseconds, or else None."""
    fine = is_fine(left), is_fine(right)
    if not any(fine) or not isinstance(e, exp.Add | exp.Sub):
        return None
    a, b = low.as_sql(left, scope), low.as_sql(right, scope)
    if isinstance(e, exp.Add):
        return _shift(exp.Add, a, b) if fine[0] else _shift(exp.Add, b, a)
    if fine[0] and _is_span(right):
        return _shift(exp.Sub, a, b)
    if _dtype(left).startswith("datetime64") and _dtype(right).startswith("datetime64"):
        return _span_between(e, a, b)
    sides = [in_microseconds(n, e) if f else n for n, f in ((a, fine[0]), (b, fine[1]))]
    return Sql(exp.Sub(this=sides[0], expression=sides[1]), Kind("time"))


def compare_out_of_range(kind: type[exp.Expr], left: Value, right: Value) -> bool | None:
    """Return the result of comparing a timestamp in nanoseconds with a constant out of its range.

    All timestamps in nanoseconds are in the years 1677 to 2262, so the result is the same for all
    of them. Returns None for any other comparison.
    """
    fine, other = (left, right) if is_fine(left) else (right, left)
    moment = _moment(other) if is_fine(fine) else None
    if moment is None or abs(moment.astype(np.int64)) <= _LAST:
        return None
    is_later = bool(moment.astype(np.int64) > 0)
    if kind is exp.EQ:
        return False
    is_less = kind in (exp.LT, exp.LTE)
    return is_less == (is_later if fine is left else not is_later)


def compare_with_coarser(
    kind: type[exp.Expr], values: tuple[Value, Value], nodes: tuple[exp.Expr, exp.Expr]
) -> exp.Expr | None:
    """Return SQL that compares a timestamp in nanoseconds with one in a coarser unit.

    DuckDB would convert the coarser timestamp to nanoseconds, which cover only the years 1677 to
    2262. The SQL returned here compares both in microseconds. If they are equal, the remaining
    nanoseconds decide. Returns None for other values.
    """
    if is_fine(values[1]) and not is_fine(values[0]):
        return compare_with_coarser(MIRRORED[kind], values[::-1], nodes[::-1])
    fine, other = values
    is_moment = _dtype(other).startswith("datetime64") and not is_fine(other)
    if not (is_moment and is_fine(fine)):
        return None
    floor, coarse = _floor(nodes[0]), as_timestamp(nodes[1].copy(), other)
    if kind in (exp.LT, exp.GTE):
        return kind(this=floor, expression=coarse)
    sign = exp.GT if kind is exp.GT else exp.EQ
    decides: exp.Expr = sign(this=_split_nanoseconds(nodes[0]), expression=exp.convert(0))
    present = exp.not_(exp.Is(this=coarse.copy(), expression=exp.null()))
    decides = exp.Case(ifs=[exp.If(this=present, true=decides)])
    tie = exp.and_(exp.EQ(this=floor, expression=coarse), decides)
    if kind is exp.EQ:
        return exp.paren(tie)
    strict = exp.GT if kind is exp.GT else exp.LT
    return exp.paren(exp.or_(strict(this=floor.copy(), expression=coarse.copy()), tie))


def differ_in_unit(left: Value, right: Value) -> bool:
    """Return whether one of two timestamps is in nanoseconds, and the other in a coarser unit."""
    nodes = exp.null(), exp.null()
    left, right = _as_moment(left, right), _as_moment(right, left)
    if compare_out_of_range(exp.EQ, left, right) is not None:
        return True
    return compare_with_coarser(exp.EQ, (left, right), nodes) is not None


def _as_moment(value: Value, other: Value) -> Value:
    """Return a constant string as a time if `other` is a time. Return other values unchanged."""
    is_text = isinstance(value, Constant) and isinstance(value.value, str)
    return agree(value, other) if is_text and kind_of(other).name == "time" else value


def nanoseconds_of(node: exp.Expr, value: Value) -> exp.Expr:
    """Return SQL for the number of nanoseconds from 1970 to a timestamp, as a 128-bit integer."""
    if is_fine(value):
        return exp.cast(func("epoch_ns", node.copy()), "HUGEINT")
    count = exp.cast(func("epoch_us", exp.cast(node.copy(), "TIMESTAMP")), "HUGEINT")
    return exp.Mul(this=count, expression=exp.convert(1000))


def with_units(left: Value, right: Value, low: Lowering) -> tuple[Value, Value]:
    """Return two values. If one of them is in nanoseconds, the kind of the other gets a unit.

    The unit of a computed timestamp is looked up in DuckDB.
    """
    if is_fine(left):
        return left, _with_unit(right, low)
    return (_with_unit(left, low), right) if is_fine(right) else (left, right)


def with_units_beside_texts(values: Sequence[Value], low: Lowering) -> list[Value]:
    """Return the values. If one of them is a constant string, the kinds of timestamps get units.

    The unit of a computed timestamp is looked up in DuckDB. The unit decides how many digits the
    string may have.
    """
    texts = [isinstance(v, Constant) and isinstance(v.value, str) for v in values]
    return [_with_unit(v, low) for v in values] if any(texts) else list(values)


def check_beside_time(part: exp.Expr, value: Value, other: Value) -> None:
    """Check that a value can be added to or subtracted from `other`, if `other` is a time.

    Raises
    ------
    QueryTypeError
        If the value is JSON or a non-constant string, or if it is a number and `other` a timestamp.
    """
    kind = kind_of(value)
    if kind_of(other).name != "time":
        return
    if kind.name == "json" or (kind.name == "text" and not isinstance(value, Constant)):
        raise QueryTypeError(
            "Only times and durations can be added to times or subtracted from them, but "
            f"{text_of(part)} is {WORDS[kind.name]}. Write CAST({text_of(part)} AS TIMESTAMP), or "
            "AS INTERVAL."
        )
    if kind.name == "number" and _dtype(other).startswith("datetime64"):
        raise QueryTypeError(
            "Only times and durations can be added to times or subtracted from them, but "
            f"{text_of(part)} is a number. If it counts days, write INTERVAL 1 DAY * "
            f"({text_of(part)})."
        )


def _with_unit(value: Value, low: Lowering) -> Value:
    if not isinstance(value, Sql) or value.kind.name != "time" or _dtype(value):
        return value
    unit = _UNITS.get(low.types.of(value.node) or "")
    htype = None if unit is None else Scalar(f"datetime64[{unit}]")
    return replace(value, kind=replace(value.kind, htype=htype))


_UNITS = {"DATE": "D", "TIMESTAMP_S": "s", "TIMESTAMP_MS": "ms", "TIMESTAMP": "us"}
"""Maps DuckDB's timestamp types, except the type in nanoseconds, to units."""

_LAST = (2**63 - 1) // 1000
"""Largest number of microseconds since 1970 that timestamps in nanoseconds can represent."""


def _moment(value: Value) -> np.datetime64 | None:
    """Return a constant timestamp or string in microseconds, or None if it is not a timestamp."""
    moment = value.value if isinstance(value, Constant) else None
    if isinstance(moment, str):
        moment = read_timestamp(moment)
    is_moment = isinstance(moment, dt.date | np.datetime64)
    return np.datetime64(moment, "us") if is_moment else None


def _is_span(value: Value) -> bool:
    is_interval = isinstance(value, Sql) and isinstance(value.node, exp.Interval)
    return is_interval or _dtype(value).startswith("timedelta64")


def _shift(kind: type[exp.Binary], moment: exp.Expr, span: exp.Expr) -> Sql:
    """Return a timestamp in nanoseconds plus or minus a duration."""
    node = kind(this=_floor(moment), expression=span)
    whole = exp.Mul(this=func("epoch_us", node), expression=exp.convert(1000))
    return Sql(
        func("make_timestamp_ns", exp.Add(this=whole, expression=_split_nanoseconds(moment))),
        NANOSECONDS,
    )


def _span_between(e: exp.Expr, a: exp.Expr, b: exp.Expr) -> Sql:
    """Return the duration between two timestamps.

    DuckDB raises an error if the duration is not a whole number of microseconds. `e` is the
    expression, for the message.
    """
    nanoseconds = exp.Sub(this=func("epoch_ns", a.copy()), expression=func("epoch_ns", b.copy()))
    node = exp.Sub(this=_floor(a), expression=_floor(b))
    return Sql(_error_if_finer(exp.paren(nanoseconds), node, e), Kind("time"))


def in_microseconds(moment: exp.Expr, e: exp.Expr) -> exp.Expr:
    """Return SQL for a timestamp in microseconds. If it would be rounded, the SQL raises an error.

    `e` is the expression, for the message.
    """
    return _error_if_finer(func("epoch_ns", moment.copy()), _floor(moment), e)


def _error_if_finer(nanoseconds: exp.Expr, node: exp.Expr, e: exp.Expr) -> exp.Expr:
    """Return SQL for `node` that raises an error if `nanoseconds` are not whole microseconds."""
    remainder = exp.Mod(this=nanoseconds, expression=exp.convert(1000))
    message = (
        f"SQL computes with durations in whole microseconds, but {text_of(e)} has nanoseconds. "
        "Count nanoseconds as integers: EPOCH_NS(a) - EPOCH_NS(b)."
    )
    is_finer = exp.NEQ(this=remainder, expression=exp.convert(0))
    return exp.Case(ifs=[exp.If(this=is_finer, true=build_error(message))], default=node)


def _floor(moment: exp.Expr) -> exp.Expr:
    """Return SQL for a timestamp rounded down to microseconds, even before 1970."""
    nanoseconds = func("epoch_ns", moment.copy())
    whole = exp.Sub(this=nanoseconds, expression=_split_nanoseconds(moment))
    count = exp.IntDiv(this=exp.paren(whole), expression=exp.convert(1000))
    return func("make_timestamp", exp.cast(count, "BIGINT"))


def _split_nanoseconds(moment: exp.Expr) -> exp.Expr:
    """Return SQL for the nanoseconds of a timestamp after its last full microsecond: 0 to 999."""
    remainder = exp.Mod(this=func("epoch_ns", moment.copy()), expression=exp.convert(1000))
    positive = exp.paren(exp.Add(this=exp.paren(remainder), expression=exp.convert(1000)))
    return exp.paren(exp.Mod(this=positive, expression=exp.convert(1000)))
