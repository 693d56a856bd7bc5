"""Operators on tensors, for arithmetic, comparisons and logic.

As in NumPy, division by zero returns infinities and NaN, but ``//`` and ``%`` of integers by zero
return 0. Comparisons with NaN are false, except ``<>``.
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
    adapt_to_floats,
    align,
    bare,
    box_numbers,
    class_number,
    keep_exact,
    numbers,
    result_of,
    weak,
    widen,
    without_rounding,
)
from deeplake_lite.query.functions.guard import null_rows
from deeplake_lite.query.functions.json_items import (
    built_in_value,
    check_beside_json,
    compare_json_item,
)
from deeplake_lite.query.functions.times import as_times, check_times, compare_times
from deeplake_lite.query.functions.truths import (
    has_null_items,
    join,
    make_three_valued,
    may_hold_null,
    split,
    with_truths,
)
from deeplake_lite.query.functions.value_type import Truths, Type

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.query.functions.base import Compute
    from deeplake_lite.query.functions.json_items import Comparison

GROUP = "Operators"


def _arithmetic(sign: str, summary: str, apply: np.ufunc) -> None:
    """Register an arithmetic operator, which converts small integers to int64."""

    def bind(x: Arg, y: Arg) -> Bound:
        numbers(sign, x, y)

        def compute(*values: object, lead: int) -> object:
            sides = [bare(v) for v in values]
            sides = sides if apply is np.true_divide else without_rounding(sides, (x, y))
            return apply(*align([widen(v) for v in sides], (x, y), lead))

        try:
            return Bound(result_of(compute, x, y), compute)
        except OverflowError:
            raise ValueError(_DOES_NOT_FIT) from None

    bind.__doc__ = summary
    function(f"x {sign} y", group=GROUP, name=sign)(bind)


_DOES_NOT_FIT = (
    "an integer constant must fit in the dtype of the other operand; negative integers do not fit "
    "in uint64. Cast the other operand: CAST(x AS INT64)"
)


_arithmetic("+", "Sum.", np.add)
_arithmetic("-", "Difference.", np.subtract)
_arithmetic("*", "Product, element by element.", np.multiply)
_arithmetic("/", "Quotient, never rounded.", np.true_divide)
_arithmetic("//", "Floor division (scalars: truncated, see Division).", np.floor_divide)
_arithmetic("%", "Remainder with the sign of the divisor (scalars: of the dividend).", np.remainder)


@function("x ** y", group=GROUP, name="**")
def _power(x: Arg, y: Arg) -> Bound:
    """Power; an integer with a negative literal exponent becomes a float."""
    numbers("**", x, y)
    fraction = y.is_constant and bool(np.any(np.less(y.value, 0)))

    def compute(*values: object, lead: int) -> object:
        sides = [bare(v) for v in values]
        sides = sides if fraction else without_rounding(sides, (x, y))
        a, b = align([widen(v) for v in sides], (x, y), lead)
        if fraction and np.asarray(a).dtype.kind in "iu":
            a = np.asarray(a, np.float64)
        return np.power(a, b)

    return Bound(result_of(compute, x, y), compute)


@function("-x", group=GROUP, name="NEG")
def _negative(x: Arg) -> Bound:
    """Negation."""
    numbers("NEG", x)

    def compute(value: object, *, lead: int) -> object:  # noqa: ARG001
        return np.negative(widen(value))

    return Bound(result_of(compute, x), compute)


def _comparison(sign: str, summary: str, apply: np.ufunc, compare: Comparison) -> None:
    """Register a comparison operator, for numbers, strings, times, JSON, classes and lists."""

    def bind(x: Arg, y: Arg) -> Bound:
        if sign in ("=", "<>"):
            x, y = _name_to_number(x, y), _name_to_number(y, x)
        elif any(arg.type.dtype.startswith("complex") for arg in (x, y)):
            raise QueryTypeError(
                f"Complex numbers have no order, but {x.text} is {x.type} and {y.text} is "
                f"{y.type}. Compare the numbers with = or <>, or compare their absolute values, "
                "ABS(x)."
            )
        x, y = as_times(x, y), as_times(y, x)
        _check_booleans(x, y)
        if (bound := _compare_items(sign, x, y, compare)) is not None:
            return bound
        if x.type.is_time or y.type.is_time:
            return _compare_with_times(sign, x, y, apply)
        numeric = x.type.is_number + y.type.is_number
        if "object" in (x.type.dtype, y.type.dtype):
            return Bound(Type("bool"), _compare_json(compare), stacks=False)
        if numeric == 1:
            raise QueryTypeError(
                f"{sign} compares numbers with numbers and strings with strings, but {x.text} is "
                f"{x.type} and {y.text} is {y.type}. CAST {x.text} or {y.text}, so that the types "
                "agree."
            )
        if numeric == 0:
            return Bound(Type("bool"), _compare_strings(compare), stacks=False)
        fixed = [weak(arg.value) if arg.is_constant else None for arg in (x, y)]
        box_numbers("float32", (4,), x, y)  # raise an error for boxes in two formats
        exact, fixed[0] = adapt_to_floats(apply, fixed[0], y.type.dtype, is_first=True)
        exact, fixed[1] = adapt_to_floats(exact, fixed[1], x.type.dtype, is_first=False)

        def compute(*values: object, lead: int) -> object:
            pairs = zip(values, fixed, strict=True)
            a, b = align([np.asarray(v) if f is None else f for v, f in pairs], (x, y), lead)
            return exact(a, b)

        type_ = with_truths(result_of(compute, x, y), x, y)
        return Bound(type_, make_three_valued(compute), null_items=True)

    bind.__doc__ = summary
    function(f"x {sign} y", group=GROUP, name=sign)(bind)


def _compare_items(sign: str, x: Arg, y: Arg, compare: Comparison) -> Bound | None:
    """Return the operator `sign`, bound to a list and a value that is compared with each item.

    Returns None if neither argument is a list.

    Raises
    ------
    QueryTypeError
        If both arguments are lists, or if the items of the list are arrays.
    """
    is_json = "object" in (x.type.dtype, y.type.dtype)
    lists = [a for a in (x, y) if a.type.items is not None or (_is_strings(a) and not is_json)]
    if not lists:
        return None
    list_, other = lists[0], y if lists[0] is x else x
    items = list_.type.items
    if _is_strings(list_) and other.type != Type("str"):
        raise QueryTypeError(
            f"{sign} compares each string of a list with a string, but {other.text} is "
            f"{other.type} and {list_.text} is {list_.type}. CAST {other.text} AS TEXT."
        )
    is_flat = list_.type.ndim == 1 if items is None else items.of.ndim == 0
    if not is_flat or other.type.ndim != 0:
        raise QueryTypeError(
            f"{sign} compares each item of a list with a single value, but {list_.text} is "
            f"{list_.type} and {other.text} is {other.type}. Compare HASH({list_.text}) with "
            f"HASH({other.text}), or select an item: {list_.text}[0]."
        )

    if items is not None and items.of.dtype == "object":
        return _compare_json_items(sign, x, y, compare)

    if items is not None:
        _check_kinds(sign, list_, items.of, other)

    single = other.value if other.is_constant and other.type.is_time else None

    def compute(a: Any, b: Any, *, lead: int) -> NDArray[Any]:  # noqa: ARG001
        if single is not None:
            a, b = (a, single) if list_ is x else (single, b)
        whole = weak(b if list_ is x else a) if other.type.is_number else None
        pairs = (
            [(keep_exact(item, whole), b) for item in a]
            if list_ is x
            else [(a, keep_exact(item, whole)) for item in b]
        )
        nulls = [item is None for item in (a if list_ is x else b)]
        return join(np.array([_holds(compare, *pair) for pair in pairs], bool), nulls)

    meaning = Truths() if may_hold_null(list_.type) else None
    return Bound(Type("bool", (None,), meaning), compute, stacks=False)


def _check_kinds(sign: str, list_: Arg, item: Type, other: Arg) -> None:
    """Raise QueryTypeError if list items are compared with values of another kind."""
    if item.is_time or other.type.is_time:
        check_times(sign, Arg(list_.text, item), other)
    elif not item.is_like(other.type):
        raise QueryTypeError(
            f"{sign} compares numbers with numbers and strings with strings, but {list_.text} is "
            f"{list_.type} and {other.text} is {other.type}. CAST {other.text} to the type of the "
            "items."
        )


_MIRRORED: dict[Comparison, Comparison] = {
    operator.eq: operator.eq, operator.ne: operator.ne, operator.lt: operator.gt,
    operator.le: operator.ge, operator.gt: operator.lt, operator.ge: operator.le,
}  # fmt: skip
"""Maps each comparison to the comparison that is equivalent if the two sides are swapped."""


def _compare_json_items(sign: str, x: Arg, y: Arg, compare: Comparison) -> Bound:
    """Return the operator `sign`, bound to a list of JSON and a value.

    Each item of the list, which may be on either side, is compared with the value.
    """
    is_first = x.type.items is not None
    check_beside_json(sign, *((x, y) if is_first else (y, x)))
    compare = compare if is_first else _MIRRORED[compare]

    def compute(*values: Any, lead: int) -> NDArray[Any]:  # noqa: ARG001
        items, other = values if is_first else values[::-1]
        other = built_in_value(other)
        truths = [compare_json_item(compare, item, other) for item in items]
        return join(np.array([bool(t) for t in truths], bool), [t is None for t in truths])

    may_be_null = sign not in ("=", "<>") or may_hold_null((x if is_first else y).type)
    return Bound(Type("bool", (None,), Truths() if may_be_null else None), compute, stacks=False)


def _is_strings(arg: Arg) -> bool:
    """Return whether an argument is a constant list of strings: ``['a', 'b']``."""
    return arg.type.dtype == "str" and arg.type.items is None and arg.type.ndim != 0


def _holds(compare: Comparison, a: object, b: object) -> bool:
    """Return whether a comparison is true. If a value is null or has no order, return False."""
    if a is None or b is None:
        return False
    if isinstance(a, np.datetime64 | np.timedelta64):
        return bool(compare_times(compare, a, b))
    try:
        return bool(compare(a, b))
    except TypeError:
        return False


def _compare_with_times(sign: str, x: Arg, y: Arg, apply: np.ufunc) -> Bound:
    """Return the operator `sign`, bound to times, which are compared element by element."""
    check_times(sign, x, y)
    fixed = [np.asarray(arg.value) if arg.is_constant else None for arg in (x, y)]

    def compute(*values: object, lead: int) -> object:
        pairs = zip(values, fixed, strict=True)
        sides = align([np.asarray(v) if f is None else f for v, f in pairs], (x, y), lead)
        return compare_times(apply, *sides)

    return Bound(result_of(compute, x, y), compute)


def _compare_strings(compare: Comparison) -> Compute:
    """Return a function that compares two strings."""

    def compute(a: object, b: object, *, lead: int) -> object:  # noqa: ARG001
        return np.bool_(compare(a, b))

    return compute


def _compare_json(compare: Comparison) -> Compute:
    """Return a function that compares two JSON values. A string is never less than a number."""

    def compute(*values: object, lead: int) -> object:  # noqa: ARG001
        a, b = map(built_in_value, values)
        if compare in (operator.eq, operator.ne):
            return np.bool_(compare(canonical_json(a), canonical_json(b)))
        try:
            return np.bool_(compare(a, b))
        except TypeError:
            return np.False_

    return compute


def _check_booleans(*args: Arg) -> None:
    """Raise QueryTypeError if classes are compared with booleans."""
    types = [arg.type.items.of if arg.type.items is not None else arg.type for arg in args]
    classes = [t.classes for t in types if t.classes is not None]
    if "bool" in {t.dtype for t in types} and not all(c.takes_truth for c in classes):
        raise QueryTypeError(
            f"Classes cannot be compared with booleans, but {args[0].text} is compared with "
            f"{args[1].text}. Compare classes with their names, or with their numbers, which start "
            "at 0."
        )


def _name_to_number(arg: Arg, other: Arg) -> Arg:
    """Return a constant name of a class as the class number, if the other argument has classes.

    Other arguments are returned unchanged.
    """
    if arg.is_constant and isinstance(arg.value, str) and other.type.names is not None:
        return Arg(arg.text, Type("int64"), class_number(arg, other))
    return arg


_comparison("=", "Whether elements are equal.", np.equal, operator.eq)
_comparison("<>", "Whether elements differ.", np.not_equal, operator.ne)
_comparison("<", "Whether elements are less.", np.less, operator.lt)
_comparison("<=", "Whether elements are less than or equal.", np.less_equal, operator.le)
_comparison(">", "Whether elements are greater.", np.greater, operator.gt)
_comparison(">=", "Whether elements are greater than or equal.", np.greater_equal, operator.ge)


def _logic(word: str, summary: str, apply: np.ufunc, decisive: bool) -> None:
    """Register AND or OR.

    An operand that equals `decisive` determines the result even if the other operand is null. This
    applies to scalars and to the items of lists. If an operand has axes and either operand is null
    in a row, the result for this row is null, because the operands may differ in shape.
    """

    def bind(x: Arg, y: Arg) -> Bound:
        numbers(word, *(a for a in (x, y) if a.value is not None))

        def compute(*values: object, lead: int) -> object:
            sides, items = zip(*map(_fill_null_items, values), strict=True)
            filled, nulls = zip(*(_fill_nulls(side, not decisive) for side in sides), strict=True)
            result = np.asarray(apply(*align(filled, (x, y), lead)))
            if not any(np.any(null) for null in nulls):
                return join(result, np.logical_or(*items) & (result != decisive))
            is_null = np.logical_or(*nulls) & (result != decisive)
            if not lead:
                return None if is_null else result
            return np.ma.masked_array(result, is_null)

        samples = (
            replace(a, type=Type("bool"), value=True) if a.value is None else a for a in (x, y)
        )
        type_ = with_truths(result_of(compute, *samples), x, y)
        are_scalars = x.type.ndim == 0 == y.type.ndim
        return Bound(type_, compute, sees_null=are_scalars, null_items=True)

    def _fill_null_items(value: object) -> tuple[Any, Any]:
        """Return a value in which null items are replaced, and a mask of the null items.

        Null items are replaced with ``not decisive``, so that the other operand determines the
        result.
        """
        if not has_null_items(value):
            return value, False
        truths, nulls = split(value)
        return np.where(nulls, not decisive, truths), nulls

    bind.__doc__ = summary
    function(f"x {word} y", group=GROUP, name=word)(bind)


def _fill_nulls(value: object, neutral: bool) -> tuple[NDArray[Any], NDArray[np.bool_] | bool]:
    """Return a value in which nulls are replaced with `neutral`, and a mask of the null rows."""
    if value is None or value is np.ma.masked:
        return np.asarray(neutral), True
    if not isinstance(value, np.ma.MaskedArray):
        return np.asarray(value), False
    nulls = null_rows(value)
    filled = np.array(np.ma.getdata(value))
    filled[nulls] = neutral
    return filled, nulls


_logic("AND", "Whether both are true, element by element.", np.logical_and, decisive=False)
_logic("OR", "Whether at least one is true, element by element.", np.logical_or, decisive=True)


@function("NOT x", group=GROUP, name="NOT")
def _not(x: Arg) -> Bound:
    """Whether elements are zero or false."""
    numbers("NOT", x)

    def compute(value: Any, *, lead: int) -> object:  # noqa: ARG001
        return np.logical_not(value)

    type_ = with_truths(result_of(compute, x), x)
    return Bound(type_, make_three_valued(compute), null_items=True)
