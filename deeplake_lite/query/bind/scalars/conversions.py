"""Convert scalars to strings, JSON, class names, items of lists, and values to sort by.

Canonical JSON is the same string for all equal values: keys are sorted, and 1.0 is written as 1.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
from sqlglot import exp

from deeplake_lite.errors import QueryTypeError
from deeplake_lite.query.bind.expressions.constants import items_of
from deeplake_lite.query.bind.scalars.json_values import json_key, json_order, json_text
from deeplake_lite.query.bind.scalars.kinds import is_json, kind_of, lists_json, needs_numpy
from deeplake_lite.query.database.convert import json_document
from deeplake_lite.query.parse.duckdb_nodes import ITEM, as_list, each, func
from deeplake_lite.query.values import JSON, TEXT, Constant, Kind, Sql, Tensor, Value

if TYPE_CHECKING:
    from deeplake_lite.query.bind.expressions.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope


def scalar_to_sql(value: Value, low: Lowering, scope: Scope) -> Value:
    """Return a scalar that NumPy computes as SQL, so that it is treated like any other scalar.

    Other values are returned unchanged.
    """
    if isinstance(value, Tensor) and not needs_numpy(value):
        node = low.as_sql(value, scope)
        return Sql(exp.cast(node, "DATE") if is_day(value) else node, kind_of(value))
    return value


def as_text(value: Value, low: Lowering, scope: Scope) -> exp.Expr:
    """Return SQL for a scalar as a string, such as the name of a class, or a date without a time.

    JSON strings lose their quotes. Values of other types are returned unchanged, because SQL
    converts them to strings by itself.
    """
    if is_day(value):
        return exp.cast(low.as_sql(value, scope), "DATE")
    value = scalar_to_sql(value, low, scope)
    if isinstance(value, Sql) and value.kind.name == "class":
        return class_name(value.node, value.kind.names)
    if isinstance(value, Sql) and value.kind.name == "list":
        return low.as_sql(as_part(value), scope)
    if isinstance(value, Sql) and value.kind.name == "json":
        return json_text(value.node)
    return low.as_sql(value, scope)


def is_day(value: Value) -> bool:
    """Return whether a scalar is known to be a date, which SQL represents as a timestamp."""
    if isinstance(value, Tensor):
        return value.is_scalar and value.type.dtype == _DAY
    return isinstance(value, Sql) and value.kind.time_dtype == _DAY


_DAY = "datetime64[D]"


def as_json(value: Value, low: Lowering, scope: Scope) -> exp.Expr:
    """Return SQL for a scalar or constant list as JSON text. Classes become their names."""
    if isinstance(value, Constant) and isinstance(value.value, list | np.ndarray | dict):
        return exp.Literal.string(json_document(_full_value(value)))
    if isinstance(value, Constant) and (whole := _whole(value)) is not None:
        return exp.Literal.string(format(whole, "f"))  # the number may exceed SQL's integers
    node = as_text(value, low, scope) if is_day(value) else low.as_sql(value, scope)
    if is_json(value):
        return node
    if kind_of(value).names:
        node = as_text(value, low, scope)
    is_null = exp.Is(this=node.copy(), expression=exp.null())
    text = exp.cast(func("to_json", node), "VARCHAR")
    return exp.Case(ifs=[exp.If(this=exp.not_(is_null), true=text)])


_DIGITS = 40
"""Decimals of 10**(_DIGITS + 1) or more do not count as whole numbers, so that JSON never contains
1e300 with all of its digits."""


def _full_value(value: Constant) -> object:
    """Return the Python value of a constant. Whole numbers become integers, to keep all digits."""
    is_array = isinstance(value.value, np.ndarray)
    if value.items or (is_array and value.value.dtype.kind in "mM"):
        return [_full_value(item) for item in items_of(value)]
    if (whole := _whole(value)) is not None:
        return int(whole)
    return value.value.tolist() if is_array else value.value


def _whole(value: Constant) -> Decimal | None:
    """Return the number of a constant if it is whole, even if written as 2.0, or else None."""
    if type(value.value) is int:
        return Decimal(value.value)
    number = None if isinstance(value.value, str) else value.number
    if number is None or not number.is_finite() or number.adjusted() > _DIGITS:
        return None
    return number.to_integral_value() if number == number.to_integral_value() else None


def class_name(node: exp.Expr, names: tuple[str, ...]) -> exp.Expr:
    """Return SQL for the name of a class, given its number and all names.

    If there are no names, the SQL returns the number as a string.
    """
    if not names:
        return exp.cast(node.copy(), "VARCHAR")
    listed = exp.Array(expressions=[exp.Literal.string(name) for name in names])
    return func("list_extract", listed, exp.paren(node.copy()) + 1)


def class_names(node: exp.Expr, names: tuple[str, ...]) -> exp.Expr:
    """Return SQL that converts a list of classes to a list of their names."""
    return each(node, class_name(ITEM, names))


def as_part(value: Value) -> Value:
    """Return a value in the form that it needs in a list, struct or map, to be compared by DuckDB.

    Classes become their names, and JSON becomes canonical. Otherwise, DuckDB would treat equal JSON
    values that are written differently as different, and different classes with the same number as
    equal.
    """
    if isinstance(value, Sql) and value.kind.name == "json":
        return Sql(exp.cast(json_key(value.node), "JSON"), JSON)
    if isinstance(value, Sql) and value.kind.name == "list" and lists_json(value.kind):
        return Sql(each(value.node, exp.cast(json_key(ITEM.copy()), "JSON")), value.kind)
    if isinstance(value, Sql) and is_day(value):
        return Sql(exp.cast(value.node, "DATE"), value.kind)
    return by_name(value)


def as_list_of_json(value: Value, low: Lowering, scope: Scope) -> Value:
    """Return a list with its items converted to canonical JSON."""
    if isinstance(value, Constant):
        parts = [as_part(Sql(as_json(item, low, scope), JSON)) for item in items_of(value)]
        node: exp.Expr = as_list(*(low.as_sql(part, scope) for part in parts))
        return Sql(node, JSON.as_list)
    named = as_part(value)
    if lists_json(kind_of(named)):
        return named
    item = as_part(Sql(as_json(Sql(ITEM.copy(), kind_of(named).item_kind), low, scope), JSON))
    return Sql(each(low.as_sql(named, scope), low.as_sql(item, scope)), JSON.as_list)


def by_name(value: Value) -> Value:
    """Return a class as its name, and a list of classes as a list of names.

    Other values are returned unchanged.
    """
    if not isinstance(value, Sql) or not value.kind.names:
        return value
    if value.kind.name == "list":
        return Sql(class_names(value.node, value.kind.names), Kind("list", item=TEXT))
    return Sql(class_name(value.node, value.kind.names), TEXT)


def key_of(value: Value, low: Lowering, scope: Scope) -> exp.Expr:
    """Return SQL for a scalar that is the same for all equal values.

    For JSON, this is a canonical string. For other values, it is the value itself.
    """
    node = low.as_sql(value, scope)
    return json_key(node) if is_json(value) else node


def ordering(value: Value, low: Lowering, scope: Scope) -> exp.Expr:
    """Return SQL for the scalar by which a value is sorted. JSON is sorted by value.

    Raises
    ------
    QueryTypeError
        If the value is a list, struct or map that contains JSON.
    """
    check_ordered(value)
    node = low.as_sql(value, scope)
    return json_order(node) if is_json(value) else node


def check_ordered(*values: Value) -> None:
    """Raise QueryTypeError for a list, struct or map that contains JSON, and so has no order."""
    if any(kind_of(value).holds_json for value in values):
        raise QueryTypeError(
            "Lists and structs that contain JSON have no order; only single JSON values do. Order "
            "by the parts of the list or struct, or CAST the JSON in it: "
            "[CAST(meta['key'] AS DOUBLE), id]."
        )
