"""The order of rows in an epoch, which depends only on the number of rows, the seed and the epoch.

The shuffle ``exact`` permutes all rows. The shuffle ``block`` permutes blocks of rows, and then the
rows within windows, which are groups of consecutive blocks.

A permutation is a Feistel network, whose domain is the smallest range of ``high << bits`` numbers
that contains the numbers of all rows. If a result is not the number of a row, the result is
permuted again until it is the number of a row (cycle walking). Nothing is stored, and any segment
of a permutation can be computed without computing other segments.

References: Luby, Rackoff, How to Construct Pseudorandom Permutations from Pseudorandom Functions
(1988); Black, Rogaway, Ciphers with Arbitrary Finite Domains (CT-RSA 2002), for cycle walking.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

SEGMENT = 65_536
"""Number of indices in a segment of an order. Positions are computed for a segment at a time."""

ROUNDS = 6
"""Rounds of the network. With four rounds, statistical tests on 1,003 rows detect a pattern."""

SMALL = 1_000
"""Ranges below this size need four times as many rounds, because a round mixes only a few bits."""

_MASK = 2**64 - 1

type Positions = NDArray[np.int64]


def mix64(*numbers: int) -> int:
    """Return 64 bits that depend on all numbers and their order, mixed with splitmix64.

    >>> mix64(0, 1) != mix64(1, 0)
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
    """A permutation of ``range(n)`` that is computed when called, and not stored.

    Parameters
    ----------
    n : int
        Size of the range, at most 2**62.
    key : int
        64 bits. Each key determines a different permutation.

    Examples
    --------
    >>> Permutation(10, 1)(np.arange(10)).tolist()
    [1, 8, 7, 4, 9, 5, 0, 6, 3, 2]
    """

    n: int
    """Size of the range."""
    key: int
    """64 bits that determine the permutation."""

    def __call__(self, x: Positions) -> Positions:
        """Permute numbers in ``range(n)``."""
        out = np.empty(len(x), np.int64)
        for start in range(0, len(x), SEGMENT):
            segment = x[start : start + SEGMENT]
            out[start : start + len(segment)] = self._walk(segment.astype(self._dtype))
        return out

    def _walk(self, x: NDArray[Any]) -> NDArray[Any]:
        """Apply the network until every number is in ``range(n)`` (cycle walking)."""
        x = self._network(x)
        outside = np.flatnonzero(x >= self.n)
        while len(outside):
            permuted = self._network(x[outside])
            x[outside] = permuted
            outside = outside[permuted >= self.n]
        return x

    def _network(self, x: NDArray[Any]) -> NDArray[Any]:
        """Permute ``range(high << bits)``.

        A number has two halves: the left half has `_high` values, and the right half has
        `_low_bits` bits. Each round changes one half by a hash of the other half.
        """
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
            # Reduce `left` modulo `high`. If `left` is less than `high`, the unsigned difference
            # wraps around to a large number, and `left` stays as it is.
            np.minimum(left, left - high, out=left)
        left <<= kind(bits)
        left |= right
        return np.asarray(left)

    def _hash(self, x: NDArray[Any], number: int) -> NDArray[Any]:
        """Return a hash of each number and the number of the round, in the high bits."""
        kind, size = self._dtype.type, self._dtype.itemsize * 8
        h = x + kind(self._keys[number])
        h *= kind(0x9E3779B97F4A7C15 >> 64 - size | 1)
        h ^= h >> kind(size // 2)
        h *= kind(0xD6E8FEB86659FD93 >> 64 - size | 1)
        return np.asarray(h)

    @cached_property
    def _low_bits(self) -> int:
        """Number of bits in the right half."""
        return max(1, (self.n - 1).bit_length() // 2)

    @cached_property
    def _high(self) -> int:
        """Number of values of the left half, which is as small as possible."""
        return max(1, -(-self.n >> self._low_bits))

    @cached_property
    def _dtype(self) -> np.dtype[Any]:
        return np.dtype(np.uint32 if self.n <= 2**32 else np.uint64)

    @cached_property
    def _keys(self) -> tuple[int, ...]:
        size = self._dtype.itemsize * 8
        rounds = ROUNDS * 4 if self.n < SMALL else ROUNDS
        return tuple(mix64(self.key, number) >> 64 - size for number in range(rounds))


@dataclass(frozen=True)
class Order:
    """The order of one epoch. This class keeps the order of the view, and subclasses shuffle.

    Parameters
    ----------
    n : int
        Number of rows.
    seed, epoch : int
        Numbers that the order depends on.
    """

    n: int
    """Number of rows."""
    seed: int = 0
    """The user's seed."""
    epoch: int = 0
    """Number of the epoch, from 0."""

    def at(self, start: int, stop: int) -> Positions:
        """Return the positions of the rows at the indices `start` to `stop` - 1 of this order."""
        return np.arange(start, min(stop, self.n))

    def passes(self, start: int, stop: int) -> Positions | None:  # noqa: ARG002
        """Return, for each row of `at`, how often the epoch has gone through its whole view.

        An epoch of a mix may go through a small view several times. None means zero for all rows,
        so that no row appears twice.
        """
        return None

    def after(self, block: int, rows: int) -> int:
        """Return the index after which this order has no more rows of a block.

        The block consists of the positions from ``block * rows`` to ``(block + 1) * rows - 1``.
        """
        return min(self.n, (block + 1) * rows)

    def uses(self, rows: int) -> tuple[Positions, Positions]:
        """Return when this order uses each block of `rows` positions, as two arrays (blocks,).

        Before the first index, and from the second index on, the order has no rows of the block.
        """
        starts = np.arange(0, self.n, rows)
        return starts, np.minimum(starts + rows, self.n)


@dataclass(frozen=True)
class ExactOrder(Order):
    """An order in which all rows are permuted."""

    @cached_property
    def _permutation(self) -> Permutation:
        return Permutation(self.n, mix64(self.seed, self.epoch))

    def at(self, start: int, stop: int) -> Positions:
        """Return the positions of the rows at the indices `start` to `stop` - 1 of this order."""
        return self._permutation(np.arange(start, min(stop, self.n)))

    def after(self, block: int, rows: int) -> int:  # noqa: ARG002
        """Return the end of the epoch, because any row of the block may come last."""
        return self.n

    def uses(self, rows: int) -> tuple[Positions, Positions]:
        """Return the whole epoch for each block, because any row may be anywhere."""
        count = -(-self.n // rows)
        return np.zeros(count, np.int64), np.full(count, self.n)


@dataclass(frozen=True)
class BlockOrder(Order):
    """An order in which blocks are permuted, and then rows within each window of several blocks.

    Parameters
    ----------
    block : int
        Number of rows in a block.
    window : int
        Number of blocks in a window.
    """

    block: int = 4096
    """Number of rows in a block."""
    window: int = 64
    """Number of blocks in a window."""

    @cached_property
    def _blocks(self) -> Positions:
        """Numbers of the blocks in the order of the epoch, (blocks,)."""
        count = -(-self.n // self.block)
        return Permutation(count, mix64(self.seed, self.epoch))(np.arange(count))

    @cached_property
    def _starts(self) -> Positions:
        """Index in this order at which each window begins, and `n` at the end, (windows + 1,)."""
        sizes = np.full(len(self._blocks), self.block)
        sizes[self._blocks == len(sizes) - 1] = self.n - (len(sizes) - 1) * self.block
        if not self.n:
            return np.zeros(1, np.int64)
        ends = np.cumsum(np.add.reduceat(sizes, np.arange(0, len(sizes), self.window)))
        return np.concatenate([[0], ends]).astype(np.int64)

    @cached_property
    def _window_of(self) -> Positions:
        """Number of the window of each block, (blocks,)."""
        windows = np.empty(len(self._blocks), np.int64)
        windows[self._blocks] = np.arange(len(windows)) // self.window
        return windows

    def at(self, start: int, stop: int) -> Positions:
        """Return the positions of the rows at the indices `start` to `stop` - 1 of this order."""
        stop = min(stop, self.n)
        parts, window = [np.empty(0, np.int64)], np.searchsorted(self._starts, start, "right") - 1
        while start < stop:
            end = min(stop, int(self._starts[window + 1]))
            parts.append(self._within(int(window), start, end))
            start, window = end, window + 1
        return np.concatenate(parts)

    def after(self, block: int, rows: int) -> int:
        """Return the index after which this order has no more rows of a block.

        The block consists of the positions from ``block * rows`` to ``(block + 1) * rows - 1``.
        """
        first, last = block * rows // self.block, ((block + 1) * rows - 1) // self.block
        return int(self._starts[self._window_of[first : last + 1].max() + 1])

    def uses(self, rows: int) -> tuple[Positions, Positions]:
        """Return when the windows with a block's rows begin and end, for each block of `rows`."""
        starts = np.arange(0, self.n, rows)
        if not len(starts):
            return starts, starts
        first = starts // self.block
        last = (np.minimum(starts + rows, self.n) - 1) // self.block
        # `reduceat` leaves out the last block of each range if the next range begins in that block.
        windows, at_end = self._window_of, self._window_of[last]
        earliest = np.minimum(np.minimum.reduceat(windows, first), at_end)
        latest = np.maximum(np.maximum.reduceat(windows, first), at_end)
        return self._starts[earliest], self._starts[latest + 1]

    def _within(self, window: int, start: int, stop: int) -> Positions:
        """Return the positions of the rows at the indices `start` to `stop` - 1 of this order.

        All of these indices must be in the given window.
        """
        first = int(self._starts[window])
        size = int(self._starts[window + 1]) - first
        key = mix64(self.seed, self.epoch, window)
        offsets = Permutation(size, key)(np.arange(start - first, stop - first))
        blocks = self._blocks[window * self.window : (window + 1) * self.window]
        # The last block of the view may be short. Offsets after this block are shifted by the
        # number of its missing rows.
        short = np.flatnonzero(blocks == len(self._blocks) - 1)
        if len(short) and self.n % self.block:
            gap = self.block - self.n % self.block
            offsets = np.where(
                offsets >= (int(short[0]) + 1) * self.block - gap, offsets + gap, offsets
            )
        return np.asarray(blocks[offsets // self.block] * self.block + offsets % self.block)
