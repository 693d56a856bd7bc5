"""The image column to which marks belong, and the reasons not to draw them over other images.

Boxes, polygons, keypoints and masks are positions in one image. If they were drawn over another
image, such as one that a query has scaled, cropped or rotated, or a stored image of another size,
they would appear in the wrong place, and edits would be stored with wrong coordinates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.errors import LakeError
from deeplake_lite.widget.images.kinds import first_drawable, is_drawable
from deeplake_lite.widget.stored import Location, location_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deeplake_lite.dataset.selection import ReadTable
    from deeplake_lite.dataset.view import View
    from deeplake_lite.schema import Field, Schema

type Size = tuple[int, int]
"""Width and height in pixels."""

KEY = "picture"
"""Metadata key with which a column of marks names its image column."""


def image_of_marks(schema: Schema, f: Field) -> Field | None:
    """Return the image column to which a column of marks belongs, or None if there is no image.

    The metadata of the marks may name the image column:
    ``ds["boxes"].metadata["picture"] = "thumb"``. Otherwise it is the first image column in the
    same group (``left/image`` for ``left/boxes``), or else the first image column.

    Examples
    --------
    >>> from deeplake_lite.schema import Schema
    >>> fields = {"image": "image", "left/boxes": "boxes", "left/image": "image", "boxes": "boxes"}
    >>> schema = Schema.build(fields)
    >>> [image_of_marks(schema, schema[name]).name for name in ("boxes", "left/boxes")]
    ['image', 'left/image']
    """
    name = f.metadata.get(KEY)
    if isinstance(name, str) and name in schema and is_drawable(schema[name].htype):
        return schema[name]
    others = [g for g in schema if g.name != f.name]
    group = [g for g in others if _group(g) == _group(f)]
    return first_drawable(group) or first_drawable(others)


def _group(f: Field) -> str:
    return f.name.rpartition("/")[0]


def reasons_not_drawn(
    view: View,
    marks: Field,
    image: Field,
    positions: NDArray[np.int64],
    sizes: Sequence[Size | None],
) -> list[str | None]:
    """Return for each row the reason not to draw its marks over an image, or None to draw them.

    Parameters
    ----------
    marks, image : Field
        Columns of the view. The marks may also be a stored column that the query omits.
    positions : ndarray, (n,) int64
        Positions of the rows in the view.
    sizes : sequence of (width, height) or None, n of them
        Sizes of the images in pixels, or None for rows without an image.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://belonging-doc", {"image": dl.Image("png"), "boxes": "boxes"})
    >>> ds.append({"image": [np.zeros((50, 100), "uint8")], "boxes": [[[0, 0, 9, 9]]]})
    >>> view = ds.query("SELECT image, image[:20] AS top, boxes")
    >>> image, top, boxes = view.schema
    >>> reasons_not_drawn(view, boxes, image, np.array([0]), [(100, 50)])
    [None]
    >>> reasons_not_drawn(view, boxes, top, np.array([0]), [(100, 20)])
    ["'boxes' is not drawn over 'top', because the query ... Show 'image' as it is stored."]
    """
    shown, stored = location_of(view, image, positions), location_of(view, marks, positions)
    if shown is None:
        expected = image_of_marks(stored[0].schema, stored[1]) if stored else None
        return [_computed_reason(marks, image, expected)] * len(positions)
    # Computed marks are not stored, so they are treated as if they were stored with the image.
    table, f, slots = stored or (shown[0], marks, shown[2])
    expected = image_of_marks(table.schema, f)
    if expected is None or _is_same(shown, (table, expected, slots)):
        return [None] * len(positions)
    return [
        None
        if size in (None, expected_size)
        else _size_reason(marks, image, expected, size, expected_size)
        for expected_size, size in zip(_sizes(table, expected, slots), sizes, strict=True)
    ]


def _is_same(a: Location, b: Location) -> bool:
    return a[0] is b[0] and a[1].id == b[1].id and bool((a[2] == b[2]).all())


def _computed_reason(marks: Field, image: Field, expected: Field | None) -> str:
    hint = "Show a stored image" if expected is None else f"Show {expected.name!r} as it is stored"
    return (
        f"{marks.name!r} is not drawn over {image.name!r}, because the query computes this image. "
        f"If it is scaled or cropped, the marks would be in the wrong place. {hint}."
    )


def _size_reason(
    marks: Field, image: Field, expected: Field, size: Size, expected_size: Size | None
) -> str:
    pixels = "whose size is unknown" if expected_size is None else _pixels(expected_size)
    return (
        f"{marks.name!r} is not drawn over {image.name!r} ({_pixels(size)}), because it belongs to "
        f"{expected.name!r} ({pixels}). Show {expected.name!r} as the image instead."
    )


def _pixels(size: Size) -> str:
    return f"{size[0]} × {size[1]} pixels"


def _sizes(table: ReadTable, f: Field, slots: NDArray[np.int64]) -> list[Size | None]:
    """Return the sizes of stored images without reading the images. Unknown sizes are None."""
    sizes: list[Size | None] = [None] * len(slots)
    pixels = f.htype.pixels
    if pixels is None and not f.htype.is_array:
        return sizes
    first = 1 if pixels is not None and pixels.role == "object_masks" else 0
    stored = np.flatnonzero(slots >= 0)  # a join may leave rows without a slot
    try:
        shapes = table.shapes(f.id, slots[stored])[:, first : first + 2]
    except LakeError:  # the index is damaged; reading the cells reports the error
        return sizes
    for i, (height, width) in zip(stored.tolist(), shapes.tolist(), strict=True):
        sizes[i] = (width, height) if height >= 0 else None
    return sizes
