"""What follows LIMIT: ARRANGE BY, SAMPLE BY, EXPAND BY. Arithmetic on rows' numbers; no I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.errors import QueryError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

type Rows = NDArray[np.int64]


def arrange(keys: Sequence[Any]) -> Rows:
    """Return an order that puts equal keys together: groups by their first row, rows as they were.

    Parameters
    ----------
    keys : sequence of hashable
        One per row.

    Examples
    --------
    >>> arrange(["b", "a", "b", "c", "a"]).tolist()
    [0, 2, 1, 4, 3]
    """
    first: dict[Any, int] = {}
    groups = np.array([first.setdefault(key, len(first)) for key in keys], np.int64)
    return np.argsort(groups, kind="stable")


def sample(
    weights: NDArray[np.float64],
    *,
    replace: bool,
    limit: float | None,
    percent: bool,
    seed: int,
) -> Rows:
    """Draw rows in proportion to their weights.

    Parameters
    ----------
    weights : ndarray, (n,) float64
        Zero, NaN and null are never drawn.
    replace : bool
        Whether a row may come again.
    limit : float, optional
        How many; without it as many as there are rows, or as have a weight.
    percent : bool
        Whether `limit` is a share of the rows.
    seed : int
        The same one draws the same.

    Examples
    --------
    >>> sample(np.array([0.0, 1.0]), replace=True, limit=3, percent=False, seed=0).tolist()
    [1, 1, 1]
    """
    weights = np.nan_to_num(np.asarray(weights, np.float64), nan=0.0)
    if (weights < 0).any() or np.isinf(weights).any():
        wrong = weights[(weights < 0) | np.isinf(weights)][0]
        raise QueryError(f"SAMPLE BY takes weights of 0 or more, got {wrong:g}.")
    likely = np.flatnonzero(weights)
    count = len(weights) if limit is None else limit * len(weights) / 100 if percent else limit
    count = round(count)
    if not len(likely):
        return np.empty(0, np.int64)
    if not replace:
        count = min(count, len(likely))
    rng = np.random.default_rng(seed)
    if replace:
        ends = np.cumsum(weights[likely])
        drawn = np.searchsorted(ends, rng.random(count) * ends[-1], side="right")
        return np.asarray(likely[np.minimum(drawn, len(likely) - 1)])
    # Efraimidis and Spirakis, Weighted random sampling with a reservoir, IPL 97 (2006)
    ranks = np.log(rng.random(len(likely))) / weights[likely]
    return likely[np.argsort(-ranks, kind="stable")[:count]]


def expand(rows: Rows, total: int, *, before: int, after: int) -> Rows:
    """Return rows with those around them; a row comes once, where it is first reached.

    >>> expand(np.array([5, 1]), 7, before=1, after=2).tolist()
    [4, 5, 6, 0, 1, 2, 3]
    """
    around = rows[:, np.newaxis] + np.arange(-before, after + 1)
    flat = around[(around >= 0) & (around < total)]
    _, first = np.unique(flat, return_index=True)
    return np.asarray(flat[np.sort(first)])
