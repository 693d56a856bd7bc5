"""Estimates of the sizes of values that differ in shape, by which blocks and methods are chosen."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.htypes.layouts import Dense, Nested, Ragged
from deeplake_lite.query.tensors.trees import (
    cells,
    is_dense,
    row_bytes,
    rows_of,
    run_starts,
    split_cells,
)
from deeplake_lite.query.values import Cell, Grouped, Tree, calls_users, leaves
from deeplake_lite.storage import chunks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from deeplake_lite.query.tensors.trees import Env

BLOCK_BYTES = 32 * 2**20
"""Approximate size of the stored bytes, or of the values, of the rows in a block."""

ROW_BYTES = 1024
"""Assumed size of the Python objects for one row."""

WINDOW_ROWS = 65_536
"""Number of rows whose sizes are looked up at a time."""

SMALL_BYTES = 16 * 2**10
"""Maximum average size of a value in a block that is computed by `by_shape`."""

FILE_BYTES = 4 << 20
"""Assumed size of a linked file."""


def block_spans(tree: Tree, env: Env, count: int) -> Iterator[slice]:
    """Yield slices that divide rows into blocks of about `BLOCK_BYTES`."""
    for window in chunks.spans(count, WINDOW_ROWS):
        part = {key: values[window] for key, values in env.items()}
        ends = np.cumsum(_sizes(tree, part, window.stop - window.start))
        start, total = 0, 0
        while start < len(ends):
            stop = max(start + 1, int(np.searchsorted(ends, total + BLOCK_BYTES, "right")))
            yield slice(window.start + start, window.start + stop)
            start, total = stop, int(ends[stop - 1])


def _sizes(tree: Tree, env: Env, count: int) -> NDArray[np.int64]:
    """Return the size of each row in bytes.

    This is the size of the decoded inputs if the tree's values have axes, and otherwise the size of
    the stored inputs.
    """
    sizes = np.full(count, ROW_BYTES, np.int64)
    split = split_cells(tree)
    for cell in cells(tree):
        rows, null = rows_of(env[cell.key])
        present = np.ones(count, bool) if null is None else ~null
        starts = run_starts(env, [cell.key]) if cell in split else None
        if starts is not None:  # consecutive rows share a value, which is decoded only once
            is_start = np.zeros(count, bool)
            is_start[starts] = True
            present &= is_start
        if is_dense(cell):
            sizes[present] += row_bytes(cell)
        elif tree.type.ndim == 0:
            sizes[present] += cell.source.sizes(cell.field, rows[present])
        elif not cell.field.htype.stores_shapes:
            sizes[present] += FILE_BYTES
        else:
            shapes = cell.source.shapes(cell.field, rows[present]).astype(np.int64)
            item = np.dtype(cell.type.dtype).itemsize if cell.type.is_number else 8
            sizes[present] += item * np.where(shapes < 0, 1, shapes).prod(axis=1)
    return sizes


def are_small(tree: Tree, env: Env, count: int) -> bool:
    """Return whether the inputs of rows are so small that computing many rows at once is faster.

    Returns False for trees that call a user's function. Such a function may be slow, and the query
    must be interruptible between two rows.
    """
    if any(isinstance(leaf, Grouped) for leaf in leaves(tree)) or calls_users(tree):
        return False
    split = split_cells(tree)
    sizes = (
        _decoded_size(cell, _present(_decoded_positions(env, cell.key, split=cell in split)))
        for cell in cells(tree)
    )
    return sum(sizes) <= SMALL_BYTES * count


def _decoded_positions(env: Env, key: str, *, split: bool) -> NDArray[Any]:
    """Return the positions of the rows in which a cell must be decoded.

    If `split` is true, the cell is in `split_cells`, and is decoded only once for consecutive rows
    with the same position.
    """
    starts = run_starts(env, [key]) if split else None
    return env[key] if starts is None else env[key][starts]


def _decoded_size(cell: Cell, rows: NDArray[np.int64]) -> float:
    """Return the total size in bytes of a column's decoded values; infinity if it is unknown."""
    htype = cell.field.htype
    layout = htype.layout
    if isinstance(layout, Dense) and cell.type.is_number:
        return row_bytes(cell) * len(rows)
    while isinstance(layout, Nested):
        htype = layout.item
        layout = htype.layout
    is_encoded = isinstance(layout, Ragged) and layout.dtype == "bytes"
    if not htype.stores_shapes or (is_encoded and htype is not cell.field.htype):
        return math.inf
    if is_encoded and cell.type.is_number:
        return _elements(cell, rows) * np.dtype(cell.type.dtype).itemsize
    return int(cell.source.sizes(cell.field, rows).sum())


def _elements(cell: Cell, rows: NDArray[np.int64]) -> int:
    shapes = cell.source.shapes(cell.field, rows).astype(np.int64)
    return int(np.where(shapes < 0, 1, shapes).prod(axis=1).sum())


def _present(positions: NDArray[Any]) -> NDArray[np.int64]:
    rows, null = rows_of(positions)
    return rows if null is None else rows[~null]
