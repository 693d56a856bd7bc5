"""TIFF: lossless images with 8, 16 or 32 bits, as used in science and print.

A file is complete if it contains all directories, all of their values, and all strips or tiles to
which the directories point, and if there are enough strips or tiles for the image.

Notes
-----
TIFF revision 6.0, sections 2, 3 and 15; BigTIFF: http://bigtiff.org.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, override

from PIL import Image
from PIL.TiffImagePlugin import TiffImageFile

from deeplake_lite.codecs._arrays import check_choice, check_pixels
from deeplake_lite.codecs._files import incomplete_error, unsupported_error
from deeplake_lite.codecs._ifd import check_whole
from deeplake_lite.codecs._pillow import Layout, PillowCodec, as_orientation, open_image, save
from deeplake_lite.errors import InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Buffer, Mapping

    from numpy.typing import NDArray
    from PIL.ImageFile import ImageFile

_BITS_PER_SAMPLE, _PHOTOMETRIC, _SAMPLE_FORMAT = 0x0102, 0x0106, 0x0153
_UNSIGNED, _SIGNED = 1, 2
_WHITE_IS_ZERO = 0
_UNKNOWN_PIXELS = ("unknown pixel mode", "string index out of range")
"""Pillow's messages about unsupported kinds of pixels."""

_ORIENTATION = 0x0112
_BIG_BIG_ENDIAN = b"MM\0+"  # big-endian BigTIFF, which Pillow 13 reads as a classic TIFF
_COMPRESSIONS = {
    "none": "raw",
    "deflate": "tiff_adobe_deflate",
    "lzw": "tiff_lzw",
}
"""A dict from the name of a compression in this package to its name in Pillow."""


@dataclass(frozen=True)
class Tiff(PillowCodec):
    """Lossless images: uint8 grey, grey and alpha, RGB, RGBA; uint16, int32 and float32 grey.

    Parameters
    ----------
    compression : {"deflate", "lzw", "none"}
        Compression of encoded pixels. Existing files may use any compression that libtiff supports.

    Examples
    --------
    >>> import numpy as np
    >>> codec = Tiff()
    >>> data = codec.encode(np.array([[0.5, -1.5]], "float32"))
    >>> codec.probe(data)
    Header(shape=(1, 2), dtype='float32')
    >>> codec.decode(data, (1, 2), np.dtype("float32"))
    array([[ 0.5, -1.5]], dtype=float32)
    """

    compression: str = "deflate"
    """Compression of encoded pixels."""

    name: ClassVar[str] = "tiff"
    magic: ClassVar[tuple[bytes, ...]] = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
    plugin: ClassVar[type[ImageFile]] = TiffImageFile
    lossless = True

    def __post_init__(self) -> None:
        check_choice(self, "compression", tuple(_COMPRESSIONS))

    @override
    def encode(self, array: NDArray[Any]) -> Buffer:
        allowed = {"uint8": (1, 2, 3, 4), "uint16": (1,), "int32": (1,), "float32": (1,)}
        check_pixels(
            self, array, allowed, "Convert it, or use a codec for numbers, such as 'zstd'."
        )
        return save(array, "TIFF", compression=_COMPRESSIONS[self.compression])

    @override
    def _open_error(self, data: bytes, reason: object) -> InvalidValueError:
        if str(reason) not in _UNKNOWN_PIXELS:
            return super()._open_error(data, reason)
        return InvalidValueError(
            "must be a TIFF file that Pillow can read, but Pillow does not support its number of "
            "channels or its dtype. Append its pixels as an array to a column of type dl.Array."
        )

    @override
    def _layout(self, image: ImageFile) -> Layout:
        tags = _tags(image)
        bits, kind = (tags.get(tag, (1,)) for tag in (_BITS_PER_SAMPLE, _SAMPLE_FORMAT))
        if (image.mode, bits, kind) == ("I", (32,), (_UNSIGNED,)):
            return Layout("I", (), "uint32")
        if (image.mode, bits, kind) == ("L", (8,), (_SIGNED,)):
            return Layout("L", (), "int8")
        return super()._layout(image)

    @override
    def keeps_numbers(self, data: bytes) -> bool:
        with open_image(self, self.plugin, data, incomplete_error) as image:
            tags = _tags(image)
            bits, meaning = tags.get(_BITS_PER_SAMPLE, (1,)), tags.get(_PHOTOMETRIC)
            return min(bits) >= 8 and meaning != _WHITE_IS_ZERO

    @override
    def reads_fewer_bits(self, data: bytes) -> bool:
        with open_image(self, self.plugin, data, incomplete_error) as image:
            tags = _tags(image)
            bits = tags.get(_BITS_PER_SAMPLE, (1,))
            return len(bits) > 1 and max(bits) > 8

    @override
    def _check_whole(self, data: bytes) -> None:
        if data.startswith(_BIG_BIG_ENDIAN):
            raise unsupported_error(self, "is in big-endian BigTIFF format")
        try:
            check_whole(data)
        except ValueError as error:
            raise incomplete_error(self, data, error) from None

    @override
    def _size(self, image: ImageFile, data: bytes) -> tuple[int, int]:
        """Return the height and width of the upright image.

        `image.size` already follows TIFF's orientation tag, but not an orientation in XMP.
        """
        width, height = image.size
        is_turned = as_orientation(image.getexif()) >= 5 and _ORIENTATION not in _tags(image)
        return (width, height) if is_turned else (height, width)

    @override
    def _orientation(self, image: ImageFile, data: bytes) -> int:
        """Return 1, since Pillow itself rotates the pixels of TIFF files upright."""
        return 1

    @override
    def _before_load(self, image: ImageFile, data: bytes) -> None:
        """Allocate memory, since Pillow refuses to do so for more than 179 million pixels."""
        image.im = Image.new(image.mode, getattr(image, "_tile_size", image.size)).im


def _tags(image: ImageFile) -> Mapping[int, Any]:
    """Return a dict from tag number to value, for the first directory of a file."""
    return image.tag_v2 if isinstance(image, TiffImageFile) else {}
