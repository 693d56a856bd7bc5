"""The type of polygons: any number of outlines per row, with any number of corners."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, override

import numpy as np

from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes.array import Array
from deeplake_lite.htypes.arrays import as_buffer
from deeplake_lite.htypes.base import Check, Htype
from deeplake_lite.htypes.cells import RaggedCells
from deeplake_lite.htypes.dtypes import FIXED, Dtypes
from deeplake_lite.htypes.facets import Browser, Coordinates
from deeplake_lite.htypes.layouts import Nested
from deeplake_lite.htypes.nesting import nest
from deeplake_lite.htypes.words import numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.htypes.cells import Cells, NestedCells, Values


@dataclass(frozen=True, repr=False, eq=False)
class _Polygon(Array):
    """One outline: an array (k, 2) of at least three finite corners."""

    _dtypes: ClassVar[Dtypes] = FIXED

    @override
    def _encode(self, values: Values, check: Check) -> Cells:
        if _are_outlines(values):  # checking a whole block is faster than checking each outline
            shapes = np.array([array.shape for array in values], np.int32).reshape(-1, 2)
            return RaggedCells([as_buffer(array) for array in values], shapes)
        return super()._encode(values, check)

    @override
    def _read(self, value: object) -> NDArray[Any]:
        return _check_corners(super()._read(value))


_POLYGON = _Polygon("float32", (None, 2))


@dataclass(frozen=True, repr=False, eq=False)
class Polygons(Htype):
    """Outlines in an image: a list of arrays (k, 2) float32 per row, in pixels, x before y.

    Examples
    --------
    >>> Polygons().encode([[[[0, 0], [4, 0], [0, 3]]], []]).counts.tolist()
    [1, 0]
    """

    name: ClassVar[str] = "polygons"

    @property
    @override
    def layout(self) -> Nested:
        return Nested(Array("float32", (None, 2)))

    @property
    @override
    def coordinates(self) -> Coordinates:
        return Coordinates("polygons", ("x", "y"))

    @property
    @override
    def browser(self) -> Browser:
        return Browser("polygons")

    @override
    def to_words(self, value: Values) -> str:
        return "[" + ", ".join(map(numbers, value)) + "]"

    @property
    @override
    def blank(self) -> list[object]:
        return []

    @override
    def values_from(self, of: Htype, values: Values) -> Values:
        """Return the values as outlines. Raises InvalidValueError if the values are keypoints."""
        if of.name == "keypoints":
            raise InvalidValueError(
                "must be polygons, but the values are keypoints, which are rarely the corners of a "
                "polygon. If these points are, pass them as arrays: column[:]."
            )
        return super().values_from(of, values)

    @override
    def _encode(self, values: Values, check: Check) -> NestedCells:
        return nest(values, _POLYGON, check, without_nulls=lambda: "Leave the polygon out.")

    @override
    def decode(self, data: Values, shape: tuple[int, ...]) -> list[NDArray[Any]]:
        return list(data)

    @override
    def preview(self, value: Values) -> str:
        corners = ", ".join(str(len(polygon)) for polygon in value[:8])
        count = f"{len(value)} polygon{'' if len(value) == 1 else 's'}"
        return (
            f"{count} of {corners} corners{', …' if len(value) > 8 else ''}"
            if len(value)
            else count
        )


def _are_outlines(values: Values) -> bool:
    """Return whether all values are valid outlines that need no conversion."""
    return all(
        type(v) is np.ndarray and v.dtype == np.float32 and v.ndim == 2 and v.shape[1] == 2
        and len(v) >= 3
        for v in values
    ) and bool(not len(values) or np.isfinite(np.concatenate(values)).all())  # fmt: skip


def _check_corners(polygon: NDArray[Any]) -> NDArray[Any]:
    """Check that a polygon has at least three finite corners, and return the polygon."""
    if len(polygon) < 3:
        raise InvalidValueError(
            f"a polygon must have at least three corners, but it has {len(polygon)}. Leave the "
            "polygon out."
        )
    if not np.isfinite(polygon).all():
        corner = int(np.flatnonzero(~np.isfinite(polygon).all(axis=1))[0])
        raise InvalidValueError(
            f"corner {corner} must be finite, but it is {polygon[corner].tolist()}. Leave the "
            "corner out."
        )
    return polygon
