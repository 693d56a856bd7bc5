"""Hypothesis strategies for column types, their values, schemas and rows.

>>> from hypothesis import find
>>> find(htypes(), lambda htype: isinstance(htype, Array) and htype.nullable).nullable
True
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from deeplake_lite.htypes import (
    Array,
    Boxes,
    Bytes,
    ClassLabel,
    Embedding,
    Htype,
    Image,
    Json,
    Keypoints,
    Mask,
    Polygons,
    Scalar,
    Sequence,
    Text,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import SearchStrategy

DTYPES = ("bool", "int8", "int32", "int64", "uint8", "uint64", "float32", "float64")
"""Dtypes that drawn column types can have."""

MAX_SIDE = 4
"""Maximum length of an axis of a drawn array."""

MAX_LENGTH = 6
"""Maximum length of a drawn string or list."""


def column_names() -> SearchStrategy[str]:
    """Draw names, with and without groups, from a short list, so that names often collide."""
    return st.sampled_from(["a", "b", "c", "d/e", "d/f", "ü"])


def htypes(*, nested: bool = True) -> SearchStrategy[Htype]:
    """Draw column types of every layout."""
    axis = st.none() | st.integers(1, MAX_SIDE)
    plain = st.one_of(
        st.builds(Scalar, st.sampled_from(DTYPES)),
        st.builds(Text),
        st.builds(Array, st.sampled_from(DTYPES), st.tuples(axis) | st.tuples(axis, axis)),
        st.builds(Bytes),
        st.builds(Json),
        st.builds(ClassLabel, st.just(("rose", "tulip", "lily"))),
        st.builds(Embedding, st.integers(1, MAX_SIDE)),
        st.builds(Boxes),
        st.builds(Keypoints, dims=st.sampled_from((2, 3))),
        st.builds(Polygons),
        st.builds(Mask, st.sampled_from(("semantic", "instance"))),
        st.builds(Image, st.sampled_from(("png", "raw", "zstd"))),
    )
    types = plain | st.builds(Sequence, plain) if nested else plain
    return st.builds(replace, types, nullable=st.booleans())


def values(htype: Htype) -> SearchStrategy[object]:
    """Draw values that a column type accepts, including None if the type is nullable."""
    not_null = _VALUES[type(htype)](htype)
    return st.none() | not_null if htype.nullable else not_null


def schemas(*, min_size: int = 1, max_size: int = 4) -> SearchStrategy[dict[str, Htype]]:
    """Draw schemas, which are dicts from column name to type."""
    return st.dictionaries(column_names(), htypes(), min_size=min_size, max_size=max_size)


def rows(
    schema: dict[str, Htype], *, min_size: int = 0, max_size: int = 8
) -> SearchStrategy[dict[str, list[object]]]:
    """Draw rows for a schema, as a dict that maps column names to lists of values."""

    def columns(count: int) -> SearchStrategy[dict[str, list[object]]]:
        return st.fixed_dictionaries(
            {
                name: st.lists(values(htype), min_size=count, max_size=count)
                for name, htype in schema.items()
            }
        )

    return st.integers(min_size, max_size).flatmap(columns)


def tables(**sizes: int) -> SearchStrategy[tuple[dict[str, Htype], dict[str, list[object]]]]:
    """Draw a schema and rows for it."""
    return schemas().flatmap(lambda schema: st.tuples(st.just(schema), rows(schema, **sizes)))


def _arrays(dtype: str, shape: tuple[int, ...]) -> SearchStrategy[object]:
    return npst.arrays(dtype, shape, elements=npst.from_dtype(np.dtype(dtype)), fill=st.nothing())


def _array(htype: Array) -> SearchStrategy[object]:
    if htype.shape is None:
        return npst.array_shapes(max_side=MAX_SIDE).flatmap(lambda s: _arrays(htype.dtype, s))
    axes = [st.integers(0, MAX_SIDE) if n is None else st.just(n) for n in htype.shape]
    return st.tuples(*axes).flatmap(lambda shape: _arrays(htype.dtype, shape))


def _image(_: object) -> SearchStrategy[object]:
    sides = st.tuples(st.integers(1, MAX_SIDE), st.integers(1, MAX_SIDE))
    shapes = sides | sides.map(lambda side: (*side, 3))
    return shapes.flatmap(lambda shape: _arrays("uint8", shape))


def _mask(htype: Mask) -> SearchStrategy[object]:
    sides = [st.integers(1, MAX_SIDE), st.integers(1, MAX_SIDE)]
    if htype.kind == "semantic":
        return st.tuples(*sides).flatmap(lambda shape: _arrays("uint8", shape))
    return st.tuples(st.integers(0, MAX_SIDE), *sides).flatmap(lambda shape: _arrays("bool", shape))


def _boxes(_: object) -> SearchStrategy[object]:
    corner = st.tuples(*[st.integers(0, 99)] * 2)
    box = st.tuples(corner, corner).map(
        lambda c: [*np.minimum(*c).tolist(), *np.maximum(*c).tolist()]
    )
    return st.lists(box, max_size=MAX_SIDE)


def _keypoints(htype: Keypoints) -> SearchStrategy[object]:
    place = st.tuples(*[st.integers(0, 99)] * 2)
    point = place if htype.dims == 2 else st.builds(lambda p, v: (*p, v), place, st.integers(0, 2))
    return st.integers(1, MAX_SIDE).flatmap(
        lambda k: st.lists(st.lists(point, min_size=k, max_size=k), max_size=MAX_SIDE)
    )


def _polygons(_: object) -> SearchStrategy[object]:
    point = st.tuples(*[st.integers(0, 99)] * 2)
    return st.lists(st.lists(point, min_size=3, max_size=MAX_SIDE), max_size=MAX_SIDE)


def _json(_: object) -> SearchStrategy[object]:
    leaf = st.booleans() | st.integers(0, 1) | st.integers(-99, 99) | st.text(max_size=MAX_LENGTH)
    return st.dictionaries(st.text(max_size=2), leaf, max_size=3) | st.lists(leaf, max_size=3)


def _finite(htype: Embedding) -> SearchStrategy[object]:
    return npst.arrays("float32", htype.dim, elements=st.floats(-9, 9, width=32))


_VALUES: dict[type[Htype], Callable[[Any], SearchStrategy[object]]] = {
    Scalar: lambda htype: npst.from_dtype(np.dtype(htype.dtype)),
    Text: lambda _: st.text(st.characters(codec="utf-8"), max_size=MAX_LENGTH),
    Array: _array,
    Bytes: lambda _: st.binary(max_size=MAX_LENGTH),
    Json: _json,
    ClassLabel: lambda htype: st.sampled_from(htype.names),
    Embedding: _finite,
    Boxes: _boxes,
    Keypoints: _keypoints,
    Polygons: _polygons,
    Mask: _mask,
    Image: _image,
    Sequence: lambda htype: st.lists(values(htype.of), max_size=MAX_SIDE),
}
