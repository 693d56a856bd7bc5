"""Locks of a folder that writers get in the order in which they ask.

Whoever wants a lock draws a ticket: a file that sorts by time and that its owner keeps locked until
it has the lock. Tickets are drawn and looked for under a lock of their own, so that nobody sees one
that its owner has yet to lock. The owner waits for the last ticket before its own, and then for the
one before that, until there is none; then it waits for the lock itself. The operating system drops
the locks of a process that dies, so the next in line goes on at once. Tickets only decide the
order; the lock keeps writers apart, whatever the clock does.
"""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING
from uuid import uuid4

from deeplake_lite.storage.repo.locks import take_lock

if TYPE_CHECKING:
    from io import FileIO
    from pathlib import Path


def lock_in_turn(folder: Path, purpose: str) -> FileIO:
    """Take the lock ``<purpose>.lock`` of a folder, after all who asked for it before.

    It is held until the file that this returns is closed.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder, lock_in_turn(Path(folder), "commit"):
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['commit-line.lock', 'commit.lock']
    """
    with _draw(folder, purpose) as ticket:
        mine = folder / str(ticket.name)
        try:
            _await_earlier(mine, purpose)
            return take_lock(folder / f"{purpose}.lock")  # no variable, which a traceback may keep
        finally:
            _remove(mine)


def tickets(folder: Path, purpose: str) -> list[Path]:
    """Return the tickets of a line, the first in line first."""
    with _line(folder, purpose):
        return sorted(folder.glob(f"{purpose}-*.ticket"))


def _draw(folder: Path, purpose: str) -> FileIO:
    """Make a ticket behind all others, and return it locked."""
    with _line(folder, purpose):
        name = f"{purpose}-{time.time_ns():020d}-{uuid4().hex[:8]}.ticket"
        return take_lock(folder / name)


def _line(folder: Path, purpose: str) -> FileIO:
    """Take the lock under which tickets are drawn and looked for, so that each is seen locked."""
    return take_lock(folder / f"{purpose}-line.lock")


def _await_earlier(mine: Path, purpose: str) -> None:
    """Wait until there is no ticket before `mine`; those of writers that died are removed."""
    while earlier := [ticket for ticket in tickets(mine.parent, purpose) if ticket < mine]:
        with contextlib.suppress(FileNotFoundError), take_lock(earlier[-1], create=False):
            _remove(earlier[-1])


def _remove(ticket: Path) -> None:
    """Remove a ticket; one that stays is removed by the next in line."""
    with contextlib.suppress(OSError):
        ticket.unlink()
