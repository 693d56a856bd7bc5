"""Complete a condition, such as ``label = 'rose'``, or a clause, to obtain a whole query."""

from __future__ import annotations

import re

from sqlglot.errors import TokenError

from deeplake_lite.errors import LakeError, QuerySyntaxError
from deeplake_lite.query.parse.dialect import Lakes

_STARTS = ("SELECT", "WITH", "FROM", "SEMICOLON")
"""Tokens with which a query can start."""

_CLAUSES = ("WHERE", "ORDER_BY", "LIMIT")
"""First tokens of the clauses that can directly follow the select list."""


def whole(text: str) -> str:
    """Put ``SELECT *`` in front of a condition or a clause. A query is returned unchanged.

    >>> whole("x > 1 ORDER BY x"), whole("WHERE x > 1"), whole("(x > 1) OR y")
    ('SELECT * WHERE x > 1 ORDER BY x', 'SELECT * WHERE x > 1', 'SELECT * WHERE (x > 1) OR y')
    >>> whole("(SELECT x)"), whole("")
    ('(SELECT x)', '')
    """
    first = next((kind for kind in _kinds(text) if kind != "L_PAREN"), None)
    if first is None or first in _STARTS:
        return text
    return f"SELECT * {text}" if first in _CLAUSES else f"SELECT * WHERE {text}"


def as_typed(error: LakeError, text: str) -> LakeError:
    """Return an error in the query ``whole(text)``, with its position changed to one in `text`.

    >>> from deeplake_lite.errors import QuerySyntaxError
    >>> error = QuerySyntaxError.at(whole("x > "), 1, 18, "Expected a number")
    >>> print(as_typed(error, "x > "))
    Expected a number: line 1, column 3.
      x >
        ^
    """
    prefix = whole(text).removesuffix(text)
    if isinstance(error, QuerySyntaxError):
        return error.without(prefix)
    error.place = error.place and error.place.without(prefix)
    return error


def _kinds(text: str) -> list[str]:
    try:
        return [token.token_type.name for token in Lakes().tokenize(text)]
    except TokenError:  # the text may end within a quote, but the caller only needs its first word
        return re.findall(r"\w+", text.upper())
