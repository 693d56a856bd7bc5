"""Threads that read: few where the store answers at once, many where each answer takes its time."""

from __future__ import annotations

import threading
import time
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from deeplake_lite.errors import LoaderError

if TYPE_CHECKING:
    from collections.abc import Callable

CLOSED = (
    "A loader that was closed makes no more batches of that epoch. Begin another: iter(loader)."
)
"""Message of the error that an epoch under way ends with."""

LEAST, MOST = 2, 32
"""Reads at a time."""

LOCAL_SECONDS = 0.02
"""A read that takes no longer leaves nothing to be won: more at a time are slower on a disk."""


class Readers:
    """Runs reads in the order in which they come, as many at a time as their latency suggests."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(MOST, thread_name_prefix="deeplake-lite-read")
        self._gate = threading.Condition()
        self._waiting: deque[object] = deque()
        self._running, self.width = 0, LEAST
        self._closed = False

    def submit[T](self, read: Callable[..., T], *args: object) -> Future[T]:
        """Run a read as soon as its turn has come. Raises RuntimeError once they are closed."""
        return self._pool.submit(self._run, read, *args)

    def close(self) -> None:
        """Drop what has not begun, also what waits for its turn."""
        with self._gate:
            self._closed = True
            self._gate.notify_all()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _run[T](self, read: Callable[..., T], *args: object) -> T:
        turn = object()
        with self._gate:
            self._waiting.append(turn)
            self._gate.wait_for(lambda: self._closed or self._is_next(turn))
            self._waiting.remove(turn)
            if self._closed:
                raise LoaderError(CLOSED)
            self._running += 1
            self._gate.notify_all()
        started = time.perf_counter()
        try:
            return read(*args)
        finally:
            took = time.perf_counter() - started
            with self._gate:
                self._running -= 1
                self.width = width_for(took, self.width)
                self._gate.notify_all()

    def _is_next(self, turn: object) -> bool:
        return self._running < self.width and self._waiting[0] is turn


def width_for(seconds: float, width: int) -> int:
    """Return how many reads to run at a time after one took so long: towards a 2.5th per ms.

    >>> width_for(0.002, 2), width_for(0.06, 2), width_for(0.001, 16)
    (2, 24, 12)
    """
    wanted = LEAST if seconds < LOCAL_SECONDS else min(MOST, int(seconds * 1000 / 2.5))
    return wanted if wanted > width else max(wanted, width * 3 // 4, LEAST)
