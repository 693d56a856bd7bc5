"""Where the chunks of a local lake lie as files, to be read without the engine.

A range of a file read by the operating system costs 7 µs, the same range through Icechunk 1.1 costs
240 µs. The manifests that name the files are read as Icechunk's specification describes them (a
header of 39 bytes, then a FlatBuffer under Zstd: https://icechunk.io/en/latest/spec/). Whatever is
not as expected (another version of the specification, an inlined chunk) is left to the engine.
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
from deeplake_lite.storage.frames import unzstd_within

try:
    import resource
except ImportError:  # on Windows, which maps no files here
    resource = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from pathlib import Path

MAGIC = "ICE🧊CHUNK".encode()
HEADER_BYTES = 39
KIND = b"\x01\x02\x01"
"""End of the header: specification 1, a manifest, Zstd."""

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Crockford's base 32, in which objects are named."""

ID_BYTES = 12
NODE_BYTES = 8

FEW = 256
"""Chunks up to which each is looked at for itself."""

CHUNK_BYTES = 1024
"""More than a manifest takes for a chunk, unpacked, even if the chunk itself is in it."""

MAPPED_BYTES = 1 << 20
"""Ranges of files that are mapped rather than read: fresh memory costs a page fault for every 4 KiB
that are read into it, 55 ms for 100 MB against 1 ms."""


def most_mapped() -> int:
    """Return how many files are mapped at a time: a quarter of those that may be open.

    >>> 0 <= most_mapped() <= 4096
    True
    """
    if resource is None:
        return 0
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 4096 if limit < 0 else min(4096, limit // 4)


MOST_MAPPED = most_mapped()

_mapped: WeakValueDictionary[str, mmap.mmap] = WeakValueDictionary()


type Place = int | tuple[int, ...]
"""A chunk by its number along the first axis, or by all of its numbers if others are not 0."""


class Manifest(NamedTuple):
    """Where the files of some of an array's chunks are listed."""

    name: str
    span: range
    """Chunks along the first axis that it may list."""
    node: str
    """Id of the array that it must be of."""
    size: int
    """Bytes of the file."""
    most: int
    """Chunks that it lists."""

    def lists(self, numbers: Collection[int]) -> bool:
        """Tell whether it may list any of some chunks."""
        if len(numbers) > FEW:
            return min(numbers) < self.span.stop and max(numbers) >= self.span.start
        return any(number in self.span for number in numbers)


class ChunkFiles:
    """Files of one version's chunks.

    Parameters
    ----------
    folder : Path
        Of the lake.
    inspect : callable
        Gives the snapshot's description: a dict with its ``manifests`` and ``nodes``, and their
        ``manifest_refs``.
    """

    def __init__(self, folder: Path, inspect: Callable[[], dict[str, Any]]) -> None:
        self._folder, self._inspect = folder, inspect
        self._manifests: dict[str, list[Manifest]] | None = None
        self._files: dict[str, dict[Place, str]] = {}
        self._learned: dict[str, set[str]] = {}
        self._loading = threading.Lock()

    def check_snapshot(self, snapshot_id: str) -> None:
        """Refuse a pipe or the like in the place of a snapshot. Raises DamagedError."""
        check_regular(self._folder / "snapshots" / snapshot_id)

    def knows(self, path: str, numbers: Collection[int]) -> bool:
        """Tell whether the files of chunks are known, so that reading them takes no parsing."""
        if self._manifests is None:
            return False
        learned = self._learned.get(path, set())
        left = [m for m in self._manifests.get(path, []) if m.name not in learned]
        return not any(m.lists(numbers) for m in left)

    def learn(self, path: str, numbers: Collection[int]) -> None:
        """Read the manifests of an array that list some chunks, once.

        Raises
        ------
        DamagedError
            When one is not the file that the snapshot names.
        """
        with self._loading:
            if self._manifests is None:
                self._manifests = manifests_of(self._inspect())
            learned = self._learned.setdefault(path, set())
            files = self._files.setdefault(path, {})
            for manifest in self._manifests.get(path, []):
                if manifest.name in learned or not manifest.lists(numbers):
                    continue
                try:
                    files.update(self._load(manifest))
                except LakeError:
                    raise
                except (OSError, ValueError, LookupError, RuntimeError, struct.error):
                    pass  # not as expected: the engine knows
                learned.add(manifest.name)

    def read_all(
        self, path: str, ranges: Sequence[tuple[int, int, int]]
    ) -> list[memoryview | None]:
        """Return ranges of the chunks of a 1-D array that are known, (chunk, start, stop) of each.

        None stands for what the engine is to be asked for.
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
        """Hand the chunks that are known to `take`, until told to stop; return the others."""
        left = []
        for chunk in numbers:
            if stop.is_set():
                break
            if (data := self.read_whole(path, chunk, most)) is None:
                left.append(chunk)
            else:
                take(chunk, data)
        return left

    def read_whole(self, path: str, chunk: Place, most: int) -> memoryview | None:
        """Return a chunk that is known; None where the engine is to be asked.

        Raises
        ------
        DamagedError
            When it has more than `most` bytes.
        """
        name = self._files.get(path, {}).get(chunk)
        if name is None:
            return None
        try:
            return memoryview(read_file(name, most))
        except FileNotFoundError:
            return None

    def _load(self, manifest: Manifest) -> dict[Place, str]:
        """Return the file of each chunk that a manifest lists."""
        chunks, found = self._folder / "chunks", {}
        for place, file in _named_in(self._folder, manifest):
            if (place if isinstance(place, int) else place[0]) in manifest.span:
                found[place] = str(chunks / file)
        return found


def read_manifest(folder: Path, manifest: Manifest) -> list[str]:
    """Return the names of the chunk files that a manifest of a lake lists.

    Raises
    ------
    DamagedError
        When it is not there, does not read, or is another than the snapshot names.
    """
    try:
        return [name for _, name in _named_in(folder, manifest)]
    except LakeError:
        raise
    except (OSError, ValueError, LookupError, RuntimeError, struct.error) as error:
        raise DamagedError(
            f"The manifest {manifest.name} does not read: {error}. Restore it from a copy."
        ) from error


def _named_in(folder: Path, manifest: Manifest) -> Iterator[tuple[Place, str]]:
    """Return what `chunk_names` yields of a manifest's file. Raises what it does, and OSError."""
    name = folder / "manifests" / manifest.name
    data = read_file(str(name), manifest.size)
    if len(data) != manifest.size:
        raise _swapped(name)
    return chunk_names(data, manifest)


def manifests_of(snapshot: dict[str, Any]) -> dict[str, list[Manifest]]:
    """Return the manifests of each array, by its path, from a snapshot's description.

    Raises
    ------
    DamagedError
        When an array has a manifest that the snapshot does not list.
    """
    known = {m["id"]: m for m in snapshot["manifests"]}
    try:
        return {
            node["path"].strip("/"): [
                Manifest(
                    reference["id"],
                    range(*reference["extents"][0]),
                    node["id"],
                    known[reference["id"]]["size_bytes"],
                    known[reference["id"]]["num_chunk_refs"],
                )
                for reference in node.get("manifest_refs") or []
                if reference["extents"]
            ]
            for node in snapshot["nodes"]
        }
    except KeyError as error:
        raise DamagedError(
            f"The snapshot {snapshot['id']} is damaged: an array has the manifest {error}, which "
            "it does not list. Restore it from a copy."
        ) from error


def _swapped(name: Path | str) -> DamagedError:
    return DamagedError(
        f"{str(name)!r} is not the file that the lake has written there. Run ds.verify()."
    )


def check_regular(name: Path | str) -> None:
    """Refuse a directory, pipe or device where a file should be: opening it may never end.

    What is not there is left to others.

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
    """Refuse a folder that has anything but files, and links to files, in it.

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
        f"{str(name)!r} is no file, but a directory, pipe or device. Restore it from a copy."
    )


def _open(name: str) -> int:
    """Open a file, but nothing that would wait for a writer. Raises DamagedError, OSError."""
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
        When it is no file, or has more than `most` bytes.
    """
    descriptor = _open(name)
    try:
        size = os.fstat(descriptor).st_size
        if size > most:
            raise DamagedError(f"{name!r} has {size:,} bytes, at most {most:,} were written.")
        return _read_at(descriptor, 0, size)
    finally:
        os.close(descriptor)


def _read(name: str | None, start: int, stop: int) -> memoryview | None:
    """Return a range of a file, None where it does not open. Raises DamagedError."""
    if name is None:
        return None
    if stop - start >= MAPPED_BYTES and (found := _map(name)) is not None:
        return found[start:stop]
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
    """Return a file as the system has it in memory; None where that is not possible.

    Chunks are never written again, and one that upkeep removes stays as long as it is mapped.
    """
    held = _mapped.get(name)
    if held is None:
        if os.name != "posix" or len(_mapped) >= MOST_MAPPED:
            return None
        try:
            descriptor = _open(name)
            try:
                held = mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
            finally:
                os.close(descriptor)
        except LakeError:
            raise
        except (OSError, ValueError):  # ValueError: nothing is in it
            return None
        _mapped[name] = held
    return memoryview(held)


def _read_at(descriptor: int, start: int, length: int) -> bytes:
    """Return `length` bytes of a file from `start`, in as many calls as the system takes."""
    if hasattr(os, "pread"):
        data = os.pread(descriptor, length, start)
        while len(data) < length and (
            more := os.pread(descriptor, length - len(data), start + len(data))
        ):
            data += more
        return data
    os.lseek(descriptor, start, os.SEEK_SET)
    return os.read(descriptor, length)


def chunk_names(manifest: bytes, expected: Manifest | None = None) -> Iterator[tuple[Place, str]]:
    """Yield the place and the file's name of each chunk in a manifest.

    Raises
    ------
    ValueError
        When the bytes are no manifest of one array as this release knows it.
    DamagedError
        When it is another one than expected.
    """
    head = manifest[:HEADER_BYTES]
    if not head.startswith(MAGIC) or not head.endswith(KIND):
        raise ValueError("no manifest of specification 1")
    most = CHUNK_BYTES * (1 + (len(manifest) if expected is None else expected.most))
    data = unzstd_within(manifest[HEADER_BYTES:], most)
    (root,) = struct.unpack_from("<I", data, 0)
    arrays = _vector(data, _field(data, root, 1))
    if len(arrays) != 1:
        raise ValueError(f"a manifest of {len(arrays)} arrays")
    if expected is not None:
        name, node = _field(data, root, 0), _field(data, arrays[0], 0)
        ids = _base32(data[name : name + ID_BYTES]), _base32(data[node : node + NODE_BYTES])
        if ids != (expected.name, expected.node):
            raise _swapped(f"manifests/{expected.name}")
    for chunk in _vector(data, _field(data, arrays[0], 1)):
        index, offset, name = (_field(data, chunk, i) for i in (0, 2, 4))
        if name and index and not _is_set(data, offset):
            yield _place(data, index), _base32(data[name : name + ID_BYTES])


def _place(data: bytes, index: int) -> Place:
    """Return which chunk a vector of numbers means."""
    at = index + struct.unpack_from("<I", data, index)[0]
    (axes,) = struct.unpack_from("<I", data, at)
    first, *others = struct.unpack_from(f"<{axes}I", data, at + 4)
    return (first, *others) if any(others) else int(first)


def _is_set(data: bytes, offset: int) -> bool:
    """Tell whether a chunk begins anywhere but at its file's first byte."""
    return bool(offset) and struct.unpack_from("<Q", data, offset)[0] != 0


def _field(data: bytes, table: int, index: int) -> int:
    """Return where a field of a FlatBuffer's table lies, 0 where it is not set."""
    vtable = table - struct.unpack_from("<i", data, table)[0]
    (size,) = struct.unpack_from("<H", data, vtable)
    place = 4 + 2 * index
    offset = struct.unpack_from("<H", data, vtable + place)[0] if place < size else 0
    return table + offset if offset else 0


def _vector(data: bytes, field: int) -> list[int]:
    """Return where the tables of a vector lie."""
    if not field:
        return []
    at = field + struct.unpack_from("<I", data, field)[0]
    (length,) = struct.unpack_from("<I", data, at)
    places = range(at + 4, at + 4 + 4 * length, 4)
    return [p + struct.unpack_from("<I", data, p)[0] for p in places]


def _base32(raw: bytes) -> str:
    """Write an id as objects are named.

    >>> _base32(bytes(range(12)))
    '000G40R40M30E209185G'
    """
    bits = int.from_bytes(raw) << (-len(raw) * 8) % 5
    count = -(-len(raw) * 8 // 5)
    return "".join(ALPHABET[(bits >> 5 * i) & 31] for i in reversed(range(count)))
