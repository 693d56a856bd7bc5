"""Lowering of function calls to DuckDB, to NumPy or to an aggregate over a group.

DuckDB computes functions of scalars, and the registry has the functions of tensors. A name that
both have (SUM, MIN, …) means NumPy's function for a tensor outside of GROUP BY, and an aggregate
otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from deeplake_lite.errors import NotFoundError, QueryError, QueryTypeError
from deeplake_lite.query.bind.calls import known
from deeplake_lite.query.bind.calls.aggregates import (
    aggregate_group,
    map_rows,
    order_terms,
    pick_row,
)
from deeplake_lite.query.bind.calls.catalog import (
    catalog,
    kind_returned,
    takes_nanoseconds,
    takes_no_text,
)
from deeplake_lite.query.bind.calls.growth import check_growth
from deeplake_lite.query.bind.calls.lambdas import LAMBDAS
from deeplake_lite.query.bind.calls.special import OF_OTHERS, SPECIAL
from deeplake_lite.query.bind.expressions.constants import constant, items_of, option
from deeplake_lite.query.bind.expressions.digests import count_argument
from deeplake_lite.query.bind.scalars import beside_floats
from deeplake_lite.query.bind.scalars.exact import parse_fraction
from deeplake_lite.query.bind.scalars.json_values import (
    as_exact_number,
    as_number,
    json_key,
    json_order,
    readable_path,
)
from deeplake_lite.query.bind.scalars.kinds import (
    agree,
    as_json,
    as_list_of_json,
    as_part,
    as_text,
    by_name,
    check_column,
    check_ordered,
    has_axes,
    is_json,
    is_null_constant,
    is_numpys,
    kind_of,
    lists_json,
    mixes_json,
    ordering,
    settled,
    unified,
)
from deeplake_lite.query.bind.scalars.list_order import sort_nan_last
from deeplake_lite.query.bind.scalars.moments import (
    IN_MICROSECONDS,
    as_timestamp,
    floor_to_microseconds,
    in_microseconds,
    is_fine,
    takes_microseconds,
)
from deeplake_lite.query.bind.scalars.structs import (
    LOOKUPS,
    check_lookup,
    kind_of_map,
    kind_of_parts,
)
from deeplake_lite.query.functions import REGISTRY
from deeplake_lite.query.functions.user import OWN
from deeplake_lite.query.parse.dialect import text_of
from deeplake_lite.query.values import (
    ANY,
    JSON,
    NUMBER,
    REAL,
    TEXT,
    TIME,
    Constant,
    Kind,
    Sql,
    Tensor,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deeplake_lite.query.bind.expressions.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope
    from deeplake_lite.query.functions import Function


_OPERATORS: dict[str, Callable[[exp.Anonymous], exp.Expr]] = {
    "DATE_ADD": lambda e: exp.Add(this=e.expressions[0], expression=e.expressions[1]),
    "EQUALS": lambda e: exp.EQ(this=e.expressions[0], expression=e.expressions[1]),
    "LOGICAL_AND": lambda e: exp.and_(*e.expressions),
    "LOGICAL_OR": lambda e: exp.or_(*e.expressions),
    "LOGICAL_NOT": lambda e: exp.Not(this=e.expressions[0]),
    "NULLIF": lambda e: exp.Case(
        ifs=[
            exp.If(this=exp.EQ(this=e.expressions[0], expression=e.expressions[1]), true=exp.null())
        ],
        default=e.expressions[0],
    ),
}
"""Functions that are replaced with operators or with CASE."""

_SIDES = {
    "DATE_ADD": 2, "EQUALS": 2, "LOGICAL_AND": 2, "LOGICAL_OR": 2, "LOGICAL_NOT": 1, "NULLIF": 2,
}  # fmt: skip
"""Number of arguments that these take; LOGICAL_AND and LOGICAL_OR may have more."""


NAMED = _OPERATORS.keys() | SPECIAL.keys() | OF_OTHERS.keys() | LAMBDAS.keys() | {"COLUMNS"}
"""Names that are handled here, before the registry and DuckDB's catalog are searched."""


@dataclass
class _Arguments:
    """The lowered arguments of a call."""

    values: list[Value] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    """Constant arguments by name."""
    order: list[exp.Expr] = field(default_factory=list)
    """Terms of ORDER BY within the call."""
    distinct: bool = False
    """Whether an aggregate takes each value once."""


def call(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value:
    """Lower a function call.

    Raises
    ------
    NotFoundError
        For an unknown function, with the closest names.
    """
    name = e.name.upper()
    if name in OWN:
        return _call_user_function(low, OWN[name], e, scope)
    if name == "COLUMNS":
        raise QueryError("COLUMNS is not part of the language. Name the columns, or write *.")
    if name in ("ARRAY_VALUE", "LIST_PACK", "LIST_VALUE"):
        return low.value(exp.Array(expressions=e.expressions), scope)
    if name in _OPERATORS:
        count, least = len(e.expressions), _SIDES[name]
        if count < least or (count > least and name not in ("LOGICAL_AND", "LOGICAL_OR")):
            noun = "argument" if least == 1 else "arguments"
            raise QueryTypeError(
                f"{name} takes {least} {noun}, but the call has {count}: {text_of(e)}."
            )
        return low.value(_OPERATORS[name](e), scope)
    if name in known.TAKES_NOTHING and e.expressions:
        raise QueryTypeError(f"{name}() takes no arguments, but the call is {text_of(e)}.")
    special = SPECIAL.get(name) or OF_OTHERS.get(name) or LAMBDAS.get(name)
    if special is not None:
        value: Value | None = special(low, e, scope)
        if value is not None:
            return value
    args = _arguments(low, e, REGISTRY.get(name), scope, over_rows=name in known.AGGREGATES)
    has_tensors = name in REGISTRY and name != "COUNT" and any(map(has_axes, args.values))
    if has_tensors or any(isinstance(a, Tensor) and is_numpys(a) for a in args.values):
        return _call_tensors(low, name, args, e, scope)
    if name in REGISTRY and name not in known.OF_SCALARS:
        return low.call(name, args.values, args.options, e)
    if args.options:
        named = ", ".join(args.options)
        raise QueryTypeError(
            f"{name} does not take {named} for scalars, but the call is {text_of(e)}. Leave "
            f"{named} out."
        )
    return _call_scalars(low, name, args, e, scope)


def _call_user_function(low: Lowering, entry: Function, e: exp.Anonymous, scope: Scope) -> Tensor:
    """Lower a call to a user's function."""
    args = _arguments(low, e, entry, scope, over_rows=False)
    if args.distinct or args.order:
        raise QueryTypeError(
            f"Only aggregates take DISTINCT or ORDER BY within a call, but the call is "
            f"{text_of(e)}."
        )
    return low.call(entry, args.values, args.options, e)


def _arguments(
    low: Lowering, e: exp.Anonymous, entry: Function | None, scope: Scope, *, over_rows: bool
) -> _Arguments:
    """Lower the arguments of a call, including options (``axis = 0``, ``axis := 0``)."""
    arguments = _Arguments()
    inside = replace(scope, in_aggregate=True) if over_rows else scope
    for position, part in enumerate(e.expressions):
        if _is_option(part, position, entry, scope):
            arguments.options[part.this.name] = option(low, part.expression, inside)
        elif entry is not None and _is_misnamed(part, entry, scope):
            raise QueryTypeError(
                f"{e.name.upper()} has no option {part.this.name}, but the call is "
                f"{text_of(e)}. Call it as {entry.signature}."
            )
        else:
            if isinstance(part, exp.Order):
                arguments.order, part = order_terms(low, part, inside), part.this
            if isinstance(part, exp.Distinct):
                arguments.distinct, part = True, part.expressions[0]
            arguments.values.append(low.value(part, inside))
    return arguments


def _is_option(part: exp.Expr, position: int, entry: Function | None, scope: Scope) -> bool:
    """Return whether an argument is an option: ``axis = 0``, ``axis := 0`` or ``axis => 0``.

    ``x = 1`` is a comparison if it is the first argument, as in ``ANY(x = 1)``, or if x is a column
    and not a parameter that has a default.
    """
    is_equation = isinstance(part, exp.EQ | exp.PropertyEQ | exp.Kwarg)
    if not is_equation or not isinstance(part.this, exp.Column | exp.Identifier | exp.Var):
        return False
    name, parameters = part.this.name, _parameters(entry)
    if name not in parameters or not isinstance(part, exp.EQ):
        return name in parameters
    is_written_as_column = isinstance(part.this, exp.Column) and (
        bool(part.this.table) or part.this.this.quoted
    )
    is_column = name in scope.names() or scope.alias(name) is not None
    return position > 0 and not is_written_as_column and (parameters[name] or not is_column)


def _is_misnamed(part: exp.Expr, entry: Function, scope: Scope) -> bool:
    """Return whether an argument looks like an option, ``name = value``, of an unknown name."""
    if not isinstance(part, exp.EQ | exp.PropertyEQ | exp.Kwarg):
        return False
    is_name = (
        isinstance(part.this, exp.Column) and not part.this.table and not part.this.this.quoted
    )
    known_names = {*scope.names(), *_parameters(entry)}
    return is_name and part.this.name not in known_names and scope.alias(part.this.name) is None


def _parameters(entry: Function | None) -> dict[str, bool]:
    """Return the names of a function's parameters, from its signature, and which have defaults."""
    if entry is None or "(" not in entry.signature:
        return {}
    inside = entry.signature.split("(", 1)[1].rstrip(")")
    parts = [part.strip(" *") for part in inside.split(",") if part.strip()]
    return {part.split("=")[0].strip(): "=" in part for part in parts}


def _call_tensors(
    low: Lowering, name: str, arguments: _Arguments, e: exp.Anonymous, scope: Scope
) -> Value:
    """Lower a call with a tensor among its arguments."""
    args, first = arguments.values, arguments.values[0]
    if arguments.distinct:
        raise QueryTypeError(
            f"DISTINCT in a call compares one value per row, but {text_of(_tensor_among(args, e))} "
            "is a tensor. Select the distinct rows first: FROM (SELECT DISTINCT x FROM …)."
        )
    if name == "COUNT" and isinstance(first, Tensor):
        scope.note_aggregate()
        return Sql(
            exp.Anonymous(this="COUNT", expressions=[count_argument(first, low, scope)]), NUMBER
        )
    if name in known.BY_ANOTHER and len(args) > 2:
        raise QueryTypeError(
            f"{name} returns a single row for a tensor, but the call is {text_of(e)}. For several "
            "rows, write ORDER BY … LIMIT n."
        )
    if name in known.PICKS and isinstance(first, Tensor) and not any(map(has_axes, args[1:])):
        if name not in known.WINDOWS:
            scope.note_aggregate()
        rest = [ordering(a, low, scope) for a in args[1:]]
        if name in known.PASSES_NULLS:
            present = count_argument(first, low, scope)
            first = map_rows(first, lambda row: _where_present(row, present), text_of(e))
        return pick_row(first, name, rest, arguments.order, text_of(e))
    if name in known.LISTS and isinstance(first, Tensor):
        scope.note_aggregate()
        return aggregate_group(first, "LIST", text_of(e), arguments.order)
    is_complex = isinstance(first, Tensor) and first.is_scalar and is_numpys(first)
    if is_complex and known.ELEMENTWISE.get(name, name) in ("MIN", "MAX", "MEDIAN"):
        raise QueryTypeError(
            f"Complex numbers have no order, which {text_of(e)} needs. Use their absolute values: "
            "ABS(x)."
        )
    over_group = (scope.grouped or is_complex) and not scope.in_aggregate
    if name in known.ROWWISE and over_group and not arguments.options and len(args) == 1:
        scope.note_aggregate()
        first = low.as_tensor(first, text_of(e))
        return aggregate_group(first, known.ELEMENTWISE.get(name, name), text_of(e))
    if arguments.order:
        raise QueryTypeError(
            f"Only aggregates take ORDER BY within a call, but the call is {text_of(e)}."
        )
    if name in ("COALESCE", "IFNULL"):
        return low.value(_first_present(e.expressions), scope)
    if name in REGISTRY:
        return low.call(name, args, arguments.options, e)
    if name.lower() in catalog():
        raise QueryTypeError(
            f"{name} takes one value per row, but {text_of(_tensor_among(args, e))} is a tensor. "
            "Reduce it, for example with MEAN(…), or take an element of it."
        )
    raise unknown_function(name)


def _where_present(row: exp.Expr, present: exp.Expr) -> exp.Expr:
    """Return a row's position, or null where `present` is null, so that aggregates skip it."""
    is_there = exp.not_(exp.Is(this=present.copy(), expression=exp.null()))
    return exp.Case(ifs=[exp.If(this=is_there, true=row)])


def _tensor_among(args: list[Value], e: exp.Anonymous) -> exp.Expr:
    """Return the first argument that is a tensor, as written in the query."""
    parts: list[exp.Expr] = e.expressions
    return next(p for p, a in zip(parts, args, strict=False) if is_numpys(a))


def _first_present(parts: list[exp.Expr]) -> exp.Case:
    """Return COALESCE as a CASE, for tensors."""
    *others, last = parts
    ifs = [exp.If(this=exp.Not(this=exp.Is(this=p, expression=exp.null())), true=p) for p in others]
    return exp.Case(ifs=ifs, default=last)


def _call_scalars(
    low: Lowering, name: str, arguments: _Arguments, e: exp.Anonymous, scope: Scope
) -> Value:
    """Lower a call to a DuckDB function, whose arguments are all scalars or lists.

    The arguments are converted to the form in which DuckDB computes by the rules of the language:
    classes become their names, JSON compares by value, and nanoseconds are not lost.
    """
    args, duckdb_name = arguments.values, known.NAMES.get(name, name)
    if duckdb_name.lower() not in catalog():
        raise unknown_function(name)
    if name in known.AGGREGATES:
        if not args:
            raise QueryTypeError(
                f"{name} must be given the value to aggregate, but the call is {text_of(e)}."
            )
        if name == "MODE" and len(args) > 1:
            raise QueryTypeError(f"MODE takes one value, but the call is {text_of(e)}.")
        if scope.in_aggregate and not scope.in_window:
            raise QueryTypeError(
                f"Aggregates cannot be nested, but {text_of(e)} is within another one. Write a "
                f"subquery: SELECT MAX(m) FROM (SELECT {text_of(e)} AS m … GROUP BY …)."
            )
        if not scope.in_aggregate:
            scope.note_aggregate()
    if name in known.ORDERS:
        check_ordered(*args)
    _check_form(name, args, e)
    if name in known.HOLDS_PARTS:
        args = [low.types.refined(a) for a in args]
    if name in LOOKUPS:
        check_lookup(name, [low.types.refined(a) for a in args])
    args = _unify_items(name, args, low, scope)
    if name in known.UNIFIES:
        _refuse_json(name, args, e)
        args, kind = unified(args, low, scope)
    elif name in known.WITH_DEFAULT and len(args) == 3:
        [first, default], kind = unified([args[0], args[2]], low, scope)
        args = [_widened(first, default, low, scope), args[1], default]
    else:
        kind = _result_kind(name, duckdb_name, args)
        if takes_no_text(duckdb_name):
            args = [parse_fraction(a) for a in args]
    if name in known.TAKES_PATHS:
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
    """Reject bytes as arguments of functions that return strings, and unnamed fields of a struct.

    Raises
    ------
    QueryTypeError
        For such arguments.
    """
    kinds = [kind_of(a) for a in args] if name in known.WRITES_TEXTS else []
    if any("bytes" in (kind.name, kind.of_item.name) for kind in kinds):
        raise QueryTypeError(
            f"{name} makes strings, but bytes are among its values: {text_of(e)}. Write DECODE(x) "
            "for UTF-8, or HEX(x)."
        )
    named = [isinstance(part, exp.PropertyEQ) for part in e.expressions]
    if name == "STRUCT_PACK" and not all(named):
        raise QueryTypeError(
            f"STRUCT_PACK needs a name for every field, but the call is {text_of(e)}. Write "
            "STRUCT_PACK(name := x), or {'name': x}."
        )


def _as_path(value: Value) -> Value:
    """Return a constant JSON path in a form that DuckDB reads; return any other value as it is."""
    if isinstance(value, Constant) and isinstance(value.value, str):
        return constant(readable_path(value.value))
    return value


def _argument(name: str, value: Value, low: Lowering, scope: Scope) -> exp.Expr:
    """Return an argument as SQL in the form that a function takes, mostly with classes by name."""
    if is_json(value) and name in known.OF_CONDITIONS:
        return low.condition(value, scope)
    if is_json(value) and name in known.OF_JSON | known.SEEKS | known.RESIZES:
        return exp.cast(low.as_sql(value, scope), "JSON")
    if name in known.HOLDS_PARTS | known.HOLDS_VALUES:
        return low.as_sql(as_part(settled(value, low, scope)), scope)
    if name in known.JOINS or name not in known.AGGREGATES | known.SAME | known.REAL:
        return as_text(value, low, scope)
    return low.as_sql(value, scope)


def _widened(value: Value, default: Value, low: Lowering, scope: Scope) -> Value:
    """Return a value in a type that also holds its default, which SQL would round otherwise."""
    if is_null_constant(default) or kind_of(value).htype == kind_of(default).htype is not None:
        return value
    sides = [low.as_sql(v, scope) for v in (value, default)]
    ifs = [exp.If(this=exp.true(), true=sides[0])]
    return Sql(exp.Case(ifs=ifs, default=sides[1]), kind_of(value))


def _unify_items(name: str, args: list[Value], low: Lowering, scope: Scope) -> list[Value]:
    """Convert lists, and values that are looked for in them, to one form.

    If one of them is JSON, all become JSON.
    """
    if name == "MAP":  # its keys and values are independent of each other
        return args
    if name in known.OF_ONE_KIND:
        args = _parse_quoted_times(name, args)
        check_column(item for at, a in enumerate(args) for item in _items(name, at, a))
        values = [settled(a, low, scope) if not has_axes(a) else a for a in args]
        values = [low.types.refined(a) for a in values]
        floats = beside_floats.as_floats(values, [kind_of(a) for a in values])
        if any(a is not b for a, b in zip(values, floats, strict=True)):
            args = floats
    kinds, seeks = [_kind_of_list(a) for a in args], name in known.SEEKS
    lists = [kind.name == "list" or has_axes(a) for kind, a in zip(kinds, args, strict=True)]
    items = [kind.of_item if listed else kind for kind, listed in zip(kinds, lists, strict=True)]
    is_sought = any(map(is_json, args)) or mixes_json(*items)
    if any(map(lists_json, kinds)) or (seeks and any(lists) and is_sought):
        return [
            as_list_of_json(a, low, scope)
            if listed
            else _as_json_item(a, low, scope)
            if seeks or (name in known.RESIZES and at == 2)
            else a
            for at, (a, listed) in enumerate(zip(args, lists, strict=True))
        ]
    if not seeks:
        return args
    of_numbers = any(kind.name == "list" and kind.of_item.name == "number" for kind in kinds)
    return [parse_fraction(a) for a in args] if of_numbers else args


def _parse_quoted_times(name: str, args: list[Value]) -> list[Value]:
    """Return arguments with quoted times parsed if the items of others are times."""
    items = [item for at, a in enumerate(args) for item in _items(name, at, a)]
    time = next((item for item in items if kind_of(item).name == "time"), None)
    if time is None:
        return args
    return [agree(a, time) if isinstance(a, Constant) and not has_axes(a) else a for a in args]


def _kind_of_list(value: Value) -> Kind:
    """Return the kind of a value, also of a constant list that is JSON."""
    return JSON.listed if isinstance(value, Constant) and value.is_json else kind_of(value)


def _items(name: str, at: int, value: Value) -> list[Value]:
    """Return values of the kinds that an argument contributes to a list."""
    if name in known.RESIZES and at == 1:
        return []
    if isinstance(value, Constant) and isinstance(value.value, list):
        return list(items_of(value))
    kind = kind_of(value)
    if kind.name != "list":
        return [] if has_axes(value) else [by_name(value)]
    return [by_name(Sql(exp.null(), kind.of_item))]


def _as_json_item(value: Value, low: Lowering, scope: Scope) -> Value:
    """Convert a value to the form that items of a list of JSON have."""
    return as_part(Sql(as_json(value, low, scope), JSON))


def _sort_like_argument(
    term: exp.Expr, argument: Value, node: exp.Expr, low: Lowering, scope: Scope
) -> exp.Expr:
    """Return a term of ORDER BY in a call with DISTINCT.

    DuckDB sorts only by the argument of DISTINCT itself, so a term that is the argument gets the
    same form, for example the names of classes.
    """
    if term.this == low.as_sql(argument, scope):
        term.set("this", node.copy())
    return term


def _adapt_json(
    name: str, args: list[Value], nodes: list[exp.Expr], e: exp.Expr
) -> tuple[str, list[exp.Expr]]:
    """Return the function and its arguments for a call with JSON values.

    JSON values become numbers for functions of numbers, and compare by value elsewhere.
    """
    of_json = [is_json(a) for a in args]
    if name in ("MIN", "MAX"):
        return f"ARG_{name}", [nodes[0], json_order(nodes[0])]
    if name in _COUNTS_EQUALS:
        return name, [json_key(n) if json else n for n, json in zip(nodes, of_json, strict=True)]
    if name in known.BY_ANOTHER:
        by = zip(nodes[1:], of_json[1:], strict=True)
        return name, [nodes[0], *(json_order(n) if json else n for n, json in by)]
    if name not in _NUMERIC:
        return name, nodes
    pairs = zip(nodes, of_json, strict=True)
    if name == "SUM":
        return name, [as_exact_number(n, text_of(e)) if json else n for n, json in pairs]
    return name, [as_number(n) if json else n for n, json in pairs]


def _refuse_json(name: str, args: list[Value], e: exp.Anonymous) -> None:
    """Reject JSON in GREATEST and LEAST. Raises QueryTypeError."""
    json = next((p for p, a in zip(e.expressions, args, strict=False) if is_json(a)), None)
    if json is not None and name in ("GREATEST", "LEAST"):
        raise QueryTypeError(
            f"{name} must be given values of the same type, but a JSON value may be a number or a "
            f"string. Write CAST({text_of(json)} AS DOUBLE), or AS TEXT."
        )


_COUNTS_EQUALS = {"MODE", "APPROX_COUNT_DISTINCT", "ENTROPY"}
"""Aggregates that only distinguish equal values from different ones."""

_NUMERIC = {known.NAMES.get(name, name) for name in known.REAL | {"SUM"}}
"""Functions that take numbers, by DuckDB's names."""


def _result_kind(name: str, duckdb_name: str, args: list[Value]) -> Kind:
    """Return the kind of a function's result."""
    first = args[0] if args else None
    if name in known.LISTS and first is not None:
        return kind_of(first).listed
    if name in known.GIVES_JSON:
        return JSON
    if name in known.HOLDS_PARTS:
        return kind_of_map(args) if name == "MAP" else kind_of_parts(args)
    if name in known.EXTENDS_LISTS and any(lists_json(kind_of(a)) for a in args):
        return JSON.listed
    if name in known.JOINS:
        return TEXT
    if name in known.COUNTS:
        return NUMBER
    if name in ("RANGE", "GENERATE_SERIES"):  # `growth` rejects times
        return NUMBER.listed
    if name in known.EXTENDS_LISTS and (extended := _kind_extended(name, args)) is not None:
        return extended
    if name in known.REAL:
        return ANY if first is not None and kind_of(first).name in ("time", "text") else REAL
    if name in known.SAME and first is not None:
        kind = kind_of(first)
        if kind.name == "class" and name in known.KEEPS_CLASS:
            return kind
        keeps = name in known.KEEPS_CLASS and kind.name in ("number", "time")
        htype = kind.htype if keeps else None
        kind_name = kind.name if kind.name != "class" else "number"
        names = () if kind.name == "class" else kind.names
        return replace(kind, name=kind_name, names=names, htype=htype, dtype="")
    if name in known.LIKE_ARGUMENT and len(args) > known.LIKE_ARGUMENT[name]:
        like = args[known.LIKE_ARGUMENT[name]]
        kind = kind_of(by_name(like) if kind_of(like).name == "list" else like, plain=True)
        if kind.name in ("json", "class"):  # these become strings
            return TEXT
        if kind.name == "time":  # the result is in microseconds
            return TIME
        return kind.of_item if name in known.ELEMENTS and kind.name == "list" else kind
    if name == "CONCAT" and not {"list", "any", "tensor"} & {kind_of(a).name for a in args}:
        return TEXT
    return TEXT if name in known.GIVES_TEXT else kind_returned(duckdb_name)


def _kind_extended(name: str, args: list[Value]) -> Kind | None:
    """Return the kind of an extended list, or None if its items may be of several kinds."""
    items = {kind_of(item) for at, a in enumerate(args) for item in _items(name, at, a)}
    if {kind.name for kind in items} == {"number"}:
        return (REAL if any(kind.real for kind in items) else NUMBER).listed
    items = {replace(kind, htype=None) for kind in items}
    return items.pop().listed if len(items) == 1 and ANY not in items else None


def unknown_function(name: str) -> NotFoundError:
    """Return the error for an unknown function, with a hint about similar names."""
    ours = {n for n in (*REGISTRY, *OWN, *SPECIAL) if n.isidentifier()} - _WORDS
    theirs = {n.upper() for n in catalog()} - ours
    near = [
        *get_close_matches(name, sorted(ours), n=3),
        *get_close_matches(name, sorted(theirs), n=2, cutoff=0.75),
    ]
    hint = f" Did you mean {' or '.join(near[:3])}?" if near else ""
    return NotFoundError(
        f"There is no function {name}.{hint} `python -m deeplake_lite.query.reference` lists the "
        "functions that queries may call."
    )


_WORDS = {"AND", "OR", "NOT", "NEG"}
"""Names in the registry that are operators, not functions."""
