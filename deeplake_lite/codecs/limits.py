"""How much memory one value may take once it is decoded.

A few bytes may stand for gigabytes: a WebP file of 34 bytes for 268 million pixels, a block of
zeros under Zstandard for whatever its header says. So sizes are compared with limits as soon as the
header, or the lake, tells them, before memory is set aside.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deeplake_lite.errors import OptionError, TooLargeError

if TYPE_CHECKING:
    from collections.abc import Sequence


MOST_PIXELS = 1 << 28
"""Height times width of a picture, where nobody says otherwise."""


@dataclass(frozen=True)
class Limits:
    """How much memory one value may take once it is decoded, given when a lake is opened.

    Parameters
    ----------
    max_pixels : int, optional
        Height times width of a picture or mask; 268 million by default, 16,384 by 16,384. None for
        any.
    max_bytes : int, optional
        Bytes of the pixels or numbers of one cell that is stored encoded; 512 MiB by default. None
        for any. Decoding may take a few times as much for a moment.

    Notes
    -----
    No picture takes more than 2 GiB, whatever the limits.

    Examples
    --------
    >>> import numpy as np
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://limits-doc", {"image": dl.Image("png")})
    >>> ds = dl.open("memory://limits-doc", limits=dl.Limits(max_pixels=100))
    >>> ds.append({"image": [np.zeros((10, 11), "uint8")]})
    Traceback (most recent call last):
        ...
    deeplake_lite.errors.TooLargeError: column 'image', row 0: must decode to at most 100 pixels,
    but has 10 x 11. If you trust its source, open the lake with higher limits: ...
    """

    max_pixels: int | None = MOST_PIXELS
    """Height times width of a picture or mask."""

    max_bytes: int | None = 1 << 29
    """Bytes of one cell's pixels or numbers."""

    def __post_init__(self) -> None:
        for name in ("max_pixels", "max_bytes"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 1):
                raise OptionError(f"{name} must be a positive integer, or None, but is {value!r}.")

    def check_picture(self, shape: Sequence[int], item: int) -> None:
        """Refuse a picture, (h, w) or (h, w, channels), of too many pixels or bytes."""
        if self.max_pixels is not None and math.prod(shape[:2]) > self.max_pixels:
            sides = " x ".join(f"{side:,}" for side in shape[:2])
            raise _too_large(f"{self.max_pixels:,} pixels", sides, "max_pixels")
        self.check_bytes(shape, item)

    def check_bytes(self, shape: Sequence[int], item: int) -> None:
        """Refuse an array of too many bytes, with `item` bytes an element."""
        nbytes = math.prod(shape) * item
        if self.max_bytes is not None and nbytes > self.max_bytes:
            raise _too_large(f"{self.max_bytes:,} bytes", f"{nbytes:,}", "max_bytes")


DEFAULT_LIMITS = Limits()
NO_LIMITS = Limits(max_pixels=None, max_bytes=None)


def _too_large(most: str, value: str, limit: str) -> TooLargeError:
    return TooLargeError(
        f"must decode to at most {most}, but has {value}. If you trust its source, open the lake "
        f"with higher limits: dl.open(url, limits=dl.Limits({limit}=…))."
    )
