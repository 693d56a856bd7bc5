"""The tensor part of a query: trees over rows, computed by NumPy in blocks and threads.

Where all leaves have one shape, a block of rows is computed at once, stacked along a first axis.
Otherwise rows go one by one, in a few threads: a picture is decoded, reduced and forgotten before
the next, so that memory stays bounded.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.values import decode_pool
from deeplake_lite.errors import LakeError, QueryError
from deeplake_lite.htypes.base import Dense
from deeplake_lite.query import interrupt
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
    leaves,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from concurrent.futures import Future

    from numpy.typing import NDArray

BLOCK_BYTES = 64 * 2**20
"""Values of a block, about, once read."""

BLOCK_ROWS = 65_536
"""Rows of a block at the most."""

PART_ROWS = 32
"""Rows that a thread takes at a time."""

type Env = Mapping[str, Any]
"""Per key, an array of one entry per row: positions (masked where null) or scalars."""


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
    size = _block_rows(tree, env)
    parts = []
    for a in range(0, count, size):
        interrupt.check()
        b = min(a + size, count)
        parts.append(_block(tree, {k: v[a:b] for k, v in env.items()}, b - a))
        if note:
            note(b)
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return np.empty((0, *(n or 0 for n in tree.type.shape or ())), _dtype(tree))
    return _joined(parts)


def _dtype(tree: Tree) -> Any:
    return object if tree.type.dtype in ("str", "object") else tree.type.dtype


def _joined(parts: list[Any]) -> NDArray[Any] | list[Any]:
    if all(isinstance(p, np.ndarray) for p in parts):
        if len({p.shape[1:] for p in parts}) == 1:
            join = np.ma.concatenate if any(map(np.ma.isMaskedArray, parts)) else np.concatenate
            return join(parts)
    return [row for part in parts for row in part]


def _block_rows(tree: Tree, env: Env) -> int:
    """Return how many rows to take at a time."""
    widest = 8
    for leaf in leaves(tree):
        if isinstance(leaf, Cell) and _is_dense(leaf):
            size = np.dtype(leaf.type.dtype).itemsize * int(
                np.prod([n or 0 for n in leaf.type.shape or ()])
            )
            widest = max(widest, size)
        elif isinstance(leaf, Cell):
            widest = max(widest, _usual_size(leaf, env[leaf.key]))
    return max(1, min(BLOCK_ROWS, BLOCK_BYTES // widest))


def _usual_size(leaf: Cell, positions: Any) -> int:
    """Return about how many bytes a cell has, encoded; of some cells, evenly spread."""
    rows = np.ma.compressed(positions)
    some = rows[:: max(1, len(rows) // 64)]
    if not len(some):
        return 1
    sizes = leaf.source.meta(leaf.field, "nbytes", np.asarray(some, np.int64))
    return max(1024, int(np.mean(sizes)))


def _is_dense(leaf: Cell) -> bool:
    return isinstance(leaf.field.htype.layout, Dense) and leaf.type.is_number


def stacks(tree: Tree) -> bool:
    """Tell whether a block of rows can be computed at once."""
    match tree:
        case Cell():
            return _is_dense(tree)
        case Grouped() | Choice():
            return False
        case Meta(type=type_):
            return None not in (type_.shape or ())
        case Call(bound=bound, args=args):
            return bound.stacks and all(map(stacks, args))
        case Index(base, items):
            fixed = all(
                isinstance(part, Literal_ | None)
                for item in items
                if item is not Ellipsis
                for part in (item if isinstance(item, tuple) else (item,))
            )
            return fixed and stacks(base)
        case Given(type=type_):
            return type_.ndim == 0
        case _:
            return True


def _block(tree: Tree, env: Env, count: int) -> Any:
    with np.errstate(all="ignore"):
        if stacks(tree):
            return _filled(_stacked(tree, env, count), count)
        return _rows(tree, env, count)


def _filled(values: Any, count: int) -> Any:
    """Return stacked values with one entry per row, also where they are the same for all."""
    array = values if isinstance(values, np.ndarray) else np.asarray(values)
    if len(array) == count:
        return array
    return np.broadcast_to(array, (count, *array.shape[1:]))


# ---- stacked


def _stacked(tree: Tree, env: Env, count: int) -> Any:
    match tree:
        case Cell(key, source, field):
            return _read_dense(source, field, env[key])
        case Meta():
            return _meta(tree, env[tree.key])
        case Given(key):
            return env[key]
        case Literal_(value):
            return np.asarray(value)[None]
        case Call(bound=bound, args=args):
            return bound.compute(*(_stacked(a, env, count) for a in args), lead=1)
        case Index(base, items, text=text):
            at = tuple(_constant_item(item) for item in items)
            found = _stacked(base, env, count)
            try:
                return found[(slice(None), *at)]
            except IndexError as error:
                raise _outside(text, error, found.shape[1:]) from error
    raise AssertionError(tree)


def _outside(text: str, error: IndexError, shape: tuple[int, ...]) -> QueryError:
    """Return the error for an index that a row does not have."""
    return QueryError(f"{text}: {error}; a row has shape {shape}.")


def _read_dense(source: Any, field: Any, positions: Any) -> Any:
    rows = np.asarray(np.ma.getdata(positions), np.int64)
    null = np.ma.getmaskarray(positions) if np.ma.isMaskedArray(positions) else None
    values = _take_dense(source, field, rows)
    if null is None or not null.any():
        return values
    mask = np.broadcast_to(null.reshape(-1, *[1] * (values.ndim - 1)), values.shape)
    return np.ma.MaskedArray(np.ma.getdata(values), mask | np.ma.getmaskarray(values))


def _take_dense(source: Any, field: Any, rows: NDArray[np.int64]) -> Any:
    """Return rows of a dense column: a slice of what is kept where they follow each other."""
    if len(rows) * 4 < len(source):
        return source.values(field, rows)
    whole = source.dense(field)
    if len(rows) and rows[-1] - rows[0] == len(rows) - 1 and (np.diff(rows) == 1).all():
        return whole[rows[0] : rows[-1] + 1]
    return whole[rows]


def _meta(leaf: Meta, positions: Any) -> Any:
    rows = np.asarray(np.ma.getdata(positions), np.int64)
    values = leaf.source.meta(leaf.field, leaf.what, rows)
    if np.ma.isMaskedArray(positions) and np.ma.getmaskarray(positions).any():
        null = np.ma.getmaskarray(positions)
        mask = np.broadcast_to(null.reshape(-1, *[1] * (values.ndim - 1)), values.shape)
        return np.ma.MaskedArray(np.ma.getdata(values), mask | np.ma.getmaskarray(values))
    return values


def _constant_item(item: Any) -> Any:
    if item is Ellipsis:
        return item
    if isinstance(item, tuple):
        return slice(*(None if p is None else int(p.value) for p in item))
    value = np.asarray(item.value)
    return int(value) if value.ndim == 0 else value


# ---- row by row


def _rows(tree: Tree, env: Env, count: int) -> list[Any]:
    """Compute rows one by one, parts of them in threads."""
    read = _reader(tree, env)
    if count <= PART_ROWS:
        return _part(tree, read, 0, count)
    pool: ThreadPoolExecutor = decode_pool()
    starts = range(0, count, PART_ROWS)
    futures = [pool.submit(_part, tree, read, a, min(a + PART_ROWS, count)) for a in starts]
    try:
        return [row for future in futures for row in _result(future)]
    finally:
        for future in futures:
            future.cancel()  # an error, or an interrupt, ends the block


def _result(future: Future[list[Any]]) -> list[Any]:
    interrupt.check()
    return future.result()


def _part(tree: Tree, read: _Reader, start: int, stop: int) -> list[Any]:
    out = []
    with np.errstate(all="ignore"):
        for row in range(start, stop):
            try:
                out.append(_row(tree, read, row))
            except LakeError:
                raise
            except (IndexError, ValueError, TypeError) as error:
                raise QueryError(f"row {row} of a block: {error}.") from error
    return out


class _Reader:
    """Values of the leaves, row by row; what is encoded is decoded when asked for."""

    def __init__(self, tree: Tree, env: Env) -> None:
        self.env = env
        self._read: dict[Any, Callable[[int], Any]] = {}
        for leaf in leaves(tree):
            if leaf not in self._read:
                self._read[leaf] = self._open(leaf)

    def __call__(self, leaf: Tree, row: int) -> Any:
        return self._read[leaf](row)

    def _open(self, leaf: Tree) -> Callable[[int], Any]:
        match leaf:
            case Literal_(value):
                array = np.asarray(value) if leaf.type.is_number else value
                return lambda _: array
            case Given(key):
                given = self.env[key]
                return lambda row: _unmasked(given[row])
            case Meta():
                values = _meta(leaf, self.env[leaf.key])
                return lambda row: _trimmed(values[row])
            case Choice(key, options):
                return self._choice(self.env[key], options)
            case Grouped():
                lists = self.env[leaf.key]
                return lambda row: _group(leaf, lists[row])
            case Cell(key, source, field):
                if _is_dense(leaf):
                    values = _read_dense(source, field, self.env[key])
                    return lambda row: _unmasked(values[row])
                return source.decoder(field, self.env[key])
        raise AssertionError(leaf)

    def _choice(self, tags: Any, options: tuple[Tree, ...]) -> Callable[[int], Any]:
        readers = [_Reader(option, self.env) for option in options]

        def read(row: int) -> Any:
            tag = int(tags[row])
            return _row(options[tag], readers[tag], row)

        return read


def _reader(tree: Tree, env: Env) -> _Reader:
    return _Reader(tree, env)


def _unmasked(value: Any) -> Any:
    return (
        None
        if value is np.ma.masked or (np.ma.isMaskedArray(value) and value.mask.any())
        else value
    )


def _trimmed(value: Any) -> Any:
    return value.compressed() if np.ma.isMaskedArray(value) else value


def _row(tree: Tree, read: _Reader, row: int) -> Any:
    match tree:
        case Call(bound=bound, args=args):
            return bound.compute(*(_row(a, read, row) for a in args), lead=0)
        case Index(base, items, text=text):
            value = _row(base, read, row)
            at = tuple(_item(i, read, row) for i in items)
            if value is None or any(i is None for i in at):
                return None
            try:
                return value[at]
            except IndexError as error:
                raise _outside(text, error, np.shape(value)) from error
        case _:
            return read(tree, row)


def _item(item: Any, read: _Reader, row: int) -> Any:
    if item is Ellipsis:
        return item
    if isinstance(item, tuple):
        return slice(*(None if p is None else int(_row(p, read, row)) for p in item))
    found = _row(item, read, row)
    if found is None:
        return None
    value = np.asarray(found)
    return int(value) if value.ndim == 0 else value


# ---- groups

_ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "SUM": np.sum,
    "MEAN": np.mean,
    "MIN": np.min,
    "MAX": np.max,
    "STD": np.std,
    "VAR": np.var,
    "MEDIAN": np.median,
    "PROD": np.prod,
}


def _group(leaf: Grouped, rows: Any) -> Any:
    """Return the values of a group's rows, or their elementwise aggregate."""
    if rows is None:
        return None
    rows = [r for r in rows if r is not None]
    keys = rows[0].keys() if rows else ()
    env = {k: np.array([r[k] for r in rows]) for k in keys}
    values = [v for v in evaluate(leaf.inner, env, len(rows)) if v is not None]
    if leaf.aggregate == "LIST":
        return values
    if not values:
        return None
    shapes = {np.shape(v) for v in values}
    if len(shapes) > 1:
        raise QueryError(
            f"{leaf.aggregate} over a group takes tensors of equal shape, got "
            f"{', '.join(map(str, sorted(shapes)[:3]))}. Crop or resize them first."
        )
    return _ELEMENTWISE[leaf.aggregate](np.stack(values), axis=0)


def walk(tree: Tree) -> Iterator[Tree]:
    """Yield every leaf, those within groups too."""
    for leaf in leaves(tree):
        yield leaf
        if isinstance(leaf, Grouped):
            yield from walk(leaf.inner)
