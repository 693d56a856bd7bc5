"""A thread pool that is safe from Ctrl-C at any time.

`concurrent.futures` is not safe, because it acquires its locks in Python code (see `outcome`).
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
    """A function call in a thread of the pool, and its outcome, for which another thread waits."""

    def __init__(self, work: Callable[[], T]) -> None:
        super().__init__()
        self._work: Callable[[], T] | None = work

    def cancel(self) -> None:
        """Cancel the function call, unless it has begun."""
        self._work = None

    def do(self) -> None:
        """Call the function in this thread, and set the outcome."""
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
    """Threads that run jobs concurrently, and start them in the order of submission.

    Parameters
    ----------
    threads : int
        Maximum number of threads. They are started when jobs are submitted.

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
        self._reset()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Let the threads end after they have finished all submitted jobs."""
        for _ in range(self._started):
            self._jobs.put(None)

    def submit[**P, T](self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Job[T]:
        """Submit a function call to the threads, and return the job."""
        if self._process != os.getpid():  # threads do not survive a fork
            self._reset()
        job = Job(partial(work, *args, **kwargs))
        self._jobs.put(job)
        if self._started < self.threads:
            # Do not use `threading.Thread`: it waits for its start in Python code while it holds a
            # lock, which an interrupt would leave locked. Increase the count afterwards, so that an
            # interrupt in between costs an extra thread rather than a job.
            _thread.start_new_thread(_run_jobs, (self._jobs,))
            self._started += 1
        return job

    def map[A, B](self, work: Callable[[A], B], items: Iterable[A]) -> list[B]:
        """Return the results of calling `work` with each item. An error cancels waiting calls."""
        jobs: list[Job[B]] = []
        try:
            jobs.extend(self.submit(work, item) for item in items)
            return [job.result() for job in jobs]
        finally:
            for job in jobs:
                job.cancel()

    def _reset(self) -> None:
        """Begin with no threads and no jobs, in a new pool or after a fork."""
        self._process, self._started = os.getpid(), 0
        self._jobs: SimpleQueue[Job[Any] | None] = SimpleQueue()


_RUNNING = set[Job[Any]]()
"""Running jobs, for which the process waits before it exits."""

_EXITING = Event()
"""Set when the process exits, so that no more jobs are started."""

if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_RUNNING.clear)


def _run_jobs(jobs: SimpleQueue[Job[Any] | None]) -> None:
    while (job := jobs.get()) is not None and not _EXITING.is_set():
        _RUNNING.add(job)
        job.do()
        _RUNNING.discard(job)
        del job  # so that its result can be freed while this thread waits for the next job


@atexit.register
def _finish_jobs() -> None:
    # These threads are daemons, which the interpreter would stop even in the middle of a write.
    _EXITING.set()
    for job in list(_RUNNING):
        job.wait()
