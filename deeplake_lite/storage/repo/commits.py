"""Versions of a lake, and what is noted with each of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import xxhash

from deeplake_lite.errors import DamagedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from deeplake_lite.storage.repo.engine import compiled

DIGEST = "digest"
"""Key of a commit's metadata under which its digest is."""

TRANSACTION = "transaction"
"""Key of a commit's metadata under which the writer finds it again."""

BRANCH = "branch"
"""Key of a commit's metadata under which is the branch that it was written to."""

BRANCH_ID = "branch_id"
"""Key of a commit's metadata under which is the identity of that branch."""

CHUNKS = "chunks"
"""Key of a commit's metadata under which is the digest of the chunks that it has written."""


@dataclass(frozen=True)
class Commit:
    """One version of a lake."""

    id: str
    """Snapshot id."""
    parent: str | None
    """Snapshot id of the version before, None for the first."""
    message: str
    time: datetime
    """When it was written, UTC."""
    metadata: Mapping[str, Any]
    """What the writer noted: a merge commit has the merged snapshot's id under ``"merge"``."""
    transaction: str | None = None
    """What the open transaction was called, so that a commit whose reply was lost is found."""
    branch: str | None = None
    """The branch that it was written to; None where that is not noted."""
    branch_id: str | None = None
    """What tells that branch from others that had its name; None where that is not noted."""
    chunks: str | None = None
    """Digest of the chunks that it has written; None where that is not noted."""


def read_commit(snapshot: compiled.SnapshotInfo) -> Commit:
    """Return what is noted of a version. Raises DamagedError where it is not what was written."""
    notes = without_digest(snapshot.id, snapshot.message, snapshot.metadata)
    own = {key: notes.pop(key, None) for key in (TRANSACTION, BRANCH, BRANCH_ID, CHUNKS)}
    return Commit(
        snapshot.id,
        snapshot.parent_id,
        snapshot.message,
        snapshot.written_at,
        notes,
        transaction=own[TRANSACTION],
        branch=own[BRANCH],
        branch_id=own[BRANCH_ID],
        chunks=own[CHUNKS],
    )


def chunk_key(path: str, chunk: Iterable[int]) -> str:
    """Return the key of a chunk of the array at `path`.

    >>> chunk_key("0/rows/id", [3, 0])
    '0/rows/id/c/3/0'
    """
    return "/".join([path, "c", *map(str, chunk)])


def chunks_digest(chunks: Mapping[str, Iterable[Iterable[int]]]) -> str:
    """Return a digest of the numbers of some chunks, by array, as an engine's log names them.

    >>> chunks_digest({"/b": [[1], [0]]}) == chunks_digest({"/a": [], "/b": [[0], [1]]})
    True
    """
    named = sorted(chunk_key(path, chunk) for path, some in chunks.items() for chunk in some)
    return xxhash.xxh3_64_hexdigest("\n".join(named).encode())


def with_digest(message: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is noted with a commit, with a digest of its message and its notes."""
    text = json.dumps([message, dict(metadata)], sort_keys=True, separators=(",", ":"))
    return {**metadata, DIGEST: xxhash.xxh3_64_hexdigest(text.encode())}


def without_digest(commit: str, message: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was noted with a commit. Raises DamagedError where it is not what was written.

    >>> without_digest("X", "m", with_digest("m", {"a": [1]}))
    {'a': [1]}
    >>> without_digest("X", "n", with_digest("m", {}))
    Traceback (most recent call last):
    deeplake_lite.errors.DamagedError: The message or the notes of commit X are damaged. Restore ...
    """
    notes = dict(metadata)
    if DIGEST in notes and with_digest(message, _but_digest(notes)) != notes:
        raise DamagedError(
            f"The message or the notes of commit {commit} are damaged. Restore the lake from "
            "a copy."
        )
    return _but_digest(notes)


def _but_digest(notes: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in notes.items() if key != DIGEST}
