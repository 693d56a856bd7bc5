"""How one value per slot is kept: a Zarr array that only grows, with pending edits on top.

Slots are append-only: slot *i* keeps its place for as long as the lake is not optimised. A
`SlotArray` reads committed rows from its Zarr array, chunk by chunk through a cache, and pending
rows and updates from memory; `write` puts what is pending into a writer's session. Everything that
the lake keeps per row (numbers, extents, shapes, hashes, validity, row ids) goes through here.
"""

from __future__ import annotations

import copy
from collections import OrderedDict
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, cast

import google_crc32c
import numpy as np

from deeplake_lite.errors import DamagedError, LakeError, TooLargeError
from deeplake_lite.storage import chunks
from deeplake_lite.storage.checksums import checksum
from deeplake_lite.storage.compression import CRC32C, blosc, blosc_codec
from deeplake_lite.storage.few import few_blocks
from deeplake_lite.storage.frames import check_blosc
from deeplake_lite.storage.repo import in_thread, stream

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.storage.checksums import Checksums
    from deeplake_lite.storage.repo import Session

type Slots = NDArray[np.int64]

INDEX_ROWS = 8_192
"""Most rows in one chunk of an array that is kept per slot."""

DENSE_BYTES = 256 * 1024
"""Most bytes in one such chunk, unless a single row is larger: a commit of one row rewrites one
chunk."""

WIDE_BYTES = 4_096
"""Rows this wide are stored without compression: reading them is bound by the decoder, not by the
disk."""

READS_IN_FLIGHT = 16
"""Chunks that are being read at a time."""

NARROW_BYTES = 16
"""Chunks of rows up to this wide are kept for the next read: the lake's index is of such."""

WRITES_IN_FLIGHT = 8
"""Wide chunks that are being written at a time."""

THREADED_BYTES = 64 * 1024
"""Chunks of this size and more are compressed in a thread."""

CHECKED_BYTES = 2**20
"""Before memory for more than this is set aside, an array is compared with the lake's document."""

MANY_ROWS = 2**20
"""An array of more rows than this must have its last chunk, too."""

SPILL_BYTES = 32 * 2**20
"""Pending bytes of one array from which on its full chunks are written before the commit."""


@dataclass(frozen=True)
class ArraySpec:
    """How an array is laid out."""

    dtype: str
    """Zarr v3 core dtype name."""
    shape: tuple[int, ...] = ()
    """Shape of one row."""
    axes: tuple[str, ...] = ()
    """Names of the row's axes."""

    @property
    def row_bytes(self) -> int:
        """Size of one row, at least 1."""
        return max(1, np.dtype(self.dtype).itemsize * int(np.prod(self.shape)))

    @property
    def chunk_rows(self) -> int:
        """Rows in one chunk."""
        return max(1, min(INDEX_ROWS, DENSE_BYTES // self.row_bytes))

    @property
    def most_bytes(self) -> int:
        """Most bytes that a stored chunk takes: headers and checksums included."""
        return self.chunk_rows * self.row_bytes + 64

    @property
    def is_wide(self) -> bool:
        """Whether chunks are stored without compression."""
        return self.row_bytes >= WIDE_BYTES

    @property
    def is_narrow(self) -> bool:
        """Whether chunks are kept in the cache once they were read."""
        return self.row_bytes <= NARROW_BYTES

    def decode_chunk(self, data: memoryview, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Return the rows of a chunk, (chunk_rows, *shape), read-only; or fill `out` with them.

        Raises
        ------
        ValueError, RuntimeError
            When the bytes are not what was written.
        """
        packed = np.frombuffer(data[:-4], np.uint8)
        packed.flags.writeable = False
        if google_crc32c.value(packed) != int.from_bytes(data[-4:], "little"):
            raise ValueError("the checksum of a chunk does not match its bytes.")
        whole = self.chunk_rows * self.row_bytes
        if self.is_wide and packed.nbytes != whole:
            raise ValueError(f"a chunk has {packed.nbytes} bytes instead of {whole}.")
        if not self.is_wide:
            check_blosc(packed.data, whole)
        dtype, shape = np.dtype(self.dtype).newbyteorder("<"), (self.chunk_rows, *self.shape)
        if self.is_wide:
            rows = packed.view(dtype).reshape(shape)
            if out is not None:
                out[...] = rows
        elif out is None:
            rows = np.frombuffer(blosc().decode(packed), dtype).reshape(shape)
        else:
            rows = out
            blosc().decode(packed, out)
        return rows

    def encode_chunk(self, rows: NDArray[Any]) -> bytes:
        """Return the bytes of a chunk that begins with `rows`, zeros behind them.

        >>> spec = ArraySpec("int32", (2,))
        >>> spec.decode_chunk(memoryview(spec.encode_chunk(np.ones((1, 2)))))[:2].tolist()
        [[1, 1], [0, 0]]
        """
        dtype = np.dtype(self.dtype).newbyteorder("<")
        whole = np.ascontiguousarray(rows, dtype)
        if len(rows) < self.chunk_rows:
            whole = np.zeros((self.chunk_rows, *self.shape), dtype)
            whole[: len(rows)] = rows
        if self.is_wide:
            return with_checksum(whole)
        return with_checksum(np.frombuffer(blosc().encode(whole), np.uint8).copy())

    def span(self, index: tuple[Any, ...]) -> tuple[int, int, Callable[[bytes, int], Any]]:
        """Return where in a row the bytes of an index begin, and how many there are.

        The third makes the values, (n, *shape), of the bytes of n rows.

        >>> start, length, view = ArraySpec("int16", (4, 5)).span((1, slice(3, 0, -2)))
        >>> start, length, view(np.array([1, 2, 3], "int16").tobytes(), 1).tolist()
        (12, 6, [[3, 1]])
        """
        row = np.empty(self.shape, np.dtype(self.dtype).newbyteorder("<"))
        some = np.asarray(row[index if ... in index else (*index, ...)])
        low, high = np.lib.array_utils.byte_bounds(some) if some.size else (row.ctypes.data,) * 2
        length, offset = high - low, some.ctypes.data - low

        def view(data: bytes, count: int) -> NDArray[Any]:
            shape, strides = (count, *some.shape), (length, *some.strides)
            return np.ndarray(shape, row.dtype, data, offset if some.size else 0, strides)

        return low - row.ctypes.data, length, view

    def chunk_key(self, path: str, chunk: int) -> str:
        """Return the key of a chunk in the array at `path`.

        >>> ArraySpec("uint8", (64, 64)).chunk_key("0/c1/data", 7)
        '0/c1/data/c/7/0/0'
        """
        return "/".join([path, "c", str(chunk), *["0"] * len(self.shape)])

    def zarr_arguments(self, length: int) -> dict[str, Any]:
        """Return what Zarr needs to make the array, `length` rows long."""
        codecs = [CRC32C] if self.is_wide else [blosc_codec(), CRC32C]
        axes = self.axes or tuple(f"axis_{i}" for i in range(len(self.shape)))
        return {
            "shape": (length, *self.shape),
            "chunks": (self.chunk_rows, *(max(1, n) for n in self.shape)),
            "dtype": self.dtype,
            "compressors": codecs,
            "filters": None,
            "fill_value": np.zeros((), self.dtype).item(),
            "dimension_names": ("row", *axes),
        }


def room_for(shape: tuple[int, ...], dtype: str, path: str) -> NDArray[Any]:
    """Return an array that is yet to be filled with what is read from `path`.

    Raises
    ------
    TooLargeError
        When there is no memory for it.

    >>> room_for((2, 3), "int8", "0/c1/data").shape
    (2, 3)
    >>> room_for((2**60, 3), "int8", "0/c1/data")
    Traceback (most recent call last):
    deeplake_lite.errors.TooLargeError: Reading 1,152,921,504,606,846,976 entries of 0/c1/data takes
    3,458,764,513,820,540,928 bytes, for which there is no memory. Read fewer rows at a time.
    """
    try:
        return np.empty(shape, dtype)
    except (MemoryError, ValueError) as error:
        nbytes = prod(shape) * np.dtype(dtype).itemsize
        raise TooLargeError(
            f"Reading {shape[0]:,} entries of {path} takes {nbytes:,} bytes, for which there is no "
            "memory. Read fewer rows at a time."
        ) from error


def with_checksum(rows: NDArray[Any]) -> bytes:
    """Return the bytes of a chunk as Zarr's ``bytes`` and ``crc32c`` codecs write it.

    >>> with_checksum(np.zeros(1, np.uint8)).hex()
    '0051537d52'
    """
    data = np.ascontiguousarray(rows).reshape(-1).view(np.uint8)
    data.flags.writeable = False
    return b"".join((data.data, google_crc32c.value(data).to_bytes(4, "little")))


class ChunkCache:
    """Decoded chunks, least recently used out first. Only the I/O loop touches it: no lock."""

    def __init__(self, limit: int = 64 * 2**20) -> None:
        self._limit, self._held = limit, 0
        self._chunks: OrderedDict[tuple[str, int], Any] = OrderedDict()

    def get(self, key: tuple[str, int]) -> Any:
        """Return a chunk, or None."""
        found = self._chunks.get(key)
        if found is not None:
            self._chunks.move_to_end(key)
        return found

    def put(self, key: tuple[str, int], chunk: Any) -> None:
        """Keep a chunk, which has ``nbytes``, unless it alone would fill a quarter of the cache."""
        if chunk.nbytes > self._limit // 4 or key in self._chunks:
            return
        self._chunks[key] = chunk
        self._held += chunk.nbytes
        while self._held > self._limit:
            self._held -= self._chunks.popitem(last=False)[1].nbytes


class SlotArray:
    """One value per slot.

    Parameters
    ----------
    session : Session
        Where committed rows are read from.
    path : str
        Path of the Zarr array.
    spec : ArraySpec
        How it is laid out.
    cache : ChunkCache
        Shared by the arrays of one table.
    new : bool
        Whether the array is yet to be made.
    stored : int, optional
        How many rows are in the Zarr array, where that is known.
    checksums : Checksums, optional
        What the stored bytes of each chunk are compared with before it is written again.
    checked : bool
        Whether they are compared at every read, too.
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
        checksums: Checksums | None = None,
        checked: bool = False,
    ) -> None:
        self.path, self.spec = path, spec
        self._checksums, self._checked = checksums, checked and checksums is not None
        self._spilled_sums: dict[int, int] = {}  # of the chunks that are read from a fork
        self._noted: dict[int, int] = {}  # those, and what the last write for a commit has written
        self._session, self._cache, self._new = session, cache, new
        self._stored = 0 if new else stored
        self._spilled, self._is_checked = False, False
        self._appended: list[NDArray[Any]] = []
        self._shared = False  # whether another array has the same blocks of pending rows
        self._updates: list[tuple[Slots, NDArray[Any]]] = []

    def forked(self) -> SlotArray:
        """Return an array of the same values for further edits; this one is only read from now."""
        fork = copy.copy(self)
        fork._appended = few_blocks(self._appended)
        slots, values = (few_blocks([pair[part] for pair in self._updates]) for part in (0, 1))
        fork._updates = list(zip(slots, values, strict=True))
        fork._spilled_sums, fork._noted = dict(self._spilled_sums), dict(self._noted)
        fork._shared = True
        return fork

    async def stored(self) -> int:
        """Return how many rows are in the Zarr array."""
        if self._stored is None:
            self._stored = await self._session.length(self.path)
        return self._stored

    async def length(self) -> int:
        """Return how many rows there are, pending ones included."""
        return await self.stored() + sum(map(len, self._appended))

    async def check(self) -> None:
        """Refuse an array that is smaller than the lake's document says, or has other rows.

        What a document alone says would take memory for rows that do not exist.

        Raises
        ------
        DamagedError
        """
        stored = await self.stored()
        if self._new or self._spilled or self._is_checked or not stored:
            return
        await self._session.check_shape(self.path, (stored, *self.spec.shape))
        last = self.spec.chunk_key(self.path, (stored - 1) // self.spec.chunk_rows)
        if stored > MANY_ROWS and 0 not in self.spec.shape and not await self._session.has(last):
            raise DamagedError(f"Chunk {last!r} is missing. Run ds.verify().")
        self._is_checked = True

    async def check_length(self) -> None:
        """Refuse an array that is shorter or longer than the document says. Raises as `check`."""
        await self.check()
        await self._session.check_length(self.path, await self.stored())

    async def read_all(self) -> NDArray[Any]:
        """Return the values of all slots, (n, *shape)."""
        if await self.stored() * np.dtype(np.int64).itemsize > CHECKED_BYTES:
            await self.check()
        return await self.read(np.arange(await self.length()))

    async def _room(self, rows: int) -> NDArray[Any]:
        """Return an array for the values of some slots, (rows, *shape), yet to be filled."""
        if rows * self.spec.row_bytes > CHECKED_BYTES:
            await self.check()
        return room_for((rows, *self.spec.shape), self.spec.dtype, self.path)

    @property
    def dirty(self) -> bool:
        """Whether anything is pending."""
        return self._new or bool(self._appended) or bool(self._updates)

    async def read(self, slots: Slots, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Return the values of `slots`, (n, *shape), in their order.

        They are in `out` where a run of stored rows is read, in a fresh array otherwise.
        """
        stored = await self.stored()
        if not self._appended and not self._updates:
            return await self._read_stored(slots, out)
        out = await self._room(len(slots))
        old = slots < stored
        if old.any():
            out[old] = await self._read_stored(slots[old])
        if not old.all():
            out[~old] = self._pending()[slots[~old] - stored]
        for where, values in self._consolidated():
            at = np.searchsorted(where, slots)
            hit = (at < len(where)) & (where[np.minimum(at, len(where) - 1)] == slots)
            out[hit] = values[at[hit]]
        return out

    async def read_part(self, slots: Slots, index: tuple[Any, ...]) -> NDArray[Any] | None:
        """Return an index of each row, (n, *shape), by reading the bytes around it alone.

        None where rows are compressed or pending, or where it takes more than half of their bytes.
        Checksums are of whole chunks, and are not looked at.
        """
        spec = self.spec
        if not spec.is_wide or self.dirty or self._spilled or self._checked or not len(slots):
            return None
        start, length, view = spec.span(index)
        if length * 2 > spec.row_bytes:
            return None
        first = slots % spec.chunk_rows * spec.row_bytes + start
        ranges = np.stack([slots // spec.chunk_rows, first, first + length], axis=1).tolist()
        found = await self._session.get_ranges(self.path, ranges, "/0" * len(spec.shape))
        data = b"".join(part or b"" for part in found)
        if len(data) != length * len(slots):
            return None
        return cast("NDArray[Any]", view(data, len(slots)))

    def append(self, values: NDArray[Any]) -> None:
        """Add pending rows, (n, *shape).

        They are copied, unless they are an array of their own, or so large that `spill`, which the
        caller is to call next, writes them.
        """
        if not len(values):
            return
        ready = values.flags.c_contiguous and values.dtype == self.spec.dtype
        if ready and (values.flags.owndata or values.nbytes >= SPILL_BYTES):
            self._appended.append(values)
        else:
            self._appended.append(np.array(values, self.spec.dtype, order="C"))

    async def set(self, slots: Slots, values: NDArray[Any]) -> None:
        """Change rows, stored or pending; the last value given for a slot counts."""
        stored = await self.stored()
        old = slots < stored
        if not old.all():
            self._own_pending()[slots[~old] - stored] = values[~old]
        if old.any():
            self._updates.append((slots[old].copy(), np.array(values[old], self.spec.dtype)))

    async def pending_rows(self) -> tuple[int, NDArray[Any]]:
        """Return where pending rows begin, and the rows."""
        return await self.stored(), self._pending()

    def pending_updates(self) -> tuple[Slots, NDArray[Any]] | None:
        """Return the slots that were updated, in ascending order, and their values."""
        found = self._consolidated()
        return found[0] if found else None

    def revise(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> None:
        """Apply `change` to every pending value."""
        self._appended = [change(values) for values in self._appended]
        self._updates = [(slots, change(values)) for slots, values in self._updates]

    def adopt(self, other: SlotArray) -> None:
        """Take over what is pending in `other`, the same array at an earlier version."""
        if other._new or other._spilled:
            self._new, self._stored = other._new, other._stored
        self._spilled_sums = dict(other._spilled_sums)
        self._appended, self._updates = list(other._appended), list(other._updates)

    async def spill(self, fork: Session) -> None:
        """Write pending full chunks to `fork`, and read them from there from now on."""
        stored, pending = await self.stored(), sum(map(len, self._appended))
        rows = (stored + pending) // self.spec.chunk_rows * self.spec.chunk_rows - stored
        if rows <= 0:
            return
        for block in list(self._appended):
            part = block[:rows]
            self._noted = dict(self._spilled_sums)
            await self._extend(fork, await self.stored(), part)
            self._session, self._new, self._spilled = fork, False, True
            self._spilled_sums = dict(self._noted)
            self._stored = await self.stored() + len(part)
            self._appended[:1] = [block[rows:].copy()] if len(block) > rows else []
            rows -= len(part)
            if not rows:
                break
        self._cache = ChunkCache()  # chunks that the committed version has, too, but shorter

    async def write(self, session: Session) -> None:
        """Put everything that is pending into `session`."""
        self._noted = dict(self._spilled_sums)
        if self._updates:
            await self._write_updates(session)
        if self._appended or self._new:
            await self._extend(session, await self.stored(), self._pending())

    async def rewrite(self, session: Session, start: int, rows: NDArray[Any], *, new: bool) -> None:
        """Put `rows` into `session` from row `start` on, in place of all that followed it."""
        self._new, self._noted = new, {}
        await self._extend(session, start, rows)

    def noted(self) -> dict[tuple[str, int], int]:
        """Return the checksums of the chunks that this transaction wrote, by path and number."""
        noted = {**self._spilled_sums, **self._noted}
        return {(self.path, chunk): value for chunk, value in noted.items()}

    async def _extend(self, session: Session, start: int, rows: NDArray[Any]) -> None:
        if self._new:
            if await session.has(f"{self.path}/zarr.json"):  # of a version that a restore undid
                await session.delete_tree(self.path)
            await session.create_array(self.path, self.spec, len(rows))
        else:
            await self._resize(session, await self.stored(), start + len(rows))
        if rows.size:
            await self._fill(session, start, rows)

    async def _resize(self, session: Session, old: int, new: int) -> None:
        """Make the array longer, or shorter: chunks behind its end are removed."""
        size = self.spec.chunk_rows
        await session.check_length(self.path, old)
        for chunk in range(-(-new // size), -(-old // size)):
            await session.delete(self.spec.chunk_key(self.path, chunk))
        await session.resize(self.path, old, new)

    async def _fill(self, session: Session, start: int, rows: NDArray[Any]) -> None:
        """Write rows from `start`, behind those that are in the first of their chunks."""
        size, end = self.spec.chunk_rows, start + len(rows)

        async def put(chunk: int) -> None:
            first = max(chunk * size, start)
            some = rows[first - start : (chunk + 1) * size - start]
            if first > chunk * size:
                kept = (await self._stored_chunk(session, chunk))[: first - chunk * size]
                some = np.concatenate([kept, some])
            self._noted[chunk] = await self._put_chunk(session, chunk, some)

        await stream(map(put, range(start // size, -(-end // size))), WRITES_IN_FLIGHT)

    async def _put_chunk(self, session: Session, chunk: int, rows: NDArray[Any]) -> int:
        """Write a chunk that begins with `rows`; return its checksum."""
        encode = self.spec.encode_chunk
        large = rows.nbytes >= THREADED_BYTES and not self.spec.is_wide
        data = await in_thread(encode, rows) if large else encode(rows)
        await session.put(self.spec.chunk_key(self.path, chunk), data)
        return checksum(data)

    async def _stored_chunk(self, session: Session, chunk: int) -> NDArray[Any]:
        """Return a chunk that is to be written again, compared with its checksum.

        Damage that is written again would look like what was meant. Raises DamagedError.
        """
        size, data = (
            self.spec.chunk_rows,
            await session.get(self.spec.chunk_key(self.path, chunk), self.spec.most_bytes),
        )
        expected = self._noted.get(chunk)
        if expected is None and self._checksums is not None:
            expected = await self._checksums.of(self.path, chunk)
        try:
            return self.spec.decode_chunk(_compare(data, expected))
        except (ValueError, RuntimeError) as error:
            raise self._damaged(chunk * size, (chunk + 1) * size, error) from error

    async def _expected(self, chunk: int) -> int:
        if chunk in self._spilled_sums:
            return self._spilled_sums[chunk]
        return await cast("Checksums", self._checksums).of(self.path, chunk)

    def _damaged(self, start: int, stop: int, error: Exception) -> DamagedError:
        return DamagedError(
            f"Rows {start} to {stop} of {self.path} do not read: {error} Run ds.verify()."
        )

    async def _write_updates(self, session: Session) -> None:
        [(slots, values)] = self._consolidated()
        size = self.spec.chunk_rows

        async def write_chunk(rows: slice) -> None:
            chunk = int(slots[rows.start]) // size
            changed = np.array(await self._stored_chunk(session, chunk))
            changed[slots[rows] - chunk * size] = values[rows]
            self._noted[chunk] = await self._put_chunk(session, chunk, changed)

        await stream(map(write_chunk, chunks.runs_of_equal(slots // size)), READS_IN_FLIGHT)

    async def _read_stored(self, slots: Slots, out: NDArray[Any] | None = None) -> NDArray[Any]:
        if len(slots) == 0 or 0 in self.spec.shape:
            return np.zeros((len(slots), *self.spec.shape), self.spec.dtype)
        size = self.spec.chunk_rows
        span = chunks.contiguous(slots)
        if span is not None and span.stop - span.start > size:
            return await self._read_span(span, out)
        if size == 1:  # a row is a whole chunk: the cache would hold as much again
            out = await self._room(len(slots))
            await stream(
                (self._read_row(slot, out[i : i + 1]) for i, slot in enumerate(slots.tolist())),
                READS_IN_FLIGHT,
            )
            return out
        if len(slots) == 1:
            slot = int(slots[0])
            return np.array((await self._chunk(slot // size))[slot % size])[None]
        out = await self._room(len(slots))
        order, groups = chunks.group(slots // size)

        async def fill(rows: slice) -> None:
            where = order[rows]
            chunk = int(slots[where[0]]) // size
            out[where] = (await self._chunk(chunk))[slots[where] - chunk * size]

        await stream(map(fill, groups), READS_IN_FLIGHT)
        return out

    async def _read_row(self, slot: int, out: NDArray[Any]) -> None:
        """Read one row into an array of one row."""
        rows = await self._read_span(slice(slot, slot + 1), out)
        if rows is not out:
            out[...] = rows

    async def _chunk(self, chunk: int) -> NDArray[Any]:
        found = self._cache.get((self.path, chunk))
        if found is None:
            size = self.spec.chunk_rows
            found = await self._read_span(slice(chunk * size, (chunk + 1) * size))
            self._cache.put((self.path, chunk), found)
        return cast("NDArray[Any]", found)

    async def _read_span(self, span: slice, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Return stored rows. Raises DamagedError when a checksum does not match."""
        try:
            return await self._read_chunks(span, out)
        except (ValueError, RuntimeError) as error:
            if isinstance(error, LakeError):
                raise
            raise self._damaged(span.start, span.stop, error) from error

    async def _read_chunks(self, span: slice, out: NDArray[Any] | None) -> NDArray[Any]:
        """Return stored rows. Raises ValueError where a chunk is not there or not what it was."""
        spec, size = self.spec, self.spec.chunk_rows
        stop = min(span.stop, await self.stored())
        wanted_shape = (max(0, stop - span.start), *spec.shape)
        if out is None or out.shape != wanted_shape:
            out = await self._room(wanted_shape[0])
        decoded: dict[int, NDArray[Any]] = {}

        def place(chunk: int) -> tuple[slice, slice]:
            a, b = max(chunk * size, span.start), min((chunk + 1) * size, stop)
            return slice(a - span.start, b - span.start), slice(a - chunk * size, b - chunk * size)

        def take(chunk: int, data: memoryview) -> None:
            to, rows = place(chunk)
            _compare(data, expected.get(chunk))
            if not spec.is_narrow and rows.stop - rows.start == size:
                spec.decode_chunk(data, out[to])
            else:
                decoded[chunk] = spec.decode_chunk(data)

        numbers = range(span.start // size, -(-stop // size))
        held = {n: rows for n in numbers if (rows := self._cache.get((self.path, n))) is not None}
        wanted = [n for n in numbers if n not in held]
        expected = {n: await self._expected(n) for n in wanted} if self._checked else {}
        rest = "/0" * len(spec.shape)
        if missing := await self._session.each_chunk(
            self.path, wanted, rest, take, spec.most_bytes
        ):
            raise ValueError(f"chunk {min(missing)} is missing.")
        if spec.is_narrow:
            for chunk, rows in decoded.items():
                self._cache.put((self.path, chunk), rows)
        for chunk, rows in (held | decoded).items():
            to, some = place(chunk)
            out[to] = rows[some]
        return out

    def _own_pending(self) -> NDArray[Any]:
        """Return the appended rows as one array that nobody else has."""
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

    def _consolidated(self) -> Sequence[tuple[Slots, NDArray[Any]]]:
        """Return the updates as at most one pair: ascending slots, and the last value of each."""
        if len(self._updates) > 1:
            slots = np.concatenate([s for s, _ in self._updates])
            values = np.concatenate([v for _, v in self._updates])
            self._updates = [(slots, values)]
        if self._updates:
            slots, values = self._updates[0]
            if len(slots) > 1 and not (np.diff(slots) > 0).all():
                last, at = np.unique(slots[::-1], return_index=True)
                self._updates = [(last, values[::-1][at])]
        return self._updates


def _compare(data: memoryview | None, expected: int | None) -> memoryview:
    """Return a chunk's stored bytes, unless they are not those that were noted, if any were.

    Raises
    ------
    ValueError
    """
    if data is None:
        raise ValueError("a chunk is missing.")
    if expected is not None and checksum(data) != expected:
        raise ValueError("the stored bytes of a chunk are not those that belong there.")
    return data
