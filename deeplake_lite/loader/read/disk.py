"""The disk cache, which stores blocks of lakes in remote stores as memory-mapped local files.

There is one folder for each view and each release of the package, with one file per block;
`array_file` describes the files. All loaders on the machine share the files. A block that several
of them need at the same time is read by one of them, which holds a lock, while the others wait. If
the process is killed, the operating system releases the lock, and the next loader reads the block.
A file gets its name once it is complete. `disk_space` keeps all files within a limit.

If another process might compute the rows differently, the folder belongs to one loader, and is
removed when the loader is freed.

When a file is first mapped, its bytes are compared with its hashes. The bytes are compared again if
the inode, size or modification time of the file has changed, which is checked before each use. A
change goes unnoticed if it happens within the same tick of the file system's clock, if the
modification time is reset, or while a batch is being copied. If a file is truncated during the
copy, SIGBUS ends the process.
"""

from __future__ import annotations

import os
import shutil
import weakref
from contextlib import contextmanager, suppress
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import xxhash

from deeplake_lite.errors import LoaderError
from deeplake_lite.htypes.cells import DenseCells, NestedCells, RaggedCells
from deeplake_lite.loader.read import array_file
from deeplake_lite.loader.read.block_cells import PackedCells
from deeplake_lite.loader.read.disk_space import UNFINISHED, USED, Space
from deeplake_lite.loader.read.next_uses import Publication
from deeplake_lite.storage.repo.locks import take_lock

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from io import FileIO
    from typing import Self

    from numpy.typing import NDArray

    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.loader.order.order import Order
    from deeplake_lite.loader.read.block_cells import Block, StoredCells
    from deeplake_lite.loader.read.samples import Samples

PATIENCE = 60.0
"""Maximum number of seconds to wait for another loader to read a block, which may be stopped."""

READING = ".reading"
"""Suffix of the name of the file that is locked while a block is read from the lake."""

RETRIES = 64
"""How many times per epoch a loader looks again for space that it did not find."""


def cache_folder() -> Path:
    """Return the folder of all cached blocks, below ``$XDG_CACHE_HOME`` or ``~/.cache``."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "deeplake_lite" / "blocks"


class Disk:
    """The blocks of one view as files.

    Parameters
    ----------
    key : str
        Identifies the view and the columns that are loaded.
    folder : Path
        Folder of the blocks of all views.
    budget : int, optional
        Maximum size of the blocks of all views in bytes.

    Raises
    ------
    LoaderError
        When the folder is not writable.
    """

    def __init__(self, key: str, folder: Path, budget: int | None = None) -> None:
        self._key, self._folder = key, folder / key
        self._space = Space(folder, budget)
        self._checked: dict[str, tuple[int, ...]] = {}
        self._expected: dict[int, int] = {}
        self._denied: set[int] = set()
        self._done = self._retry = self._rows_per_epoch = 0
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with self._space.lock():  # so that no other process removes the folder if it is empty
                self._folder.mkdir(exist_ok=True)
                (self._folder / USED).touch()
                self._publication = Publication(self._folder)
                self._space.refresh()
            _clear(self._folder)
        except OSError as error:
            raise LoaderError(
                f"cache='disk' stores files in {folder}, but preparing this folder failed with "
                f"{type(error).__name__}: {error}. Set XDG_CACHE_HOME to a writable folder, or use "
                "cache='encoded'."
            ) from error

    @classmethod
    def of(cls, samples: Samples, budget: int | None = None) -> Self:
        """Return the cache for the given columns of a view.

        Each release of this package has its own caches, because its functions may compute different
        values. If another process might compute the rows differently, the cache is not shared with
        other loaders, and its folder is removed when the cache is garbage-collected.
        """
        words = [metadata.version("deeplake-lite"), samples.fingerprint, *samples.names]
        key = xxhash.xxh3_128_hexdigest("\0".join(words).encode())
        if samples.repeatable:
            return cls(key, cache_folder(), budget)
        private = cls(uuid4().hex, cache_folder(), budget)
        weakref.finalize(private, _remove, private._folder, os.getpid())
        return private

    def fits(self, nbytes: float) -> bool:
        """Return whether blocks of `nbytes` bytes fit, if other views do not take up the space."""
        return self._space.holds(nbytes)

    def follow(self, order: Order, rows: int, done: int, next_order: Order) -> None:
        """Publish the position in an epoch, from which the next use of each block follows.

        The parameters are those of `next_uses.Publication.follow`.
        """
        self._done, self._rows_per_epoch = done, order.n
        if self._publication.follow(order, rows, done, next_order):
            self._retry = 0
            self._denied.clear()
            with suppress(OSError):
                (self._folder / USED).touch()

    def admits(self, start: int, stop: int, nbytes: int) -> bool:
        """Return whether to read a block of `nbytes` bytes, because it is stored or can be stored.

        If there is no space for the block, its rows had better be read one by one.
        """
        if self.has(start, stop):
            return True
        # Some rows of a denied block have been read in this epoch, so the others are, too.
        if start not in self._denied and self._find_room(start, nbytes):
            self._expected[start] = nbytes
            return True
        self._denied.add(start)
        return False

    def _find_room(self, start: int, nbytes: int) -> bool:
        """Return whether there is room for a block, besides those that are being read."""
        if self._done < self._retry:
            return False
        expected = sum(list(self._expected.values())) + nbytes
        wait = self._publication.wait(start)
        if self._space.has_room(expected) or self._space.make_room(expected, wait):
            return True
        self._retry = self._done + max(1, self._rows_per_epoch // RETRIES)
        return False

    @contextmanager
    def turn(self, start: int, stop: int) -> Iterator[None]:
        """Wait until no other loader reads the block from the lake, and make others wait."""
        path = self._folder / f".{start}-{stop}{READING}"
        lock: FileIO | None = None
        try:
            with suppress(OSError):  # after `PATIENCE`, or if the folder is removed, do not wait
                lock = take_lock(path, timeout=PATIENCE)
            yield
        finally:
            self._expected.pop(start, None)
            if lock is not None:
                with lock, suppress(OSError):  # Windows does not remove open files
                    path.unlink()

    def has(self, start: int, stop: int) -> bool:
        """Return whether there is a file for the block, which may be damaged."""
        return os.path.exists(self._path(start, stop))

    def has_evicted(self) -> bool:
        """Return whether some blocks may have been evicted since the last call."""
        return self._space.has_evicted()

    def load(self, start: int, stop: int) -> Block | None:
        """Return a memory-mapped block of rows, or None if its file is missing or damaged.

        The bytes of the file are compared with their hashes the first time, and after a change.
        """
        path = self._path(start, stop)
        try:
            state = _state(path)
            check = self._checked.get(path) != state
            arrays = array_file.read(Path(path), self._key_of(start, stop), check=check)
        except (OSError, ValueError):
            self._checked.pop(path, None)
            return None
        self._checked[path] = state
        self._expected.pop(start, None)
        stems = {name.split(".")[0] for name in arrays}
        return {bytes.fromhex(name).decode(): _join(name, arrays) for name in stems}

    def has_changed(self, start: int, stop: int) -> bool:
        """Return whether the file of a block has changed since it was loaded.

        A removed file does not count as changed, because its bytes stay mapped.
        """
        path = self._path(start, stop)
        try:
            return self._checked.get(path) not in (None, _state(path))
        except OSError:
            return False

    def save(self, start: int, stop: int, cells: Mapping[str, Cells]) -> None:
        """Store a block of rows, replacing a damaged file.

        If there is no space for the block, or a write fails, nothing is stored.
        """
        arrays = {
            part: array
            for name, column in cells.items()
            for part, array in _arrays(name.encode().hex(), column)
        }
        pieces = array_file.pack(self._key_of(start, stop), arrays)
        path = Path(self._path(start, stop))
        name = f".{self._publication.name}.{uuid4().hex}{UNFINISHED}"
        temporary = path.with_name(name)
        with suppress(OSError):
            path.unlink(missing_ok=True)
            wait = self._publication.wait(start)
            try:
                if self._space.create(temporary, sum(map(len, pieces)), wait):
                    with temporary.open("r+b") as file:
                        file.writelines(pieces)
                    self._space.finish(temporary, path)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise

    def _path(self, start: int, stop: int) -> str:
        return f"{self._folder}/{start}-{stop}"

    def _key_of(self, start: int, stop: int) -> str:
        """Return the key that identifies the contents of a block's file. See `array_file`."""
        return f"{self._key} {start}-{stop}"


def _remove(folder: Path, pid: int) -> None:
    """Remove a loader's private folder. In a fork of the process with id `pid`, do nothing."""
    if os.getpid() == pid:
        shutil.rmtree(folder, ignore_errors=True)


def _state(file: str) -> tuple[int, ...]:
    """Return the inode, size and modification time of a file, to detect changes."""
    stat = os.stat(file)
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


def _arrays(name: str, cells: StoredCells | Cells) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the arrays that make up the cells of a column, with their names in the file."""
    match cells:
        case RaggedCells():
            yield from _arrays(name, PackedCells.of(cells))
            return
        case PackedCells(data, starts, shapes):
            yield from ((f"{name}.data", data), (f"{name}.starts", starts))
            yield f"{name}.shapes", shapes
        case DenseCells(values):
            yield f"{name}.values", values
        case NestedCells(counts, items):
            yield f"{name}.counts", counts
            yield from _arrays(f"{name}.items", items)
    if cells.valid is not None:
        yield f"{name}.valid", cells.valid


def _join(name: str, arrays: Mapping[str, NDArray[Any]], *, item: bool = False) -> Any:
    """Rebuild the cells of a column from their arrays. This is the inverse of `_arrays`."""
    valid = arrays.get(f"{name}.valid")
    if f"{name}.data" in arrays:
        data, starts, shapes = (arrays[f"{name}.{part}"] for part in ("data", "starts", "shapes"))
        packed = PackedCells(data, starts, shapes, valid)
        return packed.cells() if item else packed
    if f"{name}.values" in arrays:
        return DenseCells(arrays[f"{name}.values"], valid)
    return NestedCells(arrays[f"{name}.counts"], _join(f"{name}.items", arrays, item=True), valid)


def _clear(folder: Path) -> None:
    """Remove the files that killed processes had locked while they read blocks."""
    for path in folder.glob(f".*{READING}"):
        with suppress(OSError), take_lock(path, timeout=0, create=False):
            path.unlink()
