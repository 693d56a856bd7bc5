"""Interrupting a query that runs in another thread.

NumPy's part of a query calls `check` between blocks of rows, and between two calls of a user's
function. DuckDB's part is interrupted through its connection.
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
        """Ask the work to end."""


class Interrupt:
    """A request to end a query, and the parts of the query that it is passed on to."""

    def __init__(self) -> None:
        self._requested, self._lock = Event(), Lock()
        self._parts: list[Interruptible] = []

    def interrupt(self) -> None:
        """Ask the query to end."""
        self._requested.set()
        with self._lock:
            for part in self._parts:
                part.interrupt()

    def check(self) -> None:
        """Raise KeyboardInterrupt if the query has been asked to end."""
        if self._requested.is_set():
            raise KeyboardInterrupt

    @contextmanager
    def including(self, part: Interruptible) -> Iterator[None]:
        """Interrupt a part, too, while the context is open."""
        with self._lock:
            self._parts.append(part)
        try:
            yield
        finally:
            with self._lock:
                self._parts.remove(part)

    @contextmanager
    def checked(self) -> Iterator[None]:
        """Within this block, `check` looks at this interrupt."""
        token = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(token)


def check() -> None:
    """Raise KeyboardInterrupt if the query of this context has been asked to end."""
    interrupt = _CURRENT.get()
    if interrupt is not None:
        interrupt.check()


@contextmanager
def interruptible(part: Interruptible) -> Iterator[None]:
    """Within this block, pass a request of the context's `Interrupt`, if any, on to a part."""
    interrupt = _CURRENT.get()
    if interrupt is None:
        yield
        return
    with interrupt.including(part):
        yield


async def in_thread[T](work: Callable[[], T]) -> T:
    """Run work in a thread. If the task is cancelled, interrupt the work and wait for its end.

    >>> asyncio.run(in_thread(lambda: 1 + 1))
    2
    """
    interrupt = Interrupt()

    def run_work() -> tuple[T] | None:
        _CURRENT.set(interrupt)  # `to_thread` has copied the context, so this is not shared
        with suppress(KeyboardInterrupt):
            return (work(),)
        return None

    running = asyncio.ensure_future(asyncio.to_thread(run_work))
    try:
        result = await asyncio.shield(running)
    except asyncio.CancelledError:
        while not running.done():
            interrupt.interrupt()  # repeatedly: DuckDB ignores it between two statements
            await asyncio.wait([running], timeout=0.02)
        with suppress(Exception):
            running.result()
        raise
    if result is None:
        raise KeyboardInterrupt
    return result[0]
