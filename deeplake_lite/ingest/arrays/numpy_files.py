"""Reading arrays from npy and npz files in blocks of rows. Object arrays are never unpickled."""

from __future__ import annotations

import lzma
import math
import os
import shutil
import tempfile
import zipfile
import zlib
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from tokenize import TokenError
from typing import IO, TYPE_CHECKING, Any, Protocol

import numpy as np

from deeplake_lite.errors import InvalidValueError
from deeplake_lite.ingest.arrays.array_source import array_htype, has_nat
from deeplake_lite.ingest.bad_values import RestUnreadableError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from deeplake_lite.htypes import Htype

_UNREADABLE = (
    *(OSError, EOFError, ValueError, SyntaxError, TokenError, TypeError, KeyError, OverflowError),
    *(
        MemoryError,
        RuntimeError,
        NotImplementedError,
        zipfile.BadZipFile,
        zlib.error,
        lzma.LZMAError,
    ),
    *(IndexError, AttributeError, RecursionError),
)
"""Errors that NumPy and zipfile raise for damaged files."""

PIECE = 2**20
"""Number of bytes that are skipped at a time."""

MAX_EMPTY_AXIS = 2**24
"""Maximum size of an axis of an empty array. The size of the file cannot confirm a larger axis."""


class RowArray(Protocol):
    """An array in a file whose rows can be read in blocks."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the array."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return the given rows."""


@dataclass(frozen=True)
class NumpyColumn:
    """A column that holds an array, or a field of a structured array."""

    array: RowArray

    path: tuple[str, ...] = ()
    """Names of the field and of the fields that contain it, outermost first, or () for a whole
    array."""

    def __len__(self) -> int:
        return self.array.shape[0]

    @cached_property
    def _field(self) -> tuple[np.dtype[Any], tuple[int, ...]]:
        """Dtype and shape of a value of the column."""
        dtype, shape = self.array.dtype, self.array.shape[1:]
        for name in self.path:
            assert dtype.fields is not None
            dtype = dtype.fields[name][0]
            dtype, shape = dtype.base, (*shape, *dtype.shape)
        return dtype, shape

    @cached_property
    def htype(self) -> Htype:
        """Type of the values. It is nullable if a time is NaT (not a time)."""
        dtype, shape = self._field
        htype = array_htype(dtype, shape)
        return replace(htype, nullable=True) if dtype.kind in "mM" and has_nat(self) else htype

    @property
    def row_bytes(self) -> int:
        """Size in bytes of a row with all fields of the array, which are read together."""
        return math.prod(self.array.shape[1:]) * self.array.dtype.itemsize

    def read(self, start: int, stop: int) -> Any:
        """Return the values of the given rows."""
        values = self.array.read(start, stop)
        for name in self.path:
            values = values[name]
        return values.tolist() if values.dtype.kind in "US" and values.ndim > 1 else values


def columns_in(array: RowArray, name: str, *, prefix: bool = True) -> dict[str, NumpyColumn]:
    """Return a column for an array, or columns for the fields of a structured array.

    Parameters
    ----------
    array : RowArray
        The array.
    name : str
        Name of the column.
    prefix : bool
        Whether the names of fields begin with `name`.
    """
    paths = list(_leaves(array.dtype, ()))
    if paths == [()]:
        return {name: NumpyColumn(array)}
    named = {".".join((name, *path) if prefix else path): path for path in paths}
    if len(named) < len(paths):
        (twice, _), *_ = Counter(".".join(path) for path in paths).most_common(1)
        raise InvalidValueError(
            f"Names of fields must be unique after joining nested names with dots, but {name!r} "
            f"has two fields {twice!r}. Rename one of them."
        )
    return {column: NumpyColumn(array, path) for column, path in named.items()}


def _leaves(dtype: np.dtype[Any], path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the path of each field that is not itself structured, as a tuple of names."""
    if dtype.names is None:
        yield path
        return
    for name in dtype.names:
        assert dtype.fields is not None
        yield from _leaves(dtype.fields[name][0].base, (*path, name))


@contextmanager
def reading(title: str) -> Iterator[None]:
    """Turn errors of NumPy and zipfile in the ``with`` block into InvalidValueError."""
    try:
        yield
    except InvalidValueError:
        raise
    except _UNREADABLE as error:
        reason = str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
        raise InvalidValueError(f"{title!r} cannot be read: {reason}. Check the file.") from error


@contextmanager
def reading_stream(title: str, row: int) -> Iterator[None]:
    """Turn errors of reading a stream at row `row` into RestUnreadableError.

    After this error, no later row of the stream can be read either.
    """
    try:
        with reading(title):
            yield
    except InvalidValueError as error:
        reason = f"{title}, from row {row} on: {error.args[0]}"
        raise RestUnreadableError(reason) from error.__cause__


@dataclass(frozen=True)
class NpyFile:
    """An npy file that is mapped into memory."""

    file: str
    title: str

    @cached_property
    def _array(self) -> NDArray[Any]:
        with reading(self.title):
            with open(self.file, "rb") as stream:
                dtype, shape, _, offset = _header(stream, self.title)
            claim = math.prod(shape) * dtype.itemsize
            if not claim:
                return np.zeros(shape, dtype)
            if claim > os.path.getsize(self.file) - offset:
                raise ValueError(
                    f"it must have {claim:,} bytes for shape {shape}, but it has fewer"
                )
            array = np.load(self.file, mmap_mode="r", allow_pickle=False)
        assert isinstance(array, np.ndarray)
        return array

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the array."""
        return self._array.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return self._array.shape

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return a copy of the given rows."""
        return np.array(self._array[start:stop])


@dataclass
class NpzMember:
    """An array in an npz file, which is decompressed while it is read."""

    file: str
    """Path of the npz file."""

    name: str
    """Name of the array's file within the npz file."""

    title: str
    """Name of the array in messages."""

    _stream: IO[bytes] | None = None
    _at: int = 0
    _last: tuple[int, int, NDArray[Any]] | None = None
    _keep: list[Any] = field(default_factory=list)

    @cached_property
    def _head(self) -> tuple[np.dtype[Any], tuple[int, ...], bool, int]:
        with (
            reading(self.title),
            zipfile.ZipFile(self.file) as archive,
            archive.open(self.name) as s,
        ):
            dtype, shape, fortran, offset = _header(s, self.title)
            size, claim = archive.getinfo(self.name).file_size, math.prod(shape) * dtype.itemsize
            if claim != size - offset:
                raise InvalidValueError(
                    f"{self.title!r} must have {claim:,} bytes for an array of shape {shape}, but "
                    f"it has {size - offset:,}. Check the file."
                )
            return dtype, shape, fortran, offset

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the array."""
        return self._head[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return self._head[1]

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return the given rows. This is fast if they follow the rows that were read last."""
        if self._last is None or self._last[:2] != (start, stop):
            with reading_stream(self.title, start):
                read = self._read_mapped if self._is_mapped else self._read_stream
                self._last = start, stop, read(start, stop)
        return self._last[2]

    @property
    def _is_mapped(self) -> bool:
        """Whether a decompressed copy is mapped into memory.

        This is necessary in Fortran order, in which the values of a row are scattered.
        """
        return self._head[2] and len(self.shape) > 1

    @cached_property
    def _mapped(self) -> NDArray[Any]:
        """The array, decompressed into a temporary file."""
        dtype, shape, _, offset = self._head
        with (
            tempfile.TemporaryFile() as copy,  # the mapping stays valid after it is closed
            zipfile.ZipFile(self.file) as archive,
            archive.open(self.name) as member,
        ):
            shutil.copyfileobj(member, copy, PIECE)
            copy.flush()
            return np.memmap(copy, dtype, "r", offset, shape, "F")

    def _read_mapped(self, start: int, stop: int) -> NDArray[Any]:
        return np.array(self._mapped[start:stop])

    def _read_stream(self, start: int, stop: int) -> NDArray[Any]:
        dtype, shape, _, offset = self._head
        size = math.prod(shape[1:]) * dtype.itemsize
        first, count = offset + start * size, (stop - start) * size
        if self._stream is None or self._at > first:
            archive = zipfile.ZipFile(self.file)
            try:
                self._stream, self._at, self._keep = archive.open(self.name), 0, [archive]
            except BaseException:
                archive.close()
                raise
        while self._at < first:
            self._at += len(read_exactly(self._stream, min(PIECE, first - self._at)))
        data = read_exactly(self._stream, count)
        self._at += count
        if stop == shape[0]:
            self._stream.read(1)  # at the end, zipfile verifies the checksum
        return np.frombuffer(data, dtype).reshape(stop - start, *shape[1:])


def read_exactly(stream: IO[bytes], count: int) -> bytes:
    """Read `count` bytes from a stream. Raises EOFError if the stream has fewer bytes."""
    data = stream.read(count)
    if len(data) < count:
        raise EOFError("it ends too early")
    return data


def _header(stream: IO[bytes], title: str) -> tuple[np.dtype[Any], tuple[int, ...], bool, int]:
    """Read the header of an npy file.

    Returns
    -------
    (dtype, shape, whether in Fortran order, size of the header in bytes)
    """
    version = np.lib.format.read_magic(stream)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
        (3, 0): np.lib.format.read_array_header_2_0,  # reads UTF-8 names as Latin-1
    }.get(version)
    if read is None:
        raise ValueError(f"npy version {version} is unknown")
    shape, fortran, dtype = read(stream)
    if version == (3, 0):
        dtype = _decode_names(dtype)
    if dtype.hasobject:
        raise InvalidValueError(
            f"{title!r} must not contain Python objects, because reading them could run arbitrary "
            f"code, but its dtype is {dtype}. Save the array with another dtype."
        )
    if min(shape, default=0) < 0 or (0 in shape and max(shape) > MAX_EMPTY_AXIS):
        raise ValueError(f"its header has the impossible shape {shape}")
    return dtype, shape, fortran, stream.tell()


def _decode_names(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Correct the names of a structured dtype that were read as Latin-1 instead of UTF-8."""
    if dtype.names is None or dtype.fields is None:
        return dtype
    fields = [dtype.fields[name] for name in dtype.names]
    return np.dtype(
        {
            "names": [name.encode("latin1").decode("utf-8") for name in dtype.names],
            "formats": [_decode_names(f[0]) for f in fields],
            "offsets": [f[1] for f in fields],
            "itemsize": dtype.itemsize,
        }
    )


def npz_members(path: Path) -> tuple[dict[str, NpzMember], list[str]]:
    """Return a dict from names to arrays of an npz file, and the names of other files in it."""
    with reading(str(path)), zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    arrays = [name for name in names if name.endswith(".npy")]
    if len(set(arrays)) < len(arrays):
        raise InvalidValueError(
            f"{path.name!r} must not have two arrays with the same name. Check the file."
        )
    members = {n[:-4]: NpzMember(str(path), n, f"{path.name}, {n[:-4]}") for n in arrays}
    rest = [name for name in names if not name.endswith((".npy", "/"))]
    return members, rest


def item_of(member: NpzMember) -> Any:
    """Return the only value of an array without axes."""
    with (
        reading(member.title),
        zipfile.ZipFile(member.file) as archive,
        archive.open(member.name) as stream,
    ):
        dtype, *_ = _header(stream, member.title)
        return np.frombuffer(read_exactly(stream, dtype.itemsize), dtype)[0]
