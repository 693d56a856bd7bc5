"""Comparisons of JSON values, with each other and with values of SQL's.

Numbers are compared by value, objects regardless of the order of their keys. The number 1, the text
"1" and true are three values; JSON's null is null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from deeplake_lite.query.bind.json_values import (
    equals_bool,
    equals_number,
    equals_text,
    json_key,
    json_order,
    only_bool,
    only_number,
    only_text,
)
from deeplake_lite.query.bind.kinds import agree, as_json, as_text, is_json, kind_of
from deeplake_lite.query.dialect import func, select_from
from deeplake_lite.query.values import Constant, Sql, Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from deeplake_lite.query.bind.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope

_EXACT = 2**53
"""Whole numbers from here on are not all float64."""

_REVERSED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.LT: exp.GT, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.GTE: exp.LTE,
}  # fmt: skip


def compare_json(
    kind: type[exp.Expr], left: Value, right: Value, low: Lowering, scope: Scope
) -> exp.Expr:
    """Return a comparison of two values, one of which is JSON. Raises QueryTypeError for bytes."""
    agree(left, right), agree(right, left)  # refuse what compares with its own kind alone
    quantified = (exp.Any, exp.All)
    if isinstance(right, Sql) and isinstance(right.node, quantified):
        form = json_key if kind in (exp.EQ, exp.NEQ) else json_order
        found = _each(right, form)
        return kind(this=form(as_json(left, low, scope)), expression=found)
    if kind is exp.EQ:
        return equals_json(left, right, low, scope)
    if not is_json(left):
        return compare_json(_REVERSED[kind], right, left, low, scope)
    return _ordered(kind, left, right, low, scope)


def equals_json(left: Value, right: Value, low: Lowering, scope: Scope) -> exp.Expr:
    """Return whether two values are equal, one of which is JSON."""
    value, other = (left, right) if is_json(left) else (right, left)
    if is_json(value) and not isinstance(value, Constant) and not _is_large(other):
        node = low.as_sql(value, scope)
        match kind_of(other).name:
            case "text" | "class":
                return equals_text(node, as_text(other, low, scope))
            case "number":
                return equals_number(node, low.as_sql(other, scope))
            case "bool":
                return equals_bool(node, low.as_sql(other, scope))
    keys = [json_key(as_json(side, low, scope)) for side in (left, right)]
    return exp.EQ(this=keys[0], expression=keys[1])


def _ordered(
    kind: type[exp.Expr], value: Value, other: Value, low: Lowering, scope: Scope
) -> exp.Expr:
    """Return whether a JSON value is less or greater than another value; null of another kind."""
    node = low.as_sql(value, scope)
    match kind_of(other).name:
        case "text" | "class":
            return kind(this=only_text(node), expression=as_text(other, low, scope))
        case "number":
            return kind(this=only_number(node), expression=low.as_sql(other, scope))
        case "bool":
            return kind(this=only_bool(node), expression=low.as_sql(other, scope))
    return kind(this=json_order(node), expression=json_order(as_json(other, low, scope)))


def _is_large(value: Value) -> bool:
    """Tell whether a value is a number that SQL does not compare exactly."""
    number = value.value if isinstance(value, Constant) else None
    return isinstance(number, int | float) and not abs(number) < _EXACT


def _each(found: Sql, form: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """Return ANY or ALL of a query, of whose values a form is compared."""
    query = found.node.this.this
    node: exp.Expr = exp.column(query.expressions[0].alias_or_name, table="sought")
    if found.kind.name != "json":
        node = exp.cast(func("to_json", node), "VARCHAR")
    return type(found.node)(this=exp.Subquery(this=select_from([form(node)], query, "sought")))
