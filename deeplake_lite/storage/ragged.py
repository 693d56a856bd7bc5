"""Columns whose cells differ in size or are encoded.

The bytes of the cells are in a `Heap`. Arrays with one entry per slot describe the cells:

======================  =====  ==================================================================
``extents`` (slots, 2)  int64  start and length of the bytes in the heap
``shapes`` (slots, n)   int32  shape of the decoded value; only if the layout has axes
``hashes`` (slots,)     uint64 xxh3_64 of the bytes, seeded by a hash of the dtype and the shape
``valid`` (slots,)      bool   whether the cell is non-null; only if the column is nullable
======================  =====  ==================================================================

A null has no bytes and the hash 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self, cast

import numpy as np

from deeplake_lite.errors import DamagedError
from deeplake_lite.htypes.cells import Cells, FlatCells, RaggedCells
from deeplake_lite.storage import chunks
from deeplake_lite.storage.array_spec import ArraySpec
from deeplake_lite.storage.column import Column, Damage, Location, Staged, validity
from deeplake_lite.storage.dense import check_arrays
from deeplake_lite.storage.heap import TAIL_CHUNK, Heap
from deeplake_lite.storage.log import Size

if TYPE_CHECKING:
    from collections.abc import Buffer

    from numpy.typing import NDArray

    from deeplake_lite.htypes.base import Htype
    from deeplake_lite.htypes.layouts import Ragged
    from deeplake_lite.storage.arrays import SlotArray
    from deeplake_lite.storage.chunk_cache import ChunkCache
    from deeplake_lite.storage.heap import Claims
    from deeplake_lite.storage.log import LogWriter
    from deeplake_lite.storage.repo import Session
    from deeplake_lite.storage.stored_array import Slots


class RaggedColumn(Column):
    """A column whose cells may differ in length."""

    def __init__(self, htype: Htype, location: Location) -> None:
        layout = cast("Ragged", htype.layout)
        specs = {
            "extents": ArraySpec("int64", (2,), ("start_length",)),
            "hashes": ArraySpec("uint64"),
        }
        if layout.ndim:
            specs["shapes"] = ArraySpec("int32", (layout.ndim,), ("axis",))
        if htype.nullable:
            specs["valid"] = ArraySpec("bool")
        super().__init__(htype, location, {n: location.array(n, s) for n, s in specs.items()})
        self.layout = layout
        tail = location.entries(f"{location.path}/tail", ArraySpec("uint8"))
        tail_bytes = location.length(f"{location.path}/tail") or 0
        if len(tail.slots) or len(tail.rows) > tail_bytes:
            raise DamagedError(
                f"The lake's root document is damaged: the log has {len(tail.rows)} bytes and "
                f"{len(tail.slots)} updates of {location.path}/tail, which has {tail_bytes} bytes "
                "and is never updated. Restore the lake from a backup."
            )
        # A column that was dropped and restored has a recorded end, but its array is new.
        end = 0 if location.new else location.heaps.get(f"{location.path}/values", 0)
        self.heap = Heap(
            location.session,
            location.path,
            compressed=layout.compressed,
            cache=location.cache,
            tail_bytes=tail_bytes,
            log=tail.rows.tobytes(),
            values_end=end,
        )
        self._checked = location.checked

    def forked(self) -> Self:
        """Return a copy for further edits. From now on, this column must only be read."""
        fork = super().forked()
        fork.heap = self.heap.forked()
        return fork

    def checked(self, cache: ChunkCache) -> Self:
        """Return a copy whose reads verify checksums and hashes."""
        checked = super().checked(cache)
        checked._checked = True
        return checked

    async def read(self, slots: Slots) -> RaggedCells:
        """Return the cells of `slots`, in the given order."""
        cells = await self._read(slots)
        if self._checked and len(wrong := await self._find_changed(slots, cells)):
            raise DamagedError(
                f"The cells of {self.location.path} in slots {', '.join(map(str, wrong[:5]))}"
                f"{' …' if len(wrong) > 5 else ''} do not match their hashes. Run ds.verify()."
            )
        return cells

    async def _read(self, slots: Slots) -> RaggedCells:
        buffers = await self.heap.read(await self.arrays["extents"].read(slots))
        return RaggedCells(buffers, await self.read_shapes(slots), await self.read_valid(slots))

    async def _find_changed(self, slots: Slots, cells: RaggedCells) -> Slots:
        """Return the slots whose cells do not match their stored hashes."""
        changed: Slots = slots[self.digest(cells) != await self.digests(slots)]
        return changed

    async def read_ranges(
        self, slots: Slots, starts: NDArray[np.int64], lengths: NDArray[np.int64]
    ) -> list[Buffer] | None:
        """Return a range of the bytes of each cell.

        Return None if a cell has fewer bytes, or if reads are verified, because the hashes cover
        whole cells.

        Parameters
        ----------
        starts, lengths : ndarray, (n,) int64
            The range in each cell.
        """
        first, total = (await self.arrays["extents"].read(slots)).T
        if self._checked or (starts + lengths > total).any():
            return None
        signed = np.where(first < 0, -starts, starts)  # in the tail, addresses count down from -1
        return await self.heap.read(np.stack([first + signed, lengths], axis=1))

    async def read_flat(self, slots: Slots) -> FlatCells:
        """Return the bytes of the cells in `slots`, concatenated in the given order."""
        extents = await self.arrays["extents"].read(slots)
        if self._checked:
            cells = await self.read(slots)
            data = np.frombuffer(b"".join(cells.buffers), np.uint8)
        else:
            data = await self.heap.read_flat(extents)
        return FlatCells(data, extents[:, 1], await self.read_valid(slots))

    async def read_shapes(self, slots: Slots) -> NDArray[np.int32]:
        """Return the shapes of cells, (n, ndim) int32; -1 stands for axes that a cell lacks."""
        if "shapes" not in self.arrays:
            return np.empty((len(slots), 0), np.int32)
        return await self.arrays["shapes"].read(slots)

    async def digests(self, slots: Slots) -> NDArray[np.uint64]:
        """Return the stored hashes of the cells in `slots`, (n,) uint64."""
        return await self.arrays["hashes"].read(slots)

    async def verify(self, slots: Slots) -> list[Damage]:
        """Read the cells in batches, compare each with its hash, and return the damage."""
        damage = []
        try:
            if length := self.heap.tail_in_array:
                await self.location.session.check_length(f"{self.heap.path}/tail", length)
        except DamagedError as error:
            damage.append(Damage(None, f"bytes: {error}"))
        for batch in chunks.batches(slots.tolist(), 1024):
            part = np.array(batch, np.int64)
            damaged = await check_arrays(self.arrays, part)
            damage += damaged or await self._verify_bytes(part)
        return damage

    async def sizes(self, slots: Slots) -> NDArray[np.int64]:
        """Return the stored size of each cell in bytes, without reading the cells."""
        return (await self.arrays["extents"].read(slots))[:, 1]

    @property
    def spillable(self) -> list[SlotArray]:
        """All slot arrays except ``extents``, which only the commit can complete."""
        return [array for name, array in self.arrays.items() if name != "extents"]

    async def lengths(self) -> dict[str, int]:
        """Return a dict from array path to length, for the root document. Call `write` first."""
        return {f"{self.heap.path}/tail": self.heap.tail_bytes}

    async def fill(self, claims: Claims) -> None:
        """Write appended bytes as a padded chunk if they would need many chunks of a tail."""
        await self.heap.fill(claims)

    async def drain(self) -> None:
        """Wait until all appended bytes are written. Raises the error of a failed write."""
        await self.heap.drain()

    async def abandon(self) -> None:
        """Cancel the writes in progress, and wait until they have ended."""
        await self.heap.abandon()

    async def adopt(self, other: Column) -> None:
        """Take over the pending edits of `other`, which is this column at an earlier version."""
        assert isinstance(other, RaggedColumn)
        await super().adopt(other)
        self.heap.adopt(other.heap)

    def claimed(self) -> dict[str, range]:
        """Return a dict from array path to the heap chunks that the transaction has written."""
        return {f"{self.heap.path}/values": self.heap.claimed} if len(self.heap.claimed) else {}

    async def write(self, session: Session, log: LogWriter | None = None) -> None:
        """Write all pending edits, and those in the log, to `session` or to a new log."""
        # `settle` decides which bytes go to the tail. Until then, pending extents count from
        # heap.PENDING; here they become addresses, just before they are written.
        self.arrays["extents"].revise((await self.heap.settle(session, log)).translate)
        await super().write(session, log)

    def unwritten(self) -> dict[str, Size]:
        """Return the size of the entries in the log or pending, by path of the array."""
        tail = Size(self.heap.unwritten_bytes, 1 + self.heap.unwritten_bytes // TAIL_CHUNK)
        return super().unwritten() | {f"{self.heap.path}/tail": tail}

    async def stage(self, cells: Cells, claims: Claims) -> Staged:
        """Append the cells' bytes to the heap; return the entries for the slot arrays."""
        assert isinstance(cells, RaggedCells)
        staged: Staged = {
            "extents": await self.heap.append(cells.buffers, claims),
            "hashes": self.digest(cells),
        }
        if "shapes" in self.arrays:
            staged["shapes"] = cells.shapes
        if "valid" in self.arrays:
            staged["valid"] = validity(cells)
        return staged

    async def _verify_bytes(self, slots: Slots) -> list[Damage]:
        """Compare cells with their hashes; bisect the slots to find cells that cannot be read."""
        try:
            cells = await self._read(slots)
        except (DamagedError, OSError, ValueError) as error:
            if len(slots) == 1:
                return [Damage(int(slots[0]), f"bytes: {error}")]
            middle = len(slots) // 2
            return await self._verify_bytes(slots[:middle]) + await self._verify_bytes(
                slots[middle:]
            )
        wrong = await self._find_changed(slots, cells)
        return [Damage(int(s), "bytes: they do not match their stored hash") for s in wrong]
