"""Encoding of lists as a column with the items of all rows, and the number of items in each row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes.cells import NestedCells
from deeplake_lite.htypes.foreign import column_array, is_column

if TYPE_CHECKING:
    from collections.abc import Callable

    from deeplake_lite.htypes.base import Check, Htype
    from deeplake_lite.htypes.cells import Values


def nest(
    rows: Values, item: Htype, check: Check, *, without_nulls: Callable[[], str]
) -> NestedCells:
    """Encode the lists of all rows.

    Parameters
    ----------
    rows : list or ndarray
        The items of each row.
    item : Htype
        Type of the items.
    check : {"header", "full"}
        How to check files.
    without_nulls : callable
        Returns the sentence of the error message that tells users how to fix null items.

    Raises
    ------
    InvalidValueError
        For an invalid item. The error's `row` is the position of the row, and its message names the
        item.
    """
    lists = [_as_list(value, row) for row, value in enumerate(rows)]
    counts = np.fromiter(map(len, lists), np.int64, len(lists))
    try:
        return NestedCells(
            counts, item.encode([value for items in lists for value in items], check=check)
        )
    except InvalidValueError as error:
        if error.row is None:
            raise
        ends = np.cumsum(counts)
        row = int(np.searchsorted(ends, error.row, side="right"))
        index = error.row - int(ends[row] - counts[row])
        message = error.args[0]
        if lists[row][index] is None and not item.nullable:
            message = f"must not be null, but it is None. {without_nulls()}"
        raise type(error)(f"item {index}: {message}", row=row) from error


def _as_list(value: object, row: int) -> Values:
    """Return the items of one row."""
    if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim):
        return value
    if is_column(type(value)):
        return column_array(value)
    raise InvalidValueError(
        f"must be a list of items, but it is {type(value).__name__} {brief(value)}. Put it in a "
        "list.",
        row=row,
    )
