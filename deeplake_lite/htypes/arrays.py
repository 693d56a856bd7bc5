"""Conversion of values to arrays of the column's dtype and shape.

`as_block` converts the values of all rows at once. If that fails, `each` converts the values one by
one with `as_array`, so that the error names the row and the bad number. Numbers that the dtype
cannot represent are rejected, with one exception: float columns round numbers, including integers,
to their precision.
"""

from __future__ import annotations

import math
from contextlib import suppress
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.errors import DamagedError, InvalidValueError
from deeplake_lite.htypes.dtypes import ANY, Dtypes, plain_repr
from deeplake_lite.htypes.foreign import is_column
from deeplake_lite.htypes.tensors import array_of, with_numpys_dtype
from deeplake_lite.htypes.times import cast_time
from deeplake_lite.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Buffer, Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.htypes.cells import Values

type Shape = tuple[int | None, ...]

_CAST_FROM = {"b": "b", "i": "bui", "u": "bui", "f": "buif", "c": "buifc"}
"""Maps the kind of a dtype (NumPy's `dtype.kind`) to the kinds that can be cast to this kind."""

_THREADS = 8
_SHARE = 64  # maximum number of values that a thread converts at a time
_LONGEST_AXIS = 2**31 - 1  # maximum length of an axis, since lengths are stored as int32
_COPY_BELOW = 1 << 20  # bytes; copying a smaller array is faster than making a view of it


def each[T](values: Iterable[object], convert: Callable[[Any], T]) -> list[T]:
    """Convert values one by one. If a value is invalid, the InvalidValueError has its row.

    >>> each([1, 2], str)
    ['1', '2']
    """
    converted: list[T] = []
    for row, value in enumerate(values):
        try:
            converted.append(convert(value))
        except InvalidValueError as error:
            raise error.at(row=row) from error.__cause__
    return converted


def each_in_threads[T](values: Iterable[object], convert: Callable[[Any], T]) -> list[T]:
    """Convert values like `each`, but in several threads that read files or run codecs in parallel.

    >>> each_in_threads([1, 2], str)
    ['1', '2']
    """
    block = list(values)
    share = max(1, min(_SHARE, -(-len(block) // _THREADS)))
    starts = range(0, len(block), share)
    jobs = [_pool().submit(each, block[a : a + share], convert) for a in starts]
    converted: list[T] = []
    try:
        for start, job in zip(starts, jobs, strict=True):
            try:
                converted += job.result()
            except InvalidValueError as error:
                raise error.at(row=start + (error.row or 0)) from error.__cause__
    finally:
        for job in jobs:
            job.cancel()  # the rest of the block is not needed after a bad row
    return converted


@cache
def _pool() -> Pool:
    """Return the thread pool, created on first use."""
    return Pool(_THREADS)


def as_block(values: Values, dtype: str, shape: Shape, dtypes: Dtypes = ANY) -> NDArray[Any]:
    """Return n values of equal shape as an array (n, *shape).

    `dtypes` are the dtypes that error messages may suggest instead.

    >>> as_block([1, True], "int8", ())
    array([1, 1], dtype=int8)
    """
    if shape == () and np.dtype(dtype).kind in "mM" and not isinstance(values, np.ndarray):
        values = np.fromiter(values, object, len(values))  # NumPy would convert times to one unit
    if isinstance(values, np.ndarray) or not holds_text(values):
        try:
            return as_array(values, dtype, (len(values), *shape))
        except InvalidValueError:
            pass  # the code below finds the bad row
    rows = each(values, lambda value: as_array(value, dtype, shape, dtypes))
    return np.stack(rows) if rows else np.empty((0, *(size or 0 for size in shape)), dtype)


def as_array(value: object, dtype: str, shape: Shape, dtypes: Dtypes = ANY) -> NDArray[Any]:
    """Return one value as an array of `dtype` and `shape`, where None stands for any size.

    `dtypes` are the dtypes that error messages may suggest instead.

    >>> as_array([[1, 2], [3, 4]], "float32", (None, 2))
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    array = value if type(value) is np.ndarray else _to_numpy(value, dtype, shape)
    array = with_numpys_dtype(array)
    if array.shape == (0,) and len(shape) > 1 and shape[0] in (None, 0):
        # An empty list does not determine the number of axes.
        return np.zeros([size or 0 for size in shape], dtype)
    if not fits(array.shape, shape):
        raise _wrong_shape(value, array, dtype, shape)
    return cast(array, dtype, dtypes)


def fits(shape: tuple[int, ...], required: Shape) -> bool:
    """Return whether a shape matches `required`, in which None stands for any size.

    >>> fits((7, 3), (None, 3)), fits((7, 4), (None, 3)), fits((3,), (None, 3))
    (True, False, False)
    """
    return len(shape) == len(required) and all(
        needed is None or size == needed for size, needed in zip(shape, required, strict=True)
    )


def cast(array: NDArray[Any], dtype: str, dtypes: Dtypes = ANY) -> NDArray[Any]:
    """Return an array cast to `dtype`, in native byte order.

    `dtypes` are the dtypes that error messages may suggest instead.

    Raises
    ------
    InvalidValueError
        For strings, for numbers outside the dtype's range, and for fractions if the dtype is an
        integer.

    >>> cast(np.array([1, 300]), "int8")
    Traceback (most recent call last):
        ...
    deeplake_lite.errors.InvalidValueError: int8 holds -128 to 127, but the value is 300. ...
    """
    target = np.dtype(dtype)
    if array.dtype == target and array.dtype.isnative:
        return array
    if array.size == 0:
        return np.empty(array.shape, target)
    if target.kind in "mM":
        return cast_time(array, target)
    if array.dtype == object:
        array = _from_objects(array, target)
    if array.dtype.kind not in _CAST_FROM[target.kind]:
        raise _wrong_kind(array, target, dtypes)
    if target.kind in "iu":
        _check_range(array, target, dtypes)
        return array.astype(target)
    with np.errstate(over="ignore"):
        result = array.astype(target)
    if target.kind in "fc" and not np.can_cast(array.dtype, target):
        lost = np.isinf(result) & ~np.isinf(array)
        if lost.any():
            raise dtypes.beyond_floats(array[lost][0], target)
    return result


def as_buffer(array: NDArray[Any]) -> Buffer:
    r"""Return the bytes of an array in C order, without copying a large C-contiguous array.

    >>> as_buffer(np.array([1, 2], "int16"))
    b'\x01\x00\x02\x00'
    """
    if array.nbytes < _COPY_BELOW:
        return array.tobytes()
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def from_buffer(data: Buffer, dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
    r"""Return a new array of the given dtype and shape that has the given bytes.

    >>> from_buffer(b"\x01\x00\x02\x00", "int16", (2, 1))
    array([[1],
           [2]], dtype=int16)
    """
    try:
        return np.frombuffer(data, dtype).reshape(shape).copy()
    except ValueError as error:
        raise DamagedError(
            f"A cell must hold an array of dtype {dtype} and shape {shape}, but it has "
            f"{memoryview(data).nbytes:,} bytes. Run ds.verify() to find the damage."
        ) from error


def as_recorded(shapes: Sequence[tuple[int, ...]], ndim: int) -> NDArray[np.int32]:
    """Return shapes as lakes store them: (n, ndim) int32, with -1 for missing axes.

    Raises
    ------
    InvalidValueError
        For an axis that is too long for int32, as an array without elements may have.

    >>> as_recorded([(2, 3), (4,)], 2).tolist()
    [[2, 3], [4, -1]]
    """
    padded = [(*shape, *(-1,) * (ndim - len(shape))) for shape in shapes]
    sizes = np.array(padded, np.int64).reshape(len(padded), ndim)
    if (sizes > _LONGEST_AXIS).any():
        row = int(np.flatnonzero((sizes > _LONGEST_AXIS).any(axis=1))[0])
        raise InvalidValueError(
            f"an axis must have at most {_LONGEST_AXIS:,} elements, but the shape is "
            f"{tuple(shapes[row])}. Reshape it, or split it into several rows.",
            row=row,
        )
    return sizes.astype(np.int32)


def check_recorded(shape: tuple[int, ...], axes: Sequence[int]) -> None:
    """Check that a stored shape has one of the given numbers of axes. Raises DamagedError.

    >>> check_recorded((4, 3), (2, 3))
    """
    if len(shape) not in axes or min(shape, default=0) < 0:
        raise DamagedError(
            f"A cell must have {' or '.join(map(str, axes))} axes, but its stored shape is "
            f"{shape}. Restore the cell from a backup; ds.verify() lists all damage."
        )


def holds_text(values: Iterable[object]) -> bool:
    """Return whether any of the values is a str or bytes."""
    return any(issubclass(kind, str | bytes) for kind in set(map(type, values)))


def show_shape(shape: Shape) -> str:
    """Format a shape as NumPy does, with ``…`` for an axis of any size.

    >>> show_shape((None, 3))
    '(…, 3)'
    """
    sizes = ["…" if size is None else str(size) for size in shape]
    return f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"


def _to_numpy(value: object, dtype: str, shape: Shape) -> NDArray[Any]:
    """Convert a list, a tensor or another library's column to an array."""
    is_list = isinstance(value, list | tuple)
    try:
        if is_list and np.dtype(dtype).kind in "mM":
            array = _times(value, dtype)
        elif is_list:
            array = np.asarray(_without_columns(value))
        else:
            array = array_of(value)
    except InvalidValueError:
        raise
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        reason, hint = str(error), "Convert it to an array"
        if is_list and isinstance(error, TypeError):
            reason, hint = "items without a common type", "Convert the items to one type"
        elif is_list:
            reason, hint = "lists of different lengths", "Make all inner lists equally long"
        raise InvalidValueError(
            f"must be an array of shape {show_shape(shape)}, but it is {type(value).__name__} "
            f"({reason}). {hint}."
        ) from error
    if is_list and np.dtype(dtype).kind in "iu" and array.dtype == np.float64:
        array = _restore_integers(value, array)
    return array


def _times(value: object, dtype: str) -> NDArray[Any]:
    """Return a nested list of times as an array.

    NumPy would convert all times to the finest unit, in which times far from 1970 overflow without
    an error. It would also turn numbers in the list into times.

    >>> _times([["2026-01-02"], np.array(["9999"], "M8[Y]")], "datetime64[s]").tolist()
    [[datetime.datetime(2026, 1, 2, 0, 0)], [datetime.datetime(9999, 1, 1, 0, 0)]]
    """
    if not isinstance(value, list | tuple):
        return array_of(value) if _is_array(type(value)) else _wrap_object(value)
    if not any(issubclass(kind, list | tuple) or _is_array(kind) for kind in set(map(type, value))):
        return np.fromiter(value, object, len(value))
    arrays = [_times(item, dtype) for item in value]
    if len({array.dtype for array in arrays}) > 1:
        arrays = [cast(array, dtype) for array in arrays]
    return np.stack(arrays)


def _wrap_object(value: object) -> NDArray[Any]:
    """Return an object array without axes, whose only element is the value."""
    array = np.empty((), object)
    array[()] = value
    return array


def _is_array(kind: type) -> bool:
    """Return whether a Python type is an array type of any library."""
    return not issubclass(kind, np.generic) and (hasattr(kind, "__array__") or is_column(kind))


def _without_columns(value: Any) -> object:
    """Replace pandas, polars and Arrow columns in a list by arrays, with None for nulls.

    >>> import pandas as pd
    >>> _without_columns([pd.array([1, None]), [2, 3]])
    [array([1, None], dtype=object), [2, 3]]
    """
    kinds = set(map(type, value))
    if not any(issubclass(kind, list | tuple) or is_column(kind) for kind in kinds):
        return value
    return [
        _without_columns(item)
        if isinstance(item, list | tuple)
        else array_of(item)
        if is_column(type(item))
        else item
        for item in value
    ]


def _restore_integers(value: object, array: NDArray[Any]) -> NDArray[Any]:
    """Return an object array of integers if NumPy has read integers beyond int64 as floats.

    Otherwise, return `array`.

    >>> _restore_integers([2**63, 1], np.asarray([2**63, 1]))
    array([9223372036854775808, 1], dtype=object)
    """
    items = np.asarray(value, object)
    is_whole = items.shape == array.shape and _all_are(set(map(type, items.flat)), int, np.integer)
    return items if is_whole else array


def _from_objects(array: NDArray[Any], target: np.dtype[Any]) -> NDArray[Any]:
    """Convert an object array of numbers to a numeric dtype. Other arrays are returned unchanged.

    >>> _from_objects(np.array([2**63, 1], object), np.dtype("uint64"))
    array([9223372036854775808,                   1], dtype=uint64)
    """
    kinds = set(map(type, array.flat))
    if _all_are(kinds, bool, np.bool):
        return array.astype(bool)
    if _all_are(kinds, int, np.integer) and target.kind in "biu":
        limits = np.iinfo(target if target.kind in "iu" else np.int64)
        fit = limits.min <= array.min() and array.max() <= limits.max
        return array.astype(limits.dtype) if fit else array
    if Decimal in kinds and target.kind in "fc":
        array = _decimals_to_floats(array)
        kinds = set(map(type, array.flat))
    with suppress(OverflowError):  # an integer too large for any float
        if _all_are(kinds, int, float, np.integer, np.floating):
            return array.astype(np.float64)
        if _all_are(kinds, int, float, complex, np.number):
            return array.astype(np.complex128)
    return array


def _decimals_to_floats(array: NDArray[Any]) -> NDArray[Any]:
    """Convert decimals in an object array to floats, except those that are too large for any float.

    >>> _decimals_to_floats(np.array([Decimal("0.1"), Decimal("1e400")], object))
    array([0.1, Decimal('1E+400')], dtype=object)
    """
    items = [_to_float(item) if isinstance(item, Decimal) else item for item in array.flat]
    return np.fromiter(items, object, len(items)).reshape(array.shape)


def _to_float(number: Decimal) -> float | Decimal:
    if number.is_snan() or (number.is_finite() and math.isinf(float(number))):
        return number
    return float(number)


def _all_are(kinds: Iterable[type], *allowed: type) -> bool:
    """Return whether all types are subclasses of `allowed`.

    Durations are not allowed, although NumPy considers timedelta64 an integer.
    """
    return all(issubclass(kind, allowed) and not issubclass(kind, np.timedelta64) for kind in kinds)


def _is_integer(value: object) -> bool:
    return isinstance(value, int | np.integer)


def _wrong_shape(value: object, array: NDArray[Any], dtype: str, shape: Shape) -> InvalidValueError:
    """Build the error for a wrong number of axes or a wrong size."""
    if array.ndim == 0 and array.dtype.kind not in "biufcmM":
        return InvalidValueError(
            f"must be {dtype} of shape {show_shape(shape)}, but it is {type(value).__name__} "
            f"{brief(value)}. Convert it to an array."
        )
    if not shape:
        return InvalidValueError(
            f"must be a single {dtype} per row, but it has shape {array.shape}. "
            f"Declare the column as Array({dtype!r}, {array.shape})."
        )
    return InvalidValueError(
        f"must have shape {show_shape(shape)}, but it has {array.shape}. Reshape it, or declare "
        "another shape, with None for an axis of any size."
    )


def _check_range(array: NDArray[Any], target: np.dtype[Any], dtypes: Dtypes) -> None:
    """Raise InvalidValueError unless all numbers are in the range of an integer dtype."""
    if np.can_cast(array.dtype, target):
        return
    limits = np.iinfo(target)
    least, most = int(array.min()), int(array.max())
    if least < limits.min or most > limits.max:
        bad = (array < limits.min) | (array > limits.max)
        raise dtypes.out_of_range(array[bad][0], target)


def _wrong_kind(array: NDArray[Any], target: np.dtype[Any], dtypes: Dtypes) -> InvalidValueError:
    """Build the error for values that `target` cannot represent, such as strings or fractions."""
    first = array.reshape(-1)[0]
    if array.dtype.kind == "O":
        kinds = set(map(type, array.flat))
        if target.kind in "iu" and _all_are(kinds, int, np.integer):
            limits = np.iinfo(target)
            return dtypes.out_of_range(
                next(v for v in array.flat if not limits.min <= v <= limits.max), target
            )
        if target.kind in "fc" and _all_are(kinds, int, float, complex, np.number):
            return dtypes.beyond_floats(
                max(filter(_is_integer, array.flat), key=abs, default=first), target
            )
        numbers = int | float | complex | np.generic
        first = next((v for v in array.reshape(-1) if not isinstance(v, numbers)), first)
        hint = f"Convert it to {target.name} first"
        if first is None:
            hint = (
                "To store lists with nulls, declare dl.Sequence(dl.Scalar("
                f"{target.name!r}, nullable=True))"
            )
    elif array.dtype.kind == "V" and array.dtype.names:
        field = array.dtype.names[0]
        hint = f"Select a field with x[{field!r}], or store each field in its own column"
    elif array.dtype.kind in "USVmM":
        hint = f"Convert it to {target.name} first"
    elif target.kind in "iu":
        hint = f"Round it first with np.rint(x).astype({target.name!r}){dtypes.or_declare('f')}"
    elif target.kind == "b":
        hint = "Compare it with 0 first (x != 0), or declare an integer column"
    else:
        hint = f"Pass x.real{dtypes.or_declare('c')}"
    kind = type(first).__name__.rstrip("_")  # NumPy's str_ and bytes_
    return InvalidValueError(
        f"must be {target.name}, but it is {kind} {plain_repr(first)}. {hint}."
    )
