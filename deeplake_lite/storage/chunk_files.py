"""Where the chunks of a local lake lie as files, to be read without the engine.

A range of a file read by the operating system costs 7 µs, the same range through Icechunk 1.1 costs
240 µs. The manifests that name the files are read as Icechunk's specification describes them (a
header of 39 bytes, then a FlatBuffer under Zstd: https://icechunk.io/en/latest/spec/). Whatever is
not as expected (another version of the specification, an inlined chunk) is left to the engine.
"""

from __future__ import annotations

import mmap
import os
import struct
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from numcodecs import Zstd

try:
    import resource
except ImportError:  # on Windows, which maps no files here
    resource = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

MAGIC = "ICE🧊CHUNK".encode()
HEADER_BYTES = 39
KIND = b"\x01\x02\x01"
"""End of the header: specification 1, a manifest, Zstd."""

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Crockford's base 32, in which objects are named."""

ID_BYTES = 12

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


class ChunkFiles:
    """Files of one version's chunks.

    Parameters
    ----------
    folder : Path
        Of the lake.
    inspect : callable
        Gives the snapshot's description: a dict with its ``nodes`` and their ``manifest_refs``.
    """

    def __init__(self, folder: Path, inspect: Callable[[], dict[str, Any]]) -> None:
        self._folder, self._inspect = folder, inspect
        self._nodes: dict[str, list[dict[str, Any]]] | None = None
        self._files: dict[str, dict[int, str]] = {}
        self._loading = threading.Lock()

    def knows(self, path: str) -> bool:
        """Tell whether the files of an array are known, so that reading them takes no parsing."""
        return path in self._files

    def learn(self, path: str) -> None:
        """Read the manifests of an array, once: many milliseconds of work for a large one."""
        with self._loading:
            if path in self._files:
                return
            try:
                self._files[path] = self._load(path)
            except (OSError, ValueError, LookupError, RuntimeError, struct.error):
                self._files[path] = {}  # not as expected: the engine knows

    def read_all(
        self, path: str, ranges: Sequence[tuple[int, int, int]]
    ) -> list[memoryview | None]:
        """Return ranges of the chunks of a 1-D array that is known, (chunk, start, stop) of each.

        None stands for what the engine is to be asked for.
        """
        files = self._files[path]
        return [_read(files.get(chunk), start, stop) for chunk, start, stop in ranges]

    def read_whole(self, path: str, chunk: int) -> memoryview | None:
        """Return a chunk of an array that is known; None where the engine is to be asked."""
        name = self._files[path].get(chunk)
        if name is None:
            return None
        try:
            return memoryview(Path(name).read_bytes())
        except OSError:
            return None

    def _load(self, path: str) -> dict[int, str]:
        """Return the file of each chunk of an array."""
        if self._nodes is None:
            nodes = self._inspect()["nodes"]
            self._nodes = {n["path"].strip("/"): n.get("manifest_refs") or [] for n in nodes}
        found: dict[int, str] = {}
        chunks = self._folder / "chunks"
        for reference in self._nodes.get(path, []):
            spans = range(*reference["extents"][0])
            data = (self._folder / "manifests" / reference["id"]).read_bytes()
            found |= {i: str(chunks / name) for i, name in chunk_names(data) if i in spans}
        return found


def _read(name: str | None, start: int, stop: int) -> memoryview | None:
    """Return a range of a file, None where it does not open or read: the engine says why."""
    if name is None:
        return None
    if stop - start >= MAPPED_BYTES and (found := _map(name)) is not None:
        return found[start:stop]
    try:
        descriptor = os.open(name, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    except OSError:
        return None
    try:
        return memoryview(_read_at(descriptor, start, stop - start))
    except OSError:
        return None
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
            with open(name, "rb") as file:
                held = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
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


def chunk_names(manifest: bytes) -> Iterator[tuple[int, str]]:
    """Yield the number, along the first axis, and the file's name of each chunk in a manifest.

    Raises
    ------
    ValueError
        When the bytes are no manifest of one array as this release knows it.
    """
    head = manifest[:HEADER_BYTES]
    if not head.startswith(MAGIC) or not head.endswith(KIND):
        raise ValueError("no manifest of specification 1")
    data = Zstd().decode(manifest[HEADER_BYTES:])
    (root,) = struct.unpack_from("<I", data, 0)
    arrays = _vector(data, _field(data, root, 1))
    if len(arrays) != 1:
        raise ValueError(f"a manifest of {len(arrays)} arrays")
    for chunk in _vector(data, _field(data, arrays[0], 1)):
        index, offset, name = (_field(data, chunk, i) for i in (0, 2, 4))
        if name and index and not _is_set(data, offset):
            at = index + struct.unpack_from("<I", data, index)[0]
            yield struct.unpack_from("<I", data, at + 4)[0], _base32(data[name : name + ID_BYTES])


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
