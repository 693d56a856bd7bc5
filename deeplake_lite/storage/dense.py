"""Columns whose cells have one fixed shape, stored as an array that any Zarr library can read.

The cells are in ``data``. A nullable column also has the array ``valid``. A scalar column whose
values have an order also has ``bounds`` and ``counts``, with one row per chunk of ``data``.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from deeplake_lite.errors import LakeError
from deeplake_lite.htypes.cells import Cells, DenseCells
from deeplake_lite.storage import chunks, stats
from deeplake_lite.storage.array_spec import ArraySpec
from deeplake_lite.storage.column import Column, Damage, Location, Staged, validity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.htypes.base import Htype
    from deeplake_lite.htypes.layouts import Dense
    from deeplake_lite.storage.array_spec import Index
    from deeplake_lite.storage.arrays import SlotArray
    from deeplake_lite.storage.heap import Claims
    from deeplake_lite.storage.log import LogWriter
    from deeplake_lite.storage.repo import Session
    from deeplake_lite.storage.stored_array import Slots


class DenseColumn(Column):
    """A column whose cells have one fixed shape."""

    def __init__(self, htype: Htype, location: Location) -> None:
        layout = cast("Dense", htype.layout)
        spec = ArraySpec(layout.dtype, layout.shape)
        arrays = {"data": location.array("data", spec)}
        if htype.nullable:
            arrays["valid"] = location.array("valid", ArraySpec("bool"))
        super().__init__(htype, location, arrays)
        ordered = layout.shape == () and np.dtype(layout.dtype).kind in stats.KINDS
        self._stats = _Statistics(location, spec) if ordered else None

    def forked(self) -> Self:
        """Return a copy for further edits. From now on, this column must only be read."""
        fork = super().forked()
        fork._stats = None if self._stats is None else self._stats.forked()
        return fork

    async def read(self, slots: Slots, out: NDArray[Any] | None = None) -> DenseCells:
        """Return the cells of `slots`, in the given order, in `out` if the slots are a range."""
        values = await self.arrays["data"].read(slots, out)
        return DenseCells(values, await self.read_valid(slots))

    async def read_part(self, slots: Slots, index: Index) -> DenseCells | None:
        """Return ``cell[index]`` for each cell, or None if this would be no faster than `read`."""
        values = await self.arrays["data"].read_part(slots, index)
        return None if values is None else DenseCells(values, await self.read_valid(slots))

    async def stage(self, cells: Cells, claims: Claims) -> Staged:  # noqa: ARG002
        """Return the entries for the slot arrays."""
        assert isinstance(cells, DenseCells)
        staged: Staged = {"data": cells.values}
        if "valid" in self.arrays:
            staged["valid"] = validity(cells)
        return staged

    async def digests(self, slots: Slots) -> NDArray[np.uint64]:
        """Return digests, (n,) uint64: the bytes of cells of up to 8 bytes, otherwise hashes."""
        return self.digest(await self.read(slots))

    async def verify(self, slots: Slots) -> list[Damage]:
        """Read all arrays, which verifies the checksums in their chunks, and return the damage."""
        damage = []
        for batch in chunks.batches(slots.tolist(), self.arrays["data"].spec.chunk_rows):
            damage += await check_arrays(self.arrays, np.array(batch, np.int64))
        return damage + await check_arrays({} if self._stats is None else self._stats.arrays, None)

    @property
    def stored_arrays(self) -> list[SlotArray]:
        """All arrays that have checksums."""
        stats = {} if self._stats is None else self._stats.arrays
        return [*self.arrays.values(), *stats.values()]

    async def sizes(self, slots: Slots) -> NDArray[np.int64]:
        """Return the uncompressed size of each cell in bytes."""
        return np.full(len(slots), self.arrays["data"].spec.row_bytes, np.int64)

    async def statistics(self) -> tuple[NDArray[Any], NDArray[np.int64]] | None:
        """Return the committed bounds and counts of nulls and NaNs, (chunks, 2) each.

        Return None if the column has no statistics.
        """
        return None if self._stats is None else await self._stats.read()

    async def spill(self, claims: Claims) -> bool:
        """Write large pending arrays before the commit; return whether any was written.

        At the commit, `write` computes statistics from `pending_rows`. Rows that are written here
        are no longer pending then, so their statistics are computed now.
        """
        data = self.arrays["data"]
        first, rows = (0, None) if self._stats is None else await data.pending_rows()
        spilled = await super().spill(claims)
        if self._stats is not None and rows is not None:
            written = await data.stored() - first
            valid = await self._valid_from(first, written)
            await self._stats.add_rows(first, rows[:written], valid)
        return spilled

    async def adopt(self, other: Column) -> None:
        """Take over the pending edits of `other`, the same column at an earlier version."""
        assert isinstance(other, DenseColumn)
        await super().adopt(other)
        if self._stats is not None and other._stats is not None:
            for name, array in self._stats.arrays.items():
                array.adopt(other._stats.arrays[name])
                array.revise(np.copy)  # `write` widens the values, and `other` must not change

    async def write(self, session: Session, log: LogWriter | None = None) -> None:
        """Write all pending edits, and those in the log, to `session` or to a new log."""
        data = self.arrays["data"]
        if self._stats is not None and data.dirty:
            first, rows = await data.pending_rows()
            await self._stats.add_rows(first, rows, await self._valid_from(first, len(rows)))
            if (updates := data.pending_updates()) is not None:
                await self._stats.add_updates(*updates, await self._valid_at(updates[0]))
        if self._stats is not None:  # even if `data` has nothing pending, since `spill` adds rows
            await self._stats.write(session, log)
        await super().write(session, log)

    async def _valid_from(self, first: int, count: int) -> NDArray[np.bool_] | None:
        return await self._valid_at(np.arange(first, first + count))

    async def _valid_at(self, slots: Slots) -> NDArray[np.bool_] | None:
        return await self.arrays["valid"].read(slots) if "valid" in self.arrays else None


class _Statistics:
    """Bounds and counts of the chunks of one scalar column."""

    def __init__(self, location: Location, spec: ArraySpec) -> None:
        self._chunk_rows = spec.chunk_rows
        if location.slots is not None:
            location = replace(location, slots=-(-location.slots // spec.chunk_rows))
        self.arrays = {
            "bounds": location.array("bounds", ArraySpec(spec.dtype, (2,), ("bound",))),
            "counts": location.array("counts", ArraySpec("int64", (2,), ("count",))),
        }

    def forked(self) -> _Statistics:
        """Return a copy for further edits."""
        fork = copy.copy(self)
        fork.arrays = {name: array.forked() for name, array in self.arrays.items()}
        return fork

    async def read(self) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return the bounds and the counts of all chunks."""
        return await self.arrays["bounds"].read_all(), await self.arrays["counts"].read_all()

    async def add_rows(
        self, first: int, rows: NDArray[Any], valid: NDArray[np.bool_] | None
    ) -> None:
        """Add rows, whose slots start at `first`, to the statistics."""
        if len(rows):
            last = (first + len(rows) - 1) // self._chunk_rows
            numbers = np.arange(first // self._chunk_rows, last + 1)
            starts = np.maximum(numbers * self._chunk_rows - first, 0)
            await self._add(numbers, stats.summarize(rows, valid, starts))

    async def add_updates(
        self, slots: Slots, values: NDArray[Any], valid: NDArray[np.bool_] | None
    ) -> None:
        """Add new values of cells to the statistics; `slots` must be in ascending order."""
        numbers, starts = np.unique(slots // self._chunk_rows, return_index=True)
        if len(numbers):
            await self._add(numbers, stats.summarize(values, valid, starts))

    async def _add(
        self, numbers: NDArray[np.int64], new: tuple[NDArray[Any], NDArray[np.int64]]
    ) -> None:
        """Widen the summaries of chunks by `new`. They still cover values that were overwritten.

        The first chunks may have summaries already. The others follow the last of these.
        """
        bounds, counts = self.arrays["bounds"], self.arrays["counts"]
        known = int(np.searchsorted(numbers, await bounds.length()))
        if known:
            at = numbers[:known]
            old = await bounds.read(at), await counts.read(at)
            low_high, nulls_nans = stats.widen(old, (new[0][:known], new[1][:known]))
            await bounds.set(at, low_high)
            await counts.set(at, nulls_nans)
        bounds.append(new[0][known:])
        counts.append(new[1][known:])

    async def write(self, session: Session, log: LogWriter | None) -> None:
        """Write both arrays to `session` or to a log."""
        for array in self.arrays.values():
            if array.is_unwritten:
                await array.write(session, log)


async def check_arrays(arrays: dict[str, SlotArray], slots: Slots | None) -> list[Damage]:
    """Read the given slots of each array, or all slots if None, and return the damage.

    Each array must be as long as the lake's document says. This is checked first, because a wrong
    length in the document would make the read below allocate memory for rows that do not exist.
    """
    damage = []
    for name, array in arrays.items():
        try:
            await array.check_length()
        except LakeError as error:
            damage.append(Damage(None, f"{name}: {error}"))
            continue
        selected = np.arange(await array.length()) if slots is None else slots
        keys = selected // array.spec.chunk_rows
        order, runs = chunks.group(keys)
        for run in runs:
            try:
                await array.read(selected[order[run]])
            except Exception as error:  # codecs raise all kinds of errors for damaged bytes
                lost = selected[order[run]].tolist() if slots is not None else [None]
                damage += [Damage(slot, f"{name}: {error}") for slot in lost]
    return damage
