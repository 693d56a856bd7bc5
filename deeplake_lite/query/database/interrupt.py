"""Stopping a query that runs in another thread: what DuckDB does, and what NumPy does.

A query looks for the interrupt of its context between blocks of rows, and DuckDB is told.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from threading import Event, Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_CURRENT: ContextVar[Interrupt | None] = ContextVar("interrupt", default=None)


class Interrupt:
    """A wish that a query ends, and the connections to DuckDB that are to hear of it."""

    def __init__(self) -> None:
        self._wished, self._lock = Event(), Lock()
        self._connections: list[Any] = []

    def wish(self) -> None:
        """End the query."""
        self._wished.set()
        with self._lock:
            for connection in self._connections:
                connection.interrupt()

    def check(self) -> None:
        """Raise KeyboardInterrupt when the end is wished for."""
        if self._wished.is_set():
            raise KeyboardInterrupt

    @contextmanager
    def watching(self, connection: Any) -> Iterator[None]:
        """Let a connection hear of it."""
        with self._lock:
            self._connections.append(connection)
        try:
            yield
        finally:
            with self._lock:
                self._connections.remove(connection)


def check() -> None:
    """Raise KeyboardInterrupt when the query of this context is to end."""
    interrupt = _CURRENT.get()
    if interrupt is not None:
        interrupt.check()


@contextmanager
def heard_by(connection: Any) -> Iterator[None]:
    """Let a connection to DuckDB hear when the query of this context is to end."""
    interrupt = _CURRENT.get()
    if interrupt is None:
        yield
        return
    with interrupt.watching(connection):
        yield


async def in_thread[T](work: Callable[[], T]) -> T:
    """Run work in a thread; when the task is cancelled, wait until the work has ended.

    >>> asyncio.run(in_thread(lambda: 1 + 1))
    2
    """
    interrupt = Interrupt()

    def ended() -> tuple[T] | None:
        _CURRENT.set(interrupt)  # of this thread's own context
        with suppress(KeyboardInterrupt):
            return (work(),)
        return None

    running = asyncio.ensure_future(asyncio.to_thread(ended))
    try:
        done = await asyncio.shield(running)
    except asyncio.CancelledError:
        while not running.done():
            interrupt.wish()  # again: DuckDB hears of it while a statement runs
            await asyncio.wait([running], timeout=0.02)
        with suppress(Exception):
            running.result()
        raise
    if done is None:
        raise KeyboardInterrupt
    return done[0]
