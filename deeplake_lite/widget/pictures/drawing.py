"""Cells as pictures for the page: files that a browser draws go as they are, the rest is drawn.

A picture is decoded at the least scale that will do. 16 bits and floats are stretched to their
range; masks are drawn in the colours of their classes, or as the numbers of them. A type without
pixels may draw its values itself, such as a signal as a plot: then its preview is the picture.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite import codecs
from deeplake_lite.htypes.cells import NestedCells, RaggedCells
from deeplake_lite.htypes.show import class_thumbnail, eight_bits, thumbnail
from deeplake_lite.lazy import LazyModule
from deeplake_lite.widget.pictures.kinds import draws_itself, is_picture

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import simplejpeg
    from numpy.typing import NDArray

    from deeplake_lite.codecs import jpeg
    from deeplake_lite.htypes import Htype
    from deeplake_lite.htypes.base import Picture
    from deeplake_lite.htypes.cells import Cells
else:  # Pillow takes its time, and the first pictures are asked for later
    simplejpeg = LazyModule("simplejpeg")
    jpeg = LazyModule("deeplake_lite.codecs.jpeg")

type Drawing = Callable[[int], Drawn | str]
"""Draws a picture with its longer side at so many pixels, or at its own size for 0.

It returns a text for a value that its type writes instead, such as an empty signal.
"""

WEB_BYTES = 96 * 1024
"""Files up to this size go to the grid as they are, where they are no larger than is asked for."""

FINE = 64
"""Pictures up to this side are drawn without losses: each of their pixels is seen."""

SLACK = 1.25
"""JPEG decodes to eighths of its size: what is larger than asked for by no more goes as it is."""

NO_CLASS = 255
"""In a picture of class numbers, pixels of no class."""


@dataclass(frozen=True)
class Drawn:
    """A picture for the page."""

    data: bytes
    """A file."""
    mime: str
    """Such as ``"image/jpeg"``."""
    width: int
    """Of the original, pixels."""
    height: int
    """Of the original, pixels."""
    classes: tuple[int, ...] = ()
    """Of a picture of class numbers too large for its pixels: the class of each pixel's number."""

    @property
    def nbytes(self) -> int:
        """What it takes in memory, about."""
        return len(self.data) + 200


def drawings(
    htype: Htype, cells: Cells, allow: tuple[str, ...] = (), *, numbers: bool = False
) -> list[Drawing | None]:
    """Return what draws each of some cells; None where null, or where there is nothing to draw.

    Parameters
    ----------
    allow : tuple of str
        Roots under which links are followed.
    numbers : bool
        Whether masks become pictures of class numbers, to be coloured elsewhere.

    Examples
    --------
    >>> from deeplake_lite.htypes import Image
    >>> image = Image("png")
    >>> [draw] = drawings(image, image.encode([np.zeros((200, 100), "uint8")]))
    >>> drawn = draw(64)
    >>> drawn.mime, drawn.width, drawn.height
    ('image/jpeg', 100, 200)
    """
    valid = [True] * len(cells) if cells.valid is None else cells.valid.tolist()
    found = _drawings(htype, cells, allow, numbers)
    return [draw if v else None for draw, v in zip(found, valid, strict=True)]


def _drawings(
    htype: Htype, cells: Cells, allow: tuple[str, ...], numbers: bool
) -> Iterator[Drawing | None]:
    if isinstance(cells, RaggedCells):
        is_drawn = is_picture(htype) or htype.is_array
        for data, recorded in zip(cells.buffers, cells.shapes.tolist(), strict=True):
            shape = tuple(n for n in recorded if n >= 0)
            draw = partial(_draw_stored, htype, data, shape, allow=allow, numbers=numbers)
            yield draw if is_drawn else None
    elif isinstance(cells, NestedCells) and htype.item is not None and not draws_itself(htype):
        yield from _firsts(htype.item, cells, allow, numbers)
    else:
        for value in htype.decode_cells(cells):
            draw = partial(_draw_value, htype, value, numbers=numbers)
            yield draw if value is not None else None


def _firsts(
    item: Htype, cells: NestedCells, allow: tuple[str, ...], numbers: bool
) -> Iterator[Drawing | None]:
    """Yield what draws the first item of each sequence."""
    items = drawings(item, cells.items, allow, numbers=numbers)
    starts = np.cumsum(cells.counts) - cells.counts
    for start, count in zip(starts.tolist(), cells.counts.tolist(), strict=True):
        yield items[start] if count else None


def _draw_stored(
    htype: Htype,
    data: Any,
    shape: tuple[int, ...],
    side: int,
    *,
    allow: tuple[str, ...],
    numbers: bool,
) -> Drawn | str:
    """Draw a ragged cell. Raises LakeError."""
    if draws_itself(htype):
        return _own_picture(htype.preview_stored(data, shape))
    if htype.is_image:
        return draw_image(htype, data, shape, side)
    if htype.target is not None:
        value = htype.load(htype.decode(data, shape), allow)
        return _draw_value(htype.target, value, side, numbers=numbers)
    return _draw_value(htype, htype.decode(data, shape), side, numbers=numbers)


def _draw_value(htype: Htype, value: Any, side: int, *, numbers: bool) -> Drawn | str:
    """Draw a decoded value. Raises LakeError."""
    if draws_itself(htype):
        return _own_picture(htype.preview(value))
    if htype.is_mask:
        return draw_numbers(value, side) if numbers else draw_mask(value, side)
    return draw_pixels(np.asarray(value), side)


def _own_picture(preview: Picture | str) -> Drawn | str:
    """Return the picture that a type drew of a value, or the text that it wrote instead."""
    if isinstance(preview, str):
        return preview
    return Drawn(preview.data, preview.mime, preview.width, preview.height)


def draw_image(htype: Htype, data: Any, shape: tuple[int, ...], side: int) -> Drawn:
    """Draw a stored picture. Raises DamagedError."""
    height, width = shape[:2]
    whole = not side or side >= max(height, width)
    if whole and (not side or memoryview(data).nbytes <= WEB_BYTES):
        mime = web_type(htype, data)
        if mime:
            return Drawn(bytes(data), mime, width, height)
    pixels = (
        htype.decode(data, shape) if whole else htype.decode_small(data, shape, side, fast=True)
    )
    return _drawn(pixels, side, width, height)


def draw_pixels(pixels: NDArray[Any], side: int) -> Drawn:
    """Draw an array: (h, w), or (h, w, 1 to 4); of any other, its first plane or its numbers."""
    flat = as_picture(pixels)
    return _drawn(flat, side, flat.shape[1], flat.shape[0])


def draw_mask(mask: NDArray[Any], side: int) -> Drawn:
    """Draw a mask in the colours of its classes, or of its objects."""
    numbers = labels_of(mask)
    small = class_thumbnail(numbers, side or max(numbers.shape))
    return Drawn(small.data, small.mime, numbers.shape[1], numbers.shape[0])


def draw_numbers(mask: NDArray[Any], side: int) -> Drawn:
    """Draw a mask as a grey PNG whose pixels are class numbers; 255 is no class."""
    numbers = labels_of(mask)
    height, width = numbers.shape
    step = max(1, -(-max(height, width) // side)) if side else 1
    small, classes = numbers[::step, ::step], tuple[int, ...]()
    if small.dtype != np.uint8 and small.size and small.max() > NO_CLASS:
        small, classes = _renumbered(small)
    png = codecs.get("png").encode(np.ascontiguousarray(small.astype(np.uint8)))
    return Drawn(bytes(png), "image/png", width, height, classes)


def _renumbered(numbers: NDArray[Any]) -> tuple[NDArray[np.uint8], tuple[int, ...]]:
    """Return numbers below 255 for the most frequent of many classes, and which they are."""
    found, places, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    kept = np.sort(np.argsort(-counts, kind="stable")[:NO_CLASS])
    new = np.full(len(found), NO_CLASS, np.uint8)
    new[kept] = np.arange(len(kept))
    return new[places.reshape(numbers.shape)], tuple(found[kept].tolist())


def labels_of(mask: NDArray[Any]) -> NDArray[Any]:
    """Return a number per pixel: classes as they are, objects from 1 on, the first one in front.

    >>> labels_of(np.array([[[True, False]], [[True, True]]])).tolist()
    [[1, 2]]
    """
    if mask.ndim == 2:
        return mask
    if not len(mask):
        return np.zeros((max(mask.shape[1], 1), max(mask.shape[2], 1)), np.uint8)
    return np.where(mask.any(axis=0), mask.argmax(axis=0) + 1, 0)


def as_picture(values: NDArray[Any]) -> NDArray[Any]:
    """Return an array as one that can be drawn.

    >>> as_picture(np.zeros((5, 8, 9))).shape, as_picture(np.zeros(4)).shape
    ((8, 9), (1, 4))
    """
    values = values.real if values.dtype.kind == "c" else values
    if values.dtype.kind not in "biuf":
        values = np.zeros((1, 1), np.uint8)
    while values.ndim > 3 or (values.ndim == 3 and values.shape[2] not in (1, 2, 3, 4)):
        values = values[0] if len(values) else np.zeros((1, 1), np.uint8)
    values = np.atleast_2d(values)
    return values if values.size else np.zeros((1, 1), np.uint8)


def web_type(htype: Htype, data: Any) -> str | None:
    """Return the media type of a stored file that a browser draws as the lake reads it, or None."""
    pixels = htype.pixels
    if pixels is None or pixels.mode or not pixels.files or pixels.codec not in _WEB_CODECS:
        return None
    source = codecs.sniff(data)
    header = source.probe(data, htype.limits)
    if isinstance(source, jpeg.Jpeg):
        upright = source.orientation(data) == 1  # browsers turn some files, and some ways not
        known = simplejpeg.decode_jpeg_header(data)[2] in _COLOURS
        return "image/jpeg" if upright and known else None
    if source.name not in ("png", "webp") or header.dtype != "uint8":
        return None
    turned = any(mark in bytes(data[:4096]) + bytes(data[-65536:]) for mark in (b"eXIf", b"EXIF"))
    return None if turned else f"image/{source.name}"


_WEB_CODECS = ("auto", "jpeg", "png", "webp")
_COLOURS = ("Gray", "YCbCr", "RGB")


def _drawn(pixels: NDArray[Any], side: int, width: int, height: int) -> Drawn:
    """Draw pixels that are perhaps scaled down already."""
    side = side or max(pixels.shape[:2])
    if max(width, height) <= FINE:
        from PIL.Image import fromarray

        flat = pixels[..., 0] if pixels.ndim == 3 and pixels.shape[2] == 1 else pixels
        file = BytesIO()
        fromarray(np.ascontiguousarray(eight_bits(flat))).save(file, "png")
        return Drawn(file.getvalue(), "image/png", width, height)
    small = thumbnail(pixels, side, SLACK)
    return Drawn(small.data, small.mime, width, height)
