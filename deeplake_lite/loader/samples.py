"""What a loader reads: the rows of a view as cells, and what is known of them beforehand."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np
import xxhash

from deeplake_lite.dataset.reading import read_blocks
from deeplake_lite.dataset.virtual import question_of
from deeplake_lite.htypes.base import Dense, Ragged
from deeplake_lite.htypes.cells import DenseCells
from deeplake_lite.storage import chunks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.loader.order import Positions
    from deeplake_lite.schema import Field

ROW_ID = "_row_id"
"""Name of the rows' ids."""

PROBES = 256
"""Rows whose size is looked at, to know about that of all."""

SHAPE_ROWS = 2**20
"""Rows whose shapes are looked at at a time."""


@dataclass(frozen=True, eq=False)
class Samples:
    """The rows of a view, and those of its columns that are asked for.

    Parameters
    ----------
    view : View
        Pinned to a version; columns that are not asked for are not in it.
    """

    view: View
    """What is read."""
    with_ids: bool = False
    """Whether the rows' ids are read along."""

    @classmethod
    def of(
        cls, view: View, columns: Sequence[str] | None = None, *, with_ids: bool = False
    ) -> Samples:
        """Pin a view's rows, as they are now. Raises ColumnNotFoundError."""
        names = tuple(view.columns if columns is None else columns)
        return cls(view._select(names), with_ids)

    def __len__(self) -> int:
        return len(self.view)

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """The columns, in order."""
        return self.view._fields()

    @property
    def names(self) -> tuple[str, ...]:
        """What `read` gives: the columns, and perhaps `ROW_ID`."""
        return (*self.view.columns, ROW_ID) if self.with_ids else self.view.columns

    def read(self, positions: Positions) -> Mapping[str, Cells]:
        """Return the cells of some rows, by name.

        Raises
        ------
        DamagedError
            With the column and the row.
        """
        cells: dict[str, Cells] = dict(read_blocks(self.view, self.fields, positions))
        if self.with_ids:
            cells[ROW_ID] = DenseCells(self.ids(positions))
        return cells

    def ids(self, positions: Positions) -> Positions:
        """Return the ids of some rows, (rows,) int64."""
        table, slots = self.view._located(positions)
        return table.ids(slots)

    @cached_property
    def row_bytes(self) -> float:
        """Stored size of a row, bytes, as some rows have it that lie evenly among all."""
        if not len(self):
            return 1.0
        probes = np.linspace(0, len(self) - 1, min(PROBES, len(self))).astype(np.int64)
        table, slots = self.view._located(probes)
        sizes = [float(table.sizes(f.id, slots).mean()) for f in self.fields]
        return max(1.0, sum(sizes))

    def shape_of(self, f: Field) -> tuple[int, ...] | None:
        """Return the shape that a column has in every row; None where they differ, or are null."""
        layout = f.htype.layout
        if isinstance(layout, Dense):
            return layout.shape
        if not isinstance(layout, Ragged) or not layout.ndim or not len(self):
            return None
        first: np.ndarray | None = None
        for span in chunks.spans(len(self), SHAPE_ROWS):
            table, slots = self.view._located(np.arange(span.start, span.stop))
            shapes = table.shapes(f.id, slots)
            first = shapes[0] if first is None else first
            if (shapes != first).any():
                return None
        kept = tuple(n for n in cast("np.ndarray", first).tolist() if n >= 0)
        return kept or None

    @cached_property
    def fingerprint(self) -> str:
        """What tells this view from others: of its version, its rows, its columns, its query."""
        digest = xxhash.xxh3_128(self.view.version.encode())
        question = question_of(self.view)
        if question is not None:
            digest.update(repr((question.text, question.params, question.seed)).encode())
        digest.update("\0".join(self.view.columns).encode())
        digest.update(np.ascontiguousarray(self.view._live()))
        return digest.hexdigest()
