"""The interface of a column of any layout: read, append and set cells by slot.

A column consists of slot arrays, and possibly a heap or a column of items. The arrays and the heap
store the edits of the open transaction; the column itself only converts between array entries and
cells.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from deeplake_lite.storage.array_spec import ArraySpec
from deeplake_lite.storage.arrays import SPILL_BYTES, SlotArray
from deeplake_lite.storage.digests import digests_of
from deeplake_lite.storage.log import Entries, Log
from deeplake_lite.storage.repo import gather

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.htypes.base import Htype
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.storage.checksums import Checksums
    from deeplake_lite.storage.chunk_cache import ChunkCache
    from deeplake_lite.storage.heap import Claims
    from deeplake_lite.storage.log import LogWriter, Size
    from deeplake_lite.storage.repo import Session
    from deeplake_lite.storage.stored_array import Slots


@dataclass(frozen=True)
class Location:
    """The location of a column's arrays in the lake, and the session and cache for reading them."""

    session: Session
    """The session that committed cells are read from."""
    path: str
    """Path of the column's group."""
    cache: ChunkCache
    """Cache shared by the columns of one table."""
    new: bool = False
    """Whether the arrays have yet to be created."""
    slots: int | None = None
    """Number of committed slots. None means to read it from the metadata of the arrays."""
    lengths: Mapping[str, int] = field(default_factory=dict)
    """Committed lengths of arrays that do not have one entry per slot (FORMAT.md, §2). The keys are
    paths within the generation."""
    heaps: Mapping[str, int] = field(default_factory=dict)
    """Number of the first unused chunk of each array ``values``. The keys are the arrays' paths."""
    log: Log = field(default_factory=Log)
    """Entries of arrays in the version's document."""
    checksums: Checksums | None = None
    """Checksums of the stored chunks of the arrays."""
    checked: bool = False
    """Whether every read is verified against checksums and hashes."""

    def array(self, name: str, spec: ArraySpec) -> SlotArray:
        """Return the array `name` of this column, which has one value per slot."""
        path = f"{self.path}/{name}"
        return SlotArray(
            self.session,
            path,
            spec,
            self.cache,
            new=self.new,
            stored=self.slots,
            log=self.entries(path, spec),
            checksums=self.checksums,
            checked=self.checked,
        )

    def entries(self, path: str, spec: ArraySpec) -> Entries:
        """Return the entries of an array in the log. Raises DamagedError."""
        return (Log() if self.new else self.log).entries(path.partition("/")[2], spec)

    def below(self, name: str) -> Location:
        """Return the location of the column of items in the group `name` of this column."""
        path = f"{self.path}/{name}"
        return replace(self, path=path, slots=self.length(path))

    def length(self, path: str) -> int | None:
        """Return the length that the root document records for the array at `path`, or None."""
        return self.lengths.get(path.partition("/")[2])


@dataclass(frozen=True)
class Damage:
    """A cell or an array whose stored bytes are damaged."""

    slot: int | None
    """Slot of the cell; None if an array as a whole cannot be read."""
    reason: str
    """Description of the damage."""


type Staged = dict[str, NDArray[Any]]
"""A dict that maps the names of a column's slot arrays to new entries of these arrays."""


class Column(ABC):
    """The interface of columns of all layouts. Cells are addressed by slot."""

    def __init__(self, htype: Htype, location: Location, arrays: dict[str, SlotArray]) -> None:
        self.htype, self.location, self.arrays = htype, location, arrays

    def forked(self) -> Self:
        """Return a copy for further edits. From now on, this column must only be read."""
        fork = copy.copy(self)
        fork.arrays = {name: array.forked() for name, array in self.arrays.items()}
        return fork

    def checked(self, cache: ChunkCache) -> Self:
        """Return a copy whose reads verify checksums and hashes.

        Parameters
        ----------
        cache : ChunkCache
            Cache for verified chunks.
        """
        checked = self.forked()
        checked.arrays = {name: array.checked(cache) for name, array in self.arrays.items()}
        return checked

    @abstractmethod
    async def read(self, slots: Slots) -> Cells:
        """Return the cells of `slots`, in the given order."""

    @abstractmethod
    async def stage(self, cells: Cells, claims: Claims) -> Staged:
        """Add the cells' bytes or items to the column; return the entries for its slot arrays."""

    @abstractmethod
    async def digests(self, slots: Slots) -> NDArray[np.uint64]:
        """Return the digests of the cells in `slots`, (n,) uint64. All nulls have one digest."""

    def digest(self, cells: Cells) -> NDArray[np.uint64]:
        """Return the digests of `cells`, which need not be stored."""
        return digests_of(self.htype.layout, cells)

    @abstractmethod
    async def verify(self, slots: Slots) -> list[Damage]:
        """Verify the checksums and hashes of the cells in `slots`, and return the damage."""

    @abstractmethod
    async def sizes(self, slots: Slots) -> NDArray[np.int64]:
        """Return the stored size of each cell in bytes, without reading the cells."""

    @property
    def compared(self) -> str:
        """Name of the slot array that changes whenever a cell changes."""
        return "hashes" if "hashes" in self.arrays else "data"

    @property
    def spillable(self) -> list[SlotArray]:
        """The slot arrays whose pending values are final and may be written before the commit."""
        return list(self.arrays.values())

    async def append(self, cells: Cells, claims: Claims) -> None:
        """Append cells, which stay pending until the commit."""
        for name, values in (await self.stage(cells, claims)).items():
            self.arrays[name].append(values)

    async def put(self, slots: Slots, staged: Staged) -> None:
        """Set the cells in `slots` to staged values. Old bytes in heaps stay until `optimize`."""
        for name, values in staged.items():
            await self.arrays[name].set(slots, values)

    async def read_valid(self, slots: Slots) -> NDArray[np.bool_] | None:
        """Return a mask of the non-null cells, (n,) bool, or None if no cell is null."""
        if "valid" not in self.arrays:
            return None
        valid: NDArray[np.bool_] = await self.arrays["valid"].read(slots)
        return None if valid.all() else valid

    async def make_nullable(self, htype: Htype) -> None:
        """Accept nulls from now on, by adding the array ``valid``, which is True for all cells."""
        self.htype = htype
        array = replace(self.location, new=True).array("valid", ArraySpec("bool"))
        array.append(np.ones(await self.length(), bool))
        self.arrays["valid"] = array

    async def check(self) -> None:
        """Reject a column with fewer slots than the lake's document says. Raises DamagedError."""
        await next(iter(self.arrays.values())).check()

    async def length(self) -> int:
        """Return the number of slots in the column."""
        return await next(iter(self.arrays.values())).length()

    async def fill(self, claims: Claims) -> None:  # noqa: B027 (only heaps have chunks to fill)
        """Write appended bytes as a padded chunk if they would need many chunks of a tail."""

    async def drain(self) -> None:  # noqa: B027 (only heaps write in the background)
        """Wait until all appended bytes have been written. Raises the error of a failed write."""

    async def abandon(self) -> None:  # noqa: B027 (only heaps write in the background)
        """Cancel the writes in progress, and wait until they have ended."""

    async def spill(self, claims: Claims) -> bool:
        """Write large pending arrays before the commit; return whether any was written."""
        large = [a for a in self.spillable if await _pending_bytes(a) >= SPILL_BYTES]
        for array in large:
            await array.spill(await claims.fork())
        return bool(large)

    async def adopt(self, other: Column) -> None:
        """Take over the pending edits of `other`, which is this column at an earlier version."""
        for name, array in self.arrays.items():
            array.adopt(other.arrays[name])

    @property
    def stored_arrays(self) -> list[SlotArray]:
        """All arrays that have checksums."""
        return list(self.arrays.values())

    async def lengths(self) -> dict[str, int]:
        """Return a dict from array path to length, for the root document. Call `write` first."""
        return {}

    def new_checksums(self) -> dict[tuple[str, int], int]:
        """Return a dict from (array path, chunk number) to the checksum of each written chunk."""
        return {k: v for array in self.stored_arrays for k, v in array.new_checksums().items()}

    def claimed(self) -> dict[str, range]:
        """Return a dict from array path to the heap chunks that the transaction has written."""
        return {}

    async def write(self, session: Session, log: LogWriter | None = None) -> None:
        """Write all pending edits, and those in the log, to `session` or to a new log."""
        await gather(a.write(session, log) for a in self.arrays.values() if a.is_unwritten)

    def unwritten(self) -> dict[str, Size]:
        """Return the size of the entries in the log or pending, by path of the array."""
        return {a.path: a.unwritten for a in self.stored_arrays if a.is_unwritten}


async def _pending_bytes(array: SlotArray) -> int:
    return (await array.length() - await array.stored()) * array.spec.row_bytes


def validity(cells: Cells) -> NDArray[np.bool_]:
    """Return a mask of the non-null cells, (n,) bool."""
    return np.ones(len(cells), bool) if cells.valid is None else cells.valid
