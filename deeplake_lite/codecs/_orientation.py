"""Read the orientation of images from their metadata, and rotate pixels upright.

As in Pillow's ``ImageOps.exif_transpose``, the orientation is read from EXIF tag 0x0112 of the
first directory or, if that is missing, from ``tiff:Orientation`` in XMP.

Notes
-----
CIPA DC-008 (Exif 2.32), 4.6.4 A, "Orientation".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ORIENTATION = 0x0112
_LONG = 4  # TIFF type LONG, with four bytes; the tag should be SHORT, with two bytes
_XMP = re.compile(rb'tiff:Orientation(?:="|>)([0-9])')
_ORDERS: dict[bytes, Literal["little", "big"]] = {b"II": "little", b"MM": "big"}


def read_orientation(exif: bytes, xmp: bytes = b"") -> int:
    """Return the orientation that metadata specifies, 1 to 8, or 1 (upright) if there is none.

    Parameters
    ----------
    exif : bytes
        EXIF block, starting with its TIFF header.
    xmp : bytes
        XMP packet.

    Examples
    --------
    >>> read_orientation(bytes.fromhex("4d4d002a00000008" "0001" "0112000300000001" "0006" "0000"))
    6
    >>> read_orientation(b"", b'<rdf:Description tiff:Orientation="3">')
    3
    """
    value = _from_exif(exif)
    if value is None and (match := _XMP.search(xmp)):
        value = int(match[1])
    return value if value and value <= 8 else 1


def upright(pixels: NDArray[Any], orientation: int) -> NDArray[Any]:
    """Rotate or mirror pixels so that they are upright.

    Parameters
    ----------
    pixels : ndarray, (h, w) or (h, w, channels)
        Pixels as the file stores them.
    orientation : int
        1 to 8. For 5 to 8, height and width are swapped.

    Examples
    --------
    >>> upright(np.array([[1, 2, 3], [4, 5, 6]]), 6)
    array([[4, 1],
           [5, 2],
           [6, 3]])
    """
    if orientation >= 5:
        pixels = pixels.swapaxes(0, 1)
    if orientation in (3, 4, 7, 8):
        pixels = pixels[::-1]
    if orientation in (2, 3, 6, 7):
        pixels = pixels[:, ::-1]
    return np.ascontiguousarray(pixels)


def _from_exif(block: bytes) -> int | None:
    """Return the value of the orientation tag in an EXIF block, or None if there is no such tag.

    The value may be invalid.
    """
    order = _ORDERS.get(block[:2])
    if order is None:
        return None
    start = int.from_bytes(block[4:8], order)
    count = int.from_bytes(block[start : start + 2], order)
    for entry in range(start + 2, min(start + 2 + 12 * count, len(block)), 12):
        if int.from_bytes(block[entry : entry + 2], order) == _ORIENTATION:
            size = 4 if int.from_bytes(block[entry + 2 : entry + 4], order) == _LONG else 2
            return int.from_bytes(block[entry + 8 : entry + 8 + size], order)
    return None
