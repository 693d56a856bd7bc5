"""Evaluate trees whose values are small and differ in shape, by stacking rows of the same shape.

Columns such as boxes and tags have few different shapes in many rows. The rows of a block are
divided into parts, each of which consists of the rows whose values have the same shape; `ByShape`
stores the stacked values of each part. Functions are applied to one part at a time. If the
arguments of a function are divided into different parts, the intersections of these parts are used.
Results are divided into parts again if a function processes one row at a time, or if the shapes of
the results depend on values, as with a mask as an index.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from deeplake_lite.errors import LakeError, QueryError
from deeplake_lite.query.database import interrupt
from deeplake_lite.query.functions.guard import list_to_array, null_rows
from deeplake_lite.query.functions.room import STACK_BYTES, TooMany
from deeplake_lite.query.run.metadata import metadata
from deeplake_lite.query.tensors.indexing import apply_index, index_of, lies_beyond, take_items
from deeplake_lite.query.tensors.trees import (
    constant_index,
    from_sql,
    is_dense,
    keys,
    mask_rows,
    out_of_range,
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
    Index,
    Literal_,
    Meta,
    Tree,
    leaves,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.query.functions.base import Bound
    from deeplake_lite.query.functions.value_type import Block, Type
    from deeplake_lite.query.tensors.trees import Env

type Rows = NDArray[np.int64]
"""Indices of rows within a block."""

type Parts = tuple[Rows, ...]
"""The indices of the rows in each part, in ascending order. Each row of a block is in one part."""


@dataclass(frozen=True, eq=False)
class ByShape:
    """The values of all rows in a block, divided into parts of rows with the same shape."""

    rows: Parts
    values: tuple[Any, ...]
    """The values of each part: an array, (rows, *shape), a list if the values are not numbers, or
    None if all rows of the part are null."""

    @classmethod
    def of(cls, values: Sequence[object] | NDArray[Any], rows: NDArray[np.int64]) -> ByShape:
        """Return the values of rows, divided by their shapes. A value of None means null.

        >>> ByShape.of([np.zeros(2), None, np.ones(2)], np.arange(3)).rows
        (array([0, 2]), array([1]))
        """
        indices: dict[Any, list[int]] = {}
        for index, value in enumerate(values):
            indices.setdefault(_form(value), []).append(index)
        stacks = tuple(_stack([values[i] for i in at], form) for form, at in indices.items())
        if len(stacks) == 1:
            return cls((rows,), stacks)
        return cls(tuple(rows[at] for at in indices.values()), stacks)

    @classmethod
    def join(cls, parts: Sequence[ByShape]) -> ByShape:
        """Return the values of several disjoint sets of rows together."""
        rows = tuple(r for part in parts for r in part.rows)
        return cls(rows, tuple(v for part in parts for v in part.values))

    def over(self, rows: Parts) -> tuple[Any, ...]:
        """Return the values of the parts `rows`, one after the other.

        Each of these parts must be contained in one of the parts of this object.
        """
        if rows is self.rows:
            return self.values
        number = self.number()
        return tuple(
            _take(self.values[number[part[0]]], self.rows[number[part[0]]], part) for part in rows
        )

    def number(self) -> NDArray[np.int64]:
        """Return an array, (rows,), with the number of the part to which each row belongs."""
        out = np.empty(sum(map(len, self.rows)), np.int64)
        for number, part in enumerate(self.rows):
            out[part] = number
        return out


def compute(tree: Tree, env: Env, count: int) -> Block:
    """Return a tree's values for the `count` rows of a block.

    Returns
    -------
    ndarray, (count,)
        If the values are numbers without axes; masked where they are null.
    list
        Otherwise, with None for null.

    Raises
    ------
    TooMany
        If the results take too much memory, so that there must be fewer rows.
    """
    with np.errstate(all="ignore"):
        result = _Walk(env, count)(tree)
    if tree.type.ndim == 0 and tree.type.is_number:
        return _as_numbers(result, tree.type, count)
    out: list[Any] = [None] * count
    for rows, values in zip(result.rows, result.values, strict=True):
        for row, value in zip(rows.tolist(), () if values is None else values, strict=False):
            out[row] = value
    return out


def _as_numbers(result: ByShape, type_: Type, count: int) -> NDArray[Any]:
    out, null = np.zeros(count, type_.dtype), np.zeros(count, bool)
    for rows, values in zip(result.rows, result.values, strict=True):
        if values is None:
            null[rows] = True
        elif isinstance(values, np.ndarray) and not values.dtype.hasobject:
            out[rows] = values
        else:  # items of lists, among which there may be nulls
            null[rows] = [value is None for value in values]
            out[rows] = [0 if value is None else value for value in values]
    return np.ma.MaskedArray(out, null) if null.any() else out


class _Walk:
    """Evaluates a tree for one block. A subtree that occurs twice is computed only once."""

    def __init__(self, env: Env, count: int) -> None:
        self._env, self._every = env, np.arange(count)
        self._whole: Parts = (self._every,)
        self._results: dict[Tree, ByShape] = {}
        self._held = 0  # size of the results in bytes

    def __call__(self, tree: Tree) -> ByShape:
        """Return the values of a tree or subtree for all rows."""
        if tree not in self._results:
            interrupt.check()
            self._results[tree] = self._compute(tree)
        return self._results[tree]

    def _compute(self, tree: Tree) -> ByShape:
        match tree:
            case Call(bound=bound, args=args):
                values = [self(arg) for arg in args]
                return self._each(
                    _intersect_parts(values, self._whole), values, partial(_call, bound)
                )
            case Index():
                return self._index(tree)
            case Literal_(value) if tree.type.is_number:
                array = np.asarray(value)
                return ByShape(
                    self._whole, (np.broadcast_to(array, (len(self._every), *array.shape)),)
                )
            case Literal_(value):
                return ByShape(self._whole, ([value] * len(self._every),))
            case Choice(key, options):
                return self._choose(self._env[key], options)
            case Cell(key, source, field) if is_dense(tree):
                rows, null = rows_of(self._env[key])
                return self._split(mask_rows(source.dense(field, rows), null))
            case Cell(key, source, field):
                return ByShape.of(source.each(field, self._env[key]), self._every)
            case Given(key):
                return self._from_sql(self._env[key], tree.type)
            case Meta(key) if tree.type.ndim:
                shapes = metadata(tree, self._env[key])
                return ByShape.of([trim_padding(v) for v in shapes], self._every)
            case Meta(key):
                return self._split(metadata(tree, self._env[key]))
        raise AssertionError(tree)

    def _from_sql(self, values: NDArray[Any], type_: Type) -> ByShape:
        if values.dtype != object:
            return self._split(from_sql(values, type_))
        if not type_.is_number:
            return ByShape.of(from_sql(values, type_), self._every)
        return ByShape.of([list_to_array(value, type_) for value in values], self._every)

    def _split(self, values: NDArray[Any]) -> ByShape:
        parts = _divide(values, self._every)
        return ByShape(self._whole if len(parts.rows) == 1 else parts.rows, parts.values)

    def _choose(self, tags: NDArray[Any], options: tuple[Tree, ...]) -> ByShape:
        numbers = tags_of(tags)
        nulls = np.flatnonzero(numbers < 0)
        parts = [ByShape((nulls,), (None,))] if len(nulls) else []
        for tag, option in enumerate(options):
            rows = np.flatnonzero(numbers == tag)
            if len(rows):
                env = {key: values[rows] for key, values in self._env.items()}
                values = _Walk(env, len(rows))(option)
                parts.append(ByShape(tuple(rows[part] for part in values.rows), values.values))
        return ByShape.join(parts)

    def _index(self, tree: Index) -> ByShape:
        index = constant_index(tree)
        if index is not None:
            base = self(tree.base)
            return self._each(base.rows, [base], partial(_index, index, tree.text))
        if (starts := self._runs(tree)) is not None:
            return self._index_runs(tree, starts)
        base = self(tree.base)
        items: dict[Tree, ByShape] = {}

        def add_item(item: Tree) -> int:
            items[item] = self(item)
            return 1

        index_of(tree, add_item)  # only to collect the trees of the index

        def index_row(values: tuple[object, ...]) -> object:
            row = dict(zip(items, values[1:], strict=True))
            return apply_index(values[0], index_of(tree, row.__getitem__), tree.text)

        inputs = [base, *items.values()]
        return self._each(
            _intersect_parts(inputs, self._whole), inputs, partial(_one_by_one, index_row)
        )

    def _runs(self, tree: Index) -> NDArray[np.int64] | None:
        """Return the first row of each run. The base of an index is the same in all rows of a run.

        Returns None if all runs consist of one row, or if the index is not a single position.
        """
        [first, *others] = tree.items
        if others or first is ... or first is None or isinstance(first, tuple):
            return None
        is_position = first.type.ndim == 0 and np.dtype(first.type.dtype).kind in "iu"
        if not is_position or any(isinstance(leaf, Choice) for leaf in leaves(tree.base)):
            return None
        return run_starts(self._env, keys(tree.base))

    def _index_runs(self, tree: Index, starts: NDArray[np.int64]) -> ByShape:
        """Return the values of an index, whose base is computed only once for each run.

        `starts` are the first rows of the runs. Otherwise, the base would be stacked for each row
        that selects one of its items, which would take quadratic memory.
        """
        walk = _Walk({key: values[starts] for key, values in self._env.items()}, len(starts))
        base = walk(tree.base)
        whole: list[Any] = [None] * len(starts)
        for rows, values in zip(base.rows, base.values, strict=True):
            for row, value in zip(rows.tolist(), () if values is None else values, strict=False):
                whole[row] = value
        items = self(cast("Tree", tree.items[0]))
        positions = np.full(len(self._every), np.iinfo(np.int64).max)  # out of range, so null
        for rows, values in zip(items.rows, items.values, strict=True):
            if values is not None:
                positions[rows] = values
        ends = [*starts[1:].tolist(), len(self._every)]
        runs = zip(whole, starts.tolist(), ends, strict=True)
        parts = [take_items(value, positions[start:stop]) for value, start, stop in runs]
        forms = {(p.shape[1:], p.dtype) if isinstance(p, np.ndarray) else None for p in parts}
        if len(forms) == 1 and None not in forms:
            result = parts[0] if len(parts) == 1 else np.concatenate(parts)
            self._add_size(result)
            return ByShape(self._whole, (result,))
        return ByShape.of([item for part in parts for item in part], self._every)

    def _each(
        self, rows: Parts, inputs: Sequence[ByShape], apply: Callable[[tuple[Any, ...], Rows], Any]
    ) -> ByShape:
        """Return the results of applying a function to the values and the rows of each part.

        If no part is divided further, the `rows` of the result are the same object as the argument,
        so that `over` and `_intersect_parts` can compare them by identity.
        """
        parts, is_same = [], True
        values = [by_shape.over(rows) for by_shape in inputs]
        for at, part in enumerate(rows):
            result = apply(tuple(v[at] for v in values), part)
            self._add_size(result)
            parts.append(_divide(result, part))
            is_same = is_same and parts[-1].rows[0] is part
        out = ByShape.join(parts)
        return ByShape(rows, out.values) if is_same and len(out.rows) == len(rows) else out

    def _add_size(self, result: object) -> None:
        """Count the memory of a result, which is kept until the whole block has been computed.

        Raises `TooMany` if all results of the block take too much memory.
        """
        items = result if isinstance(result, list) else [result]
        self._held += sum(item.nbytes for item in items if isinstance(item, np.ndarray))
        if self._held > STACK_BYTES and len(self._every) > 1:
            raise TooMany


def _call(bound: Bound, values: tuple[object, ...], rows: Rows) -> object:
    """Apply a function to the rows of a part, all at once if possible, or else one by one."""
    if any(v is None for v in values):
        if not bound.sees_null:
            return None
    elif bound.lists or (bound.stacks and not any(isinstance(v, list) for v in values)):
        result = bound.compute(*values, lead=1)
        return result if len(result) == len(rows) else np.repeat(result, len(rows), axis=0)
    return _one_by_one(lambda row: bound.compute(*row, lead=0), values, rows)


def _one_by_one(
    apply: Callable[[tuple[Any, ...]], Any], values: tuple[object, ...], rows: Rows
) -> list[Any]:
    """Apply a function to each row of a part. Raises QueryError if the function raises an error."""
    columns = [[None] * len(rows) if v is None else v for v in values]
    out = []
    for args in zip(*columns, strict=True):
        try:
            out.append(apply(args))
        except LakeError:
            raise
        except (IndexError, ValueError, TypeError) as error:
            raise QueryError(f"An expression cannot be computed for a row: {error}.") from error
    return out


def _index(index: tuple[object, ...], text: str, values: tuple[Any, ...], rows: Rows) -> object:
    """Return the values of a part after indexing. If the index is out of range, they are null."""
    [stack] = values
    if isinstance(stack, list):
        return _one_by_one(lambda row: apply_index(row[0], index, text), values, rows)
    if stack is None or lies_beyond(index, stack.shape[1:]):
        return None
    try:
        return stack[(slice(None), *index)]
    except IndexError as error:
        raise out_of_range(text, error, index, stack.shape[1:]) from error


# ---- parts


def _intersect_parts(inputs: Sequence[ByShape], whole: Parts) -> Parts:
    """Return the intersections of the parts of all inputs.

    Each returned part is contained in one part of every input.
    """
    different = {id(values.rows): values for values in inputs if len(values.rows) > 1}
    if not different:
        return inputs[0].rows if inputs else whole
    if len(different) == 1:
        return next(iter(different.values())).rows
    numbers = np.stack([values.number() for values in different.values()])
    _, which = np.unique(numbers, axis=1, return_inverse=True)
    order = np.argsort(which, kind="stable")
    return tuple(np.split(order, np.flatnonzero(np.diff(which[order])) + 1))


def _take(values: Any, rows: NDArray[np.int64], subset: NDArray[np.int64]) -> object:
    """Return the values of a part for a subset of its rows."""
    if values is None or len(rows) == len(subset):
        return values
    at = np.searchsorted(rows, subset)
    return [values[i] for i in at.tolist()] if isinstance(values, list) else values[at]


def _divide(values: object, rows: NDArray[np.int64]) -> ByShape:
    """Divide the values of some rows into parts with values of one shape.

    Lists are divided by shape, and arrays into values and nulls.
    """
    if isinstance(values, list):
        return ByShape.of(values, rows)
    if not isinstance(values, np.ma.MaskedArray):
        return ByShape((rows,), (values,))
    null, data = null_rows(values), np.ma.getdata(values)
    if not null.any():
        return ByShape((rows,), (data,))
    parts = ((rows[~null], data[~null]), (rows[null], None))
    nonempty = [(r, v) for r, v in parts if len(r)]
    return ByShape(tuple(r for r, _ in nonempty), tuple(v for _, v in nonempty))


def _form(value: object) -> object:
    """Return a key that is the same for all values that can be stacked together; None for null."""
    if value is None or value is np.ma.masked:
        return None
    return (value.shape, value.dtype) if isinstance(value, np.ndarray | np.generic) else list


def _stack(values: list[Any], form: Any) -> object:
    if form is None:
        return None
    if form is list or form[1].hasobject:
        return values
    return np.stack(values) if form[0] else np.array(values, form[1])
