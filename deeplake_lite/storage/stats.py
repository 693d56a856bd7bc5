"""What a chunk of numbers holds without reading it: bounds, nulls and NaNs, one row per chunk.

Bounds are kept in the column's dtype. They only ever widen, so after an update they may be wider
than the data, and the counts are upper bounds; `optimize` makes them exact again. A chunk with no
number in it has its bounds the wrong way round.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

KINDS = "biufM"
"""NumPy dtype kinds that have an order."""


def empty_bounds(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Return the bounds of no number: the largest value, then the smallest.

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
    values: NDArray[Any], valid: NDArray[np.bool_] | None
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the bounds, (2,), and the numbers of nulls and NaNs, (2,) int64, of some values, (n,).

    >>> bounds, counts = summarize(np.array([2.0, np.nan, 5.0]), None)
    >>> bounds.tolist(), counts.tolist()
    ([2.0, 5.0], [0, 1])
    """
    kept = values if valid is None else values[valid]
    nans = np.isnan(kept) if kept.dtype.kind == "f" else np.zeros(len(kept), bool)
    numbers = kept[~nans]
    low, high = (numbers.min(), numbers.max()) if len(numbers) else empty_bounds(values.dtype)
    counts = np.array([len(values) - len(kept), nans.sum()], np.int64)
    return np.array([low, high], values.dtype), counts


def widen(
    old: tuple[NDArray[Any], NDArray[np.int64]], new: tuple[NDArray[Any], NDArray[np.int64]]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return a summary that holds for both."""
    low, high = min(old[0][0], new[0][0]), max(old[0][1], new[0][1])
    return np.array([low, high], old[0].dtype), old[1] + new[1]
