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
    values: NDArray[Any], valid: NDArray[np.bool_] | None
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the least and greatest value, (2,), and the numbers of nulls and NaNs, (2,) int64.

    >>> bounds, counts = summarize(np.array([2.0, np.nan, 5.0]), None)
    >>> bounds.tolist(), counts.tolist()
    ([2.0, 5.0], [0, 1])
    """
    non_null = values if valid is None else values[valid]
    is_float = non_null.dtype.kind == "f"
    nans = np.isnan(non_null) if is_float else np.zeros(len(non_null), bool)
    numbers = non_null[~nans]
    low, high = (numbers.min(), numbers.max()) if len(numbers) else empty_bounds(values.dtype)
    counts = np.array([len(values) - len(non_null), nans.sum()], np.int64)
    return np.array([low, high], values.dtype), counts


def widen(
    old: tuple[NDArray[Any], NDArray[np.int64]], new: tuple[NDArray[Any], NDArray[np.int64]]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return bounds that cover the values of two summaries, and the sums of their counts."""
    low, high = min(old[0][0], new[0][0]), max(old[0][1], new[0][1])
    return np.array([low, high], old[0].dtype), old[1] + new[1]
