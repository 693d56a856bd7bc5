"""Pictures that were drawn before: the latest in memory, those of large originals on disk."""

from __future__ import annotations

import contextlib
import os
import re
import struct
import tempfile
import threading
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar
from weakref import WeakValueDictionary

import xxhash

from deeplake_lite.storage.repo import MEMORY, local_folder
from deeplake_lite.widget.pictures.drawing import Drawn

if TYPE_CHECKING:
    from collections.abc import Iterator

DISK_BYTES = 2**30
"""What the pictures of one lake may take on disk."""

TYPES = frozenset({"image/jpeg", "image/png", "image/webp"})
"""Media types of what is drawn: a file that says another was not written here."""

_HEAD = struct.Struct("<4sQIIB")  # mark, hash of what follows, width, height, length of the type
_MARK = b"DLT1"
_EACH = 64  # pictures are written between two looks at how much there is


class Memory:
    """Pictures in memory, by key; those used longest ago go first.

    Parameters
    ----------
    limit : int
        Bytes that they may take.

    Examples
    --------
    >>> memory = Memory(600)
    >>> for key in "abc":
    ...     memory.put(key, Drawn(bytes(100), "image/png", 1, 1))
    >>> memory.get("a"), memory.get("c").width
    (None, 1)
    """

    _of_lakes: ClassVar[WeakValueDictionary[str, Memory]] = WeakValueDictionary()

    @classmethod
    def of(cls, url: str, limit: int) -> Memory:
        """Return what all browsers of a lake share, with the limit that was asked for last.

        A cell that is run again makes another browser, and the notebook holds on to the old one.
        """
        memory = cls._of_lakes.setdefault(url, cls(limit))
        memory.limit(limit)
        return memory

    def __init__(self, limit: int) -> None:
        self._limit, self._size = limit, 0
        self._kept: OrderedDict[object, Drawn] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def nbytes(self) -> int:
        """What they take."""
        return self._size

    def get(self, key: object) -> Drawn | None:
        """Return a picture, if it is kept."""
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def put(self, key: object, drawn: Drawn) -> None:
        """Keep a picture."""
        with self._lock:
            if old := self._kept.pop(key, None):
                self._size -= old.nbytes
            if drawn.nbytes > self._limit:
                return
            self._kept[key] = drawn
            self._size += drawn.nbytes
            self._make_room()

    def limit(self, limit: int) -> None:
        """Take no more than so many bytes from now on."""
        with self._lock:
            self._limit = limit
            self._make_room()

    def _make_room(self) -> None:
        while self._size > self._limit:
            _, gone = self._kept.popitem(last=False)
            self._size -= gone.nbytes


class Disk:
    """Pictures on disk, a file each; where the disk refuses, nothing is kept, and nothing fails.

    Parameters
    ----------
    folder : Path
        Made when the first picture is kept.
    limit : int
        Bytes that they may take; those used longest ago go first.
    """

    def __init__(self, folder: Path, limit: int = DISK_BYTES) -> None:
        self._folder, self._limit = folder, limit
        self._written, self._lock = 0, threading.Lock()

    def get(self, key: str) -> Drawn | None:
        """Return a picture, if it is kept and whole."""
        try:
            file = self._file(key)
            data = file.read_bytes()
            mark, digest, width, height, length = _HEAD.unpack_from(data)
        except (OSError, struct.error):
            return None
        rest = data[_HEAD.size :]
        mime = rest[:length].decode("ascii", "replace")
        whole = mark == _MARK and xxhash.xxh3_64_intdigest(rest) == digest
        if not whole or mime not in TYPES or not (width and height):
            return None
        with contextlib.suppress(OSError):
            os.utime(file)
        return Drawn(rest[length:], mime, width, height)

    def put(self, key: str, drawn: Drawn) -> None:
        """Keep a picture: whole or not at all."""
        mime = drawn.mime.encode("ascii")
        rest = mime + drawn.data
        digest = xxhash.xxh3_64_intdigest(rest)
        head = _HEAD.pack(_MARK, digest, drawn.width, drawn.height, len(mime))
        with contextlib.suppress(OSError):
            file = self._file(key)
            file.parent.mkdir(parents=True, exist_ok=True)
            _write(file, head + rest)
            self._make_room()

    def _file(self, key: str) -> Path:
        assert re.fullmatch(r"[0-9a-f-]+", key), "a key is made of hexadecimal digits"
        return self._folder / key[:2] / key

    def _make_room(self) -> None:
        """Remove the files used longest ago while all take too much; looks now and then."""
        with self._lock:
            self._written += 1
            if self._written % _EACH != 1:
                return
            files = sorted(self._files())
            size = sum(nbytes for _, nbytes, _ in files)
            for _, nbytes, path in files:
                if size <= self._limit:
                    return
                with contextlib.suppress(OSError):
                    os.unlink(path)
                    size -= nbytes

    def _files(self) -> Iterator[tuple[float, int, str]]:
        """Yield when each file was used, its size and its path."""
        for place, _, names in os.walk(self._folder):
            for name in names:
                with contextlib.suppress(OSError):  # another process has removed it
                    path = os.path.join(place, name)
                    found = os.stat(path)
                    yield found.st_mtime, found.st_size, path


def _write(file: Path, data: bytes) -> None:
    """Write a file such that nobody sees half of it."""
    handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=".")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
        os.replace(temporary, file)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def folder_beside(url: str) -> Path | None:
    """Return where pictures of a lake are kept: beside a local one, else with the user's caches.

    None for a lake in memory, which goes with the process.
    """
    if url.startswith(MEMORY):
        return None
    local = local_folder(url)
    if local is not None and os.access(local.parent, os.W_OK):
        return local.parent / f".{local.name}.thumbnails"
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "deeplake_lite" / "thumbnails" / xxhash.xxh3_64_hexdigest(url.encode())
