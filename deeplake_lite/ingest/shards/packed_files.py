"""Opening shards, which may be compressed, as seekable files."""

from __future__ import annotations

import bz2
import gzip
import io
import tempfile
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa

from deeplake_lite.brief import alternatives
from deeplake_lite.dataset.export.shards.hashing import file_hash
from deeplake_lite.errors import InvalidValueError, StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

PIECE = 2**20
"""Number of bytes that are decompressed at a time."""

CODECS = ("zstd", "gz", "bz2", "br", "snappy")

MAX_BYTES = 2**32
"""Maximum size of an uncompressed shard in bytes."""

MAX_RATIO = 64
"""Maximum compression ratio that is accepted for Snappy."""

_ERRORS = (pa.ArrowException, OSError, EOFError, zlib.error, ValueError)


@contextmanager
def open_shard(
    path: Path, codec: str | None, size: int | None, hashes: Mapping[str, str]
) -> Iterator[BinaryIO]:
    """Open a file. If it is compressed, open a temporary file with its decompressed content.

    Parameters
    ----------
    path : Path
        The file.
    codec : str, optional
        Name of the compression, or None if the file is not compressed.
    size : int, optional
        Size of the uncompressed file in bytes, or None if the size is unknown.
    hashes : mapping
        Maps names of hash algorithms to hashes of the file. Unknown algorithms are ignored.

    Raises
    ------
    InvalidValueError
        If the size or hash of the file differs, or if the file cannot be decompressed.
    StorageError
        If the file cannot be read.
    """
    for name, expected in hashes.items():
        if (actual := file_hash(path, name)) is not None and actual != expected:
            raise InvalidValueError(
                f"The {name} hash of {str(path)!r} must be {expected!r:.80} according to its "
                f"index, but it is {actual!r}. Fetch the file again."
            )
    try:
        file = path.open("rb")
    except OSError as error:
        raise StorageError(f"{str(path)!r} cannot be read: {error}. Check the path.") from error
    with file:
        if codec is None:
            if size is not None and path.stat().st_size != size:
                raise _wrong_size(path, size)
            yield file
            return
        with tempfile.TemporaryFile() as whole:
            _decompress_file(path, file, codec, size, whole)
            yield whole


def _wrong_size(path: Path, size: int) -> InvalidValueError:
    return InvalidValueError(
        f"{str(path)!r} must have {size:,} bytes without compression according to its index, but "
        "its size differs. Fetch the file again."
    )


def _decompress_file(path: Path, file: BinaryIO, codec: str, size: int | None, whole: Any) -> None:
    """Decompress `file` to the file `whole`. Raises InvalidValueError if this fails."""
    if codec not in CODECS:
        raise InvalidValueError(
            f"The compression of {str(path)!r} must be {alternatives(CODECS)}, but it is "
            f"{codec!r:.80}. Decompress the files first."
        )
    count, most = 0, MAX_BYTES if size is None else size
    try:
        for piece in _pieces(file, codec, most):
            count += len(piece)
            if count > most:
                raise _wrong_size(path, most)
            whole.write(piece)
    except InvalidValueError:
        raise
    except _ERRORS as error:
        raise InvalidValueError(
            f"{str(path)!r} must be a complete {codec} file, but it cannot be decompressed: "
            f"{str(error).rstrip('.')}. Fetch the file again."
        ) from None
    if size is not None and count != size:
        raise _wrong_size(path, size)
    whole.seek(0)


def decompress(data: memoryview, codec: str, most: int) -> bytes:
    """Return the decompressed data, which may have at most `most` bytes.

    Raises ValueError if this fails.
    """
    parts, count = [], 0
    try:
        for piece in _pieces(io.BytesIO(data), codec, most):
            parts.append(piece)
            count += len(piece)
            if count > most:
                break
    except _ERRORS as error:
        raise ValueError(str(error).rstrip(".")) from None
    if count > most:
        raise ValueError("it is longer than expected")
    return b"".join(parts)


def _pieces(file: BinaryIO, codec: str, size: int) -> Iterator[bytes]:
    if codec == "snappy":
        data = file.read()
        if size > MAX_RATIO * len(data):
            raise ValueError("it is shorter than expected")
        yield pa.Codec("snappy").decompress(data, size, asbytes=True)
        return
    if codec in ("gz", "bz2"):
        stream: Any = gzip.GzipFile(fileobj=file) if codec == "gz" else bz2.BZ2File(file)
    else:
        stream = pa.CompressedInputStream(pa.PythonFile(file, "r"), _ARROW_NAMES[codec])
    while piece := stream.read(PIECE):
        yield piece


_ARROW_NAMES = {"zstd": "zstd", "br": "brotli"}
