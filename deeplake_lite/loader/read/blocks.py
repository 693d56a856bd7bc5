"""The blocks of rows that a loader reads ahead for the next batches and keeps in memory."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from deeplake_lite.dataset.read.reading import NOWHERE
from deeplake_lite.htypes.cells import Cells, DenseCells, RaggedCells
from deeplake_lite.loader.memory import allocate_aligned
from deeplake_lite.loader.read.block_cells import Block, PackedCells, are_large, gather
from deeplake_lite.loader.read.block_policy import BlockPolicy
from deeplake_lite.loader.read.tally import Tally, nbytes_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from concurrent.futures import Future

    from numpy.typing import NDArray

    from deeplake_lite.loader.order.order import Order, Positions
    from deeplake_lite.loader.read.disk import Disk
    from deeplake_lite.loader.read.readers import Readers
    from deeplake_lite.loader.read.samples import Samples

EARLY = 2
"""Number of batches, at the start, whose rows are read singly, so as not to wait for whole blocks.
"""

EARLY_SHARE = 4
"""Divisor that turns the memory for blocks into the memory for the rows of the early batches."""

FEW_BYTES = 16 * 2**20
"""Maximum size of unread blocks, in bytes, for which an early batch waits nevertheless."""

MAX_MAPPED_BLOCKS = 4_096
"""Maximum number of memory-mapped blocks. Operating systems limit the number of mappings."""


class Fetched(NamedTuple):
    """The cells of rows that were read."""

    cells: dict[str, Cells]
    """Cells of each column by name."""
    nbytes: int
    """Size of all cells in bytes."""


@dataclass(frozen=True, eq=False)
class Request:
    """A request for the rows of a batch. The rows are read in the background."""

    positions: Positions
    """Positions of the rows in the view."""
    blocks: Mapping[int, Future[Block]] = field(default_factory=dict)
    """The blocks that contain the rows, by block number."""
    alone: Future[Fetched] | None = None
    """The rows that are read singly, without the rest of their block; None without such rows."""


class Blocks:
    """Reads the rows of one loader ahead in blocks, and holds blocks in memory.

    Parameters
    ----------
    samples : Samples
        Rows to read.
    readers : Readers
        Threads that read.
    limit : int
        Maximum number of bytes to hold in memory.
    window : int
        Number of rows in a window of the order; 0 without windows. Once all rows of a window have
        been used, the epoch does not need them again.
    disk : Disk, optional
        Cache that stores blocks as files.
    """

    def __init__(
        self,
        samples: Samples,
        readers: Readers,
        limit: int,
        window: int = 0,
        disk: Disk | None = None,
    ) -> None:
        self.samples, self._readers, self._disk = samples, readers, disk
        policy = BlockPolicy.of(samples, limit, window, on_disk=disk is not None)
        self.mode, self.rows, self.count = policy.mode, policy.rows, policy.count
        self._cached, self._most, self._limit = policy.cached, policy.most, limit
        self._nbytes = min(self.rows, len(samples)) * samples.row_bytes
        self._futures: dict[int, Future[Block]] = {}  # blocks in memory, or being read
        self._whole: dict[str, DenseCells | RaggedCells] = {}  # all rows, in mode "whole"
        self._large: dict[str, bool] = {}
        self._read_once: set[int] = set()
        self._in_memory: dict[int, None] = {}  # blocks that could not be stored on disk
        self._early = EARLY
        self._lock = threading.Lock()
        self._alone: dict[Future[Fetched], bool] = {}
        self.stays = self.mode == "whole" or (
            disk is not None and disk.fits(samples.row_bytes * len(samples))
        )
        """Whether every block stays in memory or on disk once it has been read."""
        self.tally = Tally(self.count)
        """Counters of reads and of memory."""

    @property
    def complete(self) -> bool:
        """Whether every row is in memory, so that `request` need not be called."""
        return self.mode == "whole" and len(self._read_once) == self.count

    def request(self, positions: Positions, order: Order, done: int, next_order: Order) -> Request:
        """Start to read the rows of a batch, and drop other blocks if there is too little memory.

        Parameters
        ----------
        positions : ndarray, (rows,) int64
            Positions of the rows in the view.
        order, next_order : Order
            Orders of this epoch and of the next epoch.
        done : int
            Index in this epoch's order before which rows are no longer needed.
        """
        blocks: dict[int, Future[Block]] = {}
        number = positions // self.rows
        if self._disk is not None:
            self._disk.follow(order, self.rows, done, next_order)
            self._drop_evicted(self._disk)
        self.tally.request(number)
        requested = np.unique(number).tolist()
        needed = [block for block in requested if block < self._cached]
        if self._have_room(positions) and self._is_early(needed):
            return Request(positions, {}, self._begin_alone(positions))
        for block in needed:
            if _failed(self._futures.get(block)) or self._has_changed(block):
                self._drop(block)  # so that the block is read again: the network may have recovered
            if block not in self._futures:
                if not self._admits(block):
                    continue
                self._make_room(order, done, next_order)
                self._futures[block] = self._readers.submit(self._read, block, nbytes=self._nbytes)
            blocks[block] = self._futures[block]
        if len(blocks) == len(requested):
            return Request(positions, blocks)
        alone = positions[np.isin(number, list(blocks), invert=True)]
        return Request(positions, blocks, self._begin_alone(alone))

    def _admits(self, block: int) -> bool:
        """Return whether a block should be read, rather than only the requested rows of it."""
        if self._disk is None:
            return True
        return self._disk.admits(*self._span(block), int(self._nbytes))

    def _drop_evicted(self, disk: Disk) -> None:
        """Drop mapped blocks whose files were evicted, which would otherwise take up disk space."""
        if not disk.has_evicted():
            return
        for block, read in list(self._futures.items()):
            if read.done() and block not in self._in_memory and not disk.has(*self._span(block)):
                self._drop(block)

    def _has_changed(self, block: int) -> bool:
        """Return whether a block is mapped from a file that has changed since it was loaded."""
        read = self._futures.get(block)
        if self._disk is None or read is None or not read.done():
            return False
        return self._disk.has_changed(*self._span(block))

    def _span(self, block: int) -> tuple[int, int]:
        """Return the range of a block's rows, as start and stop."""
        return block * self.rows, min((block + 1) * self.rows, len(self.samples))

    def _is_early(self, needed: Sequence[int]) -> bool:
        """Return whether a batch is among the first `EARLY`, and would wait long for its blocks."""
        if self._early <= 0:
            return False
        self._early -= 1
        missing = sum(block not in self._futures and not self._is_stored(block) for block in needed)
        return self.samples.computed or self._nbytes * missing > FEW_BYTES

    def _is_stored(self, block: int) -> bool:
        """Return whether a block is on disk."""
        return self._disk is not None and self._disk.has(*self._span(block))

    def _have_room(self, positions: Positions) -> bool:
        """Return whether the rows of the early batches fit in memory, besides the blocks."""
        return self.samples.row_bytes * len(positions) * EARLY <= self._limit // EARLY_SHARE

    def _begin_alone(self, positions: Positions) -> Future[Fetched]:
        """Start to read the given rows singly, without the rest of their blocks."""
        nbytes = self.samples.row_bytes * len(positions)
        read = self._readers.submit(self._read_alone, positions, nbytes=nbytes)
        self._alone[read] = True
        return read

    def release(self, request: Request) -> None:
        """Stop counting the memory of rows that were read singly for a batch.

        Callers do so when the batch is finished or abandoned.
        """
        if request.alone is not None and self._alone.pop(request.alone, False):
            request.alone.add_done_callback(self._release)

    def take(self, request: Request) -> dict[str, Cells]:
        """Wait for the rows of a request, and return their cells as a dict by column name."""
        positions = request.positions
        blocks = {number: block.result() for number, block in request.blocks.items()}
        if self.mode == "whole" and request.alone is None:
            return {name: self._of_all(name, positions) for name in self.samples.names}
        alone = None
        if request.alone is not None:
            alone = request.alone.result().cells
        return {
            name: gather(
                {number: block[name] for number, block in blocks.items()},
                positions // self.rows,
                positions % self.rows,
                None if alone is None else alone[name],
            )
            for name in self.samples.names
        }

    def _of_all(self, name: str, positions: Positions) -> Cells:
        """Return the cells of a column in the given rows, if all rows of the view are in memory."""
        whole = self._whole.get(name)
        if whole is not None:
            return _rows_of(whole, positions)
        number = positions // self.rows
        blocks = {b: self._futures[b].result()[name] for b in set(number.tolist())}
        return gather(blocks, number, positions % self.rows, None)

    def _destinations(self, start: int, stop: int) -> dict[str, NDArray[Any]]:
        """Return the array into which rows `start` to `stop` - 1 are read, for each column by name.

        Each array is a slice of a column that is held as one array. Other columns are left out.
        """
        with self._lock:
            return {
                name: whole.values[start:stop]
                for name, whole in self._whole.items()
                if isinstance(whole, DenseCells)
            }

    def _fetch(self, positions: Positions, into: Mapping[str, NDArray[Any]] = NOWHERE) -> Fetched:
        """Read rows, if possible into the given arrays, and count the read."""
        began = time.perf_counter()
        cells = dict(self.samples.read(positions, into))
        took, nbytes = time.perf_counter() - began, nbytes_of(cells)
        self.tally.read(took, nbytes=nbytes, rows=len(positions))
        return Fetched(cells, nbytes)

    def _read_alone(self, positions: Positions) -> Fetched:
        """Read rows singly, and count their memory, which `release` stops counting."""
        rows = self._fetch(positions)
        self.tally.hold(rows.nbytes)
        return rows

    def _release(self, alone: Future[Fetched]) -> None:
        if not alone.cancelled() and alone.exception() is None:
            self.tally.hold(-alone.result().nbytes)

    def _read(self, block: int) -> Block:
        """Read a block, and return its cells by column name.

        In mode ``"whole"``, cells that are copied to the array of a whole column are left out.
        """
        if self._disk is None:
            return self._hold(block, *self._fetch_block(block))
        if (mapped := self._map(self._disk, block)) is not None:
            return mapped
        start, stop = self._span(block)
        with self._disk.turn(start, stop):
            # Another loader may have stored the block in the meantime.
            if (mapped := self._map(self._disk, block)) is not None:
                return mapped
            cells, nbytes = self._fetch_block(block)
            self._disk.save(start, stop, cells)
        # The mapped file replaces the cells, so that the block does not occupy memory.
        if (mapped := self._map(self._disk, block)) is not None:
            return mapped
        held = self._hold(block, cells, nbytes)
        self._in_memory[block] = None
        return held

    def _map(self, disk: Disk, block: int) -> Block | None:
        """Return a block that is mapped from its file, or None if it is missing or damaged."""
        mapped = disk.load(*self._span(block))
        if mapped is not None:
            self.tally.add(block, 0)
        return mapped

    def _fetch_block(self, block: int) -> Fetched:
        start, stop = self._span(block)
        return self._fetch(np.arange(start, stop), self._destinations(start, stop))

    def _hold(self, block: int, cells: Mapping[str, Cells], nbytes: int) -> Block:
        """Return the cells of a block that is held in memory, as `_read` does."""
        start, stop = self._span(block)
        held: Block = {}
        for name, column in cells.items():
            if isinstance(column, RaggedCells) and not self._is_large(name, column):
                held[name] = PackedCells.of(column)
            elif isinstance(column, DenseCells | RaggedCells) and self.mode == "whole":
                self._put(name, start, stop, column)
            else:
                held[name] = column
        self.tally.add(block, nbytes)
        with self._lock:
            self._read_once.add(block)
        return held

    def _is_large(self, name: str, cells: RaggedCells) -> bool:
        """Return whether a column's cells are held unpacked, which depends on its first block."""
        with self._lock:
            return self._large.setdefault(name, are_large(cells))

    def _put(self, name: str, start: int, stop: int, cells: DenseCells | RaggedCells) -> None:
        """Copy the cells of a block into the cells of the whole column."""
        with self._lock:
            whole = self._whole.get(name)
            if whole is None:
                fields = {f.name: f for f in self.samples.fields}
                nullable = name in fields and fields[name].htype.nullable
                count = len(self.samples)
                whole = self._whole[name] = _allocate_like(cells, count, nullable=nullable)
        match whole, cells:
            case DenseCells(), DenseCells():
                if not np.may_share_memory(whole.values, cells.values):  # not read into `whole`
                    whole.values[start:stop] = cells.values
            case RaggedCells(), RaggedCells():
                cast("list[Any]", whole.buffers)[start:stop] = cells.buffers
                whole.shapes[start:stop] = cells.shapes
        if whole.valid is not None and cells.valid is not None:
            whole.valid[start:stop] = cells.valid

    def _make_room(self, order: Order, done: int, next_order: Order) -> None:
        """Drop blocks if there are too many.

        In mode ``"disk"``, blocks that were mapped first are dropped first, and so are blocks in
        memory that could not be stored. In mode ``"window"``, blocks whose use lies farthest ahead
        are dropped first.
        """
        if self.mode == "disk" and len(self._futures) >= MAX_MAPPED_BLOCKS:
            self._drop(next(iter(self._futures)))
        while len(self._in_memory) >= self._most:
            self._drop(next(iter(self._in_memory)))
        if self.mode != "window":
            return

        def last_use(block: int) -> int:
            after = order.after(block, self.rows)
            return after if after > done else order.n + next_order.after(block, self.rows)

        # A request holds references to its blocks, so dropping a block that is in use is safe.
        read = sorted((b for b, read in self._futures.items() if read.done()), key=last_use)
        while len(self._futures) >= self._most and read:
            self._drop(read.pop())

    def _drop(self, block: int) -> None:
        self._futures.pop(block, None)
        self._in_memory.pop(block, None)
        self.tally.drop(block)


def _allocate_like(
    cells: DenseCells | RaggedCells, count: int, *, nullable: bool
) -> DenseCells | RaggedCells:
    """Allocate cells for `count` rows, of the same class and dtype as the given cells."""
    valid = np.ones(count, bool) if nullable else None
    if isinstance(cells, DenseCells):
        return DenseCells(np.empty((count, *cells.values.shape[1:]), cells.values.dtype), valid)
    return RaggedCells([b""] * count, np.empty((count, cells.shapes.shape[1]), np.int32), valid)


def _rows_of(whole: DenseCells | RaggedCells, positions: Positions) -> Cells:
    """Return the cells of the given rows of a whole column."""
    valid = None if whole.valid is None else whole.valid[positions]
    if valid is not None and valid.all():
        valid = None
    if isinstance(whole, RaggedCells):
        buffers = [whole.buffers[p] for p in positions.tolist()]
        return RaggedCells(buffers, whole.shapes[positions], valid)
    values = allocate_aligned((len(positions), *whole.values.shape[1:]), whole.values.dtype)
    np.take(whole.values, positions, axis=0, out=values, mode="clip")
    return DenseCells(values, valid)


def _failed(read: Future[Block] | None) -> bool:
    """Return whether a read has failed or was cancelled, so that it should be retried."""
    return read is not None and read.done() and (read.cancelled() or read.exception() is not None)
