"""The tensor part of a query: trees over rows, computed by NumPy in blocks.

Where all leaves have one shape, a block of rows is computed at once, stacked along a first axis.
Otherwise rows go one by one (`rowwise`). What a block reads and gives is bounded in bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from deeplake_lite.query.database import interrupt
from deeplake_lite.query.functions.room import TooMany
from deeplake_lite.query.run.metadata import metadata
from deeplake_lite.query.run.sources import BLOCK_BYTES
from deeplake_lite.query.tensors import rowwise
from deeplake_lite.query.tensors.trees import (
    as_array,
    as_given,
    cells,
    constant_index,
    is_dense,
    masked,
    outside,
    row_bytes,
    rows_of,
)
from deeplake_lite.query.values import (
    Call,
    Cell,
    Choice,
    Given,
    Grouped,
    Index,
    Literal_,
    Meta,
    Tree,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from deeplake_lite.query.tensors.trees import Env

BLOCK_ROWS = 65_536
"""Rows of a block at the most."""


def evaluate(
    tree: Tree, env: Env, count: int, note: Callable[[int], None] | None = None
) -> NDArray[Any] | list[Any]:
    """Return a tree's values for `count` rows.

    Returns
    -------
    ndarray, (count, *shape)
        Where all rows have one shape; masked where some are null.
    list
        Otherwise; None where null.
    """
    parts, done = [], 0
    for part in blocks(tree, env, count):
        interrupt.check()
        parts.append(part)
        done += len(part)
        if note:
            note(done)
    if len(parts) == 1:
        return cast("NDArray[Any]", parts[0])
    if not parts:
        return np.empty((0, *(n or 0 for n in tree.type.shape or ())), _dtype(tree))
    return _joined(parts)


def blocks(tree: Tree, env: Env, count: int) -> Iterator[Any]:
    """Yield a tree's values, block of rows by block."""
    if not stacks(tree) and not _gives_lists(tree):
        yield from rowwise.blocks(tree, env, count, blocks)
        return
    size, stop = _block_rows(tree), 0
    while stop < count:
        start, stop = stop, min(stop + size, count)
        part = {key: values[start:stop] for key, values in env.items()}
        try:
            with np.errstate(all="ignore"):
                found = _stacked(tree, part)
        except TooMany:
            size, stop = (stop - start) // 2, start
            continue
        if isinstance(found, list):
            yield found if len(found) == stop - start else found * (stop - start)
            continue
        found = np.asanyarray(found)
        if len(found) != stop - start:  # the same for all rows
            found = np.repeat(found, stop - start, axis=0)
        yield found


def _dtype(tree: Tree) -> Any:
    return object if tree.type.dtype in ("str", "bytes", "object") else tree.type.dtype


def _joined(parts: list[Any]) -> NDArray[Any] | list[Any]:
    if all(isinstance(p, np.ndarray) for p in parts) and len({p.shape[1:] for p in parts}) == 1:
        join = np.ma.concatenate if any(map(np.ma.isMaskedArray, parts)) else np.concatenate
        return join(parts)
    return [row for part in parts for row in part]


def _block_rows(tree: Tree) -> int:
    """Return how many rows to take at a time."""
    widest = max((row_bytes(cell) for cell in cells(tree)), default=8)
    return max(1, min(BLOCK_ROWS, BLOCK_BYTES // max(8, widest)))


def _gives_lists(tree: Tree) -> bool:
    """Tell whether a tree is a call that takes a block of rows at once, and gives a list."""
    return isinstance(tree, Call) and tree.bound.lists and all(map(stacks, tree.args))


def stacks(tree: Tree) -> bool:
    """Tell whether a block of rows can be computed at once.

    Rows without elements cannot, as a mask of theirs has no place for a null.
    """
    if 0 in (tree.type.shape or ()):
        return False
    match tree:
        case Cell():
            return is_dense(tree)
        case Grouped():
            return False
        case Choice(options=options, type=type_):
            same = type_.is_of_one_shape and all(o.type.shape == type_.shape for o in options)
            return same and all(map(stacks, options))
        case Meta(type=type_):
            return None not in (type_.shape or ())
        case Call(bound=bound, args=args) if bound.lists:
            return bound.type.is_of_one_shape and all(map(stacks, args))
        case Call(bound=bound, args=args):
            return bound.stacks and all(map(stacks, args))
        case Index(base):
            return constant_index(tree) is not None and stacks(base)
        case Given(type=type_):
            return type_.ndim == 0
        case _:
            return True


def _stacked(tree: Tree, env: Env) -> Any:
    match tree:
        case Cell(key, source, field):
            rows, null = rows_of(env[key])
            return masked(source.dense(field, rows), null)
        case Meta():
            return metadata(tree, env[tree.key])
        case Given(key, type_):
            return as_given(env[key], type_)
        case Literal_(value):
            return as_array(value)[None]
        case Call(bound=bound, args=args):
            kept = _aside(tree, env)
            given = {} if kept is None else {"auxiliary": kept}
            return bound.compute(*(_of_rows(a, env) for a in args), lead=1, **given)
        case Index():
            return _indexed(tree, env)
        case Choice():
            return _chosen(tree, env)
    raise AssertionError(tree)


def _chosen(tree: Choice, env: Env) -> Any:
    """Return the rows of each tree where it counts; there alone has it what it reads."""
    tags = np.asarray(env[tree.key])
    shape = tuple(n or 0 for n in tree.type.shape or ())
    out = np.ma.zeros((len(tags), *shape), tree.type.dtype)
    for number, option in enumerate(tree.options):
        if (here := tags == number).any():
            part = {key: values[here] for key, values in env.items()}
            out[here] = _stacked(option, part)
    return out if np.ma.getmaskarray(out).any() else np.ma.getdata(out)


def _of_rows(tree: Tree, env: Env) -> Any:
    """Return an argument of a block: what is the same for all rows stands in each, but no constant.

    Functions know constants themselves.
    """
    found = _stacked(tree, env)
    rows = max(map(len, env.values()), default=1)
    if isinstance(tree, Literal_) or len(found) == rows:
        return found
    if isinstance(found, list):
        return found * rows
    values = np.broadcast_to(np.ma.getdata(found), (rows, *found.shape[1:]))
    if not np.ma.isMaskedArray(found):
        return values
    return np.ma.MaskedArray(values, np.broadcast_to(np.ma.getmaskarray(found), values.shape))


def _aside(tree: Call, env: Env) -> Any:
    """Return what a function keeps of the column that it is called with."""
    if tree.bound.auxiliary is None:
        return None
    [cell, *others] = [arg for arg in tree.args if not isinstance(arg, Literal_)]
    if others or not isinstance(cell, Cell):
        return None
    rows, null = rows_of(env[cell.key])
    return (
        None if null is not None else cell.source.auxiliary(cell.field, tree.bound.auxiliary, rows)
    )


def _indexed(tree: Index, env: Env) -> Any:
    """Return an index of a block; of a stored column, by reading no more than it needs."""
    index = constant_index(tree)
    assert index is not None
    if isinstance(tree.base, Cell) and all(isinstance(i, int | slice) or i is ... for i in index):
        rows, null = rows_of(env[tree.base.key])
        found = tree.base.source.part(tree.base.field, rows, index)
        if found is not None:
            return masked(found, null)
    values = _stacked(tree.base, env)
    try:
        return values[(slice(None), *index)]
    except IndexError as error:
        raise outside(tree.text, error, values.shape[1:]) from error
