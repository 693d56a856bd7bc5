"""What the page knows of columns: their kind, type, shape and classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from deeplake_lite.dataset.repr.describe import type_of
from deeplake_lite.dataset.repr.html.words import shape
from deeplake_lite.htypes import (
    Array,
    Boxes,
    Bytes,
    ClassLabel,
    Embedding,
    Image,
    Json,
    Keypoints,
    Link,
    Mask,
    Polygons,
    Scalar,
    Sequence,
    Text,
)
from deeplake_lite.htypes.layouts import Dense
from deeplake_lite.widget.pictures.classes import class_column, is_marks, is_tags

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes import Htype
    from deeplake_lite.schema import Field

type Kind = Literal[
    "image", "mask", "text", "json", "embedding", "boxes", "polygons", "keypoints", "class",
    "tags", "number", "bool", "time", "bytes", "array", "sequence", "link",
]  # fmt: skip
"""What a column's values are to a reader."""

MOST_CLASSES = 1000
"""Names of classes that the page gets beforehand."""

_KINDS: tuple[tuple[type[Htype], Kind], ...] = (
    (Image, "image"),
    (Mask, "mask"),
    (Text, "text"),
    (Json, "json"),
    (Embedding, "embedding"),
    (Boxes, "boxes"),
    (Polygons, "polygons"),
    (Keypoints, "keypoints"),
    (Bytes, "bytes"),
)

OVERLAYS = frozenset({"boxes", "mask", "polygons", "keypoints"})
"""Kinds that are drawn on a picture."""


def kind_of(htype: Htype) -> Kind:
    """Return what a type's values are to a reader.

    >>> kind_of(ClassLabel(["a"])), kind_of(Sequence("text")), kind_of(Array("uint8", (8, 8)))
    ('class', 'tags', 'array')
    """
    for known, kind in _KINDS:
        if isinstance(htype, known):
            return kind
    match htype:
        case _ if is_tags(htype):
            return "tags"
        case ClassLabel():
            return "class"
        case Link():
            return "link"
        case Sequence():
            return "sequence"
    layout = htype.layout
    if not isinstance(layout, Dense) or layout.shape:
        return "array"
    if str(getattr(htype, "dtype", "")).startswith(("datetime64", "timedelta64")):
        return "time"
    return "bool" if np.dtype(layout.dtype) == bool else "number"


def colouring(htype: Htype) -> Literal["classes", "numbers"] | None:
    """Return how a column colours the points of a map; None for one that cannot.

    >>> colouring(Text()), colouring(Scalar("datetime64[s]")), colouring(Scalar("complex64"))
    ('classes', 'numbers', None)
    """
    match htype:
        case ClassLabel(multiple=False) | Text() | Scalar(dtype="bool"):
            return "classes"
        case Scalar(dtype=dtype) if dtype[0] in "iufdt":
            return "numbers"
    return None


def is_picture(htype: Htype) -> bool:
    """Tell whether values can be drawn as a picture: images, masks, arrays of two axes or three.

    >>> is_picture(Link("image")), is_picture(Array("uint8", (8, 8))), is_picture(Text())
    (True, True, False)
    """
    match htype:
        case Image() | Mask():
            return True
        case Link(of=of) | Sequence(of=of):
            return isinstance(of, Image)
        case Array(shape=tuple(axes)):
            return len(axes) == 2 or (len(axes) == 3 and axes[2] in (1, 3, 4))
    return False


def picture_column(view: View) -> str | None:
    """Return the column whose pictures the grid shows at first."""
    f = first_picture(view.schema)
    return None if f is None else f.name


def first_picture(fields: Iterable[Field]) -> Field | None:
    """Return the first column of pictures, images before all others; None where there is none.

    >>> from deeplake_lite.schema import Schema
    >>> first_picture(Schema.build({"x": "int32", "mask": "mask", "photo": "image"})).name
    'photo'
    """
    order = {"image": 0, "link": 1, "sequence": 2, "mask": 3, "array": 4}
    drawn = [f for f in fields if is_picture(f.htype)]
    return min(drawn, key=lambda f: order[kind_of(f.htype)], default=None)


def names_of(htype: Htype) -> tuple[str, ...]:
    """Return the names of a type's classes, or of its points; none for other types."""
    inner = htype.of if isinstance(htype, Sequence | Link) else htype
    return tuple(getattr(inner, "names", ()))


def about_columns(view: View) -> list[dict[str, Any]]:
    """Return what the page knows of a view's columns; marks have the names of their classes."""
    found = [about_column(f) for f in view.schema]
    for column, f in zip(found, view.schema, strict=True):
        if is_marks(f.htype) and (known := class_column(view.schema, f)):
            names = names_of(known.htype)
            column |= {"classes": list(names[:MOST_CLASSES]), "class_count": len(names)}
    return found


def about_column(f: Field) -> dict[str, Any]:
    """Return what the page knows of a column."""
    htype, names = f.htype, names_of(f.htype)
    found = {
        "name": f.name,
        "kind": kind_of(htype),
        "type": type_of(htype),
        "dtype": htype.value_dtype,
        "shape": shape(htype.axes or ()),
        "nullable": htype.nullable,
        "role": role_of(htype),
        "colours": colouring(htype) is not None,
        "classes": list(names[:MOST_CLASSES]),
        "class_count": len(names),
    }
    if isinstance(htype, Keypoints):
        found["connections"] = [list(pair) for pair in htype.connections]
    return found


def role_of(htype: Htype) -> str | None:
    """Return where a column belongs: in the grid, over its pictures, or below them."""
    kind = kind_of(htype)
    if kind in OVERLAYS:
        return "overlay"
    if is_picture(htype):
        return "picture"
    return "caption" if kind in ("class", "tags", "text", "number", "bool", "time") else None
