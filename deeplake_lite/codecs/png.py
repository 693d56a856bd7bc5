"""PNG: lossless images with 8 or 16 bits, and masks.

A file is complete if its chunks end with IEND. Decoding also checks two things that Pillow does not
check: the CRCs of critical chunks, and that the last row is not missing.

Notes
-----
PNG specification, third edition, sections 5 and 11: https://www.w3.org/TR/png-3/.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, override

import numpy as np
from PIL import Image
from PIL.PngImagePlugin import PngImageFile

from deeplake_lite.codecs._arrays import check_choice, check_option, check_pixels
from deeplake_lite.codecs._files import check_size, damaged_error, incomplete_error
from deeplake_lite.codecs._pillow import Layout, PillowCodec, as_orientation, save

if TYPE_CHECKING:
    from collections.abc import Buffer, Iterator

    from numpy.typing import NDArray
    from PIL.ImageFile import ImageFile

_HEADER_END = 33  # 8 bytes of signature, 25 of IHDR
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}  # number of channels of each colour type
_MAX_INFLATION = 1032  # deflate's best ratio: 258 bytes in 2 bits
_METADATA = frozenset({b"eXIf", b"iTXt", b"zTXt"})  # chunks that may contain an orientation
_GREY = 0
_PIECE = 1 << 20  # number of bytes to decompress at a time
_ADAM7 = [
    (0, 0, 8, 8),
    (4, 0, 8, 8),
    (0, 4, 4, 8),
    (2, 0, 4, 4),
    (0, 2, 2, 4),
    (1, 0, 2, 2),
    (0, 1, 1, 2),
]
"""First column, first row, column step and row step of each pass of an interlaced image."""

_STRETCH = {2: 85, 4: 17}  # factor by which Pillow multiplies grey levels of 2 and 4 bits
_INDEXED = {"1": Layout("1"), "P": Layout("P")}
_KEYED = {"L": Layout("LA", (2,)), "RGB": Layout("RGBA", (4,))}
"""A dict from Pillow mode to layout, for images with one transparent colour (chunk tRNS)."""


class _Chunk(NamedTuple):
    """Location of a chunk in the file."""

    kind: bytes
    """Type of the chunk: four letters."""

    start: int
    """Offset of the payload."""

    length: int
    """Length of the payload."""


@dataclass(frozen=True)
class Png(PillowCodec):
    """Lossless images: uint8 grey, grey and alpha, RGB, RGBA; uint16 grey.

    Parameters
    ----------
    indexed : bool
        Whether to return the stored numbers, (h, w), for masks: palette indices instead of colours,
        and 1-, 2- and 4-bit grey levels without stretching them to 255.
    level : int
        Compression level, 0 to 9.

    Examples
    --------
    >>> import numpy as np
    >>> codec = Png()
    >>> data = codec.encode(np.array([[0, 65535]], "uint16"))
    >>> codec.probe(data)
    Header(shape=(1, 2), dtype='uint16')
    >>> codec.decode(data, (1, 2), np.dtype("uint16"))
    array([[    0, 65535]], dtype=uint16)
    """

    indexed: bool = False
    """Whether to return the stored numbers."""

    level: int = 6
    """Compression level, 0 to 9."""

    name: ClassVar[str] = "png"
    magic: ClassVar[tuple[bytes, ...]] = (b"\x89PNG\r\n\x1a\n",)
    plugin: ClassVar[type[ImageFile]] = PngImageFile
    lossless = True

    def __post_init__(self) -> None:
        check_choice(self, "indexed", (False, True))
        check_option(self, "level", 0, 9)

    @override
    def encode(self, array: NDArray[Any]) -> Buffer:
        counts = (1,) if self.indexed else (1, 2, 3, 4)
        check_pixels(
            self,
            array,
            {"uint8": counts, "uint16": (1,)},
            "Convert it, or use a codec for numbers, such as 'zstd'.",
        )
        return save(array, "PNG", compress_level=self.level)

    @override
    def reads_fewer_bits(self, data: bytes) -> bool:
        depth, colours = data[24:26]  # in IHDR, where colours is 0 for grey and 3 for palettes
        return depth == 16 and colours != 0

    @override
    def _check_whole(self, data: bytes) -> None:
        if data[12:16] != b"IHDR" or len(data) < _HEADER_END:
            raise incomplete_error(self, data, "the header IHDR is truncated or missing")
        check_size(self, int.from_bytes(data[20:24]), int.from_bytes(data[16:20]), 0)
        stored = sum(chunk.length for chunk in self._chunks(data) if chunk.kind == b"IDAT")
        if _unpacked_size(data) > stored * _MAX_INFLATION:
            raise incomplete_error(
                self, data, "the IDAT chunks are too small for the header's pixels"
            )

    @override
    def _layout(self, image: ImageFile) -> Layout:
        if self.indexed:
            return _INDEXED.get(image.mode) or super()._layout(image)
        layout = super()._layout(image)
        return _KEYED.get(layout.mode, layout) if _has_transparent_colour(image) else layout

    @override
    def _orientation(self, image: ImageFile, data: bytes) -> int:
        """Return the orientation, without decoding the pixels.

        Pillow would have to decode the pixels to reach metadata that is stored after them.
        Therefore, the metadata is copied to a file with a single pixel, which Pillow reads instead.
        """
        chunks = list(self._chunks(data))
        kinds = [chunk.kind for chunk in chunks]
        after_pixels = kinds[kinds.index(b"IDAT") :] if b"IDAT" in kinds else []
        if not _METADATA.intersection(after_pixels):
            return as_orientation(Image.Image.getexif(image))
        metadata = [
            data[start - 8 : start + length + 4]
            for kind, start, length in chunks
            if kind in _METADATA
        ]
        one_pixel = bytes(self.encode(np.zeros((1, 1), "uint8")))
        parts = [one_pixel[:_HEADER_END], *metadata, one_pixel[_HEADER_END:]]
        with PngImageFile(BytesIO(b"".join(parts))) as tiny:
            return as_orientation(Image.Image.getexif(tiny))

    @override
    def _before_load(self, image: ImageFile, data: bytes) -> None:
        """Check the CRCs, and fill the memory with a colour that missing rows will keep."""
        for kind, start, length in self._chunks(data):
            end = start + length
            critical = not kind[0] & 0x20
            if critical and zlib.crc32(data[start - 4 : end]).to_bytes(4) != data[end : end + 4]:
                raise damaged_error(
                    self, data, f"the CRC of chunk {kind.decode('latin-1')} is wrong"
                )
        bands = len(image.getbands())
        value = _fill_value(image)
        image.im = Image.new(image.mode, image.size, (value,) * bands if bands > 1 else value).im

    @override
    def _after_load(self, image: ImageFile, data: bytes) -> None:
        """Check that the last row is not missing, since Pillow does not complain if it is."""
        width, height = image.size
        extrema = image.crop((0, height - 1, width, height)).getextrema()
        # Inflating the data again is slow, so only do it if the last row may be missing.
        is_suspect = set(np.ravel(extrema).tolist()) == {_fill_value(image)} or _is_interlaced(data)
        if is_suspect and self._inflated_size(data) < _unpacked_size(data):
            raise damaged_error(self, data, "the IDAT chunks end before the last row")

    @override
    def _read(self, image: ImageFile, data: bytes) -> NDArray[Any]:
        bits, color = data[24], data[25]
        if color == _GREY and "transparency" in image.info:  # Pillow does not stretch this level
            image.info["transparency"] *= _STRETCH.get(bits, 1)
        pixels = super()._read(image, data)
        return pixels // _STRETCH.get(bits, 1) if self.indexed and color == _GREY else pixels

    def _inflated_size(self, data: bytes) -> int:
        """Return the number of bytes in the IDAT chunks after inflation."""
        stream, size = zlib.decompressobj(), 0
        for kind, start, length in self._chunks(data):
            packed = data[start : start + length] if kind == b"IDAT" else b""
            while packed:
                size += len(stream.decompress(packed, _PIECE))
                packed = stream.unconsumed_tail
        return size

    def _chunks(self, data: bytes) -> Iterator[_Chunk]:
        """Yield the chunks up to IEND. Raises InvalidValueError if the file ends before IEND."""
        at, kind, size = 8, b"", len(data)
        while kind != b"IEND":
            kind, length = data[at + 4 : at + 8], int.from_bytes(data[at : at + 4])
            if at + 12 + length > size:
                raise incomplete_error(
                    self, data, "the end IEND is missing, so the file is truncated"
                )
            yield _Chunk(kind, at + 8, length)
            at += 12 + length


def _has_transparent_colour(image: ImageFile) -> bool:
    """Return whether one colour of an image with at most 8 bits per channel is transparent.

    For images with 16 bits, Pillow does not say which colour is transparent.
    """
    return "transparency" in image.info and "16" not in str(image.tile[0].args)


def _is_interlaced(data: bytes) -> bool:
    """Return whether the image is interlaced, that is, stored in seven passes."""
    return data[28] == 1


def _unpacked_size(data: bytes) -> int:
    """Return how many bytes the IDAT chunks must inflate to, according to the header."""
    width, height = int.from_bytes(data[16:20]), int.from_bytes(data[20:24])
    bits = data[24] * _CHANNELS.get(data[25], 1)
    passes = _ADAM7 if _is_interlaced(data) else [(0, 0, 1, 1)]
    sizes = (
        (len(range(left, width, right)), len(range(top, height, down)))
        for left, top, right, down in passes
    )
    return sum(rows * (1 + (columns * bits + 7) // 8) for columns, rows in sizes if columns)


def _fill_value(image: ImageFile) -> int:
    """Return a fill value that rarely makes up the whole last row of an image."""
    return 255 if image.mode == "1" else 0xA5
