"""Traits that check what they are given: a query runs before it is taken, rows have to be there."""

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
    """The query that is shown. Setting it runs it; a mistake is raised, and all stays as it was."""

    @override
    def validate(self, obj: Any, value: Any) -> str:
        browser: Browser = obj
        return browser.take_query(super().validate(obj, value))


class ShownView(t.TraitType[View, View]):
    """The view that is shown. Setting it shows another."""

    info_text = "a view, such as ds[:100]"

    def validate(self, obj: Any, value: Any) -> View:
        """Return the view that is then shown."""
        browser: Browser = obj
        if not isinstance(value, View):
            self.error(obj, value)
        return browser.take_view(value)


class Positions(t.TraitType["NDArray[np.int64]", Any]):
    """Positions in the view that is shown: each once, ascending, (n,) int64."""

    info_text = "positions of rows that are shown"

    def validate(self, obj: Any, value: Any) -> NDArray[np.int64]:
        """Return positions as they are kept."""
        browser: Browser = obj
        return positions_of(value, len(browser.view))


def positions_of(value: Any, rows: int) -> NDArray[np.int64]:
    """Return positions as they are kept. Raises RowIndexError and TypeError.

    >>> positions_of([3, 1, 1, -1], 5).tolist(), positions_of([True, False], 2).tolist()
    ([1, 3, 4], [0])
    """
    array = np.asarray(value)
    if array.dtype == bool:
        if array.shape != (rows,):
            raise RowIndexError(
                f"A mask has one value for each of {rows:,} rows, got {array.shape}."
            )
        return np.flatnonzero(np.ma.filled(value, fill_value=False))
    if not array.size:
        return np.empty(0, np.int64)
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise OptionError(
            f"Rows are selected by their positions, whole numbers, or by a mask, got "
            f"{brief(value, 80)}."
        )
    low, high = int(array.min()), int(array.max())
    if low < -rows or high >= rows:
        raise RowIndexError(
            f"Positions lie below {rows:,}, the number of rows shown, got "
            f"{high if high >= rows else low:,}."
        )
    whole = array.astype(np.int64)
    return ascending(np.where(whole < 0, whole + rows, whole) if low < 0 else whole)


def ascending(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return numbers in order, each once; in no time where they are so already.

    >>> ascending(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    if (numbers[1:] > numbers[:-1]).all():
        return numbers
    found = np.sort(numbers)
    once: NDArray[np.int64] = found[np.append(True, found[1:] > found[:-1])]
    return once
