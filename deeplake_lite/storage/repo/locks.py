"""File locks, which the operating system releases if their process dies.

A lock is an open file, and is held until the file is closed. The interpreter closes a file at the
end of a ``with`` block, or when the last reference to it is gone, without running any Python code.
Ctrl-C takes effect either before or after that, and the lock is released in both cases. In
contrast, `filelock.FileLock` releases locks in Python code. An interrupt within that code would
leave the lock held as long as the traceback lives, and notebooks keep the last traceback.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import time
import weakref
from io import FileIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

POLL_SECONDS = 0.01
"""Seconds between two attempts to acquire a lock."""

_TAKEN = (errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK, errno.EDEADLK)
"""The operating system's error numbers when another process holds the lock."""

_HELD: dict[int, weakref.ref[FileIO]] = {}
"""A dict from file descriptor to lock, of all locks of this process, including closed locks."""


def take_lock(path: Path, *, timeout: float = -1, create: bool = True) -> FileIO:
    """Acquire the lock at `path`. The lock is held until the returned file is closed.

    Parameters
    ----------
    timeout : float
        Maximum number of seconds to wait. A negative number means to wait without limit.
    create : bool
        Whether to create the file if there is none.

    Raises
    ------
    FileNotFoundError
        When the file does not exist and `create` is false.
    TimeoutError
        When another process still holds the lock after `timeout` seconds.
    OSError
        When the file cannot be opened, or its file system does not support locks.
    """
    deadline = time.monotonic() + timeout
    while (file := _try_lock(path, "a+" if create else "r+")) is None:
        if timeout >= 0 and time.monotonic() >= deadline:
            raise TimeoutError(f"Another process holds the lock {str(path)!r}. Try again later.")
        time.sleep(POLL_SECONDS)
    return file


def remove_files(folder: Path) -> None:
    """Remove the files in a folder, as far as that is possible."""
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            with contextlib.suppress(OSError):
                (folder / name).unlink()


def _try_lock(path: Path, mode: str) -> FileIO | None:
    file = FileIO(path, mode, opener=_open)
    try:
        # A file that was removed between opening and locking no longer has a name, so no other
        # process would see this lock. The caller then tries again.
        if _lock(file.fileno()) and os.fstat(file.fileno()).st_nlink:
            _HELD[file.fileno()] = weakref.ref(file)
            return file
    except BaseException:
        file.close()
        raise
    file.close()
    return None


def _open(name: str, flags: int) -> int:
    return os.open(name, flags | getattr(os, "O_NOFOLLOW", 0), 0o644)


def _lock(descriptor: int) -> bool:
    """Try to lock an open file. Return false if another process has locked it."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _TAKEN:
            return False
        raise
    return True


def _close_copies() -> None:
    """Close the locks that a forked process has inherited, so that it does not hold them, too."""
    for held in list(_HELD.values()):
        if (file := held()) is not None:
            file.close()
    _HELD.clear()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_close_copies)
