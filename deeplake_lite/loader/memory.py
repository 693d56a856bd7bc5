"""Memory of batches: aligned, and used again once nobody holds the batch any more.

A fresh batch of pictures costs the system a page fault for each of its pages, about a tenth of the
time that decoding takes. So the memory of a batch that is gone goes to the next one of its size.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

ALIGNMENT = 64
"""Bytes: JAX and TensorFlow share memory that is aligned so."""

LARGE = 2**20
"""Bytes from which on memory is used again; less is quick to get."""

MOST_FREE = 16
"""Pieces that are kept for later, at the most."""

MOST_BYTES = 256 * 2**20
"""Their size, at the most; less where a loader has a small budget."""

LEAST_BYTES = 4 * LARGE
"""What that limit is at least."""


class _Pool:
    """Memory that was used and is free again, the piece that came last first."""

    def __init__(self) -> None:
        self._free: list[NDArray[np.uint8]] = []
        self._lock = threading.Lock()
        self._most = MOST_BYTES

    def limit(self, nbytes: int) -> None:
        """Keep no more than so many bytes from now on."""
        self._most = min(MOST_BYTES, max(LEAST_BYTES, nbytes))
        with self._lock:
            self._drop()

    def take(self, size: int) -> NDArray[np.uint8]:
        """Return aligned memory."""
        with self._lock:
            for at in range(len(self._free) - 1, -1, -1):
                if self._free[at].nbytes == size:
                    return self._free.pop(at)
        return _fresh(size)

    def give(self, memory: NDArray[np.uint8]) -> None:
        """Keep memory for later, in the place of what was kept longest; not if that means waiting.

        The garbage collector calls this anywhere, also in a thread that is within `take`.
        """
        if not self._lock.acquire(blocking=False):
            return
        try:
            self._free.append(memory)
            self._drop()
        finally:
            self._lock.release()

    def _drop(self) -> None:
        """Let go of what is too much, of what was kept longest first."""
        while len(self._free) > MOST_FREE or self._held() > self._most:
            del self._free[0]

    def _held(self) -> int:
        return sum(memory.nbytes for memory in self._free)


class _Lease:
    """Memory for as long as an array, or what shares its memory, is there."""

    __slots__ = ("_memory",)

    def __init__(self, memory: NDArray[np.uint8]) -> None:
        self._memory = memory

    def __buffer__(self, flags: int) -> memoryview:
        return memoryview(self._memory)

    def __del__(self) -> None:
        _pool.give(self._memory)


_pool = _Pool()


def keep_spare(nbytes: int) -> None:
    """Say how much memory of batches that are gone may be kept for later: the last one counts."""
    _pool.limit(nbytes)


def aligned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return an array, not filled, whose first byte lies at a multiple of 64.

    >>> aligned((3, 5), np.dtype("float32")).ctypes.data % 64
    0
    """
    size = int(np.prod(shape)) * dtype.itemsize
    if size < LARGE:
        return _fresh(size).view(dtype).reshape(shape)
    return np.frombuffer(_Lease(_pool.take(size)), dtype).reshape(shape)


def _fresh(size: int) -> NDArray[np.uint8]:
    raw = np.empty(size + ALIGNMENT, np.uint8)
    shift = -raw.ctypes.data % ALIGNMENT
    return raw[shift : shift + size]
