"""Columns whose cells are sequences: items in a column of their own, and where each cell's are.

``spans`` (slots, 2) int64 holds the first item and their number, ``hashes`` (slots,) uint64 is
xxh3_64 over the digests of the items, ``valid`` is there where the column is nullable, and
``items`` is a column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from deeplake_lite.errors import DamagedError
from deeplake_lite.htypes.cells import Cells, NestedCells
from deeplake_lite.storage import chunks
from deeplake_lite.storage.arrays import MANY_ROWS, ArraySpec, SlotArray, Slots
from deeplake_lite.storage.column import Column, Damage, Place, Staged, validity
from deeplake_lite.storage.dense import check_arrays
from deeplake_lite.storage.digests import nested_digests

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from deeplake_lite.htypes.base import Htype
    from deeplake_lite.htypes.layouts import Nested
    from deeplake_lite.storage.heap import Claims
    from deeplake_lite.storage.repo import Session

VERIFIED_ROWS = 8_192
"""Cells whose hashes are compared at a time."""


class NestedColumn(Column):
    """Cells that are sequences of items.

    Parameters
    ----------
    htype : Htype
        Type of the column.
    place : Place
        Where its arrays are.
    make : callable
        Makes the column of items from their type and place.
    """

    def __init__(self, htype: Htype, place: Place, make: Callable[[Htype, Place], Column]) -> None:
        specs = {
            "spans": ArraySpec("int64", (2,), ("first_count",)),
            "hashes": ArraySpec("uint64"),
        }
        if htype.nullable:
            specs["valid"] = ArraySpec("bool")
        super().__init__(htype, place, {n: place.array(n, s) for n, s in specs.items()})
        self.items = make(cast("Nested", htype.layout).item, place.below("items"))

    def forked(self) -> Self:
        """Return a column of the same cells for further edits; this one is only read from now."""
        fork = super().forked()
        fork.items = self.items.forked()
        return fork

    async def read(self, slots: Slots) -> NestedCells:
        """Return the cells of `slots`, in their order."""
        spans = await self.read_spans(slots)
        items = await self.items.read(item_slots(spans))
        return NestedCells(spans[:, 1].copy(), items, await self.read_valid(slots))

    async def read_spans(self, slots: Slots) -> NDArray[np.int64]:
        """Return the first item and the number of items of each cell, (n, 2).

        Raises
        ------
        DamagedError
            When a span lies outside of the items, or cells share items: reading those would take
            memory for items that do not exist.
        """
        spans = await self.arrays["spans"].read(slots)
        length = await self._items_length(spans)
        sound = are_within(spans, length)
        if not sound.all():
            first, count = spans[~sound][0].tolist()
            raise DamagedError(
                f"A cell of {self.place.path} has {count} items from {first}, but there are "
                f"{length} items. Run ds.verify()."
            )
        if int(spans[:, 1].sum()) > length:  # a view may have a row several times, or cells overlap
            _, once = np.unique(slots, return_index=True)
            if int(spans[once, 1].sum()) > length:
                raise DamagedError(
                    f"Cells of {self.place.path} share items, of which there are {length}. Run "
                    "ds.verify()."
                )
        return spans

    async def _items_length(self, spans: NDArray[np.int64]) -> int:
        """Return how many items there are, which is looked at where cells have many of them.

        Raises
        ------
        DamagedError
            When there are fewer than the lake's document says.
        """
        if int(spans[:, 1].max(initial=0)) * len(spans) > MANY_ROWS:
            await self.items.check()
        return await self.items.length()

    async def digests(self, slots: Slots) -> NDArray[np.uint64]:
        """Return (n,) uint64 hashes as they were noted."""
        return await self.arrays["hashes"].read(slots)

    async def verify(self, slots: Slots) -> list[Damage]:
        """Read every item again, and compare the cells' hashes; an item's damage is its row's."""
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
            return [Damage(s, "its items are not there") for s in slots[~within].tolist()]
        if int(spans[:, 1].sum()) > length:
            return [Damage(None, "cells share items")]
        every = item_slots(spans)
        row_of = dict(zip(every.tolist(), np.repeat(slots, spans[:, 1]).tolist(), strict=True))
        damaged = [
            Damage(None if d.slot is None else row_of[d.slot], f"items: {d.reason}")
            for d in await self.items.verify(every)
        ]
        rows = {d.slot for d in damaged}
        if None in rows:
            return damaged
        sound = np.array([slot for slot in slots.tolist() if slot not in rows], np.int64)
        return damaged + await self._verify_hashes(sound)

    async def _verify_hashes(self, slots: Slots) -> list[Damage]:
        """Compare the hashes of cells, whose items are sound, with those of their items."""
        found: list[Damage] = []
        for some in chunks.spans(len(slots), VERIFIED_ROWS):
            part = slots[some]
            spans = await self.read_spans(part)
            items = await self.items.digests(item_slots(spans))
            expected = nested_digests(items, spans[:, 1], await self.read_valid(part))
            wrong = expected != await self.digests(part)
            found += [Damage(s, "its items are not those noted") for s in part[wrong].tolist()]
        return found

    async def sizes(self, slots: Slots) -> NDArray[np.int64]:
        """Return the stored size of each cell, bytes, without reading them."""
        spans = await self.read_spans(slots)
        ends = np.concatenate([[0], np.cumsum(await self.items.sizes(item_slots(spans)))])
        after = np.cumsum(spans[:, 1])
        return np.asarray(ends[after] - ends[after - spans[:, 1]], np.int64)

    @property
    def stored_arrays(self) -> list[SlotArray]:
        """All arrays that checksums are kept of."""
        return [*self.arrays.values(), *self.items.stored_arrays]

    async def lengths(self) -> dict[str, int]:
        """Return the lengths to be noted, by path, once everything is written."""
        return {self.items.place.path: await self.items.length(), **await self.items.lengths()}

    async def drain(self) -> None:
        """Wait until all that was appended is where it is to be. Raises what a write raised."""
        await self.items.drain()

    async def abandon(self) -> None:
        """Cancel the writes that are under way, and wait until they have ended."""
        await self.items.abandon()

    async def spill(self, claims: Claims) -> bool:
        """Write what no longer fits into memory; tell whether anything was."""
        return bool(await super().spill(claims) | await self.items.spill(claims))

    async def adopt(self, other: Column) -> None:
        """Take over what is pending in `other`, the same column at an earlier version."""
        assert isinstance(other, NestedColumn)
        await super().adopt(other)
        await self.items.adopt(other.items)
        old, new = await _committed(other.items), await _committed(self.items)

        def shift(spans: NDArray[Any]) -> NDArray[Any]:
            moved = spans.copy()
            moved[:, 0] += np.where(spans[:, 0] >= old, new - old, 0)
            return moved

        self.arrays["spans"].revise(shift)

    def claimed(self) -> dict[str, range]:
        """Return the chunks that the open transaction has written, by path of the array."""
        return self.items.claimed()

    async def write(self, session: Session) -> None:
        """Put everything that is pending into `session`."""
        await super().write(session)
        await self.items.write(session)

    async def stage(self, cells: Cells, claims: Claims) -> Staged:
        """Append the items; return what the slot arrays keep of the cells."""
        assert isinstance(cells, NestedCells)
        first = await self.items.length()
        await self.items.append(cells.items, claims)
        spans = np.stack([first + np.cumsum(cells.counts) - cells.counts, cells.counts], axis=1)
        kept: Staged = {
            "spans": spans,
            "hashes": self.digest(cells),
        }
        if "valid" in self.arrays:
            kept["valid"] = validity(cells)
        return kept


def are_within(spans: NDArray[np.int64], length: int) -> NDArray[np.bool_]:
    """Tell which spans (first, count) lie within `length` items.

    >>> are_within(np.array([[4, 2], [0, 7], [0, -1], [-1, 1]]), 6).tolist()
    [True, False, False, False]
    """
    firsts, counts = spans[:, 0], spans[:, 1]
    least = (firsts >= 0) & (counts >= 0) & (counts <= length)
    sound: NDArray[np.bool_] = least & (firsts <= length - np.where(least, counts, 0))
    return sound


def item_slots(spans: NDArray[np.int64]) -> Slots:
    """Return the slots of the items of each span, back to back.

    >>> item_slots(np.array([[4, 2], [0, 1]])).tolist()
    [4, 5, 0]
    """
    firsts, counts = spans[:, 0], spans[:, 1]
    within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(firsts, counts) + within


async def _committed(column: Column) -> int:
    return await next(iter(column.arrays.values())).stored()
