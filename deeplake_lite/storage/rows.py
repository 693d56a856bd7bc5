"""Which rows there are, in which order, and who they are.

A row lives in one slot for good. `order` maps positions to slots, and is None while position *i* is
slot *i*; deleting and reordering touch only it. Each slot has a row id, an int64 that no other row
on any branch or machine has: a random block of 47 bits, drawn per transaction and 65,536 rows, and
a counter of 16 bits.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.lazy import LazyModule
from deeplake_lite.storage import chunks
from deeplake_lite.storage.arrays import ArraySpec, SlotArray, Slots
from deeplake_lite.storage.column import Damage
from deeplake_lite.storage.dense import check_arrays
from deeplake_lite.storage.nested import item_slots

if TYPE_CHECKING:
    import secrets

    from numpy.typing import NDArray

    from deeplake_lite.storage.column import Place
    from deeplake_lite.storage.repo import Session
else:
    secrets = LazyModule("secrets")

COUNTER_BITS = 16
BLOCK_BITS = 47
BLOCK_ROWS = 1 << COUNTER_BITS

SCAN_ROWS = 2**20
"""Row ids read at a time to find where they run on."""


@dataclass(frozen=True)
class IdRuns:
    """Ids that count up by one from slot to slot, as runs: a million rows have a few.

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
    """Rows of each run."""

    @classmethod
    def of(cls, slots: Slots, ids: NDArray[np.int64]) -> IdRuns:
        """Return the runs of some rows, given by ascending slots."""
        breaks = (np.diff(ids) != 1) | (np.diff(slots) != 1)
        starts = np.concatenate([[0], np.flatnonzero(breaks) + 1])[: len(ids)].astype(np.int64)
        return cls(slots[starts], ids[starts], np.diff(np.append(starts, len(ids))))

    def at(self, slots: Slots) -> NDArray[np.int64]:
        """Return the ids of some of the slots."""
        if len(self.slots) == 1:
            return np.asarray(slots + (self.ids[0] - self.slots[0]))
        run = np.searchsorted(self.slots, slots, side="right") - 1
        return np.asarray(self.ids[run] + (slots - self.slots[run]))

    def repeated(self) -> Slots:
        """Return the first slot of each run that has an id of another, ascending.

        >>> IdRuns(np.array([0, 4]), np.array([70, 71]), np.array([2, 3])).repeated().tolist()
        [4]
        """
        order = np.argsort(self.ids, kind="stable")
        ends = np.maximum.accumulate(self.ids[order] + self.lengths[order])
        return np.sort(self.slots[order[1:][self.ids[order[1:]] < ends[:-1]]])

    def find(self, ids: NDArray[np.int64]) -> Slots:
        """Return the slot of each id, -1 where there is none; no id may be in two slots."""
        if not len(self.ids):
            return np.full(len(ids), -1, np.int64)
        order = np.argsort(self.ids)
        run = order[np.maximum(np.searchsorted(self.ids, ids, "right", sorter=order) - 1, 0)]
        offset = ids - self.ids[run]
        return np.asarray(
            np.where((offset >= 0) & (offset < self.lengths[run]), self.slots[run] + offset, -1)
        )


class StoredIds:
    """Ids of committed rows as runs, read when first asked for; equal versions share them.

    Parameters
    ----------
    array : SlotArray
        Where they are kept.
    """

    def __init__(self, array: SlotArray) -> None:
        self._array = array
        self.runs: IdRuns | None = None
        """What has been read, None before."""

    async def load(self) -> IdRuns:
        """Return the runs of all slots."""
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
    place : Place
        Where they are; its slots are those that are committed.
    ordered : bool
        Whether position *i* is slot *i*.
    """

    def __init__(self, place: Place, *, ordered: bool) -> None:
        def with_length(name: str) -> SlotArray:
            length = place.length(f"{place.path}/{name}")
            return replace(place, slots=length).array(name, ArraySpec("int64"))

        slots = place.slots or 0
        self.ids = place.array("id", ArraySpec("int64"))
        self._stored_ids = StoredIds(self.ids)
        self._known_runs: tuple[Slots | None, int, IdRuns | None] = None, 0, None
        self.blocks, self._order_array = map(with_length, ("block", "slot"))
        self._stored_order: Slots | None = None
        self._had_order = not ordered
        self.slots = slots
        self.order: Slots | None = None
        self._loaded = ordered
        self._next_id, self._ids_left = 0, 0

    async def load(self) -> None:
        """Read the order, if there is one and it has not been read."""
        if not self._loaded:
            self.order = self._stored_order = await self._order_array.read_all()
            self._loaded = True

    def keep_stored(self, other: Rows) -> None:
        """Share what `other`, of the same version, has read."""
        self.order = self._stored_order = other._stored_order
        self._loaded = True
        self.share_ids(other)

    def forked(self) -> Rows:
        """Return the same rows for further edits; these are only read from now."""
        fork = copy.copy(self)
        fork.ids, fork.blocks = self.ids.forked(), self.blocks.forked()
        return fork

    def share_ids(self, other: Rows) -> None:
        """Share the ids that `other` has read or will read: its committed rows are the same."""
        self._stored_ids = other._stored_ids

    def __len__(self) -> int:
        return self.slots if self.order is None else len(self.order)

    def at(self, positions: NDArray[np.int64]) -> Slots:
        """Return the slots of some positions."""
        return positions if self.order is None else self.order[positions]

    def are_live(self, start: int) -> NDArray[np.bool_]:
        """Tell, (n,) bool, which of the slots from `start` on hold a row."""
        found = np.full(self.slots - start, self.order is None)
        if self.order is not None:
            found[self.order[self.order >= start] - start] = True
        return found

    def position(self, slot: int) -> int:
        """Return the position of the row in a slot."""
        return int(slot) if self.order is None else int(np.argmax(self.order == slot))

    def live(self) -> Slots:
        """Return the slots of all rows, in their order."""
        return chunks.count_up(self.slots) if self.order is None else self.order

    async def ids_at(self, slots: Slots) -> NDArray[np.int64]:
        """Return the ids of some slots."""
        runs, whole = self._stored_ids.runs, len(slots) > self.slots // 2
        if runs is None and not whole:
            return await self.ids.read(slots)
        runs, stored = runs or await self._stored_ids.load(), await self.ids.stored()
        if self.slots == stored:
            return runs.at(slots)
        old = slots < stored
        out = np.empty(len(slots), np.int64)
        out[old], out[~old] = runs.at(slots[old]), await self.ids.read(slots[~old])
        return out

    async def find(self, ids: NDArray[np.int64]) -> Slots:
        """Return the slot of the live row with each id, -1 where there is none."""
        runs = await self._stored_ids.load()
        if self.order is not None or self.slots > await self.ids.stored():
            runs = await self._live_runs()
        return runs.find(ids)

    async def _live_runs(self) -> IdRuns:
        """Return the ids of the live rows, read again only when rows came, went or moved."""
        order, slots, runs = self._known_runs
        if runs is None or order is not self.order or slots != self.slots:
            live = np.sort(self.live())
            runs = IdRuns.of(live, await self.ids_at(live))
            self._known_runs = self.order, self.slots, runs
        return runs

    async def pending_ids(self) -> NDArray[np.int64]:
        """Return the ids of the rows that were added."""
        _, ids = await self.ids.pending_rows()
        return ids

    async def has_any(self, ids: NDArray[np.int64]) -> bool:
        """Tell whether a row with one of the ids is there, or another row may get one of them."""
        taken = await self.blocks.read_all()
        return bool(np.isin(ids >> COUNTER_BITS, taken).any())

    async def append(self, count: int, ids: NDArray[np.int64] | None = None) -> Slots:
        """Add rows at the end, with new ids unless some are given; return their slots."""
        if ids is None:
            self.ids.append(await self._draw(count))
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
        """Remove rows; their slots stay."""
        self.order = np.delete(self.live(), positions)

    def arrange(self, order: Slots | None) -> None:
        """Set the rows there are, and their order."""
        identity = order is None or np.array_equal(order, np.arange(self.slots))
        self.order = None if identity else order

    async def adopt(self, other: Rows, deleted: Slots) -> None:
        """Put pending rows of `other`, an earlier version, behind these; remove `deleted` slots."""
        _, ids = await other.ids.pending_rows()
        _, blocks = await other.blocks.pending_rows()
        ids = await self._without_collision(ids, blocks)
        base = other.slots - len(ids)
        deleted = deleted[deleted < base]
        pending = other.live()
        pending = pending[pending >= base] - base + self.slots
        kept = self.live()
        kept = kept[~np.isin(kept, deleted)] if len(deleted) else kept
        self.ids.append(ids)
        self.slots += len(ids)
        self.arrange(np.concatenate([kept, pending]))

    async def verify(self) -> list[Damage]:
        """Read every array again, whose chunks carry checksums; no two rows may have one id."""
        found = await check_arrays({"row ids": self.ids}, np.arange(self.slots))
        found += await check_arrays({"blocks of row ids": self.blocks}, None)
        found += await self._verify_order()
        if not found:
            found = await self._verify_blocks()
        if not found:
            twice = (await self._live_runs()).repeated().tolist()
            found = [Damage(slot, "row ids: another row has this id, too") for slot in twice]
        return found

    async def _verify_blocks(self) -> list[Damage]:
        """Look whether the blocks of all ids are taken: others would be drawn again."""
        runs, taken = await self._stored_ids.load(), await self.blocks.read_all()
        first, last = runs.ids >> COUNTER_BITS, (runs.ids + runs.lengths - 1) >> COUNTER_BITS
        spans = np.stack([first, last - first + 1], axis=1)
        slots = np.repeat(runs.slots, spans[:, 1])[~np.isin(item_slots(spans), taken)]
        reason = "row ids: another row may be given this id, too, whose block counts as free"
        return [Damage(slot, reason) for slot in np.unique(slots).tolist()]

    async def _verify_order(self) -> list[Damage]:
        if self.order is None:
            return []
        return await check_arrays({"order of the rows": self._order_array}, None)

    async def lengths(self) -> dict[str, int]:
        """Return the lengths to be noted, by path, once everything is written."""
        found = {self.blocks.path: await self.blocks.length()}
        return found if self.order is None else found | {self._order_array.path: len(self.order)}

    def noted(self) -> dict[tuple[str, int], int]:
        """Return the checksums of the chunks that were written, by path and number."""
        return {**self.ids.noted(), **self.blocks.noted(), **self._order_array.noted()}

    async def write(self, session: Session) -> None:
        """Put everything that is pending into `session`."""
        for array in (self.ids, self.blocks):
            await array.write(session)
        await self._write_order(session)

    async def _write_order(self, session: Session) -> None:
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
        rest = self.order[start:]
        await self._order_array.rewrite(session, start, rest, new=not self._had_order)

    async def _draw(self, count: int) -> NDArray[np.int64]:
        """Return new ids, from as few blocks as they take."""
        found = []
        while count:
            if not self._ids_left:
                block = await self._free_block()
                self.blocks.append(np.array([block]))
                self._next_id, self._ids_left = block << COUNTER_BITS, BLOCK_ROWS
            some = min(count, self._ids_left)
            found.append(np.arange(self._next_id, self._next_id + some, dtype=np.int64))
            self._next_id, self._ids_left = self._next_id + some, self._ids_left - some
            count -= some
        return np.concatenate(found) if found else np.empty(0, np.int64)

    async def _free_block(self) -> int:
        taken = await self.blocks.read_all()
        while (block := secrets.randbits(BLOCK_BITS)) in taken:
            pass
        return block

    async def _without_collision(
        self, ids: NDArray[np.int64], blocks: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Note `blocks` as taken; return `ids` without blocks that another writer has drawn."""
        ids = ids.copy()
        taken = await self.blocks.read_all()
        for block in blocks.tolist():
            free = block if block not in taken else await self._free_block()
            of_block = (ids >> COUNTER_BITS) == block
            ids[of_block] += (free - block) << COUNTER_BITS
            self.blocks.append(np.array([free]))
        return ids
