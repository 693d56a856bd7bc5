"""One version of the lake, for reading. Cells are addressed by column id and slot.

`Snapshot.open` reads the root document of a version. A column is opened when it is first read. The
methods of this class are synchronous, and use `run` to call lower-level code, which is
asynchronous.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from deeplake_lite.errors import DamagedError
from deeplake_lite.storage import chunks
from deeplake_lite.storage.checksums import Checksums
from deeplake_lite.storage.chunk_cache import ChunkCache
from deeplake_lite.storage.column import Column, Damage, Location
from deeplake_lite.storage.dense import DenseColumn
from deeplake_lite.storage.layouts import make_column
from deeplake_lite.storage.nested import NestedColumn
from deeplake_lite.storage.ragged import RaggedColumn
from deeplake_lite.storage.repo import gather, run
from deeplake_lite.storage.rows import Rows
from deeplake_lite.storage.slot_set import SlotSet
from deeplake_lite.storage.state import State
from deeplake_lite.storage.stored_array import MANY_ROWS, Slots

if TYPE_CHECKING:
    from collections.abc import Buffer, Iterable, Mapping

    from numpy.typing import NDArray

    from deeplake_lite.htypes.base import Htype
    from deeplake_lite.htypes.cells import Cells, DenseCells, FlatCells
    from deeplake_lite.schema import Schema
    from deeplake_lite.storage.array_spec import Index
    from deeplake_lite.storage.arrays import SlotArray
    from deeplake_lite.storage.repo import Repository, Session
    from deeplake_lite.storage.touched import Touched


class Snapshot:
    """All columns of one version, addressed by slot.

    Parameters
    ----------
    repository : Repository
        The lake.
    session : Session
        The session from which committed data is read.
    state : State
        The version's document.
    cache : ChunkCache, optional
        A cache that is shared by objects of the same version.
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
        """The committed document. In contrast, `state` includes the open transaction's changes."""
        self._cache = cache or ChunkCache()
        self._columns: dict[str, Column] = {}
        self._new: set[str] = set()
        self._is_source = False
        self.checksums = Checksums(session, state.generation, state.checksums)
        self.rows = Rows(self._locate("rows"), ordered=state.ordered)

    @classmethod
    def open(cls, repository: Repository, session: Session) -> Self:
        """Open the version that the session reads."""
        return run(cls._open(repository, session))

    @classmethod
    async def _open(cls, repository: Repository, session: Session) -> Self:
        snapshot = cls(repository, session, State.from_json(await session.attributes()))
        await snapshot.rows.ids.check_length()
        if snapshot.slots > MANY_ROWS:  # a wrong number could take all memory later
            await snapshot.rows.ids.check()
        await snapshot.rows.load()
        return snapshot

    def checked(self) -> Self:
        """Return a read-only copy of this table, as a source from which cells are copied.

        Cells that are copied get new hashes, which would hide damage. So everything that is read
        from a source, including pending edits, is verified against its checksums and hashes, and
        reading a damaged cell raises an error.
        """
        source = copy.copy(self)
        source._is_source = True
        source.repository, source._cache = self.repository.checking(), ChunkCache()
        source._columns = {n: c.checked(source._cache) for n, c in self._columns.items()}
        source.rows = self.rows.checked(source._cache)
        return source

    @property
    def schema(self) -> Schema:
        """Names and types of the columns."""
        return self.state.schema

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The user's metadata for the dataset."""
        return self.state.metadata

    @property
    def slots(self) -> int:
        """Number of slots, including the slots of deleted rows."""
        return self.rows.slots

    @property
    def uncommitted(self) -> bool:
        """Whether the table has uncommitted edits."""
        return False

    @property
    def has_ids(self) -> bool:
        """Whether the rows have ids, which is always true in a lake."""
        return True

    @property
    def is_in_slot_order(self) -> bool:
        """Whether the rows are in the order of their slots."""
        return self.rows.order.arranged is None

    def __len__(self) -> int:
        return len(self.rows)

    def live(self) -> Slots:
        """Return the slots of all rows, in row order."""
        if self._is_source:
            run(self.rows.check_order())
        return self.rows.live()

    def at(self, positions: NDArray[np.int64]) -> Slots:
        """Return the slots of the rows at the given positions."""
        return self.rows.at(positions)

    def read(
        self,
        columns: Iterable[str],
        slots: Slots,
        into: Mapping[str, NDArray[Any]] | None = None,
    ) -> dict[str, Cells]:
        """Return the cells of `slots`, in a dict that maps column ids to cells.

        Parameters
        ----------
        into : mapping, optional
            A dict that maps ids of dense columns to arrays, into which cells may be read directly
            to avoid a copy.

        Raises
        ------
        DamagedError
            When a cell cannot be read. If this is a source (see `checked`), the error names the
            column and the row.
        """
        return run(self._read(list(columns), slots, into))

    async def _read(
        self,
        columns: list[str],
        slots: Slots,
        into: Mapping[str, NDArray[Any]] | None = None,
    ) -> dict[str, Cells]:
        outs = into or {}
        try:
            cells = await gather(self._read_column(c, slots, outs.get(c)) for c in columns)
        except DamagedError:
            if self._is_source:
                await self._name_damage(columns, slots)
            raise
        return dict(zip(columns, cells, strict=True))

    async def _cut(self, columns: list[str], slots: Slots) -> list[Slots]:
        """Cut `slots` into parts whose cells fit into memory, as far as the sizes can be read."""
        try:
            sizes = await gather(self._column(c).sizes(slots) for c in columns)
        except DamagedError:
            return [slots]  # reading them raises an error that names the damaged cell
        total = np.sum([np.zeros(len(slots), np.int64), *sizes], axis=0)
        return [slots[span] for span in chunks.spans_within(total, chunks.COPY_BYTES)]

    async def _name_damage(self, columns: list[str], slots: Slots) -> None:
        """Raise a DamagedError with the column and row of the first damaged cell, if any."""
        for column in columns:
            for damage in await self._column(column).verify(slots):
                if damage.slot is not None:
                    raise self._damaged(column, damage.slot, damage.reason)

    def _damaged(self, column: str, slot: int, reason: str) -> DamagedError:
        name = next(f.name for f in self.schema if f.id == column)
        row = int(self.rows.positions(np.array([slot]))[0])
        return DamagedError(
            f"column {name!r}, row {row:,} of version {self.snapshot_id} of "
            f"{self.repository.url!r}: only intact cells can be copied, but this one is damaged: "
            f"{reason.rpartition('. ')[0] or reason}. Nothing was changed. List all damage with "
            "ds.verify(). Then restore the lake from a backup, write the damaged rows again, or "
            f"delete them, as in ds.delete([{row}])."
        )

    async def _read_column(self, name: str, slots: Slots, out: NDArray[Any] | None) -> Cells:
        column = self._column(name)
        return await (
            column.read(slots, out) if isinstance(column, DenseColumn) else column.read(slots)
        )

    def flat(self, column: str, slots: Slots) -> FlatCells:
        """Return the concatenated bytes of the cells of a ragged column in `slots`."""
        ragged = self._column(column)
        assert isinstance(ragged, RaggedColumn), "only ragged columns have bytes"
        return run(ragged.read_flat(slots))

    def part(self, column: str, slots: Slots, index: Index) -> DenseCells | None:
        """Return ``cell[index]`` for each cell of a dense column, reading only the required bytes.

        Return None if that is not possible or would save nothing.
        """
        dense = self._column(column)
        return run(dense.read_part(slots, index)) if isinstance(dense, DenseColumn) else None

    def ranges(
        self, column: str, slots: Slots, starts: NDArray[np.int64], lengths: NDArray[np.int64]
    ) -> list[Buffer] | None:
        """Return a range of the bytes of each cell of a ragged column; see `read_ranges`."""
        ragged = self._column(column)
        assert isinstance(ragged, RaggedColumn), "only ragged columns have bytes"
        return run(ragged.read_ranges(slots, starts, lengths))

    def digests(self, column: str, slots: Slots) -> NDArray[np.uint64]:
        """Return digests of cells, (n,) uint64. Equal cells have equal digests."""
        return run(self._column(column).digests(slots))

    def shapes(self, column: str, slots: Slots) -> NDArray[np.int32]:
        """Return the shapes of cells, (n, ndim) int32. Axes that a cell or a null lacks are -1."""
        stored = self._column(column)
        if isinstance(stored, RaggedColumn):
            return run(stored.read_shapes(slots))
        if isinstance(stored, NestedColumn):
            shapes = run(stored.read_spans(slots))[:, 1:].astype(np.int32)
        else:
            shape = stored.arrays["data"].spec.shape
            shapes = np.tile(np.array(shape, np.int32), (len(slots), 1))
        valid = run(stored.read_valid(slots))
        if valid is not None:
            shapes[~valid] = -1
        return shapes

    def valid(self, column: str, slots: Slots) -> NDArray[np.bool_] | None:
        """Return a mask of non-null cells, (n,) bool; None if no cell is null. Reads no cells."""
        return run(self._column(column).read_valid(slots))

    def touched_slots(self, column: str, touched: Touched) -> SlotSet:
        """Return the slots whose cells, or whose ids for the column "rows", may have changed."""
        slots = SlotSet.empty()
        for array in self._compared(column):
            slots = slots.union(touched.slots(array))
        return slots.within(0, self.slots)

    def _compared(self, column: str) -> list[SlotArray]:
        """Return the arrays whose entries differ if two cells, or the ids of two rows, differ."""
        if column == "rows":
            return [self.rows.ids]
        stored = self._column(column)
        return [stored.arrays[name] for name in {stored.compared, "valid"} & set(stored.arrays)]

    def compare_logs(self, other: Snapshot, touched: Touched) -> None:
        """Add the entries of arrays whose logs differ in the two versions to `touched`."""
        ours, theirs = self.committed.log, other.committed.log
        for path in ours.index.keys() | theirs.index.keys():
            if ours.encoded(path) != theirs.encoded(path):
                a, b = self._logged_array(path), other._logged_array(path)
                if a is not None and b is not None:
                    slots = a.slots_logged_apart(b)
                else:
                    slots = SlotSet.empty() if (one := a or b) is None else one.logged_slots()
                touched.logged[f"{self.state.generation}/{path}"] = slots

    def _logged_array(self, path: str) -> SlotArray | None:
        """Return the array at a path in the generation if it has one entry per slot."""
        column, _, name = path.partition("/")
        if any(f.id == column for f in self.committed.schema):
            return self._column(column).arrays.get(name)
        return self.rows.ids if path == "rows/id" else None

    def digest(self, column: str, cells: Cells) -> NDArray[np.uint64]:
        """Return the digests of cells, which need not be stored in the column."""
        return self._column(column).digest(cells)

    def sizes(self, column: str, slots: Slots) -> NDArray[np.int64]:
        """Return the stored size of each cell, (n,) in bytes, without reading the cells."""
        return run(self._column(column).sizes(slots))

    def nbytes(self, column: str, slots: Slots) -> int:
        """Return the stored size of all cells of `slots` in bytes, without reading them."""
        return int(self.sizes(column, slots).sum())

    def ids(self, slots: Slots) -> NDArray[np.int64]:
        """Return the row ids of the rows in `slots`."""
        return run(self.rows.ids_at(slots))

    def find(self, ids: NDArray[np.int64]) -> Slots:
        """Return the slot of the row with each id, or -1 if no row has the id."""
        return run(self.rows.find(ids))

    def statistics(self, column: str) -> tuple[NDArray[Any], NDArray[np.int64]] | None:
        """Return the committed bounds and counts of each chunk, or None if the column has none."""
        dense = self._column(column)
        return run(dense.statistics()) if isinstance(dense, DenseColumn) else None

    def chunk_rows(self, column: str) -> int:
        """Return the number of slots that each row of a scalar column's `statistics` covers."""
        return self._column(column).arrays["data"].spec.chunk_rows

    def verify(self, column: str, slots: Slots) -> list[Damage]:
        """Verify the checksums and hashes of cells, and return the damage."""
        try:
            opened = self._column(column)
        except DamagedError as error:  # the log contradicts the schema
            return [Damage(None, str(error))]
        return run(opened.verify(slots))

    def verify_rows(self) -> list[Damage]:
        """Verify the slots, the order and the ids of all rows, and return the damage."""
        return run(self.rows.verify())

    def _column(self, column: str) -> Column:
        if column not in self._columns:
            location = self._locate(column, new=column in self._new)
            self._columns[column] = make_column(_htype(self.schema, column), location)
        return self._columns[column]

    def _locate(self, name: str, *, new: bool = False) -> Location:
        """Return where the arrays of a column, or of the rows, are stored."""
        return Location(
            self.session,
            f"{self.state.generation}/{name}",
            self._cache,
            new=new,
            slots=self.committed.slots,
            lengths=self.committed.lengths,
            heaps=self.committed.heaps,
            log=self.committed.log,
            checksums=self.checksums,
            checked=self.repository.checks_reads,
        )


def _htype(schema: Schema, column: str) -> Htype:
    return next(f.htype for f in schema if f.id == column)
