"""Which row of the lake has which key: looked up block by block, kept while rows are added.

Keys are compared by digest: equal values have equal ones, whatever their type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from deeplake_lite.errors import InvalidValueError
from deeplake_lite.storage.arrays import ChunkCache
from deeplake_lite.storage.column import Place
from deeplake_lite.storage.layouts import make_column

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.schema import Field
    from deeplake_lite.storage.table import Table


class Keys:
    """Slots of a table's rows by the digest of their key.

    Parameters
    ----------
    table : Table
        The version, with its pending edits.
    key : Field
        The column that tells rows apart.
    """

    def __init__(self, table: Table, key: Field) -> None:
        # A column of our own: `digest` is asked for in the thread that reads ahead, too.
        self._column = make_column(key.htype, Place(table.session, key.id, ChunkCache(), new=True))
        slots = table.rows.live()
        digests = table.digests(key.id, slots)
        order = np.argsort(digests, kind="stable")
        self._digests, self._slots = digests[order], slots[order]
        self._twice = np.append(self._digests[1:] == self._digests[:-1], False)
        self._added: dict[int, int] = {}
        self._name = key.name

    def digest(self, cells: Cells) -> NDArray[np.uint64]:
        """Return the digests of keys, (n,) uint64."""
        return self._column.digest(cells)

    def find(self, digests: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the slot of each key, (n,) int64; -1 where there is none.

        Raises
        ------
        InvalidValueError
            When two rows have one of the keys.
        """
        found = np.full(len(digests), -1, np.int64)
        if len(self._digests):
            at = np.minimum(np.searchsorted(self._digests, digests), len(self._digests) - 1)
            hit = self._digests[at] == digests
            self._check(self._twice[at[hit]])
            found[hit] = self._slots[at[hit]]
        for i in np.flatnonzero(found < 0).tolist() if self._added else ():
            found[i] = self._added.get(int(digests[i]), -1)
        return found

    def unique(self) -> Self:
        """Return these, of which every one tells rows apart. Raises InvalidValueError."""
        self._check(self._twice)
        return self

    def _check(self, twice: NDArray[np.bool_]) -> None:
        if twice.any():
            raise InvalidValueError(
                "the lake has rows with the same key. Delete all but one, or choose another key.",
                column=self._name,
            )

    def add(self, digests: NDArray[np.uint64], slots: NDArray[np.int64]) -> None:
        """Note rows that were added."""
        self._added.update(zip(digests.tolist(), slots.tolist(), strict=True))
