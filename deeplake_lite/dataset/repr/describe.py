"""What a column is, in a few words: from its field of the schema, and shapes if known; no I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.dataset.repr.html import ColumnSummary
from deeplake_lite.dataset.repr.html.words import count
from deeplake_lite.htypes import (
    Array,
    Boxes,
    ClassLabel,
    Image,
    Keypoints,
    Link,
    Mask,
    Sequence,
)
from deeplake_lite.htypes.layouts import Dense, Nested, Ragged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from deeplake_lite.dataset.repr.html.values import Axis
    from deeplake_lite.htypes import Htype
    from deeplake_lite.schema import Field

_UNTYPED = ("utf8", "json", "bytes")
_MODES: dict[str | None, tuple[Axis, ...]] = {
    "L": (None, None),
    "RGB": (None, None, 3),
    "RGBA": (None, None, 4),
}


def describe(
    f: Field,
    shapes: NDArray[np.int32] | None = None,
    nbytes: int | None = None,
    *,
    more: str = "",
) -> ColumnSummary:
    """Return the line of a column.

    Parameters
    ----------
    f : Field
        The column.
    shapes : ndarray, (n, ndim) int32, optional
        Shapes of its values, as `Table.shapes` gives them; without them the schema has to do.
    nbytes : int, optional
        Stored size.
    more : str, optional
        Another remark.

    Examples
    --------
    >>> from deeplake_lite.schema import Schema
    >>> fields = Schema.build({"label": ClassLabel(["rose", "tulip"], nullable=True)}).fields
    >>> line = describe(fields[0])
    >>> line.htype, line.dtype, line.note
    ('ClassLabel', 'int32', '2 classes, nullable')
    """
    axes = axes_of(f.htype) if shapes is None else seen_axes(f.htype, shapes)
    notes = ", ".join(filter(None, (*notes_of(f.htype), more)))
    return ColumnSummary(f.name, type_of(f.htype), dtype_of(f.htype), axes, nbytes, notes)


def type_of(htype: Htype) -> str:
    """Return the name of a type.

    >>> type_of(Sequence(Link("image")))
    'Sequence of Link to Image'
    """
    name = type(htype).__name__
    inner = htype.of if isinstance(htype, Sequence | Link) else None
    return f"{name} {'to' if isinstance(htype, Link) else 'of'} {type_of(inner)}" if inner else name


def dtype_of(htype: Htype) -> str:
    """Return the dtype of the values; empty where it says nothing, or differs from row to row.

    >>> dtype_of(Boxes()), dtype_of(Image("jpeg")), dtype_of(Mask("instance"))
    ('float32', '', 'bool')
    """
    layout = htype.layout
    if isinstance(layout, Nested):
        return dtype_of(layout.item)
    if isinstance(htype, Mask):
        return "bool" if htype.kind == "instance" else htype.dtype
    if layout.dtype in _UNTYPED:
        return ""
    return str(getattr(htype, "dtype", layout.dtype))


def axes_of(htype: Htype) -> tuple[Axis, ...]:
    """Return the shape of a value as far as the schema knows it.

    >>> axes_of(Boxes()), axes_of(Sequence(Array("int8", (None, 3))))
    ((None, 4), (None, None, 3))
    """
    match htype:
        case Array(shape=shape):
            return shape or ()
        case Boxes():
            return (None, 4)
        case Image(mode=mode):
            return _MODES.get(mode, ())
        case Keypoints(names=names, dims=dims):
            return (None, len(names) or None, dims)
    match htype.layout:
        case Dense(shape=shape):
            return shape
        case Nested(item=item):
            return (None, *axes_of(item))
        case Ragged(ndim=ndim):
            return (None,) * ndim
    return ()


def seen_axes(htype: Htype, shapes: NDArray[np.int32]) -> tuple[Axis, ...]:
    """Return the shape of a value with the ranges that were seen.

    >>> seen_axes(Image(), np.array([[8, 9, 3], [8, 12, -1], [-1, -1, -1]]))
    (8, (9, 12), (1, 3))
    """
    layout = htype.layout
    if isinstance(layout, Dense) or not shapes.shape[1]:
        return axes_of(htype)
    whole = shapes[(shapes >= 0).any(axis=1)]
    if not len(whole):
        return axes_of(htype)
    if isinstance(layout, Nested):
        return (_range(whole[:, 0]), *axes_of(layout.item))
    return tuple(_range(np.abs(axis)) for axis in whole.T if (axis >= 0).any())


def _range(sizes: NDArray[np.int32]) -> Axis:
    least, most = int(sizes.min()), int(sizes.max())
    return most if least == most else (least, most)


def notes_of(htype: Htype) -> Iterator[str]:
    """Yield the rest of what a type says: codec, classes, format, nullable, default.

    >>> list(notes_of(Boxes("xywh", "fraction", nullable=True)))
    ['xywh', 'fraction', 'nullable']
    """
    yield from _own_notes(htype)
    if htype.nullable:
        yield "nullable"
    if htype.default is not None:
        yield f"default {_short(htype)}"


def _own_notes(htype: Htype) -> Iterator[str]:
    match htype:
        case Sequence(of=of) | Link(of=of):
            yield from _own_notes(of)
        case Image(codec=codec, mode=mode):
            yield from filter(None, (codec, mode))
        case Array(codec=str(codec)):
            yield codec
        case Boxes(format=format_, units=units):
            yield from (format_, units)
        case Keypoints(names=names) if names:
            yield count(len(names), "point")
        case Mask(kind=kind, names=names):
            yield from filter(None, (kind, count(len(names), "class") if names else ""))
        case ClassLabel(names=names, multiple=multiple):
            yield from [count(len(names), "class")] if names else []
            yield from ["several per row"] if multiple else []


def _short(htype: Htype) -> str:
    default: Any = htype.default
    if isinstance(htype, ClassLabel) and not isinstance(default, str):
        default = htype.to_names(default)
    return f"{len(default):,} bytes" if isinstance(default, bytes) else f"{brief(default, 40)}"
