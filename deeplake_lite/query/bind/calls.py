"""What a function's name means where it stands: SQL's, NumPy's, or an aggregate over a group.

Scalars go to DuckDB, under its names. Tensors go to the registry. What SQL and NumPy both have
(SUM, MIN, …) is NumPy's for a tensor outside GROUP BY, and an aggregate otherwise.
"""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any

import duckdb
from sqlglot import exp

from deeplake_lite.errors import NotFoundError, QueryTypeError
from deeplake_lite.query.bind.aggregates import grouped, ordered
from deeplake_lite.query.bind.constants import option
from deeplake_lite.query.bind.digests import counted
from deeplake_lite.query.bind.kinds import as_text, has_axes, kind_of, unified
from deeplake_lite.query.bind.special import SPECIAL
from deeplake_lite.query.dialect import text_of
from deeplake_lite.query.functions import REGISTRY
from deeplake_lite.query.values import (
    ANY,
    NUMBER,
    REAL,
    Kind,
    Sql,
    Tensor,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from deeplake_lite.query.bind.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope


_NAMES = {
    "MEAN": "AVG", "STD": "STDDEV_SAMP", "STDDEV": "STDDEV_SAMP", "VAR": "VAR_SAMP",
    "VARIANCE": "VAR_SAMP", "PROD": "PRODUCT", "LOG": "LN", "LENGTH": "LENGTH",
}  # fmt: skip
"""Names that differ from DuckDB's, of functions of scalars."""

AGGREGATES = {
    "COUNT", "SUM", "AVG", "MEAN", "MIN", "MAX", "STD", "STDDEV", "VAR", "VARIANCE", "MEDIAN",
    "PROD", "PRODUCT", "FIRST", "LAST", "ANY_VALUE", "LIST", "ARRAY_AGG", "QUANTILE",
    "QUANTILE_CONT", "QUANTILE_DISC", "MODE", "STRING_AGG", "ARG_MIN", "ARG_MAX", "MIN_BY",
    "MAX_BY", "BOOL_AND", "BOOL_OR", "APPROX_COUNT_DISTINCT", "STDDEV_POP", "STDDEV_SAMP",
    "VAR_POP", "VAR_SAMP", "CORR", "COVAR_POP", "COVAR_SAMP", "HISTOGRAM", "ENTROPY", "KURTOSIS",
    "SKEWNESS", "COUNT_IF", "SUM_IF", "BIT_AND", "BIT_OR", "BIT_XOR", "GROUP_CONCAT", "LISTAGG",
    "APPROX_QUANTILE", "FAVG", "FSUM", "MAD", "GROUPING",
}  # fmt: skip
"""Functions of many rows."""

_ROWWISE = {
    "SUM",
    "AVG",
    "MEAN",
    "MIN",
    "MAX",
    "STD",
    "STDDEV",
    "VAR",
    "VARIANCE",
    "MEDIAN",
    "PROD",
}
"""Aggregates that reduce a row's tensor, and go elementwise where there is GROUP BY."""

_ELEMENTWISE = {"AVG": "MEAN", "STDDEV": "STD", "VARIANCE": "VAR"}

_PICKS = {"FIRST", "LAST", "ANY_VALUE"}

_REAL = {
    "SQRT", "LN", "LOG", "LOG2", "LOG10", "EXP", "POW", "POWER", "SIN", "COS", "TAN", "ASIN",
    "ACOS", "ATAN", "ATAN2", "AVG", "MEAN", "STD", "STDDEV", "VAR", "VARIANCE", "MEDIAN", "PROD",
    "CBRT", "CORR",
}  # fmt: skip
"""Functions that may give NaN whatever they take."""

_SAME = {"ABS", "ROUND", "FLOOR", "CEIL", "MIN", "MAX", "SUM", "COALESCE", "GREATEST", "LEAST",
         "FIRST", "LAST", "ANY_VALUE", "LAG", "LEAD", "FIRST_VALUE", "LAST_VALUE", "MODE",
         "NULLIF", "IFNULL", "QUANTILE_DISC"}  # fmt: skip
"""Functions whose result is of the kind of their first argument."""

_UNIFIES = {"COALESCE", "IFNULL", "NULLIF", "GREATEST", "LEAST"}
"""Functions whose arguments one column is to hold."""

WINDOWS = {"LAG", "LEAD", "FIRST_VALUE", "LAST_VALUE", "NTH_VALUE"}

_KEEPS_CLASS = {"MIN", "MAX", "FIRST", "LAST", "ANY_VALUE", "MODE", "LAG", "LEAD", "FIRST_VALUE",
                "LAST_VALUE"}  # fmt: skip

_COUNTS = {"COUNT", "LENGTH", "COUNT_IF", "ROW_NUMBER", "RANK", "DENSE_RANK"}


_OPERATORS: dict[str, Callable[[exp.Anonymous], exp.Expr]] = {
    "EQUALS": lambda e: exp.EQ(this=e.expressions[0], expression=e.expressions[1]),
    "LOGICAL_AND": lambda e: exp.and_(*e.expressions),
    "LOGICAL_OR": lambda e: exp.or_(*e.expressions),
    "LOGICAL_NOT": lambda e: exp.Not(this=e.expressions[0]),
}
"""Operators that may be written as functions."""


def call(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value:
    """Return what a function call is.

    Raises
    ------
    NotFoundError
        For a function that nobody has, with the nearest names.
    """
    name = e.name.upper()
    if name in _OPERATORS:
        return low.value(_OPERATORS[name](e), scope)
    special = SPECIAL.get(name)
    if special is not None:
        found: Value | None = special(low, e, scope)
        if found is not None:
            return found
    args, options = _arguments(low, e, name, scope)
    lists = name in REGISTRY and name != "COUNT" and any(map(has_axes, args))
    if lists or any(isinstance(a, Tensor) and not a.is_scalar for a in args):
        return _of_tensors(low, name, args, options, e, scope)
    if name in REGISTRY and not _is_sql(name):
        return low.call(name, args, options, e)
    if name in ("ASUM", "AMEAN", "AMIN", "AMAX", "ASTD"):
        return low.call(name, args, options, e)
    if options:
        raise QueryTypeError(f"{name} of scalars takes no {', '.join(options)}: {text_of(e)}.")
    return _of_scalars(low, name, args, e, scope)


def _arguments(
    low: Lowering, e: exp.Anonymous, name: str, scope: Scope
) -> tuple[list[Value], dict[str, Any]]:
    """Return the arguments, and those given by name (``axis = 0``, ``axis := 0``)."""
    args: list[Value] = []
    options: dict[str, Any] = {}
    known = _parameters(name)
    inner = scope.in_aggregate
    scope.in_aggregate = inner or name in AGGREGATES
    try:
        for part in e.expressions:
            named = (
                isinstance(part, exp.EQ | exp.PropertyEQ | exp.Kwarg) and part.this.name in known
            )
            if named and isinstance(part.this, exp.Column | exp.Identifier | exp.Var):
                options[part.this.name] = option(low, part.expression, scope)
            elif isinstance(part, exp.Order):
                args.append(_sorted_argument(low, part, scope))
            else:
                args.append(low.value(part, scope))
    finally:
        scope.in_aggregate = inner
    return args, options


def _sorted_argument(low: Lowering, part: exp.Order, scope: Scope) -> Value:
    """Return ``x ORDER BY y`` within an aggregate, of the kind of x."""
    found = low.value(part.this, scope)
    if isinstance(found, Tensor) and not found.is_scalar:
        raise QueryTypeError(f"ORDER BY within a call sorts scalars, got {text_of(part)}.")
    by = ordered(low, part, scope)
    return Sql(exp.Order(this=low.as_sql(found, scope), expressions=by), kind_of(found))


def _parameters(name: str) -> list[str]:
    """Return the names of a function's parameters, as its signature has them."""
    if name not in REGISTRY or "(" not in REGISTRY[name].signature:
        return []
    inside = REGISTRY[name].signature.split("(", 1)[1].rstrip(")")
    return [part.split("=")[0].strip(" *") for part in inside.split(",") if part.strip()]


def _is_sql(name: str) -> bool:
    """Tell whether DuckDB has the function for scalars."""
    return name in AGGREGATES or name in _NAMES or name in _REAL or name in _SAME or name in {
        "CONTAINS", "LOWER", "UPPER",
    }  # fmt: skip


def _of_tensors(
    low: Lowering,
    name: str,
    args: list[Value],
    options: dict[str, Any],
    e: exp.Expr,
    scope: Scope,
) -> Value:
    first = args[0]
    assert isinstance(e, exp.Anonymous)
    if name == "COUNT" and isinstance(first, Tensor):
        scope.aggregated = True
        return Sql(exp.Anonymous(this="COUNT", expressions=[counted(first, low, scope)]), NUMBER)
    if name in _PICKS and isinstance(first, Tensor):
        scope.aggregated = True
        env = {
            key: exp.Anonymous(this=name, expressions=[node.copy()])
            for key, node in first.env.items()
        }
        plain = first.plain and replace(
            first.plain, row=exp.Anonymous(this=name, expressions=[first.plain.row.copy()])
        )
        return Tensor(first.tree, env, text_of(e), plain)
    if name in ("LIST", "ARRAY_AGG") and isinstance(first, Tensor):
        scope.aggregated = True
        return grouped(first, "LIST", text_of(e))
    if name in _ROWWISE and scope.grouped and not options and len(args) == 1:
        first = low.as_tensor(first, text_of(e))
        return grouped(first, _ELEMENTWISE.get(name, name), text_of(e))
    if name in REGISTRY:
        return low.call(name, args, options, e)
    if name.lower() in scalar_functions():
        raise QueryTypeError(
            f"{name} takes one value per row, got {text_of(e.expressions[0])}, which is a tensor. "
            "Reduce it, such as by MEAN(…), or take an element of it."
        )
    raise unknown_function(name)


def _of_scalars(
    low: Lowering, name: str, args: list[Value], e: exp.Anonymous, scope: Scope
) -> Value:
    if name in AGGREGATES:
        if not args:
            raise QueryTypeError(f"{name} takes what it goes over, got {text_of(e)}.")
        scope.aggregated = scope.aggregated or not scope.in_aggregate
    if name in _UNIFIES:
        args, kind = unified(args, low, scope)
    else:
        kind = _result_kind(name, args[0] if args else None)
    is_text = name not in AGGREGATES | _SAME | _REAL | WINDOWS
    nodes = [as_text(a, low, scope) if is_text else low.as_sql(a, scope) for a in args]
    for at, part in enumerate(e.expressions):
        if isinstance(part, exp.Star):
            nodes[at] = exp.Star()
    with_base = name == "LOG" and len(nodes) == 2
    known = name if with_base else _NAMES.get(name, name)
    return Sql(exp.Anonymous(this=known, expressions=nodes), kind)


def _result_kind(name: str, first: Value | None) -> Kind:
    if name in _COUNTS:
        return NUMBER
    if name in _REAL:
        return REAL
    if name in _SAME and first is not None:
        kind = kind_of(first)
        if kind.name == "class" and name in _KEEPS_CLASS:
            return kind
        kept = kind.htype if name in _KEEPS_CLASS and kind.name == "number" else None
        return Kind(kind.name if kind.name != "class" else "number", kind.real, htype=kept)
    return ANY


@cache
def scalar_functions() -> frozenset[str]:
    """Return the names of DuckDB's functions."""
    with duckdb.connect() as connection:
        rows = connection.sql("SELECT DISTINCT function_name FROM duckdb_functions()").fetchall()
    return frozenset(row[0] for row in rows)


def unknown_function(name: str) -> NotFoundError:
    """Return the error for a function that neither NumPy's part nor DuckDB has."""
    names = {*REGISTRY, *SPECIAL, *(known.upper() for known in scalar_functions())}
    words = sorted(n for n in names if n.isidentifier())
    near = get_close_matches(name, words, n=3)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    return NotFoundError(
        f"There is no function {name}.{hint} Functions of tensors: "
        f"{', '.join(sorted(n for n in REGISTRY if n.isidentifier()))}; of scalars: DuckDB's."
    )
