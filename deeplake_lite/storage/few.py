"""Lists of blocks that each edit adds to and copies: long ones are joined, to keep this cheap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

MOST = 64
"""Blocks that are copied one by one."""


def few_blocks(blocks: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """Return blocks of rows in a list of its own, all joined to one where there are many.

    >>> [len(few_blocks([np.zeros(2)] * count)) for count in (64, 65)]
    [64, 1]
    """
    return list(blocks) if len(blocks) <= MOST else [np.concatenate(blocks)]


def few_pieces(pieces: Sequence[bytes]) -> list[bytes]:
    """Return pieces of bytes in a list of its own, all joined to one where there are many."""
    return list(pieces) if len(pieces) <= MOST else [b"".join(pieces)]
