"""One version of the lake, addressed by slot, with the edits of an open transaction.

`edit` returns a table that accepts edits. `commit` applies them to the current tip of the branch,
and writes everything that is pending.

During a commit, the caller holds the writers' lock, and a new `Table` at the branch's tip adopts
the pending edits. If the branch has moved since the transaction started, other writers have taken
the slots of its new rows. The new rows get the next free slots, but their bytes, which are already
in chunks of `values`, are not written again::

    version 7           slots 0–99
    this transaction    appends 100–104, and writes to chunks 30 and 31 of `values`
    version 8           slots 0–119: another writer was faster
    the commit          puts the rows into 120–124; chunks 30 and 31 stay as they are

If that is not possible (`MovedError`), the caller copies the edits onto the tip, cell by cell.

A process may be killed at any step. A version becomes visible when Icechunk atomically changes the
branch's file at the end of the commit. Until then the branch is unchanged, and everything that was
written belongs to no version and is deleted by a vacuum.
"""

from __future__ import annotations

import contextlib
import copy
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.errors import ConflictError
from deeplake_lite.htypes.words import pluralize
from deeplake_lite.schema import Schema
from deeplake_lite.storage import chunks
from deeplake_lite.storage import log as storage_log
from deeplake_lite.storage.append_keys import AppendKeys, digest_of, runs_of
from deeplake_lite.storage.checksums import first_rows
from deeplake_lite.storage.defaults import cells_of_new_rows
from deeplake_lite.storage.edits import Edits
from deeplake_lite.storage.keyed import Keyed
from deeplake_lite.storage.log import Log, LogWriter
from deeplake_lite.storage.repo import (
    TRANSACTION,
    LostChunksError,
    first_writer,
    gather,
    in_thread,
    run,
    start,
)
from deeplake_lite.storage.rows import Rows
from deeplake_lite.storage.scratch import Direct, Scratch
from deeplake_lite.storage.state import State

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from deeplake_lite.htypes.base import Htype
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.schema import Field
    from deeplake_lite.storage.append_keys import Digest, Runs
    from deeplake_lite.storage.chunk_cache import ChunkCache
    from deeplake_lite.storage.column import Column, Staged
    from deeplake_lite.storage.heap import Claims
    from deeplake_lite.storage.repo import Commit, Repository, Session
    from deeplake_lite.storage.stored_array import Slots


class MovedError(ConflictError):
    """The pending edits cannot be applied to the branch's tip without copying each changed cell."""


class Table(Keyed):
    """All columns of one version, addressed by slot, with the edits of an open transaction.

    Parameters
    ----------
    repository : Repository
        The lake.
    session : Session
        The session from which committed data is read.
    state : State
        The version's document.
    cache : ChunkCache, optional
        A cache that is shared by tables of the same version.
    """

    def __init__(
        self,
        repository: Repository,
        session: Session,
        state: State,
        cache: ChunkCache | None = None,
    ) -> None:
        super().__init__(repository, session, state, cache)
        self._scratch: Scratch | Direct | None = None
        self._forked: set[str] = set()
        """Ids of the columns in `_columns` that are not shared with another table."""

    @property
    def uncommitted(self) -> bool:
        """Whether there are uncommitted edits."""
        return bool(self.edits)

    @classmethod
    def create(cls, repository: Repository, schema: Schema, metadata: Mapping[str, object]) -> str:
        """Write the first version of a lake, and return its snapshot id.

        Raises
        ------
        ConflictError
            When another process has written the first version meanwhile.
        """
        session = first_writer(repository)
        run(cls._blank(repository, session, State(schema, metadata=metadata))._flush_new(session))
        return session.commit("created")

    def rewrite(self, branch: str, order: Slots, message: str) -> str:
        """Write the rows in the slots `order` contiguously as the branch's next version.

        This table must be the branch's tip, and the caller holds the writers' lock. Rows keep their
        ids, but not their slots.

        Raises
        ------
        DamagedError
            When a cell is damaged. The branch is then unchanged.
        """
        session = self.repository.writer(branch)
        old = self.state
        state = State(
            old.schema,
            generation=old.generation + 1,
            revision=old.revision,
            metadata=old.metadata,
        )
        self._copy_to(self.repository, session, state, order)
        run(session.delete_tree(str(old.generation)))
        return session.commit(message, {"rewrote": self.snapshot_id})

    def copy_to(self, repository: Repository, message: str, metadata: Mapping[str, object]) -> str:
        """Write the rows contiguously as the first version of another lake, and return its id.

        Rows and columns keep their ids. Bytes of deleted rows and of replaced cells are not copied.

        Raises
        ------
        DamagedError
            When a cell is damaged.
        ConflictError
            When another process has written the first version meanwhile.
        """
        session = first_writer(repository)
        state = State(self.state.schema, metadata=self.state.metadata)
        self._copy_to(repository, session, state, self.rows.live())
        return session.commit(message, metadata)

    def _copy_to(
        self, repository: Repository, session: Session, state: State, order: Slots
    ) -> None:
        """Write the rows in the slots `order` to new arrays in `session`."""
        fresh = self._blank(repository, session, state)
        run(fresh._copy_all(self.checked(), order))
        run(fresh._flush_new(session))

    @classmethod
    def _blank(cls, repository: Repository, session: Session, state: State) -> Table:
        """Return a table that creates its arrays directly in `session`."""
        table = cls(repository, session, state)
        table._new = {f.id for f in state.schema}
        table.rows = Rows(table._locate("rows", new=True), ordered=True)
        table.edits, table._scratch = Edits(), Direct(session, {})
        return table

    async def _copy_all(self, source: Table, slots: Slots) -> None:
        names = [f.id for f in self.schema]
        await source.rows.check_order()
        for span in chunks.spans(len(slots), chunks.COPY_ROWS):
            for part in await source._cut(names, slots[span]):
                await self._append(await source._read(names, part))
        for name in names:
            await self._edited(name).fill(self._open_edits()[1])
        await self.rows.append(len(slots), await source.rows.ids.read(slots))

    async def _flush_new(self, session: Session) -> None:
        for f in self.schema:
            self._column(f.id)
        await self._flush(session)

    # ---- editing

    def clean(self) -> Table:
        """Return a table of the same version, without edits, that shares this table's caches."""
        table = Table(self.repository, self.session, self.committed, self._cache)
        table.rows.share(self.rows)
        return table

    def edit(self) -> Table:
        """Return a table of the same version that accepts edits. This table is unchanged."""
        table = self.clean()
        table.edits = Edits()
        return table

    def forked(self) -> Table:
        """Return a copy for the next edit. From now on, this table must only be read.

        Meanwhile, other threads may read this table and see a consistent state. If the edit fails
        at any point, its table is abandoned, and this table is unchanged. Columns are shared until
        an edit writes to them (see `_edited`).
        """
        edits, scratch = self._open_edits()
        fork = copy.copy(self)
        fork._scratch = scratch.forked()
        fork._columns, fork._forked = dict(self._columns), set()
        fork._new, fork.edits, fork.rows = set(self._new), edits.forked(), self.rows.forked()
        return fork

    def abandon(self) -> None:
        """End the writes of a failed edit. This table must not be used afterwards."""
        run(self._abandon())

    async def _abandon(self) -> None:
        await gather(self._columns[column].abandon() for column in self._forked)

    def _edited(self, column: str) -> Column:
        """Return a column for writing, which is copied first if another table shares it."""
        if column not in self._forked:
            self._columns[column] = self._column(column).forked()
            self._forked.add(column)
        return self._columns[column]

    def on_branch(self, branch: str) -> Table:
        """Set the branch to which the edits will be committed, and return this table."""
        self._scratch = Scratch(self.repository, branch, self.snapshot_id, self.state)
        return self

    def append(
        self, blocks: Iterable[Mapping[str, Cells]], ids: NDArray[np.int64] | None = None
    ) -> Slots:
        """Append rows, and return their slots. Each block is a dict from column id to cells.

        New row ids are drawn unless `ids` is given, with one id for each row of all blocks.
        """
        return self._write_rows([f.id for f in self.schema], blocks, [], ids)

    def update(self, slots: Slots, cells: Mapping[str, Cells]) -> None:
        """Replace cells of the rows in `slots`. No slot may be repeated.

        The keys of `cells` are column ids.
        """
        self._write_rows(list(cells), [], [(slots, cells)])

    def write(
        self,
        blocks: Iterable[Mapping[str, Cells]],
        updates: Iterable[tuple[Slots, Mapping[str, Cells]]],
    ) -> Slots:
        """Append rows and update existing rows in one edit; return the slots of the new rows."""
        return self._write_rows([f.id for f in self.schema], blocks, updates)

    def _write_rows(
        self,
        columns: list[str],
        blocks: Iterable[Mapping[str, Cells]],
        updates: Iterable[tuple[Slots, Mapping[str, Cells]]],
        ids: NDArray[np.int64] | None = None,
    ) -> Slots:
        """Append rows and update cells of `columns`, and return the slots of the new rows."""
        edits, scratch = self._begin_edit()
        staged = [(slots, run(self._stage(cells, scratch))) for slots, cells in updates]
        count = self._append_all(blocks)
        run(self._drain(columns))
        count = count if ids is None else len(ids)  # without columns, blocks have no length
        added = run(self.rows.append(count, ids)) if count else np.empty(0, np.int64)
        edits.appended += count
        for slots, changed in staged:
            run(self._put(slots, changed))
        return added

    def _append_all(self, blocks: Iterable[Mapping[str, Cells]]) -> int:
        """Append blocks of cells, and return the number of rows.

        `blocks` encodes cells as it is iterated over, so the next block is encoded while the
        previous one is being written.
        """
        count, writing = 0, None
        try:
            for block in blocks:
                count += 0 if writing is None else writing.result()
                writing = start(self._append(block))
            return count if writing is None else count + writing.result()
        except BaseException:
            if writing is not None:
                writing.stop()
            raise

    async def _stage(self, cells: Mapping[str, Cells], scratch: Claims) -> dict[str, Staged]:
        return {c: await self._edited(c).stage(part, scratch) for c, part in cells.items()}

    async def _put(self, slots: Slots, staged: Mapping[str, Staged]) -> None:
        edits, _ = self._open_edits()
        for c, entries in staged.items():
            await self._edited(c).put(slots, entries)
            edits.updated.setdefault(c, []).append(slots)

    async def _append(self, block: Mapping[str, Cells]) -> int:
        edits, scratch = self._open_edits()
        for c, cells in block.items():
            await self._edited(c).append(cells, scratch)
        for c in block:
            edits.spilled |= await self._edited(c).spill(scratch)
        return len(next(iter(block.values()))) if block else 0

    async def _drain(self, columns: Iterable[str]) -> None:
        for c in columns:
            await self._edited(c).drain()

    def delete(self, positions: NDArray[np.int64]) -> None:
        """Delete the rows at `positions`."""
        edits, _ = self._begin_edit()
        slots = self.rows.at(positions)
        edits.deleted.append(slots)
        self.rows.delete(slots)

    def arrange(self, slots: Slots) -> None:
        """Set the order of the rows. `slots` contains the slot of each row, in the new order."""
        edits, _ = self._begin_edit()
        edits.arranged = True
        self.rows.arrange(slots)

    def add_column(self, added: Field, blocks: Iterable[Cells]) -> None:
        """Add a column. `blocks` has cells for all slots, including those of deleted rows."""
        edits, _ = self._begin_edit()
        schema = Schema((*self.schema, added))
        self.state = replace(self.state, schema=schema).limited(self.repository.limits)
        self._new.add(added.id)
        for cells in blocks:
            run(self._append({added.id: cells}))
        run(self._drain([added.id]))
        edits.document = True

    def set_document(
        self, *, schema: Schema | None = None, metadata: Mapping[str, object] | None = None
    ) -> None:
        """Change fields of the document. A field that is None is left unchanged."""
        edits, _ = self._begin_edit()
        edits.document = True
        old = {f.id: f.htype for f in self.schema}
        state = self.state if schema is None else replace(self.state, schema=schema)
        state = state if metadata is None else replace(state, metadata=metadata)
        self.state = state.limited(self.repository.limits)
        for f in self.schema:
            if f.htype.nullable and f.id in old and not old[f.id].nullable:
                run(self._edited(f.id).make_nullable(f.htype))

    def record_restore(self, version: str, older: str) -> None:
        """Record that the edits replace `version` with the rows of `older`."""
        edits, _ = self._begin_edit()
        edits.restored = (version, older)
        replaced, restored = (AppendKeys(self.repository.reader(v)) for v in edits.restored)
        if run(replaced.summary()) != run(restored.summary()):
            edits.restored_keys = run(replaced.all()), run(restored.all())

    def record_key(self, key: str, slots: Slots) -> None:
        """Record the key with which the rows in `slots` were appended."""
        edits, _ = self._begin_edit()
        edits.add_key(digest_of(key), runs_of(self.ids(slots)), key)

    def add_keys(self, keys: Mapping[Digest, Runs], names: Mapping[Digest, str]) -> None:
        """Add keys of another table, whose rows were copied with their ids."""
        edits, _ = self._begin_edit()
        for digest, runs in keys.items():
            edits.add_key(digest, runs, names.get(digest))

    def commit(self, session: Session, message: str, metadata: Mapping[str, object]) -> str:
        """Write the edits on top of the branch's tip, and return the new snapshot's id.

        `session` is a new writer at the tip. The caller holds the writers' lock and has made sure
        that no other writer changed the same cells in versions up to the tip.

        On an object store there is no lock, and another writer may move the branch. Icechunk
        detects this, since it moves the branch by compare-and-swap. Then ConflictError is raised,
        and this table is unchanged.

        Raises
        ------
        MovedError
            When the edits cannot be applied to the tip directly.
        ConflictError
            When the branch has moved in the meantime, on an object store. Nothing is lost; call
            this method again.
        StorageError
            When the store did not confirm the commit. Before you call this method again, find out
            with `landed` whether the commit succeeded.
        """
        run(self._write(session))
        edits, _ = self._open_edits()
        # Recorded before the commit: if the reply is lost, `landed` finds the commit by this name.
        edits.tried.add(edits.transaction)
        with self._naming_lost_columns():
            return session.commit(
                message, {**metadata, **edits.metadata, TRANSACTION: edits.transaction}
            )

    @contextlib.contextmanager
    def _naming_lost_columns(self) -> Iterator[None]:
        """Add column names to an error about lost chunks."""
        try:
            yield
        except LostChunksError as error:
            lost = {key.split("/")[1] for key in error.keys}
            names = [repr(f.name) for f in self.schema if f.id in lost] or ["the row ids"]
            raise LostChunksError(
                f"A vacuum has deleted {pluralize(len(error.keys), 'chunk')} of {', '.join(names)} "
                "that this transaction had written, because the transaction was open for longer "
                "than the grace period of the vacuum, or because a clock was set back. Nothing was "
                "committed, and the edits are still in this handle: copy the rows that can be "
                "read, call ds.discard(), and write the rows again. To avoid this error, commit "
                "more often, or vacuum with a longer spare=.",
                error.keys,
            ) from error

    def shares_rows(self, tip: Table) -> bool:
        """Return whether rows of `tip` have, or may get, the ids of this table's pending rows."""
        added = run(self.rows.pending_ids())
        return bool(len(added)) and run(tip.rows.has_any(added))

    def landed(self, tip_id: str) -> Commit | None:
        """Return the commit of an earlier attempt whose reply was lost, or None if none succeeded.

        All commits between the version that the edits build on and `tip_id` are searched, because
        other writers may have committed on top of the attempt.
        """
        if self.edits is None or not self.edits.tried:
            return None
        history = self.repository.ancestry(tip_id)
        since = takewhile(lambda commit: commit.id != self.snapshot_id, history)
        return next((c for c in since if c.transaction in self.edits.tried), None)

    async def _write(self, session: Session) -> None:
        """Write the edits to `session`, a writer at the branch's tip.

        This table is not changed, so that the commit can be repeated on another tip.
        """
        edits, scratch = self._open_edits()
        moved = session.snapshot_id != self.snapshot_id
        tip = State.from_json(await session.attributes())
        claimed = {p: c for column in self._columns.values() for p, c in column.claimed().items()}
        target = Table(self.repository, session, tip)
        if moved:
            await target.rows.load()
            if not await self._can_follow(target, claimed):
                raise MovedError("The branch has moved, and the edits must be copied onto its tip.")
        columns = {f.id for f in (tip if moved else self.state).schema}
        if (written := scratch.collected()) is not None:
            # Icechunk merges the chunks of the fork without checking for conflicts, but
            # `_can_follow` has checked that the tip has no chunk with the same number.
            await in_thread(session.merge, written)
        # Columns are deleted after the merge, because the transaction may have written to them.
        for dropped in ({f.id for f in tip.schema} | self._columns.keys()) - columns:
            await session.delete_tree(f"{tip.generation}/{dropped}")
        for f in tip.schema:
            if not moved and f.htype.nullable and f.id in columns and not self._is_nullable(f.id):
                await session.delete_tree(f"{tip.generation}/{f.id}/valid")
        target.state = tip if moved else self.state
        target._new = self._new
        target.edits, target._scratch = edits, Direct(session, dict(tip.heaps))
        await target._adopt(self, edits, moved=moved)
        if edits.keys or edits.restored_keys is not None:
            await self.write_keys(session, await target.rows.pending_ids())
        await target._flush(session)

    def _is_nullable(self, column: str) -> bool:
        return any(f.htype.nullable for f in self.schema if f.id == column)

    async def _can_follow(self, target: Table, claimed: Mapping[str, range]) -> bool:
        """Return whether the edits can be applied to `target`, the tip, without copying cells.

        Writers' claims may overlap, because on an object store they begin at random, and a large
        transaction may outgrow its room. So the chunks themselves are looked up at the tip.
        """
        edits, _ = self._open_edits()
        tip, session = target.state, target.session
        if tip.generation != self.state.generation:
            return False
        if edits.document or edits.arranged or edits.spilled:
            return False
        edited = np.concatenate([edits.slots_deleted(), *map(edits.slots_updated, edits.updated)])
        if not target.rows.contains(edited[edited < self.committed.slots]).all():
            return False  # a row was deleted, and may have been restored to another slot
        restored = await self.rows.restored_ids()
        if len(restored) and (await target.rows.find(restored) >= 0).any():
            return False  # another writer has brought back the same row
        for path in claimed:
            # A column that was dropped and restored has a recorded end, but its array is new.
            is_new = path not in self.state.heaps or path.split("/")[1] in self._new
            if is_new and await self._has_new_nodes(path, session):
                return False  # the fork has created the same groups or the same array
        theirs, ours = ({f.id: f.htype for f in s.schema} for s in (tip, self.state))
        if not all(c in theirs and _is_readable_as(theirs[c], ours[c]) for c in self._columns):
            return False
        keys = [
            f"{path}/c/{chunk}"
            for path, taken in claimed.items()
            for chunk in range(taken.start, taken.stop + 1)  # `Heap.settle` may write one more
        ]
        return not any(await gather(map(session.has, keys)))

    async def _has_new_nodes(self, path: str, tip: Session) -> bool:
        """Return whether the tip has an array, or a group above it, that this version lacks."""
        parts = path.split("/")
        keys = ["/".join([*parts[:end], "zarr.json"]) for end in range(1, len(parts) + 1)]
        return any([await tip.has(key) and not await self.session.has(key) for key in keys])

    async def _adopt(self, other: Table, edits: Edits, *, moved: bool) -> None:
        """Take over the pending edits of `other`, and fill missing columns with their defaults."""
        for f in self.schema:
            column = self._column(f.id)
            if f.id in other._columns:
                await column.adopt(other._columns[f.id])
            elif moved and edits.appended:
                added = np.arange(other.slots - edits.appended, other.slots)
                is_live = other.rows.contains(added)
                await column.append(cells_of_new_rows(f, is_live), self._open_edits()[1])
        if moved:
            await self.rows.adopt(other.rows, edits.slots_deleted())
        else:
            self.rows = other.rows

    async def _flush(self, session: Session) -> None:
        """Write all pending edits, the checksums of the chunks, and finally the document."""
        await self._drain(f.id for f in self.schema if f.id in self._columns)
        log = self._start_log()
        columns = [self._columns[f.id] for f in self.schema if f.id in self._columns]
        await gather([*(c.write(session, log) for c in columns), self.rows.write(session, log)])
        # The ends are read after `write`, as settling may have filled another chunk. On an object
        # store, a claim may begin before the end of a larger one that was committed meanwhile.
        ends = {path: taken.stop for column in columns for path, taken in column.claimed().items()}
        heaps = {path: max(end, self.state.heaps.get(path, 0)) for path, end in ends.items()}
        by_path = {path: n for c in columns for path, n in (await c.lengths()).items()}
        by_path |= await self.rows.lengths()
        lengths = {path.partition("/")[2]: length for path, length in by_path.items()}
        unchanged = {path: n for path, n in self.state.lengths.items() if self._is_in_use(path)}
        table_rows = first_rows(self.schema, self.state.checksums)
        sums = {k: v for c in columns for k, v in c.new_checksums().items()}
        sums |= self.rows.new_checksums()
        await self.checksums.write(session, sums, table_rows)
        self.state = replace(
            self.state,
            heaps={**self.state.heaps, **heaps},
            lengths={**unchanged, **lengths},
            checksums=table_rows,
            slots=self.rows.slots,
            ordered=self.rows.order.arranged is None,
            revision=self.state.revision + 1,
            log=Log() if log is None else log.log(),
        )
        await session.set_attributes(self.state.to_json())

    def _start_log(self) -> LogWriter | None:
        """Return a new log, with the entries of all columns that are not open.

        Columns with entries that must be written to their arrays are open afterwards. The result is
        None if all arrays are written.
        """
        edits, _ = self._open_edits()
        most = storage_log.limits(len(self.schema), is_remote=self.session.is_remote)
        ids = {f.id for f in self.schema}
        logged = [path for path in self.state.log.index if path.partition("/")[0] in ids]
        if edits.spilled or not self.rows.fits_log or most.ordinary < 0:
            for path in logged:
                self._column(path.partition("/")[0])
            return None
        parts: list[Rows | Column] = [self.rows, *map(self._column, ids & self._columns.keys())]
        sizes = dict[str, storage_log.Size]()
        for part in parts:
            sizes |= {path.partition("/")[2]: size for path, size in part.unwritten().items()}
        sizes |= {path: self.state.log.size(path) for path in self._kept(logged)}
        age = self.state.log.age
        written = storage_log.choose_written(sizes, most, age)
        for path in written & set(logged):
            self._column(path.partition("/")[0])
        log = LogWriter(written, most.ordinary, age)
        for path in self._kept(logged):
            log.copy(self.state.log, path)
        return log

    def _kept(self, logged: Iterable[str]) -> Iterator[str]:
        """Yield the arrays in the log whose columns are not open."""
        for path in logged:
            column, _, name = path.partition("/")
            if column not in self._columns and (name != "valid" or self._is_nullable(column)):
                yield path

    def _is_in_use(self, path: str) -> bool:
        """Return whether a column still has the array whose length is recorded under `path`."""
        owner = path.partition("/")[0]
        return owner != "rows" and any(f.id == owner for f in self.schema)

    def release(self) -> None:
        """Withdraw the transaction's claims of chunks, after a commit or a discard."""
        if self._scratch is not None:
            self._scratch.release()

    def _open_edits(self) -> tuple[Edits, Scratch | Direct]:
        assert self.edits is not None, "edit() comes first"
        assert self._scratch is not None, "on_branch() comes first"
        return self.edits, self._scratch

    def _begin_edit(self) -> tuple[Edits, Scratch | Direct]:
        """Record that another edit begins. Return the record of edits and the scratch."""
        edits, scratch = self._open_edits()
        edits.grow()
        return edits, scratch


def _is_readable_as(theirs: Htype, ours: Htype) -> bool:
    """Return whether cells that were written as type `ours` have the same meaning in `theirs`."""
    return theirs.nullable == ours.nullable and theirs.bare.continues(ours.bare)
