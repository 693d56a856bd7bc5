"""From the cells of a batch to what the user gets: decode, transform, collate.

A recipe is plain data, so that a worker process can follow it. Pixels are decoded where they lie in
the batch; nothing is copied after that unless a transform gives something else.
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from deeplake_lite.dataset.values import decode_block, decode_one
from deeplake_lite.errors import LoaderError
from deeplake_lite.htypes import Image
from deeplake_lite.htypes.cells import DenseCells, RaggedCells, take
from deeplake_lite.htypes.pixels import resized
from deeplake_lite.loader.chance import call, globals_kept
from deeplake_lite.loader.collate import collate_column, collate_samples
from deeplake_lite.loader.memory import aligned
from deeplake_lite.loader.samples import ROW_ID, UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from deeplake_lite.dataset.keywords import Collate
    from deeplake_lite.htypes import Htype
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.loader.chance import Transform
    from deeplake_lite.loader.decoded import Decoded
    from deeplake_lite.loader.order import Positions

PADDING = "_padding"
"""Key of the mask of rows that only fill the last batch up."""

type Batch = dict[str, Any]


@dataclass(frozen=True)
class ColumnRecipe:
    """How a column becomes a part of the batch."""

    htype: Htype
    """What the cells mean."""
    shape: tuple[int, ...] | None = None
    """Of every row, where it is the same; None where they differ."""
    collate: Collate | None = None
    """As the user wants it; None for stack where `shape` is known and list otherwise."""
    size: tuple[int, int] | None = None
    """Height and width that pictures are brought to, pixels."""
    dtype: str | None = None
    """Of decoded values, where `shape` is known."""
    most: tuple[int, ...] | None = None
    """Shape that ``"pad"`` fills up to, so that all batches are of one shape."""


@dataclass(frozen=True)
class Job:
    """Rows that become a batch."""

    cells: Mapping[str, Cells]
    """By column, and the rows' ids where something depends on them."""
    own: int
    """Rows before the padding."""
    kept: Kept | None = None
    """What earlier epochs have decoded."""

    @property
    def rows(self) -> int:
        """How many, padding included."""
        return len(next(iter(self.cells.values()))) if self.cells else 0


@dataclass(frozen=True)
class Skipped:
    """A row that was left out."""

    row_id: int
    """The same on every branch and in every version."""
    column: str | None
    """What did not decode; None where the transform failed."""
    error: str
    """Type and message."""


@dataclass
class Made:
    """A batch, and how it was made."""

    batch: Batch | None
    """By column; None where every row was left out."""
    rows: int
    """Of it, without padding."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Spent in each stage."""
    skipped: list[Skipped] = field(default_factory=list)
    """Rows that failed."""


@dataclass(frozen=True)
class Kept:
    """What earlier epochs have decoded, and which rows a batch is of."""

    decoded: Decoded
    """Of the loader."""
    positions: Positions
    """Of the batch's rows."""


@dataclass(frozen=True)
class Recipe:
    """How batches are made."""

    columns: Mapping[str, ColumnRecipe]
    """By name, in order."""
    seed: int = 0
    """The user's."""
    transform: Transform | None = None
    """Per sample."""
    batch_transform: Transform | None = None
    """Per batch."""
    collate: Callable[[list[Any]], Any] | Mapping[str, Collate] | Collate | None = None
    """The user's own, of samples; or how what a transform gives goes together."""
    skip: bool = False
    """Whether rows that fail are left out."""
    allow: tuple[str, ...] = ()
    """Roots under which linked files are read."""
    row_ids: bool = False
    """Whether batches have the rows' ids."""
    padding: bool = False
    """Whether batches have a mask of padded rows."""
    seeds: bool = False
    """Whether the global generators are seeded for transforms without `rng`."""

    def make_all(self, jobs: Sequence[Job], epoch: int) -> tuple[Sequence[Made], Exception | None]:
        """Make batches up to the first that fails, and return its error."""
        made: list[Made] = []
        with globals_kept() if self.seeds else nullcontext():
            for job in jobs:
                try:
                    made.append(self.make(job.cells, job.own, epoch, job.kept))
                except Exception as error:
                    return made, error
        return made, None

    def make(
        self,
        cells: Mapping[str, Cells],
        own: int,
        epoch: int,
        kept: Kept | None = None,
    ) -> Made:
        """Make a batch.

        Parameters
        ----------
        cells : mapping
            By column, and the rows' ids where something depends on them.
        own : int
            Rows before the padding.
        epoch : int
            What the transform's random numbers depend on, with the seed and the row's id.
        kept : Kept, optional
            What earlier epochs have decoded.

        Raises
        ------
        LoaderError
            With the row and the column that failed.
        """
        started = time.perf_counter()
        rows = len(next(iter(cells.values()))) if cells else 0
        known = cast("DenseCells | None", cells.get(ROW_ID))
        ids = np.full(rows, UNKNOWN) if known is None else known.values
        made = Made({}, rows)
        good = np.ones(len(ids), bool)
        columns = {
            name: self._decoded(name, recipe, cells[name], ids, good, made, kept)
            for name, recipe in self.columns.items()
        }
        if not good.all():
            left = np.flatnonzero(good)
            columns = {name: _taken(values, left) for name, values in columns.items()}
            ids, own = ids[left], int(good[:own].sum())
        decoded = time.perf_counter()
        made.seconds["decode"] = decoded - started
        samples = None
        if self.transform is not None or callable(self.collate):
            samples, ids, own = self._transformed(columns, ids, own, epoch, made)
            now = time.perf_counter()
            if self.transform is not None:
                made.seconds["transform"] = now - decoded
                decoded = now
        made.rows = own
        if made.skipped and not len(ids):
            made.batch = None
            return made
        if samples is None:
            batch = {
                name: value
                for name, recipe in self.columns.items()
                for name, value in collate_column(name, columns[name], recipe).items()
            }
        else:
            batch = (
                returned("collate", self.collate(samples))
                if callable(self.collate)
                else collate_samples(samples, self.collate)
            )
        if isinstance(batch, dict):
            if self.row_ids:
                batch[ROW_ID] = ids
            if self.padding:
                batch[PADDING] = np.arange(len(ids)) >= own
        made.seconds["collate"] = time.perf_counter() - decoded
        if self.batch_transform is not None:
            now = time.perf_counter()
            batch = self._of_batch(batch, ids, epoch)
            spent = time.perf_counter() - now
            made.seconds["transform"] = made.seconds.get("transform", 0.0) + spent
        made.batch = batch
        return made

    def _decoded(
        self,
        name: str,
        recipe: ColumnRecipe,
        cells: Cells,
        ids: Positions,
        good: np.ndarray,
        made: Made,
        kept: Kept | None,
    ) -> Any:
        """Return a column's values: an array along the rows, or a list with None where null."""
        if isinstance(cells, DenseCells):
            return decode_block(recipe.htype, cells)
        into = None
        if isinstance(cells, RaggedCells) and recipe.shape is not None and recipe.dtype:
            into = aligned((len(cells), *recipe.shape), np.dtype(recipe.dtype))
        values = into if into is not None else [None] * len(cells)
        missing = np.flatnonzero(good)
        if kept is not None and into is not None:
            missing = np.flatnonzero(good & ~kept.decoded.take(name, kept.positions, into))
        for row in missing.tolist():
            try:
                if into is not None:
                    self._decode_into(recipe, cells, row, into[row])
                else:
                    values[row] = self._decode_one(recipe, cells, row)
            except Exception as error:
                self._failed(error, int(ids[row]), name, made)
                good[row] = False
        if kept is not None and into is not None and good.all() and len(missing):
            kept.decoded.put(name, kept.positions[missing], into[missing])
        return values

    def _decode_into(self, recipe: ColumnRecipe, cells: Any, row: int, out: np.ndarray) -> None:
        if recipe.size is not None and isinstance(recipe.htype, Image):
            shape = tuple(cells.shapes[row].tolist())
            recipe.htype.decode_sized(cells.buffers[row], shape, out)
        else:
            recipe.htype.decode_into(cells.buffers[row], out.shape, out)

    def _decode_one(self, recipe: ColumnRecipe, cells: Cells, row: int) -> Any:
        value = decode_one(recipe.htype, take(cells, np.array([row])), self.allow)
        return value if recipe.size is None or value is None else resized(value, *recipe.size)

    def _transformed(
        self, columns: Batch, ids: Positions, own: int, epoch: int, made: Made
    ) -> tuple[list[Any], Positions, int]:
        """Return the samples as the transform gives them, those that it fails on left out."""
        samples, kept = [], []
        for row, row_id in enumerate(ids.tolist()):
            sample = {name: _one(values, row) for name, values in columns.items()}
            try:
                if self.transform is not None:
                    sample = call(
                        self.transform, sample, self.seed, epoch, row_id, seeds=self.seeds
                    )
                    returned("transform", sample)
            except Exception as error:
                self._failed(error, row_id, None, made)
                continue
            samples.append(sample)
            kept.append(row)
        return samples, ids[kept], int(np.searchsorted(kept, own))

    def _of_batch(self, batch: Any, ids: Positions, epoch: int) -> Any:
        assert self.batch_transform is not None
        first = int(ids[0]) if len(ids) else 0
        try:
            found = call(self.batch_transform, batch, self.seed, epoch, first, seeds=self.seeds)
            return returned("batch_transform", found)
        except Exception as error:
            raise LoaderError(
                f"batch_transform failed on the batch that begins with row id {first}: {error!r}.",
                row_id=first,
            ) from error

    def _failed(self, error: Exception, row_id: int, column: str | None, made: Made) -> None:
        """Raise what went wrong with the row, or note it where rows may be left out."""
        where = "transform" if column is None else f"column {column!r}"
        if self.skip:
            made.skipped.append(Skipped(row_id, column, f"{type(error).__name__}: {error}"))
            return
        raise LoaderError(
            f"row id {row_id}, {where}: {type(error).__name__}: {error}. Mend the row, or leave "
            "such rows out with on_error='skip'.",
            row_id=row_id,
            column=column,
        ) from error


def returned(function: str, value: Any) -> Any:
    """Return what a user's function gave. Raises LoaderError where it forgot to.

    >>> returned("transform", {"x": 1})
    {'x': 1}
    """
    if value is None:
        raise LoaderError(f"{function} returned None. End it with `return` and what it makes.")
    return value


def _one(values: Any, row: int) -> Any:
    """Return the value of one row; None where it is null."""
    value = values[row]
    if isinstance(values, np.ma.MaskedArray) and np.ma.getmaskarray(value).any():
        return None
    return value


def _taken(values: Any, rows: np.ndarray) -> Any:
    return values[rows] if isinstance(values, np.ndarray) else [values[row] for row in rows]
