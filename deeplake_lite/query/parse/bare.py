"""Completion of a condition or a clause, such as ``label = 'rose'``, to a whole query."""

from __future__ import annotations

import re

from sqlglot.errors import TokenError

from deeplake_lite.errors import LakeError, QuerySyntaxError
from deeplake_lite.query.parse.dialect import Lakes

_STARTS = ("SELECT", "WITH", "FROM", "SEMICOLON")
"""Tokens with which a query starts."""

_CLAUSES = ("WHERE", "ORDER_BY", "LIMIT")
"""Tokens of clauses that may follow the select list."""


def whole(text: str) -> str:
    """Return a query; a condition or a clause gets ``SELECT *`` in front.

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
    """Return an error of the query `whole(text)` with its place in `text`.

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
    except TokenError:  # for an open quote, the first word is enough
        return re.findall(r"\w+", text.upper())
