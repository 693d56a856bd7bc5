"""Checking and encoding what a user's function returns for a batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from deeplake_lite.brief import brief
from deeplake_lite.dataset.write.blocks import encode_column, is_sequence, named_columns
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes.words import pluralize

if TYPE_CHECKING:
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.schema import Schema


def encode_output(output: object, schema: Schema, count: int) -> dict[str, Cells]:
    """Return a dict from column ids to cells.

    Parameters
    ----------
    output : mapping, array or sequence
        A dict with one value per row for each column, or, for a single column, only its values.
    schema : Schema
        The columns to fill.
    count : int
        Number of rows in the batch.

    Raises
    ------
    InvalidValueError
        When columns are missing or unknown, their length is wrong, or a value is invalid.

    Examples
    --------
    >>> from deeplake_lite.schema import Schema
    >>> schema = Schema.build({"n": "int16"})
    >>> [cells.values for cells in encode_output([3, 4], schema, 2).values()]
    [array([3, 4], dtype=int16)]
    >>> encode_output([3], schema, 2)
    Traceback (most recent call last):
    deeplake_lite.errors.InvalidValueError: column 'n': the function must return one value per
    row, but for 2 rows it returned 1 value.
    """
    columns = named_columns(_by_column(output, schema), schema)
    cells = {}
    for f in schema:
        values = columns[f.name]
        if not is_sequence(values):
            raise InvalidValueError(
                f"the function must return one value per row, but it returned {brief(values)}. "
                "Return an array or a list.",
                column=f.name,
            )
        if len(values) != count:
            raise InvalidValueError(
                "the function must return one value per row, but for "
                f"{pluralize(count, 'row')} it returned {pluralize(len(values), 'value')}.",
                column=f.name,
            )
        cells[f.id] = encode_column(f, values, 0, count, "header")
    return cells


def _by_column(output: object, schema: Schema) -> Mapping[str, object]:
    """Return a dict from the names of all columns to what the function returned for them."""
    names = schema.names
    if isinstance(output, Mapping) and set(output) == set(names):
        return {name: output[name] for name in names}
    if len(names) == 1 and not isinstance(output, Mapping):
        return {names[0]: output}
    if isinstance(output, Mapping):
        actual = f"a dict with the keys {brief(list(output), 120)}"
    else:
        actual = f"{type(output).__name__} {brief(output)}"
    raise InvalidValueError(
        f"The function must return a dict with the keys {brief(list(names), 120)}, as into= names "
        f"these columns, but it returned {actual}."
    )
