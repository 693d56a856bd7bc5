"""Detect forked processes in which Icechunk cannot work.

When a process that has used Icechunk is forked, Icechunk's threads are not copied to the new
process, so a call to Icechunk there would wait for these threads forever.
"""

from __future__ import annotations

import os

from deeplake_lite.errors import ForkedError

_used = False
"""Whether this process, or a process that it was forked from, has called Icechunk."""

_lost = False
"""Whether Icechunk's threads exist only in the process that this one was forked from."""


def use_engine() -> None:
    """Record that Icechunk is about to be called.

    Raises
    ------
    ForkedError
        If this process was forked from a process that had called Icechunk.
    """
    global _used
    if _lost:
        raise ForkedError(
            f"Process {os.getpid()} cannot use lakes, because it was forked from a process that "
            "has used a lake, and the threads of the storage engine are not copied to a forked "
            "process. Start processes with "
            'multiprocessing.get_context("spawn") or "forkserver", for example '
            'DataLoader(…, multiprocessing_context="forkserver").'
        )
    _used = True


def engine_is_lost() -> bool:
    """Return whether `use_engine` would raise."""
    return _lost


def _after_fork() -> None:
    global _lost
    _lost = _used


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_after_fork)
