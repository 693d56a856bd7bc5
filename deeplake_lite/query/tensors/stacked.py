"""Evaluate trees whose values have the same shape in all rows, by stacking the rows of blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.query.functions.room import TooMany
from deeplake_lite.query.run.metadata import metadata
from deeplake_lite.query.run.sources import BLOCK_BYTES
from deeplake_lite.query.tensors.trees import (
    as_array,
    cells,
    constant_index,
    from_sql,
    is_dense,
    mask_rows,
    objects,
    out_of_range,
    row_bytes,
    rows_of,
    tags_of,
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
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from deeplake_lite.query.functions.value_type import Block
    from deeplake_lite.query.tensors.trees import Env

BLOCK_ROWS = 65_536
"""Maximum number of rows in a block."""


def blocks(tree: Tree, env: Env, count: int) -> Iterator[Block]:
    """Yield a tree's values in blocks of rows.

    A block is an array that is masked where values are null, or a list with None for null.
    """
    size, stop = _block_rows(tree), 0
    while stop < count:
        start, stop = stop, min(stop + size, count)
        part = {key: values[start:stop] for key, values in env.items()}
        try:
            with np.errstate(all="ignore"):
                values = _stack(tree, part)
        except TooMany:  # then try again with half as many rows
            size, stop = (stop - start) // 2, start
            continue
        if isinstance(values, list):
            yield values if len(values) == stop - start else values * (stop - start)
            continue
        values = np.asanyarray(values)
        if len(values) != stop - start:  # there is one value for all rows
            values = np.repeat(values, stop - start, axis=0)
        yield values


def _block_rows(tree: Tree) -> int:
    """Return the number of rows in a block."""
    widest = max((row_bytes(cell) for cell in cells(tree)), default=8)
    return max(1, min(BLOCK_ROWS, BLOCK_BYTES // max(8, widest)))


def gives_lists(tree: Tree) -> bool:
    """Return whether a tree calls a function that gets a whole block and returns a list."""
    return isinstance(tree, Call) and tree.bound.lists and all(map(stacks, tree.args))


def stacks(tree: Tree) -> bool:
    """Return whether the rows of a block can be stacked and computed at once.

    Values without elements cannot be stacked, because a masked array has no element with which to
    mark them as null.
    """
    if 0 in (tree.type.shape or ()):
        return False
    match tree:
        case Cell():
            return is_dense(tree)
        case Grouped():
            return False
        case Choice(options=options, type=type_):
            is_same = type_.has_fixed_shape and all(o.type.shape == type_.shape for o in options)
            return is_same and all(map(stacks, options))
        case Meta(type=type_):
            return None not in (type_.shape or ())
        case Call(bound=bound, args=args) if bound.lists:
            return bound.type.has_fixed_shape and all(map(stacks, args))
        case Call(bound=bound, args=args):
            return bound.stacks and all(map(stacks, args))
        case Index(base):
            return constant_index(tree) is not None and stacks(base)
        case Given(type=type_):
            return type_.ndim == 0
        case _:
            return True


def _stack(tree: Tree, env: Env) -> Any:
    """Return the stacked values of a block. If all rows are equal, the first axis has size 1."""
    match tree:
        case Cell(key, source, field):
            rows, null = rows_of(env[key])
            return mask_rows(source.dense(field, rows), null)
        case Meta():
            return metadata(tree, env[tree.key])
        case Given(key, type_):
            return from_sql(env[key], type_)
        case Literal_(value, type_):
            return (as_array(value) if type_.items is None else objects(value))[None]
        case Call(bound=bound, args=args):
            auxiliary = _auxiliary(tree, env)
            options = {} if auxiliary is None else {"auxiliary": auxiliary}
            return bound.compute(*(_argument(a, env) for a in args), lead=1, **options)
        case Index():
            return _index(tree, env)
        case Choice():
            return _choose(tree, env)
    raise AssertionError(tree)


def _choose(tree: Choice, env: Env) -> NDArray[Any]:
    """Return the values of a choice. Each option is evaluated only for the rows that use it.

    In all other rows, the inputs of the option may be null.
    """
    tags = tags_of(env[tree.key])
    shape = tuple(n or 0 for n in tree.type.shape or ())
    out = np.ma.zeros((len(tags), *shape), tree.type.dtype)
    for number, option in enumerate(tree.options):
        if (here := tags == number).any():
            part = {key: values[here] for key, values in env.items()}
            out[here] = _stack(option, part)
    if (tags < 0).any():
        out[tags < 0] = np.ma.masked
    return out if np.ma.getmaskarray(out).any() else np.ma.getdata(out)


def _argument(tree: Tree, env: Env) -> object:
    """Return the values of an argument, with one entry for each row of the block.

    A constant has only one entry. Functions ignore this entry, because they have been bound to the
    values of constants.
    """
    values = _stack(tree, env)
    rows = max(map(len, env.values()), default=1)
    if isinstance(tree, Literal_) or len(values) == rows:
        return values
    if isinstance(values, list):
        return values * rows
    data = np.broadcast_to(np.ma.getdata(values), (rows, *values.shape[1:]))
    if not np.ma.isMaskedArray(values):
        return data
    return np.ma.MaskedArray(data, np.broadcast_to(np.ma.getmaskarray(values), data.shape))


def _auxiliary(tree: Call, env: Env) -> NDArray[Any] | None:
    """Return the entries of the helper array that a function has for a column, or None.

    See `Bound.auxiliary`.
    """
    if tree.bound.auxiliary is None:
        return None
    [cell, *others] = [arg for arg in tree.args if not isinstance(arg, Literal_)]
    if others or not isinstance(cell, Cell):
        return None
    rows, null = rows_of(env[cell.key])
    return (
        None if null is not None else cell.source.auxiliary(cell.field, tree.bound.auxiliary, rows)
    )


def _index(tree: Index, env: Env) -> object:
    """Return the values of a block after indexing.

    If possible, only the bytes of a stored column that the index selects are read.
    """
    index = constant_index(tree)
    assert index is not None
    if isinstance(tree.base, Cell) and all(isinstance(i, int | slice) or i is ... for i in index):
        rows, null = rows_of(env[tree.base.key])
        part = tree.base.source.part(tree.base.field, rows, index)
        if part is not None:
            return mask_rows(part, null)
    values = _stack(tree.base, env)
    try:
        return values[(slice(None), *index)]
    except IndexError as error:
        raise out_of_range(tree.text, error, index, values.shape[1:]) from error
