"""Export of a view to LitData's optimized format.

A chunk, such as ``chunk-0-0.bin``, starts with the number of samples, followed by the offset of
each sample and the offset at which the last sample ends. A sample consists of the sizes of all
values, followed by the values. Counts, offsets and sizes are little-endian uint32. The file
``index.json`` lists the chunks, the serializer of each value, and the structure of a sample.
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
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
    "float64", "complex64", "complex128", "bool",
)  # fmt: skip
"""Dtypes of arrays. A chunk stores the dtype of an array as an index into this tuple."""

MAX_BYTES = 2**32 - 1
"""Largest offset that a chunk can store, in bytes."""

_LEAF: dict[str, Any] = {"type": None, "context": None, "children_spec": []}


def write_litdata(
    view: View,
    path: str | Path,
    chunk_bytes: int | str,
    compression: str | None,
    executor: Any,
) -> Path:
    """Write the rows of a view; see `View.to_litdata`."""
    root = Path(checks.location("path", path)).expanduser()
    max_bytes, executor = checks.memory("chunk_bytes", chunk_bytes), check_executor(executor)
    if not 0 < max_bytes <= MAX_BYTES:
        raise OptionError(
            "chunk_bytes must be positive and less than 4 GiB, because offsets in a chunk have 32 "
            f"bits, but it is {max_bytes:,}."
        )
    codec = split_codec(compression, ("zstd",))
    columns = sample_columns(view, "to_litdata", ARRAYS)
    splits = Splits.of(view, "to_litdata")
    note = note_of(view, columns)
    if splits.field is not None:
        note[SPLIT] = splits.field.htype.get_config()
        columns = [c for c in columns if c.field.name != SPLIT]
    config = _config(columns, max_bytes, codec)

    def finish(written: Sequence[Sequence[Written]]) -> None:
        for split, files in zip(splits.views, written, strict=True):
            index = {"chunks": [dict(w.info) for w in files], "config": config, NOTE: note}
            (root / split).mkdir(exist_ok=True)
            (root / split / "index.json").write_text(json.dumps(index), "utf-8")

    write_shards(
        root,
        [_part(columns, codec, max_bytes, split, part) for split, part in splits.views.items()],
        method="to_litdata",
        options={"chunk_bytes": max_bytes, "compression": codec, "note": note},
        executor=executor,
        finish=finish,
    )
    return root


def _config(
    columns: Sequence[SampleColumn], max_bytes: int, codec: tuple[str, int] | None
) -> dict[str, Any]:
    """Return the entry ``config`` of the index, which describes how samples are stored."""
    names = json.dumps([c.field.name for c in columns])
    spec = {"type": "builtins.dict", "context": names, "children_spec": [_LEAF] * len(columns)}
    return {
        "chunk_bytes": max_bytes,
        "chunk_size": None,
        "compression": None if codec is None else codec[0],
        "data_format": [_serializer(c) for c in columns],
        "data_spec": json.dumps([1, spec]),
        "encryption": None,
        "item_loader": "PyTreeLoader",
    }


def _serializer(column: SampleColumn) -> str:
    """Return the name of LitData's serializer for a column's values."""
    match column.kind:
        case "file" if column.field.htype.pixels is not None and not column.has_nulls:
            return "jpeg"  # decodes all formats that torchvision supports
        case "file" | "npy":
            return "bytes"
        case "text":
            return "str"
        case "int":
            return "numpy" if column.dtype == "uint64" else "int"
        case "array":
            return "numpy"
    return column.kind


def _bytes_of(column: SampleColumn, cells: Cells) -> list[bytes]:
    """Return the serialized value of each cell."""
    values = column.values(cells)
    match column.kind:
        case "file" | "npy":
            return values
        case "json":
            return [_finite(value) for value in values]
        case "text":
            return [value.encode() for value in values]
        case "bool":
            return [b"\1" if value else b"\0" for value in values]
        case "int" if column.dtype == "uint64":
            return [_numpy(np.array(value, np.uint64)) for value in values]
        case "int" | "float":
            data = np.array(values, "<i8" if column.kind == "int" else "<f8").tobytes()
            return [data[i : i + 8] for i in range(0, len(data), 8)]
    return [_numpy(value) for value in values]


def _numpy(array: NDArray[Any]) -> bytes:
    """Serialize an array, with its dtype, number of axes and shape."""
    header = [ARRAYS.index(array.dtype.name), array.ndim, *array.shape]
    return np.array(header, "<u4").tobytes() + array.tobytes()


_FLOATS = 3
"""First byte of a value that is a list of floats. No JSON text starts with this byte."""

_FLOAT = 9
"""First byte of a value that is a float. No JSON number starts with this byte."""


def _finite(text: bytes) -> bytes:
    r"""Replace the JSON of floats by binary floats if it has NaN or infinities.

    Strict parsers reject JSON with NaN or infinities.

    >>> _finite(b'[1.0,NaN]')[:5], _finite(b'[1.0]')
    (b'\x03\x02\x00\x00\x00', b'[1.0]')
    """
    if b"NaN" not in text and b"Infinity" not in text:
        return text
    value = json.loads(text)
    if isinstance(value, float):
        return bytes([_FLOAT]) + np.array(value, "<f8").tobytes()
    if isinstance(value, list) and all(isinstance(item, float) for item in value):
        header = bytes([_FLOATS]) + np.array(len(value), "<u4").tobytes()
        return header + np.array(value, "<f8").tobytes()
    return text


def _part(
    columns: Sequence[SampleColumn],
    codec: tuple[str, int] | None,
    max_bytes: int,
    split: str,
    view: View,
) -> Part:
    return Part(
        view,
        [column.field for column in columns],
        partial(_name, split, codec),
        partial(_open_file, columns, codec),
        max_bytes=max_bytes,
        row_bytes=_row_bytes,
    )


def _name(split: str, codec: tuple[str, int] | None, number: int, _: int) -> str:
    name = f"chunk-0-{number}.bin" if codec is None else f"chunk-0-{number}.{codec[0]}.bin"
    return f"{split}/{name}" if split else name


def _row_bytes(sizes: Mapping[str, NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the number of bytes that each row takes in a chunk, with its offset and sizes."""
    total: NDArray[np.int64] = np.sum([size + 4 for size in sizes.values()], axis=0, dtype=np.int64)
    return total + 4


@contextlib.contextmanager
def _open_file(
    columns: Sequence[SampleColumn], codec: tuple[str, int] | None, path: Path, shard: Shard
) -> Iterator[_Chunk]:
    """Open a chunk for writing."""
    with path.open("w+b") as file:
        yield _Chunk(file, path, columns, codec, shard)


@dataclass
class _Chunk:
    """A chunk that is open for writing."""

    file: BinaryIO
    path: Path
    columns: Sequence[SampleColumn]
    codec: tuple[str, int] | None
    shard: Shard
    sizes: list[int] = field(default_factory=list)
    """Size of each written sample."""

    def __post_init__(self) -> None:
        self.start = 8 + 4 * len(self.shard.rows)
        self.end = self.start
        self.file.seek(self.start)

    def write(self, cells: Mapping[str, Cells], first: int) -> None:
        """Write a sample for each row. Raises InvalidValueError if the chunk becomes too large."""
        values = [_bytes_of(column, cells[column.field.name]) for column in self.columns]
        sizes = np.array([[len(value) for value in column] for column in values], np.int64).T
        totals = sizes.sum(axis=1) + 4 * len(values)
        for i, (header, parts) in enumerate(zip(sizes, zip(*values, strict=True), strict=True)):
            self.end += int(totals[i])
            if self.end > MAX_BYTES:
                raise InvalidValueError(
                    "A chunk must be smaller than 4 GiB, because its offsets have 32 bits, but row "
                    f"{first + i:,} makes it larger. Set a smaller chunk_bytes, or leave out "
                    "the row.",
                    row=first + i,
                )
            self.file.write(header.astype("<u4").tobytes())
            self.file.writelines(parts)
        self.sizes += totals.tolist()

    def finish(self) -> Mapping[str, Any]:
        """Write the header, and compress the file. Return the chunk's entry in the index."""
        ends = self.start + np.cumsum([0, *self.sizes], dtype=np.int64)
        self.file.seek(0)
        self.file.write(np.array([len(self.sizes), *ends], "<u4").tobytes())
        self.file.close()
        if self.codec is not None:
            compress(self.path, *self.codec)
        name = self.shard.path.rpartition("/")[2]
        size = {"chunk_bytes": self.end, "chunk_size": len(self.sizes)}
        return {**size, "dim": None, "filename": name}
