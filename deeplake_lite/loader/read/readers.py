"""Threads that read: few where the store answers at once, many where each answer takes its time."""

from __future__ import annotations

import threading
import time
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

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

LOCAL_RATE = 400e6
"""Bytes per second that a disk gives: what they take at that rate is no latency."""


class Readers:
    """Runs reads in the order in which they come, as many at a time as their latency suggests."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(MOST, thread_name_prefix="deeplake-lite-read")
        self._lock = threading.Lock()
        self._waiting: deque[tuple[Future[Any], Callable[[], Any], float]] = deque()
        self._running, self.width = 0, LEAST
        self._closed = False

    def submit[T](self, read: Callable[..., T], *args: object, nbytes: float = 0) -> Future[T]:
        """Run a read of about `nbytes` as soon as its turn has come.

        Raises RuntimeError once they are closed.
        """
        future: Future[T] = Future()
        with self._lock:
            if self._closed:
                raise RuntimeError(CLOSED)
            self._waiting.append((future, partial(read, *args), nbytes / LOCAL_RATE))
            self._start()
        return future

    def close(self) -> None:
        """Drop what has not begun."""
        with self._lock:
            self._closed = True
            dropped, self._waiting = self._waiting, deque()
        for future, _, _ in dropped:
            if future.set_running_or_notify_cancel():
                future.set_exception(LoaderError(CLOSED))
        self._pool.shutdown(wait=False)

    def _start(self) -> None:
        """Give threads as many reads as may run: a thread for each that waits is too many."""
        while self._waiting and self._running < self.width:
            future, read, usual = self._waiting.popleft()
            if future.set_running_or_notify_cancel():
                self._running += 1
                self._pool.submit(self._run, future, read, usual)

    def _run(self, future: Future[Any], read: Callable[[], Any], usual: float) -> None:
        started = time.perf_counter()
        try:
            found = read()
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(found)
        took = time.perf_counter() - started - usual
        with self._lock:
            self._running -= 1
            self.width = width_for(took, self.width)
            if not self._closed:
                self._start()


def width_for(seconds: float, width: int) -> int:
    """Return how many reads to run at a time after one took so long: towards a 2.5th per ms.

    >>> width_for(0.002, 2), width_for(0.06, 2), width_for(0.001, 16)
    (2, 24, 12)
    """
    wanted = LEAST if seconds < LOCAL_SECONDS else min(MOST, int(seconds * 1000 / 2.5))
    return wanted if wanted > width else max(wanted, width * 3 // 4, LEAST)
