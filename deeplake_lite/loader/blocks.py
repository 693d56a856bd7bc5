"""The rows that are coming up, read ahead block by block, and kept while there is room.

A block is a run of rows of the view. How blocks are held depends on what the budget allows, and is
decided before anything is read: ``whole`` keeps every row once it was read, columns of one shape as
one array; ``window`` keeps the blocks of an order that goes through them one window after the
other, and drops the one that is needed last; ``rows`` reads rows alone, except for some blocks that
stay. Each reaches the bound of any cache over an epoch in which each row comes once.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from deeplake_lite.htypes.cells import Cells, DenseCells, NestedCells, RaggedCells, concat, take

if TYPE_CHECKING:
    from collections.abc import Mapping
    from concurrent.futures import Future

    from numpy.typing import NDArray

    from deeplake_lite.loader.order import Order, Positions
    from deeplake_lite.loader.readers import Readers
    from deeplake_lite.loader.samples import Samples

BLOCK_BYTES = 4 * 2**20
"""Stored size of a block, about."""

MOST_ROWS = 65_536
"""Rows of a block at the most."""


def rows_of_block(row_bytes: float) -> int:
    """Return how many rows make a block: a power of two, about `BLOCK_BYTES` of them.

    >>> rows_of_block(20_000), rows_of_block(1)
    (128, 65536)
    """
    wanted = max(1.0, min(MOST_ROWS, BLOCK_BYTES / row_bytes))
    return 1 << int(np.log2(wanted))


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

    @property
    def nbytes(self) -> int:
        """Size in memory, bytes."""
        return self.data.nbytes + self.starts.nbytes + self.shapes.nbytes


type Held = Bytes | DenseCells | NestedCells
type Block = dict[str, Held]


@dataclass(frozen=True)
class Request:
    """Rows that were asked for."""

    positions: Positions
    """Of the view."""
    alone: Future[dict[str, Cells]] | None = None
    """Those that are read by themselves; None where all come from blocks."""


class Blocks:
    """The rows of one loader, as they are read and held.

    Parameters
    ----------
    samples : Samples
        What is read.
    readers : Readers
        Who reads.
    limit : int
        Bytes that may be held.
    window : int
        Rows that an order goes through before it leaves them for good; 0 where it never does.
    """

    def __init__(self, samples: Samples, readers: Readers, limit: int, window: int = 0) -> None:
        self.samples, self._readers = samples, readers
        self.rows = rows_of_block(samples.row_bytes)
        self.count = -(-len(samples) // self.rows)
        self._limit = limit
        total = samples.row_bytes * len(samples)
        self.mode = (
            "whole" if total <= limit
            else "window" if window and 2 * window * samples.row_bytes <= limit
            else "rows"
        )  # fmt: skip
        self._kept = self.count if self.mode != "rows" else int(limit // max(1, total / self.count))
        self._found: dict[int, Future[Block]] = {}
        self._whole: dict[str, DenseCells] = {}
        self._left = self.count
        self._lock = threading.Lock()
        self.hits = self.misses = 0

    @property
    def complete(self) -> bool:
        """Whether every row is in memory, so that `request` has nothing to do."""
        return self.mode == "whole" and self._left == 0

    def request(self, positions: Positions, order: Order, done: int, coming: Order) -> Request:
        """Begin to read rows that are coming up; what is no longer needed may make room.

        Parameters
        ----------
        positions : ndarray, (rows,) int64
            Of the view.
        order, coming : Order
            Of this epoch and of the next.
        done : int
            Places of this epoch's order whose rows have been taken.
        """
        blocks = np.unique(positions // self.rows).tolist()
        for block in blocks:
            if block in self._found or block >= self._kept:
                continue
            if self.mode == "window":
                self._make_room(order, done, coming)
            self._found[block] = self._readers.submit(self._read, block)
        if self.mode != "rows":
            return Request(positions)
        alone = positions[positions // self.rows >= self._kept]
        if not len(alone):
            return Request(positions)
        return Request(positions, self._readers.submit(lambda: dict(self.samples.read(alone))))

    def take(self, request: Request) -> dict[str, Cells]:
        """Wait for rows that were asked for, and return their cells by column, in their order."""
        positions = request.positions
        if self.complete:
            return {name: self._of_all(name, positions) for name in self.samples.names}
        number = positions // self.rows
        held = {b: self._found[b].result() for b in np.unique(number).tolist() if b < self._kept}
        alone = None if request.alone is None else request.alone.result()
        if self.mode == "whole":
            return {name: self._of_all(name, positions) for name in self.samples.names}
        return {
            name: _gathered(
                {b: block[name] for b, block in held.items()},
                number,
                positions % self.rows,
                None if alone is None else alone[name],
            )
            for name in self.samples.names
        }

    def _of_all(self, name: str, positions: Positions) -> Cells:
        """Return cells of a column that is all in memory."""
        whole = self._whole.get(name)
        if whole is not None:
            valid = None if whole.valid is None else whole.valid[positions]
            values = aligned((len(positions), *whole.values.shape[1:]), whole.values.dtype)
            np.take(whole.values, positions, axis=0, out=values, mode="clip")
            return DenseCells(values, None if valid is None or valid.all() else valid)
        number = positions // self.rows
        held = {b: self._found[b].result()[name] for b in set(number.tolist())}
        return _gathered(held, number, positions % self.rows, None)

    def _read(self, block: int) -> Block:
        """Read a block; columns of one shape go where the whole column is held."""
        start, stop = block * self.rows, min((block + 1) * self.rows, len(self.samples))
        cells = self.samples.read(np.arange(start, stop))
        found: Block = {}
        for name, some in cells.items():
            if isinstance(some, RaggedCells):
                found[name] = Bytes.of(some)
            elif isinstance(some, DenseCells) and self.mode == "whole":
                self._put(name, start, stop, some)
            else:
                found[name] = cast("Held", some)
        with self._lock:
            self._left -= 1
        return found

    def _put(self, name: str, start: int, stop: int, cells: DenseCells) -> None:
        with self._lock:
            whole = self._whole.get(name)
            if whole is None:
                count, shape = len(self.samples), cells.values.shape[1:]
                fields = {f.name: f for f in self.samples.fields}
                nullable = name in fields and fields[name].htype.nullable
                valid = np.ones(count, bool) if nullable else None
                whole = DenseCells(np.empty((count, *shape), cells.values.dtype), valid)
                self._whole[name] = whole
        whole.values[start:stop] = cells.values
        if whole.valid is not None and cells.valid is not None:
            whole.valid[start:stop] = cells.valid

    def _make_room(self, order: Order, done: int, coming: Order) -> None:
        """Drop blocks that this epoch is done with while there are too many, last needed first."""
        most = max(1, int(self._limit // (self.samples.row_bytes * self.rows)))
        if len(self._found) < most:
            return
        idle = [b for b in self._found if order.after(b, self.rows) <= done]
        idle.sort(key=lambda block: coming.after(block, self.rows))
        while len(self._found) >= most and idle:
            del self._found[idle.pop()]


def _gathered(
    held: Mapping[int, Held], number: Positions, row: Positions, alone: Cells | None
) -> Cells:
    """Return cells from several blocks, and from what was read by itself, in the rows' order."""
    sample = next(iter(held.values())) if held else alone
    if isinstance(sample, Bytes | RaggedCells):
        return _bytes_gathered(cast("Mapping[int, Bytes]", held), number, row, alone)
    parts: list[Cells] = []
    at = np.empty(len(number), np.int64)
    end = 0
    for block, some in held.items():
        mine = np.flatnonzero(number == block)
        parts.append(take(cast("Cells", some), row[mine]))
        at[mine] = np.arange(end, end + len(mine))
        end += len(mine)
    if alone is not None:
        mine = np.flatnonzero(~np.isin(number, list(held)))
        parts.append(alone)
        at[mine] = np.arange(end, end + len(mine))
    if len(parts) == 1:
        return parts[0]
    return take(concat(parts), at)


def _bytes_gathered(
    held: Mapping[int, Bytes], number: Positions, row: Positions, alone: Cells | None
) -> RaggedCells:
    """Return cells of a ragged column; no byte is copied."""
    rest = cast("RaggedCells | None", alone)
    first = next(iter(held.values())).shapes if held else cast("RaggedCells", rest).shapes
    buffers: list[Any] = []
    shapes = np.empty((len(number), first.shape[1]), np.int32)
    valid, taken = np.ones(len(number), bool), 0
    for i, (block, r) in enumerate(zip(number.tolist(), row.tolist(), strict=True)):
        some = held.get(block)
        if some is None:
            assert rest is not None
            buffers.append(rest.buffers[taken])
            shapes[i] = rest.shapes[taken]
            valid[i] = rest.valid is None or rest.valid[taken]
            taken += 1
            continue
        start, stop = some.starts[r], some.starts[r + 1]
        buffers.append(some.data[start:stop])
        shapes[i] = some.shapes[r]
        if some.valid is not None:
            valid[i] = some.valid[r]
    return RaggedCells(buffers, shapes, None if valid.all() else valid)


def aligned(shape: tuple[int, ...], dtype: np.dtype[Any], to: int = 64) -> NDArray[Any]:
    """Return an empty array whose first byte lies at a multiple of `to`: JAX shares such memory.

    >>> aligned((3, 5), np.dtype("float32")).ctypes.data % 64
    0
    """
    size = int(np.prod(shape)) * dtype.itemsize
    raw = np.empty(size + to, np.uint8)
    shift = -raw.ctypes.data % to
    return raw[shift : shift + size].view(dtype).reshape(shape)
