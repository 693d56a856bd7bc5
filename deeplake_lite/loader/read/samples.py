"""The rows that a loader reads as cells, and their properties that are known without reading cells.

`Samples` is the interface that loaders use. `ViewSamples` implements this interface for the rows of
a view, and `mix_samples` implements it for the rows of a mix.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
import xxhash

from deeplake_lite.dataset import lazy_calls
from deeplake_lite.dataset.read.reading import NOWHERE, read_blocks
from deeplake_lite.dataset.read.virtual import VirtualTable, is_computed, question_of, source_of
from deeplake_lite.dataset.repr.describe import seen_axes
from deeplake_lite.dataset.saved.parameters import params_to_json
from deeplake_lite.htypes.cells import DenseCells
from deeplake_lite.htypes.layouts import Dense, Nested, Ragged
from deeplake_lite.loader.order.epoch import Rows
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
"""Key of the row ids in a batch."""

UNKNOWN = -1
"""Placeholder for a row id that was not read because nothing depends on it."""

PROBES, COMPUTED_PROBES = 65_536, 64
"""Number of rows whose sizes are read to estimate the average size, if rows are stored or computed.

The first number is large enough for rare large rows to be among the rows.
"""

SHAPE_ROWS = 2**20
"""Number of rows whose shapes are read at a time."""


class Samples(Protocol):
    """Rows that can be read by position, with some of their columns."""

    def __len__(self) -> int: ...

    @property
    def epoch_rows(self) -> int:
        """Number of rows in an epoch."""
        ...

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns, in order."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns that `read` returns, including `ROW_ID` if row ids are read."""
        ...

    @property
    def sources(self) -> tuple[View, ...]:
        """The views to which the rows belong."""
        ...

    @property
    def row_bytes(self) -> float:
        """Approximate stored size of a row in bytes."""
        ...

    @property
    def computed(self) -> bool:
        """Whether a query computes some column at every read."""
        ...

    @property
    def fingerprint(self) -> str:
        """Hash that identifies these rows."""
        ...

    @property
    def repeatable(self) -> bool:
        """Whether every process with the same fingerprint reads the same cells.

        The value is False if a query calls user-defined functions, which may differ.
        """
        ...

    def read(
        self, positions: Positions, into: Mapping[str, NDArray[Any]] = NOWHERE
    ) -> Mapping[str, Cells]:
        """Return the cells of the given rows in each column, by column name.

        If possible, the values of a column are read into its array in `into`. Callers check whether
        the result shares memory with this array.
        """
        ...

    def ids(self, positions: Positions) -> Positions:
        """Return the ids of the given rows, (rows,) int64."""
        ...

    def where(self, positions: Positions, passes: Positions | None = None) -> Rows:
        """Return the view and the position in this view of each given row.

        The result also has a number that differs between the occurrences of a row in an epoch.

        Parameters
        ----------
        positions : ndarray, (rows,) int64
            Positions of the rows.
        passes : ndarray, (rows,) int64, optional
            How many times the epoch has already gone through each row's view. None means zero.
        """
        ...

    def lineages(self) -> list[dict[str, Any]]:
        """Return the lineage of each view to which the rows belong, as JSON objects."""
        ...

    def only(self, names: Sequence[str]) -> Samples:
        """Return the same rows with only the given columns.

        Raises ColumnNotFoundError if a column does not exist.
        """
        ...

    def shape_of(self, f: Field) -> tuple[int, ...] | None:
        """Return the shape of a column's values, or None if shapes differ or some are null."""
        ...

    def of_one_shape(self, f: Field) -> bool:
        """Return whether all cells of a column have the same shape, in the whole version.

        Rows outside of the view count too, so that all views of a version agree. For computed
        columns, the result is False, because their shapes are not known in advance.
        """
        ...

    def axes_of(self, f: Field) -> tuple[Axis, ...]:
        """Return the size of each axis of a column's values, or (minimum, maximum) if it varies."""
        ...

    def choose_shuffle(self, requested: bool | str, exact_bytes: int | None) -> Shuffling:
        """Return the requested shuffle, as `Shuffle.choose` does. Raises OptionError."""
        ...


@dataclass(frozen=True, eq=False)
class ViewSamples:
    """The rows of a view, with only the loaded columns.

    Parameters
    ----------
    view : View
        View with only the loaded columns, pinned to a version.
    with_ids : bool
        Whether row ids are read too.
    among : tuple of str
        All columns of the original view.
    """

    view: View
    """View with only the loaded columns, pinned to a version."""
    with_ids: bool = False
    """Whether row ids are read too."""
    among: tuple[str, ...] = ()
    """All columns of the original view."""

    @classmethod
    def of(
        cls, view: View, columns: Sequence[str] | None = None, *, with_ids: bool = False
    ) -> ViewSamples:
        """Return the rows of a view, pinned to the current version of the view.

        Raises ColumnNotFoundError if a column does not exist.
        """
        names = tuple(view.columns if columns is None else columns)
        return cls(view.select(names), with_ids, view.columns)

    def __len__(self) -> int:
        return len(self.view)

    @property
    def epoch_rows(self) -> int:
        """Number of rows in an epoch, which is the number of rows in the view."""
        return len(self)

    @property
    def sources(self) -> tuple[View, ...]:
        """The view."""
        return (self.view,)

    def lineages(self) -> list[dict[str, Any]]:
        """Return the lineage of the view, as a JSON object."""
        return [{**lazy_calls.lineage_of(self.view), "fingerprint": self.fingerprint}]

    def only(self, names: Sequence[str]) -> ViewSamples:
        """Return the same rows with only the given columns.

        Raises ColumnNotFoundError if a column does not exist.
        """
        return ViewSamples.of(self.view, names)

    def choose_shuffle(self, requested: bool | str, exact_bytes: int | None) -> Shuffle:
        """Return the requested shuffle, as `Shuffle.choose` does. Raises OptionError."""
        return Shuffle.choose(requested, self, exact_bytes)

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """The columns, in order."""
        return self.view.schema.fields

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns that `read` returns, including `ROW_ID` if row ids are read."""
        names = tuple(f.name for f in self.fields)
        return (*names, ROW_ID) if self.with_ids else names

    def read(
        self, positions: Positions, into: Mapping[str, NDArray[Any]] = NOWHERE
    ) -> Mapping[str, Cells]:
        """Return the cells of the given rows in each column, by column name.

        Raises
        ------
        DamagedError
            When a cell is damaged. The error names the column and row of the cell.
        """
        cells: dict[str, Cells] = dict(read_blocks(self.view, self.fields, positions, into))
        if self.with_ids:
            cells[ROW_ID] = DenseCells(self.ids(positions))
        return cells

    def ids(self, positions: Positions) -> Positions:
        """Return the ids of the given rows, (rows,) int64."""
        table, slots = self.view.rows.locate(positions)
        return table.ids(slots)

    def where(
        self,
        positions: Positions,
        passes: Positions | None = None,  # noqa: ARG002 an epoch passes through a view once
    ) -> Rows:
        """Return the positions of the given rows, and their numbers of earlier occurrences."""
        repeats = None if self._repeats is None else self._repeats[positions]
        return Rows(positions, repeats=repeats)

    @cached_property
    def _repeats(self) -> Positions | None:
        """Number of earlier occurrences of each row in the view; None if no row appears twice.

        These numbers are computed only if row ids are read, because only functions that depend on
        row ids need them. The rows of a whole lake are known to be distinct.
        """
        if not self.with_ids:
            return None
        rows = self.view.rows
        is_virtual = isinstance(rows.table, VirtualTable)
        numbers = self.ids(np.arange(len(self))) if is_virtual else rows.slots
        return None if numbers is None else _count_repeats(numbers)

    @cached_property
    def row_bytes(self) -> float:
        """Approximate stored size of a row in bytes, which is the average of evenly spaced rows."""
        if not len(self):
            return 1.0
        return max(1.0, sum(map(self._cell_bytes, self.fields)))

    @property
    def computed(self) -> bool:
        """Whether a query computes some column at every read."""
        return any(is_computed(self.view, f) for f in self.fields)

    def _cell_bytes(self, f: Field) -> float:
        """Return the average size of a column's cells in bytes."""
        most = COMPUTED_PROBES if is_computed(self.view, f) else PROBES
        probes = np.linspace(0, len(self) - 1, min(most, len(self))).astype(np.int64)
        table, slots = self.view.rows.locate(probes)
        return float(table.sizes(f.id, slots).mean())

    def shape_of(self, f: Field) -> tuple[int, ...] | None:
        """Return the shape of a column's values, or None if shapes differ or some are null."""
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
        shape = tuple(n for n in cast("np.ndarray", first).tolist() if n >= 0)
        return shape or None

    def of_one_shape(self, f: Field) -> bool:
        """Return whether all cells of a column have the same shape, in the whole version.

        Deleted rows count until `optimize` removes them.
        """
        if isinstance(f.htype.layout, Dense):
            return True
        if not _keeps_shapes(f.htype.layout) or is_computed(self.view, f):
            return False
        table, _ = self.view.rows.locate(np.empty(0, np.int64))
        first: np.ndarray | None = None
        for span in chunks.spans(table.slots, SHAPE_ROWS):
            shapes = table.shapes(f.id, np.arange(span.start, span.stop))
            first = shapes[0] if first is None else first
            if (shapes != first).any() or (shapes < 0).all(axis=1).any():
                return False
        return first is not None

    def axes_of(self, f: Field) -> tuple[Axis, ...]:
        """Return the size of each axis of a column's values, or (minimum, maximum) if it varies."""
        if isinstance(f.htype.layout, Dense):
            return f.htype.axes or ()
        extremes: list[np.ndarray] = []
        for shapes in self._shapes(f):
            valid = shapes[(shapes >= 0).any(axis=1)]
            if len(valid):
                extremes += [valid.min(axis=0), valid.max(axis=0)]
        return seen_axes(f.htype, np.stack(extremes)) if extremes else f.htype.axes or ()

    def _shapes(self, f: Field) -> Iterator[np.ndarray]:
        """Yield the shapes of a column's cells in parts, each (rows, ndim)."""
        for span in chunks.spans(len(self), SHAPE_ROWS):
            table, slots = self.view.rows.locate(np.arange(span.start, span.stop))
            yield table.shapes(f.id, slots)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the version, rows, columns and query of the original view.

        The hash does not depend on which columns are loaded. If the order of an epoch depends on
        the loaded columns, so does the shuffle's `to_json`, which is also part of a loader's state.

        Raises
        ------
        UncommittedError
            When the view has uncommitted edits, which do not belong to a version yet.
        """
        self.view.rows.check_committed("A loader's state, like its cache on disk,")
        return fingerprint(self.view, self.among)

    @property
    def repeatable(self) -> bool:
        """Whether every process with the same fingerprint reads the same cells."""
        sources = (source_of(self.view, f)[0] for f in self.fields)
        computed = any(isinstance(table, VirtualTable) for table in sources)
        return not computed or _is_repeatable(self.view)


def _count_repeats(ids: Positions) -> Positions | None:
    """Return the number of earlier occurrences of each id, or None if all ids are distinct.

    >>> _count_repeats(np.array([7, 5, 7, 7, 5])), _count_repeats(np.array([7, 5]))
    (array([0, 0, 1, 2, 1]), None)
    """
    if (np.diff(ids) > 0).all():
        return None
    order = np.argsort(ids, kind="stable")
    is_first = np.diff(ids[order], prepend=ids[order[0]] - 1) != 0
    if is_first.all():
        return None
    counts, numbers = np.empty_like(ids), np.arange(len(ids))
    counts[order] = numbers - np.maximum.accumulate(np.where(is_first, numbers, 0))
    return counts


def _is_repeatable(view: View) -> bool:
    """Return whether a view's query, and the queries of its sources, are repeatable."""
    question = question_of(view)
    return question is None or (
        question.repeatable and all(map(_is_repeatable, _views_read_by(question)))
    )


def _views_read_by(question: Question) -> Iterator[View]:
    """Yield the views that a query reads."""
    if question.asked is not None:
        yield question.asked
    yield from question.sources.values()


def _keeps_shapes(layout: Layout) -> bool:
    """Return whether a layout stores the shapes of cells separately from the bytes of cells."""
    match layout:
        case Ragged(ndim=ndim):
            return ndim > 0
        case Nested(item):
            return isinstance(item.layout, Dense)
    return True


def fingerprint(view: View, columns: Sequence[str]) -> str:
    """Return a hash of a view, its query, and the sources and parameters of the query."""
    digest = xxhash.xxh3_128(view.version.encode())
    question = question_of(view)
    if question is not None:
        parameters = params_to_json(question.params)
        words = [question.text, parameters, question.seed, question.moment]
        digest.update(json.dumps(words, default=str).encode())
        for source in _views_read_by(question):
            digest.update(fingerprint(source, source.columns).encode())
    # A query with user-defined functions may return other rows each time.
    if isinstance(view.rows.table, VirtualTable):
        for positions in view.rows.table.positions():
            digest.update(np.ascontiguousarray(positions))
    digest.update("\0".join(columns).encode())
    digest.update(np.ascontiguousarray(view.rows.live()))
    return digest.hexdigest()
