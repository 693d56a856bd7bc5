"""Functions of many rows: groups, windows, orders, FILTER."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from deeplake_lite.query.bind.digests import comparable
from deeplake_lite.query.bind.kinds import (
    kind_of,
)
from deeplake_lite.query.dialect import func, text_of
from deeplake_lite.query.functions import Type
from deeplake_lite.query.values import (
    ANY,
    NUMBER,
    Grouped,
    Sql,
    Tensor,
    Value,
)

if TYPE_CHECKING:
    from deeplake_lite.query.bind.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope


def grouped(tensor: Tensor, aggregate: str, text: str) -> Tensor:
    """Return the values of a tensor over a group, or their elementwise aggregate."""
    struct = exp.Anonymous(
        this="struct_pack",
        expressions=[
            exp.PropertyEQ(this=exp.to_identifier(key, quoted=True), expression=node.copy())
            for key, node in tensor.env.items()
        ],
    )
    rows = exp.Anonymous(this="LIST", expressions=[struct])
    key = "l_" + rows.sql("duckdb")
    inner = tensor.type
    if aggregate == "LIST":
        type_ = Type(inner.dtype, (None, *(inner.shape or ())), inner.meaning)
    else:
        floats = aggregate in ("MEAN", "STD", "VAR", "MEDIAN")
        dtype = "float64" if floats and inner.dtype[0] in "biu" else inner.dtype
        wide = {"b": "int64", "i": "int64", "u": "uint64"}
        if aggregate in ("SUM", "PROD") and inner.dtype[0] in wide:
            dtype = wide[inner.dtype[0]]
        type_ = Type(dtype, inner.shape)
    return Tensor(Grouped(key, tensor.tree, aggregate, type_), {key: rows}, text)


def count(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value | None:
    """Return COUNT of all rows, or of distinct values; None where it is of a column."""
    if not e.expressions or isinstance(e.expressions[0], exp.Star):
        scope.aggregated = scope.aggregated or not scope.in_aggregate
        return Sql(exp.Anonymous(this="COUNT", expressions=[exp.Star()]), NUMBER)
    if isinstance(e.expressions[0], exp.Distinct):
        scope.aggregated = scope.aggregated or not scope.in_aggregate
        parts = [comparable(low.value(p, scope), low, scope) for p in e.expressions[0].expressions]
        return Sql(
            exp.Anonymous(this="COUNT", expressions=[exp.Distinct(expressions=parts)]), NUMBER
        )
    return None


def window(low: Lowering, e: exp.Window, scope: Scope) -> Value:
    """Return a function over a window of rows."""
    was, scope.in_aggregate, before = scope.in_aggregate, True, scope.aggregated
    try:
        inner = e.this
        found = _row_number() if inner.name.upper() == "ROW_NUMBER" else low.value(inner, scope)
        node = window_parts(low, e, scope)
        node.set("this", low.as_sql(found, scope))
    finally:
        scope.in_aggregate, scope.aggregated = was, before
    return Sql(node, found.kind if isinstance(found, Sql) else ANY)


def window_parts(low: Lowering, e: exp.Window, scope: Scope) -> exp.Window:
    """Return a window with what it parts and sorts rows by."""
    node = e.copy()
    node.set("partition_by", [low.sql(p, scope) for p in e.args.get("partition_by") or ()])
    if e.args.get("order"):
        node.set("order", exp.Order(expressions=ordered(low, e.args["order"], scope)))
    return node


def _row_number() -> Sql:
    return Sql(exp.Anonymous(this="ROW_NUMBER", expressions=[]), NUMBER)


def ordered(low: Lowering, order: exp.Order, scope: Scope) -> list[exp.Expr]:
    """Return what a window sorts by."""
    return [
        part
        for term in order.expressions
        for part in sorted_by(low.value(term.this, scope), term, low, scope)
    ]


def sorted_by(value: Value, term: exp.Expr, low: Lowering, scope: Scope) -> list[exp.Expr]:
    """Return what to sort by: NaN last either way, and null behind it unless it is said."""
    node, descends = low.as_sql(value, scope), bool(term.args.get("desc"))
    if node.find(exp.Column, exp.Query, exp.Anonymous) is None:  # to SQL, a position or an error
        node = func("coalesce", node, exp.null())
    nulls_first = bool(term.args.get("nulls_first"))
    out: list[exp.Expr] = []
    if kind_of(value).real and descends:
        nan = func("isnan", node.copy())
        out.append(exp.Ordered(this=nan, desc=False, nulls_first=nulls_first))
    out.append(exp.Ordered(this=node, desc=descends, nulls_first=nulls_first))
    return out


def filtered(low: Lowering, e: exp.Filter, scope: Scope) -> Value:
    """Return an aggregate of some rows: ``… FILTER (WHERE …)``."""
    found = low.value(e.this, scope)
    was, scope.in_aggregate = scope.in_aggregate, True
    try:
        where = exp.Where(this=low.condition(low.value(e.expression.this, scope), scope))
    finally:
        scope.in_aggregate = was
    if isinstance(found, Tensor):
        env = {k: exp.Filter(this=n, expression=where.copy()) for k, n in found.env.items()}
        return Tensor(found.tree, env, text_of(e))
    assert isinstance(found, Sql)
    return Sql(exp.Filter(this=found.node, expression=where), found.kind)
