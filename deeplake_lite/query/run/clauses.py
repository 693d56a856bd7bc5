"""Apply the clauses that follow LIMIT (ARRANGE BY, SAMPLE BY and EXPAND BY) to row positions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.errors import QueryError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

MAX_SAMPLED_ROWS = 100_000_000
"""Maximum number of rows that SAMPLE BY … REPLACE draws."""

type Rows = NDArray[np.int64]


def arrange(keys: Sequence[object]) -> Rows:
    """Return the positions of all rows in an order in which rows with equal keys are adjacent.

    Rows with equal keys form a group, and keep their order within the group. Groups are ordered by
    their first rows.

    Parameters
    ----------
    keys : sequence
        One key per row. NaN equals NaN.

    Examples
    --------
    >>> arrange(["b", "a", "b", "c", "a"]).tolist()
    [0, 2, 1, 4, 3]
    """
    first: dict[Any, int] = {}
    groups = np.array([first.setdefault(_hashable(key), len(first)) for key in keys], np.int64)
    return np.argsort(groups, kind="stable")


def _hashable(key: object) -> object:
    """Return a key as a hashable object: lists and dicts as tuples, and every NaN as one object."""
    match key:
        case list() | tuple():
            return tuple(map(_hashable, key))
        case dict():
            return tuple((name, _hashable(value)) for name, value in key.items())
        case float() if key != key:
            return _NAN
    return key


_NAN = float("nan")


def sample(
    weights: NDArray[np.float64],
    *,
    replace: bool,
    limit: float | None,
    percent: bool,
    seed: int,
) -> Rows:
    """Draw rows at random, with probabilities in proportion to their weights.

    Returns the positions of the drawn rows.

    Parameters
    ----------
    weights : ndarray, (n,) float64
        Weights of the rows. Rows with weight 0 are never drawn.
    replace : bool
        Whether a row may be drawn more than once.
    limit : float, optional
        Number of rows to draw; by default, the number of weights. Without `replace`, fewer rows may
        be drawn, because rows with weight 0 are left out.
    percent : bool
        Whether `limit` is a percentage of the rows.
    seed : int
        The same seed draws the same rows.

    Raises
    ------
    QueryError
        If a weight is negative, infinite or NaN, or if too many rows would be drawn.

    Examples
    --------
    >>> sample(np.array([0.0, 1.0]), replace=True, limit=3, percent=False, seed=0).tolist()
    [1, 1, 1]
    """
    wrong = weights[~(np.isfinite(weights) & (weights >= 0))]
    if len(wrong):
        raise QueryError(
            f"The weights of SAMPLE BY must be finite and at least 0, but one is {wrong[0]:g}. "
            "Give rows that must not be drawn the weight null, as in IF(ISNAN(x), NULL, x)."
        )
    likely, rng = np.flatnonzero(weights), np.random.default_rng(seed)
    wanted = len(weights) if limit is None else limit * len(weights) / 100 if percent else limit
    if replace and wanted > MAX_SAMPLED_ROWS:
        raise QueryError(
            f"SAMPLE BY … REPLACE must draw at most {MAX_SAMPLED_ROWS:,} rows, but it would draw "
            f"{round(wanted):,}. Lower the LIMIT of SAMPLE BY."
        )
    draw = _draw_with_replacement if replace else _draw_without_replacement
    return likely[draw(_scale_down(weights[likely]), round(wanted), rng)] if len(likely) else likely


def _scale_down(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return weights divided by a power of 2, so that their sum is finite.

    The division is exact, except for weights that are so much smaller than the largest weight that
    their rows are never drawn.

    >>> _scale_down(np.array([1e308, 5e307])) / _scale_down(np.array([1e308]))
    array([1. , 0.5])
    """
    _, exponent = np.frexp(weights.max(initial=0.0))
    return np.asarray(np.ldexp(weights, -exponent))


def _draw_with_replacement(
    weights: NDArray[np.float64], count: int, rng: np.random.Generator
) -> Rows:
    """Return `count` positions of weights, drawn at random. A position may be drawn repeatedly."""
    ends = np.cumsum(weights)
    drawn = np.searchsorted(ends, rng.random(count) * ends[-1], side="right")
    return np.asarray(np.minimum(drawn, len(weights) - 1))


def _draw_without_replacement(
    weights: NDArray[np.float64], count: int, rng: np.random.Generator
) -> Rows:
    """Return up to `count` positions of weights, drawn at random, each at most once.

    Notes
    -----
    The algorithm is from Efraimidis and Spirakis, Weighted random sampling with a reservoir,
    IPL 97 (2006).
    """
    with np.errstate(divide="ignore"):  # `_scale_down` turns tiny weights into 0, which rank last
        ranks = np.log(rng.random(len(weights))) / weights
    return np.argsort(-ranks, kind="stable")[:count]


def expand(rows: Rows, total: int, *, before: int, after: int) -> Rows:
    """Return the positions of rows and their neighbours, each once, at its first occurrence.

    There are `total` rows. The neighbours are the `before` rows before, and the `after` rows after
    each row.

    >>> expand(np.array([5, 1]), 7, before=1, after=2).tolist()
    [4, 5, 6, 0, 1, 2, 3]
    """
    before, after = min(before, total), min(after, total)
    if len(rows) * (before + after + 1) > total:
        return _expand_many(rows, total, before, after)
    around = rows[:, np.newaxis] + np.arange(-before, after + 1)
    flat = around[(around >= 0) & (around < total)]
    _, first = np.unique(flat, return_index=True)
    return np.asarray(flat[np.sort(first)])


def _expand_many(rows: Rows, total: int, before: int, after: int) -> Rows:
    """Return the same as `expand`, using memory in proportion to `total`.

    Each row of the result is a neighbour of one or more of `rows`. The result is sorted by the
    index of the first of these, and then by position.
    """
    first = np.full(after + total + before, len(rows))
    np.minimum.at(first, rows + after, np.arange(len(rows)))
    reached = _minimum_within(first, before + after + 1)[:total]
    near = np.flatnonzero(reached < len(rows))
    return np.asarray(near[np.argsort(reached[near], kind="stable")])


def _minimum_within(values: Rows, length: int) -> Rows:
    """Return the minimum of each window of `length` successive values.

    From the minima of windows, the minima of windows of up to twice the length are computed, until
    this length is reached.

    >>> _minimum_within(np.array([3, 1, 2, 5, 4]), 3).tolist()
    [1, 1, 2]
    """
    span = 1
    while 2 * span <= length:
        values = np.minimum(values[:-span], values[span:])
        span *= 2
    shift = length - span
    return np.minimum(values[: len(values) - shift], values[shift:])
