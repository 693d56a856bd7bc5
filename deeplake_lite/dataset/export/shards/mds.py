"""Export of a view to MDS, the format of MosaicML's streaming datasets.

A shard, such as ``shard.00000.mds``, starts with the number of samples, the offset of each sample,
the offset at which the last sample ends, and JSON that describes the columns. A sample consists of
the sizes of those values whose encoding has no fixed size, followed by all values. The file
``index.json`` lists the shards. All numbers are little-endian, and all sizes and offsets are
uint32.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from deeplake_lite import checks
from deeplake_lite.dataset.export.shards.compressing import compress, split_codec
from deeplake_lite.dataset.export.shards.hashing import file_hash
from deeplake_lite.dataset.export.shards.plan import Part
from deeplake_lite.dataset.export.shards.samples import NOTE, note_of, sample_columns
from deeplake_lite.dataset.export.shards.splits import SPLIT, Splits
from deeplake_lite.dataset.export.shards.writer import write_shards
from deeplake_lite.errors import InvalidValueError, OptionError
from deeplake_lite.remote.executor import check_executor

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.dataset.export.shards.journal import Written
    from deeplake_lite.dataset.export.shards.plan import Shard
    from deeplake_lite.dataset.export.shards.samples import SampleColumn
    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes.cells import Cells

ARRAYS = (
    "uint8", "int8", "uint16", "int16", "float16", "uint32", "int32", "float32", "uint64", "int64",
    "float64", "bool",
)  # fmt: skip
"""Array dtypes that can be written. Boolean arrays are stored as uint8."""

_DTYPE_CODES = {
    "uint8": 8, "int8": 9, "uint16": 16, "int16": 17, "float16": 18, "uint32": 32, "int32": 33,
    "float32": 34, "uint64": 64, "int64": 65, "float64": 66,
}  # fmt: skip

MAX_BYTES = 2**32 - 1
"""Largest offset that a shard can store, in bytes."""

HASH = "xxh64"
"""Name of the hash algorithm with which readers detect damage to shards."""


def write_mds(
    view: View,
    path: str | Path,
    shard_bytes: int | str,
    compression: str | None,
    executor: Any,
) -> Path:
    """Write the rows of a view; see `View.to_mds`."""
    root = Path(checks.location("path", path)).expanduser()
    max_bytes, executor = checks.memory("shard_bytes", shard_bytes), check_executor(executor)
    if not 0 < max_bytes <= MAX_BYTES:
        raise OptionError(
            f"shard_bytes must be positive and less than 4 GiB, because offsets in a shard have 32 "
            f"bits, but it is {max_bytes:,}."
        )
    parsed = split_codec(compression, ("zstd", "gz"))
    codec = None if parsed is None else f"{parsed[0]}:{parsed[1]}"
    columns = sample_columns(view, "to_mds", ARRAYS)
    splits = Splits.of(view, "to_mds")
    note = note_of(view, columns)
    if splits.field is not None:
        note[SPLIT] = splits.field.htype.get_config()
        columns = [c for c in columns if c.field.name != SPLIT]
    layout = Layout.of(columns, max_bytes, codec)

    def finish(written: Sequence[Sequence[Written]]) -> None:
        for split, files in zip(splits.views, written, strict=True):
            index = {"version": 2, "shards": [dict(w.info) for w in files], NOTE: note}
            (root / split).mkdir(exist_ok=True)
            (root / split / "index.json").write_text(json.dumps(index), "utf-8")

    write_shards(
        root,
        [_part(layout, split, part) for split, part in splits.views.items()],
        method="to_mds",
        options={"shard_bytes": max_bytes, "compression": codec, "note": note},
        executor=executor,
        finish=finish,
    )
    return root


@dataclass(frozen=True)
class Layout:
    """The columns and the compression of the shards of an export."""

    columns: Sequence[SampleColumn]
    """The columns, sorted by name."""

    config: Mapping[str, Any]
    """The description of a shard in its header and in the index."""

    @classmethod
    def of(cls, columns: Sequence[SampleColumn], max_bytes: int, codec: str | None) -> Layout:
        """Return the layout for the given columns, which MDS sorts by name."""
        columns = sorted(columns, key=lambda c: c.field.name)
        encodings = [_encoding(c) for c in columns]
        config = {
            "version": 2,
            "format": "mds",
            "compression": codec,
            "hashes": [HASH],
            "size_limit": max_bytes,
            "column_names": [c.field.name for c in columns],
            "column_encodings": encodings,
            "column_sizes": [_size(encoding) for encoding in encodings],
        }
        return cls(columns, config)

    @property
    def header(self) -> bytes:
        """The description of a shard, as bytes of JSON for the shard's header."""
        return json.dumps(self.config, sort_keys=True).encode()

    @property
    def codec(self) -> str | None:
        """The compression and its level, such as ``"zstd:3"``, or None for no compression."""
        codec: str | None = self.config["compression"]
        return codec


def _encoding(column: SampleColumn) -> str:
    """Return the name of the MDS encoding for a column's values."""
    htype = column.field.htype
    match column.kind:
        case "file" if htype.pixels is not None and not column.has_nulls:
            # For both, the reader uses Pillow, which detects the format from the content.
            return "png" if htype.pixels.codec == "png" else "jpeg"
        case "file" | "npy":
            return "bytes"
        case "text":
            return "str"
        case "json" | "bool":
            return "json"
        case "int":
            return "int" if column.dtype == "int64" else column.dtype
        case "float":
            return column.dtype
    dtype = "uint8" if column.dtype == "bool" else column.dtype
    if column.shape is None:
        return f"ndarray:{dtype}"
    return f"ndarray:{dtype}:{','.join(map(str, column.shape))}"


def _size(encoding: str) -> int | None:
    """Return the size in bytes of a value in the given encoding, or None if sizes vary."""
    name, _, spec = encoding.partition(":")
    if name == "ndarray":
        dtype, _, shape = spec.partition(":")
        counts = [int(n) for n in shape.split(",")] if shape else None
        return int(np.prod(counts)) * np.dtype(dtype).itemsize if counts else None
    if name == "int":
        return 8
    return None if name in ("bytes", "str", "json", "jpeg", "png") else np.dtype(name).itemsize


def _bytes_of(column: SampleColumn, cells: Cells) -> list[bytes]:
    """Return the encoded value of each cell."""
    values = column.values(cells)
    match column.kind:
        case "file" | "npy" | "json":
            return values
        case "text":
            return [value.encode() for value in values]
        case "bool":
            return [b"true" if value else b"false" for value in values]
        case "int" | "float":
            data = np.array(values, column.dtype).tobytes()
            step = np.dtype(column.dtype).itemsize
            return [data[i : i + step] for i in range(0, len(data), step)]
    dtype = "uint8" if column.dtype == "bool" else column.dtype
    arrays = [np.asarray(value, dtype) for value in values]
    if column.shape is not None:
        return [array.tobytes() for array in arrays]
    return [_encode_shape(array) + array.tobytes() for array in arrays]


def _encode_shape(array: NDArray[Any]) -> bytes:
    """Return an array's header: a byte for the number of axes and the integer width, and the shape.

    >>> _encode_shape(np.zeros((300, 2))).hex(" ")
    '09 2c 01 02 00'
    """
    longest = max(array.shape, default=0)
    width = next(n for n in range(4) if longest < 1 << (8 << n))
    return bytes([array.ndim << 2 | width]) + np.array(array.shape, f"<u{1 << width}").tobytes()


def _part(layout: Layout, split: str, view: View) -> Part:
    return Part(
        view,
        [column.field for column in layout.columns],
        partial(_name, split, layout.codec),
        partial(_open_file, layout, split),
        max_bytes=layout.config["size_limit"],
        row_bytes=partial(_row_bytes, layout),
    )


def _name(split: str, codec: str | None, number: int, _: int) -> str:
    suffix = f".{codec.partition(':')[0]}" if codec else ""
    return f"{split}/{raw_name(number)}{suffix}" if split else f"{raw_name(number)}{suffix}"


def raw_name(number: int) -> str:
    """Return the name of an uncompressed shard.

    >>> raw_name(7)
    'shard.00007.mds'
    """
    return f"shard.{number:05d}.mds"


def _row_bytes(layout: Layout, sizes: Mapping[str, NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the number of bytes that each row takes in a shard, with its offset and sizes."""
    fixed = layout.config["column_sizes"]
    columns = [
        4 + sizes[c.field.name] if size is None else np.full_like(sizes[c.field.name], size)
        for c, size in zip(layout.columns, fixed, strict=True)
    ]
    return np.sum(columns, axis=0, dtype=np.int64) + 4


@contextlib.contextmanager
def _open_file(layout: Layout, split: str, path: Path, shard: Shard) -> Iterator[_Mds]:  # noqa: ARG001
    """Open a shard for writing."""
    with path.open("w+b") as file:
        yield _Mds(file, path, layout, shard)


@dataclass
class _Mds:
    """A shard that is open for writing."""

    file: BinaryIO
    path: Path
    layout: Layout
    shard: Shard
    sizes: list[int] = field(default_factory=list)
    """Size of each written sample."""

    def __post_init__(self) -> None:
        self.start = 8 + 4 * len(self.shard.rows) + len(self.layout.header)
        self.end = self.start
        self.file.seek(self.start)

    def write(self, cells: Mapping[str, Cells], first: int) -> None:
        """Write a sample for each row. Raises InvalidValueError if the shard becomes too large."""
        columns = self.layout.columns
        values = [_bytes_of(column, cells[column.field.name]) for column in columns]
        sizes = [
            np.fromiter(map(len, column), np.int64, len(column))
            for column, size in zip(values, self.layout.config["column_sizes"], strict=True)
            if size is None
        ]
        count = len(values[0])
        headers = np.stack(sizes, axis=1) if sizes else np.empty((count, 0), np.int64)
        for i, (header, parts) in enumerate(zip(headers, zip(*values, strict=True), strict=True)):
            size = 4 * len(header) + sum(map(len, parts))
            self.end += size
            if self.end > MAX_BYTES:
                raise InvalidValueError(
                    f"A shard must be smaller than 4 GiB, because its offsets have 32 bits, but "
                    f"row {first + i:,} makes it larger. Set a smaller shard_bytes, or leave out "
                    "the row.",
                    row=first + i,
                )
            self.sizes.append(size)
            self.file.write(header.astype("<u4").tobytes())
            self.file.writelines(parts)

    def finish(self) -> Mapping[str, Any]:
        """Write the header, and compress the file. Return the shard's entry in the index."""
        ends = self.start + np.cumsum([0, *self.sizes], dtype=np.int64)
        self.file.seek(0)
        self.file.write(np.array([len(self.sizes)], "<u4").tobytes())
        self.file.write(ends.astype("<u4").tobytes() + self.layout.header)
        self.file.close()
        basename = raw_name(self.shard.number)
        raw = _describe_file(self.path, basename)
        compressed = None
        if (codec := self.layout.codec) is not None:
            name, _, level = codec.partition(":")
            compress(self.path, name, int(level))
            compressed = _describe_file(self.path, f"{basename}.{name}")
        entry = {"samples": len(self.sizes), "raw_data": raw, "zip_data": compressed}
        return {**self.layout.config, **entry}


def _describe_file(path: Path, basename: str) -> dict[str, Any]:
    """Return the entry of a file in the index of MDS: its name, its size and its hash."""
    return {
        "basename": basename,
        "bytes": path.stat().st_size,
        "hashes": {HASH: file_hash(path, HASH)},
    }
