"""Threads that do work for whoever waits for it, safe from Ctrl-C at any moment.

`concurrent.futures` takes its locks in Python code; see `outcome`.
"""

from __future__ import annotations

import _thread
import atexit
import os
from functools import partial
from queue import SimpleQueue
from threading import Event
from typing import TYPE_CHECKING, Any, Self

from deeplake_lite.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class Job[T](Outcome[T]):
    """Work that a thread does, and what becomes of it. One thread waits for it."""

    def __init__(self, work: Callable[[], T]) -> None:
        super().__init__()
        self._work: Callable[[], T] | None = work

    def cancel(self) -> None:
        """Leave the work out, unless it has begun."""
        self._work = None

    def do(self) -> None:
        """Do the work in this thread."""
        work, self._work = self._work, None
        if work is None:
            return
        try:
            value = work()
        except BaseException as error:
            self.fail(error)
        else:
            self.give(value)


class Pool:
    """Threads that do jobs in the order in which they are handed in, several at a time.

    Parameters
    ----------
    threads : int
        How many there are at the most; they begin when there is work.

    Examples
    --------
    >>> with Pool(2) as pool:
    ...     pool.submit(max, 3, 5).result()
    ...     pool.map(str, [1, 2])
    5
    ['1', '2']
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._begin()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Let the threads end when they have done what was handed in."""
        for _ in range(self._begun):
            self._jobs.put(None)

    def submit[**P, T](self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Job[T]:
        """Have a thread call a function."""
        if self._process != os.getpid():  # threads do not live on in a fork
            self._begin()
        job = Job(partial(work, *args, **kwargs))
        self._jobs.put(job)
        if self._begun < self.threads:
            # `threading.Thread` would wait for its start with a lock taken in Python code. It is
            # counted once it has begun: an interrupt between the two makes one thread too many.
            _thread.start_new_thread(_serve, (self._jobs,))
            self._begun += 1
        return job

    def map[A, B](self, work: Callable[[A], B], items: Iterable[A]) -> list[B]:
        """Return what a function gives for each item. After an error, the rest is left out."""
        jobs: list[Job[B]] = []
        try:
            jobs.extend(self.submit(work, item) for item in items)
            return [job.result() for job in jobs]
        finally:
            for job in jobs:
                job.cancel()

    def _begin(self) -> None:
        self._process, self._begun = os.getpid(), 0
        self._jobs: SimpleQueue[Job[Any] | None] = SimpleQueue()


_UNDER_WAY = set[Job[Any]]()
"""What threads are doing: the process does not end in the middle of it."""

_ENDING = Event()
"""The process ends: nothing is begun any more."""

if hasattr(os, "register_at_fork"):  # Windows has none
    os.register_at_fork(after_in_child=_UNDER_WAY.clear)


def _serve(jobs: SimpleQueue[Job[Any] | None]) -> None:
    while (job := jobs.get()) is not None and not _ENDING.is_set():
        _UNDER_WAY.add(job)
        job.do()
        _UNDER_WAY.discard(job)
        del job  # and what it gave, while this waits for the next


@atexit.register
def _end() -> None:
    _ENDING.set()
    for job in list(_UNDER_WAY):
        job.wait()
