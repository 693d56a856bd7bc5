"""Limit the length of the results of functions that can produce long values from short ones.

DuckDB computes a long value in one step, which ignores the memory limit and cannot be interrupted.
If all arguments that determine the length are constants, the length is checked here. Otherwise, an
argument is wrapped in a check, ``CASE WHEN … THEN error(…)``, which DuckDB evaluates before it
calls the function.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlglot import exp

from deeplake_lite.errors import QueryTypeError
from deeplake_lite.query.bind.calls.function_names import EXTENDS_LISTS
from deeplake_lite.query.bind.scalars.kinds import kind_of
from deeplake_lite.query.database.vector_room import HAVE_ROOM, MAX_BYTES
from deeplake_lite.query.parse.dialect import text_of
from deeplake_lite.query.parse.duckdb_nodes import build_error, func
from deeplake_lite.query.values import Constant, Sql, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_CHARACTERS = 1 << 26
"""Maximum length of a string that a query may produce, in characters."""

MAX_ITEMS = 10_000_000
"""Maximum number of items in a list that a query may produce."""

MAX_LENGTH_FACTOR = 1_000_000
"""Maximum factor by which nested calls of REPLACE may multiply the length of a string."""

_ITEM_BYTES = 16
"""Maximum size of a list item in bytes, which is 8 for a number and 16 for a short string."""

_SHORT = 100
"""Maximum length of a constant string or list that needs no check."""

_FEW_ITEMS = 1 << 14
"""Strings with at least this number of characters are checked before they are split. DuckDB splits
2,048 strings at a time, and the items of that many shorter strings take at most 512 MiB."""

_LONGEST = 2_000
"""Maximum length, in characters of SQL, of an expression that a check repeats."""


def check_growth(
    name: str,
    args: Sequence[Value],
    nodes: list[exp.Expr],
    e: exp.Expr,
    lengths: Sequence[exp.Expr],
) -> list[exp.Expr]:
    """Return the arguments of a function as SQL, with a check if the result could be too long.

    Parameters
    ----------
    name : str
        The function's name in DuckDB.
    args : sequence of Value
        The arguments.
    nodes : list of exp.Expr
        The arguments as SQL.
    e : exp.Expr
        The call, for messages.
    lengths : sequence of exp.Expr
        Lengths of the lists that the surrounding lambdas iterate over. In a lambda, the limit
        applies to the sum of the lengths of the results for all items.

    Raises
    ------
    QueryTypeError
        If constant arguments would make the result too long.
    """
    match name:
        case "REPEAT" if len(args) == 2:
            size = exp.Mul(this=_length(args[0], nodes[0], e), expression=_big(nodes[1]))
            return [nodes[0], _with_check(nodes[1], size, MAX_CHARACTERS, args, e, lengths)]
        case "LPAD" | "RPAD" if len(args) > 1:
            checked = _with_check(nodes[1], _big(nodes[1]), MAX_CHARACTERS, [args[1]], e, lengths)
            return [nodes[0], checked, *nodes[2:]]
        case "LIST_RESIZE" | "ARRAY_RESIZE" if len(args) > 1:
            checked = _with_check(nodes[1], _big(nodes[1]), MAX_ITEMS, [args[1]], e, lengths)
            return [nodes[0], checked, *nodes[2:]]
        case "RANGE" | "GENERATE_SERIES" if 0 < len(args) < 4:
            return _check_series(args, nodes, e, lengths)
        case "REPLACE" | "REGEXP_REPLACE" if len(args) > 2:
            return _check_replacement(args, nodes, e, lengths)
        case "CONCAT" | "CONCAT_WS" if args:
            return check_joined(args, nodes, e, lengths)
        case _ if name in SPLITS and len(args) > (name != "PARSE_PATH"):
            return _check_split(name, args, nodes, e, lengths)
        case _ if lengths and name in EXTENDS_LISTS:
            return check_extended(args, nodes, e, lengths)
        case "FORMAT" | "PRINTF" if args:
            _check_widths(args[0], e)
    return nodes


def check_joined(
    args: Sequence[Value], nodes: list[exp.Expr], e: exp.Expr, lengths: Sequence[exp.Expr]
) -> list[exp.Expr]:
    """Return the strings to join, with a check if two are from subqueries, or within a lambda.

    A column of a subquery may itself be a joined string, so each level of nested subqueries could
    double the length.
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
    last = _with_check(exp.cast(nodes[-1], "TEXT"), size, MAX_CHARACTERS, [], e, lengths)
    return [*nodes[:-1], last]


def _check_joined_in_lambda(
    nodes: list[exp.Expr], e: exp.Expr, lengths: Sequence[exp.Expr]
) -> list[exp.Expr]:
    """Return the strings to join in a lambda. The last one also checks their total length."""
    size: exp.Expr = exp.Literal.number(0)
    for node in nodes:
        if len(node.sql("duckdb")) > _LONGEST:
            raise _too_long_to_check(e)
        length = func("coalesce", _characters(node), exp.convert(0))
        size = exp.Add(this=size, expression=length)
    last = _with_check(exp.cast(nodes[-1], "TEXT"), size, MAX_CHARACTERS, [], e, lengths)
    return [*nodes[:-1], last]


def check_extended(
    args: Sequence[Value], nodes: list[exp.Expr], e: exp.Expr, lengths: Sequence[exp.Expr]
) -> list[exp.Expr]:
    """Return the arguments of a function that extends a list in a lambda.

    The first argument checks the length of the extended list.
    """
    size: exp.Expr = exp.convert(1)
    for value, node in zip(args, nodes, strict=True):
        if kind_of(value).name == "list":
            size = exp.Add(this=size, expression=func("coalesce", _length(value, node, e), size))
    return [_with_check(nodes[0], size, MAX_ITEMS, [], e, lengths), *nodes[1:]]


def _check_replacement(
    args: Sequence[Value], nodes: list[exp.Expr], e: exp.Expr, lengths: Sequence[exp.Expr]
) -> list[exp.Expr]:
    """Return the arguments of REPLACE or REGEXP_REPLACE, with a check of the result's length.

    Raises
    ------
    QueryTypeError
        If nested replacements by constant strings could make the string more than
        `MAX_LENGTH_FACTOR` times as long.
    """
    times = 1
    inner: exp.Expr | None = e
    while isinstance(inner, exp.Anonymous) and inner.name.upper() in ("REPLACE", "REGEXP_REPLACE"):
        by = inner.expressions[2] if len(inner.expressions) > 2 else None
        times *= max(1, len(by.name)) if isinstance(by, exp.Literal) else 1
        inner = inner.expressions[0].unnest() if inner.expressions else None
    if times > MAX_LENGTH_FACTOR:
        raise _too_long(
            e,
            f"{times:,} times as long as its input",
            f"{MAX_LENGTH_FACTOR:,} times the length of the input",
        )
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
    checked = _with_check(nodes[2], size, MAX_CHARACTERS, [args[0], by_value], e, lengths)
    return [*nodes[:2], checked, *nodes[3:]]


def _check_split(
    name: str,
    args: Sequence[Value],
    nodes: list[exp.Expr],
    e: exp.Expr,
    lengths: Sequence[exp.Expr],
) -> list[exp.Expr]:
    """Return the arguments of a function that splits a string, with a check of the list's length.

    Short strings are not checked. Counting their separators would take about as long as splitting
    them, and the list has at most one item more than the string has characters.
    """
    for value, node in zip(args, nodes, strict=True):
        if not isinstance(value, Constant) and len(node.sql("duckdb")) > _LONGEST:
            raise _too_long_to_check(e)
    is_fixed = all(isinstance(a, Constant) for a in args)
    whole = args[0].value if isinstance(args[0], Constant) else None
    most = MAX_ITEMS if is_fixed else _FEW_ITEMS
    if isinstance(whole, str) and len(whole) < most and not lengths:
        return nodes
    if name == "PARSE_PATH":
        slash = exp.Literal.string("/")
        path = func("translate", exp.cast(nodes[0].copy(), "TEXT"), exp.Literal.string("\\"), slash)
        matches = _count_separators([path, slash])
    else:
        matches = _count_matches(nodes, args) if "REG" in name else _count_separators(nodes)
    return [_with_split_check(nodes[0], matches, e, lengths), *nodes[1:]]


def check_list_of_text(node: exp.Expr, e: exp.Expr, lengths: Sequence[exp.Expr]) -> exp.Expr:
    """Return SQL for a string such as '[1, 2]' that is cast to a list, with a check of the length.

    When the query runs, the check counts the commas in the string.
    """
    if isinstance(node, exp.Literal) and len(node.this) < _FEW_ITEMS and not lengths:
        return node
    if len(node.sql("duckdb")) > _LONGEST and not isinstance(node, exp.Literal):
        raise _too_long_to_check(e)
    return _with_split_check(node, _count_separators([node, exp.Literal.string(",")]), e, lengths)


def _with_split_check(
    node: exp.Expr, separators: exp.Expr, e: exp.Expr, lengths: Sequence[exp.Expr]
) -> exp.Expr:
    """Return a string with a check of its number of separators. Short strings always pass."""
    size: exp.Expr = exp.Add(this=exp.convert(1), expression=separators)
    if not lengths:
        is_short = exp.LT(this=_characters(node), expression=exp.convert(_FEW_ITEMS))
        size = exp.Case(ifs=[exp.If(this=is_short, true=exp.convert(0))], default=size)
    return _with_check(node, size, MAX_ITEMS, [], e, lengths)


def _count_separators(nodes: Sequence[exp.Expr]) -> exp.Expr:
    """Return SQL for the number of separators in a string.

    `nodes` are the string and the separator. If the separator is empty, so that the string is split
    into its characters, the SQL returns the length of the string.
    """
    whole, separator = (exp.cast(node.copy(), "TEXT") for node in nodes[:2])
    remaining = _characters(func("replace", whole, separator.copy(), exp.Literal.string("")))
    removed = exp.paren(exp.Sub(this=_characters(whole), expression=remaining))
    is_empty = exp.EQ(this=separator, expression=exp.Literal.string(""))
    count = exp.IntDiv(this=removed, expression=_characters(separator))
    return exp.Case(ifs=[exp.If(this=is_empty, true=_characters(whole))], default=count)


def _count_matches(nodes: Sequence[exp.Expr], args: Sequence[Value]) -> exp.Expr:
    """Return SQL for the number of matches of a regular expression in a string.

    The SQL appends one character to each match, and computes by how many characters this lengthens
    the string.
    """
    whole = exp.cast(nodes[0].copy(), "TEXT")
    last = args[-1] if len(args) > 2 else None
    flags = last.value if isinstance(last, Constant) and isinstance(last.value, str) else ""
    options = exp.Literal.string(flags + "g")
    marked = func("regexp_replace", whole, nodes[1].copy(), exp.Literal.string(r"\0,"), options)
    return exp.paren(exp.Sub(this=_characters(marked), expression=_characters(whole)))


def _check_series(
    args: Sequence[Value], nodes: list[exp.Expr], e: exp.Expr, lengths: Sequence[exp.Expr]
) -> list[exp.Expr]:
    """Return the arguments of RANGE, with a check of the list's length.

    Raises QueryTypeError if an argument is a time or a string.
    """
    if any(kind_of(a).name in ("time", "text") for a in args):
        raise QueryTypeError(
            f"The ends of a range must be whole numbers, but the call is {text_of(e)}. For n "
            "successive dates, select CAST('2026-01-31' AS DATE) + i * INTERVAL 1 DAY for each "
            "number i of UNNEST(RANGE(n))."
        )
    start = exp.Literal.number(0) if len(args) == 1 else _big(nodes[0])
    stop = _big(nodes[0] if len(args) == 1 else nodes[1])
    step = _big(nodes[2]) if len(args) == 3 else exp.Literal.number(1)
    span = func("abs", exp.paren(exp.Sub(this=stop, expression=start)))
    size = exp.IntDiv(this=span, expression=func("greatest", func("abs", step), exp.convert(1)))
    return [_with_check(nodes[0], size, MAX_ITEMS, args, e, lengths), *nodes[1:]]


def _check_widths(pattern: Value, e: exp.Expr) -> None:
    """Check that a format string is constant, and that its widths are constants below 10,000.

    Raises
    ------
    QueryTypeError
        If it is not.
    """
    format_ = pattern.value if isinstance(pattern, Constant) else None
    if not isinstance(format_, str):
        raise QueryTypeError(
            "A format string must be the same for all rows, but the call is "
            f"{text_of(e)}. Write it in quotes, or pass it as a parameter."
        )
    if re.search(r"\d{5}|\{[^{}]*\{|%[-+ #0]*\*", format_):
        raise _too_long(e, "padded to a width that is larger or not constant", "9,999 characters")


def _length(value: Value, node: exp.Expr, e: exp.Expr) -> exp.Expr:
    """Return SQL for the length of a string or a list.

    Raises QueryTypeError if the SQL of the value is too long to be repeated in a check.
    """
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
    """Return SQL that casts a number to HUGEINT, so that its products do not overflow."""
    return exp.cast(node.copy(), "HUGEINT")


def _with_check(
    node: exp.Expr,
    size: exp.Expr,
    most: int,
    args: Sequence[Value],
    e: exp.Expr,
    lengths: Sequence[exp.Expr],
) -> exp.Expr:
    """Return an argument, wrapped in a check that fails if the result would be too long.

    Parameters
    ----------
    node : exp.Expr
        The argument.
    size : exp.Expr
        SQL for the length of the result.
    most : int
        Maximum length.
    args : sequence of Value
        Arguments that determine the length. If they are all small constants, and there are no
        surrounding lambdas, the argument is returned without a check.
    e : exp.Expr
        The call, for the message.
    lengths : sequence of exp.Expr
        Lengths of the lists that the surrounding lambdas iterate over.
    """
    numbers = [a.value for a in args if isinstance(a, Constant)]
    is_short = args and len(numbers) == len(args) and all(_is_small(n) for n in numbers)
    if is_short and not lengths:
        return node
    limit, bound = exp.convert(most), f"{most:,} characters or items"
    for length in lengths:
        at_least_one = func("greatest", length.copy(), exp.convert(1))
        limit = exp.IntDiv(this=limit, expression=at_least_one)
    of = "longer, counting all items of the list together" if lengths else "longer"
    is_longer = exp.GT(this=exp.paren(size), expression=limit)
    ifs = [exp.If(this=is_longer, true=build_error(str(_too_long(e, of, bound))))]
    if not lengths:  # DuckDB's lambdas cannot call Python functions
        item = _ITEM_BYTES if most == MAX_ITEMS else 1
        taken = exp.Mul(
            this=exp.cast(exp.paren(size.copy()), "DOUBLE"), expression=exp.convert(item)
        )
        too_large = build_error(str(_too_large_vector(e)))
        ifs.append(exp.If(this=exp.not_(func(HAVE_ROOM, taken)), true=too_large))
    return exp.Case(ifs=ifs, default=node.copy())


SPLITS = {
    "PARSE_PATH", "REGEXP_EXTRACT_ALL", "REGEXP_SPLIT_TO_ARRAY", "SPLIT", "STRING_SPLIT",
    "STRING_SPLIT_REGEX", "STRING_TO_ARRAY", "STR_SPLIT", "STR_SPLIT_REGEX",
}  # fmt: skip
"""Functions that split a string into a list."""

GROWS = EXTENDS_LISTS | SPLITS | {
    "ARRAY_RESIZE", "CONCAT", "CONCAT_WS", "GENERATE_SERIES", "LIST_RESIZE", "LPAD", "RANGE",
    "REGEXP_REPLACE", "REPEAT", "REPLACE", "RPAD",
}  # fmt: skip
"""Functions whose results may be long, so that the length is checked within lambdas."""


def grows(e: exp.Expr) -> bool:
    """Return whether an expression may produce long values from short ones."""
    return any(
        isinstance(node, exp.DPipe)
        or (isinstance(node, exp.Anonymous) and node.name.upper() in GROWS)
        for node in e.walk()
    )


def _is_small(value: object) -> bool:
    """Return whether a constant is too small to produce a long value."""
    if isinstance(value, str | list):
        return len(value) <= _SHORT
    return isinstance(value, int | float) and abs(value) <= MAX_ITEMS // _SHORT


def _too_long_to_check(e: exp.Expr) -> QueryTypeError:
    return QueryTypeError(
        f"Before {text_of(e)} is computed, the query must check the length of the result. The "
        "check repeats the arguments of the call, but they are too long for that. Compute the "
        "arguments in a subquery: FROM (SELECT … AS x)."
    )


def _too_large_vector(e: exp.Expr) -> QueryTypeError:
    return QueryTypeError(
        "A query computes 2,048 rows at once, and the new values of these rows may take at most "
        f"{MAX_BYTES >> 30} GiB, but the values of {text_of(e)} would take more. Make the values "
        "shorter, or compute them in Python."
    )


def _too_long(e: exp.Expr, size: str, most: str) -> QueryTypeError:
    return QueryTypeError(
        f"A computed value must not exceed {most}, but {text_of(e)} would be {size}. Make it "
        "shorter, or compute it in Python."
    )
