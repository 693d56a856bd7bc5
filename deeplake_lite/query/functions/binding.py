"""Helpers for binders, which check arguments, broadcast values and determine types of results."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.errors import InvalidValueError, QueryTypeError
from deeplake_lite.htypes.array import MAX_ANY_AXES
from deeplake_lite.htypes.class_label import ClassLabel
from deeplake_lite.query.functions.room import STACK_BYTES, check_room
from deeplake_lite.query.functions.truths import way_around_nulls
from deeplake_lite.query.functions.value_type import BoxNumbers, ImageNumbers, Type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deeplake_lite.query.functions.base import Arg, Compute
    from deeplake_lite.query.functions.value_type import Shape

type Axis = int | tuple[int, ...] | list[int] | None

_IMAGES: tuple[Shape, ...] = ((None, None, None), (None, None))
"""Shapes that images with an unknown number of axes may have: in colour, and in greyscale."""

_ARRAYS: tuple[Shape, ...] = tuple((None,) * ndim for ndim in range(MAX_ANY_AXES + 1))
"""Shapes that arrays with an unknown number of axes may have."""


def numbers(name: str, *args: Arg) -> None:
    """Raise QueryTypeError if an argument of the function `name` does not consist of numbers."""
    for arg in args:
        if not arg.type.is_number:
            way = way_around_nulls(arg.type, arg.text)
            raise QueryTypeError(f"{name} takes numbers, but {arg.text} is {arg.type}.{way}")


def numbers_or_times(name: str, x: Arg) -> None:
    """Raise QueryTypeError if an argument of the function `name` is neither numbers nor times."""
    if not x.type.is_number and not x.type.is_time:
        way = way_around_nulls(x.type, x.text)
        raise QueryTypeError(f"{name} takes numbers or times, but {x.text} is {x.type}.{way}")


def class_number(name: Arg, classes: Arg) -> int:
    """Return the number of the class `name`, among the classes of the argument `classes`.

    Raises
    ------
    QueryTypeError
        If no class has this name.
    """
    try:
        return ClassLabel(classes.type.names or ()).index(name.value)
    except InvalidValueError as error:
        raise QueryTypeError(f"{classes.text} with {name.text}: {error}") from None


def axes(ndim: int, axis: Axis, lead: int) -> tuple[int, ...]:
    """Return the axes of an array that an option ``axis`` selects, in ascending order.

    Parameters
    ----------
    ndim : int
        Number of axes of the array, including the axis of stacked rows.
    axis : int, sequence of int or None
        The option: axes of the value of one row, or None for all of them.
    lead : int
        1 if the array has a first axis of stacked rows, which is not counted in `axis`; else 0.

    Examples
    --------
    >>> axes(3, None, 1), axes(3, -1, 1), axes(2, 0, 0)
    ((1, 2), (2,), (0,))
    """
    inner = ndim - lead
    if axis is None:
        return tuple(range(lead, ndim))
    chosen = tuple(axis) if isinstance(axis, tuple | list) else (axis,)
    for a in chosen:
        if type(a) is not int:
            raise ValueError(f"an axis must be an integer, but it is {brief(a)}")
        if not -inner <= a < inner:
            noun = "axis" if inner == 1 else "axes"
            raise ValueError(f"axis {a} is out of range for {inner} {noun}")
    shifted = tuple(sorted(lead + a % inner for a in chosen))
    if len(set(shifted)) < len(shifted):
        raise ValueError(f"an axis occurs twice in {list(chosen)}")
    return shifted


def align(values: Sequence[Any], args: Sequence[Arg], lead: int) -> list[Any]:
    """Return values that broadcast row by row, by adding axes of size 1 after the axis of rows.

    Raises
    ------
    TooMany, ValueError
        If the result of broadcasting would be too large; see `check_room`.

    Examples
    --------
    >>> from deeplake_lite.query.functions.base import Arg
    >>> rows = Arg("x", Type("float64")), Arg("y", Type("float64", (2, 3)))
    >>> a, b = align((np.zeros((5,)), np.zeros((5, 2, 3))), rows, lead=1)
    >>> a.shape
    (5, 1, 1)
    """
    if not lead:
        return _check_size(values, lead)
    inner = [np.ndim(v) - (not a.is_constant) for v, a in zip(values, args, strict=True)]
    most = max(inner)
    aligned = [
        v
        if arg.is_constant or n == most
        else v.reshape(v.shape[:1] + (1,) * (most - n) + v.shape[1:])
        for v, arg, n in zip(values, args, inner, strict=True)
    ]
    return _check_size(aligned, lead)


def _check_size(values: Sequence[Any], lead: int) -> list[Any]:
    """Return the values, after checking that the result of broadcasting them is not too large."""
    itemsize = max(np.asarray(v).itemsize for v in values)
    if math.prod(max(1, np.size(v)) for v in values) * itemsize > STACK_BYTES:
        try:
            shape = np.broadcast_shapes(*map(np.shape, values))
        except ValueError:
            return list(values)  # if they do not broadcast, the function itself raises an error
        check_room(shape, itemsize, lead=lead)
    return list(values)


def weak(value: Any) -> object:
    """Return a number as a Python number, so that NumPy compares it in the dtype of the array.

    Whole floats become integers. Arrays are returned unchanged.
    """
    if np.ndim(value):
        return np.asarray(value)
    number = value.item() if hasattr(value, "item") else value
    return int(number) if isinstance(number, float) and number.is_integer() else number


_NO_LESS: dict[np.ufunc, np.ufunc] = {np.less: np.less_equal, np.greater: np.greater_equal}
"""Maps strict comparisons to comparisons that include equality."""


def adapt_to_floats(
    compare: np.ufunc, number: object, dtype: str, *, is_first: bool
) -> tuple[np.ufunc, object]:
    """Return a comparison and a number that give exact results when compared with floats.

    NumPy would round an integer to the dtype of the floats. An integer that this dtype cannot
    represent is replaced with an adjacent float for which the comparison has the same results, or
    with NaN in tests for equality.

    Parameters
    ----------
    compare : ufunc
        The comparison.
    number : object
        The number, as returned by `weak`; only integers are replaced.
    dtype : str
        Dtype of the values that the number is compared with.
    is_first : bool
        Whether the number is the first argument of the comparison.

    Examples
    --------
    >>> compare, number = adapt_to_floats(np.less, 2**24 + 1, "float32", is_first=False)
    >>> compare.__name__, float(number)
    ('less_equal', 16777216.0)
    """
    if type(number) is not int or np.dtype(dtype).kind not in "fc":
        return compare, number
    real = np.empty(0, dtype).real.dtype.type
    with np.errstate(over="ignore"):
        near = real(number) if abs(number) < 2**1023 else real(np.copysign(np.inf, number))
    if np.isfinite(near) and int(near) == number:
        return compare, number
    if compare in (np.equal, np.not_equal):
        return compare, np.nan
    compare = _NO_LESS.get(compare, compare)
    goes_up = (compare is np.less_equal) == is_first
    is_beyond = float(near) > number if goes_up else float(near) < number
    return compare, near if is_beyond else np.nextafter(near, real(np.inf if goes_up else -np.inf))


def keep_exact(item: object, number: object) -> object:
    """Return a float as a Python number if it is compared with an integer. Keep other values.

    Python compares such numbers without rounding.

    >>> keep_exact(np.float32(2**24), 2**24 + 1) == 2**24 + 1
    False
    """
    return float(item) if isinstance(item, np.floating) and type(number) is int else item


def widen(value: object) -> Any:
    """Return integers and booleans as int64, so that arithmetic does not wrap around.

    uint64 and Python numbers are returned unchanged.

    >>> widen(np.array([250], "uint8")) + 10
    array([260])
    """
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int | float):
        return value
    array = np.asarray(value)
    if array.dtype.kind in "bi" or (array.dtype.kind == "u" and array.dtype.itemsize < 8):
        return array.astype(np.int64, copy=False)
    return array


def without_rounding(values: Sequence[object], args: Sequence[Arg]) -> list[Any]:
    """Return the values. Integers are converted so that NumPy does not round them to floats.

    NumPy would convert a mix of uint64 and int64 to floats. Therefore, if there are signed
    integers, uint64 is converted to int64. Otherwise, booleans, unsigned integers and constants
    without negative integers are converted to uint64. Python numbers are returned unchanged, and so
    are all values if one of them is a float.

    Raises
    ------
    QueryTypeError
        If a uint64 value is too large for int64.

    Examples
    --------
    >>> from deeplake_lite.query.functions.base import Arg
    >>> args = Arg("x", Type("uint64", (1,))), Arg("y", Type("bool", (1,)))
    >>> a, b = without_rounding([np.array([2**63], "uint64"), np.array([True])], args)
    >>> a + b
    array([9223372036854775809], dtype=uint64)
    """
    arrays = {at: np.asarray(v) for at, v in enumerate(values) if not isinstance(v, int)}
    dtypes = [array.dtype for array in arrays.values()]
    if np.uint64 not in dtypes or any(dtype.kind not in "biu" for dtype in dtypes):
        return list(values)
    is_signed = any(
        array.dtype.kind == "i" and not (args[at].is_constant and np.all(array >= 0))
        for at, array in arrays.items()
    )
    converted = list(values)
    for at, array in arrays.items():
        if not is_signed:
            converted[at] = array.astype(np.uint64, copy=False)
        elif array.dtype == np.uint64:
            converted[at] = as_int64(array, args[at].text)
    return converted


def as_int64(array: NDArray[Any], text: str) -> NDArray[np.int64]:
    """Return uint64 values as int64, so that they can be combined with signed integers.

    Raises
    ------
    QueryTypeError
        If a value is too large for int64. The message shows the expression `text`.
    """
    most = np.iinfo(np.int64).max
    if array.size and array.max() > most:
        raise QueryTypeError(
            f"uint64 values that are combined with signed integers must be at most {most}, but "
            f"{text} contains {array.max()}. CAST both operands AS DOUBLE, which may round them."
        )
    return array.astype(np.int64)


def fit_numbers(values: Sequence[object]) -> list[object]:
    """Return the values. Python numbers that an array's dtype cannot hold become NumPy numbers.

    With a NumPy number, NumPy widens the array. With the Python number, it would raise an error, or
    turn the number into infinity.

    >>> np.maximum(*fit_numbers([np.array([7], "uint8"), 300]))
    array([300])
    >>> np.maximum(*fit_numbers([np.array([7], "float16"), 1e5]))
    array([100000.], dtype=float32)
    """
    dtypes = [np.asarray(v).dtype for v in values if not isinstance(v, int | float)]
    return [_fit(v, dtypes) if isinstance(v, int | float) else v for v in values]


def _fit(number: float, dtypes: Sequence[np.dtype[Any]]) -> object:
    """Return a number, as a larger NumPy number if one of the dtypes cannot hold the number."""
    size = abs(number)
    if isinstance(number, int):
        ranges = [np.iinfo(dtype) for dtype in dtypes if dtype.kind in "iu"]
        if any(not span.min <= number <= span.max for span in ranges):
            return np.int64(number) if number <= np.iinfo(np.int64).max else np.uint64(number)
    if math.isfinite(size) and any(d.kind == "f" and size > float(np.finfo(d).max) for d in dtypes):
        return np.float32(number) if size <= float(np.finfo(np.float32).max) else np.float64(number)
    return number


def bare(value: object) -> object:
    """Return a value as an array without its mask. Python numbers are returned unchanged."""
    return value if isinstance(value, int | float) else np.asarray(value)


def result_of(compute: Compute, *args: Arg) -> Type:
    """Return the type of a function's result, determined by running the function on zeros.

    Axes whose size varies have size 1 in this run. If an argument has such axes, the axes of the
    result that have size 1 are assumed to vary, too. This is right for functions that keep, drop or
    broadcast axes. If the number of axes of an argument is unknown, the function is run for each
    possible number.
    """
    shapes = [_possible_shapes(arg) for arg in args]
    results, errors = [], []
    for combination in product(*shapes):
        try:
            results.append(_run(compute, args, combination))
        except ValueError as error:
            errors.append(error)
    if not results:
        raise errors[0]
    forms = {t.shape for t in results}
    shape = results[0].shape if len(forms) == 1 else _merge(forms)
    if shape is None and all(len(form or ()) in (2, 3) for form in forms):
        return Type(results[0].dtype, None, image_numbers(*args))
    return Type(results[0].dtype, shape, box_numbers(results[0].dtype, shape, *args))


def _possible_shapes(arg: Arg) -> tuple[Shape | None, ...]:
    """Return the shapes that an argument may have, with None for axes that vary."""
    if arg.is_constant or arg.type.shape is not None:
        return (arg.type.shape,)
    return _IMAGES if arg.type.is_like_image else _ARRAYS


def image_numbers(*args: Arg) -> ImageNumbers | None:
    """Return the meaning of a result with an unknown number of axes.

    If all arguments with an unknown number of axes are images, the result is an image. Otherwise,
    the meaning is None.
    """
    unknown = [arg.type for arg in args if arg.type.shape is None]
    return ImageNumbers() if all(type_.is_like_image for type_ in unknown) else None


def box_numbers(dtype: str, shape: Shape | None, *args: Arg) -> BoxNumbers | None:
    """Return boxes as the meaning of a result that is computed from boxes and has their shape.

    Returns None for other results.

    Raises
    ------
    ValueError
        If the arguments are boxes in different formats.

    Examples
    --------
    >>> from deeplake_lite.htypes import Boxes
    >>> from deeplake_lite.query.functions.base import Arg
    >>> box_numbers("float32", (None, 4), Arg("b", Type("float32", (None, 4), Boxes("xywh"))))
    BoxNumbers(format='xywh')
    """
    formats = {format_ for arg in args if (format_ := arg.type.box_format) is not None}
    if not formats or dtype == "bool" or shape is None or shape[-1:] != (4,):
        return None
    if len(formats) > 1:
        raise ValueError(
            f"boxes must have the same format, but they are {' and '.join(sorted(formats))}. "
            "Convert the boxes in one format with BOX_CONVERT"
        )
    return BoxNumbers(formats.pop())


def _run(compute: Compute, args: Sequence[Arg], shapes: Sequence[Shape | None]) -> Type:
    samples = [
        arg.value
        if arg.is_constant
        else np.zeros([1 if n is None else n for n in shape or ()], arg.type.dtype)
        for arg, shape in zip(args, shapes, strict=True)
    ]
    with np.errstate(all="ignore"):
        result = compute(*samples, lead=0)
    varies = any(
        n is None
        for arg, shape in zip(args, shapes, strict=True)
        if not arg.is_constant
        for n in shape or ()
    )
    array = np.asarray(result)
    return Type(array.dtype.name, tuple(None if varies and n <= 1 else n for n in array.shape))


def _merge(shapes: set[Shape | None]) -> Shape | None:
    """Return a shape that includes several shapes, with None for axes whose sizes differ.

    Returns None if the shapes differ in the number of axes.
    """
    known = [shape for shape in shapes if shape is not None]
    if len({len(shape) for shape in known}) > 1:
        return None
    return tuple(sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*known, strict=True))
