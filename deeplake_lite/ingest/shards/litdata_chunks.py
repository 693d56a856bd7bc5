"""Reading LitData's chunks, which are files of samples in one of several forms.

======================  =========================================================================
plain                   number of samples, offset of each sample, end of the last sample, samples
``.zstd.bin``           a plain chunk that is compressed as a whole
compressed by sample    a plain chunk in which each sample is compressed
``LDFZ01``              the samples are compressed in frames of a few hundred samples
``LDARW01`` at the end  an Arrow table instead of samples, for lists of any length
======================  =========================================================================

A sample consists of the size of each value, followed by the values. All numbers are little-endian.
"""

from __future__ import annotations

import io
import json
import struct
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, BinaryIO, override

import numpy as np
import pyarrow as pa

from deeplake_lite.brief import brief
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes.words import pluralize
from deeplake_lite.ingest.shards.packed_files import decompress, open_shard
from deeplake_lite.ingest.shards.samples import READ_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from deeplake_lite.ingest.shards.samples import Encoding

FRAMED = b"LDFZ01\0\0"
"""First bytes of a chunk that is compressed in frames."""

TABLE = b"LDARW01\0"
"""Last bytes of a chunk with an Arrow table, after the table and its length."""

_FRAMED_HEAD = struct.Struct("<8sHHIII")
_FRAME = np.dtype([
    ("first", "<u4"), ("rows", "<u4"), ("start", "<u8"), ("packed", "<u4"), ("size", "<u4")
])  # fmt: skip

type Sample = Mapping[str, memoryview | None]


@dataclass(frozen=True)
class LitDataChunk:
    """A chunk of a LitData dataset."""

    file: Path
    title: str
    split: str
    rows: int

    encodings: Mapping[str, Encoding]
    """Maps the name of each column that is read to its encoding."""

    leaves: Sequence[tuple[str, str]]
    """Name and serializer of each value in a sample."""

    is_packed: bool
    """Whether the whole file is compressed."""

    packs_samples: bool
    """Whether each sample is compressed."""

    def samples(self, first: int) -> Iterator[Sample | str]:
        """Yield the samples from number `first` on. An invalid sample is an error message."""
        with open_shard(self.file, "zstd" if self.is_packed else None, None, {}) as file:
            size = file.seek(0, 2)
            file.seek(0)
            if file.read(len(FRAMED)) == FRAMED:
                yield from self._read_frames(file, size, first)
                return
            offsets = self._offsets(file, 4, size, 8 + 4 * self.rows)
            if self.rows and offsets[0] == offsets[-1] and self._ends_with_table(file, size):
                yield from self._table(file, size, first)
                return
            while first < self.rows:
                end = _block_end(offsets, first)
                file.seek(int(offsets[first]))
                data = memoryview(file.read(int(offsets[end] - offsets[first])))
                yield from self._split_all(data, offsets[first : end + 1])
                first = end

    def _offsets(self, file: BinaryIO, start: int, size: int, first: int) -> NDArray[np.int64]:
        """Return the offset of each sample, and the end of the last one.

        Raises InvalidValueError if they are invalid.

        Parameters
        ----------
        file : file
            The chunk.
        start : int
            Position of the offsets in the file.
        size : int
            Size of the file in bytes.
        first : int
            Expected offset of the first sample.
        """
        if size < start + 4 * (self.rows + 1):
            raise self._damaged()
        file.seek(start - 4 if start == 4 else start)
        if start == 4 and np.frombuffer(file.read(4), "<u4").tolist() != [self.rows]:
            raise self._damaged()
        offsets = np.frombuffer(file.read(4 * (self.rows + 1)), "<u4").astype(np.int64)
        if len(offsets) != self.rows + 1 or (np.diff(offsets) < 0).any() or offsets[0] != first:
            raise self._damaged()
        if start == 4 and offsets[-1] > size:
            raise self._damaged()
        return offsets

    def _split_all(self, data: memoryview, offsets: NDArray[np.int64]) -> Iterator[Sample | str]:
        """Yield the samples in `data`, given their offsets. `data` starts at the first offset."""
        bounds = (offsets - offsets[0]).tolist()
        for start, stop in pairwise(bounds):
            sample = data[start:stop]
            if self.packs_samples:
                try:
                    sample = memoryview(decompress(sample, "zstd", 2**31))
                except ValueError as error:
                    yield f"a sample must be a Zstandard frame, but it is not valid: {error}."
                    continue
            yield self._split_sample(sample)

    @cached_property
    def _sizes(self) -> struct.Struct:
        """Format of the beginning of a sample, which has the size of each value."""
        return struct.Struct(f"<{len(self.leaves)}I")

    def _split_sample(self, data: memoryview) -> Sample | str:
        """Return a dict from names to the values of a sample, or an error message."""
        at = self._sizes.size
        if len(data) < at:
            return "a sample must begin with the sizes of its values, but this sample is too short."
        values = dict[str, memoryview | None]()
        sizes = self._sizes.unpack_from(data)
        for (name, _), size in zip(self.leaves, sizes, strict=True):
            values[name] = data[at : at + size]
            at += size
        if at != len(data):
            return (
                f"the sizes of values in a sample must add up to {len(data):,} bytes, but the sum "
                f"is {at:,}."
            )
        return values

    def _read_frames(self, file: BinaryIO, size: int, first: int) -> Iterator[Sample | str]:
        """Yield the samples of a chunk that is compressed in frames."""
        file.seek(0)
        head = file.read(_FRAMED_HEAD.size)
        if len(head) < _FRAMED_HEAD.size:
            raise self._damaged()
        _, version, _, rows, _, count = _FRAMED_HEAD.unpack(head)
        offsets = self._offsets(file, _FRAMED_HEAD.size, size, 0)
        if version != 1 or rows != self.rows or count > self.rows:
            raise self._damaged()
        table = file.read(count * _FRAME.itemsize)
        if len(table) != count * _FRAME.itemsize:
            raise self._damaged()
        frames = np.frombuffer(table, _FRAME)
        ends = np.cumsum(frames["rows"], dtype=np.int64)
        if (ends[-1] if count else 0) != self.rows:
            raise self._damaged()
        for frame, end in zip(frames, ends, strict=True):
            if end <= first:
                continue
            start = int(end) - int(frame["rows"])
            file.seek(min(int(frame["start"]), size))
            expected, begin = int(offsets[end] - offsets[start]), max(first, start)
            try:
                data = decompress(memoryview(file.read(int(frame["packed"]))), "zstd", expected)
            except ValueError:
                data = b""
            if len(data) != expected:
                for _ in range(begin, int(end)):
                    yield "a sample must be in a valid Zstandard frame, but its frame is damaged."
                continue
            part = memoryview(data)[int(offsets[begin] - offsets[start]) :]
            yield from self._split_all(part, offsets[begin : end + 1])

    def _ends_with_table(self, file: BinaryIO, size: int) -> bool:
        file.seek(max(0, size - len(TABLE)))
        return file.read() == TABLE

    def _table(self, file: BinaryIO, size: int, first: int) -> Iterator[Sample | str]:
        """Yield the rows of the Arrow table as samples.

        Raises InvalidValueError if it cannot be read.
        """
        file.seek(max(0, size - len(TABLE) - 4))
        (length,) = struct.unpack("<I", file.read(4))
        start = size - len(TABLE) - 4 - length
        if start < 0:
            raise self._damaged()
        count = 0
        try:
            for batch in _batches(_Part(file, start, length)):
                batch.validate(full=True)
                begin = max(0, first - count)
                count += batch.num_rows
                for row in batch.slice(begin).to_pylist() if begin < batch.num_rows else ():
                    yield self._row(row)
        except (pa.ArrowException, OSError, ValueError, TypeError, RecursionError):
            raise self._damaged() from None
        if count != self.rows:
            raise self._damaged()

    def _row(self, row: Mapping[str, Any]) -> Sample | str:
        """Return a row of the table as a sample of serialized values, or an error message."""
        values = dict[str, memoryview | None]()
        for name, serializer in self.leaves:
            value = _leaf(row, name)
            if value is None and serializer != "json":
                values[name] = None
                continue
            try:
                serialize = _SERIALIZE.get(serializer)
                values[name] = memoryview(value if serialize is None else serialize(value))
            except (TypeError, ValueError, OverflowError, struct.error, RecursionError):
                return (
                    f"{name} must have a value for the serializer {serializer!r}, but it is "
                    f"{brief(value, 60)}."
                )
        return values

    def _damaged(self) -> InvalidValueError:
        return InvalidValueError(
            f"{str(self.file)!r} must be a complete LitData chunk with "
            f"{pluralize(self.rows, 'sample')}, but it is damaged or is another file. Fetch the "
            "file again."
        )


def _block_end(offsets: NDArray[np.int64], first: int) -> int:
    """Return the number of the sample after a block that is read at once.

    The block starts with sample `first`, and has about `READ_BYTES` bytes and at least one sample.
    """
    end = int(np.searchsorted(offsets, offsets[first] + READ_BYTES, side="right")) - 1
    return min(max(end, first + 1), len(offsets) - 1)


class _Part(io.RawIOBase):
    """A range of bytes in a file, as a file of its own, from which Arrow reads batches."""

    def __init__(self, file: BinaryIO, start: int, length: int) -> None:
        self._file, self._start, self._length, self._at = file, start, length, 0

    @override
    def readable(self) -> bool:
        return True

    @override
    def seekable(self) -> bool:
        return True

    @override
    def tell(self) -> int:
        return self._at

    @override
    def seek(self, offset: int, whence: int = 0, /) -> int:
        self._at = offset + (0, self._at, self._length)[whence]
        return self._at

    @override
    def read(self, size: int = -1, /) -> bytes:
        rest = max(0, self._length - self._at)
        self._file.seek(self._start + self._at)
        data = self._file.read(rest if size < 0 else min(size, rest))
        self._at += len(data)
        return data


def _batches(file: _Part) -> Iterator[pa.RecordBatch]:
    """Yield the batches of an Arrow file or of an Arrow stream."""
    is_stream = file.read(6) != b"ARROW1"
    file.seek(0)
    if is_stream:
        yield from pa.ipc.open_stream(file)
        return
    with pa.ipc.open_file(file) as reader:
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number)


def _leaf(row: Any, name: str) -> Any:
    """Return the value of a row under a name such as ``"box/width"``, or None if it has none."""
    if name in row:
        return row[name]
    key, _, rest = name.partition("/")
    inner = row.get(key)
    return _leaf(inner, rest) if rest and isinstance(inner, dict) else None


_SERIALIZE: Mapping[str, Callable[[Any], bytes]] = {
    "str": str.encode,
    "text": str.encode,
    "int": struct.Struct("<q").pack,
    "float": struct.Struct("<d").pack,
    "bool": lambda value: b"\1" if value else b"\0",
    "json": lambda value: json.dumps(value).encode(),
}
"""Maps the names of serializers to functions that serialize a value as LitData does. Values of
other serializers are bytes, which stay unchanged."""
