"""Statistics of the chunks of a scalar column: bounds, and the counts of nulls and NaNs.

Bounds are stored in the column's dtype. Updates only widen the bounds and raise the counts, so the
bounds may be too wide and the counts too high, until `optimize` makes them exact again. A chunk
without numbers has a lower bound above its upper bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

KINDS = "biufM"
"""NumPy dtype kinds that have an order."""


def empty_bounds(dtype: np.dtype[Any]) -> tuple[object, object]:
    """Return the bounds of a chunk without numbers: the dtype's largest and smallest values.

    >>> empty_bounds(np.dtype("int8"))
    (np.int8(127), np.int8(-128))
    """
    if dtype.kind == "b":
        return np.bool_(True), np.bool_(False)
    if dtype.kind == "f":
        return dtype.type(np.inf), dtype.type(-np.inf)
    info = np.iinfo(dtype)
    return dtype.type(info.max), dtype.type(info.min)


def summarize(
    values: NDArray[Any], valid: NDArray[np.bool_] | None, starts: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Summarize runs of values, of which each begins at one of the positions `starts`.

    Parameters
    ----------
    values : ndarray, (m,)
        The values of all runs.
    valid : ndarray, (m,) bool, optional
        False where a value is null.
    starts : ndarray, (n,) int64
        The first position of each run, ascending. No run is empty.

    Returns
    -------
    bounds : ndarray, (n, 2)
        The least and the greatest number of each run.
    counts : ndarray, (n, 2) int64
        The numbers of nulls and of NaNs in each run.

    Examples
    --------
    >>> bounds, counts = summarize(np.array([2.0, np.nan, 5.0, 7.0]), None, np.array([0, 3]))
    >>> bounds.tolist(), counts.tolist()
    ([[2.0, 5.0], [7.0, 7.0]], [[0, 1], [0, 0]])
    """
    is_null = np.zeros(len(values), bool) if valid is None else ~valid
    is_nan = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), bool)
    masks = is_null, is_nan & ~is_null
    counts = [np.add.reduceat(mask, starts, dtype=np.int64) for mask in masks]
    lows = highs = values
    if (is_other := is_null | is_nan).any():
        low, high = (np.asarray(bound) for bound in empty_bounds(values.dtype))
        lows, highs = np.where(is_other, low, values), np.where(is_other, high, values)
    bounds = np.minimum.reduceat(lows, starts), np.maximum.reduceat(highs, starts)
    return np.stack(bounds, axis=1).astype(values.dtype, copy=False), np.stack(counts, axis=1)


def widen(
    old: tuple[NDArray[Any], NDArray[np.int64]], new: tuple[NDArray[Any], NDArray[np.int64]]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return bounds that cover the values of two summaries, and the sums of their counts."""
    low, high = (f(old[0][:, i], new[0][:, i]) for i, f in enumerate((np.minimum, np.maximum)))
    return np.stack([low, high], axis=1).astype(old[0].dtype, copy=False), old[1] + new[1]
