"""Columns whose cells are sequences of items, which are stored in a separate column.

Each cell has the slot of its first item and the number of items::

    spans of the column        items: a column with slots of its own
    slot   first  count        slot    0    1    2    3    4
      0      0      2   ──►          │ a0 │ a1 │    │    │    │
      1      2      0                │    │    │    │    │    │
      2      2      3   ──►          │    │    │ c0 │ c1 │ c2 │

In addition to ``spans`` (slots, 2) int64, there are ``hashes`` (slots,) uint64, the xxh3_64 of the
items' digests, and ``valid`` (slots,) bool if the column is nullable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from deeplake_lite.errors import DamagedError
from deeplake_lite.htypes.cells import Cells, NestedCells
from deeplake_lite.storage import chunks
from deeplake_lite.storage.array_spec import ArraySpec
from deeplake_lite.storage.column import Column, Damage, Location, Staged, validity
from deeplake_lite.storage.dense import check_arrays
from deeplake_lite.storage.digests import nested_digests
from deeplake_lite.storage.stored_array import MANY_ROWS, Slots

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from deeplake_lite.htypes.base import Htype
    from deeplake_lite.htypes.layouts import Nested
    from deeplake_lite.storage.arrays import SlotArray
    from deeplake_lite.storage.chunk_cache import ChunkCache
    from deeplake_lite.storage.heap import Claims
    from deeplake_lite.storage.log import LogWriter, Size
    from deeplake_lite.storage.repo import Session

VERIFIED_ROWS = 8_192
"""Number of cells whose hashes are verified at a time."""


class NestedColumn(Column):
    """A column whose cells are sequences of items.

    Parameters
    ----------
    htype : Htype
        Type of the column.
    location : Location
        Location of the column's arrays.
    make : callable
        Called with the type and the location of the items; returns the column of items.
    """

    def __init__(
        self, htype: Htype, location: Location, make: Callable[[Htype, Location], Column]
    ) -> None:
        specs = {
            "spans": ArraySpec("int64", (2,), ("first_count",)),
            "hashes": ArraySpec("uint64"),
        }
        if htype.nullable:
            specs["valid"] = ArraySpec("bool")
        super().__init__(htype, location, {n: location.array(n, s) for n, s in specs.items()})
        self.items = make(cast("Nested", htype.layout).item, location.below("items"))

    def forked(self) -> Self:
        """Return a copy for further edits. From now on, this column must only be read."""
        fork = super().forked()
        fork.items = self.items.forked()
        return fork

    def checked(self, cache: ChunkCache) -> Self:
        """Return a copy whose reads verify checksums and hashes."""
        checked = super().checked(cache)
        checked.items = self.items.checked(cache)
        return checked

    async def read(self, slots: Slots) -> NestedCells:
        """Return the cells of `slots`, in the given order."""
        spans = await self.read_spans(slots)
        items = await self.items.read(item_slots(spans))
        return NestedCells(spans[:, 1].copy(), items, await self.read_valid(slots))

    async def read_spans(self, slots: Slots) -> NDArray[np.int64]:
        """Return the first item and the number of items of each cell, (n, 2).

        Raises
        ------
        DamagedError
            If a span is out of bounds, or if cells share items. Reading such cells would allocate
            memory for items that do not exist.
        """
        spans = await self.arrays["spans"].read(slots)
        length = await self._items_length(spans)
        sound = are_within(spans, length)
        if not sound.all():
            first, count = spans[~sound][0].tolist()
            raise DamagedError(
                f"A cell of {self.location.path} refers to {count} items starting at item {first}, "
                f"but there are only {length} items. Run ds.verify()."
            )
        if int(spans[:, 1].sum()) > length:
            # More items are requested than exist. This is fine if some slots are repeated, as in
            # a view that contains a row several times; otherwise, cells overlap.
            _, once = np.unique(slots, return_index=True)
            if int(spans[once, 1].sum()) > length:
                raise DamagedError(
                    f"Cells of {self.location.path} refer to more items than the {length} that "
                    "exist, so some cells share items. Run ds.verify()."
                )
        return spans

    async def _items_length(self, spans: NDArray[np.int64]) -> int:
        """Return the number of items; if the spans refer to many items, check the array first.

        Raises
        ------
        DamagedError
            If there are fewer items than the lake's document says.
        """
        if int(spans[:, 1].max(initial=0)) * len(spans) > MANY_ROWS:
            await self.items.check()
        return await self.items.length()

    async def digests(self, slots: Slots) -> NDArray[np.uint64]:
        """Return the stored hashes of the cells in `slots`, (n,) uint64."""
        return await self.arrays["hashes"].read(slots)

    async def verify(self, slots: Slots) -> list[Damage]:
        """Compare cells with their hashes, and return the damage.

        Damage to an item is reported as damage to the cell that contains the item. Each step relies
        on the previous step: spans must be within the range of items before items can be read, and
        items must be intact before they can be hashed.
        """
        damaged = await check_arrays(self.arrays, slots)
        if damaged:
            return damaged
        spans = await self.arrays["spans"].read(slots)
        try:
            length = await self._items_length(spans)
        except DamagedError as error:
            return [Damage(None, f"items: {error}")]
        within = are_within(spans, length)
        if not within.all():
            return [Damage(s, "the cell's items do not exist") for s in slots[~within].tolist()]
        if int(spans[:, 1].sum()) > length:
            return [Damage(None, "cells share items")]
        items = item_slots(spans)
        cell_of = dict(zip(items.tolist(), np.repeat(slots, spans[:, 1]).tolist(), strict=True))
        damaged = [
            Damage(None if d.slot is None else cell_of[d.slot], f"items: {d.reason}")
            for d in await self.items.verify(items)
        ]
        damaged_slots = {d.slot for d in damaged}
        if None in damaged_slots:
            return damaged
        sound = np.array([slot for slot in slots.tolist() if slot not in damaged_slots], np.int64)
        return damaged + await self._verify_hashes(sound)

    async def _verify_hashes(self, slots: Slots) -> list[Damage]:
        """Compare the stored hashes of cells with hashes of their items, which must be intact."""
        damaged: list[Damage] = []
        for run in chunks.spans(len(slots), VERIFIED_ROWS):
            part = slots[run]
            spans = await self.read_spans(part)
            items = await self.items.digests(item_slots(spans))
            expected = nested_digests(items, spans[:, 1], await self.read_valid(part))
            wrong = expected != await self.digests(part)
            reason = "the cell's items do not match its stored hash"
            damaged += [Damage(s, reason) for s in part[wrong].tolist()]
        return damaged

    async def sizes(self, slots: Slots) -> NDArray[np.int64]:
        """Return the stored size of each cell in bytes, without reading the cells."""
        spans = await self.read_spans(slots)
        ends = np.concatenate([[0], np.cumsum(await self.items.sizes(item_slots(spans)))])
        after = np.cumsum(spans[:, 1])
        return np.asarray(ends[after] - ends[after - spans[:, 1]], np.int64)

    @property
    def stored_arrays(self) -> list[SlotArray]:
        """All arrays that have checksums."""
        return [*self.arrays.values(), *self.items.stored_arrays]

    async def lengths(self) -> dict[str, int]:
        """Return a dict from array path to length, for the root document. Call `write` first."""
        return {self.items.location.path: await self.items.length(), **await self.items.lengths()}

    async def fill(self, claims: Claims) -> None:
        """Write appended bytes as a padded chunk if they would need many chunks of a tail."""
        await self.items.fill(claims)

    async def drain(self) -> None:
        """Wait until all appended bytes are written. Raises the error of a failed write."""
        await self.items.drain()

    async def abandon(self) -> None:
        """Cancel the writes in progress, and wait until they have ended."""
        await self.items.abandon()

    async def spill(self, claims: Claims) -> bool:
        """Write large pending arrays before the commit; return whether any was written."""
        # `|` and not `or`, so that the items are spilled in any case.
        return bool(await super().spill(claims) | await self.items.spill(claims))

    async def adopt(self, other: Column) -> None:
        """Take over the pending edits of `other`, which is this column at an earlier version.

        If other writers have committed items in the meantime, pending items get higher slots than
        the transaction expected, and pending spans are shifted by the difference.
        """
        assert isinstance(other, NestedColumn)
        await super().adopt(other)
        await self.items.adopt(other.items)
        old, new = await _stored_length(other.items), await _stored_length(self.items)

        def shift(spans: NDArray[Any]) -> NDArray[Any]:
            moved = spans.copy()
            moved[:, 0] += np.where(spans[:, 0] >= old, new - old, 0)
            return moved

        self.arrays["spans"].revise(shift)

    def claimed(self) -> dict[str, range]:
        """Return a dict from array path to the heap chunks that the transaction has written."""
        return self.items.claimed()

    async def write(self, session: Session, log: LogWriter | None = None) -> None:
        """Write all pending edits, and those in the log, to `session` or to a new log."""
        await super().write(session, log)
        await self.items.write(session, log)

    def unwritten(self) -> dict[str, Size]:
        """Return the size of the entries in the log or pending, by path of the array."""
        return super().unwritten() | self.items.unwritten()

    async def stage(self, cells: Cells, claims: Claims) -> Staged:
        """Append the items; return the entries for the slot arrays."""
        assert isinstance(cells, NestedCells)
        first = await self.items.length()
        await self.items.append(cells.items, claims)
        spans = np.stack([first + np.cumsum(cells.counts) - cells.counts, cells.counts], axis=1)
        staged: Staged = {
            "spans": spans,
            "hashes": self.digest(cells),
        }
        if "valid" in self.arrays:
            staged["valid"] = validity(cells)
        return staged


def are_within(spans: NDArray[np.int64], length: int) -> NDArray[np.bool_]:
    """Return a mask of the spans (first, count) that end within `length` items, (n,) bool.

    >>> are_within(np.array([[4, 2], [0, 7], [0, -1], [-1, 1]]), 6).tolist()
    [True, False, False, False]
    """
    firsts, counts = spans[:, 0], spans[:, 1]
    # Not `firsts + counts <= length`, since the sum of two damaged numbers may overflow.
    in_range = (firsts >= 0) & (counts >= 0) & (counts <= length)
    sound: NDArray[np.bool_] = in_range & (firsts <= length - np.where(in_range, counts, 0))
    return sound


def item_slots(spans: NDArray[np.int64]) -> Slots:
    """Return the slots of the items of all spans, concatenated.

    >>> item_slots(np.array([[4, 2], [0, 1]])).tolist()
    [4, 5, 0]
    """
    firsts, counts = spans[:, 0], spans[:, 1]
    within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(firsts, counts) + within


async def _stored_length(column: Column) -> int:
    return await next(iter(column.arrays.values())).stored()
