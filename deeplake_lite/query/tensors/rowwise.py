"""Evaluate trees row by row.

To save memory, each row is decoded, computed and released before the next row.
"""

from __future__ import annotations

from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.read.values import decode_pool
from deeplake_lite.errors import LakeError, QueryError
from deeplake_lite.htypes.words import pluralize
from deeplake_lite.query.database import interrupt
from deeplake_lite.query.functions.guard import list_to_array
from deeplake_lite.query.run.metadata import metadata
from deeplake_lite.query.tensors import groups
from deeplake_lite.query.tensors.indexing import apply_index, index_of
from deeplake_lite.query.tensors.trees import (
    as_array,
    constant_index,
    from_sql,
    is_dense,
    mask_rows,
    rows_of,
    run_starts,
    tags_of,
    trim_padding,
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
    children,
    leaves,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from deeplake_lite.pool import Job
    from deeplake_lite.query.tensors.groups import Blocks
    from deeplake_lite.query.tensors.trees import Env

PART_ROWS = 32
"""Number of rows that a thread computes before it takes further rows."""


def read(tree: Tree, env: Env, count: int, inner: Blocks) -> Callable[[], list[Any]]:
    """Read the stored bytes of rows, and return a function that computes a tree's values from them.

    This function returns a list with one value per row, which is None for null. `inner` evaluates
    the trees within `Grouped` leaves.
    """
    return partial(_compute_rows, tree, _Reader(tree, env, inner), count)


def _compute_rows(tree: Tree, read: _Reader, count: int) -> list[Any]:
    """Return the values of rows, which threads compute in parallel.

    If the tree has `Grouped` leaves, no threads are used, because evaluating the trees of groups
    uses the same thread pool.
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
            job.cancel()  # after an error or an interrupt, the remaining rows are not needed


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
                raise QueryError(f"An expression cannot be computed for a row: {error}.") from error
    return out


def _without_base(value: object) -> object:
    """Return a copy of a small view of a large array, so that the large array can be released.

    Other values are returned unchanged.
    """
    base = getattr(value, "base", None)
    if isinstance(value, np.ndarray) and isinstance(base, np.ndarray):
        return value.copy() if value.nbytes * 2 < base.nbytes else value
    return value


class _Reader:
    """Returns the values of a tree's leaves in single rows, which are decoded when needed."""

    def __init__(self, tree: Tree, env: Env, inner: Blocks) -> None:
        self.env, self._inner = env, inner
        readers: dict[Tree, Callable[[int], object]] = {}
        # The keys are the ids of leaves, because hashing a leaf would take 10 µs per row.
        self._read: dict[int, Callable[[int], object]] = {}
        for leaf in self._inputs(tree):
            if leaf not in readers:
                readers[leaf] = self._open(leaf)
            self._read[id(leaf)] = readers[leaf]

    def __call__(self, leaf: Tree, row: int) -> object:
        return self._read[id(leaf)](row)

    def reads(self, tree: Tree) -> bool:
        """Return whether a tree is read as a whole, like a leaf."""
        return id(tree) in self._read

    def _inputs(self, tree: Tree) -> Iterator[Tree]:
        """Yield the trees to read: leaves, and parts of cells that are read without the rest."""
        if isinstance(tree, Index) and (part := self._open_part(tree)) is not None:
            self._read[id(tree)] = part
            return
        below = list(children(tree))
        if not below:
            yield tree
        for each in below:
            yield from self._inputs(each)

    def _open_part(self, tree: Index) -> Callable[[int], object] | None:
        """Read the parts that a constant index selects in the cells of a column, if that is less.

        Cells that several consecutive rows share are read as a whole.
        """
        cell, index = tree.base, constant_index(tree)
        if not isinstance(cell, Cell) or is_dense(cell) or index is None:
            return None
        if not all(isinstance(i, int | slice) or i is ... for i in index):
            return None
        if run_starts(self.env, [cell.key]) is not None:
            return None
        return cell.source.part_reader(cell.field, self.env[cell.key], index)

    def _open(self, leaf: Tree) -> Callable[[int], object]:
        match leaf:
            case Literal_(value):
                array = np.asarray(value) if leaf.type.is_number else value
                return lambda _: array
            case Given(key, type_):
                scalars = from_sql(self.env[key], type_)
                return lambda row: _remove_mask(scalars[row])
            case Meta():
                entries = metadata(leaf, self.env[leaf.key])
                return lambda row: trim_padding(entries[row])
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
                values = mask_rows(source.dense(field, rows), null)
                return lambda row: _remove_mask(values[row])
        raise AssertionError(leaf)

    def _choice(self, tags: NDArray[Any], options: tuple[Tree, ...]) -> Callable[[int], object]:
        readers = [_Reader(option, self.env, self._inner) for option in options]
        numbers = tags_of(tags)

        def read(row: int) -> object:
            tag = int(numbers[row])
            if tag < 0:
                return None
            return _as_array(options[tag], _compute_row(options[tag], readers[tag], row))

        return read


class _Shared:
    """Returns the value in a row. A value that consecutive rows share is read only once."""

    def __init__(self, read: Callable[[int], object], starts: NDArray[np.int64]) -> None:
        self._read, self._starts = read, starts
        self._lock = Lock()
        self._last: tuple[int, Any] = (-1, None)

    def __call__(self, row: int) -> object:
        run = int(np.searchsorted(self._starts, row, "right")) - 1
        with self._lock:  # another thread that needs the same value waits for this thread
            if self._last[0] != run:
                self._last = run, self._read(run)
            return self._last[1]


def _remove_mask(value: object) -> object:
    """Return the value of a row as an array without a mask, or None if any element is masked."""
    if not np.ma.isMaskedArray(value):
        return value
    return None if value.mask.any() else np.ma.getdata(value)


def _compute_row(tree: Tree, read: _Reader, row: int) -> object:
    if read.reads(tree):
        return read(tree, row)
    match tree:
        case Call(name, bound, args):
            values = [_compute_row(arg, read, row) for arg in args]
            if name in COUNT_ITEMS and isinstance(values[0], list):
                return len(values[0])  # null items count, too
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
    raise AssertionError(tree)


COUNT_ITEMS = {"LEN", "LENGTH"}
"""Functions that need only the length of a list."""


def _as_array(tree: Tree, value: object, *, typed: bool = True) -> object:
    """Return a list of numbers, or of arrays of one shape, as an array; other values as they are.

    If `typed` is true, a list from DuckDB gets the dtype of the tree's type.

    Raises
    ------
    QueryError
        If an item of the list is null.
    """
    if not isinstance(value, list) or not tree.type.is_number or not value:
        return value
    if typed and isinstance(tree, Given):
        return list_to_array(value, tree.type)
    if nulls := sum(item is None for item in value):
        raise QueryError(
            f"A list can be used as an array only if no item is null, but {nulls:,} of "
            f"{pluralize(len(value), 'item')} {'is' if nulls == 1 else 'are'} null. Exclude the "
            "nulls: LIST(x) FILTER (WHERE x IS NOT NULL)."
        )
    array = as_array(value)
    return value if array.dtype == object else array
