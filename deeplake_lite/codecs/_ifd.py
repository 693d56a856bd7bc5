"""A check that a TIFF file contains everything that its directories (IFDs) point to.

For each directory, `check_whole` checks that the file contains the values of all entries and all
listed strips or tiles of pixels, and that the strips or tiles cover the image. Then it does the
same for the further directories that the directory points to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_WIDTH, _HEIGHT, _SAMPLES, _ROWS_PER_STRIP, _PLANAR = 256, 257, 277, 278, 284
_STRIPS, _STRIP_SIZES = 273, 279
_TILE_WIDTH, _TILE_HEIGHT, _TILES, _TILE_SIZES = 322, 323, 324, 325
_SUB_PAGES = 330
_METADATA = (34665, 34853)  # EXIF, GPS

_LARGEST_TILE = 1 << 22
"""Number of pixels that a tile may always have, even if the image is much smaller than the tile.
Small images in one tile of 2,048 x 2,048 pixels are common."""

_SIZES = {
    1: 1,
    2: 1,
    3: 2,
    4: 4,
    5: 8,
    6: 1,
    7: 1,
    8: 2,
    9: 4,
    10: 8,
    11: 4,
    12: 8,
    13: 4,
    16: 8,
    17: 8,
    18: 8,
}
"""A dict from the number of a TIFF type to the size of its values in bytes."""

_INTEGERS = {1: "u1", 3: "u2", 4: "u4", 13: "u4", 16: "u8", 18: "u8"}
"""A dict from the number of an unsigned integer type of TIFF to its NumPy dtype."""


class _Entry(NamedTuple):
    """One field of a directory: the type, number and place of its values."""

    kind: int
    """TIFF type of the values."""

    length: int
    """Number of values."""

    start: int
    """Offset of the values in the file."""


@dataclass(frozen=True)
class _Directory:
    """A directory, which describes a page of the file or holds metadata."""

    entries: dict[int, _Entry]
    """A dict from tag number to entry."""

    following: int
    """Offset of the directory of the next page, or 0."""


@dataclass(frozen=True)
class _File:
    """The bytes of a TIFF file, with methods that read its directories."""

    data: bytes
    order: Literal["little", "big"]
    """Byte order."""

    big: bool
    """Whether the file is a BigTIFF, which has 8-byte offsets."""

    def number(self, at: int, size: int) -> int:
        """Read an unsigned integer of `size` bytes at offset `at`."""
        self.need(at, size, "a directory")
        return int.from_bytes(self.data[at : at + size], self.order)

    def need(self, at: int, size: int, part: str) -> None:
        """Raise ValueError if the file ends before offset `at + size`, the end of `part`."""
        if at + size > len(self.data):
            raise ValueError(f"{part} ends at byte {at + size:,}, so the file is truncated")

    def directory(self, at: int) -> _Directory:
        """Read the directory at offset `at`, and check that the file contains all its values."""
        word = 8 if self.big else 4
        head, step = (8, 20) if self.big else (2, 12)
        count = self.number(at, head)
        end = at + head + count * step
        self.need(end, word, "a directory")
        entries = dict(self.entry(offset, word) for offset in range(at + head, end, step))
        return _Directory(entries, self.number(end, word))

    def entry(self, at: int, word: int) -> tuple[int, _Entry]:
        """Return the tag number and the entry at offset `at`.

        Values of up to `word` bytes are stored in the entry itself.
        """
        kind, count = self.number(at + 2, 2), self.number(at + 4, word)
        size = count * _SIZES.get(kind, 0)
        start = at + 4 + word
        if size > word:
            start = self.number(start, word)
            self.need(start, size, "the value of a tag")
        return self.number(at, 2), _Entry(kind, count, start)

    def values(self, entry: _Entry | None) -> NDArray[np.uint64]:
        """Return the values of an entry as an array (count,).

        The array is empty if `entry` is None or if its values are not unsigned integers.
        """
        if entry is None or entry.kind not in _INTEGERS:
            return np.empty(0, np.uint64)
        dtype = np.dtype(_INTEGERS[entry.kind]).newbyteorder("<" if self.order == "little" else ">")
        return np.frombuffer(self.data, dtype, entry.length, entry.start).astype(np.uint64)


def check_whole(data: bytes) -> None:
    """Check that a TIFF file is complete, without decoding it.

    Raises
    ------
    ValueError
        If the file is incomplete. The message says why.

    Examples
    --------
    >>> check_whole(b"II*" + bytes([0, 255, 0, 0, 0]))
    Traceback (most recent call last):
        ...
    ValueError: a directory ends at byte 257, so the file is truncated
    """
    file = _File(data, "little" if data[:1] == b"I" else "big", big=b"+" in data[2:4])
    first = file.number(8, 8) if file.big else file.number(4, 4)
    pages, metadata, seen = [first], list[int](), {0}
    # Each entry takes at least 12 bytes. If a file has more entries than fit, its directories
    # overlap, and reading all of them could take forever.
    entries_left = len(data) // 12
    while pages or metadata:
        is_page = bool(pages)
        at = (pages or metadata).pop()
        if at in seen:
            continue
        seen.add(at)
        directory = file.directory(at)
        entries_left -= len(directory.entries)
        if entries_left < 0:
            raise ValueError("its directories overlap")
        if is_page:
            _check_pixels(file, directory.entries, needed=at == first)
            sub_pages = file.values(directory.entries.get(_SUB_PAGES)).tolist()
            pages += [directory.following, *sub_pages]
            for tag in _METADATA:
                metadata += file.values(directory.entries.get(tag)).tolist()


def _check_pixels(file: _File, entries: dict[int, _Entry], *, needed: bool) -> None:
    """Check that a page has enough strips or tiles for its pixels, and that the file contains them.

    A page without any strips or tiles is an error only if `needed` is true.
    """
    tiled = _TILES in entries
    starts = file.values(entries.get(_TILES if tiled else _STRIPS))
    sizes = file.values(entries.get(_TILE_SIZES if tiled else _STRIP_SIZES))
    if not starts.size and not needed:
        return
    count = _count_parts(file, entries, tiled=tiled)
    if not count or count > min(starts.size, sizes.size):
        raise ValueError(
            f"the image needs {count:,} strips or tiles, but only "
            f"{min(starts.size, sizes.size):,} are listed"
        )
    # The bounds keep the sums from overflowing uint64.
    ends = np.minimum(starts[:count], 1 << 62) + np.minimum(sizes[:count], 1 << 62)
    file.need(int(ends.max()), 0, "a strip or tile of pixels")


def _count_parts(file: _File, entries: dict[int, _Entry], *, tiled: bool) -> int:
    """Return how many strips or tiles a page needs for its pixels, according to its size."""

    def number(tag: int, default: int) -> int:
        values = file.values(entries.get(tag))
        return int(values[0]) if values.size else default

    width, height = number(_WIDTH, 0), number(_HEIGHT, 0)
    planes = number(_SAMPLES, 1) if number(_PLANAR, 1) == 2 else 1
    if not tiled:
        return _ceil(height, number(_ROWS_PER_STRIP, height)) * planes
    if number(_TILE_WIDTH, 0) * number(_TILE_HEIGHT, 0) > max(4 * width * height, _LARGEST_TILE):
        raise ValueError(
            "its tiles are larger than the image, and libtiff allocates memory for a whole tile"
        )
    return _ceil(width, number(_TILE_WIDTH, 0)) * _ceil(height, number(_TILE_HEIGHT, 0)) * planes


def _ceil(size: int, part: int) -> int:
    """Return how many parts of size `part` cover `size`, or 0 if `part` is 0."""
    return -(-size // part) if part else 0
