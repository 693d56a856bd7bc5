"""What is drawn over a picture, as plain data in parts of its width and height.

Colours are the page's business: it gets class numbers, and pictures of class numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.htypes.boxes import convert_boxes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.htypes import Htype
    from deeplake_lite.htypes.facets import Coordinates

MOST = 2000
"""Marks of one row that are drawn."""

DIGITS = 5
"""Of a place in a picture: a pixel in 100,000."""


def marks(
    htype: Htype, value: Any, width: int, height: int, classes: Any = None
) -> dict[str, Any] | None:
    """Return the marks of a row.

    Parameters
    ----------
    width, height : int
        Of the picture, pixels.
    classes : sequence of int, optional
        Class of each mark.

    Examples
    --------
    >>> from deeplake_lite.htypes import Boxes
    >>> marks(Boxes("xywh"), np.array([[10, 10, 20, 40]]), 100, 50, [3])
    {'boxes': [[0.1, 0.2, 0.3, 1.0]], 'c': [3], 'more': 0}
    """
    places = htype.coordinates
    if places is None or value is None or isinstance(value, Exception):
        return None
    size = _size(places, width, height)
    found: dict[str, Any]
    match places.marks:
        case "boxes":
            corners = convert_boxes(np.asarray(value, np.float64), places.format, "xyxy")
            found = {"boxes": _rounded(corners[:MOST] / size)}
        case "polygons":
            found = {"rings": [_rounded(np.asarray(ring) / size) for ring in value[:MOST]]}
        case "keypoints":
            found = {"points": _rounded(np.asarray(value, np.float64)[:MOST] / size)}
    numbers = _classes(classes, len(value))
    return {**found, "c": numbers, "more": max(0, len(value) - MOST)}


def _size(places: Coordinates, width: int, height: int) -> NDArray[np.float64]:
    """Return by which each number of a place is divided to be a part of the picture."""
    if places.units == "fraction":
        return np.ones(len(places.parts))
    along = {"x": width, "y": height, "visibility": 1}
    return np.array([along[part] for part in places.parts], np.float64)


def _classes(classes: Any, count: int) -> list[int] | None:
    """Return the class of each mark; None where there are not as many."""
    if classes is None or isinstance(classes, Exception) or len(classes) != count:
        return None
    return [int(number) for number in classes[:MOST]]


def _rounded(values: NDArray[Any]) -> list[Any]:
    found: list[Any] = np.round(np.nan_to_num(values), DIGITS).tolist()
    return found
