"""Reader threads, which are few if the store responds quickly, and many if its latency is high."""

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
    "The loader was closed, so this epoch has no more batches. Start another epoch with "
    "iter(loader)."
)
"""Message of the error that ends a running epoch when its loader is closed."""

LEAST, MOST = 2, 32
"""Minimum and maximum number of concurrent reads."""

LOCAL_SECONDS = 0.02
"""Maximum latency of a local disk. With a local disk, more concurrent reads do not help, and may
hurt."""

LOCAL_RATE = 400e6
"""Speed of a local disk in bytes per second. Time at this speed does not count as latency."""


class Readers:
    """Runs reads in submission order. The higher the latency, the more reads run concurrently."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(MOST, thread_name_prefix="deeplake-lite-read")
        self._lock = threading.Lock()
        self._waiting: deque[tuple[Future[Any], Callable[[], object], float]] = deque()
        self._running, self.width = 0, LEAST
        self._closed = False

    def submit[T](self, read: Callable[..., T], *args: object, nbytes: float = 0) -> Future[T]:
        """Queue a read of about `nbytes` bytes, and return its future.

        Raises RuntimeError after `close`.
        """
        future: Future[T] = Future()
        with self._lock:
            if self._closed:
                raise RuntimeError(CLOSED)
            self._waiting.append((future, partial(read, *args), nbytes / LOCAL_RATE))
            self._start()
        return future

    def close(self) -> None:
        """Cancel the reads that have not begun. Running reads finish."""
        with self._lock:
            self._closed = True
            dropped, self._waiting = self._waiting, deque()
        for future, _, _ in dropped:
            if future.set_running_or_notify_cancel():
                future.set_exception(LoaderError(CLOSED))
        self._pool.shutdown(wait=False)

    def _start(self) -> None:
        """Start queued reads until `width` reads are running."""
        while self._waiting and self._running < self.width:
            future, read, usual = self._waiting.popleft()
            if future.set_running_or_notify_cancel():
                self._running += 1
                self._pool.submit(self._run, future, read, usual)

    def _run(self, future: Future[object], read: Callable[[], object], usual: float) -> None:
        started = time.perf_counter()
        try:
            rows = read()
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(rows)
        took = time.perf_counter() - started - usual
        with self._lock:
            self._running -= 1
            self.width = width_for(took, self.width)
            if not self._closed:
                self._start()


def width_for(seconds: float, width: int) -> int:
    """Return the number of reads to run concurrently, given the latency of the last read.

    `width` is the number of reads that have been allowed so far.

    The number rises immediately, to one read per 2.5 ms of latency, and falls slowly, by a quarter
    per read.

    >>> width_for(0.002, 2), width_for(0.06, 2), width_for(0.001, 16)
    (2, 24, 12)
    """
    target = LEAST if seconds < LOCAL_SECONDS else min(MOST, int(seconds * 1000 / 2.5))
    return target if target > width else max(target, width * 3 // 4, LEAST)
