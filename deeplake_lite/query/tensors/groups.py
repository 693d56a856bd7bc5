"""Compute `Grouped` leaves of trees: the list, or an elementwise aggregate, of a group's values.

Aggregates are cached for the duration of a query, because a join may repeat the same group many
times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.errors import QueryError
from deeplake_lite.query.functions.sums import accumulator
from deeplake_lite.query.tensors.trees import cells

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from deeplake_lite.query.database.convert import GroupRows
    from deeplake_lite.query.functions.value_type import Block
    from deeplake_lite.query.tensors.trees import Env
    from deeplake_lite.query.values import Grouped, Tree

type Blocks = Callable[[Tree, Env, int], Iterator[Block]]
"""A function that evaluates a tree in blocks of rows. It is passed as an argument, because it is
defined in `evaluate`, which imports this module."""

CACHED_VALUES = 1024
"""Maximum number of groups whose aggregates are cached."""

CACHED_BYTES = 64 * 2**10
"""Maximum size of a cached aggregate, in bytes."""

_ORDERED: dict[str, Callable[..., Any]] = {"MIN": np.min, "MAX": np.max, "MEDIAN": np.median}
"""Maps aggregates that compare values to NumPy's functions."""

_ADDED: dict[str, Callable[..., Any]] = {"SUM": np.sum, "MEAN": np.sum, "PROD": np.prod}
"""Maps aggregates that add or multiply values, in the dtype of `accumulator`, to NumPy's functions.
MEAN is computed as a sum, and divided at the end."""

_SPREAD: dict[str, Callable[..., Any]] = {"STD": np.std, "VAR": np.var}
"""Maps aggregates of deviations from the mean, which are also computed in the dtype of
`accumulator`, to NumPy's functions."""

_STREAMED = {"SUM": np.add, "MEAN": np.add, "MIN": np.minimum, "MAX": np.maximum}
"""Maps aggregates that are computed block by block to the function that combines the results of two
blocks."""


def group_value(leaf: Grouped, rows: GroupRows | None, inner: Blocks) -> object:
    """Return the list, or the aggregate, of the values of a tree in the rows of a group.

    Returns None if there is no group. `inner` evaluates the tree.
    """
    if rows is None:
        return None
    source = next((cell.source for cell in cells(leaf.inner)), None)
    if source is None or leaf.aggregate == "LIST":
        return _compute(leaf, rows, inner)
    cache = source.memo.setdefault("groups", {})
    if (leaf, rows.digest) in cache:
        return cache[leaf, rows.digest]
    value = _compute(leaf, rows, inner)
    if len(cache) < CACHED_VALUES and getattr(value, "nbytes", 0) <= CACHED_BYTES:
        cache[leaf, rows.digest] = value
    return value


def _compute(leaf: Grouped, rows: GroupRows, inner: Blocks) -> object:
    blocks = inner(leaf.inner, rows.env, len(rows))
    if leaf.aggregate == "LIST":
        return [_remove_mask(v) if _is_present(v) else None for part in blocks for v in part]
    parts = ([_remove_mask(v) for v in part if _is_present(v)] for part in blocks)
    if leaf.aggregate in _STREAMED:
        return _reduce_blocks(leaf, parts)
    values = [value for part in parts for value in part]
    if not values:
        return None
    return _reduce(leaf, _stack(leaf, values)).astype(leaf.type.dtype)


def _reduce(leaf: Grouped, stack: NDArray[Any]) -> Any:
    """Return the aggregate of stacked values. For MEAN, return the sum."""
    if leaf.aggregate in _ORDERED:
        return _ORDERED[leaf.aggregate](stack, axis=0)
    wide = accumulator(stack.dtype, floats=leaf.type.dtype[0] in "fc")
    if leaf.aggregate in _SPREAD:
        return _SPREAD[leaf.aggregate](stack.astype(wide, copy=False), axis=0)
    return _ADDED[leaf.aggregate](stack, axis=0, dtype=wide)


def _reduce_blocks(leaf: Grouped, parts: Iterable[list[Any]]) -> object:
    """Return the aggregate of blocks of values. Only one block is in memory at a time.

    To detect different shapes, the first value of all is stacked with each block.
    """
    first: Any = None
    total, count = None, 0
    for part in parts:
        if not part:
            continue
        stack = _stack(leaf, part if first is None else [first, *part])[first is not None :]
        first = first if first is not None else part[0]
        block = _reduce(leaf, stack)
        total = block if total is None else _STREAMED[leaf.aggregate](total, block)
        count += len(stack)
    if total is None:
        return None
    return (total / count if leaf.aggregate == "MEAN" else total).astype(leaf.type.dtype)


def _stack(leaf: Grouped, values: list[Any]) -> NDArray[Any]:
    shapes = {np.shape(v) for v in values}
    if len(shapes) > 1:
        raise QueryError(
            f"{leaf.aggregate} over a group needs tensors of equal shape, but the shapes of "
            f"{_columns(leaf)} include {' and '.join(map(str, sorted(shapes)[:3]))}. CROP or "
            f"RESIZE the tensors first, or reduce each of them: {leaf.aggregate}(AMEAN(x))."
        )
    stack = np.stack(values)
    if stack.dtype == object:
        raise QueryError(
            f"{leaf.aggregate} over a group needs tensors without nulls, but some items of "
            f"{_columns(leaf)} are null. Reduce each row: {leaf.aggregate}(ASUM(x))."
        )
    return stack


def _columns(leaf: Grouped) -> str:
    """Return the names and types of the columns that an aggregate reads, as text for messages."""
    names = {f"{c.field.name} ({c.field.htype})": None for c in cells(leaf.inner)}
    return ", ".join(names) or "the group"


def _is_present(value: object) -> bool:
    return value is not None and value is not np.ma.masked and not _is_masked(value)


def _remove_mask(value: object) -> object:
    """Return a value without its mask. With a mask, NumPy would mask results such as NaN."""
    return np.ma.getdata(value) if np.ma.isMaskedArray(value) else value


def _is_masked(value: object) -> bool:
    return np.ma.isMaskedArray(value) and bool(np.ma.getmaskarray(value).any())
