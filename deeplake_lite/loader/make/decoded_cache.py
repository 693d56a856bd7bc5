"""Pixels of earlier epochs, so that what fits is decoded once.

Rows are kept by their position: the first ones, as many as there is room for. In an epoch every row
comes once, so no choice of rows would be found more often than any other.
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
    """DecodedCache values of columns of one shape.

    Parameters
    ----------
    columns : mapping
        Recipes; those without one shape are not kept.
    rows : int
        Of the view.
    limit : int
        Bytes that may be kept.
    tally : Tally
        Is told what is kept.
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
        each = sum(int(np.prod(shape)) * dtype.itemsize for shape, dtype in kinds.values())
        self.rows = min(rows, limit // max(1, each))
        """How many are kept."""
        self._values = {name: np.empty((self.rows, *s), d) for name, (s, d) in kinds.items()}
        self._known = {name: np.zeros(self.rows, bool) for name in kinds}

    def take(self, name: str, positions: Positions, out: NDArray[Any]) -> NDArray[np.bool_]:
        """Fill in what is kept of some rows; tell which rows are."""
        known = self._known.get(name)
        if known is None or not self.rows:
            return np.zeros(len(positions), bool)
        found = (positions < self.rows) & known.take(positions, mode="clip")
        if found.all():
            np.take(self._values[name], positions, axis=0, out=out, mode="clip")
        else:
            for row in np.flatnonzero(found).tolist():
                out[row] = self._values[name][positions[row]]
        return found

    def put(self, name: str, positions: Positions, values: NDArray[Any]) -> None:
        """Keep values of some rows, as far as there is room."""
        known = self._known.get(name)
        if known is None:
            return
        count = 0
        for row, position in enumerate(positions.tolist()):
            if position < self.rows and not known[position]:
                self._values[name][position] = values[row]
                known[position] = True
                count += 1
        self._tally.hold(count * values[:1].nbytes)
