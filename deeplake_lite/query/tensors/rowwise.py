"""Evaluating trees whose rows differ in shape: by shape if they are small, otherwise row by row.

An image is decoded, reduced and released before the next one, in a few threads. While a block of
rows is decoded, the stored bytes of the next block are read. Blocks are limited in bytes.
"""

from __future__ import annotations

import math
from functools import partial
from itertools import chain, islice
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.read.values import decode_pool
from deeplake_lite.errors import LakeError, QueryError
from deeplake_lite.htypes.layouts import Dense, Nested, Ragged
from deeplake_lite.pool import Job, Pool
from deeplake_lite.query.database import interrupt
from deeplake_lite.query.functions.guard import listed
from deeplake_lite.query.functions.room import TooMany
from deeplake_lite.query.run.metadata import metadata
from deeplake_lite.query.tensors import by_shape, groups
from deeplake_lite.query.tensors.indexing import apply_index, index_of
from deeplake_lite.query.tensors.trees import (
    as_array,
    cells,
    from_sql,
    is_dense,
    masked,
    row_bytes,
    rows_of,
    run_starts,
    split_cells,
    trimmed,
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
    calls_users,
    leaves,
)
from deeplake_lite.storage import chunks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from deeplake_lite.query.tensors.groups import Blocks
    from deeplake_lite.query.tensors.trees import Env

BLOCK_BYTES = 32 * 2**20
"""Approximate size of the bytes that are read for a block, or of its values."""

ROW_BYTES = 1024
"""Size that is assumed for the Python objects of a row."""

WINDOW_ROWS = 65_536
"""Number of rows whose sizes are looked up at a time to plan blocks."""

SMALL_BYTES = 16 * 2**10
"""Blocks whose rows have at most this size on average are computed by shape."""

PART_ROWS = 32
"""Number of rows that a thread takes at a time."""

FILE_BYTES = 4 << 20
"""Size that is assumed for a linked file when blocks are planned."""


def blocks(tree: Tree, env: Env, count: int, inner: Blocks) -> Iterator[Any]:
    """Yield a tree's values in blocks of rows, None for null."""

    def read(span: slice) -> Callable[[], Any]:
        part = {key: values[span] for key, values in env.items()}
        rows = span.stop - span.start
        if _are_small(tree, part, rows):
            return lambda: list(_compute_by_shape(tree, part, rows))
        return lambda: [_compute_rows(tree, _Reader(tree, part, inner), rows)]

    for compute in _ahead(read, _spans(tree, env, count)):
        yield from compute()


def _compute_by_shape(tree: Tree, env: Env, count: int) -> Iterator[Any]:
    """Yield the values of small rows; split the rows in halves if the results are too large."""
    try:
        yield by_shape.compute(tree, env, count)
    except TooMany:
        for half in (slice(count // 2), slice(count // 2, count)):
            part = {key: values[half] for key, values in env.items()}
            yield from _compute_by_shape(tree, part, len(range(count)[half]))


def _are_small(tree: Tree, env: Env, count: int) -> bool:
    """Tell whether decoded rows are so small that it is faster to compute many of them at once.

    Trees that call a user's function do not count: it may be slow, and an interrupt should stop it
    between two rows.
    """
    if any(isinstance(leaf, Grouped) for leaf in leaves(tree)) or calls_users(tree):
        return False
    split = split_cells(tree)
    sizes = (
        _decoded_size(cell, _present(_first_of_runs(env, cell.key, split=cell in split)))
        for cell in cells(tree)
    )
    return sum(sizes) <= SMALL_BYTES * count


def _first_of_runs(env: Env, key: str, *, split: bool) -> Any:
    """Return the positions of a cell that are decoded: if it is split, one for all its items."""
    starts = run_starts(env, [key]) if split else None
    return env[key] if starts is None else env[key][starts]


def _decoded_size(cell: Cell, rows: NDArray[np.int64]) -> float:
    """Return the size of decoded rows of a column in bytes; infinity if it is unknown."""
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


def _present(positions: Any) -> NDArray[np.int64]:
    rows, null = rows_of(positions)
    return rows if null is None else rows[~null]


def _ahead[T, R](make: Callable[[T], R], items: Iterator[T]) -> Iterator[R]:
    """Yield the results of `make` for items; the next is made in a thread while one is in use."""
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
            job.wait()  # after an error or an interrupt, no thread must still be reading


def _spans(tree: Tree, env: Env, count: int) -> Iterator[slice]:
    """Divide rows into blocks of about `BLOCK_BYTES`."""
    for window in chunks.spans(count, WINDOW_ROWS):
        part = {key: values[window] for key, values in env.items()}
        ends = np.cumsum(_sizes(tree, part, window.stop - window.start))
        start, held = 0, 0
        while start < len(ends):
            stop = max(start + 1, int(np.searchsorted(ends, held + BLOCK_BYTES, "right")))
            yield slice(window.start + start, window.start + stop)
            start, held = stop, int(ends[stop - 1])


def _sizes(tree: Tree, env: Env, count: int) -> NDArray[np.int64]:
    """Return the size of each row in bytes: of its stored bytes, or of its value if it has axes."""
    sizes = np.full(count, ROW_BYTES, np.int64)
    split = split_cells(tree)
    for cell in cells(tree):
        rows, null = rows_of(env[cell.key])
        present = np.ones(count, bool) if null is None else ~null
        starts = run_starts(env, [cell.key]) if cell in split else None
        if starts is not None:  # a value is decoded once for all its items
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


def _compute_rows(tree: Tree, read: _Reader, count: int) -> list[Any]:
    """Compute rows one by one, several parts of them in threads.

    Rows with groups are computed without threads here, because their groups use the same pool.
    """
    if count <= PART_ROWS or any(isinstance(leaf, Grouped) for leaf in leaves(tree)):
        return _compute_part(tree, read, 0, count)
    starts = range(0, count, PART_ROWS)
    pool = decode_pool()
    jobs = [pool.submit(_compute_part, tree, read, a, min(a + PART_ROWS, count)) for a in starts]
    try:
        return [row for job in jobs for row in _result(job)]
    finally:
        for job in jobs:
            job.cancel()  # after an error or an interrupt, the rest of the block is not needed


def _result(job: Job[list[Any]]) -> list[Any]:
    interrupt.check()
    return job.result()


def _compute_part(tree: Tree, read: _Reader, start: int, stop: int) -> list[Any]:
    out = []
    with np.errstate(all="ignore"):
        for row in range(start, stop):
            try:
                out.append(_without_base(_compute_row(tree, read, row)))
            except LakeError:
                raise
            except (IndexError, ValueError, TypeError) as error:
                raise QueryError(f"The values of a row cannot be used: {error}.") from error
    return out


def _without_base(value: Any) -> Any:
    """Return a value; copy a small view of a large array, which it would keep in memory."""
    base = getattr(value, "base", None)
    if isinstance(value, np.ndarray) and isinstance(base, np.ndarray):
        return value.copy() if value.nbytes * 2 < base.nbytes else value
    return value


class _Reader:
    """Reads the leaves of a tree for single rows, and decodes them when they are needed."""

    def __init__(self, tree: Tree, env: Env, inner: Blocks) -> None:
        self.env, self._inner = env, inner
        opened: dict[Tree, Callable[[int], Any]] = {}
        self._read: dict[int, Callable[[int], Any]] = {}  # by identity: a hash takes 10 µs a row
        for leaf in leaves(tree):
            if leaf not in opened:
                opened[leaf] = self._open(leaf)
            self._read[id(leaf)] = opened[leaf]

    def __call__(self, leaf: Tree, row: int) -> Any:
        return self._read[id(leaf)](row)

    def _open(self, leaf: Tree) -> Callable[[int], Any]:
        match leaf:
            case Literal_(value):
                array = np.asarray(value) if leaf.type.is_number else value
                return lambda _: array
            case Given(key, type_):
                scalars = from_sql(self.env[key], type_)
                return lambda row: _unmasked(scalars[row])
            case Meta():
                entries = metadata(leaf, self.env[leaf.key])
                return lambda row: trimmed(entries[row])
            case Choice(key, options):
                return self._choice(self.env[key], options)
            case Grouped():
                group_rows = self.env[leaf.key]
                return lambda row: groups.group_value(leaf, group_rows[row], self._inner)
            case Cell(key, source, field):
                if (starts := run_starts(self.env, [key])) is not None:
                    first = _Reader(leaf, {key: self.env[key][starts]}, self._inner)
                    return _Shared(partial(first, leaf), starts)
                if not is_dense(leaf):
                    return source.decoder(field, self.env[key])
                rows, null = rows_of(self.env[key])
                values = masked(source.dense(field, rows), null)
                return lambda row: _unmasked(values[row])
        raise AssertionError(leaf)

    def _choice(self, tags: Any, options: tuple[Tree, ...]) -> Callable[[int], Any]:
        readers = [_Reader(option, self.env, self._inner) for option in options]

        def read(row: int) -> Any:
            tag = int(tags[row])
            return _as_array(options[tag], _compute_row(options[tag], readers[tag], row))

        return read


class _Shared:
    """Reads the value of consecutive rows with the same position once."""

    def __init__(self, read: Callable[[int], Any], starts: NDArray[np.int64]) -> None:
        self._read, self._starts = read, starts
        self._lock = Lock()
        self._last: tuple[int, Any] = (-1, None)

    def __call__(self, row: int) -> Any:
        run = int(np.searchsorted(self._starts, row, "right")) - 1
        with self._lock:  # a thread that needs the same value waits for it
            if self._last[0] != run:
                self._last = run, self._read(run)
            return self._last[1]


def _unmasked(value: Any) -> Any:
    """Return a row's value without a mask; None if any of it is masked, that is, null."""
    if not np.ma.isMaskedArray(value):
        return value
    return None if value.mask.any() else np.ma.getdata(value)


def _compute_row(tree: Tree, read: _Reader, row: int) -> Any:
    match tree:
        case Call(name, bound, args):
            values = [_compute_row(arg, read, row) for arg in args]
            if name in COUNT_ITEMS and isinstance(values[0], list):
                return len(values[0])  # nulls among them count, too
            values = [
                _as_array(arg, value, typed=not bound.lists)
                for arg, value in zip(args, values, strict=True)
            ]
            return bound.compute(*values, lead=0)
        case Index(base, text=text):
            index = index_of(tree, lambda item: _compute_row(item, read, row))
            value = _compute_row(base, read, row)
            if index is not None and not (len(index) == 1 and isinstance(index[0], int)):
                value = _as_array(base, value)
            return apply_index(value, index, text)
        case _:
            return read(tree, row)


COUNT_ITEMS = {"LEN", "LENGTH"}
"""Functions that need only the length of a list."""


def _as_array(tree: Tree, value: Any, *, typed: bool = True) -> Any:
    """Return a list of numbers, or of arrays of one shape, as an array for functions.

    A list that DuckDB computed gets the dtype of its type if `typed` is true.

    Raises
    ------
    QueryError
        If some items are null.
    """
    if not isinstance(value, list) or not tree.type.is_number or not value:
        return value
    if typed and isinstance(tree, Given):
        return listed(value, tree.type)
    if nulls := sum(item is None for item in value):
        raise QueryError(
            f"A list of arrays with nulls cannot be used as an array, but {nulls} of {len(value)} "
            "are null. Exclude them: LIST(x) FILTER (WHERE x IS NOT NULL)."
        )
    array = as_array(value)
    return value if array.dtype == object else array
