"""Functions that keep lists of arrays or bytes short, since each edit copies and extends them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

MOST = 64
"""Maximum number of blocks in a list; a longer list is joined into one block."""


def limit_blocks(blocks: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """Return a copy of a list of arrays, joined into one array if there are more than `MOST`.

    >>> [len(limit_blocks([np.zeros(2)] * count)) for count in (64, 65)]
    [64, 1]
    """
    return list(blocks) if len(blocks) <= MOST else [np.concatenate(blocks)]


def limit_pieces(pieces: Sequence[bytes]) -> list[bytes]:
    """Return a copy of a list of bytes objects, joined into one if there are more than `MOST`."""
    return list(pieces) if len(pieces) <= MOST else [b"".join(pieces)]
