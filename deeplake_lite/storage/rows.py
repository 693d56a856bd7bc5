"""Which rows there are, in which order, and who they are.

A row lives in one slot for good. `order` maps positions to slots, and is None while position *i* is
slot *i*; deleting and reordering touch only it. Each slot has a row id, an int64 that no other row
on any branch or machine has: a random block of 47 bits, drawn per transaction and 65,536 rows, and
a counter of 16 bits.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.storage.arrays import ArraySpec, ChunkCache, SlotArray, Slots
from deeplake_lite.storage.column import Damage, Place
from deeplake_lite.storage.dense import check_arrays

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.storage.repo import Session

COUNTER_BITS = 16
BLOCK_BITS = 47
BLOCK_ROWS = 1 << COUNTER_BITS


class Rows:
    """Positions, slots and ids of the rows of one table.

    Parameters
    ----------
    session : Session
        Where committed arrays are read from.
    path : str
        Path of their group.
    cache : ChunkCache
        Shared by the arrays of one table.
    slots : int
        How many slots there are.
    ordered : bool
        Whether position *i* is slot *i*.
    new : bool
        Whether the arrays are yet to be made.
    """

    def __init__(
        self,
        session: Session,
        path: str,
        cache: ChunkCache,
        *,
        slots: int,
        ordered: bool,
        new: bool = False,
    ) -> None:
        self.ids = Place(session, path, cache, new, slots).array("id", ArraySpec("int64"))
        self.blocks = Place(session, path, cache, new).array("block", ArraySpec("int64"))
        self._order_array = SlotArray(session, f"{path}/slot", ArraySpec("int64"), cache)
        self._stored_order: Slots | None = None
        self._had_order = not ordered
        self.slots = slots
        self.order: Slots | None = None
        self._loaded = ordered
        self._next_id, self._ids_left = 0, 0

    async def load(self) -> None:
        """Read the order, if there is one and it has not been read."""
        if not self._loaded:
            every = np.arange(await self._order_array.length())
            self.order = self._stored_order = await self._order_array.read(every)
            self._loaded = True

    def keep_stored(self, other: Rows) -> None:
        """Share what `other`, of the same version, has read."""
        self._stored_order, self._loaded = other._stored_order, True

    def __len__(self) -> int:
        return self.slots if self.order is None else len(self.order)

    def at(self, positions: NDArray[np.int64]) -> Slots:
        """Return the slots of some positions."""
        return positions if self.order is None else self.order[positions]

    def live(self) -> Slots:
        """Return the slots of all rows, in their order."""
        return np.arange(self.slots) if self.order is None else self.order

    async def append(self, count: int, ids: NDArray[np.int64] | None = None) -> Slots:
        """Add rows at the end, with new ids unless some are given; return their slots."""
        if ids is None:
            self.ids.append(await self._draw(count))
        else:
            taken = await self.blocks.read(np.arange(await self.blocks.length()))
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
        """Read every array again; their chunks carry checksums."""
        found = await check_arrays({"row ids": self.ids}, np.arange(self.slots))
        return found + await check_arrays({"blocks of row ids": self.blocks}, None)

    async def write(self, session: Session) -> None:
        """Put everything that is pending into `session`."""
        for array in (self.ids, self.blocks):
            if array.dirty:
                await array.write(session)
        await self._write_order(session)

    async def _write_order(self, session: Session) -> None:
        path = self._order_array.path
        if self.order is None:
            if self._had_order:
                await session.delete_tree(path)
            return
        if self._had_order:
            array = await session.open_array(path)
            old = self._stored_order if self._stored_order is not None else np.empty(0, np.int64)
            same = min(len(old), len(self.order))
            differ = np.flatnonzero(old[:same] != self.order[:same])
            start = int(differ[0]) if len(differ) else same
            await array.resize((len(self.order),))
        else:
            array = await session.create_array(path, self._order_array.spec, len(self.order))
            start = 0
        if start < len(self.order):
            await array.setitem(slice(start, len(self.order)), self.order[start:])

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
        taken = await self.blocks.read(np.arange(await self.blocks.length()))
        while (block := secrets.randbits(BLOCK_BITS)) in taken:
            pass
        return block

    async def _without_collision(
        self, ids: NDArray[np.int64], blocks: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Note `blocks` as taken; return `ids` without blocks that another writer has drawn."""
        ids = ids.copy()
        taken = await self.blocks.read(np.arange(await self.blocks.length()))
        for block in blocks.tolist():
            free = block if block not in taken else await self._free_block()
            of_block = (ids >> COUNTER_BITS) == block
            ids[of_block] += (free - block) << COUNTER_BITS
            self.blocks.append(np.array([free]))
        return ids
