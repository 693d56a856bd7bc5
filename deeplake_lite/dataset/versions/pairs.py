"""A search for the rows that two versions share, and for the cells of these rows that may differ.

Rows are matched by id, never by position. Icechunk's transaction logs list the chunks that were
written between two versions, and the logs that the versions themselves store list single entries.
With these lists, little else must be read: a row whose id was not written is in the same slot in
both versions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.storage import chunks
from deeplake_lite.storage.slot_set import SlotSet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from deeplake_lite.storage.stored_array import Slots
    from deeplake_lite.storage.table import Table
    from deeplake_lite.storage.touched import Touched

type Ids = NDArray[np.int64]
type Positions = NDArray[np.int64]

NONE = np.empty(0, np.int64)

BLOCK_ROWS = 2**18
"""Maximum number of rows whose cells are compared at a time."""


@dataclass(frozen=True)
class Pairs:
    """The rows that two versions share, and the rows that exist in only one of them."""

    older: Table
    newer: Table
    a: Slots
    """Slots of shared rows in the older version."""
    b: Slots
    """Slots of the same rows in the newer version."""
    added: Ids
    """Ids of rows that exist only in the newer version, in the order of that version."""
    removed: Ids
    """Ids of rows that exist only in the older version, in the order of that version."""
    same: SlotSet
    """Slots of the shared rows that have the same slot in both versions, and so are not in `a` and
    `b`."""
    touched: Touched | None = None
    """The entries in which the versions may differ, or None if all entries may differ."""

    def candidates(self, column: str) -> Iterator[tuple[Slots, Slots]]:
        """Yield the slots of shared rows whose cell in a column may differ, in blocks.

        Yields
        ------
        a, b : ndarray, (n,) int64
            The slots of the rows in the older and in the newer version.
        """
        a, b, same = self.a, self.b, self.same
        if self.touched is not None:
            # Ask both versions, since only one of them may have an array for the column's nulls.
            written = self.newer.touched_slots(column, self.touched)
            written = written.union(self.older.touched_slots(column, self.touched))
            may_differ = written.contains(b) | (a != b)
            a, b, same = a[may_differ], b[may_differ], same.intersection(written)
        for span in chunks.spans(len(a), BLOCK_ROWS):
            yield a[span], b[span]
        for block in same.blocks(BLOCK_ROWS):
            yield block, block


def pair_rows(a: Table, b: Table, touched: Touched | None) -> Pairs:
    """Match the rows of two versions by their ids. Only ids that may differ are read."""
    slots = min(a.slots, b.slots) if touched is not None else 0
    written = SlotSet.empty() if touched is None else b.touched_slots("rows", touched)
    stable = written.complement(0, slots)  # these slots have the same ids in both versions
    same = stable.minus(a.rows.order.deleted).minus(b.rows.order.deleted)
    other_a, other_b = (t.rows.order.deleted.union(same).complement(0, t.slots) for t in (a, b))
    slots_a, slots_b = in_order(a, other_a.slots()), in_order(b, other_b.slots())
    ids_a, ids_b = a.ids(slots_a), b.ids(slots_b)
    at_a, at_b = match_ids(ids_a, ids_b)
    only_a, only_b = np.ones(len(ids_a), bool), np.ones(len(ids_b), bool)
    only_a[at_a] = only_b[at_b] = False
    return Pairs(a, b, slots_a[at_a], slots_b[at_b], ids_b[only_b], ids_a[only_a], same, touched)


def pair_edited(a: Table, b: Table) -> Pairs:
    """Match the rows that an open transaction `b` has updated with the rows of its version `a`."""
    edits = b.edits
    assert edits is not None
    updated = [edits.slots_updated(column) for column in edits.updated]
    slots = SlotSet.of(np.concatenate([NONE, *updated])).within(0, a.slots)
    deleted = b.rows.order.deleted
    removed = deleted.minus(a.rows.order.deleted).within(0, a.slots)
    added = deleted.complement(a.slots, b.slots)
    return Pairs(
        a,
        b,
        NONE,
        NONE,
        added=b.ids(in_order(b, added.slots())),
        removed=a.ids(in_order(a, removed.slots())),
        same=slots.minus(deleted),
    )


def in_order(table: Table, slots: Slots) -> Slots:
    """Return ascending slots in the order of their rows."""
    if table.rows.order.arranged is None:
        return slots
    return slots[np.argsort(table.rows.positions(slots))]


def match_ids(a: Ids, b: Ids) -> tuple[Positions, Positions]:
    """Return the positions of the common ids in `a` and in `b`, in the order of `a`.

    >>> [x.tolist() for x in match_ids(np.array([5, 6, 7]), np.array([7, 5, 9]))]
    [[0, 2], [1, 0]]
    """
    # Two versions usually begin with the same rows in the same order. These need no search.
    shorter = min(len(a), len(b))
    differ = np.flatnonzero(a[:shorter] != b[:shorter])
    same = int(differ[0]) if len(differ) else shorter
    rest_a, rest_b = a[same:], b[same:]
    order = np.argsort(rest_b, kind="stable")
    ranks = np.searchsorted(rest_b, rest_a, sorter=order)
    ranks[ranks == len(rest_b)] = 0
    candidates = order[ranks] if len(rest_b) else np.zeros(len(rest_a), np.int64)
    is_match = rest_b[candidates] == rest_a if len(rest_b) else np.zeros(len(rest_a), bool)
    prefix = np.arange(same)
    return (
        np.concatenate([prefix, np.flatnonzero(is_match) + same]),
        np.concatenate([prefix, candidates[is_match] + same]),
    )
