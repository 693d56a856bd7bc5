"""Comparisons with each value that a query gives: ``x < ALL (SELECT …)``, ``x = ANY (SELECT …)``.

NaN compares as everywhere: ``<>`` is true, the others are false. To DuckDB it is the greatest
number, so that it is left out of what DuckDB looks at; ALL of a comparison is false beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

from sqlglot import exp

from deeplake_lite.errors import QueryTypeError
from deeplake_lite.query.bind.exact import beside_integers
from deeplake_lite.query.bind.json_values import json_key, json_order
from deeplake_lite.query.bind.kinds import agree, as_json, by_name, is_json, kind_of, settled
from deeplake_lite.query.dialect import func, select_from, text_of
from deeplake_lite.query.values import Sql, Value

if TYPE_CHECKING:
    from deeplake_lite.query.bind.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope


def quantified(low: Lowering, e: exp.Expr, scope: Scope) -> Value:
    """Return ANY or ALL of a query, behind a comparison. Raises QueryTypeError for tensors."""
    inner = e.this.this if isinstance(e.this, exp.Subquery) else e.this
    query, found = low.nested(inner, scope)
    if len(found) != 1 or found[0].kind.name == "tensor":
        raise QueryTypeError(
            f"{e.key.upper()} takes a query of one column with one value per row, got "
            f"{text_of(inner)}."
        )
    return Sql(type(e)(this=exp.Subquery(this=query)), found[0].kind)


def is_quantified(value: Value) -> TypeGuard[Sql]:
    """Tell whether a value is ANY or ALL of a query."""
    return isinstance(value, Sql) and isinstance(value.node, exp.Any | exp.All)


_VALUES = "sought"
"""Name of a query's result where its values are taken up again."""

_OTHERS: dict[type[exp.Expr], type[exp.Expr]] = {exp.Any: exp.All, exp.All: exp.Any}


def compare_with_each(
    kind: type[exp.Expr], left: Value, right: Sql, low: Lowering, scope: Scope
) -> exp.Expr:
    """Return a comparison with any or all values of a query."""
    quantifier, query = type(right.node), right.node.this.this
    if kind is exp.NEQ:  # what differs from all equals none
        other = Sql(_OTHERS[quantifier](this=right.node.this.copy()), right.kind)
        return exp.not_(exp.paren(compare_with_each(exp.EQ, left, other, low, scope)))
    column = Sql(exp.column(query.expressions[0].alias_or_name, table=_VALUES), right.kind)
    kind, left, _ = beside_integers(kind, left, column)
    node, value = _in_one_form(kind, settled(left, low, scope), column, low, scope)
    is_nan = func("isnan", value) if right.kind.real else None
    values = select_from([value.copy()], query.copy(), _VALUES)
    if is_nan is not None:
        values = values.where(
            exp.or_(exp.Is(this=value.copy(), expression=exp.null()), exp.not_(is_nan))
        )
    found: exp.Expr = kind(this=node, expression=quantifier(this=exp.Subquery(this=values)))
    checks = []
    if quantifier is exp.All and is_nan is not None:
        checks.append(_exists(query, is_nan.copy()))
    if kind_of(left).real:
        left_is_nan = func("isnan", node.copy())
        checks.append(
            exp.and_(left_is_nan, _exists(query)) if quantifier is exp.All else left_is_nan
        )
    return exp.paren(exp.and_(found, *(exp.not_(exp.paren(check)) for check in checks)))


def _exists(query: exp.Query, condition: exp.Expr | None = None) -> exp.Expr:
    """Return whether a query gives a value for which a condition holds."""
    rows = select_from([exp.convert(1)], query.copy(), _VALUES)
    return exp.Exists(this=rows if condition is None else rows.where(condition))


def _in_one_form(
    kind: type[exp.Expr], left: Value, column: Sql, low: Lowering, scope: Scope
) -> tuple[exp.Expr, exp.Expr]:
    """Return a value and the values that it is compared with, as SQL that compares them."""
    sides = agree(left, column), agree(column, left)
    if is_json(left) or is_json(column):
        form = json_key if kind is exp.EQ else json_order
        return form(as_json(left, low, scope)), form(as_json(column, low, scope))
    if column.kind.name == "class":  # the other side may have another list of names
        named = by_name(column)
        return low.as_sql(by_name(agree(left, named)), scope), low.as_sql(named, scope)
    return low.as_sql(sides[0], scope), low.as_sql(sides[1], scope)
