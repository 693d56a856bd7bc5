"""Recognition of columns of annotations, which formats of detection datasets have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes import Htype
    from deeplake_lite.schema import Field

SPLIT = "split"
"""Name of the column of splits."""


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
    """Return whether a column has any number of strings."""
    return f.htype.item is not None and f.htype.item.sql == "text"


def class_names(f: Field | None) -> tuple[str, ...]:
    """Return the names of the classes of a column of labels."""
    item = None if f is None else f.htype.item
    classes = None if item is None else item.classes
    return () if classes is None else tuple(classes.names)


def split_names(view: View) -> Callable[[Any], str | None] | None:
    """Return the function from a cell of the column ``split`` to its name, None for null.

    Returns None if the view has no such column, or one of other values than classes or strings.
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
    """Return the splits that the rows of a view belong to, without null."""
    name = split_names(view)
    if name is None:
        return []
    cells = np.unique(np.ma.compressed(view[SPLIT][:])) if view.schema[SPLIT].htype.classes else (
        sorted({cell for cell in view[SPLIT][:] if cell is not None})
    )  # fmt: skip
    return [text for cell in cells if (text := name(cell)) is not None]


def _marks(htype: Htype) -> str | None:
    return None if htype.coordinates is None else htype.coordinates.marks
