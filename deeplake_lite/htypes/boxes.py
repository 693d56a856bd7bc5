"""The type of bounding boxes: n boxes per row, with four numbers each."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, override

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.errors import DamagedError, InvalidValueError, SchemaError
from deeplake_lite.htypes.array import shapes_of
from deeplake_lite.htypes.arrays import as_array, as_buffer, each, from_buffer
from deeplake_lite.htypes.base import Check, Htype
from deeplake_lite.htypes.cells import RaggedCells
from deeplake_lite.htypes.choices import choice, dtype_choice
from deeplake_lite.htypes.dtypes import Dtypes
from deeplake_lite.htypes.facets import Axes, Browser, Coordinates
from deeplake_lite.htypes.layouts import Ragged

if TYPE_CHECKING:
    from collections.abc import Buffer, Iterator

    from numpy.typing import NDArray

    from deeplake_lite.htypes.cells import Values

FORMATS = ("xyxy", "xywh", "cxcywh")
"""Formats of a box: two corners, first corner and size, or centre and size."""

_UNITS = ("pixels", "fraction")
_DTYPES = ("float16", "float32", "float64", "int16", "int32", "int64")
_TOLERANCE = 1e-3  # how far fractions may exceed 0 to 1, because converters round them


@dataclass(frozen=True, repr=False, eq=False)
class Boxes(Htype):
    """Bounding boxes in an image, (n, 4) per row.

    Parameters
    ----------
    format : {"xyxy", "xywh", "cxcywh"}
        Two corners (torchvision), first corner and size (COCO), or centre and size (YOLO).
    units : {"pixels", "fraction"}
        Units of the numbers: pixels, or fractions of the image's width and height.
    dtype : str
        Dtype of the numbers.

    Examples
    --------
    >>> Boxes("xyxy").encode([[[0, 0, 20, 10]], []]).shapes.tolist()
    [[1, 4], [0, 4]]
    >>> Boxes("xyxy").encode([[[0, 0, 20, 10]], [[0, 0, 5, 5], [9, 0, 5, 5]]])
    Traceback (most recent call last):
        ...
    deeplake_lite.errors.InvalidValueError: row 1: box 1 has a negative width: x1 is 9.0 and ...
    """

    format: str = "xyxy"
    """Meaning of the four numbers."""

    units: str = "pixels"
    """Units of the numbers: pixels or fractions of the image's sides."""

    _: KW_ONLY

    dtype: str = "float32"
    """Dtype of the numbers."""

    name: ClassVar[str] = "boxes"

    @override
    def __post_init__(self) -> None:
        self._set(
            format=choice("format of boxes", self.format, FORMATS),
            units=choice("units of boxes", self.units, _UNITS),
            dtype=dtype_choice("dtype of boxes", self.dtype, _DTYPES),
        )
        if self.units == "fraction" and not self.dtype.startswith("float"):
            raise SchemaError(
                "boxes in fractions must have a float dtype, but the dtype is "
                f"{self.dtype!r}. Declare 'float32', or units='pixels'."
            )
        super().__post_init__()

    @property
    @override
    def layout(self) -> Ragged:
        return Ragged(self.dtype, 2)

    @property
    @override
    def coordinates(self) -> Coordinates:
        units: Any = self.units
        return Coordinates("boxes", ("x", "y", "x", "y"), units, self.format)

    @property
    @override
    def axes(self) -> Axes:
        return (None, 4)

    @property
    @override
    def is_plain(self) -> bool:
        return True

    @property
    @override
    def browser(self) -> Browser:
        return Browser("boxes", editable=True)

    @override
    def details(self) -> Iterator[str]:
        yield from (self.format, self.units)

    @property
    @override
    def varying(self) -> int:
        """The number of varying axes, which is 1, since the number of boxes varies."""
        return 1

    @property
    @override
    def blank(self) -> NDArray[Any]:
        return np.zeros((0, 4), self.dtype)

    @override
    def values_from(self, of: Htype, values: Values) -> Values:
        """Convert boxes to this type's format. Raises InvalidValueError if their units differ."""
        if not isinstance(of, Boxes):
            return super().values_from(of, values)
        if self.units != of.units:
            operation = "Divide" if self.units == "fraction" else "Multiply"
            raise InvalidValueError(
                f"boxes with units={of.units!r} cannot be converted to units={self.units!r}, since "
                f"the sizes of the images are not known. {operation} each box, in xyxy or xywh, by "
                "its image's (width, height, width, height)."
            )
        if self.format == of.format:
            return values
        return [None if v is None else self._convert(v, of.format) for v in values]

    def _convert(self, boxes: object, source: str) -> NDArray[Any]:
        exact = np.asarray(boxes, np.float64).reshape(-1, 4)
        converted = convert_boxes(exact, source, self.format)
        is_whole = "int" in self.dtype and bool((converted == np.rint(converted)).all())
        return converted.astype(np.int64) if is_whole else converted

    @override
    def _encode(self, values: Values, check: Check) -> RaggedCells:
        arrays = each(values, self._read)
        if arrays and self._find_fault(np.concatenate(arrays)):
            each(arrays, self._check)  # raises an error that names the row
        return RaggedCells([as_buffer(array) for array in arrays], shapes_of(arrays, 2))

    def _read(self, value: object) -> NDArray[Any]:
        """Return the boxes of a row as an array."""
        if _is_box(value):
            raise InvalidValueError(
                f"must be boxes of shape (n, 4), but it is a single box, {brief(value)}. Put it in "
                f"a list: [{brief(value)}]."
            )
        return as_array(value, self.dtype, (None, 4), Dtypes(_DTYPES, self))

    def _check(self, boxes: NDArray[Any]) -> None:
        """Raise InvalidValueError for the first bad box of a row."""
        if message := self._find_fault(boxes):
            raise InvalidValueError(message)

    def _find_fault(self, boxes: NDArray[Any]) -> str | None:
        """Return an error message for the first bad box, or None if all boxes are valid."""
        finite = np.isfinite(boxes).all(axis=1)
        if not finite.all():
            box = int(np.flatnonzero(~finite)[0])
            return f"box {box} must be finite, but it is {boxes[box].tolist()}. Leave the box out."
        negative = boxes[:, 2:] < (boxes[:, :2] if self.format == "xyxy" else 0)
        if negative.any():
            return self._negative_size(boxes, *(int(index) for index in np.argwhere(negative)[0]))
        if self.units == "fraction":
            outside = ((boxes < -_TOLERANCE) | (boxes > 1 + _TOLERANCE)).any(axis=1)
            if outside.any():
                box = int(np.flatnonzero(outside)[0])
                return (
                    f"box {box} must consist of fractions, 0 to 1, but it is "
                    f"{boxes[box].tolist()}. Divide the numbers by the image's width and height, "
                    "or declare units='pixels'."
                )
        return None

    def _negative_size(self, boxes: NDArray[Any], box: int, axis: int) -> str:
        """Return an error message for a box whose width or height is negative."""
        size, letter = (("width", "x"), ("height", "y"))[axis]
        if self.format != "xyxy":
            return (
                f"box {box} has a negative {size}: {boxes[box, 2 + axis]}. Swap the corners from "
                "which the box was computed."
            )
        return (
            f"box {box} has a negative {size}: {letter}1 is {boxes[box, axis]} and {letter}2 is "
            f"{boxes[box, 2 + axis]}. Swap them, or declare Boxes('xywh') if {letter}2 is a {size}."
        )

    @override
    def check_shape(self, shape: tuple[int, ...]) -> None:
        if len(shape) != 2 or shape[1] != 4:
            raise DamagedError(
                f"Boxes must have shape (n, 4), but a cell has {shape}. Run ds.verify() to find "
                "all such cells."
            )

    @override
    def decode(self, data: Buffer, shape: tuple[int, ...]) -> NDArray[Any]:
        self.check_shape(shape)
        return from_buffer(data, self.dtype, shape)

    @override
    def preview(self, value: NDArray[Any]) -> str:
        first = ", ".join(f"({', '.join(f'{float(x):.4g}' for x in box)})" for box in value[:2])
        count = f"{len(value)} box{'' if len(value) == 1 else 'es'}"
        dots = ", …" if len(value) > 2 else ""
        return f"{count} {self.format}: {first}{dots}" if len(value) else count


def _is_box(value: object) -> bool:
    """Return whether a value is a single box, rather than a list of boxes.

    >>> _is_box([1, 2, 3, 4]), _is_box([[1, 2, 3, 4]]), _is_box(np.arange(4))
    (True, False, True)
    """
    if isinstance(value, np.ndarray):
        return bool(value.shape == (4,))
    return (
        isinstance(value, list | tuple)
        and len(value) == 4
        and all(isinstance(number, int | float | np.number) for number in value)
    )


def convert_boxes(boxes: NDArray[Any], source: str, target: str) -> NDArray[Any]:
    """Convert boxes to another format.

    Parameters
    ----------
    boxes : ndarray, (..., 4)
        Boxes in the format `source`.
    source, target : {"xyxy", "xywh", "cxcywh"}
        Formats of `boxes` and of the result.

    >>> convert_boxes(np.array([[10., 20., 30., 60.]]), "xyxy", "cxcywh")
    array([[20., 40., 20., 40.]])
    """
    source, target = (choice("format of boxes", name, FORMATS) for name in (source, target))
    boxes = np.asarray(boxes)
    if source == target:
        return boxes.copy()
    first, second = boxes[..., :2], boxes[..., 2:]
    if source == "xyxy":
        second = second - first
    elif source == "cxcywh":
        first = first - second / 2
    if target == "xyxy":
        second = first + second
    elif target == "cxcywh":
        first = first + second / 2
    return np.concatenate([first, second], axis=-1)
