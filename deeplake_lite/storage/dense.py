"""Columns of one fixed shape: one Zarr array, readable without this package.

Beside it, where the column is nullable, ``valid``; where it is a scalar with an order, ``bounds``
and ``counts``, one row per chunk of ``data``.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from deeplake_lite.errors import LakeError
from deeplake_lite.htypes.cells import Cells, DenseCells
from deeplake_lite.storage import chunks, stats
from deeplake_lite.storage.arrays import ArraySpec, SlotArray, Slots
from deeplake_lite.storage.column import Column, Damage, Place, Staged, validity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.htypes.base import Htype
    from deeplake_lite.htypes.layouts import Dense
    from deeplake_lite.storage.heap import Claims
    from deeplake_lite.storage.repo import Session


class DenseColumn(Column):
    """Cells of one fixed shape."""

    def __init__(self, htype: Htype, place: Place) -> None:
        layout = cast("Dense", htype.layout)
        spec = ArraySpec(layout.dtype, layout.shape)
        arrays = {"data": place.array("data", spec)}
        if htype.nullable:
            arrays["valid"] = place.array("valid", ArraySpec("bool"))
        super().__init__(htype, place, arrays)
        ordered = layout.shape == () and np.dtype(layout.dtype).kind in stats.KINDS
        self._stats = _Statistics(place, spec) if ordered else None

    def forked(self) -> Self:
        """Return a column of the same cells for further edits; this one is only read from now."""
        fork = super().forked()
        fork._stats = None if self._stats is None else self._stats.forked()
        return fork

    async def read(self, slots: Slots, out: NDArray[Any] | None = None) -> DenseCells:
        """Return the cells of `slots`, in their order; in `out` where they lie one by one."""
        values = await self.arrays["data"].read(slots, out)
        return DenseCells(values, await self.read_valid(slots))

    async def read_part(self, slots: Slots, index: tuple[Any, ...]) -> DenseCells | None:
        """Return an index of each cell by reading its bytes alone; None where that saves little."""
        values = await self.arrays["data"].read_part(slots, index)
        return None if values is None else DenseCells(values, await self.read_valid(slots))

    async def stage(self, cells: Cells, claims: Claims) -> Staged:  # noqa: ARG002
        """Return what the slot arrays are to keep of each cell."""
        assert isinstance(cells, DenseCells)
        kept: Staged = {"data": cells.values}
        if "valid" in self.arrays:
            kept["valid"] = validity(cells)
        return kept

    async def digests(self, slots: Slots) -> NDArray[np.uint64]:
        """Return (n,) uint64: bits of small cells, hashes of others; NaN equals NaN."""
        return self.digest(await self.read(slots))

    async def verify(self, slots: Slots) -> list[Damage]:
        """Read every array again; their chunks carry checksums."""
        found = []
        for some in chunks.batches(slots.tolist(), self.arrays["data"].spec.chunk_rows):
            found += await check_arrays(self.arrays, np.array(some, np.int64))
        return found + await check_arrays({} if self._stats is None else self._stats.arrays, None)

    @property
    def stored_arrays(self) -> list[SlotArray]:
        """All arrays that checksums are kept of."""
        stats = {} if self._stats is None else self._stats.arrays
        return [*self.arrays.values(), *stats.values()]

    async def sizes(self, slots: Slots) -> NDArray[np.int64]:
        """Return the size of each cell, bytes, uncompressed."""
        return np.full(len(slots), self.arrays["data"].spec.row_bytes, np.int64)

    async def statistics(self) -> tuple[NDArray[Any], NDArray[np.int64]] | None:
        """Return the committed bounds and counts of nulls and NaNs, (chunks, 2) each, or None."""
        return None if self._stats is None else await self._stats.read()

    async def spill(self, claims: Claims) -> bool:
        """Write what no longer fits into memory; tell whether anything was."""
        data = self.arrays["data"]
        first, rows = (0, None) if self._stats is None else await data.pending_rows()
        spilled = await super().spill(claims)
        if self._stats is not None and rows is not None:
            gone = await data.stored() - first
            await self._stats.note(first, rows[:gone], await self._valid_from(first, gone))
        return spilled

    async def adopt(self, other: Column) -> None:
        """Take over what is pending in `other`, the same column at an earlier version."""
        assert isinstance(other, DenseColumn)
        await super().adopt(other)
        if self._stats is not None and other._stats is not None:
            for name, array in self._stats.arrays.items():
                array.adopt(other._stats.arrays[name])
                array.revise(np.copy)

    async def write(self, session: Session) -> None:
        """Put everything that is pending into `session`."""
        data = self.arrays["data"]
        if self._stats is not None and data.dirty:
            first, rows = await data.pending_rows()
            await self._stats.note(first, rows, await self._valid_from(first, len(rows)))
            if (updates := data.pending_updates()) is not None:
                await self._stats.note_updates(*updates, await self._valid_at(updates[0]))
        if self._stats is not None:  # a spill may have noted all there is
            await self._stats.write(session)
        await super().write(session)

    async def _valid_from(self, first: int, count: int) -> NDArray[np.bool_] | None:
        return await self._valid_at(np.arange(first, first + count))

    async def _valid_at(self, slots: Slots) -> NDArray[np.bool_] | None:
        return await self.arrays["valid"].read(slots) if "valid" in self.arrays else None


class _Statistics:
    """Bounds and counts of one scalar column."""

    def __init__(self, place: Place, spec: ArraySpec) -> None:
        self._chunk_rows = spec.chunk_rows
        if place.slots is not None:
            place = replace(place, slots=-(-place.slots // spec.chunk_rows))
        self.arrays = {
            "bounds": place.array("bounds", ArraySpec(spec.dtype, (2,), ("bound",))),
            "counts": place.array("counts", ArraySpec("int64", (2,), ("count",))),
        }

    def forked(self) -> _Statistics:
        """Return the same statistics for further edits."""
        fork = copy.copy(self)
        fork.arrays = {name: array.forked() for name, array in self.arrays.items()}
        return fork

    async def read(self) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return all bounds and all counts."""
        return await self.arrays["bounds"].read_all(), await self.arrays["counts"].read_all()

    async def note(self, first: int, rows: NDArray[Any], valid: NDArray[np.bool_] | None) -> None:
        """Take in `rows` that follow each other from slot `first`."""
        keys = (first + np.arange(len(rows))) // self._chunk_rows
        for run in chunks.runs_of_equal(keys):
            some = None if valid is None else valid[run]
            await self._note_chunk(int(keys[run.start]), stats.summarize(rows[run], some))

    async def note_updates(
        self, slots: Slots, values: NDArray[Any], valid: NDArray[np.bool_] | None
    ) -> None:
        """Take in `values` of `slots`, which ascend."""
        keys = slots // self._chunk_rows
        for run in chunks.runs_of_equal(keys):
            some = None if valid is None else valid[run]
            await self._note_chunk(int(keys[run.start]), stats.summarize(values[run], some))

    async def _note_chunk(self, chunk: int, new: tuple[NDArray[Any], NDArray[np.int64]]) -> None:
        bounds, counts = self.arrays["bounds"], self.arrays["counts"]
        if chunk == await bounds.length():
            bounds.append(new[0][None])
            counts.append(new[1][None])
            return
        at = np.array([chunk])
        old = (await bounds.read(at))[0], (await counts.read(at))[0]
        low_high, nulls_nans = stats.widen(old, new)
        await bounds.set(at, low_high[None])
        await counts.set(at, nulls_nans[None])

    async def write(self, session: Session) -> None:
        """Put both arrays into `session`."""
        for array in self.arrays.values():
            if array.dirty:
                await array.write(session)


async def check_arrays(arrays: dict[str, SlotArray], slots: Slots | None) -> list[Damage]:
    """Read `slots` (all, where None) of each array; a chunk that fails damages its slots.

    The array must be as long as the document says: nothing is set aside for what it says alone.
    """
    found = []
    for name, array in arrays.items():
        try:
            await array.check_length()
        except LakeError as error:
            found.append(Damage(None, f"{name}: {error}"))
            continue
        where = np.arange(await array.length()) if slots is None else slots
        keys = where // array.spec.chunk_rows
        order, runs = chunks.group(keys)
        for run in runs:
            try:
                await array.read(where[order[run]])
            except Exception as error:  # whatever zarr or a codec makes of damaged bytes
                lost = where[order[run]].tolist() if slots is not None else [None]
                found += [Damage(slot, f"{name}: {error}") for slot in lost]
    return found
