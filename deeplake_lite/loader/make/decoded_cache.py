"""A cache that keeps decoded pixels from one epoch to the next.

The cache keeps as many of the view's first rows as fit. Every row is used once per epoch, so any
choice of rows would have the same hit rate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from deeplake_lite.loader.make.recipe import ColumnRecipe
    from deeplake_lite.loader.order.order import Positions
    from deeplake_lite.loader.read.tally import Tally


class DecodedCache:
    """A cache of the decoded values of columns in which all values have the same shape.

    Parameters
    ----------
    columns : mapping
        Recipes of the columns. Columns whose values differ in shape are not cached.
    rows : int
        Number of rows in the view.
    limit : int
        Maximum size of the cache, in bytes.
    tally : Tally
        Counts the cached bytes.
    """

    def __init__(
        self, columns: Mapping[str, ColumnRecipe], rows: int, limit: int, tally: Tally
    ) -> None:
        self._tally = tally
        kinds = {
            name: (recipe.shape, np.dtype(recipe.dtype))
            for name, recipe in columns.items()
            if recipe.shape is not None and recipe.dtype is not None
        }
        row_bytes = sum(int(np.prod(shape)) * dtype.itemsize for shape, dtype in kinds.values())
        self.rows = min(rows, limit // max(1, row_bytes))
        """Number of rows that are cached."""
        self._values = {name: np.empty((self.rows, *s), d) for name, (s, d) in kinds.items()}
        self._is_cached = {name: np.zeros(self.rows, bool) for name in kinds}

    def take(self, name: str, positions: Positions, out: NDArray[Any]) -> NDArray[np.bool_]:
        """Copy the cached values of rows to `out`. Return a mask of the rows that were cached."""
        is_cached = self._is_cached.get(name)
        if is_cached is None or not self.rows:
            return np.zeros(len(positions), bool)
        hits = (positions < self.rows) & is_cached.take(positions, mode="clip")
        if hits.all():
            np.take(self._values[name], positions, axis=0, out=out, mode="clip")
        else:
            for row in np.flatnonzero(hits).tolist():
                out[row] = self._values[name][positions[row]]
        return hits

    def put(self, name: str, positions: Positions, values: NDArray[Any]) -> None:
        """Cache the values of those rows that are among the first `rows` rows of the view."""
        is_cached = self._is_cached.get(name)
        if is_cached is None:
            return
        count = 0
        for row, position in enumerate(positions.tolist()):
            if position < self.rows and not is_cached[position]:
                self._values[name][position] = values[row]
                is_cached[position] = True  # after the value, as other threads read without a lock
                count += 1
        self._tally.hold(count * values[:1].nbytes)
