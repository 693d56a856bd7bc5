"""Subscripts: NumPy's of tensors, keys and positions of JSON, slices of text and lists."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlglot import exp

from deeplake_lite.errors import QueryTypeError
from deeplake_lite.query.bind.kinds import (
    kind_of,
)
from deeplake_lite.query.dialect import Ellipsis as Dots
from deeplake_lite.query.dialect import func, text_of
from deeplake_lite.query.functions import Type
from deeplake_lite.query.values import (
    ANY,
    JSON,
    TEXT,
    Constant,
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

    from deeplake_lite.query.bind.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope


def bracket(low: Lowering, e: exp.Bracket, scope: Scope) -> Value:
    """Return ``x[…]``."""
    return subscript(low, low.value(e.this, scope), e.expressions, e, scope)


def subscript(
    low: Lowering, base: Value, items: Sequence[exp.Expr], e: exp.Expr, scope: Scope
) -> Value:
    """Return a part of a value by its subscript."""
    if isinstance(base, Tensor):
        return indexed(low, base, items, e, scope)
    if isinstance(base, Constant) and isinstance(base.value, list | np.ndarray):
        return indexed(low, low.as_tensor(base, text_of(e.this)), items, e, scope)
    if len(items) != 1 or isinstance(items[0], Dots):
        raise QueryTypeError(
            f"{text_of(e.this)} is no tensor and takes one index, got {len(items)}."
        )
    node, item = low.as_sql(base, scope), items[0]
    if kind_of(base).name == "json":
        return Sql(func("json_extract", node, json_path(low, item, scope)), JSON)
    if isinstance(item, exp.Slice):
        ends = [p and low.value(p, scope) for p in (item.this, item.expression)]
        if item.args.get("step") is not None:
            raise QueryTypeError(
                f"A slice of a text or a list is start:stop, without a step, got {text_of(e)}."
            )
        start = exp.convert(1) if ends[0] is None else position_of(low, ends[0], scope, 1)
        stop = exp.convert(-1) if ends[1] is None else position_of(low, ends[1], scope, 0)
        return Sql(func("array_slice", node, start, stop), kind_of(base, plain=True))
    at = low.value(item, scope)
    if isinstance(at, Constant) and isinstance(at.value, str):
        return Sql(func("struct_extract", node, at.node.copy()))
    position = position_of(low, at, scope, 1)
    kind = TEXT if kind_of(base).name == "text" else _item_kind(kind_of(base))
    return Sql(func("array_extract", node, position), kind)


def position_of(low: Lowering, at: Value, scope: Scope, first: int) -> exp.Expr:
    """Return a position that counts from 0 as DuckDB counts: from 1, or from the end."""
    if isinstance(at, Constant) and isinstance(at.value, int):
        return exp.convert(at.value + first if at.value >= 0 else at.value + first - 1)
    node = exp.paren(low.as_sql(at, scope))
    case = exp.Case(
        ifs=[exp.If(this=node.copy() >= 0, true=node.copy() + first)],
        default=node.copy() + (first - 1),
    )
    return exp.cast(case, "BIGINT")


def json_path(low: Lowering, item: exp.Expr, scope: Scope) -> exp.Expr:
    """Return a JSON key or position as DuckDB's path."""
    at = low.value(item, scope)
    if isinstance(at, Constant) and isinstance(at.value, str):
        escaped = at.value.replace('"', '\\"')
        return exp.Literal.string(f'$."{escaped}"')
    if isinstance(at, Constant) and isinstance(at.value, int):
        return exp.Literal.string(f"$[{at.value}]" if at.value >= 0 else f"$[#{at.value}]")
    return exp.cast(low.as_sql(at, scope), "BIGINT")


def indexed(
    low: Lowering, base: Tensor, items: Sequence[exp.Expr], e: exp.Expr, scope: Scope
) -> Tensor:
    """Return a tensor indexed as NumPy does; ends may differ from row to row."""
    env = dict(base.env)

    def tree(part: exp.Expr | None) -> Tree | None:
        if part is None:
            return None
        found = low.as_tensor(low.value(part, scope), text_of(part))
        env.update(found.env)
        return found.tree

    parts: list[Any] = []
    for item in items:
        if isinstance(item, Dots):
            parts.append(...)
        elif isinstance(item, exp.Slice):
            ends = (item.this, item.expression, item.args.get("step"))
            parts.append(tuple(tree(end) for end in ends))
        else:
            parts.append(tree(item))
    type_ = _indexed_type(base, parts, text_of(e))
    length = _length(base.tree, parts)
    if length is not None:
        return Tensor(length, base.env, text_of(e))
    return Tensor(Index(base.tree, tuple(parts), type_, text_of(e)), env, text_of(e))


def _length(shape: Tree, items: list[Any]) -> Tree | None:
    """Return the length of one axis, if that is what is asked of a shape: ``SHAPE(x)[0]``."""
    if not isinstance(shape, Meta) or shape.what != "shape" or len(items) != 1:
        return None
    [item] = items
    if not isinstance(item, Literal_) or item.type.ndim:
        return None
    return replace(shape, what=f"axis:{int(item.value)}", type=Type("int64"))


def _indexed_type(base: Tensor, items: list[Any], text: str) -> Type:
    """Return the type of an indexed tensor. Raises QueryTypeError for too many indices."""
    if base.type.shape is None:
        return Type(base.type.dtype, None, base.type.meaning if _all_slices(items) else None)
    shape = list(base.type.shape)
    named = [item for item in items if item is not ...]
    if len(named) > len(shape) or items.count(...) > 1:
        raise QueryTypeError(
            f"{text} has {len(named)} indices, and {base.text} has {len(shape)} axes: {base.type}."
        )
    if ... in items:
        at = items.index(...)
        gap = len(shape) - len(named)
        full = (None, None, None)
        items = items[:at] + [full] * gap + items[at + 1 :]
    out: list[int | None] = []
    for item, size in zip(items, shape, strict=False):
        if isinstance(item, tuple):
            out.append(_sliced(item, size))
        elif item.type.ndim:
            out.extend(item.type.shape)
        elif (
            isinstance(item, Literal_) and size is not None and not -size <= int(item.value) < size
        ):
            raise QueryTypeError(
                f"{text}: index {int(item.value)} is outside an axis of {size}. {base.text} is "
                f"{base.type}."
            )
    out += shape[len(items) :]
    keeps = _keeps_meaning(base, items)
    return Type(base.type.dtype, tuple(out), base.type.meaning if keeps else None)


def _all_slices(items: list[Any]) -> bool:
    return all(isinstance(item, tuple) or item is ... for item in items)


def _keeps_meaning(base: Tensor, items: list[Any]) -> bool:
    """Tell whether boxes are still boxes: the last axis is whole."""
    meaning = base.type.meaning
    if meaning is None:
        return False
    if hasattr(meaning, "names") or len(items) < (base.type.ndim or 0):
        return hasattr(meaning, "names") or all(isinstance(i, tuple) for i in items)
    return all(isinstance(i, tuple) for i in items) and items[-1] == (None, None, None)


def _sliced(item: tuple[Any, ...], size: int | None) -> int | None:
    """Return the size of a sliced axis, None where it is not known."""
    if size is None or not all(isinstance(p, Literal_ | None) for p in item):
        return None
    ends = (None if p is None else int(p.value) for p in item)
    return len(range(*slice(*ends).indices(size)))


def _item_kind(kind: Kind) -> Kind:
    """Return the kind of a list's items."""
    return Kind("class", names=kind.names) if kind.names else ANY
