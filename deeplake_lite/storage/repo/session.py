"""Reads and writes at one snapshot, or on top of one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

import icechunk
import numpy as np
import zarr.api.asynchronous as zarr_async
from zarr import AsyncArray
from zarr.abc.store import RangeByteRequest
from zarr.core.buffer import cpu, default_buffer_prototype
from zarr.storage import StorePath

from deeplake_lite.errors import ConflictError, DamagedError, StorageError
from deeplake_lite.storage.repo.failures import reason_of, translated
from deeplake_lite.storage.repo.forks import use_engine
from deeplake_lite.storage.repo.work import gather, stream

if TYPE_CHECKING:
    from collections.abc import Buffer, Callable, Mapping, Sequence

    from zarr.core.array_spec import ArrayConfigParams

    from deeplake_lite.storage.arrays import ArraySpec
    from deeplake_lite.storage.chunk_files import ChunkFiles

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

    async def get_ranges(
        self, path: str, ranges: Sequence[Range], rest: str = ""
    ) -> list[memoryview | None]:
        """Return ranges of chunks of an array that is not compressed: (chunk, start, stop) of each.

        Chunks are numbered along the first axis; `rest` is what follows that in their keys, such as
        ``"/0/0"``.
        """
        if self._files is None:
            return await self._ask(path, ranges, rest)
        if not self._files.knows(path):
            await asyncio.to_thread(self._files.learn, path)
        if sum(stop - start for _, start, stop in ranges) <= ONE_THREAD_BYTES:
            found = self._files.read_all(path, ranges)
        else:
            parts = [ranges[i::READERS] for i in range(min(READERS, len(ranges)))]
            read = self._files.read_all
            done = await asyncio.gather(*(asyncio.to_thread(read, path, part) for part in parts))
            found = [done[i % len(parts)][i // len(parts)] for i in range(len(ranges))]
        left = [i for i, data in enumerate(found) if data is None]
        for i, data in zip(
            left, await self._ask(path, [ranges[i] for i in left], rest), strict=True
        ):
            found[i] = data
        return found

    async def each_chunk(
        self, path: str, numbers: Sequence[int], rest: str, take: Callable[[int, memoryview], None]
    ) -> list[int]:
        """Hand the stored bytes of chunks to `take`, in some threads at a time.

        Parameters
        ----------
        rest : str
            What follows a chunk's number along the first axis in its key, such as ``"/0/0"``.

        Returns
        -------
        list of int
            Chunks that are not there.
        """
        left = list(numbers)
        if self._files is not None:
            if not self._files.knows(path):
                await asyncio.to_thread(self._files.learn, path)
            parts = [left[i::READERS] for i in range(min(READERS, len(left)))]
            read = self._taken_from_files
            done = await gather(asyncio.to_thread(read, path, part, take) for part in parts)
            left = [chunk for part in done for chunk in part]
        missing = []

        async def ask(chunk: int) -> None:
            data = await self.get(f"{path}/c/{chunk}{rest}")
            if data is None:
                missing.append(chunk)
            else:
                take(chunk, data)

        await stream(map(ask, left), IN_FLIGHT)
        return missing

    def _taken_from_files(
        self, path: str, numbers: Sequence[int], take: Callable[[int, memoryview], None]
    ) -> list[int]:
        """Hand the chunks that are files to `take`; return the others."""
        left = []
        for chunk in numbers:
            data = cast("ChunkFiles", self._files).read_whole(path, chunk)
            if data is None:
                left.append(chunk)
            else:
                take(chunk, data)
        return left

    async def _ask(self, path: str, ranges: Sequence[Range], rest: str) -> list[memoryview | None]:
        """Ask the engine for ranges of chunks, a few at a time."""
        gate = asyncio.Semaphore(IN_FLIGHT)

        async def ask(chunk: int, start: int, stop: int) -> memoryview | None:
            async with gate:
                return await self._get(f"{path}/c/{chunk}{rest}", RangeByteRequest(start, stop))

        return await gather(ask(*r) for r in ranges)

    async def _get(self, key: str, part: RangeByteRequest | None) -> memoryview | None:
        with translated():
            found = await self.store.get(key, default_buffer_prototype(), part)
        return None if found is None else memoryview(cast("Any", found.as_numpy_array()))

    async def put(self, key: str, data: Buffer) -> None:
        """Store `data` under `key`."""
        with translated():
            await self.store.set(key, _Whole(bytes(data)))

    async def delete(self, key: str) -> None:
        """Remove `key`."""
        with translated():
            await self.store.delete(key)

    async def has(self, key: str) -> bool:
        """Tell whether there is something under `key`."""
        with translated():
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

    async def check_length(self, path: str, length: int) -> None:
        """Refuse an array along whose first axis is another number of entries.

        Raises
        ------
        DamagedError
        """
        try:
            found = (await self.open_array(path)).shape[:1]
        except (FileNotFoundError, ValueError, TypeError, LookupError) as error:
            raise DamagedError(
                f"The array {path} does not open: {error} Restore the lake from a copy."
            ) from error
        if found != (length,):
            raise DamagedError(
                f"The array {path} has {found[0]:,} entries, the lake's document says {length:,}. "
                "Restore the lake from a copy."
            )

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

    async def create_table(
        self, path: str, chunk: tuple[int, ...], dtype: str, codecs: list[Any]
    ) -> None:
        """Make an empty array at `path` that grows along all of its axes."""
        await zarr_async.create_array(
            store=self.store,
            name=path,
            shape=(0,) * len(chunk),
            chunks=chunk,
            dtype=dtype,
            compressors=codecs,
            filters=None,
            fill_value=0,
        )

    async def grow(self, path: str, shape: tuple[int, ...]) -> None:
        """Make an array at least as large as `shape`."""
        array = await self.open_array(path)
        wanted = tuple(map(max, shape, array.shape))
        if wanted != array.shape:
            await array.resize(wanted)

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
        with translated():
            return Session(self._session.fork(), self._layouts)

    def merge(self, fork: Session) -> None:
        """Take over what `fork` collected, unchecked: the caller knows that it is disjoint."""
        with translated():
            self._session.merge(cast("icechunk.ForkSession", fork._session))

    def commit(self, message: str, metadata: Mapping[str, Any] | None = None) -> str:
        """Make what was written the branch's next version.

        Raises
        ------
        ConflictError
            When the branch has moved since the session was opened; nothing is lost, write again on
            the new tip.
        StorageError
            When the store refuses, or its reply is lost: the commit may be there all the same.
        """
        use_engine()
        try:
            return str(self._session.commit(message, dict(metadata or {})))
        except icechunk.ConflictError as error:
            raise ConflictError(
                f"The branch moved while this commit was written: {error}"
            ) from error
        except icechunk.IcechunkError as error:
            raise StorageError(
                f"The store did not confirm the commit: {reason_of(error)}. See to free space, "
                "permission and network, then commit again: what did arrive is not written twice."
            ) from error
