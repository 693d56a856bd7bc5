"""What people have changed in a lake since ingests wrote it, and what they have deleted.

The history tells. What differs between an ingest and the next, or the version that is ingested
into, is a person's: cells and keys that changed, rows that went, what new rows and columns hold;
what an ingest has written after that is the source's again. Branches that were
merged are read in the same way. A restore goes back to what was anybody's in the older version.
Versions that the vacuum has expired tell nothing any more.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.versions.apply import slots_of
from deeplake_lite.dataset.versions.changes import NONE, Changes, difference
from deeplake_lite.dataset.write.keys import digests_by_value
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.ingest.notes import NOTE
from deeplake_lite.ingest.past import Past

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.ingest.past import Step
    from deeplake_lite.schema import Field
    from deeplake_lite.storage.table import Table


NO_KEYS = np.empty(0, np.uint64)


@dataclass(frozen=True)
class Edited:
    """Cells and rows that are people's."""

    cells: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
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

    def joined(self, other: Edited) -> Edited:
        """Return what is people's here or there."""
        cells = dict(self.cells)
        for column, ids in other.cells.items():
            cells[column] = np.union1d(cells.get(column, NONE), ids)
        return Edited(
            cells,
            np.union1d(self.deleted, other.deleted),
            np.union1d(self.rekeyed, other.rekeyed),
            self.begun or other.begun,
        )

    def without_cells(self, written: Mapping[str, NDArray[np.int64]]) -> Edited:
        """Return these without cells that somebody else has written again."""
        return replace(self, cells={c: _left(i, written.get(c)) for c, i in self.cells.items()})

    def without_keys(self, undone: Edited) -> Edited:
        """Return these without keys whose deletion or renaming is undone."""
        deleted, rekeyed = _left(self.deleted, undone.deleted), _left(self.rekeyed, undone.rekeyed)
        return replace(self, deleted=deleted, rekeyed=rekeyed)


def _left(values: NDArray[Any], gone: NDArray[Any] | None) -> NDArray[Any]:
    return values if gone is None else np.setdiff1d(values, gone)


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
        self._past = Past.of(ds)
        self._known: dict[str, Edited] = {}

    def edited(self, version: str) -> Edited:
        """Return what people have changed up to a version."""
        found, since = Edited(), ""
        for step in self._events(version):
            commit = step.commit
            if commit.id not in self._known:
                if since:
                    found = found.joined(self._by_people(since, str(step.before)))
                self._known[commit.id] = self._after(step, found)
            found = self._known[commit.id]
            since = commit.id if found.begun else ""
        return found.joined(self._by_people(since, version)) if since else found

    def _events(self, version: str) -> list[Step]:
        """Return the ingests and merges up to a version since one of which all is known."""
        events = []
        for step in self._past.line(version):
            if NOTE in step.commit.metadata or step.joined is not None:
                events.append(step)
                if step.commit.id in self._known:
                    break
        return events[::-1]

    def _after(self, step: Step, found: Edited) -> Edited:
        """Return what is people's after an ingest or a merge, from what was before it."""
        if step.joined is not None:
            return self._merged(step, found, step.joined)
        if any(map(len, found.cells.values())):
            found = found.without_cells(self._difference(str(step.before), step.commit.id).cells)
        return replace(found, begun=True)

    def _merged(self, step: Step, ours: Edited, joined: str) -> Edited:
        """Return what is people's where a version was brought in.

        A cell is of the side whose value it has. What one side has undone since the base is undone.
        """
        theirs = self.edited(joined)
        undone = self._undone(step, ours, theirs)
        sides = ((ours, str(step.before)), (theirs, joined))
        ours, theirs = (self._standing(edited, v, step.commit.id) for edited, v in sides)
        edited = ours.joined(theirs).without_keys(undone)
        return edited.joined(self._with_restore(step)) if step.is_restore else edited

    def _standing(self, edited: Edited, version: str, merged: str) -> Edited:
        """Return what is people's in a version, less the cells that a merge gave another value."""
        if not any(map(len, edited.cells.values())):
            return edited
        return edited.without_cells(self._difference(version, merged).cells)

    def _undone(self, step: Step, ours: Edited, theirs: Edited) -> Edited:
        """Return the keys that were deleted or renamed in the base, but are not on both sides."""
        undone = Edited()
        if len(ours.deleted) or len(theirs.deleted) or len(ours.rekeyed) or len(theirs.rekeyed):
            for version in self._past.bases(step):
                base = self.edited(version)
                undone = undone.joined(base.without_keys(ours)).joined(base.without_keys(theirs))
        return undone

    def _with_restore(self, step: Step) -> Edited:
        """Return what a person changed in the transaction that restored a version."""
        here, beside = (self._by_people(str(v), step.commit.id) for v in (step.before, step.joined))
        cells = {c: np.intersect1d(ids, beside.cells.get(c, NONE)) for c, ids in here.cells.items()}
        return replace(here, cells=cells)

    def _difference(self, older: str, newer: str) -> Changes:
        return difference(self._open(older), self._open(newer), by_meaning=True)

    def _by_people(self, older: str, newer: str) -> Edited:
        """Return what two versions differ in, no ingest being between them."""
        if older == newer:
            return Edited()
        a, b = self._open(older), self._open(newer)
        changes = difference(a, b, by_meaning=True)
        gone, renamed = self._keys(a, changes.removed), self._rekeyed(a, b, changes)
        return Edited(changes.cells, gone, renamed).joined(Edited(_written(b, changes)))

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
        return self._ds.handle.open(version)
