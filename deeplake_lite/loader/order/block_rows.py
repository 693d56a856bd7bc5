"""The number of rows in a block, the unit in which rows are read, held and shuffled."""

from __future__ import annotations

import math

BLOCK_BYTES = 4 * 2**20
"""Approximate stored size of a block."""

MAX_ROWS = 65_536
"""Maximum number of rows in a block."""


def rows_of_block(row_bytes: float) -> int:
    """Return the number of rows in a block, given the average stored size of a row.

    This is the largest power of two for which a block is within `BLOCK_BYTES` and `MAX_ROWS`.

    >>> rows_of_block(20_000), rows_of_block(1)
    (128, 65536)
    """
    rows = max(1.0, min(MAX_ROWS, BLOCK_BYTES / row_bytes))
    return 1 << int(math.log2(rows))
