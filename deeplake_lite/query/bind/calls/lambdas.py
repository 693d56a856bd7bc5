"""Lower lambdas: ``LIST_TRANSFORM(list, x -> …)`` and similar functions.

A parameter has the kind of the list's items, so the body is lowered like any other expression. In
the SQL for DuckDB, the name of each parameter contains the nesting depth of its lambda, and no
column can have such a name.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from deeplake_lite.errors import QueryError, QueryTypeError
from deeplake_lite.htypes import Scalar
from deeplake_lite.query.bind.calls.growth import grows
from deeplake_lite.query.bind.expressions.constants import items_of
from deeplake_lite.query.bind.scalars.agreement import check_column
from deeplake_lite.query.bind.scalars.conversions import as_part, scalar_to_sql
from deeplake_lite.query.bind.scalars.kinds import (
    WORDS,
    has_axes,
    is_json,
    is_null_constant,
    kind_of,
)
from deeplake_lite.query.bind.scalars.list_order import bind_name
from deeplake_lite.query.bind.scope import Parameter
from deeplake_lite.query.parse.dialect import text_of
from deeplake_lite.query.parse.duckdb_nodes import func
from deeplake_lite.query.values import ANY, JSON, Constant, Kind, Sql, Tensor, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deeplake_lite.query.bind.expressions.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope

_POSITION = Kind("number", htype=Scalar("int64"))
"""Kind of an item's position, which a lambda may take as its last parameter."""

_MAX_KINDS = 3
"""Maximum number of times that LIST_REDUCE may widen the kind of its intermediate result."""


def parameter_of_lambda(low: Lowering, e: exp.Identifier, scope: Scope) -> Value:
    """Return the value of a lambda's parameter.

    Raises QueryError if an aggregate within the lambda uses the parameter.
    """
    parameter = scope.parameters.get(e.name)
    if parameter is None:
        raise scope.unknown(e.name, None)
    if scope.in_aggregate and not parameter.in_aggregate:
        raise QueryError(
            f"An aggregate combines rows, but {e.name!r} is an item of a list. To combine the "
            "items of the list, use a function of lists, such as LIST_SUM(x) or LIST_MAX(x)."
        )
    return parameter.value


def refuse(low: Lowering, e: exp.Lambda, scope: Scope) -> Value:
    """Raise QueryError for a lambda that is not an argument of a function that takes lambdas."""
    raise QueryError(
        "Lambdas must be arguments of LIST_TRANSFORM, LIST_FILTER or LIST_REDUCE, but this lambda "
        f"is not: {text_of(e)}. To get the value of a key in a JSON object, write meta['key']."
    )


def transform(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value:
    """Lower LIST_TRANSFORM: apply a lambda to each item of a list."""
    node, item, body = _list_and_lambda(low, e, scope, most=2)
    names, inside = _add_parameters(body, [item, _POSITION], low, scope)
    result = as_part(scalar_to_sql(low.value(body.this, inside), low, inside))
    inner = low.as_sql(result, inside)
    kind = Kind("list", item=_item_kind_of(result))
    return Sql(_call_over_list(node, body, scope, "list_transform", _lambda(names, inner)), kind)


def filter_list(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value:
    """Lower LIST_FILTER: keep the items of a list for which a lambda is true."""
    node, item, body = _list_and_lambda(low, e, scope, most=2)
    names, inside = _add_parameters(body, [item, _POSITION], low, scope)
    inner = low.condition(low.value(body.this, inside), inside)
    kind = item.as_list if item.names else Kind("list", item=item)
    return Sql(_call_over_list(node, body, scope, "list_filter", _lambda(names, inner)), kind)


def reduce_list(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value:
    """Lower LIST_REDUCE, which combines the items of a list with a lambda.

    The first parameter is the result for the preceding items, so it must have the same kind as the
    lambda's result. If lowering the body gives a wider kind, the body is lowered again with this
    kind for the parameter, until the two kinds are equal.

    Raises
    ------
    QueryTypeError
        If the lambda returns a different kind of value than it receives.
    """
    node, item, body = _list_and_lambda(low, e, scope, most=3, by_name=True)
    start: Value | None = None
    if len(e.expressions) > 2:
        start = as_part(scalar_to_sql(low.value(e.expressions[2], scope), low, scope))
    kind = item if start is None or is_null_constant(start) else kind_of(start)
    for _ in range(_MAX_KINDS):
        names, inside = _add_parameters(body, [kind, item, _POSITION], low, scope, least=2)
        result = as_part(scalar_to_sql(low.value(body.this, inside), low, inside))
        inner = low.as_sql(result, inside)
        wider = _wider(kind, kind_of(result), e)
        if wider == kind:
            break
        kind = wider
    initial = [] if start is None else [low.as_sql(start, scope)]
    return Sql(
        _call_over_list(node, body, scope, "list_reduce", _lambda(names, inner), *initial), kind
    )


def _wider(kind: Kind, other: Kind, e: exp.Expr) -> Kind:
    """Return a kind that includes two kinds. Raises QueryTypeError if there is none."""
    if kind == other or other == ANY:
        return kind
    if kind == ANY:
        return other
    if kind.name != other.name or _part_names(kind) != _part_names(other):
        raise QueryTypeError(
            "The lambda of LIST_REDUCE must return the same kind of value that it receives, but "
            f"{text_of(e)} turns {WORDS.get(kind.name, 'a struct')} into "
            f"{WORDS.get(other.name, 'a struct')}. CAST the items first: LIST_TRANSFORM(x, v -> "
            "CAST(v AS TEXT))."
        )
    same = kind.htype if kind.htype == other.htype else None
    return replace(kind, real=kind.real or other.real or _is_float(kind, other), htype=same)


def _is_float(*kinds: Kind) -> bool:
    return any("float" in kind.column_dtype for kind in kinds)


def _part_names(kind: Kind) -> tuple[object, ...]:
    """Return the names of the kinds of all parts of a list or struct, as nested tuples."""
    inner = [part for _, part in kind.parts] + ([] if kind.item is None else [kind.item])
    return tuple((part.name, _part_names(part)) for part in inner)


def _list_and_lambda(
    low: Lowering, e: exp.Anonymous, scope: Scope, *, most: int, by_name: bool = False
) -> tuple[exp.Expr, Kind, exp.Lambda]:
    """Return the list of a call, the kind of its items, and the lambda.

    Parameters
    ----------
    low : Lowering
        The lowering of the query.
    e : exp.Anonymous
        The call.
    scope : Scope
        The scope of the call.
    most : int
        Maximum number of arguments, which is 3 for LIST_REDUCE.
    by_name : bool
        Whether to convert classes to their names.

    Raises
    ------
    QueryTypeError
        If the arguments are not a list and a lambda, or if the kind of the items is unknown.
    QueryError
        If the lambda contains a subquery.
    """
    name, parts = e.name.upper(), e.expressions
    is_reduced = most == 3
    if len(parts) not in ((2, 3) if is_reduced else (2,)) or not isinstance(parts[1], exp.Lambda):
        example = "(a, b) -> a + b" if is_reduced else "v -> v > 1"
        raise QueryTypeError(
            f"{name} takes a list and a lambda, but the call is {text_of(e)}. Write "
            f"{name}(x, {example})."
        )
    if (query := parts[1].find(exp.Query, exp.Exists)) is not None:
        raise QueryError(
            f"A lambda must not contain a subquery, but this lambda contains {text_of(query)}. "
            "Compute the subquery as a column first: FROM (SELECT *, (SELECT …) AS y FROM …)."
        )
    value = low.value(parts[0], scope)
    if isinstance(value, Tensor) and has_axes(value):
        raise QueryTypeError(
            f"{name} takes a list, but {text_of(parts[0])} is a tensor. Compute with the whole "
            "tensor, as in x + 1, or reduce it, for example with MEAN(…)."
        )
    value = low.types.refine(scalar_to_sql(value, low, scope))
    if by_name:
        value = as_part(value)
    return low.as_sql(value, scope), _kind_of_items(value, name, parts[0]), parts[1]


def _kind_of_items(value: Value, name: str, e: exp.Expr) -> Kind:
    """Return the kind of a list's items. Raises QueryTypeError if it is unknown."""
    if isinstance(value, Constant) and value.is_json:
        return JSON
    if isinstance(value, Constant) and has_axes(value):
        items = [item for item in items_of(value) if not is_null_constant(item)]
        check_column(items)
        kinds = {kind_of(item) for item in items}
        return _kind_of_numbers(kinds) or (kinds.pop() if len(kinds) == 1 else ANY)
    kind = kind_of(value)
    if is_null_constant(value):
        return ANY
    if kind.name not in ("list", "any") or kind.parts:
        way = f" Write CAST({text_of(e)} AS JSON[])." if is_json(value) else ""
        what = WORDS.get(kind.name, "a struct")
        raise QueryTypeError(f"{name} takes a list, but {text_of(e)} is {what}.{way}")
    if kind.names:
        return kind.item_kind
    if kind.item is None or (kind.item.name == "any" and not kind.item.parts):
        raise QueryTypeError(
            f"{name} takes a list whose type is known before the query runs, but the type of "
            f"{text_of(e)} is unknown. CAST it: CAST({text_of(e)} AS TEXT[]), or AS DOUBLE[]."
        )
    return _item_kind(kind.item)


def _kind_of_numbers(kinds: set[Kind]) -> Kind | None:
    """Return a kind that includes several kinds of numbers, or None if any is not a number."""
    if not kinds or {kind.name for kind in kinds} != {"number"}:
        return None
    return Kind("number", real=any(kind.real for kind in kinds))


def _item_kind_of(value: Value) -> Kind:
    """Return the kind of a lambda's result as an item. A list's kind includes its items' kind."""
    kind = kind_of(value)
    if isinstance(value, Constant) and has_axes(value):
        kinds = {kind_of(item) for item in items_of(value) if not is_null_constant(item)}
        return Kind("list", item=_kind_of_numbers(kinds) or (kinds.pop() if kinds else None))
    return kind


def _item_kind(kind: Kind) -> Kind:
    """Return the kind of an item. The column type is kept only if it is a scalar type."""
    return kind if kind.column_dtype or kind.htype is None else replace(kind, htype=None)


def _add_parameters(
    e: exp.Lambda, kinds: Sequence[Kind], low: Lowering, scope: Scope, *, least: int = 1
) -> tuple[list[str], Scope]:
    """Return the names of a lambda's parameters in SQL, and the scope of its body.

    Parameters
    ----------
    e : exp.Lambda
        The lambda.
    kinds : sequence of Kind
        Kinds of the parameters, including optional parameters.
    low : Lowering
        The lowering of the query.
    scope : Scope
        The scope around the lambda.
    least : int
        Minimum number of parameters.

    Raises
    ------
    QueryTypeError
        For a wrong number of parameters, or for two parameters with the same name.
    """
    names = [part.name for part in e.expressions]
    if not least <= len(names) <= len(kinds) or len({*names}) < len(names):
        raise QueryTypeError(
            f"This lambda must have {least} to {len(kinds)} parameters with different names, but "
            f"the lambda is {text_of(e)}."
        )
    depth, lengths = _depth(scope) + 1, scope.lengths
    if grows(e.this):
        lengths = (*lengths, func("len", _list_at(depth)))
    sql_names = [f"lake_p{depth}_{at}" for at in range(len(names))]
    parameters = {
        name: Parameter(Sql(exp.to_identifier(sql_name), kind), depth, scope.in_aggregate)
        for name, sql_name, kind in zip(names, sql_names, kinds, strict=False)
    }
    for sql_name, kind in zip(sql_names, kinds, strict=False):
        low.types.record_parameter(sql_name, kind)
    parameters = {**scope.parameters, **parameters}
    return sql_names, replace(scope, parameters=parameters, lengths=lengths)


def _list_at(depth: int) -> exp.Identifier:
    """Return the SQL name of the list to which the lambda at the given depth is applied."""
    return exp.to_identifier(f"lake_l{depth}")


def _depth(scope: Scope) -> int:
    return max((p.depth for p in scope.parameters.values()), default=0)


def _call_over_list(
    node: exp.Expr, body: exp.Lambda, scope: Scope, name: str, *arguments: exp.Expr
) -> exp.Expr:
    """Return a call of the function `name` with the list `node` and further `arguments`.

    If the lambda may produce long values, the list is bound to a name, so that the check of the
    lengths in the lambda can refer to the length of the list.
    """
    if not grows(body.this):
        return func(name, node, *arguments)
    list_name = _list_at(_depth(scope) + 1)
    return bind_name(list_name, node, func(name, list_name.copy(), *arguments))


def _lambda(names: list[str], body: exp.Expr) -> exp.Lambda:
    return exp.Lambda(this=body, expressions=[exp.to_identifier(name) for name in names])


LAMBDAS = {
    **dict.fromkeys(["LIST_TRANSFORM", "ARRAY_TRANSFORM", "LIST_APPLY", "ARRAY_APPLY"], transform),
    **dict.fromkeys(["LIST_FILTER", "ARRAY_FILTER", "FILTER"], filter_list),
    **dict.fromkeys(["LIST_REDUCE", "ARRAY_REDUCE", "REDUCE"], reduce_list),
}
"""Maps the names of functions that take lambdas to the Python functions that lower them."""
