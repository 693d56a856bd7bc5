"""JPEG, decoded by libjpeg-turbo without holding the GIL.

`probe` walks over the segments up to the first scan to find size, channels and orientation. The
file is complete if an end marker follows. `decode` probes the file, decodes it in the colour space
of the file, converts CMYK to RGB as Pillow does, and rotates the pixels upright.

Notes
-----
ITU-T T.81, annex B, describes the segments.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, override

import numpy as np
import simplejpeg
from PIL import Image
from PIL.JpegImagePlugin import JpegImageFile

from deeplake_lite.codecs._arrays import check_choice, check_option, check_pixels, to_little_endian
from deeplake_lite.codecs._files import (
    as_bytes,
    check_begin,
    check_shape,
    check_size,
    damaged_error,
    incomplete_error,
    unsupported_error,
)
from deeplake_lite.codecs._orientation import read_orientation, upright
from deeplake_lite.codecs._pillow import open_image
from deeplake_lite.codecs.base import Header, ImageCodec, MisfitError, put
from deeplake_lite.codecs.limits import DEFAULT_LIMITS, NO_LIMITS, Limits
from deeplake_lite.errors import InvalidValueError, TooLargeError

if TYPE_CHECKING:
    from collections.abc import Buffer

    from numpy.typing import NDArray

_SCAN, _FILL, _APP1 = 0xDA, 0xFF, 0xE1
_END = b"\xff\xd9"
_HUFFMAN = frozenset({0xC0, 0xC1, 0xC2, 0xC3})  # baseline, extended, progressive, lossless
_ARITHMETIC = frozenset({0xC9, 0xCA})
_HIERARCHICAL = frozenset({0xC5, 0xC6, 0xC7, 0xCB, 0xCD, 0xCE, 0xCF})  # and lossless arithmetic
_PROGRESSIVE = frozenset({0xC2, 0xCA})
_FRAMES = _HUFFMAN | _ARITHMETIC | _HIERARCHICAL

_SCAN_MARKER = b"\xff\xda"
_MAX_SCANS = 500  # a common value of djpeg's -maxscans; encoders write about ten scans

_MAX_SIDE = 65_500  # libjpeg's JPEG_MAX_DIMENSION
_MAX_PIXELS_PER_BYTE = 512  # with a one-bit Huffman code for each block of 8 x 8 pixels
_EXIF = b"Exif\0\0"
_XMP = b"http://ns.adobe.com/xap/1.0/\0"
_COLORS = {1: "GRAY", 3: "RGB", 4: "CMYK"}

_STRAY = re.compile(r"data: (\d|1[0-6]) extraneous bytes before marker 0xd9")
"""libjpeg's warning about padding before the end marker, which does not affect the pixels and
occurs in real data sets. More than a few bytes would mean that the decoder lost track of the bit
stream."""


class _Frame(NamedTuple):
    """Properties of an image from the segments before the first scan."""

    height: int
    width: int
    channels: int
    orientation: int
    scan: int
    """Offset of the first scan."""

    @property
    def nbytes(self) -> int:
        """Size of the decoded pixels in bytes."""
        return self.height * self.width * self.channels

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the upright pixels, after CMYK is converted to RGB."""
        is_turned = self.orientation >= 5
        sides = (self.width, self.height) if is_turned else (self.height, self.width)
        return sides if self.channels == 1 else (*sides, 3)


@dataclass(frozen=True)
class Jpeg(ImageCodec):
    """Photographs with 8 bits per channel, grey or RGB, slightly lossy.

    Parameters
    ----------
    quality : int
        Quality, 1 to 100.
    subsampling : {"444", "422", "420"}
        Chroma subsampling. ``"444"`` stores colour at full resolution.

    Notes
    -----
    CMYK is converted to RGB as in Pillow. Shapes take EXIF orientation into account. Decoding is
    strict: images that libjpeg can only decode in part count as damaged.

    Examples
    --------
    >>> codec = Jpeg(quality=95)
    >>> data = codec.encode(np.full((6, 4, 3), 128, "uint8"))
    >>> codec.probe(data)
    Header(shape=(6, 4, 3), dtype='uint8')
    >>> codec.probe(data[:-1])
    Traceback (most recent call last):
        ...
    deeplake_lite.errors.InvalidValueError: must be a complete JPEG file, but its ... bytes are
    not: the end marker FFD9 is missing, so the file is truncated. Fetch it again.
    """

    quality: int = 90
    """Quality, 1 to 100."""

    subsampling: str = "420"
    """Chroma subsampling. ``"444"`` stores colour at full resolution."""

    name: ClassVar[str] = "jpeg"
    magic: ClassVar[tuple[bytes, ...]] = (b"\xff\xd8\xff",)
    lossless = False

    def __post_init__(self) -> None:
        check_option(self, "quality", 1, 100)
        check_choice(self, "subsampling", ("444", "422", "420"))

    @override
    def encode(self, array: NDArray[Any]) -> Buffer:
        check_pixels(self, array, {"uint8": (1, 3)}, "Convert it, or use PNG for alpha or 16 bits.")
        if max(array.shape[:2]) > _MAX_SIDE:
            raise InvalidValueError(
                f"JPEG allows at most {_MAX_SIDE:,} pixels per side, but the shape is "
                f"{array.shape}. Use PNG."
            )
        pixels = to_little_endian(array)
        color, sampling = ("RGB", self.subsampling) if array.ndim == 3 else ("GRAY", "Gray")
        data: bytes = simplejpeg.encode_jpeg(
            pixels if array.ndim == 3 else pixels[..., np.newaxis], self.quality, color, sampling
        )
        return data

    @override
    def probe(self, data: Buffer, limits: Limits = DEFAULT_LIMITS) -> Header:
        return Header(self._read_frame(as_bytes(data), limits).shape, "uint8")

    @override
    def colour_space(self, data: bytes) -> str:
        color = _COLORS[self._read_frame(data).channels]
        return color if color == "CMYK" else ""

    def orientation(self, data: Buffer) -> int:
        """Return the EXIF orientation of a file, 1 (upright) to 8.

        >>> codec = Jpeg()
        >>> codec.orientation(codec.encode(np.zeros((8, 8), "uint8")))
        1
        """
        return self._read_frame(as_bytes(data)).orientation

    @override
    def decode(
        self,
        data: Buffer,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        limits: Limits = NO_LIMITS,
    ) -> NDArray[Any]:
        file = as_bytes(data)
        try:
            return self._decode_file(file, shape, limits=limits)
        except MisfitError as error:
            raise damaged_error(self, file, error) from error

    @override
    def decode_into(self, data: Buffer, shape: tuple[int, ...], out: NDArray[Any]) -> None:
        pixels = self._decode_file(as_bytes(data), out.shape, out=out)
        if not np.may_share_memory(pixels, out):
            put(pixels, out)

    @override
    def decode_small(
        self,
        data: Buffer,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        side: int,
        *,
        fast: bool = False,
    ) -> NDArray[Any]:
        """Decode an image at the smallest scale from 1/8 to 1 that suffices for a size.

        It suffices if the longer side of the image has at least `side` pixels.

        >>> codec = Jpeg()
        >>> data = codec.encode(np.zeros((480, 640, 3), "uint8"))
        >>> codec.decode_small(data, (480, 640, 3), np.dtype("uint8"), 96).shape
        (120, 160, 3)
        """
        file = as_bytes(data)
        try:
            return self._decode_file(file, shape, side, fast=fast)
        except MisfitError as error:
            raise damaged_error(self, file, error) from error

    def _decode_file(
        self,
        data: bytes,
        shape: tuple[int, ...],
        side: int = 0,
        out: NDArray[Any] | None = None,
        *,
        fast: bool = False,
        limits: Limits = NO_LIMITS,
    ) -> NDArray[Any]:
        """Return the upright pixels.

        Unless `side` is 0, the image is decoded at the smallest scale at which its longer side has
        at least `side` pixels. The pixels are decoded into `out` if possible, otherwise into a new
        array; the caller has to check which array is returned. Raises MisfitError if the header's
        shape differs from `shape`, unless `shape` is ``()``.
        """
        try:
            frame = self._read_frame(data, limits)
        except InvalidValueError as error:
            if isinstance(error, TooLargeError) and limits is not NO_LIMITS:
                raise  # the file is fine, and the user can raise the limits
            raise damaged_error(self, data, error) from error
        check_shape(frame.shape, shape)
        fits = frame.orientation == 1 and out is not None and out.nbytes == frame.nbytes
        options = {"min_width" if frame.width >= frame.height else "min_height": side}
        if fast:
            options |= {"fastdct": True, "fastupsample": True}
        pixels = self._decode_frame(data, frame, options, out if fits else None)
        return pixels if frame.orientation == 1 else upright(pixels, frame.orientation)

    def _read_frame(self, data: bytes, limits: Limits = NO_LIMITS) -> _Frame:
        """Read the segments before the first scan, and check that the file is not truncated."""
        if not data.startswith(self.magic):
            check_begin(data, self)
        at, frame, exif, xmp = 2, 0, b"", b""
        try:
            while (marker := data[at + 1]) != _SCAN or data[at] != 0xFF:
                if data[at] != 0xFF:
                    raise incomplete_error(self, data, f"no segment begins at byte {at:,}")
                if marker == _FILL:
                    at += 1
                    continue
                end = at + 2 + (data[at + 2] << 8 | data[at + 3])
                if marker in _FRAMES:
                    frame = at
                elif marker == _APP1:
                    if not exif and data.startswith(_EXIF, at + 4):
                        exif = data[at + 10 : end]
                    elif data.startswith(_XMP, at + 4):
                        xmp = data[at + 33 : end]
                at = end
        except IndexError:
            raise incomplete_error(self, data, "the file ends before the first scan") from None
        if not frame or data.rfind(_END, at) < 0:
            missing = (
                "end marker FFD9 is missing, so the file is truncated"
                if frame
                else "frame header is missing"
            )
            raise incomplete_error(self, data, f"the {missing}")
        height, width = (
            data[frame + 5] << 8 | data[frame + 6],
            data[frame + 7] << 8 | data[frame + 8],
        )
        channels = data[frame + 9]
        self._check_frame(data, data[frame + 1], data[frame + 4], height, width, channels)
        limits.check_picture((height, width), min(channels, 3))
        if data[frame + 1] in _PROGRESSIVE and (scans := data.count(_SCAN_MARKER, at)) > _MAX_SCANS:
            raise unsupported_error(
                self, f"has {scans:,} scans, each as slow to decode as an image"
            )
        return _Frame(
            height, width, channels, read_orientation(exif, xmp) if exif or xmp else 1, at
        )

    def _check_frame(
        self, data: bytes, process: int, bits: int, height: int, width: int, channels: int
    ) -> None:
        """Check that libjpeg can decode an image, and that the file is large enough for it."""
        if bits != 8 or channels not in _COLORS or process in _HIERARCHICAL:
            raise unsupported_error(
                self, f"has {channels} channels, {bits} bits and process SOF{process - 0xC0}"
            )
        if height > _MAX_SIDE or width > _MAX_SIDE:
            raise unsupported_error(
                self, f"has {height:,} x {width:,} pixels, more than {_MAX_SIDE:,} per side"
            )
        check_size(self, height, width, channels)
        if height * width > _MAX_PIXELS_PER_BYTE * len(data) and process in _HUFFMAN:
            raise incomplete_error(
                self, data, f"they are too few for the header's {height:,} x {width:,} pixels"
            )

    def _decode_frame(
        self, data: bytes, frame: _Frame, options: dict[str, int], out: NDArray[Any] | None
    ) -> NDArray[Any]:
        """Return the pixels before rotation, with CMYK converted to RGB."""
        color = _COLORS[frame.channels]
        try:
            pixels = _decode(data, color, frame.scan, options, None if color == "CMYK" else out)
        except ValueError as error:
            if "subsampling" not in str(error):
                raise damaged_error(self, data, error) from error
            return self._decode_with_pillow(data)
        if color == "CMYK":
            inks = (255 - pixels).tobytes()  # Adobe inverts inks, and so does Pillow
            height, width = pixels.shape[:2]
            return np.array(Image.frombytes("CMYK", (width, height), inks).convert("RGB"))
        return pixels[..., 0] if color == "GRAY" else pixels

    def _decode_with_pillow(self, data: bytes) -> NDArray[Any]:
        """Decode a file with a chroma subsampling that simplejpeg does not support."""
        with open_image(self, JpegImageFile, data, damaged_error) as image:
            image.load()
            return np.array(image if image.mode == "L" else image.convert("RGB"))


def _decode(
    data: bytes, color: str, scan: int, options: dict[str, int], out: NDArray[Any] | None
) -> NDArray[np.uint8]:
    """Decode pixels. Raises ValueError if libjpeg warns about damage that affects pixels."""
    try:
        pixels: NDArray[np.uint8] = simplejpeg.decode_jpeg(data, color, buffer=out, **options)
    except ValueError as error:
        strict = "Invalid SOS parameters" in str(error)
        if strict:
            data = _fix_scan_header(data, scan)
        elif not _STRAY.search(str(error)):
            raise
        # Without `strict`, libjpeg's warnings are ignored. Here, the only warning is about padding.
        pixels = simplejpeg.decode_jpeg(data, color, buffer=out, strict=strict, **options)
    return pixels


def _fix_scan_header(data: bytes, scan: int) -> bytes:
    """Return the file with the standard Ss, Se, Ah and Al in the header of its first scan.

    Sequential scans do not use these parameters, and some cameras set all of them to zero.
    """
    start = scan + 5 + 2 * data[scan + 4]
    return data[:start] + bytes([0, 63, 0]) + data[start + 3 :]
