"""The division of an epoch into batches and ranks. No I/O.

A global batch consists of the rows that all ranks take in one step, which are G = ``batch_size ×
world_size`` rows. Global batch k has the rows at the indices ``k × G`` to ``(k + 1) × G - 1`` of
the epoch's order. Of these rows, rank r gets every ``world_size``-th, starting with the r-th.
Therefore, a global batch has the same rows for every world size with the same G.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deeplake_lite.dataset.keywords import Last
    from deeplake_lite.loader.order.order import Positions


@dataclass(frozen=True)
class Shares:
    """The division of an epoch into batches.

    Parameters
    ----------
    n : int
        Number of rows in the epoch.
    batch_size : int
        Number of rows in a batch of one rank.
    rank, world_size : int
        Number of this rank, and number of ranks.
    last : {"uneven", "drop", "pad"}
        Whether an incomplete last batch is kept, dropped, or padded to full size.

    Examples
    --------
    >>> shares = Shares(10, 2, rank=1, world_size=2, last="pad")
    >>> len(shares), shares.rows(2)
    (3, range(9, 10, 2))
    """

    n: int
    """Number of rows in the epoch."""
    batch_size: int
    """Number of rows in a batch of one rank."""
    rank: int = 0
    """Number of this rank."""
    world_size: int = 1
    """Number of ranks."""
    last: Last = "uneven"
    """Whether an incomplete last batch is kept, dropped, or padded to full size."""

    @property
    def size(self) -> int:
        """Number of rows in a global batch, which is the batches of all ranks together."""
        return self.batch_size * self.world_size

    @property
    def end(self) -> int:
        """Index in the epoch's order at which the epoch ends, for all ranks.

        >>> Shares(10, 4, last="drop").end, Shares(10, 4).end
        (8, 10)
        """
        return self.n - self.n % self.size if self.last == "drop" else self.n

    def __len__(self) -> int:
        whole, remainder = divmod(self.n, self.size)
        if self.last == "drop" or not remainder:
            return whole
        return whole + (self.last == "pad" or remainder > self.rank)

    def span(self, batch: int) -> tuple[int, int]:
        """Return the range of a global batch's indices in the epoch's order, as start and stop."""
        return batch * self.size, min((batch + 1) * self.size, self.n)

    def rows(self, batch: int) -> range:
        """Return the indices, in the epoch's order, of this rank's rows in an unpadded batch."""
        start, stop = self.span(batch)
        return range(start + self.rank, stop, self.world_size)

    def of(self, rows: Positions) -> Positions:
        """Return this rank's rows among the rows of a global batch. Padding may repeat rows."""
        mine = rows[self.rank :: self.world_size]
        missing = self.batch_size - len(mine)
        if self.last != "pad" or not missing:
            return mine
        return (
            mine.take(range(self.batch_size), mode="clip")
            if len(mine)
            else rows[:1].repeat(missing)
        )
