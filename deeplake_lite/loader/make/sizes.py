"""Functions that resize images and the boxes, points, outlines and masks that belong to an image.

Coordinates in pixels are multiplied by the same factors as the sides of the image. Masks are
resized with nearest-neighbor interpolation, because class numbers cannot be averaged. In a
`Sequence`, each item is resized. If the images are a sequence too, each item belongs to the image
with the same index.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.errors import OptionError
from deeplake_lite.htypes.image import CHANNELS
from deeplake_lite.htypes.pixels import convert_pixels
from deeplake_lite.htypes.words import pluralize

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from numpy.typing import NDArray

    from deeplake_lite.htypes import Htype
    from deeplake_lite.schema import Field


def followed_image(fields: Iterable[Field], resized: Collection[str]) -> str | None:
    """Return the name of the image column to which coordinates and masks in pixels belong.

    Returns None if no image column is resized, or no column has coordinates or masks in pixels.

    Parameters
    ----------
    fields : iterable of Field
        All columns.
    resized : collection of str
        Names of the image columns that are resized.

    Raises
    ------
    OptionError
        When it is ambiguous to which image coordinates or masks belong, because there are several
        image columns, or because the coordinates or masks are links.
    """
    columns = list(fields)
    pixels = [f for f in columns if counts_pixels(_linked(f.htype))]
    images = [f.name for f in columns if _linked(f.htype).is_image]
    if not resized or not pixels:
        return None
    links = [f for f in pixels if _linked(f.htype) is not innermost(f.htype)]
    if len(images) > 1 or links:
        unclear = (links or pixels)[0]
        reason = (
            "its values are links" if links
            else f"there are several image columns, {', '.join(map(repr, images))}"
        )  # fmt: skip
        raise OptionError(
            f"size= resizes {', '.join(map(repr, sorted(resized)))}, but it is not clear which "
            f"image {unclear.name!r} ({unclear.htype}) belongs to, because {reason}. Choose "
            "columns= with one image column and the columns that belong to it, or resize in a "
            "transform."
        )
    return images[0]


def is_of_images(htype: Htype) -> bool:
    """Return whether values are images, or sequences of images.

    >>> from deeplake_lite.htypes import Image, Mask, Sequence
    >>> [is_of_images(h) for h in (Image(), Sequence(Image()), Mask())]
    [True, True, False]
    """
    return innermost(htype).is_image


def innermost(htype: Htype) -> Htype:
    """Return the type of the items of a sequence, nested to any depth.

    >>> from deeplake_lite.htypes import Mask, Sequence
    >>> innermost(Sequence(Sequence(Mask())))
    Mask()
    """
    while htype.item is not None:
        htype = htype.item
    return htype


def depth(htype: Htype) -> int:
    """Return the number of sequences around the innermost type.

    >>> from deeplake_lite.htypes import Mask, Sequence
    >>> [depth(h) for h in (Mask(), Sequence(Mask()), Sequence(Sequence(Mask())))]
    [0, 1, 2]
    """
    return 0 if htype.item is None else 1 + depth(htype.item)


def each(htype: Htype, value: Any, change: Callable[[Any], Any]) -> object:
    """Apply a function to a value, or to each item of a sequence. Nulls stay null.

    >>> from deeplake_lite.htypes import Image, Sequence
    >>> each(Sequence(Image()), [1, None, 3], lambda image: -image)
    [-1, None, -3]
    """
    if value is None:
        return None
    if htype.item is not None:
        return [each(htype.item, item, change) for item in value]
    return change(value)


type Shapes = tuple[int, int] | list[Shapes] | None
"""Height and width of an image, or of each image in a sequence; None for null."""


def follow(htype: Htype, value: Any, shapes: Shapes, size: tuple[int, int]) -> object:
    """Scale coordinates, or sequences of coordinates, of images that are resized to `size`.

    `shapes` has the height and width of the images before they are resized.

    Raises
    ------
    OptionError
        When sequences have different lengths, or one value belongs to images that differ in size.

    Examples
    --------
    >>> from deeplake_lite.htypes import Boxes, Sequence
    >>> boxes = np.array([[0, 0, 2, 2]])
    >>> [b.tolist() for b in follow(Sequence(Boxes()), [boxes] * 2, [(4, 4), (8, 2)], (8, 8))]
    [[[0, 0, 4, 4]], [[0, 0, 8, 2]]]
    """
    if value is None or shapes is None:
        return value
    if htype.item is not None:
        if not isinstance(shapes, list):
            return [follow(htype.item, item, shapes, size) for item in value]
        if len(value) != len(shapes):
            raise OptionError(
                "With size=, each item of a sequence must belong to the image with the same "
                f"index, but there are {pluralize(len(value), 'item')} and "
                f"{pluralize(len(shapes), 'image')}. Choose columns= with one image column and the "
                "columns that belong to it, or resize in a transform."
            )
        return [follow(htype.item, v, s, size) for v, s in zip(value, shapes, strict=True)]
    different = {*_flat(shapes)}
    if len(different) > 1:
        raise OptionError(
            "With size=, all images to which the same coordinates apply must have the same size, "
            f"but their sizes are {sorted(different)}. Store a Sequence of coordinates with one "
            "item per image, or resize in a transform."
        )
    for height, width in different:
        return scale(htype, value, size[0] / height, size[1] / width)
    return value


def _flat(shapes: Shapes) -> Iterator[tuple[int, int]]:
    if isinstance(shapes, list):
        for shape in shapes:
            yield from _flat(shape)
    elif shapes is not None:
        yield shapes


def counts_pixels(htype: Htype) -> bool:
    """Return whether values are in pixels, and thus change when their image is resized.

    >>> from deeplake_lite.htypes import Boxes, Image, Mask
    >>> [counts_pixels(h) for h in (Boxes(), Boxes(units="fraction"), Mask(), Image())]
    [True, False, True, False]
    """
    if htype.coordinates is not None:
        return htype.coordinates.units == "pixels"
    return htype.is_mask


def scale(htype: Htype, value: Any, y: float, x: float) -> object:
    """Multiply coordinates by factors.

    Parameters
    ----------
    htype : Htype
        Type of the coordinates.
    value : ndarray or list of ndarray
        Coordinates in pixels. Polygons are a list of outlines.
    y, x : float
        Factors for vertical and horizontal coordinates.

    Examples
    --------
    >>> from deeplake_lite.htypes import Boxes
    >>> scale(Boxes("xywh", dtype="int16"), np.array([[1, 2, 3, 4]], "int16"), 2, 0.5)
    array([[0, 4, 2, 8]], dtype=int16)
    """
    assert htype.coordinates is not None, "types of other values are not scaled"
    factor_of = {"x": x, "y": y, "visibility": 1.0}
    factors = [factor_of[part] for part in htype.coordinates.parts]
    if isinstance(value, list):
        return [_times(outline, factors) for outline in value]
    return _times(value, factors)


def resize_nearest(mask: NDArray[Any], height: int, width: int) -> NDArray[Any]:
    """Resize a mask (h, w), or masks (n, h, w), with nearest-neighbor interpolation.

    >>> resize_nearest(np.array([[1, 2], [3, 4]], "uint8"), 4, 2)
    array([[1, 2],
           [1, 2],
           [3, 4],
           [3, 4]], dtype=uint8)
    """
    rows, columns = (
        ((np.arange(new) + 0.5) * (old / new)).astype(np.int64)
        for new, old in zip((height, width), mask.shape[-2:], strict=True)
    )
    return mask[..., rows[:, None], columns]


def resized_shape(htype: Htype, axes: tuple[object, ...], size: tuple[int, int]) -> tuple[Any, ...]:
    """Return the shape of an image or mask, or of a sequence of images or masks, after resizing.

    >>> from deeplake_lite.htypes import Image, Mask, Sequence
    >>> resized_shape(Mask("instance"), (None, 9, 9), (4, 5))
    (None, 4, 5)
    >>> resized_shape(Image(), (None, None, 3), (4, 5))
    (4, 5, 3)
    >>> resized_shape(Sequence(Image()), (None, None, None, 3), (4, 5))
    (None, 4, 5, 3)
    """
    if htype.item is not None:
        return (*axes[:1], *(resized_shape(htype.item, axes[1:], size) if axes[1:] else ()))
    return (*axes[:-2], *size) if htype.is_mask else (*size, *axes[2:])


def axes_in_mode(htype: Htype, axes: tuple[object, ...], mode: str) -> tuple[Any, ...]:
    """Return the shape of an image, or of a sequence of images, after conversion to a mode.

    >>> from deeplake_lite.htypes import Image
    >>> axes_in_mode(Image(), (8, (9, 12), (1, 3)), "RGB"), axes_in_mode(Image(), (), "L")
    ((8, (9, 12), 3), (None, None))
    """
    if htype.item is not None:
        return (*axes[:1], *(axes_in_mode(htype.item, axes[1:], mode) if axes[1:] else ()))
    return (*(axes[:2] or (None, None)), *CHANNELS[mode])


def convert_mode(pixels: NDArray[Any], mode: str | None) -> NDArray[Any]:
    """Convert an image to a mode by Pillow's rules. The mode None leaves the image unchanged.

    >>> convert_mode(np.array([[7]], "uint8"), "RGB").tolist()
    [[[7, 7, 7]]]
    >>> convert_mode(np.zeros((2, 3)), None).shape
    (2, 3)
    """
    if mode is None or (pixels.shape[2:] == CHANNELS[mode] and pixels.dtype == np.uint8):
        return pixels
    return convert_pixels(pixels, mode)


def _times(value: NDArray[Any], factors: list[float]) -> NDArray[Any]:
    product = value * np.array(factors, np.float64)
    return (np.rint(product) if value.dtype.kind in "iu" else product).astype(value.dtype)


def _linked(htype: Htype) -> Htype:
    """Return the type of the items of a sequence, or of the values behind a link."""
    while (inner := htype.item or htype.target) is not None:
        htype = inner
    return htype
