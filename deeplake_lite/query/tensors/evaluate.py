"""Evaluate trees with NumPy, in blocks of rows, in one of three ways.

`stacked`
    If the values of all rows have the same shape, the rows in a block are stacked along a first
    axis and computed with one call of each function.
`by_shape`
    If values differ in shape and are small, such as boxes and tags, the rows of a block that have
    the same shape are stacked.
`rowwise`
    If values are large, such as images, each row is decoded, computed and released before the next
    row. A few threads do this in parallel. Trees with users' functions, which may be slow, are
    evaluated in the same way.

The sizes of the inputs and the results of a block are limited.
"""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.pool import Pool
from deeplake_lite.query.database import interrupt
from deeplake_lite.query.functions.room import TooMany
from deeplake_lite.query.tensors import by_shape, rowwise, stacked
from deeplake_lite.query.tensors.spans import are_small, block_spans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from deeplake_lite.query.functions.value_type import Block
    from deeplake_lite.query.tensors.trees import Env
    from deeplake_lite.query.values import Tree


def evaluate(
    tree: Tree, env: Env, count: int, report: Callable[[int], None] | None = None
) -> Block:
    """Return a tree's values.

    Parameters
    ----------
    tree : Tree
        The tree.
    env : mapping
        The inputs of the tree; see `Env`.
    count : int
        Number of rows.
    report : callable, optional
        Called after each block with the number of rows computed so far.

    Returns
    -------
    ndarray, (count, *shape)
        If the values of all rows have the same shape; a masked array if some are null.
    list
        Otherwise, with None for null.
    """
    parts, done = [], 0
    for part in blocks(tree, env, count):
        interrupt.check()
        parts.append(part)
        done += len(part)
        if report:
            report(done)
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return np.empty((0, *(n or 0 for n in tree.type.shape or ())), _dtype(tree))
    return join(parts)


def blocks(tree: Tree, env: Env, count: int) -> Iterator[Block]:
    """Yield a tree's values in blocks of rows."""
    if stacked.stacks(tree) or stacked.gives_lists(tree):
        return stacked.blocks(tree, env, count)
    return _blocks_of_varying_shape(tree, env, count)


def _blocks_of_varying_shape(tree: Tree, env: Env, count: int) -> Iterator[Block]:
    """Yield the values of a tree, which differ in shape, in blocks of rows. Null is None.

    While a block is being computed, the stored bytes of the next block are read.
    """

    def read(span: slice) -> Callable[[], Iterable[Block]]:
        part = {key: values[span] for key, values in env.items()}
        rows = span.stop - span.start
        if are_small(tree, part, rows):
            return lambda: list(_compute_by_shape(tree, part, rows))
        compute = rowwise.read(tree, part, rows, blocks)
        return lambda: [compute()]

    for compute in _compute_ahead(read, block_spans(tree, env, count)):
        yield from compute()


def _compute_by_shape(tree: Tree, env: Env, count: int) -> Iterator[Block]:
    """Yield the values of a block of small rows. If results are too large, divide the block."""
    try:
        yield by_shape.compute(tree, env, count)
    except TooMany:
        for half in (slice(count // 2), slice(count // 2, count)):
            part = {key: values[half] for key, values in env.items()}
            yield from _compute_by_shape(tree, part, len(range(count)[half]))


def _compute_ahead[T, R](make: Callable[[T], R], items: Iterator[T]) -> Iterator[R]:
    """Yield the results of `make` for all items. A thread makes the next while one is in use."""
    head = list(islice(items, 2))
    if len(head) < 2:
        yield from map(make, head)
        return
    with Pool(1) as pool:
        job = pool.submit(make, head[0])
        try:
            for item in chain(head[1:], items):
                ready, job = job.result(), pool.submit(make, item)
                yield ready
            yield job.result()
        finally:
            job.wait()  # no thread must still be reading after an error or an interrupt


def _dtype(tree: Tree) -> Any:
    return object if tree.type.dtype in ("str", "bytes", "object") else tree.type.dtype


def join(parts: list[Block]) -> Block:
    """Return the values of consecutive blocks of rows together."""
    arrays = [p for p in parts if isinstance(p, np.ndarray)]
    if len(arrays) == len(parts) and len({a.shape[1:] for a in arrays}) == 1:
        join = np.ma.concatenate if any(map(np.ma.isMaskedArray, arrays)) else np.concatenate
        return np.asanyarray(join(arrays))
    return [row for part in parts for row in part]
