"""What stands for a tensor where values are compared: its digest; and whether it is null."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sqlglot import exp

from deeplake_lite.htypes.layouts import Nested
from deeplake_lite.query.bind.expressions.forms import with_one_list_of_names
from deeplake_lite.query.bind.scalars.kinds import is_numpys, key_of
from deeplake_lite.query.functions import Type
from deeplake_lite.query.values import (
    Call,
    Cell,
    Choice,
    Literal_,
    Meta,
    Tensor,
    Tree,
    Value,
)

if TYPE_CHECKING:
    from deeplake_lite.query.bind.expressions.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope


def comparable(value: Value, low: Lowering, scope: Scope, *, stored: bool = True) -> exp.Expr:
    """Return a scalar that is equal where values are: a tensor's digest, `stored` or computed.

    JSON has a text that all equal values share.
    """
    if isinstance(value, Tensor) and is_numpys(value):
        return low.as_sql(digest_of_rows(value, low, stored=stored), scope)
    return key_of(value, low, scope)


def digest_of_rows(
    tensor: Tensor, low: Lowering, *, stored: bool = True, null: bool = False
) -> Tensor:
    """Return the digest by which rows of one column are compared, also of a UNION's.

    Columns of one type that a UNION has unchanged are compared by what is stored, as each is.
    """
    tree = tensor.tree
    if not stored or not isinstance(tree, Choice) or not stored_type(tensor):
        return digest(tensor, low, stored=stored, null=null)
    return Tensor(_stored_digest(tree, null=null), tensor.env, tensor.text)


def stored_type(tensor: Tensor) -> str:
    """Return the type, with its codec, of a column that came unchanged, or of all in a UNION.

    Of anything else it is "".
    """
    if tensor.plain is not None:
        return str(tensor.plain.field.htype)
    return _stored_type(tensor.tree) if isinstance(tensor.tree, Choice) else ""


def _stored_type(tree: Tree) -> str:
    if isinstance(tree, Cell):
        return str(tree.field.htype)
    types = {_stored_type(t) for t in tree.options} if isinstance(tree, Choice) else set()
    return types.pop() if len(types) == 1 else ""


def _stored_digest(tree: Tree, *, null: bool) -> Tree:
    """Return the digests that are stored of cells, and of those in a UNION."""
    if isinstance(tree, Choice):
        options = tuple(_stored_digest(option, null=null) for option in tree.options)
        return Choice(tree.key, options, Type("uint64"))
    assert isinstance(tree, Cell)
    what = "hash:present" if null and tree.field.htype.nullable else "hash"
    return Meta(tree.key, tree.source, tree.field, what, Type("uint64"))


def digest(tensor: Tensor, low: Lowering, *, stored: bool = True, null: bool = False) -> Tensor:
    """Return the digest of a tensor: of a column that came unchanged, without reading it.

    What is stored in two columns compares only where they are of one type. A stored null has a
    digest, too, by which nulls make one group; with `null`, it is null.
    """
    if stored and tensor.plain is not None and isinstance(tensor.tree, Cell):
        return Tensor(_stored_digest(tensor.tree, null=null), tensor.env, tensor.text)
    return low.call("HASH", [tensor], {}, exp.Anonymous(this="HASH", expressions=[]))


def alike(left: Value, right: Value, low: Lowering) -> tuple[Value, Value]:
    """Return two values to compare; digests are of values, unless both are stored of one type."""
    hashes = [v.tree for v in (left, right) if isinstance(v, Tensor) and _is_digest(v.tree)]
    types = {str(t.field.htype) if isinstance(t, Meta) and t.field else t for t in hashes}
    if len(hashes) < 2 or (len(types) == 1 and isinstance(hashes[0], Meta)):
        return left, right
    if all(isinstance(tree, Meta) for tree in hashes):
        assert isinstance(left, Tensor)
        assert isinstance(right, Tensor)
        first, second = with_one_list_of_names([_cell_of(left), _cell_of(right)])
        return digest(first, low, stored=False), digest(second, low, stored=False)
    return _of_value(left, low), _of_value(right, low)


def _is_digest(tree: Tree) -> bool:
    return (isinstance(tree, Meta) and tree.what.startswith("hash")) or (
        isinstance(tree, Call) and tree.name == "HASH"
    )


def _of_value(value: Value, low: Lowering) -> Value:
    """Return the digest of a column's values for the one that is stored."""
    if not isinstance(value, Tensor) or not isinstance(value.tree, Meta):
        return value
    return digest(_cell_of(value), low, stored=False)


def _cell_of(value: Tensor) -> Tensor:
    """Return the column's values whose digest is stored."""
    leaf = value.tree
    assert isinstance(leaf, Meta)
    assert leaf.field is not None
    cell = Cell(leaf.key, leaf.source, leaf.field, leaf.source.type_of(leaf.field))
    return Tensor(cell, value.env, value.text)


def are_alike(
    kind: type[exp.Expr], left: Tensor, right: Tensor, low: Lowering, scope: Scope
) -> exp.Expr:
    """Return a comparison of whole tensors, by their digests; of classes by their names."""
    of_one_type = left.plain is not None and right.plain is not None
    of_one_type = of_one_type and str(left.type.meaning) == str(right.type.meaning)
    first, second = with_one_list_of_names([_as_items(left, right), _as_items(right, left)])
    sides = [digest(side, low, stored=of_one_type, null=True) for side in (first, second)]
    return kind(this=low.as_sql(sides[0], scope), expression=low.as_sql(sides[1], scope))


def _as_items(value: Tensor, other: Tensor) -> Tensor:
    """Return a constant list as one of items, where the other side is a list of no numbers.

    NumPy takes ``[]`` and ``[1]`` for arrays, which equal no list of texts or JSON values.
    """
    is_list = other.plain is not None and isinstance(other.plain.field.htype.layout, Nested)
    if not is_list or other.type.is_number or not isinstance(value.tree, Literal_):
        return value
    items = value.tree.value
    if other.type.items is not None and other.type.items.of.is_number and len(items):
        return value  # arrays, which equal an array with an axis more
    items = items.tolist() if isinstance(items, np.ndarray) else items
    return Tensor(Literal_(items, Type("object").listed()), value.env, value.text)


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
