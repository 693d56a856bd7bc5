"""What every column of the lake can do, whatever its layout: read, append and set cells by slot.

A column is made of slot arrays (and a heap, or a column of items). The open transaction's edits
live in those; a column only says what they mean.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from deeplake_lite.storage.arrays import SPILL_BYTES, ArraySpec, ChunkCache, SlotArray, Slots
from deeplake_lite.storage.digests import digests_of
from deeplake_lite.storage.repo import gather

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.htypes.base import Htype
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.storage.checksums import Checksums
    from deeplake_lite.storage.heap import Claims
    from deeplake_lite.storage.repo import Session


@dataclass(frozen=True)
class Place:
    """Where a column's arrays are."""

    session: Session
    """Where committed cells are read from."""
    path: str
    """Path of the column's group."""
    cache: ChunkCache
    """Shared by the columns of one table."""
    new: bool = False
    """Whether the arrays are yet to be made."""
    slots: int | None = None
    """How many committed slots there are, where that is known."""
    lengths: Mapping[str, int] = field(default_factory=dict)
    """Committed lengths of what is not as long as the lake has slots, by path (FORMAT.md, §2)."""
    heaps: Mapping[str, int] = field(default_factory=dict)
    """Behind the last chunk taken of arrays ``values``, by path."""
    checksums: Checksums | None = None
    """Of the stored chunks of arrays."""
    checked: bool = False
    """Whether every read is compared with checksums and hashes."""

    def array(self, name: str, spec: ArraySpec) -> SlotArray:
        """Return the array `name` of this column, one value per slot."""
        path = f"{self.path}/{name}"
        return SlotArray(
            self.session,
            path,
            spec,
            self.cache,
            new=self.new,
            stored=self.slots,
            checksums=self.checksums,
            checked=self.checked,
        )

    def below(self, name: str) -> Place:
        """Return the place of a column within this one."""
        path = f"{self.path}/{name}"
        return replace(self, path=path, slots=self.length(path))

    def length(self, path: str) -> int | None:
        """Return the committed length that was noted for a path; None where there is none."""
        return self.lengths.get(path.partition("/")[2])


@dataclass(frozen=True)
class Damage:
    """One cell, or one array, whose bytes are not what was written."""

    slot: int | None
    """Slot of the cell, None where an array as a whole does not read."""
    reason: str
    """What was found."""


type Staged = dict[str, NDArray[Any]]


class Column(ABC):
    """Cells of one column, by slot."""

    def __init__(self, htype: Htype, place: Place, arrays: dict[str, SlotArray]) -> None:
        self.htype, self.place, self.arrays = htype, place, arrays

    def forked(self) -> Self:
        """Return a column of the same cells for further edits; this one is only read from now."""
        fork = copy.copy(self)
        fork.arrays = {name: array.forked() for name, array in self.arrays.items()}
        return fork

    @abstractmethod
    async def read(self, slots: Slots) -> Cells:
        """Return the cells of `slots`, in their order."""

    @abstractmethod
    async def stage(self, cells: Cells, claims: Claims) -> Staged:
        """Put the cells' bytes and items away; return what the slot arrays are to keep."""

    @abstractmethod
    async def digests(self, slots: Slots) -> NDArray[np.uint64]:
        """Return (n,) uint64 such that equal cells have equal digests; a null has its own."""

    def digest(self, cells: Cells) -> NDArray[np.uint64]:
        """Return the digests that `cells` would have, without storing them."""
        return digests_of(self.htype.layout, cells)

    @abstractmethod
    async def verify(self, slots: Slots) -> list[Damage]:
        """Read the cells of `slots` again and compare them with what was noted about them."""

    @abstractmethod
    async def sizes(self, slots: Slots) -> NDArray[np.int64]:
        """Return the stored size of each cell, bytes, without reading them."""

    @property
    def compared(self) -> str:
        """Name of the slot array whose chunks change whenever a cell does."""
        return "hashes" if "hashes" in self.arrays else "data"

    @property
    def spillable(self) -> list[SlotArray]:
        """The slot arrays whose pending values are final: they may be written early."""
        return list(self.arrays.values())

    async def append(self, cells: Cells, claims: Claims) -> None:
        """Add pending cells."""
        for name, values in (await self.stage(cells, claims)).items():
            self.arrays[name].append(values)

    async def put(self, slots: Slots, staged: Staged) -> None:
        """Change cells to what was staged; their old bytes stay until the lake is optimised."""
        for name, values in staged.items():
            await self.arrays[name].set(slots, values)

    async def read_valid(self, slots: Slots) -> NDArray[np.bool_] | None:
        """Return (n,) bool, False where null; None when no cell is."""
        if "valid" not in self.arrays:
            return None
        valid: NDArray[np.bool_] = await self.arrays["valid"].read(slots)
        return None if valid.all() else valid

    async def take_nulls(self, htype: Htype) -> None:
        """Take nulls from now on; no cell that is there is one."""
        self.htype = htype
        array = replace(self.place, new=True).array("valid", ArraySpec("bool"))
        array.append(np.ones(await self.length(), bool))
        self.arrays["valid"] = array

    async def check(self) -> None:
        """Refuse a column with fewer slots than the lake's document says. Raises DamagedError."""
        await next(iter(self.arrays.values())).check()

    async def length(self) -> int:
        """Return how many slots the column has."""
        return await next(iter(self.arrays.values())).length()

    async def drain(self) -> None:  # noqa: B027 (numbers are not under way)
        """Wait until all that was appended is where it is to be. Raises what a write raised."""

    async def abandon(self) -> None:  # noqa: B027 (numbers are not under way)
        """Cancel the writes that are under way, and wait until they have ended."""

    async def spill(self, claims: Claims) -> bool:
        """Write what no longer fits into memory; tell whether anything was."""
        large = [a for a in self.spillable if await _pending_bytes(a) >= SPILL_BYTES]
        for array in large:
            await array.spill(await claims.fork())
        return bool(large)

    async def adopt(self, other: Column) -> None:
        """Take over what is pending in `other`, the same column at an earlier version."""
        for name, array in self.arrays.items():
            array.adopt(other.arrays[name])

    @property
    def stored_arrays(self) -> list[SlotArray]:
        """All arrays that checksums are kept of."""
        return list(self.arrays.values())

    async def lengths(self) -> dict[str, int]:
        """Return the lengths to be noted, by path, once everything is written."""
        return {}

    def noted(self) -> dict[tuple[str, int], int]:
        """Return the checksums of the chunks that were written, by path and number."""
        return {k: v for array in self.stored_arrays for k, v in array.noted().items()}

    def claimed(self) -> dict[str, range]:
        """Return the chunks that the open transaction has written, by path of the array."""
        return {}

    async def write(self, session: Session) -> None:
        """Put everything that is pending into `session`."""
        dirty = [a for a in self.arrays.values() if a.dirty]
        await gather(a.write(session) for a in dirty)


async def _pending_bytes(array: SlotArray) -> int:
    return (await array.length() - await array.stored()) * array.spec.row_bytes


def validity(cells: Cells) -> NDArray[np.bool_]:
    """Return (n,) bool, False where a cell is null."""
    return np.ones(len(cells), bool) if cells.valid is None else cells.valid
