"""Which rows an index means: from what a user puts into brackets to positions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.errors import InvalidValueError, RowIndexError
from deeplake_lite.htypes.tensors import array_of, is_tensor

if TYPE_CHECKING:
    from numpy.typing import NDArray


def is_position(index: Any) -> bool:
    """Tell whether an index means a single row: an integer of Python, NumPy, PyTorch or JAX.

    >>> is_position(3), is_position(np.int64(3)), is_position(np.array(3))
    (True, True, True)
    >>> is_position(True), is_position([3]), is_position(np.array([3]))
    (False, False, False)
    """
    if isinstance(index, int):
        return not isinstance(index, bool)
    is_integer = "int" in str(getattr(index, "dtype", ""))
    return is_integer and index.ndim == 0 and not np.ma.isMaskedArray(index)


def one_position(index: int, length: int) -> int:
    """Return the position that an integer means. Raises RowIndexError.

    >>> one_position(-1, 10)
    9
    """
    if not -length <= index < length:
        raise RowIndexError(_out_of_range(index, length))
    return index % length


def in_brackets(index: Any, length: int) -> NDArray[np.int64]:
    """Return the positions that an index in brackets means: as `many_positions`, or ``...``.

    Raises
    ------
    RowIndexError
        As `many_positions`, and for several indices: rows have one axis.

    Examples
    --------
    >>> in_brackets(..., 3)
    array([0, 1, 2])
    """
    if isinstance(index, tuple):
        raise RowIndexError(
            f"rows are chosen by one index, got {brief(index, 80)}. Several rows are a list: "
            "ds[[0, 1]]; a cell is ds['name'][row]; the axes of values come behind: "
            "ds['name'][rows][:, 0]."
        )
    return many_positions(slice(None) if index is Ellipsis else index, length)


def many_positions(index: Any, length: int) -> NDArray[np.int64]:
    """Return the positions, (n,) int64, that a slice, a list of integers or a boolean mask means.

    Raises
    ------
    RowIndexError
        For a row that is not there, a mask of another length, or anything that is no index.

    Examples
    --------
    >>> many_positions(slice(7, None, 2), 10), many_positions([-1, 0], 10)
    (array([7, 9]), array([9, 0]))
    >>> many_positions([True, False, True], 3)
    array([0, 2])
    >>> many_positions(np.ma.array([True, True], mask=[False, True]), 2)  # null is not true
    array([0])
    """
    if isinstance(index, slice):
        return np.arange(*_ends(index, length))
    if isinstance(index, range):
        return many_positions(np.array(index), length)
    found = np.ma.asarray(index) if np.ma.isMaskedArray(index) else _array(index)
    if found.ndim == 1 and found.dtype == bool:
        if len(found) != length:
            raise RowIndexError(
                f"a mask has one element per row: there are {length} rows, got {len(found)}."
            )
        return np.flatnonzero(np.ma.filled(found, fill_value=False))
    if found.ndim == 1 and len(found) == 0:
        return np.empty(0, np.int64)
    if np.ma.getmaskarray(found).any():
        raise RowIndexError(f"row {int(np.ma.getmaskarray(found).argmax())} of the index is null.")
    if found.ndim != 1 or found.dtype.kind not in "iu":
        raise RowIndexError(
            "rows are chosen with an integer, a slice, a list of integers or a boolean mask, "
            f"got {brief(index, 80)}."
        )
    if (bad := (found < -length) | (found >= length)).any():
        raise RowIndexError(_out_of_range(int(found[bad][0]), length))
    found = np.ma.getdata(found).astype(np.int64)
    return np.where(found < 0, found + length, found)


def _array(values: Any) -> NDArray[Any]:
    """Return values as an array, one of objects where they make none, such as ragged lists."""
    try:
        return np.asarray(values)
    except (ValueError, TypeError, OverflowError):
        return np.empty((), object)


def _ends(index: slice, length: int) -> tuple[int, int, int]:
    """Return start, stop and step of a slice. Raises RowIndexError for one that has no rows."""
    try:
        return index.indices(length)
    except (TypeError, ValueError) as error:  # of a step of 0, and of what is no integer
        raise RowIndexError(
            f"a slice goes from an integer to an integer, by a step that is not 0, got "
            f"{brief(index, 80)}."
        ) from error


def as_ids(ids: Any) -> NDArray[np.int64]:
    """Return row ids, (n,) int64, as loaders hand them out: an array, a tensor, a list of int.

    Raises
    ------
    InvalidValueError
        For what is no list of integers of up to 64 bits.

    Examples
    --------
    >>> as_ids([2**40]), as_ids(7)
    (array([1099511627776]), array([7]))
    """
    if is_tensor(type(ids)):
        ids = array_of(ids)
    found = np.atleast_1d(_array(ids))
    if found.ndim == 1 and not len(found):
        return np.empty(0, np.int64)
    is_null = np.ma.isMaskedArray(ids) and np.ma.getmaskarray(ids).any()
    whole = found.dtype.kind in "iu" and not is_null
    if found.ndim != 1 or not whole or (found > np.iinfo(np.int64).max).any():
        raise InvalidValueError(
            "ids must be integers, such as batch['_row_id'] of a loader with row_ids=True or "
            f"view.row_ids, but they are {brief(ids)}."
        )
    return found.astype(np.int64)


def _out_of_range(index: int, length: int) -> str:
    """Say which rows there are.

    >>> _out_of_range(3, 1)
    'row 3 is out of range: there is 1 row, 0.'
    """
    if length < 2:
        return f"row {index} is out of range: there {'is 1 row, 0' if length else 'are no rows'}."
    return f"row {index} is out of range: there are {length:,} rows, 0 to {length - 1:,}."
