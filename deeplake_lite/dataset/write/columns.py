"""Cells of a new column, for every slot of a table in blocks."""

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
    from deeplake_lite.storage.arrays import Slots
    from deeplake_lite.storage.table import Table

type Ids = NDArray[np.int64]


def filled(table: Table, f: Field, give: Callable[[Slots], Cells]) -> Iterator[Cells]:
    """Yield the cells of a new column for every slot in blocks.

    `give` returns those of some slots that hold a row; the others are blank.
    """
    alive = np.zeros(table.rows.slots, bool)
    alive[table.rows.live()] = True
    for span in chunks.spans(len(alive), chunks.COPY_ROWS):
        here, gone = np.flatnonzero(alive[span]), np.flatnonzero(~alive[span])
        yield woven(
            (here, partial(_shifted, give, span.start)),
            (gone, lambda rows: f.htype.encode([f.htype.blank] * len(rows))),
        )


def _shifted(give: Callable[[Slots], Cells], start: int, rows: Ids) -> Cells:
    return give(rows + start)


def woven(*parts: tuple[Ids, Callable[[Ids], Cells]]) -> Cells:
    """Return cells that come in parts, each with the rows that it is for and who gives it."""
    some = [(rows, give(rows)) for rows, give in parts if len(rows)]
    if len(some) == 1:
        return some[0][1]
    return take(concat([c for _, c in some]), np.argsort(np.concatenate([r for r, _ in some])))
