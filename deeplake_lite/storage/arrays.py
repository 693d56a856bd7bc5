"""Arrays with one value per slot: Zarr arrays that only grow, with pending edits in memory.

Everything that the lake stores per row (numbers, extents, shapes, hashes, validity, row ids) is in
a `SlotArray`. Slot *i* stays at index *i* until the lake is optimized. The values come from up to
three places::

    slot  0                        stored                  length
          │ Zarr array             │ pending rows          │
          │      ↑ pending updates │                       │
          └ read by chunk, cached  └ in memory             ┘

At the commit, `write` writes everything that is pending to a writer's session. If a transaction
appends a lot, `spill` writes full chunks of pending rows before the commit: to a fork, which is a
session that collects chunks until the commit merges them. `stored` increases by the written rows,
and from then on, all stored rows are read from the fork.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.storage import chunks
from deeplake_lite.storage.block_lists import limit_blocks
from deeplake_lite.storage.checksums import checksum
from deeplake_lite.storage.chunk_cache import ChunkCache
from deeplake_lite.storage.log import Entries, Size, count_chunks
from deeplake_lite.storage.repo import in_thread, stream
from deeplake_lite.storage.slot_set import SlotSet
from deeplake_lite.storage.stored_array import (
    CHECKED_BYTES,
    READS_IN_FLIGHT,
    StoredArray,
    verify_chunk,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.storage.array_spec import Index
    from deeplake_lite.storage.log import LogWriter
    from deeplake_lite.storage.repo import Session
    from deeplake_lite.storage.stored_array import Slots

WRITES_IN_FLIGHT = 8
"""Maximum number of chunks that are written concurrently."""

THREADED_BYTES = 64 * 1024
"""Minimum size of chunks that are compressed in a thread."""

SPILL_BYTES = 32 * 2**20
"""Full chunks are written before the commit when an array's pending rows have this many bytes."""


class SlotArray(StoredArray):
    """An array with one value per slot, and its pending edits. It takes the same parameters."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._new_sums: dict[int, int] = {}  # `_spilled_sums`, plus chunks from the last `write`
        self._appended: list[NDArray[Any]] = []
        self._shared = False  # whether another array has the same blocks of pending rows
        self._updates: list[tuple[Slots, NDArray[Any]]] = []

    def forked(self) -> SlotArray:
        """Return a copy for further edits. From now on, this array must only be read."""
        fork = copy.copy(self)
        fork._appended = limit_blocks(self._appended)
        slots = limit_blocks([slots for slots, _ in self._updates])
        values = limit_blocks([values for _, values in self._updates])
        fork._updates = list(zip(slots, values, strict=True))
        fork._spilled_sums, fork._new_sums = dict(self._spilled_sums), dict(self._new_sums)
        fork._shared = True
        return fork

    def checked(self, cache: ChunkCache) -> SlotArray:
        """Return a copy whose reads verify the checksum of every chunk."""
        fork = self.forked()
        fork._checked, fork._cache = self._checksums is not None, cache
        return fork

    async def length(self) -> int:
        """Return the number of rows, including pending rows."""
        return await self.stored() + sum(map(len, self._appended))

    async def read_all(self) -> NDArray[Any]:
        """Return the values of all slots, (n, *shape)."""
        if await self.stored() * np.dtype(np.int64).itemsize > CHECKED_BYTES:
            await self.check()
        return await self.read(np.arange(await self.length()))

    @property
    def dirty(self) -> bool:
        """Whether there are pending edits."""
        return self._new or bool(self._appended) or bool(self._updates)

    @property
    def is_unwritten(self) -> bool:
        """Whether there are pending edits, or entries in the log."""
        return self.dirty or bool(self._log)

    async def read(self, slots: Slots, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Return the values of `slots`, (n, *shape), in the given order.

        The result is `out` if `slots` is a range that is longer than a chunk and the array has no
        pending edits. Otherwise, it is a new array.
        """
        stored = await self.stored()
        if not self._appended and not self._updates:
            return await self._read_committed(slots, out)
        out = await self._allocate(len(slots))
        old = slots < stored
        if old.any():
            out[old] = await self._read_committed(slots[old])
        if not old.all():
            out[~old] = self._pending()[slots[~old] - stored]
        for updated, values in self._consolidate():
            at = np.searchsorted(updated, slots)
            is_hit = (at < len(updated)) & (updated[np.minimum(at, len(updated) - 1)] == slots)
            out[is_hit] = values[at[is_hit]]
        return out

    async def read_part(self, slots: Slots, index: Index) -> NDArray[Any] | None:
        """Return ``row[index]`` for each row, (n, *shape), reading only the required bytes.

        Return None if rows are compressed or pending, or if more than half of their bytes would be
        read. Checksums cover whole chunks, so they are not compared here.
        """
        spec = self.spec
        is_pending = self.dirty or self._spilled
        if not spec.is_wide or is_pending or self._checked or not len(slots):
            return None
        start, length, view = spec.span(index)
        if length * 2 > spec.row_bytes:
            return None
        is_logged = (slots >= await self.in_chunks()) | np.isin(slots, self._log.slots)
        stored = slots[~is_logged]
        first = stored % spec.chunk_rows * spec.row_bytes + start
        ranges = np.stack([stored // spec.chunk_rows, first, first + length], axis=1).tolist()
        parts = await self._session.get_ranges(self.path, ranges, "/0" * len(spec.shape))
        data = b"".join(part or b"" for part in parts)
        if len(data) != length * len(stored):
            return None  # a chunk is missing; the caller reads whole rows, which raises the error
        values = view(data, len(stored))
        if not is_logged.any():
            return values
        out = np.empty((len(slots), *values.shape[1:]), values.dtype)
        out[~is_logged] = values
        out[is_logged] = (await self._read_committed(slots[is_logged]))[(slice(None), *index)]
        return out

    def append(self, values: NDArray[Any]) -> None:
        """Append pending rows, (n, *shape).

        The rows are copied unless `values` owns its memory, or is so large that `spill`, which the
        caller calls next, will write it. Views are copied, because a view may keep a much larger
        array alive, and the caller may overwrite its memory.
        """
        if not len(values):
            return
        ready = values.flags.c_contiguous and values.dtype == self.spec.dtype
        if ready and (values.flags.owndata or values.nbytes >= SPILL_BYTES):
            self._appended.append(values)
        else:
            self._appended.append(np.array(values, self.spec.dtype, order="C"))

    async def set(self, slots: Slots, values: NDArray[Any]) -> None:
        """Change stored or pending rows. If a slot is repeated, the last value wins."""
        stored = await self.stored()
        old = slots < stored
        if not old.all():
            self._own_pending()[slots[~old] - stored] = values[~old]
        if old.any():
            self._updates.append((slots[old].copy(), np.array(values[old], self.spec.dtype)))

    async def pending_rows(self) -> tuple[int, NDArray[Any]]:
        """Return the first slot of the pending rows, and the rows themselves."""
        return await self.stored(), self._pending()

    def pending_updates(self) -> tuple[Slots, NDArray[Any]] | None:
        """Return the updated slots, ascending, and their values, or None if no slot was updated."""
        updates = self._consolidate()
        return updates[0] if updates else None

    def revise(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> None:
        """Apply a function to all pending values."""
        self._appended = [change(values) for values in self._appended]
        self._updates = [(slots, change(values)) for slots, values in self._updates]

    def adopt(self, other: SlotArray) -> None:
        """Take over the pending edits of `other`, which is the same array at an earlier version."""
        if other._new or other._spilled:
            self._new, self._stored, self._log = other._new, other._stored, other._log
        self._spilled_sums = dict(other._spilled_sums)
        self._appended, self._updates = list(other._appended), list(other._updates)

    async def spill(self, fork: Session) -> None:
        """Write full chunks of pending rows to `fork`, and read from the fork from now on.

        Blocks are written one by one and then dropped, so that they need not be joined in memory.
        The array is consistent after each block: if a write fails, the blocks before it are stored.
        """
        stored, pending = await self.stored(), sum(map(len, self._appended))
        rows = (stored + pending) // self.spec.chunk_rows * self.spec.chunk_rows - stored
        if rows <= 0:
            return
        for block in list(self._appended):
            part, log = block[:rows], self._log
            self._new_sums = dict(self._spilled_sums)
            whole = np.concatenate([log.rows, part]) if len(log.rows) else part
            await self._extend(fork, await self.in_chunks(), whole)
            self._session, self._new, self._spilled = fork, False, True
            self._log = replace(log, rows=log.rows[:0])
            self._spilled_sums = dict(self._new_sums)
            self._stored = await self.stored() + len(part)
            self._appended[:1] = [block[rows:].copy()] if len(block) > rows else []
            rows -= len(part)
            if not rows:
                break
        # Other tables keep using the shared cache. Its copy of the last chunk may only have the
        # rows of the committed version.
        self._cache = ChunkCache()

    async def write(self, session: Session, log: LogWriter | None = None) -> None:
        """Write all pending edits, and those in the log, to `session` or to a new log."""
        self._new_sums = dict(self._spilled_sums)
        entries = await self._unwritten()
        if log is not None and log.takes(self.path):
            log.add(self.path, entries)
            return
        if len(entries.slots):
            await self._write_updates(session, entries.slots, entries.values)
        if len(entries.rows) or self._new:
            await self._extend(session, await self.in_chunks(), entries.rows)

    async def _unwritten(self) -> Entries:
        """Return the entries that are in the log or pending."""
        entries = self._log.extended(self._pending())
        for slots, values in self._consolidate():
            entries = entries.updated(await self.in_chunks(), slots, values)
        return entries

    def logged_slots(self) -> SlotSet:
        """Return the slots whose entries are in the log."""
        stored = self._stored or 0
        rows = np.arange(stored - len(self._log.rows), stored)
        return SlotSet.of(np.concatenate([self._log.slots, rows]))

    def slots_logged_apart(self, other: SlotArray) -> SlotSet:
        """Return the slots with an entry in one of two logs, unless it is the same in both."""
        slots = self.logged_slots().union(other.logged_slots())
        return slots.minus(SlotSet.of(self._log.same_updates(other._log)))

    @property
    def unwritten(self) -> Size:
        """Estimated size of the entries that are in the log or pending."""
        nbytes = self._log.nbytes + sum(rows.nbytes for rows in self._appended)
        nbytes += sum(slots.nbytes + values.nbytes for slots, values in self._updates)
        rows = len(self._log.rows) + sum(map(len, self._appended))
        updated = np.concatenate([self._log.slots, *(slots for slots, _ in self._updates)])
        return Size(nbytes, count_chunks(updated, self.spec.chunk_rows) + self._chunks(rows))

    async def rewrite(self, session: Session, start: int, rows: NDArray[Any], *, new: bool) -> None:
        """Write `rows` to `session` in place of all rows of the array from row `start` on.

        The new rows may have been computed from the rows that they replace, so the checksums of the
        old rows are verified first. Raises DamagedError.
        """
        self._new, self._new_sums = new, {}
        if not new:
            replaced = range(start // self.spec.chunk_rows, self._chunks(await self.in_chunks()))

            async def check(chunk: int) -> None:
                await self._chunk_to_rewrite(session, chunk)

            await stream(map(check, replaced), READS_IN_FLIGHT)
        await self._extend(session, start, rows)

    def new_checksums(self) -> dict[tuple[str, int], int]:
        """Return a dict from (array path, chunk number) to checksum, for each written chunk."""
        sums = {**self._spilled_sums, **self._new_sums}
        return {(self.path, chunk): value for chunk, value in sums.items()}

    async def _extend(self, session: Session, start: int, rows: NDArray[Any]) -> None:
        """Write rows from `start` to the new end of the array; create the array if it is new."""
        if self._new or not await self.in_chunks():
            if await session.has(f"{self.path}/zarr.json"):
                if not self._new:
                    await session.check_length(self.path, 0)
                # The tip of the branch has this array, but the edits have removed it: they restored
                # a version that is older than the array, or whose log contains all rows.
                await session.delete_tree(self.path)
            await session.create_array(self.path, self.spec.metadata(len(rows)))
        else:
            await self._resize(session, await self.in_chunks(), start + len(rows))
        if rows.size:
            await self._fill(session, start, rows)

    async def _resize(self, session: Session, old: int, new: int) -> None:
        """Set the length of the array, and remove chunks beyond its new end."""
        await session.check_length(self.path, old)
        for chunk in range(self._chunks(new), self._chunks(old)):
            await session.delete(self.spec.chunk_key(self.path, chunk))
        await session.resize(self.path, old, new)

    async def _fill(self, session: Session, start: int, rows: NDArray[Any]) -> None:
        """Write rows from `start` on. Rows before `start` in the first chunk are kept."""
        size, end = self.spec.chunk_rows, start + len(rows)

        async def put(chunk: int) -> None:
            first = max(chunk * size, start)
            part = rows[first - start : (chunk + 1) * size - start]
            if first > chunk * size:
                before = (await self._chunk_to_rewrite(session, chunk))[: first - chunk * size]
                part = np.concatenate([before, part])
            self._new_sums[chunk] = await self._put_chunk(session, chunk, part)

        await stream(map(put, range(start // size, -(-end // size))), WRITES_IN_FLIGHT)

    async def _put_chunk(self, session: Session, chunk: int, rows: NDArray[Any]) -> int:
        """Write a chunk that begins with `rows`; return its checksum."""
        encode = self.spec.encode_chunk
        in_background = rows.nbytes >= THREADED_BYTES and not self.spec.is_wide
        data = await in_thread(encode, rows) if in_background else encode(rows)
        await session.put(self.spec.chunk_key(self.path, chunk), data)
        return checksum(data)

    async def _chunk_to_rewrite(self, session: Session, chunk: int) -> NDArray[Any]:
        """Return the rows of a chunk that is about to be rewritten. Raises DamagedError.

        The chunk's bytes are always compared with their checksum. Otherwise, damaged rows would be
        written again with a new checksum, and the damage could no longer be detected.
        """
        size, data = (
            self.spec.chunk_rows,
            await session.get(self.spec.chunk_key(self.path, chunk), self.spec.most_bytes),
        )
        expected = self._new_sums.get(chunk)
        if expected is None and self._checksums is not None:
            expected = await self._checksums.of(self.path, chunk)
        try:
            return self.spec.decode_chunk(verify_chunk(data, expected))
        except (ValueError, RuntimeError) as error:
            raise self._damaged(chunk * size, (chunk + 1) * size, error) from error

    async def _write_updates(self, session: Session, slots: Slots, values: NDArray[Any]) -> None:
        size = self.spec.chunk_rows

        async def write_chunk(rows: slice) -> None:
            chunk = int(slots[rows.start]) // size
            changed = np.array(await self._chunk_to_rewrite(session, chunk))
            changed[slots[rows] - chunk * size] = values[rows]
            self._new_sums[chunk] = await self._put_chunk(session, chunk, changed)

        await stream(map(write_chunk, chunks.runs_of_equal(slots // size)), READS_IN_FLIGHT)

    def _own_pending(self) -> NDArray[Any]:
        """Return the appended rows as one array that no other `SlotArray` shares."""
        if self._shared and self._appended:
            self._appended = [np.concatenate(self._appended)]
        self._shared = False
        return self._pending()

    def _pending(self) -> NDArray[Any]:
        """Return the appended rows as one array."""
        if len(self._appended) != 1:
            empty = np.empty((0, *self.spec.shape), self.spec.dtype)
            self._appended = [np.concatenate(self._appended)] if self._appended else []
            return self._appended[0] if self._appended else empty
        return self._appended[0]

    def _consolidate(self) -> Sequence[tuple[Slots, NDArray[Any]]]:
        """Merge all updates into one, with ascending slots and their last values, and return it.

        The result is empty if there are no updates.
        """
        if len(self._updates) > 1:
            slots = np.concatenate([s for s, _ in self._updates])
            values = np.concatenate([v for _, v in self._updates])
            self._updates = [(slots, values)]
        if self._updates:
            slots, values = self._updates[0]
            if len(slots) > 1 and not (np.diff(slots) > 0).all():
                # `np.unique` returns the first index of each slot. In reversed order, this is the
                # index of the slot's last value.
                distinct, at = np.unique(slots[::-1], return_index=True)
                self._updates = [(distinct, values[::-1][at])]
        return self._updates
