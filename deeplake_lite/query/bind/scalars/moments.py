"""Moments in nanoseconds, with which DuckDB computes in microseconds: exactly, or not at all.

DuckDB drops the nanoseconds of a moment before it adds a span to it or subtracts a moment from it.
Here the nanoseconds are taken off first, rounding down, and put back where the result is a moment.
A span has no place for them, so that one with nanoseconds is an error.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import numpy as np
from sqlglot import exp

from deeplake_lite.query.bind.calls.catalog import casts_moments
from deeplake_lite.query.bind.scalars.exact import MIRRORED
from deeplake_lite.query.bind.scalars.kinds import kind_of
from deeplake_lite.query.database.times import read_timestamp
from deeplake_lite.query.parse.dialect import func, text_of
from deeplake_lite.query.values import NANOSECONDS, Constant, Kind, Sql, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deeplake_lite.query.bind.expressions.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope

IN_MICROSECONDS = {"ADD", "AGE", "GENERATE_SERIES", "RANGE", "SUBTRACT"}
"""Functions that drop nanoseconds as `+` and `-` do."""


def is_fine(value: Value) -> bool:
    """Tell whether a value is known to be a moment in nanoseconds."""
    return _dtype(value) == "datetime64[ns]"


def is_coarse(value: Value) -> bool:
    """Tell whether a value is known to be a moment in a unit above microseconds."""
    dtype = _dtype(value)
    return dtype.startswith("datetime64") and dtype[11:-1] not in ("us", "ns")


def as_timestamp(node: exp.Expr, value: Value) -> exp.Expr:
    """Return a moment in microseconds where its unit is above those.

    Functions with forms for microseconds and nanoseconds, such as EPOCH, take seconds as
    nanoseconds since DuckDB 2.0.1, which end in 1677 and 2262.
    """
    return exp.cast(node, "TIMESTAMP") if is_coarse(value) else node


def floored(node: exp.Expr, value: Value) -> exp.Expr:
    """Return a moment in nanoseconds as the microsecond in which it lies; any other as it is.

    DuckDB rounds towards 1970, so that the last nanosecond of 1969 would be in 1970.
    """
    return _floor(node) if is_fine(value) else node


def takes_microseconds(name: str, args: Sequence[Value]) -> bool:
    """Tell whether a function looks at whole microseconds of a moment, or at less."""
    if name.upper() in _PARTS:
        unit = args[0].value if isinstance(args[0], Constant) else None
        units = {str(u).lower() for u in (unit if isinstance(unit, list) else [unit]) if u}
        return bool(units) and not units & FINE_UNITS
    return name.upper() in _OF_MICROSECONDS or casts_moments(name)


_PARTS = {"DATE_PART", "DATEPART"}

FINE_UNITS = {"nanosecond", "nanoseconds", "ns", "nsec", "nsecs", "epoch"}
"""Parts of a moment in which nanoseconds are."""

_OF_MICROSECONDS = {
    "EPOCH_MS", "EPOCH_US", "HOUR", "MICROSECOND", "MILLISECOND", "MINUTE", "SECOND",
}  # fmt: skip
"""Functions with a form for nanoseconds that gives nothing finer than microseconds."""


def _dtype(value: Value) -> str:
    """Return the dtype of a time, "" where it is not known."""
    if isinstance(value, Constant):
        is_time = isinstance(value.value, np.datetime64 | np.timedelta64)
        return str(value.value.dtype) if is_time else ""
    return kind_of(value).time_dtype


def sum_of_moments(
    e: exp.Expr, left: Value, right: Value, low: Lowering, scope: Scope
) -> Sql | None:
    """Return a sum or a difference in which moments in nanoseconds are; None for any other."""
    fine = is_fine(left), is_fine(right)
    if not any(fine) or not isinstance(e, exp.Add | exp.Sub):
        return None
    a, b = low.as_sql(left, scope), low.as_sql(right, scope)
    if isinstance(e, exp.Add):
        return _shifted(exp.Add, a, b) if fine[0] else _shifted(exp.Add, b, a)
    if fine[0] and _is_span(right):
        return _shifted(exp.Sub, a, b)
    if _dtype(left).startswith("datetime64") and _dtype(right).startswith("datetime64"):
        return _between(e, a, b)
    sides = [in_microseconds(n, e) if f else n for n, f in ((a, fine[0]), (b, fine[1]))]
    return Sql(exp.Sub(this=sides[0], expression=sides[1]), Kind("time"))


def beyond(kind: type[exp.Expr], left: Value, right: Value) -> bool | None:
    """Return what a comparison of a moment in nanoseconds with one beyond their range gives.

    Their range ends in 1677 and 2262. None for any other comparison.
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


def beside_coarser(
    kind: type[exp.Expr], values: tuple[Value, Value], nodes: tuple[exp.Expr, exp.Expr]
) -> exp.Expr | None:
    """Return a comparison of moments in nanoseconds with ones of a coarser unit; None for others.

    DuckDB would convert the coarser ones to nanoseconds, which end in 1677 and 2262. Here the
    microseconds of both decide, and where those are equal, the nanoseconds beyond them.
    """
    if is_fine(values[1]) and not is_fine(values[0]):
        return beside_coarser(MIRRORED[kind], values[::-1], nodes[::-1])
    fine, other = values
    is_moment = _dtype(other).startswith("datetime64") and not is_fine(other)
    if not (is_moment and is_fine(fine)) or any(isinstance(v, Constant) for v in values):
        return None
    floor, coarse = _floor(nodes[0]), as_timestamp(nodes[1].copy(), other)
    if kind in (exp.LT, exp.GTE):
        return kind(this=floor, expression=coarse)
    sign = exp.GT if kind is exp.GT else exp.EQ
    rest: exp.Expr = sign(this=_rest(nodes[0]), expression=exp.convert(0))
    present = exp.not_(exp.Is(this=coarse.copy(), expression=exp.null()))
    rest = exp.Case(ifs=[exp.If(this=present, true=rest)])
    tie = exp.and_(exp.EQ(this=floor, expression=coarse), rest)
    if kind is exp.EQ:
        return exp.paren(tie)
    strict = exp.GT if kind is exp.GT else exp.LT
    return exp.paren(exp.or_(strict(this=floor.copy(), expression=coarse.copy()), tie))


def differ_in_unit(left: Value, right: Value) -> bool:
    """Tell whether `beside_coarser` compares two values."""
    nodes = exp.null(), exp.null()
    return beside_coarser(exp.EQ, (left, right), nodes) is not None


_LAST = (2**63 - 1) // 1000
"""The last microsecond since 1970 that nanoseconds hold in 64 bits."""


def _moment(value: Value) -> np.datetime64 | None:
    """Return a constant as a moment in microseconds; None for one of another form."""
    found = value.value if isinstance(value, Constant) else None
    if isinstance(found, str):
        found = read_timestamp(found)
    is_moment = isinstance(found, dt.date | np.datetime64)
    return np.datetime64(found, "us") if is_moment else None


def _is_span(value: Value) -> bool:
    is_interval = isinstance(value, Sql) and isinstance(value.node, exp.Interval)
    return is_interval or _dtype(value).startswith("timedelta64")


def _shifted(kind: type[exp.Binary], moment: exp.Expr, span: exp.Expr) -> Sql:
    """Return a moment moved by a span, with the nanoseconds that it has."""
    node = kind(this=_floor(moment), expression=span)
    whole = exp.Mul(this=func("epoch_us", node), expression=exp.convert(1000))
    return Sql(
        func("make_timestamp_ns", exp.Add(this=whole, expression=_rest(moment))), NANOSECONDS
    )


def _between(e: exp.Expr, a: exp.Expr, b: exp.Expr) -> Sql:
    """Return the span between two moments, an error where it has nanoseconds."""
    nanoseconds = exp.Sub(this=func("epoch_ns", a.copy()), expression=func("epoch_ns", b.copy()))
    node = exp.Sub(this=_floor(a), expression=_floor(b))
    return Sql(_unless_finer(exp.paren(nanoseconds), node, e), Kind("time"))


def in_microseconds(moment: exp.Expr, e: exp.Expr) -> exp.Expr:
    """Return a moment in microseconds, an error where it has nanoseconds, too."""
    return _unless_finer(func("epoch_ns", moment.copy()), _floor(moment), e)


def _unless_finer(nanoseconds: exp.Expr, node: exp.Expr, e: exp.Expr) -> exp.Expr:
    """Return a node, an error where nanoseconds are no whole microseconds."""
    rest = exp.Mod(this=nanoseconds, expression=exp.convert(1000))
    message = (
        f"SQL computes with durations in whole microseconds, but {text_of(e)} has nanoseconds. "
        "Count them as integers: EPOCH_NS(a) - EPOCH_NS(b)."
    )
    wrong = func("error", exp.Literal.string(message))
    is_finer = exp.NEQ(this=rest, expression=exp.convert(0))
    return exp.Case(ifs=[exp.If(this=is_finer, true=wrong)], default=node)


def _floor(moment: exp.Expr) -> exp.Expr:
    """Return the microsecond in which a moment lies, also of one before 1970."""
    whole = exp.Sub(this=func("epoch_ns", moment.copy()), expression=_rest(moment))
    count = exp.IntDiv(this=exp.paren(whole), expression=exp.convert(1000))
    return func("make_timestamp", exp.cast(count, "BIGINT"))


def _rest(moment: exp.Expr) -> exp.Expr:
    """Return the nanoseconds of a moment since its last microsecond, from 0 to 999."""
    rest = exp.Mod(this=func("epoch_ns", moment.copy()), expression=exp.convert(1000))
    positive = exp.paren(exp.Add(this=exp.paren(rest), expression=exp.convert(1000)))
    return exp.paren(exp.Mod(this=positive, expression=exp.convert(1000)))
