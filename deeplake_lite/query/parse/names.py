"""Words that mean something in a query; names of columns and constants as it has them."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from deeplake_lite.brief import brief
from deeplake_lite.errors import LakeError, QueryError

if TYPE_CHECKING:
    from collections.abc import Iterable

KEYWORDS = (
    "SELECT", "DISTINCT", "EXCLUDE", "FROM", "VERSION", "AS", "JOIN", "LEFT JOIN", "RIGHT JOIN",
    "FULL JOIN", "CROSS JOIN", "USING", "ON", "WHERE", "AND", "OR", "NOT", "IN", "BETWEEN", "LIKE",
    "ILIKE", "IS NULL", "IS NOT NULL", "EXISTS", "CASE", "WHEN", "THEN", "ELSE", "END", "CAST",
    "GROUP BY", "HAVING", "ORDER BY", "ASC", "DESC", "NULLS FIRST", "NULLS LAST", "LIMIT", "OFFSET",
    "ARRANGE BY", "SAMPLE BY", "REPLACE", "PERCENT", "SEED", "EXPAND BY", "OVER", "PARTITION BY",
    "UNION", "INTERSECT", "EXCEPT", "ALL", "WITH", "TRUE", "FALSE", "NULL",
)  # fmt: skip

_WORDS = {word for keyword in KEYWORDS for word in keyword.split()} | {"DATASET", "DS"}
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def quoted(column: str) -> str:
    """Return a column's name as a query has it: in quotes where it is no plain word.

    >>> quoted("label"), quoted("a/b"), quoted("order"), quoted("current_date")
    ('label', '"a/b"', '"order"', '"current_date"')
    """
    if _PLAIN.fullmatch(column) and column.upper() not in _WORDS and _is_a_name(column):
        return column
    return '"' + column.replace('"', '""') + '"'


def unused(columns: Iterable[str], *names: str) -> list[str]:
    """Return names for columns of a query that none of its source has, whatever the case.

    A query that gives ``b`` to an expression and groups by ``b`` groups by the source's column of
    that name, where there is one.

    >>> unused(["B", "x"], "b", "n")
    ['b_', 'n']
    """
    taken = {column.casefold() for column in columns}
    found = []
    for name in names:
        while name in taken:
            name += "_"
        taken.add(name)
        found.append(name)
    return found


@cache
def _is_a_name(word: str) -> bool:
    """Tell whether the parser takes a word for a column wherever a column may stand.

    The dialect that ours is made of knows hundreds of words, such as ``row`` and ``list``, which
    are columns in some places and the beginning of something else in others.
    """
    from sqlglot import exp  # only once names are asked for: it takes 0.1 s to load

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


def literal(value: Any) -> str:
    """Return a value as a query has it.

    >>> literal("it's"), literal(True), literal(0.5), literal(-3)
    ("'it''s'", 'TRUE', '0.5', '-3')
    """
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    raise LakeError(f"A filter takes texts, numbers and truth values, got {brief(value)}.")
