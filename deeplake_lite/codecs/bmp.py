"""BMP: uncompressed pixels, grey and RGB.

A file is complete if it contains as many pixels as its header says. Many programs write a wrong
file size into the header, so the file size is used only if the pixels are compressed and the header
does not say how many bytes they take.

Notes
-----
Microsoft, "Bitmap Storage": https://learn.microsoft.com/windows/win32/gdi/bitmap-storage.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, override

from PIL.BmpImagePlugin import BmpImageFile

from deeplake_lite.codecs._arrays import check_pixels
from deeplake_lite.codecs._files import incomplete_error
from deeplake_lite.codecs._pillow import PillowCodec, save

if TYPE_CHECKING:
    from collections.abc import Buffer

    from numpy.typing import NDArray
    from PIL.ImageFile import ImageFile

_CORE_HEADER = 12  # size in bytes of OS/2's header, with 16-bit width and height
_RUN_LENGTH = (1, 2)


@dataclass(frozen=True)
class Bmp(PillowCodec):
    """Uncompressed pixels: uint8 grey or RGB.

    Examples
    --------
    >>> import numpy as np
    >>> codec = Bmp()
    >>> data = codec.encode(np.arange(6, dtype="uint8").reshape(2, 3))
    >>> codec.decode(data, (2, 3), np.dtype("uint8"))
    array([[0, 1, 2],
           [3, 4, 5]], dtype=uint8)
    """

    name: ClassVar[str] = "bmp"
    magic: ClassVar[tuple[bytes, ...]] = (b"BM",)
    plugin: ClassVar[type[ImageFile]] = BmpImageFile
    lossless = True

    @override
    def encode(self, array: NDArray[Any]) -> Buffer:
        check_pixels(self, array, {"uint8": (1, 3)}, "Convert it, or use PNG.")
        return save(array, "BMP")

    @override
    def keeps_numbers(self, data: bytes) -> bool:
        at = 24 if int.from_bytes(data[14:18], "little") == _CORE_HEADER else 28
        return int.from_bytes(data[at : at + 2], "little") != 1  # 1 bit is read as 0 and 255

    @override
    def _check_whole(self, data: bytes) -> None:
        end = _end_of_pixels(data)
        if end > len(data):
            raise incomplete_error(
                self, data, f"its pixels end at byte {end:,}, so the file is truncated"
            )


def _end_of_pixels(data: bytes) -> int:
    """Return the offset at which the pixels end, according to the header."""
    if len(data) < 18:
        return 18
    file_size, start, header = _read_number(data, 2), _read_number(data, 10), _read_number(data, 14)
    if len(data) < 14 + header:
        return 14 + header
    if header == _CORE_HEADER:
        width, height, bits = (
            _read_number(data, 18, 2),
            _read_number(data, 20, 2),
            _read_number(data, 24, 2),
        )
        return start + _row_size(width, bits) * height
    if header < 40:
        return start
    width, height = (
        abs(_read_number(data, 18, signed=True)),
        abs(_read_number(data, 22, signed=True)),
    )
    if _read_number(data, 30) in _RUN_LENGTH:
        packed = _read_number(data, 34)
        return start + packed if packed else file_size
    return start + _row_size(width, _read_number(data, 28, 2)) * height


def _row_size(width: int, bits: int) -> int:
    """Return the number of bytes in a row, padded to a multiple of four."""
    return (width * bits + 31) // 32 * 4


def _read_number(data: bytes, at: int, size: int = 4, *, signed: bool = False) -> int:
    """Read a little-endian integer of `size` bytes at offset `at`."""
    return int.from_bytes(data[at : at + size], "little", signed=signed)
