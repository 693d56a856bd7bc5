"""What the page knows of columns: their kind, type, shape and classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from deeplake_lite.dataset.repr.describe import type_of
from deeplake_lite.dataset.repr.html.words import shape
from deeplake_lite.widget.pictures.classes import class_column, is_marks

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes import Htype
    from deeplake_lite.schema import Field

MOST_CLASSES = 1000
"""Names of classes that the page gets beforehand."""

OVERLAYS = frozenset({"boxes", "mask", "polygons", "keypoints"})
"""Kinds that are drawn on a picture."""

_ORDER = {"image": 0, "link": 1, "sequence": 2, "mask": 4, "array": 5}
_PLOT = 3  # after all images, since marks belong to pixels


def colouring(htype: Htype) -> Literal["classes", "numbers"] | None:
    """Return how a column colours the points of a map; None for one that cannot.

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


def is_picture(htype: Htype) -> bool:
    """Tell whether values can be drawn as a picture.

    These are images, masks, arrays of two axes or three, and values whose type draws them itself.

    >>> from deeplake_lite.htypes import Array, Link, Text
    >>> is_picture(Link("image")), is_picture(Array("uint8", (8, 8))), is_picture(Text())
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
    """Tell whether the picture of a value is its preview, such as the plot of a signal."""
    return htype.browser.kind == "image" and htype.pixels is None


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
    drawn = [f for f in fields if is_picture(f.htype)]
    return min(drawn, key=lambda f: _rank(f.htype), default=None)


def _rank(htype: Htype) -> int:
    return _PLOT if draws_itself(htype) else _ORDER.get(htype.browser.kind, len(_ORDER))


def names_of(htype: Htype) -> tuple[str, ...]:
    """Return the names of a type's classes, or of its points; none for other types."""
    inner = htype.target or htype.item or htype
    named = inner.classes or inner.pixels or inner.coordinates
    return () if named is None else tuple(named.names)


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
        "kind": htype.browser.kind,
        "type": type_of(htype),
        "dtype": htype.value_dtype,
        "shape": shape(htype.axes or ()),
        "nullable": htype.nullable,
        "role": role_of(htype),
        "colours": colouring(htype) is not None,
        "classes": list(names[:MOST_CLASSES]),
        "class_count": len(names),
    }
    if htype.coordinates is not None and htype.coordinates.marks == "keypoints":
        found["connections"] = [list(pair) for pair in htype.coordinates.connections]
    return found


def role_of(htype: Htype) -> str | None:
    """Return where a column belongs: in the grid, over its pictures, or below them."""
    kind = htype.browser.kind
    if kind in OVERLAYS:
        return "overlay"
    if is_picture(htype):
        return "picture"
    return "caption" if kind in ("class", "tags", "text", "number", "bool", "time") else None
