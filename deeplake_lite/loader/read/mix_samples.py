"""The rows of a mix of several views with the same columns, numbered from view to view."""

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
from deeplake_lite.loader.order.epoch import Rows
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
"""Name of an optional column of batches, with the number of each row's view, counted from 0."""


REPEAT_SHIFT = 32
"""Number of low bits of `Rows.repeats` that identify a pass and a view.

The bits above count the earlier occurrences of the row in its view.
"""


@dataclass(frozen=True, eq=False)
class MixSamples:
    """The rows of several views, numbered from the first row of the first view.

    Parameters
    ----------
    parts : tuple of ViewSamples
        The rows of each view. All have the same columns, in any order.
    columns : tuple of str
        Names of the columns in a batch, in order. `SOURCE` may be one of these names.
    weights : tuple of Fraction
        Shares of the views in an epoch.
    epoch_rows : int
        Number of rows in an epoch.
    """

    parts: tuple[ViewSamples, ...]
    """The rows of each view."""
    columns: tuple[str, ...]
    """Names of the columns in a batch, in order."""
    weights: tuple[Fraction, ...]
    """Shares of the views in an epoch. The shares add up to 1."""
    epoch_rows: int
    """Number of rows in an epoch."""

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
        """Return the rows of views, pinned to their current versions.

        Raises
        ------
        ColumnNotFoundError
            When a view does not have one of the columns.
        OptionError
            When the types of a column in the views are incompatible.
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
        """Names of the columns that `read` returns, including `ROW_ID` if row ids are read."""
        return (*self.columns, ROW_ID) if self.parts[0].with_ids else self.columns

    @property
    def sources(self) -> tuple[View, ...]:
        """The views."""
        return tuple(part.view for part in self.parts)

    def lineages(self) -> list[dict[str, Any]]:
        """Return the lineage of each view, with its weight, as JSON objects."""
        weights = map(float, self.weights)
        lineages = [lineage for part in self.parts for lineage in part.lineages()]
        return [{**x, "weight": weight} for x, weight in zip(lineages, weights, strict=True)]

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """The columns of a batch, each with a type that covers its types in all views."""
        htypes = {n: common_htype(n, self._of(n)) for n in self.columns if n != SOURCE}
        htypes[SOURCE] = Scalar("int64")
        return tuple(Field(n, f"c{i:08x}", htypes[n]) for i, n in enumerate(self.columns))

    def read(
        self,
        positions: Positions,
        into: Mapping[str, NDArray[Any]] = NOWHERE,  # noqa: ARG002 views are read one by one
    ) -> Mapping[str, Cells]:
        """Return the cells of the given rows in each column, by column name."""
        views, order = self._by_view(positions)
        blocks = [self._read(view, mine) for view, mine in views]
        joined = {name: concat([block[name] for block in blocks]) for name in self.names}
        if (np.diff(order) > 0).all():
            return joined
        return {name: take(cells, np.argsort(order)) for name, cells in joined.items()}

    def ids(self, positions: Positions) -> Positions:
        """Return the ids of the given rows, (rows,) int64. Views may have equal ids."""
        views, order = self._by_view(positions)
        out = np.empty(len(positions), np.int64)
        out[order] = np.concatenate([self.parts[view].ids(mine) for view, mine in views])
        return out

    def where(self, positions: Positions, passes: Positions | None = None) -> Rows:
        """Return the view and the position in this view of each given row.

        The result also has a number that differs between the occurrences of a row in an epoch. A
        row may occur several times in a view, in several views, and in several passes of a view.
        """
        views = np.searchsorted(self._ends, positions, side="right")
        mine = positions - np.concatenate([[0], self._ends])[views]
        repeats = views + (0 if passes is None else passes * len(self.parts))
        for view, part in enumerate(self.parts):
            within_view = part.where(mine[views == view]).repeats
            if within_view is not None:
                repeats[views == view] += within_view << REPEAT_SHIFT
        return Rows(mine, views, repeats)

    def _by_view(self, positions: Positions) -> tuple[list[tuple[int, Positions]], Positions]:
        """Group positions by view.

        Returns
        -------
        groups : list of (int, ndarray)
            The number of each view that has some of the rows, and the positions of these rows in
            that view.
        order : ndarray, (rows,) int64
            Indices into `positions` of the rows of all groups, one group after the other.
        """
        views = np.searchsorted(self._ends, positions, side="right")
        starts = np.concatenate([[0], self._ends])
        numbers = np.unique(views).tolist() or [0]
        groups = [(view, positions[views == view] - starts[view]) for view in numbers]
        return groups, np.argsort(views, kind="stable")

    def only(self, names: Sequence[str]) -> MixSamples:
        """Return the same rows with only the given columns.

        Raises ColumnNotFoundError if a column does not exist.
        """
        return self.of(self.sources, tuple(names), self.weights, self.epoch_rows)

    @cached_property
    def row_bytes(self) -> float:
        """Approximate stored size of a row in bytes."""
        return sum(part.row_bytes * len(part) for part in self.parts) / len(self)

    @property
    def computed(self) -> bool:
        """Whether a query computes some column at every read."""
        return any(part.computed for part in self.parts)

    def shape_of(self, f: Field) -> tuple[int, ...] | None:
        """Return the shape of a column's values, or None if shapes differ or some are null."""
        if f.name == SOURCE:
            return ()
        shapes = {part.shape_of(part.view.schema[f.name]) for part in self.parts}
        return shapes.pop() if len(shapes) == 1 else None

    def of_one_shape(self, f: Field) -> bool:
        """Return whether all cells of a column have one shape, in the versions of all views."""
        fields = [(part, part.view.schema[f.name]) for part in self.parts if f.name != SOURCE]
        is_same = len({part.shape_of(part_field) for part, part_field in fields}) <= 1
        return is_same and all(part.of_one_shape(part_field) for part, part_field in fields)

    def axes_of(self, f: Field) -> tuple[Axis, ...]:
        """Return the size of each axis of a column's values, or (minimum, maximum) if it varies."""
        if f.name == SOURCE:
            return ()
        shapes = {part.axes_of(part.view.schema[f.name]) for part in self.parts}
        return tuple(map(_join_axes, *shapes)) if len(shapes) > 1 else shapes.pop()

    def choose_shuffle(self, requested: bool | str, exact_bytes: int | None) -> MixShuffle:
        """Return the requested shuffle for each view, as `Shuffle.choose` does. Raises OptionError.

        The views have equal parts of `exact_bytes`.
        """
        most = None if exact_bytes is None else exact_bytes // len(self.parts)
        shuffles = tuple(part.choose_shuffle(requested, most) for part in self.parts)
        return MixShuffle(tuple(map(len, self.parts)), self.weights, shuffles)

    @cached_property
    def fingerprint(self) -> str:
        """Hash that identifies these rows. Raises UncommittedError for uncommitted edits."""
        fingerprints = [part.fingerprint for part in self.parts]
        return xxhash.xxh3_128_hexdigest("\0".join(fingerprints).encode())

    @property
    def repeatable(self) -> bool:
        """Whether every process with the same fingerprint reads the same cells."""
        return all(part.repeatable for part in self.parts)

    @cached_property
    def _ends(self) -> Positions:
        """Position at which the rows of each view end, (views,)."""
        return np.cumsum([len(part) for part in self.parts])

    @cached_property
    def _class_numbers(self) -> dict[str, list[NDArray[np.int32] | None]]:
        """Tables that map class numbers of each view to those of the mix, by column name.

        Each column has a list with one table per view. A view whose classes keep their numbers has
        None instead of a table.
        """
        return {
            f.name: [_renumbering(h.classes, f.htype.classes) for h in self._of(f.name)]
            for f in self.fields
            if f.htype.classes is not None and f.htype.classes.names
        }

    def _of(self, name: str) -> list[Any]:
        """Return a column's type in each view."""
        return [part.view.schema[name].htype for part in self.parts]

    def _read(self, view: int, positions: Positions) -> dict[str, Cells]:
        """Return the cells of rows of one view, with the class numbers of the mix."""
        cells = dict(self.parts[view].read(positions))
        for name, numbers in self._class_numbers.items():
            table = numbers[view]
            if table is not None:
                cells[name] = _renumber(cells[name], table)
        if SOURCE in self.columns:
            cells[SOURCE] = DenseCells(np.full(len(positions), view, np.int64))
        return cells


def common_htype(name: str, htypes: Sequence[Htype]) -> Htype:
    """Return a type that covers the types of a column in all views.

    The types may differ in whether they are nullable, and in the codec of image files. Class labels
    are matched by name.

    Raises
    ------
    OptionError
        When the types are incompatible.

    Examples
    --------
    >>> from deeplake_lite.htypes import ClassLabel
    >>> pets, birds = ClassLabel(["cat", "dog"]), ClassLabel(["dog", "emu"], nullable=True)
    >>> common_htype("label", [pets, birds])
    ClassLabel(['cat', 'dog', 'emu'], nullable=True)
    """
    plain = [h.bare for h in htypes]
    whole = plain[0]
    for number, other in enumerate(plain):
        united = whole.united(other)
        if united is None:
            raise OptionError(
                f"A column of a mix must have the same type in all views, but {name!r} is "
                f"{htypes[0]} in view 0 and {htypes[number]} in view {number}. Leave the column "
                "out with columns=[…], or cast it in a query."
            )
        whole = united
    nullable = any(h.nullable for h in htypes)
    return replace(whole, nullable=nullable).limited(htypes[0].limits)


def common_columns(views: Sequence[View]) -> tuple[str, ...]:
    """Return the names of the columns of all views. Raises ColumnNotFoundError if views differ."""
    names = list(dict.fromkeys(name for view in views for name in view.columns))
    for number, view in enumerate(views):
        for name in names:
            if name not in view.columns:
                raise ColumnNotFoundError(
                    f"All views of a mix must have the same columns, but view {number} (counted "
                    f"from 0) has no column {name!r}. Choose common columns: "
                    f"columns={_common_columns(views)}."
                )
    return views[0].columns


def _common_columns(views: Sequence[View]) -> list[str]:
    return [name for name in views[0].columns if all(name in view.columns for view in views)]


def _check_links(fields: Sequence[Field], views: Sequence[View]) -> None:
    """Raise OptionError if a mix has links, and its lakes were opened with different ``allow=``.

    Otherwise, a link in one lake could read a file that is allowed only for another lake.
    """
    allowed = {view.rows.lake.allow for view in views}
    if len(allowed) > 1 and any(f.htype.target is not None for f in fields):
        raise OptionError(
            "All lakes of a mix with links must be opened with the same allow=, but they were "
            f"opened with {sorted(allowed)}. Open all of them with the same allow=[…]."
        )


def _renumbering(view: ClassLabel, mix: ClassLabel) -> NDArray[np.int32] | None:
    """Return the number in the mix of each class of a view, or None if no number changes."""
    numbers = np.array([mix.index(name) for name in view.names], np.int32)
    return None if (numbers == np.arange(len(numbers))).all() else numbers


def _renumber(cells: Cells, numbers: NDArray[np.int32]) -> Cells:
    """Replace each class number in cells with the entry of `numbers` at this index."""
    if isinstance(cells, DenseCells):
        return DenseCells(numbers[cells.values], cells.valid)
    assert isinstance(cells, RaggedCells)
    buffers = [numbers[np.frombuffer(b, "<i4")].astype("<i4") for b in cells.buffers]
    return RaggedCells(list(buffers), cells.shapes, cells.valid)


def _join_axes(*axes: Axis) -> Axis:
    """Return the size of an axis in all views, or (minimum, maximum), or None if it is unknown.

    >>> _join_axes(4, (2, 3)), _join_axes(4, None), _join_axes(4, 4)
    ((2, 4), None, 4)
    """
    if None in axes:
        return None
    sizes = [n for size in axes for n in (size if isinstance(size, tuple) else (size,))]
    whole = [n for n in sizes if n is not None]
    return whole[0] if len({*whole}) == 1 else (min(whole), max(whole))
