"""How blocks of rows are held: decided by what the budget allows, before anything is read.

A block is a run of rows of the view. ``whole`` keeps every row once it was read, columns of one
shape as one array; ``window`` keeps the blocks of an order that goes through them one window after
the other, and drops the one that is needed last; ``rows`` reads rows alone, except for some blocks
that stay; ``disk`` keeps blocks as files. Each reaches the bound of any cache over an epoch in
which each row comes once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deeplake_lite.htypes.layouts import Dense
from deeplake_lite.loader.order.block_rows import MOST_ROWS, rows_of_block

if TYPE_CHECKING:
    from deeplake_lite.loader.read.samples import Samples

LARGE_ROW = 8_192
"""Bytes of a row from which on reading it alone is quick next to reading its block."""

TOGETHER = 16
"""Blocks that are read as one where all are kept: each read costs a millisecond by itself."""

COMPUTED_ROWS = 32
"""Rows of a block where something is computed for each: whoever waits for one waits for all."""


@dataclass(frozen=True)
class BlockPolicy:
    """How a loader holds rows in memory: decided before any is read.

    Examples
    --------
    >>> BlockPolicy("rows", rows=128, count=40, kept=7)
    BlockPolicy(mode='rows', rows=128, count=40, kept=7, most=1)
    """

    mode: str
    """``"whole"``, ``"window"``, ``"rows"`` or ``"disk"``."""
    rows: int
    """Of a block."""
    count: int
    """Blocks that there are."""
    kept: int
    """The first ones, which are read as blocks; rows of others are read alone."""
    most: int = 1
    """Blocks of a window that are held at a time."""

    @classmethod
    def of(cls, samples: Samples, limit: int, window: int = 0, *, on_disk: bool = False) -> BlockPolicy:
        """Decide it.

        Parameters
        ----------
        samples : Samples
            What is read.
        limit : int
            Bytes that may be held.
        window : int
            Rows that an order goes through before it leaves them for good; 0 where it never does.
        on_disk : bool
            Whether blocks are kept as files.
        """
        each, rows = samples.row_bytes, rows_of_block(samples.row_bytes)
        if samples.computed and not on_disk:  # there, each block is a folder of files
            rows = min(rows, COMPUTED_ROWS)
        count, total = -(-len(samples) // rows), each * len(samples)
        mode = (
            "disk" if on_disk
            else "whole" if total <= limit
            else "window" if window and 2 * window * each <= limit
            else "rows"
        )  # fmt: skip
        if mode == "whole" and _quickly_read(samples):
            rows = max(rows, min(TOGETHER * rows, MOST_ROWS))
            count = -(-len(samples) // rows)
        kept = int(limit * count / total) if mode == "rows" else count  # as there is room for
        return cls(mode, rows, count, kept, max(1, int(limit // (each * rows))))


def _quickly_read(samples: Samples) -> bool:
    """Tell whether a block takes as long as its bytes: small cells, each an object, do not."""
    dense = all(isinstance(f.htype.layout, Dense) for f in samples.fields)
    return not samples.computed and (dense or samples.row_bytes >= LARGE_ROW)
