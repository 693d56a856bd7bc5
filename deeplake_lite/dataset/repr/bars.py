"""Progress bars: how every one of them looks, and when it shows."""

from __future__ import annotations

import warnings
from typing import Any

DELAY = 1.0
"""Seconds before a bar shows."""


def bar(
    what: str,
    total: int | None,
    *,
    done: int = 0,
    shown: bool | None = True,
    delay: float | None = None,
    leave: bool = False,
) -> Any:
    """Return a bar of rows, of tqdm: a context manager with ``update``.

    Parameters
    ----------
    what : str
        Left of it.
    total : int, optional
        Rows that there are; None where nobody knows.
    done : int
        Rows that were done before.
    shown : bool, optional
        Whether it is drawn; None for at a terminal alone.
    delay : float, optional
        Seconds before it shows; `DELAY` if left out.
    leave : bool
        Whether it stays when all is done.

    Examples
    --------
    >>> with bar("rows", 10, shown=False) as drawn:
    ...     drawn.update(3)
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where ipywidgets lacks, tqdm says so and draws with text
        from tqdm.auto import tqdm  # 50 ms
    return tqdm(
        desc=what,
        total=total,
        initial=done,
        unit=" rows",
        unit_scale=True,
        delay=DELAY if delay is None else delay,
        leave=leave,
        disable=None if shown is None else not shown,
    )
