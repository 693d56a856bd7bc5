"""Simulation of Ctrl-C at any moment of an operation, including within the standard library."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

MOMENTS = ("call", "c_return")
"""Profiler events after which the interpreter checks for signals: a Python function is called, or a
C function has returned. Other instructions are not interrupted."""


class Interrupted:
    """The result of interrupting an operation. It is true if the operation was interrupted.

    This object keeps the error, as a notebook does, so that the error's traceback keeps objects
    alive.
    """

    def __init__(self, operation: Callable[[], object], moment: int) -> None:
        """Run an operation, and interrupt it at moment number `moment`, counted from 1."""
        self._left = moment
        self.error: KeyboardInterrupt | None = None
        self.place = ""
        """Name of the interrupted function and number of the interrupted line, or an empty
        string."""
        sys.setprofile(self._count)
        try:
            operation()
        except KeyboardInterrupt as error:
            self.error = error
        finally:
            sys.setprofile(None)

    def __bool__(self) -> bool:
        return self._left <= 0

    def _count(self, frame: FrameType, event: str, thrown: object) -> None:
        # GeneratorExit is thrown into generators that are freed, where errors cannot propagate.
        if event in MOMENTS and not isinstance(thrown, GeneratorExit):
            self._left -= 1
            if not self._left:  # Python removes a profiler that raises
                code = frame.f_code
                self.place = f"{event} {code.co_qualname} {code.co_filename}:{frame.f_lineno}"
                raise KeyboardInterrupt


def interrupt_everywhere(operation: Callable[[], object], check: Callable[[str], object]) -> int:
    """Call an operation repeatedly, and interrupt each call at a later moment than the call before.

    This ends when a call finishes before its interrupt. Each error, with all objects to which its
    traceback refers, stays alive until the next error.

    Parameters
    ----------
    operation : callable
        The operation.
    check : callable
        Called after each interrupt, with the function and line that were interrupted.

    Returns
    -------
    int
        Number of the first moment before which the operation finished.
    """
    moment = 1
    while interrupted := Interrupted(operation, moment):
        check(interrupted.place)
        moment += 1 + moment // 40
    return moment
