"""Locks that are files: the operating system drops those of a process that dies.

A lock is an open file, and is held until that is closed. The interpreter closes a file at the end
of a ``with`` block, and when nobody refers to it, without running Python code, so that Ctrl-C comes
before or after, but never instead. `filelock.FileLock` releases in Python code: an interrupt in it
leaves the lock held for as long as somebody keeps the traceback, as notebooks do.
"""

from __future__ import annotations

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
"""How often whoever waits looks whether a lock is free."""

_TAKEN = (errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK, errno.EDEADLK)
"""What the operating system says of a lock that somebody else has."""

_HELD: dict[int, weakref.ref[FileIO]] = {}
"""Locks of this process by file descriptor, some of which are closed by now."""


def take_lock(path: Path, *, timeout: float = -1, create: bool = True) -> FileIO:
    """Take the lock at `path`, which is held until the file that this returns is closed.

    Parameters
    ----------
    timeout : float
        Seconds to wait at the most; less than 0 for as long as it takes.
    create : bool
        Whether to make the file where there is none.

    Raises
    ------
    FileNotFoundError
        When there is no file, and none is to be made.
    TimeoutError
        When somebody else keeps it.
    OSError
        When the file cannot be opened, or does not take locks.
    """
    deadline = time.monotonic() + timeout
    while (file := _try_lock(path, "a+" if create else "r+")) is None:
        if timeout >= 0 and time.monotonic() >= deadline:
            raise TimeoutError(f"Somebody else has the lock {str(path)!r}. Try again later.")
        time.sleep(POLL_SECONDS)
    return file


def _try_lock(path: Path, mode: str) -> FileIO | None:
    file = FileIO(path, mode, opener=_open)
    try:
        if _lock(file.fileno()) and os.fstat(file.fileno()).st_nlink:  # or it was removed meanwhile
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
    """Lock an open file unless somebody else has; tell whether it is locked."""
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
    """Close a fork's copies of locks, which would hold them for as long as the fork lives."""
    for held in list(_HELD.values()):
        if (file := held()) is not None:
            file.close()
    _HELD.clear()


if hasattr(os, "register_at_fork"):  # Windows has none
    os.register_at_fork(after_in_child=_close_copies)
