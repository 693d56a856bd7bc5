"""Edits that people have made in a lake after it was ingested.

Edits are found by comparing versions. Everything that changed between one ingest and the next, or
since the last ingest, is an edit: changed cells and keys, deleted rows, and the values of new rows
and columns. If a later ingest overwrites an edited cell, the cell no longer counts as edited. The
versions of merged branches are compared in the same way. A restore brings back the edits of the
older version. Edits in versions that a vacuum has deleted are unknown.

A *step* is a commit that led to a version (`lineage.Step`). A row is *rekeyed* if its key, by which
a source identifies it, has been changed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.versions.apply import slots_of
from deeplake_lite.dataset.versions.changes import Changes, difference
from deeplake_lite.dataset.versions.pairs import NONE
from deeplake_lite.dataset.write.keys import digests_by_value
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.ingest.lineage import Lineage
from deeplake_lite.ingest.records import METADATA_KEY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.ingest.lineage import Step
    from deeplake_lite.schema import Field
    from deeplake_lite.storage.table import Table


NO_KEYS = np.empty(0, np.uint64)


@dataclass(frozen=True)
class Edits:
    """Cells and rows that people have edited."""

    cells: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    """Maps the id of each column to the ids of the rows whose cell has been edited."""

    deleted: NDArray[np.uint64] = field(default_factory=lambda: NO_KEYS)
    """Digests of the keys of deleted rows."""

    rekeyed: NDArray[np.uint64] = field(default_factory=lambda: NO_KEYS)
    """Digests of the former keys of rows whose key has been changed."""

    has_ingest: bool = False
    """Whether there was an ingest. Data that was written before the first ingest is no edit."""

    def has(self, column: str, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return a bool array that is True for those row ids whose cell in a column was edited."""
        return np.isin(ids, self.cells.get(column, NONE))

    def union(self, other: Edits) -> Edits:
        """Return the union of both sets of edits."""
        cells = dict(self.cells)
        for column, ids in other.cells.items():
            cells[column] = np.union1d(cells.get(column, NONE), ids)
        return Edits(
            cells,
            np.union1d(self.deleted, other.deleted),
            np.union1d(self.rekeyed, other.rekeyed),
            self.has_ingest or other.has_ingest,
        )

    def without_cells(self, written: Mapping[str, NDArray[np.int64]]) -> Edits:
        """Return the edits without the edited cells that an ingest has overwritten.

        `written` maps the ids of columns to the ids of the rows whose cells were overwritten.
        """
        cells = {c: _difference(ids, written.get(c)) for c, ids in self.cells.items()}
        return replace(self, cells=cells)

    def without_keys(self, undone: Edits) -> Edits:
        """Return the edits without the keys whose deletion or change has been undone."""
        deleted = _difference(self.deleted, undone.deleted)
        return replace(self, deleted=deleted, rekeyed=_difference(self.rekeyed, undone.rekeyed))


def _difference(values: NDArray[Any], others: NDArray[Any] | None) -> NDArray[Any]:
    return values if others is None else np.setdiff1d(values, others)


def _new_cells(table: Table, changes: Changes) -> dict[str, NDArray[np.int64]]:
    """Return a dict from column ids to the ids of rows with a new cell other than the default.

    Default values do not count, because a column may be added so that the source can fill it.
    """
    added, fields = {f.id for f in changes.schema.added}, table.schema.fields
    everywhere = table.ids(table.rows.live()) if added else NONE
    ids = {f.id: everywhere if f.id in added else changes.added for f in fields}
    return {f.id: _not_default(table, f, ids[f.id]) for f in fields if len(ids[f.id])}


def _not_default(table: Table, f: Field, ids: NDArray[np.int64]) -> NDArray[np.int64]:
    try:
        default = table.digest(f.id, f.htype.encode_default(1))
    except InvalidValueError:  # the column has no default
        return np.sort(ids)
    return np.sort(ids[table.digests(f.id, slots_of(table, ids)) != default])


class History:
    """The edits that people have made, as found in the commits of a lake.

    Parameters
    ----------
    ds : Dataset
        The lake.
    key : Field
        The column that identifies rows.
    """

    def __init__(self, ds: Dataset, key: Field) -> None:
        self._ds, self._key = ds, key
        self._lineage = Lineage.of(ds)
        self._known: dict[str, Edits] = {}

    def edits(self, version: str) -> Edits:
        """Return the edits that the rows of a version contain."""
        edited, since = Edits(), ""
        for step in self._events(version):
            commit = step.commit
            if commit.id not in self._known:
                if since:
                    edited = edited.union(self._edits_between(since, str(step.before)))
                self._known[commit.id] = self._after(step, edited)
            edited = self._known[commit.id]
            since = commit.id if edited.has_ingest else ""
        return edited.union(self._edits_between(since, version)) if since else edited

    def _events(self, version: str) -> list[Step]:
        """Return the ingests and merges up to a version, oldest first.

        They start with the last ingest or merge whose edits are already known, if there is one.
        """
        events = []
        for step in self._lineage.line(version):
            if METADATA_KEY in step.commit.metadata or step.merged is not None:
                events.append(step)
                if step.commit.id in self._known:
                    break
        return events[::-1]

    def _after(self, step: Step, before: Edits) -> Edits:
        """Return the edits after an ingest or merge, given the edits before it."""
        if step.merged is not None:
            return self._merge(step, before, step.merged)
        if any(map(len, before.cells.values())):
            before = before.without_cells(self._changes(str(step.before), step.commit.id).cells)
        return replace(before, has_ingest=True)

    def _merge(self, step: Step, ours: Edits, joined: str) -> Edits:
        """Return the edits after a step that merges the version `joined`.

        A cell counts as edited if it was edited in the version from which its merged value comes.
        An edited key no longer counts if either version has undone the edit since the merge base.
        """
        theirs = self.edits(joined)
        undone = self._undone(step, ours, theirs)
        sides = ((ours, str(step.before)), (theirs, joined))
        ours, theirs = (self._remaining(edited, v, step.commit.id) for edited, v in sides)
        edited = ours.union(theirs).without_keys(undone)
        return edited.union(self._edits_in_restore(step)) if step.is_restore else edited

    def _remaining(self, edited: Edits, version: str, merged: str) -> Edits:
        """Return the edits of a version without the cells that the version `merged` changes."""
        if not any(map(len, edited.cells.values())):
            return edited
        return edited.without_cells(self._changes(version, merged).cells)

    def _undone(self, step: Step, ours: Edits, theirs: Edits) -> Edits:
        """Return the edits of keys that the merge base has, but not both of the merged versions."""
        undone = Edits()
        if len(ours.deleted) or len(theirs.deleted) or len(ours.rekeyed) or len(theirs.rekeyed):
            for version in self._lineage.bases(step):
                base = self.edits(version)
                undone = undone.union(base.without_keys(ours)).union(base.without_keys(theirs))
        return undone

    def _edits_in_restore(self, step: Step) -> Edits:
        """Return the edits that were made in the same transaction as a restore.

        Cells that were edited differ from both the restored version and the merged version.
        """
        restored, joined = (
            self._edits_between(str(v), step.commit.id) for v in (step.before, step.merged)
        )
        cells = {
            c: np.intersect1d(ids, joined.cells.get(c, NONE)) for c, ids in restored.cells.items()
        }
        return replace(restored, cells=cells)

    def _changes(self, older: str, newer: str) -> Changes:
        return difference(self._open(older), self._open(newer), by_meaning=True)

    def _edits_between(self, older: str, newer: str) -> Edits:
        """Return the differences between two versions as edits. No ingest may lie between them."""
        if older == newer:
            return Edits()
        a, b = self._open(older), self._open(newer)
        changes = difference(a, b, by_meaning=True)
        deleted, rekeyed = self._keys(a, changes.removed), self._rekeyed(a, b, changes)
        return Edits(changes.cells, deleted, rekeyed).union(Edits(_new_cells(b, changes)))

    def _keys(self, table: Table, ids: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return the digests of the keys that rows have in a version."""
        key = self._key_in(table)
        return NO_KEYS if key is None else digests_by_value(table, key, slots_of(table, ids))

    def _rekeyed(self, a: Table, b: Table, changes: Changes) -> NDArray[np.uint64]:
        """Return the digests, in version `a`, of keys that have changed between `a` and `b`."""
        old, new = self._key_in(a), self._key_in(b)
        if old is None or new is None:
            return NO_KEYS
        if old.id == new.id:
            return self._keys(a, changes.cells.get(old.id, NONE))
        both = np.intersect1d(a.ids(a.rows.live()), b.ids(b.rows.live()))
        before, after = self._keys(a, both), self._keys(b, both)
        return np.asarray(before[before != after])

    def _key_in(self, table: Table) -> Field | None:
        """Return the key column in another version, which has the same id or else the same name.

        Return None if there is no such column.
        """
        by_id = next((f for f in table.schema if f.id == self._key.id), None)
        return by_id or next((f for f in table.schema if f.name == self._key.name), None)

    def _open(self, version: str) -> Table:
        return self._ds.handle.open(version)
