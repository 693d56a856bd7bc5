"""Records of ingests in the metadata of commits.

A record says how many rows of the source were read, which of them were skipped, and whether rows
are left to read.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
import xxhash

from deeplake_lite.errors import LakeError
from deeplake_lite.ingest.files import are_same_state
from deeplake_lite.ingest.lineage import Lineage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.storage.repo import Commit

METADATA_KEY = "ingest"
"""Key of the record in a commit's metadata."""


@dataclass(frozen=True)
class Record:
    """The record of one commit of an ingest."""

    source: str | None
    """Fingerprint of the source, or None for data in memory."""

    rows: int
    """Number of rows that have been read from the source so far."""

    done: bool
    """Whether all rows of the source have been read."""

    columns: Sequence[str]
    """Sorted names of the columns that were ingested."""

    content: str | None = None
    """Digest of the rows that were appended without a key, or None if the ingest is incomplete."""

    skipped: Sequence[tuple[int, int]] = ()
    """Ranges of the source's rows that were skipped so far: (first row, row after the last)."""

    def to_json(self) -> dict[str, object]:
        """Return the record as the dict that is stored in the metadata of a commit.

        >>> record = Record("5f3a", 10, done=False, columns=["x"], skipped=[(7, 8)])
        >>> list(record.to_json().values())
        ['5f3a', 10, False, ['x'], None, [(7, 8)]]
        """
        return asdict(self)

    def has_columns(self, columns: Sequence[str]) -> bool:
        """Return whether the ingest had exactly the given columns."""
        return list(self.columns) == list(columns)

    @property
    def missing(self) -> NDArray[np.int64]:
        """Row numbers of the skipped rows.

        >>> Record("5f3a", 9, done=True, columns=["x"], skipped=[(2, 4), (7, 8)]).missing
        array([2, 3, 7])
        """
        return np.concatenate([np.empty(0, np.int64), *(np.arange(a, b) for a, b in self.skipped)])


class Content:
    """A digest of rows that does not depend on how the rows are divided into blocks.

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
        """Add rows, given a dict from the names of columns to the digests of the rows' cells."""
        for column, values in digests.items():
            self._columns.setdefault(column, xxhash.xxh3_64()).update(values.tobytes())

    def hexdigest(self) -> str:
        """Return the digest of all rows that have been added so far."""
        parts = (f"{c} {d.hexdigest()}" for c, d in sorted(self._columns.items()))
        return xxhash.xxh3_64_hexdigest("\n".join(parts).encode())


def runs_of(rows: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return the ranges of consecutive row numbers as (first row, row after the last).

    >>> runs_of(np.array([2, 3, 7]))
    [(2, 4), (7, 8)]
    """
    parts = np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1) if len(rows) else []
    return [(int(part[0]), int(part[-1]) + 1) for part in parts]


class Records:
    """The records of all ingests that led to a version, including ingests on merged branches.

    A record counts as long as any row that its ingest added still exists. If people have deleted
    all rows of an ingest, the source may be ingested again. Records in commits that a restore has
    undone do not count.

    Parameters
    ----------
    ds : Dataset
        The lake at this version.
    """

    def __init__(self, ds: Dataset) -> None:
        self._ds = ds
        commits = Lineage.of(ds).commits(ds.version)
        self._commits = [
            (commit, Record(**commit.metadata[METADATA_KEY]))
            for commit in sorted(commits, key=lambda commit: commit.time, reverse=True)
            if METADATA_KEY in commit.metadata
        ]

    def last(self, matches: Callable[[Record], object]) -> tuple[str, Record] | None:
        """Return the newest version with a record that matches and counts, and this record.

        Return None if there is no such version.
        """
        for at, (commit, record) in enumerate(self._commits):
            if matches(record) and self._counts(at):
                return commit.id, record
        return None

    def _counts(self, at: int) -> bool:
        """Return whether a record counts, because a row that its ingest added still exists.

        A record also counts if its ingest did not add any rows, or if it is unknown whether it
        added rows, because a vacuum has deleted the versions. `at` is the record's index.
        """
        has_added = False
        for commit in self._parts(at):
            added = self._added(commit)
            if added is None or (self._ds.handle.table.find(added) >= 0).any():
                return True
            has_added |= len(added) > 0
        return not has_added

    def _parts(self, at: int) -> Iterator[Commit]:
        """Yield the commits of an ingest up to the record at index `at`, newest first.

        If the source has no fingerprint, its ingest is a single commit.
        """
        newest, last = self._commits[at]
        yield newest
        for commit, record in self._commits[at + 1 :] if last.source else ():
            if are_same_state(record.source, last.source) and record.has_columns(last.columns):
                yield commit

    def _added(self, commit: Commit) -> NDArray[np.int64] | None:
        """Return the ids of rows that a commit added, or None if a vacuum deleted the version."""
        try:
            new, old = (
                self._ds.handle.open(str(version)) for version in (commit.id, commit.parent)
            )
            return new.ids(np.arange(old.state.slots, new.state.slots))
        except LakeError:
            return None
