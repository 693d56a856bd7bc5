"""The stages of making a batch, and a builder that runs and times these stages.

The stages are, in this order: decode cells, transform samples, pad the batch to its full size,
collate samples, and transform the batch.
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

    from deeplake_lite.loader.make.recipe import BatchResult, Job, Recipe
    from deeplake_lite.loader.order.order import Positions

PADDING = "_padding"
"""Key, in a batch, of the mask that is True for the rows that pad the last batch."""


class BatchBuilder:
    """Builds one batch.

    Parameters
    ----------
    recipe : Recipe
        How to make the batch.
    job : Job
        The rows of the batch, with their stored cells.
    epoch : int
        Number of the epoch, on which the random numbers of transforms depend.
    result : BatchResult
        Receives the batch, the seconds of each stage and the skipped rows.
    """

    def __init__(self, recipe: Recipe, job: Job, epoch: int, result: BatchResult) -> None:
        self._recipe, self._job, self._epoch, self._result = recipe, job, epoch, result
        ids = job.cells.get(ROW_ID)
        self._ids: Positions = (
            np.full(job.rows, UNKNOWN) if ids is None else cast("Any", ids).values
        )
        self._rows = np.arange(job.rows)  # the job's rows that have not failed, and padding
        self._unpadded = job.unpadded  # the number of these rows without padding
        self._has_all_rows = True  # whether `_rows` are all rows of the job
        self._columns: dict[str, Any] = {}
        self._samples: list[object] | None = None  # the results of the transform
        self._untouched: set[str] = set()  # columns that the transform returned unchanged
        self._since = clock.now()

    def run(self) -> None:
        """Run all stages."""
        recipe, result = self._recipe, self._result
        self._decode()
        self._lap("decode")
        if recipe.transform is not None:
            self._transform()
            self._lap("transform")
        self._pad()
        result.rows = self._unpadded
        if self._job.rows and not len(self._rows):
            return
        result.batch = self._collate()
        self._lap("collate")
        if recipe.batch_transform is not None:
            function = recipe.batch_function
            result.batch = function.call_on_batch(result.batch, self._epoch, self._first)
            self._lap("transform")

    # ---- stages

    def _decode(self) -> None:
        """Decode the cells, column by column. Rows that cannot be decoded are left out."""
        recipe, job = self._recipe, self._job
        good = np.ones(job.rows, bool)
        for name, column in recipe.columns.items():
            self._columns[name] = decode_column(
                name, column, job.cells[name], good, self._handle_error, job.cached, recipe.allow
            )
        follow_images(self._columns, recipe.columns, job.cells, good, self._handle_error)
        if not good.all():
            self._select(np.flatnonzero(good))

    def _transform(self) -> None:
        """Apply the transform to the samples. Rows for which the transform fails are left out."""
        transform = self._recipe.sample_function
        self._samples, good = [], []
        # Columns that the transform leaves unchanged are collated as a whole. This is faster than
        # sample by sample, and the result is the same as without a transform.
        untouched = dict.fromkeys(self._columns)
        for number, original in enumerate(self._decoded_samples()):
            row = int(self._rows[number])
            row_id, repeat = int(self._ids[row]), self._job.where.repeat(row)
            try:
                sample = transform(dict(original), self._epoch, row_id, repeat)
            except Exception as error:
                self._handle_error(error, row, None)
                continue
            self._samples.append(sample)
            good.append(number)
            changed = _changed_names(original, sample, untouched)
            for name in changed:
                del untouched[name]
        self._untouched = {*untouched}
        self._select(self._rows[good])

    def _pad(self) -> None:
        """Repeat the last row if rows were left out of a batch that must have its full size."""
        missing = self._job.rows - len(self._rows)
        if self._recipe.padding and missing and len(self._rows):
            self._rows = np.append(self._rows, self._rows[-1:].repeat(missing))
            self._has_all_rows = False
            if self._samples is not None:
                self._samples += self._samples[-1:] * missing

    def _collate(self) -> object:
        """Return the batch."""
        recipe = self._recipe
        batch: object
        if callable(recipe.collate):
            samples = list(self._decoded_samples()) if self._samples is None else self._samples
            if recipe.sample_ids:
                samples = list(map(_with_id, samples, self._ids[self._rows]))
            batch = recipe.collate_function.call_on_batch(samples, self._epoch, self._first)
        elif self._samples is None:
            batch = {
                key: value
                for name, column in recipe.columns.items()
                for key, value in collate_column(name, self._values(name), column).items()
            }
        else:
            whole = {name: self._values(name) for name in self._untouched}
            batch = collate_samples(self._samples, recipe.collate, recipe.columns, whole)
        if isinstance(batch, dict):
            if recipe.row_ids:
                batch[ROW_ID] = self._ids[self._rows]
            if recipe.padding:
                batch[PADDING] = np.arange(len(self._rows)) >= self._unpadded
        return batch

    # ---- rows

    @property
    def _first(self) -> FirstRow:
        """The first row of the batch, which identifies the batch in error messages."""
        if not len(self._rows):
            return FirstRow(0)
        row = int(self._rows[0])
        row_id, where = int(self._ids[row]), self._job.where
        position = int(where.positions[row])
        description = where.describe(row, row_id)
        return FirstRow(row_id, description, position, where.source(row), where.repeat(row))

    def _decoded_samples(self) -> Iterator[dict[str, object]]:
        """Yield each decoded row as a dict from column name to value, with None for null."""
        columns = {name: with_none(values) for name, values in self._columns.items()}
        for row in self._rows.tolist():
            yield {name: values[row] for name, values in columns.items()}

    def _values(self, name: str) -> object:
        """Return a column's values in the rows of the batch, if possible without a copy."""
        values = self._columns[name]
        if self._has_all_rows:
            return values
        if isinstance(values, np.ndarray):
            return values[self._rows]
        return [values[row] for row in self._rows.tolist()]

    def _select(self, rows: Positions) -> None:
        """Keep only the given rows, which must be in ascending order."""
        self._unpadded = int(np.searchsorted(rows, self._job.unpadded))
        self._rows = rows
        self._has_all_rows = len(rows) == self._job.rows

    def _handle_error(self, error: Exception, row: int, column: str | None) -> None:
        """Raise a LoaderError for a row that failed, or record the row if `Recipe.skip` is set."""
        row_id = int(self._ids[row])
        if self._recipe.skip:
            if row < self._job.unpadded:  # padding repeats a row that is already listed
                self._result.skip(row_id, column, error, self._job, row)
            return
        rows, stage = self._job.where, "transform" if column is None else f"column {column!r}"
        if column is None:
            fix = self._recipe.sample_function.advice(error).removesuffix(".")
        else:
            fix = advice(error, column)
        skip = "leave such rows out with on_error='skip'."
        message = message_of(error).removesuffix(".")
        raise LoaderError(
            f"{rows.describe(row, row_id)}, {stage}: {type(error).__name__}: {message}. "
            f"{f'{fix}, or {skip}' if fix else skip[0].upper() + skip[1:]}",
            row_id=row_id,
            column=column,
            position=int(rows.positions[row]),
            source=rows.source(row),
        ) from error

    def _lap(self, stage: str) -> None:
        """Add the seconds since the last call of this method to the seconds of a stage."""
        now, seconds = clock.now(), self._result.seconds
        seconds[stage] = seconds.get(stage, 0.0) + now - self._since
        self._since = now


def _with_id(sample: object, row_id: np.int64) -> object:
    """Return a sample with the id of its row, or the unchanged sample if it is not a mapping."""
    return {**sample, ROW_ID: row_id} if isinstance(sample, Mapping) else sample


def _changed_names(
    original: Mapping[str, object], sample: object, names: Mapping[str, None]
) -> list[str]:
    """Return the `names` whose value in `sample` is not the same object as in `original`."""
    if not isinstance(sample, Mapping):
        return [*names]
    return [name for name in names if name not in sample or sample[name] is not original[name]]
