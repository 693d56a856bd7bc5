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
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from deeplake_lite.errors import DamagedError, LakeError
from deeplake_lite.storage import chunks
from deeplake_lite.storage.array_spec import ArraySpec, Index, allocate
from deeplake_lite.storage.block_lists import limit_blocks
from deeplake_lite.storage.checksums import checksum
from deeplake_lite.storage.chunk_cache import ChunkCache
from deeplake_lite.storage.log import Entries, Size
from deeplake_lite.storage.repo import in_thread, stream
from deeplake_lite.storage.slot_set import SlotSet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.storage.checksums import Checksums
    from deeplake_lite.storage.log import LogWriter
    from deeplake_lite.storage.repo import Session

type Slots = NDArray[np.int64]

READS_IN_FLIGHT = 16
"""Maximum number of chunks that are read concurrently."""

WRITES_IN_FLIGHT = 8
"""Maximum number of chunks that are written concurrently."""

THREADED_BYTES = 64 * 1024
"""Minimum size of chunks that are compressed in a thread."""

CHECKED_BYTES = 2**20
"""Before more than this many bytes are allocated for a read, `check` verifies the array's size."""

MANY_ROWS = 2**20
"""If an array has more rows than this, `check` also makes sure that its last chunk exists."""

SPILL_BYTES = 32 * 2**20
"""Full chunks are written before the commit when an array's pending rows have this many bytes."""


class SlotArray:
    """An array with one value per slot.

    Parameters
    ----------
    session : Session
        The session that committed rows are read from.
    path : str
        Path of the Zarr array.
    spec : ArraySpec
        Layout of the array.
    cache : ChunkCache
        Cache shared by the arrays of one table.
    new : bool
        Whether the array has yet to be created.
    stored : int, optional
        Number of committed rows, if known.
    log : Entries, optional
        The committed entries that are in the log instead of the Zarr array.
    checksums : Checksums, optional
        Checksums of the stored chunks. A chunk is verified before it is rewritten.
    checked : bool
        Whether chunks are also verified whenever they are read.
    """

    def __init__(
        self,
        session: Session,
        path: str,
        spec: ArraySpec,
        cache: ChunkCache,
        *,
        new: bool = False,
        stored: int | None = None,
        log: Entries | None = None,
        checksums: Checksums | None = None,
        checked: bool = False,
    ) -> None:
        self.path, self.spec = path, spec
        self._checksums, self._checked = checksums, checked and checksums is not None
        self._spilled_sums: dict[int, int] = {}  # checksums of chunks in the fork
        self._new_sums: dict[int, int] = {}  # the same, plus chunks from the last `write`
        self._session, self._cache, self._new = session, cache, new
        self._stored = 0 if new else stored
        self._log = Entries.empty(spec) if log is None else log
        if stored is not None:
            self._log.check(stored, path)
        self._spilled, self._is_checked = False, False
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

    async def stored(self) -> int:
        """Return the number of committed rows."""
        if self._stored is None:
            self._stored = await self._session.length(self.path) + len(self._log.rows)
        return self._stored

    async def in_chunks(self) -> int:
        """Return the number of rows in the Zarr array; the other committed rows are in the log."""
        return await self.stored() - len(self._log.rows)

    async def length(self) -> int:
        """Return the number of rows, including pending rows."""
        return await self.stored() + sum(map(len, self._appended))

    async def check(self) -> None:
        """Reject an array that has too few rows for the root document, or rows of another shape.

        Otherwise, a wrong number in the document could make a read allocate memory for rows that do
        not exist.

        Raises
        ------
        DamagedError
        """
        stored = await self.in_chunks()
        if self._new or self._spilled or self._is_checked or not stored:
            return
        await self._session.check_shape(self.path, (stored, *self.spec.shape))
        last = self.spec.chunk_key(self.path, (stored - 1) // self.spec.chunk_rows)
        if stored > MANY_ROWS and 0 not in self.spec.shape and not await self._session.has(last):
            raise DamagedError(f"Chunk {last!r} is missing. Run ds.verify().")
        self._is_checked = True

    async def check_length(self) -> None:
        """Reject an array whose length differs from the root document. Raises DamagedError."""
        await self.check()
        if rows := await self.in_chunks():
            await self._session.check_length(self.path, rows)

    async def read_all(self) -> NDArray[Any]:
        """Return the values of all slots, (n, *shape)."""
        if await self.stored() * np.dtype(np.int64).itemsize > CHECKED_BYTES:
            await self.check()
        return await self.read(np.arange(await self.length()))

    async def _allocate(self, rows: int) -> NDArray[Any]:
        """Allocate an array for the values of `rows` slots, (rows, *shape)."""
        if rows * self.spec.row_bytes > CHECKED_BYTES:
            await self.check()
        return allocate((rows, *self.spec.shape), self.spec.dtype, self.path)

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

    @property
    def unwritten(self) -> Size:
        """Estimated size of the entries that are in the log or pending."""
        nbytes = self._log.nbytes + sum(rows.nbytes for rows in self._appended)
        nbytes += sum(slots.nbytes + values.nbytes for slots, values in self._updates)
        return Size(nbytes, len(self._log.slots) + sum(len(slots) for slots, _ in self._updates))

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

    def _chunks(self, rows: int) -> int:
        """Return the number of chunks of an array with the given number of rows."""
        return -(-rows // self.spec.chunk_rows)

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
            return self.spec.decode_chunk(_verify(data, expected))
        except (ValueError, RuntimeError) as error:
            raise self._damaged(chunk * size, (chunk + 1) * size, error) from error

    async def _expected_checksum(self, chunk: int) -> int:
        if chunk in self._spilled_sums:
            return self._spilled_sums[chunk]
        return await cast("Checksums", self._checksums).of(self.path, chunk)

    async def _expected_checksums(self, numbers: Iterable[int]) -> dict[int, int]:
        """Return the checksums of chunks, or an empty dict if reads do not verify them."""
        return {n: await self._expected_checksum(n) for n in numbers} if self._checked else {}

    def _damaged(self, start: int, stop: int, error: Exception) -> DamagedError:
        reason = str(error).rstrip(".")
        return DamagedError(
            f"Rows {start} to {stop} of {self.path} cannot be read: {reason}. Run ds.verify()."
        )

    async def _write_updates(self, session: Session, slots: Slots, values: NDArray[Any]) -> None:
        size = self.spec.chunk_rows

        async def write_chunk(rows: slice) -> None:
            chunk = int(slots[rows.start]) // size
            changed = np.array(await self._chunk_to_rewrite(session, chunk))
            changed[slots[rows] - chunk * size] = values[rows]
            self._new_sums[chunk] = await self._put_chunk(session, chunk, changed)

        await stream(map(write_chunk, chunks.runs_of_equal(slots // size)), READS_IN_FLIGHT)

    async def _read_committed(self, slots: Slots, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Return the values of committed slots, from the Zarr array and the log."""
        log = self._log
        if not log or not len(slots):
            return await self._read_stored(slots, out)
        first = await self.in_chunks()
        in_array = slots < first
        if in_array.all():
            out = await self._read_stored(slots, out)
        elif chunks.contiguous(slots) is not None:
            out = await self._allocate(len(slots))
            head = out[: int(in_array.sum())]
            if len(head) and (rows := await self._read_stored(slots[in_array], head)) is not head:
                head[...] = rows
            out[len(head) :] = log.rows[slots[len(head) :] - first]
        else:
            out = await self._allocate(len(slots))
            out[in_array] = await self._read_stored(slots[in_array])
            out[~in_array] = log.rows[slots[~in_array] - first]
        log.apply_updates(slots, out)
        return out

    async def _read_stored(self, slots: Slots, out: NDArray[Any] | None = None) -> NDArray[Any]:
        if len(slots) == 0 or 0 in self.spec.shape:
            return np.zeros((len(slots), *self.spec.shape), self.spec.dtype)
        size = self.spec.chunk_rows
        span = chunks.contiguous(slots)
        if span is not None and span.stop - span.start > size:
            return await self._read_span(span, out)
        if size == 1:  # each row is a chunk, which is read directly into `out` without caching
            out = await self._allocate(len(slots))
            await stream(
                (self._read_row(slot, out[i : i + 1]) for i, slot in enumerate(slots.tolist())),
                READS_IN_FLIGHT,
            )
            return out
        if len(slots) == 1:
            slot = int(slots[0])
            return np.array((await self._chunk(slot // size))[slot % size])[None]
        return await self._read_scattered(slots)

    async def _read_scattered(self, slots: Slots) -> NDArray[Any]:
        """Return rows of several chunks, which are decoded in threads unless they are cached."""
        size, out = self.spec.chunk_rows, await self._allocate(len(slots))
        order, groups = chunks.group(slots // size)
        indices = {int(slots[order[rows.start]]) // size: order[rows] for rows in groups}
        in_array = await self.in_chunks()

        def copy(chunk: int, rows: NDArray[Any]) -> None:
            at = indices[chunk]
            out[at] = rows[slots[at] - chunk * size]

        def decode(chunk: int, data: memoryview) -> None:
            try:
                rows = self.spec.decode_chunk(_verify(data, expected.get(chunk)))
            except (ValueError, RuntimeError) as error:
                raise self._damaged(chunk * size, (chunk + 1) * size, error) from error
            rows = rows[: in_array - chunk * size]
            self._cache.put((self.path, chunk), rows)
            copy(chunk, rows)

        uncached = []
        for chunk in indices:
            if (rows := self._cache.get((self.path, chunk))) is None:
                uncached.append(chunk)
            else:
                copy(chunk, rows)
        expected = await self._expected_checksums(uncached)
        suffix, most = "/0" * len(self.spec.shape), self.spec.most_bytes
        if missing := await self._session.each_chunk(self.path, uncached, suffix, decode, most):
            chunk, error = min(missing), ValueError(f"chunk {min(missing)} is missing.")
            raise self._damaged(chunk * size, (chunk + 1) * size, error)
        return out

    async def _read_row(self, slot: int, out: NDArray[Any]) -> None:
        """Read one row into `out`, (1, *shape)."""
        rows = await self._read_span(slice(slot, slot + 1), out)
        if rows is not out:
            out[...] = rows

    async def _chunk(self, chunk: int) -> NDArray[Any]:
        """Return the rows of a chunk, from the cache if possible."""
        rows = self._cache.get((self.path, chunk))
        if rows is None:
            size = self.spec.chunk_rows
            rows = await self._read_span(slice(chunk * size, (chunk + 1) * size))
            self._cache.put((self.path, chunk), rows)
        return cast("NDArray[Any]", rows)

    async def _read_span(self, span: slice, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Return stored rows. Raises DamagedError if a chunk is damaged."""
        try:
            return await self._read_chunks(span, out)
        except (ValueError, RuntimeError) as error:
            if isinstance(error, LakeError):
                raise
            raise self._damaged(span.start, span.stop, error) from error

    async def _read_chunks(self, span: slice, out: NDArray[Any] | None) -> NDArray[Any]:
        """Return stored rows. Raises ValueError or RuntimeError if a chunk is damaged.

        Chunks that are entirely within the span are decoded directly into `out`, in several
        threads. Chunks at the ends of the span, and chunks to be cached, are decoded separately and
        copied.
        """
        spec, size = self.spec, self.spec.chunk_rows
        stop = min(span.stop, await self.in_chunks())
        shape = (max(0, stop - span.start), *spec.shape)
        if out is None or out.shape != shape:
            out = await self._allocate(shape[0])
        decoded: dict[int, NDArray[Any]] = {}

        def locate(chunk: int) -> tuple[slice, slice]:
            """Return the rows of `out` that come from a chunk, and their positions in the chunk."""
            a, b = max(chunk * size, span.start), min((chunk + 1) * size, stop)
            return slice(a - span.start, b - span.start), slice(a - chunk * size, b - chunk * size)

        def decode(chunk: int, data: memoryview) -> None:
            to, rows = locate(chunk)
            _verify(data, expected.get(chunk))
            if not spec.is_narrow and rows.stop - rows.start == size:
                spec.decode_chunk(data, out[to])
            else:
                decoded[chunk] = spec.decode_chunk(data)

        numbers = range(span.start // size, -(-stop // size))
        cached = {n: rows for n in numbers if (rows := self._cache.get((self.path, n))) is not None}
        uncached = [n for n in numbers if n not in cached]
        expected = await self._expected_checksums(uncached)
        suffix = "/0" * len(spec.shape)
        if missing := await self._session.each_chunk(
            self.path, uncached, suffix, decode, spec.most_bytes
        ):
            raise ValueError(f"chunk {min(missing)} is missing.")
        if spec.is_narrow:
            for chunk, rows in decoded.items():
                self._cache.put((self.path, chunk), rows)
        for chunk, rows in (cached | decoded).items():
            to, part = locate(chunk)
            out[to] = rows[part]
        return out

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


def _verify(data: memoryview | None, expected: int | None) -> memoryview:
    """Return the stored bytes of a chunk, after comparing them with the checksum `expected`.

    Raises
    ------
    ValueError
        If the chunk is missing, or does not match the checksum.
    """
    if data is None:
        raise ValueError("a chunk is missing.")
    if expected is not None and checksum(data) != expected:
        raise ValueError("a chunk contains the bytes of another chunk or version.")
    return data
