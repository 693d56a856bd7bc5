"""Convert the values of a query to tensors, so that NumPy can compute with them."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeGuard

import numpy as np
from sqlglot import exp

from deeplake_lite.htypes import ClassLabel, Scalar, Sequence
from deeplake_lite.query.bind.expressions.constants import as_array
from deeplake_lite.query.bind.expressions.types import HUGE, Types
from deeplake_lite.query.database.times import microseconds_of
from deeplake_lite.query.functions import Type
from deeplake_lite.query.values import (
    TIME,
    Choice,
    Constant,
    Given,
    Kind,
    Literal_,
    Sql,
    Tensor,
    Value,
)


def as_tensor(value: Value, text: str, types: Types) -> Tensor:
    """Return a value as a tensor. `text` is the expression as written in the query."""
    match value:
        case Tensor():
            return value
        case Constant(None):  # NULL gets the smallest type, so that it does not widen others
            kind = Kind("number", htype=Scalar("int8", nullable=True))
            return as_tensor(Sql(exp.cast(exp.null(), "TINYINT"), kind), text, types)
        case Constant(constant):
            return Tensor(Literal_(*as_array(constant)), {}, text)
        case Sql():
            node, kind = _in_64_bits(types.refine(value))
            type_ = _given_type(kind)
            if _is_span(kind) or (kind == TIME and types.of(node) == "INTERVAL"):
                # DuckDB exports an INTERVAL to Arrow in nanoseconds, which overflow at 292 years.
                node, type_ = microseconds_of(node), Type("timedelta64[us]")
            key = _key(node)
            return Tensor(Given(key, type_), {key: node}, text)


def as_column(value: Value, text: str) -> Value:
    """Return a constant array as a tensor that is the same in each row.

    Other values are returned unchanged. In SQL, the array would be a list of scalars with a
    different dtype. The tensor is a `Choice` with a single option, so that aggregates and windows
    can pick its rows as they pick the rows of a column.
    """
    if not is_array(value):
        return value
    tree = Literal_(*as_array(value.value))
    return Tensor(Choice("w_0", (tree,), tree.type), {"w_0": exp.convert(0)}, text)


def is_array(value: Value) -> TypeGuard[Constant]:
    """Return whether a value is a constant array, which only parameters can be."""
    return isinstance(value, Constant) and isinstance(value.value, np.ndarray)


def _in_64_bits(value: Value) -> tuple[exp.Expr, Kind]:
    """Return a scalar or list as SQL whose type exists in NumPy, and its kind.

    128-bit integers, such as the results of SUM, are cast to 64 bits. If one does not fit, DuckDB
    raises an error.
    """
    assert isinstance(value, Sql)
    node, kind = value.node, value.kind
    while kind.item is not None:
        kind = kind.item
    if kind.dtype != HUGE:
        return node, value.kind
    to = "BIGINT" + "[]" * _count_nested_lists(value.kind)
    return exp.cast(exp.paren(node.copy()), to), _with_dtype(value.kind, "int64")


def _count_nested_lists(kind: Kind) -> int:
    return 0 if kind.item is None else 1 + _count_nested_lists(kind.item)


def _with_dtype(kind: Kind, dtype: str) -> Kind:
    item = None if kind.item is None else _with_dtype(kind.item, dtype)
    return replace(kind, item=item, dtype="" if item is not None else dtype)


def _key(node: exp.Expr) -> str:
    return "g_" + node.sql("duckdb")


def _list_type(item: Kind) -> Type:
    """Return the type, in NumPy, of a list that DuckDB computes, from the kind of its items."""
    of = Type("float64") if item.name == "any" else _given_type(item)
    is_plain = of.is_number and of.shape == () and of.classes is None
    return of.as_list(Sequence(Scalar(of.dtype)) if is_plain else None)


def _is_span(kind: Kind) -> bool:
    """Return whether a value is an unchanged column of durations of fixed length.

    Durations in months or years have no fixed length.
    """
    dtype = kind.time_dtype
    return dtype.startswith("timedelta64") and np.datetime_data(dtype)[0] not in "YM"


def _given_type(kind: Kind) -> Type:
    match kind.name:
        case "bool":
            return Type("bool")
        case "text":
            return Type("str")
        case "class":
            return Type("int64", (), kind.htype or ClassLabel(list(kind.names)))
        case "list":
            return _list_type(kind.item_kind)
        case "json":
            return Type("object")
        case "bytes":
            return Type("bytes")
        case "time" if _is_span(kind):
            return Type("timedelta64[us]")
        case "time":
            return Type(kind.time_dtype or "datetime64[us]")
        case "number" if kind.number_dtype:
            return Type(kind.number_dtype)
        case _:
            return Type("float64")
