"""Helpers for evaluating trees, which deal with leaves, sizes, nulls and constant indices."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.errors import QueryError
from deeplake_lite.htypes.layouts import Dense
from deeplake_lite.query.database.json_keys import read_json
from deeplake_lite.query.values import (
    Call,
    Cell,
    Choice,
    Given,
    Index,
    Literal_,
    Meta,
    Tree,
    leaves,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.query.functions.value_type import Type

type Env = Mapping[str, NDArray[Any]]
"""The inputs of a tree. Each key is mapped to an array with one entry per row. The entries are row
positions (masked where they are null) or scalars."""


def keys(tree: Tree) -> set[str]:
    """Return the keys of a tree, except those within `Grouped` and `Choice` leaves."""
    return {leaf.key for leaf in leaves(tree) if isinstance(leaf, Cell | Given | Meta)}


def cells(tree: Tree) -> Iterator[Cell]:
    """Yield the `Cell` leaves of a tree, including those within `Choice` leaves."""
    for leaf in leaves(tree):
        if isinstance(leaf, Cell):
            yield leaf
        elif isinstance(leaf, Choice):
            for option in leaf.options:
                yield from cells(option)


def reads(tree: Tree) -> bool:
    """Return whether a tree reads values, not only metadata such as shapes."""
    metadata = (leaf for leaf in leaves(tree) if isinstance(leaf, Meta))
    return any(cells(tree)) or any(leaf.what.startswith("bm25") for leaf in metadata)


def is_dense(leaf: Cell) -> bool:
    """Return whether a leaf is a column of numbers that all have the same shape."""
    return isinstance(leaf.field.htype.layout, Dense) and leaf.type.is_number


def row_bytes(leaf: Cell) -> int:
    """Return the size in bytes of each value in a column of fixed shape."""
    return np.dtype(leaf.type.dtype).itemsize * math.prod(n or 0 for n in leaf.type.shape or ())


def rows_of(positions: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.bool_] | None]:
    """Return row positions as int64, and a mask of the null positions, or None if none are null."""
    rows = np.asarray(np.ma.getdata(positions), np.int64)
    null = np.ma.getmaskarray(positions) if np.ma.isMaskedArray(positions) else None
    return rows, None if null is None or not null.any() else null


def tags_of(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return the position of the option that each row of a `Choice` uses, or -1 for a null row.

    A row is null if an outer join, or a function such as LAG, finds no row to read.
    """
    tags, null = rows_of(values)
    return tags if null is None else np.where(null, -1, tags)


def mask_rows(values: NDArray[Any], null: NDArray[np.bool_] | None) -> NDArray[Any]:
    """Return values, (rows, *shape), in which the rows that `null` marks are masked as well."""
    if null is None:
        return values
    mask = np.broadcast_to(null.reshape(-1, *[1] * (values.ndim - 1)), values.shape)
    return np.ma.MaskedArray(np.ma.getdata(values), mask | np.ma.getmaskarray(values))


def objects(items: Sequence[object]) -> NDArray[Any]:
    """Return an array of objects, one for each item. The items may be arrays of any shape.

    >>> objects([np.zeros(2), np.ones(2)]).shape
    (2,)
    """
    out = np.empty(len(items), object)
    for index, item in enumerate(items):
        out[index] = item
    return out


def as_array(value: Any) -> NDArray[Any]:
    """Return a value as an array. If lists in the value differ in length, its dtype is object.

    >>> as_array([[1, 2], [3]])
    array([list([1, 2]), list([3])], dtype=object)
    """
    try:
        return np.asarray(value)
    except ValueError:
        return objects(value)


def from_sql(values: NDArray[Any], type_: Type) -> NDArray[Any]:
    """Return values from DuckDB in the form that functions accept.

    JSON text is parsed, and int64 microseconds become durations. `type_` is the type of the values.
    """
    if type_.dtype == "timedelta64[us]" and values.dtype == np.int64:
        return values.astype("m8[us]")
    if type_.dtype != "object" or not values.dtype.hasobject:
        return values
    return objects([_parse_json(value, type_) for value in values])


def _parse_json(value: Any, type_: Type) -> object:
    """Return JSON text as a JSON value. In a list, each text becomes a JSON value."""
    if value is None or type_.dtype != "object":
        return value
    if type_.items is None:
        return read_json(value)
    return objects([_parse_json(item, type_.items.of) for item in value])


def trim_padding(value: object) -> object:
    """Return a shape without masked axes, or None if all axes are masked, which means null."""
    if not np.ma.isMaskedArray(value):
        return value
    return None if value.mask.all() else value.compressed()


def out_of_range(
    text: str, error: IndexError, index: tuple[Any, ...], shape: tuple[int, ...]
) -> QueryError:
    """Return the error for an index that NumPy rejects for values with a shape.

    The message is NumPy's message for the value of a single row. For stacked rows, NumPy's message
    would also count the axis of the rows.
    """
    try:
        np.broadcast_to(np.False_, shape)[index]
    except IndexError as of_row:
        error = of_row
    return QueryError(f"{text}: {error}; the value in a row has shape {shape}.")


def split_cells(tree: Tree) -> set[Cell]:
    """Return the `Cell` leaves that are used only with an index that differs from row to row.

    UNNEST uses cells in this way. Consecutive rows then use items of the same value, which needs to
    be decoded only once.
    """
    return set(cells(tree)) - set(_whole_cells(tree))


def _whole_cells(tree: Tree) -> Iterator[Cell]:
    """Yield the `Cell` leaves that are used without an index that differs from row to row."""
    match tree:
        case Call(args=args):
            for arg in args:
                yield from _whole_cells(arg)
        case Index(base) if constant_index(tree) is not None:
            yield from _whole_cells(base)
        case Index(items=items):
            parts = (p for item in items for p in (item if isinstance(item, tuple) else (item,)))
            for part in parts:
                if part is not ... and part is not None:
                    yield from _whole_cells(part)
        case _:
            yield from cells(tree)


def run_starts(env: Env, names: Collection[str]) -> NDArray[np.int64] | None:
    """Return the indices of the rows in which an entry of `env` differs from the previous row.

    Only the entries with the given names are compared. Returns None if all rows differ, or if an
    entry is an array of objects, because these are not compared.
    """
    if not names or any(np.ma.getdata(env[name]).dtype.hasobject for name in names):
        return None
    count = len(next(iter(env.values())))
    differs = np.zeros(count, bool)
    differs[:1] = True
    for name in names:
        data, mask = np.ma.getdata(env[name]), np.ma.getmaskarray(env[name])
        differs[1:] |= (data[1:] != data[:-1]) | (mask[1:] != mask[:-1])
    return None if differs.all() else np.flatnonzero(differs)


def constant_index(tree: Index) -> tuple[Any, ...] | None:
    """Return an index in NumPy's form if it is the same in all rows and works for stacked rows.

    Otherwise, return None.
    """
    parts = (p for item in tree.items for p in (item if isinstance(item, tuple) else (item,)))
    if not all(p is ... or isinstance(p, Literal_ | None) for p in parts):
        return None
    index = tuple(_constant(item) for item in tree.items)
    return index if _is_adjacent(index) else None


def _is_adjacent(index: tuple[object, ...]) -> bool:
    """Return whether all integers and arrays in an index are adjacent, or all are integers.

    Otherwise, NumPy would move the axes of the result to the front, before the axis of the rows.
    """
    if not any(isinstance(item, np.ndarray) for item in index):
        return True
    at = [n for n, item in enumerate(index) if isinstance(item, int | np.ndarray)]
    return at[-1] - at[0] == len(at) - 1


def _constant(item: Any) -> object:
    if item is ... or item is None:
        return item
    if isinstance(item, tuple):
        return slice(*(None if part is None else int(part.value) for part in item))
    value = np.asarray(item.value)
    return int(value) if value.ndim == 0 else value
