"""Ingesting Parquet files batch by batch."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import pyarrow as pa
import pyarrow.dataset as arrow_dataset

from deeplake_lite.ingest.files import find_files, fingerprint, folder_of
from deeplake_lite.ingest.options import takes_options, types_of
from deeplake_lite.ingest.tabular import BATCH_ROWS, TabularSource, reading, select_columns
from deeplake_lite.ingest.writer import ingest

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    import pyarrow.parquet as pq

    from deeplake_lite.ingest.options import Options, Types
    from deeplake_lite.ingest.result import IngestedDataset


@takes_options
def from_parquet(
    path: str | os.PathLike[str],
    url: str,
    *,
    on: str | None = None,
    columns: Sequence[str] | None = None,
    **options: Unpack[Options],
) -> IngestedDataset:
    """Ingest the rows of Parquet files into a lake.

    Parameters
    ----------
    path : str or Path
        A file, a folder, or a pattern such as ``"flowers/*.parquet"``.
    url : str
        URL of the lake, which is created if it does not exist.
    on : str, optional
        The column that identifies rows: rows that exist already are updated where they differ. By
        default, all rows are appended.
    columns : sequence of str, optional
        The columns to ingest; by default all.
    **options
        See `Options`.

    Returns
    -------
    Dataset
        The committed dataset; its ``ingested`` is a summary.

    Notes
    -----
    `ingest.columns` lists the column types of Arrow's types. To ingest images of Hugging Face,
    which are structs of bytes and path, use ``schema={"image": dl.Image()}``. Relative paths of
    images start from the folder of the files.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet as pq, tempfile
    >>> import deeplake_lite as dl
    >>> folder = tempfile.mkdtemp()
    >>> table = pa.table({"name": ["rose", "lily"], "petals": [5, 6]})
    >>> pq.write_table(table, f"{folder}/a.parquet")
    >>> ds = dl.from_parquet(f"{folder}/*.parquet", "memory://from-parquet", on="name")
    >>> ds["petals"][:]
    array([5, 6])
    """
    source = parquet_source(path, key=on, columns=columns, schema=options.get("schema"))
    return ingest(source, url, **options)


def parquet_source(
    path: str | os.PathLike[str],
    *,
    key: str | None = None,
    columns: Sequence[str] | None = None,
    schema: Types = None,
) -> TabularSource:
    """Return the source for Parquet files. Raises NotFoundError, InvalidValueError."""
    files = find_files(path, ".parquet")
    with reading(str(path)):
        dataset = arrow_dataset.dataset(files, format="parquet")
        footers = [fragment.metadata for fragment in dataset.get_fragments()]
    selected = select_columns(dataset.schema, columns)
    full = (f.name for f in selected if all(_is_full(footer, f.name) for footer in footers))
    return TabularSource(
        title=Path(path).name,
        arrow=selected,
        read=partial(_read, dataset, str(path)),
        key=key,
        rows=sum(footer.num_rows for footer in footers),
        fingerprint=fingerprint(path, files),
        full=frozenset(full),
        schema=types_of(schema),
        base=folder_of(files),
    )


def _read(
    dataset: arrow_dataset.Dataset, path: str, columns: list[str]
) -> Iterator[pa.RecordBatch]:
    with reading(path):
        yield from dataset.to_batches(columns=columns, batch_size=BATCH_ROWS)


def _is_full(footer: pq.FileMetaData, column: str) -> bool:
    """Return whether a flat column has no nulls according to the statistics of a file."""
    at = [i for i in range(footer.num_columns) if footer.schema.column(i).path == column]
    if not at:
        return False
    groups = (footer.row_group(g).column(at[0]) for g in range(footer.num_row_groups))
    return all(
        g.is_stats_set and g.statistics.has_null_count and g.statistics.null_count == 0
        for g in groups
    )
