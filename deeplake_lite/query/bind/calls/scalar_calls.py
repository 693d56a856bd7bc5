"""Lower calls to DuckDB functions, whose arguments are scalars or lists."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from sqlglot import exp

from deeplake_lite.errors import QueryTypeError
from deeplake_lite.query.bind.calls import function_names
from deeplake_lite.query.bind.calls.catalog import catalog, takes_nanoseconds, takes_no_text
from deeplake_lite.query.bind.calls.growth import check_growth
from deeplake_lite.query.bind.calls.result_kinds import items_in, result_kind
from deeplake_lite.query.bind.calls.unknown_function import unknown_function
from deeplake_lite.query.bind.expressions.constants import constant
from deeplake_lite.query.bind.scalars import beside_floats
from deeplake_lite.query.bind.scalars.agreement import (
    agree,
    check_column,
    check_times_beside_json,
    unify,
)
from deeplake_lite.query.bind.scalars.conversions import (
    as_json,
    as_list_of_json,
    as_part,
    as_text,
    check_ordered,
    scalar_to_sql,
)
from deeplake_lite.query.bind.scalars.exact import parse_fraction
from deeplake_lite.query.bind.scalars.json_values import (
    as_exact_number,
    as_number,
    json_key,
    json_order,
    readable_path,
)
from deeplake_lite.query.bind.scalars.kinds import (
    WORDS,
    has_axes,
    is_json,
    is_null_constant,
    kind_of,
    lists_json,
    mixes_json,
)
from deeplake_lite.query.bind.scalars.list_order import sort_nan_last
from deeplake_lite.query.bind.scalars.moments import (
    IN_MICROSECONDS,
    as_timestamp,
    floor_to_microseconds,
    in_microseconds,
    is_fine,
    read_quoted_time,
    read_quoted_times,
    takes_microseconds,
    with_units_beside_texts,
)
from deeplake_lite.query.bind.scalars.structs import LOOKUPS, check_lookup, with_sought_times
from deeplake_lite.query.parse.dialect import text_of
from deeplake_lite.query.values import JSON, Constant, Kind, Sql, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deeplake_lite.query.bind.calls.arguments import Arguments
    from deeplake_lite.query.bind.expressions.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope


def call_scalars(
    low: Lowering, name: str, arguments: Arguments, e: exp.Anonymous, scope: Scope
) -> Value:
    """Lower a call to a DuckDB function, whose arguments are all scalars or lists.

    The arguments are converted so that the call follows the rules of the query language: classes
    become their names, JSON is compared by value, and timestamps keep their nanoseconds.
    """
    args, duckdb_name = arguments.values, function_names.NAMES.get(name, name)
    if duckdb_name.lower() not in catalog():
        raise unknown_function(name)
    if name in function_names.AGGREGATES:
        if not args:
            raise QueryTypeError(
                f"{name} needs a value to aggregate, but the call is {text_of(e)}. Write {name}(x)."
            )
        if name == "MODE" and len(args) > 1:
            raise QueryTypeError(
                f"MODE takes one argument, but the call is {text_of(e)}. Write MODE(x)."
            )
        if scope.in_aggregate and not scope.in_window:
            raise QueryTypeError(
                f"Aggregates cannot be nested, but {text_of(e)} is inside another aggregate. Write "
                f"a subquery: SELECT MAX(m) FROM (SELECT {text_of(e)} AS m … GROUP BY …)."
            )
        if not scope.in_aggregate:
            scope.count_aggregate()
    if name in function_names.ORDERS:
        check_ordered(*args)
    _check_form(name, args, e)
    if name in function_names.HOLDS_PARTS:
        args = [low.types.refine(a) for a in args]
    if name in LOOKUPS:
        check_lookup(name, [low.types.refine(a) for a in args])
        args = with_sought_times(name, args)
    args = _unify_items(name, args, low, scope)
    if name in function_names.UNIFIES:
        _refuse_json(name, args, e)
        args, kind = unify(args, low, scope)
    elif name in function_names.WITH_DEFAULT and len(args) == 3:
        [first, default], kind = unify([args[0], args[2]], low, scope)
        args = [_widen(first, default, low, scope), args[1], default]
    else:
        first_time = function_names.OF_TIMES.get(name, len(args))
        times = with_units_beside_texts(args[first_time:], low)
        _check_times(name, times, e.expressions[first_time:])
        args = [*args[:first_time], *_read_times(name, times)]
        kind = result_kind(name, duckdb_name, args)
        if takes_no_text(duckdb_name):
            args = [parse_fraction(a) for a in args]
    if name in function_names.TAKES_PATHS:
        args = [args[0], *map(_as_path, args[1:])] if args else args
    nodes = [_argument(name, a, low, scope) for a in args]
    if name in IN_MICROSECONDS:
        nodes = [
            in_microseconds(n, e) if is_fine(a) else n for n, a in zip(nodes, args, strict=True)
        ]
    elif takes_microseconds(duckdb_name, args):
        nodes = [floor_to_microseconds(n, a) for n, a in zip(nodes, args, strict=True)]
    if takes_nanoseconds(duckdb_name):
        nodes = [as_timestamp(n, a) for n, a in zip(nodes, args, strict=True)]
    nodes = check_growth(duckdb_name, args, nodes, e, scope.lengths)
    if any(map(is_json, args)):
        duckdb_name, nodes = _adapt_json(duckdb_name, args, nodes, e)
    for at, part in enumerate(e.expressions):
        if isinstance(part, exp.Star):
            nodes[at] = exp.Star()
    if arguments.distinct:
        if is_json(args[0]) and duckdb_name not in _NUMERIC:
            nodes[0] = json_key(nodes[0])
        arguments.order = [
            _sort_like_argument(term, args[0], nodes[0], low, scope) for term in arguments.order
        ]
        nodes[0] = exp.Distinct(expressions=[nodes[0]])
    if arguments.order:
        nodes[-1] = exp.Order(this=nodes[-1], expressions=arguments.order)
    if name == "LOG" and len(nodes) == 2:  # LOG(base, x), while LOG(x) is LN in DuckDB
        duckdb_name = name
    return Sql(sort_nan_last(name, args, exp.Anonymous(this=duckdb_name, expressions=nodes)), kind)


def _check_form(name: str, args: Sequence[Value], e: exp.Anonymous) -> None:
    """Check the arguments of functions that return strings, and of STRUCT_PACK.

    Raises
    ------
    QueryTypeError
        If an argument of a function that returns a string is bytes, or if an argument of
        STRUCT_PACK has no name.
    """
    kinds = [kind_of(a) for a in args] if name in function_names.WRITES_TEXTS else []
    if any("bytes" in (kind.name, kind.item_kind.name) for kind in kinds):
        raise QueryTypeError(
            f"{name} returns a string, so its arguments must not be bytes, but the call is "
            f"{text_of(e)}. Write DECODE(x) for UTF-8, or HEX(x)."
        )
    have_names = all(isinstance(part, exp.PropertyEQ) for part in e.expressions)
    if name == "STRUCT_PACK" and not have_names:
        raise QueryTypeError(
            f"STRUCT_PACK needs a name for every field, but the call is {text_of(e)}. Write "
            "STRUCT_PACK(name := x), or {'name': x}."
        )


def _as_path(value: Value) -> Value:
    """Rewrite a constant JSON path so that DuckDB can read it. Return other values unchanged."""
    if isinstance(value, Constant) and isinstance(value.value, str):
        return constant(readable_path(value.value))
    return value


def _argument(name: str, value: Value, low: Lowering, scope: Scope) -> exp.Expr:
    """Return an argument as the SQL that a function expects.

    For most functions, classes are converted to their names.
    """
    if is_json(value) and name in function_names.OF_CONDITIONS:
        return low.condition(value, scope)
    if (
        is_json(value)
        and name in function_names.OF_JSON | function_names.SEEKS | function_names.RESIZES
    ):
        return exp.cast(low.as_sql(value, scope), "JSON")
    if name in function_names.HOLDS_PARTS | function_names.HOLDS_VALUES:
        return low.as_sql(as_part(scalar_to_sql(value, low, scope)), scope)
    if (
        name in function_names.JOINS
        or name not in function_names.AGGREGATES | function_names.SAME | function_names.REAL
    ):
        return as_text(value, low, scope)
    return low.as_sql(value, scope)


def _widen(value: Value, default: Value, low: Lowering, scope: Scope) -> Value:
    """Widen the first argument of LAG or LEAD to a type that can also represent the default.

    DuckDB would round the default to the type of the first argument.
    """
    if is_null_constant(default) or kind_of(value).htype == kind_of(default).htype is not None:
        return value
    sides = [low.as_sql(v, scope) for v in (value, default)]
    ifs = [exp.If(this=exp.true(), true=sides[0])]
    return Sql(exp.Case(ifs=ifs, default=sides[1]), kind_of(value))


def _unify_items(name: str, args: list[Value], low: Lowering, scope: Scope) -> list[Value]:
    """Return the arguments of a function of lists, converted so that all items have one type.

    The arguments are lists, and values to find in a list or to add to a list. If an argument is
    JSON, all items become JSON.
    """
    if name == "MAP":  # keys and values may have different kinds
        return args
    if name in function_names.OF_ONE_KIND:
        args = _parse_quoted_times(name, args)
        samples = [item for at, a in enumerate(args) for item in items_in(name, at, a)]
        check_column(samples)
        if (
            name not in function_names.EXTENDS_LISTS | function_names.RESIZES
        ):  # in these cases, the function compares items
            of_kinds = {kind_of(item): item for item in samples}
            for pair in combinations(of_kinds.values(), 2):
                check_times_beside_json(*pair)
        values = [scalar_to_sql(a, low, scope) if not has_axes(a) else a for a in args]
        values = [low.types.refine(a) for a in values]
        floats = beside_floats.as_floats(values, [kind_of(a) for a in values])
        if any(a is not b for a, b in zip(values, floats, strict=True)):
            args = floats
    kinds, seeks = [_kind_of_list(a) for a in args], name in function_names.SEEKS
    lists = [kind.name == "list" or has_axes(a) for kind, a in zip(kinds, args, strict=True)]
    items = [kind.item_kind if listed else kind for kind, listed in zip(kinds, lists, strict=True)]
    is_sought = any(map(is_json, args)) or mixes_json(*items)
    if any(map(lists_json, kinds)) or (seeks and any(lists) and is_sought):
        return [
            as_list_of_json(a, low, scope)
            if listed
            else _as_json_item(a, low, scope)
            if seeks or (name in function_names.RESIZES and at == 2)
            else a
            for at, (a, listed) in enumerate(zip(args, lists, strict=True))
        ]
    if not seeks:
        return args
    of_numbers = any(kind.name == "list" and kind.item_kind.name == "number" for kind in kinds)
    return [parse_fraction(a) for a in args] if of_numbers else args


def _check_times(name: str, args: list[Value], parts: list[exp.Expr]) -> None:
    """Raise QueryTypeError if some arguments are times and others JSON or non-constant strings."""
    if not any(kind_of(a).name == "time" for a in args):
        return
    for value, part in zip(args, parts, strict=False):
        kind = kind_of(value).name
        if kind == "json" or (kind == "text" and not isinstance(value, Constant)):
            raise QueryTypeError(
                f"The arguments of {name} must be times, but {text_of(part)} is {WORDS[kind]}. "
                f"Convert it: CAST({text_of(part)} AS TIMESTAMP)."
            )


def _read_times(name: str, args: list[Value]) -> list[Value]:
    """Return the arguments. If one of them is a time, constant strings are parsed as times."""
    if name in ("ADD", "SUBTRACT") and len(args) == 2:
        return read_quoted_times(exp.Add if name == "ADD" else exp.Sub, args)
    time = next((a for a in args if kind_of(a).name == "time"), None)
    if time is None:
        return args
    return [read_quoted_time(a, time) for a in args]


def _parse_quoted_times(name: str, args: list[Value]) -> list[Value]:
    """Return the arguments. If a list contains times, constant strings are parsed as times."""
    items = [item for at, a in enumerate(args) for item in items_in(name, at, a)]
    time = next((item for item in items if kind_of(item).name == "time"), None)
    if time is None:
        return args
    return [
        agree(read_quoted_time(a, time), time) if isinstance(a, Constant) and not has_axes(a) else a
        for a in args
    ]


def _kind_of_list(value: Value) -> Kind:
    """Return the kind of a value. For a constant list of JSON, this is a list of JSON values."""
    return JSON.as_list if isinstance(value, Constant) and value.is_json else kind_of(value)


def _as_json_item(value: Value, low: Lowering, scope: Scope) -> Value:
    """Convert a value to an item of a list of JSON values."""
    return as_part(Sql(as_json(value, low, scope), JSON))


def _sort_like_argument(
    term: exp.Expr, argument: Value, node: exp.Expr, low: Lowering, scope: Scope
) -> exp.Expr:
    """Return a term of ORDER BY in a call with DISTINCT.

    DuckDB can sort such a call only by the argument itself. If the argument has been converted, for
    example to class names, a term that equals the unconverted argument is therefore replaced with
    the converted argument `node`.
    """
    if term.this == low.as_sql(argument, scope):
        term.set("this", node.copy())
    return term


def _adapt_json(
    name: str, args: list[Value], nodes: list[exp.Expr], e: exp.Expr
) -> tuple[str, list[exp.Expr]]:
    """Return the name of the DuckDB function to call for JSON values, and its arguments.

    JSON arguments of numeric functions become numbers. For functions that compare values, JSON is
    converted so that it is compared by value.
    """
    of_json = [is_json(a) for a in args]
    if name in ("MIN", "MAX"):
        return f"ARG_{name}", [nodes[0], json_order(nodes[0])]
    if name in _COUNTS_EQUALS:
        return name, [json_key(n) if json else n for n, json in zip(nodes, of_json, strict=True)]
    if name in function_names.BY_ANOTHER:
        by = zip(nodes[1:], of_json[1:], strict=True)
        return name, [nodes[0], *(json_order(n) if json else n for n, json in by)]
    if name not in _NUMERIC:
        return name, nodes
    pairs = zip(nodes, of_json, strict=True)
    if name == "SUM":
        return name, [as_exact_number(n, text_of(e)) if json else n for n, json in pairs]
    return name, [as_number(n) if json else n for n, json in pairs]


def _refuse_json(name: str, args: list[Value], e: exp.Anonymous) -> None:
    """Raise QueryTypeError if the function is GREATEST or LEAST and an argument is JSON."""
    json = next((p for p, a in zip(e.expressions, args, strict=False) if is_json(a)), None)
    if json is not None and name in ("GREATEST", "LEAST"):
        type_ = "TIMESTAMP" if any(kind_of(a).name == "time" for a in args) else "DOUBLE"
        raise QueryTypeError(
            f"The arguments of {name} must have the same type, but a JSON value may be a number or "
            f"a string. Write CAST({text_of(json)} AS {type_}), or AS TEXT."
        )


_COUNTS_EQUALS = {"MODE", "APPROX_COUNT_DISTINCT", "ENTROPY"}
"""Aggregates that only test whether values are equal."""

_NUMERIC = {function_names.NAMES.get(name, name) for name in function_names.REAL | {"SUM"}}
"""DuckDB's names of numeric functions."""
