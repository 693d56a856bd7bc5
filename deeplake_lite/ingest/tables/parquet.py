"""Ingesting Parquet files, in batches of rows."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Unpack

import pyarrow as pa

from deeplake_lite.dataset.arrow.features import read_metadata
from deeplake_lite.ingest.files import (
    Paths,
    find_all_files,
    fingerprint,
    folder_of,
    name_of,
    title_of,
)
from deeplake_lite.ingest.huggingface.feature_table import (
    FeatureTable,
    has_null_items,
    lake_metadata,
)
from deeplake_lite.ingest.huggingface.features import has_bytes
from deeplake_lite.ingest.options import takes_options, types_of
from deeplake_lite.ingest.tables.arrow_metadata import field_metadata, schema_metadata
from deeplake_lite.ingest.tables.pandas_index import kept_indexes, with_kept_indexes
from deeplake_lite.ingest.tables.parquet_schema import open_files
from deeplake_lite.ingest.tables.tabular import (
    BATCH_BYTES,
    BATCH_ROWS,
    TabularSource,
    locate_errors,
    reading,
    select_columns,
)
from deeplake_lite.ingest.writer import ingest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pyarrow.dataset as arrow_dataset
    import pyarrow.parquet as pq

    from deeplake_lite.dataset.arrow.leaves import Leaf
    from deeplake_lite.ingest.huggingface.feature_table import Read
    from deeplake_lite.ingest.huggingface.features import FeatureColumn
    from deeplake_lite.ingest.options import Options, Types
    from deeplake_lite.ingest.result import IngestedDataset


SUFFIXES = (".parquet", ".parq", ".pq")
"""Suffixes of the files in a folder that are ingested."""

FILE_ROWS = 256
"""Maximum number of rows in a batch that may contain files such as images."""

PART_BYTES = 64 * 2**20
"""Size of the row groups that another process reads together, in bytes."""


@takes_options
def from_parquet(
    path: Paths,
    url: str,
    *,
    on: str | None = None,
    columns: Sequence[str] | None = None,
    **options: Unpack[Options],
) -> IngestedDataset:
    """Ingest the rows of Parquet files into a lake.

    Parameters
    ----------
    path : str, Path or list of these
        A file, a folder, a pattern such as ``"flowers/*.parquet"``, or a list of files. Folders and
        patterns must match all files of a numbered set, such as ``train-00000-of-00003.parquet``.
    url : str
        URL of the lake, which is created if it does not exist.
    on, columns
        See `TABLE_LINES`.
    **options
        See `Options`.

    Returns
    -------
    Dataset
        The committed dataset, whose attribute ``ingested`` summarizes the import.

    Notes
    -----
    A column that only some files have is null in the rows of other files. If the types of a
    column differ between files, the types are widened: int32 and int64 become int64. Names of
    folders such as ``year=2020`` become columns. The metadata of fields becomes the metadata of
    columns, and the metadata of the file is stored in ``ds.metadata["parquet"]``.

    `ingest.tables.columns` lists the column types for Arrow's types. Structs, time zones, decimals
    and times of day are simplified; their original types are stored in ``ds.metadata["arrow"]``, so
    that `View.to_parquet` restores them. Files written by Hugging Face keep the classes, images and
    shapes that their metadata describes; see `from_huggingface`. Without this metadata, images,
    which are structs of bytes and path, become bytes unless you declare a type:
    ``schema={"image": dl.Image()}``. If a row has the path of a file, the file is read if the path
    is relative and stays inside the folder of the Parquet files. Other paths and URLs are read only
    if they are strings and you declare the type of their column.

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
    return ingest(source, url, column_metadata=field_metadata(source.arrow), **options)


def parquet_source(
    path: Paths,
    *,
    key: str | None = None,
    columns: Sequence[str] | None = None,
    schema: Types = None,
) -> TabularSource:
    """Return the source for Parquet files.

    Raises NotFoundError or InvalidValueError if the files do not exist or cannot be read.
    """
    files = find_all_files(path, *SUFFIXES)
    title = title_of(path, files)
    declared = types_of(schema)
    table, metadata, rows, full = parquet_table(
        name_of(path, files[:1]), files, _root(path, files), declared
    )
    return TabularSource(
        title=title,
        arrow=select_columns(table.schema, columns),
        read=table.read,
        key=key,
        rows=rows,
        fingerprint=fingerprint(name_of(path, files), files),
        full=full,
        schema=declared,
        features=table.columns,
        metadata={**lake_metadata(table, metadata), **schema_metadata(table.schema, "parquet")},
        divide=partial(_divide, table.read),
        base=folder_of(files),
        allowed_paths="inside",
    )


def _root(path: Paths, files: Sequence[str]) -> str | None:
    """Return the folder whose subfolders may add columns with their names, or None for a file."""
    if not isinstance(path, str | os.PathLike):
        return folder_of(files)
    here = Path(path).expanduser()
    if here.is_file():
        return None
    while not here.is_dir():  # a pattern
        here = here.parent
    return str(here)


def parquet_table(
    path: str,
    files: Sequence[str],
    root: str | None = None,
    declared: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[FeatureTable, dict[str, Any], int, frozenset[str]]:
    """Open Parquet files, and read their schemas and statistics.

    See `open_files` for `root` and `declared`. In messages, `path` is the name of the files.

    Returns
    -------
    (table, metadata of the schema, number of rows, names of the columns without nulls)

    Raises
    ------
    InvalidValueError
        If a file cannot be read, or if the types of a column do not fit together.
    """
    with reading(path):
        dataset = open_files(files, root, declared)
        footers = [fragment.metadata for fragment in dataset.get_fragments()]
    metadata, renamed = read_metadata(dataset.schema), kept_indexes(dataset.schema)
    stored = {new: old for old, new in renamed.items()}
    read = _Batches(dataset, path, stored)
    table = FeatureTable.of(
        with_kept_indexes(dataset.schema),
        metadata,
        read,
        partial(_has_paths, footers),
        partial(_has_null_items, footers, read),
    )
    full = {
        n for n in table.schema.names if _is_full(footers, table.columns.get(n), stored.get(n, n))
    }
    return table, metadata, sum(footer.num_rows for footer in footers), frozenset(full)


@dataclass(frozen=True)
class _Batches:
    """The batches of Parquet files, or of some of their row groups."""

    dataset: arrow_dataset.FileSystemDataset
    path: str
    """Name of the files in messages."""
    stored: Mapping[str, str]
    """Maps the names of renamed columns to their names in the files."""
    first: int = 0
    """Number of the first row in messages."""

    def __call__(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        """Yield batches with some columns."""
        dataset, path, names = self.dataset, self.path, columns
        columns = [self.stored.get(name, name) for name in names]
        types = [dataset.schema.field(name).type for name in columns]
        is_large = any(map(has_bytes, types))
        ahead = {"batch_readahead": 1, "fragment_readahead": 1} if is_large else {}
        rows = FILE_ROWS if is_large else BATCH_ROWS
        with reading(path):
            batches = dataset.to_batches(columns=columns, batch_size=rows, **ahead)
            joined = _join_batches(batches) if is_large else batches
            for batch in locate_errors(path, joined, self.first):
                yield batch.rename_columns(names) if names != columns else batch

    def divide(self) -> Iterator[tuple[_Batches, int]]:
        """Yield the batches of consecutive row groups, with their numbers of rows.

        The row groups have at least `PART_BYTES` bytes, unless they are the last ones of a file.
        """
        from pyarrow import dataset as arrow_dataset

        schema, format_, first = self.dataset.schema, self.dataset.format, self.first
        for fragment in self.dataset.get_fragments():
            groups, size, rows = list[int](), 0, 0
            for group in fragment.row_groups:
                groups.append(group.id)
                size, rows = size + group.total_byte_size, rows + group.num_rows
                if size < PART_BYTES and group.id != fragment.row_groups[-1].id:
                    continue
                subset = [fragment.subset(row_group_ids=groups)]
                part = arrow_dataset.FileSystemDataset(subset, schema, format_)
                yield replace(self, dataset=part, first=first), rows
                first += rows
                groups, size, rows = [], 0, 0


def _divide(read: Any) -> list[tuple[Read, int]]:
    """Return functions that read parts of the rows that `read` reads, with the numbers of rows."""
    return [(replace(read, read=batches), rows) for batches, rows in read.read.divide()]


def _join_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield larger batches, which consist of several small batches and take less time per row."""
    parts, nbytes = list[pa.RecordBatch](), 0
    for batch in batches:
        parts.append(batch)
        nbytes += batch.nbytes
        if nbytes >= BATCH_BYTES or sum(part.num_rows for part in parts) >= BATCH_ROWS:
            yield pa.concat_batches(parts)
            parts, nbytes = [], 0
    if parts:
        yield pa.concat_batches(parts)


def _is_full(footers: Sequence[pq.FileMetaData], column: FeatureColumn | None, name: str) -> bool:
    """Return whether a column has no nulls, according to the statistics of the files."""
    if column is None:
        return all(_null_count(footer, name) == 0 for footer in footers)
    if column.htype.classes is not None and column.htype.item is None:
        return all(_null_count(footer, name, least=0) == 0 for footer in footers)
    return column.htype.takes_files and all(
        _null_count(footer, f"{name}.bytes") == 0 for footer in footers
    )


def _has_paths(footers: Sequence[pq.FileMetaData], paths: Leaf) -> bool:
    """Return whether any path in a column is not null, according to the statistics of the files.

    `paths` is the part of the column that holds the paths.
    """
    return any(_has_values(footer, paths.path) for footer in footers)


def _has_null_items(footers: Sequence[pq.FileMetaData], read: Read, leaf: Leaf) -> bool:
    """Return whether any list in a column has null items.

    The statistics of the files count empty lists as nulls. So if they count any nulls, the column
    is read to find out.
    """
    chunks = [chunk for footer in footers for chunk in _column_chunks(footer, leaf.path) or [None]]
    if all(chunk is not None and _null_count_of(chunk) == 0 for chunk in chunks):
        return False
    return any(has_null_items(leaf.part(batch.column(0))) for batch in read([leaf.path[0]]))


def _has_values(footer: pq.FileMetaData, path: tuple[str, ...]) -> bool:
    """Return whether a column in a file has any values except null, or True if this is unknown."""
    chunks = _column_chunks(footer, path)
    return chunks is None or any(
        _null_count_of(chunk) != chunk.num_values or chunk.statistics.has_min_max
        for chunk in chunks
    )


def _null_count_of(chunk: pq.ColumnChunkMetaData) -> int | None:
    if not chunk.is_stats_set or not chunk.statistics.has_null_count:
        return None
    return int(chunk.statistics.null_count)


def _column_chunks(
    footer: pq.FileMetaData, path: tuple[str, ...]
) -> list[pq.ColumnChunkMetaData] | None:
    """Return the chunks of the column at a path in lists and structs, or None if there is none."""
    names = [_LEVEL.sub("", footer.schema.column(i).path) for i in range(footer.num_columns)]
    name = _LEVEL.sub("", ".".join(path))
    if names.count(name) != 1:
        return None
    groups = range(footer.num_row_groups)
    return [footer.row_group(group).column(names.index(name)) for group in groups]


_LEVEL = re.compile(r"\.list\.(element|item|array_element)(?=\.|$)")
"""Pattern of the part that Parquet adds to the path of a column for the items of lists."""


def _null_count(footer: pq.FileMetaData, column: str, least: int | None = None) -> int | None:
    """Return the number of nulls in a column, according to the statistics of a file.

    Return None if it is unknown, or if any value is, or may be, less than `least`.
    """
    at = [i for i in range(footer.num_columns) if footer.schema.column(i).path == column]
    if not at:
        return None
    count = 0
    for group in range(footer.num_row_groups):
        part = footer.row_group(group).column(at[0])
        if not part.is_stats_set or not part.statistics.has_null_count:
            return None
        statistics = part.statistics
        if least is not None and not (statistics.has_min_max and statistics.min >= least):
            return None
        count += statistics.null_count
    return count
