"""Boxes as they are drawn in the page, in parts of its picture, and as their column has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes import convert_boxes
from deeplake_lite.htypes.arrays import cast
from deeplake_lite.widget.images.overlays import marks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from deeplake_lite.htypes import Htype

DIGITS = 9
"""Of a place in a picture, by which boxes are the same: moving one there and back leaves noise."""


def boxes_from(
    fractions: Any, htype: Htype, size: tuple[int, int], current: NDArray[Any]
) -> NDArray[Any]:
    """Return boxes that were drawn as their column has them.

    Parameters
    ----------
    fractions : sequence, (n, 4)
        Corners, xyxy, in parts of the picture's width and height.
    htype : Htype
        Of the column, whose values are boxes.
    size : (width, height)
        Of the picture, pixels.
    current : ndarray, (m, 4)
        The boxes that the page was shown: those that nobody moved stay as they are, to the last
        digit, wherever they lie. The others are clipped to the picture.

    Raises
    ------
    InvalidValueError
        For corners that are no numbers, or that the column's dtype cannot hold.

    Examples
    --------
    >>> from deeplake_lite.htypes import Boxes
    >>> old = np.array([[-9.5, 10, 30, 20]], np.float32)
    >>> drawn = [[-0.095, 0.2, 0.205, 0.6], [0.5, -0.1, 1, 1]]
    >>> boxes_from(drawn, Boxes("xywh"), (100, 50), old).tolist()
    [[-9.5, 10.0, 30.0, 20.0], [50.0, 0.0, 50.0, 50.0]]
    """
    drawn = np.asarray(fractions, np.float64).reshape(-1, 4)
    if not np.isfinite(drawn).all():
        raise InvalidValueError(
            "the corners of a box must be finite numbers, got nan or inf. Draw it again."
        )
    found = _as_stored(drawn, htype, size)
    for at, same in _unmoved(drawn, htype, size, current):
        found[at] = current[same]
    return found


def _as_stored(drawn: NDArray[Any], htype: Htype, size: tuple[int, int]) -> NDArray[Any]:
    """Return corners, within the picture and in order, in a column's format, units and dtype."""
    corners = np.concatenate(
        [np.minimum(drawn[:, :2], drawn[:, 2:]), np.maximum(drawn[:, :2], drawn[:, 2:])], axis=1
    ).clip(0, 1)
    places = htype.coordinates
    assert places is not None
    scale = np.array([*size, *size]) if places.units == "pixels" else np.ones(4)
    converted = convert_boxes(corners * scale, "xyxy", places.format)
    if htype.value_dtype.startswith("int"):
        converted = np.round(converted).astype(np.int64)
    return cast(converted, htype.value_dtype)


def _unmoved(
    drawn: NDArray[Any], htype: Htype, size: tuple[int, int], current: NDArray[Any]
) -> Iterator[tuple[int, int]]:
    """Yield the boxes that are where the page was shown them, each with the one that it is."""
    shown = marks(htype, current, *size)
    seen, now = list(_keys(shown["boxes"] if shown else [])), list(_keys(drawn))
    stayed = [at for at, (box, old) in enumerate(zip(now, seen, strict=False)) if box == old]
    yield from zip(stayed, stayed, strict=True)
    waiting: dict[tuple[float, ...], list[int]] = {}
    for number in sorted({*range(len(seen))} - {*stayed}):
        waiting.setdefault(seen[number], []).append(number)
    for at in sorted({*range(len(now))} - {*stayed}):  # one before them was removed
        if waiting.get(now[at]):
            yield at, waiting[now[at]].pop(0)


def _keys(corners: Any) -> Iterator[tuple[float, ...]]:
    return map(tuple, np.round(np.reshape(corners, (-1, 4)), DIGITS).tolist())
