"""Recognition of columns of annotations, which formats of detection datasets have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
    """Return whether a column has any number of strings."""
    return f.htype.item is not None and f.htype.item.sql == "text"


def class_names(f: Field | None) -> tuple[str, ...]:
    """Return the names of the classes of a column of labels."""
    item = None if f is None else f.htype.item
    classes = None if item is None else item.classes
    return () if classes is None else tuple(classes.names)


def _marks(htype: Htype) -> str | None:
    return None if htype.coordinates is None else htype.coordinates.marks
