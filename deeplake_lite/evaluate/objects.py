"""Read predicted and true objects from the columns of a view."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.export.annotations.coco_annotations import exact
from deeplake_lite.dataset.export.annotations.columns import is_boxes, is_keypoints
from deeplake_lite.dataset.read.reading import read_blocks, read_values
from deeplake_lite.dataset.read.values import with_none
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.evaluate.masks import RowMasks
from deeplake_lite.htypes.boxes import convert_boxes
from deeplake_lite.htypes.cells import DenseCells, NestedCells

if TYPE_CHECKING:
    from deeplake_lite.dataset.view import View
    from deeplake_lite.evaluate.classes import Classes
    from deeplake_lite.evaluate.columns import ObjectColumns
    from deeplake_lite.evaluate.matching import Flags, Floats, Numbers
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.schema import Field


@dataclass(frozen=True, eq=False)
class Objects:
    """The objects of some rows, one row after the other."""

    counts: Numbers
    """Number of objects in each row, (rows,) int64."""
    classes: Numbers
    """Class of each object, (n,) int64."""
    scores: Floats
    """Score of each object, (n,) float64; 1 for true objects."""
    crowd: Flags
    """Whether each object is a crowd, an area with any number of objects, (n,) bool."""
    areas: Floats
    """Area of each object, (n,) float64, in pixels; NaN if unknown."""
    boxes: Floats
    """Box of each object, (n, 4) float64, xywh; zeros for masks."""
    points: Floats | None = None
    """Keypoints of each object, (n, k, 2 or 3) float64."""
    masks: RowMasks | None = None
    """Masks of the objects of each row, which are drawn row by row."""

    @property
    def rows(self) -> Numbers:
        """Row of each object, (n,) int64."""
        return np.repeat(np.arange(len(self.counts)), self.counts)


@dataclass(frozen=True, eq=False)
class ObjectReader:
    """Reads the predicted or the true objects of rows."""

    view: View
    columns: ObjectColumns
    classes: Classes
    sizes: ImageSizes

    def present(self, positions: Numbers) -> Flags:
        """Return whether each row is not null, (n,) bool. An empty list of objects is not null."""
        return valid_rows(self.view, self.columns.shapes, positions)

    def read(self, positions: Numbers) -> Objects:
        """Return the objects of non-null rows. Raises InvalidValueError for invalid rows."""
        columns = self.columns
        cells = read_blocks(self.view, columns.fields(), positions)
        shapes = columns.shapes
        counts = _counts(shapes, cells[shapes.name])
        total = int(counts.sum())

        def numbers(f: Field | None, default: float) -> Floats:
            if f is None:
                return np.full(total, default)
            values = self._companion(f, cells[f.name], counts, positions)
            return exact(np.asarray(values))

        classes = np.zeros(total, np.int64)
        if (labels := columns.labels) is not None:
            values = self._companion(labels, cells[labels.name], counts, positions)
            assert labels.htype.item is not None
            classes = self.classes.numbers(labels.htype.item, values)
        scores = numbers(columns.scores, 1.0)
        self._check_scores(scores, counts, positions)
        crowd = numbers(columns.crowd, 0.0).astype(bool)
        areas = numbers(columns.areas, np.nan)
        return self._with_shapes(
            cells, positions, Objects(counts, classes, scores, crowd, areas, np.zeros((total, 4)))
        )

    def _with_shapes(self, cells: dict[str, Cells], positions: Numbers, bare: Objects) -> Objects:
        shapes = self.columns.shapes
        shape_cells = cells[shapes.name]
        if is_boxes(shapes):
            boxes = self._boxes(shapes, shape_cells, bare.rows, positions)
            return replace(bare, boxes=boxes, areas=_areas(bare.areas, boxes[:, 2] * boxes[:, 3]))
        if is_keypoints(shapes):
            return self._keypoints(cells, positions, bare)
        return replace(bare, masks=RowMasks(self.view, shapes, shape_cells, positions))

    def _boxes(self, f: Field, cells: Cells, rows: Numbers, positions: Numbers) -> Floats:
        """Return boxes, (n, 4) float64, xywh, in pixels if the image sizes are known."""
        coordinates = f.htype.coordinates
        assert coordinates is not None
        arrays = [v for v in f.htype.decode_cells(cells) if v is not None]
        stored = np.concatenate([*arrays, np.zeros((0, 4), f.htype.value_dtype)])
        boxes: Floats = convert_boxes(exact(stored), coordinates.format, "xywh")
        if coordinates.units == "fraction":
            sizes = self.sizes.of(positions)
            if sizes is not None:
                boxes *= np.tile(sizes[rows][:, ::-1], 2)
        return boxes

    def _keypoints(self, cells: dict[str, Cells], positions: Numbers, bare: Objects) -> Objects:
        shapes, other = self.columns.shapes, self.columns.boxes
        arrays = [v for v in shapes.htype.decode_cells(cells[shapes.name]) if len(v)]
        if len({array.shape[1:] for array in arrays}) > 1:
            raise InvalidValueError(
                "keypoints must have the same number of points in all rows, but their numbers "
                "differ. Select rows whose objects have the same number of keypoints.",
                column=shapes.name,
            )
        joined = np.concatenate(arrays) if arrays else np.zeros((0, 0, 3), np.float32)
        points = exact(np.ascontiguousarray(joined))
        if points.shape[2] == 2:  # without visibilities, all points are visible
            points = np.concatenate([points, np.full((*points.shape[:2], 1), 2.0)], axis=2)
        corners = points[..., :2] if points.size else np.zeros((len(points), 1, 2))
        low, high = corners.min(axis=1), corners.max(axis=1)
        boxes = np.concatenate([low, high - low], axis=1)
        if other is not None:
            counts = _counts(other, cells[other.name])
            self._check_counts(other, counts, bare.counts, positions)
            boxes = self._boxes(other, cells[other.name], bare.rows, positions)
        areas = _areas(bare.areas, boxes[:, 2] * boxes[:, 3])
        return replace(bare, boxes=boxes, points=points, areas=areas)

    def _companion(self, f: Field, cells: Cells, counts: Numbers, positions: Numbers) -> Any:
        """Return the values of a column that has one value per object, as one array or list."""
        self._check_counts(f, _counts(f, cells), counts, positions)
        if isinstance(cells, NestedCells):
            if cells.items.valid is not None:
                raise InvalidValueError(
                    "must have a value for each object, but at least one is null. Replace the "
                    "nulls with values.",
                    column=f.name,
                )
            if isinstance(cells.items, DenseCells):
                return cells.items.values
            assert f.htype.item is not None
            return f.htype.item.decode_cells(cells.items)
        arrays = [v for v in f.htype.decode_cells(cells) if v is not None]
        return np.concatenate([*arrays, np.zeros(0, f.htype.value_dtype)])

    def _check_counts(
        self, f: Field, lengths: Numbers, counts: Numbers, positions: Numbers
    ) -> None:
        """Raise InvalidValueError unless a column has a value for each object."""
        if (lengths != counts).any():
            row = int(np.flatnonzero(lengths != counts)[0])
            raise InvalidValueError(
                f"must have as many values as column {self.columns.shapes.name!r} has objects, "
                f"{counts[row]}, but it has {lengths[row]}. Make the lists the same length.",
                column=f.name,
                row=int(positions[row]),
            )

    def _check_scores(self, scores: Floats, counts: Numbers, positions: Numbers) -> None:
        if not np.isfinite(scores).all() and self.columns.scores is not None:
            at = int(np.flatnonzero(~np.isfinite(scores))[0])
            row = int(np.searchsorted(np.cumsum(counts), at, side="right"))
            raise InvalidValueError(
                f"scores must be finite, but one of them is {scores[at]}. Correct it, or remove "
                "the prediction.",
                column=self.columns.scores.name,
                row=int(positions[row]),
            )


class ImageSizes:
    """The image sizes of a view's rows, if they are available for all rows."""

    def __init__(self, view: View) -> None:
        self._view = view

    def of(self, positions: Numbers) -> Floats | None:
        """Return heights and widths, (n, 2) float64, or None if sizes are not available."""
        sizes = self._sizes
        return None if sizes is None else sizes[positions]

    @cached_property
    def _sizes(self) -> Floats | None:
        everything = np.arange(len(self._view))
        return self._from_columns(everything) if self._has_columns else self._of_images(everything)

    @property
    def _has_columns(self) -> bool:
        view = self._view
        return all(name in view and view.field(name).htype.scalar for name in ("height", "width"))

    def _from_columns(self, positions: Numbers) -> Floats | None:
        fields = [self._view.field(name) for name in ("height", "width")]
        values = list(read_values(self._view, fields, positions).values())
        if any(np.ma.getmaskarray(column).any() for column in values):
            return None
        return np.stack([np.ma.getdata(column) for column in values], axis=1).astype(np.float64)

    def _of_images(self, positions: Numbers) -> Floats | None:
        images = [f for f in self._view.schema if f.htype.is_image]
        images = [f for f in images if f.name == "image"] or images
        if len(images) != 1:
            return None
        table, slots = self._view.rows.locate(positions)
        shapes = table.shapes(images[0].id, slots)[:, :2]
        is_known = shapes.shape[1] == 2 and bool((shapes > 0).all())
        return shapes.astype(np.float64) if is_known else None


def valid_rows(view: View, f: Field, positions: Numbers) -> Flags:
    """Return whether each row of a column is not null, (n,) bool."""
    table, slots = view.rows.locate(positions)
    valid = table.valid(f.id, slots)
    return np.ones(len(slots), bool) if valid is None else valid


def _counts(f: Field, cells: Cells) -> Numbers:
    """Return the number of objects in each row, (n,) int64."""
    if isinstance(cells, NestedCells):
        return cells.counts
    values = with_none(f.htype.decode_cells(cells))
    return np.array([0 if v is None else len(v) for v in values], np.int64)


def _areas(given: Floats, computed: Floats) -> Floats:
    return np.where(np.isnan(given), computed, given)
