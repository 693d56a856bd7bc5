"""The rows in which a version differs from the version for which an index was built."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.dataset.versions.changes import find_touched
from deeplake_lite.dataset.versions.pairs import pair_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.storage.table import Table


@dataclass(frozen=True, eq=False)
class Delta:
    """Where the rows of an indexed version are in a later version."""

    current: NDArray[np.int64]
    """For each slot of the indexed version, the slot of the same row in the later version, or -1 if
    the row was deleted or its cell in the column was changed, (slots,)."""
    changed: NDArray[np.int64]
    """Slots of the rows of the later version that the index does not have, ascending: added rows
    and rows whose cell was changed."""

    @property
    def nbytes(self) -> int:
        """Size in memory."""
        return self.current.nbytes + self.changed.nbytes

    @classmethod
    def between(cls, older: Table, newer: Table, column: str) -> Delta:
        """Compare a column in two versions. Rows are matched by id, and cells by digest.

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
