"""Check and encode the values that a user's function returns for a batch: columns, or new rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.dataset.write.blocks import as_columns, encode_column, is_sequence, named_columns
from deeplake_lite.errors import ColumnNotFoundError, InvalidValueError
from deeplake_lite.htypes.words import pluralize

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.schema import Field, Schema


def encode_output(output: object, schema: Schema, count: int) -> dict[str, Cells]:
    """Return a dict from column ids to cells.

    Parameters
    ----------
    output : mapping, array or sequence
        A dict that has, for each column, one value per row. For a single column, its values
        suffice.
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
    """Return a dict from the names of all columns to the function's results for them."""
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
        f"The function must return a dict with the keys {brief(list(names), 120)}, because into= "
        f"names these columns, but it returned {actual}."
    )


def encode_rows(
    output: object, schema: Schema, count: int
) -> tuple[NDArray[np.int64], dict[str, Cells]]:
    """Return the number of new rows per row of a batch, and a dict from column ids to cells.

    Parameters
    ----------
    output : sequence
        One item per row of the batch: a list of dicts, one for each new row.
    schema : Schema
        The columns of the new rows. Columns that a dict leaves out get their default.
    count : int
        Number of rows in the batch.

    Raises
    ------
    InvalidValueError
        When the number of items is wrong, an item is not a list of dicts, a column is unknown, or a
        value is invalid.

    Examples
    --------
    >>> from deeplake_lite.schema import Schema
    >>> schema = Schema.build({"n": "int16"})
    >>> counts, cells = encode_rows([[{"n": 3}, {"n": 4}], []], schema, 2)
    >>> counts, [column.values for column in cells.values()]
    (array([2, 0]), [array([3, 4], dtype=int16)])
    >>> encode_rows([{"n": 3}], schema, 1)
    Traceback (most recent call last):
    deeplake_lite.errors.InvalidValueError: The function must return a list of dicts for each row,
    but for row 0 of the batch it returned {'n': 3}. Put a single dict into a list: [{…}].
    """
    items = [_new_rows(item, row) for row, item in enumerate(_items(output, count))]
    rows, counts = [row for item in items for row in item], np.array([len(i) for i in items])
    try:
        try:
            columns, total = as_columns(rows, schema)
        except ColumnNotFoundError as error:
            raise InvalidValueError(
                f"The function must return dicts with columns of schema=. {error}"
            ) from error
        cells = {f.id: _encode_new(f, columns.get(f.name), total) for f in schema}
    except InvalidValueError as error:
        if error.row is None:
            raise
        row = int(np.searchsorted(np.cumsum(counts), error.row, side="right"))
        number = error.row - int(counts[:row].sum())
        place = f"dict {number} of row {row} of the batch"
        column = "" if error.column is None else f", column {error.column!r}"
        raise InvalidValueError(f"{place}{column}: {error.args[0]}") from error
    return counts.astype(np.int64), cells


def _encode_new(f: Field, values: Any, count: int) -> Cells:
    """Encode the values of a column for new rows, or its defaults if there are no values."""
    return f.htype.encode([]) if not count else encode_column(f, values, 0, count, "header")


def _items(output: Any, count: int) -> Iterable[object]:
    """Return the items that a function has returned, one per row. Raises InvalidValueError."""
    if isinstance(output, Iterator):
        output = list(output)
    if not is_sequence(output):
        raise InvalidValueError(
            "The function must return a list with one item per row, each a list of dicts, but it "
            f"returned {type(output).__name__} {brief(output)}."
        )
    if len(output) != count:
        raise InvalidValueError(
            "The function must return one list of dicts per row, but for "
            f"{pluralize(count, 'row')} it returned {pluralize(len(output), 'item')}. For a row "
            "without results, return an empty list."
        )
    return output  # type: ignore[no-any-return] # a sequence, as checked


def _new_rows(item: Any, row: int) -> list[Mapping[str, object]]:
    """Return the new rows for one row of a batch. Raises InvalidValueError."""
    hint = " Put a single dict into a list: [{…}]." if isinstance(item, Mapping) else ""
    if item is None:
        hint = " For no new rows, return an empty list."
    rows: list[Any] = list(item) if np.iterable(item) and not hint else [None]
    if not all(isinstance(new, Mapping) for new in rows):
        raise InvalidValueError(
            f"The function must return a list of dicts for each row, but for row {row} of the "
            f"batch it returned {brief(item)}.{hint}"
        )
    return rows
