"""Access to the pixels of Pillow images, and to the files from which they were opened.

An image remembers the name of its file, or its stream, until its pixels are loaded. But the image
may no longer show the content of that file: it may have been painted on, rotated in place or moved
to another frame, and the file may have been replaced. Therefore, the file is opened again and
compared with the image. If the pixels of the image are not loaded, only the headers are compared;
otherwise, the pixels are compared too.

Pillow is imported when the first image is used, since importing it takes as long as importing the
rest of this package.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from io import BytesIO
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.errors import InvalidValueError, LakeError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from typing import IO

    from numpy.typing import NDArray
    from PIL.Image import Image
    from PIL.ImageFile import ImageFile

CODECS = {
    "JPEG": "jpeg",
    "MPO": "jpeg",  # several JPEGs in one file, of which the first is the main image
    "PNG": "png",
    "WEBP": "webp",
    "TIFF": "tiff",
    "BMP": "bmp",
}
"""Maps Pillow's name of each format to the codec of this package."""

_SINGLE = ("JPEG", "MPO", "BMP")
"""Formats that count as having one frame. Further images in an MPO are previews or depth maps."""

_MODES = {
    "1": "L",
    "CMYK": "RGB",
    "YCbCr": "RGB",
    "LAB": "RGB",
    "HSV": "RGB",
    "RGBX": "RGB",
    "PA": "RGBA",
    "RGBa": "RGBA",
    "La": "LA",
}
"""Maps each rare mode to the mode to which its images are converted."""

RECOLOURED = ("CMYK", "YCbCr", "LAB", "HSV", "RGBa", "La")
"""Modes with another colour space or with premultiplied alpha. Converting them loses
information."""

_LOCKS = [RLock() for _ in range(64)]


def is_pillow(value: object) -> bool:
    """Return whether a value is a Pillow image.

    >>> is_pillow(b"")
    False
    """
    from PIL.Image import Image

    return isinstance(value, Image)


def lock_of(image: Image) -> AbstractContextManager[Any]:
    """Return a lock to hold while an image is read.

    Loading an image changes it, and several threads may encode rows with the same image.
    """
    return _LOCKS[id(image) // 64 % len(_LOCKS)]


def untouched_file(image: Image) -> bytes | None:
    """Return the file of an image, or None if the image may have changed since it was opened.

    >>> from PIL import Image
    >>> file = BytesIO()
    >>> Image.new("L", (4, 3)).save(file, "png")
    >>> untouched_file(Image.open(file)) == file.getvalue()
    True
    >>> untouched_file(Image.open(file).rotate(90)) is None
    True
    """
    from PIL.ImageFile import ImageFile

    if not isinstance(image, ImageFile) or image.format not in CODECS:
        return None
    try:
        data = _read_again(image)
        return data if data is not None and _shows(image, data) else None
    except Exception:  # plugins and users' streams may raise anything
        return None


def source_file(image: Image) -> bytes | None:
    """Return the file from which an image was opened, even if the image was edited since then.

    Return None if the file no longer exists, or was replaced by an image of another size or mode.
    """
    from PIL.ImageFile import ImageFile

    if not isinstance(image, ImageFile) or image.format not in CODECS:
        return None
    try:
        data = _read_again(image)
        if data is None:
            return None
        with type(image)(BytesIO(data)) as fresh:
            return data if (image.size, image.mode) == (fresh.size, fresh.mode) else None
    except Exception:  # plugins and users' streams may raise anything
        return None


@contextmanager
def loading(image: Image) -> Iterator[None]:
    """Convert errors that Pillow raises while it loads an image to InvalidValueError.

    Raises
    ------
    InvalidValueError
        For any error in Pillow's plugin.
    """
    try:
        yield
    except (LakeError, MemoryError):
        raise
    except Exception as error:
        raise InvalidValueError(
            f"must be a Pillow image that can be loaded, but this {image.format or 'image'} of "
            f"size {image.size} cannot: {error}. Fetch its file again, or leave the row out."
        ) from error


def frames_of(image: Image) -> int:
    """Return the number of frames in the file of an image, or 1 if the image is a later frame.

    The TIFF plugin counts pages by seeking to each of them, which would discard edits to the image.
    Therefore, the pages are counted in a fresh copy.

    >>> from PIL import Image
    >>> file, page = BytesIO(), Image.new("L", (4, 3))
    >>> page.save(file, "tiff", save_all=True, append_images=[page])
    >>> frames_of(Image.open(file)), frames_of(page)
    (2, 1)
    """
    from PIL.ImageFile import ImageFile

    if not isinstance(image, ImageFile) or image.format in _SINGLE:
        return 1
    try:
        if image.tell() or image.format in ("PNG", "WEBP"):
            return 1 if image.tell() else int(getattr(image, "n_frames", 1))
        data = _read_again(image)
        if data is None:
            return 1
        with type(image)(BytesIO(data)) as fresh:
            return int(getattr(fresh, "n_frames", 1))
    except Exception:  # plugins and users' streams may raise anything
        return 1


def pillow_pixels(image: Image) -> NDArray[Any]:
    """Return the pixels of an image, rotated upright according to its EXIF orientation.

    Raises InvalidValueError if the image cannot be loaded.

    >>> from PIL import Image
    >>> pillow_pixels(Image.new("RGB", (4, 3))).shape
    (3, 4, 3)
    """
    with loading(image):
        return _pixels(image)


def _pixels(image: Image) -> NDArray[Any]:
    from PIL import ImageOps

    upright = ImageOps.exif_transpose(image)
    if upright.mode == "P" or "transparency" in upright.info:
        upright = upright.convert(_unpacked_mode(upright))
    upright = upright.convert(_MODES.get(upright.mode, upright.mode))
    pixels = np.array(upright)
    if pixels.dtype == np.int32 and pixels.min() >= 0 and pixels.max() < 1 << 16:
        return pixels.astype(np.uint16)  # Pillow also uses mode I for 16-bit images
    return pixels.astype(pixels.dtype.newbyteorder("="), copy=False)


def _unpacked_mode(image: Image) -> str:
    """Return the mode to which to convert an image that may have a palette or transparency."""
    if "transparency" not in image.info:
        return "RGB"
    return {"1": "LA", "L": "LA", "P": "RGBA", "RGB": "RGBA"}.get(image.mode, image.mode)


def _read_again(image: ImageFile) -> bytes | None:
    """Return the bytes of the image's stream or file, or None if the file no longer exists."""
    stream = image.fp
    if isinstance(stream, BytesIO):
        return stream.getvalue()
    if stream is not None and not getattr(stream, "closed", False):
        return _read_stream(stream)
    return _read_path(image.filename) if image.filename else None


def _read_stream(stream: IO[bytes]) -> bytes:
    """Return all bytes of a stream without changing its position."""
    position = stream.tell()
    try:
        stream.seek(0)
        return stream.read()
    finally:
        stream.seek(position)


def _read_path(path: Any) -> bytes | None:
    """Return the bytes of a regular file, or None for a pipe, since reading it would block."""
    if not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        return file.read()


def _shows(image: ImageFile, data: bytes) -> bool:
    """Return whether an image still equals the image in a file with the given bytes."""
    # Open the image again in the same way, because Pillow loads rotated TIFF files differently from
    # a path: it drops their EXIF orientation without rotating the pixels.
    path = image.filename if image.filename and os.path.isfile(image.filename) else None
    with type(image)(path or BytesIO(data)) as fresh:
        # `draft` changes how a JPEG will be decoded, but does not load it.
        is_same_decoding = (image.tile, image.decoderconfig) == (fresh.tile, fresh.decoderconfig)
        is_loaded = _has_pixels(image) or not is_same_decoding
        if is_loaded:
            image.load()
            fresh.load()
        if (image.tell(), image.size, image.mode) != (fresh.tell(), fresh.size, fresh.mode):
            return False
        if _palette(image) != _palette(fresh):  # `putpalette` does not load the pixels
            return False
        if is_loaded and image.tobytes() != fresh.tobytes():
            return False
        return _same_metadata(image, fresh)


def _palette(image: ImageFile) -> tuple[str, bytes] | None:
    """Return the mode and bytes of an image's palette, or None, without loading the image."""
    palette = image.palette
    return None if palette is None else (palette.rawmode or palette.mode, bytes(palette.palette))


def is_turned_tiff(image: Image) -> bool:
    """Return whether an image was opened from a TIFF file with an EXIF orientation.

    When Pillow loads such an image, it either rotates the pixels or drops the orientation.
    Therefore, only the file tells which way is up.
    """
    from PIL.ImageFile import ImageFile

    if not isinstance(image, ImageFile) or image.format != "TIFF":
        return False
    try:
        if not _has_pixels(image):
            return _is_turned(image)
        data = _read_again(image)
        if data is None:
            return False
        with type(image)(BytesIO(data)) as fresh:
            return _is_turned(fresh)
    except Exception:  # plugins and users' streams may raise anything
        return False


def _is_turned(image: Image) -> bool:
    return bool(image.getexif().get(_ORIENTATION, 1) != 1)


_ORIENTATION = 0x0112
"""EXIF tag of the orientation."""


def _has_pixels(image: ImageFile) -> bool:
    """Return whether the pixels were loaded, and therefore may have been edited.

    `load` is not called, since it closes the stream, which another row with this image may need.
    """
    return getattr(image, "_im", image) is not None


def _same_metadata(image: ImageFile, fresh: ImageFile) -> bool:
    """Return whether an image still has the metadata of its file.

    Users may add entries to `info`, but not remove or change any. For example, an image whose GPS
    position was removed is no longer equal to the file on disk. Adding a transparent colour changes
    the pixels.
    """
    from PIL.Image import Image

    if "transparency" in image.info and "transparency" not in fresh.info:
        return False
    has_all = all(key in image.info and image.info[key] == v for key, v in fresh.info.items())
    # Call the method of the base class, since the method of PNG images loads the pixels.
    exif, fresh_exif = (dict(Image.getexif(i)) for i in (image, fresh))
    return has_all and exif == fresh_exif
