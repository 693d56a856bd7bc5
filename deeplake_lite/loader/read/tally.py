"""Counters of a loader's reads and memory."""

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
    """Counts of one loader since its first request for rows."""

    reads: int = 0
    """Number of reads. Each read is of a block, or of single rows for a batch."""
    reading: float = 0.0
    """Seconds spent in reads, summed over all reader threads."""
    bytes: int = 0
    """Size of the encoded cells that were read, in bytes."""
    rows: int = 0
    """Number of rows that were read. A row that is read twice counts twice."""
    asked: int = 0
    """Number of rows that were requested before their batch was made."""
    missed: int = 0
    """Number of requested rows that were not in memory."""


class Tally:
    """Counters of reads, and of the memory of rows and batches. Thread-safe.

    Parameters
    ----------
    blocks : int
        Number of blocks in the view.

    Examples
    --------
    >>> tally = Tally(blocks=2)
    >>> tally.request(np.array([0, 0, 1]))
    >>> tally.read(1.5, nbytes=300, rows=10)
    >>> tally.add(0, 300)
    >>> tally.request(np.array([0, 1, 1]))
    >>> tally.counts.asked, tally.counts.missed, tally.counts.bytes, tally.held
    (6, 5, 300, 300)
    """

    def __init__(self, blocks: int) -> None:
        self._reads, self._reading = 0, 0.0
        self._bytes = self._rows = self._asked = self._missed = 0
        self.held = self.peak = 0
        """Bytes in memory now, and their maximum since the last `reset_peak`."""
        self._ready = np.zeros(blocks, bool)
        self._sizes: dict[int, int] = {}
        self._lock = threading.Lock()

    @property
    def counts(self) -> Counts:
        """The counts so far."""
        with self._lock:
            return Counts(
                self._reads, self._reading, self._bytes, self._rows, self._asked, self._missed
            )

    def request(self, blocks: Positions) -> None:
        """Count requested rows, given the block of each row."""
        ready = int(np.count_nonzero(self._ready.take(blocks)))
        with self._lock:
            self._asked += len(blocks)
            self._missed += len(blocks) - ready

    def read(self, seconds: float, *, nbytes: int, rows: int) -> None:
        """Count rows that were read."""
        with self._lock:
            self._reads += 1
            self._reading += seconds
            self._bytes += nbytes
            self._rows += rows

    def add(self, block: int, nbytes: int) -> None:
        """Count a block that is in memory from now on."""
        with self._lock:
            self._sizes[block] = nbytes
            self._ready[block] = True
        self.hold(nbytes)

    def drop(self, block: int) -> None:
        """Count a block that is removed from memory."""
        with self._lock:
            size = self._sizes.pop(block, 0)
            self._ready[block] = False
        self.hold(-size)

    def hold(self, nbytes: int) -> None:
        """Count memory that is newly held or, if the number is negative, freed."""
        with self._lock:
            self.held += nbytes
            self.peak = max(self.peak, self.held)

    def reset_peak(self) -> None:
        """Reset the peak to the memory that is held now."""
        with self._lock:
            self.peak = self.held


def nbytes_of(cells: Mapping[str, Cells]) -> int:
    """Return the size of encoded cells in bytes.

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
