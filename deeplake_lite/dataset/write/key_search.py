"""A search for the rows that have given keys, for upserts.

The key column is read once, block by block, so the search takes little memory. Chunks whose
statistics exclude all keys are not read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.dataset.write.keys import check_not_repeated, digests_by_value
from deeplake_lite.htypes.cells import DenseCells
from deeplake_lite.htypes.layouts import Dense
from deeplake_lite.storage.array_spec import ArraySpec
from deeplake_lite.storage.slot_set import SlotSet

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.schema import Field
    from deeplake_lite.storage.table import Table

BLOCK_ROWS = 2**18
"""Maximum number of rows whose keys are read at a time."""

BLOCK_BYTES = 16 * 2**20
"""Keys that are read at a time take at most about this many bytes."""

FILTER_FACTOR = 128
"""Number of entries in a filter for each key. About one in so many other keys passes."""


def find_slots(
    table: Table, key: Field, cells: Cells, digests: NDArray[np.uint64]
) -> NDArray[np.int64]:
    """Return the slot of the row with each key, (n,) int64, or -1 if no row has the key.

    Parameters
    ----------
    table : Table
        The version, with its pending edits.
    key : Field
        The column whose values identify rows.
    cells : Cells
        The keys.
    digests : ndarray, (n,) uint64
        The digests of the keys, which must differ from each other.

    Raises
    ------
    InvalidValueError
        When several rows of the lake share one of the keys.
    """
    order = np.argsort(digests)
    keys = _SortedKeys(digests[order])
    slots = np.full(len(digests), -1, np.int64)
    for block in _rows_to_read(table, key, cells).blocks(_block_rows(key)):
        rows, numbers = keys.find(digests_by_value(table, key, block))
        is_repeated = slots[order[numbers]] >= 0
        slots[order[numbers]] = block[rows]
        is_repeated |= slots[order[numbers]] != block[rows]  # two rows of this block share a key
        check_not_repeated(is_repeated, key.name)
    return slots


class _SortedKeys:
    """Digests of keys, in ascending order, and a filter that excludes most other digests.

    Looking up each digest by bisection would take longer than reading the column.
    """

    def __init__(self, digests: NDArray[np.uint64]) -> None:
        self._digests = digests
        bits = max(1, (len(digests) * FILTER_FACTOR - 1).bit_length())
        self._shift = np.uint64(64 - bits)
        self._passes = np.zeros(1 << bits, bool)
        self._passes[self._hash(digests)] = True

    def _hash(self, digests: NDArray[np.uint64]) -> NDArray[np.uint64]:
        # Fibonacci hashing: 2**64 divided by the golden ratio.
        return (digests * np.uint64(0x9E3779B97F4A7C15)) >> self._shift

    def find(self, digests: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the positions of the digests of keys, and the numbers of these keys."""
        rows = np.flatnonzero(self._passes[self._hash(digests)])
        numbers = np.searchsorted(self._digests, digests[rows])
        numbers = np.minimum(numbers, len(self._digests) - 1)
        is_key = self._digests[numbers] == digests[rows]
        return rows[is_key], numbers[is_key]


def _block_rows(key: Field) -> int:
    layout = key.htype.layout
    if not isinstance(layout, Dense):
        return BLOCK_ROWS
    row_bytes = ArraySpec(layout.dtype, layout.shape).row_bytes
    return max(1, min(BLOCK_ROWS, BLOCK_BYTES // row_bytes))


def _rows_to_read(table: Table, key: Field, cells: Cells) -> SlotSet:
    """Return the slots of all rows that may have one of the keys according to the statistics."""
    live = table.rows.order.deleted.complement(0, table.slots)
    if (
        table.uncommitted
        or not isinstance(cells, DenseCells)
        or cells.values.dtype.kind not in "iu"
    ):
        return live
    has_null = cells.valid is not None and not cells.valid.all()
    if has_null or (stored := table.statistics(key.id)) is None:
        return live
    values, (low, high) = np.sort(cells.values), stored[0].T
    before = np.searchsorted(values, low, "left"), np.searchsorted(values, high, "right")
    numbers = np.flatnonzero(before[0] < before[1])
    ranges = np.stack([numbers, numbers + 1], axis=1) * table.chunk_rows(key.id)
    return live.intersection(SlotSet.of_ranges(ranges))
