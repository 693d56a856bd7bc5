"""Limits on the memory that one decoded value may take.

A few bytes may decode to gigabytes: a WebP file of 34 bytes to 268 million pixels, or Zstandard
blocks of zeros to almost any size. Sizes are therefore checked against limits as soon as they are
known from a header or the lake, before memory is allocated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deeplake_lite.errors import OptionError, TooLargeError

if TYPE_CHECKING:
    from collections.abc import Sequence


MAX_PIXELS = 1 << 28
"""Default limit on the number of pixels of an image."""


@dataclass(frozen=True)
class Limits:
    """Limits on the memory that one decoded value may take, set when a lake is opened.

    Parameters
    ----------
    max_pixels : int, optional
        Maximum number of pixels of an image or mask, height times width. The default is 268
        million, 16,384 by 16,384. None for no limit.
    max_bytes : int, optional
        Maximum size in bytes of the decoded pixels or numbers in one cell. The default is 512 MiB.
        None for no limit. While a cell is decoded, it may take a few times as much memory.

    Notes
    -----
    Regardless of the limits, an image may not take more than 2 GiB.

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

    max_pixels: int | None = MAX_PIXELS
    """Maximum number of pixels of an image or mask, height times width."""

    max_bytes: int | None = 1 << 29
    """Maximum size of the decoded pixels or numbers in one cell, in bytes."""

    def __post_init__(self) -> None:
        for name in ("max_pixels", "max_bytes"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 1):
                raise OptionError(
                    f"{name} must be a positive integer or None, but it is {value!r}."
                )

    def check_picture(self, shape: Sequence[int], item: int) -> None:
        """Raise TooLargeError if an image exceeds the limits.

        Parameters
        ----------
        shape : sequence of int
            (h, w) or (h, w, channels).
        item : int
            Bytes per element of an array with this shape.
        """
        if self.max_pixels is not None and math.prod(shape[:2]) > self.max_pixels:
            sides = " x ".join(f"{side:,}" for side in shape[:2])
            raise _too_large(f"{self.max_pixels:,} pixels", sides, "max_pixels")
        self.check_bytes(shape, item)

    def check_bytes(self, shape: Sequence[int], item: int) -> None:
        """Raise TooLargeError if an array, with `item` bytes per element, exceeds the limits."""
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
