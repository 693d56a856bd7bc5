"""The order of the rows of a mix: several views in fixed proportions. Arithmetic only.

An epoch is divided into parts. Each view has a quota of rows in every part, and a permutation
assigns them to places. Therefore, the number of rows that a view provides before a place is a
product plus a count within one part. This number is also the view's place in its own epochs, so no
state is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.loader.order.order import PART, Order, Permutation, Positions, mix64

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from fractions import Fraction

    from deeplake_lite.loader.order.shuffle import Shuffle


def quotas(weights: Sequence[Fraction], size: int) -> tuple[int, ...]:
    """Divide `size` places in proportion to weights, by the largest remainder method.

    Parameters
    ----------
    weights : sequence of Fraction
        Weights that add up to 1.
    size : int
        Number of places.

    Examples
    --------
    >>> from fractions import Fraction
    >>> quotas([Fraction("0.7"), Fraction("0.3")], 10), quotas([Fraction(1, 3)] * 3, 10)
    ((7, 3), (4, 3, 3))
    """
    exact = [weight * size for weight in weights]
    counts = [int(share) for share in exact]
    by_rest = sorted(range(len(exact)), key=lambda i: (counts[i] - exact[i], i))
    for i in by_rest[: size - sum(counts)]:
        counts[i] += 1
    return tuple(counts)


@dataclass(frozen=True)
class MixOrder(Order):
    """Rows of several views. Positions count the rows of all views, one view after the other.

    Each view has its own epochs, each in a new order. They continue from one epoch of the mix to
    the next.

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
    """Share of each view. They add up to 1."""
    shuffles: tuple[Shuffle, ...] = ()
    """How each view is shuffled."""

    def at(self, start: int, stop: int) -> Positions:
        """Return the positions of the rows at places `start` to `stop` - 1."""
        return self._join(self._part, start, stop)

    def passes(self, start: int, stop: int) -> Positions | None:
        """Return how many times this epoch has already gone through each row's view."""
        return self._join(self._passes_of_part, start, stop) if self._repeats else None

    def _join(self, part: Callable[[int], Positions], start: int, stop: int) -> Positions:
        """Return the numbers at places `start` to `stop` - 1, cut out of whole parts."""
        stop = min(stop, self.n)
        parts = [np.empty(0, np.int64)]
        for number in range(start // PART, -(-stop // PART)):
            first = number * PART
            parts.append(part(number)[max(0, start - first) : stop - first])
        return np.concatenate(parts)

    @cached_property
    def _repeats(self) -> bool:
        """Whether the epoch starts over in some view, so that rows may appear twice."""
        pairs = zip(self._before(0), self._rows_per_epoch, self.rows, strict=True)
        return any(before % rows + own > rows for before, own, rows in pairs)

    def after(self, block: int, rows: int) -> int:  # noqa: ARG002
        """Return the end of the epoch, because any row may come last."""
        return self.n

    @cached_property
    def _rows_per_epoch(self) -> tuple[int, ...]:
        """Number of rows that each view provides in an epoch."""
        whole, rest = divmod(self.n, PART)
        pairs = zip(quotas(self.weights, PART), quotas(self.weights, rest), strict=True)
        return tuple(whole * a + b for a, b in pairs)

    def _before(self, number: int) -> tuple[int, ...]:
        """Return the number of rows that each view provides before a part, over all epochs."""
        pairs = zip(self._rows_per_epoch, quotas(self.weights, PART), strict=True)
        return tuple(self.epoch * a + number * b for a, b in pairs)

    def _views(self, number: int) -> Positions:
        """Return the number of the view that provides the row, for each place of a part."""
        size = max(0, min(PART, self.n - number * PART))
        places = Permutation(size, mix64(self.seed, self.epoch, number))(np.arange(size))
        return np.searchsorted(np.cumsum(quotas(self.weights, size)), places, side="right")

    def _part(self, number: int) -> Positions:
        views = self._views(number)
        out = np.empty(len(views), np.int64)
        starts = accumulate(self.rows, initial=0)
        for view, (start, first) in enumerate(zip(starts, self._before(number), strict=False)):
            mine = np.flatnonzero(views == view)
            out[mine] = start + self._rows_of(view, first, first + len(mine))
        return out

    def _passes_of_part(self, number: int) -> Positions:
        views = self._views(number)
        out = np.empty(len(views), np.int64)
        for view, (rows, start) in enumerate(zip(self.rows, self._before(number), strict=True)):
            mine = np.flatnonzero(views == view)
            first_pass = self._before(0)[view] // rows
            out[mine] = np.arange(start, start + len(mine)) // rows - first_pass
        return out

    def _rows_of(self, view: int, start: int, stop: int) -> Positions:
        """Return the rows `start` to `stop` - 1 of one view, counted over all of its epochs."""
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
    """Share of each view. They add up to 1."""
    shuffles: tuple[Shuffle, ...]
    """How each view is shuffled."""
    kind: str = "mix"
    """Name of this kind of shuffle."""
    window_rows: int = 0
    """0, because there is no window: any row may be at any place."""

    def order(self, n: int, seed: int, epoch: int) -> MixOrder:
        """Return the order of an epoch of `n` rows."""
        return MixOrder(n, seed, epoch, self.rows, self.weights, self.shuffles)

    def to_json(self) -> dict[str, object]:
        """Return everything that the order depends on, besides the seed and the epoch."""
        of = [shuffle.to_json() for shuffle in self.shuffles]
        return {"kind": self.kind, "weights": [float(w) for w in self.weights], "of": of}

    def __str__(self) -> str:
        pairs = zip(self.weights, self.shuffles, strict=True)
        return "mix of " + "; ".join(f"{float(w):.3g} {shuffle}" for w, shuffle in pairs)
