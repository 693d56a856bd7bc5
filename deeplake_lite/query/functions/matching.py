"""Solve the assignment problem: find the one-to-one matching with the largest sum.

Notes
-----
The algorithm uses shortest augmenting paths with potentials: H. W. Kuhn 1955, in the form of
J. Munkres and of R. Jonker and A. Volgenant 1987. It takes O(n²m) time, with inner loops in NumPy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def best_matching(gains: NDArray[Any]) -> NDArray[Any]:
    """Return the largest sum of entries of a matrix, with at most one in each row and column.

    Parameters
    ----------
    gains : ndarray, (…, n, m)
        One or many matrices. The entries must not be negative.

    Returns
    -------
    float64 or ndarray, (…)
        The sum for each matrix.

    >>> best_matching(np.array([[0.9, 0.8], [0.8, 0.1]]))
    np.float64(1.6)
    """
    gains = np.asarray(gains, np.float64)
    gains = gains if gains.shape[-2] <= gains.shape[-1] else np.swapaxes(gains, -1, -2)
    if not gains.size:
        return np.zeros(gains.shape[:-2])[()]
    best = gains.argmax(axis=-1)
    shared = (np.diff(np.sort(best, axis=-1), axis=-1) == 0).any(axis=-1)
    # If no two rows have their best entry in the same column, these entries are the matching.
    for position in zip(*np.nonzero(np.atleast_1d(shared)), strict=True):
        at = position if np.ndim(shared) else ()
        best[at] = _assign(-gains[at])
    return np.take_along_axis(gains, best[..., None], axis=-1)[..., 0].sum(axis=-1)


def _assign(costs: NDArray[Any]) -> NDArray[np.int64]:
    """Return the column that the cheapest assignment gives to each row.

    There must be at least as many columns as rows.
    """
    n, m = costs.shape
    row_price, column_price = np.zeros(n), np.zeros(m + 1)
    owner = np.full(m + 1, -1)  # the row of each column; paths start at an extra column
    for row in range(n):
        owner[m], column = row, m
        distance, previous = np.full(m, np.inf), np.full(m, m)
        done = np.zeros(m + 1, bool)
        while owner[column] >= 0:
            done[column] = True
            at = owner[column]
            reached = costs[at] - row_price[at] - column_price[:m]
            closer = ~done[:m] & (reached < distance)
            distance[closer], previous[closer] = reached[closer], column
            candidates = np.where(done[:m], np.inf, distance)
            following = int(candidates.argmin())
            step = candidates[following]
            row_price[owner[done]] += step
            column_price[done] -= step
            distance[~done[:m]] -= step
            column = following
        while column != m:  # reassign the columns along the path
            owner[column] = owner[previous[column]]
            column = int(previous[column])
    assigned = np.empty(n, np.int64)
    for column in range(m):
        if owner[column] >= 0:
            assigned[owner[column]] = column
    return assigned
