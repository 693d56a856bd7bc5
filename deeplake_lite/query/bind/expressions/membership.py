"""Lower IN, EXISTS, and subqueries that are used as values."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

import numpy as np
from sqlglot import exp

from deeplake_lite.errors import QueryTypeError
from deeplake_lite.query.bind.expressions.comparisons import compare_scalars
from deeplake_lite.query.bind.expressions.constants import items_of
from deeplake_lite.query.bind.expressions.digests import is_digest
from deeplake_lite.query.bind.scalars import beside_floats
from deeplake_lite.query.bind.scalars.agreement import (
    agree,
    check_bytes,
    check_pair,
    check_times_beside_json,
)
from deeplake_lite.query.bind.scalars.conversions import (
    as_json,
    as_text,
    by_name,
    class_name,
    scalar_to_sql,
)
from deeplake_lite.query.bind.scalars.exact import adapt_for_equality
from deeplake_lite.query.bind.scalars.json_values import json_key
from deeplake_lite.query.bind.scalars.kinds import (
    compares_as_json,
    is_null_constant,
    kind_of,
    needs_numpy,
)
from deeplake_lite.query.bind.scalars.moments import differ_in_unit, nanoseconds_of, with_units
from deeplake_lite.query.bind.scalars.nan import exclude_nan, is_nan, is_null, is_present
from deeplake_lite.query.parse.dialect import text_of
from deeplake_lite.query.parse.duckdb_nodes import combine_balanced, select_from
from deeplake_lite.query.values import BOOL, JSON, Constant, Sql, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deeplake_lite.query.bind.expressions.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope


def in_(low: Lowering, e: exp.In, scope: Scope) -> Value:
    """Lower IN, which is followed by a list or a query.

    Raises
    ------
    QueryTypeError
        If a value on either side is a tensor.
    """
    if (query := e.args.get("query")) is not None:
        return _in_query(low, e, query.this if isinstance(query, exp.Subquery) else query, scope)
    if isinstance(e.this, exp.Tuple):
        if (field := e.args.get("field")) is not None:
            raise QueryTypeError(
                f"{text_of(e.this)} IN must be followed by a query or a list of rows, such as "
                f"((1, 'a'), (2, 'b')), but it is followed by {text_of(field)}."
            )
        equal = [exp.EQ(this=e.this, expression=option) for option in e.expressions]
        return low.value(_join_with_or(equal), scope)
    this = low.types.refine(low.value(e.this, scope))
    if needs_numpy(this):
        raise _tensor_error(e.this)
    values = _values_of_list(low, e, scope, mixes=_compares_with_both(this))
    if is_digest(this) and any(map(is_digest, values)):
        equal = [exp.EQ(this=e.this, expression=v) for v in e.expressions]
        return low.value(_join_with_or(equal), scope)
    values = [scalar_to_sql(adapt_for_equality(v, this), low, scope) for v in values]
    values = [low.types.refine(v) for v in values]
    this = scalar_to_sql(this, low, scope)
    is_searched = isinstance(this, Constant) and not all(isinstance(v, Constant) for v in values)
    has_nulls = kind_of(this).real and not all(map(is_present, values))
    is_mixed = any(
        beside_floats.are_mixed(kind_of(this), kind_of(v))
        or differ_in_unit(*with_units(this, v, low))
        for v in values
    )
    if is_searched or has_nulls or is_mixed or any(compares_as_json(this, v) for v in values):
        tests = [compare_scalars(exp.EQ, this, v, low, scope) for v in values]
        return Sql(_join_with_or(tests), BOOL)
    for value in values:
        agree(this, value)
    options = [agree(value, this) for value in values]
    if not options:
        return Sql(exp.false(), BOOL)
    if {"class", "text"} <= {kind_of(v).name for v in (this, *options)}:  # compare the names
        this, options = by_name(this), [by_name(value) for value in values]
    a = low.as_sql(agree(this, options[0]), scope)
    node = exp.In(this=a, expressions=[low.as_sql(o, scope) for o in options])
    return Sql(exclude_nan(node, [(a, this)]), BOOL)


def _join_with_or(conditions: Sequence[exp.Expr]) -> exp.Expr:
    """Return conditions joined with OR, or FALSE if there are none."""
    if not conditions:
        return exp.false()
    return exp.Paren(this=combine_balanced(exp.Or, conditions))


def _compares_with_both(value: Value) -> bool:
    """Return whether a value is a class or JSON, which can be compared with strings and numbers."""
    kind = kind_of(value).name
    return kind == "class" or (kind == "json" and not isinstance(value, Constant))


def _values_of_list(low: Lowering, e: exp.In, scope: Scope, *, mixes: bool) -> list[Value]:
    """Return the values of the list that follows IN.

    If a list mixes strings with numbers, its values become JSON. If `mixes` is true, they do not,
    because the value before IN can be compared with both.

    Raises
    ------
    QueryTypeError
        If IN is not followed by a list, or if one of several values is a list.
    """
    field = e.args.get("field")
    values = [low.value(option, scope) for option in (e.expressions if field is None else [field])]
    if field is not None and not has_list(values[0]):
        raise QueryTypeError(
            f"IN must be followed by a list or a query, but it is followed by {text_of(field)}. To "
            f"look for an element, write CONTAINS({text_of(field)}, {text_of(e.this)})."
        )
    if len(values) == 1 and has_list(values[0]):
        items = items_of(values[0])
        if not values[0].is_json or mixes:
            return list(items)
        return [v if is_null_constant(v) else Sql(as_json(v, low, scope), JSON) for v in items]
    if any(map(has_list, values)):
        raise QueryTypeError(
            f"IN takes single values or one list of values, but the query contains {text_of(e)}. "
            "Write all values in one list."
        )
    return values


def _in_query(low: Lowering, e: exp.In, inner: exp.Query, scope: Scope) -> Value:
    """Lower IN that is followed by a query.

    The query must have one column for each value before IN. Each value and its column are converted
    to the same form: JSON becomes a string that is the same for all equal values, class numbers
    become names if the classes of the two differ, and integers and floats become structs that
    compare exactly.
    """
    parts = e.this.expressions if isinstance(e.this, exp.Tuple) else [e.this]
    values = [low.value(part, scope) for part in parts]
    query, selected = low.lower_query(inner, scope)
    if len(selected) != len(parts):
        raise QueryTypeError(
            f"The query after {text_of(e.this)} IN must have one column for each value before IN, "
            f"but it has {len(selected)}: {text_of(inner)}. Select one column for each value."
        )
    for part, value, column in zip(parts, values, selected, strict=True):
        if needs_numpy(value) or column.kind.name == "tensor":
            raise _tensor_error(part if needs_numpy(value) else inner)
    # DuckDB's IN follows its own rules, so each pair is first converted to the form in which `=`
    # would compare it.
    sides: list[exp.Expr] = []
    columns: list[exp.Expr] = []
    plain: list[tuple[exp.Expr, Value]] = []
    for value, column in zip(values, selected, strict=True):
        node, kind = exp.column(column.node.name, table=_SUBQUERY), column.kind
        value = scalar_to_sql(adapt_for_equality(value, Sql(node, kind)), low, scope)
        value, _ = with_units(low.types.refine(value), Sql(node, kind), low)
        check_bytes(value, Sql(node, kind))
        check_times_beside_json(value, Sql(node, kind))
        check_pair(value, kind_of(value), kind)
        plain.append((low.as_sql(value, scope), value))
        if compares_as_json(value, Sql(node, kind)):
            columns.append(json_key(as_json(Sql(node, kind), low, scope)))
            sides.append(json_key(as_json(value, low, scope)))
        elif kind.name == "class" and kind_of(value).names != kind.names:
            columns.append(class_name(node, kind.names))
            sides.append(as_text(value, low, scope))
        elif beside_floats.are_mixed(kind_of(value), kind):
            columns.append(beside_floats.key(node, kind))
            sides.append(beside_floats.key(low.as_sql(value, scope), kind_of(value)))
        elif differ_in_unit(value, Sql(node, kind)):
            value = agree(value, Sql(node, kind))
            columns.append(nanoseconds_of(node, Sql(node, kind)))
            sides.append(nanoseconds_of(low.as_sql(value, scope), value))
        else:
            columns.append(node)
            sides.append(low.as_sql(agree(value, Sql(node, kind)), scope))
    rows = select_from(columns, query, _SUBQUERY)
    if len(sides) > 1:
        condition = exp.In(this=exp.Tuple(expressions=sides), query=exp.Subquery(this=rows))
        return Sql(exclude_nan(condition, plain), BOOL)
    condition = exp.In(this=sides[0], query=exp.Subquery(this=rows))
    if not kind_of(values[0]).real:
        return Sql(condition, BOOL)
    # In DuckDB, NaN equals NaN. In this language, NaN equals no value, so NaN IN (…) is false, or
    # null if the query returns a null, as SQL prescribes for a value that is not found.
    of_nan = exp.If(this=exp.Exists(this=rows.where(is_null(columns[0]))), true=exp.null())
    ifs = [exp.If(this=is_nan(plain[0][0]), true=exp.Case(ifs=[of_nan], default=exp.false()))]
    return Sql(exp.Case(ifs=ifs, default=condition), BOOL)


_SUBQUERY = "sought"
"""Alias of the query after IN. The columns of this query are selected under this alias, in
converted form."""


def _tensor_error(e: exp.Expr) -> QueryTypeError:
    return QueryTypeError(
        f"IN compares one value per row, but {text_of(e)} is a tensor. Use CONTAINS(x, value), or "
        "compare HASH(x) with HASH(y)."
    )


def has_list(value: Value) -> TypeGuard[Constant]:
    """Return whether a value is a constant list or array."""
    return isinstance(value, Constant) and isinstance(value.value, list | np.ndarray)


def exists(low: Lowering, e: exp.Exists, scope: Scope) -> Value:
    """Lower EXISTS."""
    inner = e.this.this if isinstance(e.this, exp.Subquery) else e.this
    return Sql(exp.Exists(this=low.lower_query(inner, scope)[0]), BOOL)


def subquery(low: Lowering, e: exp.Subquery, scope: Scope) -> Value:
    """Lower a query in parentheses that is used as a single value, a scalar or a tensor."""
    return low.one_value(e.this, scope)
