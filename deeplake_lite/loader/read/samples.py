"""What a loader reads: rows as cells, and what is known of them beforehand.

`Samples` is what the loader asks for; `ViewSamples` are the rows of a view. Those of several views
end to end are in `mix`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
import xxhash

from deeplake_lite.dataset.read.reading import NOWHERE, read_blocks
from deeplake_lite.dataset.read.virtual import VirtualTable, is_computed, question_of, source_of
from deeplake_lite.dataset.repr.describe import seen_axes
from deeplake_lite.dataset.saved.parameters import params_to_json
from deeplake_lite.htypes.cells import DenseCells
from deeplake_lite.htypes.layouts import Dense, Nested, Ragged
from deeplake_lite.loader.order.places import Rows
from deeplake_lite.loader.order.shuffle import Shuffle
from deeplake_lite.storage import chunks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.dataset.repr.html.values import Axis
    from deeplake_lite.dataset.saved.question import Question
    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.htypes.layouts import Layout
    from deeplake_lite.loader.order.order import Positions
    from deeplake_lite.loader.order.shuffle import Shuffling
    from deeplake_lite.schema import Field

ROW_ID = "_row_id"
"""Name of the rows' ids."""

UNKNOWN = -1
"""In place of an id that nothing depended on."""

PROBES, COMPUTED_PROBES = 65_536, 64
"""Rows whose size is looked at, to know about that of all: a few large ones among them count."""

SHAPE_ROWS = 2**20
"""Rows whose shapes are looked at at a time."""


class Samples(Protocol):
    """Rows that can be read by position, and some of their columns."""

    def __len__(self) -> int: ...

    @property
    def epoch_rows(self) -> int:
        """How many rows an epoch takes."""
        ...

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns, in order."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """What `read` gives: the columns, and perhaps `ROW_ID`."""
        ...

    @property
    def sources(self) -> tuple[View, ...]:
        """The views whose rows they are."""
        ...

    @property
    def row_bytes(self) -> float:
        """Stored size of a row, bytes, about."""
        ...

    @property
    def computed(self) -> bool:
        """Whether something is computed for a row whenever it is read."""
        ...

    @property
    def fingerprint(self) -> str:
        """What tells these rows from others."""
        ...

    @property
    def repeatable(self) -> bool:
        """Whether any process reads the same cells where the fingerprint is the same.

        They may differ where a query calls functions of the user's.
        """
        ...

    def read(
        self, positions: Positions, into: Mapping[str, NDArray[Any]] = NOWHERE
    ) -> Mapping[str, Cells]:
        """Return the cells of some rows, by name; those of one shape in an array of `into`, if so.

        Whoever reads looks whether they are there: not every column can be read so.
        """
        ...

    def ids(self, positions: Positions) -> Positions:
        """Return the ids of some rows, (rows,) int64."""
        ...

    def where(self, positions: Positions) -> Rows:
        """Return where rows are in their views, to say which one failed."""
        ...

    def only(self, names: Sequence[str]) -> Samples:
        """Return the same rows with some columns alone. Raises ColumnNotFoundError."""
        ...

    def shape_of(self, f: Field) -> tuple[int, ...] | None:
        """Return the shape that a column has in every row; None where they differ, or are null."""
        ...

    def of_one_shape(self, f: Field) -> bool:
        """Tell whether every cell of a column has one shape, of those rows too that are not here.

        So parts of one version agree on it. Of what is computed, nothing is known beforehand.
        """
        ...

    def axes_of(self, f: Field) -> tuple[Axis, ...]:
        """Return the shape of a column's values: per axis a size, or from least to most."""
        ...

    def choose_shuffle(self, wanted: bool | str) -> Shuffling:
        """Return how the rows are shuffled, as the user wants it."""
        ...


@dataclass(frozen=True, eq=False)
class ViewSamples:
    """The rows of a view, and those of its columns that are asked for.

    Parameters
    ----------
    view : View
        Pinned to a version; columns that are not asked for are not in it.
    with_ids : bool
        Whether the rows' ids are read along.
    among : tuple of str
        The columns that there were to choose from.
    """

    view: View
    """What is read."""
    with_ids: bool = False
    """Whether the rows' ids are read along."""
    among: tuple[str, ...] = ()
    """The columns that there were to choose from: of the view that was given."""

    @classmethod
    def of(
        cls, view: View, columns: Sequence[str] | None = None, *, with_ids: bool = False
    ) -> ViewSamples:
        """Pin a view's rows, as they are now. Raises ColumnNotFoundError."""
        names = tuple(view.columns if columns is None else columns)
        return cls(view._select(names), with_ids, view.columns)

    def __len__(self) -> int:
        return len(self.view)

    @property
    def epoch_rows(self) -> int:
        """How many rows an epoch takes: all."""
        return len(self)

    @property
    def sources(self) -> tuple[View, ...]:
        """The view."""
        return (self.view,)

    def only(self, names: Sequence[str]) -> ViewSamples:
        """Return the same rows with some columns alone. Raises ColumnNotFoundError."""
        return ViewSamples.of(self.view, names)

    def choose_shuffle(self, wanted: bool | str) -> Shuffle:
        """Return how the rows are shuffled, as the user wants it. Raises OptionError."""
        return Shuffle.choose(wanted, self)

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """The columns, in order."""
        return self.view._fields()

    @property
    def names(self) -> tuple[str, ...]:
        """What `read` gives: the columns, and perhaps `ROW_ID`."""
        names = tuple(f.name for f in self.fields)
        return (*names, ROW_ID) if self.with_ids else names

    def read(
        self, positions: Positions, into: Mapping[str, NDArray[Any]] = NOWHERE
    ) -> Mapping[str, Cells]:
        """Return the cells of some rows, by name.

        Raises
        ------
        DamagedError
            With the column and the row.
        """
        cells: dict[str, Cells] = dict(read_blocks(self.view, self.fields, positions, into))
        if self.with_ids:
            cells[ROW_ID] = DenseCells(self.ids(positions))
        return cells

    def ids(self, positions: Positions) -> Positions:
        """Return the ids of some rows, (rows,) int64."""
        table, slots = self.view._located(positions)
        return table.ids(slots)

    def where(self, positions: Positions) -> Rows:
        """Return where rows are in the view."""
        return Rows(positions)

    @cached_property
    def row_bytes(self) -> float:
        """Stored size of a row, bytes, as some rows have it that lie evenly among all."""
        if not len(self):
            return 1.0
        return max(1.0, sum(map(self._cell_bytes, self.fields)))

    @property
    def computed(self) -> bool:
        """Whether something is computed for a row whenever it is read."""
        return any(is_computed(self.view, f) for f in self.fields)

    def _cell_bytes(self, f: Field) -> float:
        """Return the size of a column's cell, bytes, on average."""
        most = COMPUTED_PROBES if is_computed(self.view, f) else PROBES
        probes = np.linspace(0, len(self) - 1, min(most, len(self))).astype(np.int64)
        table, slots = self.view._located(probes)
        return float(table.sizes(f.id, slots).mean())

    def shape_of(self, f: Field) -> tuple[int, ...] | None:
        """Return the shape that a column has in every row; None where they differ, or are null."""
        layout = f.htype.layout
        if isinstance(layout, Dense):
            return layout.shape
        if not isinstance(layout, Ragged) or not layout.ndim or not len(self):
            return None
        first: np.ndarray | None = None
        for shapes in self._shapes(f):
            first = shapes[0] if first is None else first
            if (shapes != first).any():
                return None
        kept = tuple(n for n in cast("np.ndarray", first).tolist() if n >= 0)
        return kept or None

    def of_one_shape(self, f: Field) -> bool:
        """Tell whether every cell of a column has one shape, of those rows too that are not here.

        Deleted rows count until `optimize` drops them.
        """
        if isinstance(f.htype.layout, Dense):
            return True
        if not _keeps_shapes(f.htype.layout) or is_computed(self.view, f):
            return False
        table, _ = self.view._located(np.empty(0, np.int64))
        first: np.ndarray | None = None
        for span in chunks.spans(table.slots, SHAPE_ROWS):
            shapes = table.shapes(f.id, np.arange(span.start, span.stop))
            first = shapes[0] if first is None else first
            if (shapes != first).any() or (shapes < 0).all(axis=1).any():
                return False
        return first is not None

    def axes_of(self, f: Field) -> tuple[Axis, ...]:
        """Return the shape of a column's values: per axis a size, or from least to most."""
        if isinstance(f.htype.layout, Dense):
            return f.htype.axes or ()
        extremes: list[np.ndarray] = []
        for shapes in self._shapes(f):
            there = shapes[(shapes >= 0).any(axis=1)]
            if len(there):
                extremes += [there.min(axis=0), there.max(axis=0)]
        return seen_axes(f.htype, np.stack(extremes)) if extremes else f.htype.axes or ()

    def _shapes(self, f: Field) -> Iterator[np.ndarray]:
        """Yield the shapes of a column's cells, some rows at a time."""
        for span in chunks.spans(len(self), SHAPE_ROWS):
            table, slots = self.view._located(np.arange(span.start, span.stop))
            yield table.shapes(f.id, slots)

    @cached_property
    def fingerprint(self) -> str:
        """What tells the given view from others: its version, its rows, its columns, its query.

        Which of the columns are read is no part of it: the order does not depend on that.

        Raises
        ------
        UncommittedError
            For edits that are not committed: they are nobody's version yet.
        """
        self.view._check_committed("A loader's state, like its cache on disk,")
        return fingerprint(self.view, self.among)

    @property
    def repeatable(self) -> bool:
        """Whether any process reads the same cells where the fingerprint is the same."""
        sources = (source_of(self.view, f)[0] for f in self.fields)
        computed = any(isinstance(table, VirtualTable) for table in sources)
        return not computed or _is_repeatable(self.view)


def _is_repeatable(view: View) -> bool:
    """Tell whether a query, and those of its sources, give the same in any process."""
    question = question_of(view)
    return question is None or (
        question.repeatable and all(map(_is_repeatable, _read_by(question)))
    )


def _read_by(question: Question) -> Iterator[View]:
    """Yield the views that a query reads."""
    if question.asked is not None:
        yield question.asked
    yield from question.sources.values()


def _keeps_shapes(layout: Layout) -> bool:
    """Tell whether the shape of a cell's value is known without reading it."""
    match layout:
        case Ragged(ndim=ndim):
            return ndim > 0
        case Nested(item):
            return isinstance(item.layout, Dense)
    return True


def fingerprint(view: View, columns: Sequence[str]) -> str:
    """Return what tells a view from others, also those of other queries in the same words."""
    digest = xxhash.xxh3_128(view.version.encode())
    question = question_of(view)
    if question is not None:
        words = [question.text, params_to_json(question.params), question.seed]
        digest.update(json.dumps(words, default=str).encode())
        for source in _read_by(question):
            digest.update(fingerprint(source, source.columns).encode())
    if isinstance(view._table, VirtualTable):  # a function of the user's may give other rows
        for positions in view._table.positions():
            digest.update(np.ascontiguousarray(positions))
    digest.update("\0".join(columns).encode())
    digest.update(np.ascontiguousarray(view._live()))
    return digest.hexdigest()
