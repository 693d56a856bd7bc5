"""What stands for a tensor where values are compared: its digest; and whether it is null."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from deeplake_lite.query.functions import Type
from deeplake_lite.query.values import (
    Cell,
    Meta,
    Tensor,
    Value,
)

if TYPE_CHECKING:
    from deeplake_lite.query.bind.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope


def comparable(value: Value, low: Lowering, scope: Scope, *, stored: bool = True) -> exp.Expr:
    """Return a scalar that is equal where values are: a tensor's digest, `stored` or computed."""
    if isinstance(value, Tensor) and not value.is_scalar:
        return low.as_sql(digest(value, low, stored=stored), scope)
    return low.as_sql(value, scope)


def digest(tensor: Tensor, low: Lowering, *, stored: bool = True) -> Tensor:
    """Return the digest of a tensor: of a column that came unchanged, without reading it.

    What is stored in two columns compares only where they are of one type.
    """
    if stored and tensor.plain is not None and isinstance(tensor.tree, Cell):
        leaf = tensor.tree
        tree = Meta(leaf.key, leaf.source, leaf.field, "hash", Type("uint64"))
        return Tensor(tree, tensor.env, tensor.text)
    return low.call("HASH", [tensor], {}, exp.Anonymous(this="HASH", expressions=[]))


def counted(tensor: Tensor, low: Lowering, scope: Scope) -> exp.Expr:
    """Return what is null where a tensor is, for COUNT."""
    if tensor.plain is None:
        return low.as_sql(digest(tensor, low), scope)
    if not tensor.plain.field.htype.nullable:
        return tensor.plain.row.copy()
    return low.as_sql(is_null(tensor), scope)


def is_null(tensor: Tensor) -> Tensor:
    """Return whether a column's cell is null, without reading it."""
    assert tensor.plain is not None
    key = key_of_row(tensor)
    tree = Meta(key, tensor.plain.source, tensor.plain.field, "present", Type("bool"))
    return Tensor(tree, {key: tensor.plain.row}, tensor.text)


def key_of_row(found: Any) -> str:
    """Return the key of a value's row."""
    if isinstance(found, Tensor) and isinstance(found.tree, Cell):
        return found.tree.key
    return f"r_{found.plain.row.sql('duckdb')}"
