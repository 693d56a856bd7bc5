"""Run coroutines from synchronous code, and run several coroutines at the same time.

Icechunk is asynchronous, but users' code is not. Coroutines run in one event loop in a separate
thread (see `loop`), and the calling thread waits for the result. The difficult part is Ctrl-C, for
which Python raises an exception at any point in the calling thread. The coroutine must then be
cancelled and must end before the call returns, or it would keep writing in the background without
the user's knowledge.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from deeplake_lite.outcome import Outcome
from deeplake_lite.storage.repo.failures import translate_errors
from deeplake_lite.storage.repo.forks import use_engine
from deeplake_lite.storage.repo.loop import event_loop

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Coroutine, Iterable

type Work[T] = Coroutine[Any, Any, T]
"""A coroutine that this library's event loop can run."""

MAX_IGNORED_INTERRUPTS = 3
"""After this many interrupts during `Running.stop`, the coroutine is left running."""


def run[T](work: Work[T]) -> T:
    """Run a coroutine and wait for its result. Errors of Icechunk become errors of this library.

    If the wait is interrupted, for example by Ctrl-C, the coroutine is cancelled, and it has ended
    by the time KeyboardInterrupt is raised.

    Raises
    ------
    DamagedError
        When an object that a version refers to is missing.
    StorageError
        When a request to the store fails: disk full, no permission, no network.
    ForkedError
        When this process was forked from a process that had used Icechunk.
    """
    running = start(work)
    try:
        return running.result()
    except BaseException:
        running.stop()
        raise
    finally:
        # The traceback of an error refers to this frame, and `running` to the error. Without this
        # line, both would live until the garbage collector finds the cycle.
        del running


def start[T](work: Work[T]) -> Running[T]:
    """Start a coroutine. The caller must call either `result` or `stop` of the returned object."""
    running = Running(work)
    try:
        running.begin()
    except BaseException:
        running.stop()
        raise
    return running


class Running[T]:
    """A coroutine that runs in the event loop while another thread waits for its result.

    Parameters
    ----------
    work : coroutine
        The coroutine.
    """

    def __init__(self, work: Work[T]) -> None:
        self._work = work
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[T] | None = None
        self._is_cancelled = False
        self._outcome = Outcome[T]()

    def begin(self) -> None:
        """Start the coroutine in the event loop. Raises ForkedError, as `run` does."""
        use_engine()
        self._loop = event_loop()
        self._loop.call_soon_threadsafe(self._begin)

    def result(self) -> T:
        """Wait for the result and return it. Raises the same errors as `run`."""
        try:
            with translate_errors():
                return self._outcome.result()
        finally:
            del self  # as in `run`

    def stop(self) -> None:
        """Cancel the coroutine unless it has ended, and wait until it has ended.

        Interrupts are ignored here, because usually an earlier interrupt is the reason to stop.
        After `MAX_IGNORED_INTERRUPTS` interrupts, the user gets the prompt back, and the coroutine
        is left running.
        """
        if self._loop is None:
            self._work.close()
            return
        ignored = 0
        while not self._outcome.is_given:
            try:
                self._loop.call_soon_threadsafe(self._cancel)
                self._outcome.wait()
            except KeyboardInterrupt:
                ignored += 1
                if ignored == MAX_IGNORED_INTERRUPTS:
                    raise

    # ---- in the event loop

    def _begin(self) -> None:
        if not self._outcome.is_given:
            self._task = asyncio.ensure_future(self._work)
            self._task.add_done_callback(self._end)

    def _cancel(self) -> None:
        if self._outcome.is_given or self._is_cancelled:
            return
        self._is_cancelled = True
        if self._task is not None:
            self._task.cancel()
        else:  # an interrupt came before `_begin` ran
            self._work.close()
            self._outcome.fail(asyncio.CancelledError())

    def _end(self, task: asyncio.Task[T]) -> None:
        # Drop the task in this thread, since its deletion runs callbacks. If it were deleted in the
        # main thread, an interrupt during a callback would be lost: Python only prints errors that
        # callbacks raise.
        self._task = None
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if error is None:
            self._outcome.give(task.result())
        else:
            self._outcome.fail(error)


async def in_thread[T](
    work: Callable[..., T], *arguments: object, stop: threading.Event | None = None
) -> T:
    """Call `work` in a thread. If the task is cancelled, wait until the call has returned.

    A thread cannot be cancelled. Without the wait, the thread would outlive the call that started
    it, and an interrupted edit would go on writing.

    Parameters
    ----------
    stop : Event, optional
        Set when the task is cancelled, so that `work` can check it and return early.
    """
    running = asyncio.ensure_future(asyncio.to_thread(work, *arguments))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        if stop is not None:
            stop.set()
        await asyncio.gather(running, return_exceptions=True)
        raise


async def gather[T](work: Iterable[Work[T]]) -> list[T]:
    """Run coroutines concurrently, and return their results.

    Tasks start eagerly, so a task that finds its data in a cache ends immediately, without going
    through the event loop. If a task fails, all other tasks are still awaited, so that none of them
    runs after the error is raised.
    """
    loop = asyncio.get_running_loop()
    tasks = [asyncio.Task(coroutine, loop=loop, eager_start=True) for coroutine in work]
    if not all(task.done() for task in tasks):
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in tasks:
        if not task.cancelled():
            task.exception()  # asyncio logs each exception that was never retrieved
    return [task.result() for task in tasks]


async def stream(work: Iterable[Work[None]], most: int) -> None:
    """Run coroutines, at most `most` at a time. As soon as a coroutine ends, the next one starts.

    Tasks start eagerly, as in `gather`. If a task fails, all running tasks are cancelled and
    awaited.
    """
    loop, running = asyncio.get_running_loop(), set[asyncio.Task[None]]()
    try:
        for coroutine in work:
            task = asyncio.Task(coroutine, loop=loop, eager_start=True)
            if task.done():
                task.result()
                continue
            running.add(task)
            if len(running) == most:
                done, running = await asyncio.wait(running, return_when="FIRST_COMPLETED")
                await asyncio.gather(*done)
        if running:
            await asyncio.gather(*running)
    finally:
        if running:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
