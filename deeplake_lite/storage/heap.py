"""Where the bytes of a ragged column lie: cells of any length, back to back, found again by their extents.

An extent is ``(start, length)``. A start of zero or more is a byte of ``values``, an array of full size in
which every transaction takes a free range of chunks, so that two writers never touch the same one. A
negative start is byte ``~start`` of ``tail``, an array that only grows: what does not fill a chunk of
``values`` goes there when the transaction commits. Until then starts count from `PENDING`.

Steps: `append` gives pending extents, writing full chunks as it goes; `settle` writes the rest at the commit
and tells what the pending extents have become.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numcodecs import Zstd
from zarr.codecs import ZstdCodec

from deeplake_lite.errors import DamagedError
from deeplake_lite.storage import chunks

if TYPE_CHECKING:
    from collections.abc import Buffer, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.storage.arrays import ChunkCache
    from deeplake_lite.storage.repo import Session

type Extents = NDArray[np.int64]

HEAP_BYTES = 2**50
"""Address space of ``values``."""

RAW_CHUNK = 4 * 2**20
"""Chunk of ``values`` that hold encoded samples: read by byte range, so large chunks cost nothing."""

TEXT_CHUNK = 256 * 1024
"""Chunk of ``values`` under Zstd: one text costs the decoding of one chunk."""

TAIL_CHUNK = 64 * 1024
"""Chunk of ``tail``: a commit of one row rewrites one."""

PENDING = 2**61
"""Starts at or above this are bytes of the open transaction."""

STRADDLE_BYTES = 2**20
"""A cell with no more than this before the last full chunk's end moves to the tail whole."""

IN_FLIGHT = 16
"""Requests at a time."""

_zstd = Zstd(level=1)


class Claims(Protocol):
    """What a heap asks of the open transaction."""

    async def fork(self) -> Session:
        """Return the session that collects chunks."""

    async def claim(self, path: str) -> tuple[Session, int]:
        """Return that session, and the first of a free range of heap chunks."""


@dataclass(frozen=True)
class _Chunk:
    """Decoded bytes of one chunk, for the cache."""

    data: memoryview

    @property
    def nbytes(self) -> int:
        return self.data.nbytes


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
    """

    def __init__(
        self,
        session: Session,
        path: str,
        *,
        compressed: bool,
        cache: ChunkCache,
        new: bool = False,
    ) -> None:
        self._new = new
        self.path, self.compressed = path, compressed
        self.chunk_bytes = TEXT_CHUNK if compressed else RAW_CHUNK
        self._session, self._cache = session, cache
        self._fork: Session | None = None  # where full chunks of the open transaction are
        self._first = -1  # claimed chunk, none yet
        self._written = 0  # full chunks written behind it
        self._open = bytearray()  # bytes behind those
        self._straddle = 0  # local offset from which cells are not wholly within written chunks

    @property
    def claimed(self) -> range:
        """The chunks of ``values`` that the open transaction has written."""
        return range(self._first, self._first + self._written)

    async def _create(self, session: Session) -> None:
        self._new = False
        codec = [ZstdCodec(level=1)]
        for name, length, chunk, codecs in (
            ("values", HEAP_BYTES, self.chunk_bytes, codec if self.compressed else []),
            ("tail", 0, TAIL_CHUNK, codec),
        ):
            await session.create_bytes(f"{self.path}/{name}", length, chunk, codecs)

    async def append(self, buffers: Sequence[Buffer], claims: Claims) -> Extents:
        """Add cells; return their pending extents, (n, 2) int64."""
        lengths = np.fromiter((memoryview(b).nbytes for b in buffers), np.int64, len(buffers))
        base = self._written * self.chunk_bytes + len(self._open)
        starts = base + np.cumsum(lengths) - lengths
        writes: list[asyncio.Task[None]] = []
        for start, buffer in zip(starts.tolist(), buffers, strict=True):
            data = memoryview(buffer)
            rest = data.cast("B") if data.nbytes else memoryview(b"")
            while len(rest) >= (room := self.chunk_bytes - len(self._open)):
                self._open += rest[:room]
                rest = rest[room:]
                if self._fork is None:
                    self._fork, self._first = await claims.claim(self.path)
                    if self._new:
                        await self._create(self._fork)
                writes.append(self._write_open(self._fork))
                self._straddle = start if len(rest) else self._written * self.chunk_bytes
                if len(writes) >= IN_FLIGHT // 4:
                    await writes.pop(0)
            self._open += rest
        await asyncio.gather(*writes)
        return np.stack([PENDING + starts, lengths], axis=1)

    def mark(self) -> tuple[int, int, int]:
        """Return a mark that `rewind` takes back to."""
        return self._written, len(self._open), self._straddle

    async def rewind(self, mark: tuple[int, int, int]) -> None:
        """Drop the cells appended since `mark`; chunks written since then are written over."""
        written, size, straddle = mark
        if self._written > written:
            self._open = bytearray(await self._read_range("values", self._first + written, 0, size))
        del self._open[size:]
        self._written, self._straddle = written, straddle

    async def read(self, extents: Extents) -> list[Buffer]:
        """Return the bytes of each extent, in order; views of the chunks where they can be."""
        out: list[Any] = [b""] * len(extents)
        starts, lengths = extents[:, 0].copy(), extents[:, 1].copy()
        if (pending := starts >= PENDING).any():
            await self._read_open(starts, lengths, pending, out)
        in_tail = starts < 0
        await asyncio.gather(
            self._read_array("tail", ~starts, np.where(in_tail, lengths, 0), out),
            self._read_array("values", starts, np.where(in_tail, 0, lengths), out),
        )
        return out

    async def settle(self, session: Session) -> Settled:
        """Write what is left to `session`; return where pending bytes have gone."""
        if self._new:
            await self._create(session)
        boundary = self._written * self.chunk_bytes
        tail = await session.open_array(f"{self.path}/tail")
        end = int(tail.shape[0])
        if self._open and boundary - self._straddle > min(STRADDLE_BYTES, self.chunk_bytes):
            self._open += bytes(self.chunk_bytes - len(self._open))
            await self._write_open(session)
            self._straddle = self._written * self.chunk_bytes
        elif self._open:
            head = await self._read_pieces(
                "values", self._address(self._straddle), boundary - self._straddle
            )
            rest = np.frombuffer(head + bytes(self._open), np.uint8)
            await tail.resize((end + len(rest),))
            await tail.setitem(slice(end, end + len(rest)), rest)
        return Settled(self._address(0), self._straddle, end)

    def adopt(self, other: Heap) -> None:
        """Take over what is pending in `other`, the same heap at an earlier version."""
        self._new, self._fork = other._new, other._fork
        self._first, self._written = other._first, other._written
        self._open, self._straddle = bytearray(other._open), other._straddle

    def _address(self, local: int) -> int:
        """Return the byte of ``values`` that a local offset stands for."""
        return max(self._first, 0) * self.chunk_bytes + local

    def _write_open(self, session: Session) -> asyncio.Task[None]:
        """Start writing the full chunk, and begin the next."""
        chunk, data = self._first + self._written, bytes(self._open)
        self._written, self._open = self._written + 1, bytearray()
        stored = _zstd.encode(data) if self.compressed else data
        return asyncio.ensure_future(session.put(f"{self.path}/values/c/{chunk}", stored))

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
            out[i] = begin + bytes(self._open[at : at + length - head])
            lengths[i] = 0

    async def _read_array(
        self, name: str, starts: Extents, lengths: Extents, out: list[Any]
    ) -> None:
        """Fill in the cells with a length; `out` of the others stays."""
        decoded = name == "tail" or self.compressed
        size = TAIL_CHUNK if name == "tail" else self.chunk_bytes
        reads, spanning = chunks.plan_reads(
            starts, lengths, size, gap=size if decoded else chunks.GAP_BYTES
        )

        async def fill(read: chunks.ChunkRead) -> None:
            data = await self._read_range(name, read.chunk, read.start, read.stop)
            at = starts[read.cells] - (read.chunk * size + read.start)
            upto = at + lengths[read.cells]
            for i, a, b in zip(read.cells.tolist(), at.tolist(), upto.tolist(), strict=True):
                out[i] = data[a:b]

        for some in chunks.batches(reads, IN_FLIGHT):
            await asyncio.gather(*map(fill, some))
        for i in spanning:
            out[i] = await self._read_pieces(name, int(starts[i]), int(lengths[i]))

    async def _read_pieces(self, name: str, start: int, length: int) -> bytes:
        size = TAIL_CHUNK if name == "tail" else self.chunk_bytes
        found = []
        for some in chunks.batches(chunks.pieces(start, length, size), IN_FLIGHT):
            found += await asyncio.gather(*(self._read_range(name, *piece) for piece in some))
        return b"".join(found)

    async def _read_range(self, name: str, chunk: int, start: int, stop: int) -> memoryview:
        """Return bytes of one chunk. Raises DamagedError when they are not there."""
        key = f"{self.path}/{name}/c/{chunk}"
        mine = name == "values" and chunk in self.claimed
        session = self._fork if mine and self._fork is not None else self._session
        if name == "values" and not self.compressed:
            found = await session.get(key, start, stop)
        else:
            held = self._cache.get((f"{self.path}/{name}", chunk))
            if held is None:
                held = _Chunk(_decode(key, await session.get(key)))
                self._cache.put((f"{self.path}/{name}", chunk), held)
            found = held.data[start:stop]
        if found is None or len(found) != stop - start:
            raise DamagedError(
                f"Bytes {start} to {stop} of chunk {key!r} are missing. Run ds.verify()."
            )
        return found


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


def _decode(key: str, stored: memoryview | None) -> memoryview:
    """Return the bytes of a Zstd chunk. Raises DamagedError."""
    if stored is None:
        raise DamagedError(f"Chunk {key!r} is missing. Run ds.verify().")
    try:
        return memoryview(_zstd.decode(stored))
    except RuntimeError as error:
        raise DamagedError(
            f"Chunk {key!r} does not decompress: {error}. Run ds.verify()."
        ) from error
