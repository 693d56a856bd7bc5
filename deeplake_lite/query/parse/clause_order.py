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
"""Parses a clause; returns the name and the value of an argument for the query's node."""

_CLAUSE_ORDER = (
    (TokenType.WHERE,),
    (TokenType.GROUP_BY,),
    (TokenType.HAVING,),
    (TokenType.WINDOW, TokenType.QUALIFY),
    (TokenType.ORDER_SIBLINGS_BY,),
    (TokenType.ORDER_BY,),
    (TokenType.LIMIT, TokenType.FETCH, TokenType.OFFSET),
    (TokenType.SORT_BY, TokenType.CLUSTER_BY, TokenType.DISTRIBUTE_BY),
)
"""Tokens of clauses in the required order."""

NAMED = {"limit", "offset", "locks", "sample", "group"}
"""Clauses that errors may refer to as a whole, by pointing to the first word."""


def record_start(e: object, first: Token) -> None:
    """Record the position of an expression in the text, unless the parser has recorded it."""
    if isinstance(e, exp.Expression):
        e.meta.setdefault("start", first.start)


def check_order(token: TokenType, parse: ParseClause) -> ParseClause:
    """Wrap the parser of a clause so that it rejects a following clause that must come earlier."""
    turn = next((at for at, tokens in enumerate(_CLAUSE_ORDER) if token in tokens), 0)
    earlier = {token for tokens in _CLAUSE_ORDER[:turn] for token in tokens}

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
