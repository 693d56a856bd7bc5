"""List the files that versions of a local lake need, by reading the versions' manifests.

This serves to estimate how much space a vacuum would free. Icechunk itself only counts files that
no version needs now, but not files that no version will need once some versions have expired.
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

MAX_BYTES = 2**30
"""Maximum size of a manifest file, in bytes."""

KINDS = ("chunks", "manifests", "snapshots")
"""Folders whose files are counted. Logs are not, because Icechunk keeps those of expired
versions."""


def files_of(folder: Path, versions: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the files that versions need, as paths relative to the lake's folder.

    Parameters
    ----------
    folder : Path
        The lake's folder.
    versions : iterable of dict
        Descriptions of snapshots with their ``id`` and ``manifests``.

    Raises
    ------
    DamagedError
        If a manifest cannot be read.
    """
    files, manifests = set[str](), set[str]()
    for version in versions:
        files.add(f"snapshots/{version['id']}")
        manifests |= {manifest["id"] for manifest in version["manifests"]}
    for name in manifests:
        try:
            chunks = chunk_names(read_file(str(folder / "manifests" / name), MAX_BYTES))
            files |= {f"manifests/{name}", *(f"chunks/{chunk}" for _, chunk in chunks)}
        except (OSError, ValueError, LookupError, RuntimeError, struct.error) as error:
            raise DamagedError(f"Manifest {name} cannot be read. Run ds.verify().") from error
    return files


def missing_files(folder: Path, versions: Iterable[Mapping[str, object]]) -> set[str]:
    """Return the files that versions need but that do not exist, except transaction logs.

    Raises
    ------
    DamagedError
        If a manifest cannot be read.
    """
    return {name for name in files_of(folder, versions) if not (folder / name).is_file()}


def count_files(folder: Path, files: Iterable[str], older_than: datetime) -> dict[str, int]:
    """Count the files older than a time: the total ``bytes``, and the number per folder."""
    counts = {"bytes": 0, **dict.fromkeys(KINDS, 0)}
    for name in files:
        status = (folder / name).stat()
        if status.st_mtime < older_than.timestamp():
            counts["bytes"] += status.st_size
            counts[name.partition("/")[0]] += 1
    return counts
