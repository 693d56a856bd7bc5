"""Tables that are handed in as rows: a DataFrame or Arrow table as columns of values.

The column's htype converts and checks the values; here only the way out of the table is decided,
and which values are null.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from deeplake_lite.dataset.values import with_none
from deeplake_lite.errors import InvalidValueError, LakeError
from deeplake_lite.htypes import Json, from_config
from deeplake_lite.htypes.base import Dense

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    import pyarrow as pa
    import xarray as xr

    from deeplake_lite.htypes import Htype
    from deeplake_lite.schema import Schema


@runtime_checkable
class Tabular(Protocol):
    """A DataFrame, an Arrow table or a record batch."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Give the rows to Arrow."""


def table_columns(table: Any, schema: Schema) -> dict[str, Any]:
    """Return the columns of a `Tabular` by name, one value per row, None where null.

    NaN in a column of floats stays NaN. JSON in a table that a view gave is parsed. The index of a
    DataFrame is left out.

    Parameters
    ----------
    table : Tabular
        The rows.
    schema : Schema
        Of the lake that takes them.

    Raises
    ------
    InvalidValueError
        For two columns of one name.

    Examples
    --------
    >>> import pandas as pd, pyarrow as pa
    >>> from deeplake_lite.schema import Schema
    >>> schema = Schema.build({"x": "int64", "name": "text"})
    >>> table_columns(pa.table({"x": [1, None], "name": ["a", "b"]}), schema)
    {'x': [1, None], 'name': ['a', 'b']}
    >>> table_columns(pd.DataFrame({"name": ["a", None]}), schema)
    {'name': ['a', None]}
    """
    types = {f.name: f.htype for f in schema}
    if hasattr(table, "iloc"):
        names = [str(name) for name in table.columns]
        found = [column_values(table.iloc[:, i], types.get(n)) for i, n in enumerate(names)]
    else:
        import pyarrow as pa

        arrow = pa.table(table)
        names = arrow.column_names
        found = [
            parsed(column_values(arrow.column(i), noted_htype(f) or types.get(f.name)), f)
            for i, f in enumerate(arrow.schema)
        ]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidValueError(f"column names must be unique, got {twice!r} twice. Rename one.")
    return dict(zip(names, found, strict=True))


def column_values(values: Any, of: Htype | None = None) -> Any:
    """Return a column of pandas, Arrow or xarray as an array or list, None where null.

    Other values are returned as they are. Structs and maps of Arrow are what a column of type `of`
    takes: tensors, or objects.

    >>> import pandas as pd
    >>> column_values(pd.Series([1, None], dtype="Int8"))
    [1, None]
    """
    if hasattr(values, "iloc"):
        return _series(values, of)
    if hasattr(values, "to_dataset"):
        return _data_array(values)
    return _arrow(values, of) if hasattr(values, "to_pylist") else values


def _data_array(values: xr.DataArray) -> Any:
    """Return the values of an xarray variable, with their type where that is noted.

    Whole numbers have NaN in place of null, and classes -1, as `to_xarray` writes them.
    """
    array = values.to_numpy()
    of = _noted(values.attrs.get("htype"))
    if of is None or not isinstance(of.layout, Dense) or array.dtype.kind in "mM":
        return array
    dtype = np.dtype(of.layout.dtype)
    is_class = of.name == "class_label"
    filled = of.nullable and (is_class or (dtype.kind in "biu" and array.dtype.kind == "f"))
    if not filled:  # what was computed of a variable may have its note, and another dtype
        return Exported(array, of) if array.dtype == dtype else array
    null = array == -1 if is_class else np.isnan(array)
    rows = zip(array, null.reshape(len(array), -1).all(axis=1), strict=True)
    return Exported([None if is_null else row.astype(dtype) for row, is_null in rows], of)


@dataclass(frozen=True)
class Exported:
    """Values that left a lake in a table which names their type."""

    values: Any
    """One per row, None where null."""

    of: Htype
    """Type of the values."""

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: Any) -> Any:
        return self.values[index]


def parsed(values: Any, f: pa.Field) -> Any:
    """Return values that left a lake with their type; any other, and names of classes, as is."""
    of = noted_htype(f)
    if of is None:
        return values
    values = _values(values, of.get_config())
    return values if goes_by_name(of) else Exported(values, of)


def goes_by_name(of: Htype) -> bool:
    """Tell whether values leave a lake as texts that say what they mean: names of classes.

    >>> goes_by_name(from_config({"htype": "class_label"}))
    True
    """
    return of.name == "class_label" or (of.item is not None and goes_by_name(of.item))


def noted_htype(f: pa.Field | None) -> Htype | None:
    """Return the type that a lake has noted with a column that it exported, if any.

    >>> import json, pyarrow as pa
    >>> note = {"deeplake_lite.htype": json.dumps({"htype": "image", "codec": "png"})}
    >>> noted_htype(pa.field("image", pa.binary(), metadata=note))
    Image('png')
    """
    from deeplake_lite.dataset.arrow import HTYPE

    return None if f is None else _noted((f.metadata or {}).get(HTYPE.encode()))


def _noted(note: Any) -> Htype | None:
    """Return the type that a note describes; None where it describes none."""
    try:
        return None if note is None else from_config(json.loads(note))
    except (LakeError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return None  # another release's, or not ours


def _values(values: Any, config: Mapping[str, Any]) -> Any:
    match config.get("htype"):
        case "json":
            return [Json().from_file(v) if isinstance(v, str) else v for v in values]
        case "sequence":
            return [None if v is None else _values(v, config["of"]) for v in values]
    if str(config.get("dtype")).startswith("complex"):
        return complex_of(values, np.dtype(config["dtype"]))
    return values


def complex_of(values: Any, dtype: np.dtype[Any]) -> Any:
    """Return complex numbers, or arrays of them, that left a lake as pairs of floats.

    >>> complex_of([[1.0, 2.0], None], np.dtype("complex64"))
    [np.complex64(1+2j), None]
    """
    return [None if v is None else _complex(v, dtype) for v in values]


def _complex(value: Any, dtype: np.dtype[Any]) -> Any:
    pairs = np.asarray(value)
    if pairs.dtype.kind not in "iuf":
        return value
    if not pairs.size and pairs.shape[-1:] != (2,):
        return pairs.astype(dtype)
    pairs = np.ascontiguousarray(pairs, np.empty(0, dtype).real.dtype)
    return pairs.view(dtype)[..., 0][()] if pairs.shape[-1:] == (2,) else value


def _series(column: pd.Series[Any], of: Htype | None) -> Any:
    """Return a column of pandas as an array where NumPy has its dtype, else as a list."""
    if _is_nested(column.dtype):
        import pyarrow as pa

        return _arrow(pa.array(column), of)
    if isinstance(column.dtype, np.dtype) and column.dtype != object:
        return column.to_numpy()
    if column.dtype != object and getattr(column.dtype, "kind", "") == "f":  # with nulls of its own
        return [value if isinstance(value, float) else None for value in column.tolist()]
    return [None if is_missing(value) else value for value in column.tolist()]


def _is_nested(dtype: Any) -> bool:
    """Tell whether a dtype of pandas is a nested type of Arrow."""
    import pyarrow as pa

    kind = getattr(dtype, "pyarrow_dtype", None)
    return kind is not None and bool(pa.types.is_nested(kind))


def _arrow(column: pa.Array | pa.ChunkedArray, of: Htype | None) -> Any:
    """Return a column of Arrow as an array where it holds numbers, or tensors, without nulls."""
    import pyarrow as pa

    from deeplake_lite.dataset.arrow_objects import are_tensors, item_of, objects_in, tensors_in
    from deeplake_lite.dataset.arrow_types import is_list

    kind = column.type
    if are_tensors(kind, of):
        return tensors_in(column)
    if is_list(kind) and _has_tensors(kind, of):
        return [_arrow(item.values, item_of(of)) if item.is_valid else None for item in column]
    if isinstance(kind, pa.FixedShapeTensorType) and column.null_count:
        rows = column.cast(kind.storage_type).to_pylist()
        return [None if row is None else np.reshape(row, kind.shape) for row in rows]
    if _has_times(kind):
        return _times(column, of)
    if column.null_count:
        return objects_in(column)
    if isinstance(kind, pa.FixedShapeTensorType):
        whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        return whole.to_numpy_ndarray()
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return np.asarray(column)
    return objects_in(column)


def _has_times(kind: pa.DataType) -> bool:
    """Tell whether values are moments or spans, or lists of them, which Python's may not reach."""
    import pyarrow as pa

    from deeplake_lite.dataset.arrow_types import is_list

    if is_list(kind):
        return _has_times(kind.value_type)
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_duration(kind))


def _times(column: pa.Array | pa.ChunkedArray, of: Htype | None) -> Any:
    """Return moments or spans as an array, masked where null; lists of them as lists of arrays.

    In arrays a null is NaT.

    >>> import pyarrow as pa
    >>> _times(pa.array([2**40]).cast(pa.timestamp("s")), None)
    array(['36812-02-20T00:36:16'], dtype='datetime64[s]')
    """
    from deeplake_lite.dataset.arrow_objects import item_of
    from deeplake_lite.dataset.arrow_types import is_list

    if is_list(column.type):
        inner = item_of(of) or of
        return [with_none(_times(item.values, inner)) if item.is_valid else None for item in column]
    values = np.array(column.to_numpy(zero_copy_only=False))
    null = np.asarray(column.is_null())
    in_array = of is not None and isinstance(of.blank, np.ndarray)
    return np.ma.MaskedArray(values, null) if null.any() and not in_array else values


def _has_tensors(kind: pa.DataType, of: Htype | None) -> bool:
    """Tell whether values are tensors, of a fixed shape or with their shapes, or lists of them."""
    import pyarrow as pa

    from deeplake_lite.dataset.arrow_objects import are_tensors, item_of
    from deeplake_lite.dataset.arrow_types import is_list

    if is_list(kind):
        return _has_tensors(kind.value_type, item_of(of))
    return isinstance(kind, pa.FixedShapeTensorType) or are_tensors(kind, of)


def is_missing(value: Any, *, nan: bool = True) -> bool:
    """Tell whether an object stands for null: None, NA, NaT, or NaN unless `nan` is False.

    >>> [is_missing(v) for v in (None, float("nan"), 0, "", np.zeros(2))]
    [True, True, False, False, False]
    """
    if isinstance(value, float | np.floating):
        return nan and bool(np.isnan(value))
    return value is None or type(value).__name__ in ("NAType", "NaTType")
