"""Words that mean something in a query; names of columns and constants as it has them."""

from __future__ import annotations

import re
from typing import Any

from deeplake_lite.errors import LakeError

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

    >>> quoted("label"), quoted("a/b"), quoted("order")
    ('label', '"a/b"', '"order"')
    """
    if _PLAIN.fullmatch(column) and column.upper() not in _WORDS:
        return column
    return '"' + column.replace('"', '""') + '"'


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
    raise LakeError(f"A filter takes texts, numbers and truth values, got {value!r:.60}.")
