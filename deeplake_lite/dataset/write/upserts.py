"""Appending what is new and changing what differs, told apart by a key; and filling a new column.

Rows match when the values of the key column are equal. Cells are compared by digest, so that taking
in the same data twice writes nothing.
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
from deeplake_lite.dataset.write.columns import filled
from deeplake_lite.dataset.write.keys import Keys
from deeplake_lite.dataset.write.transfer import Transfer
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes.cells import take

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
    """What an upsert did."""

    added: int
    """Rows whose key was new."""
    changed: int
    """Rows of which at least one cell differed."""
    unchanged: int
    """Rows that were there already."""


def upsert(handle: Handle, data: Data, on: str, check: Check) -> Upserted:
    """Append the rows whose key is new, change those that differ; see `Dataset.upsert`."""
    return handle.edit(_upsert, data, on, check)


def _upsert(table: Table, data: Data, on: str, check: Check) -> Upserted:
    key = table.schema[on]
    columns, count = as_columns(data, table.schema)
    if not count:
        return Upserted(0, 0, 0)
    if on not in columns:
        raise InvalidValueError(
            f"an upsert needs the values of its key, column {on!r} is missing.", column=on
        )
    keys = Keys(table, key)
    digests = keys.digest(encode_column(key, columns[on], 0, count, check))
    _check_unique(digests, f"the data that was handed in has {on!r} twice", on)
    slots = keys.find(digests)
    new = np.flatnonzero(slots < 0)
    differing = list(_differing(table, columns, np.flatnonzero(slots >= 0), slots, check))
    fresh = {name: _pick(values, new) for name, values in columns.items()}
    table.write(
        _naming(new, encode_blocks(fresh, len(new), table.schema.fields, check)),
        [(slots[rows], {column: cells}) for rows, column, cells in differing],
    )
    changed = len(np.unique(np.concatenate([np.empty(0, np.int64), *(r for r, _, _ in differing)])))
    return Upserted(len(new), changed, count - len(new) - changed)


def column_blocks(table: Table, added: Field, values: Any) -> Iterator[Cells]:
    """Yield the cells of a new column for every slot.

    `values` holds one value per row, in the rows' order, or is None for the default.
    """
    position = np.full(table.rows.slots, -1, np.int64)
    position[table.rows.live()] = np.arange(len(table))
    return filled(
        table, added, lambda slots: _encode_rows(added, values, position[slots], "header")
    )


def _encode_rows(f: Field, values: Any, rows: NDArray[np.int64], check: Check) -> Cells:
    """Encode values of some rows, or the default where there are none; an error names the row."""
    given = None if values is None else _pick(values, rows)
    with naming_rows(rows.__getitem__):
        return encode_column(f, given, 0, len(rows), check)


def _naming[T](rows: NDArray[np.int64], blocks: Iterator[T]) -> Iterator[T]:
    """Yield blocks made of some rows; an error names the row among all that were given."""
    with naming_rows(rows.__getitem__):
        yield from blocks


def _differing(
    table: Table,
    columns: Mapping[str, Any],
    rows: NDArray[np.int64],
    slots: NDArray[np.int64],
    check: Check,
) -> Iterator[tuple[NDArray[np.int64], str, Cells]]:
    """Yield the cells that differ from what is there: rows, column id, new cells."""
    for name, values in columns.items():
        f, start = table.schema[name], 0
        blocks = encode_blocks({name: _pick(values, rows)}, len(rows), [f], check)
        for block in _naming(rows, blocks):
            cells = block[f.id]
            some = rows[start : start + len(cells)]
            start += len(cells)
            differ = table.digest(f.id, cells) != table.digests(f.id, slots[some])
            if differ.any():
                yield some[differ], f.id, take(cells, np.flatnonzero(differ))


def _check_unique(keys: NDArray[np.uint64], what: str, on: str) -> None:
    first, counts = np.unique(keys, return_index=True, return_counts=True)[1:]
    if (counts > 1).any():
        row = int(first[counts > 1][0])
        raise InvalidValueError(
            f"a key tells rows apart, but {what}. Leave one out.", column=on, row=row
        )


def _pick(values: Any, rows: NDArray[np.int64]) -> Any:
    """Return the values of some rows, of an array or any sequence."""
    if isinstance(values, Transfer):
        return values.at(rows)
    if isinstance(values, np.ndarray):
        return values[rows]
    return [values[i] for i in rows.tolist()]
