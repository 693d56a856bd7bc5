"""Build the view that a query returns.

If the result consists of unchanged rows and columns of one lake, it is a view of that lake.
Otherwise, it is a view of a virtual table, whose columns are read or computed on access.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from sqlglot import exp

from deeplake_lite.codecs.limits import DEFAULT_LIMITS, Limits
from deeplake_lite.dataset.arrow.cells import numbers_in, numbers_of
from deeplake_lite.dataset.read.virtual import ViewColumn, VirtualTable
from deeplake_lite.dataset.selection import Lake, RowSelection
from deeplake_lite.dataset.view import View
from deeplake_lite.errors import QueryTypeError
from deeplake_lite.query.bind.calls.function_names import AGGREGATES
from deeplake_lite.query.database.convert import from_arrow
from deeplake_lite.query.result.columns import ComputedColumn, SqlColumn
from deeplake_lite.query.result.json_parts import is_json
from deeplake_lite.query.values import JSON

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from deeplake_lite.dataset.read.virtual import VirtualColumn
    from deeplake_lite.dataset.saved.question import Question
    from deeplake_lite.query.plan import Output, Plan

type Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Nowhere:
    """Takes the place of the repository if a result has no source, as with ``SELECT 1``."""

    url: str = "memory://query"
    checks_reads: bool = False
    """Whether every read is checked. Here, there is nothing to read."""
    limits: Limits = DEFAULT_LIMITS
    """Limits that apply to lakes that are opened when the result is queried."""


def to_view(plan: Plan, table: pa.Table, rows: Rows, question: Question) -> View:
    """Return the result of a plan as a view.

    Parameters
    ----------
    plan : Plan
        The plan that was run.
    table : pyarrow.Table
        The result of the plan's SQL.
    rows : ndarray, (n,) int64
        Positions in `table` of the rows that form the result, in order.
    question : Question
        The query, which the view stores so that it can be run again.
    """
    if len(rows) != len(table) or (len(rows) and not (np.diff(rows) == 1).all()):
        table = table.take(numbers_of(rows))
    plain = _plain_view(plan, table)
    if plain is not None:
        return plain
    columns = {o.name: _column(plan, o, table) for o in plan.outputs}
    first = plan.instances[0].source.view if plan.instances else None
    lake = first.rows.lake if first is not None else Lake(Nowhere(), {})  # type: ignore[arg-type]
    ids = _ids(plan, table)
    virtual = VirtualTable(
        columns,
        len(table),
        first.version if first is not None else "",
        ids=ids,
        uncommitted=any(i.source.view.rows.uncommitted for i in plan.instances),
        question=question,
        metadata=first.rows.table.metadata if first is not None and ids is not None else None,
    )
    names = tuple(columns)
    return View(RowSelection(lake, virtual), names, plan.text)


def _plain_view(plan: Plan, table: pa.Table) -> View | None:
    """Return the result as a view of a source, if it has only unchanged columns of one source.

    Otherwise, return None.
    """
    columns = {o.name: o.plain for o in plan.outputs if o.plain is not None}
    rows = _rows_read(plan, table)
    if rows is None or len(columns) < len(plan.outputs):
        return None
    if any(plain.field.name != name for name, plain in columns.items()):
        return None
    source = next(iter(columns.values())).source
    if any(plain.source is not source for plain in columns.values()):
        return None
    return View(source.view.rows.with_slots(source.at(rows)), tuple(columns), plan.text)


def _ids(plan: Plan, table: pa.Table) -> Rows | None:
    """Return the ids of the rows, or None unless all columns read the same rows of one source."""
    rows = _rows_read(plan, table) if len(plan.instances) == 1 else None
    if rows is None:
        return None
    source = plan.instances[0].source
    if not getattr(source.table, "has_ids", True):  # rows of a join or a group have no ids
        return None
    return source.table.ids(source.at(rows))


def _rows_read(plan: Plan, table: pa.Table) -> Rows | None:
    """Return the position of the source row from which each row of the result is read.

    Returns None if the columns are read from different rows, or if a row of the result stands for
    several source rows or none.
    """
    if any(o.plain is not None and o.plain.of_several for o in plan.outputs):
        return None
    names = {o.plain.row.name for o in plan.outputs if o.plain is not None}
    if len(names) != 1:
        return None
    rows = _positions(table[names.pop()])
    return rows if (rows >= 0).all() else None


def _positions(column: pa.ChunkedArray) -> Rows:
    """Return a column of row positions, with -1 for null."""
    filled = column.fill_null(-1) if column.null_count else column  # `fill_null` imports pandas
    return np.asarray(numbers_in(filled), np.int64)


def _column(plan: Plan, output: Output, table: pa.Table) -> VirtualColumn:
    if output.plain is not None:
        rows = _positions(table[output.plain.row.name])
        return ViewColumn(output.plain.source.view, output.plain.field, rows)
    if output.tensor is not None:
        try:
            env = {key: from_arrow(table[node.name]) for key, node in output.tensor.env.items()}
        except QueryTypeError as error:
            plan.locate(error, output.tensor.text)
            raise
        return ComputedColumn(output.tensor, env, plan.locate, adds_up=_aggregates(plan))
    assert output.column is not None
    assert output.kind is not None
    locate = partial(plan.locate_output, output=output)
    is_document = output.kind.name == "any" and is_json(table.schema.field(output.column))
    kind = JSON if is_document else output.kind
    return SqlColumn.of(table[output.column], kind, locate, adds_up=_aggregates(plan))


def _aggregates(plan: Plan) -> bool:
    """Return whether a query has aggregates. In these, threads may add floats in any order."""
    return any(c.name.upper() in AGGREGATES for c in plan.sql.find_all(exp.Anonymous))
