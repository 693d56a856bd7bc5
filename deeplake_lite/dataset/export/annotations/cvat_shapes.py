"""Conversion of CVAT shapes to objects, and back.

A shape is a dict with the attributes of an XML element, the name of the element under the key
``shape``, and lists of the element's children, each of which is a dict too.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.dataset.export.annotations import rle
from deeplake_lite.dataset.export.annotations.objects import (
    NO_POINTS,
    Object,
    bounds,
    box_of_mask,
    check_mask_size,
    decimal,
    number_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    type Size = tuple[int | None, int | None]

SHAPES = ("box", "polygon", "polyline", "points", "ellipse", "mask", "cuboid", "skeleton")

CORNERS = ("xtl", "ytl", "xbr", "ybr")
CUBOID = tuple(f"{axis}{side}{n}" for n in (1, 2) for side in ("tl", "bl", "tr", "br")
               for axis in "xy")  # fmt: skip

DERIVED = frozenset({
    "shape", "label", "occluded", *CORNERS, *CUBOID, "points", "rle", "left", "top", "width",
    "height", "cx", "cy", "rx", "ry", "rotation", "skeleton",
})  # fmt: skip
"""Keys of a shape whose values are derived from cells."""


def parse(shape: Mapping[str, Any], size: Size, names: Sequence[str] = ()) -> Object:
    """Convert a shape to an object.

    Parameters
    ----------
    shape : mapping
        The shape.
    size : (int, int)
        Width and height of the image.
    names : sequence of str
        Names of the points of skeletons, in the order in which the points are stored.

    Raises
    ------
    ValueError
        If the shape is unknown to CVAT, or its values are invalid.
    """
    kind, label = shape.get("shape"), shape.get("label")
    if not isinstance(label, str):
        raise ValueError(f"a {kind} must have a label, but one has none")  # noqa: TRY004
    flags = {"occluded": shape["occluded"] == "1"} if "occluded" in shape else {}
    box, points, mask = np.zeros(4, np.float32), NO_POINTS, None
    outlines: list[NDArray[np.float32]] = []
    lines: list[NDArray[np.float32]] = []
    match kind:
        case "box":
            corners = _numbers(shape, CORNERS)
            if (corners[2:] < corners[:2]).any():
                raise ValueError(
                    f"a box must have xbr >= xtl and ybr >= ytl, but a box of {label[:40]!r} does "
                    "not"
                )
            box = corners.astype(np.float32)
            if angle := _angle(shape):
                outlines = [rotate_box(corners, angle)]
                box = bounds(outlines)
        case "polygon":
            outline = _points(shape.get("points"))
            outlines = [outline] if len(outline) >= 3 else []
            box = bounds([outline])
        case "polyline":
            lines = [_points(shape.get("points"))]
            box = bounds(lines)
        case "points":
            xy = _points(shape.get("points"))
            points = np.concatenate([xy, np.full((len(xy), 1), 2, np.float32)], axis=1)
            box = bounds([points])
        case "skeleton":
            points = _skeleton(shape, names)
            box = bounds([points[points[:, 2] > 0]])
        case "ellipse":
            box = _ellipse(shape)
        case "cuboid":
            box = bounds([_numbers(shape, CUBOID).reshape(-1, 2)])
        case "mask":
            mask = _mask(shape, size)
            box = box_of_mask(mask)
        case _:
            raise ValueError(f"a shape must be {', '.join(SHAPES)}, but it is {str(kind)[:40]!r}")
    return Object(label, box, outlines, lines, points, mask, flags=flags)


def rebuild(obj: Object, names: Sequence[str] = ()) -> dict[str, Any]:
    """Convert an object to a shape. If it has several outlines or lines, only the first is used."""
    flags = {"occluded": str(int(obj.flags.get("occluded", False)))}
    base = {"label": obj.label or "", "source": "manual", **flags}
    last = {"z_order": "0"}
    match obj.kind:
        case "mask":
            assert obj.mask is not None
            left, top, right, bottom = (int(v) for v in box_of_mask(obj.mask))
            runs = rle.encode(obj.mask[top:bottom, left:right])
            window = {"left": left, "top": top, "width": right - left, "height": bottom - top}
            text = {key: str(value) for key, value in window.items()}
            return {"shape": "mask", **base, "rle": ", ".join(map(str, runs)), **text, **last}
        case "polygon":
            return {"shape": "polygon", **base, "points": _text(obj.outlines[0]), **last}
        case "polyline":
            return {"shape": "polyline", **base, "points": _text(obj.lines[0]), **last}
        case "points" if not names and (obj.points[:, 2] == 2).all():
            return {"shape": "points", **base, "points": _text(obj.points), **last}
        case "points":
            labels = [*names, *(str(n + 1) for n in range(len(names), len(obj.points)))]
            children = [
                {"label": name, "source": "manual", "outside": str(int(point[2] == 0)),
                 "occluded": str(int(point[2] == 1)), "points": _text(point[None])}
                for name, point in zip(labels, obj.points, strict=False)
            ]  # fmt: skip
            return {"shape": "skeleton", "label": obj.label or "", "source": "manual",
                    "z_order": "0", "skeleton": children}  # fmt: skip
    corners = {key: fixed(value) for key, value in zip(CORNERS, obj.box, strict=True)}
    return {"shape": "box", **base, **corners, **last}


def fixed(value: float | np.floating[Any]) -> str:
    """Format a coordinate as CVAT does, with two decimals, or more if necessary.

    >>> fixed(np.float32(4)), fixed(np.float32(0.125))
    ('4.00', '0.125')
    """
    short = f"{float(value):.2f}"
    return short if np.float32(short) == np.float32(value) else decimal(value)


def _text(points: NDArray[np.float32]) -> str:
    return ";".join(f"{fixed(p[0])},{fixed(p[1])}" for p in points)


def _numbers(shape: Mapping[str, Any], keys: Sequence[str]) -> NDArray[np.float64]:
    """Return the given attributes of a shape as numbers.

    Raises ValueError if one is not a number.
    """
    try:
        return np.array([number_of(shape.get(key)) for key in keys], np.float64)
    except ValueError as error:
        raise ValueError(f"{', '.join(keys[:4])} of a {shape.get('shape')} {error}") from None


def _points(text: object) -> NDArray[np.float32]:
    """Parse points (k, 2) from a string such as ``"1,2;3,4"``.

    Raises ValueError if the string is invalid.
    """
    parts = [pair.split(",") for pair in str(text or "").split(";") if pair.strip()]
    if not parts or any(len(pair) != 2 for pair in parts):
        raise ValueError(f"points must be pairs such as 1,2;3,4, but they are {str(text)[:40]!r}")
    return np.array([[number_of(x) for x in pair] for pair in parts], np.float64).astype(np.float32)


def _angle(shape: Mapping[str, Any]) -> float:
    """Return the rotation of a shape in degrees, clockwise."""
    return number_of(shape["rotation"]) % 360 if "rotation" in shape else 0.0


def rotate_box(box: NDArray[np.float64], angle: float) -> NDArray[np.float32]:
    """Rotate a box around its centre, clockwise, by an angle in degrees; return its corners.

    >>> rotate_box(np.array([0, 0, 4, 2]), 90).tolist()
    [[3.0, -1.0], [3.0, 3.0], [1.0, 3.0], [1.0, -1.0]]
    """
    centre, (w, h) = (box[:2] + box[2:]) / 2, (box[2:] - box[:2]) / 2
    corners = np.array([[-w, -h], [w, -h], [w, h], [-w, h]])
    radians = math.radians(angle)
    cos, sin = round(math.cos(radians), 15), round(math.sin(radians), 15)
    result: NDArray[np.float32] = (corners @ np.array([[cos, sin], [-sin, cos]]) + centre).astype(
        np.float32
    )
    return result


def _ellipse(shape: Mapping[str, Any]) -> NDArray[np.float32]:
    """Return the bounding box of an ellipse, which may be rotated.

    Raises ValueError if an attribute is invalid.
    """
    cx, cy, rx, ry = _numbers(shape, ("cx", "cy", "rx", "ry"))
    angle = math.radians(_angle(shape))
    w = math.hypot(rx * math.cos(angle), ry * math.sin(angle))
    h = math.hypot(rx * math.sin(angle), ry * math.cos(angle))
    return np.array([cx - w, cy - h, cx + w, cy + h], np.float32)


def _skeleton(shape: Mapping[str, Any], names: Sequence[str]) -> NDArray[np.float32]:
    """Return the points of a skeleton, (k, 3), in the order of `names`.

    Raises ValueError if a point is invalid.
    """
    children = shape.get("skeleton")
    if not isinstance(children, list) or not children:
        raise ValueError("a skeleton must have points, but it has none")
    labels = [str(child.get("label")) for child in children]
    order = names if {*labels} <= {*names} else labels
    result = np.zeros((len(order), 3), np.float32)
    for label, child in zip(labels, children, strict=True):
        visibility = 0 if child.get("outside") == "1" else 1 if child.get("occluded") == "1" else 2
        result[order.index(label)] = [*_points(child.get("points"))[0], visibility]
    return result


def _mask(shape: Mapping[str, Any], size: Size) -> NDArray[np.bool_]:
    """Decode the mask of a shape to an array with the size of the image.

    Raises ValueError if it is invalid.
    """
    width, height = size
    if width is None or height is None:
        raise ValueError("an image with a mask must have a width and height, but they are unknown")
    check_mask_size(width, height)
    left, top, w, h = (int(v) for v in _numbers(shape, ("left", "top", "width", "height")))
    if not (left >= 0 and top >= 0 and w > 0 and h > 0 and left + w <= width and top + h <= height):
        raise ValueError(
            f"a mask must lie in its image of {width:,} x {height:,}, but it has left={left}, "
            f"top={top}, width={w}, height={h}"
        )
    words = str(shape.get("rle", "")).replace(",", " ").split()
    if not all(word.isascii() and word.isdigit() and len(word) < 11 for word in words):
        raise ValueError(
            "the rle of a mask must be a list of run lengths, such as '5, 3, 12', but it is "
            f"{brief(shape['rle'], 60)}"
        )
    result = np.zeros((height, width), bool)
    result[top : top + h, left : left + w] = rle.decode([*map(int, words)], w, h)
    return result
