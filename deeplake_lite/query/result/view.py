"""From what DuckDB gave to a view: columns at rows of their sources, values, and trees.

A result that is rows and columns of one lake is a plain view of it. Any other is a view of a
virtual table, whose columns are read, or computed, when they are looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from sqlglot import exp

from deeplake_lite.codecs.limits import DEFAULT_LIMITS, Limits
from deeplake_lite.dataset.arrow.cells import numbers_in, numbers_of
from deeplake_lite.dataset.read.virtual import TakenColumn, VirtualTable
from deeplake_lite.dataset.selection import Lake, RowSelection
from deeplake_lite.dataset.view import View
from deeplake_lite.query.bind.calls.known import AGGREGATES
from deeplake_lite.query.database.convert import from_arrow
from deeplake_lite.query.result.columns import ComputedColumn, HeldColumn
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
    """The place of a result that has no source: ``SELECT 1``."""

    url: str = "memory://query"
    checks_reads: bool = False
    """Whether every read is checked: there is nothing to read."""
    limits: Limits = DEFAULT_LIMITS
    """How much memory a value may take, in lakes that a query of the result names."""


def to_view(plan: Plan, table: pa.Table, rows: Rows, question: Question) -> View:
    """Return the result of a plan as a view.

    Parameters
    ----------
    plan : Plan
        What was run.
    table : pyarrow.Table
        What DuckDB gave.
    rows : ndarray, (n,) int64
        Which rows of it are the result, and in which order.
    question : Question
        What was asked, to ask it again.
    """
    if len(rows) != len(table) or (len(rows) and not (np.diff(rows) == 1).all()):
        table = table.take(numbers_of(rows))
    same = _one_source(plan, table)
    if same is not None:
        return same
    columns = {o.name: _column(plan, o, table) for o in plan.outputs}
    first = plan.instances[0].source.view if plan.instances else None
    lake = first.rows.lake if first is not None else Lake(Nowhere(), {})  # type: ignore[arg-type]
    virtual = VirtualTable(
        columns,
        len(table),
        first.version if first is not None else "",
        ids=_ids(plan, table),
        uncommitted=any(bool(i.source.table.uncommitted) for i in plan.instances),
        question=question,
    )
    names = tuple(columns)
    return View(RowSelection(lake, virtual), names, plan.text)


def _one_source(plan: Plan, table: pa.Table) -> View | None:
    """Return the result as a view of its source, if it is rows and columns of one."""
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
    """Return the ids of the rows where all that is read is rows of one source."""
    rows = _rows_read(plan, table) if len(plan.instances) == 1 else None
    if rows is None:
        return None
    source = plan.instances[0].source
    if not getattr(source.table, "has_ids", True):  # rows of a join, or of groups, have none
        return None
    return source.table.ids(source.at(rows))


def _rows_read(plan: Plan, table: pa.Table) -> Rows | None:
    """Return which row of a source each row reads; None if of none, of several, or nowhere."""
    if any(o.plain is not None and o.plain.of_several for o in plan.outputs):
        return None
    names = {o.plain.row.name for o in plan.outputs if o.plain is not None}
    if len(names) != 1:
        return None
    rows = _positions(table[names.pop()])
    return rows if (rows >= 0).all() else None


def _positions(column: pa.ChunkedArray) -> Rows:
    """Return positions, -1 where null."""
    filled = column.fill_null(-1) if column.null_count else column  # filling imports pandas
    return np.asarray(numbers_in(filled), np.int64)


def _column(plan: Plan, output: Output, table: pa.Table) -> VirtualColumn:
    if output.plain is not None:
        rows = _positions(table[output.plain.row.name])
        return TakenColumn(output.plain.source.view, output.plain.field, rows)
    if output.tensor is not None:
        env = {key: from_arrow(table[node.name]) for key, node in output.tensor.env.items()}
        return ComputedColumn(output.tensor, env, plan.locate, adds_up=_aggregates(plan))
    assert output.column is not None
    assert output.kind is not None
    locate = partial(plan.locate_output, output=output)
    is_document = output.kind.name == "any" and is_json(table.schema.field(output.column))
    kind = JSON if is_document else output.kind
    return HeldColumn.of(table[output.column], kind, locate, adds_up=_aggregates(plan))


def _aggregates(plan: Plan) -> bool:
    """Tell whether a query has aggregates, of which threads may add floats in another order."""
    return any(c.name.upper() in AGGREGATES for c in plan.sql.find_all(exp.Anonymous))
