"""Recognition of image files and their formats by the first bytes, regardless of file names."""

from __future__ import annotations

import os
from itertools import chain
from typing import TYPE_CHECKING

from deeplake_lite import codecs
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.ingest.source import Skipped
from deeplake_lite.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from deeplake_lite.ingest.folders.layout import File, FolderScan

HEAD_BYTES = 16
"""Number of bytes at the start of a file that suffice to recognise its format."""

THREADS = 8
SHARE = 256
"""Number of files that a thread opens at a time."""


def find_images(folder: Path, scanned: FolderScan) -> tuple[list[File], list[Skipped]]:
    """Return the images below a folder and the other files as two lists, sorted by path.

    A file whose name has the suffix of an image counts as an image, so that a damaged image is an
    error.
    """
    formats = formats_of([folder / f.path for f in scanned.others])
    images = [f for f, name in zip(scanned.others, formats, strict=True) if name]
    others = [f for f, name in zip(scanned.others, formats, strict=True) if not name]
    reason = "its first bytes do not match any image format"
    skipped = [*scanned.irregular, *(Skipped(f.path, reason) for f in others)]
    return (
        sorted([*scanned.images, *images], key=lambda f: f.path),
        sorted(skipped, key=lambda s: s.path),
    )


def formats_of(paths: Sequence[Path]) -> list[str | None]:
    """Return the name of each file's codec, or None if it is not an image or cannot be read."""
    shares = [paths[at : at + SHARE] for at in range(0, len(paths), SHARE)]
    if len(shares) <= 1:
        return [_format_at(path) for path in paths]
    with Pool(THREADS) as pool:
        formats = pool.map(lambda share: [_format_at(path) for path in share], shares)
        return list(chain.from_iterable(formats))


def format_of(head: bytes) -> str | None:
    """Return the name of the codec for a file with the given first bytes, or None for other files.

    >>> format_of(bytes.fromhex("ffd8ffe0")), format_of(b"GIF89a")
    ('jpeg', None)
    """
    try:
        return codecs.sniff(head).name
    except InvalidValueError:
        return None


def _format_at(path: Path) -> str | None:
    try:
        handle = os.open(path, os.O_RDONLY)
    except (OSError, ValueError):  # ValueError if no file can have this name
        return None
    try:
        return format_of(os.read(handle, HEAD_BYTES))
    except OSError:
        return None
    finally:
        os.close(handle)
