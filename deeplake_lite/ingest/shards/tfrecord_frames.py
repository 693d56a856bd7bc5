"""Reading the records of TFRecord files, which may be compressed with GZIP or ZLIB."""

from __future__ import annotations

import gzip
import io
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, override

from deeplake_lite.dataset.export.shards.record_frames import HEAD, TAIL, masked_crc
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.ingest.shards.record_files import MAX_BYTES, Record, name_of, open_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PIECE = 16 * 2**20
"""Maximum number of bytes that are read at once, so that a damaged length does not make the reader
allocate too much memory."""

_WRONG_CHECKSUM = "its content does not match its checksum. Fetch the file again."


def tfrecords(path: str, options: Mapping[str, Any]) -> Iterator[Record]:
    """Yield the records of a file.

    Raises
    ------
    InvalidValueError
        If the file is not a TFRecord file or is truncated, or if the length of a record is damaged,
        so that the next record cannot be found. If only the content of a record is damaged, its
        `error` is set.
    StorageError
        If the file cannot be opened.
    """
    name, number, at = name_of(path), 0, 0
    with _open_decompressed(path, options) as file:
        while head := _read(file, HEAD.size):
            place = f"{name}, record {number} (byte {at:,})"
            size = _length(head, place)
            data = _read(file, size)
            tail = _read(file, TAIL.size)
            if len(tail) < TAIL.size:
                raise InvalidValueError(
                    f"A record must be complete, but {place} has only {len(data) + len(tail):,} of "
                    f"{size + TAIL.size:,} bytes. The file is truncated. Fetch the file again."
                )
            is_intact = TAIL.unpack(tail)[0] == masked_crc(data)
            yield Record(data, place, None if is_intact else _WRONG_CHECKSUM)
            number, at = number + 1, at + HEAD.size + size + TAIL.size


def _length(head: bytes, place: str) -> int:
    """Return the length of a record, given the start of its frame.

    Raises InvalidValueError if it is invalid.
    """
    if len(head) < HEAD.size:
        raise InvalidValueError(
            f"A record must begin with {HEAD.size} bytes of length and checksum, but {place} has "
            f"{len(head)} bytes. The file is truncated. Fetch the file again."
        )
    size, crc = HEAD.unpack(head)
    if masked_crc(head[:8]) != crc:
        raise InvalidValueError(
            f"The length of a record must match its checksum, but the length of {place} does not. "
            "The file is not a TFRecord file, or it is damaged from this point on. Fetch the file "
            "again."
        )
    if size > MAX_BYTES:
        raise InvalidValueError(
            f"A record may have at most {MAX_BYTES:,} bytes, but {place} has {size:,}. Leave the "
            "file out."
        )
    return int(size)


def _read(file: Any, size: int) -> bytes:
    """Read `size` bytes, or fewer at the end of the file."""
    if size <= PIECE:
        data: bytes = file.read(size)
        if len(data) == size or not data:
            return data
        pieces = [data]  # stores may return fewer bytes than requested
    else:
        pieces = []
    left = size - sum(map(len, pieces))
    while left and (piece := file.read(min(left, PIECE))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


@contextmanager
def _open_decompressed(path: str, options: Mapping[str, Any]) -> Iterator[Any]:
    """Open a file, and decompress its content if it does not begin with a record.

    Raises StorageError if the file cannot be opened, and InvalidValueError if it is invalid.
    """
    with open_file(path, options) as raw, _translating_errors(path):
        file = raw if hasattr(raw, "peek") else io.BufferedReader(raw, 2**20)
        head = file.peek(HEAD.size)[: HEAD.size]
        is_plain = len(head) == HEAD.size and HEAD.unpack(head)[1] == masked_crc(head[:8])
        if is_plain:
            yield file
        elif head[:2] == b"\x1f\x8b":
            yield gzip.GzipFile(fileobj=file)
        elif len(head) > 1 and head[0] & 15 == 8 and int.from_bytes(head[:2], "big") % 31 == 0:
            yield io.BufferedReader(_Zlib(file), 2**20)
        else:
            yield file


class _Zlib(io.RawIOBase):
    """The decompressed content of a file that is compressed with zlib."""

    def __init__(self, file: Any) -> None:
        self._file, self._zlib = file, zlib.decompressobj()

    @override
    def readable(self) -> bool:
        return True

    @override
    def readinto(self, buffer: Any) -> int:
        data = b""
        while not data and not self._zlib.eof:
            packed = self._zlib.unconsumed_tail or self._file.read(2**16)
            data = self._zlib.decompress(packed, len(buffer))
            if not packed and not data:
                raise EOFError("Compressed file ended before the end of the stream")
        if self._zlib.eof and not data and (self._zlib.unused_data or self._file.read(1)):
            raise EOFError("There are bytes after the end of the compressed stream")
        buffer[: len(data)] = data
        return len(data)


@contextmanager
def _translating_errors(path: str) -> Iterator[None]:
    """Turn errors of decompression into InvalidValueError."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InvalidValueError(
            f"{name_of(path)!r} must be a complete compressed file, but it cannot be read: "
            f"{error}. Fetch the file again."
        ) from None
