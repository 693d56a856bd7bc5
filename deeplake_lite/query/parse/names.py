"""The keywords of the query language, and functions that format names and constants for queries."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from deeplake_lite.brief import brief
from deeplake_lite.errors import LakeError, QueryError

if TYPE_CHECKING:
    from collections.abc import Iterable

KEYWORDS = (
    "SELECT", "DISTINCT", "EXCLUDE", "FROM", "VERSION", "AS", "JOIN", "LEFT JOIN", "RIGHT JOIN",
    "FULL JOIN", "CROSS JOIN", "USING", "ON", "WHERE", "AND", "OR", "NOT", "IN", "BETWEEN", "LIKE",
    "ILIKE", "IS NULL", "IS NOT NULL", "EXISTS", "CASE", "WHEN", "THEN", "ELSE", "END", "CAST",
    "GROUP BY", "HAVING", "ORDER BY", "ASC", "DESC", "NULLS FIRST", "NULLS LAST", "LIMIT", "OFFSET",
    "USING INDEX", "ARRANGE BY", "SAMPLE BY", "REPLACE", "PERCENT", "SEED", "EXPAND BY", "OVER",
    "PARTITION BY", "UNION", "INTERSECT", "EXCEPT", "ALL", "WITH", "TRUE", "FALSE", "NULL",
)  # fmt: skip

_WORDS = {word for keyword in KEYWORDS for word in keyword.split()} - {"INDEX"} | {"DATASET", "DS"}
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def quote_column(column: str) -> str:
    """Return the name of a column as it must be written in a query, in quotes if necessary.

    >>> quote_column("label"), quote_column("a/b"), quote_column("order")
    ('label', '"a/b"', '"order"')
    >>> quote_column("current_date")
    '"current_date"'
    """
    if _PLAIN.fullmatch(column) and column.upper() not in _WORDS and _is_always_column(column):
        return column
    return '"' + column.replace('"', '""') + '"'


def unused(columns: Iterable[str], *names: str) -> list[str]:
    """Return `names`, changed where needed to differ from the columns of the source.

    Case does not matter. The names must differ because, if the source has a column ``b`` and a
    query has an alias ``b``, then GROUP BY ``b`` refers to the column of the source.

    >>> unused(["B", "x"], "b", "n")
    ['b_', 'n']
    """
    taken = {column.casefold() for column in columns}
    unique = []
    for name in names:
        while name in taken:
            name += "_"
        taken.add(name)
        unique.append(name)
    return unique


@cache
def _is_always_column(word: str) -> bool:
    """Return whether the parser reads a word as a column wherever a column may occur.

    DuckDB's dialect has hundreds of words, such as ``row`` and ``list``, that it reads as columns
    in some contexts and as keywords in others.
    """
    from sqlglot import exp  # imported on first use, because it takes 0.1 s to load

    from deeplake_lite.query.parse.dialect import Lakes
    from deeplake_lite.query.parse.parsing import parse

    if word.upper() not in Lakes.Tokenizer.KEYWORDS and word.upper() != "IF":
        return True

    text = f"SELECT {word}, ABS({word}), {word} - 1 WHERE {word} >= 0 AND {word} < 1"
    try:
        tree = parse(f"{text} ORDER BY {word} DESC")
    except QueryError:
        return False
    return [column.name for column in tree.find_all(exp.Column)] == [word] * 6


def literal(value: object) -> str:
    """Return a string, number or boolean as it is written in a query.

    >>> literal("it's"), literal(True), literal(0.5), literal(-3)
    ("'it''s'", 'TRUE', '0.5', '-3')
    """
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    raise LakeError(
        f"A value in a filter must be a string, a number or a boolean, but it is {brief(value)}."
    )
