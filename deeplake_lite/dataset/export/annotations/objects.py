"""Annotated objects and images, in a form that all annotation formats share.

An importer parses a file into instances of `Picture` and `Object`, and converts these to cells. An
exporter builds the same instances from cells. Values in the file that have no field in these
classes are kept in the dict `rest`, and are exported as long as the object's cells have not been
edited.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from numpy.typing import NDArray

FLAGS = ("difficult", "truncated", "occluded")
"""Boolean properties of objects, each with its own column."""

MISSING = "-"
"""Key in `Object.rest` for a list of the keys that an export builds, but that the file lacks."""

# Sentences about losses, in the form that `portable.agree` expects.
BOXES_LOST = (
    "the [box|boxes] of {} [object is|objects are] replaced by the bounding "
    "[box of its shape|boxes of their shapes]"
)
"""The loss when an object's shape is written without its box."""
KEYPOINTS_LOST = (
    "the keypoints of {} [object|objects] are left out, because "
    "[the object has another shape|the objects have other shapes]"
)
"""The loss when an object with keypoints is written with another shape."""
OUTLINES_LOST = (
    "the outlines of {} [object|objects] are left out, because "
    "[the object has a mask|the objects have masks]"
)
"""The loss when an object with outlines is written as a mask."""
OUTLINES_SPLIT = (
    "{} [object|objects] with several outlines [is|are] split into one polygon per outline"
)
"""The loss when a format cannot represent an object with several outlines."""
IMAGES_MISSING = "{} [row has|rows have] no image, so importers will not find [it|them]"
"""The loss when a row without an image is written to a format that lists image files."""

NO_POINTS = np.zeros((0, 3), np.float32)


@dataclass(frozen=True, eq=False)
class Object:
    """An object in an image. All coordinates are pixels from the upper left corner."""

    label: str | None = None
    """Name of the object's class, or None if it has none."""

    box: NDArray[np.float32] = field(default_factory=lambda: np.zeros(4, np.float32))
    """Box of the object, as xyxy, or the bounding box of its shape if the file has no box."""

    outlines: Sequence[NDArray[np.float32]] = ()
    """Outlines of the object, (k, 2) each."""

    lines: Sequence[NDArray[np.float32]] = ()
    """Open lines that describe the object, (k, 2) each."""

    points: NDArray[np.float32] = field(default_factory=lambda: NO_POINTS)
    """Keypoints of the object, (k, 3): x, y, visibility."""

    mask: NDArray[np.bool_] | None = None
    """Mask of the object, (height, width) of the image, or None if it has none."""

    score: float | None = None
    """Confidence of a prediction, or None for other objects."""

    flags: Mapping[str, bool] = field(default_factory=dict)
    """Maps the names of flags in `FLAGS` to the values that the flags have for the object."""

    rest: Mapping[str, Any] = field(default_factory=dict)
    """Values of the file that the other fields cannot hold."""

    @property
    def kind(self) -> str:
        """The shape that describes the object best: mask, polygon, polyline, points or box."""
        if self.mask is not None:
            return "mask"
        if len(self.outlines):
            return "polygon"
        if len(self.lines):
            return "polyline"
        return "points" if len(self.points) else "box"

    @property
    def has_own_box(self) -> bool:
        """Whether the object's box differs from the bounding box of its shape."""
        return not np.array_equal(self.box, box_of(self))


@dataclass(frozen=True, eq=False)
class Picture:
    """An image with its objects."""

    path: str
    """Path of the image, by which the image is identified."""

    objects: Sequence[Object] = ()

    image: Any = None
    """The image file, as a path or as bytes, or None if there is no file."""

    split: str | None = None

    width: int | None = None
    height: int | None = None

    tags: Sequence[str] = ()
    """Names of the classes that the image as a whole belongs to."""

    columns: Mapping[str, Any] = field(default_factory=dict)
    """Maps the names of other columns to their values for this image."""

    rest: Mapping[str, Any] = field(default_factory=dict)
    """Values of the file that the other fields cannot hold."""

    error: str | None = None
    """Reason why the row is invalid, or None. In an invalid row, other fields are placeholders."""


def bounds(parts: Sequence[NDArray[Any]]) -> NDArray[np.float32]:
    """Return the bounding box, as xyxy, of all points in `parts`, or zeros if there are no points.

    >>> bounds([np.array([[1, 5], [4, 2]])]).tolist()
    [1.0, 2.0, 4.0, 5.0]
    """
    if not sum(map(len, parts)):
        return np.zeros(4, np.float32)
    points = np.concatenate([np.asarray(part)[:, :2] for part in parts])
    box: NDArray[np.float32] = np.concatenate([points.min(0), points.max(0)]).astype(np.float32)
    return box


def box_of_mask(mask: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Return the bounding box of a mask, as xyxy, or zeros if the mask is empty.

    >>> box_of_mask(np.array([[False, False], [False, True]])).tolist()
    [1.0, 1.0, 2.0, 2.0]
    """
    columns, rows = np.flatnonzero(mask.any(0)), np.flatnonzero(mask.any(1))
    if not columns.size:
        return np.zeros(4, np.float32)
    return np.array([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1], np.float32)


def box_of(obj: Object) -> NDArray[np.float32]:
    """Return the bounding box of an object's shape, or its own box if it has no other shape."""
    match obj.kind:
        case "mask":
            assert obj.mask is not None
            return box_of_mask(obj.mask)
        case "polygon":
            return bounds(obj.outlines)
        case "polyline":
            return bounds(obj.lines)
        case "points":
            return bounds([obj.points[obj.points[:, 2] > 0]])
    return obj.box


def trim_keypoints(points: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return keypoints without the unlabelled keypoints at the end, which only pad a cell."""
    labelled = np.flatnonzero(points.any(axis=1))
    return points[: labelled[-1] + 1] if labelled.size else points[:0]


def is_same(a: Object, b: Object) -> bool:
    """Return whether two objects are stored as the same cells."""
    return (
        a.label == b.label
        and np.array_equal(a.box, b.box)
        and _are_same(a.outlines, b.outlines)
        and _are_same(a.lines, b.lines)
        and np.array_equal(trim_keypoints(a.points), trim_keypoints(b.points))
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


# ---- values that cells cannot hold


def rest_of(original: Mapping[str, Any], rebuilt: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of an object in a file that cannot be rebuilt from the object's cells.

    >>> rest_of({"x": 1, "pose": "left"}, {"x": 1, "y": 2})
    {'pose': 'left', '-': ['y']}
    """
    rest = {k: v for k, v in original.items() if k not in rebuilt or rebuilt[k] != v}
    if missing := [key for key in rebuilt if key not in original]:
        rest[MISSING] = missing
    return rest


def with_rest(rebuilt: Mapping[str, Any], rest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the object as it was in the file: the inverse of `rest_of`."""
    missing = rest.get(MISSING)
    missing = missing if isinstance(missing, list) else []
    merged = {**rebuilt, **{k: v for k, v in rest.items() if k != MISSING}}
    return {k: v for k, v in merged.items() if k not in missing}


def restore_object(
    obj: Object,
    rebuilt: Mapping[str, Any],
    parse: Callable[[Mapping[str, Any]], Object],
    derived: Collection[str],
    lose: Callable[[str], object] | None = None,
) -> dict[str, Any]:
    """Return an object in the format of the imported file, with edits of its cells applied.

    Parameters
    ----------
    obj : Object
        The object, built from its cells.
    rebuilt : mapping
        The object in the format of the file, built from its cells alone.
    parse : callable
        Function that parses an object in the format of the file, and may raise ValueError.
    derived : collection of str
        Keys whose values are derived from cells.
    lose : callable, optional
        Called with `BOXES_LOST` if an edited box is replaced by the bounding box of the shape.
    """
    if not obj.rest:
        return dict(rebuilt)
    original = with_rest(rebuilt, obj.rest)
    try:
        if is_same(parse(original), obj):
            return original
    except (ValueError, TypeError, KeyError):  # the JSON may have been edited
        pass
    if lose is not None and obj.kind not in ("box", "points") and obj.has_own_box:
        lose(BOXES_LOST)
    unedited = {k: v for k, v in obj.rest.items() if k not in derived and k != MISSING}
    return {**rebuilt, **unedited}


# ---- numbers


def decimal(value: float | np.floating[Any]) -> str:
    """Return a number as text, without a decimal point if the number is whole.

    >>> decimal(np.float32(473.07)), decimal(12.0)
    ('473.07', '12')
    """
    number = float(value)
    if number.is_integer() and abs(number) < 1e15:
        return str(int(number))
    return str(np.float32(value))  # the fewest digits that round to it


def number_of(value: object) -> float:
    """Parse a string or a JSON number. Raises ValueError unless it is a finite number."""
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

MAX_PIXELS = 2**28
"""Maximum number of pixels of a mask. All masks of an image together may have 8 times as many.

A file may declare any size, so the size is checked before memory is allocated.
"""


def check_mask_size(width: int, height: int) -> None:
    """Raise ValueError if a mask is too large to be decoded, or has no pixels."""
    if width < 1 or height < 1 or width * height > MAX_PIXELS:
        raise ValueError(
            f"a mask must have 1 to {MAX_PIXELS:,} pixels, but it has {width:,} x {height:,}"
        )


def check_masks(objects: Sequence[Object]) -> None:
    """Raise ValueError if the masks of an image differ in size, or have too many pixels."""
    shapes = {obj.mask.shape for obj in objects if obj.mask is not None}
    if len(shapes) > 1:
        raise ValueError(
            f"all masks of an image must have the same size, but they have {sorted(shapes)}"
        )
    for height, width in shapes:
        if height * width * len(objects) > 8 * MAX_PIXELS:
            raise ValueError(
                f"the masks of an image may have {8 * MAX_PIXELS:,} pixels in total, but "
                f"{len(objects):,} masks of {width:,} x {height:,} have more"
            )
