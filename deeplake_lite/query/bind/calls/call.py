"""What a function's name means where it stands: SQL's, NumPy's, or an aggregate over a group.

Scalars go to DuckDB, under its names. Tensors go to the registry. What SQL and NumPy both have
(SUM, MIN, …) is NumPy's for a tensor outside GROUP BY, and an aggregate otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from deeplake_lite.errors import NotFoundError, QueryError, QueryTypeError
from deeplake_lite.query.bind.calls import known
from deeplake_lite.query.bind.calls.aggregates import grouped, ordered, picked, rewritten
from deeplake_lite.query.bind.calls.catalog import (
    catalog,
    kind_returned,
    takes_nanoseconds,
    takes_no_text,
)
from deeplake_lite.query.bind.calls.growth import bounded
from deeplake_lite.query.bind.calls.lambdas import LAMBDAS
from deeplake_lite.query.bind.calls.special import OF_OTHERS, SPECIAL
from deeplake_lite.query.bind.expressions.constants import items_of, option
from deeplake_lite.query.bind.expressions.digests import count_argument
from deeplake_lite.query.bind.scalars import beside_floats
from deeplake_lite.query.bind.scalars.exact import parse_fraction
from deeplake_lite.query.bind.scalars.json_values import (
    as_exact_number,
    as_number,
    json_key,
    json_order,
)
from deeplake_lite.query.bind.scalars.kinds import (
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
"""Operators that may be written as functions, and CASE as NULLIF."""

_SIDES = {
    "DATE_ADD": 2, "EQUALS": 2, "LOGICAL_AND": 2, "LOGICAL_OR": 2, "LOGICAL_NOT": 1, "NULLIF": 2,
}  # fmt: skip
"""How many arguments those take: LOGICAL_AND and LOGICAL_OR at the least."""


NAMED = _OPERATORS.keys() | SPECIAL.keys() | OF_OTHERS.keys() | LAMBDAS.keys() | {"COLUMNS"}
"""Names that mean something here, before the registry and DuckDB are looked at."""


@dataclass
class _Arguments:
    """What a function is called with."""

    values: list[Value] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    """Those given by name."""
    order: list[exp.Expr] = field(default_factory=list)
    """What an aggregate sorts its rows by."""
    distinct: bool = False
    """Whether an aggregate takes each value once."""


def call(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value:
    """Return what a function call is.

    Raises
    ------
    NotFoundError
        For a function that nobody has, with the nearest names.
    """
    name = e.name.upper()
    if name in OWN:
        return _of_users(low, OWN[name], e, scope)
    if name == "COLUMNS":
        raise QueryError("COLUMNS is not part of the language. Name the columns, or write *.")
    if name in ("ARRAY_VALUE", "LIST_PACK", "LIST_VALUE"):
        return low.value(exp.Array(expressions=e.expressions), scope)
    if name in _OPERATORS:
        count, least = len(e.expressions), _SIDES[name]
        if count < least or (count > least and name not in ("LOGICAL_AND", "LOGICAL_OR")):
            raise QueryTypeError(f"{name} takes {least} value(s), got {count}: {text_of(e)}.")
        return low.value(_OPERATORS[name](e), scope)
    if name in known.TAKES_NOTHING and e.expressions:
        raise QueryTypeError(f"{name}() takes no arguments, but it is {text_of(e)}.")
    special = SPECIAL.get(name) or OF_OTHERS.get(name) or LAMBDAS.get(name)
    if special is not None:
        found: Value | None = special(low, e, scope)
        if found is not None:
            return found
    args = _arguments(low, e, REGISTRY.get(name), scope, over_rows=name in known.AGGREGATES)
    lists = name in REGISTRY and name != "COUNT" and any(map(has_axes, args.values))
    if lists or any(isinstance(a, Tensor) and is_numpys(a) for a in args.values):
        return _of_tensors(low, name, args, e, scope)
    if name in REGISTRY and name not in known.OF_SCALARS:
        return low.call(name, args.values, args.options, e)
    if args.options:
        named = ", ".join(args.options)
        raise QueryTypeError(f"{name} of scalars takes no {named}: {text_of(e)}.")
    return _of_scalars(low, name, args, e, scope)


def _of_users(low: Lowering, entry: Function, e: exp.Anonymous, scope: Scope) -> Tensor:
    """Return a call of a user's function."""
    args = _arguments(low, e, entry, scope, over_rows=False)
    if args.distinct or args.order:
        raise QueryTypeError(
            f"Only aggregates take DISTINCT or ORDER BY within a call, got {text_of(e)}."
        )
    return low.call(entry, args.values, args.options, e)


def _arguments(
    low: Lowering, e: exp.Anonymous, entry: Function | None, scope: Scope, *, over_rows: bool
) -> _Arguments:
    """Return the arguments, those given by name (``axis = 0``, ``axis := 0``), and ORDER BY."""
    found = _Arguments()
    parameters = _parameters(entry)
    inner = scope.in_aggregate
    scope.in_aggregate = inner or over_rows
    try:
        for part in e.expressions:
            named = (
                isinstance(part, exp.EQ | exp.PropertyEQ | exp.Kwarg)
                and part.this.name in parameters
            )
            if named and isinstance(part.this, exp.Column | exp.Identifier | exp.Var):
                found.options[part.this.name] = option(low, part.expression, scope)
            elif entry is not None and _misnamed(part, scope):
                raise QueryTypeError(
                    f"{e.name.upper()} has no option {part.this.name}, got {text_of(e)}. It is "
                    f"{entry.signature}."
                )
            else:
                if isinstance(part, exp.Order):
                    found.order, part = ordered(low, part, scope), part.this
                if isinstance(part, exp.Distinct):
                    found.distinct, part = True, part.expressions[0]
                found.values.append(low.value(part, scope))
    finally:
        scope.in_aggregate = inner
    return found


def _misnamed(part: exp.Expr, scope: Scope) -> bool:
    """Tell whether an argument is an option by a name that nothing has."""
    if not isinstance(part, exp.EQ | exp.PropertyEQ | exp.Kwarg):
        return False
    is_name = (
        isinstance(part.this, exp.Column) and not part.this.table and not part.this.this.quoted
    )
    return is_name and part.this.name not in {*scope.names(), *scope.aliases}


def _parameters(entry: Function | None) -> list[str]:
    """Return the names of a function's parameters, as its signature has them."""
    if entry is None or "(" not in entry.signature:
        return []
    inside = entry.signature.split("(", 1)[1].rstrip(")")
    return [part.split("=")[0].strip(" *") for part in inside.split(",") if part.strip()]


def _of_tensors(
    low: Lowering, name: str, given: _Arguments, e: exp.Anonymous, scope: Scope
) -> Value:
    args, first = given.values, given.values[0]
    if given.distinct:
        raise QueryTypeError(
            f"DISTINCT in a call compares one value per row, but {text_of(_tensor_among(args, e))} "
            "is a tensor. Query the rows that differ: FROM (SELECT DISTINCT x FROM …)."
        )
    if name == "COUNT" and isinstance(first, Tensor):
        scope.aggregated = True
        return Sql(
            exp.Anonymous(this="COUNT", expressions=[count_argument(first, low, scope)]), NUMBER
        )
    if name in known.BY_ANOTHER and len(args) > 2:
        raise QueryTypeError(
            f"{name} of a tensor takes one row's, but it is {text_of(e)}. For several rows, write "
            "ORDER BY … LIMIT n."
        )
    if name in known.PICKS and isinstance(first, Tensor) and not any(map(has_axes, args[1:])):
        scope.aggregated = scope.aggregated or name not in known.WINDOWS
        rest = [ordering(a, low, scope) for a in args[1:]]
        if name in known.PASSES_NULLS:
            present = count_argument(first, low, scope)
            first = rewritten(first, lambda row: _where_present(row, present), text_of(e))
        return picked(first, name, rest, given.order, text_of(e))
    if name in known.LISTS and isinstance(first, Tensor):
        scope.aggregated = True
        return grouped(first, "LIST", text_of(e), given.order)
    is_complex = isinstance(first, Tensor) and first.is_scalar and is_numpys(first)
    if is_complex and known.ELEMENTWISE.get(name, name) in ("MIN", "MAX", "MEDIAN"):
        raise QueryTypeError(
            f"Complex numbers are neither less nor greater than others, but {text_of(e)} puts them "
            "in order. Take that of their absolute values: ABS(x)."
        )
    over_group = (scope.grouped or is_complex) and not scope.in_aggregate
    if name in known.ROWWISE and over_group and not given.options and len(args) == 1:
        scope.aggregated = True
        first = low.as_tensor(first, text_of(e))
        return grouped(first, known.ELEMENTWISE.get(name, name), text_of(e))
    if given.order:
        raise QueryTypeError(f"ORDER BY within a call is of aggregates, got {text_of(e)}.")
    if name in ("COALESCE", "IFNULL"):
        return low.value(_first_present(e.expressions), scope)
    if name in REGISTRY:
        return low.call(name, args, given.options, e)
    if name.lower() in catalog():
        raise QueryTypeError(
            f"{name} takes one value per row, got {text_of(_tensor_among(args, e))}, which is a "
            "tensor. Reduce it, such as by MEAN(…), or take an element of it."
        )
    raise unknown_function(name)


def _where_present(row: exp.Expr, present: exp.Expr) -> exp.Expr:
    """Return a row's position where something is not null, for aggregates to pass over others."""
    is_there = exp.not_(exp.Is(this=present.copy(), expression=exp.null()))
    return exp.Case(ifs=[exp.If(this=is_there, true=row)])


def _tensor_among(args: list[Value], e: exp.Anonymous) -> exp.Expr:
    """Return the argument that is a tensor."""
    parts: list[exp.Expr] = e.expressions
    return next(p for p, a in zip(parts, args, strict=False) if is_numpys(a))


def _first_present(parts: list[exp.Expr]) -> exp.Case:
    """Return COALESCE of tensors, as CASE."""
    *others, last = parts
    ifs = [exp.If(this=exp.Not(this=exp.Is(this=p, expression=exp.null())), true=p) for p in others]
    return exp.Case(ifs=ifs, default=last)


def _of_scalars(
    low: Lowering, name: str, given: _Arguments, e: exp.Anonymous, scope: Scope
) -> Value:
    args, called = given.values, known.NAMES.get(name, name)
    if called.lower() not in catalog():
        raise unknown_function(name)
    if name in known.AGGREGATES:
        if not args:
            raise QueryTypeError(f"{name} takes what it goes over, got {text_of(e)}.")
        if name == "MODE" and len(args) > 1:
            raise QueryTypeError(f"MODE takes one value, but the call is {text_of(e)}.")
        if scope.in_aggregate and not scope.in_window:
            raise QueryTypeError(
                f"An aggregate goes over rows, and {text_of(e)} stands within another one. Query a "
                f"query: SELECT MAX(m) FROM (SELECT {text_of(e)} AS m … GROUP BY …)."
            )
        scope.aggregated = scope.aggregated or not scope.in_aggregate
    if name in known.ORDERS:
        check_ordered(*args)
    _check_form(name, args, e)
    if name in known.HOLDS_PARTS:
        args = [low.types.refined(a) for a in args]
    if name in LOOKUPS:
        check_lookup(name, [low.types.refined(a) for a in args])
    args = _in_form_of_items(name, args, low, scope)
    if name in known.UNIFIES:
        _one_type(name, args, e)
        args, kind = unified(args, low, scope)
    elif name in known.WITH_DEFAULT and len(args) == 3:
        [first, default], kind = unified([args[0], args[2]], low, scope)
        args = [_wide_enough(first, default, low, scope), args[1], default]
    else:
        kind = _result_kind(name, called, args)
        if takes_no_text(called):
            args = [parse_fraction(a) for a in args]
    nodes = [_argument(name, a, low, scope) for a in args]
    if name in IN_MICROSECONDS:
        nodes = [
            in_microseconds(n, e) if is_fine(a) else n for n, a in zip(nodes, args, strict=True)
        ]
    elif takes_microseconds(called, args):
        nodes = [floor_to_microseconds(n, a) for n, a in zip(nodes, args, strict=True)]
    if takes_nanoseconds(called):
        nodes = [as_timestamp(n, a) for n, a in zip(nodes, args, strict=True)]
    nodes = bounded(called, args, nodes, e, scope.lengths)
    if any(map(is_json, args)):
        called, nodes = _of_json(called, args, nodes, e)
    for at, part in enumerate(e.expressions):
        if isinstance(part, exp.Star):
            nodes[at] = exp.Star()
    if given.distinct:
        if is_json(args[0]) and called not in _NUMERIC:
            nodes[0] = json_key(nodes[0])
        given.order = [_by_argument(term, args[0], nodes[0], low, scope) for term in given.order]
        nodes[0] = exp.Distinct(expressions=[nodes[0]])
    if given.order:
        nodes[-1] = exp.Order(this=nodes[-1], expressions=given.order)
    if name == "LOG" and len(nodes) == 2:  # with a base
        called = name
    return Sql(sort_nan_last(name, args, exp.Anonymous(this=called, expressions=nodes)), kind)


def _check_form(name: str, args: Sequence[Value], e: exp.Anonymous) -> None:
    """Refuse bytes where SQL would take their texts, and parts of a struct without a name.

    Raises
    ------
    QueryTypeError
        With the way to write it.
    """
    kinds = [kind_of(a) for a in args] if name in known.WRITES_TEXTS else []
    if any("bytes" in (kind.name, kind.of_item.name) for kind in kinds):
        raise QueryTypeError(
            f"{name} makes texts, but bytes are among its values: {text_of(e)}. Write DECODE(x) "
            "for text in UTF-8, or HEX(x)."
        )
    named = [isinstance(part, exp.PropertyEQ) for part in e.expressions]
    if name == "STRUCT_PACK" and not all(named):
        raise QueryTypeError(
            f"STRUCT_PACK takes its parts with their names, but the call is {text_of(e)}. Write "
            "STRUCT_PACK(name := x), or {'name': x}."
        )


def _argument(name: str, value: Value, low: Lowering, scope: Scope) -> exp.Expr:
    """Return a value in the form in which a function takes it: classes by name, most often."""
    if is_json(value) and name in known.OF_JSON | known.SEEKS:
        return exp.cast(low.as_sql(value, scope), "JSON")
    if name in known.HOLDS_PARTS | known.HOLDS_VALUES:
        return low.as_sql(as_part(settled(value, low, scope)), scope)
    if name in known.JOINS or name not in known.AGGREGATES | known.SAME | known.REAL:
        return as_text(value, low, scope)
    return low.as_sql(value, scope)


def _wide_enough(value: Value, default: Value, low: Lowering, scope: Scope) -> Value:
    """Return a value in a type that holds its default, too; SQL would round the default."""
    if is_null_constant(default) or kind_of(value).htype == kind_of(default).htype is not None:
        return value
    sides = [low.as_sql(v, scope) for v in (value, default)]
    ifs = [exp.If(this=exp.true(), true=sides[0])]
    return Sql(exp.Case(ifs=ifs, default=sides[1]), kind_of(value))


def _in_form_of_items(name: str, args: list[Value], low: Lowering, scope: Scope) -> list[Value]:
    """Return lists, and what is sought in them, in one form: as JSON where one of them is."""
    if name == "MAP":  # of two lists, of kinds of their own
        return args
    if name in known.OF_ONE_KIND:
        check_column(item for at, a in enumerate(args) for item in _items(name, at, a))
        values = [settled(a, low, scope) if not has_axes(a) else a for a in args]
        values = [low.types.refined(a) for a in values]
        floats = beside_floats.as_floats(values, [kind_of(a) for a in values])
        if any(a is not b for a, b in zip(values, floats, strict=True)):
            args = floats
    kinds, seeks = [kind_of(a) for a in args], name in known.SEEKS
    lists = [kind.name == "list" or has_axes(a) for kind, a in zip(kinds, args, strict=True)]
    items = [kind.of_item if listed else kind for kind, listed in zip(kinds, lists, strict=True)]
    is_sought = any(map(is_json, args)) or mixes_json(*items)
    if any(map(lists_json, kinds)) or (seeks and any(lists) and is_sought):
        return [
            as_list_of_json(a, low, scope) if listed else _sought(a, low, scope) if seeks else a
            for a, listed in zip(args, lists, strict=True)
        ]
    if not seeks:
        return args
    of_numbers = any(kind.name == "list" and kind.of_item.name == "number" for kind in kinds)
    return [parse_fraction(a) for a in args] if of_numbers else args


def _items(name: str, at: int, value: Value) -> list[Value]:
    """Return values of the kinds that an argument brings into a list."""
    if name in known.RESIZES and at == 1:
        return []
    if isinstance(value, Constant) and isinstance(value.value, list):
        return list(items_of(value))
    kind = kind_of(value)
    if kind.name != "list":
        return [] if has_axes(value) else [by_name(value)]
    return [by_name(Sql(exp.null(), kind.of_item))]


def _sought(value: Value, low: Lowering, scope: Scope) -> Value:
    """Return a value in the form in which a list of JSON has it."""
    return as_part(Sql(as_json(value, low, scope), JSON))


def _by_argument(
    term: exp.Expr, argument: Value, node: exp.Expr, low: Lowering, scope: Scope
) -> exp.Expr:
    """Return a term of ORDER BY; DISTINCT sorts by what it compares: classes by name."""
    if term.this == low.as_sql(argument, scope):
        term.set("this", node.copy())
    return term


def _of_json(
    name: str, args: list[Value], nodes: list[exp.Expr], e: exp.Expr
) -> tuple[str, list[exp.Expr]]:
    """Return a function and its arguments where JSON values are among them.

    They are numbers where numbers are what the function takes, and are compared by value.
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


def _one_type(name: str, args: list[Value], e: exp.Anonymous) -> None:
    """Refuse JSON for the greatest of several values. Raises QueryTypeError."""
    json = next((p for p, a in zip(e.expressions, args, strict=False) if is_json(a)), None)
    if json is not None and name in ("GREATEST", "LEAST"):
        raise QueryTypeError(
            f"{name} takes values of one type, and a JSON value may be a number or a text: "
            f"CAST({text_of(json)} AS DOUBLE), or AS TEXT."
        )


_COUNTS_EQUALS = {"MODE", "APPROX_COUNT_DISTINCT", "ENTROPY"}
"""Aggregates that tell equal values from others, of which any stands for all."""

_NUMERIC = {known.NAMES.get(name, name) for name in known.REAL | {"SUM"}}
"""Functions that take numbers, by DuckDB's names."""


def _result_kind(name: str, called: str, args: list[Value]) -> Kind:
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
    if name in ("RANGE", "GENERATE_SERIES"):  # of times they are refused
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
        kept = kind.htype if keeps else None
        same = kind.name if kind.name != "class" else "number"
        names = () if kind.name == "class" else kind.names
        return replace(kind, name=same, names=names, htype=kept, dtype="")
    if name in known.LIKE_ARGUMENT and len(args) > known.LIKE_ARGUMENT[name]:
        like = args[known.LIKE_ARGUMENT[name]]
        kind = kind_of(by_name(like) if kind_of(like).name == "list" else like, plain=True)
        if kind.name in ("json", "class"):  # which are taken as texts
            return TEXT
        if kind.name == "time":  # in microseconds
            return TIME
        return kind.of_item if name in known.ELEMENTS and kind.name == "list" else kind
    if name == "CONCAT" and not {"list", "any", "tensor"} & {kind_of(a).name for a in args}:
        return TEXT
    return TEXT if name in known.GIVES_TEXT else kind_returned(called)


def _kind_extended(name: str, args: list[Value]) -> Kind | None:
    """Return the kind of a list with more items; None where they are not known to be of one."""
    items = {kind_of(item) for at, a in enumerate(args) for item in _items(name, at, a)}
    if {kind.name for kind in items} == {"number"}:
        return (REAL if any(kind.real for kind in items) else NUMBER).listed
    items = {replace(kind, htype=None) for kind in items}
    return items.pop().listed if len(items) == 1 and ANY not in items else None


def unknown_function(name: str) -> NotFoundError:
    """Return the error for a function that neither NumPy's part nor DuckDB has."""
    ours = {n for n in (*REGISTRY, *OWN, *SPECIAL) if n.isidentifier()} - _WORDS
    theirs = {n.upper() for n in catalog()} - ours
    near = [
        *get_close_matches(name, sorted(ours), n=3),
        *get_close_matches(name, sorted(theirs), n=2, cutoff=0.75),
    ]
    hint = f" Did you mean {' or '.join(near[:3])}?" if near else ""
    return NotFoundError(
        f"There is no function {name}.{hint} `python -m deeplake_lite.query.reference` prints "
        "those that queries may call."
    )


_WORDS = {"AND", "OR", "NOT", "NEG"}
"""Names in the registry that are operators, not functions."""
