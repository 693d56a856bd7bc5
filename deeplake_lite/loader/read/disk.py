"""Blocks kept as files on this machine, for lakes that are far away: read once, mapped ever after.

There is a folder per view (its fingerprint) and release of the package, and a file per block, which
says what must be in it. When the files take more than half of the free disk, the folders that were
used longest ago are removed. Rows that another process might compute differently have a folder that
is removed with its loader.

A file is compared with its hashes when it is mapped, and again when its inode, size or time of
change is another than then, which is looked at before each use. Not covered are a change within the
same tick of the file system's clock, one by somebody who sets the time back, and one while a batch
is copied: where a file is cut short just then, the system ends the process with SIGBUS.
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
from deeplake_lite.loader.read.block_cells import Bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Self

    from numpy.typing import NDArray

    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.loader.read.block_cells import Block, Held
    from deeplake_lite.loader.read.samples import Samples

SHARE = 0.5
"""Part of what the disk has free, or is taken by blocks already, that blocks may take."""

UNFINISHED = "."
"""What the name of a block begins with while it is written."""

ABANDONED = 3600.0
"""Seconds after which one that is not finished never will be."""


def cache_folder() -> Path:
    """Return where blocks are kept: below ``$XDG_CACHE_HOME``, or ``~/.cache``."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "deeplake_lite" / "blocks"


class Disk:
    """The blocks of one view, as files.

    Parameters
    ----------
    key : str
        What tells the view and its columns from others.
    folder : Path
        Of all views.

    Raises
    ------
    LoaderError
        For a folder that cannot be written.
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
                f"cache='disk' keeps files below {folder}, got {type(error).__name__}: {error}. "
                "Set XDG_CACHE_HOME to a folder that can be written, or take cache='encoded'."
            ) from error

    @classmethod
    def of(cls, samples: Samples) -> Self:
        """Return the place of some columns of a view.

        Another release of this package has other places, as its functions may give other values.
        Rows that another process might compute otherwise have a place of their own, which is
        removed when nobody uses it any more.
        """
        words = [metadata.version("deeplake-lite"), samples.fingerprint, *samples.names]
        key = xxhash.xxh3_128_hexdigest("\0".join(words).encode())
        if samples.repeatable:
            return cls(key, cache_folder())
        own = cls(uuid4().hex, cache_folder())
        weakref.finalize(own, _remove, own._folder, os.getpid())
        return own

    def load(self, start: int, stop: int) -> Block | None:
        """Return a block of rows, mapped; None where it is not kept as it was saved.

        Its bytes are compared with their hashes the first time.
        """
        place = self._place(start, stop)
        try:
            state = _state(place)
            check = self._checked.get(place) != state
            arrays = array_file.read(Path(place), self._name(start, stop), check=check)
        except (OSError, ValueError):
            self._checked.pop(place, None)
            return None
        self._checked[place] = state
        stems = {name.split(".")[0] for name in arrays}
        return {bytes.fromhex(name).decode(): _held(name, arrays) for name in stems}

    def has_changed(self, start: int, stop: int) -> bool:
        """Tell whether the file of a block is another than when it was loaded.

        One that was removed stays mapped as it was.
        """
        place = self._place(start, stop)
        try:
            return self._checked.get(place) not in (None, _state(place))
        except OSError:
            return False

    def save(self, start: int, stop: int, cells: Mapping[str, Cells]) -> None:
        """Keep a block of rows, in place of one that did not load; none where the disk refuses."""
        arrays = {
            part: array
            for name, some in cells.items()
            for part, array in _arrays(name.encode().hex(), some)
        }
        temporary = self._folder / f"{UNFINISHED}{uuid4().hex}"
        with suppress(OSError):
            try:
                array_file.write(temporary, self._name(start, stop), arrays)
                temporary.replace(self._place(start, stop))
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise

    def _place(self, start: int, stop: int) -> str:
        return f"{self._folder}/{start}-{stop}"

    def _name(self, start: int, stop: int) -> str:
        """Return what a block's file says that it is."""
        return f"{self._key} {start}-{stop}"


def _remove(folder: Path, pid: int) -> None:
    """Remove the folder of a loader that is gone; a fork leaves it to the process that made it."""
    if os.getpid() == pid:
        shutil.rmtree(folder, ignore_errors=True)


def _state(file: str) -> tuple[int, ...]:
    """Return what tells a file from one that was changed, or put in its place."""
    found = os.stat(file)
    return found.st_ino, found.st_size, found.st_mtime_ns


def _arrays(name: str, cells: Held | Cells) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the arrays that cells are made of."""
    match cells:
        case RaggedCells():
            yield from _arrays(name, Bytes.of(cells))
            return
        case Bytes(data, starts, shapes):
            yield from ((f"{name}.data", data), (f"{name}.starts", starts))
            yield f"{name}.shapes", shapes
        case DenseCells(values):
            yield f"{name}.values", values
        case NestedCells(counts, items):
            yield f"{name}.counts", counts
            yield from _arrays(f"{name}.items", items)
    if cells.valid is not None:
        yield f"{name}.valid", cells.valid


def _held(name: str, arrays: Mapping[str, NDArray[Any]], *, item: bool = False) -> Any:
    """Return what `_arrays` took apart."""
    valid = arrays.get(f"{name}.valid")
    if f"{name}.data" in arrays:
        data, starts, shapes = (arrays[f"{name}.{part}"] for part in ("data", "starts", "shapes"))
        found = Bytes(data, starts, shapes, valid)
        return found.cells() if item else found
    if f"{name}.values" in arrays:
        return DenseCells(arrays[f"{name}.values"], valid)
    return NestedCells(arrays[f"{name}.counts"], _held(f"{name}.items", arrays, item=True), valid)


def _make_room(folder: Path, own: Path) -> None:
    """Remove other views' blocks, those used longest ago first, while all take too much."""
    views = sorted((p for p in folder.iterdir() if p.is_dir()), key=_last_used)
    sizes = {view: _size(view) for view in views}
    limit = SHARE * (shutil.disk_usage(folder).free + sum(sizes.values()))
    for view in views:
        if sum(sizes.values()) <= limit:
            return
        if view != own:
            shutil.rmtree(view, ignore_errors=True)
            sizes[view] = 0


def _clear(own: Path) -> None:
    """Remove what processes that were killed have begun to write."""
    for begun in own.glob(f"{UNFINISHED}*"):
        if time.time() - _last_used(begun) > ABANDONED:
            begun.unlink(missing_ok=True)


def _last_used(view: Path) -> float:
    """Return when a folder was used; 0 where another process has just removed them."""
    try:
        return view.stat().st_mtime
    except OSError:
        return 0.0


def _size(folder: Path) -> int:
    """Return what the files below a folder take, without those that go meanwhile."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.stat(os.path.join(place, name)).st_size
    return total
