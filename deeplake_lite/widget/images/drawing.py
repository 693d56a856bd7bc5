"""Conversion of cells to image files for the page.

Files that a web browser can draw are sent unchanged. Other images are decoded at the smallest scale
that suffices. 16-bit and float pixels are scaled from their range to 8 bits. Masks are drawn in the
colours of their classes, or with class numbers as pixels. A type without pixels may draw its values
itself, such as a plot of a signal, with its preview as the image.
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
from deeplake_lite.widget.images.kinds import draws_itself, is_drawable

if TYPE_CHECKING:
    from collections.abc import Buffer, Callable, Iterator

    import simplejpeg
    from numpy.typing import NDArray

    from deeplake_lite.codecs import jpeg
    from deeplake_lite.htypes import Htype
    from deeplake_lite.htypes.base import Picture
    from deeplake_lite.htypes.cells import Cells
else:  # slow imports, which are only needed when images are drawn
    simplejpeg = LazyModule("simplejpeg")
    jpeg = LazyModule("deeplake_lite.codecs.jpeg")

type Draw = Callable[[int], WebImage | str]
"""A function that draws an image, given its longer side in pixels, or 0 for the original size.

The function returns a string if the type describes the value in words, such as an empty signal.
"""

WEB_BYTES = 96 * 1024
"""Maximum size, in bytes, of files that are sent to the grid unchanged.

Only images whose longer side is at most the requested side are sent unchanged.
"""

FINE = 64
"""Maximum side of images that are encoded losslessly, because each pixel is visible."""

SLACK = 1.25
"""Maximum ratio of an image's side to the requested side at which the image is not resized.

JPEG files are decoded at eighths of their size, so they are often slightly too large.
"""

NO_CLASS = 255
"""Pixel value for no class in an image of class numbers."""


@dataclass(frozen=True)
class WebImage:
    """An image file for the page."""

    data: bytes
    """Content of the file."""
    mime: str
    """Media type, such as ``"image/jpeg"``."""
    width: int
    """Width of the original, in pixels."""
    height: int
    """Height of the original, in pixels."""
    classes: tuple[int, ...] = ()
    """The class for which each pixel value stands, if a mask's class numbers do not fit into 8
    bits."""

    @property
    def nbytes(self) -> int:
        """Approximate size in memory."""
        return len(self.data) + 200


def draw_functions(
    htype: Htype, cells: Cells, allow: tuple[str, ...] = (), *, numbers: bool = False
) -> list[Draw | None]:
    """Return for each cell a function that draws the cell, or None if there is nothing to draw.

    Parameters
    ----------
    htype : Htype
        Type of the cells.
    cells : Cells
        Encoded cells.
    allow : tuple of str
        Roots under which links are followed.
    numbers : bool
        Whether masks become images of class numbers, which the page colours.

    Examples
    --------
    >>> from deeplake_lite.htypes import Image
    >>> image = Image("png")
    >>> [draw] = draw_functions(image, image.encode([np.zeros((200, 100), "uint8")]))
    >>> drawn = draw(64)
    >>> drawn.mime, drawn.width, drawn.height
    ('image/jpeg', 100, 200)
    """
    valid = [True] * len(cells) if cells.valid is None else cells.valid.tolist()
    functions = _functions_of(htype, cells, allow, numbers)
    return [draw if v else None for draw, v in zip(functions, valid, strict=True)]


def _functions_of(
    htype: Htype, cells: Cells, allow: tuple[str, ...], numbers: bool
) -> Iterator[Draw | None]:
    if isinstance(cells, RaggedCells):
        is_drawn = is_drawable(htype) or htype.is_array
        for data, recorded in zip(cells.buffers, cells.shapes.tolist(), strict=True):
            shape = tuple(n for n in recorded if n >= 0)
            draw = partial(_draw_stored, htype, data, shape, allow=allow, numbers=numbers)
            yield draw if is_drawn else None
    elif isinstance(cells, NestedCells) and htype.item is not None and not draws_itself(htype):
        yield from _first_items(htype.item, cells, allow, numbers)
    else:
        for value in htype.decode_cells(cells):
            draw = partial(_draw_value, htype, value, numbers=numbers)
            yield draw if value is not None else None


def _first_items(
    item: Htype, cells: NestedCells, allow: tuple[str, ...], numbers: bool
) -> Iterator[Draw | None]:
    """Yield the function that draws the first item of each sequence, or None if it is empty."""
    items = draw_functions(item, cells.items, allow, numbers=numbers)
    starts = np.cumsum(cells.counts) - cells.counts
    for start, count in zip(starts.tolist(), cells.counts.tolist(), strict=True):
        yield items[start] if count else None


def _draw_stored(
    htype: Htype,
    data: Buffer,
    shape: tuple[int, ...],
    side: int,
    *,
    allow: tuple[str, ...],
    numbers: bool,
) -> WebImage | str:
    """Draw a ragged cell. Raises LakeError if the cell, or the file it links to, is unreadable."""
    if draws_itself(htype):
        return _image_of_preview(htype.preview_stored(data, shape))
    if htype.is_image:
        return draw_image(htype, data, shape, side)
    if htype.target is not None:
        value = htype.load(htype.decode(data, shape), allow)
        return _draw_value(htype.target, value, side, numbers=numbers)
    return _draw_value(htype, htype.decode(data, shape), side, numbers=numbers)


def _draw_value(htype: Htype, value: Any, side: int, *, numbers: bool) -> WebImage | str:
    """Draw a decoded value, as a mask, as pixels, or as the preview of its type."""
    if draws_itself(htype):
        return _image_of_preview(htype.preview(value))
    if htype.is_mask:
        return draw_numbers(value, side) if numbers else draw_mask(value, side)
    return draw_pixels(np.asarray(value), side)


def _image_of_preview(preview: Picture | str) -> WebImage | str:
    """Return the preview image of a value, or its text if the type does not draw an image."""
    if isinstance(preview, str):
        return preview
    return WebImage(preview.data, preview.mime, preview.width, preview.height)


def draw_image(htype: Htype, data: Buffer, shape: tuple[int, ...], side: int) -> WebImage:
    """Draw a stored image. Raises DamagedError if it cannot be decoded."""
    height, width = shape[:2]
    full_size = not side or side >= max(height, width)
    if full_size and (not side or memoryview(data).nbytes <= WEB_BYTES):
        mime = web_type(htype, data)
        if mime:
            return WebImage(bytes(data), mime, width, height)
    pixels = (
        htype.decode(data, shape) if full_size else htype.decode_small(data, shape, side, fast=True)
    )
    return _encode(pixels, side, width, height)


def draw_pixels(pixels: NDArray[Any], side: int) -> WebImage:
    """Draw an array, (h, w) or (h, w, 1 to 4). `as_image` converts other shapes."""
    flat = as_image(pixels)
    return _encode(flat, side, flat.shape[1], flat.shape[0])


def draw_mask(mask: NDArray[Any], side: int) -> WebImage:
    """Draw a mask in the colours of its classes or objects."""
    numbers = labels_of(mask)
    small = class_thumbnail(numbers, side or max(numbers.shape))
    return WebImage(small.data, small.mime, numbers.shape[1], numbers.shape[0])


def draw_numbers(mask: NDArray[Any], side: int) -> WebImage:
    """Draw a mask as a grey PNG whose pixels are class numbers, where 255 means no class."""
    numbers = labels_of(mask)
    height, width = numbers.shape
    step = max(1, -(-max(height, width) // side)) if side else 1
    small, classes = numbers[::step, ::step], tuple[int, ...]()
    if small.dtype != np.uint8 and small.size and small.max() > NO_CLASS:
        small, classes = _renumber(small)
    png = codecs.get("png").encode(np.ascontiguousarray(small.astype(np.uint8)))
    return WebImage(bytes(png), "image/png", width, height, classes)


def _renumber(numbers: NDArray[Any]) -> tuple[NDArray[np.uint8], tuple[int, ...]]:
    """Replace the most frequent classes with 0 to 254, and all other classes with 255.

    Returns the new pixels, and a tuple of the classes for which the numbers 0 to 254 stand.
    """
    classes, indices, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    frequent = np.sort(np.argsort(-counts, kind="stable")[:NO_CLASS])
    new = np.full(len(classes), NO_CLASS, np.uint8)
    new[frequent] = np.arange(len(frequent))
    return new[indices.reshape(numbers.shape)], tuple(classes[frequent].tolist())


def labels_of(mask: NDArray[Any]) -> NDArray[Any]:
    """Return the class of each pixel of a mask.

    In a mask of objects, a pixel has the number of the first object that covers it, counted from 1,
    or 0.

    >>> labels_of(np.array([[[True, False]], [[True, True]]])).tolist()
    [[1, 2]]
    """
    if mask.ndim == 2:
        return mask
    if not len(mask):
        return np.zeros((max(mask.shape[1], 1), max(mask.shape[2], 1)), np.uint8)
    return np.where(mask.any(axis=0), mask.argmax(axis=0) + 1, 0)


def as_image(values: NDArray[Any]) -> NDArray[Any]:
    """Reduce an array to the shape of an image.

    If there are additional axes, only the first item along each of them is drawn. Of complex
    numbers, only the real part is drawn. A vector becomes one line. Empty arrays and values that
    are not numbers become one pixel.

    >>> as_image(np.zeros((5, 8, 9))).shape, as_image(np.zeros(4)).shape
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
    """Return the media type of a stored file that browsers draw exactly as the lake decodes it.

    Returns None if browsers may draw the file differently. This applies to other formats, other
    colour spaces, 16 bits, and files with an orientation, which browsers only apply in some
    formats.
    """
    pixels = htype.pixels
    if pixels is None or pixels.mode or not pixels.files or pixels.codec not in _WEB_CODECS:
        return None
    source = codecs.sniff(data)
    header = source.probe(data, htype.limits)
    if isinstance(source, jpeg.Jpeg):
        upright = source.orientation(data) == 1
        is_known = simplejpeg.decode_jpeg_header(data)[2] in _COLOURS
        return "image/jpeg" if upright and is_known else None
    if source.name not in ("png", "webp") or header.dtype != "uint8":
        return None
    has_exif = any(name in bytes(data[:4096]) + bytes(data[-65536:]) for name in (b"eXIf", b"EXIF"))
    return None if has_exif else f"image/{source.name}"


_WEB_CODECS = ("auto", "jpeg", "png", "webp")
_COLOURS = ("Gray", "YCbCr", "RGB")


def _encode(pixels: NDArray[Any], side: int, width: int, height: int) -> WebImage:
    """Encode pixels as an image file. `width` and `height` are the size of the original."""
    side = side or max(pixels.shape[:2])
    if max(width, height) <= FINE:
        from PIL.Image import fromarray

        flat = pixels[..., 0] if pixels.ndim == 3 and pixels.shape[2] == 1 else pixels
        file = BytesIO()
        fromarray(np.ascontiguousarray(eight_bits(flat))).save(file, "png")
        return WebImage(file.getvalue(), "image/png", width, height)
    small = thumbnail(pixels, side, SLACK)
    return WebImage(small.data, small.mime, width, height)
