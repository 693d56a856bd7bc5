"""Blocks of checked and encoded cells of one column, which htypes pass to storage.

There is one class per storage layout. Several blocks may share memory with each other, so cells
must not be changed. Cells may also share memory with the values that the caller passed in, so copy
cells that are kept after the call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Buffer, Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True)
class DenseCells:
    """Cells that all have the same shape."""

    values: NDArray[Any]
    """Values in the stored dtype, (n, *shape). Null cells contain a placeholder."""

    valid: NDArray[np.bool_] | None = None
    """(n,) bool, False where null; None if no cell is null."""

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True)
class RaggedCells:
    """Cells of varying size, each stored as bytes."""

    buffers: list[Buffer]
    """Stored C-contiguous bytes of each cell; ``b""`` where null."""

    shapes: NDArray[np.int32]
    """(n, ndim) int32: shape of each decoded value, with -1 for missing axes, or (n, 0) if the
    layout stores no shapes. All axes of a null cell are missing."""

    valid: NDArray[np.bool_] | None = None
    """(n,) bool, False where null; None if no cell is null."""

    def __len__(self) -> int:
        return len(self.buffers)


@dataclass(frozen=True)
class FlatCells:
    """The bytes of ragged cells in one array."""

    data: NDArray[np.uint8]
    """Concatenated bytes of all cells."""

    lengths: NDArray[np.int64]
    """(n,) int64: number of bytes of each cell; 0 where null."""

    valid: NDArray[np.bool_] | None = None
    """(n,) bool, False where null; None if no cell is null."""

    @classmethod
    def of(cls, cells: RaggedCells) -> Self:
        """Concatenate the bytes of ragged cells.

        >>> FlatCells.of(RaggedCells([b"ab", b"", b"c"], np.empty((3, 0), np.int32))).lengths
        array([2, 0, 1])
        """
        sizes = (memoryview(b).nbytes for b in cells.buffers)
        lengths = np.fromiter(sizes, np.int64, len(cells))
        return cls(np.frombuffer(b"".join(cells.buffers), np.uint8), lengths, cells.valid)

    def __len__(self) -> int:
        return len(self.lengths)


@dataclass(frozen=True)
class NestedCells:
    """Cells that are sequences of items."""

    counts: NDArray[np.int64]
    """(n,) int64: number of items in each cell; 0 where null."""

    items: Cells
    """Items of all cells, in the order of the cells."""

    valid: NDArray[np.bool_] | None = None
    """(n,) bool, False where null; None if no cell is null."""

    def __len__(self) -> int:
        return len(self.counts)


type Values = Sequence[Any] | NDArray[Any]
"""A block of decoded values, one per row. None and masked elements mean null."""

type Cells = DenseCells | RaggedCells | NestedCells


def take(cells: Cells, rows: NDArray[np.integer[Any]]) -> Cells:
    """Return the cells at the positions `rows`, in this order. A position may occur twice.

    >>> take(DenseCells(np.array([5, 6, 7])), np.array([2, 0, 0])).values
    array([7, 5, 5])
    """
    rows = np.asarray(rows, dtype=np.int64)
    valid = None if cells.valid is None else _validity([cells.valid[rows]])
    match cells:
        case DenseCells(values):
            return DenseCells(values[rows], valid)
        case RaggedCells(buffers, shapes):
            return RaggedCells([buffers[row] for row in rows.tolist()], shapes[rows], valid)
        case NestedCells(counts, items):
            starts = np.cumsum(counts) - counts
            return NestedCells(counts[rows], take(items, _spans(starts[rows], counts[rows])), valid)


def concat(parts: Sequence[Cells]) -> Cells:
    """Concatenate at least one block of cells. All blocks must have the same layout.

    >>> concat([DenseCells(np.array([5, 6])), DenseCells(np.array([7]))]).values
    array([5, 6, 7])
    """
    if len(parts) == 1:
        return parts[0]
    valid = None
    if any(part.valid is not None for part in parts):
        valid = _validity(
            [np.ones(len(part), bool) if part.valid is None else part.valid for part in parts]
        )
    match parts[0]:
        case DenseCells():
            dense = [part for part in parts if isinstance(part, DenseCells)]
            return DenseCells(np.concatenate([part.values for part in dense]), valid)
        case RaggedCells():
            ragged = [part for part in parts if isinstance(part, RaggedCells)]
            buffers = [buffer for part in ragged for buffer in part.buffers]
            return RaggedCells(buffers, np.concatenate([part.shapes for part in ragged]), valid)
        case NestedCells():
            nested = [part for part in parts if isinstance(part, NestedCells)]
            counts = np.concatenate([part.counts for part in nested])
            return NestedCells(counts, concat([part.items for part in nested]), valid)


def _validity(parts: Sequence[NDArray[np.bool_]]) -> NDArray[np.bool_] | None:
    """Concatenate validity arrays, or return None if no cell is null."""
    valid = np.concatenate(parts)
    return None if valid.all() else valid


def _spans(starts: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the positions in all spans, which are given by their starts and lengths.

    >>> _spans(np.array([7, 2]), np.array([2, 3])).tolist()
    [7, 8, 2, 3, 4]
    """
    positions: NDArray[np.int64] = np.arange(int(counts.sum()), dtype=np.int64)
    positions += np.repeat(starts - (np.cumsum(counts) - counts), counts)
    return positions
