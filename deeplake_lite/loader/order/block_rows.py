"""How many rows are read, held and shuffled together as a block."""

from __future__ import annotations

import math

BLOCK_BYTES = 4 * 2**20
"""Stored size of a block, about."""

MOST_ROWS = 65_536
"""Rows of a block at the most."""


def rows_of_block(row_bytes: float) -> int:
    """Return how many rows make a block: a power of two, about `BLOCK_BYTES` of them.

    >>> rows_of_block(20_000), rows_of_block(1)
    (128, 65536)
    """
    wanted = max(1.0, min(MOST_ROWS, BLOCK_BYTES / row_bytes))
    return 1 << int(math.log2(wanted))
