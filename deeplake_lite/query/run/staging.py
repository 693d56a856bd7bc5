"""The table of a source, as the query takes it: the rows that are left, with their islands.

Steps: chunk statistics leave rows out (`pruning`), cheap conditions choose rows before any island
is computed, conditions with islands the rows after that, in growing parts where a few are enough.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa
from sqlglot import exp

from deeplake_lite.dataset.arrow.cells import numbers_in, numbers_of
from deeplake_lite.query.database.convert import as_arrow
from deeplake_lite.query.plan import ROW
from deeplake_lite.query.run.pruning import rows_left
from deeplake_lite.query.tensors.evaluate import evaluate
from deeplake_lite.query.tensors.trees import keys
from deeplake_lite.storage.chunks import count_up

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.query.plan import Instance
    from deeplake_lite.query.run.progress import Bar
    from deeplake_lite.query.run.record import Run

STAGED_ROWS = 4096
"""Rows whose islands are computed before it is seen whether they are enough; then twice as many."""

MOST_ROWS = 2**18
"""Rows of such a part at the most."""

LEFT = "lake_rows"
"""Table whose rows a condition chooses from."""

AT = "lake_at"
"""Its column of their numbers."""


class Ask(Protocol):
    """What runs a statement over tables."""

    def __call__(self, sql: exp.Expr, **tables: pa.Table) -> pa.Table:
        """Return its rows."""
        ...


@dataclass(frozen=True)
class Staging:
    """Makes the tables of one query's sources."""

    ask: Ask
    run: Run
    bar: Bar

    def table(self, instance: Instance) -> pa.Table:
        """Return a source's table."""
        table = self._read(instance, rows_left(instance))
        if not instance.islands:
            return table
        if instance.cheap:
            table = self._filtered(instance, table, instance.cheap)
        left = self._staged(instance, table)
        for name in instance.islands:
            left = self._with_island(left, instance, name)
        return left

    def at(self, instance: Instance, rows: NDArray[np.int64]) -> pa.Table:
        """Return some rows of a source's table, whatever the conditions."""
        table = self._read(instance, rows)
        for name in instance.islands:
            table = self._with_island(table, instance, name)
        return table

    def _read(self, instance: Instance, rows: NDArray[np.int64] | None) -> pa.Table:
        """Return the scalar columns of a source, of all rows or some."""
        source, started = instance.source, time.perf_counter()
        before = source.tally.bytes
        columns = {name: source.scalar(f, rows) for name, f in instance.scalars.items()}
        columns[ROW] = numbers_of(source.positions if rows is None else rows)
        table, read = pa.table(columns), source.tally.bytes - before
        self.run.note("read", instance.table, len(source), len(table), started, read)
        return table

    def _filtered(
        self, instance: Instance, table: pa.Table, conditions: Sequence[exp.Expr]
    ) -> pa.Table:
        """Return the rows of a table that pass conditions."""
        started, select = time.perf_counter(), _select(instance, conditions)
        names = {c.name for part in conditions for c in part.find_all(exp.Column)}
        asked = table.select([n for n in table.column_names if n in names and n != ROW])
        if ROW in names:
            asked = asked.append_column(ROW, table[ROW])
        asked = asked.append_column(AT, numbers_of(count_up(len(table))))
        order = numbers_in(self.ask(select, **{LEFT: asked})[AT])
        if (np.diff(order) < 0).any():
            order = np.sort(order)
        kept = table if len(order) == len(table) else table.take(numbers_of(order))
        self.run.note("where", instance.table, len(table), len(kept), started)
        return kept

    def _staged(self, instance: Instance, table: pa.Table) -> pa.Table:
        """Apply the conditions that need islands, in the order written; stop when rows are enough.

        The last is left to the query where all rows are to be looked at anyway.
        """
        if not instance.staged:
            return table
        kept: list[pa.Table] = []
        for part in _parts(table, instance.enough):
            for at, (condition, islands) in enumerate(instance.staged):
                for name in islands:
                    part = self._with_island(part, instance, name)
                done = set(part.column_names) >= instance.islands.keys()
                if instance.enough is not None or not done or at + 1 < len(instance.staged):
                    part = self._filtered(instance, part, [condition])
            kept.append(part)
            if instance.enough is not None and sum(map(len, kept)) >= instance.enough:
                break
        return pa.concat_tables(kept)

    def _with_island(self, table: pa.Table, instance: Instance, name: str) -> pa.Table:
        """Compute an island for a table's rows, unless it has it."""
        if name in table.column_names:
            return table
        started, tree, source = time.perf_counter(), instance.islands[name], instance.source
        rows, before = numbers_in(table[ROW]), source.tally.bytes
        text = instance.texts[name]
        values = evaluate(
            tree,
            dict.fromkeys(keys(tree), rows),
            len(rows),
            lambda done: self.bar.show(text, done, len(rows)),
        )
        read = source.tally.bytes - before
        self.run.note(name, instance.table, len(rows), len(rows), started, read)
        return table.append_column(name, as_arrow(values, tree.type.dtype))


def _parts(table: pa.Table, enough: int | None) -> Iterator[pa.Table]:
    """Cut a table into parts that grow; into one where all rows are needed."""
    size, start = len(table) if enough is None else STAGED_ROWS, 0
    yield table.slice(0, size)
    while (start := start + size) < len(table):
        size = min(size * 2, MOST_ROWS)
        yield table.slice(start, size)


def _select(instance: Instance, conditions: Sequence[exp.Expr]) -> exp.Select:
    """Return the statement that gives the numbers of a table's rows that pass."""
    select = exp.Select(expressions=[exp.column(AT, table=instance.table)])
    alias = exp.alias_(exp.to_table(LEFT), instance.table, table=True)
    select.set("from_", exp.From(this=alias))
    select.set("where", exp.Where(this=exp.and_(*(exp.paren(c.copy()) for c in conditions))))
    return select
