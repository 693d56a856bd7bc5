"""The interface between views and storage: a selection of rows of one table of a lake.

A view holds a `RowSelection`. Its table is a version of a lake (`storage.Table`) or the result of a
query (`read.virtual.VirtualTable`). Any class that implements `ReadTable` can back a view, which
can then be read, exported, loaded and browsed like any other.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, Self

from deeplake_lite.errors import UncommittedError
from deeplake_lite.lazy import LazyModule

if TYPE_CHECKING:
    from collections.abc import Buffer, Iterable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from deeplake_lite.dataset.versions import diff as diffs
    from deeplake_lite.htypes.cells import Cells, DenseCells, FlatCells
    from deeplake_lite.schema import Schema
    from deeplake_lite.storage.array_spec import Index
    from deeplake_lite.storage.repo import Repository
else:
    diffs = LazyModule("deeplake_lite.dataset.versions.diff")


class ReadTable(Protocol):
    """A table from which views read. Columns are identified by id, and rows by slot.

    A slot is the index at which this table stores a row. The same slot of another table may have
    another row.
    """

    @property
    def snapshot_id(self) -> str:
        """Id of the commit that the table shows, or from which it was derived."""
        ...

    @property
    def schema(self) -> Schema:
        """The columns and their types, in the order in which they are shown."""
        ...

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The user's metadata of the dataset."""
        ...

    @property
    def slots(self) -> int:
        """Number of slots, including those of deleted rows."""
        ...

    @property
    def uncommitted(self) -> bool:
        """Whether the table has uncommitted edits, or was derived from a table that has some.

        The edits may cancel each other out; see `RowSelection.uncommitted`.
        """
        ...

    @property
    def has_ids(self) -> bool:
        """Whether the rows have ids that identify them in every version of the lake."""
        ...

    @property
    def is_in_slot_order(self) -> bool:
        """Whether the rows are in the order of their slots."""
        ...

    def __len__(self) -> int: ...

    def live(self) -> NDArray[np.int64]:
        """Return the slots of all rows, in the order of the rows."""
        ...

    def at(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the slots of the rows at the given positions."""
        ...

    def ids(self, slots: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the ids of the rows in `slots`."""
        ...

    def read(self, columns: Iterable[str], slots: NDArray[np.int64]) -> dict[str, Cells]:
        """Return a dict that maps column ids to the cells in `slots`."""
        ...

    def flat(self, column: str, slots: NDArray[np.int64]) -> FlatCells:
        """Return the concatenated bytes of a ragged column's cells."""
        ...

    def part(self, column: str, slots: NDArray[np.int64], index: Index) -> DenseCells | None:
        """Return the part of each cell that `index` selects, or None if `read` would be as fast."""
        ...

    def ranges(
        self,
        column: str,
        slots: NDArray[np.int64],
        starts: NDArray[np.int64],
        lengths: NDArray[np.int64],
    ) -> list[Buffer] | None:
        """Return a range of the bytes of each cell of a ragged column, or None if that fails."""
        ...

    def shapes(self, column: str, slots: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the shapes of cells, (n, ndim) int32, with -1 for missing axes."""
        ...

    def sizes(self, column: str, slots: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the stored size of each cell in bytes, (n,) int64."""
        ...

    def nbytes(self, column: str, slots: NDArray[np.int64]) -> int:
        """Return the total stored size of cells, in bytes."""
        ...

    def valid(self, column: str, slots: NDArray[np.int64]) -> NDArray[np.bool_] | None:
        """Return a mask of the cells that are not null, (n,) bool, or None if no cell is null."""
        ...

    def digests(self, column: str, slots: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return the digests of cells, (n,) uint64. Equal cells have equal digests."""
        ...

    def statistics(self, column: str) -> tuple[NDArray[Any], NDArray[np.int64]] | None:
        """Return the bounds and counts of each chunk of a scalar column, or None if unknown."""
        ...

    def checked(self) -> ReadTable:
        """Return this table for copying. Each read is verified; damage raises DamagedError."""
        ...


@dataclass(frozen=True)
class Lake:
    """The lake of a handle and its views, with the branch or version that the handle is on."""

    repository: Repository
    """The repository that holds the versions."""
    options: Mapping[str, object] = field(repr=False)
    """Storage options of the object store."""
    allow: tuple[str, ...] = ()
    """Roots under which linked files may be read."""
    branch: str | None = None
    """The branch that the handle is on, or None for a fixed version."""
    name: str = ""
    """The branch, tag, commit or time at which the handle was opened, or an empty string."""

    def at(self, branch: str | None, name: str) -> Lake:
        """Return this lake for a handle that is on another branch, or at another version."""
        return replace(self, branch=branch, name=name)


@dataclass(frozen=True, eq=False)
class RowSelection:
    """Some rows of one table, in the order in which a view shows them."""

    lake: Lake
    """The lake of the table."""
    table: ReadTable
    """The table from which the rows are read."""
    slots: NDArray[np.int64] | None = None
    """Slots of the rows, (n,) int64, or None for all rows of the table."""

    @property
    def uncommitted(self) -> bool:
        """Whether the table has uncommitted edits that do not cancel each other out."""
        return diffs.has_net_effect(self.table)

    def __len__(self) -> int:
        return len(self.table) if self.slots is None else len(self.slots)

    def live(self) -> NDArray[np.int64]:
        """Return the slots of all selected rows, (n,) int64."""
        return self.table.live() if self.slots is None else self.slots

    def at(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the slots of the selected rows at the given positions."""
        return self.table.at(positions) if self.slots is None else self.slots[positions]

    def locate(
        self, positions: NDArray[np.int64] | None = None
    ) -> tuple[ReadTable, NDArray[np.int64]]:
        """Return the table and the slots of the rows at `positions`, or of all rows."""
        return self.table, self.live() if positions is None else self.at(positions)

    def checked(self) -> Self:
        """Return these rows for copying. Each read is verified; damage raises DamagedError."""
        return replace(self, table=self.table.checked())

    def take(self, positions: NDArray[np.int64]) -> Self:
        """Return the selected rows at the given positions."""
        return replace(self, slots=self.at(positions))

    def with_slots(self, slots: NDArray[np.int64]) -> Self:
        """Return a selection of the rows of the same table that are in `slots`."""
        return replace(self, slots=slots)

    def check_committed(self, purpose: str) -> None:
        """Raise UncommittedError if the rows include uncommitted edits.

        Parameters
        ----------
        purpose : str
            The subject of the message, such as ``"Pickling"``.
        """
        if self.uncommitted:
            raise UncommittedError(
                f"{purpose} needs committed rows. Commit first: ds.commit('…'). A view always "
                "shows the rows that it was created from, so create it again after the commit."
            )
