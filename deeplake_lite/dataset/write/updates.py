"""Interpretation of an update's values as one value per row, or as one value for all rows.

Values are interpreted as one value per row if the column accepts each of them. Otherwise, they are
interpreted as a single cell, which is repeated for every row, like a number in NumPy:
``ds["label"][1:4] = "two"``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.write.blocks import encode_column, is_sequence, sliceable
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes.cells import Cells, take
from deeplake_lite.htypes.words import pluralize

if TYPE_CHECKING:
    from deeplake_lite.schema import Field


def cells_for(f: Field, values: Any, rows: int) -> Cells:
    """Return the cells of `rows` rows, given one value per row or one value for all rows.

    Raises
    ------
    InvalidValueError
        When the column accepts the values in neither form.

    Examples
    --------
    >>> from deeplake_lite.schema import Schema
    >>> vector = Schema.build({"v": "text", "tags": "json"}).fields
    >>> cells_for(vector[0], "two", 3).buffers
    [b'two', b'two', b'two']
    >>> cells_for(vector[1], ["a", "b"], 3)
    Traceback (most recent call last):
        ...
    deeplake_lite.errors.InvalidValueError: column 'tags': an update needs one value per row, ...
    """
    if not is_sequence(values):
        return _one_for_all(f, values, rows)
    values = sliceable(values)
    checked = values if len(values) == rows else values[:1]
    try:
        cells = encode_column(f, checked, 0, len(checked), "header")
    except InvalidValueError as error:
        try:
            return _one_for_all(f, values, rows)
        except InvalidValueError:
            raise (error if len(values) == rows else _count_error(f, values, rows)) from None
    if len(values) != rows:
        raise _count_error(f, values, rows)
    return cells


def _one_for_all(f: Field, value: object, rows: int) -> Cells:
    """Return cells that all have the same value. Errors do not name a row."""
    try:
        return take(encode_column(f, [value], 0, 1, "header"), np.zeros(rows, np.int64))
    except InvalidValueError as error:
        raise type(error)(error.args[0], column=f.name) from error.__cause__


def _count_error(f: Field, values: Any, rows: int) -> InvalidValueError:
    return InvalidValueError(
        "an update needs one value per row, or one value for all rows, but for "
        f"{pluralize(rows, 'row')} it got {pluralize(len(values), 'value')}.",
        column=f.name,
    )
