"""Times in the units that Arrow, pandas and xarray know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.htypes.times import cast_time

if TYPE_CHECKING:
    from numpy.typing import NDArray

_COMMON = ("s", "ms", "us", "ns")


def common_times(values: NDArray[Any]) -> NDArray[Any]:
    """Return times in a unit that Arrow, pandas and xarray know; anything else as it is.

    Seconds stand for coarser units. Durations in months and years have no length, and leave as
    int64 counts.

    Raises
    ------
    InvalidValueError
        For a time that seconds since 1970 cannot hold.

    >>> common_times(np.array(["2026-01-02"], "datetime64[D]")).dtype
    dtype('<M8[s]')
    """
    if values.dtype.kind not in "mM" or np.datetime_data(values.dtype)[0] in _COMMON:
        return values
    if values.dtype.kind == "m" and np.datetime_data(values.dtype)[0] in "YM":
        return values.view(np.int64)
    return cast_time(values, np.dtype(f"{values.dtype.kind}8[s]"))
