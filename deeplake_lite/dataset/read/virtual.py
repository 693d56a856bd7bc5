"""Columns that are not stored: what a query's result, or any other derived view, reads from.

A `VirtualColumn` has a type and gives cells for rows. A `VirtualTable` holds some, and answers what
a view asks of a stored version, so that a view on it is a view like any other.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
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

type Rows = NDArray[np.int64]


class VirtualColumn(Protocol):
    """A column that gives cells for rows."""

    @property
    def htype(self) -> Htype:
        """What the cells mean."""
        ...

    @property
    def computed(self) -> bool:
        """Whether a row is computed whenever it is read."""
        ...

    def read(self, rows: Rows) -> Cells:
        """Return the cells of some rows, in their order."""
        ...

    def marks(self, rows: Rows) -> Iterable[NDArray[np.uint64]]:
        """Return what some rows are made of, as numbers of an entry per row."""
        ...


@dataclass(frozen=True)
class TakenColumn:
    """A column of another view, at some of its rows."""

    view: View
    field: Field
    positions: Rows
    """Row of the view for each of ours; -1 where there is none, which reads as null."""

    @property
    def htype(self) -> Htype:
        """The column's own; nullable where a row is missing."""
        if (self.positions >= 0).all():
            return self.field.htype
        return replace(self.field.htype, nullable=True)

    @property
    def computed(self) -> bool:
        """Whether a row is computed whenever it is read: as that of the other view is."""
        return is_computed(self.view, self.field)

    def read(self, rows: Rows) -> Cells:
        """Return the cells of some rows, as they are stored."""
        positions = self.positions[rows]
        missing = positions < 0
        present = positions[~missing]
        cells = self.view.rows.table.read([self.field.id], self.view.rows.at(present))[
            self.field.id
        ]
        if not missing.any():
            return cells
        null = self.htype.encode([None])
        at = np.full(len(rows), len(present))
        at[~missing] = np.arange(len(present))
        return take(concat([cells, null]), at)

    def marks(self, rows: Rows) -> Iterable[NDArray[np.uint64]]:
        """Return the rows of the other view."""
        return [self.positions[rows].view(np.uint64)]

    def shapes(self, rows: Rows) -> NDArray[np.int32]:
        """Return (n, ndim) int32 shapes of cells of varying size; nothing else is read."""
        positions = self.positions[rows]
        there = positions >= 0
        found = self.view.rows.table.shapes(self.field.id, self.view.rows.at(positions[there]))
        out = np.full((len(rows), found.shape[1]), -1, np.int32)
        out[there] = found
        return out

    def sizes(self, rows: Rows) -> NDArray[np.int64]:
        """Return the size of each cell, bytes; nothing else is read."""
        positions = self.positions[rows]
        there = positions >= 0
        out = np.zeros(len(rows), np.int64)
        out[there] = self.view.rows.table.sizes(self.field.id, self.view.rows.at(positions[there]))
        return out


@dataclass(frozen=True, eq=False)
class KnownColumn:
    """Cells that are there already, one for each row."""

    htype: Htype
    """What they mean."""
    cells: Cells
    computed = False

    def read(self, rows: Rows) -> Cells:
        """Return the cells of some rows."""
        return take(self.cells, rows)

    def marks(self, rows: Rows) -> Iterable[NDArray[np.uint64]]:
        """Return the digests of the cells."""
        return [digests_of(self.htype.layout, self.read(rows))]


class VirtualTable:
    """The rows of a derived view.

    Parameters
    ----------
    columns : mapping
        By name, in order.
    count : int
        Rows.
    version : str
        Id of the commit that it was derived from.
    ids : ndarray, (count,) int64, optional
        Ids of the rows where they are rows of one source; positions otherwise.
    uncommitted : bool
        Whether it was derived from an open transaction.
    question : Question, optional
        What was asked, to ask it again.
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
    ) -> None:
        fields = [Field(n, f"c{secrets.token_hex(4)}", c.htype) for n, c in columns.items()]
        self.schema = Schema(tuple(fields))
        self.snapshot_id, self.uncommitted = version, uncommitted
        self.metadata: dict[str, Any] = {}
        """Notes on the dataset, of which what is derived has none."""
        self._columns = dict(zip((f.id for f in fields), columns.values(), strict=True))
        self._ids, self.slots, self.question = ids, count, question

    def __len__(self) -> int:
        return self.slots

    def live(self) -> Rows:
        """Return the slots of all rows: their positions."""
        return np.arange(self.slots)

    def at(self, positions: Rows) -> Rows:
        """Return the slots of the rows at some positions: the positions."""
        return positions

    def column(self, column: str) -> VirtualColumn:
        """Return what gives the cells of a column, by its id."""
        return self._columns[column]

    def read(self, columns: Iterable[str], slots: Rows) -> dict[str, Cells]:
        """Return the cells of some rows, by column id."""
        return {c: self._columns[c].read(slots) for c in columns}

    @property
    def has_ids(self) -> bool:
        """Whether the rows are rows of one source, and have their ids."""
        return self._ids is not None

    def flat(self, column: str, slots: Rows) -> FlatCells:
        """Return the bytes of the cells of some rows of a ragged column, back to back."""
        cells = self.read([column], slots)[column]
        assert isinstance(cells, RaggedCells), "only ragged columns are bytes"
        return FlatCells.of(cells)

    def part(self, column: str, slots: Rows, index: tuple[Any, ...]) -> None:  # noqa: ARG002
        """Return None: what is computed has no bytes to read a part of."""
        return

    def ids(self, slots: Rows) -> Rows:
        """Return the ids of some rows."""
        return slots if self._ids is None else self._ids[slots]

    def fingerprint(self, slots: Rows) -> str:
        """Return a hash of which rows some are: by their ids, or else what they are made of."""
        found = xxhash.xxh3_64()
        for array in self._marks(slots):
            found.update(np.ascontiguousarray(array))
        return found.hexdigest()

    def _marks(self, slots: Rows) -> Iterator[NDArray[Any]]:
        if self._ids is not None:
            yield self._ids[slots]
            return
        for column in self._columns.values():
            yield from column.marks(slots)

    def positions(self) -> Iterator[Rows]:
        """Yield the positions in other views of the rows that columns take from there."""
        taken = (c.positions for c in self._columns.values() if isinstance(c, TakenColumn))
        yield from {id(positions): positions for positions in taken}.values()

    def shapes(self, column: str, slots: Rows) -> NDArray[np.int32]:
        """Return (n, ndim) int32 shapes; -1 for axes that a cell does not have."""
        source = self._columns[column]
        if isinstance(source, TakenColumn) and isinstance(source.htype.layout, Ragged):
            return source.shapes(slots)
        match self.read([column], slots)[column]:
            case RaggedCells(shapes=shapes):
                return shapes
            case NestedCells(counts, _, valid):
                found = counts.astype(np.int32)[:, np.newaxis]
            case DenseCells(values, valid):
                found = np.tile(np.array(values.shape[1:], np.int32), (len(values), 1))
        return found if valid is None else np.where(valid[:, np.newaxis], found, np.int32(-1))

    def sizes(self, column: str, slots: Rows) -> NDArray[np.int64]:
        """Return the size of each cell, bytes."""
        source = self._columns[column]
        if isinstance(source, TakenColumn) and not isinstance(source.htype.layout, Dense):
            return source.sizes(slots)
        return sizes_of(self.read([column], slots)[column])

    def valid(self, column: str, slots: Rows) -> NDArray[np.bool_] | None:
        """Return which cells are not null, (n,) bool; None for all."""
        return self.read([column], slots)[column].valid

    def nbytes(self, column: str, slots: Rows) -> int:
        """Return the size of cells, bytes."""
        return int(self.sizes(column, slots).sum())

    def statistics(self, column: str) -> None:  # noqa: ARG002
        """Return None: nothing is known of values before they are computed."""
        return

    def digests(self, column: str, slots: Rows) -> NDArray[np.uint64]:
        """Return (n,) uint64 digests of cells: those that stored ones of the type have."""
        layout = self._columns[column].htype.layout
        return digests_of(layout, self.read([column], slots)[column])


def sizes_of(cells: Cells) -> NDArray[np.int64]:
    """Return the size of each cell, bytes.

    >>> sizes_of(RaggedCells([b"ab", b""], np.empty((2, 0), np.int32))).tolist()
    [2, 0]
    """
    match cells:
        case DenseCells(values):
            each = values.dtype.itemsize * int(np.prod(values.shape[1:]))
            return np.full(len(values), each, np.int64)
        case RaggedCells(buffers):
            return np.fromiter((memoryview(b).nbytes for b in buffers), np.int64, len(buffers))
        case NestedCells(counts, items):
            ends = np.concatenate([[0], np.cumsum(sizes_of(items))])
            at = np.cumsum(counts)
            return np.asarray(ends[at] - ends[at - counts], np.int64)


def source_of(view: View, f: Field) -> tuple[Any, str]:
    """Return where the values of a column are taken from: a table, and the id that it has there."""
    table: Any = view.rows.table
    while isinstance(table, VirtualTable):
        column = table.column(f.id)
        if not isinstance(column, TakenColumn):
            break
        table, f = column.view.rows.table, column.field
    return table, f.id


def is_computed(view: View, f: Field) -> bool:
    """Tell whether the rows of a column are computed whenever they are read."""
    table = view.rows.table
    return isinstance(table, VirtualTable) and table.column(f.id).computed


def question_of(view: View) -> Question | None:
    """Return the query whose result a view's rows are; None for rows of a lake."""
    return view.rows.table.question if isinstance(view.rows.table, VirtualTable) else None
