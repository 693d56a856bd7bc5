"""What picture files of all formats share: how they begin, their size, what is said of bad ones."""

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
"""Most bytes that one picture may take once decoded, whatever the limits: 2 GiB, as for any cell.

Pillow stops at 179 million pixels by default, which is too few for scans and microscopy. A file of
a few kilobytes that claims more pixels than such a file can hold is refused by its codec
besides."""

_WAY_OUT = " Fetch it again."

_KINDS: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\xff\xd8\xff", "a JPEG picture"),
    (0, b"\x89PNG\r\n\x1a\n", "a PNG picture"),
    (8, b"WEBP", "a WebP picture"),
    (0, b"II*\0", "a TIFF picture"),
    (0, b"MM\0*", "a TIFF picture"),
    (0, b"II+\0", "a TIFF picture"),
    (0, b"MM\0+", "a TIFF picture"),
    (0, b"BM", "a BMP picture"),
    (0, b"GIF8", "a GIF picture"),
    (4, b"ftypavif", "an AVIF picture"),
    (4, b"ftyphei", "a HEIC picture"),
    (4, b"ftypmif1", "a HEIC picture"),
    (4, b"ftyp", "an MP4 video"),
    (0, b"\0\0\0\x0cjP  ", "a JPEG 2000 picture"),
    (0, b"\xff\x4f\xff\x51", "a JPEG 2000 picture"),
    (0, b"\0\0\0\x0cJXL ", "a JPEG XL picture"),
    (0, b"\xff\x0a", "a JPEG XL picture"),
    (0, b"8BPS", "a Photoshop document"),
    (0, b"v/1\x01", "an OpenEXR picture"),
    (0, b"\0\0\1\0", "an icon"),
    (128, b"DICM", "a DICOM file"),
    (0, b"\x93NUMPY", "a NumPy array"),
    (0, b"\x89HDF", "an HDF5 file"),
    (0, b"PK\3\4", "a ZIP archive"),
    (0, b"\x1f\x8b", "a gzip file"),
    (0, b"%PDF", "a PDF document"),
    (0, b"version https://git-lfs", "a Git LFS pointer, whose file was not fetched"),
)
"""Where a format's signature stands, the signature, and what to call such a file."""


def as_bytes(data: Buffer) -> bytes:
    """Return a buffer as bytes, without a copy where it is bytes.

    >>> as_bytes(memoryview(b"ab"))
    b'ab'
    """
    return data if type(data) is bytes else bytes(data)


def looks_like(data: Buffer) -> str:
    """Say what the first bytes look like.

    >>> looks_like(b"GIF89a"), looks_like(b"<!DOCTYPE html>"), looks_like(bytes(3))
    ('a GIF picture', "text '<!DOCTYPE html>'", 'nothing known (00 00 00)')
    """
    start = bytes(memoryview(data).cast("B")[:132])
    for at, signature, kind in _KINDS:
        if start[at : at + len(signature)] == signature:
            return kind
    text = start[:24].decode("utf-8", "replace")
    return f"text {text!r}" if text.isprintable() else f"nothing known ({start[:8].hex(' ')})"


def check_begin(data: Buffer, codec: ImageCodec | None = None) -> None:
    """Refuse a file that is empty, or is not of the codec's format.

    >>> check_begin(b"")
    Traceback (most recent call last):
        ...
    deeplake_lite.errors.InvalidValueError: must be a picture file, got 0 bytes: the file is
    empty. Fetch it again, or leave the row out.
    """
    if not memoryview(data).nbytes:
        raise InvalidValueError(
            "must be a picture file, got 0 bytes: the file is empty. "
            "Fetch it again, or leave the row out."
        )
    if codec is not None and not codec.matches(data):
        raise InvalidValueError(
            f"must be a {codec.name.upper()} file, got {memoryview(data).nbytes:,} bytes that look "
            f"like {looks_like(data)}. Fetch it again, or convert it."
        )


def check_size(
    codec: ImageCodec, height: int, width: int, pixel: int, limits: Limits = NO_LIMITS
) -> None:
    """Refuse a picture of no pixels, or of too many.

    Parameters
    ----------
    codec : ImageCodec
        Whose file it is.
    height, width : int
        Pixels.
    pixel : int
        Bytes that one pixel takes once decoded.
    limits : Limits
        How large it may be.
    """
    if height <= 0 or width <= 0:
        raise InvalidValueError(
            f"must have pixels, got a {codec.name.upper()} file of {height} x {width}.{_WAY_OUT}"
        )
    if height * width * pixel > MAX_BYTES:
        raise TooLargeError(
            f"must take up to {MAX_BYTES:,} bytes once decoded, got a {codec.name.upper()} file of "
            f"{height:,} x {width:,} pixels of {pixel} bytes. Cut it into tiles."
        )
    limits.check_picture((height, width), pixel)


def check_shape(found: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """Refuse a picture that its header describes otherwise than the lake; `()` for any shape.

    Raises
    ------
    MisfitError
        Before any memory is set aside.
    """
    if shape and found != tuple(shape):
        raise MisfitError(f"the header says {found}, but {tuple(shape)} was recorded")


def check_header(header: Header, shape: tuple[int, ...], dtype: np.dtype[Any] | None) -> None:
    """Refuse a picture that does not go into an array of a shape and dtype. Raises MisfitError."""
    check_shape(header.shape, shape)
    if dtype is not None and not np.can_cast(header.dtype, dtype):
        raise MisfitError(f"{header.shape} {header.dtype} does not go where {shape} {dtype} does.")


def not_whole(codec: ImageCodec, data: bytes, reason: object) -> InvalidValueError:
    """Return the error for a file whose structure is broken."""
    return InvalidValueError(
        f"must be a whole {codec.name.upper()} file, got {len(data):,} bytes: {reason}.{_WAY_OUT}"
    )


def unsupported(codec: ImageCodec, reason: str) -> InvalidValueError:
    """Return the error for a file that is whole but of a kind that nothing here reads."""
    return InvalidValueError(
        f"must be a {codec.name.upper()} file that Pillow reads, got one {reason}. "
        f"Convert it to PNG or TIFF."
    )


def damaged(codec: ImageCodec, data: bytes, reason: object) -> DamagedError:
    """Return the error for a file that does not decode."""
    why = reason.finding if isinstance(reason, InvalidValueError) else str(reason).removesuffix(".")
    return DamagedError(
        f"{len(data):,} bytes of {codec.name.upper()} do not decode: {why}. Restore the picture."
    )
