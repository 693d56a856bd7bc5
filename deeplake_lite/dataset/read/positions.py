"""Conversion of an index, which users write in brackets, to the positions of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.errors import InvalidValueError, RowIndexError
from deeplake_lite.htypes.tensors import array_of, is_tensor
from deeplake_lite.htypes.words import pluralize

if TYPE_CHECKING:
    from typing import SupportsIndex, TypeGuard

    from numpy.typing import NDArray


def is_position(index: Any) -> TypeGuard[SupportsIndex]:
    """Return whether an index selects a single row: an integer of Python, NumPy, PyTorch or JAX.

    >>> is_position(3), is_position(np.int64(3)), is_position(np.array(3))
    (True, True, True)
    >>> is_position(True), is_position([3]), is_position(np.array([3]))
    (False, False, False)
    """
    if isinstance(index, int):
        return not isinstance(index, bool)
    is_integer = "int" in str(getattr(index, "dtype", ""))
    return is_integer and index.ndim == 0 and not np.ma.isMaskedArray(index)


def resolve_position(index: int, length: int) -> int:
    """Return the position that an integer selects. Negative integers count from the end.

    Raises
    ------
    RowIndexError
        When there is no such row.

    >>> resolve_position(-1, 10)
    9
    """
    if not -length <= index < length:
        raise RowIndexError(_out_of_range(index, length))
    return index % length


def resolve_index(index: object, length: int) -> NDArray[np.int64]:
    """Return the positions that an index in brackets selects. The index ``...`` selects all rows.

    Raises
    ------
    RowIndexError
        As for `resolve_positions`, and for several indices, because rows have one axis.

    Examples
    --------
    >>> resolve_index(..., 3)
    array([0, 1, 2])
    """
    if isinstance(index, tuple):
        raise RowIndexError(
            f"Rows are selected with one index, but this index is a tuple: {brief(index, 80)}. "
            "Write ds[[0, 1]] for several rows, ds['name'][row] for a cell, and "
            "ds['name'][rows][:, 0] to index the axes of values."
        )
    return resolve_positions(slice(None) if index is Ellipsis else index, length)


def resolve_positions(index: object, length: int) -> NDArray[np.int64]:
    """Return the positions, (n,) int64, that a slice, list of integers or boolean mask selects.

    Raises
    ------
    RowIndexError
        For a row that does not exist, a mask of the wrong length, or a value that is not an index.

    Examples
    --------
    >>> resolve_positions(slice(7, None, 2), 10), resolve_positions([-1, 0], 10)
    (array([7, 9]), array([9, 0]))
    >>> resolve_positions([True, False, True], 3)
    array([0, 2])
    >>> resolve_positions(np.ma.array([True, True], mask=[False, True]), 2)  # null selects nothing
    array([0])
    """
    if isinstance(index, slice):
        return np.arange(*_ends(index, length))
    if isinstance(index, range):
        return resolve_positions(np.array(index), length)
    array = np.ma.asarray(index) if np.ma.isMaskedArray(index) else _array(index)
    # Masks are handled before nulls are rejected, because a null in a mask selects nothing.
    if array.ndim == 1 and array.dtype == bool:
        if len(array) != length:
            raise RowIndexError(
                f"A mask must have one element per row, but for {pluralize(length, 'row')} this "
                f"mask has {pluralize(len(array), 'element')}."
            )
        return np.flatnonzero(np.ma.filled(array, fill_value=False))
    if array.ndim == 1 and len(array) == 0:
        return np.empty(0, np.int64)
    if np.ma.getmaskarray(array).any():
        raise RowIndexError(
            f"An index must have no nulls, but element {int(np.ma.getmaskarray(array).argmax())} "
            "is null. Leave the nulls out."
        )
    if is_position(index):
        raise RowIndexError(
            "Several rows are selected with a slice, a list of integers or a boolean mask, but the "
            f"index is the integer {int(index)}. Write [{int(index)}] for a single row."
        )
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise RowIndexError(
            "Rows are selected with an integer, a slice, a list of integers or a boolean mask, "
            f"but the index is {brief(index, 80)}."
        )
    if (bad := (array < -length) | (array >= length)).any():
        raise RowIndexError(_out_of_range(int(array[bad][0]), length))
    array = np.ma.getdata(array).astype(np.int64)
    return np.where(array < 0, array + length, array)


def _array(values: object) -> NDArray[Any]:
    """Return values as an array, or an empty array of objects if NumPy cannot convert them."""
    try:
        return np.asarray(values)
    except (ValueError, TypeError, OverflowError):
        return np.empty((), object)


def _ends(index: slice, length: int) -> tuple[int, int, int]:
    """Return start, stop and step of a slice. Raises RowIndexError if it is invalid."""
    try:
        return index.indices(length)
    except (TypeError, ValueError) as error:  # a part is not an integer, or the step is 0
        raise RowIndexError(
            "The parts of a slice must be integers, and its step must not be 0, but the slice is "
            f"{brief(index, 80)}."
        ) from error


def as_ids(ids: object) -> NDArray[np.int64]:
    """Return row ids, (n,) int64, from an array, a tensor, a list of integers or one integer.

    Raises
    ------
    InvalidValueError
        For anything else, and for integers that int64 cannot hold.

    Examples
    --------
    >>> as_ids([2**40]), as_ids(7)
    (array([1099511627776]), array([7]))
    """
    if is_tensor(type(ids)):
        ids = array_of(ids)
    array = np.atleast_1d(_array(ids))
    if array.ndim == 1 and not len(array):
        return np.empty(0, np.int64)
    has_nulls = np.ma.isMaskedArray(ids) and np.ma.getmaskarray(ids).any()
    are_integers = array.dtype.kind in "iu" and not has_nulls
    if array.ndim != 1 or not are_integers or (array > np.iinfo(np.int64).max).any():
        raise InvalidValueError(
            "ids must be integers, such as batch['_row_id'] of a loader with row_ids=True or "
            f"view.row_ids, but they are {brief(ids)}."
        )
    return array.astype(np.int64)


def _out_of_range(index: int, length: int) -> str:
    """Return the message for a row that does not exist, with the range of existing rows.

    >>> _out_of_range(3, 1)
    'row 3 is out of range: there is only row 0.'
    """
    if length < 2:
        return f"row {index} is out of range: there {'is only row 0' if length else 'are no rows'}."
    return f"row {index} is out of range: there are {length:,} rows, 0 to {length - 1:,}."
