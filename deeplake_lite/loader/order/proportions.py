"""In which order an epoch takes rows of several views, in fixed proportions: arithmetic only.

An epoch is cut into parts. Each has its quota of every view, and a permutation says at which places
of the part they come. So the number of rows that a view has given before any place is a product and
a count within one part, and its row there is the next of its own epoch: nothing is remembered.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.loader.order.order import PART, Order, Permutation, Positions, mixed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from deeplake_lite.loader.order.shuffle import Shuffle


def quotas(weights: Sequence[Fraction], size: int) -> tuple[int, ...]:
    """Share `size` places by weight, exactly as far as integers go: by largest remainder.

    Parameters
    ----------
    weights : sequence of Fraction
        They add up to 1.
    size : int
        Places.

    Examples
    --------
    >>> from fractions import Fraction
    >>> quotas([Fraction("0.7"), Fraction("0.3")], 10), quotas([Fraction(1, 3)] * 3, 10)
    ((7, 3), (4, 3, 3))
    """
    exact = [weight * size for weight in weights]
    found = [int(share) for share in exact]
    by_rest = sorted(range(len(exact)), key=lambda i: (found[i] - exact[i], i))
    for i in by_rest[: size - sum(found)]:
        found[i] += 1
    return tuple(found)


@dataclass(frozen=True)
class MixOrder(Order):
    """Rows of several views, as positions in all of them end to end.

    Each view goes through its own epochs, one after the other, each in a new order; they go on
    where the epoch of the mix before this one left them.

    Parameters
    ----------
    rows : tuple of int
        Of each view.
    weights : tuple of Fraction
        Its share.
    shuffles : tuple of Shuffle
        How it is shuffled.
    """

    rows: tuple[int, ...] = ()
    """Of each view."""
    weights: tuple[Fraction, ...] = ()
    """Its share; they add up to 1."""
    shuffles: tuple[Shuffle, ...] = ()
    """How it is shuffled."""

    def at(self, start: int, stop: int) -> Positions:
        """Return the positions of rows, from the `start`-th of the epoch to before `stop`."""
        stop = min(stop, self.n)
        found = [np.empty(0, np.int64)]
        for number in range(start // PART, -(-stop // PART)):
            first = number * PART
            found.append(self._part(number)[max(0, start - first) : stop - first])
        return np.concatenate(found)

    def after(self, block: int, rows: int) -> int:  # noqa: ARG002
        """Return the end of the epoch: any row may be the last."""
        return self.n

    @cached_property
    def _of_epoch(self) -> tuple[int, ...]:
        """How many rows each view gives in an epoch."""
        whole, rest = divmod(self.n, PART)
        pairs = zip(quotas(self.weights, PART), quotas(self.weights, rest), strict=True)
        return tuple(whole * a + b for a, b in pairs)

    def _before(self, number: int) -> tuple[int, ...]:
        """Return how many rows each view has given before a part."""
        pairs = zip(self._of_epoch, quotas(self.weights, PART), strict=True)
        return tuple(self.epoch * a + number * b for a, b in pairs)

    def _views(self, number: int) -> Positions:
        """Return whose turn it is at each place of a part."""
        size = max(0, min(PART, self.n - number * PART))
        turns = Permutation(size, mixed(self.seed, self.epoch, number))(np.arange(size))
        return np.searchsorted(np.cumsum(quotas(self.weights, size)), turns, side="right")

    def _part(self, number: int) -> Positions:
        views = self._views(number)
        out = np.empty(len(views), np.int64)
        starts = accumulate(self.rows, initial=0)
        for view, (start, first) in enumerate(zip(starts, self._before(number), strict=False)):
            mine = np.flatnonzero(views == view)
            out[mine] = start + self._taken(view, first, first + len(mine))
        return out

    def _taken(self, view: int, start: int, stop: int) -> Positions:
        """Return the rows of one view from the `start`-th that it gives to before `stop`."""
        rows, seed = self.rows[view], mixed(self.seed, view)
        found = [np.empty(0, np.int64)]
        while start < stop:
            epoch, first = divmod(start, rows)
            end = min(rows, first + stop - start)
            found.append(self.shuffles[view].order(rows, seed, epoch).at(first, end))
            start += end - first
        return np.concatenate(found)


@dataclass(frozen=True)
class MixShuffle:
    """How the rows of several views are shuffled, and mixed."""

    rows: tuple[int, ...]
    """Of each view."""
    weights: tuple[Fraction, ...]
    """Its share; they add up to 1."""
    shuffles: tuple[Shuffle, ...]
    """How it is shuffled."""
    kind: str = "mix"
    """What it is."""
    window_rows: int = 0
    """No window: any row may come at any place."""

    def order(self, n: int, seed: int, epoch: int) -> MixOrder:
        """Return the order of an epoch of `n` rows."""
        return MixOrder(n, seed, epoch, self.rows, self.weights, self.shuffles)

    def to_json(self) -> dict[str, Any]:
        """Return what an order depends on."""
        of = [shuffle.to_json() for shuffle in self.shuffles]
        return {"kind": self.kind, "weights": [float(w) for w in self.weights], "of": of}

    def __str__(self) -> str:
        pairs = zip(self.weights, self.shuffles, strict=True)
        return "mix of " + "; ".join(f"{float(w):.3g} {shuffle}" for w, shuffle in pairs)
