"""Conversion of Label Studio regions to objects, and back.

A region is a result of an annotation, flattened to a dict: the items of the result's inner dict
``value`` have keys that start with ``value.``. Coordinates in a file are percentages of the image's
width and height.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.brief import alternatives
from deeplake_lite.dataset.export.annotations import labelstudio_brush as brush
from deeplake_lite.dataset.export.annotations.coco_annotations import exact
from deeplake_lite.dataset.export.annotations.objects import (
    NO_POINTS,
    Object,
    bounds,
    box_of_mask,
    is_same,
    number_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

SHAPES = ("rectangle", "polygon", "keypoint", "brush", "ellipse")
"""Types of regions that become objects. In files, a type may have the suffix ``labels``."""

NAMES = {"rectangle": "label", "polygon": "polygon", "keypoint": "keypoint", "brush": "brush"}
"""Maps the shapes of new regions to the names of their control tags in the labelling interface."""

LABELS = "labelled"
"""Key under which a region stores a second result of the file, which only names its class."""

ALSO = "also"
"""Key of a region that has the same shape as the region before it, but another label. In the file,
both are one region with several labels."""

DERIVED = frozenset({
    "type", "score", LABELS,
    *(f"value.{key}" for key in ("x", "y", "width", "height", "rotation", "points", "radiusX",
                                 "radiusY", "rle", "format", "closed", "labels")),
    *(f"value.{shape}labels" for shape in SHAPES), "original_width", "original_height",
})  # fmt: skip
"""Keys of a region whose values are derived from cells."""


def flatten(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a region: a result whose ``value`` is merged into it, with the prefix ``value.``.

    >>> flatten({"type": "choices", "value": {"choices": ["a"]}})
    {'type': 'choices', 'value.choices': ['a']}
    """
    value = result.get("value")
    items = value if isinstance(value, dict) else {}
    return {**{k: v for k, v in result.items() if k != "value"},
            **{f"value.{k}": v for k, v in items.items()}}  # fmt: skip


def unflatten(region: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result in the format of the file, which `flatten` converts to the region."""
    result = {k: v for k, v in region.items() if not k.startswith("value.")}
    value = {k.removeprefix("value."): v for k, v in region.items() if k.startswith("value.")}
    return {**result, "value": value}


def shape_of(region: Mapping[str, Any]) -> str | None:
    """Return the shape of a region, or None if the result is not a region."""
    kind = str(region.get("type")).removesuffix("labels")
    return kind if kind in SHAPES else None


def parse(region: Mapping[str, Any]) -> Object:
    """Convert a region to an object. Raises ValueError if the region is invalid."""
    shape, (width, height) = shape_of(region), size_of(region)
    scale = np.array([width, height], np.float64) / 100
    box, points, mask = np.zeros(4, np.float32), NO_POINTS, None
    outlines: list[NDArray[np.float32]] = []
    match shape:
        case "rectangle":
            x, y, w, h = _numbers(region, "x", "y", "width", "height")
            if w < 0 or h < 0:
                raise ValueError(f"a rectangle must not have a negative size, but it is {w} x {h}")
            box = (np.array([x, y, x + w, y + h]) * np.tile(scale, 2)).astype(np.float32)
            if angle := _angle(region):
                corners = np.array([[0, 0], [w, 0], [w, h], [0, h]]) * scale
                outlines = [(_rotate(corners, angle) + np.array([x, y]) * scale).astype(np.float32)]
                box = bounds(outlines)
        case "polygon":
            outline = (_points(region.get("value.points")) * scale).astype(np.float32)
            outlines = [outline] if len(outline) >= 3 else []
            box = bounds([outline])
        case "keypoint":
            x, y = np.array(_numbers(region, "x", "y")) * scale
            points = np.array([[x, y, 2]], np.float32)
            box = bounds([points])
        case "ellipse":
            box = _ellipse(region, scale)
        case "brush":
            if region.get("value.format", "rle") != "rle":
                raise ValueError(
                    f"a brush must have the format rle, but it is {region['value.format']!r:.40}"
                )
            mask = brush.decode(region.get("value.rle"), width, height)
            box = box_of_mask(mask)
        case _:
            raise ValueError(
                f"the type of a region must be {alternatives(SHAPES)}, but it is "
                f"{str(region.get('type'))[:40]!r}"
            )
    score = region.get("score")
    return Object(
        label_of(region), box, outlines, (), points, mask,
        None if score is None else number_of(score),
    )  # fmt: skip


def label_of(region: Mapping[str, Any]) -> str | None:
    """Return the first label of a region, or None if it has no label.

    Raises ValueError if the labels are invalid.
    """
    labels = _labels(region)
    if labels is None or labels == []:
        return None
    if not isinstance(labels, list) or not isinstance(labels[0], str):
        raise ValueError("the labels of a region must be a list of strings")  # noqa: TRY004
    return labels[0]


def parts_by_label(region: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a list of regions, one for each label, or of the region itself if it has one label.

    >>> region = {"type": "rectanglelabels", "value.rectanglelabels": ["cat", "dog"]}
    >>> [(part["value.rectanglelabels"], ALSO in part) for part in parts_by_label(region)]
    [(['cat'], False), (['dog'], True)]
    """
    labels = _labels(region)
    is_list = isinstance(labels, list) and all(isinstance(label, str) for label in labels)
    if not is_list or len(labels) < 2:
        return [dict(region)]
    copy = {k: v for k, v in region.items() if k != "with"} | {ALSO: True}
    return [_with_labels(copy if n else region, [label]) for n, label in enumerate(labels)]


def join(region: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a region with the labels of both regions, or None if their shapes or ids differ."""
    ours, theirs = _labels(region), _labels(other)
    is_alike = region.get("id") == other.get("id") and (LABELS in region) == (LABELS in other)
    if not is_alike or not isinstance(ours, list) or not isinstance(theirs, list):
        return None
    try:
        first, second = (replace(parse(each), label=None) for each in (region, other))
    except (ValueError, TypeError, KeyError):  # people may have edited the JSON
        return None
    return _with_labels(region, [*ours, *theirs]) if is_same(first, second) else None


def with_id(region: Mapping[str, Any], name: object) -> dict[str, Any]:
    """Return a copy of a region with another id, also in the second result that names its class."""
    result = {**region, "id": name}
    if isinstance(region.get(LABELS), dict):
        result[LABELS] = {**region[LABELS], "id": name}
    return result


def _labels(region: Mapping[str, Any]) -> Any:
    """Return the labels of a region, unchecked and of any JSON type, or None if it has none."""
    labels = region.get(f"value.{region.get('type')}")
    if labels is None and isinstance(region.get(LABELS), dict):
        content = region[LABELS].get("value")
        labels = content.get("labels") if isinstance(content, dict) else None
    return labels


def _with_labels(region: Mapping[str, Any], labels: list[Any]) -> dict[str, Any]:
    """Return a copy of a region with other labels, which replace the old labels."""
    key = f"value.{region.get('type')}"
    if region.get(key) is not None:
        return {**region, key: labels}
    result = region[LABELS]
    return {**region, LABELS: {**result, "value": {**result["value"], "labels": labels}}}


def size_of(region: Mapping[str, Any]) -> tuple[int, int]:
    """Return the width and height of the image of a region.

    Raises ValueError if they are invalid.
    """
    width, height = region.get("original_width"), region.get("original_height")
    for side in (width, height):
        if type(side) is not int or not 0 < side < 10**9:
            raise ValueError(
                "a region must have a valid original_width and original_height, but they are "
                f"{str(width)[:20]} and {str(height)[:20]}"
            )
    assert isinstance(width, int)
    assert isinstance(height, int)
    return width, height


def rebuild(obj: Object, size: tuple[int, int], number: int) -> dict[str, Any]:
    """Convert an object to a region.

    Parameters
    ----------
    obj : Object
        The object. If it has several outlines or points, only the first is used.
    size : (int, int)
        Width and height of the image.
    number : int
        Number of the object, used as its id.
    """
    shape = shape_for(obj)
    scale = np.array(size, np.float64) / 100
    value: dict[str, Any] = {}
    match shape:
        case "rectangle":
            x0, y0, x1, y1 = (exact(obj.box).astype(np.float64) / np.tile(scale, 2)).tolist()
            value = {"x": x0, "y": y0, "width": x1 - x0, "height": y1 - y0, "rotation": 0}
        case "polygon":
            points = (exact(obj.outlines[0]) / scale).tolist()
            value = {"points": points, "closed": True}
        case "keypoint":
            x, y = (exact(obj.points[0, :2]) / scale).tolist()
            value = {"x": x, "y": y, "width": 0.5}
        case "brush":
            assert obj.mask is not None
            value = {"format": "rle", "rle": brush.encode(obj.mask)}
    kind = shape if obj.label is None else f"{shape}labels"
    if obj.label is not None:
        value[kind] = [obj.label]
    result: dict[str, Any] = {
        "id": f"region{number}", "type": kind, "from_name": NAMES[shape], "to_name": "image",
        "original_width": size[0], "original_height": size[1], "image_rotation": 0,
    }  # fmt: skip
    if obj.score is not None:
        result["score"] = float(exact(np.array([obj.score], np.float32))[0])
    return {**result, **{f"value.{key}": item for key, item in value.items()}}


def shape_for(obj: Object) -> str:
    """Return the type of the region that represents an object."""
    if obj.kind == "points" and not obj.has_own_box and obj.points[0, 2] > 0:
        return "keypoint"
    return {"mask": "brush", "polygon": "polygon"}.get(obj.kind, "rectangle")


def _numbers(region: Mapping[str, Any], *keys: str) -> list[float]:
    """Return the numbers under the given keys of a region's value.

    Raises ValueError if one is not a number.
    """
    result = []
    for key in keys:
        try:
            result.append(number_of(region.get(f"value.{key}")))
        except ValueError as error:
            raise ValueError(f"{key} of a {region.get('type')} {error}") from None
    return result


def _angle(region: Mapping[str, Any]) -> float:
    """Return the rotation of a region in degrees, clockwise."""
    return number_of(region.get("value.rotation") or 0) % 360


def _rotate(corners: NDArray[np.float64], angle: float) -> NDArray[np.float64]:
    """Rotate points around (0, 0), clockwise, by an angle in degrees."""
    cos, sin = (round(f(math.radians(angle)), 15) for f in (math.cos, math.sin))
    result: NDArray[np.float64] = corners @ np.array([[cos, sin], [-sin, cos]])
    return result


def _points(value: object) -> NDArray[np.float64]:
    """Return the corners of a polygon. Raises ValueError if they are invalid."""
    if not isinstance(value, list) or not value or any(
        not isinstance(p, list) or len(p) != 2 for p in value
    ):  # fmt: skip
        raise ValueError("the points of a polygon must be pairs of numbers")
    return np.array([[number_of(x) for x in point] for point in value], np.float64)


def _ellipse(region: Mapping[str, Any], scale: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the bounding box of an ellipse, which may be rotated.

    Raises ValueError if its numbers are invalid.
    """
    x, y, rx, ry = np.array(_numbers(region, "x", "y", "radiusX", "radiusY")) * np.tile(scale, 2)
    angle = math.radians(_angle(region))
    w = math.hypot(rx * math.cos(angle), ry * math.sin(angle))
    h = math.hypot(rx * math.sin(angle), ry * math.cos(angle))
    return np.array([x - w, y - h, x + w, y + h], np.float32)
