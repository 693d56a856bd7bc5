"""Functions that return the shape of a value, or rearrange its elements."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.query.functions.base import Arg, Bound, function
from deeplake_lite.query.functions.binding import (
    axes,
    box_numbers,
    numbers,
    numbers_or_times,
    result_of,
)
from deeplake_lite.query.functions.value_type import Type

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

GROUP = "Shape and order"


def _about_shape(
    name: str,
    summary: str,
    type_: Callable[[int | None], Type],
    of: Callable[..., Any],
    *aliases: str,
) -> None:
    """Register a function whose result depends only on the shape of its argument."""

    def bind(x: Arg) -> Bound:
        if x.type.items is None:
            numbers_or_times(name, x)

        def compute(value: Any, *, lead: int) -> NDArray[Any]:
            shape = np.shape(value) if x.type.items is None else (len(value),)
            result = np.asarray(of(shape[lead:]), np.int64)
            return np.broadcast_to(result, (*shape[:lead], *result.shape))[()]

        is_array = x.type.items is None
        return Bound(type_(x.type.ndim), compute, stacks=is_array, null_items=True)

    bind.__doc__ = summary
    function(f"{name}(x)", group=GROUP, aliases=aliases)(bind)


_about_shape("SHAPE", "Length of each axis.", lambda ndim: Type("int64", (ndim,)), tuple)
_about_shape("NDIM", "Number of axes.", lambda _: Type("int64"), len)
_about_shape("SIZE", "Number of elements.", lambda _: Type("int64"), prod)
_about_shape(
    "LEN", "Length of the first axis.", lambda _: Type("int64"), lambda s: s[0],
    "LENGTH",
)  # fmt: skip


@function("TRANSPOSE(x, axes=None)", group=GROUP)
def _transpose(x: Arg, axes: list[int] | None = None) -> Bound:
    """Array with its axes in the given order, by default reversed."""
    numbers_or_times("TRANSPOSE", x)
    if axes is not None and not all(type(a) is int for a in axes):
        raise ValueError(f"axes must be integers, but they are {brief(axes)}")

    def compute(value: object, *, lead: int) -> NDArray[Any]:
        value = np.asarray(value)
        inner = value.ndim - lead
        order = range(inner)[::-1] if axes is None else axes
        if sorted(a % inner if -inner <= a < inner else -1 for a in order) != list(range(inner)):
            raise ValueError(
                f"axes must list every axis from 0 to {inner - 1} once, but it is {list(order)}"
            )
        return np.transpose(value, (*range(lead), *(lead + a % inner for a in order)))

    return Bound(result_of(compute, x), compute)


@function("RESHAPE(x, shape)", group=GROUP)
def _reshape(x: Arg, shape: list[int] | int) -> Bound:
    """Elements in a new shape; one length may be -1 and is then inferred."""
    numbers_or_times("RESHAPE", x)
    sizes = tuple(shape) if isinstance(shape, list | tuple) else (shape,)
    if not all(type(n) is int and n >= -1 for n in sizes) or sizes.count(-1) > 1:
        raise ValueError(
            f"a shape must consist of lengths, at most one of them -1, but it is {brief(shape)}"
        )

    def compute(value: object, *, lead: int) -> NDArray[Any]:
        value = np.asarray(value)
        if value.size == 0 and lead and -1 in sizes:  # NumPy cannot infer -1 without elements
            inferred = prod(value.shape[1:]) // (prod(n for n in sizes if n >= 0) or 1)
            return value.reshape(*value.shape[:1], *(inferred if n < 0 else n for n in sizes))
        return value.reshape(*value.shape[:lead], *sizes)

    original = x.type.shape
    if original is not None and None not in original:
        return Bound(result_of(compute, x), compute)
    whole = tuple(None if n < 0 else n for n in sizes)
    is_boxes = original is not None and original[-1:] == (4,)
    meaning = box_numbers(x.type.dtype, whole, x) if is_boxes else None
    return Bound(Type(x.type.dtype, whole, meaning), compute)


@function("FLATTEN(x)", group=GROUP)
def _flatten(x: Arg) -> Bound:
    """Elements along a single axis, in C order."""
    numbers_or_times("FLATTEN", x)

    def compute(value: Any, *, lead: int) -> NDArray[Any]:
        shape = np.shape(value)
        return np.reshape(value, (*shape[:lead], prod(shape[lead:])))

    return Bound(Type(x.type.dtype, (_size(x),)), compute)


@function("SORT(x, axis=-1)", group=GROUP)
def _sort(x: Arg, axis: int = -1) -> Bound:
    """Elements in ascending order along an axis, NaN last."""
    numbers_or_times("SORT", x)

    def compute(value: object, *, lead: int) -> NDArray[Any]:
        value = np.asarray(value)
        (over,) = axes(value.ndim, (axis,), lead)
        return np.sort(value, axis=over)

    return Bound(result_of(compute, x), compute)


@function("UNIQUE(x)", group=GROUP)
def _unique(x: Arg) -> Bound:
    """Distinct elements in ascending order."""
    numbers_or_times("UNIQUE", x)

    def compute(value: Any, *, lead: int) -> NDArray[Any]:  # noqa: ARG001
        return np.unique(value)

    meaning = x.type.meaning if x.type.list_of is None else None
    return Bound(Type(x.type.dtype, (None,), meaning), compute, stacks=False)


@function("NONZERO(x)", group=GROUP)
def _nonzero(x: Arg) -> Bound:
    """Positions of the nonzero elements, one row of indices per element."""
    numbers("NONZERO", x)

    def compute(value: Any, *, lead: int) -> NDArray[Any]:  # noqa: ARG001
        return np.argwhere(value)

    return Bound(Type("int64", (None, x.type.ndim)), compute, stacks=False)


def _size(x: Arg) -> int | None:
    """Return the number of elements per row, or None if it varies."""
    sizes = [] if x.type.shape is None else [n for n in x.type.shape if n is not None]
    varies = x.type.shape is None or len(sizes) < len(x.type.shape)
    return None if varies else prod(sizes)
