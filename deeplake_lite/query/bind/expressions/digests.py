"""Compare tensors by their digests, and test tensors for null.

A digest is a 64-bit hash of a value. A lake also stores a digest of the bytes of each cell, which
can be read without reading the cell. Two such stored digests can be compared only if their columns
have the same type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sqlglot import exp

from deeplake_lite.errors import QueryTypeError
from deeplake_lite.query.bind.expressions.forms import innermost, with_comparable_names
from deeplake_lite.query.bind.scalars.conversions import key_of
from deeplake_lite.query.bind.scalars.kinds import needs_numpy
from deeplake_lite.query.functions import Type
from deeplake_lite.query.values import Call, Cell, Choice, Literal_, Meta, Tensor, Tree, Value

if TYPE_CHECKING:
    from deeplake_lite.query.bind.expressions.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope


def comparable(value: Value, low: Lowering, scope: Scope, *, stored: bool = True) -> exp.Expr:
    """Return SQL for a scalar that can be compared instead of a value.

    For a tensor, the scalar is the digest. For JSON, it is a string that is the same for all equal
    values.

    Parameters
    ----------
    value : Value
        The value to compare.
    low : Lowering
        The lowering of the query.
    scope : Scope
        The scope of the expression.
    stored : bool
        Whether the stored digest of a column may be used.
    """
    if isinstance(value, Tensor) and needs_numpy(value):
        return low.as_sql(digest_of_rows(value, low, stored=stored), scope)
    return key_of(value, low, scope)


def digest_of_rows(
    tensor: Tensor, low: Lowering, *, stored: bool = True, null: bool = False
) -> Tensor:
    """Return the digest by which to compare the rows of a column, or of a UNION, with each other.

    For a UNION of unchanged columns of the same type, it is the stored digest. See `digest` for the
    arguments.
    """
    tree = tensor.tree
    if not stored or not isinstance(tree, Choice) or not stored_type(tensor):
        return digest(tensor, low, stored=stored, null=null)
    return Tensor(_stored_digest(tree, null=null), tensor.env, tensor.text)


def stored_type(tensor: Tensor) -> str:
    """Return the column type of an unchanged column, or of all columns of a UNION, as text.

    Returns "" for computed values, and for a UNION of columns of different types.
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
    """Return the tree of the stored digests of a column, or of the columns of a UNION."""
    if isinstance(tree, Choice):
        options = tuple(_stored_digest(option, null=null) for option in tree.options)
        return Choice(tree.key, options, Type("uint64"))
    assert isinstance(tree, Cell)
    what = "hash:present" if null and tree.field.htype.nullable else "hash"
    return Meta(tree.key, tree.source, tree.field, what, Type("uint64"))


def digest(tensor: Tensor, low: Lowering, *, stored: bool = True, null: bool = False) -> Tensor:
    """Return the digest of a tensor, which may be the stored digest for an unchanged column.

    Parameters
    ----------
    tensor : Tensor
        The values.
    low : Lowering
        The lowering of the query.
    stored : bool
        Whether the stored digest of a column may be used.
    null : bool
        Whether the digest of null is null. Otherwise, it is a number, so that all nulls count as
        equal.
    """
    if stored and tensor.plain is not None and isinstance(tensor.tree, Cell):
        return Tensor(_stored_digest(tensor.tree, null=null), tensor.env, tensor.text)
    return low.call("HASH", [tensor], {}, exp.Anonymous(this="HASH", expressions=[]))


def with_comparable_digests(left: Value, right: Value, low: Lowering) -> tuple[Value, Value]:
    """Return two values. If they are digests that cannot be compared, other digests replace them.

    Digests cannot be compared if only one of them is stored, or if they are stored for columns of
    different types. They are then replaced with digests of the decoded values.
    """
    hashes = [v.tree for v in (left, right) if isinstance(v, Tensor) and is_digest(v)]
    types = {str(t.field.htype) if isinstance(t, Meta) and t.field else t for t in hashes}
    if len(hashes) < 2 or (len(types) == 1 and isinstance(hashes[0], Meta)):
        return left, right
    if all(isinstance(tree, Meta) for tree in hashes):
        assert isinstance(left, Tensor)
        assert isinstance(right, Tensor)
        first, second = with_comparable_names(_cell_of(left), _cell_of(right))
        return digest(first, low, stored=False), digest(second, low, stored=False)
    return _digest_of_values(left, low), _digest_of_values(right, low)


def is_digest(value: Value) -> bool:
    """Return whether a value is the stored or computed digest of a tensor."""
    tree = value.tree if isinstance(value, Tensor) else None
    return (isinstance(tree, Meta) and tree.what.startswith("hash")) or (
        isinstance(tree, Call) and tree.name == "HASH"
    )


def _digest_of_values(value: Value, low: Lowering) -> Value:
    """Return the digest of the decoded values, if a value is a stored digest."""
    if not isinstance(value, Tensor) or not isinstance(value.tree, Meta):
        return value
    return digest(_cell_of(value), low, stored=False)


def _cell_of(value: Tensor) -> Tensor:
    """Return the column to which a stored digest belongs."""
    leaf = value.tree
    assert isinstance(leaf, Meta)
    assert leaf.field is not None
    cell = Cell(leaf.key, leaf.source, leaf.field, leaf.source.type_of(leaf.field))
    return Tensor(cell, value.env, value.text)


def compare_digests(
    kind: type[exp.Expr], left: Tensor, right: Tensor, low: Lowering, scope: Scope
) -> exp.Expr:
    """Return the SQL that compares whole tensors by their digests, with the operator `kind`.

    Classes are compared by name.

    Raises
    ------
    QueryTypeError
        If the tensors are boxes in different formats.
    """
    formats = {innermost(side.type).box_format for side in (left, right)} - {None}
    if len(formats) > 1:
        raise QueryTypeError(
            f"Boxes must have the same format to be compared, but {left.text} is {left.type} in "
            f"{innermost(left.type).box_format}, and {right.text} is {right.type} in "
            f"{innermost(right.type).box_format}. Convert {left.text} or {right.text} with "
            "BOX_CONVERT."
        )
    of_one_type = left.plain is not None and right.plain is not None
    of_one_type = of_one_type and str(left.type.meaning) == str(right.type.meaning)
    first, second = with_comparable_names(_as_json_list(left, right), _as_json_list(right, left))
    sides = [digest(side, low, stored=of_one_type, null=True) for side in (first, second)]
    return kind(this=low.as_sql(sides[0], scope), expression=low.as_sql(sides[1], scope))


def _as_json_list(value: Tensor, other: Tensor) -> Tensor:
    """Return a constant list as a list of JSON values if `other` contains lists of JSON values.

    As arrays, ``[TRUE]`` and ``[1]`` would be equal. As JSON, they differ.
    """
    if not isinstance(value.tree, Literal_) or not _lists_json(other.type):
        return value
    items = value.tree.value
    json = items.tolist() if isinstance(items, np.ndarray) else _as_json(items)
    return Tensor(Literal_(json, Type("object").as_list()), value.env, value.text)


def _lists_json(type_: Type) -> bool:
    """Return whether values of a type are lists of JSON values, at any depth of lists."""
    if type_.items is None:
        return False
    return type_.items.of.dtype == "object" and (
        type_.items.of.items is None or _lists_json(type_.items.of)
    )


def _as_json(value: object) -> object:
    """Return a value in which NumPy numbers, at any depth of lists, become Python numbers."""
    if isinstance(value, list):
        return [_as_json(item) for item in value]
    return value.item() if isinstance(value, np.bool_ | np.number) else value


def count_argument(tensor: Tensor, low: Lowering, scope: Scope) -> exp.Expr:
    """Return SQL for a scalar that is null where a tensor is null, as an argument of COUNT."""
    if tensor.plain is None:
        return low.as_sql(digest(tensor, low), scope)
    if not tensor.plain.field.htype.nullable:
        return tensor.plain.row.copy()
    return low.as_sql(validity(tensor), scope)


def validity(tensor: Tensor) -> Tensor:
    """Return a value that is null where an unchanged column is null.

    Computing it does not read the cells of the column.
    """
    assert tensor.plain is not None
    key = key_of_row(tensor)
    tree = Meta(key, tensor.plain.source, tensor.plain.field, "present", Type("bool"))
    return Tensor(tree, {key: tensor.plain.row}, tensor.text)


def key_of_row(value: Any) -> str:
    """Return the key by which trees refer to the row position of an unchanged column."""
    if isinstance(value, Tensor) and isinstance(value.tree, Cell):
        return value.tree.key
    return f"r_{value.plain.row.sql('duckdb')}"
