"""Trees whose rows differ in shape and are small: rows of one shape are computed at once.

Boxes, tags and the like have few shapes among many rows. A value of every row of a block is held as
`Alike`: parts of rows of one shape, stacked. A function goes over parts; where two arguments are
parted differently, over the rows that they have in common. What takes one row at a time, and what
gives shapes that depend on values (a mask as an index), is stacked anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.errors import LakeError, QueryError
from deeplake_lite.query.database import interrupt
from deeplake_lite.query.functions.guard import listed, null_rows
from deeplake_lite.query.functions.room import STACK_BYTES, TooMany
from deeplake_lite.query.run.metadata import metadata
from deeplake_lite.query.tensors.indexing import index_of, indexed, lies_beyond
from deeplake_lite.query.tensors.trees import (
    as_given,
    constant_index,
    is_dense,
    masked,
    outside,
    rows_of,
    trimmed,
)
from deeplake_lite.query.values import Call, Cell, Choice, Given, Index, Literal_, Meta, Tree

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.query.functions.value_type import Type
    from deeplake_lite.query.tensors.trees import Env

type Rows = NDArray[np.int64]
"""Numbers of rows in their block."""

type Parts = tuple[Rows, ...]
"""Numbers of rows, ascending in each part; each row is in one part."""


@dataclass(frozen=True, eq=False)
class Alike:
    """A value of every row, those of one shape together."""

    rows: Parts
    values: tuple[Any, ...]
    """Per part an array, (rows, *shape), a list of what are no numbers, or None for null."""

    @classmethod
    def of(cls, values: Sequence[Any], rows: NDArray[np.int64]) -> Alike:
        """Sort values by their shapes; None is null.

        >>> found = Alike.of([np.zeros(2), None, np.ones(2)], np.arange(3))
        >>> found.rows
        (array([0, 2]), array([1]))
        """
        places: dict[Any, list[int]] = {}
        for place, value in enumerate(values):
            places.setdefault(_form(value), []).append(place)
        stacks = tuple(_stacked([values[i] for i in at], form) for form, at in places.items())
        if len(stacks) == 1:
            return cls((rows,), stacks)
        return cls(tuple(rows[at] for at in places.values()), stacks)

    @classmethod
    def joined(cls, parts: Sequence[Alike]) -> Alike:
        """Join values of different rows."""
        rows = tuple(r for part in parts for r in part.rows)
        return cls(rows, tuple(v for part in parts for v in part.values))

    def over(self, rows: Parts) -> tuple[Any, ...]:
        """Return the values of other parts, each within one of these."""
        if rows is self.rows:
            return self.values
        number = self.number()
        return tuple(
            _taken(self.values[number[part[0]]], self.rows[number[part[0]]], part) for part in rows
        )

    def number(self) -> NDArray[np.int64]:
        """Return the number of each row's part, (rows,)."""
        out = np.empty(sum(map(len, self.rows)), np.int64)
        for number, part in enumerate(self.rows):
            out[part] = number
        return out


def compute(tree: Tree, env: Env, count: int) -> NDArray[Any] | list[Any]:
    """Return a tree's values; raise `TooMany` where these rows take too much together.

    Returns
    -------
    ndarray, (count,)
        Of numbers without axes, masked where null.
    list
        Otherwise; None where null.
    """
    with np.errstate(all="ignore"):
        found = _Walk(env, count)(tree)
    if tree.type.ndim == 0 and tree.type.is_number:
        return _numbers(found, tree.type, count)
    out: list[Any] = [None] * count
    for rows, values in zip(found.rows, found.values, strict=True):
        for row, value in zip(rows.tolist(), () if values is None else values, strict=False):
            out[row] = value
    return out


def _numbers(found: Alike, type_: Type, count: int) -> NDArray[Any]:
    out, null = np.zeros(count, type_.dtype), np.zeros(count, bool)
    for rows, values in zip(found.rows, found.values, strict=True):
        if values is None:
            null[rows] = True
        else:
            out[rows] = values
    return np.ma.MaskedArray(out, null) if null.any() else out


class _Walk:
    """Computes trees over one block; what occurs twice is computed once."""

    def __init__(self, env: Env, count: int) -> None:
        self._env, self._every = env, np.arange(count)
        self._whole: Parts = (self._every,)
        self._found: dict[Tree, Alike] = {}
        self._held = 0  # bytes

    def __call__(self, tree: Tree) -> Alike:
        """Return a tree's value in every row."""
        if tree not in self._found:
            interrupt.check()
            self._found[tree] = self._computed(tree)
        return self._found[tree]

    def _computed(self, tree: Tree) -> Alike:
        match tree:
            case Call(bound=bound, args=args):
                found = [self(arg) for arg in args]
                return self._each(_common(found, self._whole), found, partial(_called, bound))
            case Index():
                return self._indexed(tree)
            case Literal_(value) if tree.type.is_number:
                array = np.asarray(value)
                return Alike(
                    self._whole, (np.broadcast_to(array, (len(self._every), *array.shape)),)
                )
            case Literal_(value):
                return Alike(self._whole, ([value] * len(self._every),))
            case Choice(key, options):
                return self._chosen(self._env[key], options)
            case Cell(key, source, field) if is_dense(tree):
                rows, null = rows_of(self._env[key])
                return self._split(masked(source.dense(field, rows), null))
            case Cell(key, source, field):
                return Alike.of(source.each(field, self._env[key]), self._every)
            case Given(key):
                return self._given(self._env[key], tree.type)
            case Meta(key) if tree.type.ndim:
                return Alike.of([trimmed(v) for v in metadata(tree, self._env[key])], self._every)
            case Meta(key):
                return self._split(metadata(tree, self._env[key]))
        raise AssertionError(tree)

    def _given(self, values: Any, type_: Type) -> Alike:
        if values.dtype != object:
            return self._split(as_given(values, type_))
        if not type_.is_number:
            return Alike.of(as_given(values, type_), self._every)
        return Alike.of([listed(value, type_) for value in values], self._every)

    def _split(self, values: Any) -> Alike:
        parts = _parted(values, self._every)
        return Alike(self._whole if len(parts.rows) == 1 else parts.rows, parts.values)

    def _chosen(self, tags: Any, options: tuple[Tree, ...]) -> Alike:
        parts = []
        for tag, option in enumerate(options):
            rows = np.flatnonzero(np.asarray(tags) == tag)
            if len(rows):
                env = {key: values[rows] for key, values in self._env.items()}
                found = _Walk(env, len(rows))(option)
                parts.append(Alike(tuple(rows[part] for part in found.rows), found.values))
        return Alike.joined(parts)

    def _indexed(self, tree: Index) -> Alike:
        base, index = self(tree.base), constant_index(tree)
        if index is not None:
            return self._each(base.rows, [base], partial(_indexed, index, tree.text))
        found: dict[Tree, Alike] = {}

        def note(item: Tree) -> int:
            found[item] = self(item)
            return 1

        index_of(tree, note)

        def one(values: tuple[Any, ...]) -> Any:
            row = dict(zip(found, values[1:], strict=True))
            return indexed(values[0], index_of(tree, row.__getitem__), tree.text)

        every = [base, *found.values()]
        return self._each(_common(every, self._whole), every, partial(_one_by_one, one))

    def _each(
        self, rows: Parts, found: Sequence[Alike], apply: Callable[[tuple[Any, ...], Rows], Any]
    ) -> Alike:
        """Apply a function to the values of each part, and the numbers of its rows."""
        parts, whole = [], True
        values = [alike.over(rows) for alike in found]
        for at, part in enumerate(rows):
            made = apply(tuple(v[at] for v in values), part)
            self._hold(made)
            parts.append(_parted(made, part))
            whole = whole and parts[-1].rows[0] is part
        out = Alike.joined(parts)
        return Alike(rows, out.values) if whole and len(out.rows) == len(rows) else out

    def _hold(self, made: Any) -> None:
        """Count what is held until the block is done. Raises `TooMany`."""
        items = made if isinstance(made, list) else [made]
        self._held += sum(item.nbytes for item in items if isinstance(item, np.ndarray))
        if self._held > STACK_BYTES and len(self._every) > 1:
            raise TooMany


def _called(bound: Any, values: tuple[Any, ...], rows: Rows) -> Any:
    """Return a function of a part."""
    if any(v is None for v in values):
        if not bound.sees_null:
            return None
    elif bound.lists or (bound.stacks and not any(isinstance(v, list) for v in values)):
        found = bound.compute(*values, lead=1)
        return found if len(found) == len(rows) else np.repeat(found, len(rows), axis=0)
    return _one_by_one(lambda row: bound.compute(*row, lead=0), values, rows)


def _one_by_one(
    apply: Callable[[tuple[Any, ...]], Any], values: tuple[Any, ...], rows: Rows
) -> list[Any]:
    """Return a function of each row. Raises QueryError for what a row's values do not admit."""
    every = [[None] * len(rows) if v is None else v for v in values]
    out = []
    for row, given in zip(rows.tolist(), zip(*every, strict=True), strict=True):
        try:
            out.append(apply(given))
        except LakeError:
            raise
        except (IndexError, ValueError, TypeError) as error:
            raise QueryError(f"row {row} of a block: {error}.") from error
    return out


def _indexed(index: tuple[Any, ...], text: str, values: tuple[Any, ...], rows: Rows) -> Any:
    """Return an index of a part: null where no row has it."""
    [stack] = values
    if isinstance(stack, list):
        return _one_by_one(lambda row: indexed(row[0], index, text), values, rows)
    if stack is None or lies_beyond(index, stack.shape[1:]):
        return None
    try:
        return stack[(slice(None), *index)]
    except IndexError as error:
        raise outside(text, error, stack.shape[1:]) from error


# ---- parts


def _common(found: Sequence[Alike], whole: Parts) -> Parts:
    """Return the coarsest parts that are within one part of each."""
    different = {id(alike.rows): alike for alike in found if len(alike.rows) > 1}
    if not different:
        return found[0].rows if found else whole
    if len(different) == 1:
        return next(iter(different.values())).rows
    numbers = np.stack([alike.number() for alike in different.values()])
    _, which = np.unique(numbers, axis=1, return_inverse=True)
    order = np.argsort(which, kind="stable")
    return tuple(np.split(order, np.flatnonzero(np.diff(which[order])) + 1))


def _taken(values: Any, rows: NDArray[np.int64], some: NDArray[np.int64]) -> Any:
    if values is None or len(rows) == len(some):
        return values
    at = np.searchsorted(rows, some)
    return [values[i] for i in at.tolist()] if isinstance(values, list) else values[at]


def _parted(values: Any, rows: NDArray[np.int64]) -> Alike:
    """Return what was computed of some rows: one part, or nulls apart, or sorted by shape."""
    if isinstance(values, list):
        return Alike.of(values, rows)
    if not isinstance(values, np.ma.MaskedArray):
        return Alike((rows,), (values,))
    null, data = null_rows(values), np.ma.getdata(values)
    if not null.any():
        return Alike((rows,), (data,))
    parts = ((rows[~null], data[~null]), (rows[null], None))
    kept = [(r, v) for r, v in parts if len(r)]
    return Alike(tuple(r for r, _ in kept), tuple(v for _, v in kept))


def _form(value: Any) -> Any:
    """Return what values that can be stacked share; None of a null."""
    if value is None or value is np.ma.masked:
        return None
    return (value.shape, value.dtype) if isinstance(value, np.ndarray | np.generic) else list


def _stacked(values: list[Any], form: Any) -> Any:
    if form is None:
        return None
    if form is list or form[1].hasobject:
        return values
    return np.stack(values) if form[0] else np.array(values, form[1])
