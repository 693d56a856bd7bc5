"""Where a lake is, and which versions it has: repository, sessions and refs behind a URL.

Steps: `create` or `open` a `Repository`; take a `Session` from it (a reader of one snapshot, a
writer at a branch's tip, or a fork of a writer that collects chunks until it is merged); read,
write and commit through the session. The only module that imports icechunk, so that the engine can
be changed in one place.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import json
import re
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit
from uuid import uuid4

import icechunk
import numpy as np
import zarr.api.asynchronous as zarr_async
from filelock import FileLock
from zarr import AsyncArray
from zarr.abc.store import RangeByteRequest
from zarr.core.buffer import cpu, default_buffer_prototype
from zarr.core.sync import _get_loop, sync
from zarr.storage import StorePath

from deeplake_lite.errors import (
    ConflictError,
    DamagedError,
    ExistsError,
    LakeError,
    LakeNotFoundError,
    StorageError,
    VersionNotFoundError,
)
from deeplake_lite.storage.chunk_files import ChunkFiles

if TYPE_CHECKING:
    from collections.abc import Buffer, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from zarr.core.array_spec import ArrayConfigParams

    from deeplake_lite.storage.arrays import ArraySpec

__all__ = ["Commit", "Repository", "Session", "gather", "local_folder", "run", "welcome"]

icechunk.set_logs_filter("error")  # it warns on stderr at every local open

# The engine's threads let go of their last Python objects a moment after a call returns; an
# interpreter that ends before them aborts (https://github.com/PyO3/pyo3-async-runtimes/issues/40).
atexit.register(time.sleep, 0.02)

INDEX_SPLIT = 64
"""Index chunks per manifest: a commit of one row rewrites the last manifest of each array only."""

MEMORY = "memory://"

PIN = "_pin-"
"""Begin of the branches that `Repository.pinned` makes."""

HEAP_SPLIT = 16_384
"""Heap chunks per manifest: the address space of a heap is 2**28 chunks, and its splits are
enumerated."""

IN_FLIGHT = 16
"""Requests to the engine at a time."""

READERS = 4
"""Threads that read chunk files."""

ONE_THREAD_BYTES = 2**20
"""Less than this is read from chunk files in the caller's thread."""

type Range = tuple[int, int, int]

WRITE_ALL: ArrayConfigParams = {"write_empty_chunks": True}
"""Chunks of zeros are written too: looking for them costs more, and a chunk that is missing is
damage."""

LAKE_ENTRIES = frozenset(
    {".writers", "chunks", "config.yaml", "manifests", "refs", "snapshots", "transactions"}
)
"""What the engine and our writers keep in a local lake's folder."""

_memory: dict[str, tempfile.TemporaryDirectory[str]] = {}
"""Folders of the ``memory://`` lakes of this process; they vanish with it."""

_guests: dict[str, str] = {}
"""Folders of ``memory://`` lakes of the process that this one comes from."""


@dataclass(frozen=True)
class Commit:
    """One version of a lake."""

    id: str
    """Snapshot id."""
    parent: str | None
    """Snapshot id of the version before, None for the first."""
    message: str
    time: datetime
    """When it was written, UTC."""
    metadata: Mapping[str, Any]
    """What the writer noted: a merge commit has the merged snapshot's id under ``"merge"``."""


def run[T](work: Coroutine[Any, Any, T]) -> T:
    """Do asynchronous work and wait for it; what the engine raises becomes an error of ours.

    Raises
    ------
    DamagedError
        When an object that a version refers to is not there.
    StorageError
        When the store refuses: disk full, no permission, no network.
    """
    try:
        return sync(work)
    except icechunk.IcechunkError as error:
        raise _storage_error(error) from error


def start[T](work: Coroutine[Any, Any, T]) -> Callable[[], T]:
    """Begin asynchronous work; return what waits for it, and raises what `run` would.

    The work goes on whether or not anybody waits: whoever begins it also waits for it.
    """
    future = asyncio.run_coroutine_threadsafe(work, _get_loop())

    def result() -> T:
        try:
            return future.result()
        except icechunk.IcechunkError as error:
            raise _storage_error(error) from error

    return result


async def gather[T](work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Do pieces of asynchronous work at the same time; those that need not wait are done at once.

    What is in a cache costs no turn of the event loop this way.
    """
    loop = asyncio.get_running_loop()
    tasks = [asyncio.Task(piece, loop=loop, eager_start=True) for piece in work]
    if all(task.done() for task in tasks):
        return [task.result() for task in tasks]
    found = await asyncio.gather(*tasks, return_exceptions=True)  # none runs on behind an error
    return [task.result() for task in tasks] if found else []


async def stream(work: Iterable[Coroutine[Any, Any, None]], most: int) -> None:
    """Do pieces of asynchronous work, `most` at a time, each as soon as there is room.

    Those that need not wait are done at once, as by `gather`.
    """
    loop, under_way = asyncio.get_running_loop(), set[asyncio.Task[None]]()
    try:
        for piece in work:
            task = asyncio.Task(piece, loop=loop, eager_start=True)
            if task.done():
                task.result()
                continue
            under_way.add(task)
            if len(under_way) == most:
                done, under_way = await asyncio.wait(under_way, return_when="FIRST_COMPLETED")
                await asyncio.gather(*done)
        if under_way:
            await asyncio.gather(*under_way)
    finally:
        if under_way:
            await asyncio.gather(*under_way, return_exceptions=True)  # none runs on behind an error


def _storage_error(error: BaseException) -> LakeError:
    """Return our error for one of the engine's, which explains itself on many lines."""
    reason = re.sub(r"\s+", " ", str(error).split("| context")[0]).strip(" x|")
    if "not found" in reason.lower():
        return DamagedError(f"A stored object is missing: {reason}. Run ds.verify().")
    if re.search("serialize|decompress|flatbuffer|invalid", reason):
        return DamagedError(f"A stored object does not read: {reason}. Restore it from a copy.")
    return StorageError(
        f"The store refused: {reason}. Nothing was committed. "
        "See to free space, permission and network, then try again."
    )


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    """Make what the engine raises an error of ours."""
    try:
        yield
    except icechunk.IcechunkError as error:
        raise _storage_error(error) from error


class _Whole(cpu.Buffer):
    """Bytes on their way to the store, which asks for bytes: handed on without a copy."""

    def __init__(self, data: bytes) -> None:
        super().__init__(np.frombuffer(data, np.uint8))
        self._data_bytes = data

    def to_bytes(self) -> bytes:
        return self._data_bytes


class Session:
    """Reads and writes of Zarr arrays at one snapshot, or on top of one."""

    def __init__(
        self,
        session: icechunk.Session,
        layouts: dict[str, Any],
        files: ChunkFiles | None = None,
    ) -> None:
        self._session, self._layouts, self._files = session, layouts, files
        self.store = session.store

    @property
    def snapshot_id(self) -> str:
        """The snapshot that this session reads, or builds on."""
        return str(self._session.snapshot_id)

    async def get(self, key: str) -> memoryview | None:
        """Return the bytes under `key`; None where there is nothing."""
        return await self._get(key, None)

    async def get_ranges(self, path: str, ranges: Sequence[Range]) -> list[memoryview | None]:
        """Return ranges of chunks of a 1-D array without codecs: (chunk, start, stop) of each."""
        if self._files is None:
            return await self._ask(path, ranges)
        if sum(stop - start for _, start, stop in ranges) <= ONE_THREAD_BYTES:
            found = self._files.read_all(path, ranges)
        else:
            parts = [ranges[i::READERS] for i in range(min(READERS, len(ranges)))]
            read = self._files.read_all
            done = await asyncio.gather(*(asyncio.to_thread(read, path, part) for part in parts))
            found = [done[i % len(parts)][i // len(parts)] for i in range(len(ranges))]
        left = [i for i, data in enumerate(found) if data is None]
        for i, data in zip(left, await self._ask(path, [ranges[i] for i in left]), strict=True):
            found[i] = data
        return found

    async def _ask(self, path: str, ranges: Sequence[Range]) -> list[memoryview | None]:
        """Ask the engine for ranges of chunks, a few at a time."""
        gate = asyncio.Semaphore(IN_FLIGHT)

        async def ask(chunk: int, start: int, stop: int) -> memoryview | None:
            async with gate:
                return await self._get(f"{path}/c/{chunk}", RangeByteRequest(start, stop))

        return await gather(ask(*r) for r in ranges)

    async def _get(self, key: str, part: RangeByteRequest | None) -> memoryview | None:
        try:
            found = await self.store.get(key, default_buffer_prototype(), part)
        except icechunk.IcechunkError as error:
            raise _storage_error(error) from error
        return None if found is None else memoryview(cast("Any", found.as_numpy_array()))

    async def put(self, key: str, data: Buffer) -> None:
        """Store `data` under `key`."""
        try:
            await self.store.set(key, _Whole(bytes(data)))
        except icechunk.IcechunkError as error:
            raise _storage_error(error) from error

    async def delete(self, key: str) -> None:
        """Remove `key`."""
        await self.store.delete(key)

    async def has(self, key: str) -> bool:
        """Tell whether there is something under `key`."""
        return bool(await self.store.exists(key))

    async def open_array(self, path: str, length: int | None = None) -> AsyncArray[Any]:
        """Return the array at `path`; a known `length` saves reading its metadata again."""
        known = self._layouts.get(path)
        if known is None or length is None:
            array = await zarr_async.open_array(
                store=self.store, path=path, zarr_format=3, config=WRITE_ALL
            )
            self._layouts[path] = array.metadata
            return array
        metadata = known.update_shape((length, *known.shape[1:]))
        found: AsyncArray[Any] = AsyncArray(metadata, StorePath(self.store, path), config=WRITE_ALL)
        return found

    async def create_array(self, path: str, spec: ArraySpec, length: int) -> AsyncArray[Any]:
        """Make the array at `path`, `length` rows long."""
        return await zarr_async.create_array(
            store=self.store, name=path, config=WRITE_ALL, **spec.zarr_arguments(length)
        )

    async def create_bytes(self, path: str, length: int, chunk: int, codecs: list[Any]) -> None:
        """Make an array of `length` bytes at `path`."""
        await zarr_async.create_array(
            store=self.store,
            name=path,
            shape=(length,),
            chunks=(chunk,),
            dtype="uint8",
            compressors=codecs,
            filters=None,
            fill_value=0,
            dimension_names=("byte",),
        )

    async def delete_tree(self, path: str) -> None:
        """Remove a group and all below it."""
        await self.store.delete_dir(path)

    async def attributes(self) -> dict[str, Any]:
        """Return the root group's attributes; none where there is no group."""
        try:
            group = await zarr_async.open_group(store=self.store, mode="r", zarr_format=3)
        except FileNotFoundError:
            return {}
        return dict(group.attrs)

    async def set_attributes(self, attributes: Mapping[str, Any]) -> None:
        """Set the root group's attributes, those that are given."""
        group = await zarr_async.open_group(store=self.store, mode="a", zarr_format=3)
        await group.update_attributes(dict(attributes))

    def fork(self) -> Session:
        """Return a session that collects chunks on its own until it is merged into a writer."""
        return Session(self._session.fork(), self._layouts)

    def merge(self, fork: Session) -> None:
        """Take over what `fork` collected, unchecked: the caller knows that it is disjoint."""
        self._session.merge(cast("icechunk.ForkSession", fork._session))

    def commit(self, message: str, metadata: Mapping[str, Any] | None = None) -> str:
        """Make what was written the branch's next version.

        Raises
        ------
        ConflictError
            When the branch has moved since the session was opened; nothing is lost, write again on
            the new tip.
        """
        try:
            return str(self._session.commit(message, dict(metadata or {})))
        except icechunk.ConflictError as error:
            raise ConflictError(
                f"The branch moved while this commit was written: {error}"
            ) from error
        except icechunk.IcechunkError as error:
            raise _storage_error(error) from error


class Repository:
    """Versions of one lake at one URL.

    Parameters
    ----------
    url : str
        A folder, ``file://…``, ``memory://name``, ``s3://bucket/prefix``, ``gs://…`` or
        ``az://account/container/…``.
    repository : icechunk.Repository
        The engine's handle.
    """

    def __init__(self, url: str, repository: icechunk.Repository) -> None:
        self.url = url
        self._repository = repository
        self._layouts: dict[str, Any] = {}
        """Zarr metadata by path: an array's layout never changes, only its length."""

    @classmethod
    @contextlib.contextmanager
    def creating(
        cls, url: str, options: Mapping[str, Any] | None = None, *, overwrite: bool = False
    ) -> Iterator[Repository]:
        """Give an empty repository to write the first version into.

        On a local folder it is put in its place when that is done, so that nobody sees half a lake.
        With `overwrite` that may be the place of a lake, which goes then.

        Raises
        ------
        ExistsError
            Where there is a lake already, or anything else.
        """
        folder = local_folder(url)
        if folder is None or (url.startswith(MEMORY) and not (overwrite and cls.exists(url))):
            yield cls._create(url, options)
            return
        folder = folder.resolve()
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            _check_replaceable(folder, overwrite=overwrite)
        folder.parent.mkdir(parents=True, exist_ok=True)
        staged = folder.with_name(f".{folder.name}-{uuid4().hex[:8]}")
        try:
            yield cls._create(str(staged), options)
            _put_in_place(staged, folder)
        finally:
            shutil.rmtree(staged, ignore_errors=True)

    @classmethod
    def _create(cls, url: str, options: Mapping[str, Any] | None) -> Repository:
        storage = _storage(url, options)
        if icechunk.Repository.exists(storage):
            way_out = ", or replace it with overwrite=True" if url.startswith(MEMORY) else ""
            raise ExistsError(
                f"There is a lake at {url!r} already. Choose another name, or dl.open it{way_out}."
            )
        repository = icechunk.Repository.create(storage, config=_config())
        repository.save_config()
        return cls(url, repository)

    @classmethod
    def open(cls, url: str, options: Mapping[str, Any] | None = None) -> Repository:
        """Open the repository at `url`. Raises LakeNotFoundError where there is none."""
        if not cls.exists(url, options):
            folder = local_folder(url)
            if (
                folder is not None
                and folder.exists()
                and (folder.is_file() or any(folder.iterdir()))
            ):
                raise LakeNotFoundError(f"There is no lake at {url!r}: it holds other files.")
            raise LakeNotFoundError(
                f"There is no lake at {url!r}. "
                f"Check the path, or make one with dl.create({url!r}, schema)."
            )
        storage = _storage(url, options)
        with _translated():
            return cls(url, icechunk.Repository.open(storage))

    @classmethod
    def exists(cls, url: str, options: Mapping[str, Any] | None = None) -> bool:
        """Tell whether there is a repository at `url`, making nothing."""
        folder = local_folder(url)
        if folder is not None:
            return (folder / "refs").is_dir()
        if url.startswith(MEMORY):
            return False
        return bool(icechunk.Repository.exists(_storage(url, options)))

    def reader(self, snapshot_id: str) -> Session:
        """Return a session that reads one version."""
        with _translated():
            session = self._repository.readonly_session(snapshot_id=snapshot_id)
        folder = local_folder(self.url)
        if folder is None:
            return Session(session, self._layouts)
        files = ChunkFiles(folder, lambda: self._inspect(snapshot_id))
        return Session(session, self._layouts, files)

    def _inspect(self, snapshot_id: str) -> dict[str, Any]:
        return dict(json.loads(self._repository.inspect_snapshot(snapshot_id)))

    def writer(self, branch: str) -> Session:
        """Return a session that writes on top of a branch's tip."""
        with _translated():
            return Session(self._repository.writable_session(branch), self._layouts)

    def fork(self, branch: str, snapshot_id: str) -> Session:
        """Return a session that collects chunks on top of a version that was the branch's tip."""
        writer = self.writer(branch)
        if writer.snapshot_id != snapshot_id:
            with self.lock("pins"), self.pinned([snapshot_id]) as [pin]:
                writer = self.writer(pin)
        return writer.fork()

    @contextlib.contextmanager
    def pinned(self, snapshot_ids: Iterable[str]) -> Iterator[list[str]]:
        """Name versions by branches of the lake's own for a while, so that they do not expire."""
        names = {f"{PIN}{uuid4().hex}": i for i in snapshot_ids}
        try:
            for name, snapshot_id in names.items():
                self.create_branch(name, snapshot_id)
            yield list(names)
        finally:
            for name in names.keys() & set(self._repository.list_branches()):
                self.delete_branch(name)

    def unpin(self) -> None:
        """Forget the pins of processes that died. The caller holds the writers' lock."""
        if local_folder(self.url) is None:
            return  # nobody can tell whose they are
        with self.lock("pins"):
            for name in self._repository.list_branches():
                if name.startswith(PIN):
                    self.delete_branch(name)

    def branches(self) -> dict[str, str]:
        """Return the snapshot id of each branch's tip, but for pins, which come and go."""
        with _translated():
            names = [n for n in self._repository.list_branches() if not n.startswith(PIN)]
            return {name: self.tip(name) for name in sorted(names)}

    def tip(self, branch: str) -> str:
        """Return the snapshot id of a branch's tip, as it is now."""
        with _translated():
            return str(self._repository.lookup_branch(branch))

    def tags(self) -> dict[str, str]:
        """Return the snapshot id of each tag."""
        r = self._repository
        with _translated():
            return {name: str(r.lookup_tag(name)) for name in sorted(r.list_tags())}

    def create_branch(self, name: str, snapshot_id: str) -> None:
        """Start a branch at a version."""
        self._repository.create_branch(name, snapshot_id)

    def delete_branch(self, name: str) -> None:
        """Forget a branch; its versions stay until they are vacuumed."""
        self._repository.delete_branch(name)

    def create_tag(self, name: str, snapshot_id: str) -> None:
        """Name a version for good."""
        self._repository.create_tag(name, snapshot_id)

    def delete_tag(self, name: str) -> None:
        """Forget a tag. Its name can never be used again: the engine keeps a tombstone."""
        self._repository.delete_tag(name)

    def ancestry(self, snapshot_id: str) -> Iterator[Commit]:
        """Yield a version and those before it, newest first, each read when it is asked for.

        Raises
        ------
        VersionNotFoundError
            When the version, or one before it, is not there.
        """
        try:
            for s in self._repository.ancestry(snapshot_id=snapshot_id):
                yield Commit(s.id, s.parent_id, s.message, s.written_at, dict(s.metadata))
        except icechunk.IcechunkError as error:
            raise VersionNotFoundError(
                f"There is no version {snapshot_id!r} in {self.url!r}."
            ) from error

    def changed_chunks(self, older: str, newer: str) -> dict[str, set[int]]:
        """Return, per array path, which chunks of the first axis changed between two versions."""
        try:
            diff = self._repository.diff(from_snapshot_id=older, to_snapshot_id=newer)
        except icechunk.IcechunkError as error:
            raise VersionNotFoundError(f"No log leads from {older} to {newer}: {error}") from error
        return {
            path.strip("/"): {chunk[0] if chunk else 0 for chunk in chunks}
            for path, chunks in diff.updated_chunks.items()
        }

    def expire(self, older_than: datetime) -> set[str]:
        """Drop older versions from the history, but for those that a ref names."""
        return set(self._repository.expire_snapshots(older_than))

    def collect(self, older_than: datetime, *, dry_run: bool) -> dict[str, int]:
        """Delete old objects that no version needs; return the counts."""
        s = self._repository.garbage_collect(older_than, dry_run=dry_run)
        return {
            "bytes": s.bytes_deleted,
            "chunks": s.chunks_deleted,
            "manifests": s.manifests_deleted,
            "snapshots": s.snapshots_deleted,
        }

    @contextlib.contextmanager
    def lock(self, purpose: str = "commit") -> Iterator[None]:
        """Hold the writers' lock of a local folder; object stores commit by compare-and-swap.

        Claims are taken under a lock of their own: whoever holds the one for commits may need them.
        """
        if local_folder(self.url) is None:
            yield
            return
        with FileLock(self.writers_folder() / f"{purpose}.lock"):
            yield

    def writers_folder(self) -> Path:
        """Return the folder beside a local lake's objects where its writers meet."""
        folder = local_folder(self.url)
        assert folder is not None, "only a local lake has one"
        writers = folder / ".writers"
        writers.mkdir(exist_ok=True)
        return writers


def _check_replaceable(folder: Path, *, overwrite: bool) -> None:
    """Refuse to make a lake where something is, unless that is a lake and is to go."""
    found = {p.name for p in folder.iterdir()} if folder.is_dir() else set()
    if not {"refs", "snapshots"} <= found:
        raise ExistsError(
            f"A lake is created in a new or empty folder; {str(folder)!r} holds files. "
            "Choose another."
        )
    if not overwrite:
        raise ExistsError(
            f"A lake is created in a new or empty folder; {str(folder)!r} holds a lake. "
            "Choose another name, dl.open it, or replace it with overwrite=True."
        )
    if others := sorted(found - LAKE_ENTRIES):
        raise ExistsError(
            f"A lake is overwritten where nothing else is; {str(folder)!r} also holds "
            f"{', '.join(map(repr, others[:3]))}. Move that away, or choose another name."
        )


def _put_in_place(staged: Path, folder: Path) -> None:
    """Rename a staged lake to its folder; a lake that is there is out of the way until then."""
    old = staged.with_name(f"{staged.name}-old")
    if folder.exists():
        folder.rename(old)
    try:
        staged.rename(folder)
    except OSError:
        if old.exists():
            old.rename(folder)
        raise
    shutil.rmtree(old, ignore_errors=True)


def local_folder(url: str) -> Path | None:
    """Return the folder of a local or ``memory://`` lake, None for any other kind of URL.

    >>> local_folder("file:///data/flowers.lake").name
    'flowers.lake'
    >>> local_folder("s3://bucket/flowers") is None
    True
    """
    if url in _memory:
        return Path(_memory[url].name)
    if url in _guests:
        return Path(_guests[url])
    if url.startswith("file://"):
        return Path(urlsplit(url).path)
    if "://" in url:
        return None
    return Path(url).expanduser()


def welcome(url: str, folder: str) -> None:
    """Let a ``memory://`` lake of the process that this one comes from be opened by its URL.

    Raises
    ------
    LakeNotFoundError
        When that process has ended and its lakes are gone, or has another lake of the name.
    """
    here = local_folder(url)
    if here is not None and here != Path(folder):
        raise LakeNotFoundError(
            f"{url!r} is another lake in this process than where it was pickled. "
            "Use a folder for what several processes share."
        )
    if not Path(folder).is_dir():
        raise LakeNotFoundError(
            f"{url!r} went with the process that made it. "
            "Use a folder for what several processes share."
        )
    if url not in _memory:
        _guests[url] = folder


def _storage(url: str, options: Mapping[str, Any] | None) -> icechunk.Storage:
    """Return the object store behind `url`."""
    if url.startswith(MEMORY) and local_folder(url) is None:
        _memory[url] = tempfile.TemporaryDirectory(prefix="deeplake-lite-")
    folder, given = local_folder(url), dict(options or {})
    if folder is not None:
        return icechunk.local_filesystem_storage(str(folder))
    parts = urlsplit(url)
    where, prefix = parts.netloc, parts.path.strip("/") or None
    match parts.scheme:
        case "s3":
            given.setdefault("from_env", not given.keys() & {"access_key_id", "anonymous"} or None)
            return icechunk.s3_storage(bucket=where, prefix=prefix, **given)
        case "gs" | "gcs":
            given.setdefault("from_env", True)
            return icechunk.gcs_storage(bucket=where, prefix=prefix, **given)
        case "az" | "azure":
            container, _, rest = (prefix or "").partition("/")
            given.setdefault("from_env", True)
            return icechunk.azure_storage(account=where, container=container, prefix=rest, **given)
    raise LakeNotFoundError(
        f"A lake is in a folder, memory://, s3://, gs:// or az://; got {url!r}."
    )


def _config() -> icechunk.RepositoryConfig:
    """Return the settings that a new repository keeps."""
    condition, along = icechunk.ManifestSplitCondition, icechunk.ManifestSplitDimCondition
    heaps = condition.name_matches("^(values|tail)$")
    splitting = icechunk.ManifestSplittingConfig.from_dict(
        {heaps: {along.Any(): HEAP_SPLIT}, condition.AnyArray(): {along.Any(): INDEX_SPLIT}}
    )
    return icechunk.RepositoryConfig(manifest=icechunk.ManifestConfig(splitting=splitting))
