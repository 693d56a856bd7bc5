"""What goes with a picture that is brought to another size: boxes, points, outlines and masks.

Numbers that count pixels are multiplied, as the picture's sides are; masks take the nearest pixel,
as classes have no values between them. In a `Sequence`, each item is changed; where the pictures
are a sequence too, items go with the picture of the same number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.errors import OptionError
from deeplake_lite.htypes.image import CHANNELS
from deeplake_lite.htypes.pixels import convert_pixels

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from numpy.typing import NDArray

    from deeplake_lite.htypes import Htype
    from deeplake_lite.schema import Field


def followed_image(fields: Iterable[Field], resized: Collection[str]) -> str | None:
    """Return the picture that the columns in pixels go with; None where none is resized.

    Parameters
    ----------
    fields : iterable of Field
        All columns.
    resized : collection of str
        Names of the pictures that are brought to another size.

    Raises
    ------
    OptionError
        Where it is not clear which picture that is.
    """
    given = list(fields)
    pixels = [f for f in given if counts_pixels(_linked(f.htype))]
    pictures = [f.name for f in given if _linked(f.htype).is_image]
    if not resized or not pixels:
        return None
    links = [f.name for f in pixels if _linked(f.htype) is not innermost(f.htype)]
    if len(pictures) > 1 or links:
        what = (links or [pixels[0].name])[0]
        raise OptionError(
            f"size= changes {', '.join(map(repr, sorted(resized)))}, and {what!r} counts pixels: "
            f"of which picture is not clear, as there are {', '.join(map(repr, pictures))} and "
            f"{'links to values' if links else pixels[0].htype}. Choose columns= "
            "with one picture and what belongs to it, or resize in a transform."
        )
    return pictures[0]


def is_of_images(htype: Htype) -> bool:
    """Tell whether values are pictures, or sequences of them.

    >>> from deeplake_lite.htypes import Image, Mask, Sequence
    >>> [is_of_images(h) for h in (Image(), Sequence(Image()), Mask())]
    [True, True, False]
    """
    return innermost(htype).is_image


def innermost(htype: Htype) -> Htype:
    """Return the type of the items of a sequence, in any depth.

    >>> from deeplake_lite.htypes import Mask, Sequence
    >>> innermost(Sequence(Sequence(Mask())))
    Mask()
    """
    while htype.item is not None:
        htype = htype.item
    return htype


def depth(htype: Htype) -> int:
    """Return how many sequences are nested around the innermost type.

    >>> from deeplake_lite.htypes import Mask, Sequence
    >>> [depth(h) for h in (Mask(), Sequence(Mask()), Sequence(Sequence(Mask())))]
    [0, 1, 2]
    """
    return 0 if htype.item is None else 1 + depth(htype.item)


def each(htype: Htype, value: Any, change: Callable[[Any], Any]) -> Any:
    """Change a value, or each item of a sequence; what is null stays so.

    >>> from deeplake_lite.htypes import Image, Sequence
    >>> each(Sequence(Image()), [1, None, 3], lambda picture: -picture)
    [-1, None, -3]
    """
    if value is None:
        return None
    if htype.item is not None:
        return [each(htype.item, item, change) for item in value]
    return change(value)


type Shapes = tuple[int, int] | list[Shapes] | None
"""Height and width of a picture, or of each of a sequence; None where null."""


def followed(htype: Htype, value: Any, shapes: Shapes, size: tuple[int, int]) -> Any:
    """Return coordinates, or sequences of them, as their pictures are brought to a size.

    Raises
    ------
    OptionError
        For sequences of other lengths, and coordinates of several pictures that differ in size.

    Examples
    --------
    >>> from deeplake_lite.htypes import Boxes, Sequence
    >>> boxes = np.array([[0, 0, 2, 2]])
    >>> [b.tolist() for b in followed(Sequence(Boxes()), [boxes] * 2, [(4, 4), (8, 2)], (8, 8))]
    [[[0, 0, 4, 4]], [[0, 0, 8, 2]]]
    """
    if value is None or shapes is None:
        return value
    if htype.item is not None:
        if not isinstance(shapes, list):
            return [followed(htype.item, item, shapes, size) for item in value]
        if len(value) != len(shapes):
            raise OptionError(
                "Items of a sequence go with the picture of the same number as size= changes it, "
                f"but there are {len(value)} items and {len(shapes)} pictures. Choose columns= "
                "with one picture and what belongs to it, or resize in a transform."
            )
        return [followed(htype.item, v, s, size) for v, s in zip(value, shapes, strict=True)]
    different = {*_flat(shapes)}
    if len(different) > 1:
        raise OptionError(
            "Coordinates of several pictures follow them to another size where all have the same, "
            f"but they have {sorted(different)}. Keep a Sequence of coordinates, one item for "
            "each picture, or resize in a transform."
        )
    for height, width in different:
        return scaled(htype, value, size[0] / height, size[1] / width)
    return value


def _flat(shapes: Shapes) -> Iterator[tuple[int, int]]:
    if isinstance(shapes, list):
        for one in shapes:
            yield from _flat(one)
    elif shapes is not None:
        yield shapes


def counts_pixels(htype: Htype) -> bool:
    """Tell whether values mean other pixels once their picture has another size.

    >>> from deeplake_lite.htypes import Boxes, Image, Mask
    >>> [counts_pixels(h) for h in (Boxes(), Boxes(units="fraction"), Mask(), Image())]
    [True, False, True, False]
    """
    if htype.coordinates is not None:
        return htype.coordinates.units == "pixels"
    return htype.is_mask


def scaled(htype: Htype, value: Any, y: float, x: float) -> Any:
    """Return coordinates, their heights and widths multiplied.

    Parameters
    ----------
    htype : Htype
        What the value is: a type of coordinates.
    value : ndarray or list of ndarray
        In pixels; outlines are a list.
    y, x : float
        Factors of heights and of widths.

    Examples
    --------
    >>> from deeplake_lite.htypes import Boxes
    >>> scaled(Boxes("xywh", dtype="int16"), np.array([[1, 2, 3, 4]], "int16"), 2, 0.5)
    array([[0, 4, 2, 8]], dtype=int16)
    """
    assert htype.coordinates is not None, "types of other values are not scaled"
    factor_of = {"x": x, "y": y, "visibility": 1.0}
    factors = [factor_of[part] for part in htype.coordinates.parts]
    if isinstance(value, list):
        return [_times(outline, factors) for outline in value]
    return _times(value, factors)


def nearest(mask: NDArray[Any], height: int, width: int) -> NDArray[Any]:
    """Return a mask (h, w), or masks (n, h, w), at another size: each pixel the nearest.

    >>> nearest(np.array([[1, 2], [3, 4]], "uint8"), 4, 2)
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


def sized(htype: Htype, axes: tuple[Any, ...], size: tuple[int, int]) -> tuple[Any, ...]:
    """Return the shape of a picture or mask once it is brought to a size.

    >>> from deeplake_lite.htypes import Image, Mask, Sequence
    >>> sized(Mask("instance"), (None, 9, 9), (4, 5)), sized(Image(), (None, None, 3), (4, 5))
    ((None, 4, 5), (4, 5, 3))
    >>> sized(Sequence(Image()), (None, None, None, 3), (4, 5))
    (None, 4, 5, 3)
    """
    if htype.item is not None:
        return (*axes[:1], *(sized(htype.item, axes[1:], size) if axes[1:] else ()))
    return (*axes[:-2], *size) if htype.is_mask else (*size, *axes[2:])


def axes_in_mode(htype: Htype, axes: tuple[Any, ...], mode: str) -> tuple[Any, ...]:
    """Return the shape of a picture, or of a sequence of them, in a mode.

    >>> from deeplake_lite.htypes import Image
    >>> axes_in_mode(Image(), (8, (9, 12), (1, 3)), "RGB"), axes_in_mode(Image(), (), "L")
    ((8, (9, 12), 3), (None, None))
    """
    if htype.item is not None:
        return (*axes[:1], *(axes_in_mode(htype.item, axes[1:], mode) if axes[1:] else ()))
    return (*(axes[:2] or (None, None)), *CHANNELS[mode])


def in_mode(pixels: NDArray[Any], mode: str | None) -> NDArray[Any]:
    """Return a picture in a mode, by Pillow's rules.

    >>> in_mode(np.array([[7]], "uint8"), "RGB").tolist(), in_mode(np.zeros((2, 3)), None).shape
    ([[[7, 7, 7]]], (2, 3))
    """
    if mode is None or (pixels.shape[2:] == CHANNELS[mode] and pixels.dtype == np.uint8):
        return pixels
    return convert_pixels(pixels, mode)


def _times(value: NDArray[Any], factors: list[float]) -> NDArray[Any]:
    found = value * np.array(factors, np.float64)
    return (np.rint(found) if value.dtype.kind in "iu" else found).astype(value.dtype)


def _linked(htype: Htype) -> Htype:
    """Return the type of the items of a sequence, or of what a link leads to."""
    while (inner := htype.item or htype.target) is not None:
        htype = inner
    return htype
