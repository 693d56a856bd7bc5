"""Conversion of FiftyOne labels (detections, polylines, keypoints) to objects, and back.

Coordinates in a file are fractions of the image's width and height. The mask of a detection covers
only its box, and is stored as a NumPy file, compressed with zlib.
"""

from __future__ import annotations

import base64
import binascii
import io
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
import xxhash

from deeplake_lite.brief import alternatives
from deeplake_lite.dataset.export.annotations.coco_annotations import exact
from deeplake_lite.dataset.export.annotations.objects import (
    FLAGS,
    NO_POINTS,
    Object,
    bounds,
    box_of_mask,
    check_mask_size,
    number_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    type Size = tuple[int | None, int | None]

LISTS = {"Detections": "detections", "Polylines": "polylines", "Keypoints": "keypoints"}
"""Maps each class of fields to the key of its list of labels."""

CLASSES = {"Detection": "Detections", "Polyline": "Polylines", "Keypoint": "Keypoints"}
"""Maps each class of labels to the class of fields that hold such labels."""

DERIVED = frozenset({
    "_cls", "label", "bounding_box", "mask", "points", "closed", "filled", "confidence", *FLAGS,
})  # fmt: skip
"""Keys of a label whose values are derived from cells."""

_UNREADABLE = (ValueError, EOFError, SyntaxError, TypeError, KeyError, OSError, MemoryError,
               OverflowError)  # fmt: skip
"""Errors that NumPy raises for damaged files."""

MAX_BYTES = 2**30
"""Maximum size of a decompressed mask, in bytes."""


def parse(label: Mapping[str, Any], size: Size) -> Object:
    """Convert a label in an image of the given size to an object.

    Raises ValueError if the label is invalid.
    """
    width, height = size
    if width is None or height is None:
        raise ValueError(
            "the image size is unknown; call dataset.compute_metadata() in FiftyOne, and export "
            "the dataset again"
        )
    scale = np.array([width, height], np.float64)
    name = label.get("label")
    if name is not None and not isinstance(name, str):
        raise ValueError(f"a label must be a string, but it is {str(name)[:40]!r}")
    box, points, mask = np.zeros(4, np.float32), NO_POINTS, None
    outlines: list[NDArray[np.float32]] = []
    lines: list[NDArray[np.float32]] = []
    confidence = label.get("confidence")
    match label.get("_cls"):
        case "Detection":
            x, y, w, h = _numbers(label.get("bounding_box"), 4)
            if w < 0 or h < 0:
                raise ValueError(f"a box must not have a negative size, but it is {w} x {h}")
            box = (np.array([x, y, x + w, y + h]) * np.tile(scale, 2)).astype(np.float32)
            if label.get("mask") is not None:
                mask = _expand_mask(array_of(label["mask"]), box, width, height)
        case "Polyline":
            parts = [(_points(part) * scale).astype(np.float32) for part in _list(label, "points")]
            is_area = bool(label.get("closed") or label.get("filled"))
            outlines = [part for part in parts if len(part) >= 3] if is_area else []
            lines = [] if is_area else parts
            box = bounds(parts)
        case "Keypoint":
            fractions = _points(label.get("points"))
            is_known = np.isfinite(fractions).all(axis=1)
            points = np.zeros((len(fractions), 3), np.float32)
            points[is_known, :2] = fractions[is_known] * scale
            points[is_known, 2] = 2
            box = bounds([points[is_known]])
            confidence = None if isinstance(confidence, list) else confidence
        case other:
            raise ValueError(
                f"the class of a label must be {alternatives(CLASSES)}, but it is {other!r:.40}"
            )
    return Object(
        name, box, outlines, lines, points, mask,
        None if confidence is None else number_of(confidence),
        {flag: label[flag] for flag in FLAGS if isinstance(label.get(flag), bool)},
    )  # fmt: skip


def rebuild(obj: Object, size: tuple[int, int], key: str) -> dict[str, Any]:
    """Convert an object to a label of FiftyOne, whose id is derived from `key`."""
    scale = np.array(size, np.float64)
    result: dict[str, Any] = {"_id": {"$oid": identifier(key)}, "attributes": {}, "tags": []}
    if obj.label is not None:
        result["label"] = obj.label
    match class_of(obj):
        case "Detection":
            x0, y0, x1, y1 = (exact(obj.box) / np.tile(scale, 2)).tolist()
            result |= {"_cls": "Detection", "bounding_box": [x0, y0, x1 - x0, y1 - y0]}
            if obj.mask is not None:
                result["mask"] = binary_of(_crop(obj.mask, obj.box))
        case "Polyline":
            is_area = bool(len(obj.outlines))
            parts = obj.outlines if is_area else obj.lines
            result |= {"_cls": "Polyline", "points": [(exact(p) / scale).tolist() for p in parts],
                       "closed": is_area, "filled": is_area}  # fmt: skip
        case _:
            points = (exact(obj.points[:, :2]) / scale).tolist()
            is_known = obj.points[:, 2] > 0
            nan = {"$numberDouble": "NaN"}
            pairs = [point if known else [nan, nan]
                     for point, known in zip(points, is_known, strict=True)]  # fmt: skip
            result |= {"_cls": "Keypoint", "points": pairs}
    if obj.score is not None:
        result["confidence"] = float(exact(np.array([obj.score], np.float32))[0])
    return result | {flag: True for flag, value in obj.flags.items() if value}


def class_of(obj: Object) -> str:
    """Return FiftyOne's class for the label that represents an object."""
    kinds = {"polygon": "Polyline", "polyline": "Polyline", "points": "Keypoint"}
    return kinds.get(obj.kind, "Detection")


def identifier(key: str) -> str:
    """Derive an id of 24 hexadecimal digits from a key."""
    return xxhash.xxh3_128_hexdigest(key.encode(errors="surrogatepass"))[:24]


# ---- numbers


def _list(label: Mapping[str, Any], key: str) -> list[Any]:
    value = label.get(key)
    if not isinstance(value, list):
        raise ValueError(f"{key} of a label must be a list, but it is {str(value)[:40]!r}")  # noqa: TRY004
    return value


def number(value: Any) -> float:
    """Return a number, which is NaN for null. Raises ValueError if the value is not a number."""
    if value is None or (isinstance(value, dict) and value.get("$numberDouble") == "NaN"):
        return float("nan")
    return number_of(value)


def _numbers(value: Any, count: int) -> list[float]:
    if not isinstance(value, list) or len(value) != count:
        raise ValueError(f"a box must have {count} numbers, but it is {str(value)[:40]!r}")
    return [number_of(x) for x in value]


def _points(value: Any) -> NDArray[np.float64]:
    """Parse points (k, 2), with NaN for unknown coordinates.

    Raises ValueError if they are invalid.
    """
    if not isinstance(value, list) or any(not isinstance(p, list) or len(p) != 2 for p in value):
        raise ValueError("points of a label must be pairs of numbers")
    return np.array([[number(x) for x in p] for p in value], np.float64).reshape(-1, 2)


# ---- arrays


def array_of(value: Any) -> NDArray[Any]:
    """Decode an array from ``{"$binary": {"base64": "…"}}``. Raises ValueError if it is invalid."""
    binary = value.get("$binary") if isinstance(value, dict) else None
    text = binary.get("base64") if isinstance(binary, dict) else binary
    if not isinstance(text, str):
        raise ValueError("a mask is not binary data")  # noqa: TRY004
    try:
        data = base64.b64decode(text, validate=True)
        unpacker = zlib.decompressobj()
        content = unpacker.decompress(data, MAX_BYTES)
    except (binascii.Error, ValueError, zlib.error) as error:
        raise ValueError(f"a mask is not valid zlib data: {error}") from None
    if not unpacker.eof:
        raise ValueError(f"a mask must be complete, and have at most {MAX_BYTES:,} bytes")
    try:
        array = _read_npy(content)
    except _UNREADABLE as error:
        raise ValueError(f"a mask is not a NumPy array of numbers: {error}") from None
    if array.ndim != 2 or array.dtype.kind not in "bui":
        raise ValueError(
            "a mask must have two axes of integers or booleans, but it has "
            f"{array.ndim} axes of {array.dtype}"
        )
    return array


def _read_npy(content: bytes) -> NDArray[Any]:
    """Read a NumPy file after checking its size. Raises any of `_UNREADABLE`."""
    file = io.BytesIO(content)
    version = np.lib.format.read_magic(file)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    shape, _, dtype = read[version](file)
    size = int(np.prod([int(n) for n in shape], dtype=object)) * dtype.itemsize
    if dtype.hasobject or size > len(content):
        raise ValueError("it contains Python objects, or fewer bytes than its header declares")
    array: NDArray[Any] = np.load(io.BytesIO(content), allow_pickle=False)
    return array


def binary_of(array: NDArray[Any]) -> dict[str, Any]:
    """Encode an array as ``{"$binary": {"base64": "…"}}``, which `array_of` decodes.

    >>> array_of(binary_of(np.array([[True, False]]))).tolist()
    [[True, False]]
    """
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    text = base64.b64encode(zlib.compress(file.getvalue())).decode()
    return {"$binary": {"base64": text, "subType": "00"}}


def _pixels(box: NDArray[np.float32], width: int, height: int) -> tuple[int, int, int, int]:
    """Return left, top, right and bottom of the pixels that a box covers within its image."""
    left, top = (round(max(0.0, float(v))) for v in box[:2])
    right, bottom = min(width, round(float(box[2]))), min(height, round(float(box[3])))
    return left, top, max(left, right), max(top, bottom)


def _expand_mask(
    pixels: NDArray[Any], box: NDArray[np.float32], width: int, height: int
) -> NDArray[np.bool_]:
    """Expand a box's mask to the whole image, scaling the mask if the box has another size."""
    check_mask_size(width, height)
    if not pixels.size:
        raise ValueError("a mask must have pixels, but it has none")
    left, top, right, bottom = _pixels(box, width, height)
    rows = ((np.arange(bottom - top) + 0.5) * pixels.shape[0] / max(bottom - top, 1)).astype(
        np.int64
    )
    columns = ((np.arange(right - left) + 0.5) * pixels.shape[1] / max(right - left, 1)).astype(
        np.int64
    )
    result = np.zeros((height, width), bool)
    if rows.size and columns.size:
        result[top:bottom, left:right] = pixels[np.ix_(rows, columns)] != 0
    return result


def _crop(mask: NDArray[np.bool_], box: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Crop a mask to its box, but to at least one pixel."""
    left, top, right, bottom = _pixels(box, mask.shape[1], mask.shape[0])
    part = mask[top:bottom, left:right]
    return np.ascontiguousarray(part) if part.size else np.zeros((1, 1), bool)


def is_within(obj: Object) -> bool:
    """Return whether the box of an object contains all of its mask."""
    if obj.mask is None:
        return True
    mask_box = box_of_mask(obj.mask)
    left, top, right, bottom = _pixels(obj.box, obj.mask.shape[1], obj.mask.shape[0])
    return bool(
        left <= mask_box[0]
        and top <= mask_box[1]
        and right >= mask_box[2]
        and bottom >= mask_box[3]
    )
