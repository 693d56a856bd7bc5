"""Conversion of boxes drawn in the page, in fractions of the image, to the format of a column."""

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
"""Number of decimal digits to which corners are compared.

Digits after these may change when a user moves a box back and forth.
"""


def boxes_from(
    fractions: object, htype: Htype, size: tuple[int, int], current: NDArray[Any]
) -> NDArray[Any]:
    """Convert drawn boxes to the format, units and dtype of a column.

    Parameters
    ----------
    fractions : sequence, (n, 4)
        Corners (xyxy) as fractions of the image's width and height.
    htype : Htype
        Type of the boxes' column.
    size : (width, height)
        Size of the image in pixels.
    current : ndarray, (m, 4)
        The boxes that the page showed. A box that the user did not move keeps its exact value, even
        if it exceeds the image. Other boxes are clipped to the image.

    Raises
    ------
    InvalidValueError
        When corners are not finite, or the column's dtype cannot represent them.

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
            "The corners of a box must be finite numbers, but one of them is nan or inf. Draw the "
            "box again."
        )
    boxes = _convert(drawn, htype, size)
    for at, same in _unmoved(drawn, htype, size, current):
        boxes[at] = current[same]
    return boxes


def _convert(drawn: NDArray[Any], htype: Htype, size: tuple[int, int]) -> NDArray[Any]:
    """Clip and sort corners, and convert them to a column's format, units and dtype."""
    corners = np.concatenate(
        [np.minimum(drawn[:, :2], drawn[:, 2:]), np.maximum(drawn[:, :2], drawn[:, 2:])], axis=1
    ).clip(0, 1)
    coordinates = htype.coordinates
    assert coordinates is not None
    scale = np.array([*size, *size]) if coordinates.units == "pixels" else np.ones(4)
    converted = convert_boxes(corners * scale, "xyxy", coordinates.format)
    if htype.value_dtype.startswith("int"):
        converted = np.round(converted).astype(np.int64)
    return cast(converted, htype.value_dtype)


def _unmoved(
    drawn: NDArray[Any], htype: Htype, size: tuple[int, int], current: NDArray[Any]
) -> Iterator[tuple[int, int]]:
    """Yield two indices for each unmoved box: in `drawn`, and in `current`."""
    shown = marks(htype, current, *size)
    before, now = list(_keys(shown["boxes"] if shown else [])), list(_keys(drawn))
    stayed = [at for at, (box, old) in enumerate(zip(now, before, strict=False)) if box == old]
    yield from zip(stayed, stayed, strict=True)
    # Removing a box changes the indices of later boxes, so match boxes by their corners.
    unmatched: dict[tuple[float, ...], list[int]] = {}
    for number in sorted({*range(len(before))} - {*stayed}):
        unmatched.setdefault(before[number], []).append(number)
    for at in sorted({*range(len(now))} - {*stayed}):
        if unmatched.get(now[at]):
            yield at, unmatched[now[at]].pop(0)


def _keys(corners: Any) -> Iterator[tuple[float, ...]]:
    return map(tuple, np.round(np.reshape(corners, (-1, 4)), DIGITS).tolist())
