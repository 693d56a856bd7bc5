"""The order of the rows: the slot of the row at each position, and the position of each slot."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.storage import chunks
from deeplake_lite.storage.slot_set import SlotSet

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.storage.stored_array import Slots

type Positions = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RowOrder:
    """The slots of all rows, in row order.

    Rows are usually in the order of their slots. Then only the slots of deleted rows are stored, as
    ranges, so that the cost of a deletion depends only on the rows that it deletes::

        slot      0   1   2   3   4   5
                  a   ─   c   ─   ─   f      deleted: 1–2, 3–5
        position  0       1           2

    Rows that were put into another order have a list of all slots (`arranged`).

    >>> order = RowOrder(6).without(np.array([1, 3, 4]))
    >>> order.at(np.arange(3)).tolist(), order.positions(np.array([5, 3, 0])).tolist()
    ([0, 2, 5], [2, -1, 0])
    """

    slots: int
    """Number of slots, including those of deleted rows."""
    deleted: SlotSet = field(default_factory=SlotSet.empty)
    """Slots of deleted rows."""
    arranged: Slots | None = None
    """Slot of each row, in row order; None if the rows are in the order of their slots."""

    @classmethod
    def of(cls, slots: int, live: Slots) -> RowOrder:
        """Return the order in which the rows are in the slots `live`, out of `slots` in all.

        Raises
        ------
        ValueError
            If there is no such slot, or two rows have the same one.
        """
        if len(live) and not (live.min() >= 0 and live.max() < slots):
            raise ValueError("a row is in a slot that does not exist.")
        is_deleted = np.ones(slots, bool)
        is_deleted[live] = False
        deleted = SlotSet.of(np.flatnonzero(is_deleted))
        if len(live) + len(deleted) != slots:
            raise ValueError("two rows are in the same slot.")
        in_order = bool((live[1:] > live[:-1]).all())
        return cls(slots, deleted, None if in_order else live)

    def __len__(self) -> int:
        return self.slots - len(self.deleted)

    def at(self, positions: Positions) -> Slots:
        """Return the slots of the rows at the given positions."""
        if self.arranged is not None:
            return self.arranged[positions]
        if not len(self.deleted):
            return positions
        run = chunks.contiguous(positions)
        if run is not None and len(positions) > 1:
            first, last = self._at(np.array([run.start, run.stop - 1])).tolist()
            return self._live(first, last + 1)
        return self._at(positions)

    def _at(self, positions: Positions) -> Slots:
        # The rows before range i are the rows in earlier slots that are not deleted.
        starts = self.deleted.ranges[:, 0] - self.deleted.before[:-1]
        passed = np.searchsorted(starts, positions, side="right")
        return np.asarray(positions + self.deleted.before[passed])

    def positions(self, slots: Slots) -> Positions:
        """Return the position of the row in each slot, (n,) int64; -1 where the row is deleted."""
        if self.arranged is not None:
            if not len(self.arranged):
                return np.full(len(slots), -1)
            at = np.searchsorted(self.arranged, slots, sorter=self._by_slot)
            found = self._by_slot[np.minimum(at, len(self.arranged) - 1)]
            return np.where(self.contains(slots), found, -1)
        if not len(self.deleted):
            return slots
        return np.where(self.contains(slots), slots - self.deleted.count_below(slots), -1)

    @cached_property
    def _by_slot(self) -> Positions:
        """The positions of rows that are not in the order of their slots, sorted by slot."""
        return np.argsort(self.live(), kind="stable")

    def contains(self, slots: Slots) -> NDArray[np.bool_]:
        """Return a mask of the slots that have a row, (n,) bool."""
        return ~self.deleted.contains(slots)

    def live(self) -> Slots:
        """Return the slots of all rows, in row order."""
        return self._live(0, self.slots) if self.arranged is None else self.arranged

    def _live(self, start: int, stop: int) -> Slots:
        """Return the slots from `start` to `stop` that have a row, ascending."""
        deleted = self.deleted.within(start, stop).ranges - start
        if not len(deleted):
            return chunks.count_up(stop) if start == 0 else np.arange(start, stop)
        is_edge = np.zeros(stop - start + 1, np.int8)
        is_edge[deleted[:, 0]] = 1
        is_edge[deleted[:, 1]] -= 1
        return np.flatnonzero(np.cumsum(is_edge[:-1], dtype=np.int8) == 0) + start

    def extended(self, count: int) -> RowOrder:
        """Return the order with `count` more slots, which have rows at the end."""
        if not count:
            return self
        slots, arranged = self.slots + count, self.arranged
        if arranged is not None:
            arranged = np.concatenate([arranged, np.arange(self.slots, slots)])
        return replace(self, slots=slots, arranged=arranged)

    def without(self, slots: Slots) -> RowOrder:
        """Return the order without the rows in the given slots."""
        gone = SlotSet.of(slots)
        arranged = self.arranged
        if arranged is not None:
            arranged = arranged[~gone.contains(arranged)]
        return replace(self, deleted=self.deleted.union(gone), arranged=arranged)
