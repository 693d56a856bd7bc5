"""Comparisons of NaN: false, and null beside null. For DuckDB, NaN is equal to itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from deeplake_lite.query.bind.scalars.kinds import kind_of
from deeplake_lite.query.parse.dialect import func
from deeplake_lite.query.values import Constant, Value

if TYPE_CHECKING:
    from collections.abc import Sequence


def is_null(node: exp.Expr) -> exp.Expr:
    """Return whether SQL gives null."""
    return exp.Is(this=exp.paren(node.copy()), expression=exp.null())


def is_nan(node: exp.Expr) -> exp.Expr:
    """Return whether a float is NaN; null for null."""
    return func("isnan", node.copy())


def is_present(value: Value) -> bool:
    """Tell whether a value is surely not null, as constants but null are."""
    return isinstance(value, Constant) and value.value is not None


def but_nan(node: exp.Expr, sides: Sequence[tuple[exp.Expr, Value]]) -> exp.Expr:
    """Return a comparison of values that is false where one is NaN, and null where one is null.

    The comparison stays a condition by itself, which DuckDB may look up or join by.

    Parameters
    ----------
    sides : sequence of (expression, Value)
        What is compared: as SQL, and what is known of it.
    """
    checks = [
        exp.not_(exp.paren(exp.and_(is_nan(side), *_all_present(sides, but=side))))
        for side, value in sides
        if kind_of(value).real
    ]
    return exp.paren(exp.and_(node, *checks)) if checks else node


def _all_present(sides: Sequence[tuple[exp.Expr, Value]], but: exp.Expr) -> list[exp.Expr]:
    return [
        exp.not_(is_null(side))
        for side, value in sides
        if side is not but and not is_present(value)
    ]
