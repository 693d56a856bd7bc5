r"""Columns of pandas, polars and Arrow where a value, or one value per row, is expected.

NumPy has no nulls and cuts texts at a trailing NUL: it would make NaN of a null, floats of the
integers beside it, and "a" of "a\0". No library is imported; a column tells its own by its type.
"""

from __future__ import annotations

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
_FRAMES = {("pandas", "DataFrame"), ("polars", "DataFrame")}


def is_column(kind: type) -> bool:
    """Tell whether values of a type are columns of another library.

    >>> import pandas as pd
    >>> is_column(pd.Index), is_column(type(pd.array([1, None]))), is_column(np.ndarray)
    (True, True, False)
    """
    return _is_one_of(kind, _COLUMNS)


def is_frame(kind: type) -> bool:
    """Tell whether values of a type are tables of pandas or polars."""
    return _is_one_of(kind, _FRAMES)


def _is_one_of(kind: type, named: set[tuple[str, str]]) -> bool:
    names = ((base.__module__.partition(".")[0], base.__name__) for base in kind.__mro__)
    return any(name in named for name in names)


def frame_array(frame: Any) -> np.ndarray[Any, Any]:
    """Return a table of numbers as an array of its rows, (n, columns); null as None.

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
    """Return a column as an array; of objects where there are texts, or nulls, which are None.

    NaN of a NumPy array of pandas' stays NaN, and a moment that is null is NaT.

    >>> import pandas as pd
    >>> column_array(pd.array([1, None])), column_array(pd.Series([1.5, None]))
    (array([1, None], dtype=object), array([1.5, nan]))
    """
    if _is_plain(column):
        return np.asarray(column)
    listed = _listed(column)
    values = np.empty(len(listed), object)
    values[:] = [None if is_null else v for v, is_null in zip(listed, _null(column), strict=True)]
    return values


def _is_plain(column: Any) -> bool:
    """Tell whether NumPy has all the values of a column: moments, or numbers without nulls."""
    if str(getattr(column, "dtype", "")).startswith("Sparse"):  # which has NaN in place of null
        return True
    kind = np.asarray(column[:1]).dtype.kind
    return kind in "mM" or (kind in "biufc" and not _null(column).any())


def _listed(column: Any) -> list[Any]:
    """Return the values of a column as Python has them."""
    if hasattr(column, "to_pylist"):
        return arrow_scalars.python_values(column)
    for name in ("to_list", "tolist"):
        if hasattr(column, name):
            return list(getattr(column, name)())
    return list(column)


def _null(column: Any) -> np.ndarray[Any, Any]:
    """Tell which values of a column are null: (n,) bool."""
    if isinstance(getattr(column, "dtype", None), np.dtype) and column.dtype.kind != "O":
        return np.zeros(len(column), bool)
    if not hasattr(column, "isna"):
        return np.asarray(column.is_null(), bool)
    try:
        return np.asarray(column.isna(), bool)
    except NotImplementedError:  # pandas' index of several levels, whose values are tuples
        return np.zeros(len(column), bool)


def text_objects(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return NumPy's texts of any length as objects, None where they are missing.

    >>> text_objects(np.array(["a", None], np.dtypes.StringDType(na_object=None))).tolist()
    ['a', None]
    """
    objects = np.empty(array.shape, object)
    objects.ravel()[:] = [value if isinstance(value, str) else None for value in array.flat]
    return objects


def without_arrow(values: Any) -> Any:
    """Return a list of values with Arrow's scalars as Python's, and pandas' nulls as None.

    NumPy would take the memory of a scalar for its value.

    >>> import pandas as pd, pyarrow as pa
    >>> without_arrow([pa.scalar("rose"), pa.scalar(None), 1, [pd.NA, pd.NaT]])
    ['rose', None, 1, [None, None]]
    """
    try:
        return _unwrapped(values) if _holds_scalar(values) else values
    except RecursionError:  # a list within itself, which the type refuses
        return values


def _unwrapped(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_unwrapped(item) for item in value]
    if _is_one_of(type(value), _NULLS):
        return None
    return arrow_scalars.python_value(value) if _is_one_of(type(value), _SCALARS) else value


def _holds_scalar(values: Any) -> bool:
    """Tell whether a list has a scalar of Arrow or a null of pandas, however deep."""
    kinds = set(map(type, values))
    if any(_is_one_of(kind, _SCALARS | _NULLS) for kind in kinds):
        return True
    if not any(issubclass(kind, list | tuple) for kind in kinds):
        return False
    return any(_holds_scalar(item) for item in values if isinstance(item, list | tuple))
