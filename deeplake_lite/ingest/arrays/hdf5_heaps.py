"""Checks of the heaps of an HDF5 file, which store strings and lists of variable length.

If a damaged heap has an object of size zero, the HDF5 library (1.14) loops forever. Therefore, the
heaps are checked before the first value of variable length is read. Their bytes are::

    header    "GCOL", version (1 byte), 3 zeros, size of the heap
    objects   number (2 bytes), references (2), 4 zeros, size, and the content of the object

An object with the number 0 is free space, whose size includes its header. Headers and contents are
padded to a multiple of 8 bytes.
"""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING

from deeplake_lite.errors import InvalidValueError

if TYPE_CHECKING:
    from pathlib import Path

_START = b"GCOL\1\0\0\0"


def check_heaps(path: Path, length: int) -> None:
    """Check all heaps of a file.

    Parameters
    ----------
    path : Path
        The file.
    length : int
        Number of bytes that the file uses to store a size.

    Raises
    ------
    InvalidValueError
        If the size of an object in a heap is impossible.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        at = data.find(_START)
        while at >= 0:
            end = at + int.from_bytes(data[at + 8 : at + 8 + length], "little")
            if end <= len(data):  # the library itself rejects larger heaps
                _check_objects(path.name, data, at + _pad(8 + length), end, length)
            at = data.find(_START, at + 8)


def _check_objects(name: str, data: mmap.mmap, at: int, end: int, length: int) -> None:
    """Check the objects of a heap, from offset `at` up to `end`.

    Raises InvalidValueError if an object has an impossible size.
    """
    head = _pad(8 + length)
    while at + head <= end:
        size = int.from_bytes(data[at + 8 : at + 8 + length], "little")
        is_free = data[at : at + 2] == b"\0\0"
        step = size if is_free else head + _pad(size)
        if step < head or at + step > end:
            raise InvalidValueError(
                f"{name!r} cannot be read, because a heap of strings is damaged at byte {at:,}. "
                "Fetch the file again."
            )
        at += step


def _pad(size: int) -> int:
    """Return a size rounded up to a multiple of 8.

    >>> _pad(9), _pad(16)
    (16, 16)
    """
    return (size + 7) // 8 * 8
