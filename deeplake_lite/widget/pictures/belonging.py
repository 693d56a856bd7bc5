"""Which picture marks belong to, and why they are not drawn over the one that is shown.

Boxes, polygons, keypoints and masks say where something is in one picture. Over another one they
would lie in the wrong place, and what is drawn there would be stored in the wrong place: over a
picture that a query scales, cuts or turns, and over a stored one of another size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.errors import LakeError
from deeplake_lite.widget.pictures.kinds import first_picture, is_picture
from deeplake_lite.widget.stored import Place, place_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deeplake_lite.dataset.selection import ReadTable
    from deeplake_lite.dataset.view import View
    from deeplake_lite.schema import Field, Schema

type Size = tuple[int, int]
"""Width and height, pixels."""

NOTE = "picture"
"""Note on a column of marks: the column of the pictures that they belong to."""


def own_picture(schema: Schema, f: Field) -> Field | None:
    """Return the column of the pictures that a column of marks belongs to; None where none is.

    A note names it: ``ds["boxes"].metadata["picture"] = "thumb"``. Without a note, it is the first
    column of pictures of the same group (``left/image`` for ``left/boxes``), else the first of all.

    Examples
    --------
    >>> from deeplake_lite.schema import Schema
    >>> fields = {"image": "image", "left/boxes": "boxes", "left/image": "image", "boxes": "boxes"}
    >>> schema = Schema.build(fields)
    >>> own_picture(schema, schema["boxes"]).name, own_picture(schema, schema["left/boxes"]).name
    ('image', 'left/image')
    """
    noted = f.metadata.get(NOTE)
    if isinstance(noted, str) and noted in schema and is_picture(schema[noted].htype):
        return schema[noted]
    others = [g for g in schema if g.name != f.name]
    group = [g for g in others if _group(g) == _group(f)]
    return first_picture(group) or first_picture(others)


def _group(f: Field) -> str:
    return f.name.rpartition("/")[0]


def why_not_drawn(
    view: View,
    marks: Field,
    picture: Field,
    positions: NDArray[np.int64],
    sizes: Sequence[Size | None],
) -> list[str | None]:
    """Return for each of some rows why its marks are not drawn over a picture; None where they are.

    Parameters
    ----------
    marks, picture : Field
        Columns of the view; the marks may also be a stored column that the query leaves out.
    positions : ndarray, (n,) int64
    sizes : sequence of (width, height) or None, n of them
        Of the pictures, pixels; None where a row has none, over which nothing is drawn anyway.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://belonging-doc", {"image": dl.Image("png"), "boxes": "boxes"})
    >>> ds.append({"image": [np.zeros((50, 100), "uint8")], "boxes": [[[0, 0, 9, 9]]]})
    >>> view = ds.query("SELECT image, image[:20] AS top, boxes")
    >>> image, top, boxes = view.schema
    >>> why_not_drawn(view, boxes, image, np.array([0]), [(100, 50)])
    [None]
    >>> why_not_drawn(view, boxes, top, np.array([0]), [(100, 20)])
    ["'boxes' is not drawn over 'top', which the query computes: ... Show 'image' as it is stored."]
    """
    shown, stored = place_of(view, picture, positions), place_of(view, marks, positions)
    if shown is None:
        own = own_picture(stored[0].schema, stored[1]) if stored else None
        return [_computed(marks, picture, own)] * len(positions)
    table, f, slots = stored or (shown[0], marks, shown[2])
    own = own_picture(table.schema, f)
    if own is None or _is_same(shown, (table, own, slots)):
        return [None] * len(positions)
    known = zip(_sizes(table, own, slots), sizes, strict=True)
    return [
        None if size is None or size == wanted else _other_size(marks, picture, own, size, wanted)
        for wanted, size in known
    ]


def _is_same(a: Place, b: Place) -> bool:
    return a[0] is b[0] and a[1].id == b[1].id and bool((a[2] == b[2]).all())


def _computed(marks: Field, picture: Field, own: Field | None) -> str:
    way = "Show a stored picture" if own is None else f"Show {own.name!r} as it is stored"
    return (
        f"{marks.name!r} is not drawn over {picture.name!r}, which the query computes: it may be "
        f"scaled or cut, so the marks could lie in the wrong place. {way}."
    )


def _other_size(marks: Field, picture: Field, own: Field, size: Size, wanted: Size | None) -> str:
    told = "whose size is not known" if wanted is None else _pixels(wanted)
    return (
        f"{marks.name!r} is not drawn over {picture.name!r} ({_pixels(size)}): it belongs to "
        f"{own.name!r} ({told}). Show that as the picture instead."
    )


def _pixels(size: Size) -> str:
    return f"{size[0]} × {size[1]} pixels"


def _sizes(table: ReadTable, f: Field, slots: NDArray[np.int64]) -> list[Size | None]:
    """Return the sizes of stored pictures, without reading them; None where they are not known."""
    found: list[Size | None] = [None] * len(slots)
    pixels = f.htype.pixels
    if pixels is None and not f.htype.is_array:
        return found
    first = 1 if pixels is not None and pixels.role == "object_masks" else 0
    there = np.flatnonzero(slots >= 0)
    try:
        shapes = table.shapes(f.id, slots[there])[:, first : first + 2]
    except LakeError:  # a damaged index: then nothing is drawn, and the cells say what is wrong
        return found
    for i, (height, width) in zip(there.tolist(), shapes.tolist(), strict=True):
        found[i] = (width, height) if height >= 0 else None
    return found
