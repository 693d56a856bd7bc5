"""Parts of pictures, and pictures of another size."""

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

    from deeplake_lite.query.functions.value_type import Shape

GROUP = "Pictures"


def _picture(name: str, image: Arg) -> None:
    numbers(name, image)
    if image.type.ndim not in (None, 2, 3):
        raise ValueError(f"a picture is (h, w) or (h, w, c), {image.text} is {image.type}")


def _sized(image: Arg, height: int | None, width: int | None) -> Shape | None:
    """Return the shape of a picture with another height and width."""
    return None if image.type.shape is None else (height, width, *image.type.shape[2:])


@function("CROP(image, window)", group=GROUP)
def _crop(image: Arg, window: Arg) -> Bound:
    """Part of an image, [x0, y0, x1, y1] in pixels, excluding x1 and y1, clipped at its edges."""
    _picture("CROP", image)
    numbers("CROP", window)
    if window.type.shape not in ((4,), (None,)):
        raise ValueError(f"a window is [x0, y0, x1, y1], {window.text} is {window.type}")
    boxes, format_ = window.type.boxes, window.type.box_format

    def compute(value: Any, given: Any, *, lead: int) -> Any:
        picture, corners = np.asarray(value), np.asarray(given)
        height, width = picture.shape[lead : lead + 2]
        if format_ is not None:
            corners = convert_boxes(corners, format_, "xyxy")
        if boxes is not None and boxes.units == "fraction":
            corners = corners * [width, height, width, height]
        if corners.shape != (4,) or not np.isfinite(corners).all():
            raise ValueError(f"a window is four numbers, got {brief(corners.tolist())}")
        x0, y0, x1, y1 = (max(int(v), 0) for v in np.rint(corners))
        return picture[(slice(None),) * lead + (slice(y0, y1), slice(x0, x1))].copy()

    height, width = _cut(image, window, compute)
    type_ = Type(image.type.dtype, _sized(image, height, width), image.type.meaning)
    return Bound(type_, compute, stacks=window.is_constant)


def _cut(image: Arg, window: Arg, compute: Any) -> tuple[int | None, int | None]:
    """Return the height and width of what is cut out, where they are known."""
    known = image.type.shape
    if not window.is_constant or known is None or known[0] is None or known[1] is None:
        return None, None
    height, width = compute(np.empty((known[0], known[1]), bool), window.value, lead=0).shape
    return height, width


@function("RESIZE(image, height, width)", group=GROUP)
def _resize(image: Arg, height: Arg, width: Arg) -> Bound:
    """Resized image, bilinear with antialiasing; masks use the nearest pixel."""
    _picture("RESIZE", image)
    numbers("RESIZE", height, width)
    nearest = image.type.is_mask or image.type.dtype == "bool"

    def compute(value: Any, h: Any, w: Any, *, lead: int) -> Any:  # noqa: ARG001
        size = (int(h), int(w))
        if min(size) < 1:
            raise ValueError(f"height and width must be 1 or more, got {size[0]} and {size[1]}")
        picture = np.asarray(value)
        check_room((*size, *picture.shape[2:]), picture.itemsize, lead=0)
        return _resized(picture, size, nearest)

    for side in (height, width):
        if side.is_constant and not int(side.value) > 0:
            raise ValueError(f"height and width must be 1 or more, got {side.text}")
    sizes = [int(side.value) if side.is_constant else None for side in (height, width)]
    type_ = Type(image.type.dtype, _sized(image, *sizes), image.type.meaning)
    return Bound(type_, compute, stacks=False)


def _resized(picture: NDArray[Any], size: tuple[int, int], nearest: bool) -> NDArray[Any]:
    if picture.ndim not in (2, 3) or 0 in picture.shape:
        raise ValueError("a picture is (h, w) or (h, w, c), and has pixels")
    if nearest:
        rows, columns = (
            ((np.arange(n) + 0.5) * old / n).astype(np.int64)
            for n, old in zip(size, picture.shape, strict=False)
        )
        return np.asarray(picture[rows[:, None], columns])
    if picture.ndim == 2:
        return _bilinear(picture, size)
    if picture.dtype == np.uint8 and picture.shape[2] == 3:
        return _bilinear(picture, size)
    channels = [_bilinear(picture[..., c], size) for c in range(picture.shape[2])]
    return np.stack(channels, axis=2)


def _bilinear(picture: NDArray[Any], size: tuple[int, int]) -> NDArray[Any]:
    """Return a grey picture, or a coloured one of bytes, in another size."""
    from PIL import Image  # 60 ms, for this function alone

    small = picture.dtype == np.uint8
    source = Image.fromarray(np.ascontiguousarray(picture if small else picture.astype("float32")))
    found = np.asarray(source.resize(size[::-1], Image.Resampling.BILINEAR))
    if not small and picture.dtype.kind in "iu":
        found = np.rint(found)
    return found.astype(picture.dtype)
