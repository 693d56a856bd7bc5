"""Limits on the size of the results of functions that make long values from short ones.

DuckDB computes such a value in one go, outside of its memory limit, and cannot be interrupted
meanwhile. Constant arguments are checked here. Any other argument becomes
``CASE WHEN … THEN error(…)``, which DuckDB evaluates before it calls the function.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlglot import exp

from deeplake_lite.errors import QueryTypeError
from deeplake_lite.query.bind.calls.known import EXTENDS_LISTS
from deeplake_lite.query.bind.scalars.kinds import kind_of
from deeplake_lite.query.database.vector_room import HAVE_ROOM, MOST_BYTES
from deeplake_lite.query.parse.dialect import func, text_of
from deeplake_lite.query.values import Constant, Sql, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_CHARACTERS = 1 << 26
"""Most characters of a string that a query makes."""

MOST_ITEMS = 10_000_000
"""Most items of a list that a query makes."""

MOST_TIMES = 1_000_000
"""Most times that nested replacements may multiply the length of a string."""

_ITEM_BYTES = 16
"""Most bytes of a list item: 8 for a number, 16 for a short string."""

_SHORT = 100
"""Most characters of a constant that needs no check."""

_LONGEST = 2_000
"""Most characters of an expression that a check may repeat."""


def check_growth(
    name: str,
    args: Sequence[Value],
    nodes: list[exp.Expr],
    e: exp.Expr,
    lengths: Sequence[exp.Expr],
) -> list[exp.Expr]:
    """Return the arguments of a function, with a check if its result could get too long.

    Parameters
    ----------
    name : str
        DuckDB's name of the function.
    args : sequence of Value
        The arguments.
    nodes : list of exp.Expr
        The arguments as SQL.
    e : exp.Expr
        The call, for messages.
    lengths : sequence of exp.Expr
        Lengths of the lists of the lambdas around the call. The results for all items together
        may be as long as one value.

    Raises
    ------
    QueryTypeError
        For constants that make a value too long.
    """
    match name:
        case "REPEAT" if len(args) == 2:
            size = exp.Mul(this=_length(args[0], nodes[0], e), expression=_big(nodes[1]))
            return [nodes[0], _with_check(nodes[1], size, MOST_CHARACTERS, args, e, lengths)]
        case "LPAD" | "RPAD" if len(args) > 1:
            checked = _with_check(nodes[1], _big(nodes[1]), MOST_CHARACTERS, [args[1]], e, lengths)
            return [nodes[0], checked, *nodes[2:]]
        case "LIST_RESIZE" | "ARRAY_RESIZE" if len(args) > 1:
            checked = _with_check(nodes[1], _big(nodes[1]), MOST_ITEMS, [args[1]], e, lengths)
            return [nodes[0], checked, *nodes[2:]]
        case "RANGE" | "GENERATE_SERIES" if 0 < len(args) < 4:
            return _check_series(args, nodes, e, lengths)
        case "REPLACE" | "REGEXP_REPLACE" if len(args) > 2:
            return _check_replacement(args, nodes, e, lengths)
        case "CONCAT" | "CONCAT_WS" if args:
            return check_joined(args, nodes, e, lengths)
        case _ if lengths and name in EXTENDS_LISTS:
            return check_extended(args, nodes, e, lengths)
        case "FORMAT" | "PRINTF" if args:
            _check_widths(args[0], e)
    return nodes


def check_joined(
    args: Sequence[Value], nodes: list[exp.Expr], e: exp.Expr, lengths: Sequence[exp.Expr]
) -> list[exp.Expr]:
    """Return strings to join, with a check if they are computed by subqueries or in a lambda.

    A column of a subquery may itself be a joined string, so nested queries could double its length
    again and again.
    """
    columns = [n for n in nodes if isinstance(n, exp.Column)]
    if lengths:
        if any(kind_of(a).name == "list" for a in args):
            return check_extended(args, nodes, e, lengths)
        return _check_joined_in_lambda(nodes, e, lengths)
    computed = [a for a in args if isinstance(a, Sql) and a.plain is None]
    if len(columns) < 2 or not any(isinstance(a.node, exp.Column) for a in computed):
        return nodes
    size: exp.Expr = exp.Literal.number(0)
    for node in columns:
        size = exp.Add(this=size, expression=func("coalesce", _characters(node), exp.convert(0)))
    last = _with_check(exp.cast(nodes[-1], "TEXT"), size, MOST_CHARACTERS, [], e, lengths)
    return [*nodes[:-1], last]


def _check_joined_in_lambda(
    nodes: list[exp.Expr], e: exp.Expr, lengths: Sequence[exp.Expr]
) -> list[exp.Expr]:
    """Return strings to join in a lambda; the last one checks the length of all."""
    size: exp.Expr = exp.Literal.number(0)
    for node in nodes:
        if len(node.sql("duckdb")) > _LONGEST:
            raise _too_long_to_check(e)
        length = func("coalesce", _characters(node), exp.convert(0))
        size = exp.Add(this=size, expression=length)
    last = _with_check(exp.cast(nodes[-1], "TEXT"), size, MOST_CHARACTERS, [], e, lengths)
    return [*nodes[:-1], last]


def check_extended(
    args: Sequence[Value], nodes: list[exp.Expr], e: exp.Expr, lengths: Sequence[exp.Expr]
) -> list[exp.Expr]:
    """Return the arguments of a function that extends a list in a lambda, with a check."""
    size: exp.Expr = exp.convert(1)
    for value, node in zip(args, nodes, strict=True):
        if kind_of(value).name == "list":
            size = exp.Add(this=size, expression=func("coalesce", _length(value, node, e), size))
    return [_with_check(nodes[0], size, MOST_ITEMS, [], e, lengths), *nodes[1:]]


def _check_replacement(
    args: Sequence[Value], nodes: list[exp.Expr], e: exp.Expr, lengths: Sequence[exp.Expr]
) -> list[exp.Expr]:
    """Return the arguments of REPLACE or REGEXP_REPLACE, with a check of the result's length.

    Raises
    ------
    QueryTypeError
        For nested replacements by constants that multiply the length too often.
    """
    times = 1
    inner: exp.Expr | None = e
    while isinstance(inner, exp.Anonymous) and inner.name.upper() in ("REPLACE", "REGEXP_REPLACE"):
        by = inner.expressions[2] if len(inner.expressions) > 2 else None
        times *= max(1, len(by.name)) if isinstance(by, exp.Literal) else 1
        inner = inner.expressions[0].unnest() if inner.expressions else None
    if times > MOST_TIMES:
        raise _too_long(e, f"{times:,} times as long as what it replaces", f"{MOST_TIMES:,} times")
    by_value = args[2]
    replacement = by_value.value if isinstance(by_value, Constant) else None
    if isinstance(replacement, str) and len(replacement) <= _SHORT and not lengths:
        return nodes
    length = func("strlen", exp.cast(nodes[2].copy(), "TEXT"))
    size = exp.Mul(
        this=exp.cast(
            exp.Add(this=_length(args[0], nodes[0], e), expression=exp.convert(1)), "HUGEINT"
        ),
        expression=length,
    )
    checked = _with_check(nodes[2], size, MOST_CHARACTERS, [args[0], by_value], e, lengths)
    return [*nodes[:2], checked, *nodes[3:]]


def _check_series(
    args: Sequence[Value], nodes: list[exp.Expr], e: exp.Expr, lengths: Sequence[exp.Expr]
) -> list[exp.Expr]:
    """Return the arguments of RANGE, with a check. Raises QueryTypeError for dates."""
    if any(kind_of(a).name in ("time", "text") for a in args):
        raise QueryTypeError(
            f"The ends of a list of numbers must be whole numbers, but it is {text_of(e)}. For "
            "dates, add an INTERVAL to each number of UNNEST(RANGE(n))."
        )
    start = exp.Literal.number(0) if len(args) == 1 else _big(nodes[0])
    stop = _big(nodes[0] if len(args) == 1 else nodes[1])
    step = _big(nodes[2]) if len(args) == 3 else exp.Literal.number(1)
    span = func("abs", exp.paren(exp.Sub(this=stop, expression=start)))
    size = exp.IntDiv(this=span, expression=func("greatest", func("abs", step), exp.convert(1)))
    return [_with_check(nodes[0], size, MOST_ITEMS, args, e, lengths), *nodes[1:]]


def _check_widths(pattern: Value, e: exp.Expr) -> None:
    """Refuse a format with widths of many digits, or with widths that are arguments.

    Raises
    ------
    QueryTypeError
        For such a format, and for one that is not constant.
    """
    format_ = pattern.value if isinstance(pattern, Constant) else None
    if not isinstance(format_, str):
        raise QueryTypeError(
            "A format must be the same string for all rows, but the call is "
            f"{text_of(e)}. Write it in quotes, or as a parameter."
        )
    if re.search(r"\d{5}|\{[^{}]*\{|%[-+ #0]*\*", format_):
        raise _too_long(e, "padded to any width", "9,999 characters")


def _length(value: Value, node: exp.Expr, e: exp.Expr) -> exp.Expr:
    """Return the length of a string or a list. Raises QueryTypeError for a long expression."""
    if isinstance(value, Constant) and isinstance(value.value, str | list):
        return exp.Literal.number(len(value.value))
    if len(node.sql("duckdb")) > _LONGEST:
        raise _too_long_to_check(e)
    if kind_of(value).name in ("list", "any"):
        return func("len", node.copy())
    return _characters(node)


def _characters(node: exp.Expr) -> exp.Expr:
    return func("strlen", exp.cast(node.copy(), "TEXT"))


def _big(node: exp.Expr) -> exp.Expr:
    """Return a number as a HUGEINT, so that products do not overflow."""
    return exp.cast(node.copy(), "HUGEINT")


def _with_check(
    node: exp.Expr,
    size: exp.Expr,
    most: int,
    args: Sequence[Value],
    e: exp.Expr,
    lengths: Sequence[exp.Expr],
) -> exp.Expr:
    """Return an argument that raises an error if the result would be too long.

    Parameters
    ----------
    node : exp.Expr
        The argument.
    size : exp.Expr
        Length of the result.
    most : int
        Greatest length.
    args : sequence of Value
        Arguments that determine the length. Without lambdas, small constants need no check.
    e : exp.Expr
        The call, for the message.
    lengths : sequence of exp.Expr
        Lengths of the lists of the lambdas around the call.
    """
    numbers = [a.value for a in args if isinstance(a, Constant)]
    is_short = args and len(numbers) == len(args) and all(_is_small(n) for n in numbers)
    if is_short and not lengths:
        return node
    limit, bound = exp.convert(most), f"{most:,} characters or items"
    for length in lengths:
        at_least_one = func("greatest", length.copy(), exp.convert(1))
        limit = exp.IntDiv(this=limit, expression=at_least_one)
    of = "longer than that, for all items of the list together" if lengths else "longer than that"
    is_longer = exp.GT(this=exp.paren(size), expression=limit)
    ifs = [exp.If(this=is_longer, true=_error(_too_long(e, of, bound)))]
    if not lengths:  # DuckDB's lambdas cannot call Python functions
        item = _ITEM_BYTES if most == MOST_ITEMS else 1
        taken = exp.Mul(
            this=exp.cast(exp.paren(size.copy()), "DOUBLE"), expression=exp.convert(item)
        )
        ifs.append(exp.If(this=exp.not_(func(HAVE_ROOM, taken)), true=_error(_too_much(e))))
    return exp.Case(ifs=ifs, default=node.copy())


def _error(error: QueryTypeError) -> exp.Expr:
    return func("error", exp.Literal.string(str(error)))


GROWS = EXTENDS_LISTS | {
    "ARRAY_RESIZE", "CONCAT", "CONCAT_WS", "GENERATE_SERIES", "LIST_RESIZE", "LPAD", "RANGE",
    "REGEXP_REPLACE", "REPEAT", "REPLACE", "RPAD",
}  # fmt: skip
"""Functions whose results are checked within lambdas."""


def grows(e: exp.Expr) -> bool:
    """Tell whether an expression may make long values from short ones."""
    return any(
        isinstance(node, exp.DPipe)
        or (isinstance(node, exp.Anonymous) and node.name.upper() in GROWS)
        for node in e.walk()
    )


def _is_small(value: object) -> bool:
    """Tell whether a constant is too small to make a long value."""
    if isinstance(value, str | list):
        return len(value) <= _SHORT
    return isinstance(value, int | float) and abs(value) <= MOST_ITEMS // _SHORT


def _too_long_to_check(e: exp.Expr) -> QueryTypeError:
    return QueryTypeError(
        f"The length of {text_of(e)} must be checked beforehand, but its arguments are too long "
        "expressions for that. Name them in a subquery: FROM (SELECT … AS x)."
    )


def _too_much(e: exp.Expr) -> QueryTypeError:
    return QueryTypeError(
        "A query computes values of 2,048 rows at once, which may take at most "
        f"{MOST_BYTES >> 30} GiB, but those of {text_of(e)} would take more. Make them shorter, or "
        "compute them in Python."
    )


def _too_long(e: exp.Expr, size: str, most: str) -> QueryTypeError:
    return QueryTypeError(
        f"A query makes values of at most {most}, but {text_of(e)} would be {size}. Make it "
        "shorter, or compute it in Python."
    )
