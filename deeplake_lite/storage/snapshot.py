"""What one version of the lake holds, by slot.

Steps: `Snapshot.open` reads the document of a version; columns open when they are first read. Sync
outside, async inside: this is where the two meet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from deeplake_lite.storage.arrays import MANY_ROWS, ChunkCache, Slots
from deeplake_lite.storage.checksums import Checksums
from deeplake_lite.storage.column import Column, Damage, Place
from deeplake_lite.storage.dense import DenseColumn
from deeplake_lite.storage.layouts import make_column
from deeplake_lite.storage.nested import NestedColumn
from deeplake_lite.storage.ragged import RaggedColumn
from deeplake_lite.storage.repo import gather, run
from deeplake_lite.storage.rows import Rows
from deeplake_lite.storage.state import State

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from deeplake_lite.htypes.base import Htype
    from deeplake_lite.htypes.cells import Cells, DenseCells, FlatCells
    from deeplake_lite.schema import Schema
    from deeplake_lite.storage.repo import Repository, Session


class Snapshot:
    """All columns of one version, by slot.

    Parameters
    ----------
    repository : Repository
        The lake.
    session : Session
        Where committed data is read from.
    state : State
        The version's document.
    cache : ChunkCache, optional
        Shared by those of one version.
    """

    def __init__(
        self,
        repository: Repository,
        session: Session,
        state: State,
        cache: ChunkCache | None = None,
    ) -> None:
        state = state.limited(repository.limits)
        self.repository, self.session, self.state = repository, session, state
        self.snapshot_id = session.snapshot_id
        self.committed = state
        """The document as it was committed; `state` has the open transaction's changes."""
        self._cache = cache or ChunkCache()
        self._columns: dict[str, Column] = {}
        self._new: set[str] = set()
        self.checksums = Checksums(session, state.generation, state.checksums)
        self.rows = Rows(self._place("rows"), ordered=state.ordered)

    @classmethod
    def open(cls, repository: Repository, session: Session) -> Self:
        """Read the document of the session's snapshot."""
        return run(cls._open(repository, session))

    @classmethod
    async def _open(cls, repository: Repository, session: Session) -> Self:
        found = cls(repository, session, State.from_json(await session.attributes()))
        await session.check_length(found.rows.ids.path, found.slots)
        if found.slots > MANY_ROWS:
            await found.rows.ids.check()
        await found.rows.load()
        return found

    @property
    def schema(self) -> Schema:
        """The columns, in order."""
        return self.state.schema

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Notes on the lake."""
        return self.state.metadata

    @property
    def slots(self) -> int:
        """How many slots there are, those of deleted rows too."""
        return self.rows.slots

    def __len__(self) -> int:
        return len(self.rows)

    def read(
        self,
        columns: Iterable[str],
        slots: Slots,
        into: Mapping[str, NDArray[Any]] | None = None,
    ) -> dict[str, Cells]:
        """Return the cells of `slots`, by column id.

        Parameters
        ----------
        into : mapping, optional
            Arrays that cells of one shape may be read to, by column id, which saves a copy.
        """
        return run(self._read(list(columns), slots, into))

    async def _read(
        self,
        columns: list[str],
        slots: Slots,
        into: Mapping[str, NDArray[Any]] | None = None,
    ) -> dict[str, Cells]:
        places = into or {}
        found = await gather(self._read_column(c, slots, places.get(c)) for c in columns)
        return dict(zip(columns, found, strict=True))

    async def _read_column(self, column: str, slots: Slots, out: NDArray[Any] | None) -> Cells:
        found = self._column(column)
        return await (
            found.read(slots, out) if isinstance(found, DenseColumn) else found.read(slots)
        )

    def flat(self, column: str, slots: Slots) -> FlatCells:
        """Return the bytes of the cells of `slots` of a ragged column, back to back."""
        found = self._column(column)
        assert isinstance(found, RaggedColumn), "only ragged columns are bytes"
        return run(found.read_flat(slots))

    def part(self, column: str, slots: Slots, index: tuple[Any, ...]) -> DenseCells | None:
        """Return an index of each cell of a column of one shape, by reading its bytes alone.

        None where that cannot be, or would save nothing.
        """
        found = self._column(column)
        return run(found.read_part(slots, index)) if isinstance(found, DenseColumn) else None

    def digests(self, column: str, slots: Slots) -> NDArray[np.uint64]:
        """Return (n,) uint64 digests of cells; equal cells have equal ones."""
        return run(self._column(column).digests(slots))

    def shapes(self, column: str, slots: Slots) -> NDArray[np.int32]:
        """Return (n, ndim) int32 shapes; -1 for axes that a cell does not have, as of a null."""
        found = self._column(column)
        if isinstance(found, RaggedColumn):
            return run(found.read_shapes(slots))
        if isinstance(found, NestedColumn):
            shapes = run(found.read_spans(slots))[:, 1:].astype(np.int32)
        else:
            shape = found.arrays["data"].spec.shape
            shapes = np.tile(np.array(shape, np.int32), (len(slots), 1))
        valid = run(found.read_valid(slots))
        if valid is not None:
            shapes[~valid] = -1
        return shapes

    def valid(self, column: str, slots: Slots) -> NDArray[np.bool_] | None:
        """Return which cells are not null, (n,) bool, without reading them; None for all."""
        return run(self._column(column).read_valid(slots))

    def in_chunks(
        self, column: str, slots: Slots, touched: Mapping[str, set[int]]
    ) -> NDArray[np.bool_]:
        """Tell which slots have their index in one of the chunks, given by path of the array."""
        found, hit = self._column(column), np.zeros(len(slots), bool)
        for name in {found.compared, "valid"} & set(found.arrays):
            array = found.arrays[name]
            if some := touched.get(array.path):
                marked = np.zeros(
                    max(int(slots.max(initial=0)) // array.spec.chunk_rows, *some) + 1, bool
                )
                marked[list(some)] = True
                hit |= marked[slots // array.spec.chunk_rows]
        return hit

    def digest(self, column: str, cells: Cells) -> NDArray[np.uint64]:
        """Return the digests that cells would have in a column, without storing them."""
        return self._column(column).digest(cells)

    def sizes(self, column: str, slots: Slots) -> NDArray[np.int64]:
        """Return the stored size of each cell, (n,) bytes, without reading them."""
        return run(self._column(column).sizes(slots))

    def nbytes(self, column: str, slots: Slots) -> int:
        """Return the stored size of cells, bytes, without reading them."""
        return int(self.sizes(column, slots).sum())

    def ids(self, slots: Slots) -> NDArray[np.int64]:
        """Return the row ids of slots."""
        return run(self.rows.ids_at(slots))

    def find(self, ids: NDArray[np.int64]) -> Slots:
        """Return the slot of the row with each id, -1 where there is none."""
        return run(self.rows.find(ids))

    def statistics(self, column: str) -> tuple[NDArray[Any], NDArray[np.int64]] | None:
        """Return a scalar column's committed bounds and counts per chunk; None for others."""
        found = self._column(column)
        return run(found.statistics()) if isinstance(found, DenseColumn) else None

    def chunk_rows(self, column: str) -> int:
        """Return how many slots each of a scalar column's `statistics` is of."""
        return self._column(column).arrays["data"].spec.chunk_rows

    def verify(self, column: str, slots: Slots) -> list[Damage]:
        """Read cells again and compare them with what was noted when they were written."""
        return run(self._column(column).verify(slots))

    def verify_rows(self) -> list[Damage]:
        """Read the index of the rows again, all slots of it."""
        return run(self.rows.verify())

    def _column(self, column: str) -> Column:
        if column not in self._columns:
            place = self._place(column, new=column in self._new)
            self._columns[column] = make_column(_htype(self.schema, column), place)
        return self._columns[column]

    def _place(self, name: str, *, new: bool = False) -> Place:
        """Return where the arrays of a column, or of the rows, are."""
        return Place(
            self.session,
            f"{self.state.generation}/{name}",
            self._cache,
            new=new,
            slots=self.committed.slots,
            lengths=self.committed.lengths,
            heaps=self.committed.heaps,
            checksums=self.checksums,
            checked=self.repository.checks_reads,
        )


def _htype(schema: Schema, column: str) -> Htype:
    return next(f.htype for f in schema if f.id == column)
