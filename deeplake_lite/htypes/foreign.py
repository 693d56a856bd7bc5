r"""Conversion of pandas, polars and Arrow columns to NumPy without loss.

NumPy has no nulls and strips trailing NULs from strings: it would convert a null to NaN, the
integers around it to floats, and "a\0" to "a". None of these libraries is imported; columns are
recognised by their class names.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.lazy import LazyModule

if TYPE_CHECKING:
    from deeplake_lite.htypes import arrow_scalars
else:
    arrow_scalars = LazyModule("deeplake_lite.htypes.arrow_scalars")

_COLUMNS = {
    ("pandas", "Series"),
    ("pandas", "Index"),
    ("pandas", "ExtensionArray"),
    ("polars", "Series"),
    ("pyarrow", "Array"),
    ("pyarrow", "ChunkedArray"),
}


_SCALARS = {("pyarrow", "Scalar")}
_NULLS = {("pandas", "NAType"), ("pandas", "NaTType")}
_DEEPEST = 1_000
"""Maximum depth to which nested lists are examined. Python itself cannot handle much more."""

_FRAMES = {("pandas", "DataFrame"), ("polars", "DataFrame")}


def is_column(kind: type) -> bool:
    """Return whether values of a type are pandas, polars or Arrow columns.

    >>> import pandas as pd
    >>> is_column(pd.Index), is_column(type(pd.array([1, None]))), is_column(np.ndarray)
    (True, True, False)
    """
    return _is_one_of(kind, _COLUMNS)


def is_frame(kind: type) -> bool:
    """Return whether values of a type are pandas or polars data frames."""
    return _is_one_of(kind, _FRAMES)


def _is_one_of(kind: type, classes: set[tuple[str, str]]) -> bool:
    return not _names_of(kind).isdisjoint(classes)


@lru_cache(maxsize=1_000)  # called for each item of a sequence
def _names_of(kind: type) -> frozenset[tuple[str, str]]:
    """Return the package and name of a class and of each of its base classes."""
    return frozenset((c.__module__.partition(".")[0], c.__name__) for c in kind.__mro__)


def frame_array(frame: Any) -> np.ndarray[Any, Any]:
    """Convert a data frame of numbers to an array (rows, columns), with None where null.

    >>> import pandas as pd
    >>> frame_array(pd.DataFrame({"a": pd.array([1, None]), "b": [2, 3]})).tolist()
    [[1, 2], [None, 3]]
    """
    is_pandas = hasattr(frame, "iloc")
    columns = [frame.iloc[:, i] if is_pandas else frame[:, i] for i in range(frame.shape[1])]
    if all(map(_is_plain, columns)):
        return np.asarray(frame)
    return np.column_stack([column_array(column) for column in columns])


def column_array(column: Any) -> np.ndarray[Any, Any]:
    """Convert a column to an array, which has dtype object for strings and for columns with nulls.

    Nulls become None, but null times become NaT. NaN in a NumPy-backed pandas column stays NaN.

    >>> import pandas as pd
    >>> column_array(pd.array([1, None])), column_array(pd.Series([1.5, None]))
    (array([1, None], dtype=object), array([1.5, nan]))
    """
    if _is_plain(column):
        return np.asarray(column)
    items, nulls = _to_list(column), _find_nulls(column)
    values = np.empty(len(items), object)
    values[:] = [None if is_null else item for item, is_null in zip(items, nulls, strict=True)]
    return values


def _is_plain(column: Any) -> bool:
    """Return whether NumPy can hold all values of a column: times, or numbers without nulls."""
    if str(getattr(column, "dtype", "")).startswith("Sparse"):  # sparse columns use NaN as null
        return True
    kind = np.asarray(column[:1]).dtype.kind
    return kind in "mM" or (kind in "biufc" and not _find_nulls(column).any())


def _to_list(column: Any) -> list[object]:
    """Return the values of a column as Python objects."""
    if hasattr(column, "to_pylist"):
        return arrow_scalars.python_values(column)
    for name in ("to_list", "tolist"):
        if hasattr(column, name):
            return list(getattr(column, name)())
    return list(column)


def _find_nulls(column: Any) -> np.ndarray[Any, Any]:
    """Return a bool array (n,) that is True where a value is null."""
    if isinstance(getattr(column, "dtype", None), np.dtype) and column.dtype.kind != "O":
        return np.zeros(len(column), bool)
    if not hasattr(column, "isna"):
        return np.asarray(column.is_null(), bool)
    try:
        return np.asarray(column.isna(), bool)
    except NotImplementedError:  # a pandas MultiIndex, whose values are tuples
        return np.zeros(len(column), bool)


def text_objects(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Convert an array of NumPy's StringDType to objects, with None for missing strings.

    >>> text_objects(np.array(["a", None], np.dtypes.StringDType(na_object=None))).tolist()
    ['a', None]
    """
    objects = np.empty(array.shape, object)
    objects.ravel()[:] = [value if isinstance(value, str) else None for value in array.flat]
    return objects


def without_arrow(values: Any) -> Any:
    """Replace Arrow scalars in a list by Python objects, and pandas' nulls by None.

    NumPy would read an Arrow scalar through the buffer protocol, as raw memory.

    >>> import pandas as pd, pyarrow as pa
    >>> without_arrow([pa.scalar("rose"), pa.scalar(None), 1, [pd.NA, pd.NaT]])
    ['rose', None, 1, [None, None]]
    """
    try:
        return _unwrap(values) if _holds_scalar(values) else values
    except RecursionError:  # a list that contains itself; the type rejects it later
        return values


def _unwrap(value: Any) -> object:
    if isinstance(value, list | tuple):
        return [_unwrap(item) for item in value]
    if _is_one_of(type(value), _NULLS):
        return None
    return arrow_scalars.python_value(value) if _is_one_of(type(value), _SCALARS) else value


def _holds_scalar(values: Any) -> bool:
    """Return whether a list contains an Arrow scalar or a pandas null at any depth.

    All lists at the same depth are examined together, which is much faster than one by one.
    """
    lists = [values]
    for _ in range(_DEEPEST):
        kinds = set(map(type, chain.from_iterable(lists)))
        if any(_is_one_of(kind, _SCALARS | _NULLS) for kind in kinds):
            return True
        if not any(issubclass(kind, list | tuple) for kind in kinds):
            return False
        items = chain.from_iterable(lists)
        # Keep each list once, since a list that contains itself twice would double at each depth.
        lists = list({id(i): i for i in items if isinstance(i, list | tuple)}.values())
    return False  # a list that contains itself, which the type rejects
