"""Blocks kept as files on this machine, for lakes that are far away: read once, mapped ever after.

One folder per view (its fingerprint), one per block, one ``.npy`` file per array. Folders of other
views go, those used longest ago first, when the files take more than half of what the disk has.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xxhash

from deeplake_lite.errors import LoaderError
from deeplake_lite.htypes.cells import DenseCells, NestedCells, RaggedCells
from deeplake_lite.loader.read.held import Bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.loader.read.held import Block, Held

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
    fingerprint : str
        Of the view.
    folder : Path
        Of all views.
    names : sequence of str
        Columns that a block has.

    Raises
    ------
    LoaderError
        For a folder that cannot be written.
    """

    def __init__(self, fingerprint: str, folder: Path, names: Sequence[str]) -> None:
        self._folder, self._names = folder / fingerprint, {*names}
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
    def of(cls, fingerprint: str, names: Sequence[str]) -> Disk:
        """Return the place of some columns of a view, by its fingerprint."""
        own = xxhash.xxh3_128_hexdigest("\0".join([fingerprint, *names]))
        return cls(own, cache_folder(), names)

    def load(self, block: int) -> Block | None:
        """Return a block, mapped; None where it is not kept."""
        place = self._folder / str(block)
        try:
            arrays = {
                file.stem: np.load(file, mmap_mode="r" if file.stat().st_size > 4096 else None)
                for file in place.iterdir()
            }
            stems = {name.split(".")[0] for name in arrays}
            found = {bytes.fromhex(name).decode(): _held(name, arrays) for name in stems}
        except (OSError, ValueError, EOFError, KeyError):  # not there, or not all of it
            return None
        return found if found.keys() == self._names else None

    def save(self, block: int, cells: Mapping[str, Cells]) -> None:
        """Keep a block, in place of one that did not load; none where the disk refuses."""
        place, temporary = self._folder / str(block), None
        try:
            temporary = Path(tempfile.mkdtemp(dir=self._folder, prefix=UNFINISHED))
            for name, some in cells.items():
                for part, array in _arrays(name.encode().hex(), some):
                    np.save(temporary / f"{part}.npy", array, allow_pickle=False)
            shutil.rmtree(place, ignore_errors=True)
            temporary.rename(place)
        except OSError:
            if temporary is not None:
                shutil.rmtree(temporary, ignore_errors=True)


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
            shutil.rmtree(begun, ignore_errors=True)


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
