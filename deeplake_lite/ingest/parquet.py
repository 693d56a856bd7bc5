"""Rows of Parquet files, read batch by batch."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import pyarrow as pa
import pyarrow.dataset as arrow_dataset

from deeplake_lite.ingest.files import find_files, fingerprint, folder_of
from deeplake_lite.ingest.options import takes_options, types_of
from deeplake_lite.ingest.tabular import BATCH_ROWS, TabularSource, chosen, reading
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
    """Take the rows of Parquet files into a lake.

    Parameters
    ----------
    path : str or Path
        A file, a folder, or a pattern such as ``"flowers/*.parquet"``.
    url : str
        Where the lake is, or is to be.
    on : str, optional
        The column that tells rows apart: rows that are there are changed where they differ. Left
        out, all rows are appended.
    columns : sequence of str, optional
        The columns to take, all if left out.
    **options
        See `Options`.

    Returns
    -------
    Dataset
        Committed; its ``ingested`` tells what was done.

    Notes
    -----
    What Arrow's types become: see `ingest.columns`. A struct of bytes and path, as Hugging Face
    writes pictures, is taken by ``schema={"image": dl.Image()}``. Relative paths of pictures start
    at the folder of the files.

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
        found = arrow_dataset.dataset(files, format="parquet")
        notes = [fragment.metadata for fragment in found.get_fragments()]
    taken = chosen(found.schema, columns)
    return TabularSource(
        title=Path(path).name,
        arrow=taken,
        read=partial(_read, found, str(path)),
        key=key,
        rows=sum(note.num_rows for note in notes),
        fingerprint=fingerprint(path, files),
        full=frozenset(f.name for f in taken if all(_is_full(note, f.name) for note in notes)),
        schema=types_of(schema),
        base=folder_of(files),
    )


def _read(found: arrow_dataset.Dataset, path: str, columns: list[str]) -> Iterator[pa.RecordBatch]:
    with reading(path):
        yield from found.to_batches(columns=columns, batch_size=BATCH_ROWS)


def _is_full(note: pq.FileMetaData, column: str) -> bool:
    """Tell whether a file's statistics say that a flat column has no nulls."""
    at = [i for i in range(note.num_columns) if note.schema.column(i).path == column]
    if not at:
        return False
    groups = (note.row_group(g).column(at[0]) for g in range(note.num_row_groups))
    return all(
        g.is_stats_set and g.statistics.has_null_count and g.statistics.null_count == 0
        for g in groups
    )
