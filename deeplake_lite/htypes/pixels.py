"""Conversion of arrays, Pillow images and files to pixels, and of pixels to other modes and sizes.

Pillow is imported when the first image is used, since importing it takes as long as importing the
rest of this package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.errors import DamagedError, InvalidValueError
from deeplake_lite.htypes.pillow import is_pillow, pillow_pixels
from deeplake_lite.htypes.tensors import array_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.codecs import Header, ImageCodec

_MAX_CHANNELS = 4
_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}
"""Pillow's mode for each number of channels."""


def pixels_of(value: Any) -> NDArray[Any]:
    """Return the pixels of an array or Pillow image.

    Raises
    ------
    InvalidValueError
        For anything else.

    >>> from PIL import Image
    >>> pixels_of(Image.new("RGB", (4, 3))).shape
    (3, 4, 3)
    """
    if isinstance(value, np.ndarray) or hasattr(value, "__array__"):
        return array_of(value)
    if is_pillow(value):
        return pillow_pixels(value)
    raise InvalidValueError(
        f"must be an image: a path, a URL, a file as bytes, an array or a Pillow image, but it is "
        f"{type(value).__name__} {brief(value)}. Convert a list of numbers to an array: "
        "np.asarray(value, 'uint8')."
    )


def check_pixels(pixels: NDArray[Any]) -> None:
    """Raise InvalidValueError unless an array has the shape of an image."""
    shape = pixels.shape
    if pixels.ndim not in (2, 3) or 0 in shape or (pixels.ndim == 3 and shape[2] > _MAX_CHANNELS):
        is_channels_first = pixels.ndim == 3 and 0 < shape[0] <= _MAX_CHANNELS < shape[2]
        hint = (
            "Put channels last: x.transpose(1, 2, 0)"
            if is_channels_first
            else "Reshape it, or declare an Array"
        )
        raise InvalidValueError(
            f"an image must have shape (h, w) or (h, w, 1 to {_MAX_CHANNELS}), but it has {shape}. "
            f"{hint}."
        )


def convert_pixels(pixels: NDArray[Any], mode: str) -> NDArray[Any]:
    """Convert 8-bit pixels to another mode, by Pillow's rules.

    >>> convert_pixels(np.zeros((2, 3, 4), "uint8"), "L").shape
    (2, 3)
    """
    if pixels.dtype != np.uint8:
        raise InvalidValueError(
            f"must be an 8-bit image for mode={mode!r}, but it is {pixels.dtype}. Declare the "
            "column without mode, or scale the values: (x / x.max() * 255).astype('uint8')."
        )
    from PIL.Image import fromarray

    flat = pixels[..., 0] if pixels.ndim == 3 and pixels.shape[2] == 1 else pixels
    return np.array(fromarray(np.ascontiguousarray(flat)).convert(mode))


def lost_channels(pixels: NDArray[Any], converted: NDArray[Any]) -> str:
    """Return the mode of `pixels` if the conversion to `converted` lost information, otherwise "".

    Grey pixels can be converted to any mode without loss, and opaque pixels to a mode without
    alpha.

    >>> colour, grey = np.full((1, 1, 3), [[[9, 0, 0]]], "uint8"), np.full((1, 1, 3), 9, "uint8")
    >>> [lost_channels(p, convert_pixels(p, "L")) for p in (colour, grey)]
    ['RGB', '']
    """
    mode = _MODES[pixels.shape[2] if pixels.ndim == 3 else 1]
    flat = pixels[..., 0] if mode == "L" and pixels.ndim == 3 else pixels
    return "" if np.array_equal(convert_pixels(converted, mode), flat) else mode


def resize(pixels: NDArray[Any], height: int, width: int) -> NDArray[Any]:
    """Resize an image with antialiased bilinear interpolation.

    >>> resize(np.zeros((8, 6, 3), "uint16"), 4, 5).shape
    (4, 5, 3)
    """
    if pixels.shape[:2] == (height, width):
        return pixels
    from PIL.Image import Resampling, fromarray

    if pixels.dtype == np.uint8 and (pixels.ndim == 2 or pixels.shape[2] in (3, 4)):
        return np.asarray(fromarray(pixels).resize((width, height), Resampling.BILINEAR))
    planes = np.atleast_3d(pixels).astype(np.float32)  # Pillow resizes one float channel at a time
    channels = [
        np.asarray(fromarray(planes[..., i]).resize((width, height), Resampling.BILINEAR))
        for i in range(planes.shape[2])
    ]
    out = np.stack(channels, axis=-1).reshape(height, width, *pixels.shape[2:])
    return (out if pixels.dtype.kind == "f" else np.rint(out)).astype(pixels.dtype)


def decode_file(source: ImageCodec, data: bytes, header: Header) -> NDArray[Any]:
    """Decode a file from the user. Raises InvalidValueError if the file is damaged."""
    try:
        return source.decode(data, header.shape, np.dtype(header.dtype))
    except DamagedError as error:
        raise InvalidValueError(
            f"the {source.name.upper()} cannot be decoded: {error.finding}. Fetch the file again."
        ) from error
