"""Operators between tensors: arithmetic, comparisons, logic.

Division by zero gives infinities and NaN; of integers, ``//`` and ``%`` by zero give 0, as in
NumPy. Comparisons with NaN are false, but for ``<>``.
"""

from __future__ import annotations

import operator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.errors import QueryTypeError
from deeplake_lite.htypes.json_values import canonical_json
from deeplake_lite.query.functions.base import Arg, Bound, function
from deeplake_lite.query.functions.binding import (
    align,
    bare,
    box_numbers,
    class_number,
    numbers,
    result_of,
    weak,
    widened,
    without_rounding,
)
from deeplake_lite.query.functions.guard import null_rows
from deeplake_lite.query.functions.times import as_times, check_times, compare_times
from deeplake_lite.query.functions.value_type import Type

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from deeplake_lite.query.functions.base import Compute

GROUP = "Operators"


def _arithmetic(sign: str, summary: str, apply: Callable[..., Any]) -> None:
    """Register an operator between numbers, small integers being widened."""

    def bind(x: Arg, y: Arg) -> Bound:
        numbers(sign, x, y)

        def compute(*values: Any, lead: int) -> Any:
            sides = [bare(v) for v in values]
            sides = sides if apply is np.true_divide else without_rounding(sides, (x, y))
            return apply(*align([widened(v) for v in sides], (x, y), lead))

        try:
            return Bound(result_of(compute, x, y), compute)
        except OverflowError:
            raise ValueError(_BEYOND) from None

    bind.__doc__ = summary
    function(f"x {sign} y", group=GROUP, name=sign)(bind)


_BEYOND = (
    "takes no whole number that the other side's dtype does not hold, such as a negative one "
    "beside uint64: cast that side, CAST(x AS INT64)"
)


_arithmetic("+", "Sum.", np.add)
_arithmetic("-", "Difference.", np.subtract)
_arithmetic("*", "Product, element by element.", np.multiply)
_arithmetic("/", "Quotient, never rounded.", np.true_divide)
_arithmetic("//", "Floor division (scalars: truncated, see Division).", np.floor_divide)
_arithmetic("%", "Remainder with the sign of the divisor (scalars: of the dividend).", np.remainder)


@function("x ** y", group=GROUP, name="**")
def _power(x: Arg, y: Arg) -> Bound:
    """Power; an integer to a negative literal exponent gives a float."""
    numbers("**", x, y)
    fraction = y.is_constant and bool(np.any(np.less(y.value, 0)))

    def compute(*values: Any, lead: int) -> Any:
        sides = [bare(v) for v in values]
        sides = sides if fraction else without_rounding(sides, (x, y))
        a, b = align([widened(v) for v in sides], (x, y), lead)
        if fraction and np.asarray(a).dtype.kind in "iu":
            a = np.asarray(a, np.float64)
        return np.power(a, b)

    return Bound(result_of(compute, x, y), compute)


@function("-x", group=GROUP, name="NEG")
def _negative(x: Arg) -> Bound:
    """Negative."""
    numbers("NEG", x)

    def compute(value: Any, *, lead: int) -> Any:  # noqa: ARG001
        return np.negative(widened(value))

    return Bound(result_of(compute, x), compute)


def _comparison(
    sign: str, summary: str, apply: Callable[..., Any], compare: Callable[[Any, Any], Any]
) -> None:
    """Register a comparison; classes may be compared with their names."""

    def bind(x: Arg, y: Arg) -> Bound:
        if sign in ("=", "<>"):
            x, y = _named(x, y), _named(y, x)
        elif any(arg.type.dtype.startswith("complex") for arg in (x, y)):
            raise QueryTypeError(
                f"Complex numbers are neither less nor greater than others, but {x.text} is "
                f"{x.type} and {y.text} is {y.type}. Compare them by = or <>, or compare ABS(x)."
            )
        x, y = as_times(x, y), as_times(y, x)
        _check_truth(x, y)
        if (listed := _listed(sign, x, y, compare)) is not None:
            return listed
        if x.type.is_time or y.type.is_time:
            return _between_times(sign, x, y, apply)
        known = x.type.is_number + y.type.is_number
        if "object" in (x.type.dtype, y.type.dtype):
            return Bound(Type("bool"), _between_json(compare), stacks=False)
        if known == 1:
            raise QueryTypeError(
                f"{sign} compares numbers with numbers and text with text, got {x.text}, which is "
                f"{x.type}, and {y.text}, which is {y.type}."
            )
        if known == 0:
            return Bound(Type("bool"), _between_text(compare), stacks=False)
        fixed = [weak(arg.value) if arg.is_constant else None for arg in (x, y)]
        box_numbers("float32", (4,), x, y)  # refuses boxes of two formats

        def compute(*values: Any, lead: int) -> Any:
            pairs = zip(values, fixed, strict=True)
            a, b = align([np.asarray(v) if f is None else f for v, f in pairs], (x, y), lead)
            return apply(a, b)

        return Bound(result_of(compute, x, y), compute)

    bind.__doc__ = summary
    function(f"x {sign} y", group=GROUP, name=sign)(bind)


def _listed(sign: str, x: Arg, y: Arg, compare: Callable[[Any, Any], Any]) -> Bound | None:
    """Return a comparison of a list's items, each with one value; None where neither is a list.

    Raises
    ------
    QueryTypeError
        For lists of what has axes, and for two lists.
    """
    is_json = "object" in (x.type.dtype, y.type.dtype)
    lists = [a for a in (x, y) if a.type.items is not None or (_is_texts(a) and not is_json)]
    if not lists:
        return None
    one, other = lists[0], y if lists[0] is x else x
    items = one.type.items
    if _is_texts(one) and other.type != Type("str"):
        raise QueryTypeError(
            f"{sign} compares each text of a list with a text, but {other.text} is {other.type} "
            f"and {one.text} is {one.type}. CAST one of them."
        )
    is_flat = one.type.ndim == 1 if items is None else items.of.ndim == 0
    if not is_flat or other.type.ndim != 0:
        raise QueryTypeError(
            f"{sign} compares each item of a list with one value, but {one.text} is {one.type} and "
            f"{other.text} is {other.type}. Compare HASH({one.text}) with HASH({other.text}), or "
            f"take an item: {one.text}[0]."
        )

    single = other.value if other.is_constant and other.type.is_time else None

    def compute(a: Any, b: Any, *, lead: int) -> Any:  # noqa: ARG001
        if single is not None:
            a, b = (a, single) if one is x else (single, b)
        pairs = [(item, b) for item in a] if one is x else [(a, item) for item in b]
        return np.array([_holds(compare, *pair) for pair in pairs], bool)

    return Bound(Type("bool", (None,)), compute, stacks=False)


def _is_texts(arg: Arg) -> bool:
    """Tell whether a value is a list of texts as it stands: ``['a', 'b']``."""
    return arg.type.dtype == "str" and arg.type.items is None and arg.type.ndim != 0


def _holds(compare: Callable[[Any, Any], Any], a: Any, b: Any) -> bool:
    """Tell whether a comparison holds; null is equal to nothing, a text neither less nor more."""
    if a is None or b is None:
        return False
    if isinstance(a, np.datetime64 | np.timedelta64):
        return bool(compare_times(compare, a, b))
    try:
        return bool(compare(a, b))
    except TypeError:
        return False


def _between_times(sign: str, x: Arg, y: Arg, apply: Callable[..., Any]) -> Bound:
    """Return a comparison of times, element by element."""
    check_times(sign, x, y)
    fixed = [np.asarray(arg.value) if arg.is_constant else None for arg in (x, y)]

    def compute(*values: Any, lead: int) -> Any:
        pairs = zip(values, fixed, strict=True)
        sides = align([np.asarray(v) if f is None else f for v, f in pairs], (x, y), lead)
        return compare_times(apply, *sides)

    return Bound(result_of(compute, x, y), compute)


def _between_text(compare: Callable[[Any, Any], Any]) -> Compute:
    """Return what compares texts row by row."""

    def compute(a: Any, b: Any, *, lead: int) -> Any:  # noqa: ARG001
        return np.bool_(compare(a, b))

    return compute


def _between_json(compare: Callable[[Any, Any], Any]) -> Compute:
    """Return what compares JSON row by row; a text is neither less nor more than a number."""

    def compute(*values: Any, lead: int) -> Any:  # noqa: ARG001
        a, b = (v.tolist() if hasattr(v, "tolist") else v for v in values)
        if compare in (operator.eq, operator.ne):
            return np.bool_(compare(canonical_json(a), canonical_json(b)))
        try:
            return np.bool_(compare(a, b))
        except TypeError:
            return np.False_

    return compute


def _check_truth(*args: Arg) -> None:
    """Refuse classes beside truth values. Raises QueryTypeError."""
    types = [arg.type.items.of if arg.type.items is not None else arg.type for arg in args]
    classes = [t.classes for t in types if t.classes is not None]
    if "bool" in {t.dtype for t in types} and not all(c.takes_truth for c in classes):
        raise QueryTypeError(
            f"None of several classes is true or false, but {args[0].text} is compared with "
            f"{args[1].text}. Compare classes with their names, or with their numbers, which begin "
            "at 0."
        )


def _named(arg: Arg, other: Arg) -> Arg:
    """Return the number of a class where its name stands."""
    if arg.is_constant and isinstance(arg.value, str) and other.type.names is not None:
        return Arg(arg.text, Type("int64"), class_number(arg, other))
    return arg


_comparison("=", "Whether elements are equal.", np.equal, operator.eq)
_comparison("<>", "Whether elements differ.", np.not_equal, operator.ne)
_comparison("<", "Whether elements are less.", np.less, operator.lt)
_comparison("<=", "Whether elements are less or equal.", np.less_equal, operator.le)
_comparison(">", "Whether elements are greater.", np.greater, operator.gt)
_comparison(">=", "Whether elements are greater or equal.", np.greater_equal, operator.ge)


def _logic(word: str, summary: str, apply: Callable[..., Any], decisive: bool) -> None:
    """Register AND or OR; one value decides, whatever the other is, null included."""

    def bind(x: Arg, y: Arg) -> Bound:
        numbers(word, *(a for a in (x, y) if a.value is not None))

        def compute(*values: Any, lead: int) -> Any:
            filled, nulls = zip(*(_filled(value, not decisive) for value in values), strict=True)
            result = np.asarray(apply(*align(filled, (x, y), lead)))
            if not any(np.any(null) for null in nulls):
                return result
            inner = tuple(range(lead, result.ndim))
            open_ = np.logical_or(*nulls) & ~np.all(result == decisive, axis=inner)
            if not lead:
                return None if open_ else result
            mask = open_.reshape(-1, *(1,) * len(inner))
            return np.ma.masked_array(result, np.broadcast_to(mask, result.shape))

        known = (
            replace(a, type=Type("bool"), value=True) if a.value is None else a for a in (x, y)
        )
        return Bound(result_of(compute, *known), compute, sees_null=True)

    bind.__doc__ = summary
    function(f"x {word} y", group=GROUP, name=word)(bind)


def _filled(value: Any, neutral: bool) -> tuple[NDArray[Any], NDArray[np.bool_] | bool]:
    """Return a value with nulls replaced, and which rows they are."""
    if value is None or value is np.ma.masked:
        return np.asarray(neutral), True
    if not isinstance(value, np.ma.MaskedArray):
        return np.asarray(value), False
    nulls = null_rows(value)
    filled = np.array(np.ma.getdata(value))
    filled[nulls] = neutral
    return filled, nulls


_logic("AND", "Whether both are true, element by element.", np.logical_and, decisive=False)
_logic("OR", "Whether one is true, element by element.", np.logical_or, decisive=True)


@function("NOT x", group=GROUP, name="NOT")
def _not(x: Arg) -> Bound:
    """Whether elements are zero or false."""
    numbers("NOT", x)

    def compute(value: Any, *, lead: int) -> Any:  # noqa: ARG001
        return np.logical_not(value)

    return Bound(result_of(compute, x), compute)
