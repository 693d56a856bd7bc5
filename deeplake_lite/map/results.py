"""The results of finished parts, by row of the job."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.dataset.write.blocks import cells_nbytes
from deeplake_lite.htypes.cells import concat, take

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.map.journal import Journal
    from deeplake_lite.remote.segments import Block

BLOCK_BYTES = 16 * 2**20
"""Approximate size of the blocks in which new rows are written, in bytes."""

type Rows = NDArray[np.int64]
"""Numbers of rows of the job, (n,) int64."""

KEPT_PARTS = 2
"""Number of parts that stay in memory. Rows are read in order, so few suffice."""


class Results:
    """The results of some finished parts of a job.

    Parameters
    ----------
    journal : Journal
        The journal of the job.
    parts : sequence of int
        The parts.
    """

    def __init__(self, journal: Journal, parts: Sequence[int]) -> None:
        self._journal, self._parts = journal, parts
        self._loaded: dict[int, list[Block]] = {}
        self.skipped: list[tuple[int, str]] = []
        """The skipped rows and their errors."""
        self.rows = self._find_rows()
        """The rows with results, ascending."""

    def _find_rows(self) -> Rows:
        """Return the rows with results, and collect skipped rows. Reads only parts with errors."""
        rows = [np.empty(0, np.int64)]
        for part in self._parts:
            if self._journal.entry(part).skipped:
                blocks, skipped = self._journal.read(part)
                rows += [block.rows for block in blocks]
                self.skipped += skipped
            else:
                span = self._journal.cut.span(part)
                rows.append(np.arange(span.start, span.stop))
        return np.sort(np.concatenate(rows))

    def read(self, column: str, rows: Rows) -> Cells:
        """Return the cells of a column for rows that have results.

        Raises
        ------
        DamagedError
            When the results are damaged.
        """
        parts, found, places = rows // self._journal.cut.size, [], []
        for part in np.unique(parts).tolist():
            at = np.flatnonzero(parts == part)
            blocks = self._load(part)
            known = np.concatenate([block.rows for block in blocks])
            cells = concat([block.cells[column] for block in blocks])
            order = np.argsort(known)
            found.append(take(cells, order[np.searchsorted(known, rows[at], sorter=order)]))
            places.append(at)
        together = concat(found)
        order = np.argsort(np.concatenate(places))
        return together if (np.diff(order) > 0).all() else take(together, order)

    def new_rows(self) -> Iterator[Mapping[str, Cells]]:
        """Yield the rows that the function has returned, in order, in blocks of limited size.

        Raises
        ------
        DamagedError
            When the results are damaged.
        """
        pending, size = list["Mapping[str, Cells]"](), 0
        for part in sorted(self._parts):
            for block in sorted(self._journal.read(part)[0], key=lambda b: int(b.rows[0])):
                pending.append(block.cells)
                size += sum(map(cells_nbytes, block.cells.values()))
                if size >= BLOCK_BYTES:
                    yield _join(pending)
                    pending, size = [], 0
        if pending:
            yield _join(pending)

    def _load(self, part: int) -> list[Block]:
        if part not in self._loaded:
            while len(self._loaded) >= KEPT_PARTS:
                del self._loaded[next(iter(self._loaded))]
            self._loaded[part] = self._journal.read(part)[0]
        return self._loaded[part]


def _join(blocks: Sequence[Mapping[str, Cells]]) -> Mapping[str, Cells]:
    """Return one block with the rows of several blocks."""
    return {column: concat([block[column] for block in blocks]) for column in blocks[0]}
