"""Lower functions that need special treatment, such as ROW_ID, SHAPE, NAME, HASH and UNNEST."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlglot import exp

from deeplake_lite.errors import QueryTypeError
from deeplake_lite.htypes.layouts import Nested
from deeplake_lite.query.bind.calls.aggregates import count
from deeplake_lite.query.bind.expressions.clock import age
from deeplake_lite.query.bind.expressions.constants import option
from deeplake_lite.query.bind.expressions.digests import digest, key_of_row
from deeplake_lite.query.bind.expressions.forms import name_classes, names_of, with_names
from deeplake_lite.query.bind.places import start_of
from deeplake_lite.query.bind.scalars.agreement import agree, check_times_beside_json
from deeplake_lite.query.bind.scalars.bytes_values import bytes_contain
from deeplake_lite.query.bind.scalars.conversions import as_text, by_name, scalar_to_sql
from deeplake_lite.query.bind.scalars.exact import adapt_for_equality
from deeplake_lite.query.bind.scalars.hashes import hash_of
from deeplake_lite.query.bind.scalars.json_values import is_of_type, json_contains, json_length
from deeplake_lite.query.bind.scalars.kinds import is_json, kind_of, lists_structs, needs_numpy
from deeplake_lite.query.functions import Type
from deeplake_lite.query.functions.value_type import Items
from deeplake_lite.query.parse.dialect import text_of
from deeplake_lite.query.parse.duckdb_nodes import func
from deeplake_lite.query.plan import ROW
from deeplake_lite.query.tensors.trees import keys
from deeplake_lite.query.values import (
    BOOL,
    JSON,
    NUMBER,
    TEXT,
    Constant,
    Given,
    Grouped,
    Index,
    Kind,
    Meta,
    Sql,
    Tensor,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deeplake_lite.query.bind.expressions.lowering import Lowering
    from deeplake_lite.query.bind.scope import Relation, Scope


def _metadata(what: str, type_: Any) -> Any:
    """Return a Python function that lowers SHAPE, NDIM, SIZE or NBYTES of an unchanged column.

    These properties are read from metadata that is stored with the column, without reading its
    values. For an argument that is not an unchanged column, the Python function returns None.

    Parameters
    ----------
    what : str
        The property, as in `values.Meta`.
    type_ : callable
        Takes the lowered argument, and returns the type of the result.
    """

    def special(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value | None:
        if len(e.expressions) != 1:
            return None
        value = low.value(e.expressions[0], scope)
        if isinstance(value, Constant):
            return None
        if value.plain is None:
            return None
        key = key_of_row(value)
        tree = Meta(key, value.plain.source, value.plain.field, what, type_(value))
        return Tensor(tree, {key: value.plain.row}, text_of(e))

    return special


def _size(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value | None:
    """Lower SIZE: the number of elements of a tensor, or the number of items of a JSON value."""
    value = low.value(e.expressions[0], scope) if len(e.expressions) == 1 else None
    if isinstance(value, Sql) and is_json(value):
        return Sql(json_length(value.node), NUMBER)
    sized: Value | None = _metadata("size", lambda _: Type("int64"))(low, e, scope)
    return sized


def _length(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value | None:
    """Lower LEN of JSON, bytes, or an unchanged tensor column. Returns None for other arguments.

    For a tensor, LEN is the length of the first axis.
    """
    value = low.value(e.expressions[0], scope) if len(e.expressions) == 1 else None
    if value is not None and is_json(value):
        return Sql(json_length(low.as_sql(value, scope)), NUMBER)
    is_one = isinstance(value, Tensor) and value.is_scalar and value.type.is_number
    if is_one or (isinstance(value, Sql) and value.kind.name in ("number", "bool", "time")):
        raise QueryTypeError(
            f"{e.name.upper()} counts the items of a list or tensor, or the characters of a "
            f"string, but {text_of(e.expressions[0])} is a single number, boolean or time."
        )
    if isinstance(value, Sql) and value.kind.name == "bytes":
        return Sql(func("octet_length", value.node.copy()), NUMBER)
    if not isinstance(value, Tensor) or value.plain is None:
        return None
    key = key_of_row(value)
    tree = Meta(key, value.plain.source, value.plain.field, "axis:0", Type("int64"))
    return Tensor(tree, {key: value.plain.row}, text_of(e))


def _unnest(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value | None:
    """Lower UNNEST(x). Returns None if the number of arguments is wrong."""
    if len(e.expressions) != 1:
        return None
    return unnest(low, low.value(e.expressions[0], scope), e.expressions[0], scope)


def unnest(low: Lowering, value: Value, e: exp.Expr, scope: Scope) -> Value:
    """Return the value that turns a row into one row for each item of a list or tensor.

    The items of a tensor are its slices along the first axis.

    Raises
    ------
    QueryTypeError
        If the value `e` is neither a list nor a tensor.
    """
    if isinstance(value, Constant) and isinstance(value.value, np.ndarray):
        value = low.as_tensor(value, text_of(e))
    if isinstance(value, Tensor) and not value.is_scalar:
        return _split_tensor(low, value, e, scope)
    kind = kind_of(value)
    if kind.name == "json":
        listed = exp.TryCast(this=low.as_sql(value, scope), to=exp.DataType.build("JSON[]"))
        return Sql(func("unnest", listed), JSON)
    if kind.name not in ("list", "any"):
        raise QueryTypeError(
            f"UNNEST takes a list or a tensor, but {text_of(e)} has one value per row. Leave out "
            "UNNEST."
        )
    return Sql(func("unnest", low.as_sql(value, scope)), kind.item_kind)


def is_sequence(value: Value) -> bool:
    """Return whether a value is a column of sequences, a LIST of a group, or a DuckDB list."""
    if isinstance(value, Tensor) and value.plain is not None:
        return isinstance(value.plain.field.htype.layout, Nested)
    if isinstance(value, Tensor) and isinstance(value.tree, Grouped):
        return value.tree.aggregate == "LIST"
    return kind_of(value).name == "list"


def _split_tensor(low: Lowering, tensor: Tensor, e: exp.Expr, scope: Scope) -> Tensor:
    """Return UNNEST of a tensor: its slices along the first axis, one per row.

    If the tensor is the LIST of a group, return the values of the list, one per row.
    """
    if isinstance(tensor.tree, Grouped) and tensor.tree.aggregate == "LIST":
        row = func("unnest", tensor.env[tensor.tree.key].copy())
        inner = tensor.tree.inner
        env = {key: func("struct_extract", row, exp.Literal.string(key)) for key in keys(inner)}
        return Tensor(inner, env, f"UNNEST({text_of(e)})")
    length = low.sql(exp.Anonymous(this="LEN", expressions=[e.copy()]), scope)
    at = func("unnest", func("range", length))
    key = f"u_{at.sql('duckdb')}"
    type_ = _part_type(tensor.type)
    tree = Index(tensor.tree, (Given(key, Type("int64")),), type_, f"UNNEST({text_of(e)})")
    return Tensor(tree, {**tensor.env, key: at}, f"UNNEST({text_of(e)})")


def _part_type(whole: Type) -> Type:
    """Return the type of the items of a list, or of the slices of an array along its first axis."""
    if whole.items is not None:
        return whole.items.of
    is_kept = whole.names is not None or whole.box_format is not None
    shape = None if whole.shape is None else whole.shape[1:]
    return Type(whole.dtype, shape, whole.meaning if is_kept else None)


def _shape_type(value: object) -> Type:
    # The item is None if the number of axes varies.
    return Type("int64", (value.type.ndim if isinstance(value, Tensor) else 0,))


def _row_position(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value | None:
    """Lower ROW_NUMBER() without OVER, which is the position of a row in its source."""
    for relation in scope.relations:
        if relation.instance is not None:
            return Sql(exp.column(ROW, table=relation.table), NUMBER)
    raise QueryTypeError(
        "ROW_NUMBER() without OVER is the position of a row in its dataset, but FROM contains "
        "only subqueries. Number the rows of a subquery with ROW_NUMBER() OVER (ORDER BY …) - 1."
    )


def _row_id(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value | None:
    """Lower ROW_ID(). Returns None if the argument is not the name of a source."""
    alias = e.expressions[0].name if e.expressions else None
    for relation in _enclosing_relations(scope) if alias is not None else scope.relations:
        if alias == relation.alias and relation.instance is None:
            break  # the inner source hides sources with the same name in enclosing queries
        if relation.instance is not None and alias in (None, relation.alias):
            row = exp.column(ROW, table=relation.table)
            key = "r_" + row.sql("duckdb")
            tree = Meta(key, relation.instance.source, None, "row_id", Type("int64"))
            return Tensor(tree, {key: row}, text_of(e))
    if alias is not None and alias not in scope.tables():
        return None
    raise QueryTypeError(
        f"{text_of(e)} is the id of a row of a dataset, but the rows of a subquery have no ids. "
        "Select the ids in the subquery: FROM (SELECT *, ROW_ID() AS row_id …)."
    )


def _enclosing_relations(scope: Scope) -> Iterator[Relation]:
    """Yield the relations of a query, and then the relations of the queries that enclose it."""
    at: Scope | None = scope
    while at is not None:
        yield from at.relations
        at = at.parent


def _hash(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value | None:
    if len(e.expressions) != 1:
        return None
    value = low.value(e.expressions[0], scope)
    if isinstance(value, Constant) and isinstance(value.value, list | np.ndarray):
        value = low.as_tensor(value, text_of(e))
    if isinstance(value, Tensor) and needs_numpy(value):
        # A value whose number of axes is unknown may equal a scalar, so it is hashed by value.
        is_open = value.type.shape is None and not value.type.is_like_image
        # Classes are hashed by name, since `=` compares their names.
        return digest(with_names(value), low, stored=not is_open, null=True)
    if kind_of(value).name == "list" and not lists_structs(kind_of(value)):
        return digest(_with_nulls(low.as_tensor(by_name(value), text_of(e))), low, null=True)
    return hash_of(scalar_to_sql(value, low, scope), low, scope)


def _with_nulls(tensor: Tensor) -> Tensor:
    """Return a list of numbers from DuckDB as a sequence, whose items may be null.

    Otherwise, the list would be an array, which cannot contain nulls.
    """
    tree = tensor.tree
    if not isinstance(tree, Given) or not tree.type.is_number or tree.type.ndim != 1:
        return tensor
    item = Type(tree.type.dtype)
    return replace(tensor, tree=replace(tree, type=Type("object", (None,), Items(item))))


def _random(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value | None:
    """Lower RANDOM, which returns a number in [0, 1) for each row.

    The number depends on the seed and the position of the row in its source. A call without a seed
    gets a seed that depends on the position of the call in the query, so two calls return different
    numbers.
    """
    seed = option(low, e.expressions[0], scope) if e.expressions else _seed_of_call(low, e)
    if len(e.expressions) > 1 or type(seed) is not int or not 0 <= seed < 1 << 64:
        raise QueryTypeError(
            "The seed of RANDOM must be a whole number from 0 to 2**64 - 1, but the call is "
            f"{text_of(e)}. Write, for example, RANDOM(42)."
        )
    for relation in scope.relations:
        if relation.instance is not None:
            row = exp.column(ROW, table=relation.table)
            key = "r_" + row.sql("duckdb")
            tree = Meta(key, relation.instance.source, None, f"random:{seed}", Type("float64"))
            return Tensor(tree, {key: row}, text_of(e))
    raise QueryTypeError(
        f"{text_of(e)} draws one number per row of a dataset, but FROM contains only subqueries. "
        f"Draw the number in the subquery: FROM (SELECT *, {text_of(e)} AS random …)."
    )


def _seed_of_call(low: Lowering, e: exp.Anonymous) -> int:
    """Return a seed for a call, computed from the query's seed and the offset of the call."""
    position = (start_of(e) or 0) + 1
    return (low.draw_seed() + position * 0x9E3779B97F4A7C15) % (1 << 64)  # splitmix64's increment


def _name(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value | None:
    """Lower NAME: the name of a class, or the names of several classes."""
    if len(e.expressions) != 1:
        raise QueryTypeError(
            f"NAME takes one argument, but the call is {text_of(e)}. Write NAME(label)."
        )
    labels = scalar_to_sql(low.value(e.expressions[0], scope), low, scope)
    kind = kind_of(labels)
    if isinstance(labels, Sql) and kind.names:
        of_list = kind.name == "list"
        return Sql(as_text(labels, low, scope), Kind("list", item=TEXT) if of_list else TEXT)
    if isinstance(labels, Tensor) and (names := names_of(labels.type)):
        return name_classes(labels, names, text_of(e))
    raise QueryTypeError(
        f"NAME returns the name of a class, but {text_of(e.expressions[0])} has no classes. Pass a "
        "column of class labels that have names."
    )


def _keys(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value | None:
    value = low.value(e.expressions[0], scope) if len(e.expressions) == 1 else None
    if isinstance(value, Sql) and value.kind.name == "json":
        keys_of = func("json_keys", value.node.copy())
        ifs = [exp.If(this=is_of_type(value.node, "OBJECT"), true=keys_of)]
        return Sql(exp.Case(ifs=ifs), TEXT.as_list)
    return None


def _contains(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value | None:
    """Lower CONTAINS if the first argument is JSON, bytes or a tensor. Otherwise, return None."""
    if len(e.expressions) != 2:
        return None
    value = low.value(e.expressions[0], scope)
    if isinstance(value, Sql) and value.kind.name == "bytes":
        part = agree(low.value(e.expressions[1], scope), value)
        return Sql(bytes_contain(value.node, low.as_sql(part, scope)), BOOL)
    if isinstance(value, Tensor) and value.type.is_number:
        part = adapt_for_equality(low.value(e.expressions[1], scope), value)
        return low.call("CONTAINS", [value, part], {}, e)
    if not isinstance(value, Sql) or not is_json(value):
        return None
    part = low.value(e.expressions[1], scope)
    check_times_beside_json(part, value)
    if is_json(part) or isinstance(part, Tensor):
        raise QueryTypeError(
            f"The second argument of {text_of(e)} must be a string, a number or a boolean, but it "
            f"is {'JSON' if is_json(part) else 'a tensor'}. Convert it with CAST."
        )
    node = as_text(part, low, scope)
    return Sql(json_contains(value.node, node, kind_of(part).name), BOOL)


def _weight(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value:
    """Lower MAX_WEIGHT or SUM_WEIGHT: the largest or the sum of the weights that apply to a row.

    A weight applies if its condition is true. If none applies, the result is 0.
    """
    weights: list[exp.Expr] = [
        exp.Case(
            ifs=[exp.If(this=pair.this, true=exp.Paren(this=pair.expression))],
            default=exp.Literal.number(0),
        )
        for pair in e.expressions
    ]
    if e.name.upper() == "SUM_WEIGHT":
        first, *others = weights
        total = reduce(lambda a, b: exp.Add(this=a, expression=b), others, first)
        return low.value(total, scope)
    return low.value(exp.Anonymous(this="GREATEST", expressions=weights), scope)


def _refuse_data(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value | None:
    """Raise QueryTypeError for DATA(x, i), which in Deep Lake's queries returns row i of x."""
    x, row = [*map(text_of, e.expressions), "x", "i"][:2]
    raise QueryTypeError(
        f"To get the value of one row, write a subquery instead of {text_of(e)}: (SELECT {x} FROM "
        f"dataset LIMIT 1 OFFSET {row})."
    )


def _bm25(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value | None:
    """Lower BM25_SIMILARITY: score how well each string of a column matches the words."""
    if len(e.expressions) != 2:
        raise QueryTypeError(
            f"BM25_SIMILARITY takes a text column and search words, but the call is {text_of(e)}. "
            "Write BM25_SIMILARITY(column, 'words')."
        )
    column, words = (low.value(part, scope) for part in e.expressions)
    if not isinstance(column, Sql) or column.plain is None or column.kind.name != "text":
        raise QueryTypeError(
            "The first argument of BM25_SIMILARITY must be a text column of a source, but it is "
            f"{text_of(e.expressions[0])}. To search computed strings, store them in a column "
            "first."
        )
    if not isinstance(words, Constant) or not isinstance(words.value, str):
        raise QueryTypeError(
            "The words of BM25_SIMILARITY must be the same for all rows, but they are "
            f"{text_of(e.expressions[1])}. Write them in quotes, or pass them as a parameter."
        )
    key = key_of_row(column)
    what = f"bm25:{words.value}"
    tree = Meta(key, column.plain.source, column.plain.field, what, Type("float64"))
    return Tensor(tree, {key: column.plain.row}, text_of(e))


SPECIAL = {
    "AGE": age,
    "SHAPE": _metadata("shape", _shape_type),
    "NDIM": _metadata("ndim", lambda _: Type("int64")),
    "SIZE": _size,
    "LEN": _length,
    "LENGTH": _length,
    "UNNEST": _unnest,
    "NBYTES": _metadata("nbytes", lambda _: Type("int64")),
    "ROW_NUMBER": _row_position,
    "ROW_ID": _row_id,
    "COUNT": count,
    "HASH": _hash,
    "RANDOM": _random,
    "NAME": _name,
    "KEYS": _keys,
    "CONTAINS": _contains,
    "MAX_WEIGHT": _weight,
    "SUM_WEIGHT": _weight,
    "BM25_SIMILARITY": _bm25,
}

OF_OTHERS = {"DATA": _refuse_data}
"""Maps functions of other query languages to Python functions that raise an error. The message
explains how to write the same in this language."""
