"""What ingests have noted in the metadata of their commits: which rows they took, and how far."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import xxhash

from deeplake_lite.dataset.versions import Graph
from deeplake_lite.ingest.files import are_same_files

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from deeplake_lite.dataset.dataset import Dataset

NOTE = "ingest"
"""Key of a commit's metadata."""


@dataclass(frozen=True)
class Note:
    """What one commit of an ingest says."""

    source: str | None
    """Fingerprint of the source, None for what has no name to be found under again."""

    rows: int
    """How far the source was read."""

    done: bool
    """Whether that was all of it."""

    content: str | None = None
    """Digest of the rows that were appended without a key, once all are."""

    def to_json(self) -> dict[str, object]:
        """Return the note as it is kept.

        >>> Note("5f3a", 1_000, done=False).to_json()
        {'source': '5f3a', 'rows': 1000, 'done': False, 'content': None}
        """
        return asdict(self)


class Content:
    """The digest of rows, column by column: the same for the same rows, however they are cut.

    >>> import numpy as np
    >>> whole, parts = Content(), Content()
    >>> whole.add({"a": np.array([1, 2], "u8")})
    >>> parts.add({"a": np.array([1], "u8")})
    >>> parts.add({"a": np.array([2], "u8")})
    >>> whole.hexdigest() == parts.hexdigest()
    True
    """

    def __init__(self) -> None:
        self._columns: dict[str, xxhash.xxh3_64] = {}

    def add(self, digests: Mapping[str, NDArray[np.uint64]]) -> None:
        """Take the digests of some rows' cells, by column id."""
        for column, found in digests.items():
            self._columns.setdefault(column, xxhash.xxh3_64()).update(found.tobytes())

    def hexdigest(self) -> str:
        """Return the digest of all rows so far."""
        parts = (f"{c} {d.hexdigest()}" for c, d in sorted(self._columns.items()))
        return xxhash.xxh3_64_hexdigest("\n".join(parts).encode())


type Notes = list[tuple[str, Note]]
"""Commit ids and what the commits say, newest first."""


def read_notes(ds: Dataset) -> Notes:
    """Return the notes of all ingests into this branch, and into those that were merged into it."""
    commits = Graph.read(ds._lake.repository, [ds.version]).commits.values()
    return [
        (commit.id, Note(**commit.metadata[NOTE]))
        for commit in sorted(commits, key=lambda commit: commit.time, reverse=True)
        if NOTE in commit.metadata
    ]


def committed_rows(notes: Notes, fingerprint: str) -> int:
    """Return how many rows of a source an interrupted run has committed; 0 when none, or all."""
    last = next((note for _, note in notes if note.source == fingerprint), None)
    return 0 if last is None or last.done else last.rows


def interrupted_before(notes: Notes, fingerprint: str) -> Note | None:
    """Return the note of a run that took a part of files which have changed since, and no more."""
    of_files = (n for _, n in notes if n.source and are_same_files(n.source, fingerprint))
    last = next(of_files, None)
    return None if last is None or last.done or last.source == fingerprint else last


def taken_before(
    notes: Notes, *, fingerprint: str | None = None, content: str | None = None
) -> tuple[str, Note] | None:
    """Return the commit that holds all rows of a source already, told by either digest."""
    for version, note in notes:
        same = (fingerprint and note.source == fingerprint) or (content and note.content == content)
        if note.done and same:
            return version, note
    return None
