"""Read the parts of large cells that an index selects, and count the bytes that are read."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.read.virtual import sizes_of
from deeplake_lite.htypes.cells import FlatCells
from deeplake_lite.htypes.layouts import Ragged
from deeplake_lite.query.tensors.indexing import lies_beyond
from deeplake_lite.storage.array_spec import ArraySpec

if TYPE_CHECKING:
    from collections.abc import Buffer, Callable

    from numpy.typing import NDArray

    from deeplake_lite.dataset.selection import ReadTable
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.schema import Field

    type Span = tuple[int, int, Callable[[Buffer, int], NDArray[Any]]]


class Tally:
    """A counter of the bytes that have been read, after decompression."""

    def __init__(self) -> None:
        self.bytes = 0

    def add_array[D: np.generic](self, array: NDArray[D]) -> NDArray[D]:
        """Add the size of an array, and return the array."""
        self.bytes += array.nbytes
        return array

    def add_cells[C: Cells | FlatCells](self, cells: C) -> C:
        """Add the size of cells, and return the cells."""
        match cells:
            case FlatCells(data):
                self.bytes += data.nbytes
            case _:
                self.bytes += int(sizes_of(cells).sum())
        return cells


def read_parts(
    table: ReadTable,
    f: Field,
    slots: NDArray[np.int64],
    positions: NDArray[Any],
    index: tuple[Any, ...],
    tally: Tally,
) -> Callable[[int], Any] | None:
    """Read the bytes that an index selects in the cells of a column.

    The bytes of the cells must be the elements of their values.

    Parameters
    ----------
    table : ReadTable
        The version to read.
    f : Field
        The column.
    slots : ndarray, (rows,) int64
        The slots of all rows.
    positions : ndarray, (n,)
        The positions of the rows to read, masked where they are null.
    index : tuple
        Integers, slices and ``...``.
    tally : Tally
        Counts the bytes.

    Returns
    -------
    callable or None
        Takes an index into `positions`, and returns the selected part of this cell: an array, or
        None if the cell is null or the index is out of range. None if more than half of the bytes
        would be read, or if they cannot be read in part.
    """
    layout = f.htype.layout
    assert isinstance(layout, Ragged)
    present = np.flatnonzero(~np.ma.getmaskarray(positions))
    read = slots[np.asarray(np.ma.getdata(positions), np.int64)[present]]
    sizes, spans = table.sizes(f.id, read), list["Span | None"]()
    valid = table.valid(f.id, read)
    for row, shape in enumerate(table.shapes(f.id, read).tolist()):
        cell = tuple(n for n in shape if n >= 0)
        is_null = valid is not None and not valid[row]
        if not is_null and prod(cell) * np.dtype(layout.dtype).itemsize != sizes[row]:
            return None  # reading the whole cell raises the error
        beyond = is_null or lies_beyond(index, cell)
        spans.append(None if beyond else ArraySpec(layout.dtype, cell).span(index))
    starts, lengths = (
        np.array([0 if span is None else span[at] for span in spans], np.int64) for at in (0, 1)
    )
    if 2 * int(lengths.sum()) > int(sizes.sum()):
        return None
    parts = table.ranges(f.id, read, starts, lengths)
    if parts is None:
        return None
    tally.bytes += int(lengths.sum())
    at = dict(zip(present.tolist(), range(len(present)), strict=True))

    def part(row: int) -> object:
        number = at.get(row, -1)  # -1 for a null position
        span = None if number < 0 else spans[number]
        return None if span is None else span[2](parts[number], 1)[0].copy()

    return part
