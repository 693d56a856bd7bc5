"""The disk cache, which stores blocks of lakes in remote stores as memory-mapped local files.

There is one folder for each view and each release of the package, with one file per block;
`array_file` describes the files. If the files take more than half of the free disk space, the least
recently used folders are removed. If another process might compute the rows differently, the folder
belongs to one loader, and is removed when the loader is freed.

When a file is first mapped, its bytes are compared with its hashes. The bytes are compared again if
the inode, size or modification time of the file has changed, which is checked before each use. A
change goes unnoticed if it happens within the same tick of the file system's clock, if the
modification time is reset, or while a batch is being copied. If a file is truncated during the
copy, SIGBUS ends the process.
"""

from __future__ import annotations

import os
import shutil
import time
import weakref
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import xxhash

from deeplake_lite.errors import LoaderError
from deeplake_lite.htypes.cells import DenseCells, NestedCells, RaggedCells
from deeplake_lite.loader.read import array_file
from deeplake_lite.loader.read.block_cells import PackedCells

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Self

    from numpy.typing import NDArray

    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.loader.read.block_cells import Block, StoredCells
    from deeplake_lite.loader.read.samples import Samples

SHARE = 0.5
"""Maximum size of all blocks, as a share of the free disk space plus the size of these blocks."""

UNFINISHED = "."
"""Prefix of the name of a block's file while the file is being written."""

ABANDONED = 3600.0
"""Age in seconds at which an unfinished file is removed, because its process was likely killed."""


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

    Raises
    ------
    LoaderError
        When the folder is not writable.
    """

    def __init__(self, key: str, folder: Path) -> None:
        self._key, self._folder = key, folder / key
        self._checked: dict[str, tuple[int, ...]] = {}
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            os.utime(self._folder)
            _clear(self._folder)
            _make_room(folder, self._folder)
        except OSError as error:
            raise LoaderError(
                f"cache='disk' stores files in {folder}, but preparing this folder failed with "
                f"{type(error).__name__}: {error}. Set XDG_CACHE_HOME to a writable folder, or use "
                "cache='encoded'."
            ) from error

    @classmethod
    def of(cls, samples: Samples) -> Self:
        """Return the cache for the given columns of a view.

        Each release of this package has its own caches, because its functions may compute different
        values. If another process might compute the rows differently, the cache is not shared with
        other loaders, and its folder is removed when the cache is garbage-collected.
        """
        words = [metadata.version("deeplake-lite"), samples.fingerprint, *samples.names]
        key = xxhash.xxh3_128_hexdigest("\0".join(words).encode())
        if samples.repeatable:
            return cls(key, cache_folder())
        private = cls(uuid4().hex, cache_folder())
        weakref.finalize(private, _remove, private._folder, os.getpid())
        return private

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
        """Store a block of rows, replacing a damaged file. If a write fails, nothing is stored."""
        arrays = {
            part: array
            for name, column in cells.items()
            for part, array in _arrays(name.encode().hex(), column)
        }
        temporary = self._folder / f"{UNFINISHED}{uuid4().hex}"
        with suppress(OSError):
            try:
                array_file.write(temporary, self._key_of(start, stop), arrays)
                temporary.replace(self._path(start, stop))
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


def _make_room(folder: Path, keep: Path) -> None:
    """Remove the least recently used views except `keep`, until the blocks are within `SHARE`."""
    views = sorted((p for p in folder.iterdir() if p.is_dir()), key=_last_used)
    sizes = {view: _size(view) for view in views}
    limit = SHARE * (shutil.disk_usage(folder).free + sum(sizes.values()))
    for view in views:
        if sum(sizes.values()) <= limit:
            return
        if view != keep:
            shutil.rmtree(view, ignore_errors=True)
            sizes[view] = 0


def _clear(folder: Path) -> None:
    """Remove unfinished files of processes that were killed."""
    for file in folder.glob(f"{UNFINISHED}*"):
        if time.time() - _last_used(file) > ABANDONED:
            file.unlink(missing_ok=True)


def _last_used(path: Path) -> float:
    """Return the time at which a file or folder was last used, or 0 if the path does not exist."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _size(folder: Path) -> int:
    """Return the size of all files in a folder, ignoring files that are removed meanwhile."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.stat(os.path.join(parent, name)).st_size
    return total
