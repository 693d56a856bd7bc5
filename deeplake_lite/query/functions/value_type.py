"""The type of a value, which consists of dtype, shape and meaning.

The type is known before the query runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.htypes.base import Htype
from deeplake_lite.htypes.layouts import Nested

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.htypes.class_label import ClassLabel
    from deeplake_lite.htypes.facets import Coordinates, Pixels

type Shape = tuple[int | None, ...]

type Block = NDArray[Any] | list[Any]
"""Values of many rows: an array with the rows stacked along a first axis, and nulls masked, or a
list with one entry per row, and None for null."""


@dataclass(frozen=True)
class BoxNumbers:
    """The meaning of numbers that were computed from boxes, and have a box format but no unit."""

    format: str
    """Format of the boxes, such as "xyxy"."""


@dataclass(frozen=True)
class ImageNumbers:
    """The meaning of numbers that are computed from images element by element.

    They have shape (h, w) or (h, w, c).
    """


@dataclass(frozen=True)
class Truths:
    """The meaning of booleans that were computed from the items of a list, and may be null."""


@dataclass(frozen=True)
class Items:
    """The meaning of a list whose items may differ in shape, such as captions or frames."""

    of: Type
    """Type of each item."""
    htype: Htype | None = None
    """Type of the column, if the list is an unchanged value of a column or a slice of one."""


@dataclass(frozen=True)
class Type:
    """The type of a value."""

    dtype: str
    """NumPy name of the elements' dtype, or ``"str"``, ``"bytes"``, or ``"object"`` for JSON and
    for lists."""
    shape: Shape | None = ()
    """Shape of the value of one row, with None for each axis whose length varies. If the number of
    axes varies, as with greyscale and colour images, the shape is None."""
    meaning: Htype | BoxNumbers | ImageNumbers | Truths | Items | None = None
    """Meaning of the elements, such as boxes in a format, or classes. None for mere numbers."""

    @property
    def ndim(self) -> int | None:
        """Number of axes of the value of one row: 0 for a scalar, None if the number varies."""
        return None if self.shape is None else len(self.shape)

    @property
    def is_number(self) -> bool:
        """Whether the elements are numbers or booleans."""
        has_dtype = self.dtype not in ("str", "bytes", "object")
        return has_dtype and np.dtype(self.dtype).kind in "biufc"

    @property
    def is_time(self) -> bool:
        """Whether the elements are timestamps or durations."""
        return self.dtype.endswith("]")

    @property
    def items(self) -> Items | None:
        """The type of the items if values are lists, or else None."""
        return self.meaning if isinstance(self.meaning, Items) else None

    @property
    def list_of(self) -> Type | None:
        """The type of the items, if values are lists from a column that NumPy treats as arrays.

        For other values, it is None.

        >>> from deeplake_lite.htypes import Sequence
        >>> str(Type.of(Sequence("float32")).list_of)
        'float32'
        """
        layout = None if self.htype is None else self.htype.layout
        if not isinstance(layout, Nested) or not self.shape:
            return None
        return Type(self.dtype, self.shape[1:], layout.item)

    @property
    def htype(self) -> Htype | None:
        """The htype of the elements. None for numbers without a meaning, and for lists."""
        return self.meaning if isinstance(self.meaning, Htype) else None

    @property
    def classes(self) -> ClassLabel | None:
        """The htype of class labels if the numbers are classes, or else None."""
        return None if self.htype is None else self.htype.classes

    @property
    def pixels(self) -> Pixels | None:
        """Properties of images or masks; None for other values, and for computed numbers."""
        return None if self.htype is None else self.htype.pixels

    @property
    def coordinates(self) -> Coordinates | None:
        """Properties of positions in images; None for other values, and for computed numbers."""
        return None if self.htype is None else self.htype.coordinates

    @property
    def is_image(self) -> bool:
        """Whether values are images, rather than numbers that are computed from images."""
        return self.pixels is not None and self.pixels.is_image

    @property
    def is_mask(self) -> bool:
        """Whether values are masks, rather than numbers that are computed from masks."""
        return self.pixels is not None and self.pixels.is_mask

    @property
    def is_like_image(self) -> bool:
        """Whether values are images, or are computed from images and have two or three axes."""
        return self.is_image or isinstance(self.meaning, ImageNumbers)

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the classes: empty if they have no names, None if values are not classes."""
        if self.classes is not None:
            return tuple(self.classes.names)
        return self.pixels.names if self.pixels is not None and self.pixels.is_mask else None

    @property
    def boxes(self) -> Coordinates | None:
        """Properties of boxes; None for other values, and for numbers computed from boxes."""
        coordinates = self.coordinates
        is_boxes = coordinates is not None and coordinates.marks == "boxes"
        return coordinates if is_boxes else None

    @property
    def box_format(self) -> str | None:
        """Format of boxes or of numbers computed from boxes; None for other values."""
        if isinstance(self.meaning, BoxNumbers):
            return self.meaning.format
        return None if self.boxes is None else self.boxes.format

    @classmethod
    def of(cls, htype: Htype) -> Type:
        """Return the type of the values in a column.

        >>> from deeplake_lite.htypes import Boxes, Embedding, Image
        >>> [str(Type.of(htype)) for htype in (Boxes(), Embedding(8), Image("jpeg"))]
        ['float32 (?, 4)', 'float32 (8,)', 'uint8 (…)']
        """
        layout = htype.layout
        if isinstance(layout, Nested):
            return cls.of(layout.item).as_list(htype)
        if layout.dtype in ("utf8", "json"):
            return cls("str" if layout.dtype == "utf8" else "object", (), htype)
        if htype.sql == "bytes":
            return cls("bytes", (), htype)
        return cls(htype.value_dtype or "uint8", _shape_of(htype), htype)

    def as_list(self, htype: Htype | None = None) -> Type:
        """Return the type of a list of values of this type.

        If the shape of the values is fixed, the list is an array. `htype` is the type of the column
        that the list is from.

        >>> str(Type("int32").as_list()), str(Type("uint8", (None, None)).as_list())
        ('int32 (?,)', 'list of uint8 (?, ?)')
        """
        is_nullable = self.htype is not None and self.htype.nullable
        has_more = htype is not None and (is_nullable or self.names is not None)
        if self.has_fixed_shape and not has_more:  # arrays have neither nulls nor class names
            return Type(self.dtype, (None, *(self.shape or ())), htype or self.meaning)
        return Type("object", (None,), Items(self, htype))

    @property
    def has_fixed_shape(self) -> bool:
        """Whether values are numbers, or arrays of numbers of a fixed shape.

        >>> Type("float32", (3,)).has_fixed_shape, Type("float32", (None,)).has_fixed_shape
        (True, False)
        """
        return self.is_number and self.shape is not None and None not in self.shape

    def is_like(self, other: Type) -> bool:
        """Return whether values of two types can be compared, as two types of numbers can.

        >>> Type("bool").is_like(Type("float32")), Type("int32").is_like(Type("str"))
        (True, False)
        """
        return self.is_number == other.is_number and (self.is_number or self.dtype == other.dtype)

    def admits(self, dtype: str, shape: tuple[int, ...]) -> bool:
        """Return whether a value with the given dtype and shape has this type.

        >>> Type("float32", (None, 4)).admits("float32", (7, 4))
        True
        """
        if dtype != self.dtype:
            return False
        return self.shape is None or (
            len(shape) == len(self.shape)
            and all(n is None or n == m for n, m in zip(self.shape, shape, strict=True))
        )

    def __str__(self) -> str:
        """Return a short description: ``float32 (?, 4)``.

        >>> str(Type("float32", (None, 4)))
        'float32 (?, 4)'
        """
        if self.items is not None:
            return str(self.items.htype or f"list of {self.items.of}")
        if self.shape is None:
            return f"{self.dtype} (…)"
        sizes = ", ".join("?" if n is None else str(n) for n in self.shape)
        comma = "," if len(self.shape) == 1 else ""
        return f"{self.dtype} ({sizes}{comma})" if self.shape else self.dtype


def _shape_of(htype: Htype) -> Shape | None:
    """Return the shape of a column's values, or None if the number of axes varies.

    Images may have two or three axes. Keypoints always have the same number of axes, but any
    lengths.
    """
    if htype.is_image:
        return None
    coordinates, axes = htype.coordinates, htype.axes
    if coordinates is not None and coordinates.marks == "keypoints" and axes is not None:
        return (None,) * len(axes)
    return axes
