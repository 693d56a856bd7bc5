"""Finding and opening TFRecord and ArrayRecord files, on this machine or at URLs."""

from __future__ import annotations

import glob
import os
import re
from contextlib import contextmanager
from dataclasses import dataclass
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
)
from deeplake_lite.htypes.files import scheme_of
from deeplake_lite.ingest.complete import check_complete
from deeplake_lite.ingest.shards.tar_samples import expand

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deeplake_lite.ingest.shards.tar_samples import Location

MAX_BYTES = 2**31
"""Maximum size of a record in bytes, which is the maximum size of a cell."""

FORBIDDEN = 403
"""HTTP status for a file that the user may not read."""

_SHARD = r"-\d{5,}-of-\d{5,}(\..*)?$"
"""Pattern of the end of the name of a numbered file, such as ``-00003-of-00010``."""


@dataclass(frozen=True)
class Kind:
    """A file format that stores records."""

    name: str
    """Name of the format in messages."""

    pattern: re.Pattern[str]
    """Pattern by which files in this format are found in a folder."""


TFRECORD = Kind(
    "TFRecord", re.compile(rf"\.tfrec(ord)?s?(\W|$)|\.records?$|^[^.]*{_SHARD}", re.IGNORECASE)
)
ARRAY_RECORD = Kind("ArrayRecord", re.compile(rf"\.array_?record(\W|$)|\.ar$|^[^.]*{_SHARD}"))


@dataclass(frozen=True)
class Record:
    """A record of a file."""

    data: bytes
    """Content of the record, or no bytes if the record cannot be read."""

    place: str
    """Name of the file, and number and position of the record, for messages, such as
    ``"train.tfrecord, record 7 (byte 4,310)"``."""

    error: str | None = None
    """Error message, or None if the content is intact."""


def record_files(files: Location | Sequence[Location], kind: Kind) -> list[str]:
    """Return the files that paths, URLs, folders and patterns stand for.

    Patterns may contain ``*`` and ranges such as ``{000..010}``.

    Raises
    ------
    OptionError
        If `files` is neither a location nor a list.
    NotFoundError
        If a path or pattern matches nothing.
    """
    given = [files] if isinstance(files, str | os.PathLike) else files
    if not isinstance(given, list | tuple):
        raise OptionError(
            "files must be a path, a pattern or a URL, or a list of these, but it is "
            f"{brief(files, 80)}."
        )
    paths: list[str] = []
    for location in given:
        for path in expand(checks.location("files", location)):
            paths += [path] if scheme_of(path) is not None else _local(path, kind)
    if not paths:
        raise NotFoundError(
            f"files must name at least one {kind.name} file, but the list is empty. Pass a path."
        )
    return paths


def _local(path: str, kind: Kind) -> list[str]:
    """Return the local files that a path, folder or pattern stands for.

    Raises NotFoundError if there are none, and InvalidValueError if they are incomplete.
    """
    here = os.path.expanduser(path)
    if os.path.isdir(here):
        files = sorted(
            str(p) for p in Path(here).iterdir() if p.is_file() and kind.pattern.search(p.name)
        )
    elif os.path.isfile(here):
        files = [here]
    elif os.path.exists(here):
        raise InvalidValueError(
            f"{path!r} must be a regular file, but it is a pipe or a device. Copy its content to a "
            "file."
        )
    else:
        files = sorted(filter(os.path.isfile, glob.glob(here, recursive=True)))
    if not os.path.isfile(here):
        check_complete(files)
    if not files:
        where = f"{path!r} (working directory: {Path.cwd()})"
        raise NotFoundError(f"There is no {kind.name} file at {where}. Check the path.")
    return files


def name_of(path: str) -> str:
    """Return the name of a file, for messages.

    >>> name_of("s3://bucket/train.tfrecord")
    'train.tfrecord'
    """
    return path.rpartition("/")[2]


@contextmanager
def open_file(path: str, options: Mapping[str, Any]) -> Iterator[Any]:
    """Open a file on this machine or at a URL. Raises StorageError if this fails."""
    try:
        if scheme_of(path) is None:
            with open(path, "rb", buffering=2**20) as file:
                yield file
            return
        with fsspec.open(path, "rb", **options) as file:
            yield file
    except LakeError:
        raise
    except Exception as error:  # each store has its own types of errors: aiohttp's, botocore's …
        raise StorageError(
            f"{path!r} cannot be read: {error}. Check the path and storage_options."
        ) from error


def read_neighbour(path: str, name: str, options: Mapping[str, Any], most: int) -> bytes | None:
    """Read the file `name` in the folder of the file `path`. Return None if it does not exist.

    Parameters
    ----------
    path : str
        Path or URL of a file in the same folder.
    name : str
        Name of the file to read.
    options : mapping
        Options of the object store.
    most : int
        Maximum size of the file in bytes.

    Raises
    ------
    InvalidValueError
        If the file is larger than `most` bytes.
    StorageError
        If the file cannot be read.
    """
    folder, slash, _ = path.rpartition("/")
    neighbour = f"{folder}{slash}{name}"
    if scheme_of(path) is None and not os.path.isfile(neighbour):
        return None
    try:
        with open_file(neighbour, options) as file:
            data: bytes = file.read(most + 1)
    except StorageError as error:
        # If the user may not list files, stores answer "forbidden" to requests for missing files.
        is_missing = isinstance(error.__cause__, FileNotFoundError | PermissionError)
        if is_missing or getattr(error.__cause__, "status", None) == FORBIDDEN:
            return None
        raise
    if len(data) > most:
        raise InvalidValueError(
            f"{neighbour!r} may be at most {most:,} bytes, but it is larger. Check the file."
        )
    return data
