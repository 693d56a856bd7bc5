"""Recipes, which say how the cells of a batch are decoded, transformed and collated.

A recipe is plain data, so that it can be sent to a worker process. Pixels are decoded straight into
the batch's memory, and are not copied afterwards unless a transform returns other arrays.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.errors import message_of
from deeplake_lite.htypes.layouts import Dense, Nested
from deeplake_lite.loader.make.builder import BatchBuilder
from deeplake_lite.loader.make.functions import Function
from deeplake_lite.loader.make.global_generators import preserve_globals

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.dataset.keywords import Collate
    from deeplake_lite.htypes import Htype
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.loader.make.decoded_cache import DecodedCache
    from deeplake_lite.loader.order.epoch import Rows
    from deeplake_lite.loader.order.order import Positions


@dataclass(frozen=True)
class ColumnRecipe:
    """How to turn the cells of a column into entries of a batch."""

    htype: Htype
    """Type of the column."""
    shape: tuple[int, ...] | None = None
    """Shape of every value, or None if shapes differ."""
    collate: Collate | None = None
    """The way to collate values that the user chose, or None for the default.

    By default, values of a known `shape` are stacked, and other values are collected in a list.
    """
    size: tuple[int, int] | None = None
    """Height and width in pixels to which images are resized."""
    mode: str | None = None
    """Mode to which images are converted: ``"RGB"``, ``"L"`` or ``"RGBA"``."""
    dtype: str | None = None
    """Dtype of decoded values, if `shape` is known or if nulls need it."""
    full_shape: tuple[int, ...] | None = None
    """Shape of padded values, and of stacked nulls, which is the same in all batches."""
    of_one_shape: bool = False
    """Whether all values have one shape, so that ``"pad"`` needs no mask."""
    follows: str | None = None
    """Name of the resized image column that coordinates are scaled with."""

    @property
    def stacks(self) -> bool:
        """Whether all values have one shape, so that they are stacked by default.

        >>> from deeplake_lite.htypes import Image, Mask, Scalar
        >>> [ColumnRecipe(htype).stacks for htype in (Scalar("int8"), Image())]
        [True, False]
        >>> [ColumnRecipe(htype, size=(4, 4)).stacks for htype in (Image(), Mask("instance"))]
        [True, False]
        """
        if self.shape is not None or isinstance(self.htype.layout, Dense):
            return True
        if self.size is None or isinstance(self.htype.layout, Nested):
            return False
        return self.htype.varying <= len(self.size)

    @property
    def masked(self) -> int:
        """Number of axes of a value that the mask of ``collate="pad"`` covers; 0 without a mask.

        >>> from deeplake_lite.htypes import Boxes
        >>> ColumnRecipe(Boxes()).masked, ColumnRecipe(Boxes(), of_one_shape=True).masked
        (1, 0)
        """
        return 0 if self.of_one_shape else self.htype.varying

    @property
    def blank(self) -> NDArray[Any]:
        """The placeholder for null in a batch without other values.

        >>> from deeplake_lite.htypes import Boxes
        >>> ColumnRecipe(Boxes()).blank.shape, ColumnRecipe(Boxes(), full_shape=(2, 4)).blank.shape
        ((0, 4), (2, 4))
        """
        plain = np.asarray(self.htype.blank)
        dtype = self.dtype or self.htype.value_dtype or plain.dtype
        return np.zeros(plain.shape if self.full_shape is None else self.full_shape, dtype)


@dataclass(frozen=True)
class Job:
    """The rows of one batch, before they are decoded."""

    cells: Mapping[str, Cells]
    """Cells of each column by name. The column `ROW_ID` is present if anything depends on row ids.
    """
    unpadded: int
    """Number of rows without padding."""
    where: Rows
    """Where the rows come from, for error messages and random numbers."""
    cached: CachedRows | None = None
    """Pixels of these rows that were decoded in earlier epochs."""

    @property
    def rows(self) -> int:
        """Number of rows, including padding."""
        return len(next(iter(self.cells.values()))) if self.cells else 0


@dataclass(frozen=True)
class Skipped:
    """A row that was left out because of an error."""

    row_id: int
    """Id of the row, the same on every branch and in every version."""
    column: str | None
    """Column whose cell could not be decoded; None if the transform failed."""
    error: str
    """Type and message of the error."""
    position: int
    """Position of the row in its view."""
    source: int | None = None
    """Number of the row's view in a mix; None without a mix."""


@dataclass
class BatchResult:
    """A finished batch, with the rows that were left out and the time of each stage."""

    batch: Any = None
    """The batch, usually a dict from column name to values; None if every row was left out."""
    rows: int = 0
    """Number of rows without padding."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Seconds spent in each stage."""
    skipped: list[Skipped] = field(default_factory=list)
    """Rows that were left out because of errors."""

    def skip(self, row_id: int, column: str | None, error: Exception, job: Job, row: int) -> None:
        """Record a row that is left out."""
        message = f"{type(error).__name__}: {message_of(error)}"
        position, source = int(job.where.positions[row]), job.where.source(row)
        self.skipped.append(Skipped(row_id, column, message, position, source))


@dataclass(frozen=True)
class CachedRows:
    """The loader's cache of decoded pixels, and the rows of a batch to look up there."""

    cache: DecodedCache
    """Cache of the loader."""
    positions: Positions
    """Positions of the batch's rows in the view."""


@dataclass(frozen=True)
class Recipe:
    """How a loader makes batches."""

    columns: Mapping[str, ColumnRecipe]
    """Recipe of each column by name, in the order of the columns in a batch."""
    seed: int = 0
    """The user's seed."""
    transform: Callable[..., object] | None = None
    """The user's function for samples."""
    batch_transform: Callable[..., object] | None = None
    """The user's function for batches."""
    collate: Callable[[list[Any]], object] | Mapping[str, Collate] | Collate | None = None
    """The user's function for lists of samples, or how to collate the results of a transform."""
    skip: bool = False
    """Whether rows that fail are left out."""
    allow: tuple[str, ...] = ()
    """Folders and URLs below which linked files may be read."""
    row_ids: bool = False
    """Whether batches include the ids of the rows."""
    padding: bool = False
    """Whether batches include a mask of padded rows."""
    seeds: bool = False
    """Whether to seed the global generators at each call of a function."""
    sample_ids: bool = False
    """Whether the samples passed to the user's `collate` include the ids of the rows."""

    def make_all(
        self, jobs: Sequence[Job], epoch: int
    ) -> tuple[Sequence[BatchResult], Exception | None]:
        """Make batches until a batch fails. Return the finished batches, and the error or None."""
        results: list[BatchResult] = []
        with preserve_globals() if self.seeds else nullcontext():
            for job in jobs:
                try:
                    results.append(self.make(job, epoch))
                except Exception as error:
                    return results, error
        return results, None

    def make(self, job: Job, epoch: int) -> BatchResult:
        """Make a batch.

        Parameters
        ----------
        job : Job
            The rows of the batch, with their stored cells.
        epoch : int
            Number of the epoch, on which the random numbers of transforms depend.

        Raises
        ------
        LoaderError
            When a row cannot be decoded, or a user's function fails. The message names the row and
            the column, or the function.
        """
        result = BatchResult()
        BatchBuilder(self, job, epoch, result).run()
        return result

    @cached_property
    def sample_function(self) -> Function:
        """The user's function for samples."""
        return self._function("transform", self.transform)

    @cached_property
    def batch_function(self) -> Function:
        """The user's function for batches."""
        return self._function("batch_transform", self.batch_transform)

    @cached_property
    def collate_function(self) -> Function:
        """The user's function for lists of samples."""
        return self._function("collate", self.collate)

    def _function(self, option: str, call: Any) -> Function:
        return Function(option, call, self.seed, self.seeds)
