"""The rows of several views end to end, as one: where their columns mean the same."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import xxhash

from deeplake_lite.dataset.read.reading import NOWHERE
from deeplake_lite.errors import ColumnNotFoundError, OptionError
from deeplake_lite.htypes import Scalar
from deeplake_lite.htypes.cells import DenseCells, RaggedCells, concat, take
from deeplake_lite.loader.order.places import Rows
from deeplake_lite.loader.order.proportions import MixShuffle
from deeplake_lite.loader.read.samples import ROW_ID, ViewSamples
from deeplake_lite.schema import Field

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from deeplake_lite.dataset.repr.html.values import Axis
    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes import ClassLabel, Htype
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.loader.order.order import Positions

SOURCE = "_source"
"""Name of the column that says which view a row is of, from 0; given where it is asked for."""


@dataclass(frozen=True, eq=False)
class MixSamples:
    """The rows of several views, one after the other.

    Parameters
    ----------
    parts : tuple of ViewSamples
        With the same columns, in any order.
    columns : tuple of str
        Those of a batch, in order; `SOURCE` may be among them.
    weights : tuple of Fraction
        The views' shares in an epoch.
    epoch_rows : int
        How many rows an epoch takes.
    """

    parts: tuple[ViewSamples, ...]
    """Each view."""
    columns: tuple[str, ...]
    """Those of a batch, in order."""
    weights: tuple[Fraction, ...]
    """The views' shares in an epoch; they add up to 1."""
    epoch_rows: int
    """How many rows an epoch takes."""

    @classmethod
    def of(
        cls,
        views: Sequence[View],
        columns: tuple[str, ...],
        weights: tuple[Fraction, ...],
        epoch_rows: int,
        *,
        with_ids: bool = False,
    ) -> MixSamples:
        """Pin the views' rows, as they are now.

        Raises
        ------
        ColumnNotFoundError
            For a column that a view does not have.
        OptionError
            For columns that do not mean the same in all views.
        """
        read = [name for name in columns if name != SOURCE]
        parts = tuple(ViewSamples.of(view, read, with_ids=with_ids) for view in views)
        samples = cls(parts, columns, weights, epoch_rows)
        _check_links(samples.fields, views)
        return samples

    def __len__(self) -> int:
        return int(self._ends[-1])

    @property
    def names(self) -> tuple[str, ...]:
        """What `read` gives: the columns, and perhaps `ROW_ID`."""
        return (*self.columns, ROW_ID) if self.parts[0].with_ids else self.columns

    @property
    def sources(self) -> tuple[View, ...]:
        """The views."""
        return tuple(part.view for part in self.parts)

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """The columns, in order, with the type that covers all views."""
        htypes = {n: common_htype(n, self._of(n)) for n in self.columns if n != SOURCE}
        htypes[SOURCE] = Scalar("int64")
        return tuple(Field(n, f"c{i:08x}", htypes[n]) for i, n in enumerate(self.columns))

    def read(
        self,
        positions: Positions,
        into: Mapping[str, NDArray[Any]] = NOWHERE,  # noqa: ARG002 views are read one by one
    ) -> Mapping[str, Cells]:
        """Return the cells of some rows, by name."""
        views, order = self._by_view(positions)
        blocks = [self._read(view, mine) for view, mine in views]
        found = {name: concat([block[name] for block in blocks]) for name in self.names}
        if (np.diff(order) > 0).all():
            return found
        return {name: take(cells, np.argsort(order)) for name, cells in found.items()}

    def ids(self, positions: Positions) -> Positions:
        """Return the ids of some rows, (rows,) int64: those of different views may be equal."""
        views, order = self._by_view(positions)
        out = np.empty(len(positions), np.int64)
        out[order] = np.concatenate([self.parts[view].ids(mine) for view, mine in views])
        return out

    def where(self, positions: Positions) -> Rows:
        """Return where rows are in their views."""
        views = np.searchsorted(self._ends, positions, side="right")
        starts = np.concatenate([[0], self._ends])
        return Rows(positions - starts[views], views)

    def _by_view(self, positions: Positions) -> tuple[list[tuple[int, Positions]], Positions]:
        """Return views with positions of theirs, and which of the given ones these are."""
        views = np.searchsorted(self._ends, positions, side="right")
        starts = np.concatenate([[0], self._ends])
        there = np.unique(views).tolist() or [0]
        mine = [(view, positions[views == view] - starts[view]) for view in there]
        return mine, np.argsort(views, kind="stable")

    def only(self, names: Sequence[str]) -> MixSamples:
        """Return the same rows with some columns alone. Raises ColumnNotFoundError."""
        return self.of(self.sources, tuple(names), self.weights, self.epoch_rows)

    @cached_property
    def row_bytes(self) -> float:
        """Stored size of a row, bytes, about."""
        return sum(part.row_bytes * len(part) for part in self.parts) / len(self)

    @property
    def computed(self) -> bool:
        """Whether something is computed for a row whenever it is read."""
        return any(part.computed for part in self.parts)

    def shape_of(self, f: Field) -> tuple[int, ...] | None:
        """Return the shape that a column has in every row; None where they differ, or are null."""
        if f.name == SOURCE:
            return ()
        shapes = {part.shape_of(part.view.schema[f.name]) for part in self.parts}
        return shapes.pop() if len(shapes) == 1 else None

    def of_one_shape(self, f: Field) -> bool:
        """Tell whether every cell of a column has one shape, in all versions that are mixed."""
        fields = [(part, part.view.schema[f.name]) for part in self.parts if f.name != SOURCE]
        alike = len({part.shape_of(own) for part, own in fields}) <= 1
        return alike and all(part.of_one_shape(own) for part, own in fields)

    def axes_of(self, f: Field) -> tuple[Axis, ...]:
        """Return the shape of a column's values: per axis a size, or from least to most."""
        if f.name == SOURCE:
            return ()
        found = {part.axes_of(part.view.schema[f.name]) for part in self.parts}
        return tuple(map(_of_both, *found)) if len(found) > 1 else found.pop()

    def choose_shuffle(self, wanted: bool | str) -> MixShuffle:
        """Return how the rows are shuffled, as the user wants it. Raises OptionError."""
        rows = tuple(map(len, self.parts))
        return MixShuffle(rows, self.weights, tuple(part.choose_shuffle(wanted) for part in self.parts))

    @cached_property
    def fingerprint(self) -> str:
        """What tells these rows from others. Raises UncommittedError."""
        of = [part.fingerprint for part in self.parts]
        return xxhash.xxh3_128_hexdigest("\0".join(of).encode())

    @property
    def repeatable(self) -> bool:
        """Whether any process reads the same cells where the fingerprint is the same."""
        return all(part.repeatable for part in self.parts)

    @cached_property
    def _ends(self) -> Positions:
        """Where each view ends, (views,)."""
        return np.cumsum([len(part) for part in self.parts])

    @cached_property
    def _numbers(self) -> dict[str, list[NDArray[np.int32] | None]]:
        """By column of classes: per view, the number that each of its classes has here."""
        return {
            f.name: [_renumbered(h.classes, f.htype.classes) for h in self._of(f.name)]
            for f in self.fields
            if f.htype.classes is not None and f.htype.classes.names
        }

    def _of(self, name: str) -> list[Any]:
        """Return a column's type in each view."""
        return [part.view.schema[name].htype for part in self.parts]

    def _read(self, view: int, positions: Positions) -> dict[str, Cells]:
        """Return cells of rows of one view, their classes numbered as here."""
        cells = dict(self.parts[view].read(positions))
        for name, numbers in self._numbers.items():
            table = numbers[view]
            if table is not None:
                cells[name] = _relabelled(cells[name], table)
        if SOURCE in self.columns:
            cells[SOURCE] = DenseCells(np.full(len(positions), view, np.int64))
        return cells


def common_htype(name: str, htypes: Sequence[Htype]) -> Htype:
    """Return the type that covers a column in all views.

    Whether nulls are taken may differ, and the codec of pictures that are files. Classes go by
    name.

    Raises
    ------
    OptionError
        For types that mean different things.

    Examples
    --------
    >>> from deeplake_lite.htypes import ClassLabel
    >>> common_htype("label", [ClassLabel(["cat", "dog"]), ClassLabel(["dog", "emu"], nullable=True)])
    ClassLabel(['cat', 'dog', 'emu'], nullable=True)
    """
    plain = [replace(h, nullable=False, default=None) for h in htypes]
    whole = plain[0]
    for number, other in enumerate(plain):
        united = whole.united(other)
        if united is None:
            raise OptionError(
                f"Columns of a mix have one type in all views, got {name!r} as {htypes[0]} in view "
                f"0 and {htypes[number]} in view {number}. Leave it out with columns=[…], or cast "
                "it in a query."
            )
        whole = united
    nullable = any(h.nullable for h in htypes)
    return replace(whole, nullable=nullable).limited(htypes[0].limits)


def common_columns(views: Sequence[View]) -> tuple[str, ...]:
    """Return the columns, which all views have to have. Raises ColumnNotFoundError."""
    known = list(dict.fromkeys(name for view in views for name in view.columns))
    for number, view in enumerate(views):
        for name in known:
            if name not in view.columns:
                raise ColumnNotFoundError(
                    f"Views of a mix have the same columns, and view {number} has no {name!r}. "
                    f"Choose those that all have: columns={_in_all(views)}."
                )
    return views[0].columns


def _in_all(views: Sequence[View]) -> list[str]:
    return [name for name in views[0].columns if all(name in view.columns for view in views)]


def _check_links(fields: Sequence[Field], views: Sequence[View]) -> None:
    """Refuse to follow links of one lake under the roots that were given for another."""
    allowed = {view._lake.allow for view in views}
    if len(allowed) > 1 and any(f.htype.target is not None for f in fields):
        raise OptionError(
            f"Links of a mix are followed under the same roots, got {sorted(allowed)}. Open all "
            "lakes with the same allow=[…]."
        )


def _renumbered(own: ClassLabel, here: ClassLabel) -> NDArray[np.int32] | None:
    """Return the number here of each class of a view; None where they are the same."""
    numbers = np.array([here.index(name) for name in own.names], np.int32)
    return None if (numbers == np.arange(len(numbers))).all() else numbers


def _relabelled(cells: Cells, numbers: NDArray[np.int32]) -> Cells:
    """Return cells of classes with other numbers."""
    if isinstance(cells, DenseCells):
        return DenseCells(numbers[cells.values], cells.valid)
    assert isinstance(cells, RaggedCells)
    buffers = [numbers[np.frombuffer(b, "<i4")].astype("<i4") for b in cells.buffers]
    return RaggedCells(list(buffers), cells.shapes, cells.valid)


def _of_both(*axes: Axis) -> Axis:
    """Return the sizes of an axis that differ from view to view, from least to most.

    >>> _of_both(4, (2, 3)), _of_both(4, None), _of_both(4, 4)
    ((2, 4), None, 4)
    """
    if None in axes:
        return None
    sizes = [n for size in axes for n in (size if isinstance(size, tuple) else (size,))]
    whole = [n for n in sizes if n is not None]
    return whole[0] if len({*whole}) == 1 else (min(whole), max(whole))
