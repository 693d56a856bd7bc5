"""A query in place of a value: SQL's where it is a scalar; a tensor's value, or its rows.

What a query gives that looks at nothing outside is the same for all rows. Its value is looked up
while the rest is bound, so that functions see a constant, as if it were a parameter. Otherwise the
tensor's leaves read what the query finds for each row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from deeplake_lite.errors import QueryError
from deeplake_lite.query.bind.calls.aggregates import map_rows
from deeplake_lite.query.bind.effort import SUBQUERY_COST
from deeplake_lite.query.bind.expressions.constants import as_array, null_tensor
from deeplake_lite.query.functions import Type
from deeplake_lite.query.parse.dialect import select_from, text_of
from deeplake_lite.query.values import TENSOR, Literal_, Sql, Tensor, Value

if TYPE_CHECKING:
    from deeplake_lite.query.bind.clauses.projection import Lowered
    from deeplake_lite.query.bind.clauses.select import Binder
    from deeplake_lite.query.bind.scope import Scope
    from deeplake_lite.query.plan import Udf


def one_value(binder: Binder, tree: exp.Query, scope: Scope) -> Value:
    """Return the value of a query in parentheses. Raises QueryError for several columns."""
    before = _state(binder)
    sql, columns = binder.low.nested(tree, scope)
    if len(columns) != 1:
        raise QueryError(
            f"A query in place of a value has one column, but {text_of(tree)} has {len(columns)}."
        )
    if columns[0].kind != TENSOR:
        return Sql(exp.Subquery(this=sql), columns[0].kind)
    _go_back(binder, before)  # its digest is not asked for
    lowered = binder.query(tree, scope)
    [tensor] = lowered.columns.values()
    if isinstance(tensor, Tensor) and _looks_outside(lowered, scope):
        return _of_rows(tensor, lowered, tree)
    _go_back(binder, before)  # what was bound to see of which type it is
    if isinstance(tensor, Tensor):
        return _answered(binder, tree, tensor.type)
    return Sql(exp.Subquery(this=binder.low.nested(tree, scope)[0]))  # of a constant list


@dataclass(frozen=True)
class _State:
    """How much a binder has bound."""

    instances: int
    udfs: dict[str, Udf]
    count: int
    known: int


def _state(binder: Binder) -> _State:
    low = binder.low
    return _State(len(binder.instances), dict(low.udfs), binder.count, len(low.known))


def _go_back(binder: Binder, before: _State) -> None:
    """Forget what was bound since."""
    del binder.instances[before.instances :]
    binder.low.udfs, binder.count = dict(before.udfs), before.count
    for key in list(binder.low.known)[before.known :]:
        del binder.low.known[key]


def _looks_outside(lowered: Lowered, scope: Scope) -> bool:
    """Tell whether a query names columns of those around it."""
    around: Scope | None = scope
    outside: set[str] = set()
    while around is not None:
        outside |= {relation.table for relation in around.relations}
        around = around.parent
    return any(column.table in outside for column in lowered.sql.find_all(exp.Column))


def _of_rows(tensor: Tensor, lowered: Lowered, tree: exp.Query) -> Tensor:
    """Return a tensor whose leaves read what a query finds for each row around it."""

    def found(column: exp.Expr) -> exp.Expr:
        item = exp.column(column.name, table="one")
        return exp.Subquery(this=select_from([item], lowered.sql.copy(), "one"))

    moved = map_rows(tensor, found, f"({text_of(tree)})")
    return Tensor(moved.tree, moved.env, moved.text)


def _answered(binder: Binder, tree: exp.Query, type_: Type) -> Tensor:
    """Return the value of a query that looks at nothing outside."""
    binder.low.effort.spend(SUBQUERY_COST)
    inner = type(binder)(
        text_of(tree),
        binder.open_source,
        binder.low.params,
        binder.default,
        binder.low.seed,
        answer=binder.answer,
    )
    inner.low.text = binder.low.text  # where errors are
    inner.low.effort = binder.low.effort
    plan = inner.plan(_with_names(binder, tree))
    binder.low.seed = plan.seed
    value, text = binder.answer(plan), f"({text_of(tree)})"
    if value is None:
        return null_tensor(type_, text)
    value, known = as_array(value)
    return Tensor(Literal_(value, Type(known.dtype, known.shape, type_.meaning)), {}, text)


def _with_names(binder: Binder, tree: exp.Query) -> exp.Query:
    """Return a query with the names that WITH gives around it."""
    out = tree.copy()
    own = out.args.get("with_")
    names = [cte.copy() for cte in binder.ctes] + (own.expressions if own else [])
    if names:
        out.set("with_", exp.With(expressions=names))
    return out
