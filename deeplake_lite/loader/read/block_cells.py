"""Cells as a loader holds them: few objects for small rows, and rows taken from several of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from deeplake_lite.htypes.cells import Cells, DenseCells, RaggedCells, concat, take
from deeplake_lite.loader.memory import aligned

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from deeplake_lite.loader.order.order import Positions


@dataclass(frozen=True)
class Bytes:
    """Cells of a ragged column, back to back: one object for all rows of a block."""

    data: NDArray[np.uint8]
    """Bytes of all cells."""
    starts: NDArray[np.int64]
    """(rows + 1,): where each begins in `data`."""
    shapes: NDArray[np.int32]
    """(rows, ndim), as cells have them."""
    valid: NDArray[np.bool_] | None
    """(rows,), or None when no cell is null."""

    @classmethod
    def of(cls, cells: RaggedCells) -> Bytes:
        """Copy cells into one array."""
        lengths = [memoryview(b).nbytes for b in cells.buffers]
        starts = np.concatenate([[0], np.cumsum(np.array(lengths, np.int64))]).astype(np.int64)
        data = np.frombuffer(b"".join(cells.buffers), np.uint8)
        return cls(data, starts, cells.shapes, cells.valid)

    def cells(self) -> RaggedCells:
        """Return the cells one by one; no byte is copied.

        >>> Bytes.of(RaggedCells([b"ab", b"c"], np.empty((2, 0), np.int32))).cells().buffers[1]
        array([99], dtype=uint8)
        """
        edges = self.starts.tolist()
        buffers: list[Any] = [self.data[a:b] for a, b in pairwise(edges)]
        return RaggedCells(buffers, self.shapes, self.valid)


type Held = Bytes | Cells
type Block = dict[str, Held]

LARGE_CELLS = 4_096
"""Bytes of a cell, on average, from which on cells are held as they were read: none is copied."""


def are_large(cells: RaggedCells) -> bool:
    """Tell whether cells are large enough to be objects of their own.

    >>> are_large(RaggedCells([b"ab", b"c"], np.empty((2, 0), np.int32)))
    False
    """
    return sum(memoryview(b).nbytes for b in cells.buffers) >= LARGE_CELLS * len(cells)


def gathered(
    blocks: Mapping[int, Held], number: Positions, row: Positions, alone: Cells | None
) -> Cells:
    """Return cells from several blocks, and from what was read by itself, in the rows' order.

    Parameters
    ----------
    blocks : mapping
        By number.
    number, row : ndarray, (rows,) int64
        Which block each row is of, and which row of the block it is.
    alone : Cells, optional
        The rows of blocks that are not there, in order.
    """
    sample = next(iter(blocks.values())) if blocks else alone
    if isinstance(sample, Bytes | RaggedCells):
        bytes_of = cast("Mapping[int, Bytes | RaggedCells]", blocks)
        return _bytes_gathered(bytes_of, number, row, cast("RaggedCells | None", alone))
    if isinstance(sample, DenseCells):
        dense = cast("Mapping[int, DenseCells]", blocks)
        return _dense_gathered(dense, number, row, cast("DenseCells | None", alone))
    parts: list[Cells] = []
    at, end = np.empty(len(number), np.int64), 0
    for block, some in blocks.items():
        mine = np.flatnonzero(number == block)
        parts.append(take(cast("Cells", some), row[mine]))
        at[mine] = np.arange(end, end + len(mine))
        end += len(mine)
    if alone is not None:
        mine = np.flatnonzero(~np.isin(number, list(blocks)))
        parts.append(alone)
        at[mine] = np.arange(end, end + len(mine))
    return take(concat(parts), at) if len(parts) > 1 else parts[0]


def _dense_gathered(
    blocks: Mapping[int, DenseCells],
    number: Positions,
    row: Positions,
    alone: DenseCells | None,
) -> DenseCells:
    """Return cells of a column of one shape: each is copied once, to its place in the batch."""
    if alone is not None and not blocks:
        return alone
    sample = alone if alone is not None else next(iter(blocks.values()))
    values = aligned((len(number), *sample.values.shape[1:]), sample.values.dtype)
    valid, elsewhere = np.ones(len(number), bool), np.ones(len(number), bool)
    for block, some in blocks.items():
        mine = np.flatnonzero(number == block)
        _copy(some.values, row[mine], values, mine)
        elsewhere[mine] = False
        if some.valid is not None:
            valid[mine] = some.valid[row[mine]]
    if alone is not None:
        values[elsewhere] = alone.values
        if alone.valid is not None:
            valid[elsewhere] = alone.valid
    return DenseCells(values, None if valid.all() else valid)


def _copy(values: NDArray[Any], rows: Positions, out: NDArray[Any], places: Positions) -> None:
    """Copy some rows to places of another array: large ones without an array between."""
    if values[:1].nbytes < LARGE_CELLS:
        out[places] = values[rows]
        return
    for row, place in zip(rows.tolist(), places.tolist(), strict=True):
        out[place] = values[row]


def _bytes_gathered(
    blocks: Mapping[int, Bytes | RaggedCells],
    number: Positions,
    row: Positions,
    alone: RaggedCells | None,
) -> RaggedCells:
    """Return cells of a ragged column; no byte is copied."""
    buffers: list[Any] = []
    shapes: list[Any] = []
    valid, taken = np.ones(len(number), bool), 0
    for i, (block, r) in enumerate(zip(number.tolist(), row.tolist(), strict=True)):
        some = blocks.get(block)
        if some is None:
            assert alone is not None
            buffers.append(alone.buffers[taken])
            shapes.append(alone.shapes[taken])
            valid[i] = alone.valid is None or alone.valid[taken]
            taken += 1
            continue
        if isinstance(some, Bytes):
            buffers.append(some.data[some.starts[r] : some.starts[r + 1]])
        else:
            buffers.append(some.buffers[r])
        shapes.append(some.shapes[r])
        if some.valid is not None:
            valid[i] = some.valid[r]
    return RaggedCells(buffers, np.array(shapes), None if valid.all() else valid)
