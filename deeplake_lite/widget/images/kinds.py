"""Descriptions of columns for the page: kind, type, shape, role and classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from deeplake_lite.dataset.repr.describe import type_of
from deeplake_lite.dataset.repr.html.words import shape
from deeplake_lite.widget.images.classes import class_column, is_marks

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes import Htype
    from deeplake_lite.schema import Field

MAX_CLASSES = 1000
"""Maximum number of class names in the description of a column."""

OVERLAYS = frozenset({"boxes", "mask", "polygons", "keypoints"})
"""Kinds of columns whose values are drawn over an image."""

_ORDER = {"image": 0, "link": 1, "sequence": 2, "mask": 4, "array": 5}
_PLOT = 3  # plots come after images, over which marks can be drawn


def colouring(htype: Htype) -> Literal["classes", "numbers"] | None:
    """Return how a column can colour the points of a map, or None if it cannot colour points.

    >>> from deeplake_lite.htypes import Scalar, Text
    >>> colouring(Text()), colouring(Scalar("datetime64[s]")), colouring(Scalar("complex64"))
    ('classes', 'numbers', None)
    """
    match htype.sql:
        case "class" | "text" | "bool":
            return "classes"
        case "number" | "time":
            return "numbers"
    return None


def is_drawable(htype: Htype) -> bool:
    """Return whether values can be drawn as images.

    Images, masks, arrays with two or three axes, and values whose type plots them can be drawn.

    >>> from deeplake_lite.htypes import Array, Link, Text
    >>> is_drawable(Link("image")), is_drawable(Array("uint8", (8, 8))), is_drawable(Text())
    (True, True, False)
    """
    if htype.pixels is not None or htype.browser.kind == "image":
        return True
    inner = htype.target or htype.item
    if inner is not None:
        return inner.browser.kind == "image"
    axes = (htype.axes or ()) if htype.is_array else ()
    return len(axes) == 2 or (len(axes) == 3 and axes[2] in (1, 3, 4))


def draws_itself(htype: Htype) -> bool:
    """Return whether a type draws its values itself, such as plots of signals."""
    return htype.browser.kind == "image" and htype.pixels is None


def image_column(view: View) -> str | None:
    """Return the name of the column whose images the grid initially shows."""
    f = first_drawable(view.schema)
    return None if f is None else f.name


def first_drawable(fields: Iterable[Field]) -> Field | None:
    """Return the first column that can be drawn, preferring images, or None if there is none.

    >>> from deeplake_lite.schema import Schema
    >>> first_drawable(Schema.build({"x": "int32", "mask": "mask", "photo": "image"})).name
    'photo'
    """
    drawable = [f for f in fields if is_drawable(f.htype)]
    return min(drawable, key=lambda f: _rank(f.htype), default=None)


def _rank(htype: Htype) -> int:
    return _PLOT if draws_itself(htype) else _ORDER.get(htype.browser.kind, len(_ORDER))


def names_of(htype: Htype) -> tuple[str, ...]:
    """Return the names of a type's classes or keypoints, or () for other types."""
    inner = htype.target or htype.item or htype
    named = inner.classes or inner.pixels or inner.coordinates
    return () if named is None else tuple(named.names)


def about_columns(view: View) -> list[dict[str, object]]:
    """Describe a view's columns for the page, including the class names of marks."""
    columns = [about_column(f) for f in view.schema]
    for column, f in zip(columns, view.schema, strict=True):
        if is_marks(f.htype) and (class_field := class_column(view.schema, f)):
            names = names_of(class_field.htype)
            column |= {"classes": list(names[:MAX_CLASSES]), "class_count": len(names)}
    return columns


def about_column(f: Field) -> dict[str, object]:
    """Describe a column for the page."""
    htype, names = f.htype, names_of(f.htype)
    column = {
        "name": f.name,
        "kind": htype.browser.kind,
        "type": type_of(htype),
        "dtype": htype.value_dtype,
        "shape": shape(htype.axes or ()),
        "nullable": htype.nullable,
        "role": role_of(htype),
        "colours": colouring(htype) is not None,
        "classes": list(names[:MAX_CLASSES]),
        "class_count": len(names),
    }
    if htype.coordinates is not None and htype.coordinates.marks == "keypoints":
        column["connections"] = [list(pair) for pair in htype.coordinates.connections]
    return column


def role_of(htype: Htype) -> str | None:
    """Return the role of a column in the grid: "picture", "overlay", "caption" or None."""
    kind = htype.browser.kind
    if kind in OVERLAYS:
        return "overlay"
    if is_drawable(htype):
        return "picture"
    return "caption" if kind in ("class", "tags", "text", "number", "bool", "time") else None
