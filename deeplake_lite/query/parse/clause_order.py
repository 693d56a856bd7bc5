"""Check the order of the clauses in a query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp
from sqlglot.tokens import TokenType  # type: ignore[attr-defined]

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlglot.parser import Parser
    from sqlglot.tokenizer_core import Token

type ParseClause = Callable[[Parser], tuple[str, object]]
"""A function that parses a clause, and returns the name and the value of an argument of the query's
syntax node."""

_CLAUSE_ORDER = (
    (TokenType.WHERE,),
    (TokenType.GROUP_BY,),
    (TokenType.HAVING,),
    (TokenType.WINDOW, TokenType.QUALIFY),
    (TokenType.ORDER_SIBLINGS_BY,),
    (TokenType.ORDER_BY,),
    (TokenType.LIMIT, TokenType.FETCH, TokenType.OFFSET),
    (TokenType.USING,),
    (TokenType.SORT_BY, TokenType.CLUSTER_BY, TokenType.DISTRIBUTE_BY),
)
"""The tokens with which clauses start, in the order in which the clauses must be written."""

NAMED = {"limit", "offset", "locks", "sample", "group", "using_index"}
"""Clauses to whose first word an error about the whole clause may point."""


def record_start(e: object, first: Token) -> None:
    """Record where an expression starts in the text, unless the parser has recorded it."""
    if isinstance(e, exp.Expression):
        e.meta.setdefault("start", first.start)


def check_order(token: TokenType, parse: ParseClause) -> ParseClause:
    """Return a parser of the clause that starts with `token` and checks the clause after it.

    Parsing fails if the next clause must be written before this clause.
    """
    rank = next((at for at, tokens in enumerate(_CLAUSE_ORDER) if token in tokens), 0)
    earlier = {token for tokens in _CLAUSE_ORDER[:rank] for token in tokens}

    def parse_clause(parser: Parser) -> tuple[str, object]:
        # sqlglot has no public way to look at the next token.
        first = parser._curr  # noqa: SLF001
        name, clause = first.text.upper(), parse(parser)
        parts = clause[1] if isinstance(clause[1], list) else [clause[1]]
        for part in parts if clause[0] in NAMED else ():
            record_start(part, first)
        if parser._match_set(earlier, advance=False):  # noqa: SLF001
            word = parser._curr.text.upper()  # noqa: SLF001
            parser.raise_error(f"{word} must come before {name}")
        return clause

    return parse_clause
