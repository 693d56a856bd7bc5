"""Lower subscripts, such as indices of tensors, keys of JSON and maps, and slices of strings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlglot import exp

from deeplake_lite.errors import QueryTypeError
from deeplake_lite.query.bind.expressions.forms import as_truths
from deeplake_lite.query.bind.scalars.agreement import agree
from deeplake_lite.query.bind.scalars.bytes_values import byte_at, bytes_slice
from deeplake_lite.query.bind.scalars.conversions import as_part, scalar_to_sql
from deeplake_lite.query.bind.scalars.json_values import json_slice, path_of_key
from deeplake_lite.query.bind.scalars.kinds import WORDS, has_axes, kind_of
from deeplake_lite.query.bind.scalars.structs import check_sought, kind_of_part
from deeplake_lite.query.functions import Type
from deeplake_lite.query.functions.value_type import Truths
from deeplake_lite.query.parse.added_nodes import Ellipsis as Dots
from deeplake_lite.query.parse.dialect import text_of
from deeplake_lite.query.parse.duckdb_nodes import func
from deeplake_lite.query.values import (
    ANY,
    BYTES,
    CLOCK,
    JSON,
    NUMBER,
    TEXT,
    Constant,
    Given,
    Index,
    Kind,
    Literal_,
    Meta,
    Sql,
    Tensor,
    Tree,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deeplake_lite.query.bind.expressions.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope


def bracket(low: Lowering, e: exp.Bracket, scope: Scope) -> Value:
    """Lower ``x[…]``."""
    return subscript(low, low.value(e.this, scope), e.expressions, e, scope)


def subscript(
    low: Lowering, base: Value, items: Sequence[exp.Expr], e: exp.Expr, scope: Scope
) -> Value:
    """Return the part of a value that a subscript selects.

    Parameters
    ----------
    low : Lowering
        The lowering of the query.
    base : Value
        The value.
    items : sequence of exp.Expr
        The indices, keys and slices in brackets.
    e : exp.Expr
        The whole expression, for messages.
    scope : Scope
        The scope of the expression.

    Raises
    ------
    QueryTypeError
        If this kind of value does not support the subscript.
    """
    if (picked := _item_of_constant(low, base, items, scope)) is not None:
        return subscript(low, picked, items[1:], e, scope) if len(items) > 1 else picked
    if isinstance(base, Constant) and (clocks := _kind_of_clocks(base)) is not None:
        base = Sql(base.node, clocks)  # NumPy has no times of day, so DuckDB indexes the list
    if isinstance(base, Tensor) and base.is_scalar and not base.type.is_number:
        base = Sql(low.as_sql(base, scope), kind_of(base))
    if isinstance(base, Tensor):
        return index_tensor(low, base, items, e, scope)
    if isinstance(base, Constant) and isinstance(base.value, list | np.ndarray):
        return index_tensor(low, low.as_tensor(base, text_of(e.this)), items, e, scope)
    if len(items) != 1 or isinstance(items[0], Dots):
        raise QueryTypeError(
            f"{text_of(e.this)} is not a tensor, so it takes one index, but it has {len(items)}: "
            f"{text_of(e)}. Write one pair of brackets for each index, as in x[0][1]."
        )
    node, item = low.as_sql(base, scope), items[0]
    kind = kind_of(base)
    if kind.key is not None and not isinstance(item, exp.Slice):
        return _map_value(low, node, kind, low.value(item, scope), scope)
    is_key = isinstance(item, exp.Literal) and item.is_string
    if kind.name in ("number", "bool", "class", "time") and not is_key:
        raise QueryTypeError(
            f"Subscripts are for lists, tensors, strings and JSON, but in {text_of(e)}, "
            f"{text_of(e.this)} is {_WITHOUT_KEYS[kind.name]}."
        )
    if isinstance(item, exp.Slice):
        ends = [p and low.value(p, scope) for p in (item.this, item.expression)]
        if item.args.get("step") is not None:
            raise QueryTypeError(
                "A slice of a string or a list must be start:stop, without a step, but it is "
                f"{text_of(e)}. Leave out the step."
            )
        for end in ends:
            _check_position(end, text_of(e))
        start = exp.convert(1) if ends[0] is None else position_of(low, ends[0], scope, 1)
        stop = exp.convert(-1) if ends[1] is None else position_of(low, ends[1], scope, 0)
        if kind.name == "json":
            return Sql(json_slice(node, start, stop), JSON)
        if kind.name == "bytes":
            return Sql(bytes_slice(node, start, stop), BYTES)
        return Sql(func("array_slice", node, start, stop), kind_of(base, plain=True))
    if kind.name == "json":
        part = func("json_extract", node, json_path(low, item, e, scope))
        return Sql(func("nullif", part, exp.cast(exp.Literal.string("null"), "JSON")), JSON)
    at = low.value(item, scope)
    if isinstance(at, Constant) and isinstance(at.value, str):
        if kind.name in _WITHOUT_KEYS:
            raise QueryTypeError(
                f"Only JSON values, structs and maps have keys, but {text_of(e)} takes a key of "
                f"{_WITHOUT_KEYS[kind.name]}."
            )
        return Sql(func("struct_extract", node, at.node.copy()), kind_of_part(kind, at.value))
    _check_position(at, text_of(e))
    position = position_of(low, at, scope, 1)
    if kind.name == "bytes":
        return Sql(byte_at(node, position), NUMBER)
    item_kind = TEXT if kind.name == "text" else kind.item_kind
    return Sql(func("array_extract", node, position), item_kind)


def _item_of_constant(
    low: Lowering, base: Value, items: Sequence[exp.Expr], scope: Scope
) -> Constant | None:
    """Return the item at a constant position of a constant list of strings or times.

    The item is a constant, so it can be compared in the same way as other constant strings and
    times. Returns None for other values and positions, and if the position is out of range.
    """
    if not isinstance(base, Constant) or base.is_json or not _holds_strings_or_times(base):
        return None
    if isinstance(items[0], exp.Slice | Dots | exp.Null):
        return None
    at = low.value(items[0], scope)
    position = at.value if isinstance(at, Constant) else None
    if type(position) is not int or not -len(base.items) <= position < len(base.items):
        return None
    return base.items[position]


def _kind_of_clocks(value: Constant) -> Kind | None:
    """Return the kind of a constant list, at any depth of lists, of times of day and nulls.

    Returns None for other values.
    """
    if not value.items:
        return CLOCK if kind_of(value).is_clock else None
    kinds = {_kind_of_clocks(item) for item in value.items if _has_values(item)}
    inner = kinds.pop() if len(kinds) == 1 else None
    return None if inner is None else inner.as_list


def _has_values(value: Constant) -> bool:
    """Return whether a constant is neither null nor a list that contains only nulls."""
    if isinstance(value.value, list):
        return any(map(_has_values, value.items))
    return value.value is not None


def _holds_strings_or_times(value: Constant) -> bool:
    """Return whether a constant list, at any depth, contains only strings, times and nulls."""
    present = [item for item in value.items if item.value is not None]
    return bool(present) and all(
        kind_of(item).name in ("text", "time") or _holds_strings_or_times(item) for item in present
    )


def _map_value(low: Lowering, node: exp.Expr, kind: Kind, at: Value, scope: Scope) -> Sql:
    """Return the value of a key in a map, or null if the map does not have the key."""
    assert kind.key is not None
    at = low.types.refine(at)
    check_sought(kind.key, at)
    key = low.as_sql(
        as_part(agree(scalar_to_sql(at, low, scope), Sql(exp.null(), kind.key))), scope
    )
    values = kind.parts[1][1] if len(kind.parts) == 2 else ANY
    return Sql(func("map_extract_value", node, key), values.item_kind)


_WITHOUT_KEYS = {
    "number": "a number", "bool": "a boolean", "text": "a string", "bytes": "bytes",
    "class": "a class", "time": "a time",
}  # fmt: skip
"""Maps kinds of values that have no keys to words for these values in messages."""


def position_of(low: Lowering, at: Value, scope: Scope, first: int) -> exp.Expr:
    """Return SQL that converts a position for DuckDB, which counts from 1 instead of from 0.

    The position may be negative. `first` must be 1 for an index or the start of a slice. It must be
    0 for the stop of a slice, because DuckDB's slices include the stop.
    """
    if isinstance(at, Constant) and isinstance(at.value, int):
        return exp.convert(at.value + first if at.value >= 0 else at.value + first - 1)
    node = exp.paren(low.as_sql(at, scope))
    case = exp.Case(
        ifs=[exp.If(this=node.copy() >= 0, true=node.copy() + first)],
        default=node.copy() + (first - 1),
    )
    return exp.cast(case, "BIGINT")


def _check_position(at: Value | None, text: str) -> None:
    """Raise QueryTypeError unless a position is an integer."""
    if at is None or (isinstance(at, Constant) and at.value is None):
        return
    if has_axes(at):
        raise _index_error("a list", text)
    kind = kind_of(at)
    if kind.name not in ("number", "class", "any"):
        raise _index_error("bool" if kind.name == "bool" else WORDS[kind.name], text)
    dtype = kind.column_dtype if kind.name == "number" else ""
    is_float = isinstance(at, Constant) and isinstance(at.value, float)
    if is_float or kind.real or dtype.startswith("float"):
        raise _index_error("a number that may have a fraction", text)


def json_path(low: Lowering, item: exp.Expr, e: exp.Expr, scope: Scope) -> exp.Expr:
    """Return the key or position of a JSON value as an argument for DuckDB's json_extract."""
    at = low.value(item, scope)
    if isinstance(at, Constant) and isinstance(at.value, str):
        return exp.Literal.string(path_of_key(at.value))
    if isinstance(at, Constant) and type(at.value) is int and abs(at.value) < 1 << 31:
        return exp.Literal.string(f"$[{at.value}]" if at.value >= 0 else f"$[#{at.value}]")
    if isinstance(at, Constant) or kind_of(at).name not in ("number", "any"):
        raise QueryTypeError(
            "A subscript of JSON must be a key (a string) or a position (a whole number of up to "
            f"31 bits), but it is {text_of(item)}. Convert it with CAST(… AS TEXT) or CAST(… AS "
            "BIGINT)."
        )
    _check_position(at, text_of(e))
    return exp.cast(low.as_sql(at, scope), "BIGINT")


def index_tensor(
    low: Lowering, base: Tensor, items: Sequence[exp.Expr], e: exp.Expr, scope: Scope
) -> Value:
    """Return a tensor that is indexed like a NumPy array.

    The indices may be computed, in which case they may differ from row to row.
    """
    if base.type.items is not None:
        return _index_list(low, base, items, e, scope)
    env = dict(base.env)

    def tree(part: exp.Expr | None) -> Tree | None:
        if part is None:
            return None
        tensor = as_truths(low.as_tensor(low.value(part, scope), text_of(part)))
        env.update(tensor.env)
        return tensor.tree

    parts: list[Any] = []
    for item in items:
        if isinstance(item, Dots):
            parts.append(...)
        elif isinstance(item, exp.Slice):
            ends = (item.this, item.expression, item.args.get("step"))
            parts.append(tuple(tree(end) for end in ends))
        else:
            parts.append(None if isinstance(item, exp.Null) else tree(item))
    _check_indices(parts, text_of(e))
    type_ = _indexed_type(base, parts, text_of(e))
    length = _length(base.tree, parts)
    if length is not None:
        return Tensor(length, base.env, text_of(e))
    return Tensor(Index(base.tree, tuple(parts), type_, text_of(e)), env, text_of(e))


def _index_list(
    low: Lowering, base: Tensor, items: Sequence[exp.Expr], e: exp.Expr, scope: Scope
) -> Value:
    """Return a slice of a list, or an item of a list, to which further indices are applied."""
    assert base.type.items is not None
    [first, *further], env = items, dict(base.env)
    if isinstance(first, Dots | exp.Null) or (further and isinstance(first, exp.Slice)):
        raise QueryTypeError(
            "Items of a list may differ in shape, so an item must be selected before its axes are "
            f"indexed, but {text_of(e)} selects no item, and {base.text} is {base.type}. Write "
            f"{base.text}[0, …]."
        )

    def tree(part: exp.Expr | None) -> Tree | None:
        if part is None:
            return None
        tensor = as_truths(low.as_tensor(low.value(part, scope), text_of(part)))
        env.update(tensor.env)
        return tensor.tree

    if isinstance(first, exp.Slice):
        index: Any = tuple(map(tree, (first.this, first.expression, first.args.get("step"))))
    else:
        index = tree(first)
    _check_indices([index], text_of(e))
    is_part = isinstance(first, exp.Slice) or index.type.ndim != 0
    type_ = base.type if is_part else base.type.items.of
    part = Tensor(Index(base.tree, (index,), type_, text_of(e)), env, text_of(e))
    return subscript(low, part, further, e, scope) if further else part


def _length(shape: Tree, items: list[Any]) -> Tree | None:
    """Return a tree for the length of one axis if the expression is ``SHAPE(x)[0]``, or None."""
    if not isinstance(shape, Meta) or shape.what != "shape" or len(items) != 1:
        return None
    [item] = items
    if not isinstance(item, Literal_) or item.type.ndim:
        return None
    return replace(shape, what=f"axis:{int(item.value)}", type=Type("int64"))


def _check_indices(items: list[Any], text: str) -> None:
    """Raise QueryTypeError for an index that is not an integer, a mask or a slice."""
    for item in items:
        step = item[2] if isinstance(item, tuple) else None
        if isinstance(step, Literal_) and not np.any(step.value):
            raise QueryTypeError(
                f"The step of a slice must not be 0, but in {text} it is 0. Leave out the step to "
                "get every element, or write ::-1 to reverse the order."
            )
        for part in item if isinstance(item, tuple) else (item,):
            if part is None or part is ...:
                continue
            if part is not item and part.type.ndim:
                raise QueryTypeError(
                    "The start and stop of a slice must be single whole numbers, but in "
                    f"{text}, one is a tensor, {part.type}. Select one element of this tensor."
                )
            is_integer = part.type.is_number and np.dtype(part.type.dtype).kind in "iu"
            is_mask = part.type.dtype == "bool" and part.type.ndim != 0 and part is item
            is_float = part.type.is_number and part.type.dtype != "bool"
            is_computed = isinstance(part, Given) and is_float  # computed by DuckDB, checked later
            if not (is_integer or is_mask or is_computed):
                raise _index_error(str(part.type), text)


def _index_error(index: str, text: str) -> QueryTypeError:
    """Return the error for an index of the wrong type."""
    return QueryTypeError(
        "An index must be a whole number, a list of whole numbers, a mask or a slice, but in "
        f"{text} it is {index}. Convert it with CAST(… AS BIGINT)."
    )


def _indexed_type(base: Tensor, items: list[Any], text: str) -> Type:
    """Return the type of an indexed tensor. Raises QueryTypeError if there are too many indices."""
    meaning = base.type.meaning
    if base.type.shape is None or any(_count_axes(item) is None for item in items):
        return Type(base.type.dtype, None, meaning if _are_slices(items) else None)
    whole = base.type.shape
    count = sum(_count_axes(item) or 0 for item in items)
    if any(_is_shapeless(item) for item in items):
        return Type(base.type.dtype, None)
    if items.count(...) > 1:
        raise QueryTypeError(
            f"An index may contain at most one `...`, but the expression is {text}. Write `:` for "
            "each axis instead."
        )
    if count > len(whole):
        raise QueryTypeError(
            f"There must be at most one index per axis, but {text} has {count}, and {base.text} is "
            f"{base.type}. Leave out indices."
        )
    fill = [(None, None, None)] * (len(whole) - count)
    at = items.index(...) if ... in items else len(items)
    items = [*items[:at], *fill, *items[at + 1 :]]
    shape = _indexed_shape(base, items, text)
    return Type(base.type.dtype, shape, meaning if _keeps_meaning(base, items, shape) else None)


def _is_shapeless(item: object) -> bool:
    """Return whether an index is an array with an unknown number of axes."""
    return item is not None and hasattr(item, "type") and item.type.shape is None


def _count_axes(item: Any) -> int | None:
    """Return the number of axes that an index consumes, or None for a mask of unknown shape."""
    if item is None or item is ...:
        return 0
    is_mask = not isinstance(item, tuple) and item.type.dtype == "bool"
    return item.type.ndim if is_mask else 1


def _indexed_shape(base: Tensor, items: list[Any], text: str) -> tuple[int | None, ...]:
    """Return the shape of a tensor after indexing, with one index for each axis.

    As in NumPy, integers and index arrays are broadcast together. If these indices are adjacent,
    the axes of the broadcast result take their place. Otherwise, these axes come first. See
    https://numpy.org/doc/stable/user/basics.indexing.html#combining-advanced-and-basic-indexing.
    """
    sizes = iter(base.type.shape or ())
    out: list[int | None] = []
    positions, shapes = [], []
    for number, item in enumerate(items):
        if item is None:
            out.append(1)
        elif isinstance(item, tuple):
            out.append(_sliced_size(item, next(sizes)))
        else:
            taken = [next(sizes) for _ in range(_count_axes(item) or 0)]
            is_mask = item.type.dtype == "bool"
            if isinstance(item, Literal_) and not is_mask:
                _check_inside(base, item, taken[0], text)
            positions.append((number, len(out)))
            shapes.append((None,) if is_mask else tuple(item.type.shape))
    if not any(shapes):
        return tuple(out)
    are_adjacent = positions[-1][0] - positions[0][0] == len(positions) - 1
    at = positions[0][1] if are_adjacent else 0
    return (*out[:at], *_broadcast(shapes), *out[at:])


def _check_inside(base: Tensor, item: Literal_, size: int | None, text: str) -> None:
    """Raise QueryTypeError if a constant index is out of range for an axis of length `size`."""
    for index in np.ravel(item.value).tolist():
        if size is not None and not -size <= index < size:
            raise QueryTypeError(
                f"In {text}, index {index} is out of range for an axis of length {size}, because "
                f"{base.text} is {base.type}. Write an index from {-size} to {size - 1}."
            )


def _broadcast(shapes: list[tuple[int | None, ...]]) -> tuple[int | None, ...]:
    """Return the shape to which several index arrays are broadcast.

    >>> _broadcast([(2, 1), (), (None, 3)])
    (2, 3)
    """
    most = max(map(len, shapes))
    padded = [(1,) * (most - len(shape)) + shape for shape in shapes]
    return tuple(
        next((n for n in lengths if n not in (1, None)), None if None in lengths else 1)
        for lengths in zip(*padded, strict=True)
    )


def _are_slices(items: list[Any]) -> bool:
    return all(isinstance(item, tuple) or item is ... for item in items)


def _keeps_meaning(base: Tensor, items: list[Any], shape: tuple[int | None, ...]) -> bool:
    """Return whether the result of indexing a tensor has the same meaning as the tensor.

    Boxes remain boxes, and images remain images, only if all elements of the last axis are
    selected.
    """
    if base.type.names is not None:
        return True
    if isinstance(base.type.meaning, Truths):
        return bool(shape)
    if base.type.list_of is not None:
        return _takes_items(items)
    last = items[-1] if items else None
    is_whole = isinstance(last, tuple) and _sliced_size(last, 4) == 4 and not _is_reversed(last)
    return is_whole and (len(shape) == base.type.ndim or base.type.box_format is not None)


def _takes_items(items: list[Any]) -> bool:
    """Return whether indices select whole items of a list."""
    first, *others = items
    is_part = isinstance(first, tuple) or (first is not None and first.type.ndim == 1)
    return is_part and all(isinstance(i, tuple) and set(i) == {None} for i in others)


def _is_reversed(item: tuple[Any, ...]) -> bool:
    """Return whether a slice has a negative step."""
    return item[2] is not None and int(item[2].value) < 0


def _sliced_size(item: tuple[Any, ...], size: int | None) -> int | None:
    """Return the size of a sliced axis, or None if it is unknown."""
    if size is None or not all(isinstance(p, Literal_ | None) for p in item):
        return None
    ends = (None if p is None else int(p.value) for p in item)
    return len(range(*slice(*ends).indices(size)))
