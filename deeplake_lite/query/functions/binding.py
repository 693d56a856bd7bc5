"""What binders share: checks of arguments, axes, broadcasting row by row, types of results."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.errors import InvalidValueError, QueryTypeError
from deeplake_lite.htypes.array import MOST_ANY_AXES
from deeplake_lite.htypes.class_label import ClassLabel
from deeplake_lite.query.functions.room import STACK_BYTES, check_room
from deeplake_lite.query.functions.value_type import BoxNumbers, PictureNumbers, Type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deeplake_lite.query.functions.base import Arg, Compute
    from deeplake_lite.query.functions.value_type import Shape

type Axis = int | tuple[int, ...] | list[int] | None

_PICTURES: tuple[Shape, ...] = ((None, None, None), (None, None))
"""What stands for the unknown number of axes of pictures: coloured and grey ones."""

_ARRAYS: tuple[Shape, ...] = tuple((None,) * ndim for ndim in range(MOST_ANY_AXES + 1))
"""What stands for the unknown number of axes of arrays."""


def numbers(name: str, *args: Arg) -> None:
    """Check that arguments are numbers. Raises QueryTypeError."""
    for arg in args:
        if not arg.type.is_number:
            raise QueryTypeError(f"{name} takes numbers, got {arg.text}, which is {arg.type}.")


def class_number(name: Arg, classes: Arg) -> int:
    """Return the number of the class that `name` names, among those of another argument.

    Raises
    ------
    QueryTypeError
        When no class has that name.
    """
    try:
        return ClassLabel(classes.type.names or ()).index(name.value)
    except InvalidValueError as error:
        raise QueryTypeError(f"{classes.text} with {name.text}: {error}") from None


def axes(ndim: int, axis: Axis, lead: int) -> tuple[int, ...]:
    """Return the axes that a function goes over, counted behind the leading one.

    >>> axes(3, None, 1), axes(3, -1, 1), axes(2, 0, 0)
    ((1, 2), (2,), (0,))
    """
    inner = ndim - lead
    if axis is None:
        return tuple(range(lead, ndim))
    chosen = tuple(axis) if isinstance(axis, tuple | list) else (axis,)
    for a in chosen:
        if type(a) is not int:
            raise ValueError(f"an axis must be a whole number, got {brief(a)}")
        if not -inner <= a < inner:
            raise ValueError(f"axis {a} is out of range for {inner} axes")
    found = tuple(sorted(lead + a % inner for a in chosen))
    if len(set(found)) < len(found):
        raise ValueError(f"an axis is named twice in {list(chosen)}")
    return found


def align(values: Sequence[Any], args: Sequence[Arg], lead: int) -> list[Any]:
    """Return values that broadcast row by row: axes of size 1 behind the leading one.

    Raises
    ------
    TooMany, ValueError
        Where the result is too large to be made, as `check_room` tells.

    Examples
    --------
    >>> from deeplake_lite.query.functions.base import Arg
    >>> rows = Arg("x", Type("float64")), Arg("y", Type("float64", (2, 3)))
    >>> a, b = align((np.zeros((5,)), np.zeros((5, 2, 3))), rows, lead=1)
    >>> a.shape
    (5, 1, 1)
    """
    if not lead:
        return _checked(values, lead)
    inner = [np.ndim(v) - (not a.is_constant) for v, a in zip(values, args, strict=True)]
    most = max(inner)
    aligned = [
        v
        if arg.is_constant or n == most
        else v.reshape(v.shape[:1] + (1,) * (most - n) + v.shape[1:])
        for v, arg, n in zip(values, args, inner, strict=True)
    ]
    return _checked(aligned, lead)


def _checked(values: Sequence[Any], lead: int) -> list[Any]:
    """Return values that go together element by element."""
    itemsize = max(np.asarray(v).itemsize for v in values)
    if math.prod(max(1, np.size(v)) for v in values) * itemsize > STACK_BYTES:
        try:
            shape = np.broadcast_shapes(*map(np.shape, values))
        except ValueError:
            return list(values)  # the function itself says which do not fit
        check_room(shape, itemsize, lead=lead)
    return list(values)


def weak(value: Any) -> Any:
    """Return a number without a dtype, so that arrays are compared in theirs."""
    if np.ndim(value):
        return np.asarray(value)
    number = value.item() if hasattr(value, "item") else value
    return int(number) if isinstance(number, float) and number.is_integer() else number


def widened(value: Any) -> Any:
    """Return integers and truth values as int64 (uint64 stays), so that arithmetic does not wrap.

    Python's numbers stay as they are.

    >>> widened(np.array([250], "uint8")) + 10
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


def without_rounding(values: Sequence[Any], args: Sequence[Arg]) -> list[Any]:
    """Return whole numbers of which NumPy makes no floats, as it would of uint64 beside int64.

    Beside signed integers, those of uint64 become int64. Otherwise uint64 holds the others, too:
    truth values, unsigned integers, and a constant's integers where none of them is negative.
    Python's numbers stay, and so does everything beside floats.

    Raises
    ------
    QueryTypeError
        For an integer of uint64, beside signed ones, that int64 does not hold.

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
    found = list(values)
    for at, array in arrays.items():
        if not is_signed:
            found[at] = array.astype(np.uint64, copy=False)
        elif array.dtype == np.uint64:
            found[at] = as_int64(array, args[at].text)
    return found


def as_int64(array: NDArray[Any], text: str) -> NDArray[np.int64]:
    """Return integers of uint64 that stand beside signed ones.

    Raises
    ------
    QueryTypeError
        For one that int64 does not hold; `text` is what the query has for them.
    """
    most = np.iinfo(np.int64).max
    if array.size and array.max() > most:
        raise QueryTypeError(
            f"Integers beside signed ones are int64, which holds up to {most}, but {text} has "
            f"{array.max()}. CAST both sides: CAST(x AS DOUBLE) rounds."
        )
    return array.astype(np.int64)


def bare(value: Any) -> Any:
    """Return a value of a row as an array, and Python's numbers as they are."""
    return value if isinstance(value, int | float) else np.asarray(value)


def result_of(compute: Compute, *args: Arg) -> Type:
    """Return the type that a function gives: run on zeros, axes that vary being of size 1.

    An axis of the result is unknown where it is of size 1 and some argument's axis is unknown; so
    this is for functions that keep axes, drop them or broadcast them. An argument whose number of
    axes is unknown stands for each number that it may have.
    """
    shapes = [_possible_shapes(arg) for arg in args]
    found, errors = [], []
    for chosen in product(*shapes):
        try:
            found.append(_run(compute, args, chosen))
        except ValueError as error:
            errors.append(error)
    if not found:
        raise errors[0]
    kinds = {t.shape for t in found}
    shape = found[0].shape if len(kinds) == 1 else _merged(kinds)
    if shape is None and all(len(found_ or ()) in (2, 3) for found_ in kinds):
        return Type(found[0].dtype, None, picture_numbers(*args))
    return Type(found[0].dtype, shape, box_numbers(found[0].dtype, shape, *args))


def _possible_shapes(arg: Arg) -> tuple[Shape | None, ...]:
    """Return shapes that stand for all that an argument may have."""
    if arg.is_constant or arg.type.shape is not None:
        return (arg.type.shape,)
    return _PICTURES if arg.type.is_picture else _ARRAYS


def picture_numbers(*args: Arg) -> PictureNumbers | None:
    """Return what numbers of an unknown number of axes mean: pictures', if those alone vary so."""
    unknown = [arg.type for arg in args if arg.type.shape is None]
    return PictureNumbers() if all(type_.is_picture for type_ in unknown) else None


def box_numbers(dtype: str, shape: Shape | None, *args: Arg) -> BoxNumbers | None:
    """Return what numbers mean that come from boxes, four along the last axis.

    Raises
    ------
    ValueError
        For boxes of several formats.

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
        raise ValueError(f"boxes are {' and '.join(sorted(formats))}; BOX_CONVERT one of them")
    return BoxNumbers(formats.pop())


def _run(compute: Compute, args: Sequence[Arg], shapes: Sequence[Shape | None]) -> Type:
    samples = [
        arg.value
        if arg.is_constant
        else np.zeros([1 if n is None else n for n in shape or ()], arg.type.dtype)
        for arg, shape in zip(args, shapes, strict=True)
    ]
    with np.errstate(all="ignore"):
        found = compute(*samples, lead=0)
    varies = any(
        n is None
        for arg, shape in zip(args, shapes, strict=True)
        if not arg.is_constant
        for n in shape or ()
    )
    array = np.asarray(found)
    return Type(array.dtype.name, tuple(None if varies and n <= 1 else n for n in array.shape))


def _merged(shapes: set[Shape | None]) -> Shape | None:
    """Return what several shapes have in common."""
    known = [shape for shape in shapes if shape is not None]
    if len({len(shape) for shape in known}) > 1:
        return None
    return tuple(sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*known, strict=True))
