"""The cache of columns of committed versions, which all queries in the process share.

The cache contains NumPy and Arrow arrays. The key of an array consists of the lake, the version,
the column and the purpose of the array. An array larger than half the limit of the cache is not
cached. Queries then read the column in blocks. Cached arrays are read-only, and so are their slices
and reshaped views, so that they cannot be changed by accident.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from deeplake_lite.dataset.read.values import freeze
from deeplake_lite.lru import LRUCache

if TYPE_CHECKING:
    from collections.abc import Callable

CACHE_BYTES = 1 << 30
"""Maximum total size of the cache, in bytes."""

LARGEST_SHARE = 2
"""Arrays larger than the limit divided by this number are not cached."""


class Sized(Protocol):
    """An array, or an object that contains arrays."""

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        ...


class ColumnCache(LRUCache[tuple[object, ...], Any]):
    """A cache of arrays, whose keys are tuples of lake, version, column and purpose."""

    def __init__(self, limit: int = CACHE_BYTES) -> None:
        super().__init__(limit, LARGEST_SHARE)

    def get_or_make[T: Sized](self, key: tuple[object, ...], make: Callable[[], T]) -> T:
        """Return the cached array with a key. If there is none, call `make`, and cache its result.

        `make` runs without the lock, so two threads may make the same array.
        """
        array: T | None = self.get(key)
        if array is None:
            array = make()
            if self.has_room(array.nbytes):
                freeze(array)
                self.put(key, array)
        return array


CACHE = ColumnCache()
