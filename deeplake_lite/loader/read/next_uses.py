"""The next uses of cached blocks, which each loader publishes for the other loaders on its machine.

A loader has two files in the folder of its view, named by a random id:

- ``.ID.loader`` is locked while the loader exists. If its process is killed, the operating system
  releases the lock, and the next loader that looks at the folder removes the files.
- ``.ID.uses`` contains 64-bit integers, which are `Uses`. The file is replaced at the start of an
  epoch. Within the epoch, only the loader's position changes. The file is memory-mapped, so that
  updating the position takes no system call.

A torn or outdated number only makes the choice of evicted blocks worse.
"""

from __future__ import annotations

import os
import threading
import weakref
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

import numpy as np

from deeplake_lite.storage.repo.locks import take_lock

if TYPE_CHECKING:
    from collections.abc import Iterable
    from io import FileIO
    from pathlib import Path

    from numpy.typing import NDArray

    from deeplake_lite.loader.order.order import Order, Positions

LOADER, USES = ".loader", ".uses"
"""Suffixes of the names of a loader's two files."""

_HEAD = 4
"""Number of integers before the arrays in a file of uses."""

NEVER = 2**62
"""Number of rows until the next use of a block that is never used."""


@dataclass(frozen=True)
class Uses:
    """When a loader uses each block of its view. Times are counted in rows of the loader's order.

    Examples
    --------
    >>> uses = Uses(10, 30, 12, *(np.array(x) for x in ([0, 20, 10], [10, 30, 20], [5, 15, 0])))
    >>> uses.wait(0), uses.wait(10), uses.wait(20)
    (23, 8, 0)
    """

    rows: int
    """Number of rows in a block."""
    n: int
    """Number of rows in an epoch."""
    done: int
    """Number of rows of this epoch that the loader has finished."""
    begins: Positions
    """When the use of each block begins in this epoch, (blocks,)."""
    ends: Positions
    """When the use of each block ends in this epoch, (blocks,)."""
    begins_next: Positions
    """When the use of each block begins in the next epoch, (blocks,)."""

    @classmethod
    def parse(cls, numbers: NDArray[np.int64]) -> Uses | None:
        """Return the uses in a file, or None if the file is malformed."""
        if len(numbers) < _HEAD:
            return None
        rows, n, done, count = numbers[:_HEAD].tolist()
        if rows < 1 or count < 0 or len(numbers) != _HEAD + 3 * count:
            return None
        return cls(rows, n, done, *numbers[_HEAD:].reshape(3, count))

    def wait(self, start: int) -> int:
        """Return the number of rows until the next use of the block that begins at row `start`.

        The number is 0 for a block that is in use.
        """
        block = start // self.rows
        if not 0 <= block < len(self.ends):
            return NEVER
        if self.done < self.ends[block]:
            return max(0, int(self.begins[block]) - self.done)
        return self.n - self.done + int(self.begins_next[block])


class Publication:
    """The published uses of one loader, which exist until they are garbage-collected.

    Parameters
    ----------
    folder : Path
        Folder of the blocks of the view.
    """

    def __init__(self, folder: Path) -> None:
        self.name = uuid4().hex
        """The random id of the loader."""
        self._path = folder / f".{self.name}{USES}"
        lock = take_lock(folder / f".{self.name}{LOADER}")
        weakref.finalize(self, _withdraw, lock, folder, self.name, os.getpid())
        self._order: Order | None = None
        self._numbers: NDArray[np.int64] | None = None
        self._guard = threading.Lock()

    def follow(self, order: Order, rows: int, done: int, next_order: Order) -> bool:
        """Publish the position in an epoch. Return whether the epoch has just begun.

        Parameters
        ----------
        order, next_order : Order
            Orders of this epoch and of the next epoch.
        rows : int
            Number of rows in a block.
        done : int
            Index in this epoch's order before which rows are no longer needed.
        """
        with self._guard:
            if self._numbers is not None and order is self._order:
                self._numbers[2] = done
                return False
            self._order, self._numbers = order, None  # Windows does not replace a mapped file
            self._numbers = self._write(order, rows, done, next_order)
            return True

    def wait(self, start: int) -> int:
        """Return `Uses.wait` for this loader; 0 before the first epoch."""
        with self._guard:
            uses = None if self._numbers is None else Uses.parse(self._numbers)
        return 0 if uses is None else uses.wait(start)

    def _write(self, order: Order, rows: int, done: int, next_order: Order) -> NDArray[np.int64]:
        """Write a new file of uses. If that fails, return the uses without publishing them."""
        begins, ends = order.uses(rows)
        begins_next, _ = next_order.uses(rows)
        head = [rows, order.n, done, len(ends)]
        numbers = np.concatenate([head, begins, ends, begins_next]).astype(np.int64)
        temporary = self._path.with_name(f"{self._path.name}.new")
        try:
            numbers.tofile(temporary)
            temporary.replace(self._path)
            return np.memmap(self._path, np.int64, "r+")
        except OSError:
            return numbers


def live_uses(folder: Path, names: Iterable[str]) -> dict[str, Uses | None]:
    """Return the uses of the live loaders of a view, by the loader's id, and remove other files.

    The uses of a loader that has not begun an epoch are None.

    Parameters
    ----------
    folder : Path
        Folder of the blocks of the view.
    names : iterable of str
        Names of the files in this folder.
    """
    live: dict[str, Uses | None] = {}
    for name in names:
        if name.startswith(".") and name.endswith(LOADER):
            loader = name[1 : -len(LOADER)]
            if _is_live(folder / name):
                live[loader] = _read(folder / f".{loader}{USES}")
            else:
                _remove(folder, loader)
    return live


def _is_live(path: Path) -> bool:
    """Return whether the process that locked a file still holds the lock."""
    try:
        with take_lock(path, timeout=0, create=False):
            return False
    except FileNotFoundError:
        return False
    except OSError:  # including TimeoutError
        return True


def _read(path: Path) -> Uses | None:
    try:
        return Uses.parse(np.fromfile(path, np.int64))
    except OSError:
        return None


def _withdraw(lock: FileIO, folder: Path, loader: str, pid: int) -> None:
    """Remove the files of a loader. In a fork of the process with id `pid`, do nothing."""
    if os.getpid() == pid:
        _remove(folder, loader)
        lock.close()


def _remove(folder: Path, loader: str) -> None:
    with suppress(OSError):
        for file in folder.glob(f".{loader}.*"):
            file.unlink(missing_ok=True)
