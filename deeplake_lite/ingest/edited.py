"""What people have changed in a lake since ingests wrote it, and what they have deleted.

The history tells. What differs between an ingest and the next, or the version that is ingested
into, is a person's: cells and keys that changed, rows that went, what new rows and columns hold;
what an ingest has written after that is the source's again. Branches that were
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
from deeplake_lite.errors import InvalidValueError, LakeError
from deeplake_lite.ingest.notes import NOTE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.schema import Field
    from deeplake_lite.storage.repo import Commit
    from deeplake_lite.storage.table import Table


NO_KEYS = np.empty(0, np.uint64)


@dataclass
class Edited:
    """Cells and rows that are people's."""

    cells: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    """Ids of the rows whose cell a person changed, by column id."""

    deleted: NDArray[np.uint64] = field(default_factory=lambda: NO_KEYS)
    """Digests of the keys of rows that a person deleted."""

    rekeyed: NDArray[np.uint64] = field(default_factory=lambda: NO_KEYS)
    """Digests of the keys of rows to which a person gave another."""

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
        self.rekeyed = np.union1d(self.rekeyed, other.rekeyed)
        self.begun |= other.begun

    def drop(self, changes: Changes) -> None:
        """Give cells back to the source that has written them again."""
        for column, ids in changes.cells.items():
            if column in self.cells:
                self.cells[column] = np.setdiff1d(self.cells[column], ids)


def _written(table: Table, changes: Changes) -> dict[str, NDArray[np.int64]]:
    """Return the ids of the rows that have a value in new columns, or are new, by column id.

    A default is nobody's: columns are added for a source to fill them.
    """
    added, fields = {f.id for f in changes.schema.added}, table.schema.fields
    everywhere = table.ids(table.rows.live()) if added else NONE
    ids = {f.id: everywhere if f.id in added else changes.added for f in fields}
    return {f.id: _not_default(table, f, ids[f.id]) for f in fields if len(ids[f.id])}


def _not_default(table: Table, f: Field, ids: NDArray[np.int64]) -> NDArray[np.int64]:
    try:
        default = table.digest(f.id, f.htype.encode_default(1))
    except InvalidValueError:  # there is none
        return np.sort(ids)
    return np.sort(ids[table.digests(f.id, slots_of(table, ids)) != default])


class History:
    """Reads off the commits of a lake what people have changed.

    Parameters
    ----------
    ds : Dataset
        The lake.
    key : Field
        The column that tells rows apart.
    """

    def __init__(self, ds: Dataset, key: Field) -> None:
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
            older, newer = self._open(str(commit.parent)), self._open(commit.id)
            found.drop(difference(older, newer, by_meaning=True))

    def _by_people(self, older: str, newer: str) -> Edited:
        """Return what two versions differ in, no ingest being between them."""
        if older == newer:
            return Edited()
        a, b = self._open(older), self._open(newer)
        changes = difference(a, b, by_meaning=True)
        gone, renamed = self._keys(a, changes.removed), self._rekeyed(a, b, changes)
        found = Edited(dict(changes.cells), gone, renamed)
        found.add(Edited(_written(b, changes)))
        return found

    def _keys(self, table: Table, ids: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return digests of the keys that rows of a version had."""
        key = self._key_in(table)
        return NO_KEYS if key is None else digests_by_value(table, key, slots_of(table, ids))

    def _rekeyed(self, a: Table, b: Table, changes: Changes) -> NDArray[np.uint64]:
        """Return digests of the keys of `a` whose rows have another key in `b`."""
        old, new = self._key_in(a), self._key_in(b)
        if old is None or new is None:
            return NO_KEYS
        if old.id == new.id:
            return self._keys(a, changes.cells.get(old.id, NONE))
        both = np.intersect1d(a.ids(a.rows.live()), b.ids(b.rows.live()))
        before, after = self._keys(a, both), self._keys(b, both)
        return np.asarray(before[before != after])

    def _key_in(self, table: Table) -> Field | None:
        """Return the key's column in another version, by its name where it was replaced."""
        by_id = next((f for f in table.schema if f.id == self._key.id), None)
        return by_id or next((f for f in table.schema if f.name == self._key.name), None)

    def _open(self, version: str) -> Table:
        return self._ds._open(version)
