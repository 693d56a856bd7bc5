"""Sort lists in descending order with NaN last, although NaN is DuckDB's largest number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sqlglot import exp

from deeplake_lite.query.bind.scalars.kinds import kind_of
from deeplake_lite.query.bind.scalars.nan import is_nan, is_null
from deeplake_lite.query.parse.duckdb_nodes import as_list, func
from deeplake_lite.query.values import Constant, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

_DESCENDING = {"ARRAY_REVERSE_SORT", "LIST_REVERSE_SORT"}
_SORTS = {"ARRAY_SORT", "LIST_SORT"} | _DESCENDING
_GRADES = {"ARRAY_GRADE_UP", "LIST_GRADE_UP"}


def sort_nan_last(name: str, args: Sequence[Value], node: exp.Anonymous) -> exp.Expr:
    """Rewrite a call that sorts a list in descending order, so that NaN comes last.

    The call may return the sorted items, or the positions of the sorted items in the list. Other
    calls are returned unchanged.
    """
    words = [
        a.value.upper() for a in args[1:] if isinstance(a, Constant) and isinstance(a.value, str)
    ]
    descends = name in _DESCENDING or "DESC" in words
    if name not in _SORTS | _GRADES or not descends or not args or not _may_be_nan(args[0]):
        return node
    list_, result = exp.to_identifier("lake_list"), exp.to_identifier("lake_sorted")
    item = exp.to_identifier("lake_item")
    value = func("list_extract", list_, item) if name in _GRADES else item
    of_nan = exp.and_(exp.not_(is_null(value)), is_nan(value))
    of_number = exp.and_(exp.not_(is_null(value)), exp.not_(is_nan(value)))
    parts = [_filter(result, item, test) for test in (of_number, of_nan)]
    nulls = _filter(result, item, is_null(value))
    parts = [nulls, *parts] if "NULLS FIRST" in words else [*parts, nulls]
    joined = func("list_concat", func("list_concat", parts[0], parts[1]), parts[2])
    sorted_ = func(node.name, list_.copy(), *(n.copy() for n in node.expressions[1:]))
    result_ = bind_name(list_, node.expressions[0], bind_name(result, sorted_, joined))
    present = exp.not_(is_null(node.expressions[0]))
    return exp.Case(ifs=[exp.If(this=present, true=result_)])


def _may_be_nan(value: Value) -> bool:
    if isinstance(value, Constant):
        items = value.value if isinstance(value.value, list | np.ndarray) else []
        return any(isinstance(item, float | np.floating) and np.isnan(item) for item in items)
    item = kind_of(value).item
    return item is not None and item.real


def _filter(items: exp.Expr, item: exp.Identifier, test: exp.Expr) -> exp.Expr:
    return func("list_filter", items.copy(), exp.Lambda(this=test, expressions=[item.copy()]))


def bind_name(name: exp.Identifier, value: exp.Expr, body: exp.Expr) -> exp.Expr:
    """Return SQL that computes `body`, in which `name` stands for `value`.

    With this SQL, DuckDB computes `value` only once. Because DuckDB has no LET, the SQL applies a
    lambda to a list whose only item is `value`.
    """
    lambda_ = exp.Lambda(this=body, expressions=[name.copy()])
    listed = as_list(value.copy())
    return func("list_extract", func("list_transform", listed, lambda_), exp.convert(1))
