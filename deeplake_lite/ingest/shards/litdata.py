"""Ingesting datasets in LitData's optimized format."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from deeplake_lite import checks
from deeplake_lite.dataset.export.shards.samples import NOTE
from deeplake_lite.dataset.export.shards.splits import SPLIT
from deeplake_lite.errors import InvalidValueError, NotFoundError, SchemaError
from deeplake_lite.htypes import Htype
from deeplake_lite.ingest.options import takes_options
from deeplake_lite.ingest.shards.indexes import (
    check_names,
    dataset_folder,
    find_indexes,
    path_inside,
    read_index,
)
from deeplake_lite.ingest.shards.litdata_chunks import LitDataChunk
from deeplake_lite.ingest.shards.litdata_leaves import encoding_of
from deeplake_lite.ingest.shards.litdata_spec import leaf_names
from deeplake_lite.ingest.shards.notes import Note
from deeplake_lite.ingest.shards.samples import Encoding, SampleSource, nullable
from deeplake_lite.ingest.writer import ingest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from deeplake_lite.ingest.options import Options
    from deeplake_lite.ingest.result import IngestedDataset

MAX_ROWS = 2**32


@takes_options
def from_litdata(
    folder: str | os.PathLike[str],
    url: str,
    *,
    on: str | None = None,
    columns: Sequence[str] | None = None,
    **options: Unpack[Options],
) -> IngestedDataset:
    """Ingest a dataset that LitData has optimized.

    Parameters
    ----------
    folder : str or Path
        A folder with ``index.json``, this file itself, or a folder with a subfolder for each split,
        which has its own index.
    url : str
        URL of the lake, which is created if it does not exist.
    on : str, optional
        The column that identifies rows. Rows that are already in the lake are updated if they
        differ. By default, all rows are appended, unless the same chunks were ingested before.
    columns : sequence of str, optional
        The columns to ingest. By default, all columns.
    **options
        See `Options`.

    Returns
    -------
    Dataset
        The committed dataset, whose attribute ``ingested`` summarizes the import.

    Raises
    ------
    NotFoundError
        If there is no index, or a chunk is missing.
    SchemaError
        If splits have different columns, or if a column is pickled, because reading pickles could
        run arbitrary code.
    InvalidValueError
        If a chunk is damaged or a sample is invalid.

    Notes
    -----
    Image files and other bytes are stored unchanged. Strings, numbers, arrays, tensors and JSON
    become columns of these types, and ``pil`` becomes an uncompressed image. Values of nested
    dictionaries become columns such as ``"box/width"``, and values of tuples become ``"0"`` and
    ``"1"``. Columns written by `View.to_litdata` get the same types and metadata as in the
    lake from which they were exported. If there are several splits, their names are stored in the
    column ``split``. Chunks may be compressed, but not encrypted. Chunks of tokens, for
    ``TokensLoader``, cannot be read. The package ``litdata`` is not needed.

    Examples
    --------
    >>> import tempfile
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://from-litdata", {"text": "text", "n": "int32"})
    >>> ds.append({"text": ["a rose"], "n": [3]})
    >>> dl.from_litdata(ds.to_litdata(tempfile.mkdtemp()), "memory://from-litdata-2")[0]
    {'text': 'a rose', 'n': np.int32(3)}
    """
    source = litdata_source(folder, key=on, columns=columns)
    metadata = source.note.metadata
    return ingest(
        source, url, column_metadata=metadata.of_columns, lineage=metadata.lineage, **options
    )


def litdata_source(
    folder: str | os.PathLike[str],
    *,
    key: str | None = None,
    columns: Sequence[str] | None = None,
) -> SampleSource:
    """Return the source for a folder.

    Raises NotFoundError if a file or column does not exist, InvalidValueError if an index is
    invalid, and SchemaError if no type can store a column.
    """
    root = dataset_folder(folder)
    wanted = None if columns is None else checks.names("columns", columns)
    indexes = find_indexes(root)
    contents = [read_index(path) for path in indexes]
    note = Note.of(contents[0].get(NOTE))
    chunks: list[LitDataChunk] = []
    for path, content in zip(indexes, contents, strict=True):
        split = "" if path.parent == root else path.parent.relative_to(root).as_posix()
        chunks += _chunks(path, content, split, wanted)
    names = wanted if wanted is not None else _names(chunks, note)
    for chunk in chunks:
        check_names(chunk.title, chunk.encodings, names)
    return SampleSource(
        title=root.name or str(root),
        shards=chunks,
        files=[*map(str, indexes), *(str(chunk.file) for chunk in chunks)],
        note=note,
        names=names,
        has_splits=any(chunk.split for chunk in chunks),
        key=key,
    )


def _names(chunks: Sequence[LitDataChunk], note: Note) -> list[str]:
    return [*chunks[0].encodings] if chunks else [n for n in note.columns if n != SPLIT]


def _chunks(
    index: Path, content: Mapping[str, Any], split: str, wanted: Sequence[str] | None
) -> list[LitDataChunk]:
    """Return the chunks that an index lists. `wanted` has the columns to read, or is None for all.

    Raises NotFoundError if a file does not exist, InvalidValueError if the index is invalid, and
    SchemaError if no type can store a column.
    """
    config, entries = content.get("config"), content.get("chunks")
    if not isinstance(config, dict):
        raise _bad(index, "config", config)
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise _bad(index, "chunks", entries)
    if not entries and config.get("data_format") is None:
        return []
    _check_supported(index, config)
    leaves = _leaves(index, config)
    encodings = {
        name: _encoding(name, serializer, config)
        for name, serializer in leaves
        if wanted is None or name in wanted
    }
    level = config.get("compression_level")
    packs_files = config.get("compression") is not None and level in (None, "", "chunk")
    chunks = []
    for entry in entries:
        file, is_packed = _file(index, entry, packs_files=packs_files)
        rows = entry.get("chunk_size")
        if not isinstance(rows, int) or isinstance(rows, bool) or not 0 <= rows < MAX_ROWS:
            raise _bad(index, "chunk_size", rows)
        packs_samples = level == "sample"
        chunks.append(
            LitDataChunk(file, file.name, split, rows, encodings, leaves, is_packed, packs_samples)
        )
    return chunks


def _bad(path: Path, key: str, value: object) -> InvalidValueError:
    return InvalidValueError(
        f"{str(path)!r} must be a LitData index, but its {key!r} is {value!r:.80}. Write the index "
        "again."
    )


def _check_supported(index: Path, config: Mapping[str, Any]) -> None:
    """Raise SchemaError for encrypted chunks, unknown compression or another item loader."""
    if config.get("encryption"):
        raise SchemaError(
            f"Chunks must not be encrypted, but {str(index)!r} lists encrypted chunks. Decrypt the "
            "chunks first."
        )
    loader = config.get("item_loader", "PyTreeLoader")
    if loader not in (None, "PyTreeLoader"):
        raise SchemaError(
            "Chunks must be written for the item loader 'PyTreeLoader', but the chunks that "
            f"{str(index)!r} lists are for {loader!r:.80}. Read them with litdata, and pass the "
            "values to dl.from_arrays."
        )
    compression = config.get("compression")
    if compression is not None and str(compression).partition(":")[0] != "zstd":
        raise SchemaError(
            f"The compression in {str(index)!r} must be 'zstd', but it is {compression!r:.80}. "
            "Write the chunks again."
        )


def _leaves(index: Path, config: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the name and serializer of each value in a sample.

    Raises InvalidValueError if they are invalid.
    """
    names, serializers = leaf_names(config.get("data_spec")), config.get("data_format")
    if (
        not isinstance(serializers, list) or len(serializers) != len(names)
        or not all(isinstance(name, str) for name in serializers)
    ):  # fmt: skip
        raise _bad(index, "data_format", serializers)
    return [*zip(names, serializers, strict=True)]


def _encoding(name: str, serializer: str, config: Mapping[str, Any]) -> Encoding:
    """Return the encoding of a column. Its type is nullable if values may be missing."""
    encoding = encoding_of(name, serializer)
    has_gaps = '"optional"' in json.dumps(config.get("types"))
    if not has_gaps or not isinstance(encoding.htype, Htype) or encoding.htype.nullable:
        return encoding
    return replace(encoding, htype=nullable(encoding.htype))


def _file(index: Path, entry: Mapping[str, Any], *, packs_files: bool) -> tuple[Path, bool]:
    """Return the file of a chunk, and whether it is compressed.

    When LitData reads a compressed chunk in a local folder, it replaces the compressed file with a
    decompressed file.
    """
    name = entry.get("filename")
    if not isinstance(name, str) or not name or "\0" in name:
        raise _bad(index, "filename", name)
    start, _, end = name.partition(".")
    is_packed = packs_files and end.startswith("zstd")
    file = path_inside(index, name)
    plain = path_inside(index, f"{start}.bin")
    if is_packed and not os.path.isfile(file) and os.path.isfile(plain):
        return plain, False
    if not os.path.isfile(file):
        raise NotFoundError(
            f"All files in an index must exist, but {str(index)!r} lists the missing file "
            f"{str(file)!r}. Fetch this file."
        )
    return file, is_packed
