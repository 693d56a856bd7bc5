"""The layout of arrays with one value per row, and the encoding of their chunks.

Chunks are encoded like Zarr's codecs ``bytes``, ``blosc`` and ``crc32c``, so Zarr can read them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import google_crc32c
import numpy as np

from deeplake_lite.errors import TooLargeError
from deeplake_lite.storage.compression import CRC32C, blosc, blosc_codec
from deeplake_lite.storage.frames import check_blosc
from deeplake_lite.storage.zarr_metadata import array_metadata

if TYPE_CHECKING:
    from collections.abc import Buffer, Callable
    from types import EllipsisType

    from numpy.typing import NDArray

type Index = tuple[int | slice | EllipsisType, ...]
"""An index that selects a part of each value, as in ``value[index]``."""

INDEX_ROWS = 8_192
"""Maximum number of rows in one chunk of an array."""

DENSE_BYTES = 256 * 1024
"""Maximum size of a chunk in bytes, unless one row is larger. The limit is small because committing
one row rewrites a whole chunk."""

WIDE_BYTES = 4_096
"""Rows of at least this many bytes are stored without compression, since decompressing them takes
longer than reading them from disk."""

NARROW_BYTES = 16
"""Chunks are cached if their rows have at most this many bytes, as in ``extents``."""


@dataclass(frozen=True)
class ArraySpec:
    """The layout of an array: dtype, shape, chunks and codecs."""

    dtype: str
    """Name of a Zarr v3 core dtype."""
    shape: tuple[int, ...] = ()
    """Shape of one row."""
    axes: tuple[str, ...] = ()
    """Names of the row's axes."""

    @cached_property
    def row_bytes(self) -> int:
        """Size of one row in bytes, at least 1."""
        return max(1, np.dtype(self.dtype).itemsize * prod(self.shape))

    @cached_property
    def chunk_rows(self) -> int:
        """Number of rows in one chunk."""
        return rows_per_chunk(self.row_bytes)

    @property
    def most_bytes(self) -> int:
        """Maximum size of a stored chunk in bytes, including headers and checksums."""
        return self.chunk_rows * self.row_bytes + 64

    @property
    def is_wide(self) -> bool:
        """Whether chunks are stored without compression."""
        return self.row_bytes >= WIDE_BYTES

    @property
    def is_narrow(self) -> bool:
        """Whether chunks are cached when they are read."""
        return self.row_bytes <= NARROW_BYTES

    def decode_chunk(self, data: memoryview, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Decode a chunk; return its rows, (chunk_rows, *shape), in `out` or a read-only array.

        Raises
        ------
        ValueError, RuntimeError
            If the bytes are damaged.
        """
        packed = np.frombuffer(data[:-4], np.uint8)
        packed.flags.writeable = False
        if google_crc32c.value(packed) != int.from_bytes(data[-4:], "little"):
            raise ValueError("the checksum of a chunk does not match its bytes.")
        whole = self.chunk_rows * self.row_bytes
        if self.is_wide and packed.nbytes != whole:
            raise ValueError(f"a chunk has {packed.nbytes} bytes instead of {whole}.")
        if not self.is_wide:
            check_blosc(packed.data, whole)
        dtype, shape = np.dtype(self.dtype).newbyteorder("<"), (self.chunk_rows, *self.shape)
        if self.is_wide:
            rows = packed.view(dtype).reshape(shape)
            if out is not None:
                out[...] = rows
        elif out is None:
            rows = np.frombuffer(blosc().decode(packed), dtype).reshape(shape)
        else:
            rows = out
            blosc().decode(packed, out)
        return rows

    def encode_chunk(self, rows: NDArray[Any]) -> bytes:
        """Encode a chunk that begins with `rows` and is padded with zeros.

        >>> spec = ArraySpec("int32", (2,))
        >>> spec.decode_chunk(memoryview(spec.encode_chunk(np.ones((1, 2)))))[:2].tolist()
        [[1, 1], [0, 0]]
        """
        dtype = np.dtype(self.dtype).newbyteorder("<")
        whole = np.ascontiguousarray(rows, dtype)
        if len(rows) < self.chunk_rows:
            whole = np.zeros((self.chunk_rows, *self.shape), dtype)
            whole[: len(rows)] = rows
        if self.is_wide:
            return with_checksum(whole)
        return with_checksum(np.frombuffer(blosc().encode(whole), np.uint8).copy())

    def span(self, index: Index) -> tuple[int, int, Callable[[Buffer, int], NDArray[Any]]]:
        """Return the byte range within a row that contains the elements selected by an index.

        Returns
        -------
        start, length : int
            The range.
        view : callable
            Takes the bytes of this range in n rows, concatenated, and the number n. Returns the
            selected elements of all rows, (n, *shape of the selection).

        Examples
        --------
        >>> start, length, view = ArraySpec("int16", (4, 5)).span((1, slice(3, 0, -2)))
        >>> start, length, view(np.array([1, 2, 3], "int16").tobytes(), 1).tolist()
        (12, 6, [[3, 1]])
        """
        # NumPy does the arithmetic: a view of an empty row has the required offset and strides.
        row = np.empty(self.shape, np.dtype(self.dtype).newbyteorder("<"))
        part = np.asarray(row[index if ... in index else (*index, ...)])
        low, high = np.lib.array_utils.byte_bounds(part) if part.size else (row.ctypes.data,) * 2
        length, offset = high - low, part.ctypes.data - low  # offset > 0 where a step is negative

        def view(data: Buffer, count: int) -> NDArray[Any]:
            shape, strides = (count, *part.shape), (length, *part.strides)
            return np.ndarray(shape, row.dtype, data, offset if part.size else 0, strides)

        return low - row.ctypes.data, length, view

    def chunk_key(self, path: str, chunk: int) -> str:
        """Return the key of a chunk in the array at `path`.

        >>> ArraySpec("uint8", (64, 64)).chunk_key("0/c1/data", 7)
        '0/c1/data/c/7/0/0'
        """
        return "/".join([path, "c", str(chunk), *["0"] * len(self.shape)])

    def metadata(self, length: int) -> dict[str, Any]:
        """Return the Zarr metadata of the array with `length` rows."""
        codecs = [CRC32C] if self.is_wide else [blosc_codec(np.dtype(self.dtype).itemsize), CRC32C]
        axes = self.axes or tuple(f"axis_{i}" for i in range(len(self.shape)))
        chunks = (self.chunk_rows, *(max(1, n) for n in self.shape))
        return array_metadata((length, *self.shape), chunks, self.dtype, codecs, ("row", *axes))


def rows_per_chunk(row_bytes: int) -> int:
    """Return the number of rows in one chunk, given the size of a row in bytes.

    >>> rows_per_chunk(8), rows_per_chunk(65_536), rows_per_chunk(10**6)
    (8192, 4, 1)
    """
    return max(1, min(INDEX_ROWS, DENSE_BYTES // row_bytes))


def allocate(shape: tuple[int, ...], dtype: str, path: str) -> NDArray[Any]:
    """Allocate an array for data to be read from `path`.

    Raises
    ------
    TooLargeError
        If there is not enough memory.

    >>> allocate((2, 3), "int8", "0/c1/data").shape
    (2, 3)
    >>> allocate((2**60, 3), "int8", "0/c1/data")
    Traceback (most recent call last):
    deeplake_lite.errors.TooLargeError: Reading 1,152,921,504,606,846,976 entries of 0/c1/data takes
    3,458,764,513,820,540,928 bytes, but there is not enough memory. Read fewer rows at a time.
    """
    try:
        return np.empty(shape, dtype)
    except (MemoryError, ValueError) as error:
        nbytes = prod(shape) * np.dtype(dtype).itemsize
        raise TooLargeError(
            f"Reading {shape[0]:,} entries of {path} takes {nbytes:,} bytes, but there is not "
            "enough memory. Read fewer rows at a time."
        ) from error


def with_checksum(rows: NDArray[Any]) -> bytes:
    """Encode a chunk like Zarr's codecs ``bytes`` and ``crc32c``.

    >>> with_checksum(np.zeros(1, np.uint8)).hex()
    '0051537d52'
    """
    data = np.ascontiguousarray(rows).reshape(-1).view(np.uint8)
    data.flags.writeable = False
    return b"".join((data.data, google_crc32c.value(data).to_bytes(4, "little")))
