"""Which files a path means, and what changes when their content does."""

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


NOTED_FILES = 64
"""Of a folder or pattern, by which it is known again when files were added or removed."""


def find_files(path: str | os.PathLike[str], suffix: str) -> list[str]:
    """Return the files that a path, folder or pattern means, sorted.

    Raises
    ------
    NotFoundError
        When there is none.
    InvalidValueError
        For a pipe or device, which might never end.
    """
    here = Path(checks.location("path", path)).expanduser()
    if here.is_dir():
        found = sorted(str(p) for p in here.rglob(f"*{suffix}") if p.is_file())
    elif here.exists():
        if not here.is_file():
            raise InvalidValueError(
                f"{str(path)!r} is no regular file, but a pipe or a device. Copy it to a file."
            )
        found = [str(here)]
    else:
        found = sorted(filter(os.path.isfile, glob.glob(str(here), recursive=True)))
    if not found:
        raise NotFoundError(f"There is no {suffix} file at {str(path)!r}. Check the path.")
    return found


def folder_of(files: Sequence[str]) -> str:
    """Return the folder that files have in common.

    >>> folder_of(["/data/a/1.parquet", "/data/b/2.parquet"])
    '/data'
    """
    return os.path.commonpath([os.path.dirname(os.path.abspath(file)) for file in files])


def fingerprint(path: str | os.PathLike[str], files: Sequence[str]) -> str:
    """Return what changes with the content of the files that a path means, and tells them apart.

    Digests of the path and of the files' own, joined by dots, are before the dash; they tell the
    files whatever is in them. Of many files it is those of the least digests, so that sets of files
    that have much in common have some of these in common. Behind the dash is a digest of all paths,
    sizes and times.
    """
    stats = [(str(Path(f).resolve()), Path(f).stat()) for f in files]
    text = "\n".join(f"{path} {s.st_size} {s.st_mtime_ns}" for path, s in stats)
    least = sorted(map(_digest, {path for path, _ in stats}))[:NOTED_FILES]
    return f"{'.'.join([_digest(str(Path(path).expanduser().absolute())), *least])}-{_digest(text)}"


def _digest(text: str) -> str:
    return xxhash.xxh3_64_hexdigest(text.encode(errors="surrogatepass"))


def are_same_files(a: str, b: str) -> bool:
    """Tell whether two fingerprints have a file in common, or are of one path, whatever is there.

    >>> are_same_files("f1.a1-00", "f1.a2.a3-11"), are_same_files("f1.a1-00", "f2.a2-00")
    (True, False)
    """
    first, second = ({*text.partition("-")[0].split(".")} for text in (a, b))
    return not first.isdisjoint(second)


def are_same_state(a: str | None, b: str | None) -> bool:
    """Tell whether two fingerprints are of the same files as they are, or both are of none.

    >>> are_same_state("f1.a1-00", "f2.a1-00"), are_same_state("f1.a1-00", "f1.a1-11")
    (True, False)
    """
    if a is None or b is None:
        return a is b
    return a.rpartition("-")[2] == b.rpartition("-")[2]
