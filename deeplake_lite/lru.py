"""A cache of limited size that evicts the least recently used values."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Protocol


class Sized(Protocol):
    """A value with a size in bytes."""

    @property
    def nbytes(self) -> int:
        """Size in bytes."""


class LRUCache[K: Hashable, V: Sized]:
    """A thread-safe cache that maps keys to values, up to a total number of bytes.

    Parameters
    ----------
    limit : int
        Maximum total size of the values, in bytes.
    share : int
        Values larger than `limit` divided by `share` are not cached.

    Examples
    --------
    >>> import numpy as np
    >>> cache = LRUCache[str, np.ndarray](600)
    >>> for key in "abc":
    ...     cache.put(key, np.zeros(200, np.uint8))
    >>> cache.get("a") is None
    False
    >>> cache.put("d", np.zeros(200, np.uint8))
    >>> [key for key in "abcd" if key in cache], cache.nbytes
    (['a', 'c', 'd'], 600)
    """

    def __init__(self, limit: int, share: int = 1) -> None:
        self._limit, self._share, self._size = limit, share, 0
        self._values: OrderedDict[K, V] = OrderedDict()
        self._lock = Lock()

    def __contains__(self, key: K) -> bool:
        """Return whether a value is cached. This does not count as a use of the value."""
        return key in self._values

    @property
    def nbytes(self) -> int:
        """Total size of the cached values, in bytes."""
        return self._size

    def has_room(self, nbytes: int) -> bool:
        """Return whether a value of the given size would be cached."""
        return nbytes <= self._limit // self._share

    def get(self, key: K) -> V | None:
        """Return a value, or None if it is not cached."""
        with self._lock:
            value = self._values.get(key)
            if value is not None:
                self._values.move_to_end(key)
            return value

    def put(self, key: K, value: V) -> None:
        """Replace the cached value, or only remove it if the new value is too large."""
        with self._lock:
            self._drop(key)
            if self.has_room(value.nbytes):
                self._values[key] = value
                self._size += value.nbytes
                self._make_room()

    def resize(self, limit: int) -> None:
        """Change the limit, in bytes."""
        with self._lock:
            self._limit = limit
            self._make_room()

    def clear(self) -> None:
        """Remove all values."""
        with self._lock:
            self._values.clear()
            self._size = 0

    def _make_room(self) -> None:
        while self._size > self._limit:
            self._drop(next(iter(self._values)))

    def _drop(self, key: K) -> None:
        value = self._values.pop(key, None)
        if value is not None:
            self._size -= value.nbytes
