"""The bytes of a ragged column, stored as one contiguous sequence and located by extents.

An extent is ``(start, length)``. A start of zero or more is a position in ``values``, an array that
is created with its full size. Every transaction claims a free range of chunks of ``values``, so
that two writers never touch the same chunk. A negative start stands for byte ``~start`` of
``tail``, an array that grows with every commit: it stores the bytes of a transaction that do not
fill a chunk of ``values``. Which cells go to the tail is not known before the commit. Until then,
an extent is pending: its start is `PENDING` plus an offset in the bytes that the transaction has
appended.

For example, a transaction has claimed the chunks from 10 on and has appended the cells a to e::

    offset  0               chunk_bytes     2 × chunk_bytes
            ├───────────────┼───────────────┤
            │ chunk 10      │ chunk 11      │ in memory (`_open`)
            ├───────┬───────┴───┬───────┬───┴──┬───────┐
            │   a   │     b     │   c   │  d   │   e   │
            └───────┴───────────┴───────┴──────┴───────┘
                                        ↑ `_straddle`

Cell b straddles two chunks of ``values``, which is fine, since an extent may cross this border.
Cell d straddles the last written chunk and the bytes in memory. An extent cannot begin in
``values`` and end in ``tail``, so the commit does one of two things.

1. If the part of d in chunk 11 is short (up to `STRADDLE_BYTES`), this part is written again to
   the tail, followed by the bytes in memory. Its bytes in chunk 11 become unused padding (x). ::

    values  │   a   │     b     │   c   │xxx│          tail  │ … │  d   │   e   │

2. If that part is longer, the bytes in memory are padded with zeros and become chunk 12. ::

    values  │   a   │     b     │   c   │  d   │   e   │0000│

`append` returns pending extents, and writes full chunks along the way. At the commit, `settle`
writes the remaining bytes and returns a `Settled` that translates pending extents to final extents.
"""

from __future__ import annotations

import asyncio
import copy
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

import google_crc32c
import numpy as np

from deeplake_lite.errors import DamagedError, StorageError, TooLargeError
from deeplake_lite.storage import chunks
from deeplake_lite.storage.array_spec import allocate
from deeplake_lite.storage.block_lists import limit_pieces
from deeplake_lite.storage.chunk_cache import ChunkCache
from deeplake_lite.storage.compression import CRC32C, ZSTD, zstd
from deeplake_lite.storage.frames import unzstd
from deeplake_lite.storage.log import Entries
from deeplake_lite.storage.open_bytes import OpenBytes, nbytes_of, slice_cells
from deeplake_lite.storage.repo import gather
from deeplake_lite.storage.zarr_metadata import array_metadata

if TYPE_CHECKING:
    from collections.abc import Buffer, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.storage.log import LogWriter
    from deeplake_lite.storage.repo import Session

type Extents = NDArray[np.int64]

HEAP_CHUNKS = 2**28
"""Number of chunks of ``values``: an address space of 1 PiB of encoded samples, in which hardly any
chunk exists."""

RAW_CHUNK = 4 * 2**20
"""Size of a chunk of ``values`` without compression, in bytes. Cells are read by byte range, so
large chunks have no cost."""

TEXT_CHUNK = 256 * 1024
"""Size of a chunk of ``values`` with Zstandard, in bytes. Reading one string decodes a whole chunk.
"""

TAIL_CHUNK = 64 * 1024
"""Size of a chunk of ``tail``, in bytes. Committing one row rewrites one chunk."""

MAX_BYTES = 2**31
"""Maximum size of one cell, in bytes."""

PENDING = 2**61
"""Starts from this value on are offsets in the bytes of the open transaction."""

STRADDLE_BYTES = 2**20
"""A straddling cell is moved to the tail as a whole if at most this many of its bytes are in the
last full chunk."""

IN_FLIGHT = 16
"""Maximum number of concurrent reads."""

PENDING_CACHE_BYTES = 16 * 2**20
"""Size of the cache for decoded chunks that the open transaction has written, in bytes."""

WRITES_IN_FLIGHT = 2
"""Maximum number of chunks that are being written to a folder while the next one is filled."""

REMOTE_WRITES_IN_FLIGHT = 8
"""The same for object stores, where each write waits for the reply."""


class Claims(Protocol):
    """The part of the open transaction that a heap uses."""

    async def fork(self) -> Session:
        """Return the session that chunks are written to before the commit."""

    async def claim(self, path: str) -> int:
        """Claim a free range of chunks in the array at `path`; return its first chunk number."""


@dataclass(frozen=True)
class _Chunk:
    """Decoded bytes of one chunk, as stored in the cache."""

    data: memoryview

    @property
    def nbytes(self) -> int:
        return self.data.nbytes


class Heap:
    """The bytes of one ragged column.

    Parameters
    ----------
    session : Session
        The session that committed bytes are read from.
    path : str
        Path of the column's group.
    compressed : bool
        Whether the chunks of ``values`` are compressed with Zstandard.
    cache : ChunkCache
        Cache shared by the arrays of one table.
    tail_bytes : int
        Number of committed bytes in ``tail``, including those in the log.
    log : bytes
        The last bytes of ``tail``, which are in the log instead of the array.
    values_end : int
        Number of the chunk after the last committed chunk of ``values``; 0 if there is no array.
    """

    def __init__(
        self,
        session: Session,
        path: str,
        *,
        compressed: bool,
        cache: ChunkCache,
        tail_bytes: int = 0,
        log: bytes = b"",
        values_end: int = 0,
    ) -> None:
        self.tail_bytes, self._values_end = tail_bytes, values_end
        self._log, self._has_values = log, values_end > 0
        self.path, self.compressed = path, compressed
        self.chunk_bytes = TEXT_CHUNK if compressed else RAW_CHUNK
        self._session, self._cache = session, cache
        self._pending_cache = ChunkCache(PENDING_CACHE_BYTES)  # chunks of the open transaction
        self._fork: Session | None = None  # has the full chunks of the open transaction
        self._first = -1  # first claimed chunk; -1 until one is claimed
        self._written = 0  # number of full chunks written, starting at `_first`
        self._open = OpenBytes()  # the bytes after these chunks
        self._straddle = 0  # offset of the first cell that does not end within the full chunks
        self._head = b""  # bytes of that cell in the full chunks, if it can move to the tail
        self._writes: list[asyncio.Task[None]] = []  # writes in progress
        self._error: BaseException | None = None  # the first error of a write

    def forked(self) -> Heap:
        """Return a copy for further edits. From now on, this heap must only be read."""
        fork = copy.copy(self)
        fork._open, fork._writes = OpenBytes(limit_pieces(self._open.pieces())), list(self._writes)
        # If an edit fails, the next edit writes different bytes to the same chunk numbers.
        fork._pending_cache = ChunkCache(PENDING_CACHE_BYTES)
        return fork

    @property
    def claimed(self) -> range:
        """Numbers of the chunks of ``values`` that the open transaction has written."""
        return range(self._first, self._first + self._written)

    @property
    def tail_in_array(self) -> int:
        """Number of bytes in the array ``tail``; the others are in the log."""
        return self.tail_bytes - len(self._log)

    @property
    def unwritten_bytes(self) -> int:
        """Number of bytes that are in the log, or pending and possibly to be added to the tail."""
        straddling = self._written * self.chunk_bytes - self._straddle if len(self._open) else 0
        return len(self._log) + len(self._open) + straddling

    async def _create_values(self, session: Session) -> None:
        codecs: list[object] = [ZSTD, CRC32C] if self.compressed else []
        size = self.chunk_bytes
        metadata = array_metadata((HEAP_CHUNKS * size,), (size,), "uint8", codecs, ["byte"])
        await session.create_array(f"{self.path}/values", metadata)
        self._has_values = True

    async def append(self, buffers: Sequence[Buffer], claims: Claims) -> Extents:
        """Append cells; return their pending extents, (n, 2) int64."""
        lengths = np.fromiter(map(nbytes_of, buffers), np.int64, len(buffers))
        at = self._written * self.chunk_bytes + len(self._open)
        ends = at + np.cumsum(lengths)
        starts, end = ends - lengths, at + int(lengths.sum())
        # These are offsets in the transaction's bytes; bytes before `at` have already been added.
        while end >= (boundary := (self._written + 1) * self.chunk_bytes):
            self._open.add(slice_cells(buffers, starts, ends, at, boundary), boundary - at)
            # Only when a chunk is full; most transactions never fill one.
            full = await self._write_open(await self._claim(claims))
            last = int(np.searchsorted(ends, boundary))  # the cell that filled the chunk
            self._straddle = int(starts[last]) if ends[last] > boundary else boundary
            moved = boundary - self._straddle
            # A copy, so that the chunk is freed; reading it again would take a request.
            self._head = bytes(full[len(full) - moved :]) if moved <= self._max_head else b""
            at = boundary
        self._open.add(slice_cells(buffers, starts, ends, at, end), end - at)
        self._open.own()  # the caller may reuse its buffers once this returns
        return np.stack([PENDING + starts, lengths], axis=1)

    async def fill(self, claims: Claims) -> None:
        """Write the last bytes as a padded chunk of ``values`` if they take more than half of it.

        In the tail they would take dozens of small chunks, which serve to be extended by later
        commits. A lake that has just been rewritten is read more often than it is extended.
        """
        if 2 * len(self._open) > self.chunk_bytes:
            await self._write_padded(await self._claim(claims))

    async def _claim(self, claims: Claims) -> Session:
        """Make sure that chunks are claimed, and return the session to which they are written."""
        if self._first < 0:
            self._first = await claims.claim(f"{self.path}/values")
        self._fork = await claims.fork()
        if not self._has_values:
            await self._create_values(self._fork)
        return self._fork

    async def _write_padded(self, session: Session) -> None:
        """Pad the bytes after the last full chunk with zeros to another one, and write it."""
        padding = self.chunk_bytes - len(self._open)
        self._open.add([bytes(padding)], padding)
        await self._write_open(session)
        self._straddle, self._head = self._written * self.chunk_bytes, b""

    @property
    def _max_head(self) -> int:
        """Maximum number of bytes that a straddling cell moved to the tail has in full chunks."""
        return min(STRADDLE_BYTES, self.chunk_bytes)

    async def drain(self) -> None:
        """Wait until all full chunks are written. Raises the error of a failed write."""
        writes, self._writes = self._writes, []
        for error in [e for e in await asyncio.gather(*writes, return_exceptions=True) if e]:
            self._error = self._error or error
        if self._error is not None:
            raise self._error

    async def abandon(self) -> None:
        """Cancel the writes in progress, and wait until they have ended."""
        for write in self._writes:
            write.cancel()
        await asyncio.gather(*self._writes, return_exceptions=True)

    async def read(self, extents: Extents) -> list[Buffer]:
        """Return the bytes of each extent, as views of decoded chunks where possible."""
        if self._writes:
            await self.drain()
        self._check_extents(extents)
        out: list[Buffer] = [b""] * len(extents)
        if len(extents) == 1 and extents[0, 0] < PENDING:
            return [await self._read_one(int(extents[0, 0]), int(extents[0, 1]))]
        starts, lengths = extents[:, 0].copy(), extents[:, 1].copy()
        if (pending := starts >= PENDING).any():
            await self._read_open(starts, lengths, pending, out)
        in_tail = starts < 0
        if in_tail.any():
            await self._read_array("tail", ~starts, np.where(in_tail, lengths, 0), out)
        if not in_tail.all():
            await self._read_array("values", starts, np.where(in_tail, 0, lengths), out)
        return out

    async def read_flat(self, extents: Extents) -> NDArray[np.uint8]:
        """Return the concatenated bytes of all extents. Adjacent extents are copied in one step."""
        if (extents[:, 0] >= PENDING).any():
            return np.frombuffer(b"".join(await self.read(extents)), np.uint8)
        self._check_extents(extents)
        starts, lengths = extents[extents[:, 1] > 0].T
        out = allocate((int(lengths.sum()),), "uint8", self.path)
        to = np.cumsum(lengths) - lengths
        for name, is_here in (("tail", starts < 0), ("values", starts >= 0)):
            if is_here.any():
                at = starts[is_here] ^ (starts[is_here] >> 63)  # ~start if start < 0, else start
                await self._copy(name, at, lengths[is_here], to[is_here], out)
        return out

    def _check_extents(self, extents: Extents) -> None:
        """Reject extents outside the written bytes before allocating memory for them.

        Raises
        ------
        DamagedError
        """
        starts, lengths = extents[:, 0], extents[:, 1]
        room = np.where(starts < 0, self.tail_bytes, self._values_end * self.chunk_bytes)
        room[starts >= PENDING] = PENDING * 2 - 1
        first = np.where(starts < 0, ~starts, starts)
        sound = (lengths >= 0) & (lengths <= MAX_BYTES) & (first <= room - lengths)
        if not (sound | (lengths == 0)).all():
            start, length = extents[~sound][0].tolist()
            raise DamagedError(
                f"A cell of {self.path} has {length} bytes at position {start}, where nothing was "
                "written. Run ds.verify()."
            )

    async def settle(self, session: Session, log: LogWriter | None = None) -> Settled:
        """Write the remaining bytes to `session` or a log; return the addresses of pending bytes.

        The module docstring has a drawing of both cases.
        """
        boundary = self._written * self.chunk_bytes
        end, rest = self.tail_bytes, b""
        if len(self._open) and boundary - self._straddle > self._max_head:
            # This padding uses one more chunk. If the branch has moved, the caller has made sure
            # that this chunk is free as well (`Table._can_follow`).
            await self._write_padded(session)
            await self.drain()
        elif len(self._open):
            rest = self._head + self._open.data()
        if rest or self._log:
            await self._extend_tail(session, rest, log)
        return Settled(self._address(0), self._straddle, end)

    async def _extend_tail(self, session: Session, data: bytes, log: LogWriter | None) -> None:
        """Append bytes to the tail or the log.

        The last chunk of the tail is decoded, extended and written again.
        """
        path, at, data = f"{self.path}/tail", self.tail_in_array, self._log + data
        self.tail_bytes = at + len(data)
        if log is not None and log.takes(path):
            none = np.empty(0, np.int64)
            log.add(path, Entries(np.frombuffer(data, np.uint8), none, none))
            return
        if not at:
            metadata = array_metadata((0,), (TAIL_CHUNK,), "uint8", [ZSTD, CRC32C], ["byte"])
            await session.create_array(path, metadata)
        self._log = b""
        await session.resize(path, at, at + len(data))
        puts = []
        for chunk, start, stop in chunks.pieces(at, len(data), TAIL_CHUNK):
            old = b""
            if start:
                key = f"{path}/c/{chunk}"
                old = bytes(_decode(key, await session.get(key), TAIL_CHUNK)[:start])
            whole = old + data[: stop - start]
            data = data[stop - start :]
            puts.append(session.put(f"{path}/c/{chunk}", _encode(whole.ljust(TAIL_CHUNK, b"\0"))))
        await gather(puts)

    def adopt(self, other: Heap) -> None:
        """Take over the pending bytes of `other`, which is this heap at an earlier version."""
        self._has_values, self._fork = self._has_values or other._has_values, other._fork
        self._first, self._written = other._first, other._written
        self._open, self._head = OpenBytes([other._open.data()]), other._head
        self._straddle = other._straddle

    def _address(self, offset: int) -> int:
        """Convert an offset in the transaction's bytes to a position in ``values``."""
        return max(self._first, 0) * self.chunk_bytes + offset

    async def _write_open(self, session: Session) -> bytes:
        """Start writing the full chunk and empty the buffer; wait if too many writes are running.

        Returns the bytes of the chunk.

        Raises
        ------
        StorageError
            If there are no chunk numbers left.
        DamagedError
            If the chunk exists although it is free according to the lake's metadata document.
        """
        if self._first + self._written >= HEAP_CHUNKS:
            raise StorageError(
                f"All {HEAP_CHUNKS:,} chunk numbers of {self.path} are used up, because "
                "overlapping transactions leave unused gaps. Discard the edits, renumber the "
                "chunks with ds.optimize(), then write the rows again."
            )
        chunk, data = self._first + self._written, self._open.take()
        self._written += 1
        key = f"{self.path}/values/c/{chunk}"
        if await session.has(key):
            raise DamagedError(
                f"Chunk {key!r} must be free according to the lake's metadata document, but it "
                "exists: writing it would overwrite other cells. Discard the edits, and run "
                "ds.verify(). If it finds no damage, run ds.optimize() to rewrite the lake; "
                "otherwise, restore the lake from a backup."
            )
        stored = _encode(data) if self.compressed else data
        write = asyncio.ensure_future(session.put(key, stored))
        # `drain` raises the error of a failed write. If another error ends the edit first, asyncio
        # would report this one on stderr unless it had been retrieved.
        write.add_done_callback(lambda task: task.cancelled() or task.exception())
        self._writes.append(write)
        most = REMOTE_WRITES_IN_FLIGHT if session.is_remote else WRITES_IN_FLIGHT
        if len(self._writes) >= most:
            await self._writes.pop(0)
        return data

    async def _read_open(
        self, starts: Extents, lengths: Extents, pending: NDArray[np.bool_], out: list[Buffer]
    ) -> None:
        """Read pending cells whose last bytes are in memory, and set their lengths to 0.

        The starts of all other pending cells are converted to addresses, so that `_read_array` can
        read these cells. It skips cells with length 0.
        """
        boundary = self._written * self.chunk_bytes
        for i in np.flatnonzero(pending & (lengths > 0)).tolist():
            offset, length = int(starts[i]) - PENDING, int(lengths[i])
            if offset + length <= boundary:
                starts[i] = self._address(offset)
                continue
            in_chunks = max(0, boundary - offset)  # bytes of the cell before the boundary
            head = await self._read_pieces("values", self._address(offset), in_chunks)
            at = offset + in_chunks - boundary
            out[i] = head + self._open.data()[at : at + length - in_chunks]
            lengths[i] = 0

    async def _read_array(
        self, name: str, starts: Extents, lengths: Extents, out: list[Buffer]
    ) -> None:
        """Read cells from an array into `out`. Entries of cells with length 0 stay unchanged."""
        size, count = self._chunk_size(name), len(starts)
        gap = size if self._is_decoded(name) else chunks.GAP_BYTES
        # The ends of cells that lie in two chunks are read like further cells, and then joined.
        chunk = starts // size
        last = (starts + np.maximum(lengths, 1) - 1) // size
        two = np.flatnonzero(last == chunk + 1)
        heads = last[two] * size - starts[two]
        ends = lengths[two] - heads
        lengths = lengths.copy()
        lengths[two] = heads
        starts = np.concatenate([starts, last[two] * size])
        lengths = np.concatenate([lengths, ends])
        out.extend([b""] * len(two))
        reads, spanning = chunks.plan_reads(starts, lengths, size, gap=gap)
        ranges = await self._read_ranges(name, [(r.chunk, r.start, r.stop) for r in reads])
        for read, data in zip(reads, ranges, strict=True):
            at = starts[read.cells] - (read.chunk * size + read.start)
            upto = at + lengths[read.cells]
            for i, a, b in zip(read.cells.tolist(), at.tolist(), upto.tolist(), strict=True):
                out[i] = data[a:b]
        for i, end in zip(two.tolist(), out[count:], strict=True):
            out[i] = b"".join([out[i], end])
        del out[count:]
        for i in spanning:  # cells in at least three chunks, one after another to save memory
            out[i] = await self._read_pieces(name, int(starts[i]), int(lengths[i]))

    async def _copy(
        self, name: str, starts: Extents, lengths: Extents, to: Extents, out: NDArray[np.uint8]
    ) -> None:
        """Copy ranges of an array's bytes to the positions `to` in `out`."""
        size = self._chunk_size(name)
        starts, lengths, to = chunks.plan_copies(starts, lengths, to, size)
        gap = size if self._is_decoded(name) else chunks.GAP_BYTES
        reads, _ = chunks.plan_reads(starts, lengths, size, gap=gap)
        for batch in chunks.batches(reads, IN_FLIGHT):
            datas = await self._read_ranges(name, [(r.chunk, r.start, r.stop) for r in batch])
            for read, data in zip(batch, datas, strict=True):
                at = starts[read.cells] - (read.chunk * size + read.start)
                ranges = at.tolist(), lengths[read.cells].tolist(), to[read.cells].tolist()
                source = np.frombuffer(data, np.uint8)
                for start, length, target in zip(*ranges, strict=True):
                    out[target : target + length] = source[start : start + length]

    async def _read_one(self, start: int, length: int) -> Buffer:
        """Return the bytes of one committed cell."""
        name, at = ("tail", ~start) if start < 0 else ("values", start)
        size = self._chunk_size(name)
        first = at % size
        if not length or first + length > size:
            return await self._read_pieces(name, at, length)
        [data] = await self._read_ranges(name, [(at // size, first, first + length)])
        return data

    async def _read_pieces(self, name: str, start: int, length: int) -> bytes:
        """Return a range of bytes that may span several chunks.

        Each part is copied into the result as soon as it is read, since joining the parts at the
        end would take twice the memory of the cell. ``BytesIO`` is used because ``getvalue``
        returns its bytes object without a copy.
        """
        try:
            whole, at = io.BytesIO(bytes(length)), 0
        except MemoryError as error:
            raise TooLargeError(
                f"A cell of {self.path} takes {length:,} bytes, but there is not enough memory. "
                "Free some memory, or leave the row out."
            ) from error
        with whole.getbuffer() as out:
            pieces = chunks.pieces(start, length, self._chunk_size(name))
            for batch in chunks.batches(pieces, IN_FLIGHT):
                for part in await self._read_ranges(name, batch):
                    out[at : at + len(part)] = part
                    at += len(part)
        return whole.getvalue()

    def _chunk_size(self, name: str) -> int:
        return TAIL_CHUNK if name == "tail" else self.chunk_bytes

    def _is_decoded(self, name: str) -> bool:
        """Return whether the chunks of an array are compressed, so that they must be read whole."""
        return name == "tail" or self.compressed

    async def _read_ranges(
        self, name: str, ranges: Sequence[tuple[int, int, int]]
    ) -> list[memoryview]:
        """Return the bytes of each range, which is given as (chunk number, start, stop).

        Chunks that the open transaction has written are read from its fork.

        Raises
        ------
        DamagedError
            If some bytes are missing.
        """
        mine = self.claimed if name == "values" else range(0)
        datas: list[Any] = [None] * len(ranges)
        for session, indices in (
            (self._session, [i for i, r in enumerate(ranges) if r[0] not in mine]),
            (self._fork, [i for i, r in enumerate(ranges) if r[0] in mine]),
        ):
            if indices:
                part = [ranges[i] for i in indices]
                read = await self._read_from(cast("Session", session), name, part)
                for i, data in zip(indices, read, strict=True):
                    datas[i] = data
        for (chunk, start, stop), data in zip(ranges, datas, strict=True):
            if data is None or len(data) != stop - start:
                raise DamagedError(
                    f"Bytes {start} to {stop} of chunk {chunk} of {self.path}/{name} are missing. "
                    "Run ds.verify()."
                )
        return datas

    async def _read_from(
        self, session: Session, name: str, ranges: Sequence[tuple[int, int, int]]
    ) -> Sequence[memoryview | None]:
        path = f"{self.path}/{name}"
        if not self._is_decoded(name):
            return await session.get_ranges(path, ranges)
        numbers = list(dict.fromkeys(chunk for chunk, _, _ in ranges))
        whole: dict[int, memoryview] = {}
        for batch in chunks.batches(numbers, IN_FLIGHT):
            decoded = await gather(self._read_decoded(session, path, chunk) for chunk in batch)
            whole.update(zip(batch, decoded, strict=True))
        return [whole[chunk][start:stop] for chunk, start, stop in ranges]

    async def _read_decoded(self, session: Session, path: str, chunk: int) -> memoryview:
        """Return the content of a compressed chunk, from the cache if possible."""
        cache = self._pending_cache if session is self._fork else self._cache
        cached = cache.get((path, chunk))
        if cached is None:
            key = f"{path}/c/{chunk}"
            if path.endswith("/tail"):
                cached = _Chunk(await self._read_tail(session, key, chunk))
            else:
                cached = _Chunk(_decode(key, await session.get(key), self.chunk_bytes))
            cache.put((path, chunk), cached)
        return cast("_Chunk", cached).data

    async def _read_tail(self, session: Session, key: str, chunk: int) -> memoryview:
        """Return the content of a chunk of the tail, with the bytes that are in the log."""
        start, end = chunk * TAIL_CHUNK, self.tail_in_array
        data = b""
        if start < end:
            data = bytes(_decode(key, await session.get(key), TAIL_CHUNK)[: end - start])
        from_log = self._log[max(0, start - end) : start - end + TAIL_CHUNK]
        return memoryview((data + from_log)[:TAIL_CHUNK].ljust(TAIL_CHUNK, b"\0"))


@dataclass(frozen=True)
class Settled:
    """The final position of the pending bytes of a heap."""

    address: int
    """Position in ``values`` of offset 0 of the transaction's bytes."""
    remainder: int
    """Offset of the first pending cell that is stored in ``tail``, as are all later cells."""
    tail: int
    """Position in ``tail`` at which the cell at offset `remainder` is stored."""

    def translate(self, extents: Extents) -> Extents:
        """Return a copy of `extents`, (n, 2), with pending starts replaced by final starts."""
        out = extents.copy()
        offset = out[:, 0] - PENDING
        final = np.where(
            offset >= self.remainder, ~(self.tail + offset - self.remainder), self.address + offset
        )
        out[:, 0] = np.where(out[:, 0] >= PENDING, final, out[:, 0])
        return out


def _encode(data: bytes) -> bytes:
    """Encode a chunk like Zarr's ``zstd`` and ``crc32c`` codecs."""
    stored = bytes(zstd().encode(data))
    return stored + int(google_crc32c.value(stored)).to_bytes(4, "little")


def _decode(key: str, stored: memoryview | None, size: int) -> memoryview:
    """Decode a chunk with `size` bytes of content. Raises DamagedError."""
    if stored is None:
        raise DamagedError(f"Chunk {key!r} is missing. Run ds.verify().")
    data, checksum = bytes(stored[:-4]), int.from_bytes(stored[-4:], "little")
    if google_crc32c.value(data) != checksum:
        raise DamagedError(f"Chunk {key!r} does not match its checksum. Run ds.verify().")
    try:
        return memoryview(unzstd(data, size))
    except (ValueError, RuntimeError) as error:
        reason = str(error).rstrip(".")
        raise DamagedError(f"Chunk {key!r} cannot be read: {reason}. Run ds.verify().") from error
