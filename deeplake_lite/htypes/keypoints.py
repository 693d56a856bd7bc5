"""The type of keypoints of bodies, faces or hands: n instances per row, with k points each."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, override

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.errors import DamagedError, InvalidValueError, SchemaError
from deeplake_lite.htypes.array import shapes_of
from deeplake_lite.htypes.arrays import as_array, as_buffer, each, from_buffer, show_shape
from deeplake_lite.htypes.base import Check, Htype
from deeplake_lite.htypes.cells import RaggedCells
from deeplake_lite.htypes.dtypes import FIXED
from deeplake_lite.htypes.facets import Axes, Browser, Coordinates
from deeplake_lite.htypes.layouts import Ragged
from deeplake_lite.htypes.names import check_names
from deeplake_lite.htypes.words import pluralize

if TYPE_CHECKING:
    from collections.abc import Buffer, Iterator, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.htypes.cells import Values


@dataclass(frozen=True, repr=False, eq=False)
class Keypoints(Htype):
    """Keypoints of instances such as bodies, (n, k, dims) float32 per row, in pixels.

    Parameters
    ----------
    names : sequence of str, optional
        Names of the k points. Without names, k may differ from row to row.
    connections : sequence of (int, int), optional
        Pairs of points to connect with lines, counted from 0.
    dims : {3, 2}
        3 for (x, y, visibility) as in COCO (0: not labelled, 1: hidden, 2: visible), 2 for (x, y).

    Examples
    --------
    >>> Keypoints(["nose", "tail"], dims=2).encode([[[[1, 2], [3, 4]]], []]).shapes.tolist()
    [[1, 2, 2], [0, 2, 2]]
    """

    names: Sequence[str] = ()
    """Names of the points."""

    connections: Sequence[tuple[int, int]] = ()
    """Pairs of points to connect with lines."""

    _: KW_ONLY

    dims: int = 3
    """3 for (x, y, visibility), 2 for (x, y)."""

    name: ClassVar[str] = "keypoints"

    @override
    def __post_init__(self) -> None:
        self._set(names=check_names(self.names, "point"))
        if type(self.dims) is not int or self.dims not in (2, 3):
            raise SchemaError(
                f"dims must be 2 (x, y) or 3 (x, y, visibility), but it is {brief(self.dims)}."
            )
        self._set(connections=_check_connections(self.connections, len(self.names)))
        super().__post_init__()

    @property
    @override
    def layout(self) -> Ragged:
        return Ragged("float32", 3)

    @property
    @override
    def coordinates(self) -> Coordinates:
        parts: Any = ("x", "y", "visibility")[: self.dims]
        connections = tuple((a, b) for a, b in self.connections)
        return Coordinates("keypoints", parts, names=tuple(self.names), connections=connections)

    @property
    @override
    def axes(self) -> Axes:
        return (None, len(self.names) or None, self.dims)

    @property
    @override
    def is_plain(self) -> bool:
        return True

    @property
    @override
    def browser(self) -> Browser:
        return Browser("keypoints")

    @override
    def details(self) -> Iterator[str]:
        if self.names:
            yield pluralize(len(self.names), "point")

    @property
    @override
    def varying(self) -> int:
        """The number of varying axes: 1 (instances), or 2 if the number of points varies too."""
        return 1 if self.names else 2

    @property
    @override
    def blank(self) -> NDArray[Any]:
        return np.zeros((0, len(self.names), self.dims), np.float32)

    @override
    def values_from(self, of: Htype, values: Values) -> Values:
        """Return points in the order of this type's names.

        Raises
        ------
        InvalidValueError
            If the points have other names or another number of dims.
        """
        if not isinstance(of, Keypoints):
            return super().values_from(of, values)
        if of.dims != self.dims:
            if of.dims == 2:
                difference, hint = "have no visibility", "Add it as a third number"
            else:
                difference, hint = "also have a visibility", "Remove it: points[..., :2]"
            raise InvalidValueError(
                f"each point must have {self.dims} numbers, but these points {difference}. {hint}."
            )
        if not self.names or not of.names or self.names == of.names:
            return values
        if set(self.names) != set(of.names):
            other = min(set(self.names) ^ set(of.names))
            raise InvalidValueError(
                "points are matched by name, so both types must have the same point names, but "
                f"only one of them has {other!r}. Select the points yourself, and pass arrays: "
                "[row[:, numbers] for row in column[:]], with numbers such as [0, 2, 1]."
            )
        order = [of.names.index(name) for name in self.names]
        return [None if v is None else _reorder(v, order) for v in values]

    @override
    def _encode(self, values: Values, check: Check) -> RaggedCells:
        arrays = each(values, self._read)
        return RaggedCells([as_buffer(array) for array in arrays], shapes_of(arrays, 3))

    def _read(self, value: Any) -> NDArray[Any]:
        """Return the points of one row as an array."""
        points = as_array(value, "float32", (None, None, None), FIXED)
        is_whole = len(points) or points.shape[2:] == (self.dims,)
        count = len(self.names) or (points.shape[1] if is_whole else 0)
        if not len(points):
            return np.zeros((0, count, self.dims), np.float32)
        if points.shape[1:] != (count, self.dims):
            expected = f"(n, {count if self.names else 'k'}, {self.dims})"
            raise InvalidValueError(
                f"keypoints must have shape {expected}, but they have {points.shape}. Reshape "
                "COCO's flat lists with .reshape(n, -1, 3), or declare other names or dims."
            )
        self._check_points(points)
        return points

    def _check_points(self, points: NDArray[Any]) -> None:
        """Check that points are finite, and that their visibilities are in COCO's range."""
        bad = ~np.isfinite(points).all(axis=2)
        hint = (
            "Write points that are not labelled as (0, 0, 0)"
            if self.dims == 3
            else "Declare dims=3 to mark points that are not labelled"
        )
        rule = "finite"
        if self.dims == 3 and not bad.any():
            bad, rule = (points[..., 2] < 0) | (points[..., 2] > 2), "(x, y, visibility of 0 to 2)"
        if bad.any():
            instance, point = (int(index) for index in np.argwhere(bad)[0])
            raise InvalidValueError(
                f"point {point} of instance {instance} must be {rule}, but it is "
                f"{points[instance, point].tolist()}. {hint}."
            )

    @override
    def check_shape(self, shape: tuple[int, ...]) -> None:
        points = (len(self.names) or None, self.dims)
        if len(shape) != 3 or any(
            n not in (None, m) for n, m in zip(points, shape[1:], strict=True)
        ):
            raise DamagedError(
                f"Keypoints must have shape {show_shape((None, *points))}, but a cell has {shape}. "
                "Run ds.verify() to find all such cells."
            )

    @override
    def decode(self, data: Buffer, shape: tuple[int, ...]) -> NDArray[Any]:
        self.check_shape(shape)
        return from_buffer(data, "float32", shape)

    @override
    def preview(self, value: NDArray[Any]) -> str:
        count = f"{len(value)} instance{'' if len(value) == 1 else 's'}"
        return f"{count} of {value.shape[1]} points" if len(value) else count


def _reorder(points: object, order: list[int]) -> NDArray[Any]:
    """Return the points of a row in another order, in which point i is the old point ``order[i]``.

    >>> _reorder([[[1, 1], [2, 2]]], [1, 0]).tolist()
    [[[2.0, 2.0], [1.0, 1.0]]]
    """
    array = np.asarray(points, np.float32)
    return array[:, order] if len(array) else array.reshape(0, len(order), 0)


def _check_connections(connections: Any, count: int) -> tuple[tuple[int, int], ...]:
    """Return pairs of points as tuples. Raises SchemaError for invalid pairs."""
    pairs = connections if isinstance(connections, list | tuple) else [connections]
    for pair in pairs:
        if (
            not isinstance(pair, list | tuple)
            or len(pair) != 2
            or not all(type(point) is int and 0 <= point < (count or point + 1) for point in pair)
        ):
            bound = f" below {count}" if count else ""
            raise SchemaError(
                f"connections must be pairs of point numbers{bound}, counted from 0, but one of "
                f"them is {brief(pair)}. Write pairs such as (0, 1)."
            )
    return tuple((pair[0], pair[1]) for pair in pairs)
