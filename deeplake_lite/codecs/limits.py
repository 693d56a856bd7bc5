"""Limits on the memory that one decoded value may take.

A few bytes may decode to gigabytes: a WebP file of 34 bytes to 268 million pixels, a block of zeros
in Zstandard to any size that its header says. So sizes are compared with limits as soon as they are
known from the header or the lake, before memory is allocated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deeplake_lite.errors import OptionError, TooLargeError

if TYPE_CHECKING:
    from collections.abc import Sequence


MOST_PIXELS = 1 << 28
"""Default limit on height times width of an image."""


@dataclass(frozen=True)
class Limits:
    """Limits on the memory that one decoded value may take, given when a lake is opened.

    Parameters
    ----------
    max_pixels : int, optional
        Maximum number of pixels, height times width, of an image or mask; 268 million by default,
        16,384 by 16,384. None for no limit.
    max_bytes : int, optional
        Maximum size in bytes of the pixels or numbers in one cell that is stored encoded; 512 MiB
        by default. None for no limit. Decoding may briefly take a few times as much.

    Notes
    -----
    An image may never take more than 2 GiB, regardless of the limits.

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
    but it has 10 x 11. If you trust its source, open the lake with higher limits: ...
    """

    max_pixels: int | None = MOST_PIXELS
    """Maximum number of pixels, height times width, of an image or mask."""

    max_bytes: int | None = 1 << 29
    """Maximum size of the pixels or numbers of one cell, in bytes."""

    def __post_init__(self) -> None:
        for name in ("max_pixels", "max_bytes"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 1):
                raise OptionError(
                    f"{name} must be a positive integer or None, but it is {value!r}."
                )

    def check_picture(self, shape: Sequence[int], item: int) -> None:
        """Raise TooLargeError for an image, (h, w) or (h, w, channels), over the limits."""
        if self.max_pixels is not None and math.prod(shape[:2]) > self.max_pixels:
            sides = " x ".join(f"{side:,}" for side in shape[:2])
            raise _too_large(f"{self.max_pixels:,} pixels", sides, "max_pixels")
        self.check_bytes(shape, item)

    def check_bytes(self, shape: Sequence[int], item: int) -> None:
        """Raise TooLargeError for an array with too many bytes, `item` per element."""
        nbytes = math.prod(shape) * item
        if self.max_bytes is not None and nbytes > self.max_bytes:
            raise _too_large(f"{self.max_bytes:,} bytes", f"{nbytes:,}", "max_bytes")


DEFAULT_LIMITS = Limits()
NO_LIMITS = Limits(max_pixels=None, max_bytes=None)


def _too_large(most: str, value: str, limit: str) -> TooLargeError:
    return TooLargeError(
        f"must decode to at most {most}, but it has {value}. If you trust its source, open the "
        f"lake with higher limits: dl.open(url, limits=dl.Limits({limit}=…))."
    )
