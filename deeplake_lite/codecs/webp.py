"""WebP: small files, lossy or lossless, RGB and RGBA.

A file is complete if it has as many bytes as its RIFF header says.

Notes
-----
WebP container specification: https://developers.google.com/speed/webp/docs/riff_container.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, override

from PIL.WebPImagePlugin import WebPImageFile

from deeplake_lite.codecs._arrays import check_choice, check_option, check_pixels
from deeplake_lite.codecs._files import incomplete_error
from deeplake_lite.codecs._pillow import PillowCodec, save
from deeplake_lite.errors import InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Buffer

    from numpy.typing import NDArray
    from PIL.ImageFile import ImageFile

_MAX_SIDE = 16_383
_SIDE = 0x3FFF  # bit mask of a 14-bit side length
_HEADER_END = 30  # 12 bytes of RIFF header, and 18 of the first chunk


@dataclass(frozen=True)
class Webp(PillowCodec):
    """Small image files, uint8 RGB or RGBA, but not grey.

    Parameters
    ----------
    quality : int
        Quality, 0 to 100. With `lossless`, the effort spent on making the file smaller.
    lossless : bool
        Whether to preserve every pixel, including the colours of transparent pixels.

    Examples
    --------
    >>> import numpy as np
    >>> codec = Webp(lossless=True)
    >>> data = codec.encode(np.full((2, 3, 4), 7, "uint8"))
    >>> codec.probe(data)
    Header(shape=(2, 3, 4), dtype='uint8')
    >>> codec.encode(np.zeros((2, 3), "uint8"))
    Traceback (most recent call last):
        ...
    deeplake_lite.errors.InvalidValueError: WEBP stores uint8 of shape (h, w, 3) or (h, w, 4), but
    the array is uint8 of shape (2, 3). Repeat grey three times with np.stack([x] * 3, -1), or use
    PNG.
    """

    quality: int = 90
    """Quality, 0 to 100."""

    lossless: bool = False
    """Whether to preserve every pixel."""

    name: ClassVar[str] = "webp"
    magic: ClassVar[tuple[bytes, ...]] = (b"RIFF",)
    plugin: ClassVar[type[ImageFile]] = WebPImageFile

    def __post_init__(self) -> None:
        check_option(self, "quality", 0, 100)
        check_choice(self, "lossless", (False, True))

    @override
    def encode(self, array: NDArray[Any]) -> Buffer:
        way_out = "Repeat grey three times with np.stack([x] * 3, -1), or use PNG."
        check_pixels(self, array, {"uint8": (3, 4)}, way_out)
        if max(array.shape[:2]) > _MAX_SIDE:
            raise InvalidValueError(
                f"WEBP allows at most {_MAX_SIDE:,} pixels per side, but the shape is "
                f"{array.shape}. Use PNG."
            )
        return save(
            array, "WEBP", quality=self.quality, lossless=self.lossless, exact=self.lossless
        )

    @override
    def matches(self, data: Buffer) -> bool:
        start = bytes(memoryview(data)[:12])
        return start.startswith(self.magic) and start[8:] == b"WEBP"

    @override
    def _canvas(self, data: bytes) -> tuple[int, int]:
        match data[12:16]:
            case b"VP8X":
                sides = (data[24:27], data[27:30])
                width, height = (int.from_bytes(side, "little") + 1 for side in sides)
            case b"VP8L":
                bits = int.from_bytes(data[21:25], "little")
                width, height = (bits & _SIDE) + 1, (bits >> 14 & _SIDE) + 1
            case b"VP8 ":
                sides = (data[26:28], data[28:30])
                width, height = (int.from_bytes(side, "little") & _SIDE for side in sides)
            case kind:
                raise incomplete_error(self, data, f"it begins with a chunk {kind!r}")
        if len(data) < _HEADER_END:
            raise incomplete_error(self, data, "it ends within its header")
        return height, width

    @override
    def _check_whole(self, data: bytes) -> None:
        size = 8 + int.from_bytes(data[4:8], "little")
        if size > len(data):
            raise incomplete_error(
                self, data, f"the header says {size:,} bytes, so the file is truncated"
            )
