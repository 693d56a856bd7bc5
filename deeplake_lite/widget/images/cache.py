"""Caches of thumbnails in memory, and, for thumbnails of large originals, also on disk."""

from __future__ import annotations

import contextlib
import os
import re
import struct
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar
from weakref import WeakValueDictionary

import xxhash

from deeplake_lite.lru import LRUCache
from deeplake_lite.storage.repo import MEMORY, local_folder
from deeplake_lite.widget.images.drawing import WebImage

if TYPE_CHECKING:
    from collections.abc import Iterator

DISK_BYTES = 2**30
"""Maximum size of one lake's images on disk, in bytes."""

TYPES = frozenset({"image/jpeg", "image/png", "image/webp"})
"""Media types of cached images. Files with other media types were not written by this module."""

_HEAD = struct.Struct("<4sQIIB")  # magic, hash of what follows, width, height, length of media type
_MAGIC = b"DLT1"
_EACH = 64  # number of images written between checks of the disk limit


class Memory(LRUCache[object, WebImage]):
    """Images in memory, by key. The least recently used image is evicted first.

    Parameters
    ----------
    limit : int
        Maximum size of the images, in bytes.

    Examples
    --------
    >>> memory = Memory(600)
    >>> for key in "abc":
    ...     memory.put(key, WebImage(bytes(100), "image/png", 1, 1))
    >>> memory.get("a"), memory.get("c").width
    (None, 1)
    """

    _of_lakes: ClassVar[WeakValueDictionary[str, Memory]] = WeakValueDictionary()

    @classmethod
    def of(cls, url: str, limit: int) -> Memory:
        """Return the cache that all browsers of a lake share, after setting its limit.

        The cache is shared because running a notebook cell again creates a new browser while the
        old browser still exists.
        """
        memory = cls._of_lakes.setdefault(url, cls(limit))
        memory.resize(limit)
        return memory


class Disk:
    """Images on disk, one per file. If the disk is not writable, nothing is cached.

    Parameters
    ----------
    folder : Path
        Folder of the files, which is created with the first image.
    limit : int
        Maximum size of the files, in bytes. The least recently used files are removed first.
    """

    def __init__(self, folder: Path, limit: int = DISK_BYTES) -> None:
        self._folder, self._limit = folder, limit
        self._written, self._lock = 0, threading.Lock()

    def get(self, key: str) -> WebImage | None:
        """Return an image, or None if it is not cached or its file is damaged."""
        try:
            file = self._file(key)
            data = file.read_bytes()
            magic, digest, width, height, length = _HEAD.unpack_from(data)
        except (OSError, struct.error):
            return None
        rest = data[_HEAD.size :]
        mime = rest[:length].decode("ascii", "replace")
        is_whole = magic == _MAGIC and xxhash.xxh3_64_intdigest(rest) == digest
        if not is_whole or mime not in TYPES or not (width and height):
            return None
        with contextlib.suppress(OSError):
            os.utime(file)  # record the time of last use
        return WebImage(rest[length:], mime, width, height)

    def put(self, key: str, image: WebImage) -> None:
        """Cache an image. The file is written atomically."""
        mime = image.mime.encode("ascii")
        rest = mime + image.data
        digest = xxhash.xxh3_64_intdigest(rest)
        head = _HEAD.pack(_MAGIC, digest, image.width, image.height, len(mime))
        with contextlib.suppress(OSError):
            file = self._file(key)
            file.parent.mkdir(parents=True, exist_ok=True)
            _write(file, head + rest)
            self._evict_files()

    def _file(self, key: str) -> Path:
        assert re.fullmatch(r"[0-9a-f-]+", key), "a key consists of hexadecimal digits"
        return self._folder / key[:2] / key

    def _evict_files(self) -> None:
        """Remove the least recently used files beyond the limit, once per `_EACH` new images."""
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
        """Yield the time of last use, the size and the path of each file."""
        for folder, _, names in os.walk(self._folder):
            for name in names:
                with contextlib.suppress(OSError):  # another process has removed it
                    path = os.path.join(folder, name)
                    status = os.stat(path)
                    yield status.st_mtime, status.st_size, path


def _write(file: Path, data: bytes) -> None:
    """Write a file atomically, so that readers never see part of it."""
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
    """Return the cache folder of a lake, or None for a lake in memory, which needs none.

    The folder is next to a local lake, and in the user's cache folder for other lakes.
    """
    if url.startswith(MEMORY):
        return None
    local = local_folder(url)
    if local is not None and os.access(local.parent, os.W_OK):
        return local.parent / f".{local.name}.thumbnails"
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "deeplake_lite" / "thumbnails" / xxhash.xxh3_64_hexdigest(url.encode())
