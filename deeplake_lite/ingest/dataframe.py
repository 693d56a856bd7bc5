"""Rows of a DataFrame: pandas, polars, or anything that gives itself as an Arrow table."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pyarrow as pa

from deeplake_lite.dataset.tables import is_missing
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.ingest.arrays import MemorySource
from deeplake_lite.ingest.columns import ArrowColumn
from deeplake_lite.ingest.options import takes_options
from deeplake_lite.ingest.tabular import chosen
from deeplake_lite.ingest.writer import ingest

if TYPE_CHECKING:
    import pandas as pd

    from deeplake_lite.ingest.options import Options, Types
    from deeplake_lite.ingest.result import IngestedDataset


@takes_options
def from_dataframe(
    df: Any, url: str, *, on: str | None = None, **options: Unpack[Options]
) -> IngestedDataset:
    """Take the rows of a DataFrame into a lake.

    Parameters
    ----------
    df : pandas.DataFrame, polars.DataFrame or pyarrow.Table
        The rows. A named index becomes a column, any other is left out. Categories become classes.
    url : str
        Where the lake is, or is to be.
    on : str, optional
        The column that tells rows apart: rows that are there are changed where they differ. Left
        out, all rows are appended.
    **options
        See `Options`.

    Returns
    -------
    Dataset
        Committed; its ``ingested`` tells what was done.

    Notes
    -----
    NaN in a column of floats stays NaN; None, NA and NaT are null. Columns of arrays, of paths
    (``schema={"image": dl.Image("jpeg")}``) and of other objects are taken as `from_arrays` does.

    Examples
    --------
    >>> import pandas as pd
    >>> import deeplake_lite as dl
    >>> df = pd.DataFrame({"name": ["rose", "lily"], "kind": pd.Categorical(["a", "b"])})
    >>> ds = dl.from_dataframe(df, "memory://from-dataframe", on="name")
    >>> ds["kind"].names, ds["kind"][:]
    (('a', 'b'), array([0, 1], dtype=int32))
    """
    return ingest(dataframe_source(df, on, options.get("schema")), url, **options)


def dataframe_source(df: Any, key: str | None, schema: Types) -> MemorySource:
    """Return the source for a DataFrame. Raises InvalidValueError for anything else."""
    if hasattr(df, "iloc") and hasattr(df, "columns"):
        columns = _from_pandas(_with_index(df) if any(df.index.names) else df)
    elif hasattr(df, "__arrow_c_stream__") and not hasattr(df, "iloc"):
        table = pa.table(df)
        columns = {
            f.name: ArrowColumn.of(table.column(f.name), f) for f in chosen(table.schema, None)
        }
    else:
        raise InvalidValueError(
            f"must be a DataFrame (pandas, polars) or an Arrow table, got {type(df).__name__}. "
            "A dict of arrays goes to dl.from_arrays."
        )
    return MemorySource.of(columns, key, schema, "DataFrame")


def _with_index(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with its index as columns. Raises InvalidValueError for a name in both."""
    taken = [name for name in frame.index.names if name in frame.columns]
    if taken:
        raise InvalidValueError(
            f"column names must be unique, but {taken[0]!r} is a column and the index. Leave the "
            "index out, df.reset_index(drop=True), or rename it."
        )
    return frame.reset_index()


def _from_pandas(frame: pd.DataFrame) -> dict[str, Any]:
    """Return the columns of a frame: Arrow's where it takes them, lists of objects otherwise."""
    names = [str(name) for name in frame.columns]
    for name in names:
        if names.count(name) > 1:
            raise InvalidValueError(f"column names must be unique, got {name!r} twice. Rename one.")
    return {name: _column(frame.iloc[:, i]) for i, name in enumerate(names)}


def _column(column: pd.Series[Any]) -> Any:
    """Return a column as Arrow's where it takes it, or as a list; None where null."""
    if column.dtype == object:
        return _objects(column)
    if column.dtype.name.startswith("period"):
        raise InvalidValueError(
            f"there is no type for periods, {column.dtype}. Take their first moments: "
            f"df[{column.name!r}].dt.to_timestamp()."
        )
    nan_stays = isinstance(column.dtype, np.dtype) and column.dtype.kind == "f"
    try:
        return ArrowColumn.of(pa.array(column, from_pandas=not nan_stays))
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return [None if is_missing(value) else value for value in column.tolist()]


def _objects(column: pd.Series[Any]) -> Any:
    """Return a column of objects: Arrow's where all are of one type that it keeps as it is.

    Arrow would give all dicts the same keys, moments microseconds, days and moments one type, and
    drop the rank of arrays. NaN within lists stays NaN, against the rules of pandas.
    """
    values = [_with_none(value) for value in column.tolist()]
    kinds = {type(value) for value in values if value is not None}
    if kinds == {dt.time} and any(v.tzinfo for v in values if v is not None):
        return values
    if not kinds or (len(kinds) == 1 and kinds <= _KEPT_BY_ARROW):
        try:
            return ArrowColumn.of(pa.array(values))
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            pass
    return values


_KEPT_BY_ARROW = {bool, bytes, Decimal, dt.time, float, int, str}


def _with_none(value: Any) -> Any:
    """Return a value with None for what pandas takes for missing, but NaN where it is in a list."""
    if isinstance(value, list):
        return [None if is_missing(item, nan=False) else item for item in value]
    return None if is_missing(value) else value
