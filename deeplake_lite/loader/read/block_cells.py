"""The cells of blocks in memory, and functions that gather a batch's rows from several blocks.

Small cells of a ragged column are packed into one array per block, to keep the number of Python
objects small.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from deeplake_lite.htypes.cells import Cells, DenseCells, RaggedCells, concat, take
from deeplake_lite.loader.memory import allocate_aligned

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from deeplake_lite.loader.order.order import Positions


@dataclass(frozen=True)
class PackedCells:
    """Cells of a ragged column, concatenated into one array for all rows of a block."""

    data: NDArray[np.uint8]
    """Bytes of all cells."""
    starts: NDArray[np.int64]
    """Start of each cell in `data`, and end of the last cell, (rows + 1,)."""
    shapes: NDArray[np.int32]
    """Shapes of the cells, (rows, ndim)."""
    valid: NDArray[np.bool_] | None
    """Mask of the cells that are not null, (rows,), or None if no cell is null."""

    @classmethod
    def of(cls, cells: RaggedCells) -> PackedCells:
        """Concatenate cells into one array."""
        lengths = [memoryview(b).nbytes for b in cells.buffers]
        starts = np.concatenate([[0], np.cumsum(np.array(lengths, np.int64))]).astype(np.int64)
        data = np.frombuffer(b"".join(cells.buffers), np.uint8)
        return cls(data, starts, cells.shapes, cells.valid)

    def cells(self) -> RaggedCells:
        """Return the cells as separate buffers, without copying their bytes.

        >>> cells = RaggedCells([b"ab", b"c"], np.empty((2, 0), np.int32))
        >>> PackedCells.of(cells).cells().buffers[1]
        array([99], dtype=uint8)
        """
        edges = self.starts.tolist()
        buffers: list[Any] = [self.data[a:b] for a, b in pairwise(edges)]
        return RaggedCells(buffers, self.shapes, self.valid)


type StoredCells = PackedCells | Cells
type Block = dict[str, StoredCells]

LARGE_CELLS = 4_096
"""Minimum average size, in bytes, of cells that are held without packing."""


def are_large(cells: RaggedCells) -> bool:
    """Return whether cells are large enough to be held as separate objects.

    >>> are_large(RaggedCells([b"ab", b"c"], np.empty((2, 0), np.int32)))
    False
    """
    return sum(memoryview(b).nbytes for b in cells.buffers) >= LARGE_CELLS * len(cells)


def gather(
    blocks: Mapping[int, StoredCells], number: Positions, row: Positions, alone: Cells | None
) -> Cells:
    """Return the cells of a batch's rows in one column, given the blocks that contain the rows.

    Parameters
    ----------
    blocks : mapping
        The column's cells in each block, by the number of the block.
    number, row : ndarray, (rows,) int64
        Number of the block of each row of the batch, and index of the row in this block.
    alone : Cells, optional
        Cells, in order, of the rows whose blocks are not in `blocks`, because only these rows were
        read.
    """
    sample = next(iter(blocks.values())) if blocks else alone
    if isinstance(sample, PackedCells | RaggedCells):
        bytes_of = cast("Mapping[int, PackedCells | RaggedCells]", blocks)
        return _gather_ragged(bytes_of, number, row, cast("RaggedCells | None", alone))
    if isinstance(sample, DenseCells):
        dense = cast("Mapping[int, DenseCells]", blocks)
        return _gather_dense(dense, number, row, cast("DenseCells | None", alone))
    parts: list[Cells] = []
    at, end = np.empty(len(number), np.int64), 0
    for block, cells in blocks.items():
        mine = np.flatnonzero(number == block)
        parts.append(take(cast("Cells", cells), row[mine]))
        at[mine] = np.arange(end, end + len(mine))
        end += len(mine)
    if alone is not None:
        mine = np.flatnonzero(~np.isin(number, list(blocks)))
        parts.append(alone)
        at[mine] = np.arange(end, end + len(mine))
    return take(concat(parts), at) if len(parts) > 1 else parts[0]


def _gather_dense(
    blocks: Mapping[int, DenseCells],
    number: Positions,
    row: Positions,
    alone: DenseCells | None,
) -> DenseCells:
    """Do the work of `gather` for a dense column. Each cell is copied only once."""
    if alone is not None and not blocks:
        return alone
    sample = alone if alone is not None else next(iter(blocks.values()))
    values = allocate_aligned((len(number), *sample.values.shape[1:]), sample.values.dtype)
    valid, elsewhere = np.ones(len(number), bool), np.ones(len(number), bool)
    for block, cells in blocks.items():
        mine = np.flatnonzero(number == block)
        _copy(cells.values, row[mine], values, mine)
        elsewhere[mine] = False
        if cells.valid is not None:
            valid[mine] = cells.valid[row[mine]]
    if alone is not None:
        values[elsewhere] = alone.values
        if alone.valid is not None:
            valid[elsewhere] = alone.valid
    return DenseCells(values, None if valid.all() else valid)


def _copy(values: NDArray[Any], rows: Positions, out: NDArray[Any], out_rows: Positions) -> None:
    """Copy `rows` of an array to `out_rows` of another array.

    Large rows are copied one by one, because NumPy would copy all of them to a temporary array.
    """
    if values[:1].nbytes < LARGE_CELLS:
        out[out_rows] = values[rows]
        return
    for row, out_row in zip(rows.tolist(), out_rows.tolist(), strict=True):
        out[out_row] = values[row]


def _gather_ragged(
    blocks: Mapping[int, PackedCells | RaggedCells],
    number: Positions,
    row: Positions,
    alone: RaggedCells | None,
) -> RaggedCells:
    """Do the work of `gather` for a ragged column, without copying the bytes of cells."""
    buffers: list[Any] = []
    shapes: list[Any] = []
    valid, taken = np.ones(len(number), bool), 0
    for i, (block, r) in enumerate(zip(number.tolist(), row.tolist(), strict=True)):
        cells = blocks.get(block)
        if cells is None:
            assert alone is not None
            buffers.append(alone.buffers[taken])
            shapes.append(alone.shapes[taken])
            valid[i] = alone.valid is None or alone.valid[taken]
            taken += 1
            continue
        if isinstance(cells, PackedCells):
            buffers.append(cells.data[cells.starts[r] : cells.starts[r + 1]])
        else:
            buffers.append(cells.buffers[r])
        shapes.append(cells.shapes[r])
        if cells.valid is not None:
            valid[i] = cells.valid[r]
    return RaggedCells(buffers, np.array(shapes), None if valid.all() else valid)
