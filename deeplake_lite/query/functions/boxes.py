"""Functions of boxes and masks, which compute overlaps and areas and convert formats."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.brief import alternatives, brief
from deeplake_lite.htypes.boxes import FORMATS, Boxes, convert_boxes
from deeplake_lite.query.functions.base import Arg, Bound, function
from deeplake_lite.query.functions.binding import numbers, result_of
from deeplake_lite.query.functions.matching import best_matching
from deeplake_lite.query.functions.room import check_room
from deeplake_lite.query.functions.value_type import Type

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

GROUP = "Boxes and masks"


def format_of(boxes: Arg) -> str:
    """Return the format of boxes. Numbers that are not from a column of boxes have "xyxy"."""
    return boxes.type.box_format or "xyxy"


def box_type(name: str, boxes: Arg) -> Type:
    """Return the type of an argument, which must be boxes, (n, 4), or one box, (4,).

    Raises ValueError or QueryTypeError for another shape or type. `name` is the function's name.
    """
    numbers(name, boxes)
    shape = boxes.type.shape
    if shape is not None and (len(shape) not in (1, 2) or shape[-1] not in (4, None)):
        raise ValueError(f"boxes must have shape (n, 4), but {boxes.text} is {boxes.type}")
    return boxes.type


def _check_units(*args: Arg) -> None:
    units = {a.type.boxes.units for a in args if a.type.boxes is not None}
    if len(units) > 1:
        raise ValueError(
            "boxes must have the same units, but one argument is in pixels and the other in "
            "fractions of the image. Multiply the fractions by the size of the image"
        )


def _corners(value: object, format_: str, lead: int) -> NDArray[Any]:
    """Return boxes as floats in the format xyxy, (…, n, 4). For a single box, n is 1."""
    boxes: NDArray[Any] = np.asarray(value)
    if boxes.ndim == lead + 1:
        boxes = boxes[..., None, :] if boxes.shape[-1] else boxes[..., None]  # [] has no boxes
    if not boxes.size:
        return np.zeros((*boxes.shape[:-1], 4))
    if boxes.shape[-1] != 4:
        raise ValueError(f"boxes must have shape (n, 4), but they have shape {boxes.shape[lead:]}")
    return convert_boxes(boxes.astype(np.float64), format_, "xyxy")


def overlaps(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Return the intersection over union of each pair of xyxy boxes.

    For boxes of shapes (…, n, 4) and (…, m, 4), the result has shape (…, n, m). It is 0 for a box
    without area.

    >>> overlaps(np.array([[0, 0, 2, 2.0]]), np.array([[0, 0, 2, 1], [5, 5, 6, 6.0]]))
    array([[0.5, 0. ]])
    """
    a, b = a[..., :, None, :], b[..., None, :, :]
    sides = np.minimum(a[..., 2:], b[..., 2:]) - np.maximum(a[..., :2], b[..., :2])
    shared = np.prod(np.maximum(sides, 0), axis=-1)
    areas = [np.prod(np.maximum(boxes[..., 2:] - boxes[..., :2], 0), axis=-1) for boxes in (a, b)]
    union = areas[0] + areas[1] - shared
    ratio: NDArray[Any] = np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)
    return ratio


@function("IOU(boxes, others)", group=GROUP)
def _iou(boxes: Arg, others: Arg) -> Bound:
    """Total IoU of the best one-to-one matching, divided by the larger number of boxes."""
    pairs = _pair("IOU", boxes, others)

    def compute(value: object, other: object, *, lead: int) -> NDArray[Any]:
        ious = pairs(value, other, lead)
        most = max(ious.shape[-2:])
        return best_matching(ious) / most if most else np.ones(ious.shape[:-2])[()]

    return Bound(Type("float64"), compute)


@function("IOU_MATRIX(boxes, others)", group=GROUP)
def _iou_matrix(boxes: Arg, others: Arg) -> Bound:
    """Intersection over union of every pair of boxes, (n, m)."""
    pairs = _pair("IOU_MATRIX", boxes, others)

    def compute(value: object, other: object, *, lead: int) -> NDArray[Any]:
        return pairs(value, other, lead)

    return Bound(Type("float64", (_count(boxes), _count(others))), compute)


def _pair(name: str, boxes: Arg, others: Arg) -> Callable[[Any, Any, int], NDArray[Any]]:
    """Return a function that computes the intersection over union of each pair of boxes."""
    for arg in (boxes, others):
        box_type(name, arg)
    _check_units(boxes, others)

    def pairs(value: object, other: object, lead: int) -> NDArray[Any]:
        a, b = (
            _corners(v, format_of(arg), 0 if arg.is_constant else lead)
            for v, arg in ((value, boxes), (other, others))
        )
        shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-2])
        # `overlaps` stores the sides of all intersections.
        check_room((*shape, 2), 8, lead=min(lead, len(shape) - 2))
        return overlaps(a, b)

    return pairs


def _count(boxes: Arg) -> int | None:
    if not boxes.type.shape:
        return None
    return 1 if len(boxes.type.shape) == 1 else boxes.type.shape[0]


@function("AREA(x)", group=GROUP)
def _area(x: Arg) -> Bound:
    """Area of each box, or pixel count of each binary mask."""
    numbers("AREA", x)
    if x.type.dtype == "bool":

        def pixels(value: object, *, lead: int) -> object:
            value = np.asarray(value)
            if value.ndim < lead + 2:
                raise ValueError("a mask must have shape (h, w) or (n, h, w)")
            return np.count_nonzero(value, axis=(-2, -1))

        return Bound(result_of(pixels, x), pixels)
    _check_binary(x)
    box_type("AREA", x)
    format_ = format_of(x)

    def area(value: object, *, lead: int) -> NDArray[Any]:  # noqa: ARG001
        boxes = np.asarray(value)
        if boxes.shape[-1:] != (4,):
            raise ValueError(f"boxes must have shape (n, 4), but they have shape {boxes.shape}")
        boxes = boxes if boxes.dtype.kind == "f" else boxes.astype(np.float64)
        sides = boxes[..., 2:] - boxes[..., :2] if format_ == "xyxy" else boxes[..., 2:]
        return np.prod(np.maximum(sides, 0), axis=-1)

    sized = replace(x, type=replace(x.type, shape=(*(x.type.shape or (None,))[:-1], 4)))
    return Bound(result_of(area, sized), area)


@function("BOX_CONVERT(boxes, format)", group=GROUP)
def _box_convert(boxes: Arg, format: str) -> Bound:
    """Boxes in another format: 'xyxy', 'xywh' or 'cxcywh'."""
    box_type("BOX_CONVERT", boxes)
    if format not in FORMATS:
        raise ValueError(f"format must be {alternatives(FORMATS)}, but it is {brief(format)}")
    source = format_of(boxes)

    def compute(value: object, *, lead: int) -> NDArray[Any]:  # noqa: ARG001
        value = np.asarray(value)
        if value.shape[-1:] != (4,):
            raise ValueError(f"boxes must have shape (n, 4), but they have shape {value.shape}")
        return convert_boxes(value, source, format)

    shape = (*(boxes.type.shape or (None, 4))[:-1], 4)
    type_ = result_of(compute, replace(boxes, type=replace(boxes.type, shape=shape)))
    units = boxes.type.boxes.units if boxes.type.boxes is not None else "pixels"
    return Bound(replace(type_, meaning=Boxes(format, units, dtype=type_.dtype)), compute)


@function("MASK_TO_BOXES(mask)", group=GROUP)
def _mask_to_boxes(mask: Arg) -> Bound:
    """Bounding box of each binary mask, (n, 4) in pixels, xyxy; zeros if the mask is empty."""
    _check_binary(mask)
    if mask.type.dtype != "bool" or mask.type.ndim not in (None, 2, 3):
        raise ValueError(
            f"a mask must be booleans of shape (h, w) or (n, h, w), but {mask.text} is "
            f"{mask.type}. To get booleans, compare it with a number"
        )

    def compute(value: object, *, lead: int) -> NDArray[Any]:
        masks = np.asarray(value)
        single = masks.ndim == lead + 2
        boxes = _bounding_boxes(masks)
        return boxes[..., None, :] if single else boxes

    count = mask.type.shape[0] if mask.type.shape and mask.type.ndim == 3 else None
    shape = (1 if mask.type.ndim == 2 else count, 4)
    return Bound(Type("float32", shape, Boxes("xyxy")), compute)


def _check_binary(x: Arg) -> None:
    if x.type.is_mask and x.type.dtype != "bool":
        raise ValueError(
            f"a mask must be binary, but {x.text} has classes. Select one class: {x.text} = 1"
        )


def _bounding_boxes(masks: NDArray[Any]) -> NDArray[np.float32]:
    """Return the bounding boxes, (…, 4), of masks, (…, h, w)."""
    boxes = np.zeros((*masks.shape[:-2], 4), np.float32)
    if not masks.size:
        return boxes
    for axis, corner in ((-2, 0), (-1, 1)):  # y varies along axis -2, and x along axis -1
        lines = masks.any(axis=axis)
        has_pixels = lines.any(axis=-1)
        boxes[..., corner] = np.where(has_pixels, lines.argmax(axis=-1), 0)
        boxes[..., corner + 2] = np.where(
            has_pixels, lines.shape[-1] - lines[..., ::-1].argmax(axis=-1), 0
        )
    return boxes


def in_window(boxes: NDArray[Any], window: NDArray[Any], format_: str) -> NDArray[Any]:
    """Return boxes relative to a window, as fractions of its size, in the same format.

    A window is [x0, y0, x1, y1].

    >>> in_window(np.array([[10.0, 20, 5, 5]]), np.array([0.0, 0, 20, 40]), "xywh")
    array([[0.5  , 0.5  , 0.25 , 0.125]])
    """
    if boxes.shape[-1:] != (4,):
        raise ValueError(f"boxes must have shape (n, 4), but they have shape {boxes.shape}")
    origin, size = window[..., :2], window[..., 2:] - window[..., :2]
    if not np.all(size > 0):
        raise ValueError("a window must be [x0, y0, x1, y1] with x0 < x1 and y0 < y1")
    second = boxes[..., 2:] - origin if format_ == "xyxy" else boxes[..., 2:]
    return np.concatenate([(boxes[..., :2] - origin) / size, second / size], axis=-1)
