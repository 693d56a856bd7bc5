"""The disk space of cached blocks, which all loaders on a machine share and keep within a limit.

A file with the total size of all blocks is updated under a lock, so that storing a block need not
look at the other blocks. The total is recomputed when a loader is created, and when there seems
to be too little space. A process that is killed leaves a total that is too large, never one that is
too small, because the space for a file is claimed before the file is written, and given back after
it is removed.

If there is too little space, blocks are evicted in this order:

1. blocks of views that no live loader uses, starting with the least recently used view,
2. blocks whose next use is furthest away, provided that the new block is used earlier.

The next use of a block is the earliest one among the live loaders of its view (see `next_uses`), so
a block that one of them is using is never evicted. If every block has one use per epoch, no other
order of eviction has fewer reads (L. A. Belady, A Study of Replacement Algorithms for a
Virtual-Storage Computer, 1966). In an exact shuffle, every block is in use for the whole epoch, so
the blocks that were stored first stay.
"""

from __future__ import annotations

import math
import os
import re
import shutil
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from deeplake_lite.loader.read.next_uses import live_uses
from deeplake_lite.storage.repo.locks import take_lock

if TYPE_CHECKING:
    from io import FileIO
    from pathlib import Path

SHARE = 0.5
"""Default limit, as a share of the free disk space plus the size of all blocks."""

SLACK = 256
"""When blocks are evicted, at least one part in this many of the limit is freed, so that the folder
is rarely searched."""

PATIENCE = 10.0
"""Maximum number of seconds to wait for the lock of the total, which is held for milliseconds."""

LOCK, TOTAL = ".lock", ".total"
"""Names of the file that is locked, and of the file with the total size."""

USED = ".used"
"""Name of a file in the folder of a view. The file was modified when the view was last used."""

UNFINISHED = ".new"
"""Suffix of the name of a block's file while the file is being written."""

_BLOCK = re.compile(r"(\d+)-\d+")
"""Name of a block's file: its first row, and the end of its rows."""

_WIDTH = 20
"""Number of digits of each of the two numbers in the file with the total."""


class _Stored(NamedTuple):
    """A block of any view."""

    path: str
    """The block's file."""
    size: int
    """Size of the file in bytes."""
    rank: tuple[int, float, float]
    """Blocks with a higher rank are evicted first.

    For a block of a view with a live loader, the rank begins with 0 and the number of rows until
    the next use. For other blocks, it begins with 1 and the number of seconds since the view was
    used. It ends with the number of the first row.
    """


class Space:
    """The disk space of the blocks in a folder.

    Parameters
    ----------
    folder : Path
        Folder of the blocks of all views.
    budget : int, optional
        Maximum size of all blocks in bytes. By default, the limit is `SHARE` of the disk space that
        would be free without blocks.
    """

    def __init__(self, folder: Path, budget: int | None = None) -> None:
        self._folder, self._budget = folder, budget
        self._total = folder / TOTAL
        self._written = self._evictions = 0

    def lock(self) -> FileIO:
        """Wait for the lock of the folder, which is held until the returned file is closed."""
        return take_lock(self._folder / LOCK, timeout=PATIENCE)

    def limit(self, total: int) -> int:
        """Return the maximum size of all blocks, given their size now."""
        if self._budget is not None:
            return self._budget
        return int(SHARE * (shutil.disk_usage(self._folder).free + total))

    def holds(self, nbytes: float) -> bool:
        """Return whether files of `nbytes` bytes are within the limit, if there are no others."""
        total = 0
        with suppress(OSError, ValueError):
            total, _ = self._read()
        return nbytes <= self.limit(total)

    def has_room(self, nbytes: int) -> bool:
        """Return whether files of `nbytes` bytes fit, as far as is known without a search."""
        try:
            total, _ = self._read()
            return total + nbytes <= self.limit(total)
        except (OSError, ValueError):
            return False

    def make_room(self, nbytes: int, wait: int) -> bool:
        """Evict blocks so that files of `nbytes` bytes fit. Return whether that is possible.

        Parameters
        ----------
        wait : int
            Number of rows until the new blocks are used. Blocks that are used earlier stay.
        """
        try:
            with self.lock():
                return self._free(nbytes, wait)[1]
        except OSError:
            return False

    def create(self, path: Path, nbytes: int, wait: int) -> bool:
        """Create a file of zeros if it fits, evicting blocks if necessary. Return whether it does.

        Parameters
        ----------
        wait : int
            Number of rows until the new block is used. Blocks that are used earlier stay.
        """
        with self.lock():
            total, fits = self._claim(nbytes, wait)
            if fits:
                self._write(total + nbytes)
                with path.open("xb") as file:
                    file.truncate(nbytes)
            return fits

    def finish(self, temporary: Path, path: Path) -> None:
        """Give a file that `create` has made, and that is now complete, its final name.

        The lock is held meanwhile, because a search might otherwise see neither of the names.
        """
        with self.lock():
            temporary.replace(path)

    def has_evicted(self) -> bool:
        """Return whether any process has evicted blocks since the last call.

        An eviction is noticed later if it happens within the same tick of the file system's clock
        as the last change of the total.
        """
        try:
            written = os.stat(self._total).st_mtime_ns
            if written == self._written:
                return False
            _, evictions = self._read()
        except (OSError, ValueError):
            return False
        changed = evictions != self._evictions
        self._written, self._evictions = written, evictions
        return changed

    def refresh(self) -> None:
        """Compute the total, and evict blocks if they exceed the limit. Needs the lock."""
        self._free(0, 0)

    def _claim(self, nbytes: int, wait: int) -> tuple[int, bool]:
        """Return the total size of the blocks, and whether `nbytes` more bytes fit."""
        with suppress(OSError, ValueError):
            total, _ = self._read()
            if total + nbytes <= self.limit(total):
                return total, True
        return self._free(nbytes, wait)

    def _free(self, nbytes: int, wait: int) -> tuple[int, bool]:
        """Search the folder, and evict blocks if `nbytes` more bytes do not fit.

        Return the total size of the remaining blocks, and whether `nbytes` more bytes fit now.
        """
        blocks, others = _search(self._folder)
        total = others + sum(block.size for block in blocks)
        limit, evicted = self.limit(total), 0
        excess = total + nbytes - limit
        if excess > 0:
            candidates = [b for b in blocks if b.rank > (0, wait, math.inf)]
            target = total - max(excess, limit // SLACK)
            if total - sum(b.size for b in candidates) + nbytes > limit:
                target = limit  # the new files do not fit in any case
            for block in sorted(candidates, key=lambda b: b.rank, reverse=True):
                if total <= target:
                    break
                with suppress(OSError):  # Windows does not remove mapped files
                    os.unlink(block.path)
                    total -= block.size
                    evicted += 1
        self._write(total, evicted)
        return total, total + nbytes <= limit

    def _read(self) -> tuple[int, int]:
        """Return the total size, and the number of evictions so far.

        Raises ValueError if the file is damaged, and OSError if there is none.
        """
        text = self._total.read_bytes()
        return int(text[:_WIDTH]), int(text[_WIDTH:])

    def _write(self, total: int, evicted: int = 0) -> None:
        """Store the total size, and count evictions. Needs the lock."""
        evictions = 0
        with suppress(OSError, ValueError):
            _, evictions = self._read()
        text = f"{total:>{_WIDTH}}{evictions + evicted:>{_WIDTH}}"
        # Overwritten in place and in one piece, because other processes read it without the lock.
        with open(os.open(self._total, os.O_RDWR | os.O_CREAT, 0o644), "r+b", 0) as file:
            file.write(text.encode())


def _search(folder: Path) -> tuple[list[_Stored], int]:
    """Return the blocks in all views, and the size of unfinished files.

    Leftovers of killed processes are removed, and so are the folders of views without blocks.
    """
    blocks: list[_Stored] = []
    others = 0
    for view in sorted(folder.iterdir()):
        if not (view / USED).exists():
            continue
        found, unfinished = _search_view(view)
        blocks += found
        others += unfinished
    return blocks, others


def _search_view(view: Path) -> tuple[list[_Stored], int]:
    """Return the blocks of a view, and the size of its unfinished files."""
    with suppress(OSError):
        files = list(os.scandir(view))
        live = live_uses(view, [file.name for file in files])
        uses = list(live.values())
        idle = time.time() - (view / USED).stat().st_mtime

        def rank(start: int) -> tuple[int, float, float]:
            if not uses:
                return 1, idle, start
            return 0, min(0 if each is None else each.wait(start) for each in uses), start

        blocks = [
            _Stored(file.path, size, rank(int(name[1])))
            for file in files
            if (name := _BLOCK.fullmatch(file.name)) and (size := _size(file)) is not None
        ]
        unfinished = [file for file in files if file.name.endswith(UNFINISHED)]
        dead = [file for file in unfinished if file.name.split(".")[1] not in live]
        for file in dead:
            with suppress(OSError):
                os.unlink(file.path)
        if not uses and not blocks:
            shutil.rmtree(view, ignore_errors=True)
        return blocks, sum(_size(file) or 0 for file in unfinished if file not in dead)
    return [], 0


def _size(file: os.DirEntry[str]) -> int | None:
    """Return the size of a file, or None if it has been removed."""
    with suppress(OSError):
        return os.stat(file.path).st_size
    return None
