"""Trees whose rows differ in shape: shape by shape where they are small, else row by row.

A picture is decoded, reduced and forgotten before the next, in a few threads; the stored bytes of
one block of rows are read while those of the block before are decoded. Blocks are bounded in bytes,
not in rows.
"""

from __future__ import annotations

import math
from itertools import chain, islice
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
from deeplake_lite.query.tensors import alike, groups
from deeplake_lite.query.tensors.indexing import index_of, indexed
from deeplake_lite.query.tensors.trees import (
    as_array,
    as_given,
    cells,
    is_dense,
    masked,
    row_bytes,
    rows_of,
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
"""What is read for a block, or what a block's values take, about."""

ROW_BYTES = 1024
"""What a row takes at least, in Python's objects."""

WINDOW_ROWS = 65_536
"""Rows whose sizes are looked at to make blocks of them."""

SMALL_BYTES = 16 * 2**10
"""Rows of a block that are no larger, on average, are computed shape by shape."""

PART_ROWS = 32
"""Rows that a thread takes at a time."""

FILE_BYTES = 4 << 20
"""What a link's value is taken to need when blocks are planned: its file is not read for that."""


def blocks(tree: Tree, env: Env, count: int, inner: Blocks) -> Iterator[Any]:
    """Yield a tree's values, None where null, block of rows by block."""

    def read(span: slice) -> Callable[[], Any]:
        part = {key: values[span] for key, values in env.items()}
        rows = span.stop - span.start
        if _are_small(tree, part, rows):
            return lambda: list(_alike(tree, part, rows))
        return lambda: [_rows(tree, _Reader(tree, part, inner), rows)]

    for compute in _ahead(read, _spans(tree, env, count)):
        yield from compute()


def _alike(tree: Tree, env: Env, count: int) -> Iterator[Any]:
    """Yield values of small rows, in halves where results are too large for all of them at once."""
    try:
        yield alike.compute(tree, env, count)
    except TooMany:
        for half in (slice(count // 2), slice(count // 2, count)):
            part = {key: values[half] for key, values in env.items()}
            yield from _alike(tree, part, len(range(count)[half]))


def _are_small(tree: Tree, env: Env, count: int) -> bool:
    """Tell whether rows, decoded, take so little that they are better computed many at once.

    A user's function may be slow, and is to be stopped between two rows.
    """
    if any(isinstance(leaf, Grouped) for leaf in leaves(tree)) or calls_users(tree):
        return False
    sizes = (_decoded(cell, _present(env[cell.key])) for cell in cells(tree))
    return sum(sizes) <= SMALL_BYTES * count


def _decoded(cell: Cell, rows: NDArray[np.int64]) -> float:
    """Return what rows of a column take once decoded, bytes; infinity where that is not known."""
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
    """Yield what is made of items, each made in another thread while the one before is in use."""
    head = list(islice(items, 2))
    if len(head) < 2:
        yield from map(make, head)
        return
    with Pool(1) as pool:
        made = pool.submit(make, head[0])
        try:
            for item in chain(head[1:], items):
                ready, made = made.result(), pool.submit(make, item)
                yield ready
            yield made.result()
        finally:
            made.wait()  # nothing is computed any more when this has ended


def _spans(tree: Tree, env: Env, count: int) -> Iterator[slice]:
    """Cut rows into blocks that are not too large to be held."""
    for window in chunks.spans(count, WINDOW_ROWS):
        part = {key: values[window] for key, values in env.items()}
        ends = np.cumsum(_sizes(tree, part, window.stop - window.start))
        start, held = 0, 0
        while start < len(ends):
            stop = max(start + 1, int(np.searchsorted(ends, held + BLOCK_BYTES, "right")))
            yield slice(window.start + start, window.start + stop)
            start, held = stop, int(ends[stop - 1])


def _sizes(tree: Tree, env: Env, count: int) -> NDArray[np.int64]:
    """Return what each row takes, bytes: what is read of it, or its value if that has axes."""
    found = np.full(count, ROW_BYTES, np.int64)
    for cell in cells(tree):
        rows, null = rows_of(env[cell.key])
        present = slice(None) if null is None else ~null
        if is_dense(cell):
            found += row_bytes(cell)
        elif tree.type.ndim == 0:
            found[present] += cell.source.sizes(cell.field, rows[present])
        elif not cell.field.htype.stores_shapes:
            found[present] += FILE_BYTES
        else:
            shapes = cell.source.shapes(cell.field, rows[present]).astype(np.int64)
            item = np.dtype(cell.type.dtype).itemsize if cell.type.is_number else 8
            found[present] += item * np.where(shapes < 0, 1, shapes).prod(axis=1)
    return found


def _rows(tree: Tree, read: _Reader, count: int) -> list[Any]:
    """Compute rows one by one, parts of them in threads; groups use the threads within."""
    if count <= PART_ROWS or any(isinstance(leaf, Grouped) for leaf in leaves(tree)):
        return _part(tree, read, 0, count)
    starts = range(0, count, PART_ROWS)
    pool = decode_pool()
    jobs = [pool.submit(_part, tree, read, a, min(a + PART_ROWS, count)) for a in starts]
    try:
        return [row for job in jobs for row in _result(job)]
    finally:
        for job in jobs:
            job.cancel()  # an error, or an interrupt, ends the block


def _result(job: Job[list[Any]]) -> list[Any]:
    interrupt.check()
    return job.result()


def _part(tree: Tree, read: _Reader, start: int, stop: int) -> list[Any]:
    out = []
    with np.errstate(all="ignore"):
        for row in range(start, stop):
            try:
                out.append(_own(_row(tree, read, row)))
            except LakeError:
                raise
            except (IndexError, ValueError, TypeError) as error:
                raise QueryError(f"row {row} of a block: {error}.") from error
    return out


def _own(value: Any) -> Any:
    """Return a value that keeps nothing larger alive."""
    base = getattr(value, "base", None)
    if isinstance(value, np.ndarray) and isinstance(base, np.ndarray):
        return value.copy() if value.nbytes * 2 < base.nbytes else value
    return value


class _Reader:
    """Values of the leaves, row by row; what is encoded is decoded when asked for."""

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
                scalars = as_given(self.env[key], type_)
                return lambda row: _unmasked(scalars[row])
            case Meta():
                known = metadata(leaf, self.env[leaf.key])
                return lambda row: trimmed(known[row])
            case Choice(key, options):
                return self._choice(self.env[key], options)
            case Grouped():
                members = self.env[leaf.key]
                return lambda row: groups.value(leaf, members[row], self._inner)
            case Cell(key, source, field):
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
            return _whole(options[tag], _row(options[tag], readers[tag], row))

        return read


def _unmasked(value: Any) -> Any:
    """Return a row's value, None where it is null; an array without a mask."""
    if not np.ma.isMaskedArray(value):
        return value
    return None if value.mask.any() else np.ma.getdata(value)


def _row(tree: Tree, read: _Reader, row: int) -> Any:
    match tree:
        case Call(name, bound, args):
            values = [_row(arg, read, row) for arg in args]
            if name in COUNT_ITEMS and isinstance(values[0], list):
                return len(values[0])  # nulls among them count, too
            values = [
                _whole(arg, value, typed=not bound.lists)
                for arg, value in zip(args, values, strict=True)
            ]
            return bound.compute(*values, lead=0)
        case Index(base, text=text):
            index = index_of(tree, lambda item: _row(item, read, row))
            found = _row(base, read, row)
            if index is not None and not (len(index) == 1 and isinstance(index[0], int)):
                found = _whole(base, found)
            return indexed(found, index, text)
        case _:
            return read(tree, row)


COUNT_ITEMS = {"LEN", "LENGTH"}
"""Functions that look at a list's length alone."""


def _whole(tree: Tree, value: Any, *, typed: bool = True) -> Any:
    """Return a list of numbers, or of arrays of one shape, as the array that it is to functions.

    One that DuckDB gives gets the dtype of its type, unless it is not to be `typed`.

    Raises
    ------
    QueryError
        Where some items are null.
    """
    if not isinstance(value, list) or not tree.type.is_number or not value:
        return value
    if typed and isinstance(tree, Given):
        return listed(value, tree.type)
    if nulls := sum(item is None for item in value):
        raise QueryError(
            f"A list of arrays is an array where none of them is null, got {nulls} of {len(value)} "
            "that are. Leave them out: LIST(x) FILTER (WHERE x IS NOT NULL)."
        )
    array = as_array(value)
    return value if array.dtype == object else array
