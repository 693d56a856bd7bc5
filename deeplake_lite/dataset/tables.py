"""Tables that are handed in as rows: a DataFrame or Arrow table as columns of values.

The column's htype converts and checks the values; here only the way out of the table is decided,
and which values are null.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes import Json

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    import pyarrow as pa


@runtime_checkable
class Tabular(Protocol):
    """A DataFrame, an Arrow table or a record batch."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Give the rows to Arrow."""


def table_columns(table: Any) -> dict[str, Any]:
    """Return the columns of a `Tabular` by name, one value per row, None where null.

    NaN in a column of floats stays NaN. JSON in a table that a view gave is parsed. The index of a
    DataFrame is left out.

    Raises
    ------
    InvalidValueError
        For two columns of one name.

    Examples
    --------
    >>> import pandas as pd, pyarrow as pa
    >>> table_columns(pa.table({"x": [1, None], "name": ["a", "b"]}))
    {'x': [1, None], 'name': ['a', 'b']}
    >>> table_columns(pd.DataFrame({"name": ["a", None]}))
    {'name': ['a', None]}
    """
    if hasattr(table, "iloc"):
        names = [str(name) for name in table.columns]
        found = [column_values(table.iloc[:, i]) for i in range(len(names))]
    else:
        import pyarrow as pa

        arrow = pa.table(table)
        names = arrow.column_names
        found = [parsed(column_values(arrow.column(i)), f) for i, f in enumerate(arrow.schema)]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidValueError(f"column names must be unique, got {twice!r} twice. Rename one.")
    return dict(zip(names, found, strict=True))


def column_values(values: Any) -> Any:
    """Return a column of pandas or Arrow as an array or list, None where null; others as they are.

    >>> import pandas as pd
    >>> column_values(pd.Series([1, None], dtype="Int8"))
    [1, None]
    """
    if hasattr(values, "iloc"):
        return _series(values)
    return _arrow(values) if hasattr(values, "to_pylist") else values


def parsed(values: Any, f: pa.Field) -> Any:
    """Return JSON that left a lake as text as the values it stands for; anything else as it is."""
    from deeplake_lite.dataset.arrow import HTYPE

    config = (f.metadata or {}).get(HTYPE.encode())
    return values if config is None else _values(values, json.loads(config))


def _values(values: Any, config: Mapping[str, Any]) -> Any:
    match config.get("htype"):
        case "json":
            return [None if text is None else Json().from_file(text) for text in values]
        case "sequence":
            return [None if v is None else _values(v, config["of"]) for v in values]
    return values


def _series(column: pd.Series[Any]) -> Any:
    """Return a column of pandas as an array where NumPy has its dtype, else as a list."""
    if isinstance(column.dtype, np.dtype) and column.dtype != object:
        return column.to_numpy()
    return [None if _is_missing(value) else value for value in column.tolist()]


def _arrow(column: pa.Array | pa.ChunkedArray) -> Any:
    """Return a column of Arrow as an array where it holds numbers, or tensors, without nulls."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_struct(kind) and {f.name for f in kind} == {"data", "shape"}:
        return [tensor_of(item) for item in column.to_pylist()]
    if column.null_count:
        return column.to_pylist()
    if isinstance(kind, pa.FixedShapeTensorType):
        whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        return whole.to_numpy_ndarray()
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return np.asarray(column)
    return column.to_pylist()


def tensor_of(item: Any) -> Any:
    """Return an array of data and shape, as `to_arrow` writes those that differ in their axes.

    >>> tensor_of({"data": [1, 2], "shape": [2, 1]}).tolist()
    [[1], [2]]
    """
    if item is None or item["data"] is None or item["shape"] is None:
        return None
    return np.array(item["data"]).reshape(item["shape"])


def _is_missing(value: Any) -> bool:
    """Tell whether an object stands for null: None, NA, NaT or NaN.

    >>> [_is_missing(v) for v in (None, float("nan"), 0, "", np.zeros(2))]
    [True, True, False, False, False]
    """
    if isinstance(value, float | np.floating):
        return bool(np.isnan(value))
    return value is None or type(value).__name__ in ("NAType", "NaTType")
