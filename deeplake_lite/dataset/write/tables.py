"""Conversion of DataFrames, Arrow tables and xarray variables to columns of values.

This module extracts the values of a table and determines which are null. The types of the lake's
columns then convert and check the values.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from deeplake_lite.dataset.arrow.capsules import arrow_table
from deeplake_lite.dataset.read.values import items_of
from deeplake_lite.dataset.write.series import is_arrow, is_series, series_values
from deeplake_lite.errors import InvalidValueError, LakeError
from deeplake_lite.htypes import Json, from_config
from deeplake_lite.htypes.layouts import Dense
from deeplake_lite.htypes.times import spans_of

if TYPE_CHECKING:
    import pyarrow as pa
    import xarray as xr

    from deeplake_lite.htypes import Htype
    from deeplake_lite.schema import Schema


@runtime_checkable
class Tabular(Protocol):
    """A DataFrame, an Arrow table or a record batch."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the rows to Arrow."""


def table_columns(table: Any, schema: Schema) -> dict[str, object]:
    """Return a dict that maps the columns of a `Tabular` to values, with nulls as None or masked.

    NaN in a column of floats remains NaN. JSON in a table that was exported from a view is parsed.
    The index of a DataFrame is left out.

    Parameters
    ----------
    table : Tabular
        The rows.
    schema : Schema
        Schema of the lake that receives the rows.

    Raises
    ------
    InvalidValueError
        When two columns have the same name.

    Examples
    --------
    >>> import pandas as pd, pyarrow as pa
    >>> from deeplake_lite.schema import Schema
    >>> schema = Schema.build({"x": "int64", "name": "text"})
    >>> table_columns(pa.table({"x": [1, None], "name": ["a", "b"]}), schema)
    {'x': masked_array(data=[1, --], mask=[False,  True], fill_value=999999), 'name': ['a', 'b']}
    >>> table_columns(pd.DataFrame({"name": ["a", None]}), schema)
    {'name': ['a', None]}
    """
    types = {f.name: f.htype for f in schema}
    if hasattr(table, "iloc"):
        names = [str(name) for name in table.columns]
        columns = [named_values(n, table.iloc[:, i], types.get(n)) for i, n in enumerate(names)]
    else:
        arrow = arrow_table(table)
        arrow = arrow.drop_columns(unnamed_indexes(arrow.schema))
        names = arrow.column_names
        columns = [
            as_exported(
                named_values(f.name, arrow.column(i), exported_htype(f) or types.get(f.name)), f
            )
            for i, f in enumerate(arrow.schema)
        ]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise InvalidValueError(
            f"Column names must be unique, but {repeated!r} occurs twice. Rename one of them."
        )
    return dict(zip(names, columns, strict=True))


def unnamed_indexes(schema: pa.Schema) -> list[str]:
    """Return the names of the columns in which pandas has stored an unnamed index.

    >>> import pandas as pd, pyarrow as pa
    >>> unnamed_indexes(pa.Table.from_pandas(pd.DataFrame({"a": [1, 2]}, index=[3, 5])).schema)
    ['__index_level_0__']
    """
    if b"pandas" not in (schema.metadata or {}):
        return []
    return [name for name in schema.names if _UNNAMED_INDEX.fullmatch(name)]


_UNNAMED_INDEX = re.compile(r"__index_level_\d+__")


def named_values(name: str, values: object, of: Htype | None) -> object:
    """Call `column_values`. If it raises an error, add the column's name to the error."""
    try:
        return column_values(values, of)
    except InvalidValueError as error:
        raise error.at(column=name) from error.__cause__


def column_values(values: Any, of: Htype | None = None) -> object:
    """Return a pandas, Arrow or xarray column as an array or list, with nulls as None or masked.

    Other values are returned as they are. Arrow values are converted for a column of type `of`.

    >>> import pandas as pd
    >>> column_values(pd.Series(["a", None], dtype="string"))
    ['a', None]
    """
    if hasattr(values, "to_dataset"):
        return variable_values(values)
    if is_series(values):
        values = series_values(values)
        if not is_arrow(values):
            return spans_of(values, str(getattr(of, "dtype", "")))
    if not is_arrow(values):
        return values
    from deeplake_lite.dataset.arrow.values import arrow_values

    return arrow_values(values, of)


def variable_htype(variable: xr.Variable | xr.DataArray) -> Htype | None:
    """Return the column type that is recorded in a variable of an exported dataset, or None.

    A variable that was computed from an exported variable keeps the attributes, but its shape or
    dtype may differ (see `variable_values`).
    """
    of = _parse_htype(variable.attrs.get("htype"))
    if of is None or not isinstance(of.layout, Dense) or of.layout.shape != variable.shape[1:]:
        return None
    return of


def variable_values(values: xr.Variable | xr.DataArray) -> object:
    """Return the values of an xarray variable, together with the column type in its attributes.

    `to_xarray` writes nulls as NaN for integers, and as -1 for classes.
    """
    array = values.to_numpy()
    of = _parse_htype(values.attrs.get("htype"))
    if of is None or not isinstance(of.layout, Dense) or array.dtype.kind in "mM":
        return array
    dtype = np.dtype(of.layout.dtype)
    is_class = of.classes is not None
    is_float = array.dtype.kind == "f"
    filled = of.nullable and (
        is_class or (dtype.kind in "biu" and is_float) or (of.is_embedding and is_float)
    )
    if not filled:  # the dtype differs if the variable was computed from an exported one
        return Exported(array, of) if array.dtype == dtype else array
    null = array == -1 if is_class else np.isnan(array)
    nulls = null.all(axis=tuple(range(1, null.ndim)))
    with np.errstate(invalid="ignore"):
        rows = array.astype(dtype)
    if (rows[~nulls] != array[~nulls]).any():  # computed from the exported values
        return array
    pairs = zip(rows, nulls, strict=True)
    return Exported([None if is_null else row for row, is_null in pairs], of)


@dataclass(frozen=True)
class Exported:
    """Values of a table that was exported from a lake, and their type from the table's metadata."""

    values: Any
    """One value per row, with None for nulls."""

    of: Htype
    """Type of the values."""

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: object) -> Any:
        return self.values[index]


def as_exported(values: object, f: pa.Field) -> object:
    """Return values of an exported table, together with their type.

    Values of other tables, and class names, are returned alone.
    """
    of = exported_htype(f)
    if of is None:
        return values
    values = _parse_values(values, of)
    return values if is_exported_as_names(of) else Exported(values, of)


def is_exported_as_names(of: Htype) -> bool:
    """Return whether values of a type are exported as class names.

    >>> is_exported_as_names(from_config({"htype": "class_label"}))
    True
    """
    return of.classes is not None or (of.item is not None and is_exported_as_names(of.item))


def exported_htype(f: pa.Field | None) -> Htype | None:
    """Return the column type in the metadata of an exported column, or None.

    >>> import json, pyarrow as pa
    >>> metadata = {"deeplake_lite.htype": json.dumps({"htype": "image", "codec": "png"})}
    >>> exported_htype(pa.field("image", pa.binary(), metadata=metadata))
    Image('png')
    """
    from deeplake_lite.dataset.arrow.cells import HTYPE

    return None if f is None else _parse_htype((f.metadata or {}).get(HTYPE.encode()))


def _parse_htype(config: Any) -> Htype | None:
    """Return the column type that a JSON string describes, or None if the string is invalid."""
    try:
        return None if config is None else from_config(json.loads(config))
    except (LakeError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return None  # a newer release or another program has written the string


def _parse_values(values: Any, of: Htype) -> object:
    """Return exported values in the form that their type accepts."""
    if of.sql == "json":
        return [Json().from_file(v) if isinstance(v, str) else v for v in values]
    if (item := items_of(of)) is not None:
        return [None if v is None else _parse_values(v, item) for v in values]
    dtype = of.value_dtype
    if dtype.startswith("complex"):
        from deeplake_lite.dataset.arrow.values import complex_of

        return complex_of(values, np.dtype(dtype))
    if dtype.endswith("]") and of.is_array:
        return _with_nat(values, np.array("NaT", dtype)[()])
    return values


def _with_nat(rows: Any, nat: object) -> object:
    """Return rows of times with NaT for nulls, as in the column before the export.

    >>> _with_nat([None, [[np.timedelta64(1, "s"), None]]], np.timedelta64("NaT", "s"))
    [None, [[np.timedelta64(1,'s'), np.timedelta64('NaT','s')]]]
    """
    if isinstance(rows, np.ndarray):
        return rows if rows.dtype != object else _fill_nulls(rows, nat)
    return [None if row is None else _fill_nulls(row, nat) for row in rows]


def _fill_nulls(value: object, nat: object) -> object:
    """Return an array, or nested lists, with NaT instead of None."""
    if isinstance(value, list):
        return [_fill_nulls(item, nat) for item in value]
    if isinstance(value, np.ndarray) and value.dtype == object:
        filled = np.array([_fill_nulls(item, nat) for item in value.flat], object)
        return filled.reshape(value.shape)
    return nat if value is None else value
