"""The rows of a lake, with their slots, order and ids.

A row never leaves its slot. `Rows.order` maps positions to slots, and is None as long as the row at
position *i* is in slot *i*. Deleting or reordering rows only changes the order.

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

from deeplake_lite.lazy import LazyModule
from deeplake_lite.storage import chunks
from deeplake_lite.storage.array_spec import ArraySpec
from deeplake_lite.storage.column import Damage
from deeplake_lite.storage.dense import check_arrays
from deeplake_lite.storage.nested import item_slots

if TYPE_CHECKING:
    import secrets

    from numpy.typing import NDArray

    from deeplake_lite.storage.arrays import SlotArray, Slots
    from deeplake_lite.storage.chunk_cache import ChunkCache
    from deeplake_lite.storage.column import Location
    from deeplake_lite.storage.log import LogWriter
    from deeplake_lite.storage.repo import Session
else:
    secrets = LazyModule("secrets")

COUNTER_BITS = 16
BLOCK_BITS = 47
BLOCK_ROWS = 1 << COUNTER_BITS

SCAN_ROWS = 2**20
"""Number of row ids that are read at a time when they are converted to runs."""


@dataclass(frozen=True)
class IdRuns:
    """Row ids as runs, in which slots and ids both increase by one from row to row.

    A lake of a million rows usually has only a few runs.

    >>> runs = IdRuns.of(np.array([0, 1, 4]), np.array([71, 72, 70]))
    >>> runs.slots.tolist(), runs.ids.tolist(), runs.lengths.tolist()
    ([0, 4], [71, 70], [2, 1])
    >>> runs.find(np.array([72, 70, 73])).tolist(), runs.at(np.array([4, 1])).tolist()
    ([1, 4, -1], [70, 72])
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
        run = np.searchsorted(self.slots, slots, side="right") - 1
        return np.asarray(self.ids[run] + (slots - self.slots[run]))

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

    async def load(self) -> IdRuns:
        """Return the ids of all committed slots, as runs. The first call reads the ids."""
        if self.runs is None:
            stored = await self._array.stored()
            parts = []
            for span in chunks.spans(stored, SCAN_ROWS):
                slots = np.arange(span.start, min(span.stop, stored))
                parts.append(IdRuns.of(slots, await self._array.read(slots)))
            empty = np.empty(0, np.int64)
            self.runs = IdRuns(
                np.concatenate([empty, *(p.slots for p in parts)]),
                np.concatenate([empty, *(p.ids for p in parts)]),
                np.concatenate([empty, *(p.lengths for p in parts)]),
            )
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
        def with_length(name: str) -> SlotArray:
            length = location.length(f"{location.path}/{name}")
            return replace(location, slots=length).array(name, ArraySpec("int64"))

        slots = location.slots or 0
        self.ids = location.array("id", ArraySpec("int64"))
        self._stored_ids = StoredIds(self.ids)
        self._cached_runs: tuple[Slots | None, int, IdRuns | None] = None, 0, None
        self.blocks, self._order_array = map(with_length, ("block", "slot"))
        self._stored_order: Slots | None = None
        self._had_order = not ordered
        self.slots = slots
        self.order: Slots | None = None
        self._loaded = ordered
        self._next_id, self._ids_left = 0, 0

    async def load(self) -> None:
        """Read the order, if there is one and it has not been read yet."""
        if not self._loaded:
            self.order = self._stored_order = await self._order_array.read_all()
            self._loaded = True

    def share(self, other: Rows) -> None:
        """Use the order and ids that `other`, the rows of the same version, has already read."""
        self.order = self._stored_order = other._stored_order
        self._loaded = True
        self.share_ids(other)

    def forked(self) -> Rows:
        """Return a copy for further edits. From now on, these rows must only be read."""
        fork = copy.copy(self)
        fork.ids, fork.blocks = self.ids.forked(), self.blocks.forked()
        return fork

    def checked(self, cache: ChunkCache) -> Rows:
        """Return a copy whose reads verify the checksums of ids.

        The copy's `check_order` verifies the checksums of the order.
        """
        rows = self.forked()
        rows.ids, rows.blocks = self.ids.checked(cache), self.blocks.checked(cache)
        rows._order_array = self._order_array.checked(cache)
        rows._stored_ids = StoredIds(rows.ids)
        rows._cached_runs = None, 0, None
        return rows

    async def check_order(self) -> None:
        """Read the stored order again to verify it, if there is one. Raises DamagedError."""
        if self._had_order:
            await self._order_array.read_all()

    def share_ids(self, other: Rows) -> None:
        """Share the cached ids of `other`, which must have the same committed rows."""
        self._stored_ids = other._stored_ids

    def __len__(self) -> int:
        return self.slots if self.order is None else len(self.order)

    def at(self, positions: NDArray[np.int64]) -> Slots:
        """Return the slots of the rows at the given positions."""
        return positions if self.order is None else self.order[positions]

    def are_live(self, start: int) -> NDArray[np.bool_]:
        """Return a mask of the slots from `start` on that contain a row, (n,) bool."""
        is_live = np.full(self.slots - start, self.order is None)
        if self.order is not None:
            is_live[self.order[self.order >= start] - start] = True
        return is_live

    def position(self, slot: int) -> int:
        """Return the position of the row in a slot."""
        return int(slot) if self.order is None else int(np.argmax(self.order == slot))

    def live(self) -> Slots:
        """Return the slots of all rows, in row order."""
        return chunks.count_up(self.slots) if self.order is None else self.order

    async def ids_at(self, slots: Slots) -> NDArray[np.int64]:
        """Return the ids of the given slots."""
        runs, are_many = self._stored_ids.runs, len(slots) > self.slots // 2
        if runs is None and not are_many:  # reading all ids as runs would take longer
            return await self.ids.read(slots)
        runs, stored = runs or await self._stored_ids.load(), await self.ids.stored()
        if self.slots == stored:
            return runs.at(slots)
        old = slots < stored
        out = np.empty(len(slots), np.int64)
        out[old], out[~old] = runs.at(slots[old]), await self.ids.read(slots[~old])
        return out

    async def find(self, ids: NDArray[np.int64]) -> Slots:
        """Return the slot of the row with each id, or -1 if no row has the id or it is deleted."""
        runs = await self._stored_ids.load()
        if self.order is not None or self.slots > await self.ids.stored():
            runs = await self._live_runs()
        return runs.find(ids)

    async def _live_runs(self) -> IdRuns:
        """Return the ids of all rows that are not deleted, as runs.

        The result is cached until rows are added, deleted or reordered.
        """
        order, slots, runs = self._cached_runs
        if runs is None or order is not self.order or slots != self.slots:
            live = np.sort(self.live())
            runs = IdRuns.of(live, await self.ids_at(live))
            self._cached_runs = self.order, self.slots, runs
        return runs

    async def pending_ids(self) -> NDArray[np.int64]:
        """Return the ids of the pending rows."""
        _, ids = await self.ids.pending_rows()
        return ids

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
        self.slots += count
        if self.order is not None:
            self.order = np.concatenate([self.order, added])
        return added

    def delete(self, positions: NDArray[np.int64]) -> None:
        """Delete rows. Their slots are not reused."""
        self.order = np.delete(self.live(), positions)

    def arrange(self, order: Slots | None) -> None:
        """Set the slot of each row, in row order. None stands for all slots in ascending order."""
        identity = order is None or np.array_equal(order, np.arange(self.slots))
        self.order = None if identity else order

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
        base = other.slots - len(ids)
        deleted = deleted[deleted < base]  # deleted pending rows are not in `other.live()` anyway
        pending = other.live()
        pending = pending[pending >= base] - base + self.slots
        remaining = self.live()
        remaining = remaining[~np.isin(remaining, deleted)] if len(deleted) else remaining
        self.ids.append(ids)
        self.slots += len(ids)
        self.arrange(np.concatenate([remaining, pending]))

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
        if self.order is None:
            return []
        return await check_arrays({"order of the rows": self._order_array}, None)

    async def lengths(self) -> dict[str, int]:
        """Return a dict from array path to length, for the root document. Call `write` first."""
        blocks = {self.blocks.path: await self.blocks.length()}
        return blocks if self.order is None else blocks | {self._order_array.path: len(self.order)}

    def new_checksums(self) -> dict[tuple[str, int], int]:
        """Return a dict from (array path, chunk number) to the checksum of each written chunk."""
        arrays = (self.ids, self.blocks, self._order_array)
        return {k: v for array in arrays for k, v in array.new_checksums().items()}

    async def write(self, session: Session, log: LogWriter | None = None) -> None:
        """Write all pending edits to `session`, or those except the order to a new log."""
        for array in (self.ids, self.blocks):
            await array.write(session, log)
        await self._write_order(session)

    @property
    def unwritten_bytes(self) -> int:
        """Estimated size of what is in the log or pending, in bytes."""
        return self.ids.unwritten_bytes + self.blocks.unwritten_bytes

    @property
    def unwritten_updates(self) -> int:
        """Estimated number of updated entries that are in the log or pending."""
        return self.ids.unwritten_updates + self.blocks.unwritten_updates

    async def _write_order(self, session: Session) -> None:
        """Write the order from the first position at which it differs from the stored order."""
        path = self._order_array.path
        if self.order is None:
            if self._had_order:
                await session.delete_tree(path)
            return
        start = 0
        if self._had_order:
            old = self._stored_order if self._stored_order is not None else np.empty(0, np.int64)
            same = min(len(old), len(self.order))
            differ = np.flatnonzero(old[:same] != self.order[:same])
            start = int(differ[0]) if len(differ) else same
        changed = self.order[start:]
        await self._order_array.rewrite(session, start, changed, new=not self._had_order)

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
