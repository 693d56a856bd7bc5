"""Whether the engine works in this process: it does not in a fork of one that had used it.

Its threads do not survive a fork, and whoever waited for them would wait for ever.
"""

from __future__ import annotations

import os

from deeplake_lite.errors import ForkedError

_used = False
"""Whether this process, or one that it is a fork of, has called the engine."""

_lost = False
"""Whether the engine's threads stayed behind in the process that this one is a fork of."""


def use_engine() -> None:
    """Note that the engine is called now.

    Raises
    ------
    ForkedError
        When this process is a fork of one that had called it.
    """
    global _used
    if _lost:
        raise ForkedError(
            "A process forked from one that has used a lake cannot use lakes: the engine's threads "
            f"stay behind, got process {os.getpid()}. Start processes with "
            'multiprocessing.get_context("spawn") or "forkserver", such as '
            'DataLoader(…, multiprocessing_context="forkserver").'
        )
    _used = True


def engine_is_lost() -> bool:
    """Tell whether `use_engine` would raise."""
    return _lost


def _after_fork() -> None:
    global _lost
    _lost = _used


if hasattr(os, "register_at_fork"):  # Windows has none
    os.register_at_fork(after_in_child=_after_fork)
