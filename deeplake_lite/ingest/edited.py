"""What people have changed in a lake since ingests wrote it, and what they have deleted.

The history tells. What differs between an ingest and the next, or the version that is ingested
into, is a person's; what an ingest has written after that is the source's again. Branches that were
merged are read in the same way. Versions that the vacuum has expired tell nothing any more.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.dataset import versions
from deeplake_lite.dataset.apply import slots_of
from deeplake_lite.dataset.changes import NONE, Changes, difference
from deeplake_lite.dataset.keys import digests_by_value
from deeplake_lite.errors import LakeError
from deeplake_lite.ingest.notes import NOTE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.storage.repo import Commit
    from deeplake_lite.storage.table import Table


@dataclass
class Edited:
    """Cells and rows that are people's."""

    cells: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    """Ids of the rows whose cell a person changed, by column id."""

    deleted: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))
    """Digests of the keys of rows that a person deleted."""

    begun: bool = False
    """Whether there has been an ingest: what people wrote before the first is nobody's edit."""

    def has(self, column: str, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell which rows' cells of a column are people's."""
        return np.isin(ids, self.cells.get(column, NONE))

    def add(self, other: Edited) -> None:
        """Take over what was changed and deleted on a branch that was merged."""
        for column, ids in other.cells.items():
            self.cells[column] = np.union1d(self.cells.get(column, NONE), ids)
        self.deleted = np.union1d(self.deleted, other.deleted)
        self.begun |= other.begun

    def drop(self, changes: Changes) -> None:
        """Give cells back to the source that has written them again."""
        for column, ids in changes.cells.items():
            if column in self.cells:
                self.cells[column] = np.setdiff1d(self.cells[column], ids)


class History:
    """Reads off the commits of a lake what people have changed.

    Parameters
    ----------
    ds : Dataset
        The lake.
    key : str
        Id of the column that tells rows apart.
    """

    def __init__(self, ds: Dataset, key: str) -> None:
        self._ds, self._key = ds, key
        self._known: dict[str, Edited] = {}

    def edited(self, version: str) -> Edited:
        """Return what people have changed up to a version."""
        if version not in self._known:
            self._known[version] = self._read(version)
        return self._known[version]

    def _read(self, version: str) -> Edited:
        found, since = Edited(), ""
        for commit in reversed(versions.history(self._ds._lake.repository, version)):
            if not commit.metadata.keys() & {NOTE, "merge"}:
                continue
            if since:
                found.add(self._by_people(since, str(commit.parent)))
            if NOTE in commit.metadata:
                self._ingested(found, commit)
            else:
                with contextlib.suppress(LakeError):  # what was merged has expired
                    found.add(self.edited(commit.metadata["merge"]))
            since = commit.id if found.begun else ""
        if since:
            found.add(self._by_people(since, version))
        return found

    def _ingested(self, found: Edited, commit: Commit) -> None:
        found.begun = True
        if any(map(len, found.cells.values())):
            found.drop(difference(self._open(str(commit.parent)), self._open(commit.id)))

    def _by_people(self, older: str, newer: str) -> Edited:
        """Return what two versions differ in, no ingest being between them."""
        if older == newer:
            return Edited()
        table = self._open(older)
        changes = difference(table, self._open(newer))
        gone = slots_of(table, changes.removed)
        key = next((f for f in table.schema if f.id == self._key), None)
        deleted = Edited().deleted if key is None else digests_by_value(table, key, gone)
        return Edited(dict(changes.cells), deleted)

    def _open(self, version: str) -> Table:
        return self._ds._open(version)
