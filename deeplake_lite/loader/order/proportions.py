"""The order of the rows of a mix, in which several views have fixed proportions. No I/O.

The order is divided into segments of `SEGMENT` indices. Each view has a quota of the indices in
every segment, and a permutation assigns the indices to the views. Therefore, the number of rows
that a view provides before a given index is a product plus a count within one segment. This number
says at which row the view continues its own epoch, so no state is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.loader.order.order import SEGMENT, Order, Permutation, Positions, mix64

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from fractions import Fraction

    from deeplake_lite.loader.order.shuffle import Shuffle


def quotas(weights: Sequence[Fraction], size: int) -> tuple[int, ...]:
    """Divide `size` rows in proportion to weights, by the largest remainder method.

    Parameters
    ----------
    weights : sequence of Fraction
        Weights that add up to 1.
    size : int
        Number of rows.

    Examples
    --------
    >>> from fractions import Fraction
    >>> quotas([Fraction("0.7"), Fraction("0.3")], 10), quotas([Fraction(1, 3)] * 3, 10)
    ((7, 3), (4, 3, 3))
    """
    exact = [weight * size for weight in weights]
    counts = [int(share) for share in exact]
    by_remainder = sorted(range(len(exact)), key=lambda i: (counts[i] - exact[i], i))
    for i in by_remainder[: size - sum(counts)]:
        counts[i] += 1
    return tuple(counts)


@dataclass(frozen=True)
class MixOrder(Order):
    """The order of an epoch of a mix. Positions count the rows of one view after the other.

    Each view has its own epochs, each in a new order. An epoch of a view may begin in one epoch of
    the mix and end in a later one.

    Parameters
    ----------
    rows : tuple of int
        Number of rows of each view.
    weights : tuple of Fraction
        Share of each view.
    shuffles : tuple of Shuffle
        How each view is shuffled.
    """

    rows: tuple[int, ...] = ()
    """Number of rows of each view."""
    weights: tuple[Fraction, ...] = ()
    """Share of each view. The shares add up to 1."""
    shuffles: tuple[Shuffle, ...] = ()
    """How each view is shuffled."""

    def at(self, start: int, stop: int) -> Positions:
        """Return the positions of the rows at the indices `start` to `stop` - 1 of this order."""
        return self._join(self._segment, start, stop)

    def passes(self, start: int, stop: int) -> Positions | None:
        """Return how many times this epoch has already gone through the view of each row of `at`.

        None means zero for all rows.
        """
        return self._join(self._passes_of_segment, start, stop) if self._repeats else None

    def _join(self, compute: Callable[[int], Positions], start: int, stop: int) -> Positions:
        """Return the numbers at the indices `start` to `stop` - 1, cut out of whole segments.

        `compute` returns the numbers of a whole segment, given the number of the segment.
        """
        stop = min(stop, self.n)
        parts = [np.empty(0, np.int64)]
        for number in range(start // SEGMENT, -(-stop // SEGMENT)):
            first = number * SEGMENT
            parts.append(compute(number)[max(0, start - first) : stop - first])
        return np.concatenate(parts)

    @cached_property
    def _repeats(self) -> bool:
        """Whether the epoch starts over in some view, so that rows may appear twice."""
        pairs = zip(self._before(0), self._rows_per_epoch, self.rows, strict=True)
        return any(before % rows + in_epoch > rows for before, in_epoch, rows in pairs)

    def after(self, block: int, rows: int) -> int:  # noqa: ARG002
        """Return the end of the epoch, because any row may come last."""
        return self.n

    def uses(self, rows: int) -> tuple[Positions, Positions]:
        """Return the whole epoch for each block of `rows` positions of the mix's views."""
        count = -(-sum(self.rows) // rows)
        return np.zeros(count, np.int64), np.full(count, self.n)

    @cached_property
    def _rows_per_epoch(self) -> tuple[int, ...]:
        """Number of rows that each view provides in an epoch of the mix."""
        segments, last_size = divmod(self.n, SEGMENT)
        pairs = zip(quotas(self.weights, SEGMENT), quotas(self.weights, last_size), strict=True)
        return tuple(segments * a + b for a, b in pairs)

    def _before(self, number: int) -> tuple[int, ...]:
        """Return the number of rows of each view before a segment, counted from the first epoch."""
        pairs = zip(self._rows_per_epoch, quotas(self.weights, SEGMENT), strict=True)
        return tuple(self.epoch * a + number * b for a, b in pairs)

    def _views(self, number: int) -> Positions:
        """Return the number of the view that provides the row, for each index of a segment."""
        size = max(0, min(SEGMENT, self.n - number * SEGMENT))
        permuted = Permutation(size, mix64(self.seed, self.epoch, number))(np.arange(size))
        return np.searchsorted(np.cumsum(quotas(self.weights, size)), permuted, side="right")

    def _segment(self, number: int) -> Positions:
        """Return the positions of the rows of a segment."""
        views = self._views(number)
        out = np.empty(len(views), np.int64)
        starts = accumulate(self.rows, initial=0)
        for view, (start, first) in enumerate(zip(starts, self._before(number), strict=False)):
            mine = np.flatnonzero(views == view)
            out[mine] = start + self._rows_of(view, first, first + len(mine))
        return out

    def _passes_of_segment(self, number: int) -> Positions:
        """Return `passes` for the rows of a segment."""
        views = self._views(number)
        out = np.empty(len(views), np.int64)
        for view, (rows, start) in enumerate(zip(self.rows, self._before(number), strict=True)):
            mine = np.flatnonzero(views == view)
            first_pass = self._before(0)[view] // rows
            out[mine] = np.arange(start, start + len(mine)) // rows - first_pass
        return out

    def _rows_of(self, view: int, start: int, stop: int) -> Positions:
        """Return the positions, in one view, of the rows `start` to `stop` - 1 of its epochs.

        The rows are counted from the first row of the view's first epoch.
        """
        rows, seed = self.rows[view], mix64(self.seed, view)
        parts = [np.empty(0, np.int64)]
        while start < stop:
            epoch, first = divmod(start, rows)
            end = min(rows, first + stop - start)
            parts.append(self.shuffles[view].order(rows, seed, epoch).at(first, end))
            start += end - first
        return np.concatenate(parts)


@dataclass(frozen=True)
class MixShuffle:
    """How the rows of several views are shuffled and mixed."""

    rows: tuple[int, ...]
    """Number of rows of each view."""
    weights: tuple[Fraction, ...]
    """Share of each view. The shares add up to 1."""
    shuffles: tuple[Shuffle, ...]
    """How each view is shuffled."""
    kind: str = "mix"
    """Name of this kind of shuffle."""
    window_rows: int = 0
    """0, because a mix has no windows. Any row may be anywhere in the order."""

    def order(self, n: int, seed: int, epoch: int) -> MixOrder:
        """Return the order of an epoch of `n` rows."""
        return MixOrder(n, seed, epoch, self.rows, self.weights, self.shuffles)

    def to_json(self) -> dict[str, object]:
        """Return everything that the order depends on, besides the seed and the epoch, as JSON."""
        of = [shuffle.to_json() for shuffle in self.shuffles]
        return {"kind": self.kind, "weights": [float(w) for w in self.weights], "of": of}

    def __str__(self) -> str:
        pairs = zip(self.weights, self.shuffles, strict=True)
        return "mix of " + "; ".join(f"{float(w):.3g} {shuffle}" for w, shuffle in pairs)
