"""From the cells of a batch to what the user gets: decode, transform, collate.

A recipe is plain data, so that a worker process can follow it. Pixels are decoded where they lie in
the batch; nothing is copied after that unless a transform gives something else.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.errors import message_of
from deeplake_lite.htypes.layouts import Dense, Nested
from deeplake_lite.loader.make.global_generators import preserved_globals
from deeplake_lite.loader.make.functions import Function
from deeplake_lite.loader.make.builder import BatchBuilder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.dataset.keywords import Collate
    from deeplake_lite.htypes import Htype
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.loader.make.decoded_cache import DecodedCache
    from deeplake_lite.loader.order.order import Positions
    from deeplake_lite.loader.order.places import Rows


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
    mode: str | None = None
    """What pictures are converted to: ``"RGB"``, ``"L"`` or ``"RGBA"``."""
    dtype: str | None = None
    """Of decoded values, where `shape` is known, or where nulls need it."""
    most: tuple[int, ...] | None = None
    """Shape that ``"pad"`` fills up to, and that nulls are stacked in: one for all batches."""
    of_one_shape: bool = False
    """Whether all values have one shape, so that ``"pad"`` needs no mask."""
    follows: str | None = None
    """The picture that coordinates go with, where it is brought to another size."""

    @property
    def stacks(self) -> bool:
        """Whether all values have one shape, so that they are stacked unless the user wants else.

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
        """Axes of a value that the mask of ``"pad"`` has; 0 for no mask.

        >>> from deeplake_lite.htypes import Boxes
        >>> ColumnRecipe(Boxes()).masked, ColumnRecipe(Boxes(), of_one_shape=True).masked
        (1, 0)
        """
        return 0 if self.of_one_shape else self.htype.varying

    @property
    def blank(self) -> NDArray[Any]:
        """What stands under null where a batch has no other value.

        >>> from deeplake_lite.htypes import Boxes
        >>> ColumnRecipe(Boxes()).blank.shape, ColumnRecipe(Boxes(), full_shape=(2, 4)).blank.shape
        ((0, 4), (2, 4))
        """
        plain = np.asarray(self.htype.blank)
        dtype = self.dtype or self.htype.value_dtype or plain.dtype
        return np.zeros(plain.shape if self.full_shape is None else self.full_shape, dtype)


@dataclass(frozen=True)
class Job:
    """Rows that become a batch."""

    cells: Mapping[str, Cells]
    """By column, and the rows' ids where something depends on them."""
    own: int
    """Rows before the padding."""
    where: Rows
    """Which rows they are."""
    kept: CachedRows | None = None
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
    position: int
    """Of the row in its view."""
    source: int | None = None
    """Number of that view among those of a mix."""


@dataclass
class BatchResult:
    """A batch, and how it was made."""

    batch: Any = None
    """By column; None where every row was left out."""
    rows: int = 0
    """Of it, without padding."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Spent in each stage."""
    skipped: list[Skipped] = field(default_factory=list)
    """Rows that failed."""

    def skip(self, row_id: int, column: str | None, error: Exception, job: Job, row: int) -> None:
        """Note a row that is left out."""
        said = f"{type(error).__name__}: {message_of(error)}"
        position, source = int(job.where.positions[row]), job.where.source(row)
        self.skipped.append(Skipped(row_id, column, said, position, source))


@dataclass(frozen=True)
class CachedRows:
    """What earlier epochs have decoded, and which rows a batch is of."""

    decoded: DecodedCache
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
    transform: Callable[..., Any] | None = None
    """Per sample."""
    batch_transform: Callable[..., Any] | None = None
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
    sample_ids: bool = False
    """Whether samples have the rows' ids that the user's own `collate` puts together."""

    def make_all(self, jobs: Sequence[Job], epoch: int) -> tuple[Sequence[BatchResult], Exception | None]:
        """Make batches up to the first that fails, and return its error."""
        made: list[BatchResult] = []
        with preserved_globals() if self.seeds else nullcontext():
            for job in jobs:
                try:
                    made.append(self.make(job, epoch))
                except Exception as error:
                    return made, error
        return made, None

    def make(self, job: Job, epoch: int) -> BatchResult:
        """Make a batch.

        Parameters
        ----------
        job : Job
            Its rows, as they are stored.
        epoch : int
            What the transform's random numbers depend on, with the seed and the row's id.

        Raises
        ------
        LoaderError
            With the row and the column that failed, or the function.
        """
        made = BatchResult()
        BatchBuilder(self, job, epoch, made).run()
        return made

    @cached_property
    def of_samples(self) -> Function:
        """The transform."""
        return self._function("transform", self.transform)

    @cached_property
    def of_batches(self) -> Function:
        """The transform of batches."""
        return self._function("batch_transform", self.batch_transform)

    @cached_property
    def of_collating(self) -> Function:
        """The user's own way to put samples together."""
        return self._function("collate", self.collate)

    def _function(self, option: str, call: Any) -> Function:
        return Function(option, call, self.seed, self.seeds)
