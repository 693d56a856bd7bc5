"""A tensor over the rows of a group: all its values, or one, aggregated element by element.

A value is kept for as long as the query's sources are: joined with other rows, a group is met again
and again.
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
    from deeplake_lite.query.tensors.trees import Env
    from deeplake_lite.query.values import Grouped, Tree

type Blocks = Callable[[Tree, Env, int], Iterator[Any]]
"""Computes a tree for some rows, block by block: what the trees within groups go through."""

KEPT_VALUES = 1024
"""Groups whose values are kept, at the most."""

KEPT_BYTES = 64 * 2**10
"""Size of a group's value, at the most, that is kept."""

_ORDERED: dict[str, Callable[..., Any]] = {"MIN": np.min, "MAX": np.max, "MEDIAN": np.median}
"""Aggregates that compare."""

_ADDED: dict[str, Callable[..., Any]] = {"SUM": np.sum, "MEAN": np.sum, "PROD": np.prod}
"""Aggregates that add or multiply, in numbers wide enough for all rows; MEAN divides at the end."""

_SPREAD: dict[str, Callable[..., Any]] = {"STD": np.std, "VAR": np.var}
"""Aggregates of the differences from the mean, in such numbers, too."""

_STREAMED = {"SUM": np.add, "MEAN": np.add, "MIN": np.minimum, "MAX": np.maximum}
"""Aggregates that need a block of the values at a time: how two blocks' become one."""


def value(leaf: Grouped, members: GroupRows | None, inner: Blocks) -> Any:
    """Return the values of a group's rows, or their aggregate; None of no group."""
    if members is None:
        return None
    source = next((cell.source for cell in cells(leaf.inner)), None)
    if source is None or leaf.aggregate == "LIST":
        return _computed(leaf, members, inner)
    kept = source.memo.setdefault("groups", {})
    if (leaf, members.digest) in kept:
        return kept[leaf, members.digest]
    found = _computed(leaf, members, inner)
    if len(kept) < KEPT_VALUES and getattr(found, "nbytes", 0) <= KEPT_BYTES:
        kept[leaf, members.digest] = found
    return found


def _computed(leaf: Grouped, members: GroupRows, inner: Blocks) -> Any:
    blocks = inner(leaf.inner, members.env, len(members))
    if leaf.aggregate == "LIST":
        return [_unmasked(v) if _is_there(v) else None for part in blocks for v in part]
    parts = ([_unmasked(v) for v in part if _is_there(v)] for part in blocks)
    if leaf.aggregate in _STREAMED:
        return _streamed(leaf, parts)
    values = [value for part in parts for value in part]
    if not values:
        return None
    return _reduced(leaf, _stack(leaf, values)).astype(leaf.type.dtype)


def _reduced(leaf: Grouped, stack: NDArray[Any]) -> Any:
    """Return the aggregate of some rows' values; of MEAN their sum."""
    if leaf.aggregate in _ORDERED:
        return _ORDERED[leaf.aggregate](stack, axis=0)
    wide = accumulator(stack.dtype, floats=leaf.type.dtype[0] in "fc")
    if leaf.aggregate in _SPREAD:
        return _SPREAD[leaf.aggregate](stack.astype(wide, copy=False), axis=0)
    return _ADDED[leaf.aggregate](stack, axis=0, dtype=wide)


def _streamed(leaf: Grouped, parts: Iterable[list[Any]]) -> Any:
    """Return an aggregate, block of values by block: never are all of them in memory."""
    first: Any = None
    total, count = None, 0
    for part in parts:
        if not part:
            continue
        stack = _stack(leaf, part if first is None else [first, *part])[first is not None :]
        first = first if first is not None else part[0]
        one = _reduced(leaf, stack)
        total = one if total is None else _STREAMED[leaf.aggregate](total, one)
        count += len(stack)
    if total is None:
        return None
    return (total / count if leaf.aggregate == "MEAN" else total).astype(leaf.type.dtype)


def _stack(leaf: Grouped, values: list[Any]) -> NDArray[Any]:
    shapes = {np.shape(v) for v in values}
    if len(shapes) > 1:
        raise QueryError(
            f"{leaf.aggregate} over a group takes tensors of equal shape, but those of "
            f"{_named(leaf)} are {' and '.join(map(str, sorted(shapes)[:3]))}. CROP or RESIZE them "
            f"first, or reduce each row's: {leaf.aggregate}(AMEAN(x))."
        )
    return np.stack(values)


def _named(leaf: Grouped) -> str:
    """Return the columns that an aggregate reads, with their types."""
    names = {f"{c.field.name} ({c.field.htype})": None for c in cells(leaf.inner)}
    return ", ".join(names) or "the group"


def _is_there(value: Any) -> bool:
    return value is not None and value is not np.ma.masked and not _is_masked(value)


def _unmasked(value: Any) -> Any:
    """Return a value of a masked array as one of none: what is not finite would be masked there."""
    return np.ma.getdata(value) if np.ma.isMaskedArray(value) else value


def _is_masked(value: Any) -> bool:
    return np.ma.isMaskedArray(value) and bool(np.ma.getmaskarray(value).any())
