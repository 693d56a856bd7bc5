"""One-line summaries of columns, from the schema and from shapes that are already known.

Nothing is read from storage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.dataset.read.values import items_of
from deeplake_lite.dataset.repr.html import ColumnSummary
from deeplake_lite.htypes.layouts import Dense, Nested

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from deeplake_lite.dataset.repr.html.values import Axis
    from deeplake_lite.htypes import Htype
    from deeplake_lite.schema import Field


def describe(
    f: Field,
    shapes: NDArray[np.int32] | None = None,
    nbytes: int | None = None,
    *,
    more: str = "",
) -> ColumnSummary:
    """Summarize a column in one line.

    Parameters
    ----------
    f : Field
        The column.
    shapes : ndarray, (n, ndim) int32, optional
        Shapes of values, as `Table.shapes` returns them. If left out, the shape in the schema is
        shown.
    nbytes : int, optional
        Stored size in bytes.
    more : str, optional
        A remark to append to the notes.

    Examples
    --------
    >>> from deeplake_lite.htypes import ClassLabel
    >>> from deeplake_lite.schema import Schema
    >>> fields = Schema.build({"label": ClassLabel(["rose", "tulip"], nullable=True)}).fields
    >>> line = describe(fields[0])
    >>> line.htype, line.dtype, line.note
    ('ClassLabel', 'int32', '2 classes, nullable')
    """
    axes = (f.htype.axes or ()) if shapes is None else seen_axes(f.htype, shapes)
    notes = ", ".join(filter(None, (*notes_of(f.htype), more)))
    return ColumnSummary(f.name, type_of(f.htype), f.htype.value_dtype, axes, nbytes, notes)


def type_of(htype: Htype) -> str:
    """Return the name of a type, including the names of its items' or link targets' types.

    >>> from deeplake_lite.htypes import Link, Sequence
    >>> type_of(Sequence(Link("image")))
    'Sequence of Link to Image'
    """
    name = type(htype).__name__
    if htype.target is not None:
        return f"{name} to {type_of(htype.target)}"
    item = items_of(htype)
    return name if item is None else f"{name} of {type_of(item)}"


def seen_axes(htype: Htype, shapes: NDArray[np.int32]) -> tuple[Axis, ...]:
    """Return the size of each axis of the values. If sizes differ in `shapes`, it is a range.

    Missing optional axes are stored as -1 and count as 1.

    >>> from deeplake_lite.htypes import Image
    >>> seen_axes(Image(), np.array([[8, 9, 3], [8, 12, -1], [-1, -1, -1]]))
    (8, (9, 12), (1, 3))
    """
    layout = htype.layout
    if isinstance(layout, Dense) or not shapes.shape[1]:
        return htype.axes or ()
    present = shapes[(shapes >= 0).any(axis=1)]
    if not len(present):
        return htype.axes or ()
    if isinstance(layout, Nested):
        return (_range(present[:, 0]), *(layout.item.axes or ()))
    return tuple(_range(np.abs(axis)) for axis in present.T if (axis >= 0).any())


def _range(sizes: NDArray[np.int32]) -> Axis:
    low, high = int(sizes.min()), int(sizes.max())
    return high if low == high else (low, high)


def notes_of(htype: Htype) -> Iterator[str]:
    """Yield other properties of a type as strings: codec, classes, format, nullable, default.

    >>> from deeplake_lite.htypes import Boxes
    >>> list(notes_of(Boxes("xywh", "fraction", nullable=True)))
    ['xywh', 'fraction', 'nullable']
    """
    yield from htype.details()
    if htype.nullable:
        yield "nullable"
    if htype.default is not None:
        yield f"default {_short(htype)}"


def _short(htype: Htype) -> str:
    default: Any = htype.default
    if htype.classes is not None and not isinstance(default, str):
        default = htype.classes.to_names(default)
    return f"{len(default):,} bytes" if isinstance(default, bytes) else f"{brief(default, 40)}"
