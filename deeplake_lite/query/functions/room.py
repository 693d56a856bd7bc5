"""Limit the size of a function's result, which is computed from the shape before allocation.

Broadcasting, comparing all pairs of boxes, and enlarging images can produce results that are far
larger than the arguments.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from deeplake_lite.brief import brief

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_BYTES = 1 << 31
"""Maximum size of one row in bytes, which is also the limit for a cell."""

STACK_BYTES = 1 << 29
"""Maximum size of stacked rows in bytes: eight times a block, since integers are widened."""


class TooMany(Exception):
    """Raised if stacked rows would take too much memory; the caller retries with fewer rows."""


def check_room(shape: Sequence[int], itemsize: int, *, lead: int) -> None:
    """Check that a result of this shape is not too large.

    Parameters
    ----------
    lead : int
        1 if rows are stacked along the first axis, otherwise 0.

    Raises
    ------
    TooMany
        If several rows together are too large for a block.
    ValueError
        If a single row is too large for a cell.

    Examples
    --------
    >>> check_room((40_000, 100_000), 8, lead=0)
    Traceback (most recent call last):
    ValueError: a value must take at most 2 GiB, but one of shape (40000, 100000) takes 29.8 GiB
    """
    nbytes, row = math.prod(shape) * itemsize, tuple(shape[lead:])
    if nbytes > STACK_BYTES and lead and shape[0] > 1:
        raise TooMany
    if nbytes > MAX_BYTES:
        raise ValueError(
            f"a value must take at most 2 GiB, but one of shape {brief(row, 80)} takes "
            f"{nbytes / 2**30:.1f} GiB"
        )
