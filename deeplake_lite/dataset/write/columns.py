"""The cells of a new column, which are needed for every slot of a table."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from deeplake_lite.htypes.cells import concat, take
from deeplake_lite.storage import chunks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.schema import Field
    from deeplake_lite.storage.stored_array import Slots
    from deeplake_lite.storage.table import Table

type Ids = NDArray[np.int64]


def fill_column(table: Table, f: Field, cells_of: Callable[[Slots], Cells]) -> Iterator[Cells]:
    """Yield the cells of a new column for every slot, in blocks.

    `cells_of` returns the cells of slots with rows. Slots of deleted rows get blank cells.
    """
    for span in chunks.spans(table.rows.slots, chunks.COPY_ROWS):
        is_live = table.rows.contains(np.arange(span.start, span.stop))
        rows, deleted = np.flatnonzero(is_live), np.flatnonzero(~is_live)
        yield interleave(
            (rows, partial(_cells_from, cells_of, span.start)),
            (deleted, lambda rows: f.htype.encode([f.htype.blank] * len(rows))),
        )


def _cells_from(cells_of: Callable[[Slots], Cells], start: int, rows: Ids) -> Cells:
    return cells_of(rows + start)


def interleave(*parts: tuple[Ids, Callable[[Ids], Cells]]) -> Cells:
    """Combine cells in the order of rows.

    Each part consists of rows, and of a function that returns the cells of these rows.
    """
    cells = [(rows, cells_of(rows)) for rows, cells_of in parts if len(rows)]
    if len(cells) == 1:
        return cells[0][1]
    return take(concat([c for _, c in cells]), np.argsort(np.concatenate([r for r, _ in cells])))
