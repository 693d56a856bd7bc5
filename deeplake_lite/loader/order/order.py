"""In which order an epoch takes the rows: a pure function of how many, the seed and the epoch.

A permutation is a Feistel network over the least product of two numbers, one a power of two, that
holds the range, walked along its cycles until it is within range: nothing is stored, and any part
of it is computed alone. ``exact`` permutes all rows; ``block`` permutes blocks of rows, and then
the rows within windows of blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

PART = 65_536
"""Positions that are computed at a time."""

ROUNDS = 6
"""Rounds of the network; four leave traces that tests of 1,003 rows find."""

SMALL = 1_000
"""Ranges of fewer numbers take four times the rounds: each has little to mix."""

_MASK = 2**64 - 1

type Positions = NDArray[np.int64]


def mixed(*numbers: int) -> int:
    """Return 64 bits that depend on all numbers: splitmix64, one number after the other.

    >>> mixed(0, 1) != mixed(1, 0)
    True
    """
    z = 0
    for number in numbers:
        z = (z ^ (number & _MASK)) + 0x9E3779B97F4A7C15 & _MASK
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & _MASK
        z = (z ^ z >> 27) * 0x94D049BB133111EB & _MASK
        z ^= z >> 31
    return z


@dataclass(frozen=True)
class Permutation:
    """A permutation of ``range(n)`` that is computed, not stored.

    Parameters
    ----------
    n : int
        Up to 2**62.
    key : int
        64 bits; another key, another permutation.

    Examples
    --------
    >>> Permutation(10, 1)(np.arange(10)).tolist()
    [1, 8, 7, 4, 9, 5, 0, 6, 3, 2]
    """

    n: int
    """How many numbers."""
    key: int
    """What it depends on."""

    def __call__(self, x: Positions) -> Positions:
        """Return where numbers of ``range(n)`` go."""
        out = np.empty(len(x), np.int64)
        for start in range(0, len(x), PART):
            part = x[start : start + PART]
            out[start : start + len(part)] = self._walk(part.astype(self._dtype))
        return out

    def _walk(self, x: NDArray[Any]) -> NDArray[Any]:
        """Follow the network's cycles from within range to the next number within range."""
        x = self._network(x)
        out = np.flatnonzero(x >= self.n)
        while len(out):
            again = self._network(x[out])
            x[out] = again
            out = out[again >= self.n]
        return x

    def _network(self, x: NDArray[Any]) -> NDArray[Any]:
        """Permute ``range(high << bits)``: each half is changed by what the other one is."""
        kind, bits, high = self._dtype.type, self._low_bits, self._dtype.type(self._high)
        half = kind(self._dtype.itemsize * 4)
        left, right = x >> kind(bits), x & kind((1 << bits) - 1)
        for number in range(0, len(self._keys), 2):
            h = self._hash(left, number)
            h >>= kind(self._dtype.itemsize * 8 - bits)
            right ^= h
            h = self._hash(right, number + 1)
            h >>= half
            h *= high
            h >>= half
            left += h
            np.minimum(left, left - high, out=left)  # modulo: what is below wraps to far above
        left <<= kind(bits)
        left |= right
        return np.asarray(left)

    def _hash(self, x: NDArray[Any], number: int) -> NDArray[Any]:
        """Return numbers whose high bits depend on all of x, and on the round."""
        kind, size = self._dtype.type, self._dtype.itemsize * 8
        h = x + kind(self._keys[number])
        h *= kind(0x9E3779B97F4A7C15 >> 64 - size | 1)
        h ^= h >> kind(size // 2)
        h *= kind(0xD6E8FEB86659FD93 >> 64 - size | 1)
        return np.asarray(h)

    @cached_property
    def _low_bits(self) -> int:
        """Bits of the right half."""
        return max(1, (self.n - 1).bit_length() // 2)

    @cached_property
    def _high(self) -> int:
        """How many numbers the left half has: as few as will do."""
        return max(1, -(-self.n >> self._low_bits))

    @cached_property
    def _dtype(self) -> np.dtype[Any]:
        return np.dtype(np.uint32 if self.n <= 2**32 else np.uint64)

    @cached_property
    def _keys(self) -> tuple[int, ...]:
        size = self._dtype.itemsize * 8
        rounds = ROUNDS * 4 if self.n < SMALL else ROUNDS
        return tuple(mixed(self.key, number) >> 64 - size for number in range(rounds))


@dataclass(frozen=True)
class Order:
    """The order of one epoch: as they are, unless a subclass says otherwise.

    Parameters
    ----------
    n : int
        Rows.
    seed, epoch : int
        What the order depends on.
    """

    n: int
    """Rows."""
    seed: int = 0
    """The user's."""
    epoch: int = 0
    """From 0."""

    def at(self, start: int, stop: int) -> Positions:
        """Return the positions of rows, from the `start`-th of the epoch to before `stop`."""
        return np.arange(start, min(stop, self.n))

    def after(self, block: int, rows: int) -> int:
        """Return how far the epoch has come when no row of a block of `rows` comes any more."""
        return min(self.n, (block + 1) * rows)


@dataclass(frozen=True)
class ExactOrder(Order):
    """Every order of the rows is as likely as any other."""

    @cached_property
    def _permutation(self) -> Permutation:
        return Permutation(self.n, mixed(self.seed, self.epoch))

    def at(self, start: int, stop: int) -> Positions:
        """Return the positions of rows, from the `start`-th of the epoch to before `stop`."""
        return self._permutation(np.arange(start, min(stop, self.n)))

    def after(self, block: int, rows: int) -> int:  # noqa: ARG002
        """Return the end of the epoch: any row may be the last."""
        return self.n


@dataclass(frozen=True)
class BlockOrder(Order):
    """Blocks in any order; the rows of some blocks that follow each other then, in any order.

    Parameters
    ----------
    block : int
        Rows of a block.
    window : int
        Blocks whose rows are mixed.
    """

    block: int = 4096
    """Rows of a block."""
    window: int = 64
    """Blocks whose rows are mixed."""

    @cached_property
    def _blocks(self) -> Positions:
        """The blocks in their order, (blocks,)."""
        count = -(-self.n // self.block)
        return Permutation(count, mixed(self.seed, self.epoch))(np.arange(count))

    @cached_property
    def _starts(self) -> Positions:
        """Where each window begins, (windows + 1,)."""
        sizes = np.full(len(self._blocks), self.block)
        sizes[self._blocks == len(sizes) - 1] = self.n - (len(sizes) - 1) * self.block
        if not self.n:
            return np.zeros(1, np.int64)
        ends = np.cumsum(np.add.reduceat(sizes, np.arange(0, len(sizes), self.window)))
        return np.concatenate([[0], ends]).astype(np.int64)

    @cached_property
    def _turns(self) -> Positions:
        """The window of each block, (blocks,)."""
        turns = np.empty(len(self._blocks), np.int64)
        turns[self._blocks] = np.arange(len(turns)) // self.window
        return turns

    def at(self, start: int, stop: int) -> Positions:
        """Return the positions of rows, from the `start`-th of the epoch to before `stop`."""
        stop = min(stop, self.n)
        found, window = [np.empty(0, np.int64)], np.searchsorted(self._starts, start, "right") - 1
        while start < stop:
            end = min(stop, int(self._starts[window + 1]))
            found.append(self._within(int(window), start, end))
            start, window = end, window + 1
        return np.concatenate(found)

    def after(self, block: int, rows: int) -> int:
        """Return how far the epoch has come when no row of a block of `rows` comes any more."""
        first, last = block * rows // self.block, ((block + 1) * rows - 1) // self.block
        return int(self._starts[self._turns[first : last + 1].max() + 1])

    def _within(self, window: int, start: int, stop: int) -> Positions:
        """Return the positions of rows of one window."""
        first = int(self._starts[window])
        size = int(self._starts[window + 1]) - first
        key = mixed(self.seed, self.epoch, window)
        chosen = Permutation(size, key)(np.arange(start - first, stop - first))
        blocks = self._blocks[window * self.window : (window + 1) * self.window]
        short = np.flatnonzero(blocks == len(self._blocks) - 1)
        if len(short) and self.n % self.block:  # those behind the short block move up
            gap = self.block - self.n % self.block
            chosen = np.where(
                chosen >= (int(short[0]) + 1) * self.block - gap, chosen + gap, chosen
            )
        return np.asarray(blocks[chosen // self.block] * self.block + chosen % self.block)
