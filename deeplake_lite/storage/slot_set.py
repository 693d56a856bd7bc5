"""Sets of slots, stored as ranges."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from deeplake_lite.storage.stored_array import Slots


@dataclass(frozen=True, eq=False)
class SlotSet:
    """A set of slots, as disjoint ranges in ascending order that do not touch each other.

    Its size and the time of its methods depend on the number of ranges, not on the number of slots.

    >>> deleted = SlotSet.of(np.array([7, 2, 3]))
    >>> deleted.ranges.tolist(), len(deleted)
    ([[2, 4], [7, 8]], 3)
    >>> deleted.contains(np.array([1, 2, 7, 9])).tolist()
    [False, True, True, False]
    >>> deleted.count_below(np.array([0, 3, 8])).tolist()
    [0, 1, 3]
    """

    ranges: NDArray[np.int64]
    """First slot and end (exclusive) of each range, (n, 2)."""

    @classmethod
    def empty(cls) -> Self:
        """Return the empty set."""
        return cls(np.empty((0, 2), np.int64))

    @classmethod
    def of(cls, slots: Slots) -> Self:
        """Return the set of the given slots, in any order and possibly repeated."""
        if len(slots) > 1 and not (slots[1:] > slots[:-1]).all():
            slots = np.unique(slots)
        breaks = np.flatnonzero(np.diff(slots) != 1) + 1
        first = slots[np.concatenate([[0], breaks])[: len(slots)].astype(np.int64)]
        last = slots[np.concatenate([breaks - 1, [len(slots) - 1]])[: len(slots)].astype(np.int64)]
        return cls(np.stack([first, last + 1], axis=1))

    @classmethod
    def of_ranges(cls, ranges: NDArray[np.int64]) -> Self:
        """Return the set of the slots in ranges, (n, 2), in any order and possibly overlapping.

        >>> SlotSet.of_ranges(np.array([[5, 6], [0, 3], [2, 4], [4, 5]])).ranges.tolist()
        [[0, 6]]
        """
        ranges = ranges[ranges[:, 0] < ranges[:, 1]]
        if len(ranges) < 2:
            return cls(ranges)
        ranges = ranges[np.argsort(ranges[:, 0], kind="stable")]
        ends = np.maximum.accumulate(ranges[:, 1])
        is_first = np.append(True, ranges[1:, 0] > ends[:-1])
        is_last = np.append(is_first[1:], True)
        return cls(np.stack([ranges[is_first, 0], ends[is_last]], axis=1))

    @cached_property
    def before(self) -> NDArray[np.int64]:
        """Number of slots in the first *i* ranges, (n + 1,)."""
        return np.concatenate([[0], np.cumsum(self.ranges[:, 1] - self.ranges[:, 0])])

    def __len__(self) -> int:
        return int(self.before[-1])

    def contains(self, slots: Slots) -> NDArray[np.bool_]:
        """Return a mask of the slots that are in the set, (n,) bool."""
        if not len(self.ranges):
            return np.zeros(len(slots), bool)
        at = np.searchsorted(self.ranges[:, 0], slots, side="right")
        return np.asarray((at > 0) & (slots < self.ranges[np.maximum(at - 1, 0), 1]))

    def count_below(self, slots: Slots) -> NDArray[np.int64]:
        """Return the number of slots in the set that are smaller than each slot, (n,) int64."""
        if not len(self.ranges):
            return np.zeros(len(slots), np.int64)
        at = np.searchsorted(self.ranges[:, 0], slots, side="left")
        last = self.ranges[np.maximum(at - 1, 0), 1]
        beyond = np.where(at > 0, np.maximum(last - slots, 0), 0)  # slots of the range not below
        return np.asarray(self.before[at] - beyond)

    def slots(self) -> Slots:
        """Return all slots in ascending order, (n,)."""
        starts, sizes = self.ranges[:, 0], np.diff(self.ranges, axis=1)[:, 0]
        return np.arange(len(self)) + np.repeat(starts - self.before[:-1], sizes)

    def union(self, other: SlotSet) -> SlotSet:
        """Return the set of the slots that are in either set."""
        if not len(self.ranges) or not len(other.ranges):
            return self if len(self.ranges) else other
        return SlotSet.of_ranges(np.concatenate([self.ranges, other.ranges]))

    def intersection(self, other: SlotSet) -> SlotSet:
        """Return the set of the slots that are in both sets."""
        return self.minus(self.minus(other))

    def blocks(self, rows: int) -> Iterator[Slots]:
        """Yield all slots in ascending order, at most `rows` at a time.

        >>> [block.tolist() for block in SlotSet.of(np.array([1, 4, 5])).blocks(2)]
        [[1, 4], [5]]
        """
        for start in range(0, len(self), rows):
            a, b = np.searchsorted(self.before, [start, start + rows], side="right")
            ranges = self.ranges[a - 1 : b].copy()
            ranges[0, 0] += start - int(self.before[a - 1])
            ranges[-1, 1] -= max(0, int(self.before[min(b, len(self.ranges))]) - start - rows)
            yield SlotSet(ranges[ranges[:, 0] < ranges[:, 1]]).slots()

    def within(self, start: int, stop: int) -> SlotSet:
        """Return the set of the slots that are in a range.

        >>> SlotSet.of(np.arange(5)).within(3, 9).ranges.tolist()
        [[3, 5]]
        """
        a = int(np.searchsorted(self.ranges[:, 1], start, side="right"))
        b = int(np.searchsorted(self.ranges[:, 0], stop, side="left"))
        return SlotSet.of_ranges(np.clip(self.ranges[a:b], start, stop))

    def complement(self, start: int, stop: int) -> SlotSet:
        """Return the set of the slots in a range that are not in this set.

        >>> SlotSet.of(np.array([2, 3, 7])).complement(3, 9).ranges.tolist()
        [[4, 7], [8, 9]]
        """
        inside = self.within(start, stop).ranges
        starts, stops = np.append(start, inside[:, 1]), np.append(inside[:, 0], stop)
        return SlotSet.of_ranges(np.stack([starts, stops], axis=1))

    def minus(self, other: SlotSet) -> SlotSet:
        """Return the set of the slots that are in this set, but not in the other.

        >>> SlotSet.of(np.arange(6)).minus(SlotSet.of(np.array([0, 3]))).ranges.tolist()
        [[1, 3], [4, 6]]
        """
        if not len(other.ranges) or not len(self.ranges):
            return self
        edges = np.unique(np.concatenate([self.ranges.ravel(), other.ranges.ravel()]))
        # No range begins or ends between two edges, so that the first slot stands for all of them.
        pieces = np.stack([edges[:-1], edges[1:]], axis=1)
        return SlotSet.of_ranges(
            pieces[self.contains(pieces[:, 0]) & ~other.contains(pieces[:, 0])]
        )
