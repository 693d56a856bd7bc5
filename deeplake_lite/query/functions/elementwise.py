"""Elementwise functions, such as SQRT, LOG, CLIP, NORMALIZE and CAST."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.htypes.boxes import Boxes
from deeplake_lite.query.functions.base import Arg, Bound, function
from deeplake_lite.query.functions.binding import (
    align,
    bare,
    fit_numbers,
    numbers,
    result_of,
    widen,
    without_rounding,
)
from deeplake_lite.query.functions.boxes import box_type, format_of, in_window
from deeplake_lite.query.functions.value_type import Truths, Type

if TYPE_CHECKING:
    from numpy.typing import NDArray

GROUP = "Elementwise"


def _unary(name: str, summary: str, apply: np.ufunc) -> None:
    """Register a function of one argument that applies a ufunc."""

    def bind(x: Arg) -> Bound:
        numbers(name, x)

        def compute(value: object, *, lead: int) -> object:  # noqa: ARG001
            return apply(np.asarray(widen(value)))

        return Bound(result_of(compute, x), compute)

    bind.__doc__ = summary
    function(f"{name}(x)", group=GROUP)(bind)


_unary("ABS", "Absolute value.", np.abs)
_unary("SQRT", "Square root, NaN for negative numbers.", np.sqrt)
_unary("EXP", "e to the power of x.", np.exp)
_unary("LOG", "Natural logarithm, NaN for negative numbers.", np.log)
_unary("LOG2", "Logarithm to base 2.", np.log2)
_unary("LOG10", "Logarithm to base 10.", np.log10)
_unary("SIN", "Sine of an angle in radians.", np.sin)
_unary("COS", "Cosine of an angle in radians.", np.cos)
_unary("FLOOR", "Largest integer not greater than x.", np.floor)
_unary("CEIL", "Smallest integer not less than x.", np.ceil)
_unary("SIGN", "Sign of a number: -1, 0 or 1.", np.sign)
_unary("ISNAN", "Whether elements are NaN.", np.isnan)


def _extreme(name: str, summary: str, apply: np.ufunc) -> None:
    """Register GREATEST or LEAST, which applies a ufunc to two arguments."""

    def bind(x: Arg, y: Arg) -> Bound:
        numbers(name, x, y)

        def compute(*values: object, lead: int) -> object:
            sides = fit_numbers(without_rounding([bare(v) for v in values], (x, y)))
            return apply(*align(sides, (x, y), lead))

        return Bound(result_of(compute, x, y), compute)

    bind.__doc__ = summary
    function(f"{name}(x, y)", group=GROUP)(bind)


_extreme("GREATEST", "The greater number, element by element.", np.maximum)
_extreme("LEAST", "The smaller number, element by element.", np.minimum)


@function("CAST(x AS type)", group=GROUP)
def _cast(x: Arg, type: str) -> Bound:
    """Value converted to a type, given by its SQL or NumPy name, like NumPy's `astype`."""
    numbers("CAST", x)

    def compute(value: object, *, lead: int) -> NDArray[Any]:  # noqa: ARG001
        return np.asarray(value).astype(type)

    is_array = isinstance(x.type.meaning, Truths) or x.type.list_of is not None
    meaning = None if is_array else x.type.meaning
    return Bound(replace(result_of(compute, x), meaning=meaning), compute)


@function("ROUND(x, decimals=0)", group=GROUP)
def _round(x: Arg, decimals: int = 0) -> Bound:
    """Nearest number with the given number of decimals; halves are rounded to even."""
    numbers("ROUND", x)
    if type(decimals) is not int:
        raise ValueError(f"decimals must be an integer, but it is {brief(decimals)}")

    def compute(value: object, *, lead: int) -> object:  # noqa: ARG001
        return np.round(widen(np.asarray(value)), decimals)

    return Bound(result_of(compute, x), compute)


@function("CLIP(x, low, high)", group=GROUP)
def _clip(x: Arg, low: Arg, high: Arg) -> Bound:
    """Numbers limited to the range from low to high."""
    args = (x, low, high)
    numbers("CLIP", *args)

    def compute(*values: object, lead: int) -> object:
        limits = fit_numbers(without_rounding([bare(v) for v in values], args))
        value, least, most = align(limits, args, lead)
        return np.minimum(np.maximum(widen(value), least), most)

    return Bound(result_of(compute, *args), compute)


@function("NORMALIZE(x, range=None)", group=GROUP)
def _normalize(x: Arg, range: Arg | None = None) -> Bound:
    """Numbers rescaled from [low, high] (default: min, max) to [0, 1]; for boxes, from a window."""
    numbers("NORMALIZE", x, *([range] if range else []))
    is_boxes = x.type.boxes is not None
    if range is None:
        if is_boxes:
            raise ValueError("boxes need a window, [x0, y0, x1, y1]")
        return Bound(result_of(_scale_to_unit, x), _scale_to_unit)
    if range.type.shape == (4,):
        return _to_window(x, range)
    if range.type.shape != (2,):
        raise ValueError("range must be [low, high], or [x0, y0, x1, y1] for boxes")
    if is_boxes:
        raise ValueError(
            "boxes need a window of four numbers, [x0, y0, x1, y1], but "
            f"{range.text} is {range.type}"
        )

    def compute(value: object, limits: object, *, lead: int) -> NDArray[Any]:
        value, limits = _as_float(value), np.asarray(limits)
        ends = (limits[..., 0].astype(value.dtype), limits[..., 1].astype(value.dtype))
        return _scale(*align([value, *ends], (x, range, range), lead))

    return Bound(result_of(compute, x, range), compute)


def _to_window(boxes: Arg, window: Arg) -> Bound:
    box_type("NORMALIZE", boxes)
    format_ = format_of(boxes)

    def compute(value: Any, window_value: object, *, lead: int) -> NDArray[Any]:
        value = _as_float(value)
        corners = np.asarray(window_value).astype(value.dtype)
        value, corners = align([value, corners], (boxes, window), lead)
        return in_window(value, corners, format_)

    dtype = _as_float(np.empty(0, boxes.type.dtype)).dtype.name
    meaning = Boxes(format_, "fraction", dtype=dtype)
    return Bound(Type(dtype, boxes.type.shape, meaning), compute)


def _scale_to_unit(value: object, *, lead: int) -> NDArray[Any]:
    value = _as_float(value)
    inner = tuple(range(lead, value.ndim))
    if not value.size:
        return value
    return _scale(
        value, np.min(value, axis=inner, keepdims=True), np.max(value, axis=inner, keepdims=True)
    )


def _as_float(value: object) -> NDArray[Any]:
    array: NDArray[Any] = np.asarray(value)
    return array if array.dtype.kind in "fc" else array.astype(np.float64)


def _scale(value: NDArray[Any], low: object, high: Any) -> NDArray[Any]:
    """Return ``(value - low) / (high - low)``, or ``value - low`` where low equals high."""
    span = high - low
    scaled: NDArray[Any] = (value - low) / np.where(span == 0, np.ones_like(span), span)
    return scaled
