"""Boxes as they are drawn in the page, in parts of its picture, and as their column has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.htypes import Boxes, convert_boxes

if TYPE_CHECKING:
    from numpy.typing import NDArray

SAME = 1e-5
"""Parts of a picture by which a box may move on its way through the page and still be the same."""


def boxes_from(
    fractions: Any, htype: Boxes, size: tuple[int, int], current: NDArray[Any]
) -> NDArray[Any]:
    """Return boxes that were drawn as their column has them.

    Parameters
    ----------
    fractions : sequence, (n, 4)
        Corners, xyxy, in parts of the picture's width and height.
    htype : Boxes
        Of the column.
    size : (width, height)
        Of the picture, pixels.
    current : ndarray, (m, 4)
        The boxes that the cell has: those that nobody moved stay as they are, to the last digit.

    Examples
    --------
    >>> old = np.array([[10, 10, 30, 20]], np.float32)
    >>> boxes_from([[0.1, 0.2, 0.3, 0.4], [0.5, 0, 1, 1]], Boxes("xywh"), (100, 50), old).tolist()
    [[10.0, 10.0, 20.0, 10.0], [50.0, 0.0, 50.0, 50.0]]
    """
    drawn = np.asarray(fractions, np.float64).reshape(-1, 4)
    drawn = np.hstack(
        [
            np.minimum(drawn[:, :2], drawn[:, 2:]),
            np.maximum(drawn[:, :2], drawn[:, 2:]),
        ]
    ).clip(0, 1)
    there = boxes_in(current, htype, size)
    scale = np.array([*size, *size]) if htype.units == "pixels" else np.ones(4)
    found = convert_boxes(drawn * scale, "xyxy", htype.format)
    if htype.dtype.startswith("int"):
        found = np.round(found)
    found = found.astype(htype.dtype)
    if len(there) and len(drawn):
        apart = np.abs(drawn[:, np.newaxis] - there[np.newaxis]).max(axis=2)
        nearest = apart.argmin(axis=1)
        same = apart.min(axis=1) <= SAME
        found[same] = np.asarray(current)[nearest[same]]
    return found


def boxes_in(boxes: Any, htype: Boxes, size: tuple[int, int]) -> NDArray[np.float64]:
    """Return a column's boxes as corners in parts of the picture, (n, 4)."""
    corners = np.asarray(boxes, np.float64).reshape(-1, 4)
    corners = convert_boxes(corners, htype.format, "xyxy")
    scale = np.array([*size, *size]) if htype.units == "pixels" else np.ones(4)
    found: NDArray[np.float64] = corners / scale
    return found
