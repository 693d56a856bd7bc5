"""What ingests have noted in the metadata of their commits: which rows they took, and how far."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
import xxhash

from deeplake_lite.errors import LakeError
from deeplake_lite.ingest.files import are_same_state
from deeplake_lite.ingest.past import Past

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.storage.repo import Commit

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

    columns: Sequence[str]
    """Names of the columns that were taken, sorted."""

    content: str | None = None
    """Digest of the rows that were appended without a key, once all are."""

    skipped: Sequence[tuple[int, int]] = ()
    """Rows of the source that were left out so far: the first of each run of them, and the end."""

    def to_json(self) -> dict[str, object]:
        """Return the note as it is kept.

        >>> list(Note("5f3a", 10, done=False, columns=["x"], skipped=[(7, 8)]).to_json().values())
        ['5f3a', 10, False, ['x'], None, [(7, 8)]]
        """
        return asdict(self)

    def is_of(self, columns: Sequence[str]) -> bool:
        """Tell whether just these columns were taken."""
        return list(self.columns) == list(columns)

    @property
    def missing(self) -> NDArray[np.int64]:
        """Numbers of the rows that were left out.

        >>> Note("5f3a", 9, done=True, columns=["x"], skipped=[(2, 4), (7, 8)]).missing
        array([2, 3, 7])
        """
        return np.concatenate([np.empty(0, np.int64), *(np.arange(a, b) for a, b in self.skipped)])


class Content:
    """The digest of rows, column by column: the same for the same rows, however they are cut.

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
        """Take the digests of some rows' cells, by column name."""
        for column, found in digests.items():
            self._columns.setdefault(column, xxhash.xxh3_64()).update(found.tobytes())

    def hexdigest(self) -> str:
        """Return the digest of all rows so far."""
        parts = (f"{c} {d.hexdigest()}" for c, d in sorted(self._columns.items()))
        return xxhash.xxh3_64_hexdigest("\n".join(parts).encode())


def runs_of(rows: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return the first of each run of row numbers, and its end.

    >>> runs_of(np.array([2, 3, 7]))
    [(2, 4), (7, 8)]
    """
    parts = np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1) if len(rows) else []
    return [(int(part[0]), int(part[-1]) + 1) for part in parts]


class Notes:
    """Notes of all ingests into a version, and into the branches that were merged into it.

    Those count whose run has any row there: nobody wants back what people have deleted. Where an
    older version was put in place of another, those in between do not count.

    Parameters
    ----------
    ds : Dataset
        The lake at that version.
    """

    def __init__(self, ds: Dataset) -> None:
        self._ds = ds
        commits = Past.of(ds).commits(ds.version)
        self._commits = [
            (commit, Note(**commit.metadata[NOTE]))
            for commit in sorted(commits, key=lambda commit: commit.time, reverse=True)
            if NOTE in commit.metadata
        ]

    def last(self, matches: Callable[[Note], object]) -> tuple[str, Note] | None:
        """Return the newest commit whose note matches and whose rows are there, and the note."""
        for at, (commit, note) in enumerate(self._commits):
            if matches(note) and self._stands(at):
                return commit.id, note
        return None

    def _stands(self, at: int) -> bool:
        """Tell whether any row is there that was taken from a source up to one of its notes.

        Commits that brought none, or of which the history does not know any more, stand.
        """
        brought = False
        for commit in self._parts(at):
            added = self._added(commit)
            if added is None or (self._ds.handle.table.find(added) >= 0).any():
                return True
            brought |= len(added) > 0
        return not brought

    def _parts(self, at: int) -> Iterator[Commit]:
        """Yield the commits that took parts of a source up to one of its notes, newest first.

        A source without a fingerprint is taken by one commit.
        """
        newest, last = self._commits[at]
        yield newest
        for commit, note in self._commits[at + 1 :] if last.source else ():
            if are_same_state(note.source, last.source) and note.is_of(last.columns):
                yield commit

    def _added(self, commit: Commit) -> NDArray[np.int64] | None:
        """Return the ids of the rows that a commit added; None where a vacuum took what tells."""
        try:
            new, old = (
                self._ds.handle.open(str(version)) for version in (commit.id, commit.parent)
            )
            return new.ids(np.arange(old.state.slots, new.state.slots))
        except LakeError:
            return None
