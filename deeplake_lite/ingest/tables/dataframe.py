"""Ingesting DataFrames of pandas and polars, and any other object that exports an Arrow table."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from deeplake_lite.dataset.arrow.capsules import arrow_table, is_wrong_table, table_hint
from deeplake_lite.dataset.write.tables import Tabular
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.ingest.options import takes_options
from deeplake_lite.ingest.tables.arrays import MemorySource
from deeplake_lite.ingest.tables.arrow_metadata import field_metadata, schema_metadata
from deeplake_lite.ingest.tables.columns import ArrowColumn
from deeplake_lite.ingest.tables.pandas_index import default_names, is_kept, kept_indexes
from deeplake_lite.ingest.tables.tabular import select_columns
from deeplake_lite.ingest.writer import ingest

if TYPE_CHECKING:
    import pandas as pd

    from deeplake_lite.ingest.options import Options, Types
    from deeplake_lite.ingest.result import IngestedDataset


@takes_options
def from_dataframe(
    df: object, url: str, *, on: str | None = None, **options: Unpack[Options]
) -> IngestedDataset:
    """Ingest the rows of a DataFrame into a lake.

    Parameters
    ----------
    df : pandas.DataFrame, polars.DataFrame or pyarrow.Table
        The rows. An index becomes a column, unless it has no name and only numbers the rows. If the
        index has no name, the column is called ``index``; the levels of a MultiIndex without names
        are called ``level_0``, ``level_1`` and so on. Categories become classes.
    url : str
        URL of the lake, which is created if it does not exist.
    on : str, optional
        The column that identifies rows. Rows that are already in the lake are updated if they
        differ. By default, all rows are appended.
    **options
        See `Options`.

    Returns
    -------
    Dataset
        The committed dataset, whose attribute ``ingested`` summarizes the import.

    Notes
    -----
    The metadata of an Arrow table's fields becomes the metadata of columns, and the metadata of its
    schema is stored in ``ds.metadata["table"]``. NaN in a column of floats stays NaN; None, NA and
    NaT are null. Columns of arrays, of paths (``schema={"image": dl.Image("jpeg")}``) and of other
    objects are treated as in `from_arrays`.

    Examples
    --------
    >>> import pandas as pd
    >>> import deeplake_lite as dl
    >>> df = pd.DataFrame({"name": ["rose", "lily"], "kind": pd.Categorical(["a", "b"])})
    >>> ds = dl.from_dataframe(df, "memory://from-dataframe", on="name")
    >>> ds["kind"].names, ds["kind"][:]
    (('a', 'b'), array([0, 1], dtype=int32))
    """
    source = dataframe_source(df, on, options.get("schema"))
    fields = [v.field for v in source.values.values() if isinstance(v, ArrowColumn) and v.field]
    return ingest(source, url, column_metadata=field_metadata(fields), **options)


def dataframe_source(df: Any, key: str | None, schema: Types) -> MemorySource:
    """Return the source for a DataFrame or an Arrow table.

    Raises InvalidValueError for other objects, and if two columns have the same name.
    """
    if is_wrong_table(df):
        raise InvalidValueError(
            f"df must be {_TABLES}, but its type is {type(df).__name__}. {table_hint(df)}"
        )
    metadata = dict[str, object]()
    if hasattr(df, "iloc"):
        columns = _from_pandas(_with_index(df) if is_kept(df.index) else df)
    elif isinstance(df, Tabular):
        table = arrow_table(df)
        metadata = schema_metadata(table.schema, "table")
        names = kept_indexes(table.schema)
        if names:
            table = table.rename_columns([names.get(name, name) for name in table.column_names])
        columns = {
            f.name: ArrowColumn.of(table.column(f.name), f)
            for f in select_columns(table.schema, None)
        }
    else:
        raise InvalidValueError(
            f"df must be {_TABLES}, but its type is {type(df).__name__}. Pass a dict of arrays to "
            "dl.from_arrays."
        )
    return replace(MemorySource.of(columns, key, schema, "DataFrame"), metadata=metadata)


_TABLES = "a DataFrame (pandas, polars) or an Arrow table"


def _with_index(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose index has become columns.

    Raises InvalidValueError if two columns would have the same name.
    """
    levels, columns = frame.index.names, [str(name) for name in frame.columns]
    names = [f"level_{i}" if name is None else str(name) for i, name in enumerate(levels)]
    if not any(name is not None for name in levels):
        names = default_names(len(levels), columns)
    for name in names:
        if name in columns or names.count(name) > 1:
            both = "a column and the index" if name in columns else "two levels of the index"
            raise InvalidValueError(
                f"Column names must be unique, but {both} are named {name!r}. Drop the index "
                "with df.reset_index(drop=True), or rename one of them."
            )
    return frame.reset_index(names=names)


def _from_pandas(frame: pd.DataFrame) -> dict[str, object]:
    """Return a dict from names to the columns of a frame.

    Raises InvalidValueError if two columns have the same name.
    """
    names = [str(name) for name in frame.columns]
    for name in names:
        if names.count(name) > 1:
            raise InvalidValueError(
                f"Column names must be unique, but {name!r} occurs twice. Rename one of them."
            )
    return {name: frame.iloc[:, i] for i, name in enumerate(names)}
