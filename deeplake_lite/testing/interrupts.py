"""Ctrl-C at chosen moments, also within the standard library."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

MOMENTS = ("call", "c_return")
"""Events of a profiler behind which the interpreter looks for signals: a function of Python begins,
or one of C has returned. Between other instructions none arrives."""


class Interrupted:
    """Whether an operation was interrupted, and the error, which a notebook keeps as this does."""

    def __init__(self, operation: Callable[[], object], moment: int) -> None:
        """Interrupt an operation at its `moment`th moment, counted from 1."""
        self._left = moment
        self.error: KeyboardInterrupt | None = None
        self.place = ""
        """Where it was interrupted."""
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
        if event in MOMENTS and not isinstance(thrown, GeneratorExit):  # a generator is let go of
            self._left -= 1
            if not self._left:  # a profiler that raises is removed
                code = frame.f_code
                self.place = f"{event} {code.co_qualname} {code.co_filename}:{frame.f_lineno}"
                raise KeyboardInterrupt


def interrupted_everywhere(operation: Callable[[], object], check: Callable[[str], object]) -> int:
    """Interrupt an operation at moments all over it, until it comes to its end; return the last.

    The last error is kept, and with it all that its traceback refers to.

    Parameters
    ----------
    check : callable
        Is called after each interrupt, with its place.
    """
    moment = 1
    while kept := Interrupted(operation, moment):
        check(kept.place)
        moment += 1 + moment // 40
    return moment
