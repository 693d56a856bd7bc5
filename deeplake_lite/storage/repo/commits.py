"""Commits, which are the versions of a lake with their messages and metadata."""

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
"""Key in a commit's metadata for a digest of the message and all other metadata."""

TRANSACTION = "transaction"
"""Key in a commit's metadata for a random name. If the reply to a commit is lost, the writer looks
for the commit by this name."""

BRANCH = "branch"
"""Key in a commit's metadata for the name of the branch that the commit was written to."""

BRANCH_ID = "branch_id"
"""Key in a commit's metadata for the identity of that branch (see `witnesses`)."""

CHUNKS = "chunks"
"""Key in a commit's metadata for a digest of the keys of the chunks that the commit wrote."""


@dataclass(frozen=True)
class Commit:
    """One version of a lake."""

    id: str
    """Snapshot id."""
    parent: str | None
    """Snapshot id of the previous version; None for the first version."""
    message: str
    time: datetime
    """Time of the commit, UTC."""
    metadata: Mapping[str, Any]
    """Metadata from the writer. A merge commit has the merged snapshot's id under ``"merge"``."""
    transaction: str | None = None
    """Random name of the transaction, by which its writer finds the commit if a reply was lost."""
    branch: str | None = None
    """The branch that the commit was written to; None if not recorded."""
    branch_id: str | None = None
    """Identity of the branch, which changes if the branch is recreated; None if not recorded."""
    chunks: str | None = None
    """Digest of the keys of the chunks that the commit wrote; None if not recorded."""


def read_commit(snapshot: compiled.SnapshotInfo) -> Commit:
    """Return the commit of a snapshot. Raises DamagedError if it does not match its digest."""
    metadata = without_digest(snapshot.id, snapshot.message, snapshot.metadata)
    record = {key: metadata.pop(key, None) for key in (TRANSACTION, BRANCH, BRANCH_ID, CHUNKS)}
    return Commit(
        snapshot.id,
        snapshot.parent_id,
        snapshot.message,
        snapshot.written_at,
        metadata,
        transaction=record[TRANSACTION],
        branch=record[BRANCH],
        branch_id=record[BRANCH_ID],
        chunks=record[CHUNKS],
    )


def chunk_key(path: str, chunk: Iterable[int]) -> str:
    """Return the key of a chunk in the array at `path`.

    >>> chunk_key("0/rows/id", [3, 0])
    '0/rows/id/c/3/0'
    """
    return "/".join([path, "c", *map(str, chunk)])


def chunks_digest(chunks: Mapping[str, Iterable[Iterable[int]]]) -> str:
    """Return a digest of the keys of chunks, given as a dict from array path to chunk indices.

    >>> chunks_digest({"/b": [[1], [0]]}) == chunks_digest({"/a": [], "/b": [[0], [1]]})
    True
    """
    keys = sorted(chunk_key(path, chunk) for path, indices in chunks.items() for chunk in indices)
    return xxhash.xxh3_64_hexdigest("\n".join(keys).encode())


def with_digest(message: str, metadata: Mapping[str, object]) -> dict[str, object]:
    """Return the metadata of a commit, with a digest of the message and the metadata added."""
    text = json.dumps([message, dict(metadata)], sort_keys=True, separators=(",", ":"))
    return {**metadata, DIGEST: xxhash.xxh3_64_hexdigest(text.encode())}


def without_digest(commit: str, message: str, metadata: Mapping[str, object]) -> dict[str, Any]:
    """Return the metadata of a commit. Raises DamagedError if it does not match its digest.

    >>> without_digest("X", "m", with_digest("m", {"a": [1]}))
    {'a': [1]}
    >>> without_digest("X", "n", with_digest("m", {}))
    Traceback (most recent call last):
    deeplake_lite.errors.DamagedError: The message or the metadata of commit X is damaged. ...
    """
    bare = {key: value for key, value in metadata.items() if key != DIGEST}
    if DIGEST in metadata and with_digest(message, bare) != dict(metadata):
        raise DamagedError(
            f"The message or the metadata of commit {commit} is damaged. Restore the lake from "
            "a backup."
        )
    return bare
