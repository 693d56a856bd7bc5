"""Finding the files of a source, and computing fingerprints of the files.

A fingerprint is a string by which a later import notices whether the files have changed.
"""

from __future__ import annotations

import glob
import os
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import xxhash

from deeplake_lite import checks
from deeplake_lite.errors import InvalidValueError, NotFoundError
from deeplake_lite.ingest.complete import check_complete

if TYPE_CHECKING:
    from collections.abc import Sequence

type Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""A file, a folder, a pattern, or a list of files, folders and patterns."""

SAMPLED_FILES = 64
"""Maximum number of files whose paths a fingerprint includes. They identify the source even if
other files have been added or removed."""


def find_files(path: Paths, suffix: str, *suffixes: str) -> list[str]:
    """Return the sorted paths of the files that a path, folder or pattern stands for.

    If `path` is a list, the files of all its items are returned.

    In folders, suffixes may be in upper or lower case. Files and subfolders whose name begins with
    "." or "_" are ignored, because tools use such names for their own data: ``_SUCCESS``,
    ``.ipynb_checkpoints``.

    Raises
    ------
    NotFoundError
        If there are no files.
    InvalidValueError
        If a path is a pipe or device, because reading it might never end.
    """
    if isinstance(path, list | tuple) and path:
        return [file for item in path for file in find_files(item, suffix, *suffixes)]
    here = Path(checks.location("path", path)).expanduser()
    if here.is_dir():
        patterns = [f"*{end.lower()}" for end in (suffix, *suffixes)]
        files = sorted(
            str(p)
            for p in here.rglob("*")
            if any(fnmatchcase(p.name.lower(), pattern) for pattern in patterns)
            and not any(part.startswith((".", "_")) for part in p.relative_to(here).parts)
            and p.is_file()
        )
    elif here.exists():
        if not here.is_file():
            raise InvalidValueError(
                f"{str(path)!r} must be a regular file, but it is a pipe or device. Copy its "
                "content to a file."
            )
        files = [str(here)]
    else:
        files = sorted(filter(os.path.isfile, glob.glob(str(here), recursive=True)))
    if not files:
        kinds = _either([end for end in (suffix, *suffixes) if end])
        raise NotFoundError(f"There is no {kinds}file at {str(path)!r}. Check the path.")
    return files


def _either(suffixes: Sequence[str]) -> str:
    """Return suffixes as a part of a sentence, followed by a blank, or "" if there are none.

    >>> _either([".parquet", ".parq", ".pq"]), _either([])
    ('.parquet, .parq or .pq ', '')
    """
    *first, last = suffixes or [""]
    return f"{', '.join(first)} or {last} " if first else f"{last} ".lstrip()


def find_all_files(path: Paths, suffix: str, *suffixes: str) -> list[str]:
    """Return the files that `find_files` finds, unless files of a numbered set are missing.

    Raises
    ------
    NotFoundError, InvalidValueError
        As for `find_files`. InvalidValueError is also raised if a folder or pattern has only some
        files of a numbered set.
    """
    files = find_files(path, suffix, *suffixes)
    if isinstance(path, str | os.PathLike) and not Path(path).expanduser().is_file():
        check_complete(files)
    return files


def name_of(path: Paths, files: Sequence[str]) -> str:
    """Return a string that identifies a source: its path or, for a list, the paths of its files.

    >>> name_of("a", ["a/1.parquet"]), name_of(["a/1.parquet"], ["a/1.parquet"])
    ('a', 'a/1.parquet')
    """
    return os.fspath(path) if isinstance(path, str | os.PathLike) else "\n".join(files)


def title_of(path: Paths, files: Sequence[str]) -> str:
    """Return the name of a source for messages, which is the name of its file or folder.

    >>> title_of("data/a", ["data/a/1.csv"]), title_of(["b/1.csv", "b/2.csv"], ["b/1.csv", "b/2"])
    ('a', 'b')
    """
    if isinstance(path, str | os.PathLike):
        return Path(path).name
    return Path(files[0] if len(files) == 1 else folder_of(files)).name


def folder_of(files: Sequence[str]) -> str:
    """Return the deepest folder that contains all files.

    >>> folder_of(["/data/a/1.parquet", "/data/b/2.parquet"])
    '/data'
    """
    return os.path.commonpath([os.path.dirname(os.path.abspath(file)) for file in files])


def fingerprint(path: str | os.PathLike[str], files: Sequence[str]) -> str:
    """Return the fingerprint of files, which identifies the files and their state.

    The part before the dash identifies the files, regardless of their content. It has the digests
    of `path` and of each file's path, joined by dots. If there are many files, only the smallest
    digests are used, so that similar sets of files have some digests in common. The part after the
    dash is a digest of all paths, sizes and modification times.
    """
    stats = [(str(Path(f).resolve()), Path(f).stat()) for f in files]
    text = "\n".join(f"{path} {s.st_size} {s.st_mtime_ns}" for path, s in stats)
    least = sorted(map(_digest, {path for path, _ in stats}))[:SAMPLED_FILES]
    return f"{'.'.join([_digest(str(Path(path).expanduser().absolute())), *least])}-{_digest(text)}"


def fingerprint_of(names: Sequence[str], state: object) -> str:
    """Return a fingerprint for a source without files, from names and a state that may change.

    >>> a, b = fingerprint_of(["s3://a"], 1), fingerprint_of(["s3://a"], 2)
    >>> are_same_files(a, b), are_same_state(a, b)
    (True, False)
    """
    return f"{'.'.join(map(_digest, names))}-{_digest(repr((*names, state)))}"


def _digest(text: str) -> str:
    return xxhash.xxh3_64_hexdigest(text.encode(errors="surrogatepass"))


def are_same_files(a: str, b: str) -> bool:
    """Return whether two fingerprints belong to the same path, or have a file in common.

    >>> are_same_files("f1.a1-00", "f1.a2.a3-11"), are_same_files("f1.a1-00", "f2.a2-00")
    (True, False)
    """
    first, second = ({*text.partition("-")[0].split(".")} for text in (a, b))
    return not first.isdisjoint(second)


def are_same_state(a: str | None, b: str | None) -> bool:
    """Return whether two fingerprints show the same state of files, or are both None.

    >>> are_same_state("f1.a1-00", "f2.a1-00"), are_same_state("f1.a1-00", "f1.a1-11")
    (True, False)
    """
    if a is None or b is None:
        return a is b
    return a.rpartition("-")[2] == b.rpartition("-")[2]
