"""Which files are pictures, and of which format: by their first bytes, whatever they are called."""

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

    from deeplake_lite.ingest.layout import Found, Scanned

HEAD_BYTES = 16
"""Of a file, enough to tell its format."""

THREADS = 8
SHARE = 256
"""Files that a thread opens at a time."""


def recognised(folder: Path, found: Scanned) -> tuple[list[Found], list[Skipped]]:
    """Return the pictures below a folder, sorted by path, and what is none.

    A file whose name promises a picture counts as one, so that a damaged one is not passed over.
    """
    formats = formats_of([folder / f.path for f in found.others])
    pictures = [f for f, name in zip(found.others, formats, strict=True) if name]
    others = [f for f, name in zip(found.others, formats, strict=True) if not name]
    skipped = [*found.odd, *(Skipped(f.path, "no picture by what it begins with") for f in others)]
    return (
        sorted([*found.pictures, *pictures], key=lambda f: f.path),
        sorted(skipped, key=lambda s: s.path),
    )


def formats_of(paths: Sequence[Path]) -> list[str | None]:
    """Return the codec of each file; None for what is no picture, or cannot be read."""
    shares = [paths[at : at + SHARE] for at in range(0, len(paths), SHARE)]
    if len(shares) <= 1:
        return [_format_at(path) for path in paths]
    with Pool(THREADS) as pool:
        done = pool.map(lambda share: [_format_at(path) for path in share], shares)
        return list(chain.from_iterable(done))


def format_of(head: bytes) -> str | None:
    """Return the codec of a file that begins so; None for what is no picture.

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
    except OSError:
        return None
    try:
        return format_of(os.read(handle, HEAD_BYTES))
    except OSError:
        return None
    finally:
        os.close(handle)
