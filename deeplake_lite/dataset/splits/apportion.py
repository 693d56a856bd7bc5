"""How many rows of each class go to each part of a split: whole numbers, close to proportional.

A fraction of a class is rarely a whole number of rows. The rows that remain after rounding down are
assigned by the method of largest remainders, so that the numbers add up for each class and for each
part.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    type Counts = NDArray[np.int64]
    type Reals = NDArray[np.float64]

TINY = 1e-9
"""Largest rounding error of a sum of floats. For example, 0.1 × 30 is not exactly 3."""


def largest_remainder(count: int, shares: Reals) -> Counts:
    """Return whole numbers that add up to `count`, in proportion to `shares`, which add up to 1.

    If remainders are equal, parts without rows get the remaining rows first, then earlier parts.

    >>> largest_remainder(10, np.array([0.55, 0.25, 0.2])).tolist()
    [6, 2, 2]
    >>> largest_remainder(5, np.array([0.9, 0.1])).tolist()
    [4, 1]
    """
    exact = shares * count
    counts = np.floor(exact + TINY).astype(np.int64)
    remainders = np.round(exact - counts, 9)
    order = np.lexsort((np.arange(len(shares)), counts > 0, -remainders))
    counts[order[: count - int(counts.sum())]] += 1
    return counts


def apportion(sizes: Counts, shares: Reals) -> Counts:
    """Return how many rows of each class go to each part, (classes, parts).

    Each row of the result adds up to the size of the class, and each column adds up to the part's
    number in the `largest_remainder` of all rows. Each number is the exact share, rounded down or
    up. This is known as controlled rounding. Here, classes of equal size are rounded together, and
    the rounding error of one size is carried over to the next size.

    Parameters
    ----------
    sizes : ndarray, (classes,) int64
        Number of rows in each class. Among classes of equal size, the first classes get the
        remaining rows of the first parts.
    shares : ndarray, (parts,) float64
        Fraction of rows for each part. The fractions add up to 1.

    Examples
    --------
    >>> apportion(np.array([5, 5, 5, 5]), np.array([0.9, 0.1])).tolist()
    [[5, 0], [5, 0], [4, 1], [4, 1]]
    """
    exact = sizes[:, np.newaxis] * shares
    counts = np.floor(exact + TINY).astype(np.int64)
    distinct, size_number, classes = np.unique(sizes, return_inverse=True, return_counts=True)
    # For each distinct size and each part: the remainder of a class, how many of the `classes` of
    # that size may get an extra row, and how many classes get one.
    remainders = distinct[:, np.newaxis] * shares
    remainders -= np.floor(remainders + TINY)
    limits = classes[:, np.newaxis] * (remainders > TINY)
    extra = _round_up(remainders * classes[:, np.newaxis], limits)
    total = largest_remainder(int(sizes.sum()), shares)
    _balance(extra, limits, total - counts.sum(axis=0) - extra.sum(axis=0))
    order = np.argsort(size_number, kind="stable")
    ends = np.cumsum(classes)
    for number, end in enumerate(ends.tolist()):
        classes_of_size = order[end - classes[number] : end]
        _add_extra_rows(counts, classes_of_size, extra[number])
    return counts


def _round_up(remainders: Reals, limits: Counts) -> Counts:
    """Return how many classes of each size get an extra row in each part."""
    extra, error = np.zeros(remainders.shape, np.int64), np.zeros(remainders.shape[1])
    # Start with large classes, since the many small classes can make up for rounding errors.
    for number in range(len(remainders) - 1, -1, -1):
        exact = remainders[number] + error
        target = round(float(remainders[number].sum()))
        extra[number] = np.clip(np.floor(exact + TINY), 0, limits[number])
        while (missing := target - int(extra[number].sum())) != 0:
            short = exact - extra[number]
            if missing > 0:
                extra[
                    number, np.argmax(np.where(extra[number] < limits[number], short, -np.inf))
                ] += 1
            else:
                extra[number, np.argmin(np.where(extra[number] > 0, short, np.inf))] -= 1
        error = exact - extra[number]
    return extra


def _balance(extra: Counts, limits: Counts, missing: Counts) -> None:
    """Move extra rows from part to part, along shortest paths, until no part has too many rows."""
    while (missing > 0).any():
        moves = _find_moves(extra, limits, missing)
        if not moves:
            return
        for number, a, b in moves:
            extra[number, a] -= 1
            extra[number, b] += 1
        missing[moves[0][1]] += 1
        missing[moves[-1][2]] -= 1


def _find_moves(extra: Counts, limits: Counts, missing: Counts) -> list[tuple[int, int, int]]:
    """Return a chain of moves that together take a row from one part and give a row to another.

    A move is a tuple (number of the class size, from part, to part). The chain is a shortest path,
    found by breadth-first search, from a part with too many rows to a part with too few. If there
    is no path, the result is empty, and the totals of two parts are off by one. No random test has
    ever produced such a case.
    """
    parts = range(len(missing))
    before: dict[int, tuple[int, int, int] | None] = {p: None for p in parts if missing[p] < 0}
    queue = deque(before)
    while queue:
        a = queue.popleft()
        if missing[a] > 0:
            steps: list[tuple[int, int, int]] = []
            while (step := before[a]) is not None:
                steps.append(step)
                a = step[1]
            return steps[::-1]
        for b in parts:
            sizes = np.flatnonzero((extra[:, a] > 0) & (extra[:, b] < limits[:, b]))
            if b not in before and len(sizes):
                before[b] = (int(sizes[-1]), a, b)
                queue.append(b)
    return []


def _add_extra_rows(counts: Counts, classes: Counts, extra: Counts) -> None:
    """Add the extra rows of each part to the classes of one size, taking the classes in turn."""
    ends = np.concatenate([[0], np.cumsum(extra)])
    for part, (start, stop) in enumerate(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)):
        if stop > start:
            np.add.at(counts[:, part], classes[np.arange(start, stop) % len(classes)], 1)
