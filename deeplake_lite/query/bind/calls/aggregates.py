"""Functions of many rows: groups, windows, orders, FILTER, WITHIN GROUP."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from sqlglot import exp

from deeplake_lite.errors import QueryTypeError
from deeplake_lite.query.bind.calls import growth, known
from deeplake_lite.query.bind.expressions.digests import digest_of_rows
from deeplake_lite.query.bind.scalars.json_values import as_exact_number
from deeplake_lite.query.bind.scalars.kinds import is_json, is_numpys, key_of, kind_of, ordering
from deeplake_lite.query.functions import Arg, Type
from deeplake_lite.query.functions.binding import box_numbers, image_numbers
from deeplake_lite.query.functions.sums import wide_dtype
from deeplake_lite.query.parse.dialect import func, text_of
from deeplake_lite.query.values import (
    NUMBER,
    REAL,
    Grouped,
    Sql,
    Tensor,
    Value,
    rename_keys,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deeplake_lite.query.bind.expressions.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope


def rewritten(tensor: Tensor, wrap: Callable[[exp.Expr], exp.Expr], text: str) -> Tensor:
    """Return a tensor of other rows: `wrap` takes the SQL of what each leaf reads.

    Keys are of what they read, so that two such tensors stay apart in one expression.
    """
    env = {key: wrap(node.copy()) for key, node in tensor.env.items()}
    names = {key: f"p_{node.sql('duckdb')}" for key, node in env.items()}
    plain = tensor.plain and replace(tensor.plain, row=wrap(tensor.plain.row.copy()))
    tree = rename_keys(tensor.tree, names.__getitem__)
    return Tensor(tree, {names[key]: node for key, node in env.items()}, text, plain)


def picked(
    tensor: Tensor,
    name: str,
    rest: Sequence[exp.Expr] = (),
    order: Sequence[exp.Expr] = (),
    text: str = "",
) -> Tensor:
    """Return the tensor of one of many rows: FIRST, ARG_MAX, LAG and the like pick its position."""

    def pick(node: exp.Expr) -> exp.Expr:
        args = [node, *(part.copy() for part in rest)]
        if order:
            args[-1] = exp.Order(this=args[-1], expressions=[term.copy() for term in order])
        return exp.Anonymous(this=name, expressions=args)

    return rewritten(tensor, pick, text or tensor.text)


def grouped(tensor: Tensor, aggregate: str, text: str, order: Sequence[exp.Expr] = ()) -> Tensor:
    """Return the values of a tensor over a group, or their elementwise aggregate."""
    struct = exp.Anonymous(
        this="struct_pack",
        expressions=[
            exp.PropertyEQ(this=exp.to_identifier(key, quoted=True), expression=node.copy())
            for key, node in tensor.env.items()
        ],
    )
    listed = exp.Order(this=struct, expressions=list(order)) if order else struct
    rows = exp.Anonymous(this="LIST", expressions=[listed])
    key = "l_" + rows.sql("duckdb")
    inner = tensor.type
    if aggregate == "LIST":
        type_ = inner.listed()
    else:
        if not inner.is_number:
            raise QueryTypeError(
                f"{aggregate} over a group goes element by element over numbers, but {text} is of "
                f"{inner}. FIRST, LIST and COUNT take any values."
            )
        floats = aggregate in ("MEAN", "STD", "VAR", "MEDIAN")
        dtype = "float64" if floats and inner.dtype[0] in "biu" else inner.dtype
        if aggregate in ("STD", "VAR"):
            dtype = np.empty(0, dtype).real.dtype.name
        if aggregate in ("SUM", "PROD"):
            dtype = (wide_dtype(np.dtype(inner.dtype)) or np.dtype(inner.dtype)).name
        arg = Arg(text, inner)
        known = inner.shape is not None
        meaning = box_numbers(dtype, inner.shape, arg) if known else image_numbers(arg)
        type_ = Type(dtype, inner.shape, meaning)
    return Tensor(Grouped(key, tensor.tree, aggregate, type_), {key: rows}, text)


def count(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value | None:
    """Return COUNT of all rows, or of distinct values; None where it is of a column."""
    if not e.expressions or isinstance(e.expressions[0], exp.Star):
        scope.aggregated = scope.aggregated or not scope.in_aggregate
        return Sql(exp.Anonymous(this="COUNT", expressions=[exp.Star()]), NUMBER)
    if isinstance(e.expressions[0], exp.Distinct):
        scope.aggregated = scope.aggregated or not scope.in_aggregate
        sought = [*e.expressions[0].expressions, *e.expressions[1:]]
        values = [low.value(p, scope) for p in sought]
        parts = [
            low.as_sql(digest_of_rows(v, low, null=True), scope)
            if isinstance(v, Tensor) and is_numpys(v)
            else key_of(v, low, scope)
            for v in values
        ]
        return Sql(
            exp.Anonymous(this="COUNT", expressions=[exp.Distinct(expressions=parts)]), NUMBER
        )
    return None


def window(low: Lowering, e: exp.Window, scope: Scope) -> Value:
    """Return a function over a window of rows.

    Raises
    ------
    QueryTypeError
        For an aggregate of tensors, but for one that takes a row's value as it is.
    """
    was, scope.in_aggregate, before = scope.in_aggregate, True, scope.aggregated
    around, scope.in_window = scope.in_window, True
    try:
        inner = e.this
        _refuse_tensors(low, inner, scope)
        is_number = inner.name.upper() == "ROW_NUMBER" and not inner.expressions
        found = _row_number() if is_number else low.value(inner, scope)
        node = window_parts(low, e, scope)
    finally:
        scope.in_aggregate, scope.aggregated, scope.in_window = was, before, around
    if isinstance(found, Tensor) and is_numpys(found) and _is_of_rows(found):
        return rewritten(found, lambda row: _with_this(node, row), text_of(e))
    if not isinstance(found, Sql):
        raise QueryTypeError(f"OVER follows an aggregate or a function of windows: {text_of(e)}.")
    return Sql(_with_this(node, found.node), found.kind)


def _with_this(node: exp.Expr, this: exp.Expr) -> exp.Expr:
    node = node.copy()
    node.set("this", this)
    return node


def _refuse_tensors(low: Lowering, e: exp.Expr, scope: Scope) -> None:
    """Refuse an aggregate over windows that would go over tensors. Raises QueryTypeError."""
    name = e.name.upper()
    if name not in known.ROWWISE | known.LISTS or not e.expressions:
        return
    [first, *_] = e.expressions
    value = low.value(first.this if isinstance(first, exp.Order) else first, scope)
    if is_numpys(value):
        raise QueryTypeError(
            f"OVER goes over one value per row, and {text_of(first)} is a tensor. Reduce it first, "
            f"as AVG(AMEAN(x)) OVER (…) does; for {text_of(e)} of groups, join with a query that "
            "has GROUP BY."
        )


def _is_of_rows(tensor: Tensor) -> bool:
    """Tell whether what a tensor's leaves read is picked from many rows."""
    return all(isinstance(node, exp.Anonymous | exp.Filter) for node in tensor.env.values())


def window_parts(low: Lowering, e: exp.Window, scope: Scope) -> exp.Window:
    """Return a window with what it parts and sorts rows by."""
    node = e.copy()
    parts = e.args.get("partition_by") or ()
    keys = [key_of(low.value(p, scope), low, scope) for p in parts]
    node.set("partition_by", keys)
    terms = e.args["order"].expressions if e.args.get("order") else []
    if terms:
        node.set("order", exp.Order(expressions=ordered(low, e.args["order"], scope)))
        keys = [*keys, *node.args["order"].expressions]
    for part, key in zip([*parts, *terms], keys, strict=True):
        _check_steady(part, key, low)
    return node


def _check_steady(e: exp.Expr, node: exp.Expr, low: Lowering) -> None:
    """Refuse to part or sort rows by what may be an error, as DuckDB does. Raises QueryTypeError.

    The message names the part of the expression whose length is checked.
    """
    if not any(call.name.lower() == "error" for call in node.find_all(exp.Anonymous)):
        return
    growing = (part for part in e.walk() if growth.grows(part))
    checked = low.shown(next(reversed([*growing]), e.this if isinstance(e, exp.Ordered) else e))
    raise QueryTypeError(
        "PARTITION BY and ORDER BY within OVER take nothing that is checked while it is computed, "
        f"as the length or the exactness of {checked} is. Compute it in a query within: FROM "
        f"(SELECT *, {checked} AS x FROM …)."
    )


def _row_number() -> Sql:
    return Sql(exp.Anonymous(this="ROW_NUMBER", expressions=[]), NUMBER)


def ordered(low: Lowering, order: exp.Order, scope: Scope) -> list[exp.Expr]:
    """Return what a window sorts by."""
    return [sorted_by(low.value(term.this, scope), term, low, scope) for term in order.expressions]


def no_position(node: exp.Expr) -> exp.Expr:
    """Return a constant as what SQL does not take for the number of a column; others as they are.

    >>> no_position(exp.convert(2)).sql("duckdb")
    'COALESCE(2, NULL)'
    """
    if node.find(exp.Column, exp.Query, exp.Anonymous) is None:
        return func("coalesce", node, exp.null())
    return node


def sorted_by(value: Value, term: exp.Expr, low: Lowering, scope: Scope) -> exp.Ordered:
    """Return what to sort by: NaN last either way, and null behind it unless it is said.

    NaN is the greatest to DuckDB, its negative too: what descends is the negative, ascending.
    """
    node, descends = no_position(ordering(value, low, scope)), bool(term.args.get("desc"))
    nulls_first = bool(term.args.get("nulls_first"))
    if kind_of(value).real and descends:
        node, descends = exp.Neg(this=exp.paren(node)), False
    return exp.Ordered(this=node, desc=descends, nulls_first=nulls_first)


def filtered(low: Lowering, e: exp.Filter, scope: Scope) -> Value:
    """Return an aggregate of some rows: ``… FILTER (WHERE …)``."""
    found = low.value(e.this, scope)
    was, scope.in_aggregate = scope.in_aggregate, True
    try:
        where = exp.Where(this=low.condition(low.value(e.expression.this, scope), scope))
    finally:
        scope.in_aggregate = was
    if isinstance(found, Tensor) and is_numpys(found) and _is_of_rows(found):
        return rewritten(found, lambda n: exp.Filter(this=n, expression=where.copy()), text_of(e))
    if not isinstance(found, Sql):
        raise QueryTypeError(
            f"FILTER follows an aggregate over many rows, and {text_of(e.this)} is of each row "
            "where there is no GROUP BY. Use WHERE, or add GROUP BY."
        )
    return Sql(exp.Filter(this=found.node, expression=where), found.kind)


def within_group(low: Lowering, e: exp.WithinGroup, scope: Scope) -> Value:
    """Return an aggregate of sorted rows: ``PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)``.

    Raises
    ------
    QueryTypeError
        For an aggregate that takes none, or the order of tensors.
    """
    inner, terms = e.this, e.expression.expressions
    name = inner.name.upper()
    if name in known.JOINS and inner.expressions:
        *before, last = (part.copy() for part in inner.expressions)
        by_terms = exp.Order(this=last, expressions=[term.copy() for term in terms])
        return low.value(exp.Anonymous(this=name, expressions=[*before, by_terms]), scope)
    if name not in known.SORTED or len(terms) != 1:
        raise QueryTypeError(
            f"WITHIN GROUP (ORDER BY x) is of {', '.join(known.SORTED)}, got {name}."
        )
    was, scope.in_aggregate = scope.in_aggregate, True
    try:
        value = low.value(terms[0].this, scope)
        args = [low.sql(part, scope) for part in inner.expressions]
    finally:
        scope.in_aggregate = was
    scope.aggregated = scope.aggregated or not scope.in_aggregate
    x = low.as_sql(value, scope)
    if is_json(value) and name != "MODE":
        x = as_exact_number(x, text_of(e))
    by = exp.Ordered(this=x.copy(), desc=bool(terms[0].args.get("desc")), nulls_first=False)
    *before, last = [x, *args]
    parts = [*before, exp.Order(this=last, expressions=[by])]
    kind = kind_of(value, plain=True)
    real = name.endswith("_CONT") and kind.name != "time"
    return Sql(exp.Anonymous(this=known.SORTED[name], expressions=parts), REAL if real else kind)
