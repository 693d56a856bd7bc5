"""Fair locks, which writers get in the order in which they asked for them.

A plain file lock goes to the first process that happens to try, so under load some writers would
wait forever. Therefore each writer first draws a ticket, a file whose name begins with the time,
and keeps it locked until it has the lock::

    commit.lock                     held by A, whose ticket is gone
    commit-00000000001791….ticket   locked by B, which waits for commit.lock
    commit-00000000001792….ticket   locked by C, which waits for the ticket of B
    commit-line.lock                held for a moment to draw or list tickets

A writer waits for the ticket just before its own. If that ticket disappears, because its owner has
the lock or has died, the writer looks again, until no earlier ticket is left. Then the writer waits
for the lock itself. The operating system releases the locks of a process that dies, so the next
writer in line continues immediately and removes the dead writer's ticket. Tickets are drawn and
listed under a lock of their own, so that no process sees a ticket that its owner has not locked yet
and assumes that the owner is dead.

Tickets only decide the order. If a clock is set back, a writer may be served out of turn, but the
lock still excludes other writers.
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING
from uuid import uuid4

from deeplake_lite.storage.repo.locks import take_lock

if TYPE_CHECKING:
    from io import FileIO
    from pathlib import Path


def lock_in_turn(folder: Path, purpose: str) -> FileIO:
    """Acquire the lock ``<purpose>.lock`` of a folder, after all writers that asked earlier.

    The lock is held until the returned file is closed.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder, lock_in_turn(Path(folder), "commit"):
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['commit-line.lock', 'commit.lock']
    """
    with _draw_ticket(folder, purpose) as ticket:
        own_ticket = folder / str(ticket.name)
        try:
            _await_earlier(own_ticket, purpose)
            # Not stored in a variable: a traceback could keep the frame, and with it the lock.
            return take_lock(folder / f"{purpose}.lock")
        finally:
            _remove(own_ticket)


def tickets(folder: Path, purpose: str) -> list[Path]:
    """Return the tickets of the waiting writers, the first in line first."""
    with _lock_line(folder, purpose):
        # An interrupt within `Path.glob` would leave its directory open.
        names = [name for name in os.listdir(folder) if name.endswith(".ticket")]
        return sorted(folder / name for name in names if name.startswith(f"{purpose}-"))


def _draw_ticket(folder: Path, purpose: str) -> FileIO:
    """Create and lock a ticket that comes after all existing tickets."""
    with _lock_line(folder, purpose):
        name = f"{purpose}-{time.time_ns():020d}-{uuid4().hex[:8]}.ticket"
        return take_lock(folder / name)


def _lock_line(folder: Path, purpose: str) -> FileIO:
    """Acquire the lock under which tickets are drawn and listed."""
    return take_lock(folder / f"{purpose}-line.lock")


def _await_earlier(own_ticket: Path, purpose: str) -> None:
    """Wait until there is no ticket before `own_ticket`, and remove the tickets of dead writers."""
    while earlier := [
        ticket for ticket in tickets(own_ticket.parent, purpose) if ticket < own_ticket
    ]:
        with contextlib.suppress(FileNotFoundError), take_lock(earlier[-1], create=False):
            _remove(earlier[-1])


def _remove(ticket: Path) -> None:
    """Remove a ticket. If that fails, the next writer in line removes it."""
    with contextlib.suppress(OSError):
        ticket.unlink()
