"""Functions for images: CROP and RESIZE."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.htypes.boxes import convert_boxes
from deeplake_lite.query.functions.base import Arg, Bound, function
from deeplake_lite.query.functions.binding import numbers
from deeplake_lite.query.functions.room import check_room
from deeplake_lite.query.functions.value_type import Type

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.query.functions.base import Compute
    from deeplake_lite.query.functions.value_type import Shape

GROUP = "Images"


def _check_image(name: str, image: Arg) -> None:
    numbers(name, image)
    if image.type.ndim not in (None, 2, 3):
        raise ValueError(
            f"an image must have shape (h, w) or (h, w, c), but {image.text} is {image.type}"
        )


def _with_size(image: Arg, height: int | None, width: int | None) -> Shape | None:
    """Return the shape of an image with another height and width, or None if it is unknown."""
    return None if image.type.shape is None else (height, width, *image.type.shape[2:])


@function("CROP(image, window)", group=GROUP)
def _crop(image: Arg, window: Arg) -> Bound:
    """Part of an image; the window is [x0, y0, x1, y1] in pixels, without x1 and y1."""
    _check_image("CROP", image)
    numbers("CROP", window)
    if window.type.shape not in ((4,), (None,)):
        raise ValueError(f"a window must be [x0, y0, x1, y1], but {window.text} is {window.type}")
    boxes, format_ = window.type.boxes, window.type.box_format

    def compute(value: object, window: object, *, lead: int) -> NDArray[Any]:
        pixels, corners = np.asarray(value), np.asarray(window)
        height, width = pixels.shape[lead : lead + 2]
        if format_ is not None:
            corners = convert_boxes(corners, format_, "xyxy")
        if boxes is not None and boxes.units == "fraction":
            corners = corners * [width, height, width, height]
        if corners.shape != (4,) or not np.isfinite(corners).all():
            raise ValueError(
                f"a window must be four finite numbers, but it is {brief(corners.tolist())}"
            )
        x0, y0, x1, y1 = (max(int(v), 0) for v in np.rint(corners))
        return pixels[(slice(None),) * lead + (slice(y0, y1), slice(x0, x1))].copy()

    height, width = _cropped_size(image, window, compute)
    type_ = Type(image.type.dtype, _with_size(image, height, width), image.type.meaning)
    return Bound(type_, compute, stacks=window.is_constant)


def _cropped_size(image: Arg, window: Arg, compute: Compute) -> tuple[int | None, int | None]:
    """Return the height and width of the cropped image, with None for a size that varies."""
    shape = image.type.shape
    if not window.is_constant or shape is None or shape[0] is None or shape[1] is None:
        return None, None
    height, width = compute(np.empty((shape[0], shape[1]), bool), window.value, lead=0).shape
    return height, width


@function("RESIZE(image, height, width)", group=GROUP)
def _resize(image: Arg, height: Arg, width: Arg) -> Bound:
    """Resized image, bilinear with antialiasing; masks use the nearest pixel."""
    _check_image("RESIZE", image)
    numbers("RESIZE", height, width)
    nearest = image.type.is_mask or image.type.dtype == "bool"

    def compute(value: object, h: Any, w: Any, *, lead: int) -> NDArray[Any]:  # noqa: ARG001
        size = (int(h), int(w))
        if min(size) < 1:
            raise ValueError(
                f"height and width must be at least 1, but they are {size[0]} and {size[1]}"
            )
        pixels = np.asarray(value)
        check_room((*size, *pixels.shape[2:]), pixels.itemsize, lead=0)
        return _resize_pixels(pixels, size, nearest)

    for side in (height, width):
        if side.is_constant and not int(side.value) > 0:
            raise ValueError(f"height and width must be at least 1, but one is {side.text}")
    sizes = [int(side.value) if side.is_constant else None for side in (height, width)]
    type_ = Type(image.type.dtype, _with_size(image, *sizes), image.type.meaning)
    return Bound(type_, compute, stacks=False)


def _resize_pixels(pixels: NDArray[Any], size: tuple[int, int], nearest: bool) -> NDArray[Any]:
    if pixels.ndim not in (2, 3) or 0 in pixels.shape:
        raise ValueError(
            "an image must have shape (h, w) or (h, w, c) and at least one pixel, but its shape is "
            f"{pixels.shape}"
        )
    if nearest:
        rows, columns = (
            ((np.arange(n) + 0.5) * old / n).astype(np.int64)
            for n, old in zip(size, pixels.shape, strict=False)
        )
        return np.asarray(pixels[rows[:, None], columns])
    if pixels.ndim == 2:
        return _resize_bilinear(pixels, size)
    if pixels.dtype == np.uint8 and pixels.shape[2] == 3:
        return _resize_bilinear(pixels, size)
    channels = [_resize_bilinear(pixels[..., c], size) for c in range(pixels.shape[2])]
    return np.stack(channels, axis=2)


def _resize_bilinear(pixels: NDArray[Any], size: tuple[int, int]) -> NDArray[Any]:
    """Return a resized greyscale image of any dtype, or colour image of uint8.

    Pillow supports no other dtype for colour images.
    """
    from PIL import Image  # takes 60 ms to import, and only this function needs it

    small = pixels.dtype == np.uint8
    source = Image.fromarray(np.ascontiguousarray(pixels if small else pixels.astype("float32")))
    resized = np.asarray(source.resize(size[::-1], Image.Resampling.BILINEAR))
    if not small and pixels.dtype.kind in "iu":
        resized = np.rint(resized)
    return resized.astype(pixels.dtype)
