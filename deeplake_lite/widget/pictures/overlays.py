"""What is drawn over a picture, as plain data in parts of its width and height.

Colours are the page's business: it gets class numbers, and pictures of class numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.htypes import Boxes, ClassLabel, Keypoints, Polygons, Sequence
from deeplake_lite.htypes.boxes import convert_boxes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.htypes import Htype
    from deeplake_lite.schema import Field, Schema

MOST = 2000
"""Marks of one row that are drawn."""

NOTE = "classes"
"""Note on a column of marks: the column that has their classes."""

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
    >>> marks(Boxes("xywh"), np.array([[10, 10, 20, 40]]), 100, 50, [3])
    {'boxes': [[0.1, 0.2, 0.3, 1.0]], 'c': [3], 'more': 0}
    """
    if value is None or isinstance(value, Exception):
        return None
    size = np.array([width, height], np.float64)
    found: dict[str, Any]
    match htype:
        case Boxes(format=format_, units=units):
            corners = convert_boxes(np.asarray(value, np.float64), format_, "xyxy")
            if units == "pixels":
                corners = corners / np.tile(size, 2)
            found = {"boxes": _rounded(corners[:MOST])}
        case Polygons():
            found = {"rings": [_rounded(np.asarray(ring) / size) for ring in value[:MOST]]}
        case Keypoints():
            points = np.asarray(value, np.float64)[:MOST].copy()
            points[..., :2] /= size
            found = {"points": _rounded(points)}
        case _:
            return None
    numbers = _classes(classes, len(value))
    return {**found, "c": numbers, "more": max(0, len(value) - MOST)}


def _classes(classes: Any, count: int) -> list[int] | None:
    """Return the class of each mark; None where there are not as many."""
    if classes is None or isinstance(classes, Exception) or len(classes) != count:
        return None
    return [int(number) for number in classes[:MOST]]


def _rounded(values: NDArray[Any]) -> list[Any]:
    found: list[Any] = np.round(np.nan_to_num(values), DIGITS).tolist()
    return found


def class_column(schema: Schema, f: Field) -> Field | None:
    """Return the column that has the classes of a column of marks; None where none is known.

    A note names it: ``ds["boxes"].metadata["classes"] = "labels"``. Without one it is the only
    column with several classes per row, in the same group if there is one.

    Examples
    --------
    >>> from deeplake_lite.schema import Schema
    >>> several = ClassLabel(["a"], multiple=True)
    >>> fields = {"boxes": Boxes(), "truth/boxes": Boxes(), "truth/labels": several}
    >>> schema = Schema.build(fields)
    >>> class_column(schema, schema["truth/boxes"]).name
    'truth/labels'
    """
    noted = f.metadata.get(NOTE)
    names = {g.name: g for g in schema}
    if isinstance(noted, str):
        return names.get(noted)
    several = [g for g in schema if _is_several(g.htype)]
    group = f.name.rpartition("/")[0]
    near = [g for g in several if g.name.rpartition("/")[0] == group]
    some = near or several
    return some[0] if len(some) == 1 else None


def _is_several(htype: Htype) -> bool:
    if isinstance(htype, Sequence):
        return isinstance(htype.of, ClassLabel)
    return isinstance(htype, ClassLabel) and htype.multiple
