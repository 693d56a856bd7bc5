"""Checks of image files, and the errors for invalid files, shared by the codecs of all formats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.codecs.base import MisfitError
from deeplake_lite.codecs.limits import NO_LIMITS, Limits
from deeplake_lite.errors import DamagedError, InvalidValueError, TooLargeError

if TYPE_CHECKING:
    from collections.abc import Buffer

    from deeplake_lite.codecs.base import Header, ImageCodec

MAX_BYTES = 1 << 31
"""Maximum size of a decoded image in bytes: 2 GiB, as for all cells. `Limits` cannot raise it.

Pillow's default limit, 179 million pixels, is too low for scans and microscopy. In addition, each
codec rejects files whose headers claim more pixels than the files can contain."""

_WAY_OUT = " Fetch it again."

_KINDS: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\xff\xd8\xff", "a JPEG image"),
    (0, b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (8, b"WEBP", "a WebP image"),
    (0, b"II*\0", "a TIFF image"),
    (0, b"MM\0*", "a TIFF image"),
    (0, b"II+\0", "a TIFF image"),
    (0, b"MM\0+", "a TIFF image"),
    (0, b"BM", "a BMP image"),
    (0, b"GIF8", "a GIF image"),
    (4, b"ftypavif", "an AVIF image"),
    (4, b"ftyphei", "a HEIC image"),
    (4, b"ftypmif1", "a HEIC image"),
    (4, b"ftyp", "an MP4 video"),
    (0, b"\0\0\0\x0cjP  ", "a JPEG 2000 image"),
    (0, b"\xff\x4f\xff\x51", "a JPEG 2000 image"),
    (0, b"\0\0\0\x0cJXL ", "a JPEG XL image"),
    (0, b"\xff\x0a", "a JPEG XL image"),
    (0, b"8BPS", "a Photoshop document"),
    (0, b"v/1\x01", "an OpenEXR image"),
    (0, b"\0\0\1\0", "an icon"),
    (128, b"DICM", "a DICOM file"),
    (0, b"\x93NUMPY", "a NumPy array"),
    (0, b"\x89HDF", "an HDF5 file"),
    (0, b"PK\3\4", "a ZIP archive"),
    (0, b"\x1f\x8b", "a gzip file"),
    (0, b"%PDF", "a PDF document"),
    (0, b"version https://git-lfs", "a Git LFS pointer, whose file was not fetched"),
)
"""For each format: the offset of its signature, the signature, and a description."""


def as_bytes(data: Buffer) -> bytes:
    """Return a buffer as bytes, without copying it if it already is bytes.

    >>> as_bytes(memoryview(b"ab"))
    b'ab'
    """
    return data if type(data) is bytes else bytes(data)


def looks_like(data: Buffer) -> str:
    """Describe a file by its first bytes, for an error message.

    >>> looks_like(b"GIF89a"), looks_like(b"<!DOCTYPE html>"), looks_like(bytes(3))
    ('a GIF image', "text '<!DOCTYPE html>'", 'an unknown format (00 00 00)')
    """
    start = bytes(memoryview(data).cast("B")[:132])
    for at, signature, kind in _KINDS:
        if start[at : at + len(signature)] == signature:
            return kind
    text = start[:24].decode("utf-8", "replace")
    return f"text {text!r}" if text.isprintable() else f"an unknown format ({start[:8].hex(' ')})"


def check_begin(data: Buffer, codec: ImageCodec | None = None) -> None:
    """Check that a file is not empty and, if `codec` is given, that it has the codec's format.

    >>> check_begin(b"")
    Traceback (most recent call last):
        ...
    deeplake_lite.errors.InvalidValueError: must be an image file, but the file is empty (0 bytes).
    Fetch it again, or leave the row out.
    """
    if not memoryview(data).nbytes:
        raise InvalidValueError(
            "must be an image file, but the file is empty (0 bytes). Fetch it again, or leave the "
            "row out."
        )
    if codec is not None and not codec.matches(data):
        raise InvalidValueError(
            f"must be a {codec.name.upper()} file, but its {memoryview(data).nbytes:,} bytes look "
            f"like {looks_like(data)}. Fetch it again, or convert it."
        )


def check_size(
    codec: ImageCodec, height: int, width: int, pixel: int, limits: Limits = NO_LIMITS
) -> None:
    """Check that an image has at least one pixel and does not exceed the limits.

    Parameters
    ----------
    codec : ImageCodec
        Codec of the file.
    height, width : int
        Size in pixels.
    pixel : int
        Size of a decoded pixel, in bytes.
    limits : Limits
        Limits on the decoded size.
    """
    if height <= 0 or width <= 0:
        raise InvalidValueError(
            f"must have pixels, but this {codec.name.upper()} file has {height} x {width} pixels."
            f"{_WAY_OUT}"
        )
    if height * width * pixel > MAX_BYTES:
        raise TooLargeError(
            f"must decode to at most {MAX_BYTES:,} bytes, but this {codec.name.upper()} file has "
            f"{height:,} x {width:,} pixels of {pixel} bytes. Split it into tiles."
        )
    limits.check_picture((height, width), pixel)


def check_shape(header_shape: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """Check that the shape in an image's header is `shape`, as stored in the lake, unless it is ().

    Call this function before you allocate memory for the pixels.

    Raises
    ------
    MisfitError
        If the shapes differ.
    """
    if shape and header_shape != tuple(shape):
        raise MisfitError(f"the header says {header_shape}, but the stored shape is {tuple(shape)}")


def check_header(header: Header, shape: tuple[int, ...], dtype: np.dtype[Any] | None) -> None:
    """Check that an image fits into an array with the given shape and dtype, or raise MisfitError.

    ``()`` allows any shape, and None allows any dtype.
    """
    check_shape(header.shape, shape)
    if dtype is not None and not np.can_cast(header.dtype, dtype):
        raise MisfitError(f"{header.shape} {header.dtype} does not fit into {shape} {dtype}.")


def incomplete_error(codec: ImageCodec, data: bytes, reason: object) -> InvalidValueError:
    """Build the error for an image file that is truncated or whose structure is invalid."""
    return InvalidValueError(
        f"must be a complete {codec.name.upper()} file, but its {len(data):,} bytes are not: "
        f"{reason}.{_WAY_OUT}"
    )


def unsupported_error(codec: ImageCodec, reason: str) -> InvalidValueError:
    """Build the error for a complete file that Pillow cannot read.

    `reason` follows the words "but it" in the message. An example is ``"has 600 scans"``.
    """
    return InvalidValueError(
        f"must be a {codec.name.upper()} file that Pillow can read, but it {reason}. Convert it to "
        "PNG or classic TIFF."
    )


def damaged_error(codec: ImageCodec, data: bytes, reason: object) -> DamagedError:
    """Build the error for a stored file that cannot be decoded."""
    why = reason.finding if isinstance(reason, InvalidValueError) else str(reason).removesuffix(".")
    return DamagedError(
        f"{len(data):,} bytes of {codec.name.upper()} cannot be decoded: {why}. Restore the image "
        "from a backup."
    )
