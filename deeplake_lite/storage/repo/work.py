"""Asynchronous work: waited for at once or later, and many pieces at the same time."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from deeplake_lite.errors import ForkedError
from deeplake_lite.storage.repo.failures import translated
from deeplake_lite.storage.repo.forks import use_engine
from deeplake_lite.storage.repo.loop import event_loop

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator


def run[T](work: Coroutine[Any, Any, T]) -> T:
    """Do asynchronous work and wait for it; what the engine raises becomes an error of ours.

    Raises
    ------
    DamagedError
        When an object that a version refers to is not there.
    StorageError
        When the store refuses: disk full, no permission, no network.
    ForkedError
        When this process is a fork of one that had used the engine.
    """
    with _begun(work), translated():
        return asyncio.run_coroutine_threadsafe(work, event_loop()).result()


def start[T](work: Coroutine[Any, Any, T]) -> Callable[[], T]:
    """Begin asynchronous work; return what waits for it, and raises what `run` would.

    The work goes on whether or not anybody waits: whoever begins it also waits for it.
    """
    with _begun(work):
        use_engine()
    future = asyncio.run_coroutine_threadsafe(work, event_loop())

    def result() -> T:
        with translated():
            return future.result()

    return result


@contextlib.contextmanager
def _begun(work: Coroutine[Any, Any, Any]) -> Iterator[None]:
    """Close work that the engine cannot begin."""
    try:
        yield
    except ForkedError:
        work.close()
        raise


async def gather[T](work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Do pieces of asynchronous work at the same time; those that need not wait are done at once.

    What is in a cache costs no turn of the event loop this way.
    """
    loop = asyncio.get_running_loop()
    tasks = [asyncio.Task(piece, loop=loop, eager_start=True) for piece in work]
    if all(task.done() for task in tasks):
        return [task.result() for task in tasks]
    found = await asyncio.gather(*tasks, return_exceptions=True)  # none runs on behind an error
    return [task.result() for task in tasks] if found else []


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
            await asyncio.gather(*under_way, return_exceptions=True)  # none runs on behind an error
