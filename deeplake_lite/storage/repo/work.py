"""Asynchronous work: waited for at once or later, and many pieces at the same time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from deeplake_lite.outcome import Outcome
from deeplake_lite.storage.repo.failures import translated
from deeplake_lite.storage.repo.forks import use_engine
from deeplake_lite.storage.repo.loop import event_loop

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Coroutine, Iterable

INSISTING = 3
"""Interrupts that leave work to itself which does not stop, after the one that stopped it."""


def run[T](work: Coroutine[Any, Any, T]) -> T:
    """Do asynchronous work and wait for it; what the engine raises becomes an error of ours.

    Where the wait is interrupted, as by Ctrl-C, the work is cancelled and has ended when that is
    raised.

    Raises
    ------
    DamagedError
        When an object that a version refers to is not there.
    StorageError
        When the store refuses: disk full, no permission, no network.
    ForkedError
        When this process is a fork of one that had used the engine.
    """
    running = start(work)
    try:
        return running.result()
    except BaseException:
        running.stop()
        raise
    finally:
        del running  # an error would keep it, and it the error


def start[T](work: Coroutine[Any, Any, T]) -> Running[T]:
    """Begin asynchronous work. Whoever begins it asks for its result, or stops it."""
    running = Running(work)
    try:
        running.begin()
    except BaseException:
        running.stop()
        raise
    return running


class Running[T]:
    """Asynchronous work, and the thread that waits for it.

    Parameters
    ----------
    work : coroutine
        To be done in the event loop.
    """

    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self._work = work
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[T] | None = None
        self._is_cancelled = False
        self._outcome = Outcome[T]()

    def begin(self) -> None:
        """Have the event loop do the work. Raises ForkedError, as `run` does."""
        use_engine()
        self._loop = event_loop()
        self._loop.call_soon_threadsafe(self._begin)

    def result(self) -> T:
        """Wait for the work; return what it gives, or raise what `run` would."""
        try:
            with translated():
                return self._outcome.result()
        finally:
            del self  # as in `run`

    def stop(self) -> None:
        """Cancel the work unless it has ended, and wait until it has.

        There is an interrupt already that made us stop, so that another one is ignored; the
        `INSISTING`th is raised, and the work is left to itself.
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
                if ignored == INSISTING:
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
        else:  # interrupted before the loop heard of it
            self._work.close()
            self._outcome.fail(asyncio.CancelledError())

    def _end(self, task: asyncio.Task[T]) -> None:
        # It dies in this thread: an interrupt of the callbacks that its death calls would be lost.
        self._task = None
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if error is None:
            self._outcome.give(task.result())
        else:
            self._outcome.fail(error)


async def in_thread[T](
    work: Callable[..., T], *arguments: Any, stop: threading.Event | None = None
) -> T:
    """Do work in a thread. When the task is cancelled, wait until the thread has done it.

    Parameters
    ----------
    stop : Event, optional
        Is set when the task is cancelled: `work` that looks at it ends early.
    """
    running = asyncio.ensure_future(asyncio.to_thread(work, *arguments))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        if stop is not None:
            stop.set()
        await asyncio.gather(running, return_exceptions=True)
        raise


async def gather[T](work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Do pieces of asynchronous work at the same time; those that need not wait are done at once.

    What is in a cache costs no turn of the event loop this way.
    """
    loop = asyncio.get_running_loop()
    tasks = [asyncio.Task(piece, loop=loop, eager_start=True) for piece in work]
    if not all(task.done() for task in tasks):
        await asyncio.gather(*tasks, return_exceptions=True)  # none runs on behind an error
    for task in tasks:
        if not task.cancelled():
            task.exception()  # asyncio logs each exception that nobody looked at
    return [task.result() for task in tasks]


async def stream(work: Iterable[Coroutine[Any, Any, None]], most: int) -> None:
    """Do pieces of asynchronous work, `most` at a time, each as soon as there is room.

    Those that need not wait are done at once, as by `gather`.
    """
    loop, under_way = asyncio.get_running_loop(), set[asyncio.Task[None]]()
    try:
        for piece in work:
            task = asyncio.Task(piece, loop=loop, eager_start=True)
            if task.done():
                task.result()
                continue
            under_way.add(task)
            if len(under_way) == most:
                done, under_way = await asyncio.wait(under_way, return_when="FIRST_COMPLETED")
                await asyncio.gather(*done)
        if under_way:
            await asyncio.gather(*under_way)
    finally:
        if under_way:
            for task in under_way:
                task.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)  # none runs on behind an error
