"""Where the bytes of a ragged column lie: cells back to back, found by their extents.

An extent is ``(start, length)``. A start of zero or more is a byte of ``values``, an array of full
size in which every transaction takes a free range of chunks, so that two writers never touch the
same one. A negative start is byte ``~start`` of ``tail``, an array that only grows: what does not
fill a chunk of ``values`` goes there when the transaction commits. Until then starts count from
`PENDING`.

Steps: `append` gives pending extents, writing full chunks as it goes; `settle` writes the rest at
the commit and tells what the pending extents have become.
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
from deeplake_lite.storage.arrays import ChunkCache, room_for
from deeplake_lite.storage.compression import CRC32C, ZSTD, zstd
from deeplake_lite.storage.few import few_pieces
from deeplake_lite.storage.frames import unzstd
from deeplake_lite.storage.repo import gather

if TYPE_CHECKING:
    from collections.abc import Buffer, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.storage.repo import Session

type Extents = NDArray[np.int64]

HEAP_CHUNKS = 2**28
"""Chunks of ``values``, nearly all of them never written: its address space (1 PiB of encoded
samples)."""

RAW_CHUNK = 4 * 2**20
"""Chunk of ``values`` that hold encoded samples: read by byte range, so large chunks cost
nothing."""

TEXT_CHUNK = 256 * 1024
"""Chunk of ``values`` under Zstd: one text costs the decoding of one chunk."""

TAIL_CHUNK = 64 * 1024
"""Chunk of ``tail``: a commit of one row rewrites one."""

MOST_BYTES = 2**31
"""Most bytes of one cell."""

PENDING = 2**61
"""Starts at or above this are bytes of the open transaction."""

STRADDLE_BYTES = 2**20
"""A cell with no more than this before the last full chunk's end moves to the tail whole."""

IN_FLIGHT = 16
"""Reads at a time."""

MINE_BYTES = 16 * 2**20
"""Room for decoded chunks of the open transaction."""

WRITES_IN_FLIGHT = 2
"""Chunks that are being written while the next is filled."""


class Claims(Protocol):
    """What a heap asks of the open transaction."""

    async def fork(self) -> Session:
        """Return the session that collects chunks."""

    async def claim(self, path: str) -> int:
        """Return the first of a free range of heap chunks."""


@dataclass(frozen=True)
class _Chunk:
    """Decoded bytes of one chunk, for the cache."""

    data: memoryview

    @property
    def nbytes(self) -> int:
        return self.data.nbytes


class _Pile:
    """Bytes behind the last full chunk, in pieces that are joined when somebody asks."""

    def __init__(self, pieces: Sequence[bytes] = ()) -> None:
        self._pieces: list[Any] = list(pieces)
        self._size = sum(map(len, pieces))

    def __len__(self) -> int:
        return self._size

    def add(self, pieces: Sequence[Buffer], size: int) -> None:
        """Put pieces of `size` bytes behind the others; they may change after `own` or `take`."""
        self._pieces += pieces
        self._size += size

    def own(self) -> None:
        """Copy the pieces that others may change."""
        self._pieces = [p if isinstance(p, bytes) else bytes(p) for p in self._pieces]

    def data(self) -> bytes:
        """Return all bytes."""
        if len(self._pieces) != 1:
            self._pieces = [b"".join(self._pieces)]
        return cast("bytes", self._pieces[0])

    def take(self) -> bytes:
        """Return all bytes, and begin anew."""
        data = self.data()
        self._pieces, self._size = [], 0
        return data

    def pieces(self) -> tuple[bytes, ...]:
        """Return the pieces, all of them our own."""
        self.own()
        return tuple(self._pieces)


def _between(
    buffers: Sequence[Buffer],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    start: int,
    stop: int,
) -> list[Buffer]:
    """Return what cells back to back, the first at ``starts[0]``, hold from `start` to `stop`."""
    if start == stop:
        return []
    first = int(np.searchsorted(ends, start, side="right"))
    last = int(np.searchsorted(ends, stop))
    skip, upto = start - int(starts[first]), stop - int(starts[last])
    if first == last:
        return [memoryview(buffers[first]).cast("B")[skip:upto]]
    head = memoryview(buffers[first]).cast("B")[skip:] if skip else buffers[first]
    tail = memoryview(buffers[last]).cast("B")[:upto] if ends[last] > stop else buffers[last]
    return [head, *buffers[first + 1 : last], tail]


def _nbytes(buffer: Buffer) -> int:
    return len(buffer) if isinstance(buffer, bytes) else memoryview(buffer).nbytes


class Heap:
    """The bytes of one ragged column.

    Parameters
    ----------
    session : Session
        Where committed bytes are read from.
    path : str
        Path of the column's group.
    compressed : bool
        Whether the chunks of ``values`` carry Zstd.
    cache : ChunkCache
        Shared by the arrays of one table.
    new : bool
        Whether the arrays are yet to be made.
    tail_bytes : int
        How many bytes of ``tail`` are committed.
    values_end : int
        Behind the last committed chunk of ``values``.
    """

    def __init__(
        self,
        session: Session,
        path: str,
        *,
        compressed: bool,
        cache: ChunkCache,
        new: bool = False,
        tail_bytes: int = 0,
        values_end: int = 0,
    ) -> None:
        self._new = new
        self.tail_bytes, self._values_end = tail_bytes, values_end
        self.path, self.compressed = path, compressed
        self.chunk_bytes = TEXT_CHUNK if compressed else RAW_CHUNK
        self._session, self._cache = session, cache
        self._mine = ChunkCache(MINE_BYTES)  # of the open transaction
        self._fork: Session | None = None  # where full chunks of the open transaction are
        self._first = -1  # claimed chunk, none yet
        self._written = 0  # full chunks written behind it
        self._open = _Pile()  # bytes behind those
        self._straddle = 0  # local offset from which cells are not wholly within written chunks
        self._writes: list[asyncio.Task[None]] = []  # not done yet
        self._failed: BaseException | None = None  # what a write raised

    def forked(self) -> Heap:
        """Return a heap of the same bytes for further edits; this one is only read from now."""
        fork = copy.copy(self)
        fork._open, fork._writes = _Pile(few_pieces(self._open.pieces())), list(self._writes)
        fork._mine = ChunkCache(MINE_BYTES)  # another edit may write other chunks of these numbers
        return fork

    @property
    def claimed(self) -> range:
        """The chunks of ``values`` that the open transaction has written."""
        return range(self._first, self._first + self._written)

    async def _create(self, session: Session) -> None:
        self._new = False
        codec = [ZSTD, CRC32C]
        for name, length, chunk, codecs in (
            (
                "values",
                HEAP_CHUNKS * self.chunk_bytes,
                self.chunk_bytes,
                codec if self.compressed else [],
            ),
            ("tail", 0, TAIL_CHUNK, codec),
        ):
            await session.create_bytes(f"{self.path}/{name}", length, chunk, codecs)

    async def append(self, buffers: Sequence[Buffer], claims: Claims) -> Extents:
        """Add cells; return their pending extents, (n, 2) int64."""
        lengths = np.fromiter(map(_nbytes, buffers), np.int64, len(buffers))
        at = self._written * self.chunk_bytes + len(self._open)
        ends = at + np.cumsum(lengths)
        starts, end = ends - lengths, at + int(lengths.sum())
        while end >= (boundary := (self._written + 1) * self.chunk_bytes):
            self._open.add(_between(buffers, starts, ends, at, boundary), boundary - at)
            if self._first < 0:
                self._first = await claims.claim(f"{self.path}/values")
            self._fork = await claims.fork()
            if self._new:
                await self._create(self._fork)
            await self._write_open(self._fork)
            last = int(np.searchsorted(ends, boundary))  # the cell that filled the chunk
            self._straddle = int(starts[last]) if ends[last] > boundary else boundary
            at = boundary
        self._open.add(_between(buffers, starts, ends, at, end), end - at)
        self._open.own()
        return np.stack([PENDING + starts, lengths], axis=1)

    async def drain(self) -> None:
        """Wait until all that was appended is written. Raises what a write raised."""
        writes, self._writes = self._writes, []
        for failed in [e for e in await asyncio.gather(*writes, return_exceptions=True) if e]:
            self._failed = self._failed or failed
        if self._failed is not None:
            raise self._failed

    async def abandon(self) -> None:
        """Cancel the writes that are under way, and wait until they have ended."""
        for write in self._writes:
            write.cancel()
        await asyncio.gather(*self._writes, return_exceptions=True)

    async def read(self, extents: Extents) -> list[Buffer]:
        """Return the bytes of each extent, in order; views of the chunks where they can be."""
        if self._writes:
            await self.drain()
        self._check_extents(extents)
        out: list[Any] = [b""] * len(extents)
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
        """Return the bytes of all extents, back to back; what is so already is copied at once."""
        if (extents[:, 0] >= PENDING).any():
            return np.frombuffer(b"".join(await self.read(extents)), np.uint8)
        self._check_extents(extents)
        starts, lengths = extents[extents[:, 1] > 0].T
        out = room_for((int(lengths.sum()),), "uint8", self.path)
        to = np.cumsum(lengths) - lengths
        for name, mine in (("tail", starts < 0), ("values", starts >= 0)):
            if mine.any():
                at = starts[mine] ^ (starts[mine] >> 63)  # of the tail, its complement
                await self._copy(name, at, lengths[mine], to[mine], out)
        return out

    def _check_extents(self, extents: Extents) -> None:
        """Refuse extents that lie outside of what is written, before anything is allocated.

        Raises
        ------
        DamagedError
        """
        starts, lengths = extents[:, 0], extents[:, 1]
        room = np.where(starts < 0, self.tail_bytes, self._values_end * self.chunk_bytes)
        room[starts >= PENDING] = PENDING * 2 - 1
        first = np.where(starts < 0, ~starts, starts)
        sound = (lengths >= 0) & (lengths <= MOST_BYTES) & (first <= room - lengths)
        if not (sound | (lengths == 0)).all():
            start, length = extents[~sound][0].tolist()
            raise DamagedError(
                f"A cell of {self.path} lies at {start} for {length} bytes, where nothing is "
                "written. Run ds.verify()."
            )

    async def settle(self, session: Session) -> Settled:
        """Write what is left to `session`; return where pending bytes have gone."""
        if self._new:
            await self._create(session)
        boundary = self._written * self.chunk_bytes
        end = self.tail_bytes
        if len(self._open) and boundary - self._straddle > min(STRADDLE_BYTES, self.chunk_bytes):
            room = self.chunk_bytes - len(self._open)
            self._open.add([bytes(room)], room)
            await self._write_open(session)
            await self.drain()
            self._straddle = self._written * self.chunk_bytes
        elif len(self._open):
            head = await self._read_pieces(
                "values", self._address(self._straddle), boundary - self._straddle
            )
            await self._extend_tail(session, head + self._open.data())
        return Settled(self._address(0), self._straddle, end)

    async def _extend_tail(self, session: Session, data: bytes) -> None:
        """Put bytes behind those of the tail."""
        path, at = f"{self.path}/tail", self.tail_bytes
        await session.resize(path, at, at + len(data))
        self.tail_bytes = at + len(data)
        for chunk, start, stop in chunks.pieces(at, len(data), TAIL_CHUNK):
            kept = b""
            if start:
                key = f"{path}/c/{chunk}"
                kept = bytes(_decode(key, await session.get(key), TAIL_CHUNK)[:start])
            whole = kept + data[: stop - start]
            data = data[stop - start :]
            await session.put(f"{path}/c/{chunk}", _encode(whole.ljust(TAIL_CHUNK, b"\0")))

    def adopt(self, other: Heap) -> None:
        """Take over what is pending in `other`, the same heap at an earlier version."""
        self._new, self._fork = other._new, other._fork
        self._first, self._written = other._first, other._written
        self._open, self._straddle = _Pile([other._open.data()]), other._straddle

    def _address(self, local: int) -> int:
        """Return the byte of ``values`` that a local offset stands for."""
        return max(self._first, 0) * self.chunk_bytes + local

    async def _write_open(self, session: Session) -> None:
        """Start writing the full chunk, and begin the next; wait while too many are under way.

        Raises
        ------
        StorageError
            When chunk numbers have run out.
        """
        if self._first + self._written >= HEAP_CHUNKS:
            raise StorageError(
                f"There are {HEAP_CHUNKS:,} chunks to a column, but all those of {self.path} "
                "behind the last one taken are used up: transactions that overlap leave some "
                "free. Discard the edits, number the chunks anew with ds.optimize(), then write "
                "the rows again."
            )
        chunk, data = self._first + self._written, self._open.take()
        self._written += 1
        key = f"{self.path}/values/c/{chunk}"
        if await session.has(key):
            raise DamagedError(
                f"Chunk {key!r} should be free, says the lake's document, but it is taken: a "
                "cell would be written over another. Discard the edits, and run ds.verify(). If it "
                "finds nothing, ds.optimize() writes the lake anew; otherwise restore a copy."
            )
        stored = _encode(data) if self.compressed else data
        put = session.put(key, stored)
        self._writes.append(asyncio.ensure_future(put))
        if len(self._writes) >= WRITES_IN_FLIGHT:
            await self._writes.pop(0)

    async def _read_open(
        self, starts: Extents, lengths: Extents, pending: NDArray[np.bool_], out: list[Any]
    ) -> None:
        """Fill in what is in memory; turn the other pending starts into addresses."""
        boundary = self._written * self.chunk_bytes
        for i in np.flatnonzero(pending & (lengths > 0)).tolist():
            local, length = int(starts[i]) - PENDING, int(lengths[i])
            if local + length <= boundary:
                starts[i] = self._address(local)
                continue
            head = max(0, boundary - local)
            begin = await self._read_pieces("values", self._address(local), head)
            at = local + head - boundary
            out[i] = begin + self._open.data()[at : at + length - head]
            lengths[i] = 0

    async def _read_array(
        self, name: str, starts: Extents, lengths: Extents, out: list[Any]
    ) -> None:
        """Fill in the cells with a length; `out` of the others stays."""
        size = self._chunk_size(name)
        gap = size if self._is_decoded(name) else chunks.GAP_BYTES
        reads, spanning = chunks.plan_reads(starts, lengths, size, gap=gap)
        found = await self._read_ranges(name, [(r.chunk, r.start, r.stop) for r in reads])
        for read, data in zip(reads, found, strict=True):
            at = starts[read.cells] - (read.chunk * size + read.start)
            upto = at + lengths[read.cells]
            for i, a, b in zip(read.cells.tolist(), at.tolist(), upto.tolist(), strict=True):
                out[i] = data[a:b]
        for i in spanning:
            out[i] = await self._read_pieces(name, int(starts[i]), int(lengths[i]))

    async def _copy(
        self, name: str, starts: Extents, lengths: Extents, to: Extents, out: NDArray[np.uint8]
    ) -> None:
        """Copy ranges of an array's bytes to places of `out`."""
        size = self._chunk_size(name)
        starts, lengths, to = chunks.copies(starts, lengths, to, size)
        gap = size if self._is_decoded(name) else chunks.GAP_BYTES
        reads, _ = chunks.plan_reads(starts, lengths, size, gap=gap)
        for some in chunks.batches(reads, IN_FLIGHT):
            found = await self._read_ranges(name, [(r.chunk, r.start, r.stop) for r in some])
            for read, data in zip(some, found, strict=True):
                at = starts[read.cells] - (read.chunk * size + read.start)
                ranges = at.tolist(), lengths[read.cells].tolist(), to[read.cells].tolist()
                source = np.frombuffer(data, np.uint8)
                for start, length, place in zip(*ranges, strict=True):
                    out[place : place + length] = source[start : start + length]

    async def _read_one(self, start: int, length: int) -> Buffer:
        """Return the bytes of one committed cell."""
        name, at = ("tail", ~start) if start < 0 else ("values", start)
        size = self._chunk_size(name)
        first = at % size
        if not length or first + length > size:
            return await self._read_pieces(name, at, length)
        [found] = await self._read_ranges(name, [(at // size, first, first + length)])
        return found

    async def _read_pieces(self, name: str, start: int, length: int) -> bytes:
        """Return a run of bytes across chunks, each part of it put in its place when it is read.

        Joining the parts would take the room of the cell twice. ``BytesIO`` hands the bytes that it
        was given out again without a copy.
        """
        try:
            whole, at = io.BytesIO(bytes(length)), 0
        except MemoryError as error:
            raise TooLargeError(
                f"A cell of {self.path} takes {length:,} bytes, for which there is no memory. Free "
                "some, or leave the row out."
            ) from error
        with whole.getbuffer() as room:
            pieces = chunks.pieces(start, length, self._chunk_size(name))
            for some in chunks.batches(pieces, IN_FLIGHT):
                for part in await self._read_ranges(name, some):
                    room[at : at + len(part)] = part
                    at += len(part)
        return whole.getvalue()

    def _chunk_size(self, name: str) -> int:
        return TAIL_CHUNK if name == "tail" else self.chunk_bytes

    def _is_decoded(self, name: str) -> bool:
        """Tell whether the chunks of an array carry Zstd, so that they are read whole."""
        return name == "tail" or self.compressed

    async def _read_ranges(
        self, name: str, ranges: Sequence[tuple[int, int, int]]
    ) -> list[memoryview]:
        """Return ranges of chunks: (chunk, start, stop) of each.

        Raises
        ------
        DamagedError
            When some are not there.
        """
        mine = self.claimed if name == "values" else range(0)
        found: list[Any] = [None] * len(ranges)
        for session, part in (
            (self._session, [i for i, r in enumerate(ranges) if r[0] not in mine]),
            (self._fork, [i for i, r in enumerate(ranges) if r[0] in mine]),
        ):
            if part:
                some = [ranges[i] for i in part]
                datas = await self._read_from(cast("Session", session), name, some)
                for i, data in zip(part, datas, strict=True):
                    found[i] = data
        for (chunk, start, stop), data in zip(ranges, found, strict=True):
            if data is None or len(data) != stop - start:
                raise DamagedError(
                    f"Bytes {start} to {stop} of chunk {chunk} of {self.path}/{name} are missing. "
                    "Run ds.verify()."
                )
        return found

    async def _read_from(
        self, session: Session, name: str, ranges: Sequence[tuple[int, int, int]]
    ) -> Sequence[memoryview | None]:
        path = f"{self.path}/{name}"
        if not self._is_decoded(name):
            return await session.get_ranges(path, ranges)
        numbers = list(dict.fromkeys(chunk for chunk, _, _ in ranges))
        held: dict[int, memoryview] = {}
        for some in chunks.batches(numbers, IN_FLIGHT):
            decoded = await gather(self._decoded(session, path, chunk) for chunk in some)
            held.update(zip(some, decoded, strict=True))
        return [held[chunk][start:stop] for chunk, start, stop in ranges]

    async def _decoded(self, session: Session, path: str, chunk: int) -> memoryview:
        """Return a chunk that carries Zstd, from the cache if it is there."""
        cache = self._mine if session is self._fork else self._cache
        held = cache.get((path, chunk))
        if held is None:
            key = f"{path}/c/{chunk}"
            size = TAIL_CHUNK if path.endswith("/tail") else self.chunk_bytes
            held = _Chunk(_decode(key, await session.get(key), size))
            cache.put((path, chunk), held)
        return cast("_Chunk", held).data


@dataclass(frozen=True)
class Settled:
    """Where the pending bytes of a heap have gone."""

    address: int
    """Byte of ``values`` at which local offset 0 lies."""
    remainder: int
    """Local offset from which cells are in the tail."""
    tail: int
    """Byte of the tail at which that offset lies."""

    def translate(self, extents: Extents) -> Extents:
        """Return `extents`, (n, 2), with pending starts made final."""
        out = extents.copy()
        local = out[:, 0] - PENDING
        final = np.where(
            local >= self.remainder, ~(self.tail + local - self.remainder), self.address + local
        )
        out[:, 0] = np.where(out[:, 0] >= PENDING, final, out[:, 0])
        return out


def _encode(data: bytes) -> bytes:
    """Return the bytes of a chunk as Zarr's ``zstd`` and ``crc32c`` codecs write it."""
    stored = bytes(zstd().encode(data))
    return stored + int(google_crc32c.value(stored)).to_bytes(4, "little")


def _decode(key: str, stored: memoryview | None, size: int) -> memoryview:
    """Return the `size` bytes that `_encode` was given. Raises DamagedError."""
    if stored is None:
        raise DamagedError(f"Chunk {key!r} is missing. Run ds.verify().")
    data, checksum = bytes(stored[:-4]), int.from_bytes(stored[-4:], "little")
    if google_crc32c.value(data) != checksum:
        raise DamagedError(f"Chunk {key!r} does not match its checksum. Run ds.verify().")
    try:
        return memoryview(unzstd(data, size))
    except (ValueError, RuntimeError) as error:
        raise DamagedError(f"Chunk {key!r} does not read: {error} Run ds.verify().") from error
