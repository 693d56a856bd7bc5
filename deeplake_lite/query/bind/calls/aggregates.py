"""Lower aggregates and window functions, with ORDER BY, FILTER and WITHIN GROUP."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from sqlglot import exp

from deeplake_lite.errors import QueryTypeError
from deeplake_lite.query.bind.calls import function_names, growth
from deeplake_lite.query.bind.expressions.digests import digest_of_rows
from deeplake_lite.query.bind.scalars.conversions import key_of, ordering
from deeplake_lite.query.bind.scalars.json_values import as_exact_number
from deeplake_lite.query.bind.scalars.kinds import is_json, kind_of, needs_numpy
from deeplake_lite.query.bind.scope import Aggregates, Scope
from deeplake_lite.query.functions import Arg, Type
from deeplake_lite.query.functions.binding import box_numbers, image_numbers
from deeplake_lite.query.functions.sums import wide_dtype
from deeplake_lite.query.parse.dialect import text_of
from deeplake_lite.query.parse.duckdb_nodes import func
from deeplake_lite.query.values import NUMBER, REAL, Grouped, Sql, Tensor, Value, rename_keys

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deeplake_lite.query.bind.expressions.lowering import Lowering


def map_rows(tensor: Tensor, wrap: Callable[[exp.Expr], exp.Expr], text: str) -> Tensor:
    """Return a copy of a tensor that reads other rows.

    `wrap` maps the SQL for the row position of a leaf to the SQL for the new row position. The keys
    of the copy contain the new SQL, so that two tensors that read different rows have different
    keys.
    """
    env = {key: wrap(node.copy()) for key, node in tensor.env.items()}
    names = {key: f"p_{node.sql('duckdb')}" for key, node in env.items()}
    plain = tensor.plain and replace(tensor.plain, row=wrap(tensor.plain.row.copy()))
    tree = rename_keys(tensor.tree, names.__getitem__)
    return Tensor(tree, {names[key]: node for key, node in env.items()}, text, plain)


def pick_row(
    tensor: Tensor,
    name: str,
    rest: Sequence[exp.Expr] = (),
    order: Sequence[exp.Expr] = (),
    text: str = "",
) -> Tensor:
    """Return the value of a tensor in the row that an aggregate or window function picks.

    Parameters
    ----------
    tensor : Tensor
        The first argument of the function.
    name : str
        The function that picks the row, such as FIRST, ARG_MAX or LAG.
    rest : sequence of exp.Expr
        The remaining arguments of the function.
    order : sequence of exp.Expr
        Terms of ORDER BY within the call.
    text : str
        The call as written in the query.
    """

    def pick(node: exp.Expr) -> exp.Expr:
        args = [node, *(part.copy() for part in rest)]
        if order:
            args[-1] = exp.Order(this=args[-1], expressions=[term.copy() for term in order])
        return exp.Anonymous(this=name, expressions=args)

    return map_rows(tensor, pick, text or tensor.text)


def aggregate_group(
    tensor: Tensor, aggregate: str, text: str, order: Sequence[exp.Expr] = ()
) -> Tensor:
    """Return the list or the elementwise aggregate of a tensor's values in the rows of a group.

    Parameters
    ----------
    tensor : Tensor
        The tensor.
    aggregate : str
        ``"LIST"``, or a numeric aggregate, such as ``"SUM"``.
    text : str
        The call as written in the query.
    order : sequence of exp.Expr
        Terms of ORDER BY within the call.

    Raises
    ------
    QueryTypeError
        For an elementwise aggregate of non-numeric values.
    """
    struct = exp.Anonymous(
        this="struct_pack",
        expressions=[
            exp.PropertyEQ(this=exp.to_identifier(key, quoted=True), expression=node.copy())
            for key, node in tensor.env.items()
        ],
    )
    item = exp.Order(this=struct, expressions=list(order)) if order else struct
    rows = exp.Anonymous(this="LIST", expressions=[item])
    key = "l_" + rows.sql("duckdb")
    inner = tensor.type
    if aggregate == "LIST":
        type_ = inner.as_list()
    else:
        if not inner.is_number:
            raise QueryTypeError(
                f"{aggregate} over a group of tensors is elementwise and needs numbers, but {text} "
                f"is applied to {inner}. FIRST, LIST and COUNT accept any values."
            )
        floats = aggregate in ("MEAN", "STD", "VAR", "MEDIAN")
        dtype = "float64" if floats and inner.dtype[0] in "biu" else inner.dtype
        if aggregate in ("STD", "VAR"):
            dtype = np.empty(0, dtype).real.dtype.name
        if aggregate in ("SUM", "PROD"):
            dtype = (wide_dtype(np.dtype(inner.dtype)) or np.dtype(inner.dtype)).name
        arg = Arg(text, inner)
        has_shape = inner.shape is not None
        meaning = box_numbers(dtype, inner.shape, arg) if has_shape else image_numbers(arg)
        type_ = Type(dtype, inner.shape, meaning)
    return Tensor(Grouped(key, tensor.tree, aggregate, type_), {key: rows}, text)


def count(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value | None:
    """Lower COUNT(*) and COUNT(DISTINCT x). Returns None for COUNT(x), which `call` lowers."""
    if not e.expressions or isinstance(e.expressions[0], exp.Star):
        _count_unless_nested(scope)
        return Sql(exp.Anonymous(this="COUNT", expressions=[exp.Star()]), NUMBER)
    if isinstance(e.expressions[0], exp.Distinct):
        _count_unless_nested(scope)
        compared = [*e.expressions[0].expressions, *e.expressions[1:]]
        values = [low.value(p, scope) for p in compared]
        parts = [
            low.as_sql(digest_of_rows(v, low, null=True), scope)
            if isinstance(v, Tensor) and needs_numpy(v)
            else key_of(v, low, scope)
            for v in values
        ]
        return Sql(
            exp.Anonymous(this="COUNT", expressions=[exp.Distinct(expressions=parts)]), NUMBER
        )
    return None


def _count_unless_nested(scope: Scope) -> None:
    if not scope.in_aggregate:
        scope.count_aggregate()


def window(low: Lowering, e: exp.Window, scope: Scope) -> Value:
    """Lower a call that is followed by OVER (…), which defines a window of rows.

    Raises
    ------
    QueryTypeError
        For an aggregate of tensors that combines the values of several rows.
    """
    inner = e.this
    inside = replace(scope, in_aggregate=True, in_window=True, aggregates=Aggregates())
    _refuse_tensors(low, inner, inside)
    is_number = inner.name.upper() == "ROW_NUMBER" and not inner.expressions
    result = _row_number() if is_number else low.value(inner, inside)
    node = window_parts(low, e, inside)
    if isinstance(result, Tensor) and needs_numpy(result) and _picks_rows(result):
        return map_rows(result, lambda row: _replace_argument(node, row), text_of(e))
    if not isinstance(result, Sql):
        raise QueryTypeError(
            "OVER must follow an aggregate or a window function, but the expression is "
            f"{text_of(e)}. Use a function such as SUM or LAG, or remove OVER."
        )
    return Sql(_replace_argument(node, result.node), result.kind)


def _replace_argument(node: exp.Expr, this: exp.Expr) -> exp.Expr:
    node = node.copy()
    node.set("this", this)
    return node


def _refuse_tensors(low: Lowering, e: exp.Expr, scope: Scope) -> None:
    """Raise QueryTypeError if an aggregate over a window is applied to tensors."""
    name = e.name.upper()
    if name not in function_names.ROWWISE | function_names.LISTS or not e.expressions:
        return
    [first, *_] = e.expressions
    value = low.value(first.this if isinstance(first, exp.Order) else first, scope)
    if needs_numpy(value):
        raise QueryTypeError(
            f"OVER needs one value per row, but {text_of(first)} is a tensor. Reduce it first, as "
            f"in AVG(AMEAN(x)) OVER (…). To compute {text_of(e)} per group, join with a query that "
            "has GROUP BY."
        )


def _picks_rows(tensor: Tensor) -> bool:
    """Return whether the rows that a tensor reads were chosen by `pick_row`."""
    return all(isinstance(node, exp.Anonymous | exp.Filter) for node in tensor.env.values())


def window_parts(low: Lowering, e: exp.Window, scope: Scope) -> exp.Window:
    """Return a copy of a window expression with its PARTITION BY and ORDER BY lowered."""
    node = e.copy()
    parts = e.args.get("partition_by") or ()
    keys = [key_of(low.value(p, scope), low, scope) for p in parts]
    node.set("partition_by", keys)
    terms = e.args["order"].expressions if e.args.get("order") else []
    if terms:
        node.set("order", exp.Order(expressions=order_terms(low, e.args["order"], scope)))
        keys = [*keys, *node.args["order"].expressions]
    for part, key in zip([*parts, *terms], keys, strict=True):
        _reject_checked_key(part, key, low)
    return node


def _reject_checked_key(e: exp.Expr, node: exp.Expr, low: Lowering) -> None:
    """Reject a term of PARTITION BY or ORDER BY that may raise an error when the query runs.

    DuckDB does not allow such a term within OVER.

    Parameters
    ----------
    e : exp.Expr
        The term as written in the query.
    node : exp.Expr
        The lowered term, which contains a call of ``error`` if lowering added a check.
    low : Lowering
        The lowering of the query.

    Raises
    ------
    QueryTypeError
        If the lowered term contains a check. The message names the expression that is checked.
    """
    if not any(call.name.lower() == "error" for call in node.find_all(exp.Anonymous)):
        return
    growing = (part for part in e.walk() if growth.grows(part))
    whole = e.this if isinstance(e, exp.Ordered) else e
    part_text = low.short_text(next(reversed([*growing]), whole))
    raise QueryTypeError(
        "PARTITION BY and ORDER BY within OVER must not contain expressions whose length or "
        f"exactness is checked while the query runs, but {part_text} is checked. Compute it in a "
        f"subquery: FROM (SELECT *, {part_text} AS x FROM …)."
    )


def _row_number() -> Sql:
    return Sql(exp.Anonymous(this="ROW_NUMBER", expressions=[]), NUMBER)


def order_terms(low: Lowering, order: exp.Order, scope: Scope) -> list[exp.Expr]:
    """Return the lowered terms of an ORDER BY that is within a call or a window."""
    return [sort_term(low.value(term.this, scope), term, low, scope) for term in order.expressions]


def not_positional(node: exp.Expr) -> exp.Expr:
    """Wrap a constant in COALESCE, because SQL would take ``ORDER BY 2`` to mean the second column.

    >>> not_positional(exp.convert(2)).sql("duckdb")
    'COALESCE(2, NULL)'
    """
    if node.find(exp.Column, exp.Query, exp.Anonymous) is None:
        return func("coalesce", node, exp.null())
    return node


def sort_term(value: Value, term: exp.Expr, low: Lowering, scope: Scope) -> exp.Ordered:
    """Return a term of ORDER BY that sorts NaN after all numbers.

    Nulls come after NaN, unless the query says NULLS FIRST. DuckDB treats NaN and -NaN as the
    greatest numbers, so for a descending order of floats, the term sorts their negatives in
    ascending order.
    """
    node, descends = not_positional(ordering(value, low, scope)), bool(term.args.get("desc"))
    nulls_first = bool(term.args.get("nulls_first"))
    if kind_of(value).real and descends:
        node, descends = exp.Neg(this=exp.paren(node)), False
    return exp.Ordered(this=node, desc=descends, nulls_first=nulls_first)


def filter_(low: Lowering, e: exp.Filter, scope: Scope) -> Value:
    """Lower an aggregate with FILTER (WHERE …)."""
    aggregate = low.value(e.this, scope)
    inside = replace(scope, in_aggregate=True)
    where = exp.Where(this=low.condition(low.value(e.expression.this, inside), inside))
    if isinstance(aggregate, Tensor) and needs_numpy(aggregate) and _picks_rows(aggregate):
        return map_rows(
            aggregate, lambda n: exp.Filter(this=n, expression=where.copy()), text_of(e)
        )
    if not isinstance(aggregate, Sql):
        raise QueryTypeError(
            f"FILTER must follow an aggregate over many rows, but {text_of(e.this)} reduces each "
            "row separately if there is no GROUP BY. Use WHERE, or add GROUP BY."
        )
    return Sql(exp.Filter(this=aggregate.node, expression=where), aggregate.kind)


def within_group(low: Lowering, e: exp.WithinGroup, scope: Scope) -> Value:
    """Lower an aggregate of sorted rows: ``PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)``.

    Raises
    ------
    QueryTypeError
        For an aggregate that does not support WITHIN GROUP, and for tensors.
    """
    inner, terms = e.this, e.expression.expressions
    name = inner.name.upper()
    if name in function_names.JOINS and inner.expressions:
        *before, last = (part.copy() for part in inner.expressions)
        by_terms = exp.Order(this=last, expressions=[term.copy() for term in terms])
        return low.value(exp.Anonymous(this=name, expressions=[*before, by_terms]), scope)
    if name not in function_names.SORTED:
        names = ", ".join(function_names.SORTED)
        raise QueryTypeError(
            f"WITHIN GROUP (ORDER BY x) must follow one of {names}, but it follows {name}. Other "
            "aggregates have ORDER BY within the call: LIST(x ORDER BY y)."
        )
    if len(terms) != 1:
        raise QueryTypeError(
            f"WITHIN GROUP must have one term in ORDER BY, but it has {len(terms)}: "
            f"{text_of(e)}. Keep only one term."
        )
    inside = replace(scope, in_aggregate=True)
    value = low.value(terms[0].this, inside)
    args = [low.sql(part, inside) for part in inner.expressions]
    _count_unless_nested(scope)
    x = low.as_sql(value, scope)
    if is_json(value) and name != "MODE":
        x = as_exact_number(x, text_of(e))
    by = exp.Ordered(this=x.copy(), desc=bool(terms[0].args.get("desc")), nulls_first=False)
    *before, last = [x, *args]
    parts = [*before, exp.Order(this=last, expressions=[by])]
    kind = kind_of(value, plain=True)
    real = name.endswith("_CONT") and kind.name != "time"
    return Sql(
        exp.Anonymous(this=function_names.SORTED[name], expressions=parts), REAL if real else kind
    )
