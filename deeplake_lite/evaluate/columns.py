"""Find the columns that belong to the predictions and to the truth, by their names and types."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deeplake_lite.dataset.export.annotations.columns import is_boxes, is_keypoints, is_segmentation
from deeplake_lite.errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deeplake_lite.dataset.view import View
    from deeplake_lite.schema import Field

_GEOMETRY = re.compile(
    r"(boxes|box|bboxes|bbox|segmentations?|masks?|polygons|outlines|keypoints|points|objects)$"
)
_NAMES = {
    "labels": ("labels", "label", "classes"),
    "scores": ("scores", "score", "confidences", "confidence"),
    "crowd": ("crowd", "iscrowd", "is_crowd"),
    "areas": ("areas", "area"),
    "boxes": ("boxes", "bboxes"),
}


def is_object_masks(f: Field) -> bool:
    """Return whether a column has a binary mask for each object."""
    return f.htype.pixels is not None and f.htype.pixels.role == "object_masks"


def is_class_mask(f: Field) -> bool:
    """Return whether a column has a class number per pixel."""
    return f.htype.pixels is not None and f.htype.pixels.role == "class_mask"


def is_object_labels(f: Field) -> bool:
    """Return whether a column has a class, or a string, for each object."""
    item = f.htype.item
    return item is not None and (item.classes is not None or item.sql == "text")


def is_object_numbers(f: Field) -> bool:
    """Return whether a column has a floating-point number for each object."""
    item = f.htype.item
    if item is not None:
        return (item.scalar or "").startswith("float")
    return f.htype.is_array and f.htype.axes == (None,) and f.htype.value_dtype.startswith("float")


def is_object_flags(f: Field) -> bool:
    """Return whether a column has a boolean, or an integer, for each object."""
    item = f.htype.item
    return item is not None and (item.scalar or "").startswith(("bool", "int", "uint"))


def _is_shapes(f: Field) -> bool:
    return is_boxes(f) or is_keypoints(f) or is_segmentation(f) or is_object_masks(f)


@dataclass(frozen=True)
class ObjectColumns:
    """The columns that describe the predicted objects or the true objects."""

    shapes: Field
    """Column of boxes, keypoints, outlines or masks."""
    labels: Field | None
    """Column with the class of each object; None if there is only one class."""
    scores: Field | None = None
    """Column with the score of each prediction; None for true objects."""
    crowd: Field | None = None
    """Column that says whether each true object is a crowd, an area with any number of objects."""
    areas: Field | None = None
    """Column with the area of each true object; None if areas are computed."""
    boxes: Field | None = None
    """Column with the boxes of true objects that are keypoints; None if boxes are computed from
    points."""

    def fields(self) -> list[Field]:
        """Return the columns to read."""
        columns = (self.shapes, self.labels, self.scores, self.crowd, self.areas, self.boxes)
        return [f for f in columns if f is not None]


def object_columns(
    view: View,
    predictions: str,
    truth: str,
    *,
    labels: str | None,
    scores: str | None,
    truth_labels: str | None,
    crowd: str | None,
    areas: str | None,
) -> tuple[ObjectColumns, ObjectColumns]:
    """Return the columns of the predicted objects and of the true objects.

    Columns that are not passed are looked up by name, such as ``predicted_labels`` for
    ``predicted_boxes``. If that fails, labels and scores default to the only column of their type.

    Raises
    ------
    ColumnNotFoundError
        When a column that was passed does not exist.
    SchemaError
        When a column has the wrong type, or when it is unclear which column to use.
    """
    pred_field, true_field = view.field(predictions), view.field(truth)
    finder = _Finder(view, pred_field, true_field)
    other_labels = finder.find("truth_labels", truth_labels, true_field, is_object_labels)
    own_labels = finder.find("labels", labels, pred_field, is_object_labels, {other_labels})
    other_labels = other_labels or finder.only(is_object_labels, {own_labels})
    own_labels = own_labels or finder.only(is_object_labels, {other_labels})
    area = finder.find("areas", areas, true_field, is_object_numbers)
    score = finder.find("scores", scores, pred_field, is_object_numbers, {area})
    score = score or finder.only(is_object_numbers, {area})
    if score is None:
        raise finder.missing(
            "scores", is_object_numbers, f"the scores of the objects in {pred_field.name!r}"
        )
    is_unclear = own_labels is None and any(is_object_labels(f) for f in view.schema)
    if is_unclear or (own_labels is None) != (other_labels is None):
        keyword, f = ("labels", pred_field) if own_labels is None else ("truth_labels", true_field)
        raise finder.missing(keyword, is_object_labels, f"the classes of the objects in {f.name!r}")
    flags = finder.find("crowd", crowd, true_field, is_object_flags)
    boxes = finder.find("boxes", None, true_field, is_boxes) if is_keypoints(true_field) else None
    return (
        ObjectColumns(pred_field, own_labels, scores=score),
        ObjectColumns(true_field, other_labels, crowd=flags, areas=area, boxes=boxes),
    )


class _Finder:
    """Finds the columns that belong to the predictions or the truth."""

    def __init__(self, view: View, predictions: Field, truth: Field) -> None:
        self._view, self._shapes = view, (predictions, truth)

    def find(
        self,
        keyword: str,
        name: str | None,
        shapes: Field,
        fits: Callable[[Field], bool],
        taken: set[Field | None] = frozenset(),  # type: ignore[assignment]
    ) -> Field | None:
        """Return the column that the user passed, or one with a related name, or None.

        `taken` are columns that already have another purpose.
        """
        if name is not None:
            f = self._view.field(name)
            if not fits(f):
                raise SchemaError(
                    f"{keyword} must be {NEEDED[fits]}, but column {name!r} is {f.htype}. Pass "
                    "another column."
                )
            return f
        for candidate in self._related(shapes, keyword.removeprefix("truth_")):
            if candidate in self._view and fits(f := self._view.field(candidate)):
                return None if f in taken else f
        return None

    def only(self, fits: Callable[[Field], bool], taken: set[Field | None]) -> Field | None:
        """Return the only column that `fits` accepts, or None if there are none or several.

        Columns in `taken` do not count, nor columns that seem to belong to other shapes.
        """
        others = self._columns_of_other_shapes()
        free = [f for f in self._view.schema if fits(f) and f not in taken and f.name not in others]
        return free[0] if len(free) == 1 else None

    def _columns_of_other_shapes(self) -> set[str]:
        """Return names of columns that may belong to other shapes, such as another model's."""
        shapes = [f for f in self._view.schema if f not in self._shapes and _is_shapes(f)]
        stems = [_GEOMETRY.sub("", f.name) for f in shapes]
        return {f"{stem}{form}" for stem in stems if stem for forms in _NAMES.values()
                for form in forms}  # fmt: skip

    def missing(self, keyword: str, fits: Callable[[Field], bool], purpose: str) -> SchemaError:
        """Return the error that a required column is missing, or that several columns fit."""
        names = [repr(f.name) for f in self._view.schema if fits(f)]
        hint = f", such as {', '.join(names[:8])}." if names else "."
        return SchemaError(
            f"The evaluation needs {purpose}, but it is not clear which column has them. Pass "
            f"{NEEDED[fits]}: {keyword}=…{hint}"
        )

    def _related(self, shapes: Field, word: str) -> list[str]:
        """Return the names that a column of these shapes may have, the most likely ones first."""
        stem = _GEOMETRY.sub("", shapes.name)
        stems = [stem] if stem != shapes.name else []
        name, singular = shapes.name, shapes.name.removesuffix("s")
        stems += [f"{n}{sign}" for n in dict.fromkeys((name, singular)) for sign in "_/"]
        if shapes is self._shapes[1]:
            # A column such as "labels" does not belong to shapes with a prefix, such as "gt_boxes".
            stems += ["truth_", ""] if stem == name else ["truth_"]
        return [f"{stem}{form}" for stem in stems for form in _NAMES[word]]


NEEDED: dict[Callable[[Field], bool], str] = {
    is_object_labels: "a column with a list of classes per row",
    is_object_numbers: "a column with a list of floating-point numbers per row",
    is_object_flags: "a column with a list of booleans per row",
    is_boxes: "a column of boxes",
}
"""Maps each function to a description of the columns for which the function returns True."""


def class_names(fields: Sequence[Field | None]) -> tuple[str, ...]:
    """Return the class names of all columns, without repetition, or () if no column has names.

    Raises
    ------
    SchemaError
        When only some columns have class names.
    """
    named: list[tuple[str, ...]] = []
    for f in fields:
        item = None if f is None else f.htype.item or f.htype
        classes = None if item is None else item.classes
        if classes is not None:
            named.append(tuple(classes.names))
    if any(named) and not all(named):
        raise SchemaError(
            "Classes are matched by name, but only one of the columns "
            f"{', '.join(repr(f.name) for f in fields if f is not None)} has class names. Add "
            "names to the other column: ClassLabel(names)."
        )
    return tuple(dict.fromkeys(name for names in named for name in names))


def is_objects(f: Field) -> bool:
    """Return whether a column has outlines or masks of objects."""
    return is_segmentation(f) or is_object_masks(f)
