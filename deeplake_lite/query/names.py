"""Names of columns as a query has them."""

from __future__ import annotations

import re

from deeplake_lite.query.completion import KEYWORDS

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
