"""Hashes of files. The algorithms have the names that file formats such as MDS use for them."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import xxhash

if TYPE_CHECKING:
    from pathlib import Path

PIECE = 2**20
"""Number of bytes to read at a time."""


def file_hash(path: Path, name: str) -> str | None:
    """Return the hexadecimal hash of a file, or None if the algorithm is unknown."""
    if name in xxhash.algorithms_available:
        digest: Any = getattr(xxhash, name)()
    elif name in hashlib.algorithms_available and not name.startswith("shake"):
        digest = hashlib.new(name, usedforsecurity=False)
    else:
        return None
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            digest.update(piece)
    text: str = digest.hexdigest()
    return text
