"""The progress of an epoch, its cached order, and the rows of its batches."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.loader.order.order import SEGMENT

if TYPE_CHECKING:
    from collections.abc import Callable

    from deeplake_lite.loader.order.order import Order, Positions
    from deeplake_lite.loader.order.shares import Shares

    type Compute = Callable[[int, int], Positions | None]


@dataclass
class Progress:
    """The progress of an epoch, from which the epoch can be resumed."""

    epoch: int
    """Number of the epoch, from 0."""
    consumed: int = 0
    """Number of rows that all ranks together have yielded."""


class CachedOrder:
    """The order of an epoch, computed in segments of `SEGMENT` indices, which are cached."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self._segments: dict[int, Positions | None] = {}
        self._passes: dict[int, Positions | None] = {}
        self._lock = threading.Lock()

    def at(self, start: int, stop: int) -> Positions:
        """Return the positions of the rows at the indices `start` to `stop` - 1 of the order."""
        positions = self._join(self._segments, self.order.at, start, stop)
        assert positions is not None
        return positions

    def passes(self, start: int, stop: int) -> Positions | None:
        """Return how many times the epoch has already gone through the view of each row of `at`.

        None means zero for all rows. See `Order.passes`.
        """
        return self._join(self._passes, self.order.passes, start, stop)

    def _join(
        self, cache: dict[int, Positions | None], compute: Compute, start: int, stop: int
    ) -> Positions | None:
        """Return the numbers at the indices `start` to `stop` - 1, cut out of whole segments."""
        first, last = start // SEGMENT, (stop - 1) // SEGMENT
        segments: list[Positions] = []
        for number in range(first, last + 1):
            segment = self._segment(cache, compute, number)
            if segment is None:
                return None
            segments.append(segment)
        whole = segments[0] if len(segments) == 1 else np.concatenate(segments)
        return whole[start - first * SEGMENT : stop - first * SEGMENT]

    def _segment(
        self, cache: dict[int, Positions | None], compute: Compute, number: int
    ) -> Positions | None:
        with self._lock:
            if number not in cache:
                cache[number] = compute(number * SEGMENT, (number + 1) * SEGMENT)
                for old in [n for n in cache if n < number - 2]:
                    del cache[old]
            return cache[number]


@dataclass(frozen=True)
class Task:
    """Consecutive batches that one thread or process makes together."""

    first: int
    """Number, in the epoch, of the first of these batches."""
    count: int
    """Number of batches."""


def positions_of(order: CachedOrder, shares: Shares, batch: int) -> tuple[Positions, int]:
    """Return the positions of this rank's rows in a batch, and how many of them are not padding."""
    start, stop = shares.span(batch)
    return shares.of(order.at(start, stop)), len(shares.rows(batch))


def passes_of(order: CachedOrder, shares: Shares, batch: int) -> Positions | None:
    """Return `CachedOrder.passes` for the rows whose positions `positions_of` returns."""
    passes = order.passes(*shares.span(batch))
    return None if passes is None else shares.of(passes)


@dataclass(frozen=True)
class Rows:
    """Where the rows of a batch come from, for error messages and random numbers."""

    positions: Positions
    """Position of each row in its view."""
    sources: Positions | None = None
    """Number of each row's view in a mix; None without a mix."""
    repeats: Positions | None = None
    """A number that differs between the occurrences of a row in an epoch; None if all are 0."""

    def repeat(self, row: int) -> int:
        """Return a number that differs between the occurrences of a row in an epoch."""
        return 0 if self.repeats is None else int(self.repeats[row])

    def source(self, row: int) -> int | None:
        """Return the number of a row's view in a mix, or None without a mix."""
        return None if self.sources is None else int(self.sources[row])

    def describe(self, row: int, row_id: int) -> str:
        """Return a description of a row for error messages.

        >>> Rows(np.array([5, 1200])).describe(1, row_id=77)
        'row 1200 of the view (row id 77)'
        >>> Rows(np.array([5]), sources=np.array([2])).describe(0, row_id=77)
        'row 5 of view 2 of the mix (row id 77)'
        """
        source = self.source(row)
        view = "the view" if source is None else f"view {source} of the mix"
        return f"row {self.positions[row]} of {view} (row id {row_id})"
