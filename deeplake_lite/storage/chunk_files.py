"""Read the chunk files of a local lake directly, without going through Icechunk.

Reading a range of a file takes 7 µs; through Icechunk, the same range takes 240 µs or more.
Manifests list the files. They are parsed according to Icechunk's specification
(https://icechunk.io/en/latest/spec/)::

    ┌───────────────────┬─────────────────────────────────────────────┐
    │ header, 39 bytes  │ Zstandard frame                             │
    │ ICE🧊CHUNK … 2 2 1│ FlatBuffer: id, arrays → chunks → file id   │
    └───────────────────┴─────────────────────────────────────────────┘

Chunks that this module cannot read, for example because the manifest follows another version of the
specification or contains the chunk itself (inlined), are read through Icechunk.
"""

from __future__ import annotations

import mmap
import os
import stat
import struct
import threading
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakValueDictionary

from deeplake_lite.errors import DamagedError, LakeError
from deeplake_lite.storage.manifest_chunks import ManifestChunks

try:
    import resource
except ImportError:  # on Windows, where chunk files are not mapped
    resource = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

    from deeplake_lite.storage.manifest_chunks import ChunkIndex

MAX_COMPARED = 256
"""Up to this many chunk numbers are compared one by one with the span of a manifest. Of more
numbers, only the least and the greatest are compared."""

MAPPED_BYTES = 1 << 20
"""Ranges of at least this many bytes are memory-mapped instead of read. Reading 100 MB into new
memory takes 55 ms, mostly for page faults every 4 KiB; mapping 100 MB takes 1 ms."""


def most_mapped() -> int:
    """Return the number of files that may be mapped at a time: a quarter of the open-file limit.

    >>> 0 <= most_mapped() <= 4096
    True
    """
    if resource is None:
        return 0
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 4096 if limit < 0 else min(4096, limit // 4)


MAX_MAPPED_BLOCKS = most_mapped()

_mapped: WeakValueDictionary[str, mmap.mmap] = WeakValueDictionary()


class Manifest(NamedTuple):
    """A reference to a manifest, which lists the files for some of the chunks of an array."""

    name: str
    """Name of the manifest file."""
    span: range
    """Chunks along the first axis that the manifest may list."""
    node: str
    """Id of the array that the chunks must belong to."""
    size: int
    """Size of the file in bytes."""
    chunk_count: int
    """Number of chunks that the manifest lists."""

    def lists(self, numbers: Collection[int]) -> bool:
        """Return whether the manifest may list any of the chunks."""
        if len(numbers) > MAX_COMPARED:
            return min(numbers) < self.span.stop and max(numbers) >= self.span.start
        return any(number in self.span for number in numbers)


class ChunkFiles:
    """The chunk files of one version.

    A manifest is read when a chunk that it may list is first needed (`read_manifests`).

    Parameters
    ----------
    folder : Path
        The lake's folder.
    snapshot : dict
        Icechunk's description of the snapshot, with ``manifests``, and ``nodes`` with their
        ``manifest_refs``.
    """

    def __init__(self, folder: Path, snapshot: dict[str, Any]) -> None:
        self._folder, self._manifests = folder, manifests_of(snapshot)
        self._files: dict[str, dict[ChunkIndex, str]] = {}
        self._read_names: dict[str, set[str]] = {}
        self._loading = threading.Lock()

    def check_snapshot(self, snapshot_id: str) -> None:
        """Reject a pipe or a device in place of a snapshot. Raises DamagedError."""
        check_regular(self._folder / "snapshots" / snapshot_id)

    def has_read_manifests(self, path: str, numbers: Collection[int]) -> bool:
        """Return whether all manifests that may list the chunks have been read."""
        read = self._read_names.get(path, set())
        unread = [m for m in self._manifests.get(path, []) if m.name not in read]
        return not any(m.lists(numbers) for m in unread)

    def read_manifests(self, path: str, numbers: Collection[int]) -> None:
        """Read the manifests that may list the chunks of an array, unless they have been read.

        Raises
        ------
        DamagedError
            If a file is not the manifest that the snapshot refers to.
        """
        with self._loading:
            read = self._read_names.setdefault(path, set())
            files = self._files.setdefault(path, {})
            for manifest in self._manifests.get(path, []):
                if manifest.name in read or not manifest.lists(numbers):
                    continue
                try:
                    files.update(self._load(manifest))
                except LakeError:
                    raise
                except (OSError, ValueError, LookupError, RuntimeError, struct.error):
                    pass  # unexpected format: these chunks are read through Icechunk
                read.add(manifest.name)

    def read_all(
        self, path: str, ranges: Sequence[tuple[int, int, int]]
    ) -> list[memoryview | None]:
        """Read ranges of the chunks of a 1-D array, given as (chunk, start, stop).

        None in the result means that the range must be read through Icechunk.
        """
        files = self._files.get(path, {})
        return [_read(files.get(chunk), start, stop) for chunk, start, stop in ranges]

    def take_whole(
        self,
        path: str,
        numbers: Sequence[int],
        *,
        take: Callable[[int, memoryview], None],
        most: int,
        stop: threading.Event,
    ) -> list[int]:
        """Call `take` with the number and the bytes of each chunk, until the event `stop` is set.

        Return the numbers of the chunks that must be read through Icechunk.
        """
        unread = []
        for chunk in numbers:
            if stop.is_set():
                break
            if (data := self.read_whole(path, chunk, most)) is None:
                unread.append(chunk)
            else:
                take(chunk, data)
        return unread

    def read_whole(self, path: str, chunk: ChunkIndex, most: int) -> memoryview | None:
        """Return the bytes of a chunk, or None if the chunk must be read through Icechunk.

        Raises
        ------
        DamagedError
            If the chunk has more than `most` bytes.
        """
        name = self._files.get(path, {}).get(chunk)
        if name is None:
            return None
        try:
            return memoryview(read_file(name, most))
        except FileNotFoundError:
            return None

    def _load(self, manifest: Manifest) -> dict[ChunkIndex, str]:
        """Return a dict from chunk index to path, for each chunk file that a manifest lists."""
        folder, span = str(self._folder / "chunks"), manifest.span
        return {
            index: f"{folder}{os.sep}{name}"
            for index, name in _list_files(self._folder, manifest)
            if (index if isinstance(index, int) else index[0]) in span
        }


def read_manifest(folder: Path, manifest: Manifest) -> list[str]:
    """Return the names of the chunk files that a manifest of a lake lists.

    Raises
    ------
    DamagedError
        If the manifest is missing, unreadable, or not the one that the snapshot refers to.
    """
    try:
        return [name for _, name in _list_files(folder, manifest)]
    except LakeError:
        raise
    except (OSError, ValueError, LookupError, RuntimeError, struct.error) as error:
        reason = str(error).rstrip(".")
        raise DamagedError(
            f"The manifest {manifest.name} cannot be read: {reason}. Restore the manifest from a "
            "backup."
        ) from error


def _list_files(folder: Path, manifest: Manifest) -> list[tuple[ChunkIndex, str]]:
    """Read a manifest and return the result of `chunk_names`. Also raises OSError."""
    name = folder / "manifests" / manifest.name
    data = read_file(str(name), manifest.size)
    if len(data) != manifest.size:
        raise _swapped(name)
    return chunk_names(data, manifest)


def manifests_of(snapshot: dict[str, Any]) -> dict[str, list[Manifest]]:
    """Return a dict from array path to the array's manifests, given the description of a snapshot.

    Raises
    ------
    DamagedError
        If an array refers to a manifest that the snapshot does not list.
    """
    listed = {m["id"]: m for m in snapshot["manifests"]}
    try:
        return {
            node["path"].strip("/"): [
                Manifest(
                    reference["id"],
                    range(*reference["extents"][0]),
                    node["id"],
                    listed[reference["id"]]["size_bytes"],
                    listed[reference["id"]]["num_chunk_refs"],
                )
                for reference in node.get("manifest_refs") or []
                if reference["extents"]
            ]
            for node in snapshot["nodes"]
        }
    except KeyError as error:
        raise DamagedError(
            f"The snapshot {snapshot['id']} is damaged: an array refers to the manifest {error}, "
            "which the snapshot does not list. Restore the snapshot's file from a backup."
        ) from error


def _swapped(name: Path | str) -> DamagedError:
    return DamagedError(
        f"{str(name)!r} is not the file that the lake wrote under this name. Run ds.verify()."
    )


def check_regular(name: Path | str) -> None:
    """Reject a directory, pipe or device in place of a file. Opening a pipe may block forever.

    A missing file is not rejected here.

    Raises
    ------
    DamagedError
    """
    try:
        mode = os.stat(name).st_mode
    except OSError:
        return
    if not stat.S_ISREG(mode):
        raise _irregular(name)


def check_all_regular(folder: Path) -> None:
    """Reject a folder that contains anything but files and links to files.

    Raises
    ------
    DamagedError, OSError
    """
    if not folder.is_dir():
        return
    with os.scandir(folder) as entries:
        for entry in entries:
            if not entry.is_file(follow_symlinks=False):
                check_regular(entry.path)


def _irregular(name: Path | str) -> DamagedError:
    return DamagedError(
        f"{str(name)!r} must be a file, but it is a directory, pipe or device. Restore the file "
        "from a backup."
    )


def _open(name: str) -> int:
    """Open a regular file, without blocking if it is a pipe. Raises DamagedError or OSError."""
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(name, flags)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _irregular(name)
    return descriptor


def read_file(name: str, most: int) -> bytes:
    """Return the bytes of a file.

    Raises
    ------
    DamagedError
        If `name` is not a regular file, or if the file has more than `most` bytes.
    """
    descriptor = _open(name)
    try:
        size = os.fstat(descriptor).st_size
        if size > most:
            raise DamagedError(
                f"{name!r} must have at most {most:,} bytes, but it has {size:,}. Restore the file "
                "from a backup."
            )
        return _read_at(descriptor, 0, size)
    finally:
        os.close(descriptor)


def _read(name: str | None, start: int, stop: int) -> memoryview | None:
    """Return a range of a file, or None if the file cannot be opened. Raises DamagedError."""
    if name is None:
        return None
    if stop - start >= MAPPED_BYTES and (whole := _map(name)) is not None:
        return whole[start:stop]
    try:
        descriptor = _open(name)
    except LakeError:
        raise
    except OSError:
        return None
    try:
        return memoryview(_read_at(descriptor, start, stop - start))
    finally:
        os.close(descriptor)


def _map(name: str) -> memoryview | None:
    """Return a memory-mapped file, or None if it cannot be mapped.

    This is safe because chunk files never change, and a file that a vacuum deletes stays readable
    as long as it is mapped. Maps are shared: the weak dictionary drops a map when its last view is
    gone.
    """
    mapped = _mapped.get(name)
    if mapped is None:
        if os.name != "posix" or len(_mapped) >= MAX_MAPPED_BLOCKS:
            return None
        try:
            descriptor = _open(name)
            try:
                mapped = mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
            finally:
                os.close(descriptor)
        except LakeError:
            raise
        except (OSError, ValueError):  # ValueError: the file is empty
            return None
        _mapped[name] = mapped
    return memoryview(mapped)


def _read_at(descriptor: int, start: int, length: int) -> bytes:
    """Return `length` bytes of a file from `start` on, repeating short reads."""
    if hasattr(os, "pread"):
        data = os.pread(descriptor, length, start)
        while len(data) < length and (
            more := os.pread(descriptor, length - len(data), start + len(data))
        ):
            data += more
        return data
    os.lseek(descriptor, start, os.SEEK_SET)
    return os.read(descriptor, length)


def chunk_names(manifest: bytes, expected: Manifest | None = None) -> list[tuple[ChunkIndex, str]]:
    """Return the index and the file name of each chunk in a manifest.

    Chunks that are inlined in the manifest or virtual (stored outside the lake), or that do not
    begin at the first byte of a file, are left out.

    Raises
    ------
    ValueError
        If the bytes are not a manifest for a single array in the format that this release reads.
    DamagedError
        If the id or the array of the manifest is not that of `expected`.
    """
    chunks = ManifestChunks(manifest, None if expected is None else expected.chunk_count)
    if expected is not None and chunks.ids != (expected.name, expected.node):
        raise _swapped(f"manifests/{expected.name}")
    return chunks.names()
