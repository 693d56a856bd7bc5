"""Reductions along axes or over all elements of a row, such as SUM, MAX and STD.

For values without elements, SUM, PROD, ANY and ALL return the same as in NumPy. Other reductions,
such as MAX, return null.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.query.functions.base import Arg, Bound, function
from deeplake_lite.query.functions.binding import Axis, axes, numbers, numbers_or_times, result_of
from deeplake_lite.query.functions.guard import all_null
from deeplake_lite.query.functions.sums import in_float32, is_small, reduce_widely, total
from deeplake_lite.query.functions.truths import has_null_items, split

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from deeplake_lite.query.functions.base import Compute

GROUP = "Reductions"

type Reduce = Callable[[NDArray[Any], tuple[int, ...]], object]
"""A function that reduces an array along the given axes."""


def _sum(x: NDArray[Any], axis: tuple[int, ...]) -> object:
    return total(x, axis) if is_small(x) else reduce_widely(np.sum, x, axis)


def _mean(x: NDArray[Any], axis: tuple[int, ...]) -> object:
    if not is_small(x):
        return np.mean(x, axis=axis)
    return total(x, axis) / np.float64(_count(x, axis))


def _var(x: NDArray[Any], axis: tuple[int, ...]) -> Any:
    if x.dtype == np.float16:
        return in_float32(np.var, x, axis)
    if x.dtype.kind not in "bu" or x.dtype.itemsize > 1 or _count(x, axis) > 1 << 23:
        return np.var(x, axis=axis)
    n = _count(x, axis)  # n² · 255² is below 2⁶³, so everything before the division is exact
    values = x.view(np.uint8)
    squares = np.multiply(values, values, dtype=np.uint16)
    once, twice = total(values, axis), total(squares, axis)
    return (n * twice.astype(np.int64) - once.astype(np.int64) ** 2) / np.float64(n) ** 2


def _std(x: NDArray[Any], axis: tuple[int, ...]) -> object:
    if x.dtype == np.float16:
        return in_float32(np.std, x, axis)
    return np.sqrt(_var(x, axis)) if x.dtype.kind in "bu" else np.std(x, axis=axis)


def _median(x: NDArray[Any], axis: tuple[int, ...]) -> object:
    values = x.view(np.uint8) if x.dtype == bool else x
    if values.dtype != np.uint8 or len(axis) < x.ndim or not x.ndim:
        return np.median(values, axis=axis)
    upto = np.cumsum(np.bincount(values.reshape(-1), minlength=256))
    middle = np.searchsorted(upto, [(x.size - 1) // 2, x.size // 2], side="right")
    return np.float64(middle.sum() / 2)


def _count(x: NDArray[Any], axis: tuple[int, ...]) -> int:
    return prod(x.shape[a] for a in axis)


def _reduction(
    name: str,
    summary: str,
    reduce: Reduce,
    *aliases: str,
    of_nothing: bool = False,
    decisive: bool | None = None,
    check: Callable[[str, Arg], None] = numbers,
) -> None:
    """Register a reduction that has the option ``axis``.

    Parameters
    ----------
    name : str
        Name of the function.
    summary : str
        The docstring.
    reduce : callable
        Reduces an array along axes.
    *aliases : str
        Other names.
    of_nothing : bool
        Whether the result for an array without elements is a value; otherwise, it is null.
    decisive : bool, optional
        The element that determines the result even if other elements are null. If it is None, null
        elements are left out.
    check : callable
        Raises an error if the argument does not have a suitable type.
    """

    def bind(x: Arg, axis: Axis = None) -> Bound:
        check(name, x)

        def reduced(value: object, *, lead: int) -> object:
            array = np.asarray(value)
            return reduce(array, axes(array.ndim, axis, lead))

        type_ = result_of(reduced, _not_empty(x))
        whole = reduced if of_nothing else _null_if_empty(reduced, axis, type_.dtype)

        def compute(value: Any, *, lead: int) -> object:
            if not has_null_items(value):
                return whole(value, lead=lead)
            if len(axes(value.ndim, axis, lead)) < value.ndim:
                raise ValueError(
                    "booleans that may be null can only be reduced along all axes. Leave out axis"
                )
            filled, nulls = split(value)
            present = filled[~np.asarray(nulls)]
            result = whole(present, lead=lead)
            decides = decisive is None or (present.size and result == decisive)
            return result if decides else None

        return Bound(type_, compute, null_items=True)

    bind.__doc__ = summary
    function(f"{name}(x, axis=None)", group=GROUP, aliases=aliases)(bind)


def _null_if_empty(reduce: Compute, axis: Axis, dtype: str) -> Compute:
    """Return a reduction whose result is null for rows without elements."""

    def compute(value: object, *, lead: int) -> object:
        array = np.asarray(value)
        if array.size:
            return reduce(array, lead=lead)
        over = axes(array.ndim, axis, lead)
        remaining = [n for a, n in enumerate(array.shape) if a not in over]
        if all(array.shape[a] for a in over):
            return np.zeros(remaining, dtype)
        return all_null(remaining[0], tuple(remaining[1:]), dtype) if lead else None

    return compute


def _not_empty(x: Arg) -> Arg:
    """Return an argument without empty axes for `result_of`, which then takes their size as 1."""
    shape = x.type.shape and tuple(n or None for n in x.type.shape)
    return replace(x, type=replace(x.type, shape=shape))


def _position(name: str, summary: str, find: Callable[..., object]) -> None:
    """Register ARGMIN or ARGMAX, which returns the position of an extreme element."""

    def bind(x: Arg, axis: int | None = None) -> Bound:
        numbers_or_times(name, x)
        if axis is not None and type(axis) is not int:
            raise ValueError(f"axis must be an integer, but it is {brief(axis)}")

        def position(value: object, *, lead: int) -> object:
            array = np.asarray(value)
            over = axes(array.ndim, axis, lead)
            flat = array.reshape(*array.shape[:lead], -1) if axis is None else array
            return find(flat, axis=lead if axis is None else over[0])

        type_ = result_of(position, _not_empty(x))

        return Bound(type_, _null_if_empty(position, axis, type_.dtype))

    bind.__doc__ = summary
    function(f"{name}(x, axis=None)", group=GROUP)(bind)


def _plain(reduce: Callable[..., object]) -> Reduce:
    """Return a NumPy reduction as a function whose second argument is a tuple of axes."""
    return lambda x, over: reduce(x, axis=over)


_reduction("SUM", "Sum of the elements.", _sum, "ASUM", of_nothing=True)
_reduction("PROD", "Product of the elements.", partial(reduce_widely, np.prod), of_nothing=True)
_reduction("MEAN", "Mean of the elements.", _mean, "AVG", "AMEAN")
_reduction("MEDIAN", "Middle of the sorted elements.", _median)
_reduction("STD", "Standard deviation of the elements.", _std, "STDDEV", "ASTD")
_reduction("VAR", "Variance of the elements.", _var, "VARIANCE")
_reduction("MIN", "Smallest element.", _plain(np.min), "AMIN", check=numbers_or_times)
_reduction("MAX", "Largest element.", _plain(np.max), "AMAX", check=numbers_or_times)
_reduction("ANY", "Whether any element is nonzero.", _plain(np.any), of_nothing=True, decisive=True)
_reduction("ALL", "Whether no element is zero.", _plain(np.all), of_nothing=True, decisive=False)
_reduction(
    "ALL_STRICT",
    "Whether there are elements, and none of them is zero.",
    lambda x, over: np.all(x, axis=over) & bool(_count(x, over)),
    of_nothing=True,
    decisive=False,
)
_position(
    "ARGMIN",
    "Index of the smallest element; of the flattened array if no axis is given.",
    np.argmin,
)
_position(
    "ARGMAX", "Index of the largest element; of the flattened array if no axis is given.", np.argmax
)
