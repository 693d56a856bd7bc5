"""Base class of the codecs that use Pillow.

First, the codec checks that the file is complete. Then, Pillow's plugin for this format reads the
header (``Image.open`` might use another plugin). Finally, decoding loads the pixels, converts them
to the mode and dtype of a `Layout`, and rotates them upright.

==============================  =========================  ===========
In the file                     Pixels                     dtype
==============================  =========================  ===========
1 bit                           (h, w), 0 and 255          uint8
grey, 2 to 8 bits               (h, w)                     uint8
grey, 9 to 16 bits              (h, w)                     uint16
grey, 8 bits, signed            (h, w)                     int8
grey, 32 bits                   (h, w)                     uint32
grey, 16 or 32 bits, signed     (h, w)                     int32
grey, floating point            (h, w)                     float32
grey and alpha                  (h, w, 2)                  uint8
palette                         (h, w, 3)                  uint8
palette with transparency       (h, w, 4)                  uint8
grey, one level transparent     (h, w, 2)                  uint8
RGB, one colour transparent     (h, w, 4)                  uint8
RGB, CMYK, YCbCr, LAB           (h, w, 3)                  uint8
RGB and alpha                   (h, w, 4)                  uint8
==============================  =========================  ===========

Colours with 16 bits are read as 8 bits, because Pillow does not support more, and a transparent
grey level or colour with 16 bits is ignored. Only the first frame of a file is read.
"""

from __future__ import annotations

from abc import abstractmethod
from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, override

import numpy as np
from PIL import ExifTags, Image

from deeplake_lite.codecs._arrays import to_little_endian
from deeplake_lite.codecs._files import (
    as_bytes,
    check_begin,
    check_header,
    check_shape,
    check_size,
    damaged_error,
    incomplete_error,
    unsupported_error,
)
from deeplake_lite.codecs._orientation import upright
from deeplake_lite.codecs.base import Header, ImageCodec, MisfitError, put
from deeplake_lite.codecs.limits import DEFAULT_LIMITS, NO_LIMITS, Limits
from deeplake_lite.errors import InvalidValueError, LakeError, TooLargeError

if TYPE_CHECKING:
    from collections.abc import Buffer, Callable, Iterator

    from numpy.typing import NDArray
    from PIL.ImageFile import ImageFile


class Layout(NamedTuple):
    """The mode, channels and dtype to which pixels with a certain Pillow mode are converted."""

    mode: str
    """Pillow mode to which the pixels are converted."""

    channels: tuple[int, ...] = ()
    """Size of the channel axis, as a tuple with one item, or ``()`` without a channel axis."""

    dtype: str = "uint8"
    """NumPy's name of the dtype."""


_LAYOUTS = {
    "1": Layout("L"),
    "L": Layout("L"),
    "LA": Layout("LA", (2,)),
    "La": Layout("LA", (2,)),
    "P": Layout("RGB", (3,)),
    "PA": Layout("RGBA", (4,)),
    "RGB": Layout("RGB", (3,)),
    "RGBX": Layout("RGB", (3,)),
    "RGBA": Layout("RGBA", (4,)),
    "RGBa": Layout("RGBA", (4,)),
    "CMYK": Layout("RGB", (3,)),
    "YCbCr": Layout("RGB", (3,)),
    "LAB": Layout("RGB", (3,)),
    "I;16": Layout("I;16", (), "uint16"),
    "I;16B": Layout("I;16B", (), "uint16"),
    "I": Layout("I", (), "int32"),
    "F": Layout("F", (), "float32"),
}
CONVERTED = ("CMYK", "YCbCr", "LAB", "HSV")
"""Colour spaces that are converted to RGB, which loses information."""

_TRANSPARENT = Layout("RGBA", (4,))
_CANVAS_PIXEL = 3  # minimum number of bytes per pixel of a canvas (see `_canvas`)


class PillowCodec(ImageCodec):
    """A codec for an image format that Pillow reads and writes."""

    plugin: ClassVar[type[ImageFile]]
    """Pillow's class for files of the format."""

    def _open_error(self, data: bytes, reason: object) -> InvalidValueError:
        """Build the error for a file that Pillow cannot open."""
        return incomplete_error(self, data, reason)

    @override
    def frames(self, data: bytes) -> int:
        with open_image(self, self.plugin, data, damaged_error) as image:
            return int(getattr(image, "n_frames", 1))

    @override
    def colour_space(self, data: bytes) -> str:
        with open_image(self, self.plugin, data, damaged_error) as image:
            return image.mode if image.mode in CONVERTED else ""

    @abstractmethod
    def _check_whole(self, data: bytes) -> None:
        """Raise InvalidValueError if the structure of a file shows that it is truncated."""

    @override
    def probe(self, data: Buffer, limits: Limits = DEFAULT_LIMITS) -> Header:
        data = as_bytes(data)
        check_begin(data, self)
        self._check_whole(data)
        if size := self._canvas(data):
            check_size(self, *size, _CANVAS_PIXEL, limits)
        with open_image(self, self.plugin, data, lambda _, *why: self._open_error(*why)) as image:
            return self._header(image, data, limits)

    @override
    def decode(
        self,
        data: Buffer,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        limits: Limits = NO_LIMITS,
    ) -> NDArray[Any]:
        data = as_bytes(data)
        try:
            return self._decode(data, shape, limits)
        except (InvalidValueError, MisfitError) as error:
            if isinstance(error, TooLargeError) and limits is not NO_LIMITS:
                raise  # the file is fine, and the user can raise the limits
            raise damaged_error(self, data, error) from error

    @override
    def decode_into(self, data: Buffer, shape: tuple[int, ...], out: NDArray[Any]) -> None:
        data = as_bytes(data)
        try:
            put(self._decode(data, out.shape, NO_LIMITS, out.dtype), out)
        except InvalidValueError as error:
            raise damaged_error(self, data, error) from error

    def _decode(
        self,
        data: bytes,
        shape: tuple[int, ...],
        limits: Limits,
        dtype: np.dtype[Any] | None = None,
    ) -> NDArray[Any]:
        """Return the pixels. Raises MisfitError if the header contradicts `shape` or `dtype`."""
        check_begin(data, self)
        self._check_whole(data)
        if size := self._canvas(data):
            check_size(self, *size, _CANVAS_PIXEL, limits)
            # The canvas is not upright yet, so the orientation may swap its sides.
            check_shape(size, shape and (shape[:2] if size == shape[:2] else shape[1::-1]))
        with open_image(self, self.plugin, data, damaged_error) as image:
            check_header(self._header(image, data, limits), shape, dtype)
            return self._read(image, data)

    def _header(self, image: ImageFile, data: bytes, limits: Limits) -> Header:
        """Check an open file against the limits and return its header."""
        layout = self._check_image(image, limits)
        return Header((*self._size(image, data), *layout.channels), layout.dtype)

    def _canvas(self, data: bytes) -> tuple[int, int] | None:  # noqa: ARG002 (WebP needs data)
        """Return the height and width for which Pillow allocates memory when it opens the file.

        Return None if Pillow allocates memory only when it loads the pixels.
        """
        return None

    def _read(self, image: ImageFile, data: bytes) -> NDArray[Any]:
        """Load the pixels of an open file, and return them converted and upright."""
        layout = self._layout(image)
        self._before_load(image, data)
        orientation = self._orientation(image, data)
        image.load()
        self._after_load(image, data)
        converted = image if image.mode == layout.mode else image.convert(layout.mode)
        return upright(np.array(converted).astype(layout.dtype, copy=False), orientation)

    def _check_image(self, image: ImageFile, limits: Limits) -> Layout:
        """Check that an image is supported and not too large, and return its layout."""
        layout = self._layout(image)
        width, height = image.size
        pixel = np.dtype(layout.dtype).itemsize * (*layout.channels, 1)[0]
        check_size(self, height, width, pixel, limits)
        return layout

    def _layout(self, image: ImageFile) -> Layout:
        """Return the layout to which the pixels are converted."""
        layout = _LAYOUTS.get(image.mode)
        if layout is None:
            raise unsupported_error(self, f"has the colour space {image.mode}")
        return _TRANSPARENT if image.mode == "P" and "transparency" in image.info else layout

    def _size(self, image: ImageFile, data: bytes) -> tuple[int, int]:
        """Return the height and width of the upright image."""
        width, height = image.size
        return (width, height) if self._orientation(image, data) >= 5 else (height, width)

    def _before_load(self, image: ImageFile, data: bytes) -> None:
        """Run before Pillow loads the pixels, to allocate memory or for checks that Pillow lacks.

        Subclasses override this method, which does nothing here. It may raise any error.
        """

    def _after_load(self, image: ImageFile, data: bytes) -> None:
        """Run after Pillow has loaded the pixels, to check that the file contained all of them.

        Subclasses override this method, which does nothing here. It may raise any error.
        """

    def _orientation(self, image: ImageFile, data: bytes) -> int:  # noqa: ARG002 (PNG needs data)
        """Return the orientation, 1 to 8, of the pixels that Pillow loads."""
        return as_orientation(image.getexif())


@contextmanager
def open_image(
    codec: ImageCodec,
    plugin: type[ImageFile],
    data: bytes,
    failure: Callable[[ImageCodec, bytes, object], LakeError],
) -> Iterator[ImageFile]:
    """Open a file with a Pillow plugin. If the ``with`` block fails, raise `failure`'s error.

    If the bytes are malformed, plugins raise all kinds of errors (struct.error, KeyError,
    zlib.error, …), so all exceptions are caught.
    """
    try:
        with plugin(BytesIO(data)) as image:
            yield image
    except (LakeError, MisfitError, MemoryError):
        raise
    except Exception as error:
        raise failure(codec, data, str(error) or type(error).__name__) from error


def as_orientation(exif: Image.Exif) -> int:
    """Return the orientation in EXIF metadata, 1 to 8, or 1 if there is none."""
    value = exif.get(ExifTags.Base.Orientation, 1)
    return value if type(value) is int and 1 <= value <= 8 else 1


def save(array: NDArray[Any], format_: str, **options: Any) -> bytes:
    """Encode pixels as an image file with Pillow."""
    file = BytesIO()
    Image.fromarray(to_little_endian(array)).save(file, format_, **options)
    return file.getvalue()
