"""Sessions, which read the arrays of a snapshot or write arrays on top of a snapshot.

A writer belongs to a branch and commits to it. A fork of a writer only collects chunks. An open
transaction writes to a fork for a long time without any lock, and the commit merges the fork into a
new writer::

    writer at version 7 ──► fork ──► chunk 10, chunk 11, …      (minutes, no lock)
                              │
    writer at version 9 ◄─────┘ merge, slot arrays, root document, commit   (under the lock)
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from datetime import UTC, datetime
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

from deeplake_lite.brief import brief
from deeplake_lite.errors import (
    ConflictError,
    DamagedError,
    StorageError,
    VersionNotFoundError,
)
from deeplake_lite.storage.repo.commits import (
    BRANCH,
    BRANCH_ID,
    CHUNKS,
    chunk_key,
    chunks_digest,
    with_digest,
)
from deeplake_lite.storage.repo.engine import compiled
from deeplake_lite.storage.repo.failures import (
    LostChunksError,
    MissingError,
    reason_of,
    translate_errors,
)
from deeplake_lite.storage.repo.forks import use_engine
from deeplake_lite.storage.repo.lake_refs import branch_ref
from deeplake_lite.storage.repo.work import gather, in_thread, run, stream
from deeplake_lite.storage.zarr_metadata import GROUP

if TYPE_CHECKING:
    from collections.abc import Buffer, Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from deeplake_lite.storage.chunk_files import ChunkFiles
    from deeplake_lite.storage.repo.checked_refs import CheckedRefs

IN_FLIGHT = 16
"""Maximum number of simultaneous requests to Icechunk."""

LISTED_INDICES = 1_000
"""Number of chunk indices that Icechunk returns at a time."""

READERS = 4
"""Number of threads that read chunk files."""

ONE_THREAD_BYTES = 2**20
"""Up to this many bytes are read from chunk files in the event loop's own thread."""

MAX_BYTES = 2**31 + 2**10
"""Maximum size of a chunk in bytes, which is enough for the largest cell."""

MAX_EXTENT, MAX_CHUNKS = 2**53, 2**28
"""Maximum number of entries along an axis, and of chunks in an array. When metadata is written,
Icechunk iterates over all chunks of the array, and aborts the process if memory runs out."""

CONFIRM_AFTER = 60.0
"""If a session on an object store is older than this number of seconds, its commit checks that its
chunks still exist. Younger chunks are safe, because a vacuum only deletes unneeded chunks after a
longer grace period. On a local folder the grace period may be zero, so every commit makes the
check."""

type Range = tuple[int, int, int]
"""The number of a chunk, and the start and end of a byte range in this chunk."""

type Extents = Sequence[tuple[int, int]]
"""The range of chunks in a manifest along each axis of an array, as (start, stop)."""

type Land = Callable[[str, str, str, datetime, Collection[str]], None]
"""Moves a branch to a new version. See the parameter `land` of `Session`."""


class Session:
    """Reads the Zarr arrays of a snapshot, or writes arrays on top of a snapshot.

    Parameters
    ----------
    session : PySession
        Icechunk's session.
    files : ChunkFiles, optional
        The chunk files of a local lake.
    refs : CheckedRefs, optional
        The branches and the notes on them (see `witnesses`). A commit compares its branch with the
        branch's note, and then updates the note.
    land : callable, optional
        Moves a branch on an object store to the version that a long-running session has written.
        It is called with the branch, its previous version, the new version, the session's start
        time, and the keys of the chunks that the session has written. None on a local folder,
        where the writers' lock excludes vacuums.
    alone : callable
        Returns a context in which no other process changes a branch (see `Repository.alone`).
    """

    def __init__(
        self,
        session: compiled.PySession,
        files: ChunkFiles | None = None,
        *,
        refs: CheckedRefs | None = None,
        land: Land | None = None,
        alone: Callable[[], contextlib.AbstractContextManager[object]] = contextlib.nullcontext,
    ) -> None:
        self._session, self._files = session, files
        self.is_remote = files is None
        """Whether the lake is on an object store."""
        self._guard = None if files is None else partial(files.check_snapshot, self.snapshot_id)
        self._refs, self._land, self._alone = refs, land, alone
        self._written: set[str] = set()  # keys for which `files` may be outdated
        self._merged: set[str] = set()  # keys of chunks that were written in forks
        self._begun = time.time(), time.monotonic()
        self._objects = session.store
        """Icechunk's own store, through which everything is read and chunks are written."""

    @property
    def snapshot_id(self) -> str:
        """The snapshot that this session reads or builds on."""
        return str(self._session.snapshot_id)

    async def get(self, key: str, most: int = MAX_BYTES) -> memoryview | None:
        """Return the bytes under `key`, or None if there are none.

        Raises
        ------
        DamagedError
            When a chunk file has more than `most` bytes.
        """
        path, is_chunk, indices = key.partition("/c/")
        files = self._files  # another task may call `delete_tree`, which sets `_files` to None
        if files is not None and is_chunk and key not in self._written:
            first, *others = map(int, indices.split("/"))
            await _read_manifests(files, path, [first])
            index = (first, *others) if any(others) else first
            if (data := files.read_whole(path, index, most)) is not None:
                return data
        return await self._get(key, None)

    async def get_ranges(
        self, path: str, ranges: Sequence[Range], suffix: str = ""
    ) -> list[memoryview | None]:
        """Return byte ranges of chunks of an uncompressed array, given as (chunk, start, stop).

        Chunks are numbered along the first axis; `suffix` is the part of their keys after this
        number, such as ``"/0/0"``. In the result, None stands for a missing chunk.
        """
        files = self._files
        if files is None or self._written:
            return await self._get_ranges(path, ranges, suffix)
        await _read_manifests(files, path, {chunk for chunk, _, _ in ranges})
        if sum(stop - start for _, start, stop in ranges) <= ONE_THREAD_BYTES:
            datas = files.read_all(path, ranges)
        else:
            # Thread t reads every READERS-th range from t on; the results are interleaved again.
            parts = [ranges[i::READERS] for i in range(min(READERS, len(ranges)))]
            read = files.read_all
            done = await gather(in_thread(read, path, part) for part in parts)
            datas = [done[i % len(parts)][i // len(parts)] for i in range(len(ranges))]
        unread = [i for i, data in enumerate(datas) if data is None]
        others = await self._get_ranges(path, [ranges[i] for i in unread], suffix)
        for i, data in zip(unread, others, strict=True):
            datas[i] = data
        return datas

    async def each_chunk(
        self,
        path: str,
        numbers: Sequence[int],
        suffix: str,
        take: Callable[[int, memoryview], None],
        most: int = MAX_BYTES,
    ) -> list[int]:
        """Call `take` with the number and the stored bytes of each chunk, in several threads.

        Parameters
        ----------
        suffix : str
            The part of a chunk's key after its number along the first axis, such as ``"/0/0"``.
        most : int
            Maximum size of a chunk, in bytes.

        Returns
        -------
        list of int
            The numbers of the chunks that do not exist.
        """
        unread, files = list(numbers), self._files
        if files is not None and not self._written:
            await _read_manifests(files, path, unread)
            parts = [unread[i::READERS] for i in range(min(READERS, len(unread)))]
            stop = threading.Event()
            read = partial(files.take_whole, take=take, most=most, stop=stop)
            done = await gather(in_thread(read, path, part, stop=stop) for part in parts)
            unread = [chunk for part in done for chunk in part]
        missing = []

        async def get(chunk: int) -> None:
            data = await self.get(f"{path}/c/{chunk}{suffix}", most)
            if data is None:
                missing.append(chunk)
            else:
                take(chunk, data)

        await stream(map(get, unread), IN_FLIGHT)
        return missing

    async def _get_ranges(
        self, path: str, ranges: Sequence[Range], suffix: str
    ) -> list[memoryview | None]:
        """Read byte ranges of chunks through Icechunk, a few at a time."""
        gate = asyncio.Semaphore(IN_FLIGHT)

        async def get(chunk: int, start: int, stop: int) -> memoryview | None:
            async with gate:
                return await self._get(f"{path}/c/{chunk}{suffix}", (start, stop))

        return await gather(get(*r) for r in ranges)

    @contextlib.contextmanager
    def _engine(self) -> Iterator[None]:
        """Translate Icechunk's errors, and reject a pipe in place of the session's snapshot.

        Icechunk first reads the snapshot when it needs it, perhaps long after the session has
        begun, so the snapshot's file is checked before every call.
        """
        if self._guard is not None:
            self._guard()
        with translate_errors():
            yield

    async def _get(self, key: str, part: tuple[int, int] | None) -> memoryview | None:
        with self._engine():
            try:
                return memoryview(await self._objects.get(key, part or (None, None)))
            except KeyError:
                # For metadata, Icechunk also raises KeyError if it could not fetch the snapshot.
                # In this case, `exists` raises the real error.
                if key.endswith("zarr.json") and await self._objects.exists(key):
                    return memoryview(await self._objects.get(key, (None, None)))
                return None

    async def put(self, key: str, data: Buffer) -> None:
        """Store `data` under `key`."""
        self._written.add(key)
        with self._engine():
            await self._objects.set(key, bytes(data))

    async def delete(self, key: str) -> None:
        """Delete the value under `key`."""
        self._written.add(key)
        with self._engine():
            await self._objects.delete(key)

    async def has(self, key: str) -> bool:
        """Return whether there is a value under `key`."""
        with self._engine():
            return bool(await self._objects.exists(key))

    async def length(self, path: str) -> int:
        """Return the length of the array at `path` along its first axis. Raises DamagedError."""
        return int((await self._metadata(path))["shape"][0])

    async def check_length(self, path: str, length: int) -> None:
        """Reject an array whose length along the first axis is not `length`.

        Raises
        ------
        DamagedError
        """
        await self._metadata(path, length)

    async def check_shape(self, path: str, shape: tuple[int, ...]) -> None:
        """Reject an array that is shorter than `shape` along its first axis, or has other axes.

        Raises
        ------
        DamagedError
        """
        stored = (await self._metadata(path))["shape"]
        if stored[0] < shape[0] or tuple(stored[1:]) != shape[1:]:
            raise DamagedError(
                f"The array {path} must have the shape {shape} according to the lake's metadata "
                f"document, but its shape is {stored!r:.60}. Restore the lake from a backup."
            )

    async def resize(self, path: str, old: int, new: int) -> None:
        """Change the length of an array along its first axis from `old` to `new`.

        The JSON of the array's metadata is edited directly, which is three times as fast as
        resizing through Zarr. Chunks beyond the new end are kept.

        Raises
        ------
        DamagedError
            When the length of the array is not `old`.
        """
        metadata = await self._metadata(path, old)
        metadata["shape"][0] = new
        await self.put(f"{path}/zarr.json", json.dumps(metadata).encode())

    async def grow(self, path: str, shape: tuple[int, ...]) -> None:
        """Extend an array so that it is at least as large as `shape` along each axis."""
        metadata = await self._metadata(path)
        larger = list(map(max, shape, metadata["shape"]))
        if larger != metadata["shape"]:
            metadata["shape"] = larger
            await self.put(f"{path}/zarr.json", json.dumps(metadata).encode())

    async def _metadata(self, path: str, length: int | None = None) -> dict[str, Any]:
        """Return the metadata of the array at `path`. Raises DamagedError."""
        try:
            stored = await self._get(f"{path}/zarr.json", None)
            metadata: dict[str, Any] = json.loads(bytes(stored or b""))
            shape = _shape(metadata)
        except (ValueError, TypeError, LookupError, RecursionError) as error:
            reason = str(error).rstrip(".")
            raise DamagedError(
                f"The array {path} cannot be opened: {reason}. Restore the lake from a backup."
            ) from error
        if length is not None and shape[:1] != [length]:
            raise DamagedError(
                f"The array {path} must have {length:,} entries according to the lake's metadata "
                f"document, but its shape is {shape}. Restore the lake from a backup."
            )
        return metadata

    async def create_array(self, path: str, metadata: Mapping[str, object]) -> None:
        """Create the array at `path`, and the groups above it.

        Raises
        ------
        DamagedError
            When there is an array or a group already.
        """
        if await self.has(f"{path}/zarr.json"):
            raise DamagedError(
                f"The array {path!r} cannot be written, because an object exists there that the "
                "lake's root document does not list. Restore the lake from a backup."
            )
        parts = path.split("/")
        for i in range(1, len(parts)):
            key = f"{'/'.join(parts[:i])}/zarr.json"
            if not await self.has(key):
                await self.put(key, json.dumps(GROUP).encode())
        await self.put(f"{path}/zarr.json", json.dumps(metadata).encode())

    async def delete_tree(self, path: str) -> None:
        """Delete a group or an array and everything in it."""
        self._files = None
        self._merged = {key for key in self._merged if not key.startswith(f"{path}/")}
        with self._engine():
            await self._objects.delete_dir(path)

    async def attributes(self) -> dict[str, object]:
        """Return the attributes of the root group, or an empty dict if there is no root group."""
        stored = await self.get("zarr.json")
        if stored is None:
            return {}
        try:
            return dict(json.loads(bytes(stored)).get("attributes") or {})
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise DamagedError(
                f"The lake's metadata document cannot be read: {brief(error, 200)}. Restore the "
                "lake from a backup."
            ) from error

    async def set_attributes(self, attributes: Mapping[str, object]) -> None:
        """Set some attributes of the root group, and keep the others."""
        stored = await self.get("zarr.json")
        group: dict[str, Any] = GROUP if stored is None else json.loads(bytes(stored))
        merged = {**(group.get("attributes") or {}), **attributes}
        await self.put("zarr.json", json.dumps({**group, "attributes": merged}).encode())

    def fork(self) -> Session:
        """Return an independent session that collects chunks and is later merged into a writer."""
        return self.at(self.saved())

    def saved(self) -> bytes:
        """Serialize the session for `at`. The bytes list its chunks, without their contents."""
        with self._engine():
            return bytes(self._session.as_bytes())

    def at(self, saved: bytes) -> Session:
        """Return a fork with the chunks that a session had written when `saved` serialized it."""
        with self._engine():
            copy = compiled.PySession.from_bytes(saved)
        fork = Session(copy, self._files)
        fork._written, fork._begun = set(self._written), self._begun
        fork._merged, fork.is_remote = set(self._merged), self.is_remote
        return fork

    def returned(self, saved: bytes) -> Session:
        """Return a fork that another process has written to, so that its chunks can be read."""
        fork = self.at(saved)
        fork._written.update(fork._chunks_written())
        return fork

    def merge(self, fork: Session) -> None:
        """Take over the chunks of `fork`. No other writer may have written the same chunks."""
        self._written |= fork._written
        self._merged.update(fork._chunks_written())
        with self._engine():
            self._session.merge(fork._session)
        self._begun = min(self._begun[0], fork._begun[0]), min(self._begun[1], fork._begun[1])

    @property
    def _age(self) -> float:
        """Seconds since the start of this session or of the oldest session merged into it."""
        # The larger age is used, because one clock may be set back, and the other may stop while
        # the machine sleeps.
        begun, monotonic = self._begun
        return max(time.time() - begun, time.monotonic() - monotonic)

    def check_chunks(self, keys: Collection[str]) -> None:
        """Check that chunks still exist.

        Raises
        ------
        LostChunksError
            When some of the chunks no longer exist.
        """
        if lost := run(self._find_lost(keys)):
            raise LostChunksError(
                "A vacuum has deleted chunks that this commit needs "
                f"({len(lost):,}, such as {lost[0]}), because the transaction was open for longer "
                "than the vacuum's grace period, or because a clock was set back. Nothing was "
                "committed; write the rows again.",
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
        """Return a dict from array path to the indices of the chunks this session has written."""
        with self._engine():
            return self._session.status().updated_chunks

    async def lost_chunks(self, arrays: Mapping[str, Sequence[Extents]]) -> list[str]:
        """Return the keys of missing chunks that the manifests of the given arrays list.

        Parameters
        ----------
        arrays : mapping
            A dict that maps the path of each array to the extents of its manifests.

        Raises
        ------
        DamagedError
            When a manifest is missing.
        """
        keys = list[str]()
        for path, manifests in arrays.items():
            for extents in manifests:  # reading a chunk fails if its manifest is missing
                await self._get(chunk_key(path, [start for start, _ in extents]), (0, 1))
            with translate_errors():
                async for batch in self._session.chunk_coordinates(f"/{path}", LISTED_INDICES):
                    keys += [chunk_key(path, chunk) for chunk in batch]
        return await self._find_lost(keys)

    async def _find_lost(self, keys: Collection[str]) -> list[str]:
        """Return the keys under which there is no chunk."""
        lost: list[str] = []

        async def look(key: str) -> None:
            try:
                data = await self._get(key, (0, 1))
            except MissingError:
                data = None
            if data is None:
                lost.append(key)

        await stream(map(look, keys), IN_FLIGHT)
        return sorted(lost)

    def commit(self, message: str, metadata: Mapping[str, object] | None = None) -> str:
        """Commit everything that was written as the branch's next version; return its snapshot id.

        A process may be killed at any step:

        1. Icechunk writes the snapshot. Before that, nothing has happened. After that, there is
           a version that no branch names, which a vacuum deletes.
        2. Icechunk moves the branch, if it is still at the previous version (compare-and-swap).
           From here on the commit exists, even if its reply is lost (see `Table.landed`).
        3. The note on the branch is updated. If the process is killed before that, the note names
           an older version, which all readers of notes allow (see `witnesses`).

        Raises
        ------
        ConflictError
            When the branch has moved since the session was opened. Nothing is lost; the caller can
            write again on top of the new tip.
        LostChunksError
            When chunks that were written long ago no longer exist.
        VersionNotFoundError
            When the branch was deleted meanwhile.
        StorageError
            When the store rejects the commit, or its reply is lost. The commit may have succeeded
            nevertheless.
        DamagedError
            When the branch's version differs from its last writer's note. A commit would hide the
            damage.
        """
        use_engine()
        # The version records its branch and a digest of its chunks, so that `verify` detects a
        # reference that was copied from another branch, and a chunk that replaced another one.
        branch, before = str(self._session.branch), self.snapshot_id
        record = {BRANCH: branch, CHUNKS: chunks_digest(self._updated_chunks())}
        identity = ""
        if self._refs is not None:
            self._refs.check(branch_ref(branch))
            identity = self._refs.identity(branch)
        if identity:
            record[BRANCH_ID] = identity
        properties = with_digest(message, {**(metadata or {}), **record})
        try:
            version = self._write_version(branch, before, message, properties)
        except compiled.ConflictError as error:
            raise ConflictError(
                f"Another writer moved the branch during this commit: {reason_of(error)}. Commit "
                "again."
            ) from error
        except compiled.IcechunkError as error:
            if error.kind == "branch-not-found":
                raise VersionNotFoundError(
                    f"The branch {branch!r} was deleted before this commit. Nothing was committed. "
                    "Create the branch again, or write to another branch."
                ) from error
            raise StorageError(
                f"The store did not confirm the commit: {reason_of(error)}. Check the free space, "
                "the permissions and the network, then commit again. If the commit did succeed, "
                "it will not be written twice."
            ) from error
        if self._refs is not None:
            self._refs.note(branch_ref(branch), version, identity)
        return version

    def committed(self) -> Session | None:
        """Return a reader of the version that `commit` has written; None on a local folder.

        On an object store, opening another session takes a request.
        """
        return None if self._land is None else Session(self._session)

    def _write_version(
        self, branch: str, before: str, message: str, properties: dict[str, object]
    ) -> str:
        """Write the version and move the branch to it.

        A vacuum may delete the chunks of an open transaction, because no version names them yet. So
        a commit must check that they exist, at a time when no vacuum can delete them any longer.

        On a local folder, the writers' lock excludes vacuums, but a vacuum may have run since the
        chunks of forks were written. These chunks are always looked up, because their age is not
        reliable: clocks are set back, and the clock of a file system may differ from ours.

        On an object store there is no such lock, and looking up a chunk takes a request. A young
        session is trusted, because no vacuum deletes objects of its age. The version of an old
        session is first written without moving the branch. `Repository._land` pins the version,
        waits for vacuums that may have started before that, looks up all chunks, and then moves the
        branch.
        """
        if self._land is None:
            self.check_chunks(self._merged)
        if self._land is None or self._age < CONFIRM_AFTER:
            with self._alone():
                return str(self._session.commit(message, properties))
        keys = self._chunks_written()
        version = str(self._session.flush(message, properties))
        begun = datetime.fromtimestamp(time.time() - self._age, UTC)
        self._land(branch, before, version, begun, keys)
        return version


def _shape(metadata: Mapping[str, Any]) -> list[int]:
    """Return the shape in an array's metadata. Raises ValueError, TypeError or LookupError."""
    shape = list(map(_extent, metadata["shape"]))
    chunk = list(map(_extent, metadata["chunk_grid"]["configuration"]["chunk_shape"]))
    if len(chunk) != len(shape) or not shape or min(chunk) < 1:
        raise ValueError(f"its chunks have the shape {brief(chunk)}.")
    if prod(-(-n // size) for n, size in zip(shape, chunk, strict=True)) > MAX_CHUNKS:
        raise ValueError(f"its shape {brief(shape)} needs too many chunks.")
    return shape


def _extent(value: object) -> int:
    """Return the length of an axis of an array or chunk if it is valid. Raises ValueError."""
    if type(value) is not int or not 0 <= value <= MAX_EXTENT:
        raise ValueError(f"an axis must have 0 to {MAX_EXTENT} entries, but it has {brief(value)}.")
    return value


async def _read_manifests(files: ChunkFiles, path: str, numbers: Collection[int]) -> None:
    """Read the manifests that may list the given chunks, unless they have been read."""
    if not files.has_read_manifests(path, numbers):
        await in_thread(files.read_manifests, path, numbers)
