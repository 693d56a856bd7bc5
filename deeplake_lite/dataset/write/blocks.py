"""From what users hand in to blocks of checked cells: columns or rows, all columns of one length.

Blocks keep memory bounded: each holds about `BLOCK_BYTES` of encoded cells, whatever the size of a
row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import batched, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.dataset.arrow.capsules import is_wrong_table, table_hint
from deeplake_lite.dataset.view import View
from deeplake_lite.dataset.write.tables import Tabular, named_values, table_columns
from deeplake_lite.dataset.write.transfer import Transfer, naming_types, taken_from, transferred
from deeplake_lite.errors import ColumnNotFoundError, InvalidValueError
from deeplake_lite.htypes.cells import Cells, DenseCells, NestedCells, RaggedCells
from deeplake_lite.htypes.reencoding import collect_notices, warn_once
from deeplake_lite.htypes.tensors import array_of, is_tensor
from deeplake_lite.storage import chunks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.dataset.selection import ReadTable
    from deeplake_lite.htypes import Htype
    from deeplake_lite.htypes.base import Check
    from deeplake_lite.schema import Field, Schema

BLOCK_BYTES = 16 * 2**20
"""Encoded size of a block, about."""

FIRST_ROWS = 64
"""Rows of the first block, before the size of a row is known."""

MOST_ROWS = 65_536
"""Rows of a block at the most."""

STREAMED_ROWS = 1_024
"""Rows that are taken from a generator at a time."""

type Data = Mapping[str, Any] | Iterable[Mapping[str, Any]] | Tabular | View
"""Columns by name, rows as dicts (or a generator of them), a DataFrame, an Arrow table, a view."""


def as_columns(data: Data, schema: Schema) -> tuple[dict[str, Any], int]:
    """Return the columns that were handed in, by name, and their common length.

    Raises
    ------
    ColumnNotFoundError
        For a column that the schema does not have.
    InvalidValueError
        For columns of different lengths, or values that are no sequence.
    """
    if not _is_columnar(data):
        data = list(_rows(data))
    columns = named_columns(data, schema)
    for name, values in columns.items():
        if not is_sequence(values):
            raise InvalidValueError(
                f"takes one sequence of values, one per row, got {brief(values)}. "
                f"For a single row write [{{{name!r}: …}}] or {{{name!r}: […]}}.",
                column=name,
            )
    lengths = {name: len(values) for name, values in columns.items()}
    for (a, n), (b, m) in pairwise(lengths.items()):
        if n != m:
            raise InvalidValueError(f"columns have one length: {a!r} has {n} rows, {b!r} has {m}.")
    return columns, next(iter(lengths.values()), len(data) if isinstance(data, list) else 0)


def named_columns(data: Data, schema: Schema) -> dict[str, Any]:
    """Return what was handed in by column name; the values are yet to be looked at.

    Raises
    ------
    ColumnNotFoundError
        For a column that the schema does not have.
    """
    columns: dict[str, Any]
    if isinstance(data, View):
        columns = {name: data[name] for name in data.columns}
    elif isinstance(data, Tabular) and _is_columnar(data):
        columns = table_columns(data, schema)
    elif isinstance(data, Mapping):
        types = {f.name: f.htype for f in schema}
        columns = {n: _listed(n, v, types.get(n)) for n, v in data.items()}
    else:
        columns = _transpose(list(_rows(data)), schema)
    for name, values in columns.items():
        if name not in schema.names:
            raise ColumnNotFoundError.named("column", name, schema.names)
        columns[name] = taken_from(values, schema[name].htype)
    return columns


def incoming_blocks(data: Data, schema: Schema, check: Check) -> Iterator[dict[str, Cells]]:
    """Yield blocks of cells by column id, of whatever was handed in.

    Raises
    ------
    ColumnNotFoundError, InvalidValueError
        As `as_columns` and `encode_blocks` do.
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
    columns: Mapping[str, Any], count: int, fields: Sequence[Field], check: Check
) -> Iterator[dict[str, Cells]]:
    """Yield blocks of cells by column id; columns that were left out get their default.

    Raises
    ------
    InvalidValueError
        With the column's name and the row's position in what was handed in.
    """
    start, rows = 0, FIRST_ROWS
    while start < count:
        stop = min(start + rows, count)
        block = {f.id: encode_column(f, columns.get(f.name), start, stop, check) for f in fields}
        yield block
        size = sum(map(cells_nbytes, block.values())) / (stop - start)
        start, rows = stop, int(np.clip(BLOCK_BYTES / max(size, 1), 1, min(MOST_ROWS, 8 * rows)))


def copy_blocks(
    source: ReadTable, slots: NDArray[np.int64], given: Sequence[Field], fields: Sequence[Field]
) -> Iterator[dict[str, Cells]]:
    """Yield blocks of another table's cells by column id; stored bytes are copied where they fit.

    Raises
    ------
    ColumnNotFoundError
        For a column that there is no field for.
    InvalidValueError
        For values that a column of another type does not take.
    """
    names = {f.name: f for f in given}
    for name in names.keys() - {f.name for f in fields}:
        raise ColumnNotFoundError.named("column", name, [f.name for f in fields])
    for span in chunks.spans(len(slots), chunks.COPY_ROWS):
        read = source.read([f.id for f in given], slots[span])
        yield {
            f.id: _copied(f, names[f.name], read[names[f.name].id], span)
            if f.name in names
            else encode_column(f, None, span.start, span.stop, "header")
            for f in fields
        }


def _copied(f: Field, of: Field, cells: Cells, span: slice) -> Cells:
    """Return the cells of a field `of` as they are for a field `f`, encoded anew if they differ."""
    same = replace(f.htype, nullable=False, default=None) == replace(
        of.htype, nullable=False, default=None
    )
    if same and (f.htype.nullable or cells.valid is None):
        return cells
    try:
        with naming_types(of.htype, f.htype):
            values = transferred(of.htype, cells, f.htype)
            return encode_column(f, values, 0, len(cells), "header")
    except InvalidValueError as error:
        row = None if error.row is None else error.row + span.start
        raise error.at(column=f.name, row=row) from error.__cause__


def encode_column(
    f: Field, values: Any, start: int, stop: int, check: Check, *, warns: bool = True
) -> Cells:
    """Encode values of one column from `start` to `stop`; its default where there are none.

    With `warns`, a `ReencodedWarning` names images that lose detail.
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
def naming_rows(position: Callable[[int], Any]) -> Iterator[None]:
    """Let errors of values for some rows, one each, name the row instead of the value's place."""
    try:
        yield
    except InvalidValueError as error:
        row = None if error.row is None else int(position(error.row))
        raise error.at(row=row) from error.__cause__


def cells_nbytes(cells: Cells) -> int:
    """Return the encoded size of cells, bytes."""
    match cells:
        case DenseCells(values):
            return values.nbytes
        case RaggedCells(buffers, shapes):
            return sum(memoryview(b).nbytes for b in buffers) + shapes.nbytes
        case NestedCells(counts, items):
            return counts.nbytes + cells_nbytes(items)


def is_sequence(values: Any) -> bool:
    """Tell whether there is one value per row: a list, an array of an axis or more, a column.

    >>> is_sequence([1, 2]), is_sequence("two"), is_sequence(np.array(2))
    (True, False, False)
    """
    listed = hasattr(values, "__len__") and hasattr(values, "__getitem__")
    single = isinstance(values, str | bytes | Mapping) or getattr(values, "ndim", 1) == 0
    return listed and not single


def sliceable(values: Any) -> Any:
    """Return values of which some rows can be taken: an array for a tensor, a list for a deque.

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


def _listed(name: str, values: Any, of: Htype | None) -> Any:
    if isinstance(values, Iterator):
        return list(values)
    return named_values(name, sliceable(values), of)


def _is_columnar(data: Any) -> bool:
    """Tell whether rows come by column: a dict, a table, a view; a column alone is no rows."""
    if isinstance(data, Mapping | View):
        return True
    return isinstance(data, Tabular) and not is_wrong_table(data)


def _rows(data: Any) -> Iterable[Mapping[str, Any]]:
    """Return rows to go through; what is no row, or no rows at all, is refused."""
    if is_wrong_table(data):
        raise InvalidValueError(f"{_TAKEN}; got {type(data).__name__}. {table_hint(data)}")
    if isinstance(data, str | bytes | set) or not np.iterable(data):
        raise InvalidValueError(f"{_TAKEN}; got {type(data).__name__} {brief(data)}.")
    for i, row in enumerate(data):
        if not isinstance(row, Mapping):
            raise InvalidValueError(f"{_TAKEN}; got {brief(row)}.", row=i)
        yield row


_TAKEN = (
    "rows come as a dict of columns, a list or generator of dicts, one per row, a DataFrame, an "
    "Arrow table, or a view"
)


def _transpose(rows: Sequence[Mapping[str, Any]], schema: Schema) -> dict[str, list[Any]]:
    """Turn a list of rows into columns; what a row leaves out is the column's default."""
    names = dict.fromkeys(name for row in rows for name in row)
    defaults = {f.name: f.htype.default for f in schema}
    return {name: [row.get(name, defaults.get(name)) for row in rows] for name in names}
