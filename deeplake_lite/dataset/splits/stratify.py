"""Stratified splits of rows with several labels, and splits of groups of rows.

Rows with several labels are split by iterative stratification: the label with the fewest remaining
rows comes first, and its rows are assigned to the parts that lack the label most. Groups cannot be
divided. Groups are assigned one after the other, large groups first, to the parts that lack most
rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import floor
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.splits.apportion import TINY, apportion, largest_remainder
from deeplake_lite.dataset.splits.hashing import xxh3_64

if TYPE_CHECKING:
    from numpy.typing import NDArray

    type Ints = NDArray[np.int64]
    type Reals = NDArray[np.float64]

ROWS_WEIGHT = 10
"""Weight of a part's number of rows, relative to all labels together."""

SWEEPS = 1
"""Number of times that all groups are reassigned, small groups first, after they were assigned."""


@dataclass(frozen=True)
class Labels:
    """The labels of rows, with each label at most once per row."""

    numbers: Ints
    """The labels of all rows, concatenated. Labels are numbered from 0."""
    starts: Ints
    """Index in `numbers` at which the labels of each row begin, (rows + 1,)."""

    @classmethod
    def of(cls, rows: Ints, labels: NDArray[np.generic], count: int) -> Labels:
        """Build labels from pairs of a row and a label value, for `count` rows.

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
        """Row of each label in `numbers`."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def at(self, rows: Ints) -> tuple[Ints, Ints]:
        """Return the concatenated labels of the given rows, and the index of each label's row."""
        counts = self.starts[rows + 1] - self.starts[rows]
        indices = np.repeat(np.arange(len(rows)), counts)
        first = np.repeat(self.starts[rows] - (np.cumsum(counts) - counts), counts)
        return self.numbers[first + np.arange(len(indices))], indices


def by_labels(labels: Labels, shares: Reals, rank: NDArray[np.uint64]) -> Ints:
    """Return the part of each row, so that all parts have each label in the same proportions.

    The sizes of the parts are exactly those of `largest_remainder`. Of the rows with a given label,
    those with the same set of labels are also spread over the parts.

    Parameters
    ----------
    labels : Labels
        Labels of the rows.
    shares : ndarray, (parts,) float64
        Fraction of rows for each part. The fractions add up to 1.
    rank : ndarray, (rows,) uint64
        Numbers by which rows with the same labels are ordered.

    Notes
    -----
    This is iterative stratification: K. Sechidis, G. Tsoumakas, I. Vlahavas: On the Stratification
    of Multi-Label Data. ECML PKDD 2011. There are three differences: All rows of a label are
    assigned at once, with the same result. A full part gets no more rows. The rounding error of one
    label is compensated by the next labels, so that a small part gets its share of many rare
    labels.

    Examples
    --------
    >>> labels = Labels.of(np.array([0, 1, 2, 2, 3, 3]), np.array([5, 5, 5, 8, 5, 8]), 4)
    >>> by_labels(labels, np.array([0.5, 0.5]), np.arange(4, dtype="uint64")).tolist()
    [0, 1, 0, 1]
    """
    part = np.full(len(labels), -1)
    room = largest_remainder(len(labels), shares)
    label_set, rows_of = _number_label_sets(labels), _RowsByLabel.of(labels)
    unassigned = np.bincount(labels.numbers)
    missing = unassigned[:, np.newaxis] * shares
    queue = [(count, label) for label, count in enumerate(unassigned.tolist())]
    heapify(queue)
    while queue:
        count, label = heappop(queue)
        if count != unassigned[label] or not count:
            continue  # outdated, because the label has another entry with its current count
        rows = rows_of.label(label)
        rows = rows[part[rows] < 0]
        behind = room - room.sum() * shares  # the rounding errors of earlier labels
        counts = _count_rows(missing[label], room, count, behind)
        room -= counts
        if count == 1:  # a shortcut, for data with about as many labels as rows
            row, target = int(rows[0]), int(counts.argmax())
            part[row] = target
            touched = labels.numbers[labels.starts[row] : labels.starts[row + 1]]
            missing[touched, target] -= 1.0
            unassigned[touched] -= 1
        else:
            part[rows] = _spread(label_set[rows], rank[rows], counts)
            numbers, indices = labels.at(rows)
            np.subtract.at(missing, (numbers, part[rows][indices]), 1.0)
            touched, sizes = np.unique(numbers, return_counts=True)
            unassigned[touched] -= sizes
        for other, other_count in zip(touched.tolist(), unassigned[touched].tolist(), strict=True):
            heappush(queue, (other_count, other))
    unlabelled = np.flatnonzero(part < 0)
    order = np.argsort(rank[unlabelled], kind="stable")
    part[unlabelled[order]] = np.repeat(np.arange(len(room)), room)
    return part


@dataclass(frozen=True)
class _RowsByLabel:
    """An index that finds the rows that have a label."""

    rows: Ints
    """Rows of all labels, concatenated."""
    starts: Ints
    """Index in `rows` at which the rows of each label begin, (labels + 1,)."""

    @classmethod
    def of(cls, labels: Labels) -> _RowsByLabel:
        order = np.argsort(labels.numbers, kind="stable")
        counts = np.bincount(labels.numbers)
        return cls(labels.rows[order], np.concatenate([[0], np.cumsum(counts)]))

    def label(self, number: int) -> Ints:
        return self.rows[self.starts[number] : self.starts[number + 1]]


def _number_label_sets(labels: Labels) -> Ints:
    """Return a number for each row. Rows with equal sets of labels have equal numbers."""
    # The sum of the labels' hashes identifies a set. Differences of cumulative sums are exact,
    # because unsigned integers wrap around.
    hashes = xxh3_64(labels.numbers)
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(hashes, dtype=np.uint64)])
    _, number = np.unique(sums[labels.starts[1:]] - sums[labels.starts[:-1]], return_inverse=True)
    return number.ravel().astype(np.int64)


def _count_rows(wanted: Reals, room: Ints, count: int, behind: Reals) -> Ints:
    """Return how many of a label's `count` rows to assign to each part.

    The numbers are close to `wanted`, and at most `room`.

    >>> _count_rows(np.array([4.5, 0.5]), np.array([99, 9]), 5, np.array([-0.5, 0.5])).tolist()
    [4, 1]
    """
    # With few parts, Python lists are about twenty times as fast as NumPy.
    targets, limits, debts = wanted.tolist(), room.tolist(), behind.tolist()
    counts = [min(max(floor(t + TINY), 0), m) for t, m in zip(targets, limits, strict=True)]
    while (unassigned := count - sum(counts)) != 0:
        short = [t - c for t, c in zip(targets, counts, strict=True)]
        if unassigned > 0:
            _, neediest = min(
                ((c >= m, s <= TINY, -s - d), part)
                for part, (c, m, s, d) in enumerate(zip(counts, limits, short, debts, strict=True))
            )
            counts[neediest] += 1
        else:
            _, fullest = min(
                (s + d, part)
                for part, (c, s, d) in enumerate(zip(counts, short, debts, strict=True))
                if c > 0
            )
            counts[fullest] -= 1
    return np.array(counts, np.int64)


def _spread(kind: Ints, rank: NDArray[np.uint64], counts: Ints) -> Ints:
    """Return the part of each row of a label, dividing the rows of every kind among the parts."""
    order = np.argsort(kind, kind="stable")
    if (np.diff(kind[order]) > 0).all():  # all differ, so take a shortcut
        part = np.empty(len(kind), np.int64)
        part[order] = np.repeat(np.arange(len(counts)), counts)
        return part
    _, number, sizes = np.unique(kind, return_inverse=True, return_counts=True)
    return cut(number.ravel(), rank, apportion(sizes, counts / counts.sum()))


def cut(number: Ints, rank: NDArray[np.uint64], counts: Ints) -> Ints:
    """Assign each row to a part.

    In each class, the rows of lowest rank are assigned to the first part.

    Parameters
    ----------
    number : ndarray, (rows,) int64
        Class of each row.
    rank : ndarray, (rows,) uint64
        Numbers by which the rows of a class are ordered. No two numbers are equal.
    counts : ndarray, (classes, parts) int64
        Number of rows of each class for each part.
    """
    if len(counts) == 1:  # a shortcut that does not sort all rows
        ends = np.cumsum(counts[0])
        ends = ends[ends < len(rank)]
        return np.searchsorted(np.partition(rank, ends)[ends], rank, side="right")
    part = np.empty(len(number), np.int64)
    parts = np.tile(np.arange(counts.shape[1]), len(counts))
    order = np.argsort(rank)
    order = order[np.argsort(_narrow(number[order], len(counts)), kind="stable")]
    part[order] = np.repeat(parts, counts.ravel())
    return part


def _narrow(numbers: Ints, count: int) -> NDArray[np.integer[Any]]:
    """Return numbers below `count` as uint16 if possible, because NumPy radix-sorts uint16."""
    return numbers.astype(np.uint16) if count <= 2**16 else numbers


# ---- groups


def by_groups(sizes: Ints, shares: Reals, rank: NDArray[np.uint64]) -> Ints:
    """Return the part of each group. The parts have about the right numbers of rows.

    Large groups come first. Groups of equal size are assigned together, in proportion to the rows
    that the parts still lack. If there are at least as many groups as parts, no part is empty.

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
    return _fill_empty_parts(part, sizes, shares, rank)


def by_groups_and_labels(
    sizes: Ints, labels: Labels, weights: Ints, shares: Reals, rank: NDArray[np.uint64]
) -> Ints:
    """Return the part of each group. The parts have rows and labels in the same proportions.

    Parameters
    ----------
    sizes : ndarray, (groups,) int64
        Number of rows in each group.
    labels : Labels
        Labels of the groups.
    weights : ndarray, (pairs,) int64
        For each entry of ``labels.numbers``, the number of the group's rows that have the label.
    shares, rank
        As for `by_groups`.
    """
    part = np.full(len(sizes), -1)
    total = np.bincount(labels.numbers, weights)
    columns = len(total) + 1  # the last column counts rows, and each other column one label's rows
    scale = np.append(
        1 / np.maximum(total, 1) ** 2, ROWS_WEIGHT * max(len(total), 1) / sizes.sum() ** 2
    )
    missing = shares[:, np.newaxis] * np.append(total, sizes.sum())
    bounds = labels.starts.tolist()

    def columns_of(group: int) -> tuple[Ints, Ints]:
        span = slice(bounds[group], bounds[group + 1])
        indices = np.append(labels.numbers[span], columns - 1)
        return indices, np.append(weights[span], sizes[group])

    order = np.lexsort((rank, -sizes)).tolist()
    for sweep in range(1 + SWEEPS):
        moved = 0
        for group in order if not sweep else reversed(order):
            indices, rows = columns_of(group)
            if sweep:
                missing[part[group], indices] += rows
            best = int(np.argmax(missing[:, indices] @ (rows * scale[indices])))
            missing[best, indices] -= rows
            moved += part[group] != best
            part[group] = best
        if not moved:
            break
    _balance_sizes(part, sizes, labels, weights, scale, missing, rank)
    return _fill_empty_parts(part, sizes, shares, rank)


def _balance_sizes(
    part: Ints,
    sizes: Ints,
    labels: Labels,
    weights: Ints,
    scale: Reals,
    missing: Reals,
    rank: NDArray[np.uint64],
) -> None:
    """Move groups to parts with too few rows, with the least change to the proportions of labels.

    This is needed because many rare labels may be rounded in favour of the same part. An eighth of
    the surplus is moved at a time, and then the costs are computed again. `part` and `missing` are
    changed in place.
    """
    groups = labels.rows
    rows_missing = missing[:, -1]  # a NumPy view, which changes together with `missing`
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
        costs = rows * scale[numbers] * (missing[source, numbers] - missing[target, numbers] + rows)
        cost = np.bincount(groups[pairs], costs, len(sizes))[movable] / sizes[movable]
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
    """Return pairs (part with too many rows, part with too few rows), the worst pairs first.

    >>> _unbalanced(np.array([-3.0, 0.4, 2.0, 0.6]))
    [(0, 2), (0, 3), (0, 1)]
    """
    order = np.argsort(missing, kind="stable").tolist()
    surplus = [p for p in order if missing[p] < -TINY]
    lacking = [p for p in reversed(order) if missing[p] > TINY]
    return [(source, target) for source in surplus for target in lacking]


def _fill_empty_parts(part: Ints, sizes: Ints, shares: Reals, rank: NDArray[np.uint64]) -> Ints:
    """Give each part without a group the smallest group of a part that has several groups."""
    for empty in np.flatnonzero(shares > 0).tolist():
        groups = np.bincount(part, minlength=len(shares))
        if groups[empty] or not (groups > 1).any():
            continue
        spare = np.flatnonzero(groups[part] > 1)
        part[spare[np.lexsort((rank[spare], sizes[spare]))[0]]] = empty
    return part
