"""Limit the size of a function's result, which is known from its shape before it is computed.

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
"""Maximum size, in bytes, of the result for one row, which is also the limit for a stored cell."""

STACK_BYTES = 1 << 29
"""Maximum size, in bytes, of the result for stacked rows. The results may be eight times as large
as the arguments, because small integers are converted to 64 bits."""


class TooMany(Exception):
    """Raised if the result for stacked rows would be too large. Fewer rows must be stacked."""


def check_room(shape: Sequence[int], itemsize: int, *, lead: int) -> None:
    """Check that a result of the given shape is not too large.

    Parameters
    ----------
    shape : sequence of int
        The shape of the result.
    itemsize : int
        Size of an element in bytes.
    lead : int
        1 if rows are stacked along the first axis, otherwise 0.

    Raises
    ------
    TooMany
        If the results for several stacked rows take more than `STACK_BYTES` together.
    ValueError
        If the result for a single row takes more than `MAX_BYTES`.

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
