"""Upserts, which append rows with new keys and update other rows; and the cells of new columns.

Rows match if their values in the key column are equal. Cells are compared by digest, so upserting
the same data twice writes nothing the second time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.write.blocks import (
    as_columns,
    encode_blocks,
    encode_column,
    naming_rows,
)
from deeplake_lite.dataset.write.columns import fill_column
from deeplake_lite.dataset.write.key_search import find_slots
from deeplake_lite.dataset.write.keys import KeyColumn, has_several_encodings
from deeplake_lite.dataset.write.transfer import Transfer
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes.cells import take
from deeplake_lite.htypes.layouts import Dense
from deeplake_lite.storage import chunks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from deeplake_lite.dataset.handle import Handle
    from deeplake_lite.dataset.write.blocks import Data
    from deeplake_lite.htypes.base import Check
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.schema import Field
    from deeplake_lite.storage.table import Table


@dataclass(frozen=True)
class Upserted:
    """The number of rows that an upsert added, changed and left unchanged."""

    added: int
    """Number of rows whose key was new."""
    changed: int
    """Number of existing rows in which at least one cell differed."""
    unchanged: int
    """Number of existing rows that were equal."""


def upsert(handle: Handle, data: Data, on: str, check: Check) -> Upserted:
    """Append rows with new keys, and update rows with existing keys; see `Dataset.upsert`."""
    return handle.edit(_upsert, data, on, check)


def _upsert(table: Table, data: Data, on: str, check: Check) -> Upserted:
    key = table.schema[on]
    columns, count = as_columns(data, table.schema)
    if not count:
        return Upserted(0, 0, 0)
    if on not in columns:
        raise InvalidValueError(
            "an upsert needs the key column in its data, but the column is missing. Add the "
            "column to the data.",
            column=on,
        )
    cells = encode_column(key, columns[on], 0, count, check)
    digests = KeyColumn(table, key).digest(cells)
    _check_unique(digests, on)
    slots = find_slots(table, key, cells, digests)
    new = np.flatnonzero(slots < 0)
    rest = {n: v for n, v in columns.items() if n != on or has_several_encodings(key.htype)}
    differing = list(_differing_cells(table, rest, np.flatnonzero(slots >= 0), slots, check))
    new_rows = {name: _pick(values, new) for name, values in columns.items()}
    table.write(
        _blocks_naming_rows(new, encode_blocks(new_rows, len(new), table.schema.fields, check)),
        [(slots[rows], {column: cells}) for rows, column, cells in differing],
    )
    changed = len(np.unique(np.concatenate([np.empty(0, np.int64), *(r for r, _, _ in differing)])))
    return Upserted(len(new), changed, count - len(new) - changed)


def column_blocks(table: Table, added: Field, values: object) -> Iterator[Cells]:
    """Yield the cells of a new column for every slot.

    `values` has one value per row, in the order of the rows, or is None for the default.
    """
    positions = table.rows.positions
    return fill_column(
        table, added, lambda slots: _encode_rows(added, values, positions(slots), "header")
    )


def _encode_rows(f: Field, values: object, rows: NDArray[np.int64], check: Check) -> Cells:
    """Encode the values of rows, or the default if `values` is None. Errors name the row."""
    selected = None if values is None else _pick(values, rows)
    with naming_rows(rows.__getitem__):
        return encode_column(f, selected, 0, len(rows), check)


def _blocks_naming_rows[T](rows: NDArray[np.int64], blocks: Iterator[T]) -> Iterator[T]:
    """Yield blocks of selected rows. Errors name the row's position in the complete data."""
    with naming_rows(rows.__getitem__):
        yield from blocks


def _differing_cells(
    table: Table,
    columns: Mapping[str, object],
    rows: NDArray[np.int64],
    slots: NDArray[np.int64],
    check: Check,
) -> Iterator[tuple[NDArray[np.int64], str, Cells]]:
    """Yield cells that differ from the stored cells, as triples (rows, column id, new cells)."""
    for name, values in columns.items():
        f, start = table.schema[name], 0
        stored = _stored_digests(table, f, slots[rows])
        blocks = encode_blocks({name: _pick(values, rows)}, len(rows), [f], check)
        for block in _blocks_naming_rows(rows, blocks):
            cells = block[f.id]
            block_rows = rows[start : start + len(cells)]
            differ = table.digest(f.id, cells) != stored[start : start + len(cells)]
            start += len(cells)
            if differ.any():
                yield block_rows[differ], f.id, take(cells, np.flatnonzero(differ))


def _stored_digests(table: Table, f: Field, slots: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the digests of stored cells, (n,) uint64. Each chunk is read once."""
    order, digests = np.argsort(slots, kind="stable"), np.empty(len(slots), np.uint64)
    sizes = np.zeros(len(slots), np.int64)  # digests of cells that are not dense are stored
    if isinstance(f.htype.layout, Dense):
        sizes = table.sizes(f.id, slots)
    for span in chunks.spans_within(sizes, chunks.COPY_BYTES):
        digests[order[span]] = table.digests(f.id, slots[order[span]])
    return digests


def _check_unique(keys: NDArray[np.uint64], on: str) -> None:
    first, counts = np.unique(keys, return_index=True, return_counts=True)[1:]
    if (counts > 1).any():
        row = int(first[counts > 1][0])
        raise InvalidValueError(
            f"keys must be unique, but a value of {on!r} occurs twice in the data. Leave one of "
            "the rows out.",
            column=on,
            row=row,
        )


def _pick(values: Any, rows: NDArray[np.int64]) -> object:
    """Return the values of the given rows from an array, a Transfer or any sequence."""
    if isinstance(values, Transfer):
        return values.at(rows)
    if isinstance(values, np.ndarray):
        return values[rows]
    return [values[i] for i in rows.tolist()]
