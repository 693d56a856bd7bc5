"""Conversion of users' data, by column or by row, to blocks of checked and encoded cells.

Memory use is limited, because each block has only about `BLOCK_BYTES` of encoded cells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import batched, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.dataset.arrow.capsules import is_wrong_table, table_hint
from deeplake_lite.dataset.view import View
from deeplake_lite.dataset.write.tables import Tabular, named_values, table_columns
from deeplake_lite.dataset.write.transfer import (
    Transfer,
    naming_types,
    transfer_values,
    wrap_source,
)
from deeplake_lite.errors import ColumnNotFoundError, InvalidValueError, SchemaError
from deeplake_lite.htypes.cells import Cells, DenseCells, NestedCells, RaggedCells
from deeplake_lite.htypes.reencoding import collect_notices, warn_once
from deeplake_lite.htypes.tensors import array_of, is_tensor
from deeplake_lite.htypes.words import pluralize
from deeplake_lite.storage import chunks

if TYPE_CHECKING:
    from typing import SupportsInt

    from numpy.typing import NDArray

    from deeplake_lite.dataset.selection import ReadTable
    from deeplake_lite.htypes import Htype
    from deeplake_lite.htypes.base import Check
    from deeplake_lite.schema import Field, Schema

BLOCK_BYTES = 16 * 2**20
"""Approximate encoded size of a block, in bytes."""

FIRST_ROWS = 64
"""Number of rows in the first block, before the size of a row is known."""

MAX_ROWS = 65_536
"""Maximum number of rows in a block."""

STREAMED_ROWS = 1_024
"""Number of rows that are read from a generator at a time."""

type Data = Mapping[str, object] | Iterable[Mapping[str, object]] | Tabular | View
"""A dict of columns, dicts of rows (in a list or from a generator), a DataFrame, Arrow table or
view.
"""


def as_columns(data: Data, schema: Schema) -> tuple[dict[str, object], int]:
    """Return a dict that maps column names to the users' values, and the number of rows.

    Raises
    ------
    ColumnNotFoundError
        When a named column does not exist in the schema.
    InvalidValueError
        When columns differ in length, or a column is not a sequence of values.
    """
    if not _is_columnar(data):
        data = list(_rows(data))
    columns = named_columns(data, schema)
    for name, values in columns.items():
        if not is_sequence(values):
            raise InvalidValueError(
                f"must be a sequence with one value per row, but it is {brief(values)}. For a "
                f"single row, write [{{{name!r}: …}}] or {{{name!r}: […]}}.",
                column=name,
            )
    lengths = {name: len(values) for name, values in columns.items()}
    for (a, n), (b, m) in pairwise(lengths.items()):
        if n != m:
            raise InvalidValueError(
                f"All columns must have the same length, but {a!r} has {pluralize(n, 'row')} and "
                f"{b!r} has {m:,}. Pass one value per row for each column."
            )
    return columns, next(iter(lengths.values()), len(data) if isinstance(data, list) else 0)


def named_columns(data: Data, schema: Schema) -> dict[str, Any]:
    """Return a dict that maps column names to the users' values, which are not checked yet.

    Raises
    ------
    ColumnNotFoundError
        When a named column does not exist in the schema.
    """
    columns: dict[str, Any]
    if isinstance(data, View):
        columns = {name: data[name] for name in data.columns}
    elif isinstance(data, Tabular) and _is_columnar(data):
        columns = table_columns(data, schema)
    elif isinstance(data, Mapping):
        types = {f.name: f.htype for f in schema}
        columns = {n: _sliceable_values(n, v, types.get(n)) for n, v in data.items()}
    else:
        columns = _transpose(list(_rows(data)), schema)
    for name, values in columns.items():
        if name not in schema.names:
            raise ColumnNotFoundError.named("column", name, schema.names)
        columns[name] = wrap_source(values, schema[name].htype)
    return columns


def incoming_blocks(data: Data, schema: Schema, check: Check) -> Iterator[dict[str, Cells]]:
    """Yield blocks of users' data, as dicts from column ids to cells. Generators are read in parts.

    Raises
    ------
    ColumnNotFoundError, InvalidValueError
        As for `as_columns` and `encode_blocks`.
    """
    if not isinstance(data, Iterator) or isinstance(data, Tabular):
        columns, count = as_columns(data, schema)
        yield from encode_blocks(columns, count, schema.fields, check)
        return
    start = 0
    for rows in batched(data, STREAMED_ROWS):
        try:
            columns, count = as_columns(rows, schema)
            yield from encode_blocks(columns, count, schema.fields, check)
        except InvalidValueError as error:
            row = None if error.row is None else error.row + start
            raise error.at(row=row) from error.__cause__
        start += len(rows)


def encode_blocks(
    columns: Mapping[str, object], count: int, fields: Sequence[Field], check: Check
) -> Iterator[dict[str, Cells]]:
    """Yield blocks of rows, as dicts from column ids to cells. Missing columns get their default.

    Raises
    ------
    InvalidValueError
        When a value is invalid; the error has the column's name and the row's position in the data.
    """
    start, rows = 0, FIRST_ROWS
    while start < count:
        stop = min(start + rows, count)
        block = {f.id: encode_column(f, columns.get(f.name), start, stop, check) for f in fields}
        yield block
        size = sum(map(cells_nbytes, block.values())) / (stop - start)
        start, rows = stop, int(np.clip(BLOCK_BYTES / max(size, 1), 1, min(MAX_ROWS, 8 * rows)))


def copy_blocks(
    source: ReadTable,
    slots: NDArray[np.int64],
    source_fields: Sequence[Field],
    fields: Sequence[Field],
) -> Iterator[dict[str, Cells]]:
    """Yield blocks of another table's rows, as dicts from column ids to cells.

    Cells are re-encoded only if the types of the two columns differ.

    Raises
    ------
    ColumnNotFoundError
        When a column of `source_fields` does not exist in `fields`.
    InvalidValueError
        When a column of another type does not accept a value.
    """
    by_name = {f.name: f for f in source_fields}
    for name in by_name.keys() - {f.name for f in fields}:
        raise ColumnNotFoundError.named("column", name, [f.name for f in fields])
    for span in chunks.spans(len(slots), chunks.COPY_ROWS):
        cells = source.read([f.id for f in source_fields], slots[span])
        yield {
            f.id: _convert_cells(f, by_name[f.name], cells[by_name[f.name].id], span)
            if f.name in by_name
            else encode_column(f, None, span.start, span.stop, "header")
            for f in fields
        }


def _convert_cells(f: Field, of: Field, cells: Cells, span: slice) -> Cells:
    """Convert cells of the field `of` to the field `f`. Re-encode them only if the types differ."""
    same = f.htype.bare == of.htype.bare
    if same and (f.htype.nullable or cells.valid is None):
        return cells
    try:
        with naming_types(of.htype, f.htype):
            values = transfer_values(of.htype, cells, f.htype)
            return encode_column(f, values, 0, len(cells), "header")
    except InvalidValueError as error:
        row = None if error.row is None else error.row + span.start
        raise error.at(column=f.name, row=row) from error.__cause__


def encode_column(
    f: Field, values: Any, start: int, stop: int, check: Check, *, warns: bool = True
) -> Cells:
    """Encode a column's values from `start` to `stop`. If `values` is None, use the default.

    If `warns` is true, a `ReencodedWarning` is issued for images that lose detail.
    """
    try:
        if values is None:
            return f.htype.encode_default(stop - start)
        of = values.of if isinstance(values, Transfer) else f.htype
        with naming_types(of, f.htype), collect_notices() as notices:
            cells = f.htype.encode(values[start:stop], check=check)
        if warns:
            warn_once(f.id, f.name, notices)
    except InvalidValueError as error:
        row = None if error.row is None else error.row + start
        raise error.at(column=f.name, row=row) from error.__cause__
    return cells


@contextmanager
def naming_rows(position: Callable[[int], SupportsInt]) -> Iterator[None]:
    """Name the right row in errors: `position` maps the index of a value to its row."""
    try:
        yield
    except InvalidValueError as error:
        row = None if error.row is None else int(position(error.row))
        raise error.at(row=row) from error.__cause__


def cells_nbytes(cells: Cells) -> int:
    """Return the encoded size of cells, in bytes."""
    match cells:
        case DenseCells(values):
            return values.nbytes
        case RaggedCells(buffers, shapes):
            return sum(memoryview(b).nbytes for b in buffers) + shapes.nbytes
        case NestedCells(counts, items):
            return counts.nbytes + cells_nbytes(items)


def is_sequence(values: object) -> bool:
    """Return whether values are a sequence with one value per row, such as a list or an array.

    >>> is_sequence([1, 2]), is_sequence("two"), is_sequence(np.array(2))
    (True, False, False)
    """
    is_indexable = hasattr(values, "__len__") and hasattr(values, "__getitem__")
    is_single = isinstance(values, str | bytes | Mapping) or getattr(values, "ndim", 1) == 0
    return is_indexable and not is_single


def sliceable(values: object) -> object:
    """Return values in a form that can be sliced, such as an array for a tensor.

    >>> from collections import deque
    >>> sliceable(deque([1, 2]))
    [1, 2]
    """
    if is_tensor(type(values)):
        return array_of(values)
    if isinstance(values, Sequence) and not isinstance(values, str | bytes):
        try:
            values[:0]
        except TypeError:
            return list(values)
    return values


def _sliceable_values(name: str, values: object, of: Htype | None) -> object:
    if isinstance(values, Iterator):
        return list(values)
    return named_values(name, sliceable(values), of)


def _is_columnar(data: object) -> bool:
    """Return whether data is organized by column: a dict, a table or a view."""
    if isinstance(data, Mapping | View):
        return True
    return isinstance(data, Tabular) and not is_wrong_table(data)


def _rows(data: object) -> Iterable[Mapping[str, object]]:
    """Yield the rows of data. Raises InvalidValueError if a row is not a dict."""
    if is_wrong_table(data):
        raise InvalidValueError(
            f"{_ACCEPTED_DATA}, but they are of type {type(data).__name__}. {table_hint(data)}"
        )
    if isinstance(data, str | bytes | set) or not np.iterable(data):
        raise InvalidValueError(
            f"{_ACCEPTED_DATA}, but they are of type {type(data).__name__}: {brief(data)}."
        )
    for i, row in enumerate(data):
        if not isinstance(row, Mapping):
            raise InvalidValueError(f"{_ACCEPTED_DATA}, but this is {brief(row)}.", row=i)
        yield row


_ACCEPTED_DATA = (
    "rows must be a dict of columns, a list or generator of dicts (one per row), a DataFrame, an "
    "Arrow table or a view"
)


def _transpose(rows: Sequence[Mapping[str, object]], schema: Schema) -> dict[str, list[object]]:
    """Convert a list of rows to columns. In rows without a value, a column gets its default."""
    names = dict.fromkeys(name for row in rows for name in row)
    if rows and not names and not schema.fields:
        raise SchemaError(
            "Rows need a column, but the dataset has none. Add one first: "
            "ds.add_column('x', 'int64')."
        )
    defaults = {f.name: f.htype.default for f in schema}
    return {name: [row.get(name, defaults.get(name)) for row in rows] for name in names}
