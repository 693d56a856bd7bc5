"""A thread that makes one query's calls of DuckDB, so that Ctrl-C never meets one.

Signals come to the main thread alone. There DuckDB would call back into Python, meet the
KeyboardInterrupt in the middle of what it does, and raise something else for it.
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
"""Seconds between looks for whether DuckDB is done, where a signal may have come."""

PATIENCE = 0.2
"""Seconds that an interrupted call has to end by itself."""

_UNDER_WAY = set["Aside"]()
"""Threads that have not ended."""

if hasattr(os, "register_at_fork"):  # threads do not live on in a child
    os.register_at_fork(after_in_child=_UNDER_WAY.clear)


class Aside:
    """A thread that makes calls, one after the other, and then a last one.

    Parameters
    ----------
    last : callable
        Is called at the end, whatever has failed or was interrupted.
    """

    def __init__(self, last: Callable[[], object]) -> None:
        self._last, self._ended, self._is_awaited = last, Outcome[object](), False
        self._calls: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self.end = partial(self._calls.put, None)
        """Have it end. This is no function in Python, which Ctrl-C may end as it begins."""

    def begin(self) -> None:
        """Start the thread."""
        # `threading.Thread` would wait for its start with a lock taken in Python code.
        _thread.start_new_thread(self._serve, ())
        self._is_awaited = True

    def call[T](self, work: Callable[[], T], interrupt: Callable[[], object]) -> T:
        """Call a function in the thread; return what it does, or raise what it raises.

        Parameters
        ----------
        interrupt : callable
            Makes the function end early, when the wait for it is interrupted. One that does not
            end is left to itself.
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
                interrupt()  # again: one that comes before it begins is lost
            self._is_awaited = outcome.is_given
            raise
        return outcome.result()

    def wait(self) -> None:
        """Wait until the last call was made, unless another was left to itself."""
        if self._is_awaited:
            self._ended.wait()

    def _serve(self) -> None:
        _UNDER_WAY.add(self)
        try:
            while (call := self._calls.get()) is not None:
                call()
        finally:
            _hand_over(self._ended, self._last)
            del self._last  # what it is a method of, and with it a result, goes at once
            _UNDER_WAY.discard(self)


def await_all() -> None:
    """Wait for the threads that have not ended, as the process does at its end."""
    for aside in list(_UNDER_WAY):
        aside._ended.wait()


def _hand_over[T](outcome: Outcome[T], work: Callable[[], T]) -> None:
    try:
        value = work()
    except BaseException as error:
        outcome.fail(error)
    else:
        outcome.give(value)
