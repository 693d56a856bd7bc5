"""Comparisons with each value that a query gives: ``x < ALL (SELECT …)``, ``x = ANY (SELECT …)``.

NaN compares as everywhere: ``<>`` is true, the others are false; with null it gives null. To DuckDB
it is the greatest number, so that it is left out of what DuckDB looks at; ALL of a comparison is
false beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

from sqlglot import exp

from deeplake_lite.errors import QueryTypeError
from deeplake_lite.query.bind.scalars import beside_floats
from deeplake_lite.query.bind.scalars.exact import beside_integers
from deeplake_lite.query.bind.scalars.json_values import is_number, is_of_type, json_key, json_order
from deeplake_lite.query.bind.scalars.kinds import (
    agree,
    as_json,
    by_name,
    check_ordered,
    goes_as_json,
    is_json,
    kind_of,
    settled,
)
from deeplake_lite.query.bind.scalars.nan import is_nan, is_null
from deeplake_lite.query.parse.dialect import select_from, text_of
from deeplake_lite.query.values import Sql, Value

if TYPE_CHECKING:
    from deeplake_lite.query.bind.expressions.lowering import Lowering
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
    left = settled(left, low, scope)
    node, value = _in_one_form(kind, left, column, low, scope)
    values = select_from([value.copy()], query.copy(), _VALUES)
    found = kind(this=node, expression=quantifier(this=exp.Subquery(this=values)))
    ifs = []
    if right.kind.real:
        ifs.append(exp.If(this=is_null(node), true=found))
        found = _beside_nan(found, column.node)
    if kind_of(left).real:
        number = low.as_sql(left, scope)
        ifs.append(exp.If(this=is_nan(number), true=_of_nan(quantifier, query, column.node)))
    return exp.Case(ifs=ifs, default=found) if ifs else exp.paren(found)


def _beside_nan(found: exp.Expr, value: exp.Expr) -> exp.Expr:
    """Return a comparison of what is not null with values of which some are NaN."""
    found = found.copy()
    quantifier = found.args["expression"]
    values = quantifier.this.this
    without = values.where(exp.or_(is_null(value), exp.not_(is_nan(value))))
    quantifier.this.set("this", without)
    if isinstance(quantifier, exp.Any):
        return found
    return exp.and_(found, exp.not_(exp.Exists(this=values.where(is_nan(value)))))


def _of_nan(quantifier: type[exp.Expr], query: exp.Query, value: exp.Expr) -> exp.Expr:
    """Return what the comparisons of NaN give: false beside a number, and null beside null."""
    some_null = exp.If(this=_exists(query, is_null(value)), true=exp.null())
    if quantifier is exp.Any:
        return exp.Case(ifs=[some_null], default=exp.false())
    some_number = exp.If(this=_exists(query, exp.not_(is_null(value))), true=exp.false())
    return exp.Case(ifs=[some_number, some_null], default=exp.true())


def _exists(query: exp.Query, condition: exp.Expr) -> exp.Expr:
    """Return whether a query gives a value for which a condition holds."""
    return exp.Exists(this=select_from([exp.convert(1)], query.copy(), _VALUES).where(condition))


def _in_one_form(
    kind: type[exp.Expr], left: Value, column: Sql, low: Lowering, scope: Scope
) -> tuple[exp.Expr, exp.Expr]:
    """Return a value and the values that it is compared with, as SQL that compares them."""
    sides = agree(left, column), agree(column, left)
    if goes_as_json(left, column):
        nodes = as_json(left, low, scope), as_json(column, low, scope)
        if kind is exp.EQ:
            return json_key(nodes[0]), json_key(nodes[1])
        check_ordered(left, column)
        return _order_beside(nodes[0], left, column), _order_beside(nodes[1], column, left)
    if column.kind.name == "class":  # the other side may have another list of names
        named = by_name(column)
        return low.as_sql(by_name(agree(left, named)), scope), low.as_sql(named, scope)
    nodes = low.as_sql(sides[0], scope), low.as_sql(sides[1], scope)
    kinds = kind_of(left), column.kind
    if beside_floats.are_mixed(*kinds):
        return beside_floats.key(nodes[0], kinds[0]), beside_floats.key(nodes[1], kinds[1])
    return nodes


def _order_beside(node: exp.Expr, value: Value, other: Value) -> exp.Expr:
    """Return what JSON values are ordered by, null for those of another kind than the others."""
    name = kind_of(other).name
    if not is_json(value) or name == "json":
        return json_order(node)
    match name:
        case "number":
            is_alike = is_number(node)
        case "text" | "class":
            is_alike = is_of_type(node, "VARCHAR")
        case "bool":
            is_alike = is_of_type(node, "BOOLEAN")
        case _:
            return json_order(node)
    return exp.Case(ifs=[exp.If(this=is_alike, true=json_order(node))])
