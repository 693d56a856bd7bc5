"""A cache of the points of rows, so that the vectors are not read again for each query."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

type Ids = NDArray[np.int64]
type Points = NDArray[np.float32]

MAX_CACHED_ROWS = 1_000_000
"""Maximum number of rows in the cache, at 16 bytes each. A full cache is cleared."""


class PointCache:
    """A cache of the points of rows, which are identified by their ids.

    Examples
    --------
    >>> cache, calls = PointCache(), []
    >>> def compute(new):
    ...     calls.append(new.tolist())
    ...     return np.stack([new, new], axis=1).astype(np.float32)
    >>> cache.get(np.array([30, 10]), compute).tolist()
    [[0.0, 0.0], [1.0, 1.0]]
    >>> cache.get(np.array([10, 20, 30]), compute).tolist()
    [[1.0, 1.0], [1.0, 1.0], [0.0, 0.0]]
    >>> calls
    [[0, 1], [1]]
    """

    def __init__(self) -> None:
        self._ids, self._points = np.empty(0, np.int64), np.empty((0, 2), np.float32)

    def get(self, ids: Ids, compute: Callable[[NDArray[np.int64]], Points]) -> Points:
        """Return the points of rows, (n, 2).

        `compute` is called with the indices of the ids that are not cached, and returns their
        points.
        """
        points = np.full((len(ids), 2), np.nan, np.float32)
        at = np.searchsorted(self._ids, ids)
        is_cached = np.zeros(len(ids), bool)
        inside = at < len(self._ids)
        is_cached[inside] = self._ids[at[inside]] == ids[inside]
        points[is_cached] = self._points[at[is_cached]]
        new = np.flatnonzero(~is_cached)
        if len(new):
            points[new] = compute(new)
            self._add(ids[new], points[new])
        return points

    def _add(self, ids: Ids, points: Points) -> None:
        if len(self._ids) + len(ids) > MAX_CACHED_ROWS:
            self._ids, self._points = self._ids[:0], self._points[:0]
        all_ids = np.concatenate([self._ids, ids])
        all_points = np.concatenate([self._points, points])
        self._ids, at = np.unique(all_ids, return_index=True)
        self._points = all_points[at]
