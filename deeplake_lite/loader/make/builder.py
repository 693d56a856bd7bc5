"""One batch on its way: decoded, transformed, filled up, collated, changed as a whole.

Each stage is a method, in this order; the seconds that it takes go to the batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from deeplake_lite.dataset.read.values import with_none
from deeplake_lite.errors import LoaderError, message_of
from deeplake_lite.loader import clock
from deeplake_lite.loader.make.collate import collate_column, collate_samples
from deeplake_lite.loader.make.decode import advice, decode_column, follow_images
from deeplake_lite.loader.make.functions import FirstRow
from deeplake_lite.loader.read.samples import ROW_ID, UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deeplake_lite.loader.make.recipe import Job, BatchResult, Recipe
    from deeplake_lite.loader.order.order import Positions

PADDING = "_padding"
"""Key of the mask of rows that only fill the last batch up."""


class BatchBuilder:
    """One batch on its way.

    Parameters
    ----------
    recipe : Recipe
        What is followed.
    job : Job
        Rows, as they are stored.
    epoch : int
        What random numbers depend on, with the seed and the row's id.
    made : BatchResult
        What comes of it: seconds and skipped rows are noted there.
    """

    def __init__(self, recipe: Recipe, job: Job, epoch: int, made: BatchResult) -> None:
        self._recipe, self._job, self._epoch, self._made = recipe, job, epoch, made
        known = job.cells.get(ROW_ID)
        self._ids: Positions = (
            np.full(job.rows, UNKNOWN) if known is None else cast("Any", known).values
        )
        self._rows = np.arange(job.rows)
        self._own, self._all = job.own, True
        self._columns: dict[str, Any] = {}
        self._samples: list[Any] | None = None
        self._untouched: set[str] = set()
        self._since = clock.now()

    def run(self) -> None:
        """Go through all stages."""
        recipe, made = self._recipe, self._made
        self._decode()
        self._lap("decode")
        if recipe.transform is not None:
            self._transform()
            self._lap("transform")
        self._fill_up()
        made.rows = self._own
        if self._job.rows and not len(self._rows):
            return
        made.batch = self._collated()
        self._lap("collate")
        if recipe.batch_transform is not None:
            made.batch = recipe.of_batches.call_on_batch(made.batch, self._epoch, self._first)
            self._lap("transform")

    # ---- stages

    def _decode(self) -> None:
        """Decode the cells, column by column; rows that fail are left out."""
        recipe, job = self._recipe, self._job
        good = np.ones(job.rows, bool)
        for name, column in recipe.columns.items():
            self._columns[name] = decode_column(
                name, column, job.cells[name], good, self._failed, job.kept, recipe.allow
            )
        follow_images(self._columns, recipe.columns, job.cells, good, self._failed)
        if not good.all():
            self._keep(np.flatnonzero(good))

    def _transform(self) -> None:
        """Give the samples to the transform; rows that it fails on are left out."""
        transform = self._recipe.of_samples
        self._samples, kept = [], []
        untouched = dict.fromkeys(self._columns)
        for number, given in enumerate(self._given()):
            row_id = int(self._ids[self._rows[number]])
            try:
                sample = transform(dict(given), self._epoch, row_id)
            except Exception as error:
                self._failed(error, int(self._rows[number]), None)
                continue
            self._samples.append(sample)
            kept.append(number)
            changed = _changed(given, sample, untouched)
            for name in changed:
                del untouched[name]
        self._untouched = {*untouched}
        self._keep(self._rows[kept])

    def _fill_up(self) -> None:
        """Repeat a row where some were left out of a batch that is to be full."""
        missing = self._job.rows - len(self._rows)
        if self._recipe.padding and missing and len(self._rows):
            self._rows = np.append(self._rows, self._rows[-1:].repeat(missing))
            self._all = False
            if self._samples is not None:
                self._samples += self._samples[-1:] * missing

    def _collated(self) -> Any:
        """Return the rows together."""
        recipe = self._recipe
        batch: Any
        if callable(recipe.collate):
            samples = list(self._given()) if self._samples is None else self._samples
            if recipe.sample_ids:
                samples = list(map(_with_id, samples, self._ids[self._rows]))
            batch = recipe.of_collating.call_on_batch(samples, self._epoch, self._first)
        elif self._samples is None:
            batch = {
                key: value
                for name, column in recipe.columns.items()
                for key, value in collate_column(name, self._taken(name), column).items()
            }
        else:
            whole = {name: self._taken(name) for name in self._untouched}
            batch = collate_samples(self._samples, recipe.collate, recipe.columns, whole)
        if isinstance(batch, dict):
            if recipe.row_ids:
                batch[ROW_ID] = self._ids[self._rows]
            if recipe.padding:
                batch[PADDING] = np.arange(len(self._rows)) >= self._own
        return batch

    # ---- rows

    @property
    def _first(self) -> FirstRow:
        """The first row of the batch."""
        if not len(self._rows):
            return FirstRow(0)
        row = int(self._rows[0])
        row_id, where = int(self._ids[row]), self._job.where
        position = int(where.positions[row])
        return FirstRow(row_id, where.place(row, row_id), position, where.source(row))

    def _given(self) -> Iterator[dict[str, Any]]:
        """Yield the samples as they were decoded, None where null."""
        columns = {name: with_none(values) for name, values in self._columns.items()}
        for row in self._rows.tolist():
            yield {name: values[row] for name, values in columns.items()}

    def _taken(self, name: str) -> Any:
        """Return the values of a column, of the rows that are left; as they are where all are."""
        values = self._columns[name]
        if self._all:
            return values
        if isinstance(values, np.ndarray):
            return values[self._rows]
        return [values[row] for row in self._rows.tolist()]

    def _keep(self, rows: Positions) -> None:
        """Go on with some of the rows."""
        self._own = int(np.searchsorted(rows, self._job.own))
        self._rows = rows
        self._all = len(rows) == self._job.rows

    def _failed(self, error: Exception, row: int, column: str | None) -> None:
        """Raise what went wrong with a row, or note it where rows may be left out."""
        row_id = int(self._ids[row])
        if self._recipe.skip:
            if row < self._job.own:  # padding repeats a row that is listed already
                self._made.skip(row_id, column, error, self._job, row)
            return
        rows, stage = self._job.where, "transform" if column is None else f"column {column!r}"
        if column is None:
            way = self._recipe.of_samples.advice(error).removesuffix(".")
        else:
            way = advice(error, column)
        out = "leave such rows out with on_error='skip'."
        said = message_of(error).removesuffix(".")
        raise LoaderError(
            f"{rows.place(row, row_id)}, {stage}: {type(error).__name__}: {said}. "
            f"{f'{way}, or {out}' if way else out[0].upper() + out[1:]}",
            row_id=row_id,
            column=column,
            position=int(rows.positions[row]),
            source=rows.source(row),
        ) from error

    def _lap(self, stage: str) -> None:
        """Add the seconds since the last lap to those of a stage."""
        now, seconds = clock.now(), self._made.seconds
        seconds[stage] = seconds.get(stage, 0.0) + now - self._since
        self._since = now


def _with_id(sample: Any, row_id: np.int64) -> Any:
    """Return a sample with its row's id, if it has keys."""
    return {**sample, ROW_ID: row_id} if isinstance(sample, Mapping) else sample


def _changed(given: Mapping[str, Any], sample: Any, names: Mapping[str, None]) -> list[str]:
    """Return which values of a sample are no longer those that the transform was given."""
    if not isinstance(sample, Mapping):
        return [*names]
    return [name for name in names if name not in sample or sample[name] is not given[name]]
