"""Index the value of one row. If the index is out of range, the result is null."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.errors import QueryTypeError
from deeplake_lite.query.functions.truths import split
from deeplake_lite.query.tensors.trees import objects, out_of_range

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from deeplake_lite.query.functions.value_type import Block
    from deeplake_lite.query.values import Index, Tree


def apply_index(value: Any, index: tuple[object, ...] | None, text: str) -> object:
    """Return the value of one row after indexing.

    Returns None if the index is out of range, or if the value or the index is None. `text` is the
    expression, for messages.
    """
    if isinstance(value, list):
        if index is not None and len(index) == 1 and isinstance(index[0], int):
            return None if _outside(index[0], len(value)) else value[index[0]]
        value = objects(value)
    if value is None or index is None or lies_beyond(index, np.shape(value)):
        return None
    try:
        return value[index]
    except IndexError as error:
        raise out_of_range(text, error, index, np.shape(value)) from error


def take_items(value: object, positions: NDArray[np.int64]) -> Block:
    """Return the items of a value at positions, with None for positions that are out of range.

    >>> take_items(np.arange(5), np.array([1, 3])), take_items(["a"], np.array([0, 1]))
    (array([1, 3]), ['a', None])
    """
    if isinstance(value, np.ndarray) and value.ndim and not _outside(positions, len(value)):
        return value[positions]
    return [apply_index(value, (position,), "") for position in positions.tolist()]


def index_of(tree: Index, value_of: Callable[[Tree], Any]) -> tuple[Any, ...] | None:
    """Return the index of one row in NumPy's form, or None if any part of the index is null.

    `value_of` returns the value that a tree in the index has in this row.
    """
    out: list[Any] = []
    for item in tree.items:
        if item is ... or item is None:
            out.append(item)
        elif isinstance(item, tuple):
            ends = [None if part is None else value_of(part) for part in item]
            if any(end is None and part is not None for end, part in zip(ends, item, strict=True)):
                return None
            out.append(
                _slice([None if e is None else _whole(e, tree.text) for e in ends], tree.text)
            )
        elif (position := value_of(item)) is None:
            return None
        else:
            value = np.asarray(position)
            if value.dtype == object and item.type.dtype == "bool":
                value, _ = split(value)  # in a mask, null selects nothing
            is_position = value.ndim == 0 and value.dtype != bool  # not a mask
            out.append(_whole(value, tree.text) if is_position else value)
    return tuple(out)


def _slice(ends: list[int | None], text: str) -> slice:
    """Return a slice with the given start, stop and step. Raises ValueError if the step is 0."""
    if ends[2] == 0:
        raise ValueError(
            f"the step of a slice must not be 0, but in {text} it is 0. Exclude such rows: "
            "WHERE step <> 0"
        )
    return slice(*ends)


def _whole(value: Any, text: str) -> int:
    """Return a position as an int. Raises QueryTypeError if it is not a whole number."""
    if np.ndim(value):
        raise QueryTypeError(
            f"{text}: an end of a slice must be an integer, but it is an array of shape "
            f"{np.shape(value)}. Select one element of the array."
        )
    if not float(value).is_integer():
        raise QueryTypeError(
            f"{text}: an index must be an integer, but it is {value}. Convert it with CAST(… AS "
            "BIGINT)."
        )
    return int(value)


def lies_beyond(index: tuple[object, ...], shape: tuple[int, ...]) -> bool:
    """Return whether an index refers to an axis or a position that a shape does not have.

    >>> lies_beyond((2, 0), (2, 4)), lies_beyond((..., 3), (2, 4)), lies_beyond((0, 0, 0), (2, 4))
    (True, False, True)
    """
    taken = sum(map(_axes, index))
    if taken > len(shape):
        return True
    axis = 0
    for item in index:
        if _is_position(item) and _outside(item, shape[axis]):
            return True
        axis += len(shape) - taken if item is ... else _axes(item)
    return False


def _axes(item: Any) -> int:
    """Return the number of axes of a value that a part of an index consumes."""
    if item is ... or item is None:
        return 0
    is_mask = isinstance(item, np.ndarray) and item.dtype == bool
    return int(item.ndim) if is_mask else 1


def _is_position(item: object) -> bool:
    return isinstance(item, int) or (isinstance(item, np.ndarray) and item.dtype.kind in "iu")


def _outside(item: Any, size: int) -> bool:
    return bool(np.size(item)) and bool(np.min(item) < -size or np.max(item) >= size)
