"""Locks that are files: the operating system drops those of a process that dies."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from filelock import BaseFileLock

POLL_SECONDS = 0.01
"""How often whoever waits looks whether a lock is free."""


def file_lock(path: Path, *, timeout: float = -1, thread_local: bool = True) -> BaseFileLock:
    """Return the lock at `path`; taking it raises TimeoutError when somebody else keeps it.

    The package takes 30 ms to import, which those who only read need not spend.
    """
    from filelock import FileLock

    return FileLock(path, timeout, thread_local=thread_local, poll_interval=POLL_SECONDS)
