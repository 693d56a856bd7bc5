"""Progress messages for long requests, with at least `SECONDS` between two messages.

Notebook front ends drop messages that arrive too fast.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SECONDS = 0.05
"""Minimum time between two messages."""


class Progress:
    """Reports the progress of a request to the page.

    Parameters
    ----------
    notify : callable
        Sends a message.
    req : int
        Number of the request.

    Examples
    --------
    >>> progress = Progress(print, 7)
    >>> for done in range(1, 1000):
    ...     progress(done, 1000)
    """

    def __init__(self, notify: Callable[[Mapping[str, object]], None], req: object) -> None:
        self._notify, self._req = notify, req
        self._last = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        """Send the progress, unless a message was just sent or the work is done."""
        now = time.monotonic()
        if done < total and now - self._last >= SECONDS:
            self._last = now
            self._notify({"type": "progress", "req": self._req, "done": done, "total": total})
