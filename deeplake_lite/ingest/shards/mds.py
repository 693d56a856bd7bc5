"""Ingesting MDS, the format of MosaicML's streaming datasets."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeGuard, Unpack

import numpy as np

from deeplake_lite import checks
from deeplake_lite.dataset.export.shards.samples import NOTE
from deeplake_lite.dataset.export.shards.splits import SPLIT
from deeplake_lite.errors import InvalidValueError, NotFoundError
from deeplake_lite.htypes.words import pluralize
from deeplake_lite.ingest.options import takes_options
from deeplake_lite.ingest.shards.indexes import (
    check_names,
    dataset_folder,
    find_indexes,
    path_inside,
    read_index,
)
from deeplake_lite.ingest.shards.mds_encodings import encoding_of
from deeplake_lite.ingest.shards.notes import Note
from deeplake_lite.ingest.shards.packed_files import open_shard
from deeplake_lite.ingest.shards.samples import READ_BYTES, SampleSource
from deeplake_lite.ingest.writer import ingest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from deeplake_lite.ingest.options import Options
    from deeplake_lite.ingest.result import IngestedDataset
    from deeplake_lite.ingest.shards.samples import Encoding

MAX_BYTES = 2**32
"""Maximum size of a shard in bytes, because offsets are 32-bit integers."""


@takes_options
def from_mds(
    folder: str | os.PathLike[str],
    url: str,
    *,
    on: str | None = None,
    columns: Sequence[str] | None = None,
    **options: Unpack[Options],
) -> IngestedDataset:
    """Ingest shards in MDS, the format of MosaicML's streaming datasets.

    Parameters
    ----------
    folder : str or Path
        A folder with ``index.json``, this file itself, or a folder whose subfolders are splits,
        each with its own index.
    url : str
        URL of the lake, which is created if it does not exist.
    on : str, optional
        The column that identifies rows. Rows that are already in the lake are updated if they
        differ. By default, all rows are appended, unless the same shards were ingested before.
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
        If there is no index, or a shard is missing.
    SchemaError
        If shards have different columns, or if a column is pickled, because reading pickles could
        run arbitrary code.
    InvalidValueError
        If a shard is damaged or a sample is invalid.

    Notes
    -----
    Image files and other bytes are stored unchanged. ``str`` becomes text, ``int`` and similar
    encodings become numbers, ``ndarray`` becomes an array, ``json`` becomes JSON, and ``pil``
    becomes an uncompressed image. Columns written by `View.to_mds` get the same types and metadata
    as in the lake from which they were exported. If there are several splits, their names are
    stored in the column ``split``. Shards may be compressed; their hashes are compared with the
    hashes in the index. The package ``streaming`` is not needed.

    Examples
    --------
    >>> import tempfile
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://from-mds", {"text": "text", "n": "int32"})
    >>> ds.append({"text": ["a rose"], "n": [3]})
    >>> dl.from_mds(ds.to_mds(tempfile.mkdtemp()), "memory://from-mds-2")[0]
    {'text': 'a rose', 'n': np.int32(3)}
    """
    source = mds_source(folder, key=on, columns=columns)
    metadata = source.note.metadata
    return ingest(
        source, url, column_metadata=metadata.of_columns, lineage=metadata.lineage, **options
    )


def mds_source(
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
    shards = [
        _shard(path, entry, "" if path.parent == root else _split(root, path), wanted)
        for path, content in zip(indexes, contents, strict=True)
        for entry in _entries(path, content)
    ]
    names = wanted if wanted is not None else _names(shards, note)
    for shard in shards:
        check_names(shard.title, shard.encodings, names)
    return SampleSource(
        title=root.name or str(root),
        shards=shards,
        files=[*map(str, indexes), *(str(shard.file) for shard in shards)],
        note=note,
        names=names,
        has_splits=any(shard.split for shard in shards),
        key=key,
    )


def _names(shards: Sequence[MdsShard], note: Note) -> list[str]:
    return [*shards[0].encodings] if shards else [n for n in note.columns if n != SPLIT]


def _split(root: Path, index: Path) -> str:
    return index.parent.relative_to(root).as_posix()


def _entries(path: Path, content: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the entries that describe shards in an index.

    Raises InvalidValueError if the index is invalid.
    """
    entries = content.get("shards")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise _bad(path, "shards", entries)
    return entries


def _bad(path: Path, key: str, value: object) -> InvalidValueError:
    return InvalidValueError(
        f"{str(path)!r} must be an index of MDS shards, but its {key!r} is {value!r:.80}. Write "
        "the index again."
    )


@dataclass(frozen=True)
class MdsShard:
    """A shard in MDS format."""

    file: Path
    """The file, which may be compressed."""

    title: str
    split: str
    rows: int

    encodings: Mapping[str, Encoding]
    """Maps the name of each column that is read to its encoding."""

    layout: Sequence[tuple[str, int | None]]
    """Name of each column, and the size of its values in bytes, or None if the sizes differ."""

    codec: str | None
    """Name of the compression, or None if the file is not compressed."""

    size: int
    """Size of the uncompressed file in bytes."""

    hashes: Mapping[str, str]
    """Maps the names of hash algorithms to hashes of the file."""

    def samples(self, first: int) -> Iterator[Mapping[str, memoryview] | str]:
        """Yield the samples from number `first` on. An invalid sample is an error message."""
        with open_shard(self.file, self.codec, self.size, self.hashes) as file:
            head = np.frombuffer(file.read(4), "<u4")
            if self.size < 8 + 4 * self.rows or head.tolist() != [self.rows]:
                raise self._damaged()
            offsets = np.frombuffer(file.read(4 * (self.rows + 1)), "<u4").astype(np.int64)
            if len(offsets) != self.rows + 1 or not _are_offsets(offsets, self.size, self.rows):
                raise self._damaged()
            while first < self.rows:
                end = int(np.searchsorted(offsets, offsets[first] + READ_BYTES, side="right")) - 1
                end = min(max(end, first + 1), self.rows)
                file.seek(int(offsets[first]))
                data = memoryview(file.read(int(offsets[end] - offsets[first])))
                for start, stop in pairwise((offsets[first : end + 1] - offsets[first]).tolist()):
                    yield self._split_sample(data[start:stop])
                first = end

    @cached_property
    def _sizes(self) -> struct.Struct:
        """Format of the beginning of a sample: the size of each value whose size may vary."""
        return struct.Struct(f"<{sum(size is None for _, size in self.layout)}I")

    def _split_sample(self, data: memoryview) -> Mapping[str, memoryview] | str:
        """Return a dict from columns to the values of a sample, or an error message."""
        at, values = self._sizes.size, dict[str, memoryview]()
        if len(data) < at:
            return "a sample must begin with the sizes of its values, but this sample is too short."
        sizes = iter(self._sizes.unpack_from(data))
        for name, size in self.layout:
            end = at + (next(sizes) if size is None else size)
            values[name] = data[at:end]
            at = end
        if at != len(data):
            return (
                f"the sizes of values in a sample must add up to {len(data):,} bytes, but the sum "
                f"is {at:,}."
            )
        return values

    def _damaged(self) -> InvalidValueError:
        return InvalidValueError(
            f"{str(self.file)!r} must be a complete MDS file with {pluralize(self.rows, 'sample')}"
            " according to its index, but its header differs. Fetch the file again."
        )


def _are_offsets(offsets: np.ndarray[Any, Any], size: int, rows: int) -> bool:
    return bool(
        (np.diff(offsets) >= 0).all() and offsets[0] >= 8 + 4 * rows and offsets[-1] <= size
    )


def _shard(
    index: Path, entry: Mapping[str, Any], split: str, wanted: Sequence[str] | None
) -> MdsShard:
    """Return the shard that an entry of an index describes.

    `wanted` has the columns to read, or is None for all. Raises NotFoundError if a file does not
    exist, InvalidValueError if the entry is invalid, and SchemaError if no type can store a column.
    """
    if entry.get("format") != "mds" or entry.get("version") != 2:
        raise _bad(index, "format", entry.get("format"))
    names, encodings, sizes = (
        entry.get(f"column_{key}") for key in ("names", "encodings", "sizes")
    )
    if (
        not isinstance(names, list) or not isinstance(encodings, list)
        or not isinstance(sizes, list) or not len(names) == len(encodings) == len(sizes)
        or not names or not all(isinstance(name, str) for name in names)
        or len(set(names)) != len(names)
    ):  # fmt: skip
        raise _bad(index, "column_names", names)
    if not all(size is None or _is_count(size) for size in sizes):
        raise _bad(index, "column_sizes", sizes)
    raw, packed = _file(index, entry.get("raw_data")), entry.get("zip_data")
    codec, file, hashes = None, raw.path, raw.hashes
    if packed is not None and not os.path.isfile(raw.path):
        compressed = _file(index, packed)
        codec = str(entry.get("compression")).partition(":")[0]
        file, hashes = compressed.path, compressed.hashes
    rows = entry.get("samples")
    if not _is_count(rows):
        raise _bad(index, "samples", rows)
    if not os.path.isfile(file):
        raise NotFoundError(
            f"All files in an index must exist, but {str(index)!r} lists the missing file "
            f"{str(file)!r}. Fetch this file."
        )
    return MdsShard(
        file,
        file.name,
        split,
        rows,
        {
            name: encoding_of(name, encoding)
            for name, encoding in zip(names, encodings, strict=True)
            if wanted is None or name in wanted
        },
        # For size 0, the format stores the size with each value, as if sizes differed.
        [(name, size or None) for name, size in zip(names, sizes, strict=True)],
        codec,
        raw.size,
        hashes,
    )


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MAX_BYTES


@dataclass(frozen=True)
class _File:
    """A file that an entry of an index describes."""

    path: Path
    size: int
    hashes: Mapping[str, str]


def _file(index: Path, entry: object) -> _File:
    """Return the file that an entry of an index describes.

    Raises InvalidValueError, also if the file is outside the folder of the index.
    """
    if not isinstance(entry, dict):
        raise _bad(index, "raw_data", entry)
    name, size, hashes = entry.get("basename"), entry.get("bytes"), entry.get("hashes")
    if not isinstance(name, str) or not name or "\0" in name:
        raise _bad(index, "basename", name)
    path = path_inside(index, name)
    if not _is_count(size):
        raise _bad(index, "bytes", size)
    hashes = hashes if isinstance(hashes, dict) else {}
    return _File(path, size, {str(k): v for k, v in hashes.items() if isinstance(v, str)})
