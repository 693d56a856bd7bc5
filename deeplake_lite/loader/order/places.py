"""Where an epoch is, and where each batch's rows are in its order."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.loader.order.order import PART

if TYPE_CHECKING:
    from deeplake_lite.loader.order.order import Order, Positions
    from deeplake_lite.loader.order.shares import Shares


@dataclass
class Progress:
    """How far an epoch has come."""

    epoch: int
    """From 0."""
    consumed: int = 0
    """Rows that all ranks together have handed out."""


class Places:
    """The rows of an epoch by their place in its order; a part of them is computed at a time."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self._parts: dict[int, Positions] = {}
        self._lock = threading.Lock()

    def at(self, start: int, stop: int) -> Positions:
        """Return the positions of the rows at places from `start` to before `stop`."""
        first, last = start // PART, (stop - 1) // PART
        parts = [self._part(number) for number in range(first, last + 1)]
        whole = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return whole[start - first * PART : stop - first * PART]

    def _part(self, number: int) -> Positions:
        with self._lock:
            found = self._parts.get(number)
            if found is None:
                found = self._parts[number] = self.order.at(number * PART, (number + 1) * PART)
                for old in [n for n in self._parts if n < number - 2]:
                    del self._parts[old]
            return found


@dataclass(frozen=True)
class Task:
    """Some batches that follow each other."""

    first: int
    """Number of the first batch in the epoch."""
    count: int
    """How many."""


def positions_of(places: Places, shares: Shares, batch: int) -> tuple[Positions, int]:
    """Return the rows of this rank's part of a batch, and how many are not padding."""
    start, stop = shares.span(batch)
    return shares.of(places.at(start, stop)), len(shares.rows(batch))


@dataclass(frozen=True)
class Rows:
    """Where rows are, to say which one failed."""

    positions: Positions
    """Of each, in its view."""
    sources: Positions | None = None
    """Numbers of their views, where several are mixed."""

    def source(self, row: int) -> int | None:
        """Return the number of a row's view, where several are mixed."""
        return None if self.sources is None else int(self.sources[row])

    def place(self, row: int, row_id: int) -> str:
        """Say which row it is.

        >>> Rows(np.array([5, 1200])).place(1, row_id=77)
        'row 1200 of the view (row id 77)'
        >>> Rows(np.array([5]), sources=np.array([2])).place(0, row_id=77)
        'row 5 of view 2 of the mix (row id 77)'
        """
        source = self.source(row)
        view = "the view" if source is None else f"view {source} of the mix"
        return f"row {self.positions[row]} of {view} (row id {row_id})"
