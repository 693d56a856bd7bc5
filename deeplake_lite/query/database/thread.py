"""A thread in which a query calls DuckDB, so that Ctrl-C does not interrupt these calls directly.

Python delivers signals only to the main thread. If DuckDB ran in the main thread, Ctrl-C could
raise a KeyboardInterrupt while DuckDB calls a Python function, and DuckDB would report a different
error.
"""

from __future__ import annotations

import _thread
import os
import time
from contextvars import copy_context
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING

from deeplake_lite.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

POLL = 0.02
"""Seconds that the main thread waits for DuckDB at a time. Between two waits, Python handles
signals."""

PATIENCE = 0.2
"""Seconds to wait for an interrupted call to end before it is abandoned."""

_RUNNING = set["CallThread"]()
"""Threads that are still running."""

if hasattr(os, "register_at_fork"):  # threads do not survive a fork
    os.register_at_fork(after_in_child=_RUNNING.clear)


class CallThread:
    """A thread that runs functions one after the other, and a final function when it ends.

    Parameters
    ----------
    last : callable
        The final function, which runs even if other functions failed or were interrupted.
    """

    def __init__(self, last: Callable[[], object]) -> None:
        self._last, self.ended, self._is_awaited = last, Outcome[object](), False
        self._calls: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self.end = partial(self._calls.put, None)
        """End the thread. This is not a function written in Python, so Ctrl-C cannot interrupt
        it."""

    def begin(self) -> None:
        """Start the thread."""
        # `threading.Thread` holds a lock while it waits for the thread to start. An interrupt at
        # that point would leave the lock locked.
        _thread.start_new_thread(self._serve, ())
        self._is_awaited = True

    def call[T](self, work: Callable[[], T], interrupt: Callable[[], object]) -> T:
        """Run a function in the thread. Returns the result of the function, or raises its error.

        Parameters
        ----------
        work : callable
            The function.
        interrupt : callable
            Called if Ctrl-C interrupts the wait, to make `work` end early. If `work` still does not
            end within `PATIENCE`, it is abandoned.
        """
        outcome, context = Outcome[T](), copy_context()
        try:
            self._calls.put(lambda: _hand_over(outcome, lambda: context.run(work)))
            while not outcome.wait(POLL):
                pass
        except KeyboardInterrupt:
            self._is_awaited = False
            deadline = time.perf_counter() + PATIENCE
            while not outcome.wait(POLL) and time.perf_counter() < deadline:
                interrupt()  # repeatedly, because an interrupt has no effect before `work` begins
            self._is_awaited = outcome.is_given
            raise
        return outcome.result()

    def wait(self) -> None:
        """Wait until the final function has ended, unless a function was abandoned."""
        if self._is_awaited:
            self.ended.wait()

    def _serve(self) -> None:
        _RUNNING.add(self)
        try:
            while (call := self._calls.get()) is not None:
                call()
        finally:
            _hand_over(self.ended, self._last)
            del self._last  # this bound method would keep the query and its result alive
            _RUNNING.discard(self)


def await_all() -> None:
    """Wait for all threads that have not ended."""
    for thread in list(_RUNNING):
        thread.ended.wait()


def _hand_over[T](outcome: Outcome[T], work: Callable[[], T]) -> None:
    try:
        value = work()
    except BaseException as error:
        outcome.fail(error)
    else:
        outcome.give(value)
