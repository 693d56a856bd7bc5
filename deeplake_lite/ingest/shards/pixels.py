"""Decoding uncompressed Pillow images, as MDS and LitData store them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.ingest.shards.unfit import UnfitError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MODES = ("1", "L", "P", "RGB", "RGBA", "CMYK", "YCbCr", "LAB", "HSV", "I", "F", "LA", "I;16")


def load_pixels(data: memoryview) -> NDArray[Any]:
    r"""Return the pixels of an image. Raises UnfitError if the data is invalid.

    The data consists of width, height and length of the mode, each as uint32, followed by Pillow's
    mode and the bytes of the pixels.

    >>> load_pixels(memoryview(b"\2\0\0\0\1\0\0\0\1\0\0\0L\7\11")).tolist()
    [[7, 9]]
    """
    from PIL import Image

    if len(data) < 12:
        raise UnfitError("an image")
    width, height, length = (int(n) for n in np.frombuffer(data[:12], "<u4"))
    mode = bytes(data[12 : 12 + min(length, 8)]).decode("ascii", "replace")
    raw = data[12 + length :]
    # Checked here, because Pillow allocates the image before it examines the data.
    if mode not in _MODES or length > 8 or not 0 < width * height <= 8 * len(raw):
        raise UnfitError("an image")
    return np.array(Image.frombytes(mode, (width, height), bytes(raw)))
