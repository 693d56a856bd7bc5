"""What an update means: one value per row, or one value for all of them.

Values that are one per row are taken so. What the column does not take so, but as a single cell, is
for every row, as NumPy spreads a number over a slice: ``ds["label"][1:4] = "two"``. A list that may
be read both ways is one value per row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.write.blocks import encode_column, is_sequence, sliceable
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes.cells import Cells, take
from deeplake_lite.htypes.words import counted

if TYPE_CHECKING:
    from deeplake_lite.schema import Field


def cells_for(f: Field, values: Any, rows: int) -> Cells:
    """Return the cells of some rows, given one value per row or one for all.

    Raises
    ------
    InvalidValueError
        For values that are neither.

    Examples
    --------
    >>> from deeplake_lite.schema import Schema
    >>> vector = Schema.build({"v": "text", "tags": "json"}).fields
    >>> cells_for(vector[0], "two", 3).buffers
    [b'two', b'two', b'two']
    >>> cells_for(vector[1], ["a", "b"], 3)
    Traceback (most recent call last):
        ...
    deeplake_lite.errors.InvalidValueError: column 'tags': an update takes one value per row, ...
    """
    if not is_sequence(values):
        return _one_for_all(f, values, rows)
    values = sliceable(values)
    given = values if len(values) == rows else values[:1]
    try:
        cells = encode_column(f, given, 0, len(given), "header")
    except InvalidValueError as error:
        try:
            return _one_for_all(f, values, rows)
        except InvalidValueError:
            raise (error if len(values) == rows else _miscounted(f, values, rows)) from None
    if len(values) != rows:
        raise _miscounted(f, values, rows)
    return cells


def _one_for_all(f: Field, value: Any, rows: int) -> Cells:
    """Return one value as the cells of all rows; an error names no row."""
    try:
        return take(encode_column(f, [value], 0, 1, "header"), np.zeros(rows, np.int64))
    except InvalidValueError as error:
        raise type(error)(error.args[0], column=f.name) from error.__cause__


def _miscounted(f: Field, values: Any, rows: int) -> InvalidValueError:
    return InvalidValueError(
        "an update takes one value per row, or one for all of them, but for "
        f"{counted(rows, 'row')} there are {counted(len(values), 'value')}.",
        column=f.name,
    )
