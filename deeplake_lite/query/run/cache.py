"""What queries keep of committed columns, for the next query.

Arrays, NumPy's or Arrow's, by lake, version, column and what is kept of it, up to a bound. What is
larger than half of it is not kept, and read in parts instead. Kept arrays are read-only: every
slice and reshape of one is read-only, too, so that a caller who wants to write takes a copy.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Any

from deeplake_lite.dataset.read.values import freeze

if TYPE_CHECKING:
    from collections.abc import Callable

CACHE_BYTES = 1 << 30
"""Columns kept for the next query, at the most."""


class ColumnCache:
    """Arrays by lake, version and column; least recently used out first."""

    def __init__(self, limit: int = CACHE_BYTES) -> None:
        self._limit, self._held, self._lock = limit, 0, Lock()
        self._found: OrderedDict[tuple[Any, ...], Any] = OrderedDict()

    def get(self, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """Return what is kept, or make it and keep it."""
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
                return self._found[key]
        made = make()
        with self._lock:
            if key not in self._found and self.has_room(made.nbytes):
                freeze(made)
                self._found[key] = made
                self._held += made.nbytes
            while self._held > self._limit:
                self._held -= self._found.popitem(last=False)[1].nbytes
        return made

    def holds(self, key: tuple[Any, ...]) -> bool:
        """Tell whether something is kept."""
        with self._lock:
            return key in self._found

    def has_room(self, nbytes: int) -> bool:
        """Tell whether something of a size would be kept."""
        return nbytes <= self._limit // 2

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._found.clear()
            self._held = 0


CACHE = ColumnCache()
