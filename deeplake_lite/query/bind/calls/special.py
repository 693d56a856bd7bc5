"""Functions of rows, and of what is known of values without reading them."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlglot import exp

from deeplake_lite.errors import QueryTypeError
from deeplake_lite.htypes.layouts import Nested
from deeplake_lite.query.bind.calls.aggregates import count
from deeplake_lite.query.bind.expressions.constants import option
from deeplake_lite.query.bind.expressions.digests import digest, key_of_row
from deeplake_lite.query.bind.expressions.forms import named, names_of, with_names
from deeplake_lite.query.bind.places import start_of
from deeplake_lite.query.bind.scalars.bytes_values import bytes_contain
from deeplake_lite.query.bind.scalars.exact import equal_beside
from deeplake_lite.query.bind.scalars.hashes import hash_of
from deeplake_lite.query.bind.scalars.json_values import is_of_type, json_contains, json_length
from deeplake_lite.query.bind.scalars.kinds import (
    agree,
    as_text,
    by_name,
    is_json,
    is_numpys,
    kind_of,
    lists_structs,
    settled,
)
from deeplake_lite.query.functions import Type
from deeplake_lite.query.parse.dialect import func, text_of
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
    from deeplake_lite.query.bind.expressions.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope


def _meta(what: str, type_: Any) -> Any:
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
    """Return the number of a tensor's elements, without reading it; of a JSON list's items."""
    value = low.value(e.expressions[0], scope) if len(e.expressions) == 1 else None
    if isinstance(value, Sql) and is_json(value):
        return Sql(json_length(value.node), NUMBER)
    sized: Value | None = _meta("size", lambda _: Type("int64"))(low, e, scope)
    return sized


def _length(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value | None:
    """Return the length of a tensor's first axis, without reading it; items of a JSON list."""
    value = low.value(e.expressions[0], scope) if len(e.expressions) == 1 else None
    if value is not None and is_json(value):
        return Sql(json_length(low.as_sql(value, scope)), NUMBER)
    is_one = isinstance(value, Tensor) and value.is_scalar and value.type.is_number
    if is_one or (isinstance(value, Sql) and value.kind.name in ("number", "bool", "time")):
        raise QueryTypeError(
            f"{e.name.upper()} counts the items of a list or tensor, or the characters of a text, "
            f"but {text_of(e.expressions[0])} has one value per row."
        )
    if isinstance(value, Sql) and value.kind.name == "bytes":
        return Sql(func("octet_length", value.node.copy()), NUMBER)
    if not isinstance(value, Tensor) or value.plain is None:
        return None
    key = key_of_row(value)
    tree = Meta(key, value.plain.source, value.plain.field, "axis:0", Type("int64"))
    return Tensor(tree, {key: value.plain.row}, text_of(e))


def _unnest(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value | None:
    """Return the parts of a tensor along its first axis, one per row of the result."""
    if len(e.expressions) != 1:
        return None
    return unnest(low, low.value(e.expressions[0], scope), e.expressions[0], scope)


def unnest(low: Lowering, value: Value, e: exp.Expr, scope: Scope) -> Value:
    """Return the items of a list or of a tensor, one per row of the result.

    Raises
    ------
    QueryTypeError
        For a value without items.
    """
    if isinstance(value, Constant) and isinstance(value.value, np.ndarray):
        value = low.as_tensor(value, text_of(e))
    if isinstance(value, Tensor) and not value.is_scalar:
        return _rows_of(low, value, e, scope)
    kind = kind_of(value)
    if kind.name == "json":
        listed = exp.TryCast(this=low.as_sql(value, scope), to=exp.DataType.build("JSON[]"))
        return Sql(func("unnest", listed), JSON)
    if kind.name not in ("list", "any"):
        raise QueryTypeError(
            f"UNNEST takes lists and tensors, but {text_of(e)} has one value per row."
        )
    return Sql(func("unnest", low.as_sql(value, scope)), kind.of_item)


def is_sequence(value: Value) -> bool:
    """Tell whether a value is a list of others: of a column of sequences, or over a group."""
    if isinstance(value, Tensor) and value.plain is not None:
        return isinstance(value.plain.field.htype.layout, Nested)
    if isinstance(value, Tensor) and isinstance(value.tree, Grouped):
        return value.tree.aggregate == "LIST"
    return kind_of(value).name == "list"


def _rows_of(low: Lowering, tensor: Tensor, e: exp.Expr, scope: Scope) -> Tensor:
    """Return the parts of a tensor along its first axis; of a group its rows, read one by one."""
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
    """Return the type of a list's items, or of an array's parts along its first axis."""
    if whole.items is not None:
        return whole.items.of
    is_kept = whole.names is not None or whole.box_format is not None
    shape = None if whole.shape is None else whole.shape[1:]
    return Type(whole.dtype, shape, whole.meaning if is_kept else None)


def _shape_type(value: Any) -> Type:
    return Type("int64", (value.type.ndim if isinstance(value, Tensor) else 0,))  # None: varies


def _row_position(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value | None:
    """Return the row's position in its source: ROW_NUMBER() without OVER."""
    for relation in scope.relations:
        if relation.instance is not None:
            return Sql(exp.column(ROW, table=relation.table), NUMBER)
    raise QueryTypeError(
        "ROW_NUMBER() without OVER is the position of a row in its dataset, but FROM has a query "
        "alone. Number the query's rows: ROW_NUMBER() OVER (ORDER BY …) - 1."
    )


def _row_id(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value | None:
    alias = e.expressions[0].name if e.expressions else None
    for relation in scope.relations:
        if relation.instance is not None and alias in (None, relation.alias):
            row = exp.column(ROW, table=relation.table)
            key = "r_" + row.sql("duckdb")
            tree = Meta(key, relation.instance.source, None, "row_id", Type("int64"))
            return Tensor(tree, {key: row}, text_of(e))
    if alias is not None and alias not in scope.tables():
        return None
    raise QueryTypeError(
        "Rows of a dataset have ids, but those that a query in FROM gives have none, got "
        f"{text_of(e)}. Select them within it: FROM (SELECT *, ROW_ID() AS row_id …)."
    )


def _hash(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value | None:
    if len(e.expressions) != 1:
        return None
    value = low.value(e.expressions[0], scope)
    if isinstance(value, Constant) and isinstance(value.value, list | np.ndarray):
        value = low.as_tensor(value, text_of(e))
    if isinstance(value, Tensor) and is_numpys(value):
        is_open = value.type.shape is None and not value.type.is_picture  # may equal a number
        return digest(with_names(value), low, stored=not is_open, null=True)  # names, as by `=`
    if kind_of(value).name == "list" and not lists_structs(kind_of(value)):
        return digest(low.as_tensor(by_name(value), text_of(e)), low, null=True)
    return hash_of(settled(value, low, scope), low, scope)


def _random(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value | None:
    """Return a number in [0, 1) per row: a function of the seed and the row's position.

    Calls without a seed are told apart by where they are in the query.
    """
    seed = option(low, e.expressions[0], scope) if e.expressions else _seed_of_call(low, e)
    if len(e.expressions) > 1 or type(seed) is not int or not 0 <= seed < 1 << 64:
        raise QueryTypeError(
            "RANDOM takes a seed, a whole number from 0 to 2**64 - 1, but the call is "
            f"{text_of(e)}."
        )
    for relation in scope.relations:
        if relation.instance is not None:
            row = exp.column(ROW, table=relation.table)
            key = "r_" + row.sql("duckdb")
            tree = Meta(key, relation.instance.source, None, f"random:{seed}", Type("float64"))
            return Tensor(tree, {key: row}, text_of(e))
    raise QueryTypeError(
        f"{text_of(e)} is a number per row of a dataset, but FROM has a query alone. Draw it "
        f"within the query: FROM (SELECT *, {text_of(e)} AS random …)."
    )


def _seed_of_call(low: Lowering, e: exp.Anonymous) -> int:
    """Return a seed of the query's and of the call's place, the same whenever it is asked again."""
    place = (start_of(e) or 0) + 1
    return (low.draw_seed() + place * 0x9E3779B97F4A7C15) % (1 << 64)  # splitmix64's increment


def _name(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value | None:
    """Return a class by its name, NAME(label); of several labels, a list of names."""
    if len(e.expressions) != 1:
        raise QueryTypeError(f"NAME takes one label, but it is {text_of(e)}.")
    labels = settled(low.value(e.expressions[0], scope), low, scope)
    kind = kind_of(labels)
    if isinstance(labels, Sql) and kind.names:
        of_list = kind.name == "list"
        return Sql(as_text(labels, low, scope), Kind("list", item=TEXT) if of_list else TEXT)
    if isinstance(labels, Tensor) and (names := names_of(labels.type)):
        return named(labels, names, text_of(e))
    raise QueryTypeError(
        f"NAME gives the name of a class, but {text_of(e.expressions[0])} has no classes."
    )


def _keys(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value | None:
    value = low.value(e.expressions[0], scope) if len(e.expressions) == 1 else None
    if isinstance(value, Sql) and value.kind.name == "json":
        keys_of = func("json_keys", value.node.copy())
        ifs = [exp.If(this=is_of_type(value.node, "OBJECT"), true=keys_of)]
        return Sql(exp.Case(ifs=ifs), TEXT.listed)
    return None


def _contains(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value | None:
    """Return whether JSON has an item, a key or a part of its text; whether bytes have others."""
    if len(e.expressions) != 2:
        return None
    value = low.value(e.expressions[0], scope)
    if isinstance(value, Sql) and value.kind.name == "bytes":
        part = agree(low.value(e.expressions[1], scope), value)
        return Sql(bytes_contain(value.node, low.as_sql(part, scope)), BOOL)
    if isinstance(value, Tensor) and value.type.is_number:
        part = equal_beside(low.value(e.expressions[1], scope), value)
        return low.call("CONTAINS", [value, part], {}, e)
    if not isinstance(value, Sql) or not is_json(value):
        return None
    part = low.value(e.expressions[1], scope)
    if is_json(part) or isinstance(part, Tensor):
        raise QueryTypeError(
            f"CONTAINS(json, part) takes a text, a number or a truth value, but it is {text_of(e)}."
            " CAST the part."
        )
    node = as_text(part, low, scope)
    return Sql(json_contains(value.node, node, kind_of(part).name), BOOL)


def _weight(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value:
    """Return the greatest weight, or the sum of the weights, whose conditions hold; 0 of none."""
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


def _data(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value | None:
    """Refuse DATA(x, i), Deep Lake's value of a row. Raises QueryTypeError."""
    x, row = [*map(text_of, e.expressions), "x", "i"][:2]
    raise QueryTypeError(
        f"The value of one row comes from a query in its place: (SELECT {x} FROM dataset LIMIT 1 "
        f"OFFSET {row}), not {text_of(e)}."
    )


def _bm25(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value | None:
    """Return how well a text matches words, among all texts of its source."""
    if len(e.expressions) != 2:
        raise QueryTypeError(f"BM25_SIMILARITY takes a text and words, got {text_of(e)}.")
    column, words = (low.value(part, scope) for part in e.expressions)
    if not isinstance(column, Sql) or column.plain is None or column.kind.name != "text":
        raise QueryTypeError(
            f"BM25_SIMILARITY compares a text column of a source with its other texts, got "
            f"{text_of(e.expressions[0])}. Materialize a computed text first."
        )
    if not isinstance(words, Constant) or not isinstance(words.value, str):
        raise QueryTypeError(
            f"BM25_SIMILARITY takes words that are the same for all rows, got "
            f"{text_of(e.expressions[1])}. Write them as 'words', or as a parameter."
        )
    key = key_of_row(column)
    what = f"bm25:{words.value}"
    tree = Meta(key, column.plain.source, column.plain.field, what, Type("float64"))
    return Tensor(tree, {key: column.plain.row}, text_of(e))


SPECIAL = {
    "SHAPE": _meta("shape", _shape_type),
    "NDIM": _meta("ndim", lambda _: Type("int64")),
    "SIZE": _size,
    "LEN": _length,
    "LENGTH": _length,
    "UNNEST": _unnest,
    "NBYTES": _meta("nbytes", lambda _: Type("int64")),
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

OF_OTHERS = {"DATA": _data}
"""Functions of other languages, whose errors say how to write them in this one."""
