"""How far a query is: a bar for those that take longer than a second."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Self

from deeplake_lite.dataset.repr import bars

if TYPE_CHECKING:
    from collections.abc import Callable


class Bar:
    """Rows that are computed, for a user who waits.

    Parameters
    ----------
    told : callable, optional
        Is told how many rows of how many are computed, instead of a bar.
    """

    def __init__(self, told: Callable[[int, int], None] | None = None) -> None:
        self._told, self._started = told, time.perf_counter()
        self._bar: Any = None
        self._what = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()

    def show(self, what: str, done: int, total: int) -> None:
        """Say that `done` rows of `total` are computed, of what the query calls so."""
        if self._told is not None:
            self._told(done, total)
        elif self._bar is not None or time.perf_counter() - self._started > bars.DELAY:
            self._draw(what, done, total)

    def _draw(self, what: str, done: int, total: int) -> None:
        if self._bar is None or self._what != what:
            self._close()
            seen = "ipykernel" in sys.modules or sys.stderr.isatty()
            self._bar, self._what = bars.bar(what, total, shown=seen, delay=0), what
        self._bar.update(done - self._bar.n)
