"""Marks over an image as plain data, with coordinates as fractions of its width and height.

Classes are numbers or, for masks, the pixels of an image. The page chooses the colours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.htypes.boxes import convert_boxes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.htypes import Htype
    from deeplake_lite.htypes.facets import Coordinates
    from deeplake_lite.widget.images.cell import Marks

MOST = 2000
"""Maximum number of marks drawn for a row."""

DIGITS = 5
"""Number of decimal digits of coordinates, enough to locate a pixel in images of 100,000 pixels."""


def marks(
    htype: Htype, value: Any, width: int, height: int, classes: object = None
) -> Marks | None:
    """Return a row's marks, or None if it has no marks.

    Parameters
    ----------
    htype : Htype
        Type of the marks.
    value : object
        Value of the row, or an exception if it could not be read.
    width, height : int
        Size of the image in pixels.
    classes : sequence of int, optional
        Class of each mark.

    Examples
    --------
    >>> from deeplake_lite.htypes import Boxes
    >>> marks(Boxes("xywh"), np.array([[10, 10, 20, 40]]), 100, 50, [3])
    {'boxes': [[0.1, 0.2, 0.3, 1.0]], 'c': [3], 'more': 0}
    """
    coordinates = htype.coordinates
    if coordinates is None or value is None or isinstance(value, Exception):
        return None
    size = _size(coordinates, width, height)
    shapes: Marks
    match coordinates.marks:
        case "boxes":
            corners = convert_boxes(np.asarray(value, np.float64), coordinates.format, "xyxy")
            shapes = {"boxes": _round(corners[:MOST] / size)}
        case "polygons":
            shapes = {"rings": [_round(np.asarray(ring) / size) for ring in value[:MOST]]}
        case "keypoints":
            shapes = {"points": _round(np.asarray(value, np.float64)[:MOST] / size)}
    numbers = _classes(classes, len(value))
    return {**shapes, "c": numbers, "more": max(0, len(value) - MOST)}


def _size(coordinates: Coordinates, width: int, height: int) -> NDArray[np.float64]:
    """Return the divisors that turn the coordinates of a mark into fractions of the image."""
    if coordinates.units == "fraction":
        return np.ones(len(coordinates.parts))
    along = {"x": width, "y": height, "visibility": 1}
    return np.array([along[part] for part in coordinates.parts], np.float64)


def _classes(classes: Any, count: int) -> list[int] | None:
    """Return the class of each mark, or None if there are more or fewer classes than marks."""
    if classes is None or isinstance(classes, Exception) or len(classes) != count:
        return None
    return [int(number) for number in classes[:MOST]]


def _round(values: NDArray[Any]) -> list[Any]:
    numbers: list[object] = np.round(np.nan_to_num(values), DIGITS).tolist()
    return numbers
