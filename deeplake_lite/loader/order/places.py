"""The progress of an epoch, and the rows at given places in its order.

A place is an index into the order of an epoch. A position is an index into the view.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.loader.order.order import PART

if TYPE_CHECKING:
    from collections.abc import Callable

    from deeplake_lite.loader.order.order import Order, Positions
    from deeplake_lite.loader.order.shares import Shares

    type Compute = Callable[[int, int], Positions | None]


@dataclass
class Progress:
    """The progress of an epoch."""

    epoch: int
    """Number of the epoch, from 0."""
    consumed: int = 0
    """Number of rows that all ranks have yielded, taken together."""


class Places:
    """The rows at the places of an epoch's order, computed in parts and cached."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self._parts: dict[int, Positions | None] = {}
        self._passes: dict[int, Positions | None] = {}
        self._lock = threading.Lock()

    def at(self, start: int, stop: int) -> Positions:
        """Return the positions of the rows at places `start` to `stop` - 1."""
        positions = self._join(self._parts, self.order.at, start, stop)
        assert positions is not None
        return positions

    def passes(self, start: int, stop: int) -> Positions | None:
        """Return how many times the epoch has already gone through each row's view, or None."""
        return self._join(self._passes, self.order.passes, start, stop)

    def _join(
        self, cache: dict[int, Positions | None], compute: Compute, start: int, stop: int
    ) -> Positions | None:
        """Return the numbers at places `start` to `stop` - 1, cut out of whole parts."""
        first, last = start // PART, (stop - 1) // PART
        parts: list[Positions] = []
        for number in range(first, last + 1):
            part = self._part(cache, compute, number)
            if part is None:
                return None
            parts.append(part)
        whole = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return whole[start - first * PART : stop - first * PART]

    def _part(
        self, cache: dict[int, Positions | None], compute: Compute, number: int
    ) -> Positions | None:
        with self._lock:
            if number not in cache:
                cache[number] = compute(number * PART, (number + 1) * PART)
                for old in [n for n in cache if n < number - 2]:
                    del cache[old]
            return cache[number]


@dataclass(frozen=True)
class Task:
    """Consecutive batches that are made together."""

    first: int
    """Number of the first batch in the epoch."""
    count: int
    """Number of batches."""


def positions_of(places: Places, shares: Shares, batch: int) -> tuple[Positions, int]:
    """Return the rows of this rank's part of a batch, and their number without padding."""
    start, stop = shares.span(batch)
    return shares.of(places.at(start, stop)), len(shares.rows(batch))


def passes_of(places: Places, shares: Shares, batch: int) -> Positions | None:
    """Return `Places.passes` for the rows that `positions_of` returns."""
    passes = places.passes(*shares.span(batch))
    return None if passes is None else shares.of(passes)


@dataclass(frozen=True)
class Rows:
    """The origin of rows, for error messages and random numbers."""

    positions: Positions
    """Position of each row in its view."""
    sources: Positions | None = None
    """Number of the view of each row in a mix; None if there is no mix."""
    repeats: Positions | None = None
    """Number of each row's occurrence in an epoch, if it has several; None if all are 0."""

    def repeat(self, row: int) -> int:
        """Return the number of this occurrence of a row in the epoch."""
        return 0 if self.repeats is None else int(self.repeats[row])

    def source(self, row: int) -> int | None:
        """Return the number of a row's view in a mix; None if there is no mix."""
        return None if self.sources is None else int(self.sources[row])

    def place(self, row: int, row_id: int) -> str:
        """Return a description of a row for error messages.

        >>> Rows(np.array([5, 1200])).place(1, row_id=77)
        'row 1200 of the view (row id 77)'
        >>> Rows(np.array([5]), sources=np.array([2])).place(0, row_id=77)
        'row 5 of view 2 of the mix (row id 77)'
        """
        source = self.source(row)
        view = "the view" if source is None else f"view {source} of the mix"
        return f"row {self.positions[row]} of {view} (row id {row_id})"
