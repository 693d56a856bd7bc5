"""How much a function's result may take: known from shapes, before anything is allocated.

Arrays that broadcast, boxes compared pair by pair, and pictures made larger can give far more than
they take.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from deeplake_lite.brief import brief

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_BYTES = 1 << 31
"""Bytes of a row's value at the most, as of any cell."""

STACK_BYTES = 1 << 29
"""Bytes of many rows' values, stacked: eight times a block, as integers are widened."""


class TooMany(Exception):
    """Rows that are stacked would take more than a block may."""


def check_room(shape: Sequence[int], itemsize: int, *, lead: int) -> None:
    """Check that a result of this shape may be made.

    Parameters
    ----------
    lead : int
        1 where the first axis is that of stacked rows, else 0.

    Raises
    ------
    TooMany
        When several rows together take more than a block may.
    ValueError
        When one row takes more than a cell may.

    Examples
    --------
    >>> check_room((40_000, 100_000), 8, lead=0)
    Traceback (most recent call last):
    ValueError: a value may take up to 2 GiB, and one of shape (40000, 100000) takes 29.8 GiB
    """
    nbytes, row = math.prod(shape) * itemsize, tuple(shape[lead:])
    if nbytes > STACK_BYTES and lead and shape[0] > 1:
        raise TooMany
    if nbytes > MOST_BYTES:
        raise ValueError(
            f"a value may take up to 2 GiB, and one of shape {brief(row, 80)} takes "
            f"{nbytes / 2**30:.1f} GiB"
        )
