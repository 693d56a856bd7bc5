"""The rows of a lake, with their slots, order and ids.

A row never leaves its slot. Deleting or reordering rows only changes `Rows.order`, which maps
positions to slots. Ranges of deleted slots are appended to the array ``rows/deleted``; if the rows
are not in the order of their slots, ``rows/slot`` contains the slot of each row.

Each slot has a row id, an int64 that is unique across branches and machines::

     63  62            16 15        0
    ┌───┬────────────────┬───────────┐
    │ 0 │ block, 47 bits │  counter  │
    └───┴────────────────┴───────────┘

Each transaction draws a random block for every 65,536 rows. The lake lists the blocks that are
taken, so that a commit can detect that another writer has drawn the same block, and renumber its
rows.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.errors import DamagedError
from deeplake_lite.lazy import LazyModule
from deeplake_lite.storage import chunks
from deeplake_lite.storage.array_spec import ArraySpec
from deeplake_lite.storage.column import Damage
from deeplake_lite.storage.dense import check_arrays
from deeplake_lite.storage.nested import item_slots
from deeplake_lite.storage.row_order import Positions, RowOrder
from deeplake_lite.storage.slot_set import SlotSet

if TYPE_CHECKING:
    import secrets
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deeplake_lite.storage.arrays import SlotArray
    from deeplake_lite.storage.chunk_cache import ChunkCache
    from deeplake_lite.storage.column import Location
    from deeplake_lite.storage.log import LogWriter, Size
    from deeplake_lite.storage.repo import Session
    from deeplake_lite.storage.stored_array import Slots
else:
    secrets = LazyModule("secrets")

COUNTER_BITS = 16
BLOCK_BITS = 47
BLOCK_ROWS = 1 << COUNTER_BITS

SCAN_ROWS = 2**18
"""Number of row ids that are read at a time when they are converted to runs."""


MOST_REMEMBERED = 2**16
"""Maximum number of ids that are remembered after they have been read one by one."""


@dataclass(frozen=True)
class IdRuns:
    """Row ids as runs, in which slots and ids both increase by one from row to row.

    A lake of a million rows usually has only a few runs.

    >>> runs = IdRuns.of(np.array([0, 1, 4]), np.array([71, 72, 70]))
    >>> runs.slots.tolist(), runs.ids.tolist(), runs.lengths.tolist()
    ([0, 4], [71, 70], [2, 1])
    >>> runs.find(np.array([72, 70, 73])).tolist(), runs.at(np.array([4, 1])).tolist()
    ([1, 4, -1], [70, 72])
    >>> runs.at(np.array([0, 1])).tolist()
    [71, 72]
    """

    slots: Slots
    """First slot of each run, ascending."""
    ids: NDArray[np.int64]
    """First id of each run."""
    lengths: NDArray[np.int64]
    """Number of rows in each run."""

    @classmethod
    def of(cls, slots: Slots, ids: NDArray[np.int64]) -> IdRuns:
        """Return the runs of rows with the given slots and ids. The slots must be ascending."""
        breaks = (np.diff(ids) != 1) | (np.diff(slots) != 1)
        starts = np.concatenate([[0], np.flatnonzero(breaks) + 1])[: len(ids)].astype(np.int64)
        return cls(slots[starts], ids[starts], np.diff(np.append(starts, len(ids))))

    def at(self, slots: Slots) -> NDArray[np.int64]:
        """Return the ids of `slots`, which must be in the runs."""
        if len(self.slots) == 1:
            return np.asarray(slots + (self.ids[0] - self.slots[0]))
        if (span := chunks.contiguous(slots)) is not None:
            a, b = np.searchsorted(self.slots, [span.start + 1, span.stop])
            starts = np.maximum(self.slots[a - 1 : b], span.start)
            ends = np.append(starts[1:], span.stop) - span.start
            shifts = self.ids[a - 1 : b] - self.slots[a - 1 : b]
            ids = np.empty(len(slots), np.int64)
            for start, end, shift in zip(starts - span.start, ends, shifts, strict=True):
                np.add(slots[start:end], shift, out=ids[start:end])
            return ids
        run = np.searchsorted(self.slots, slots, side="right") - 1
        return np.asarray(self.ids[run] + (slots - self.slots[run]))

    @classmethod
    def join(cls, parts: Sequence[IdRuns]) -> IdRuns:
        """Return the runs of all parts, each of which has larger slots than the part before."""
        empty = np.empty(0, np.int64)
        return cls(
            np.concatenate([empty, *(part.slots for part in parts)]),
            np.concatenate([empty, *(part.ids for part in parts)]),
            np.concatenate([empty, *(part.lengths for part in parts)]),
        )

    def repeated(self) -> Slots:
        """Return the first slots of the runs that share an id with another run, in ascending order.

        >>> IdRuns(np.array([0, 4]), np.array([70, 71]), np.array([2, 3])).repeated().tolist()
        [4]
        """
        # Ordered by first id, a run shares an id with an earlier one if it begins before the end
        # of any earlier run.
        order = np.argsort(self.ids, kind="stable")
        ends = np.maximum.accumulate(self.ids[order] + self.lengths[order])
        return np.sort(self.slots[order[1:][self.ids[order[1:]] < ends[:-1]]])

    def find(self, ids: NDArray[np.int64]) -> Slots:
        """Return the slot of each id, or -1 for an id in no run. No id may have two slots."""
        if not len(self.ids):
            return np.full(len(ids), -1, np.int64)
        order = np.argsort(self.ids)
        run = order[np.maximum(np.searchsorted(self.ids, ids, "right", sorter=order) - 1, 0)]
        offset = ids - self.ids[run]
        return np.asarray(
            np.where((offset >= 0) & (offset < self.lengths[run]), self.slots[run] + offset, -1)
        )


class StoredIds:
    """Ids of committed rows, which are read on demand and shared by the handles of a version.

    Parameters
    ----------
    array : SlotArray
        The array of row ids.
    """

    def __init__(self, array: SlotArray) -> None:
        self._array = array
        self.runs: IdRuns | None = None
        """The ids as runs, or None until `load` has read the ids."""
        self._known = np.empty(0, np.int64), np.empty(0, np.int64)

    def remember(self, slots: Slots, ids: NDArray[np.int64]) -> None:
        """Remember ids that were read one by one, so that `recall` finds them again.

        A merge looks up the ids of the cells that have changed, which it has just read.
        """
        if len(ids) <= MOST_REMEMBERED:
            distinct, at = np.unique(ids, return_index=True)
            self._known = distinct, slots[at]

    def recall(self, ids: NDArray[np.int64]) -> Slots:
        """Return the slot of each id that was remembered last, or -1 for other ids."""
        known, slots = self._known  # another thread may assign another pair at any time
        if not len(known):
            return np.full(len(ids), -1, np.int64)
        at = np.minimum(np.searchsorted(known, ids), len(known) - 1)
        return np.where(known[at] == ids, slots[at], -1)

    async def load(self) -> IdRuns:
        """Return the ids of all committed slots, as runs. The first call reads the ids."""
        if self.runs is None:
            stored = await self._array.stored()
            parts = []
            for span in chunks.spans(stored, SCAN_ROWS):
                slots = np.arange(span.start, min(span.stop, stored))
                parts.append(IdRuns.of(slots, await self._array.read(slots)))
            self.runs = IdRuns.join(parts)
        return self.runs


class Rows:
    """Positions, slots and ids of the rows of one table.

    Parameters
    ----------
    location : Location
        Where the arrays are stored. Its `slots` is the number of committed slots.
    ordered : bool
        Whether the row at position *i* is in slot *i*.
    """

    def __init__(self, location: Location, *, ordered: bool) -> None:
        def with_length(name: str, shape: tuple[int, ...] = ()) -> SlotArray:
            length = location.length(f"{location.path}/{name}")
            return replace(location, slots=length).array(name, ArraySpec("int64", shape))

        slots = location.slots or 0
        self.ids = location.array("id", ArraySpec("int64"))
        self._stored_ids = StoredIds(self.ids)
        self._cached_runs: tuple[RowOrder | None, IdRuns | None] = None, None
        self.blocks, self._slot_array = with_length("block"), with_length("slot")
        self._deleted_array = with_length("deleted", (2,))
        # Whether rows that the committed array lists as deleted have been restored.
        self._lists_anew = False
        self._was_arranged = not ordered
        self._stored_order = self.order = RowOrder(slots)
        self._loaded = location.new
        self._next_id, self._ids_left = 0, 0

    async def load(self) -> None:
        """Read which rows are deleted, and their order if rows are not in order of slots.

        Raises
        ------
        DamagedError
            When the order contradicts the number of slots.
        """
        if self._loaded:
            return
        ranges = await self._deleted_array.read_all()
        starts, stops = ranges[:, 0], ranges[:, 1]
        if not ((starts >= 0) & (starts < stops) & (stops <= self.slots)).all():
            raise _damaged("a range of deleted slots is not within the slots of the lake.")
        order = RowOrder(self.slots, SlotSet.of_ranges(ranges))
        if self._was_arranged:
            slots = await self._slot_array.read_all()
            try:
                arranged = RowOrder.of(self.slots, slots)
            except ValueError as error:
                raise _damaged(str(error)) from error
            if not np.array_equal(order.deleted.ranges, arranged.deleted.ranges):
                raise _damaged("the order of the rows contradicts the list of deleted rows.")
            order = replace(order, arranged=slots)
        self._stored_order, self.order, self._loaded = order, order, True

    def share(self, other: Rows) -> None:
        """Use the order and ids that `other`, the rows of the same version, has already read."""
        self.order = self._stored_order = other._stored_order
        self._loaded = True
        self.share_ids(other)

    def forked(self) -> Rows:
        """Return a copy for further edits. From now on, these rows must only be read."""
        fork = copy.copy(self)
        fork.ids, fork.blocks = self.ids.forked(), self.blocks.forked()
        fork._deleted_array = self._deleted_array.forked()
        return fork

    def checked(self, cache: ChunkCache) -> Rows:
        """Return a copy whose reads verify the checksums of ids.

        The copy's `check_order` verifies the checksums of the order.
        """
        rows = self.forked()
        rows.ids, rows.blocks = self.ids.checked(cache), self.blocks.checked(cache)
        rows._slot_array = self._slot_array.checked(cache)
        rows._deleted_array = self._deleted_array.checked(cache)
        rows._stored_ids = StoredIds(rows.ids)
        rows._cached_runs = None, None
        return rows

    async def check_order(self) -> None:
        """Read the stored order again to verify it. Raises DamagedError."""
        await self._deleted_array.read_all()
        if self._was_arranged:
            await self._slot_array.read_all()

    def share_ids(self, other: Rows) -> None:
        """Share the cached ids of `other`, which must have the same committed rows."""
        self._stored_ids = other._stored_ids

    @property
    def slots(self) -> int:
        """Number of slots, including those of deleted rows."""
        return self.order.slots

    def __len__(self) -> int:
        return len(self.order)

    def at(self, positions: Positions) -> Slots:
        """Return the slots of the rows at the given positions."""
        return self.order.at(positions)

    def positions(self, slots: Slots) -> Positions:
        """Return the position of the row in each slot, or -1 where the row is deleted."""
        return self.order.positions(slots)

    def contains(self, slots: Slots) -> NDArray[np.bool_]:
        """Return a mask of the slots that have a row, (n,) bool."""
        return self.order.contains(slots)

    def live(self) -> Slots:
        """Return the slots of all rows, in row order. This takes time for every row."""
        return self.order.live()

    async def ids_at(self, slots: Slots) -> NDArray[np.int64]:
        """Return the ids of the given slots."""
        runs, are_many = self._stored_ids.runs, len(slots) > self.slots // 2
        if runs is None and not are_many:  # reading all ids as runs would take longer
            ids: NDArray[np.int64] = await self.ids.read(slots)
            if (slots < await self.ids.stored()).all():
                self._stored_ids.remember(slots, ids)
            return ids
        runs, stored = runs or await self._stored_ids.load(), await self.ids.stored()
        if self.slots == stored:
            return runs.at(slots)
        old = slots < stored
        out = np.empty(len(slots), np.int64)
        out[old], out[~old] = runs.at(slots[old]), await self.ids.read(slots[~old])
        return out

    async def find(self, ids: NDArray[np.int64]) -> Slots:
        """Return the slot of the row with each id, or -1 if no row has the id or it is deleted."""
        order, runs = self._cached_runs
        if runs is None or order is not self.order:
            slots = self._stored_ids.recall(ids)
            if ((slots >= 0) & self.contains(slots)).all():  # only one row has an id
                return slots
            runs = await self._runs_to_search()
            self._cached_runs = self.order, runs
        slots = runs.find(ids)
        return np.where((slots >= 0) & self.contains(slots), slots, -1)

    async def _runs_to_search(self) -> IdRuns:
        """Return runs that contain all rows, in which no id has two slots."""
        runs, stored = await self._stored_ids.load(), await self.ids.stored()
        if self.slots > stored:
            added = IdRuns.of(np.arange(stored, self.slots), await self.pending_ids())
            runs = IdRuns.join([runs, added])
        # A merge may have appended a row again that had been deleted before.
        return await self._live_runs() if len(runs.repeated()) else runs

    async def _live_runs(self) -> IdRuns:
        """Return the ids of all rows that are not deleted, as runs."""
        live = np.sort(self.live())
        return IdRuns.of(live, await self.ids_at(live))

    async def pending_ids(self) -> NDArray[np.int64]:
        """Return the ids of the pending rows."""
        _, ids = await self.ids.pending_rows()
        return ids

    async def restored_ids(self) -> NDArray[np.int64]:
        """Return the ids of the pending rows that had these ids in earlier versions."""
        _, blocks = await self.blocks.pending_rows()
        ids = await self.pending_ids()
        return ids[~np.isin(ids >> COUNTER_BITS, blocks)]

    async def has_any(self, ids: NDArray[np.int64]) -> bool:
        """Return whether the block of any of the ids is taken, so that a row may have this id."""
        taken = await self.blocks.read_all()
        return bool(np.isin(ids >> COUNTER_BITS, taken).any())

    async def append(self, count: int, ids: NDArray[np.int64] | None = None) -> Slots:
        """Append rows, with new ids unless `ids` are given, and return their slots."""
        if ids is None:
            self.ids.append(await self._draw_ids(count))
        else:
            taken = await self.blocks.read_all()
            self.ids.append(ids)
            self.blocks.append(np.setdiff1d(ids >> COUNTER_BITS, taken))
        added = np.arange(self.slots, self.slots + count)
        self.order = self.order.extended(count)
        return added

    def delete(self, slots: Slots) -> None:
        """Delete the rows in some slots. The slots are not reused."""
        self._deleted_array.append(SlotSet.of(slots).minus(self.order.deleted).ranges)
        self.order = self.order.without(slots)

    def arrange(self, live: Slots) -> None:
        """Set the slot of each row, in row order. Rows whose slot is not given are deleted."""
        before, self.order = self.order.deleted, RowOrder.of(self.slots, live)
        self._deleted_array.append(self.order.deleted.minus(before).ranges)
        self._lists_anew |= len(before.minus(self.order.deleted)) > 0

    async def adopt(self, other: Rows, deleted: Slots) -> None:
        """Append the pending rows of `other`, an earlier version, and delete the slots `deleted`.

        Slots below `base` contain the same rows in both versions. The pending rows of `other` have
        the slots from `base` on, which other writers have meanwhile used here::

            other   │ committed        │ pending p          │
            slot    0                  base          other.slots

            here    │ committed        │ rows of others     │ pending p          │
            slot    0                  base          self.slots
        """
        _, ids = await other.ids.pending_rows()
        _, blocks = await other.blocks.pending_rows()
        ids = await self._renumber_collisions(ids, blocks)
        base, shift = other.slots - len(ids), self.slots - (other.slots - len(ids))
        self.ids.append(ids)
        self.order = self.order.extended(len(ids))
        self.delete(np.where(deleted < base, deleted, deleted + shift))

    async def verify(self) -> list[Damage]:
        """Verify the checksums of all chunks, look for repeated ids, and return the damage."""
        damage = await check_arrays({"row ids": self.ids}, np.arange(self.slots))
        damage += await check_arrays({"blocks of row ids": self.blocks}, None)
        damage += await self._verify_order()
        if not damage:
            damage = await self._verify_blocks()
        if not damage:
            repeated = (await self._live_runs()).repeated().tolist()
            damage = [Damage(slot, "row ids: another row has the same id") for slot in repeated]
        return damage

    async def _verify_blocks(self) -> list[Damage]:
        """Return damage for ids whose block is not listed as taken, and could be drawn again."""
        runs, taken = await self._stored_ids.load(), await self.blocks.read_all()
        first, last = runs.ids >> COUNTER_BITS, (runs.ids + runs.lengths - 1) >> COUNTER_BITS
        spans = np.stack([first, last - first + 1], axis=1)
        slots = np.repeat(runs.slots, spans[:, 1])[~np.isin(item_slots(spans), taken)]
        reason = (
            "row ids: the block of this id is not recorded as taken, so another row may get the "
            "same id"
        )
        return [Damage(slot, reason) for slot in np.unique(slots).tolist()]

    async def _verify_order(self) -> list[Damage]:
        arrays = {"deleted rows": self._deleted_array}
        if self._was_arranged:
            arrays["order of the rows"] = self._slot_array
        return await check_arrays(arrays, None)

    async def lengths(self) -> dict[str, int]:
        """Return a dict from array path to length, for the root document. Call `write` first."""
        deleted, ranges = self._deleted_array, len(self.order.deleted.ranges)
        lengths = {
            self.blocks.path: await self.blocks.length(),
            deleted.path: ranges if self._lists_anew else await deleted.length(),
        }
        if self.order.arranged is not None:
            lengths[self._slot_array.path] = len(self.order)
        return lengths

    def new_checksums(self) -> dict[tuple[str, int], int]:
        """Return a dict from (array path, chunk number) to the checksum of each written chunk."""
        arrays = (self.ids, self.blocks, self._deleted_array, self._slot_array)
        return {k: v for array in arrays for k, v in array.new_checksums().items()}

    async def write(self, session: Session, log: LogWriter | None = None) -> None:
        """Write all pending edits to `session`, or those except the order to a new log."""
        for array in (self.ids, self.blocks):
            await array.write(session, log)
        if self._lists_anew:
            ranges = self.order.deleted.ranges
            await self._deleted_array.rewrite(session, 0, ranges, new=False)
        else:
            await self._deleted_array.write(session, log)
        await self._write_slots(session)

    @property
    def fits_log(self) -> bool:
        """Whether a log can represent the pending edits, if it has room for them."""
        return not self._lists_anew

    def unwritten(self) -> dict[str, Size]:
        """Return the size of the entries in the log or pending, by path of the array."""
        return {a.path: a.unwritten for a in (self.ids, self.blocks, self._deleted_array)}

    async def _write_slots(self, session: Session) -> None:
        """Write the order from the first row that has moved, if rows are not in order of slots."""
        path, arranged, stored = self._slot_array.path, self.order.arranged, self._stored_order
        if arranged is None:
            if self._was_arranged:
                await session.delete_tree(path)
            return
        start = 0
        if self._was_arranged and stored.arranged is not None:
            same = min(len(stored), len(arranged))
            differ = np.flatnonzero(stored.arranged[:same] != arranged[:same])
            start = int(differ[0]) if len(differ) else same
        await self._slot_array.rewrite(session, start, arranged[start:], new=not self._was_arranged)

    async def _draw_ids(self, count: int) -> NDArray[np.int64]:
        """Return new ids. The unused ids of the last block are used before a new block is drawn."""
        parts = []
        while count:
            if not self._ids_left:
                block = await self._draw_block()
                self.blocks.append(np.array([block]))
                self._next_id, self._ids_left = block << COUNTER_BITS, BLOCK_ROWS
            length = min(count, self._ids_left)
            parts.append(np.arange(self._next_id, self._next_id + length, dtype=np.int64))
            self._next_id, self._ids_left = self._next_id + length, self._ids_left - length
            count -= length
        return np.concatenate(parts) if parts else np.empty(0, np.int64)

    async def _draw_block(self) -> int:
        """Return a random block that is not taken."""
        taken = await self.blocks.read_all()
        while (block := secrets.randbits(BLOCK_BITS)) in taken:
            pass
        return block

    async def _renumber_collisions(
        self, ids: NDArray[np.int64], blocks: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Mark `blocks` as taken; return the ids, in a new block if another writer took theirs.

        Two writers that draw the same block do not see each other's rows until they commit. The
        second writer to commit moves its ids to another block.
        """
        ids = ids.copy()
        taken = await self.blocks.read_all()
        for block in blocks.tolist():
            free = block if block not in taken else await self._draw_block()
            of_block = (ids >> COUNTER_BITS) == block
            ids[of_block] += (free - block) << COUNTER_BITS
            self.blocks.append(np.array([free]))
        return ids


def _damaged(reason: str) -> DamagedError:
    return DamagedError(
        f"The list of the lake's rows is damaged: {reason} Restore the lake from a backup."
    )
