"""Show a progress bar for queries that take longer than a second."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Self

from deeplake_lite.dataset.repr import bars

if TYPE_CHECKING:
    from collections.abc import Callable


class Bar:
    """A progress bar that counts the computed rows.

    Parameters
    ----------
    callback : callable, optional
        Called with the number of computed rows and the total number, instead of drawing a bar.
    """

    def __init__(self, callback: Callable[[int, int], None] | None = None) -> None:
        self._callback, self._started = callback, time.perf_counter()
        self._bar: Any = None
        self._text = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()

    def show(self, text: str, done: int, total: int) -> None:
        """Show that `done` of `total` rows have been computed for the expression `text`."""
        if self._callback is not None:
            self._callback(done, total)
        elif self._bar is not None or time.perf_counter() - self._started > bars.DELAY:
            self._draw(text, done, total)

    def _draw(self, text: str, done: int, total: int) -> None:
        if self._bar is None or self._text != text:
            self._close()
            is_visible = "ipykernel" in sys.modules or sys.stderr.isatty()
            self._bar, self._text = bars.bar(text, total, visible=is_visible, delay=0), text
        self._bar.update(done - self._bar.n)
