"""Reading samples from tar files, as WebDataset defines them.

Adjacent files whose paths are equal up to the first dot of their names form a sample; the rest of
the name is the extension. For example, ``a/1.jpg`` and ``a/1.seg.png`` form the sample ``a/1``.
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
from deeplake_lite.errors import (
    InvalidValueError,
    LakeError,
    NotFoundError,
    OptionError,
    StorageError,
    TooLargeError,
)
from deeplake_lite.htypes.files import scheme_of
from deeplake_lite.ingest.source import Skipped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from deeplake_lite.codecs.limits import Limits

    type Location = str | os.PathLike[str]

MOST_FILES = 1_000_000
"""Maximum number of tar files to which braces may expand."""

READ_BYTES = 2**20

_BRACES = re.compile(r"\{([^{}]*)\}")
_RANGE = re.compile(r"(\d+)\.\.(\d+)")


@dataclass(frozen=True)
class Sample:
    """A sample."""

    key: str
    """Path of its files up to the first dot."""

    files: Mapping[str, bytes]
    """Content of its files by extension."""


def tar_files(tars: Location | Sequence[Location]) -> list[str]:
    """Return the tar files at paths, folders, patterns such as ``{00..99}.tar``, and URLs.

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
    """Return the tar files at a path, folder or pattern. Raises NotFoundError."""
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
    """Expand the braces in a path. Raises InvalidValueError if there are too many paths.

    >>> expand("train-{008..010}.tar")
    ['train-008.tar', 'train-009.tar', 'train-010.tar']
    >>> expand("{train,val}.tar")
    ['train.tar', 'val.tar']
    """
    parts = [_choices(m[1]) for m in _BRACES.finditer(path)]
    count = 1
    for part in parts:
        count *= len(part)
    if count > MOST_FILES:
        raise InvalidValueError(
            f"Braces may expand to at most {MOST_FILES:,} files, but {path!r} expands to "
            f"{count:,}. Use a smaller range."
        )
    template = _BRACES.sub("\0", path).split("\0")
    return [
        "".join(text for pair in zip(template, [*choice, ""], strict=True) for text in pair)
        for choice in product(*parts)
    ]


def _choices(text: str) -> Sequence[str]:
    """Expand the content of braces: a range of numbers, or a list."""
    if (ends := _RANGE.fullmatch(text)) is None:
        return text.split(",") if "," in text else ["{" + text + "}"]
    first, last = int(ends[1]), int(ends[2])
    if last - first > MOST_FILES:
        raise InvalidValueError(
            f"Braces may expand to at most {MOST_FILES:,} files, but '{{{text}}}' expands to "
            f"{last - first + 1:,}. Use a smaller range."
        )
    width = len(ends[1])
    return [f"{number:0{width}}" for number in range(first, last + 1)]


def samples(
    path: str, options: Mapping[str, Any], left_out: dict[str, Skipped], limits: Limits
) -> Iterator[Sample]:
    """Yield the samples of a tar file; add files that belong to no sample to `left_out`.

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
        own = f"{folder}/{stem}" if folder else stem
        if own != key or extension in files:
            if key is not None:
                yield Sample(key, files)
            key, files = own, {}
        files[extension] = data
    if key is not None:
        yield Sample(key, files)


def _members(
    path: str, options: Mapping[str, Any], left_out: dict[str, Skipped], limits: Limits
) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of each file."""
    last_read = list[str]()
    with (
        _translating_errors(path, last_read),
        _open(path, options) as file,
        tarfile.open(fileobj=file, mode="r|", tarinfo=_Member) as tar,
    ):
        for member in tar:
            tar.members = []  # type: ignore[attr-defined]  # would grow with each file
            last = member.name.rpartition("/")[2]
            place = f"{_name(path)}, {member.name}"
            if member.isdir() or last.startswith("."):
                continue
            if not member.isreg() or "." not in last:
                reason = "it has no extension" if member.isreg() else "it is not a regular file"
                left_out[place] = Skipped(place, reason)
                continue
            try:
                limits.check_bytes([member.size], 1)
            except TooLargeError as error:
                raise TooLargeError(f"{place}: {error.args[0]}") from None
            content = tar.extractfile(member)
            data = b"" if content is None else content.read()
            if len(data) != member.size:
                raise tarfile.ReadError("unexpected end of data")
            last_read[:] = [member.name]
            yield member.name, data
        while file.read(READ_BYTES):  # to verify the checksum at the end of a compressed file
            pass


class _Member(tarfile.TarInfo):
    """A header of a tar file; damaged or missing headers are errors, not the end of the file."""

    @classmethod
    def fromtarfile(cls, tarfile_: tarfile.TarFile) -> _Member:
        try:
            return super().fromtarfile(tarfile_)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]  # zeros at the end
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(f"a header is damaged or missing ({error})") from None


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

    return pa.CompressedInputStream(file, "zstd")


_COMPRESSED: dict[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\0": lzma.LZMAFile,
    b"(\xb5/\xfd": _zstd,
}
"""Functions that decompress files, by the first bytes."""


@contextmanager
def _translating_errors(path: str, last_read: Sequence[str]) -> Iterator[None]:
    """Translate errors of tar files and their compression to LakeError.

    The message names the file that was read last, if there is one.
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
