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


def fingerprint(files: Sequence[str]) -> str:
    """Return what changes with the content of files: digests of their paths, and of all of this.

    The first part stays while the files do: ``paths-paths,sizes,times``.
    """
    stats = [(str(Path(f).resolve()), Path(f).stat()) for f in files]
    paths = "\n".join(path for path, _ in stats)
    text = "\n".join(f"{path} {s.st_size} {s.st_mtime_ns}" for path, s in stats)
    return "-".join(xxhash.xxh3_64_hexdigest(part.encode()) for part in (paths, text))


def are_same_files(a: str, b: str) -> bool:
    """Tell whether two fingerprints are of the same files, whatever is in them."""
    return a.partition("-")[0] == b.partition("-")[0]
