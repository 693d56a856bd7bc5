"""Annotated objects and images: the form in which all formats of annotations exchange them.

An importer parses its file into `Picture` and `Object`, from which the cells of all columns are
made; an exporter gets the same from the cells. Everything that they cannot hold is kept, by key, as
the *rest* of an object. It is written again as long as the cells have not been edited.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from numpy.typing import NDArray

FLAGS = ("difficult", "truncated", "occluded")
"""Properties of objects that are true or false, each with a column of its own."""

MISSING = "-"
"""Key of the list of keys that a rebuilt object has, but the object of the file lacks."""

BOXES_LOST = "the boxes of {} objects become the smallest ones around their shapes"
"""The loss if the shape of an object is written without its box."""

NO_POINTS = np.zeros((0, 3), np.float32)


@dataclass(frozen=True, eq=False)
class Object:
    """An object in an image. All coordinates are pixels from the upper left corner."""

    label: str | None = None
    """Name of its class."""

    box: NDArray[np.float32] = field(default_factory=lambda: np.zeros(4, np.float32))
    """Its box, xyxy; the smallest one around it if the file has none."""

    outlines: Sequence[NDArray[np.float32]] = ()
    """Its outlines, (k, 2) each."""

    lines: Sequence[NDArray[np.float32]] = ()
    """Open lines, (k, 2) each."""

    points: NDArray[np.float32] = field(default_factory=lambda: NO_POINTS)
    """Its keypoints, (k, 3): x, y, visibility."""

    mask: NDArray[np.bool_] | None = None
    """Its mask, (height, width) of the image."""

    score: float | None = None
    """Confidence of a prediction."""

    flags: Mapping[str, bool] = field(default_factory=dict)
    """Its properties among `FLAGS`."""

    rest: Mapping[str, Any] = field(default_factory=dict)
    """Values of the file that the other fields do not hold."""

    @property
    def kind(self) -> str:
        """The shape that describes the object best."""
        if self.mask is not None:
            return "mask"
        if len(self.outlines):
            return "polygon"
        if len(self.lines):
            return "polyline"
        return "points" if len(self.points) else "box"

    @property
    def has_own_box(self) -> bool:
        """Whether the box is not the smallest one around the shape."""
        return not np.array_equal(self.box, box_of(self))


@dataclass(frozen=True, eq=False)
class Picture:
    """An image with its objects."""

    path: str
    """Its key."""

    objects: Sequence[Object] = ()

    image: Any = None
    """Its file: a path, bytes, or None."""

    split: str | None = None

    width: int | None = None
    height: int | None = None

    tags: Sequence[str] = ()
    """Names of the classes of the whole image."""

    columns: Mapping[str, Any] = field(default_factory=dict)
    """Values of further columns, by name."""

    rest: Mapping[str, Any] = field(default_factory=dict)
    """Values of the file that the other fields do not hold."""

    error: str | None = None
    """Why the row is bad; its other fields are placeholders then."""


def bounds(parts: Sequence[NDArray[Any]]) -> NDArray[np.float32]:
    """Return the smallest box around points, xyxy.

    >>> bounds([np.array([[1, 5], [4, 2]])]).tolist()
    [1.0, 2.0, 4.0, 5.0]
    """
    if not sum(map(len, parts)):
        return np.zeros(4, np.float32)
    points = np.concatenate([np.asarray(part)[:, :2] for part in parts])
    box: NDArray[np.float32] = np.concatenate([points.min(0), points.max(0)]).astype(np.float32)
    return box


def box_of_mask(mask: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Return the smallest box around the pixels of a mask, xyxy.

    >>> box_of_mask(np.array([[False, False], [False, True]])).tolist()
    [1.0, 1.0, 2.0, 2.0]
    """
    columns, rows = np.flatnonzero(mask.any(0)), np.flatnonzero(mask.any(1))
    if not columns.size:
        return np.zeros(4, np.float32)
    return np.array([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1], np.float32)


def box_of(own: Object) -> NDArray[np.float32]:
    """Return the smallest box around the shape of an object; its own box if that is its shape."""
    match own.kind:
        case "mask":
            assert own.mask is not None
            return box_of_mask(own.mask)
        case "polygon":
            return bounds(own.outlines)
        case "polyline":
            return bounds(own.lines)
        case "points":
            return bounds([own.points[own.points[:, 2] > 0]])
    return own.box


def trimmed(points: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return keypoints without those at the end that are not labelled, which fill up a cell."""
    labelled = np.flatnonzero(points.any(axis=1))
    return points[: labelled[-1] + 1] if labelled.size else points[:0]


def is_same(a: Object, b: Object) -> bool:
    """Return whether two objects have the same cells."""
    return (
        a.label == b.label
        and np.array_equal(a.box, b.box)
        and _are_same(a.outlines, b.outlines)
        and _are_same(a.lines, b.lines)
        and np.array_equal(trimmed(a.points), trimmed(b.points))
        and _is_same_mask(a.mask, b.mask)
        and _narrow(a.score) == _narrow(b.score)
        and {k for k, v in a.flags.items() if v} == {k for k, v in b.flags.items() if v}
    )


def _narrow(score: float | None) -> float | None:
    return None if score is None else float(np.float32(score))


def _are_same(a: Sequence[NDArray[Any]], b: Sequence[NDArray[Any]]) -> bool:
    return len(a) == len(b) and all(map(np.array_equal, a, b))


def _is_same_mask(a: NDArray[np.bool_] | None, b: NDArray[np.bool_] | None) -> bool:
    if a is None or b is None:
        return (a is None or not a.any()) and (b is None or not b.any())
    return np.array_equal(a, b)


# ---- values that cells do not hold


def rest_of(original: Mapping[str, Any], rebuilt: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values by which an object of the file differs from the one made from its cells.

    >>> rest_of({"x": 1, "pose": "left"}, {"x": 1, "y": 2})
    {'pose': 'left', '-': ['y']}
    """
    rest = {k: v for k, v in original.items() if k not in rebuilt or rebuilt[k] != v}
    if gone := [key for key in rebuilt if key not in original]:
        rest[MISSING] = gone
    return rest


def with_rest(rebuilt: Mapping[str, Any], rest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the object of the file: the reverse of `rest_of`."""
    gone = rest.get(MISSING)
    gone = gone if isinstance(gone, list) else []
    merged = {**rebuilt, **{k: v for k, v in rest.items() if k != MISSING}}
    return {k: v for k, v in merged.items() if k not in gone}


def restored(
    own: Object,
    rebuilt: Mapping[str, Any],
    parse: Callable[[Mapping[str, Any]], Object],
    derived: Collection[str],
    lose: Callable[[str], object] | None = None,
) -> dict[str, Any]:
    """Return an object as its file had it, with the changes that people have made to its cells.

    Parameters
    ----------
    own : Object
        The object, from its cells.
    rebuilt : mapping
        The object in the format of the file, from its cells alone.
    parse : callable
        Returns the object for one in the format of the file. Raises ValueError.
    derived : collection of str
        Keys that cells determine.
    lose : callable, optional
        Called for a loss: an edited box that the shape of the object replaces.
    """
    if not own.rest:
        return dict(rebuilt)
    whole = with_rest(rebuilt, own.rest)
    try:
        if is_same(parse(whole), own):
            return whole
    except (ValueError, TypeError, KeyError):  # people may have edited the JSON
        pass
    if lose is not None and own.kind not in ("box", "points") and own.has_own_box:
        lose(BOXES_LOST)
    kept = {k: v for k, v in own.rest.items() if k not in derived and k != MISSING}
    return {**rebuilt, **kept}


# ---- numbers


def decimal(value: float | np.floating[Any]) -> str:
    """Return a number as text, without a fraction if it has none.

    >>> decimal(np.float32(473.07)), decimal(12.0)
    ('473.07', '12')
    """
    number = float(value)
    if number.is_integer() and abs(number) < 1e15:
        return str(int(number))
    return str(np.float32(value))  # the fewest digits that are rounded to it


def number_of(value: object) -> float:
    """Return the number in a text, or a JSON number. Raises ValueError unless it is finite."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"must be a number, but it is {str(value)[:40]!r}")  # noqa: TRY004
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise ValueError(f"must be a number, but it is {str(value)[:40]!r}") from None
    if not abs(number) < 3e38:  # the limit of float32; NaN is not below it
        raise ValueError(f"must be a finite number, but it is {str(value)[:40]!r}")
    return number


# ---- masks

MOST_PIXELS = 2**28
"""Maximum number of pixels of the image of a mask, and of all masks of an image together times 8.

A file may claim any size, so it is checked before memory is allocated.
"""


def check_mask_size(width: int, height: int) -> None:
    """Check the size of a mask before it is decoded. Raises ValueError."""
    if width < 1 or height < 1 or width * height > MOST_PIXELS:
        raise ValueError(
            f"the image of a mask must have 1 to {MOST_PIXELS:,} pixels, but it has {width:,} x "
            f"{height:,}"
        )


def check_masks(objects: Sequence[Object]) -> None:
    """Check that the masks of an image have one size, and fit in memory. Raises ValueError."""
    shapes = {own.mask.shape for own in objects if own.mask is not None}
    if len(shapes) > 1:
        raise ValueError(
            f"all masks of an image must have its size, but they have {sorted(shapes)}"
        )
    for height, width in shapes:
        if height * width * len(objects) > 8 * MOST_PIXELS:
            raise ValueError(
                f"the masks of an image may have {8 * MOST_PIXELS:,} pixels, but {len(objects):,} "
                f"objects of {width:,} x {height:,} have more"
            )
