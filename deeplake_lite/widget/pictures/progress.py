"""How far a long answer is, told a few times a second: hosts drop messages that come too fast."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS = 0.05
"""Between two messages, at the least."""


class Progress:
    """Tells the page how far an answer is.

    Parameters
    ----------
    tell : callable
        Sends a message.
    req : int
        The request that is answered.

    Examples
    --------
    >>> progress = Progress(print, 7)
    >>> for done in range(1, 1000):
    ...     progress(done, 1000)
    """

    def __init__(self, tell: Callable[[dict[str, Any]], None], req: Any) -> None:
        self._tell, self._req = tell, req
        self._last = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        """Tell it, unless that was just done; the end is told by the answer itself."""
        now = time.monotonic()
        if done < total and now - self._last >= SECONDS:
            self._last = now
            self._tell({"type": "progress", "req": self._req, "done": done, "total": total})
