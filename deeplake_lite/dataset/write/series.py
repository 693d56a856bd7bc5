"""Conversion of pandas and polars columns, which may contain NumPy, Arrow or Python values.

The same rules apply to appends and ingests, and to single columns as well as columns of a
DataFrame.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.arrow.capsules import polars_column
from deeplake_lite.htypes.foreign import is_column

if TYPE_CHECKING:
    import pandas as pd


def is_series(values: Any) -> bool:
    """Return whether values are a pandas or polars column: a Series, an index or a pandas array.

    >>> import pandas as pd
    >>> is_series(pd.array([1, None])), is_series(pd.DataFrame()), is_series(np.zeros(2))
    (True, False, False)
    """
    is_like_pandas = hasattr(values, "iloc") and values.ndim == 1  # for example, a Series of modin
    return is_like_pandas or (is_column(type(values)) and not is_arrow(values))


def is_arrow(values: object) -> bool:
    """Return whether values are an Arrow column: an Array or a ChunkedArray, but not a table."""
    return hasattr(values, "to_pylist") and hasattr(values, "null_count")


def series_values(values: object) -> object:
    """Return a column as a NumPy or Arrow array, or as a list with None for nulls.

    NaN in an array of floats remains NaN. Raises InvalidValueError for periods and intervals, which
    no column type can store.

    >>> import pandas as pd
    >>> series_values(pd.Series([1.5, None])), series_values(pd.Series(["a", None], dtype=object))
    (array([1.5, nan]), <pyarrow.lib.StringArray object at ...>
    [
      "a",
      null
    ])
    """
    import pyarrow as pa

    from deeplake_lite.dataset.arrow.types import check_storable

    if type(values).__module__.startswith("polars"):
        return polars_column(values)
    column = _as_series(values)
    if column.dtype == object:
        return _object_values(column)
    categories = getattr(column.dtype, "categories", column)  # pd.cut returns intervals
    check_storable(categories.dtype.name, categories.dtype)
    if column.dtype.name.startswith("Sparse"):
        return series_values(column.astype(getattr(column.dtype, "subtype", "O")))
    if isinstance(column.dtype, np.dtype):
        return column.to_numpy()
    try:
        return pa.array(column)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return [None if is_missing(value) else value for value in column.tolist()]


def _as_series(values: object) -> Any:
    """Convert a pandas index or array to a Series. A Series is returned unchanged."""
    if hasattr(values, "iloc"):
        return values
    import pandas as pd

    return pd.Series(list(values) if isinstance(values, pd.MultiIndex) else values)


def _object_values(column: pd.Series[Any]) -> object:
    """Return a column of objects as an Arrow array, or as a list if Arrow would change its values.

    Arrow adds missing keys to dicts, converts times to microseconds, merges dates and times into
    one type, and drops the shape of arrays. NaN within lists remains NaN, although pandas treats it
    as missing.
    """
    values = [_with_none(value) for value in column.tolist()]
    kinds = {type(value) for value in values if value is not None}
    if kinds == {dt.time} and any(v.tzinfo for v in values if v is not None):
        return values
    if not kinds or (len(kinds) == 1 and kinds <= _PRESERVED_BY_ARROW):
        import pyarrow as pa

        try:
            return pa.array(values)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            pass
    return values


_PRESERVED_BY_ARROW = {bool, bytes, Decimal, dt.time, float, int, str}


def _with_none(value: object) -> Any:
    """Replace pandas' missing values with None, except for NaN within a list."""
    if isinstance(value, list):
        return [None if is_missing(item, nan=False) else item for item in value]
    return None if is_missing(value) else value


def is_missing(value: object, *, nan: bool = True) -> bool:
    """Return whether an object means null, as None, NA and NaT do, and NaN if `nan` is true.

    >>> [is_missing(v) for v in (None, float("nan"), 0, "", np.zeros(2))]
    [True, True, False, False, False]
    """
    if isinstance(value, float | np.floating):
        return nan and bool(np.isnan(value))
    return value is None or type(value).__name__ in ("NAType", "NaTType")
