"""The rows in which a version differs from the older version for which an index was built."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.dataset.versions.changes import find_touched
from deeplake_lite.dataset.versions.pairs import pair_rows
from deeplake_lite.storage.table import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.index.stored import StoredIndex
    from deeplake_lite.index.vector_index import Cache


@dataclass(frozen=True, eq=False)
class Delta:
    """The places of an index's rows in a later version."""

    current: NDArray[np.int64]
    """For each slot of the indexed version, the slot of the same row in the later version, or -1 if
    the row was deleted or its cell in the column was changed, (slots,)."""
    changed: NDArray[np.int64]
    """Slots, in the later version and in ascending order, of the rows that the index does not
    cover: rows that were added, and rows whose cell was changed."""

    @property
    def nbytes(self) -> int:
        """Size in memory."""
        return self.current.nbytes + self.changed.nbytes

    @classmethod
    def find(cls, stored: StoredIndex, table: Table, cache: Cache) -> Delta:
        """Compare the column of an index in its version and in another table.

        The comparison of two versions is cached. The edits of an open transaction are added to it.

        Raises
        ------
        VersionNotFoundError
            When the version of the index no longer exists.
        """
        name, repository = stored.name, table.repository
        key = repository.url, table.snapshot_id, name.key, "delta"
        delta: Delta | None = cache.get(key)
        if delta is None:
            committed = table.clean()
            older = committed
            if name.version != table.snapshot_id:
                older = Table.open(repository, repository.reader(name.version))
            delta = cls.between(older, committed, name.column)
            cache.put(key, delta)
        return delta.with_edits(table, name.column) if table.edits else delta

    def with_edits(self, table: Table, column: str) -> Delta:
        """Return the delta after the edits of an open transaction."""
        edits = table.edits
        assert edits is not None, "the table has an open transaction"
        updated = edits.slots_updated(column)
        is_gone = np.zeros(table.slots, bool)
        is_gone[table.rows.order.deleted.slots()] = True
        differs = is_gone.copy()
        differs[updated] = True
        current = self.current.copy()
        kept = np.flatnonzero(current >= 0)
        current[kept[differs[current[kept]]]] = -1
        added = np.arange(table.committed.slots, table.slots)
        changed = np.union1d(np.union1d(self.changed, updated), added)
        return Delta(current, changed[~is_gone[changed]])

    @classmethod
    def between(cls, older: Table, newer: Table, column: str) -> Delta:
        """Compare a column in two versions, matching rows by id and cells by digest.

        Transaction logs tell which cells may differ. Without logs, as after `optimize`, all cells
        are compared.
        """
        if older.snapshot_id == newer.snapshot_id:
            current = np.full(older.slots, -1)
            live = older.live()
            current[live] = live
            return cls(current, np.empty(0, np.int64))
        pairs = pair_rows(older, newer, find_touched(older, newer))
        current = np.full(older.slots, -1)
        same = pairs.same.slots()
        current[same] = same
        current[pairs.a] = pairs.b
        for a, b in pairs.candidates(column):
            unequal = older.digests(column, a) != newer.digests(column, b)
            current[a[unequal]] = -1
        is_known = np.zeros(newer.slots, bool)
        is_known[current[current >= 0]] = True
        live = np.sort(newer.live())
        return cls(current, live[~is_known[live]])
