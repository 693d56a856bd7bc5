"""The committed entries of an array with one value per slot, in a Zarr array and in the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from deeplake_lite.errors import DamagedError, LakeError
from deeplake_lite.storage import chunks
from deeplake_lite.storage.array_spec import allocate
from deeplake_lite.storage.checksums import checksum
from deeplake_lite.storage.log import Entries
from deeplake_lite.storage.repo import stream

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from deeplake_lite.storage.array_spec import ArraySpec
    from deeplake_lite.storage.checksums import Checksums
    from deeplake_lite.storage.chunk_cache import ChunkCache
    from deeplake_lite.storage.repo import Session

type Slots = NDArray[np.int64]

READS_IN_FLIGHT = 16
"""Maximum number of chunks that are read concurrently."""

CHECKED_BYTES = 2**20
"""Before more than this many bytes are allocated for a read, `check` verifies the array's size."""

MANY_ROWS = 2**20
"""If an array has more rows than this, `check` also makes sure that its last chunk exists."""


class StoredArray:
    """The committed entries of an array with one value per slot.

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
        self._session, self._cache, self._new = session, cache, new
        self._stored = 0 if new else stored
        self._log = Entries.empty(spec) if log is None else log
        if stored is not None:
            self._log.check(stored, path)
        self._spilled, self._is_checked = False, False

    async def stored(self) -> int:
        """Return the number of committed rows."""
        if self._stored is None:
            self._stored = await self._session.length(self.path) + len(self._log.rows)
        return self._stored

    async def in_chunks(self) -> int:
        """Return the number of rows in the Zarr array; the other committed rows are in the log."""
        return await self.stored() - len(self._log.rows)

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

    async def _allocate(self, rows: int) -> NDArray[Any]:
        """Allocate an array for the values of `rows` slots, (rows, *shape)."""
        if rows * self.spec.row_bytes > CHECKED_BYTES:
            await self.check()
        return allocate((rows, *self.spec.shape), self.spec.dtype, self.path)

    def _chunks(self, rows: int) -> int:
        """Return the number of chunks of an array with the given number of rows."""
        return -(-rows // self.spec.chunk_rows)

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

    async def _read_committed(self, slots: Slots, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Return the values of committed slots, from the Zarr array and the log."""
        log = self._log
        if not log or not len(slots):
            return await self._read_stored(slots, out)
        if chunks.contiguous(slots) is None:
            return await self._read_scattered_committed(slots)
        first = await self.in_chunks()
        in_array = slots < first
        if in_array.all():
            out = await self._read_stored(slots, out)
        else:
            out = await self._allocate(len(slots))
            head = out[: int(in_array.sum())]
            if len(head) and (rows := await self._read_stored(slots[in_array], head)) is not head:
                head[...] = rows
            out[len(head) :] = log.rows[slots[len(head) :] - first]
        log.apply_updates(slots, out)
        return out

    async def _read_scattered_committed(self, slots: Slots) -> NDArray[Any]:
        """Return committed slots, without reading the chunks of slots that the log updates."""
        log, first = self._log, await self.in_chunks()
        at, is_updated = log.find(slots)
        in_array = slots < first
        is_stored = in_array & ~is_updated
        if is_stored.all():
            return await self._read_stored(slots)
        out = await self._allocate(len(slots))
        out[is_stored] = await self._read_stored(slots[is_stored])
        out[is_updated] = log.values[at[is_updated]]
        out[~in_array] = log.rows[slots[~in_array] - first]
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
                rows = self.spec.decode_chunk(verify_chunk(data, expected.get(chunk)))
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
            verify_chunk(data, expected.get(chunk))
            if not is_cached and rows.stop - rows.start == size:
                spec.decode_chunk(data, out[to])
            else:
                decoded[chunk] = spec.decode_chunk(data)

        numbers = range(span.start // size, -(-stop // size))
        cached = {n: rows for n in numbers if (rows := self._cache.get((self.path, n))) is not None}
        uncached = [n for n in numbers if n not in cached]
        expected = await self._expected_checksums(uncached)
        suffix = "/0" * len(spec.shape)
        # Chunks of a longer span would evict all others, and then each other.
        is_cached = spec.is_narrow and self._cache.has_room(len(uncached) * size * spec.row_bytes)
        if missing := await self._session.each_chunk(
            self.path, uncached, suffix, decode, spec.most_bytes
        ):
            raise ValueError(f"chunk {min(missing)} is missing.")
        if is_cached:
            for chunk, rows in decoded.items():
                self._cache.put((self.path, chunk), rows)
        for chunk, rows in (cached | decoded).items():
            to, part = locate(chunk)
            out[to] = rows[part]
        return out


def verify_chunk(data: memoryview | None, expected: int | None) -> memoryview:
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
