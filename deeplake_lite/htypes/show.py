"""Previews of values: thumbnails of images, and short strings for everything else.

Pillow is imported when the first image is used, since importing it takes as long as importing the
rest of this package.
"""

from __future__ import annotations

import colorsys
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite import codecs
from deeplake_lite.htypes.base import Picture

if TYPE_CHECKING:
    from numpy.typing import NDArray

THUMBNAIL = 96
"""Longer side of a thumbnail, in pixels."""

_WIDTH = 80  # characters of a line
_VALUES = 4  # how many numbers of an array to show


def short_text(text: str) -> str:
    r"""Shorten a string to one line.

    >>> short_text("two\nlines")
    'two lines'
    """
    line = " ".join(text[: 4 * _WIDTH].split())
    return line if len(line) <= _WIDTH else line[: _WIDTH - 1] + "…"


def short_array(array: NDArray[Any]) -> str:
    """Format the dtype, shape and first values of an array.

    >>> short_array(np.arange(6.0).reshape(2, 3))
    'float64 (2, 3): 0, 1, 2, 3, …'
    """
    first = [_format_number(value) for value in array.reshape(-1)[:_VALUES]]
    dots = ", …" if array.size > _VALUES else ""
    return f"{array.dtype} {array.shape}: {', '.join(first)}{dots}"


def thumbnail(pixels: NDArray[Any], side: int = THUMBNAIL, slack: float = 1.0) -> Picture:
    """Return a small JPEG of an image, or a PNG if it has alpha.

    Parameters
    ----------
    pixels : ndarray, (h, w) or (h, w, 1 to 4)
        Pixels. The range of values in 16-bit and float images is stretched to 8 bits.
    side : int
        Longer side of the thumbnail, in pixels. Images are never enlarged.
    slack : float
        An image is not resized if its longer side is at most `slack` times `side`, since encoding
        it as it is takes less time.

    >>> thumbnail(np.zeros((200, 100), "uint8")).width
    48
    """
    from PIL.Image import fromarray

    pixels = pixels[..., 0] if pixels.ndim == 3 and pixels.shape[2] == 1 else pixels
    grey_or_rgb = pixels.ndim == 2 or pixels.shape[2] == 3
    if slack > 1 and max(pixels.shape[:2]) <= slack * side and grey_or_rgb:
        return _encode(np.ascontiguousarray(eight_bits(pixels)), "jpeg", quality=80)
    step = max(1, min(pixels.shape[:2]) // (4 * side))  # saves Pillow from resizing 100 megapixels
    image = fromarray(np.ascontiguousarray(eight_bits(pixels[::step, ::step])))
    image.thumbnail((side, side))
    if image.mode in ("LA", "RGBA"):
        return _encode(np.array(image), "png")
    return _encode(np.array(image.convert("RGB")), "jpeg", quality=80)


def class_thumbnail(classes: NDArray[Any], side: int = THUMBNAIL) -> Picture:
    """Return a small PNG of a segmentation mask, (h, w) integers, with a colour for each class.

    >>> class_thumbnail(np.eye(300, dtype="uint8")).mime
    'image/png'
    """
    step = max(1, -(-max(classes.shape) // side))
    small = classes[::step, ::step]
    numbers, indices = np.unique(small, return_inverse=True)
    colours = np.array([class_colour(int(number)) for number in numbers], np.uint8)
    return _encode(colours[indices.reshape(small.shape)], "png")


def class_colour(number: int) -> tuple[int, int, int]:
    """Return the colour of a class number: black for 0, and evenly spread hues for other numbers.

    >>> class_colour(0), class_colour(1), class_colour(2)
    ((0, 0, 0), (240, 84, 84), (84, 129, 240))
    """
    if number == 0:
        return (0, 0, 0)
    hue = ((number - 1) * 0.6180339887) % 1
    light = 0.94 if (number // 8) % 2 == 0 else 0.7
    red, green, blue = colorsys.hsv_to_rgb(hue, 0.65, light)
    return round(red * 255), round(green * 255), round(blue * 255)


def _encode(pixels: NDArray[np.uint8], codec: str, **options: object) -> Picture:
    """Encode a thumbnail."""
    data = bytes(codecs.get(codec, **options).encode(pixels))
    return Picture(data, f"image/{codec}", pixels.shape[1], pixels.shape[0])


def eight_bits(pixels: NDArray[Any]) -> NDArray[np.uint8]:
    """Stretch an image to 8 bits, so that its finite values range from 0 to 255.

    >>> eight_bits(np.array([[0, np.nan], [2, np.inf]])).tolist()
    [[0, 0], [255, 255]]
    """
    if pixels.dtype == np.uint8:
        return pixels
    if pixels.dtype == bool:
        return pixels.astype(np.uint8) * np.uint8(255)
    values = pixels.astype(np.float64 if pixels.dtype.itemsize > 4 else np.float32)
    finite = values[np.isfinite(values)] if values.size else values
    least, most = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    # Subtract halves, because `most - least` may overflow.
    halves = np.clip(np.nan_to_num(values, nan=least), least, most) / 2 - least / 2
    stretched: NDArray[np.uint8] = (halves * (255 / ((most / 2 - least / 2) or 1))).astype(np.uint8)
    return stretched


def _format_number(value: object) -> str:
    """Format a number with a few digits."""
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)
