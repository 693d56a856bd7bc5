"""What would go with versions that expire: the files that only they consist of.

The engine counts what no version needs; it does not tell what expiring some would add to that. On a
local folder their manifests do.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from deeplake_lite.errors import DamagedError
from deeplake_lite.storage.chunk_files import chunk_names, read_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime
    from pathlib import Path

MOST_BYTES = 2**30
"""Most bytes of a manifest."""

KINDS = ("chunks", "manifests", "snapshots")
"""Kinds of objects that are counted each, by their folder; logs only count by their bytes."""


def files_of(folder: Path, versions: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the files that versions consist of, relative to the lake's folder.

    Parameters
    ----------
    folder : Path
        Of the lake.
    versions : iterable of dict
        Descriptions of snapshots: their ``id`` and ``manifests``.

    Raises
    ------
    DamagedError
        When a manifest does not read.
    """
    found, manifests = set[str](), set[str]()
    for version in versions:
        found |= {f"{kind}/{version['id']}" for kind in ("snapshots", "transactions")}
        manifests |= {manifest["id"] for manifest in version["manifests"]}
    for name in manifests:
        try:
            chunks = chunk_names(read_file(str(folder / "manifests" / name), MOST_BYTES))
            found |= {f"manifests/{name}", *(f"chunks/{chunk}" for _, chunk in chunks)}
        except (OSError, ValueError, LookupError, RuntimeError, struct.error) as error:
            raise DamagedError(f"Manifest {name} does not read. Run ds.verify().") from error
    return found


def missing(folder: Path, versions: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the files that versions consist of and that are not there, but for their logs.

    Raises
    ------
    DamagedError
        When a manifest does not read.
    """
    files = (name for name in files_of(folder, versions) if name.partition("/")[0] in KINDS)
    return {name for name in files if not (folder / name).is_file()}


def count(folder: Path, files: Iterable[str], older_than: datetime) -> dict[str, int]:
    """Return how many files of each kind are older than a time, and their bytes."""
    counts = {"bytes": 0, **dict.fromkeys(KINDS, 0)}
    for name in files:
        try:
            status = (folder / name).stat()
        except FileNotFoundError:  # the first version has no log
            continue
        if status.st_mtime < older_than.timestamp():
            counts["bytes"] += status.st_size
            kind = name.partition("/")[0]
            counts.update({kind: counts[kind] + 1} if kind in KINDS else {})
    return counts
