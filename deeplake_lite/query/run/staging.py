"""Build the table of a source, with stored and precomputed columns, that DuckDB queries.

The table has only the rows that pass the conditions on the source. Before any column is computed,
rows are filtered by the statistics of chunks (see `pruning`) and by conditions on stored columns,
called cheap. The conditions on precomputed columns, called staged, follow. If the query needs only
a few rows, the staged conditions are applied to one block of rows after the other, until enough
rows have passed.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
from sqlglot import exp

from deeplake_lite.dataset.arrow.cells import numbers_in, numbers_of
from deeplake_lite.query.database.convert import as_arrow
from deeplake_lite.query.plan import ROW
from deeplake_lite.query.run import sources
from deeplake_lite.query.run.best_texts import BestRows
from deeplake_lite.query.run.nearest import NearestRows
from deeplake_lite.query.run.pruning import WORTH, remaining_rows, wanted_chunks
from deeplake_lite.query.tensors.evaluate import evaluate
from deeplake_lite.query.tensors.trees import keys
from deeplake_lite.storage.chunks import count_up, spans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.query.functions.value_type import Block
    from deeplake_lite.query.plan import First, Instance
    from deeplake_lite.query.run.progress import Bar
    from deeplake_lite.query.run.record import Run

POST_FILTERED = 8
"""If conditions are checked after the search with an index, the search returns this many times the
rows that the query needs."""

FEW_FIRST = 10_000
"""Up to this many rows are all sorted by the SQL."""

STAGED_ROWS = 4096
"""Number of rows in the first block, if a query needs only some rows. Each further block has twice
as many rows as the block before."""

MAX_ROWS = 2**18
"""Maximum number of rows in a block."""

LEFT = "lake_rows"
"""Name of the temporary table to which conditions are applied."""

AT = "lake_at"
"""Name of the column of the temporary table that numbers its rows."""


class RunStatement(Protocol):
    """A function that runs a statement on tables."""

    def __call__(self, sql: exp.Expr, **tables: pa.Table) -> pa.Table:
        """Run a statement on tables, given as keyword arguments, and return its result."""
        ...


class Compute(Protocol):
    """A function that computes a precomputed column for some rows of a source."""

    def __call__(
        self, instance: Instance, name: str, rows: NDArray[Any], report: Callable[[int], None], /
    ) -> Block:
        """Return the values, and report the number of rows computed so far."""


def compute_here(
    instance: Instance, name: str, rows: NDArray[Any], report: Callable[[int], None], /
) -> Block:
    """Compute a precomputed column in this process."""
    tree = instance.precomputed[name]
    return evaluate(tree, dict.fromkeys(keys(tree), rows), len(rows), report)


@dataclass(frozen=True)
class Staging:
    """Builds the tables of a query's sources."""

    run_statement: RunStatement
    run: Run
    bar: Bar
    compute: Compute = compute_here

    def table(self, instance: Instance) -> pa.Table:
        """Return the table of a source, with the rows that pass the conditions on the source."""
        if instance.nearest is not None and (near := self._near(instance)) is not None:
            return near
        if instance.best is not None and (best := self._best(instance)) is not None:
            return best
        table = self._read_wanted(instance)
        if not instance.precomputed:
            return table
        if instance.cheap and not _is_read_in_blocks(instance):
            table = self._filter(instance, table, instance.cheap)
        table = self._apply_staged(instance, table)
        if instance.first is not None:
            table = self._with_column(table, instance, instance.first.name)
            table = _keep_first(table, instance.first)
        for name in instance.precomputed:
            table = self._with_column(table, instance, name)
        return table

    def _near(self, instance: Instance) -> pa.Table | None:
        """Return the table of the rows that an index finds, or None if all rows are needed."""
        assert instance.nearest is not None
        started, source, passed = time.perf_counter(), instance.source, None
        search = NearestRows(source, instance.nearest)
        note, rows = search.obstacle(), None
        if instance.is_filtered_later:
            note = note or "the conditions depend on other rows"
        if not note:
            passed = self._pass_cheap(instance)
            started = time.perf_counter()
            spare = POST_FILTERED if instance.staged else 1
            among = None if passed is None else numbers_in(passed[ROW])
            rows, note = search.rows(among, spare=spare)
        before = len(source) if passed is None else len(passed)
        after = before if rows is None else len(rows)
        self.run.add_step("index", instance.table, before, after, started, note=note)
        if rows is None:
            return None
        table = self._read(instance, rows)
        table = self._apply_staged(instance, table, counts=True)
        if len(table) < min(instance.nearest.count, len(rows)):
            return None  # too few rows pass the conditions
        for name in instance.precomputed:
            table = self._with_column(table, instance, name)
        return table

    def _best(self, instance: Instance) -> pa.Table | None:
        """Return the table of the rows that match words best, or None if all rows are needed."""
        assert instance.best is not None
        if instance.is_filtered_later or instance.staged:
            return None
        passed = self._pass_cheap(instance)
        started = time.perf_counter()
        among = None if passed is None else numbers_in(passed[ROW])
        rows, note = BestRows(instance.source, instance.best).rows(among)
        if rows is None:
            return None
        if note:
            before = len(instance.source) if among is None else len(among)
            self.run.add_step("index", instance.table, before, len(rows), started, note=note)
        table = self._read(instance, rows)
        for name in instance.precomputed:
            table = self._with_column(table, instance, name)
        return table

    def _pass_cheap(self, instance: Instance) -> pa.Table | None:
        """Return the table of the rows that pass the cheap conditions, or None without these."""
        if not instance.cheap:
            return None
        passed = self._read_wanted(instance)
        if _is_read_in_blocks(instance):
            return passed
        return self._filter(instance, passed, instance.cheap)

    def _read_wanted(self, instance: Instance) -> pa.Table:
        """Return the table of stored columns, without chunks in which no row can be needed.

        If the source has many rows, they are read and filtered by the cheap conditions in blocks,
        so that memory is needed only for one block, the rows that pass, and cached columns.
        """
        source = instance.source
        if not _is_read_in_blocks(instance):
            cached = all(map(source.is_cached, instance.scalars.values()))
            wanted = None if cached else wanted_chunks(instance)
            everything = slice(0, len(source))
            rows = None if wanted is None else remaining_rows(instance, wanted, everything)
            return self._read(instance, rows)
        before, started = source.tally.bytes, time.perf_counter()
        wanted = wanted_chunks(instance)
        if wanted is None or wanted.mean() * WORTH > 1:
            for f in filter(source.fits_cache, instance.scalars.values()):
                source.scalar(f)
        passed, filtering, count = list[pa.Table](), 0.0, 0
        for block in spans(len(source), sources.READ_ROWS):
            rows = None if wanted is None else remaining_rows(instance, wanted, block)
            if rows is None or len(rows) or not passed:
                table = _stored_table(instance, block if rows is None else rows)
                began = time.perf_counter()
                passed.append(self._passing(instance, table, instance.cheap))
                filtering, count = filtering + time.perf_counter() - began, count + len(table)
        table, read = pa.concat_tables(passed), source.tally.bytes - before
        self.run.add_step("read", instance.table, len(source), count, started + filtering, read)
        started = time.perf_counter() - filtering
        self.run.add_step("where", instance.table, count, len(table), started)
        return table

    def at(self, instance: Instance, rows: NDArray[np.int64]) -> pa.Table:
        """Return the table of a source with the given rows, without applying conditions."""
        table = self._read(instance, rows)
        for name in instance.precomputed:
            table = self._with_column(table, instance, name)
        return table

    def _read(self, instance: Instance, rows: NDArray[np.int64] | None) -> pa.Table:
        """Return a table with the stored columns of a source, with the given rows or all rows."""
        source, started = instance.source, time.perf_counter()
        before = source.tally.bytes
        table, read = _stored_table(instance, rows), source.tally.bytes - before
        self.run.add_step("read", instance.table, len(source), len(table), started, read)
        return table

    def _filter(
        self, instance: Instance, table: pa.Table, conditions: Sequence[exp.Expr]
    ) -> pa.Table:
        """Return the rows of a table that pass all conditions, and record the step."""
        started, rows = time.perf_counter(), self._passing(instance, table, conditions)
        self.run.add_step("where", instance.table, len(table), len(rows), started)
        return rows

    def _passing(
        self, instance: Instance, table: pa.Table, conditions: Sequence[exp.Expr]
    ) -> pa.Table:
        """Return the rows of a table that pass all conditions."""
        select = _select(instance, conditions)
        names = {c.name for part in conditions for c in part.find_all(exp.Column)}
        inputs = table.select([n for n in table.column_names if n in names and n != ROW])
        if ROW in names:
            inputs = inputs.append_column(ROW, table[ROW])
        inputs = inputs.append_column(AT, numbers_of(count_up(len(table))))
        order = numbers_in(self.run_statement(select, **{LEFT: inputs})[AT])
        if (np.diff(order) < 0).any():  # because DuckDB's threads may return rows in any order
            order = np.sort(order)
        return table if len(order) == len(table) else table.take(numbers_of(order))

    def _apply_staged(
        self, instance: Instance, table: pa.Table, *, counts: bool = False
    ) -> pa.Table:
        """Return the rows that pass the staged conditions, or as many of them as the query needs.

        In one case, a condition is not applied here, but only by the SQL of the query, which saves
        a statement: it is the last condition, the query needs all rows, all columns have been
        computed, and the number of rows that pass does not count.
        """
        if not instance.staged:
            return table
        filtered: list[pa.Table] = []
        for block in _blocks(table, instance.rows_needed):
            for at, (condition, columns) in enumerate(instance.staged):
                for name in columns:
                    block = self._with_column(block, instance, name)
                is_complete = set(block.column_names) >= instance.precomputed.keys()
                if (
                    counts
                    or instance.rows_needed is not None
                    or not is_complete
                    or at + 1 < len(instance.staged)
                ):
                    block = self._filter(instance, block, [condition])
            filtered.append(block)
            if instance.rows_needed is not None and sum(map(len, filtered)) >= instance.rows_needed:
                break
        return pa.concat_tables(filtered)

    def _with_column(self, table: pa.Table, instance: Instance, name: str) -> pa.Table:
        """Return a table with a precomputed column, which is added unless the table has it."""
        if name in table.column_names:
            return table
        started, tree, source = time.perf_counter(), instance.precomputed[name], instance.source
        rows, before = numbers_in(table[ROW]), source.tally.bytes
        text = instance.texts[name]
        values = self.compute(
            instance, name, rows, lambda done: self.bar.show(text, done, len(rows))
        )
        read = source.tally.bytes - before
        self.run.add_step(name, instance.table, len(rows), len(rows), started, read)
        return table.append_column(name, as_arrow(values, tree.type.dtype))


def _keep_first(table: pa.Table, first: First) -> pa.Table:
    """Return the rows of a table that a query can need, if it sorts by a column of floats.

    Nulls and NaN come last, so they are only needed if there are too few numbers.
    """
    if len(table) <= FEW_FIRST:
        return table
    column = table[first.name]
    values = column.to_numpy() if column.null_count else numbers_in(column)  # NaN where null
    rows = smallest(-values if first.descends else values, first.count)
    return table if rows is None else table.take(numbers_of(rows))


def smallest(values: NDArray[np.floating], count: int) -> NDArray[np.int64] | None:
    """Return the positions of the smallest values and their ties, and perhaps of some more.

    The values are divided into tiles. The `count`-th smallest of the tiles' minima is at least as
    large as the `count`-th smallest value, so no larger value is among the smallest. The result is
    None if there may be fewer than `count` numbers, because the others are NaN.

    >>> smallest(np.array([5.0, 1, np.nan, 1, 9, 7]), 1).tolist()
    [1, 3]
    >>> smallest(np.array([np.nan, 1]), 2)
    """
    if len(values) < count:
        return None
    high = max(1, int((len(values) / (4 * count)) ** 0.5))
    tiles = len(values) // high
    with np.errstate(invalid="ignore"):
        least = np.fmin.reduce(values[: tiles * high].reshape(high, tiles), axis=0)
        limit = np.partition(least, count - 1)[count - 1]  # NaN is sorted last
        return None if np.isnan(limit) else np.flatnonzero(values <= limit)


def _is_read_in_blocks(instance: Instance) -> bool:
    """Return whether the stored columns are read, and filtered, in blocks of rows."""
    return bool(instance.cheap) and len(instance.source) > sources.READ_ROWS


def _stored_table(instance: Instance, rows: NDArray[np.int64] | slice | None) -> pa.Table:
    """Return the stored columns and the positions of the given rows, or of all rows."""
    source = instance.source
    columns = {name: source.scalar(f, rows) for name, f in instance.scalars.items()}
    if isinstance(rows, slice):
        rows = np.arange(rows.start, rows.stop)
    columns[ROW] = numbers_of(source.positions if rows is None else rows)
    return pa.table(columns)


def _blocks(table: pa.Table, rows_needed: int | None) -> Iterator[pa.Table]:
    """Yield the rows of a table in blocks of growing size, or in one block if all are needed."""
    size, start = len(table) if rows_needed is None else STAGED_ROWS, 0
    yield table.slice(0, size)
    while (start := start + size) < len(table):
        size = min(size * 2, MAX_ROWS)
        yield table.slice(start, size)


def _select(instance: Instance, conditions: Sequence[exp.Expr]) -> exp.Select:
    """Return a statement that selects the rows of the temporary table that pass all conditions.

    The statement returns the numbers of these rows.
    """
    select = exp.Select(expressions=[exp.column(AT, table=instance.table)])
    alias = exp.alias_(exp.to_table(LEFT), instance.table, table=True)
    select.set("from_", exp.From(this=alias))
    select.set("where", exp.Where(this=exp.and_(*(exp.paren(c.copy()) for c in conditions))))
    return select
