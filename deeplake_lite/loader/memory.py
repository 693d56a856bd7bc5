"""Aligned memory for batches, which is reused once a batch is freed.

New memory causes a page fault per page, which for a batch of images adds about a tenth to the
decoding time. Therefore, the memory of a freed batch is reused for the next batch of the same size.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

ALIGNMENT = 64
"""Arrays begin at multiples of this many bytes, so that JAX and TensorFlow can share the memory."""

LARGE = 2**20
"""Minimum size, in bytes, of memory that is reused. Less memory is quick to allocate."""

MAX_FREE_PIECES = 16
"""Maximum number of separate pieces of free memory in the pool."""

MAX_BYTES = 256 * 2**20
"""Default limit of the free memory in the pool, in bytes. A small budget lowers the limit."""

MIN_BYTES = 4 * LARGE
"""Lowest limit that loaders can set, in bytes."""


class _Pool:
    """A pool of free memory. The piece that was freed last is reused first."""

    def __init__(self) -> None:
        self._free: list[NDArray[np.uint8]] = []
        self._lock = threading.Lock()
        self._limit = MAX_BYTES

    def limit(self, nbytes: int) -> None:
        """Set the maximum number of bytes of free memory in the pool."""
        self._limit = min(MAX_BYTES, max(MIN_BYTES, nbytes))
        with self._lock:
            self._drop()

    def take(self, size: int) -> NDArray[np.uint8]:
        """Return aligned memory of exactly `size` bytes, from the pool if possible."""
        with self._lock:
            for at in range(len(self._free) - 1, -1, -1):
                if self._free[at].nbytes == size:
                    return self._free.pop(at)
        return _allocate(size)

    def give(self, memory: NDArray[np.uint8]) -> None:
        """Add memory to the pool, and drop the oldest pieces if there are too many."""
        # The garbage collector may call this method in a thread that is within `take` and holds the
        # lock. Waiting for the lock would then cause a deadlock, so the memory is freed instead.
        if not self._lock.acquire(blocking=False):
            return
        try:
            self._free.append(memory)
            self._drop()
        finally:
            self._lock.release()

    def _drop(self) -> None:
        """Free the oldest pieces of memory until the pool is within its limits."""
        while len(self._free) > MAX_FREE_PIECES or self._nbytes() > self._limit:
            del self._free[0]

    def _nbytes(self) -> int:
        return sum(memory.nbytes for memory in self._free)


class _Lease:
    """Owner of memory from the pool, which returns the memory once no array shares it any more."""

    __slots__ = ("_memory",)

    def __init__(self, memory: NDArray[np.uint8]) -> None:
        self._memory = memory

    def __buffer__(self, flags: int) -> memoryview:
        return memoryview(self._memory)

    def __del__(self) -> None:
        _pool.give(self._memory)


_pool = _Pool()


def limit_spare(nbytes: int) -> None:
    """Set how much memory of freed batches the process keeps for reuse. The last call counts."""
    _pool.limit(nbytes)


def allocate_aligned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return an uninitialized array whose address is a multiple of 64 bytes.

    >>> allocate_aligned((3, 5), np.dtype("float32")).ctypes.data % 64
    0
    """
    size = int(np.prod(shape)) * dtype.itemsize
    if size < LARGE:
        return _allocate(size).view(dtype).reshape(shape)
    return np.frombuffer(_Lease(_pool.take(size)), dtype).reshape(shape)


def _allocate(size: int) -> NDArray[np.uint8]:
    raw = np.empty(size + ALIGNMENT, np.uint8)
    shift = -raw.ctypes.data % ALIGNMENT
    return raw[shift : shift + size]
