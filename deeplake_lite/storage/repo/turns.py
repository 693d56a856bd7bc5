"""Locks of a folder that writers get in the order in which they ask.

Whoever wants a lock draws a ticket: a file that sorts by time and that its owner keeps locked for
as long as it waits and works. It waits for the last ticket before its own, and then for the one
before that, until there is none. The operating system drops the locks of a process that dies, so
the next in line goes on at once. Tickets only decide the order; the lock itself keeps writers
apart, whatever the clock does.
"""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING
from uuid import uuid4

from deeplake_lite.storage.repo.locks import file_lock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextlib.contextmanager
def lock_in_turn(folder: Path, purpose: str) -> Iterator[None]:
    """Hold the lock ``<purpose>.lock`` of a folder, after all who asked for it before.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder, lock_in_turn(Path(folder), "commit"):
    ...     sorted(path.suffix for path in Path(folder).iterdir())
    ['.lock', '.ticket']
    """
    mine = folder / f"{purpose}-{time.time_ns():020d}-{uuid4().hex[:8]}.ticket"
    with _locked(mine):
        _await_earlier(mine, purpose)
        with file_lock(folder / f"{purpose}.lock"):
            yield


def tickets(folder: Path, purpose: str) -> list[Path]:
    """Return the tickets for a lock, the oldest first, also those of writers that died."""
    return sorted(folder.glob(f"{purpose}-*.ticket"))


def _await_earlier(mine: Path, purpose: str) -> None:
    """Wait until there is no ticket before `mine`; those of writers that died are removed."""
    while earlier := [ticket for ticket in tickets(mine.parent, purpose) if ticket < mine]:
        with _locked(earlier[-1]):
            pass


@contextlib.contextmanager
def _locked(ticket: Path) -> Iterator[None]:
    """Hold the lock of a ticket, and remove it at the end."""
    with file_lock(ticket):
        try:
            yield
        finally:
            with contextlib.suppress(OSError):  # one that stays is removed by the next in line
                ticket.unlink()
