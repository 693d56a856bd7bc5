"""Interrupt a query that runs in another thread.

While NumPy computes, a query calls `check` between blocks of rows, and between two calls of a
user's function. While DuckDB computes, the query is interrupted through its connection.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from threading import Event, Lock
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_CURRENT: ContextVar[Interrupt | None] = ContextVar("interrupt", default=None)


class Interruptible(Protocol):
    """Work that can be interrupted: a connection to DuckDB, or an `Interrupt`."""

    def interrupt(self) -> None:
        """Ask the work to stop."""


class Interrupt:
    """Stops a query when `interrupt` is called, by interrupting the parts of the query."""

    def __init__(self) -> None:
        self._requested, self._lock = Event(), Lock()
        self._parts: list[Interruptible] = []

    def interrupt(self) -> None:
        """Ask the query to stop."""
        self._requested.set()
        with self._lock:
            for part in self._parts:
                part.interrupt()

    def check(self) -> None:
        """Raise KeyboardInterrupt if the query has been asked to stop."""
        if self._requested.is_set():
            raise KeyboardInterrupt

    @contextmanager
    def including(self, part: Interruptible) -> Iterator[None]:
        """Return a context manager within which an interrupt of this query also stops `part`."""
        with self._lock:
            self._parts.append(part)
        try:
            yield
        finally:
            with self._lock:
                self._parts.remove(part)

    @contextmanager
    def activate(self) -> Iterator[None]:
        """Return a context manager within which `check` and `interruptible` use this interrupt."""
        token = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(token)


def check() -> None:
    """Raise KeyboardInterrupt if the current query has been asked to stop."""
    interrupt = _CURRENT.get()
    if interrupt is not None:
        interrupt.check()


@contextmanager
def interruptible(part: Interruptible) -> Iterator[None]:
    """Return a context manager within which an interrupt of the current query also stops `part`."""
    interrupt = _CURRENT.get()
    if interrupt is None:
        yield
        return
    with interrupt.including(part):
        yield


async def in_thread[T](work: Callable[[], T]) -> T:
    """Run a function in another thread, and return its result.

    If the asyncio task that awaits the result is cancelled, the queries that the function runs are
    interrupted. The task then waits until the function ends.

    >>> asyncio.run(in_thread(lambda: 1 + 1))
    2
    """
    interrupt = Interrupt()

    def run_work() -> tuple[T] | None:
        _CURRENT.set(interrupt)  # only in this thread, because `to_thread` copies the context
        with suppress(KeyboardInterrupt):
            return (work(),)
        return None

    running = asyncio.ensure_future(asyncio.to_thread(run_work))
    try:
        result = await asyncio.shield(running)
    except asyncio.CancelledError:
        while not running.done():
            interrupt.interrupt()  # repeatedly, since DuckDB ignores interrupts between statements
            await asyncio.wait([running], timeout=0.02)
        with suppress(Exception):
            running.result()
        raise
    if result is None:
        raise KeyboardInterrupt
    return result[0]
