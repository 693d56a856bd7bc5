"""Which files a path means, and what changes when their content does."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import TYPE_CHECKING

import xxhash

from deeplake_lite.errors import NotFoundError

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence


def find_files(path: str | os.PathLike[str], suffix: str) -> list[str]:
    """Return the files that a path, folder or pattern means, sorted.

    Raises
    ------
    NotFoundError
        When there is none.
    """
    here = Path(path).expanduser()
    if here.is_dir():
        found = sorted(str(p) for p in here.rglob(f"*{suffix}") if p.is_file())
    elif here.exists():
        found = [str(here)]
    else:
        found = sorted(glob.glob(str(here), recursive=True))
    if not found:
        raise NotFoundError(f"There is no {suffix} file at {str(path)!r}. Check the path.")
    return found


def fingerprint(files: Sequence[str]) -> str:
    """Return what changes with the content of files: a digest of their paths, sizes and times."""
    stats = [(str(Path(f).resolve()), Path(f).stat()) for f in files]
    text = "\n".join(f"{path} {s.st_size} {s.st_mtime_ns}" for path, s in stats)
    return xxhash.xxh3_64_hexdigest(text.encode())
