"""Reads and writes at one snapshot, or on top of one."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from datetime import UTC, datetime
from functools import cached_property, partial
from math import prod
from typing import TYPE_CHECKING, Any, cast

from deeplake_lite.brief import brief
from deeplake_lite.errors import ConflictError, DamagedError, StorageError
from deeplake_lite.storage.repo.commits import (
    BRANCH,
    BRANCH_ID,
    CHUNKS,
    chunk_key,
    chunks_digest,
    with_digest,
)
from deeplake_lite.storage.repo.engine import arrays, compiled
from deeplake_lite.storage.repo.failures import (
    LostChunksError,
    MissingError,
    reason_of,
    translated,
)
from deeplake_lite.storage.repo.forks import use_engine
from deeplake_lite.storage.repo.lake_refs import branch_ref
from deeplake_lite.storage.repo.names import from_engine
from deeplake_lite.storage.repo.work import gather, in_thread, run, stream

if TYPE_CHECKING:
    from collections.abc import Buffer, Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from icechunk import IcechunkStore
    from zarr import AsyncArray

    from deeplake_lite.storage.arrays import ArraySpec
    from deeplake_lite.storage.chunk_files import ChunkFiles
    from deeplake_lite.storage.repo.checked_refs import CheckedRefs

IN_FLIGHT = 16
"""Requests to the engine at a time."""

NAMED_AT_ONCE = 1_000
"""Chunks whose numbers the engine hands out at a time."""

READERS = 4
"""Threads that read chunk files."""

ONE_THREAD_BYTES = 2**20
"""Less than this is read from chunk files in the caller's thread."""

MOST_BYTES = 2**31 + 2**10
"""Most bytes of one chunk: that of a cell of the largest size."""

MOST_EXTENT, MOST_CHUNKS = 2**53, 2**28
"""Most entries along one axis of an array, and most chunks of one. The engine walks through the
chunks of an array whose metadata is written, and aborts the process where memory runs out."""

CONFIRM_AFTER = 60.0
"""Seconds after which a commit to an object store looks whether its chunks are still there. A
vacuum of somebody else deletes those that no version needs, once they are older than its grace
period, which is longer. On a local folder, where that may be zero, every commit looks."""

type Range = tuple[int, int, int]

type Extents = Sequence[tuple[int, int]]
"""Chunks that a manifest spans along each axis of an array, from and to."""

type Land = Callable[[str, str, str, datetime, Collection[str]], None]


class Session:
    """Reads and writes of Zarr arrays at one snapshot, or on top of one.

    Parameters
    ----------
    session : PySession
        The engine's.
    files : ChunkFiles, optional
        Where the chunks of a local lake are.
    is_fork : bool
        Whether it only collects chunks for another.
    refs : CheckedRefs, optional
        Where branches are compared with the notes on them, and a commit is noted.
    land : callable, optional
        Moves a branch on to the version of an old session: is given the branch, the version before,
        the new one, when the session was begun, and the keys of the chunks that it has written.
        None where the writers' lock keeps vacuums away.
    """

    def __init__(
        self,
        session: compiled.PySession,
        files: ChunkFiles | None = None,
        *,
        is_fork: bool = False,
        refs: CheckedRefs | None = None,
        land: Land | None = None,
    ) -> None:
        self._session, self._files = session, files
        self._guard = None if files is None else partial(files.check_snapshot, self.snapshot_id)
        self._refs, self._land = refs, land
        self._written: set[str] = set()  # keys that are not as the files say
        self._taken_over: set[str] = set()  # keys of chunks that were written in forks
        self._begun = time.time(), time.monotonic()
        self._is_fork = is_fork
        self._objects = session.store
        """The engine's own store, by which all is read and chunks are written."""

    @cached_property
    def store(self) -> IcechunkStore:
        """What Zarr takes, to make arrays and to write parts of chunks."""
        return cast("IcechunkStore", arrays().store_of(self._session, is_fork=self._is_fork))

    @property
    def snapshot_id(self) -> str:
        """The snapshot that this session reads, or builds on."""
        return str(self._session.snapshot_id)

    async def get(self, key: str, most: int = MOST_BYTES) -> memoryview | None:
        """Return the bytes under `key`, no more than `most`; None where there is nothing."""
        path, is_chunk, numbers = key.partition("/c/")
        files = self._files  # `delete_tree` gives them up, beside this
        if files is not None and is_chunk and key not in self._written:
            first, *others = map(int, numbers.split("/"))
            await _learn(files, path, [first])
            place = (first, *others) if any(others) else first
            if (found := files.read_whole(path, place, most)) is not None:
                return found
        return await self._get(key, None)

    async def get_ranges(
        self, path: str, ranges: Sequence[Range], rest: str = ""
    ) -> list[memoryview | None]:
        """Return ranges of chunks of an array that is not compressed: (chunk, start, stop) of each.

        Chunks are numbered along the first axis; `rest` is what follows that in their keys, such as
        ``"/0/0"``.
        """
        files = self._files
        if files is None or self._written:
            return await self._ask(path, ranges, rest)
        await _learn(files, path, {chunk for chunk, _, _ in ranges})
        if sum(stop - start for _, start, stop in ranges) <= ONE_THREAD_BYTES:
            found = files.read_all(path, ranges)
        else:
            parts = [ranges[i::READERS] for i in range(min(READERS, len(ranges)))]
            read = files.read_all
            done = await gather(in_thread(read, path, part) for part in parts)
            found = [done[i % len(parts)][i // len(parts)] for i in range(len(ranges))]
        left = [i for i, data in enumerate(found) if data is None]
        for i, data in zip(
            left, await self._ask(path, [ranges[i] for i in left], rest), strict=True
        ):
            found[i] = data
        return found

    async def each_chunk(
        self,
        path: str,
        numbers: Sequence[int],
        rest: str,
        take: Callable[[int, memoryview], None],
        most: int = MOST_BYTES,
    ) -> list[int]:
        """Hand the stored bytes of chunks to `take`, in some threads at a time.

        Parameters
        ----------
        rest : str
            What follows a chunk's number along the first axis in its key, such as ``"/0/0"``.
        most : int
            Bytes that a chunk takes at the most.

        Returns
        -------
        list of int
            Chunks that are not there.
        """
        left, files = list(numbers), self._files
        if files is not None and not self._written:
            await _learn(files, path, left)
            parts = [left[i::READERS] for i in range(min(READERS, len(left)))]
            stop = threading.Event()
            read = partial(files.take_whole, take=take, most=most, stop=stop)
            done = await gather(in_thread(read, path, part, stop=stop) for part in parts)
            left = [chunk for part in done for chunk in part]
        missing = []

        async def ask(chunk: int) -> None:
            data = await self.get(f"{path}/c/{chunk}{rest}", most)
            if data is None:
                missing.append(chunk)
            else:
                take(chunk, data)

        await stream(map(ask, left), IN_FLIGHT)
        return missing

    async def _ask(self, path: str, ranges: Sequence[Range], rest: str) -> list[memoryview | None]:
        """Ask the engine for ranges of chunks, a few at a time."""
        gate = asyncio.Semaphore(IN_FLIGHT)

        async def ask(chunk: int, start: int, stop: int) -> memoryview | None:
            async with gate:
                return await self._get(f"{path}/c/{chunk}{rest}", (start, stop))

        return await gather(ask(*r) for r in ranges)

    @contextlib.contextmanager
    def _engine(self) -> Iterator[None]:
        """Make errors of the engine ours, and keep it from opening a pipe for its snapshot.

        It reads that when it first needs it, which may be long after the session was begun.
        """
        if self._guard is not None:
            self._guard()
        with translated():
            yield

    async def _get(self, key: str, part: tuple[int, int] | None) -> memoryview | None:
        with self._engine():
            try:
                return memoryview(await self._objects.get(key, part or (None, None)))
            except KeyError:
                # The engine says so of metadata, too, whose snapshot it could not fetch; asked
                # whether the key exists, it says what failed.
                if key.endswith("zarr.json") and await self._objects.exists(key):
                    return memoryview(await self._objects.get(key, (None, None)))
                return None

    async def put(self, key: str, data: Buffer) -> None:
        """Store `data` under `key`."""
        self._written.add(key)
        with self._engine():
            await self._objects.set(key, bytes(data))

    async def delete(self, key: str) -> None:
        """Remove `key`."""
        self._written.add(key)
        with self._engine():
            await self._objects.delete(key)

    async def has(self, key: str) -> bool:
        """Tell whether there is something under `key`."""
        with self._engine():
            return bool(await self._objects.exists(key))

    async def length(self, path: str) -> int:
        """Return how many entries the array at `path` has. Raises DamagedError."""
        return int((await self._metadata(path))["shape"][0])

    async def check_length(self, path: str, length: int) -> None:
        """Refuse an array along whose first axis is another number of entries.

        Raises
        ------
        DamagedError
        """
        await self._metadata(path, length)

    async def check_shape(self, path: str, shape: tuple[int, ...]) -> None:
        """Refuse an array that is shorter than `shape` along its first axis, or has other axes.

        Raises
        ------
        DamagedError
        """
        found = (await self._metadata(path))["shape"]
        if found[0] < shape[0] or tuple(found[1:]) != shape[1:]:
            raise DamagedError(
                f"The array {path} must have the shape {shape}, as the lake's document says, but "
                f"its shape is {found!r:.60}. Restore the lake from a copy."
            )

    async def resize(self, path: str, old: int, new: int) -> None:
        """Set how many entries are along the first axis of an array that has `old` of them.

        Its metadata is changed as it lies there: Zarr would parse it, and write it, three times as
        slowly. Chunks behind the end stay.

        Raises
        ------
        DamagedError
            When it has another number of them.
        """
        metadata = await self._metadata(path, old)
        metadata["shape"][0] = new
        await self.put(f"{path}/zarr.json", json.dumps(metadata).encode())

    async def grow(self, path: str, shape: tuple[int, ...]) -> None:
        """Make an array at least as large as `shape`."""
        metadata = await self._metadata(path)
        wanted = list(map(max, shape, metadata["shape"]))
        if wanted != metadata["shape"]:
            metadata["shape"] = wanted
            await self.put(f"{path}/zarr.json", json.dumps(metadata).encode())

    async def _metadata(self, path: str, length: int | None = None) -> dict[str, Any]:
        """Return the metadata of the array at `path`. Raises DamagedError."""
        try:
            stored = await self._get(f"{path}/zarr.json", None)
            found: dict[str, Any] = json.loads(bytes(stored or b""))
            shape = _shape(found)
        except (ValueError, TypeError, LookupError, RecursionError) as error:
            reason = str(error).rstrip(".")
            raise DamagedError(
                f"The array {path} does not open: {reason}. Restore the lake from a copy."
            ) from error
        if length is not None and shape[:1] != [length]:
            raise DamagedError(
                f"The array {path} must have {length:,} entries, as the lake's document says, but "
                f"its shape is {shape}. Restore the lake from a copy."
            )
        return found

    async def create_array(self, path: str, spec: ArraySpec, length: int) -> AsyncArray[Any]:
        """Make the array at `path`, `length` rows long."""
        found = await arrays().create_array(self.store, path, spec.zarr_arguments(length))
        return cast("AsyncArray[Any]", found)

    async def create_bytes(self, path: str, length: int, chunk: int, codecs: list[Any]) -> None:
        """Make an array of `length` bytes at `path`."""
        options = {
            "shape": (length,),
            "chunks": (chunk,),
            "dtype": "uint8",
            "compressors": codecs,
            "filters": None,
            "fill_value": 0,
            "dimension_names": ("byte",),
        }
        await arrays().create_array(self.store, path, options)

    async def create_table(
        self, path: str, chunk: tuple[int, ...], dtype: str, codecs: list[Any]
    ) -> None:
        """Make an empty array at `path` that grows along all of its axes."""
        options = {
            "shape": (0,) * len(chunk),
            "chunks": chunk,
            "dtype": dtype,
            "compressors": codecs,
            "filters": None,
            "fill_value": 0,
        }
        await arrays().create_array(self.store, path, options)

    async def delete_tree(self, path: str) -> None:
        """Remove a group and all below it."""
        self._files = None
        with self._engine():
            await self._objects.delete_dir(path)

    async def attributes(self) -> dict[str, Any]:
        """Return the root group's attributes; none where there is no group."""
        stored = await self.get("zarr.json")
        if stored is None:
            return {}
        try:
            return dict(json.loads(bytes(stored)).get("attributes") or {})
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise DamagedError(
                f"The lake's document does not read: {brief(error, 200)}. Restore it from a copy."
            ) from error

    async def set_attributes(self, attributes: Mapping[str, Any]) -> None:
        """Set the root group's attributes, those that are given."""
        await arrays().set_attributes(self.store, attributes)

    def fork(self) -> Session:
        """Return a session that collects chunks on its own until it is merged into a writer."""
        return self.at(self.saved())

    def saved(self) -> bytes:
        """Return what was written so far, for `at`; the objects themselves stay in the store."""
        with self._engine():
            return bytes(self._session.as_bytes())

    def at(self, saved: bytes) -> Session:
        """Return a fork as this session was when `saved` gave those bytes."""
        with self._engine():
            copy = compiled.PySession.from_bytes(saved)
        fork = Session(copy, self._files, is_fork=True)
        fork._written, fork._begun = set(self._written), self._begun
        fork._taken_over = set(self._taken_over)
        return fork

    def merge(self, fork: Session) -> None:
        """Take over what `fork` collected, unchecked: the caller knows that it is disjoint."""
        self._written |= fork._written
        self._taken_over.update(fork._chunks_written())
        with self._engine():
            self._session.merge(fork._session)
        self._begun = min(self._begun[0], fork._begun[0]), min(self._begun[1], fork._begun[1])

    @property
    def _age(self) -> float:
        """Seconds since the session, or the oldest that it took over, was begun."""
        begun, monotonic = self._begun  # clocks are set back, and monotonic ones stop in sleep
        return max(time.time() - begun, time.monotonic() - monotonic)

    def check_chunks(self, keys: Collection[str]) -> None:
        """Look whether chunks are still there.

        Raises
        ------
        LostChunksError
            When some are not.
        """
        if lost := run(self._lost_chunks(keys)):
            raise LostChunksError(
                f"{len(lost):,} chunks that this commit needs are gone, such as {lost[0]}: it was "
                "open for longer than the grace period of a vacuum, which deleted them, or a clock "
                "was set back meanwhile. Nothing was committed; write them again.",
                lost,
            )

    def _chunks_written(self) -> list[str]:
        """Return the keys of the chunks that were written in this session."""
        return [
            chunk_key(path.strip("/"), chunk)
            for path, chunks in self._updated_chunks().items()
            for chunk in chunks
        ]

    def _updated_chunks(self) -> Mapping[str, Iterable[Iterable[int]]]:
        """Return the numbers of the chunks that were written in this session, by array."""
        with self._engine():
            return self._session.status().updated_chunks

    async def lost_chunks(self, arrays: Mapping[str, Sequence[Extents]]) -> list[str]:
        """Return the keys of all chunks of some arrays that are named but not there.

        Parameters
        ----------
        arrays : mapping
            What each manifest of an array spans, by the array's path.

        Raises
        ------
        DamagedError
            When what names them is not there.
        """
        keys = list[str]()
        for path, manifests in arrays.items():
            for extents in manifests:  # asked for a chunk, the engine says what is missing
                await self._get(chunk_key(path, [start for start, _ in extents]), (0, 1))
            with translated():
                async for some in self._session.chunk_coordinates(f"/{path}", NAMED_AT_ONCE):
                    keys += [chunk_key(path, chunk) for chunk in some]
        return await self._lost_chunks(keys)

    async def _lost_chunks(self, keys: Collection[str]) -> list[str]:
        """Return those of some keys under which there is no chunk."""
        lost: list[str] = []

        async def look(key: str) -> None:
            try:
                found = await self._get(key, (0, 1))
            except MissingError:
                found = None
            if found is None:
                lost.append(key)

        await stream(map(look, keys), IN_FLIGHT)
        return sorted(lost)

    def commit(self, message: str, metadata: Mapping[str, Any] | None = None) -> str:
        """Make what was written the branch's next version.

        Raises
        ------
        ConflictError
            When the branch has moved since the session was opened; nothing is lost, write again on
            the new tip.
        LostChunksError
            When chunks that were written long ago are not there any more.
        StorageError
            When the store refuses, or its reply is lost: the commit may be there all the same.
        DamagedError
            When the branch is not where its last writer left it: a commit would hide that.
        """
        use_engine()
        branch, before = from_engine(str(self._session.branch)), self.snapshot_id
        noted = {**(metadata or {}), BRANCH: branch, CHUNKS: chunks_digest(self._updated_chunks())}
        identity = ""
        if self._refs is not None:
            self._refs.check(branch_ref(branch))
            identity = self._refs.identity(branch)
        notes = with_digest(message, {**noted, BRANCH_ID: identity} if identity else noted)
        try:
            done = self._write_version(branch, before, message, notes)
        except compiled.ConflictError as error:
            raise ConflictError(
                f"The branch moved while this commit was written: {error}"
            ) from error
        except compiled.IcechunkError as error:
            raise StorageError(
                f"The store did not confirm the commit: {reason_of(error)}. See to free space, "
                "permission and network, then commit again: what did arrive is not written twice."
            ) from error
        if self._refs is not None:
            self._refs.note(branch_ref(branch), done, identity)
        return done

    def _write_version(self, branch: str, before: str, message: str, notes: dict[str, Any]) -> str:
        """Make what was written a version, and the branch's tip.

        On a local folder no vacuum is at work while the caller holds the writers' lock, but one may
        have been since the chunks of forks were written. That is looked at, not reckoned: clocks
        are set back, and that of a file system may differ from ours. On an object store, where a
        look takes a request each, a young session is trusted. The version of an old one first gets
        no name but a pin: a vacuum that had read the names before that may have deleted its chunks,
        or be about to.
        """
        if self._land is None:
            self.check_chunks(self._taken_over)
        if self._land is None or self._age < CONFIRM_AFTER:
            return str(self._session.commit(message, notes))
        keys = self._chunks_written()
        done = str(self._session.flush(message, notes))
        begun = datetime.fromtimestamp(time.time() - self._age, UTC)
        self._land(branch, before, done, begun, keys)
        return done


def _shape(metadata: Mapping[str, Any]) -> list[int]:
    """Return the shape in an array's metadata. Raises ValueError, TypeError, LookupError."""
    shape = list(map(_extent, metadata["shape"]))
    chunk = list(map(_extent, metadata["chunk_grid"]["configuration"]["chunk_shape"]))
    if len(chunk) != len(shape) or not shape or min(chunk) < 1:
        raise ValueError(f"its chunks have the shape {brief(chunk)}.")
    if prod(-(-n // size) for n, size in zip(shape, chunk, strict=True)) > MOST_CHUNKS:
        raise ValueError(f"its shape {brief(shape)} takes too many chunks.")
    return shape


def _extent(value: Any) -> int:
    """Return an extent of an array or of its chunks. Raises ValueError where it cannot be one."""
    if type(value) is not int or not 0 <= value <= MOST_EXTENT:
        raise ValueError(f"an axis must have 0 to {MOST_EXTENT} entries, got {brief(value)}.")
    return value


async def _learn(files: ChunkFiles, path: str, numbers: Collection[int]) -> None:
    """Have the files of chunks known."""
    if not files.knows(path, numbers):
        await in_thread(files.learn, path, numbers)
