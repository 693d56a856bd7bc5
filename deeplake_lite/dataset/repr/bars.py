"""Progress bars that count rows, with the same look and delay in the whole package."""

from __future__ import annotations

import sys
import warnings
from typing import Any

DELAY = 1.0
"""Seconds before a bar appears."""


def is_in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook.

    >>> is_in_notebook()
    False
    """
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


def bar(
    label: str,
    total: int | None,
    *,
    done: int = 0,
    visible: bool | None = True,
    delay: float | None = None,
    leave: bool = False,
) -> Any:
    """Return a tqdm bar that counts rows. The bar is a context manager with a method ``update``.

    Parameters
    ----------
    label : str
        Text to the left of the bar.
    total : int, optional
        Number of rows, or None if the number is unknown.
    done : int
        Number of rows that are already done.
    visible : bool, optional
        Whether the bar is drawn, or None to draw the bar only in a terminal.
    delay : float, optional
        Seconds before the bar appears; `DELAY` by default.
    leave : bool
        Whether the bar stays when it is closed.

    Examples
    --------
    >>> with bar("rows", 10, visible=False) as progress:
    ...     progress.update(3)
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # without ipywidgets, tqdm warns and draws a text bar
        from tqdm.auto import tqdm  # takes 50 ms to import
    return tqdm(
        desc=label,
        total=total,
        initial=done,
        unit=" rows",
        unit_scale=True,
        delay=DELAY if delay is None else delay,
        leave=leave,
        disable=None if visible is None else not visible,
    )
