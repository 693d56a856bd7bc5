"""What is known of a value before the query runs: dtype, shape, meaning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.htypes.boxes import Boxes
from deeplake_lite.htypes.image import Image
from deeplake_lite.htypes.layouts import Dense, Nested

if TYPE_CHECKING:
    from deeplake_lite.htypes import Htype

type Shape = tuple[int | None, ...]


@dataclass(frozen=True)
class BoxNumbers:
    """What numbers mean that were computed from boxes: which are which, but not of which unit."""

    format: str
    """As of `Boxes`."""


@dataclass(frozen=True)
class PictureNumbers:
    """That values were computed from pictures, element by element: (h, w), or (h, w, c)."""


@dataclass(frozen=True)
class Items:
    """That a value is a list, whose items may differ in shape: a clip's frames, captions."""

    of: Type
    """Of each item."""
    htype: Htype | None = None
    """Of the column that the list, or a part of it, comes from unchanged."""


@dataclass(frozen=True)
class Type:
    """What is known of a value before the query runs."""

    dtype: str
    """NumPy name of the elements' dtype, ``"str"`` for text, ``"bytes"``, ``"object"`` for JSON and
    for lists of items."""
    shape: Shape | None = ()
    """Shape of one row's value, with None for an axis that varies; None where even the number of
    axes does: pictures, grey and coloured."""
    meaning: Htype | BoxNumbers | PictureNumbers | Items | None = None
    """What the elements mean where a column says so: boxes and their format, names of classes."""

    @property
    def ndim(self) -> int | None:
        """How many axes a row's value has; 0 for a scalar, None where that varies."""
        return None if self.shape is None else len(self.shape)

    @property
    def is_number(self) -> bool:
        """Whether the elements are numbers or truth values."""
        known = self.dtype not in ("str", "bytes", "object")
        return known and np.dtype(self.dtype).kind in "biufc"

    @property
    def items(self) -> Items | None:
        """What is known of a list's items; None of a value that is no list, but an array."""
        return self.meaning if isinstance(self.meaning, Items) else None

    @property
    def is_picture(self) -> bool:
        """Whether values have two axes or three, as pictures and numbers computed from them do."""
        return isinstance(self.meaning, Image | PictureNumbers)

    @property
    def box_format(self) -> str | None:
        """Format of boxes, and of numbers computed from them; None for others."""
        return self.meaning.format if isinstance(self.meaning, Boxes | BoxNumbers) else None

    @classmethod
    def of(cls, htype: Htype) -> Type:
        """Return what an htype says of the values of its column.

        >>> from deeplake_lite.htypes import Boxes, Embedding, Image
        >>> [str(Type.of(htype)) for htype in (Boxes(), Embedding(8), Image("jpeg"))]
        ['float32 (?, 4)', 'float32 (8,)', 'uint8 (…)']
        """
        layout = htype.layout
        if isinstance(layout, Dense):
            return cls(str(np.dtype(getattr(htype, "dtype", layout.dtype))), layout.shape, htype)
        if isinstance(layout, Nested):
            return cls.of(layout.item).listed(htype)
        if layout.dtype in ("utf8", "json"):
            return cls("str" if layout.dtype == "utf8" else "object", (), htype)
        if htype.name == "bytes":
            return cls("bytes", (), htype)
        if htype.name == "image" or getattr(htype, "shape", ()) is None:
            return cls(getattr(htype, "dtype", "uint8"), None, htype)
        dtype = getattr(htype, "dtype", "uint8") if layout.dtype == "bytes" else layout.dtype
        shape = getattr(htype, "shape", None) or (None,) * layout.ndim
        return cls(dtype, (None, 4) if htype.name == "boxes" else tuple(shape), htype)

    def listed(self, htype: Htype | None = None) -> Type:
        """Return the type of a list of such values: an array where all of them are of one shape.

        >>> str(Type("int32").listed()), str(Type("uint8", (None, None)).listed())
        ('int32 (?,)', 'list of uint8 (?, ?)')
        """
        item = self.meaning
        has_more = htype is not None and (
            getattr(item, "nullable", False) or hasattr(item, "names")
        )
        if (
            self.is_of_one_shape and not has_more
        ):  # neither nulls nor names of classes among the items
            return Type(self.dtype, (None, *(self.shape or ())), htype or item)
        return Type("object", (None,), Items(self, htype))

    @property
    def is_of_one_shape(self) -> bool:
        """Whether values are arrays of numbers, all of one shape.

        >>> Type("float32", (3,)).is_of_one_shape, Type("float32", (None,)).is_of_one_shape
        (True, False)
        """
        return self.is_number and self.shape is not None and None not in self.shape

    def admits(self, dtype: str, shape: tuple[int, ...]) -> bool:
        """Tell whether a row's value with this dtype and shape is of the type.

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
        """Return a short text: ``float32 (?, 4)``.

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
