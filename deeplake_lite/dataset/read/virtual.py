"""Tables and columns that are not stored. Query results and other derived views read them.

A `VirtualColumn` has a type and returns cells for rows. A `VirtualTable` combines several columns
and implements `ReadTable`, so that a view of it is like any other view.
"""

from __future__ import annotations

import copy
import secrets
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import xxhash

from deeplake_lite.htypes.cells import DenseCells, FlatCells, NestedCells, RaggedCells, concat, take
from deeplake_lite.htypes.layouts import Dense, Ragged
from deeplake_lite.schema import Field, Schema
from deeplake_lite.storage.digests import digests_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from deeplake_lite.dataset.saved.question import Question
    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes import Htype
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.storage.array_spec import Index

type Rows = NDArray[np.int64]


NO_METADATA: Mapping[str, object] = MappingProxyType({})
"""Metadata of computed columns."""


class VirtualColumn(Protocol):
    """A column that returns the cells of given rows."""

    @property
    def htype(self) -> Htype:
        """The type of the cells."""
        ...

    @property
    def computed(self) -> bool:
        """Whether cells are computed on every read."""
        ...

    @property
    def metadata(self) -> Mapping[str, object]:
        """The metadata of the column, which is empty for computed columns."""
        ...

    def read(self, rows: Rows) -> Cells:
        """Return the cells of rows, in the order of `rows`."""
        ...

    def marks(self, rows: Rows) -> Iterable[NDArray[np.uint64]]:
        """Return arrays of numbers that identify the contents of rows, one number per row."""
        ...


@dataclass(frozen=True)
class ViewColumn:
    """A column whose cells are read from another view."""

    view: View
    field: Field
    positions: Rows
    """For each row of this column, its position in the other view, or -1 for a null."""

    @property
    def htype(self) -> Htype:
        """The type of the other view's column, made nullable if that view lacks some rows."""
        if (self.positions >= 0).all():
            return self.field.htype
        return replace(self.field.htype, nullable=True)

    @property
    def computed(self) -> bool:
        """Whether the other view computes the cells on every read."""
        return is_computed(self.view, self.field)

    @property
    def metadata(self) -> Mapping[str, object]:
        """The metadata of the other view's column."""
        return self.field.metadata

    def read(self, rows: Rows) -> Cells:
        """Return the stored cells of rows."""
        positions = self.positions[rows]
        missing = positions < 0
        present = positions[~missing]
        cells = self.view.rows.table.read([self.field.id], self.view.rows.at(present))[
            self.field.id
        ]
        if not missing.any():
            return cells
        # All missing rows read the same null cell, which is appended to the others.
        null = self.htype.encode([None])
        at = np.full(len(rows), len(present))
        at[~missing] = np.arange(len(present))
        return take(concat([cells, null]), at)

    def marks(self, rows: Rows) -> Iterable[NDArray[np.uint64]]:
        """Return the positions in the other view."""
        return [self.positions[rows].view(np.uint64)]

    def shapes(self, rows: Rows) -> NDArray[np.int32]:
        """Return the shapes of ragged cells, (n, ndim) int32, without reading the cells."""
        positions = self.positions[rows]
        present = positions >= 0
        shapes = self.view.rows.table.shapes(self.field.id, self.view.rows.at(positions[present]))
        out = np.full((len(rows), shapes.shape[1]), -1, np.int32)
        out[present] = shapes
        return out

    def sizes(self, rows: Rows) -> NDArray[np.int64]:
        """Return the size of each cell in bytes, (n,) int64, without reading the cells."""
        positions = self.positions[rows]
        present = positions >= 0
        sizes = self.view.rows.table.sizes(self.field.id, self.view.rows.at(positions[present]))
        out = np.zeros(len(rows), np.int64)
        out[present] = sizes
        return out


@dataclass(frozen=True, eq=False)
class MemoryColumn:
    """A column whose cells are in memory, one for each row."""

    htype: Htype
    """The type of the cells."""
    cells: Cells
    computed = False
    metadata = NO_METADATA

    def read(self, rows: Rows) -> Cells:
        """Return the cells of rows."""
        return take(self.cells, rows)

    def marks(self, rows: Rows) -> Iterable[NDArray[np.uint64]]:
        """Return an array of the digests of the cells."""
        return [digests_of(self.htype.layout, self.read(rows))]


class VirtualTable:
    """The table of a derived view. The slot of a row is its position, because no row is deleted.

    Parameters
    ----------
    columns : mapping
        Maps names to columns, in the order of the schema.
    count : int
        Number of rows.
    version : str
        Id of the commit from which the view was derived.
    ids : ndarray, (count,) int64, optional
        Ids of the rows, if they are the rows of one source. Without them, positions serve as ids.
    uncommitted : bool
        Whether the view was derived from an open transaction.
    question : Question, optional
        The query that computed the table, so that it can be run again.
    metadata : mapping, optional
        Metadata of the dataset from which the rows come. Columns that are read from another view
        keep their own metadata.
    """

    def __init__(
        self,
        columns: Mapping[str, VirtualColumn],
        count: int,
        version: str,
        *,
        ids: Rows | None = None,
        uncommitted: bool = False,
        question: Question | None = None,
        metadata: Mapping[str, object] | None = None,
    ) -> None:
        fields = [
            Field(name, f"c{secrets.token_hex(4)}", c.htype, dict(c.metadata))
            for name, c in columns.items()
        ]
        self.schema = Schema(tuple(fields))
        self.snapshot_id, self.uncommitted = version, uncommitted
        self.metadata: dict[str, object] = dict(metadata or {})
        """Metadata of the dataset."""
        self._columns = dict(zip((f.id for f in fields), columns.values(), strict=True))
        self._ids, self.slots, self.question = ids, count, question

    @property
    def is_in_slot_order(self) -> bool:
        """Whether the rows are in the order of their slots, which is always true."""
        return True

    def __len__(self) -> int:
        return self.slots

    def checked(self) -> VirtualTable:
        """Return this table for copying. Each read is verified, and raises DamagedError for damage.

        This concerns only `ViewColumn`, which reads from a lake. Other columns are computed or in
        memory.
        """
        taken = {id(c.view): c.view for c in self._columns.values() if isinstance(c, ViewColumn)}
        views = {key: view.checked() for key, view in taken.items()}
        columns = {
            name: replace(c, view=views[id(c.view)]) if isinstance(c, ViewColumn) else c
            for name, c in self._columns.items()
        }
        checked = copy.copy(self)
        vars(checked)["_columns"] = columns
        return checked

    def live(self) -> Rows:
        """Return the slots of all rows, which are their positions."""
        return np.arange(self.slots)

    def at(self, positions: Rows) -> Rows:
        """Return the slots of the rows at `positions`, which are equal to the positions."""
        return positions

    def column(self, column: str) -> VirtualColumn:
        """Return the column with an id."""
        return self._columns[column]

    def read(self, columns: Iterable[str], slots: Rows) -> dict[str, Cells]:
        """Return a dict that maps column ids to the cells of the rows in `slots`."""
        return {c: self._columns[c].read(slots) for c in columns}

    @property
    def has_ids(self) -> bool:
        """Whether all rows come from a single source, and have the ids of that source."""
        return self._ids is not None

    def flat(self, column: str, slots: Rows) -> FlatCells:
        """Return the concatenated bytes of a ragged column's cells."""
        cells = self.read([column], slots)[column]
        assert isinstance(cells, RaggedCells), "only ragged columns are bytes"
        return FlatCells.of(cells)

    def part(self, column: str, slots: Rows, index: Index) -> None:  # noqa: ARG002
        """Return None, because computed cells have no stored bytes that could be read in part."""
        return

    def ranges(
        self,
        column: str,  # noqa: ARG002
        slots: Rows,  # noqa: ARG002
        starts: NDArray[np.int64],  # noqa: ARG002
        lengths: NDArray[np.int64],  # noqa: ARG002
    ) -> None:
        """Return None, because computed cells have no stored bytes that could be read in part."""
        return

    def ids(self, slots: Rows) -> Rows:
        """Return the ids of rows."""
        return slots if self._ids is None else self._ids[slots]

    def fingerprint(self, slots: Rows) -> str:
        """Return a hash that identifies rows by their ids or, without ids, by their contents."""
        digest = xxhash.xxh3_64()
        for array in self._marks(slots):
            digest.update(np.ascontiguousarray(array))
        return digest.hexdigest()

    def _marks(self, slots: Rows) -> Iterator[NDArray[Any]]:
        if self._ids is not None:
            yield self._ids[slots]
            return
        for column in self._columns.values():
            yield from column.marks(slots)

    def positions(self) -> Iterator[Rows]:
        """Yield the arrays with the rows' positions in other views, each distinct array once."""
        arrays = (c.positions for c in self._columns.values() if isinstance(c, ViewColumn))
        yield from {id(positions): positions for positions in arrays}.values()

    def shapes(self, column: str, slots: Rows) -> NDArray[np.int32]:
        """Return the shapes of cells, (n, ndim) int32, with -1 for missing axes."""
        source = self._columns[column]
        if isinstance(source, ViewColumn) and isinstance(source.htype.layout, Ragged):
            return source.shapes(slots)
        match self.read([column], slots)[column]:
            case RaggedCells(shapes=shapes):
                return shapes
            case NestedCells(counts, _, valid):
                shapes = counts.astype(np.int32)[:, np.newaxis]
            case DenseCells(values, valid):
                shapes = np.tile(np.array(values.shape[1:], np.int32), (len(values), 1))
        return shapes if valid is None else np.where(valid[:, np.newaxis], shapes, np.int32(-1))

    def sizes(self, column: str, slots: Rows) -> NDArray[np.int64]:
        """Return the size of each cell in bytes, (n,) int64."""
        source = self._columns[column]
        if isinstance(source, ViewColumn) and not isinstance(source.htype.layout, Dense):
            return source.sizes(slots)
        return sizes_of(self.read([column], slots)[column])

    def valid(self, column: str, slots: Rows) -> NDArray[np.bool_] | None:
        """Return a mask of the cells that are not null, (n,) bool, or None if no cell is null."""
        return self.read([column], slots)[column].valid

    def nbytes(self, column: str, slots: Rows) -> int:
        """Return the total size of cells in bytes."""
        return int(self.sizes(column, slots).sum())

    def statistics(self, column: str) -> None:  # noqa: ARG002
        """Return None, because computed values have no statistics."""
        return

    def digests(self, column: str, slots: Rows) -> NDArray[np.uint64]:
        """Return digests of cells, (n,) uint64. Equal cells have equal digests."""
        layout = self._columns[column].htype.layout
        return digests_of(layout, self.read([column], slots)[column])


def sizes_of(cells: Cells) -> NDArray[np.int64]:
    """Return the size of each cell in bytes, (n,) int64.

    >>> sizes_of(RaggedCells([b"ab", b""], np.empty((2, 0), np.int32))).tolist()
    [2, 0]
    """
    match cells:
        case DenseCells(values):
            cell_bytes = values.dtype.itemsize * int(np.prod(values.shape[1:]))
            return np.full(len(values), cell_bytes, np.int64)
        case RaggedCells(buffers):
            return np.fromiter((memoryview(b).nbytes for b in buffers), np.int64, len(buffers))
        case NestedCells(counts, items):
            totals = np.concatenate([[0], np.cumsum(sizes_of(items))])
            ends = np.cumsum(counts)
            return np.asarray(totals[ends] - totals[ends - counts], np.int64)


def source_of(view: View, f: Field) -> tuple[object, str]:
    """Return the table from which a column's values come, and the column's id in that table."""
    table: Any = view.rows.table
    while isinstance(table, VirtualTable):
        column = table.column(f.id)
        if not isinstance(column, ViewColumn):
            break
        table, f = column.view.rows.table, column.field
    return table, f.id


def is_computed(view: View, f: Field) -> bool:
    """Return whether the cells of a column are computed on every read."""
    table = view.rows.table
    return isinstance(table, VirtualTable) and table.column(f.id).computed


def question_of(view: View) -> Question | None:
    """Return the query whose result a view shows, or None if it shows rows of a lake."""
    return view.rows.table.question if isinstance(view.rows.table, VirtualTable) else None
