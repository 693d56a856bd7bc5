"""Reading samples from tar files, according to WebDataset's definition of a sample.

Adjacent files whose paths are equal up to the first dot of their names form a sample. The rest of
the name is the extension, in lower case. For example, ``a/1.jpg`` and ``a/1.Seg.PNG`` form the
sample ``a/1``, which has files with the extensions ``jpg`` and ``seg.png``.
"""

from __future__ import annotations

import bz2
import glob
import gzip
import io
import lzma
import os
import re
import tarfile
import zlib
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fsspec

from deeplake_lite import checks
from deeplake_lite.brief import brief
from deeplake_lite.dataset.export.shards.webdataset import RESERVED
from deeplake_lite.errors import (
    InvalidValueError,
    LakeError,
    NotFoundError,
    OptionError,
    StorageError,
    TooLargeError,
)
from deeplake_lite.htypes.files import scheme_of
from deeplake_lite.ingest.shards.tar_stream import Stream
from deeplake_lite.ingest.source import Skipped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from deeplake_lite.codecs.limits import Limits

    type Location = str | os.PathLike[str]

MAX_FILES = 1_000_000
"""Maximum number of paths that braces in a path may expand to."""

READ_BYTES = 2**20

_BRACES = re.compile(r"\{([^{}]*)\}")
_RANGE = re.compile(r"(\d+)\.\.(\d+)")


@dataclass(frozen=True)
class Sample:
    """A sample of a WebDataset."""

    key: str
    """Path of the sample's files up to the first dot of their names."""

    files: Mapping[str, bytes]
    """Maps extensions, in lower case, to the contents of the sample's files."""


def tar_files(tars: Location | Sequence[Location]) -> list[str]:
    """Return the tar files that paths, URLs, folders and patterns stand for.

    Patterns may contain ``*`` and ranges such as ``{00..99}``.

    Raises
    ------
    OptionError
        If `tars` is neither a location nor a list.
    NotFoundError
        If a path or pattern matches nothing.
    """
    given = [tars] if isinstance(tars, str | os.PathLike) else tars
    if not isinstance(given, list | tuple):
        raise OptionError(
            "tars must be a path, a pattern or a URL, or a list of these, but it is "
            f"{brief(tars, 80)}."
        )
    files: list[str] = []
    for location in given:
        for path in expand(checks.location("tars", location)):
            files += [path] if scheme_of(path) is not None else _local(path)
    if not files:
        raise NotFoundError("tars must name at least one file, but the list is empty. Pass a path.")
    return files


def _local(path: str) -> list[str]:
    """Return the local tar files that a path, folder or pattern stands for.

    Raises NotFoundError if there are none.
    """
    here = os.path.expanduser(path)
    if os.path.isdir(here):
        files = sorted(glob.glob(os.path.join(glob.escape(here), "*.tar*")))
    else:
        files = [here] if os.path.isfile(here) else sorted(glob.glob(here))
    if not files:
        where = f"{path!r} (working directory: {Path.cwd()})"
        raise NotFoundError(f"There is no tar file at {where}. Check the path.")
    return files


def expand(path: str) -> list[str]:
    """Return all paths to which the braces in a path expand, up to `MAX_FILES`.

    Raises InvalidValueError if there are more.

    >>> expand("train-{008..010}.tar")
    ['train-008.tar', 'train-009.tar', 'train-010.tar']
    >>> expand("{train,val}.tar")
    ['train.tar', 'val.tar']
    """
    parts = [_choices(m[1]) for m in _BRACES.finditer(path)]
    count = 1
    for part in parts:
        count *= len(part)
    if count > MAX_FILES:
        raise InvalidValueError(
            f"Braces may expand to at most {MAX_FILES:,} files, but {path!r} expands to "
            f"{count:,}. Use a smaller range."
        )
    template = _BRACES.sub("\0", path).split("\0")
    return [
        "".join(text for pair in zip(template, [*choice, ""], strict=True) for text in pair)
        for choice in product(*parts)
    ]


def _choices(text: str) -> Sequence[str]:
    """Return the texts to which braces with the given content, a range or a list, expand."""
    if (ends := _RANGE.fullmatch(text)) is None:
        return text.split(",") if "," in text else ["{" + text + "}"]
    first, last = int(ends[1]), int(ends[2])
    if last - first > MAX_FILES:
        raise InvalidValueError(
            f"Braces may expand to at most {MAX_FILES:,} files, but '{{{text}}}' expands to "
            f"{last - first + 1:,}. Use a smaller range."
        )
    width = len(ends[1])
    return [f"{number:0{width}}" for number in range(first, last + 1)]


def samples(
    path: str, options: Mapping[str, Any], left_out: dict[str, Skipped], limits: Limits
) -> Iterator[Sample]:
    """Yield the samples of a tar file, and add files that belong to no sample to `left_out`.

    Raises
    ------
    InvalidValueError
        If the file is not a tar file, or is truncated.
    TooLargeError
        If a file in the tar file exceeds the limits.
    StorageError
        If the file cannot be opened.
    """
    key, files = None, dict[str, bytes]()
    for name, data in _members(path, options, left_out, limits):
        folder, _, last = name.rpartition("/")
        stem, _, extension = last.partition(".")
        extension = extension.lower()
        sample_key = f"{folder}/{stem}" if folder else stem
        if sample_key != key or extension in files:
            if key is not None:
                yield Sample(key, files)
            key, files = sample_key, {}
        files[extension] = data
    if key is not None:
        yield Sample(key, files)


def _members(
    path: str, options: Mapping[str, Any], left_out: dict[str, Skipped], limits: Limits
) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of each file that belongs to a sample."""
    last_read = list[str]()
    with (
        _translating_errors(path, last_read),
        _open(path, options) as file,
        tarfile.TarFile(fileobj=(stream := Stream(file)), tarinfo=_Member) as tar,
    ):
        for name, data in _chosen_files(tar, stream, _name(path), left_out, limits):
            last_read[:] = [name]
            yield name, data
        rest = False
        while data := stream.read(READ_BYTES):  # also verifies the checksum of a compressed file
            rest = rest or data.count(0) < len(data)
        if rest:
            place = f"{_name(path)}, after its end"
            left_out[place] = Skipped(
                place, "it follows the end of the archive; join tar files with `tar -A`"
            )


def _chosen_files(
    tar: tarfile.TarFile, stream: Stream, title: str, left_out: dict[str, Skipped], limits: Limits
) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of each file that belongs to a sample.

    `title` is the name of the tar file.
    """

    def is_chosen(name: str, is_regular: bool = True) -> bool:
        """Return whether a file belongs to a sample. List it if not, unless it is hidden."""
        last = name.rpartition("/")[2]
        if last.startswith("."):
            return False
        if (reason := _unfit(name, last, is_regular)) is not None:
            place = f"{title}, {name}"
            left_out[place] = Skipped(place, reason)
        return reason is None

    while (member := tar.next()) is not None:
        tar.members = []  # type: ignore[attr-defined]  # would grow with each file
        if not member.isdir() and is_chosen(member.name, member.isreg()):
            yield member.name, _content(tar, stream, member, title, limits)
        if tar.pax_headers or stream.seek(tar.offset) < tar.offset:
            continue  # only tarfile applies global headers, and notices the end of the file
        for raw, data in stream.plain_files():
            if is_chosen(name := raw.decode(tar.encoding or "utf-8", tar.errors or "strict")):
                _check_size(name, len(data), title, limits)
                yield name, data
        tar.offset = stream.tell()


def _unfit(name: str, last: str, is_regular: bool) -> str | None:
    """Return the reason why a file belongs to no sample, or None if it does.

    `last` is the last part of its name.
    """
    if not is_regular:
        return "it is not a regular file"
    if RESERVED.match(name):
        return "WebDataset reserves names like '__name__' for metadata"
    return None if "." in last else "it has no extension"


def _content(
    tar: tarfile.TarFile, stream: Stream, member: tarfile.TarInfo, title: str, limits: Limits
) -> bytes:
    """Read a file whose header tarfile has read."""
    if member.size < 0:
        raise tarfile.ReadError(f"the size of {member.name!r} is negative")
    _check_size(member.name, member.size, title, limits)
    sparse = tar.extractfile(member) if member.issparse() else None
    data = stream.read(member.size) if sparse is None else sparse.read()
    if len(data) != member.size:
        raise tarfile.ReadError("unexpected end of data")
    return data


def _check_size(name: str, size: int, title: str, limits: Limits) -> None:
    try:
        limits.check_bytes([size], 1)
    except TooLargeError as error:
        raise TooLargeError(f"{title}, {name}: {error.args[0]}") from None


class _Member(tarfile.TarInfo):
    """A header in a tar file. A damaged or missing header is an error, not the end of the file."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _Member:
        """Parse a header. Usual headers take a fifth of tarfile's time, as owners are skipped."""
        if buf[156:157] in _USUAL and len(buf) == tarfile.BLOCKSIZE and buf[257:262] == b"ustar":
            size, checksum = buf[124:136].rstrip(b" \0"), buf[148:156].rstrip(b" \0")
            if size.isdigit() and checksum.isdigit():
                total = sum(buf) - sum(buf[148:156]) + 8 * ord(" ")
                if total == int(checksum, 8):
                    member = cls(_text(buf[:100], encoding, errors))
                    member.type, member.size = bytes(buf[156:157]), int(size, 8)
                    if buf[345]:
                        member.name = f"{_text(buf[345:500], encoding, errors)}/{member.name}"
                    return member
        return super().frombuf(buf, encoding, errors)

    @classmethod
    def fromtarfile(cls, tarfile_: tarfile.TarFile) -> _Member:
        try:
            return super().fromtarfile(tarfile_)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]  # zeros at the end
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(f"a header is damaged or missing ({error})") from None
        except RecursionError:
            raise tarfile.ReadError("too many headers precede a file") from None


_USUAL = (tarfile.REGTYPE, tarfile.XHDTYPE)
"""Types of headers that are parsed faster: regular files, and extended headers with long names."""


def _text(field: bytes | bytearray, encoding: str, errors: str) -> str:
    """Decode a field of a header up to its first null byte."""
    return field.partition(b"\0")[0].decode(encoding, errors)


@contextmanager
def _open(path: str, options: Mapping[str, Any]) -> Iterator[Any]:
    """Open a tar file on this machine or at a URL, and decompress it."""
    with ExitStack() as stack:
        if scheme_of(path) is None:
            file: Any = stack.enter_context(open(path, "rb"))
        else:
            remote = stack.enter_context(fsspec.open(path, "rb", **options))
            file = stack.enter_context(io.BufferedReader(remote))
        start = file.peek(6)
        # tarfile can decompress files itself, but it does not verify checksums.
        openers = [opener for magic, opener in _COMPRESSED.items() if start.startswith(magic)]
        yield stack.enter_context(openers[0](file)) if openers else file


def _zstd(file: Any) -> Any:
    import pyarrow as pa

    # Reads as many bytes as are requested, unlike the stream itself.
    return io.BufferedReader(pa.CompressedInputStream(file, "zstd"))


_COMPRESSED: dict[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\0": lzma.LZMAFile,
    b"(\xb5/\xfd": _zstd,
}
"""Maps the first bytes of each compressed format to a function that decompresses a file."""


@contextmanager
def _translating_errors(path: str, last_read: Sequence[str]) -> Iterator[None]:
    """Turn errors of tarfile and of decompression into InvalidValueError or StorageError.

    The message names the last file that was read from the tar file, if there is one.
    """
    try:
        yield
    except LakeError:
        raise
    except (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, ValueError) as error:
        raise _damaged(path, last_read, error) from None
    except (OSError, ImportError) as error:
        if isinstance(error, OSError) and error.errno is None and scheme_of(path) is None:
            raise _damaged(path, last_read, error) from None  # from gzip, bz2 and Zstandard
        raise StorageError(
            f"{path!r} cannot be read: {error}. Check the path and storage_options."
        ) from error


def _damaged(path: str, last_read: Sequence[str], error: Exception) -> InvalidValueError:
    after = f" after {last_read[0]!r}" if last_read else ""
    return InvalidValueError(
        f"{_name(path)!r} must be a complete tar file, but it cannot be read{after}: {error}. "
        "Check the file."
    )


def _name(path: str) -> str:
    return path.rpartition("/")[2]
