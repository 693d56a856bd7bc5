"""Functions that recognize, by type and name, the columns that annotation formats can hold.

A column's *role* says what it holds for an image, such as its boxes. `ROLES` lists all roles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.export.portable import has_nulls
from deeplake_lite.dataset.export.shards.splits import SPLIT
from deeplake_lite.errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes import Htype
    from deeplake_lite.schema import Field


def is_boxes(f: Field) -> bool:
    """Return whether a column has boxes."""
    return _marks(f.htype) == "boxes"


def is_keypoints(f: Field) -> bool:
    """Return whether a column has keypoints."""
    return _marks(f.htype) == "keypoints"


def is_segmentation(f: Field) -> bool:
    """Return whether a column has outlines for each object: a sequence of polygons."""
    return f.htype.item is not None and _marks(f.htype.item) == "polygons"


def is_labels(f: Field) -> bool:
    """Return whether a column has a class for each object: a sequence of class labels."""
    return f.htype.item is not None and f.htype.item.classes is not None


def is_captions(f: Field) -> bool:
    """Return whether a column has a list of strings."""
    return f.htype.item is not None and f.htype.item.sql == "text"


def class_names(f: Field | None) -> tuple[str, ...]:
    """Return the class names of a column of labels, or an empty tuple for other columns."""
    item = None if f is None else f.htype.item
    classes = None if item is None else item.classes
    return () if classes is None else tuple(classes.names)


def split_names(view: View) -> Callable[[Any], str | None] | None:
    """Return a function that converts cells of the column ``split`` to names of splits, or to None.

    Returns None if the view has no such column, or if the column has neither classes nor strings.
    """
    if SPLIT not in view.columns:
        return None
    htype = view.schema[SPLIT].htype
    if htype.sql == "text":
        return lambda cell: cell
    if htype.sql != "class" or htype.classes is None:
        return None
    names = htype.classes.to_names
    return lambda cell: names(cell)


def splits_of(view: View) -> list[str]:
    """Return the names of the splits that the rows of a view belong to, ignoring nulls."""
    name = split_names(view)
    if name is None:
        return []
    cells = np.unique(np.ma.compressed(view[SPLIT][:])) if view.schema[SPLIT].htype.classes else (
        sorted({cell for cell in view[SPLIT][:] if cell is not None})
    )  # fmt: skip
    return [text for cell in cells if (text := name(cell)) is not None]


def columns_with_nulls(view: View, fields: Iterable[Field]) -> str:
    """Return the names of the columns with nulls, separated by commas. Nulls become empty lists.

    Annotation formats do not distinguish an image without objects (an empty list) from an image
    that nobody has annotated (a null).
    """
    names = [f.name for f in fields if f.htype.sql != "class" and has_nulls(view, f)]
    return ", ".join(map(repr, names))


def _marks(htype: Htype) -> str | None:
    return None if htype.coordinates is None else htype.coordinates.marks


# ---- all columns of annotated images


def is_polylines(f: Field) -> bool:
    """Return whether a column has open lines for each object: a sequence of lists of arrays."""
    item = f.htype.item
    inner = None if item is None else item.item
    return inner is not None and inner.is_array and inner.axes == (None, 2)


def is_masks(f: Field) -> bool:
    """Return whether a column has a binary mask for each object."""
    pixels = f.htype.pixels
    return pixels is not None and pixels.role == "object_masks"


def is_scores(f: Field) -> bool:
    """Return whether a column has a float for each object."""
    item = f.htype.item
    return item is not None and item.scalar is not None and item.scalar.startswith("float")


def is_tags(f: Field) -> bool:
    """Return whether a column has classes for the image as a whole."""
    return f.htype.classes is not None


def is_flags(f: Field) -> bool:
    """Return whether a column has a boolean for each object."""
    return f.htype.item is not None and f.htype.item.scalar == "bool"


def is_size(f: Field) -> bool:
    """Return whether a column has an integer for each image."""
    return f.htype.scalar is not None and f.htype.scalar.startswith(("int", "uint"))


ROLES: Mapping[str, tuple[str, Callable[[Field], bool], bool]] = {
    "image": ("image", lambda f: f.htype.is_image, True),
    "path": ("path", lambda f: f.htype.sql == "text", False),
    "split": ("split", is_tags, False),
    "width": ("width", is_size, False),
    "height": ("height", is_size, False),
    "boxes": ("boxes", is_boxes, True),
    "labels": ("labels", is_labels, True),
    "segmentation": ("segmentation", is_segmentation, True),
    "polylines": ("polylines", is_polylines, False),
    "keypoints": ("keypoints", is_keypoints, True),
    "masks": ("masks", is_masks, True),
    "scores": ("scores", is_scores, False),
    "difficult": ("difficult", is_flags, False),
    "truncated": ("truncated", is_flags, False),
    "occluded": ("occluded", is_flags, False),
    "tags": ("tags", is_tags, True),
}
"""Maps each role of a column to a tuple: the name that importers give the column, a test of its
type, and whether a column with another name is accepted if no column has that name."""


def named_columns(view: View, method: str) -> dict[str, Field]:
    """Return a dict from roles to columns of a view.

    Raises SchemaError if several columns fit a role. `method` is the export's name, for the
    message.
    """
    columns: dict[str, Field] = {}
    for role, (name, fits, by_type) in ROLES.items():
        fitting = [f for f in view.schema if fits(f) and f not in columns.values()]
        named = [f for f in fitting if f.name == name]
        if not named and by_type:
            named = [f for f in fitting if f.name not in _NAMES]
        if len(named) > 1 and role == "tags":
            continue  # several columns of classes are not tags
        if len(named) > 1:
            raise SchemaError(
                f"{method} accepts one column of {role}, but this view has "
                f"{', '.join(repr(f.name) for f in named)}. Leave out all but one, or rename one "
                f"to {name!r}."
            )
        if named:
            columns[role] = named[0]
    is_for_images = not any(role in columns for role in SHAPES)
    if is_for_images and "labels" in columns and is_tags(columns["labels"]):
        columns["tags"] = columns.pop("labels")  # without shapes, these are classes of the image
    return columns


SHAPES = ("boxes", "segmentation", "polylines", "keypoints", "masks")
"""Roles of the columns that hold shapes of objects."""

_NAMES = frozenset(name for name, _, _ in ROLES.values())
