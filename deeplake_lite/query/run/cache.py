"""The cache of committed columns, which all queries of the process share.

It holds NumPy or Arrow arrays by lake, version, column and purpose, up to a limit. An array larger
than half the limit is not cached; queries then read the column in blocks. Cached arrays are
read-only, and so are their slices and reshaped views, so nobody can change them by accident.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Any

from deeplake_lite.dataset.read.values import freeze

if TYPE_CHECKING:
    from collections.abc import Callable

CACHE_BYTES = 1 << 30
"""Size limit of the cache."""


class ColumnCache:
    """An LRU cache of arrays by lake, version, column and purpose."""

    def __init__(self, limit: int = CACHE_BYTES) -> None:
        self._limit, self._size, self._lock = limit, 0, Lock()
        self._arrays: OrderedDict[tuple[Any, ...], Any] = OrderedDict()

    def get(self, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """Return the cached array, or make it and cache it.

        `make` runs without the lock, so two threads may make the same array.
        """
        with self._lock:
            if key in self._arrays:
                self._arrays.move_to_end(key)
                return self._arrays[key]
        array = make()
        with self._lock:
            if key not in self._arrays and self.has_room(array.nbytes):
                freeze(array)
                self._arrays[key] = array
                self._size += array.nbytes
            while self._size > self._limit:
                self._size -= self._arrays.popitem(last=False)[1].nbytes
        return array

    def holds(self, key: tuple[Any, ...]) -> bool:
        """Return whether an array is cached."""
        with self._lock:
            return key in self._arrays

    def has_room(self, nbytes: int) -> bool:
        """Return whether an array of this size would be cached."""
        return nbytes <= self._limit // 2

    def clear(self) -> None:
        """Remove all arrays."""
        with self._lock:
            self._arrays.clear()
            self._size = 0


CACHE = ColumnCache()
