"""A tar file that is read from start to end, with a fast path for plain files.

Python's tarfile parses headers one by one. Most headers in a WebDataset are plain: they belong to
regular files with names of at most 100 bytes. All headers in a piece of the tar file are therefore
parsed at once with NumPy. tarfile reads all other headers, from the same stream.
"""

from __future__ import annotations

import io
import re
import sys
from tarfile import BLOCKSIZE, REGTYPE, XHDTYPE
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

PIECE_BYTES = 2**20
"""Size of the pieces in which a tar file is read. tarfile reads files that are larger."""


class Stream(io.BufferedIOBase):
    """A tar file that is read from start to end, by tarfile and by `plain_files` in turns."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._piece = b""
        self._start = 0  # position of the piece in the file
        self._offset = 0  # position in the piece
        self._files: dict[int, _File] = {}
        self._error: Exception | None = None

    def read(self, size: int | None = -1, /) -> bytes:
        """Read `size` bytes, or fewer at the end of the file. Raises ValueError if `size` < 0."""
        if size is None or size < 0:
            raise ValueError("the number of bytes must not be negative")
        data = self._piece[self._offset : self._offset + size]
        self._offset += len(data)
        if len(data) == size:
            return data
        if self._error is not None:
            raise self._error
        parts = [data]
        # The size in a damaged header may exceed the memory, so that only bounded parts are read.
        while (size := size - len(parts[-1])) and (part := self._file.read(min(size, _MOST))):
            parts.append(part)
        self._start += len(self._piece) + sum(map(len, parts[1:]))
        self._piece, self._offset, self._files = b"", 0, {}
        return b"".join(parts)

    def tell(self) -> int:
        """Return the position in the file, in bytes."""
        return self._start + self._offset

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Skip the bytes up to a position. Raises ValueError for an earlier position."""
        if whence or offset < self.tell():
            raise ValueError("the stream can only be read forward")
        while self.tell() < offset and self.read(min(offset - self.tell(), PIECE_BYTES)):
            pass
        return self.tell()

    def plain_files(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield the names and contents of files, up to a header that tarfile must read.

        The stream must be at a header. At the end, it is at the header that tarfile must read.
        """
        while True:
            file = self._files.get(self._offset)
            if file is not None and file.end <= len(self._piece):
                self._offset = file.end
                yield file.name, self._piece[file.start : file.start + file.size]
                continue
            is_other = file is None and len(self._piece) - self._offset >= BLOCKSIZE
            if is_other or not self._read_piece():
                return

    def _read_piece(self) -> bool:
        """Read the next piece, which begins with the rest of this one. Return whether it adds data.

        If reading fails, the error is raised once all bytes before it have been used.
        """
        rest = self._piece[self._offset :]
        parts, size = [rest], len(rest)
        try:
            while (
                self._error is None
                and size < PIECE_BYTES
                and (part := self._file.read1(PIECE_BYTES - size))
            ):
                parts.append(part)
                size += len(part)
        except Exception as error:
            self._error = error
        self._start, self._offset = self.tell(), 0
        self._piece = b"".join(parts)
        self._files = _plain_files(self._piece)
        return size > len(rest)


_MOST = 64 * 2**20
"""Number of bytes for which memory is reserved before they are read."""


class _File(NamedTuple):
    """A plain file in a piece of a tar file."""

    name: bytes
    start: int
    """Position of its content."""

    size: int
    end: int
    """Position of the next header. It exceeds the size of the piece if the file is incomplete."""


_CUT = _File(b"", 0, 0, sys.maxsize)
"""Stands for a file whose header is not in the piece."""


def _plain_files(piece: bytes) -> dict[int, _File]:
    """Map the positions of plain headers in a piece of a tar file to their files.

    These include extended headers, if they only have times. Blocks within the contents of files may
    look like headers, too, but their positions are never looked up.
    """
    count = len(piece) // BLOCKSIZE
    blocks = np.frombuffer(piece, np.uint8, count * BLOCKSIZE).reshape(count, BLOCKSIZE)
    numbers = np.flatnonzero((blocks[:, 257:262] == _MAGIC).all(1))
    headers = blocks[numbers]
    plain = _is_plain(headers)
    headers, starts = headers[plain], (numbers[plain] + 1) * BLOCKSIZE
    sizes = (headers[:, 124:135] - _ZERO).astype(np.int64) @ _POWERS
    ends = starts + -(-sizes // BLOCKSIZE) * BLOCKSIZE
    names = np.ascontiguousarray(headers[:, :100]).view("S100").ravel()
    extended = headers[:, 156] == ord(XHDTYPE)
    files = dict[int, _File]()
    columns = (names, starts, sizes, ends, extended)
    for name, start, size, end, is_extended in zip(
        *(c[::-1].tolist() for c in columns), strict=True
    ):
        if not is_extended:
            files[start - BLOCKSIZE] = _File(name.partition(b"\0")[0], start, size, end)
        elif end + BLOCKSIZE > len(piece):
            files[start - BLOCKSIZE] = _CUT
        elif (file := files.get(end)) is not None and _TIMES.fullmatch(piece, start, end):
            files[start - BLOCKSIZE] = file
    return files


def _is_plain(headers: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return for each header whether it is plain and undamaged.

    Numbers in plain headers are octal digits, followed by a null byte or a space.
    """
    types, digits = headers[:, 156], headers[:, 124:135] - _ZERO
    totals = headers.sum(1, dtype=np.int64)
    totals += 8 * ord(" ") - headers[:, 148:156].sum(1, dtype=np.int64)
    checksums = (headers[:, 148:154] - _ZERO).astype(np.int64)
    return np.all(
        [
            (types == ord(REGTYPE)) | (types == ord(XHDTYPE)),
            headers[:, 345] == 0,  # no folder that precedes the name
            (digits < 8).all(1),
            np.isin(headers[:, 135], _ENDS),
            (checksums < 8).all(1),
            checksums @ _POWERS[-6:] == totals,
            np.isin(headers[:, 154:156], _ENDS).all(1),
        ],
        axis=0,
    )


_MAGIC = np.frombuffer(b"ustar", np.uint8)
_ENDS = np.frombuffer(b"\0 ", np.uint8)
_ZERO = np.uint8(ord("0"))
_POWERS = 8 ** np.arange(11, dtype=np.int64)[::-1]
_TIMES = re.compile(rb"(?:[1-9]\d{0,3} [acm]time=-?[0-9.]{1,40}\n)*\0*")
"""The content of an extended header that only has times, which are not ingested."""
