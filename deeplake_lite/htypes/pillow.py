"""Access to the pixels of Pillow images and to the files that they were opened from.

An image remembers its file's name, or the stream that it was read from, until its pixels are
loaded. This does not prove that the image still shows that file: it may have been painted on,
rotated in place or moved to another frame, and the file may have been replaced. So the file is
opened again and compared with the image. Headers are compared while neither is loaded, and pixels
afterwards.

Pillow is imported with the first image, since the import takes as long as the rest of this package.
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
"""Name of our codec for each format, by Pillow's name."""

_SINGLE = ("JPEG", "MPO", "BMP")
"""Formats that count as having one image; further images in an MPO are previews or depth maps."""

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
"""Mode that images in rarely stored modes are converted to."""

RECOLOURED = ("CMYK", "YCbCr", "LAB", "HSV", "RGBa", "La")
"""Modes whose conversion cannot be undone: other colour spaces, and premultiplied alpha."""

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

    Loading an image changes it, and one image may be the value of several rows, which different
    threads encode.
    """
    return _LOCKS[id(image) // 64 % len(_LOCKS)]


def untouched_file(image: Image) -> bytes | None:
    """Return the file that an image was opened from, or None if the image may not show it.

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
    """Return the file that an image was opened from, even if the image was edited since.

    None if the file no longer exists or was replaced by an image of another size or mode.
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
    """Convert errors while an image is loaded, when Pillow notices a damaged file, to ours.

    Raises
    ------
    InvalidValueError
        For any error of the format's plugin.
    """
    try:
        yield
    except (LakeError, MemoryError):
        raise
    except Exception as error:
        raise InvalidValueError(
            f"must be a Pillow image that loads, but this {image.format or 'image'} of size "
            f"{image.size} does not: {error}. Fetch its file again, or leave the row out."
        ) from error


def frames_of(image: Image) -> int:
    """Return the number of frames in the file of an image that shows the first one; otherwise 1.

    The TIFF plugin counts pages by seeking to each, which would discard edits to the image, so
    they are counted on a fresh copy.

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
    """Return the pixels of an image, upright. Raises InvalidValueError if it cannot be loaded.

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
        return pixels.astype(np.uint16)  # mode I, in which Pillow holds 16-bit images too
    return pixels.astype(pixels.dtype.newbyteorder("="), copy=False)


def _unpacked_mode(image: Image) -> str:
    """Return the mode of an image's colours: with alpha if one of them is transparent."""
    if "transparency" not in image.info:
        return "RGB"
    return {"1": "LA", "L": "LA", "P": "RGBA", "RGB": "RGBA"}.get(image.mode, image.mode)


def _read_again(image: ImageFile) -> bytes | None:
    """Return the bytes of the stream or file that an image was read from, if it still exists."""
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
    """Return the bytes of a regular file, or None; reading a pipe would block."""
    if not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        return file.read()


def _shows(image: ImageFile, data: bytes) -> bool:
    """Return whether an image still shows the file with these bytes."""
    # An image is opened again in the same way, because Pillow loads turned TIFF files differently
    # from a path: it drops their EXIF orientation without turning the pixels.
    path = image.filename if image.filename and os.path.isfile(image.filename) else None
    with type(image)(path or BytesIO(data)) as fresh:
        # `draft` changes how a JPEG will be decoded, without loading it.
        is_same_decoding = (image.tile, image.decoderconfig) == (fresh.tile, fresh.decoderconfig)
        is_loaded = _has_pixels(image) or not is_same_decoding
        if is_loaded:
            image.load()
            fresh.load()
        if (image.tell(), image.size, image.mode) != (fresh.tell(), fresh.size, fresh.mode):
            return False
        if _palette(image) != _palette(fresh):  # `putpalette` changes it without loading the pixels
            return False
        if is_loaded and image.tobytes() != fresh.tobytes():
            return False
        return _same_metadata(image, fresh)


def _palette(image: ImageFile) -> tuple[str, bytes] | None:
    """Return the palette of an image, which is loaded or not."""
    palette = image.palette
    return None if palette is None else (palette.rawmode or palette.mode, bytes(palette.palette))


def is_turned_tiff(image: Image) -> bool:
    """Return whether an image was opened from a TIFF file with an EXIF orientation.

    Pillow turns such an image while it loads, or loses the orientation, so that only the file shows
    which way is up.
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
    """Return whether the pixels were loaded, and so may have been changed since.

    Calling `load` instead would close the stream, which is needed by the next row with this image.
    """
    return getattr(image, "_im", image) is not None


def _same_metadata(image: ImageFile, fresh: ImageFile) -> bool:
    """Return whether an image still has the metadata of its file.

    Users may add to `info`, but not remove or change entries: without its GPS position, say, the
    image is no longer the file on disk. Adding a transparent colour changes the pixels.
    """
    from PIL.Image import Image

    if "transparency" in image.info and "transparency" not in fresh.info:
        return False
    has_all = all(key in image.info and image.info[key] == v for key, v in fresh.info.items())
    # The base class's method, since that of PNG images loads the pixels.
    exif, fresh_exif = (dict(Image.getexif(i)) for i in (image, fresh))
    return has_all and exif == fresh_exif
