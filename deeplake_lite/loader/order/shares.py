"""Which rows of an epoch's order each batch of each rank takes: arithmetic only.

The global batch k is places ``k × G`` to ``(k + 1) × G`` of the order, G being ``batch_size ×
world_size``; rank r takes every ``world_size``-th of them from the r-th on. So the global batch is
the same set of rows for every world size of the same G.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deeplake_lite.dataset.keywords import Last
    from deeplake_lite.loader.order.order import Positions


@dataclass(frozen=True)
class Shares:
    """How an epoch is cut into batches.

    Parameters
    ----------
    n : int
        Rows of the epoch.
    batch_size : int
        Rows of a batch of one rank.
    rank, world_size : int
        Which of how many.
    last : {"uneven", "drop", "pad"}
        Of the last batch: as many rows as there are, none, or as many as in the others.

    Examples
    --------
    >>> shares = Shares(10, 2, rank=1, world_size=2, last="pad")
    >>> len(shares), shares.rows(2)
    (3, range(9, 10, 2))
    """

    n: int
    """Rows of the epoch."""
    batch_size: int
    """Rows of a batch of one rank."""
    rank: int = 0
    """Which rank."""
    world_size: int = 1
    """Of how many."""
    last: Last = "uneven"
    """Of the last batch."""

    @property
    def size(self) -> int:
        """Rows of a batch of all ranks."""
        return self.batch_size * self.world_size

    @property
    def end(self) -> int:
        """The place in the order at which the epoch ends, for all ranks.

        >>> Shares(10, 4, last="drop").end, Shares(10, 4).end
        (8, 10)
        """
        return self.n - self.n % self.size if self.last == "drop" else self.n

    def __len__(self) -> int:
        whole, rest = divmod(self.n, self.size)
        if self.last == "drop" or not rest:
            return whole
        return whole + (self.last == "pad" or rest > self.rank)

    def span(self, batch: int) -> tuple[int, int]:
        """Return the places in the order of a batch of all ranks: from, to before."""
        return batch * self.size, min((batch + 1) * self.size, self.n)

    def rows(self, batch: int) -> range:
        """Return the places in the order of this rank's part of a batch, without padding."""
        start, stop = self.span(batch)
        return range(start + self.rank, stop, self.world_size)

    def of(self, places: Positions) -> Positions:
        """Return this rank's part of a batch of all ranks; padded with what is read anyway."""
        mine = places[self.rank :: self.world_size]
        missing = self.batch_size - len(mine)
        if self.last != "pad" or not missing:
            return mine
        return (
            mine.take(range(self.batch_size), mode="clip")
            if len(mine)
            else places[:1].repeat(missing)
        )
