"""What one needs to know of trees to compute them: their leaves, and how those are read."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.errors import QueryError
from deeplake_lite.htypes.layouts import Dense
from deeplake_lite.query.values import Cell, Choice, Given, Index, Literal_, Meta, Tree, leaves

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.query.functions.value_type import Type

type Env = Mapping[str, Any]
"""Per key, an array of one entry per row: positions (masked where null) or scalars."""


def keys(tree: Tree) -> set[str]:
    """Return the keys by which a tree of one row reads it: none within groups and choices."""
    return {leaf.key for leaf in leaves(tree) if isinstance(leaf, Cell | Given | Meta)}


def cells(tree: Tree) -> Iterator[Cell]:
    """Yield the columns that a row's value is read from."""
    for leaf in leaves(tree):
        if isinstance(leaf, Cell):
            yield leaf
        elif isinstance(leaf, Choice):
            for option in leaf.options:
                yield from cells(option)


def reads(tree: Tree) -> bool:
    """Tell whether a tree looks at values, and not only at what is known of them."""
    known = (leaf for leaf in leaves(tree) if isinstance(leaf, Meta))
    return any(cells(tree)) or any(leaf.what.startswith("bm25") for leaf in known)


def is_dense(leaf: Cell) -> bool:
    """Tell whether all rows of a column have one shape."""
    return isinstance(leaf.field.htype.layout, Dense) and leaf.type.is_number


def row_bytes(leaf: Cell) -> int:
    """Return the size of each value of a column of one shape, bytes."""
    return np.dtype(leaf.type.dtype).itemsize * math.prod(n or 0 for n in leaf.type.shape or ())


def rows_of(positions: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_] | None]:
    """Return positions, and where they are null; None where they are nowhere."""
    rows = np.asarray(np.ma.getdata(positions), np.int64)
    null = np.ma.getmaskarray(positions) if np.ma.isMaskedArray(positions) else None
    return rows, None if null is None or not null.any() else null


def masked(values: Any, null: NDArray[np.bool_] | None) -> Any:
    """Return rows of values, masked where their positions are null, too."""
    if null is None:
        return values
    mask = np.broadcast_to(null.reshape(-1, *[1] * (values.ndim - 1)), values.shape)
    return np.ma.MaskedArray(np.ma.getdata(values), mask | np.ma.getmaskarray(values))


def objects(items: Sequence[Any]) -> NDArray[Any]:
    """Return an array of objects, one per item, whatever shapes the items have.

    >>> objects([np.zeros(2), np.ones(2)]).shape
    (2,)
    """
    out = np.empty(len(items), object)
    for place, item in enumerate(items):
        out[place] = item
    return out


def as_array(value: Any) -> NDArray[Any]:
    """Return a value as an array; lists that differ in length as one of objects.

    >>> as_array([[1, 2], [3]])
    array([list([1, 2]), list([3])], dtype=object)
    """
    try:
        return np.asarray(value)
    except ValueError:
        return objects(value)


def as_given(values: Any, type_: Type) -> Any:
    """Return values of DuckDB's as functions take them: JSON as the value that it stands for.

    Durations come as numbers of microseconds.
    """
    if type_.dtype == "timedelta64[us]" and values.dtype == np.int64:
        return values.astype("m8[us]")
    if type_.dtype != "object" or not values.dtype.hasobject:
        return values
    return objects([_given(value, type_) for value in values])


def _given(value: Any, type_: Type) -> Any:
    """Return a row's value, in a list each of its items."""
    if value is None or type_.dtype != "object":
        return value
    if type_.items is None:
        return json.loads(value)
    return objects([_given(item, type_.items.of) for item in value])


def trimmed(value: Any) -> Any:
    """Return a shape without the axes that it does not have; None of a null."""
    if not np.ma.isMaskedArray(value):
        return value
    return None if value.mask.all() else value.compressed()


def outside(text: str, error: IndexError, shape: tuple[int, ...]) -> QueryError:
    """Return the error for an index that a row does not have."""
    return QueryError(f"{text}: {error}; a row has shape {shape}.")


def constant_index(tree: Index) -> tuple[Any, ...] | None:
    """Return an index as NumPy's where it is the same for all rows, and stacks; else None."""
    parts = (p for item in tree.items for p in (item if isinstance(item, tuple) else (item,)))
    if not all(p is ... or isinstance(p, Literal_ | None) for p in parts):
        return None
    index = tuple(_constant(item) for item in tree.items)
    return index if _is_together(index) else None


def _is_together(index: tuple[Any, ...]) -> bool:
    """Tell whether arrays of indices stand side by side: otherwise their axes come first."""
    if not any(isinstance(item, np.ndarray) for item in index):
        return True
    at = [n for n, item in enumerate(index) if isinstance(item, int | np.ndarray)]
    return at[-1] - at[0] == len(at) - 1


def _constant(item: Any) -> Any:
    if item is ... or item is None:
        return item
    if isinstance(item, tuple):
        return slice(*(None if part is None else int(part.value) for part in item))
    value = np.asarray(item.value)
    return int(value) if value.ndim == 0 else value
