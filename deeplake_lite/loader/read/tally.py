"""What a loader has read and what it holds: counted by the threads that read and make batches."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from deeplake_lite.htypes.cells import DenseCells, NestedCells, RaggedCells

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.loader.order.order import Positions


class Counts(NamedTuple):
    """Of one loader, since its rows were first asked for."""

    reads: int = 0
    """Blocks, and batches of single rows, that were read."""
    reading: float = 0.0
    """Seconds spent in them, of all reading threads together."""
    bytes: int = 0
    """Of the cells that were read, encoded as they are."""
    rows: int = 0
    """That were read, again or for the first time."""
    asked: int = 0
    """Rows that were asked for ahead of their batch."""
    missed: int = 0
    """Those of them that were not in memory."""


class Tally:
    """Counters of what is read, and of the memory that rows and batches take.

    Parameters
    ----------
    blocks : int
        Blocks of the view.

    Examples
    --------
    >>> tally = Tally(blocks=2)
    >>> tally.ask(np.array([0, 0, 1]))
    >>> tally.read(1.5, nbytes=300, rows=10)
    >>> tally.keep(0, 300)
    >>> tally.ask(np.array([0, 1, 1]))
    >>> tally.counts.asked, tally.counts.missed, tally.counts.bytes, tally.held
    (6, 5, 300, 300)
    """

    def __init__(self, blocks: int) -> None:
        self._reads, self._reading = 0, 0.0
        self._bytes = self._rows = self._asked = self._missed = 0
        self.held = self.peak = 0
        """Bytes in memory, now and at the most since `rest`."""
        self._ready = np.zeros(blocks, bool)
        self._sizes: dict[int, int] = {}
        self._lock = threading.Lock()

    @property
    def counts(self) -> Counts:
        """What was counted until now."""
        with self._lock:
            return Counts(
                self._reads, self._reading, self._bytes, self._rows, self._asked, self._missed
            )

    def ask(self, blocks: Positions) -> None:
        """Note that rows of these blocks are asked for."""
        ready = int(np.count_nonzero(self._ready.take(blocks)))
        with self._lock:
            self._asked += len(blocks)
            self._missed += len(blocks) - ready

    def read(self, seconds: float, *, nbytes: int, rows: int) -> None:
        """Note that rows were read."""
        with self._lock:
            self._reads += 1
            self._reading += seconds
            self._bytes += nbytes
            self._rows += rows

    def keep(self, block: int, nbytes: int) -> None:
        """Note that a block is in memory, and what it takes."""
        with self._lock:
            self._sizes[block] = nbytes
            self._ready[block] = True
        self.hold(nbytes)

    def drop(self, block: int) -> None:
        """Note that a block makes room."""
        with self._lock:
            size = self._sizes.pop(block, 0)
            self._ready[block] = False
        self.hold(-size)

    def hold(self, nbytes: int) -> None:
        """Note that so much more is held, or less where it is below zero."""
        with self._lock:
            self.held += nbytes
            self.peak = max(self.peak, self.held)

    def rest(self) -> None:
        """Let the peak begin at what is held now."""
        with self._lock:
            self.peak = self.held


def nbytes_of(cells: Mapping[str, Cells]) -> int:
    """Return the size of cells, encoded as they are.

    >>> nbytes_of({"a": RaggedCells([b"ab", b"c"], np.empty((2, 0), np.int32))})
    3
    """
    return sum(map(_size, cells.values()))


def _size(cells: Cells) -> int:
    match cells:
        case DenseCells(values):
            return int(values.nbytes)
        case RaggedCells(buffers):
            return sum(memoryview(b).nbytes for b in buffers)
        case NestedCells(counts, items):
            return int(counts.nbytes) + _size(items)
