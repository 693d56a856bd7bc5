"""Rows with several labels, and groups of rows, in parts of the same proportions.

Rows with several labels go by iterative stratification: the label that has fewest rows left comes
first, and each of its rows goes to the part that lacks that label most. Groups cannot be cut: they
go one after the other, large ones first, to where they are missed most.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import floor
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.splits.apportion import TINY, apportioned, largest_remainder
from deeplake_lite.dataset.splits.hashing import xxh3_64

if TYPE_CHECKING:
    from numpy.typing import NDArray

    type Ints = NDArray[np.int64]
    type Reals = NDArray[np.float64]

OF_ROWS = 10
"""How much the number of rows of a part counts, where all labels together count 1."""

SWEEPS = 1
"""How often groups may move again, small ones first, once all have a part."""


@dataclass(frozen=True)
class Labels:
    """Which labels rows have, each label once per row."""

    numbers: Ints
    """Labels of all rows, back to back, from 0 on."""
    starts: Ints
    """(rows + 1,): where the labels of each row begin."""

    @classmethod
    def of(cls, rows: Ints, labels: NDArray[np.generic], count: int) -> Labels:
        """Return labels of pairs of a row and anything that stands for a label.

        >>> Labels.of(np.array([1, 1, 1]), np.array([7, 9, 7]), 3).starts.tolist()
        [0, 0, 2, 2]
        """
        _, numbers = np.unique(labels, return_inverse=True)
        pairs = np.unique(np.stack([rows, numbers.astype(np.int64).ravel()]), axis=1)
        starts = np.concatenate([[0], np.cumsum(np.bincount(pairs[0], minlength=count))])
        return cls(pairs[1], starts.astype(np.int64))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def rows(self) -> Ints:
        """The row of each of `numbers`."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def at(self, rows: Ints) -> tuple[Ints, Ints]:
        """Return the labels of some rows, back to back, and for each which of the rows it is of."""
        counts = self.starts[rows + 1] - self.starts[rows]
        which = np.repeat(np.arange(len(rows)), counts)
        first = np.repeat(self.starts[rows] - (np.cumsum(counts) - counts), counts)
        return self.numbers[first + np.arange(len(which))], which


def by_labels(labels: Labels, shares: Reals, rank: NDArray[np.uint64]) -> Ints:
    """Return the part of each row, such that parts have each label in the same proportions.

    Parts have as many rows as `largest_remainder` says, to the row. Rows of a label with the same
    further labels are spread over the parts, too.

    Parameters
    ----------
    labels : Labels
        Of the rows.
    shares : ndarray, (parts,) float64
        Size of each part; they add up to 1.
    rank : ndarray, (rows,) uint64
        Order of rows that are alike otherwise.

    Notes
    -----
    K. Sechidis, G. Tsoumakas, I. Vlahavas: On the Stratification of Multi-Label Data. ECML PKDD
    2011. Here all rows of a label are given out at once, which comes to the same; parts that are
    full take no more; and what one label leaves over by rounding is made up for by the next, so
    that many rare labels do not all miss a small part.

    Examples
    --------
    >>> labels = Labels.of(np.array([0, 1, 2, 2, 3, 3]), np.array([5, 5, 5, 8, 5, 8]), 4)
    >>> by_labels(labels, np.array([0.5, 0.5]), np.arange(4, dtype="uint64")).tolist()
    [0, 1, 0, 1]
    """
    part = np.full(len(labels), -1)
    room = largest_remainder(len(labels), shares)
    alike, rows_of = _alike(labels), _Inverted.of(labels)
    left = np.bincount(labels.numbers)
    missing = left[:, np.newaxis] * shares
    queue = [(count, label) for label, count in enumerate(left.tolist())]
    heapify(queue)
    while queue:
        count, label = heappop(queue)
        if count != left[label] or not count:
            continue  # it has fewer by now, and is in the queue again, unless it has none
        rows = rows_of.label(label)
        rows = rows[part[rows] < 0]
        behind = room - room.sum() * shares  # what earlier labels have left over by rounding
        counts = _filled(missing[label], room, count, behind)
        room -= counts
        if count == 1:  # most labels, where there are about as many as rows
            row, mine = int(rows[0]), int(counts.argmax())
            part[row] = mine
            touched = labels.numbers[labels.starts[row] : labels.starts[row + 1]]
            missing[touched, mine] -= 1.0
            left[touched] -= 1
        else:
            part[rows] = _spread(alike[rows], rank[rows], counts)
            numbers, which = labels.at(rows)
            np.subtract.at(missing, (numbers, part[rows][which]), 1.0)
            touched, sizes = np.unique(numbers, return_counts=True)
            left[touched] -= sizes
        for other, rest in zip(touched.tolist(), left[touched].tolist(), strict=True):
            heappush(queue, (rest, other))
    rest = np.flatnonzero(part < 0)  # rows without a label
    part[rest[np.argsort(rank[rest], kind="stable")]] = np.repeat(np.arange(len(room)), room)
    return part


@dataclass(frozen=True)
class _Inverted:
    """The rows that each label has."""

    rows: Ints
    starts: Ints

    @classmethod
    def of(cls, labels: Labels) -> _Inverted:
        order = np.argsort(labels.numbers, kind="stable")
        counts = np.bincount(labels.numbers)
        return cls(labels.rows[order], np.concatenate([[0], np.cumsum(counts)]))

    def label(self, number: int) -> Ints:
        return self.rows[self.starts[number] : self.starts[number + 1]]


def _alike(labels: Labels) -> Ints:
    """Return a number per row, equal for equal sets of labels."""
    one = xxh3_64(labels.numbers)
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(one, dtype=np.uint64)])
    _, number = np.unique(sums[labels.starts[1:]] - sums[labels.starts[:-1]], return_inverse=True)
    return number.ravel().astype(np.int64)


def _filled(wanted: Reals, room: Ints, count: int, behind: Reals) -> Ints:
    """Return how many rows of a label go to each part: as wanted, as far as there is room.

    >>> _filled(np.array([4.5, 0.5]), np.array([99, 9]), 5, np.array([-0.5, 0.5])).tolist()
    [4, 1]
    """
    # Plain numbers: there are few parts, and NumPy would take twenty times as long.
    want, free, late = wanted.tolist(), room.tolist(), behind.tolist()
    counts = [min(max(floor(w + TINY), 0), f) for w, f in zip(want, free, strict=True)]
    while (rest := count - sum(counts)) != 0:
        short = [w - c for w, c in zip(want, counts, strict=True)]
        if rest > 0:
            _, most = min(
                ((c >= f, s <= TINY, -s - d), part)
                for part, (c, f, s, d) in enumerate(zip(counts, free, short, late, strict=True))
            )
            counts[most] += 1
        else:
            _, least = min(
                (s + d, part)
                for part, (c, s, d) in enumerate(zip(counts, short, late, strict=True))
                if c > 0
            )
            counts[least] -= 1
    return np.array(counts, np.int64)


def _spread(kind: Ints, rank: NDArray[np.uint64], counts: Ints) -> Ints:
    """Return the part of each row of a label, each kind of row in the same proportions."""
    order = np.argsort(kind, kind="stable")
    if (np.diff(kind[order]) > 0).all():  # `apportioned` would give out rows that all differ so
        part = np.empty(len(kind), np.int64)
        part[order] = np.repeat(np.arange(len(counts)), counts)
        return part
    _, number, sizes = np.unique(kind, return_inverse=True, return_counts=True)
    return cut(number.ravel(), rank, apportioned(sizes, counts / counts.sum()))


def cut(number: Ints, rank: NDArray[np.uint64], counts: Ints) -> Ints:
    """Return the part of each row: of each class, the first ones by rank go to the first part.

    Parameters
    ----------
    number : ndarray, (rows,) int64
        Class of each row.
    rank : ndarray, (rows,) uint64
        What orders the rows of a class.
    counts : ndarray, (classes, parts) int64
        How many rows of each class go to each part.
    """
    part = np.empty(len(number), np.int64)
    parts = np.tile(np.arange(counts.shape[1]), len(counts))
    order = np.argsort(rank)
    if len(counts) > 1:
        order = order[np.argsort(_narrow(number[order], len(counts)), kind="stable")]
    part[order] = np.repeat(parts, counts.ravel())
    return part


def _narrow(numbers: Ints, count: int) -> NDArray[np.integer[Any]]:
    """Return numbers below `count` in 16 bits, if they fit: NumPy sorts those by radix."""
    return numbers.astype(np.uint16) if count <= 2**16 else numbers


# ---- groups


def by_groups(sizes: Ints, shares: Reals, rank: NDArray[np.uint64]) -> Ints:
    """Return the part of each group, such that parts have about the rows that they should.

    Groups of one size are given out together, large ones first, in proportion to what the parts
    still miss. No part is left without a group where there are as many groups as parts.

    >>> sizes, rank = np.array([50, 20, 20, 5, 5]), np.arange(5, dtype="uint64")
    >>> by_groups(sizes, np.array([0.7, 0.3]), rank).tolist()
    [0, 0, 1, 1, 1]
    """
    part, missing = np.empty(len(sizes), np.int64), shares * sizes.sum()
    for size in np.unique(sizes)[::-1].tolist():
        groups = np.flatnonzero(sizes == size)
        wanted = np.maximum(missing, 0)
        counts = largest_remainder(len(groups), wanted / wanted.sum())
        order = np.argsort(rank[groups], kind="stable")
        part[groups[order]] = np.repeat(np.arange(len(shares)), counts)
        missing -= counts * size
    return _none_empty(part, sizes, shares, rank)


def by_groups_and_labels(
    sizes: Ints, labels: Labels, weights: Ints, shares: Reals, rank: NDArray[np.uint64]
) -> Ints:
    """Return the part of each group, such that parts have rows and labels in the same proportions.

    Parameters
    ----------
    sizes : ndarray, (groups,) int64
        Rows of each group.
    labels : Labels
        Of the groups.
    weights : ndarray, (pairs,) int64
        How many rows of the group have the label, for each of ``labels.numbers``.
    shares, rank
        As for `by_groups`.
    """
    part = np.full(len(sizes), -1)
    total = np.bincount(labels.numbers, weights)
    columns = len(total) + 1  # the last one stands for the rows themselves
    scale = np.append(
        1 / np.maximum(total, 1) ** 2, OF_ROWS * max(len(total), 1) / sizes.sum() ** 2
    )
    missing = shares[:, np.newaxis] * np.append(total, sizes.sum())
    bounds = labels.starts.tolist()

    def of(group: int) -> tuple[Ints, Ints]:
        span = slice(bounds[group], bounds[group + 1])
        own = np.append(labels.numbers[span], columns - 1)
        return own, np.append(weights[span], sizes[group])

    order = np.lexsort((rank, -sizes)).tolist()
    for sweep in range(1 + SWEEPS):
        moved = 0
        for group in order if not sweep else reversed(order):
            own, rows = of(group)
            if sweep:
                missing[part[group], own] += rows
            best = int(np.argmax(missing[:, own] @ (rows * scale[own])))
            missing[best, own] -= rows
            moved += part[group] != best
            part[group] = best
        if not moved:
            break
    _move_to_size(part, sizes, labels, weights, scale, missing, rank)
    return _none_empty(part, sizes, shares, rank)


def _move_to_size(
    part: Ints,
    sizes: Ints,
    labels: Labels,
    weights: Ints,
    scale: Reals,
    missing: Reals,
    rank: NDArray[np.uint64],
) -> None:
    """Move groups from parts with too many rows to parts with too few, at least cost to labels.

    Many rare labels each round towards the same part. An eighth of the surplus moves at a time, so
    that costs are those of the labels as they are by then. `part` and `missing` are changed.
    """
    groups = labels.rows
    rows_missing = missing[:, -1]  # a view: moves keep it current
    while True:
        for source, target in _unbalanced(rows_missing):
            difference = rows_missing[target] - rows_missing[source]
            movable = np.flatnonzero((part == source) & (sizes < difference - TINY))
            if len(movable):
                break
        else:
            return
        pairs = np.flatnonzero(part[groups] == source)
        numbers, rows = labels.numbers[pairs], weights[pairs]
        harm = rows * scale[numbers] * (missing[source, numbers] - missing[target, numbers] + rows)
        cost = np.bincount(groups[pairs], harm, len(sizes))[movable] / sizes[movable]
        order = movable[np.lexsort((rank[movable], cost))]
        surplus = min(-rows_missing[source], rows_missing[target])
        count = int(np.searchsorted(np.cumsum(sizes[order]), surplus / 8, side="right"))
        chosen = order[: max(count, 1)]
        part[chosen] = target
        moved = pairs[np.isin(groups[pairs], chosen)]
        for row, sign in ((source, 1), (target, -1)):
            np.add.at(missing[row], labels.numbers[moved], sign * weights[moved])
            rows_missing[row] += sign * sizes[chosen].sum()


def _unbalanced(missing: Reals) -> list[tuple[int, int]]:
    """Return pairs of a part with too many rows and one with too few, the worst first.

    >>> _unbalanced(np.array([-3.0, 0.4, 2.0, 0.6]))
    [(0, 2), (0, 3), (0, 1)]
    """
    order = np.argsort(missing, kind="stable").tolist()
    surplus = [p for p in order if missing[p] < -TINY]
    lacking = [p for p in reversed(order) if missing[p] > TINY]
    return [(source, target) for source in surplus for target in lacking]


def _none_empty(part: Ints, sizes: Ints, shares: Reals, rank: NDArray[np.uint64]) -> Ints:
    """Give a part that got no group the smallest one of a part that has several."""
    for empty in np.flatnonzero(shares > 0).tolist():
        groups = np.bincount(part, minlength=len(shares))
        if groups[empty] or not (groups > 1).any():
            continue
        spare = np.flatnonzero(groups[part] > 1)
        part[spare[np.lexsort((rank[spare], sizes[spare]))[0]]] = empty
    return part
