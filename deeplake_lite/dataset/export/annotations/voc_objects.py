"""Conversion of PASCAL VOC annotations to objects, and back.

VOC numbers pixels from 1, and a box includes its last pixel: ``xmin=1`` and ``xmax=64`` cover 64
pixels. In this package, coordinates refer to pixel edges, so the same box goes from 0 to 64.
Therefore, 1 is subtracted from ``xmin`` and ``ymin`` only, as in the evaluation code of VOC, COCO
and Detectron2.
"""

from __future__ import annotations

import decimal as decimals
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.export.annotations.objects import (
    FLAGS,
    Object,
    decimal,
    number_of,
    rest_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CLASSES = (
    "aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow",
    "diningtable", "dog", "horse", "motorbike", "person", "pottedplant", "sheep", "sofa", "train",
    "tvmonitor",
)  # fmt: skip
"""The classes of the challenges from 2007 to 2012, in the order of mask values from 1."""

BACKGROUND = "background"

DERIVED = frozenset({"name", "bndbox", *FLAGS})
"""Keys of an element whose values are derived from cells."""

SIDES = ("xmin", "ymin", "xmax", "ymax")

_TRUE = ("1", "true", "yes")


def parse(element: Mapping[str, Any], origin: int) -> Object:
    """Parse an element ``<object>``, given as a dict.

    Parameters
    ----------
    element : mapping
        Maps the names of the element's children to their content.
    origin : {1, 0}
        Coordinate of the first pixel.

    Raises
    ------
    ValueError
        If the element has no name or no valid box.
    """
    name, box = element.get("name"), element.get("bndbox")
    if not isinstance(name, str) or not name.strip():
        raise ValueError("an object must have a name, but one has none")
    if not isinstance(box, dict) or any(side not in box for side in SIDES):
        raise ValueError(
            f"object {name.strip()[:40]!r} must have a bndbox with {', '.join(SIDES)}, but it has "
            "none"
        )
    starts = [_side(name, side, box[side], origin) for side in SIDES[:2]]
    sides = np.array([*starts, *(_side(name, side, box[side], 0) for side in SIDES[2:])])
    if (sides[2:] < sides[:2]).any():
        raise ValueError(
            f"the box of object {name.strip()[:40]!r} must have xmax >= xmin and ymax >= ymin, but "
            "it has " + ", ".join(f"{side}={str(box[side])[:20]}" for side in SIDES)
        )
    flags = {f: str(element[f]).strip().lower() in _TRUE for f in FLAGS if f in element}
    return Object(name.strip(), sides.astype(np.float32), flags=flags)


def _side(name: str, side: str, value: object, origin: int) -> float:
    try:
        number = number_of(value)
    except ValueError as error:
        raise ValueError(f"{side} of object {name.strip()[:40]!r} {error}") from None
    text = str(value).strip()
    return number - origin if text.isdigit() or not origin else _sum(text, -origin)


def _sum(text: str, offset: int) -> float:
    """Add an offset to a number without rounding, to keep small fractions.

    >>> _sum("1.00000000000000000123", -1)
    1.23e-18
    """
    with decimals.localcontext(prec=80):
        return float(decimals.Decimal(text.strip()) + offset)


def _add_offset(value: np.floating[Any], offset: int) -> str:
    """Return a coordinate plus an offset as text, without rounding."""
    text = decimal(value)
    if text.lstrip("-").isdigit():
        return str(int(text) + offset)
    with decimals.localcontext(prec=80):
        return f"{decimals.Decimal(text) + offset:f}" if offset else text


def rebuild(obj: Object, origin: int) -> dict[str, Any]:
    """Convert an object to an element ``<object>``, as a dict that `parse` converts back."""
    sides = [*(_add_offset(value, origin) for value in obj.box[:2]), *map(decimal, obj.box[2:])]
    flag = {name: str(int(value)) for name, value in obj.flags.items()}
    result: dict[str, Any] = {"name": obj.label or "", "pose": "Unspecified"}
    result["truncated"] = flag.get("truncated", "0")
    if "occluded" in flag:
        result["occluded"] = flag["occluded"]
    result["difficult"] = flag.get("difficult", "0")
    return {**result, "bndbox": dict(zip(SIDES, sides, strict=True))}


def with_rest_of(obj: Object, original: Mapping[str, Any], origin: int) -> Object:
    """Return a copy of an object whose `rest` has the file's values that its cells cannot hold."""
    full = replace(obj, flags={**dict.fromkeys(FLAGS, False), **obj.flags})
    return replace(obj, rest=rest_of(original, rebuild(full, origin)))


def page(name: str, size: tuple[int | None, int | None], *, segmented: bool) -> dict[str, Any]:
    """Return the elements of an image's XML file as a dict, without the elements for objects."""
    result: dict[str, Any] = {"folder": "VOC", "filename": name}
    if size[0] is not None and size[1] is not None:
        result["size"] = {"width": str(size[0]), "height": str(size[1]), "depth": "3"}
    return {**result, "segmented": str(int(segmented))}


# ---- lists of images


def default_sets(
    split: str | None, known: Sequence[str], main: str, *, has_mask: bool
) -> dict[str, list[str]]:
    """Return the image lists that contain an image by default, according to its split.

    The result is a dict from the name of a list to the text after the image's name, which is empty.

    >>> default_sets("val", ["Main/val", "Main/trainval"], "Main", has_mask=True)
    {'Main/val': [''], 'Main/trainval': ['']}
    """
    if split is None:
        return {}
    names = [f"{main}/{split}"]
    if split in ("train", "val") and f"{main}/trainval" in known:
        names.append(f"{main}/trainval")
    if has_mask and main != "Segmentation":
        mask_lists = [f"Segmentation/{split}"]
        mask_lists += ["Segmentation/trainval"] if split in ("train", "val") else []
        names += [name for name in mask_lists if name in known]
    return {name: [""] for name in names}


def presence(objects: Sequence[Object], label: str) -> str:
    """Return "1" if an image has objects of a class, "0" if all are difficult, "-1" if it has none.

    >>> presence([Object("cat", flags={"difficult": True})], "cat"), presence([], "cat")
    ('0', '-1')
    """
    members = [o for o in objects if o.label == label]
    if not members:
        return "-1"
    return "0" if all(o.flags.get("difficult") for o in members) else "1"


def colour(number: int) -> tuple[int, int, int]:
    """Return the colour of a class in VOC's palette.

    >>> colour(1), colour(15)
    ((128, 0, 0), (192, 128, 128))
    """
    r = g = b = 0
    for shift in range(7, -1, -1):
        r |= (number & 1) << shift
        g |= (number >> 1 & 1) << shift
        b |= (number >> 2 & 1) << shift
        number >>= 3
    return r, g, b
