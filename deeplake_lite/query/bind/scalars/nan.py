"""Make comparisons with NaN false, although NaN equals NaN for DuckDB.

The comparison of NaN with null is null, as is any comparison with null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from deeplake_lite.query.bind.scalars.kinds import kind_of
from deeplake_lite.query.parse.duckdb_nodes import func
from deeplake_lite.query.values import Constant, Value

if TYPE_CHECKING:
    from collections.abc import Sequence


def is_null(node: exp.Expr) -> exp.Expr:
    """Return SQL that tests whether an expression is null."""
    return exp.Is(this=exp.paren(node.copy()), expression=exp.null())


def is_nan(node: exp.Expr) -> exp.Expr:
    """Return SQL that tests whether a float is NaN; the result for null is null."""
    return func("isnan", node.copy())


def is_present(value: Value) -> bool:
    """Return whether a value cannot be null, because it is a constant other than NULL."""
    return isinstance(value, Constant) and value.value is not None


def exclude_nan(node: exp.Expr, sides: Sequence[tuple[exp.Expr, Value]]) -> exp.Expr:
    """Return SQL for a comparison that is false if a side is NaN, and null if a side is null.

    The given comparison is kept as a separate condition, so that DuckDB can use it for a lookup or
    a hash join.

    Parameters
    ----------
    node : exp.Expr
        The comparison as DuckDB computes it.
    sides : sequence of (expression, Value)
        The SQL and the value of each side.
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
