"""The policy for keeping blocks of rows in memory, chosen before anything is read.

A block is a run of consecutive rows of the view. There are four modes:

- ``whole`` keeps every row once it has been read, and each dense column as one array.
- ``window`` keeps as many blocks as fit, and drops those whose use lies farthest ahead.
- ``rows`` keeps as many of the first blocks as fit, and reads only single rows of other blocks.
- ``disk`` stores blocks as local files, as many as fit, and reads only single rows of others.

Every row is used once per epoch. For such accesses, no cache of the same size has more hits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deeplake_lite.htypes.layouts import Dense
from deeplake_lite.loader.order.block_rows import MAX_ROWS, rows_of_block

if TYPE_CHECKING:
    from deeplake_lite.loader.read.samples import Samples

LARGE_ROW = 8_192
"""If rows have at least this many bytes, reading one row is much faster than reading its block."""

TOGETHER = 16
"""Factor by which blocks are larger in mode ``"whole"``, because fewer and larger reads are faster.
"""

COMPUTED_ROWS = 32
"""Maximum number of rows in a block that a query computes. Batches wait for whole blocks."""


@dataclass(frozen=True)
class BlockPolicy:
    """How a loader keeps rows in memory.

    Examples
    --------
    >>> BlockPolicy("rows", rows=128, count=40, cached=7)
    BlockPolicy(mode='rows', rows=128, count=40, cached=7, most=1)
    """

    mode: str
    """``"whole"``, ``"window"``, ``"rows"`` or ``"disk"``."""
    rows: int
    """Number of rows in a block."""
    count: int
    """Number of blocks."""
    cached: int
    """Number of blocks that are read whole, from the first block on. Other rows are read singly."""
    most: int = 1
    """Maximum number of blocks to hold at a time in mode ``"window"``."""

    @classmethod
    def of(
        cls, samples: Samples, limit: int, window: int = 0, *, on_disk: bool = False
    ) -> BlockPolicy:
        """Choose the policy for the given rows.

        Parameters
        ----------
        samples : Samples
            Rows to read.
        limit : int
            Maximum number of bytes to hold in memory.
        window : int
            Number of rows in a window of the order; 0 without windows. Once all rows of a window
            have been used, the epoch does not need them again.
        on_disk : bool
            Whether blocks are stored as files.
        """
        each, rows = samples.row_bytes, rows_of_block(samples.row_bytes)
        if samples.computed and not on_disk:  # on disk, smaller blocks would be too many files
            rows = min(rows, COMPUTED_ROWS)
        count, total = -(-len(samples) // rows), each * len(samples)
        mode = (
            "disk" if on_disk
            else "whole" if total <= limit
            else "window" if window and 2 * window * each <= limit
            else "rows"
        )  # fmt: skip
        if mode == "whole" and _quickly_read(samples):
            rows = max(rows, min(TOGETHER * rows, MAX_ROWS))
            count = -(-len(samples) // rows)
        cached = int(limit * count / total) if mode == "rows" else count
        return cls(mode, rows, count, cached, max(1, int(limit // (each * rows))))


def _quickly_read(samples: Samples) -> bool:
    """Return whether the time to read a block depends only on its size.

    For small ragged cells, the time also depends on the number of cells, because each cell becomes
    a Python object. For computed cells, the time depends on the query.
    """
    dense = all(isinstance(f.htype.layout, Dense) for f in samples.fields)
    return not samples.computed and (dense or samples.row_bytes >= LARGE_ROW)
