"""Lower comparisons with the values of a subquery: ``x < ALL (SELECT …)``, ``x = ANY (SELECT …)``.

NaN behaves as in all other comparisons: ``<>`` is true, other comparisons are false, and a
comparison with null is null. Because DuckDB treats NaN as the largest number, NaN is removed from
the values before DuckDB compares them, and ``ALL`` is false if the subquery returns a NaN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

from sqlglot import exp

from deeplake_lite.errors import QueryTypeError
from deeplake_lite.query.bind.scalars import beside_floats
from deeplake_lite.query.bind.scalars.agreement import agree
from deeplake_lite.query.bind.scalars.conversions import (
    as_json,
    by_name,
    check_ordered,
    scalar_to_sql,
)
from deeplake_lite.query.bind.scalars.exact import adapt_to_integers
from deeplake_lite.query.bind.scalars.json_values import is_number, is_of_type, json_key, json_order
from deeplake_lite.query.bind.scalars.kinds import compares_as_json, is_json, kind_of
from deeplake_lite.query.bind.scalars.moments import differ_in_unit, nanoseconds_of, with_units
from deeplake_lite.query.bind.scalars.nan import is_nan, is_null
from deeplake_lite.query.parse.dialect import text_of
from deeplake_lite.query.parse.duckdb_nodes import select_from
from deeplake_lite.query.values import Sql, Value

if TYPE_CHECKING:
    from deeplake_lite.query.bind.expressions.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope


def lower_quantifier(low: Lowering, e: exp.Expr, scope: Scope) -> Value:
    """Lower ANY or ALL of a subquery on the right side of a comparison.

    Raises
    ------
    QueryTypeError
        If the subquery has several columns, or a column of tensors.
    """
    inner = e.this.this if isinstance(e.this, exp.Subquery) else e.this
    query, columns = low.lower_query(inner, scope)
    if len(columns) != 1 or columns[0].kind.name == "tensor":
        raise QueryTypeError(
            f"{e.key.upper()} needs a subquery that returns one column of single values, but the "
            f"subquery is {text_of(inner)}. Select one column that is not a tensor."
        )
    return Sql(type(e)(this=exp.Subquery(this=query)), columns[0].kind)


def is_quantified(value: Value) -> TypeGuard[Sql]:
    """Return whether a value is ANY or ALL of a subquery."""
    return isinstance(value, Sql) and isinstance(value.node, exp.Any | exp.All)


_SUBQUERY = "sought"
"""Alias of the subquery with whose values a value is compared."""

_OPPOSITES: dict[type[exp.Expr], type[exp.Expr]] = {exp.Any: exp.All, exp.All: exp.Any}


def compare_with_each(
    kind: type[exp.Expr], left: Value, right: Sql, low: Lowering, scope: Scope
) -> exp.Expr:
    """Return the SQL that compares a value with any or all values of a subquery.

    Parameters
    ----------
    kind : type of exp.Expr
        The comparison operator.
    left : Value
        The value.
    right : Sql
        ANY or ALL of the subquery.
    low : Lowering
        The lowering of the query.
    scope : Scope
        The scope of the expression.
    """
    quantifier, query = type(right.node), right.node.this.this
    if kind is exp.NEQ:  # `<> ALL` is the negation of `= ANY`
        opposite = Sql(_OPPOSITES[quantifier](this=right.node.this.copy()), right.kind)
        return exp.not_(exp.paren(compare_with_each(exp.EQ, left, opposite, low, scope)))
    column = Sql(exp.column(query.expressions[0].alias_or_name, table=_SUBQUERY), right.kind)
    kind, left, _ = adapt_to_integers(kind, left, column)
    left, _ = with_units(scalar_to_sql(left, low, scope), column, low)
    node, value = _comparable_sides(kind, left, column, low, scope)
    values = select_from([value.copy()], query.copy(), _SUBQUERY)
    comparison = kind(this=node, expression=quantifier(this=exp.Subquery(this=values)))
    ifs = []
    if right.kind.real:
        ifs.append(exp.If(this=is_null(node), true=comparison))
        comparison = _without_nan(comparison, column.node)
    if kind_of(left).real:
        number = low.as_sql(left, scope)
        ifs.append(exp.If(this=is_nan(number), true=_compare_nan(quantifier, query, column.node)))
    return exp.Case(ifs=ifs, default=comparison) if ifs else exp.paren(comparison)


def _without_nan(comparison: exp.Expr, value: exp.Expr) -> exp.Expr:
    """Return a comparison of a number that is not null with a subquery, ignoring its NaN values.

    With ALL, the result is false if the subquery returns NaN in any row.
    """
    comparison = comparison.copy()
    quantifier = comparison.args["expression"]
    values = quantifier.this.this
    without = values.where(exp.or_(is_null(value), exp.not_(is_nan(value))))
    quantifier.this.set("this", without)
    if isinstance(quantifier, exp.Any):
        return comparison
    return exp.and_(comparison, exp.not_(exp.Exists(this=values.where(is_nan(value)))))


def _compare_nan(quantifier: type[exp.Expr], query: exp.Query, value: exp.Expr) -> exp.Expr:
    """Return the SQL for the result of comparing NaN with any or all values of a subquery.

    The comparison of NaN with a number is false, and the comparison with null is null.
    """
    some_null = exp.If(this=_exists(query, is_null(value)), true=exp.null())
    if quantifier is exp.Any:
        return exp.Case(ifs=[some_null], default=exp.false())
    some_number = exp.If(this=_exists(query, exp.not_(is_null(value))), true=exp.false())
    return exp.Case(ifs=[some_number, some_null], default=exp.true())


def _exists(query: exp.Query, condition: exp.Expr) -> exp.Expr:
    """Return SQL that tests whether a condition is true for any row of a query."""
    return exp.Exists(this=select_from([exp.convert(1)], query.copy(), _SUBQUERY).where(condition))


def _comparable_sides(
    kind: type[exp.Expr], left: Value, column: Sql, low: Lowering, scope: Scope
) -> tuple[exp.Expr, exp.Expr]:
    """Return the SQL of a value and a column, converted so that DuckDB compares them correctly."""
    sides = agree(left, column), agree(column, left)
    if compares_as_json(left, column):
        nodes = as_json(left, low, scope), as_json(column, low, scope)
        if kind is exp.EQ:
            return json_key(nodes[0]), json_key(nodes[1])
        check_ordered(left, column)
        return _json_sort_key(nodes[0], left, column), _json_sort_key(nodes[1], column, left)
    if column.kind.name == "class":  # the classes of the other side may have other numbers
        named = by_name(column)
        return low.as_sql(by_name(agree(left, named)), scope), low.as_sql(named, scope)
    nodes = low.as_sql(sides[0], scope), low.as_sql(sides[1], scope)
    kinds = kind_of(left), column.kind
    if beside_floats.are_mixed(*kinds):
        return beside_floats.key(nodes[0], kinds[0]), beside_floats.key(nodes[1], kinds[1])
    if differ_in_unit(sides[0], column):
        return nanoseconds_of(nodes[0], sides[0]), nanoseconds_of(nodes[1], column)
    return nodes


def _json_sort_key(node: exp.Expr, value: Value, other: Value) -> exp.Expr:
    """Return the SQL by which DuckDB compares a JSON value with `other`.

    The result is null if the JSON value and `other` are of different kinds.
    """
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
