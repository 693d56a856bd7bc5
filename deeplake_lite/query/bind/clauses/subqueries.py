"""Lower subqueries that are used as values.

A subquery is correlated if it uses columns of an enclosing query, so that its value depends on the
outer row.

- DuckDB runs a subquery that returns a scalar.
- An uncorrelated subquery that returns a tensor is run during lowering, so that functions receive
  the tensor as a constant.
- In place of a correlated subquery that returns a tensor, DuckDB runs a subquery that returns the
  position of the row whose tensor is read.
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
from deeplake_lite.query.parse.dialect import text_of
from deeplake_lite.query.parse.duckdb_nodes import select_from
from deeplake_lite.query.values import TENSOR, Literal_, Sql, Tensor, Value

if TYPE_CHECKING:
    from deeplake_lite.query.bind.clauses.projection import Lowered
    from deeplake_lite.query.bind.clauses.select import Binder
    from deeplake_lite.query.bind.scope import Scope
    from deeplake_lite.query.plan import Udf


def one_value(binder: Binder, tree: exp.Query, scope: Scope) -> Value:
    """Lower a subquery that is used as a value. Raises QueryError unless it has one column.

    Whether the value is a tensor is known only after the subquery has been lowered, but tensors
    must be lowered differently. In this case, the binder is restored to its state before the first
    lowering.
    """
    before = _record_state(binder)
    sql, columns = binder.low.lower_query(tree, scope)
    if len(columns) != 1:
        raise QueryError(
            f"A subquery that is used as a value must have exactly one column, but {text_of(tree)} "
            f"has {len(columns)}. Select only one column."
        )
    if columns[0].kind != TENSOR:
        return Sql(exp.Subquery(this=sql), columns[0].kind)
    _restore(binder, before)  # `lower_query` has lowered the tensor's digest instead of the tensor
    lowered = binder.query(tree, scope)
    [tensor] = lowered.columns.values()
    if isinstance(tensor, Tensor) and _is_correlated(lowered, scope):
        return _correlate(tensor, lowered, tree)
    _restore(binder, before)  # the query was only lowered to find out the type of its value
    if isinstance(tensor, Tensor):
        return _compute(binder, tree, tensor.type)
    # Otherwise, the value is a constant list.
    return Sql(exp.Subquery(this=binder.low.lower_query(tree, scope)[0]))


@dataclass(frozen=True)
class _State:
    """The state of a binder, which `_restore` can restore."""

    instances: int
    """Number of sources."""
    udfs: dict[str, Udf]
    count: int
    """Number of generated names."""
    cached: int
    """Number of cached values."""


def _record_state(binder: Binder) -> _State:
    low = binder.low
    return _State(len(binder.instances), dict(low.udfs), binder.count, len(low.cache))


def _restore(binder: Binder, before: _State) -> None:
    """Undo everything that the binder has lowered since `before`."""
    del binder.instances[before.instances :]
    binder.low.udfs, binder.count = dict(before.udfs), before.count
    for key in list(binder.low.cache)[before.cached :]:
        del binder.low.cache[key]


def _is_correlated(lowered: Lowered, scope: Scope) -> bool:
    """Return whether a query uses columns of enclosing queries."""
    around: Scope | None = scope
    outside: set[str] = set()
    while around is not None:
        outside |= {relation.table for relation in around.relations}
        around = around.parent
    return any(column.table in outside for column in lowered.sql.find_all(exp.Column))


def _correlate(tensor: Tensor, lowered: Lowered, tree: exp.Query) -> Tensor:
    """Return a tensor that reads, for each outer row, the row that the subquery selects."""

    def read_row(column: exp.Expr) -> exp.Expr:
        item = exp.column(column.name, table="one")
        return exp.Subquery(this=select_from([item], lowered.sql.copy(), "one"))

    moved = map_rows(tensor, read_row, f"({text_of(tree)})")
    return Tensor(moved.tree, moved.env, moved.text)


def _compute(binder: Binder, tree: exp.Query, type_: Type) -> Tensor:
    """Run an uncorrelated subquery, and return the tensor in its result as a constant."""
    binder.low.effort.spend(SUBQUERY_COST)
    inner = type(binder)(
        text_of(tree),
        binder.open_source,
        binder.low.params,
        binder.default,
        binder.low.seed,
        binder.low.moment,
        run_subquery=binder.run_subquery,
    )
    inner.low.text = binder.low.text  # errors show positions in the whole query
    inner.low.effort = binder.low.effort
    plan = inner.plan(_with_names(binder, _as_nested(tree)))
    binder.low.seed, binder.low.moment = plan.seed, plan.moment
    value, text = binder.run_subquery(plan), f"({text_of(tree)})"
    if value is None:
        return null_tensor(type_, text)
    if type_.items is not None:
        return Tensor(Literal_(list(value), type_), {}, text)
    value, exact = as_array(value)
    return Tensor(Literal_(value, Type(exact.dtype, exact.shape, type_.meaning)), {}, text)


def _as_nested(tree: exp.Query) -> exp.Query:
    """Return a subquery as an independent query.

    A subquery without FROM is put into the FROM of another SELECT, because an independent query
    without FROM reads the dataset.
    """
    if not isinstance(tree, exp.Select) or tree.args.get("from_"):
        return tree
    return exp.select("*").from_(tree.copy().subquery("one"))


def _with_names(binder: Binder, tree: exp.Query) -> exp.Query:
    """Return a query with the WITH clauses of the enclosing queries added."""
    out = tree.copy()
    own = out.args.get("with_")
    names = [cte.copy() for cte in binder.ctes] + (own.expressions if own else [])
    if names:
        out.set("with_", exp.With(expressions=names))
    return out
