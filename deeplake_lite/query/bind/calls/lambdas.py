"""Lambdas: ``LIST_TRANSFORM(list, x -> …)`` and its like, with the rules of any expression.

A parameter is a name with the kind of the list's items, so that the body is lowered as it would be
outside of the lambda. DuckDB calls parameters by how deep their lambda lies, whatever the query
calls them, so that they never stand for columns.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from deeplake_lite.errors import QueryError, QueryTypeError
from deeplake_lite.htypes import Scalar
from deeplake_lite.query.bind.calls.growth import grows
from deeplake_lite.query.bind.expressions.constants import items_of
from deeplake_lite.query.bind.scalars.kinds import (
    WORDS,
    as_part,
    check_column,
    has_axes,
    is_json,
    is_null_constant,
    kind_of,
    settled,
)
from deeplake_lite.query.bind.scalars.list_order import bind_name
from deeplake_lite.query.bind.scope import Parameter
from deeplake_lite.query.parse.dialect import func, text_of
from deeplake_lite.query.values import ANY, Constant, Kind, Sql, Tensor, Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deeplake_lite.query.bind.expressions.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope

_POSITION = Kind("number", htype=Scalar("int64"))
"""Of an item's position, which a lambda may take as its last parameter."""

_MOST_KINDS = 3
"""How often the kind of what LIST_REDUCE has so far may widen."""


def parameter_of_lambda(low: Lowering, e: exp.Identifier, scope: Scope) -> Value:
    """Return a lambda's parameter. Raises QueryError where an aggregate takes it."""
    found = scope.parameters.get(e.name)
    if found is None:
        raise scope.unknown(e.name, None)
    if scope.in_aggregate and not found.in_aggregate:
        raise QueryError(
            f"An aggregate goes over rows, but {e.name!r} is an item of a list. Take the list's "
            "sum, its greatest item and the like: LIST_SUM(x), LIST_MAX(x)."
        )
    return found.value


def refuse(low: Lowering, e: exp.Lambda, scope: Scope) -> Value:
    """Refuse a lambda in any other place. Raises QueryError."""
    raise QueryError(
        "Lambdas are arguments of LIST_TRANSFORM, LIST_FILTER and LIST_REDUCE, but this one is "
        f"elsewhere: {text_of(e)}. A key of JSON is a subscript: meta['key']."
    )


def transformed(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value:
    """Return what a lambda makes of each item of a list."""
    node, item, body = _list_and_lambda(low, e, scope, most=2)
    with _parameters(body, [item, _POSITION], low, scope) as names:
        made = as_part(settled(low.value(body.this, scope), low, scope))
        inner = low.as_sql(made, scope)
    kind = Kind("list", item=_item_kind_of(made))
    return Sql(_over(node, body, scope, "list_transform", _lambda(names, inner)), kind)


def filtered(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value:
    """Return the items of a list of which a lambda is true."""
    node, item, body = _list_and_lambda(low, e, scope, most=2)
    with _parameters(body, [item, _POSITION], low, scope) as names:
        inner = low.condition(low.value(body.this, scope), scope)
    kind = item.listed if item.names else Kind("list", item=item)
    return Sql(_over(node, body, scope, "list_filter", _lambda(names, inner)), kind)


def reduced(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value:
    """Return what a lambda makes of the items of a list, two at a time.

    Raises
    ------
    QueryTypeError
        Where the lambda makes something of another kind than the items are.
    """
    node, item, body = _list_and_lambda(low, e, scope, most=3, by_name=True)
    start: Value | None = None
    if len(e.expressions) > 2:
        start = as_part(settled(low.value(e.expressions[2], scope), low, scope))
    kind = item if start is None or is_null_constant(start) else kind_of(start)
    for _ in range(_MOST_KINDS):
        with _parameters(body, [kind, item, _POSITION], low, scope, least=2) as names:
            made = as_part(settled(low.value(body.this, scope), low, scope))
            inner = low.as_sql(made, scope)
        wider = _wider(kind, kind_of(made), e)
        if wider == kind:
            break
        kind = wider
    rest = [] if start is None else [low.as_sql(start, scope)]
    return Sql(_over(node, body, scope, "list_reduce", _lambda(names, inner), *rest), kind)


def _wider(kind: Kind, made: Kind, e: exp.Expr) -> Kind:
    """Return the kind of values of two. Raises QueryTypeError where no kind holds both."""
    if kind == made or made == ANY:
        return kind
    if kind == ANY:
        return made
    if kind.name != made.name or _within(kind) != _within(made):
        raise QueryTypeError(
            "LIST_REDUCE makes of two values another one of their kind, but here it makes "
            f"{WORDS.get(made.name, 'a struct')} of {WORDS.get(kind.name, 'a struct')}: "
            f"{text_of(e)}. CAST the items first: LIST_TRANSFORM(x, v -> CAST(v AS TEXT))."
        )
    same = kind.htype if kind.htype == made.htype else None
    return replace(kind, real=kind.real or made.real or _is_float(kind, made), htype=same)


def _is_float(*kinds: Kind) -> bool:
    return any("float" in kind.column_dtype for kind in kinds)


def _within(kind: Kind) -> tuple[object, ...]:
    """Return the names of the kinds within a list or a struct."""
    inner = [part for _, part in kind.parts] + ([] if kind.item is None else [kind.item])
    return tuple((part.name, _within(part)) for part in inner)


def _list_and_lambda(
    low: Lowering, e: exp.Anonymous, scope: Scope, *, most: int, by_name: bool = False
) -> tuple[exp.Expr, Kind, exp.Lambda]:
    """Return a list, the kind of its items, and the lambda that goes over them.

    Raises
    ------
    QueryTypeError
        For anything else, and for items of which nothing is known.
    """
    name, parts = e.name.upper(), e.expressions
    is_reduced = most == 3
    if len(parts) not in ((2, 3) if is_reduced else (2,)) or not isinstance(parts[1], exp.Lambda):
        example = "(a, b) -> a + b" if is_reduced else "v -> v > 1"
        raise QueryTypeError(
            f"{name} takes a list and a lambda, but it is {text_of(e)}. Write {name}(x, {example})."
        )
    if (query := parts[1].find(exp.Query, exp.Exists)) is not None:
        raise QueryError(
            f"A lambda holds no query, but this one has {text_of(query)}. Compute it as a column "
            "of a query within: FROM (SELECT *, (SELECT …) AS y FROM …)."
        )
    value = low.value(parts[0], scope)
    if isinstance(value, Tensor) and has_axes(value):
        raise QueryTypeError(
            f"{name} takes one value per row, got {text_of(parts[0])}, which is a tensor. Compute "
            "with the tensor as a whole, such as x + 1, or reduce it, such as by MEAN(…)."
        )
    value = low.types.refined(settled(value, low, scope))
    if by_name:
        value = as_part(value)
    return low.as_sql(value, scope), _kind_of_items(value, name, parts[0]), parts[1]


def _kind_of_items(value: Value, name: str, e: exp.Expr) -> Kind:
    """Return the kind of a list's items. Raises QueryTypeError where there is none."""
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
        return kind.of_item
    if kind.item is None or (kind.item.name == "any" and not kind.item.parts):
        raise QueryTypeError(
            f"{name} goes over items of a type that is known before the query runs, but that of "
            f"{text_of(e)} is not. CAST it: CAST({text_of(e)} AS TEXT[]), or AS DOUBLE[]."
        )
    return _item_kind(kind.item)


def _kind_of_numbers(kinds: set[Kind]) -> Kind | None:
    """Return the kind of a list of numbers, which may be NaN if one of them may."""
    if not kinds or {kind.name for kind in kinds} != {"number"}:
        return None
    return Kind("number", real=any(kind.real for kind in kinds))


def _item_kind_of(value: Value) -> Kind:
    kind = kind_of(value)
    if isinstance(value, Constant) and has_axes(value):
        kinds = {kind_of(item) for item in items_of(value) if not is_null_constant(item)}
        return Kind("list", item=_kind_of_numbers(kinds) or (kinds.pop() if kinds else None))
    return kind


def _item_kind(kind: Kind) -> Kind:
    """Return the kind of an item with the type of the column that it comes from, or null."""
    return kind if kind.column_dtype or kind.htype is None else replace(kind, htype=None)


@contextmanager
def _parameters(
    e: exp.Lambda, kinds: Sequence[Kind], low: Lowering, scope: Scope, *, least: int = 1
) -> Iterator[list[str]]:
    """Make a lambda's parameters known, and give the names that DuckDB has for them.

    Raises
    ------
    QueryTypeError
        For more or fewer parameters than there are values.
    """
    names = [part.name for part in e.expressions]
    if not least <= len(names) <= len(kinds) or len({*names}) < len(names):
        raise QueryTypeError(
            f"This lambda takes {least} to {len(kinds)} parameters of different names, but it is "
            f"{text_of(e)}."
        )
    depth, lengths = _depth(scope) + 1, scope.lengths
    if grows(e.this):
        scope.lengths = (*lengths, func("len", _list_at(depth)))
    outer, called = scope.parameters, [f"lake_p{depth}_{at}" for at in range(len(names))]
    scope.parameters = outer | {
        name: Parameter(Sql(exp.to_identifier(there), kind), depth, scope.in_aggregate)
        for name, there, kind in zip(names, called, kinds, strict=False)
    }
    for there, kind in zip(called, kinds, strict=False):
        low.types.note_parameter(there, kind)
    try:
        yield called
    finally:
        scope.parameters, scope.lengths = outer, lengths


def _list_at(depth: int) -> exp.Identifier:
    """Return the name of a list, of which the lambdas of that depth know how long it is."""
    return exp.to_identifier(f"lake_l{depth}")


def _depth(scope: Scope) -> int:
    return max((p.depth for p in scope.parameters.values()), default=0)


def _over(
    node: exp.Expr, body: exp.Lambda, scope: Scope, name: str, *arguments: exp.Expr
) -> exp.Expr:
    """Return a function that goes over a list; where the lambda needs its length, under a name."""
    if not grows(body.this):
        return func(name, node, *arguments)
    called = _list_at(_depth(scope) + 1)
    return bind_name(called, node, func(name, called.copy(), *arguments))


def _lambda(names: list[str], body: exp.Expr) -> exp.Lambda:
    return exp.Lambda(this=body, expressions=[exp.to_identifier(name) for name in names])


LAMBDAS = {
    **dict.fromkeys(
        ["LIST_TRANSFORM", "ARRAY_TRANSFORM", "LIST_APPLY", "ARRAY_APPLY"], transformed
    ),
    **dict.fromkeys(["LIST_FILTER", "ARRAY_FILTER", "FILTER"], filtered),
    **dict.fromkeys(["LIST_REDUCE", "ARRAY_REDUCE", "REDUCE"], reduced),
}
"""Functions that take lambdas."""
