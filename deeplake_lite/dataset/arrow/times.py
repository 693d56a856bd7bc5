"""Conversion of times to units that Arrow, pandas and xarray support."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.htypes.times import cast_time

if TYPE_CHECKING:
    from numpy.typing import NDArray

_COMMON = ("s", "ms", "us", "ns")


def common_times(values: NDArray[Any]) -> NDArray[Any]:
    """Convert times to a unit that Arrow, pandas and xarray support. Other values are unchanged.

    Times in coarser units are converted to seconds. Durations in months and years have no fixed
    length, so they become int64 counts.

    Raises
    ------
    InvalidValueError
        If a time does not fit in 64-bit seconds since 1970.

    >>> common_times(np.array(["2026-01-02"], "datetime64[D]")).dtype
    dtype('<M8[s]')
    """
    if values.dtype.kind not in "mM" or np.datetime_data(values.dtype)[0] in _COMMON:
        return values
    if values.dtype.kind == "m" and np.datetime_data(values.dtype)[0] in "YM":
        return values.view(np.int64)
    return cast_time(values, np.dtype(f"{values.dtype.kind}8[s]"))
