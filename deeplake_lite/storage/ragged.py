"""Columns whose cells differ in size, or are encoded: bytes in a heap, and where they are.

``extents`` (slots, 2) int64 says where the bytes lie, ``shapes`` (slots, ndim) int32 what shape
decoding gives, ``hashes`` (slots,) uint64 is xxh3_64 over the bytes, seeded by the hash of dtype
and shape, and ``valid`` (slots,) bool is there where the column is nullable. A null has no bytes
and hash 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self, cast

import numpy as np

from deeplake_lite.errors import DamagedError
from deeplake_lite.htypes.cells import Cells, FlatCells, RaggedCells
from deeplake_lite.storage import chunks
from deeplake_lite.storage.arrays import ArraySpec, Slots
from deeplake_lite.storage.column import Column, Damage, Place, Staged, validity
from deeplake_lite.storage.dense import check_arrays
from deeplake_lite.storage.heap import Heap

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.htypes.base import Htype
    from deeplake_lite.htypes.layouts import Ragged
    from deeplake_lite.storage.arrays import SlotArray
    from deeplake_lite.storage.heap import Claims
    from deeplake_lite.storage.repo import Session


class RaggedColumn(Column):
    """Cells of any length."""

    def __init__(self, htype: Htype, place: Place) -> None:
        layout = cast("Ragged", htype.layout)
        specs = {
            "extents": ArraySpec("int64", (2,), ("start_length",)),
            "hashes": ArraySpec("uint64"),
        }
        if layout.ndim:
            specs["shapes"] = ArraySpec("int32", (layout.ndim,), ("axis",))
        if htype.nullable:
            specs["valid"] = ArraySpec("bool")
        super().__init__(htype, place, {n: place.array(n, s) for n, s in specs.items()})
        self.layout = layout
        self.heap = Heap(
            place.session,
            place.path,
            compressed=layout.compressed,
            cache=place.cache,
            new=place.new,
            tail_bytes=place.length(f"{place.path}/tail") or 0,
            values_end=place.heaps.get(f"{place.path}/values", 0),
        )
        self._checked = place.checked

    def forked(self) -> Self:
        """Return a column of the same cells for further edits; this one is only read from now."""
        fork = super().forked()
        fork.heap = self.heap.forked()
        return fork

    async def read(self, slots: Slots) -> RaggedCells:
        """Return the cells of `slots`, in their order."""
        cells = await self._read(slots)
        if self._checked and len(wrong := await self._changed(slots, cells)):
            raise DamagedError(
                f"The cells of {self.place.path} in slots {', '.join(map(str, wrong[:5]))}"
                f"{' …' if len(wrong) > 5 else ''} do not match their hashes. Run ds.verify()."
            )
        return cells

    async def _read(self, slots: Slots) -> RaggedCells:
        buffers = await self.heap.read(await self.arrays["extents"].read(slots))
        return RaggedCells(buffers, await self.read_shapes(slots), await self.read_valid(slots))

    async def _changed(self, slots: Slots, cells: RaggedCells) -> Slots:
        """Return those of the slots whose cells do not have the hashes that were noted."""
        found: Slots = slots[self.digest(cells) != await self.digests(slots)]
        return found

    async def read_flat(self, slots: Slots) -> FlatCells:
        """Return the bytes of the cells of `slots`, back to back in their order."""
        extents = await self.arrays["extents"].read(slots)
        if self._checked:
            cells = await self.read(slots)
            data = np.frombuffer(b"".join(cells.buffers), np.uint8)
        else:
            data = await self.heap.read_flat(extents)
        return FlatCells(data, extents[:, 1], await self.read_valid(slots))

    async def read_shapes(self, slots: Slots) -> NDArray[np.int32]:
        """Return (n, ndim) int32 shapes without the bytes; -1 for axes that a cell has not."""
        if "shapes" not in self.arrays:
            return np.empty((len(slots), 0), np.int32)
        return await self.arrays["shapes"].read(slots)

    async def digests(self, slots: Slots) -> NDArray[np.uint64]:
        """Return (n,) uint64 hashes as they were noted."""
        return await self.arrays["hashes"].read(slots)

    async def verify(self, slots: Slots) -> list[Damage]:
        """Read every cell and compare its hash, chunk of the index by chunk."""
        found = []
        try:
            await self.place.session.check_length(f"{self.heap.path}/tail", self.heap.tail_bytes)
        except DamagedError as error:
            found.append(Damage(None, f"bytes: {error}"))
        for some in chunks.batches(slots.tolist(), 1024):
            part = np.array(some, np.int64)
            damaged = await check_arrays(self.arrays, part)
            found += damaged or await self._verify_bytes(part)
        return found

    async def sizes(self, slots: Slots) -> NDArray[np.int64]:
        """Return the stored size of each cell, bytes, without reading them."""
        return (await self.arrays["extents"].read(slots))[:, 1]

    @property
    def spillable(self) -> list[SlotArray]:
        """The slot arrays but for the extents: what goes to the tail is known at the commit."""
        return [array for name, array in self.arrays.items() if name != "extents"]

    async def lengths(self) -> dict[str, int]:
        """Return the lengths to be noted, by path, once everything is written."""
        return {f"{self.heap.path}/tail": self.heap.tail_bytes}

    async def drain(self) -> None:
        """Wait until all that was appended is where it is to be. Raises what a write raised."""
        await self.heap.drain()

    async def abandon(self) -> None:
        """Cancel the writes that are under way, and wait until they have ended."""
        await self.heap.abandon()

    async def adopt(self, other: Column) -> None:
        """Take over what is pending in `other`, the same column at an earlier version."""
        assert isinstance(other, RaggedColumn)
        await super().adopt(other)
        self.heap.adopt(other.heap)

    def claimed(self) -> dict[str, range]:
        """Return the chunks that the open transaction has written, by path of the array."""
        return {f"{self.heap.path}/values": self.heap.claimed} if len(self.heap.claimed) else {}

    async def write(self, session: Session) -> None:
        """Put everything that is pending into `session`."""
        extents = self.arrays["extents"]
        if extents.dirty:
            extents.revise((await self.heap.settle(session)).translate)
        await super().write(session)

    async def stage(self, cells: Cells, claims: Claims) -> Staged:
        """Put the bytes into the heap; return what the slot arrays keep of the cells."""
        assert isinstance(cells, RaggedCells)
        kept: Staged = {
            "extents": await self.heap.append(cells.buffers, claims),
            "hashes": self.digest(cells),
        }
        if "shapes" in self.arrays:
            kept["shapes"] = cells.shapes
        if "valid" in self.arrays:
            kept["valid"] = validity(cells)
        return kept

    async def _verify_bytes(self, slots: Slots) -> list[Damage]:
        try:
            cells = await self._read(slots)
        except (DamagedError, OSError, ValueError) as error:
            if len(slots) == 1:
                return [Damage(int(slots[0]), f"bytes: {error}")]
            middle = len(slots) // 2
            return await self._verify_bytes(slots[:middle]) + await self._verify_bytes(
                slots[middle:]
            )
        wrong = await self._changed(slots, cells)
        return [Damage(int(s), "bytes: their hash is not the one noted") for s in wrong]
