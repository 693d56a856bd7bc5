"""Finding the files of a source, and fingerprints of their state."""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import TYPE_CHECKING

import xxhash

from deeplake_lite import checks
from deeplake_lite.errors import InvalidValueError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Sequence


SAMPLED_FILES = 64
"""Number of files in the fingerprint of a folder, by which it is recognised after files have been
added or removed."""


def find_files(path: str | os.PathLike[str], *suffixes: str) -> list[str]:
    """Return the files of a path, a folder or a pattern, sorted.

    In a folder, they are those with one of the suffixes, which are patterns, in any case.

    Raises
    ------
    NotFoundError
        If there are none.
    InvalidValueError
        For a pipe or device, reading which might never end.
    """
    here = Path(checks.location("path", path)).expanduser()
    if here.is_dir():
        found = {
            str(p)
            for suffix in suffixes
            for p in here.rglob(f"*{suffix}", case_sensitive=False)
            if p.is_file()
        }
        files = sorted(found)
    elif here.exists():
        if not here.is_file():
            raise InvalidValueError(
                f"{str(path)!r} must be a regular file, but it is a pipe or a device. Copy it to a "
                "file."
            )
        files = [str(here)]
    else:
        files = sorted(filter(os.path.isfile, glob.glob(str(here), recursive=True)))
    if not files:
        raise NotFoundError(
            f"There is no {' or '.join(suffixes)} file at {str(path)!r}. Check the path."
        )
    return files


def folder_of(files: Sequence[str]) -> str:
    """Return the deepest folder that contains all files.

    >>> folder_of(["/data/a/1.parquet", "/data/b/2.parquet"])
    '/data'
    """
    return os.path.commonpath([os.path.dirname(os.path.abspath(file)) for file in files])


def fingerprint(path: str | os.PathLike[str], files: Sequence[str]) -> str:
    """Return a string that identifies files and their state.

    The part before the dash identifies the files, regardless of their content: the digest of the
    given path and of the path of each file, joined by dots. For many files, only the smallest
    digests are used, so that similar sets of files share some of them. The part after the dash is a
    digest of all paths, sizes and times.
    """
    stats = [(str(Path(f).resolve()), Path(f).stat()) for f in files]
    text = "\n".join(f"{path} {s.st_size} {s.st_mtime_ns}" for path, s in stats)
    least = sorted(map(_digest, {path for path, _ in stats}))[:SAMPLED_FILES]
    return f"{'.'.join([_digest(str(Path(path).expanduser().absolute())), *least])}-{_digest(text)}"


def fingerprint_of(names: Sequence[str], state: object) -> str:
    """Return a fingerprint, as of files, for a source that has a name and a state.

    >>> a, b = fingerprint_of(["s3://a"], 1), fingerprint_of(["s3://a"], 2)
    >>> are_same_files(a, b), are_same_state(a, b)
    (True, False)
    """
    return f"{'.'.join(map(_digest, names))}-{_digest(repr((*names, state)))}"


def _digest(text: str) -> str:
    return xxhash.xxh3_64_hexdigest(text.encode(errors="surrogatepass"))


def are_same_files(a: str, b: str) -> bool:
    """Return whether two fingerprints share a file, or were made from the same path.

    >>> are_same_files("f1.a1-00", "f1.a2.a3-11"), are_same_files("f1.a1-00", "f2.a2-00")
    (True, False)
    """
    first, second = ({*text.partition("-")[0].split(".")} for text in (a, b))
    return not first.isdisjoint(second)


def are_same_state(a: str | None, b: str | None) -> bool:
    """Return whether two fingerprints describe the same files in the same state, or both are None.

    >>> are_same_state("f1.a1-00", "f2.a1-00"), are_same_state("f1.a1-00", "f1.a1-11")
    (True, False)
    """
    if a is None or b is None:
        return a is b
    return a.rpartition("-")[2] == b.rpartition("-")[2]
