"""Traits that validate assigned values by running the query or checking the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, override

import numpy as np
import traitlets as t

from deeplake_lite.brief import brief
from deeplake_lite.dataset.view import View
from deeplake_lite.errors import OptionError, RowIndexError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.widget.browser import Browser


class QueryText(t.Unicode[str, str]):
    """The shown query. Assigning a query runs the query. If the query fails, nothing changes."""

    @override
    def validate(self, obj: Any, value: object) -> str:
        browser: Browser = obj
        return browser.take_query(super().validate(obj, value))


class ShownView(t.TraitType[View, View]):
    """The shown view. Assigning a view shows this view."""

    info_text = "a view, such as ds[:100]"

    def validate(self, obj: Any, value: object) -> View:
        """Show the assigned view. Return the view that is shown afterwards."""
        browser: Browser = obj
        if not isinstance(value, View):
            self.error(obj, value)
        return browser.take_view(value)


class Positions(t.TraitType["NDArray[np.int64]", Any]):
    """Unique, ascending positions of rows in the shown view, (n,) int64."""

    info_text = "positions of shown rows"

    def validate(self, obj: Any, value: object) -> NDArray[np.int64]:
        """Convert positions or a mask to positions."""
        browser: Browser = obj
        return positions_of(value, len(browser.view))


def positions_of(value: Any, rows: int) -> NDArray[np.int64]:
    """Convert positions or a mask to ascending positions.

    Raises RowIndexError if a row does not exist or the mask has another length, and OptionError if
    the value is neither a list of positions nor a mask.

    >>> positions_of([3, 1, 1, -1], 5).tolist(), positions_of([True, False], 2).tolist()
    ([1, 3, 4], [0])
    """
    array = np.asarray(value)
    if array.dtype == bool:
        if array.shape != (rows,):
            raise RowIndexError(
                f"A mask must have one value for each of the {rows:,} rows, but its shape is "
                f"{array.shape}. Create the mask from w.view, the shown view."
            )
        return np.flatnonzero(np.ma.filled(value, fill_value=False))
    if not array.size:
        return np.empty(0, np.int64)
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise OptionError(
            "A selection must be a list of integer positions, or a mask, but it is "
            f"{brief(value, 80)}. Pass positions such as [0, 2]."
        )
    low, high = int(array.min()), int(array.max())
    if low < -rows or high >= rows:
        raise RowIndexError(
            f"Positions must be at least {-rows:,} and below {rows:,}, the number of shown rows, "
            f"but one of them is {high if high >= rows else low:,}. Select rows of w.view."
        )
    positions = array.astype(np.int64)
    return ascending(np.where(positions < 0, positions + rows, positions) if low < 0 else positions)


def ascending(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sort numbers and remove duplicates, unless the numbers are already ascending.

    >>> ascending(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    if (numbers[1:] > numbers[:-1]).all():
        return numbers
    ordered = np.sort(numbers)
    unique: NDArray[np.int64] = ordered[np.append(True, ordered[1:] > ordered[:-1])]
    return unique
