"""Parsing of queries into syntax trees, with explanations of syntax errors."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Any

from sqlglot import exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokens import TokenType  # type: ignore[attr-defined]

from deeplake_lite.brief import brief
from deeplake_lite.checks import find_lone_surrogate
from deeplake_lite.errors import Place, QuerySyntaxError, QueryTypeError
from deeplake_lite.query.parse.dialect import Lakes
from deeplake_lite.query.parse.duckdb_nodes import combine_balanced

if TYPE_CHECKING:
    from collections.abc import Mapping

TOO_DEEP = (
    "Expected at most about 250 levels of nested expressions (WITH can name parts), but the query "
    "is nested more deeply"
)
"""Message for a query that is nested too deeply."""

LONG = 16
"""A chain of AND or OR with at least this number of terms is balanced."""

_STARTS = (
    TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN, TokenType.FROM,
)  # fmt: skip

_SIGNS = {
    "GT": ">", "GTE": ">=", "LT": "<", "LTE": "<=", "EQ": "=", "NEQ": "<>", "ADD": "+", "SUB": "-",
    "MUL": "*", "DIV": "/", "SAMPLE": "SAMPLE BY", "EXPAND": "EXPAND BY", "ARRANGE": "ARRANGE BY",
}  # fmt: skip
"""Maps the parser's names of nodes to symbols or keywords."""


def parse(text: str) -> exp.Query:
    """Return the syntax tree of a query.

    Raises
    ------
    QuerySyntaxError
        For a syntax error. The message shows the line, a caret under the error, and the expected
        syntax.
    QueryTypeError
        If the query is not a string.

    Examples
    --------
    >>> parse("SELECT image[0] WHERE label = 'rose'").key
    'select'
    """
    if not isinstance(text, str):
        raise QueryTypeError(
            f"A query must be a string, such as 'SELECT …', but it is {type(text).__name__} "
            f"{brief(text)}."
        )
    if (position := find_lone_surrogate(text)) is not None:
        raise _surrogate_error(text, position)
    try:
        _check_start(text)
        trees = Lakes().parse(text)
        [tree] = [part for part in trees if not isinstance(part, exp.Semicolon | None)]
    except ParseError as error:
        raise _parser_error(text, error.errors[0]) from None
    except TokenError as error:
        raise _token_error(text, error) from None
    except RecursionError:
        raise QuerySyntaxError.at(text, 1, 1, TOO_DEEP) from None
    if not isinstance(tree, exp.Query):
        raise QuerySyntaxError.at(text, 1, 1, f"Expected a SELECT, got {tree.key.upper()}")
    if not all(select.expressions for select in tree.find_all(exp.Select)):
        raise QuerySyntaxError.at(text, 1, 1, "Expected a select list, such as *")
    for order in tree.find_all(exp.Order):
        order.set("expressions", [part for term in order.expressions for part in _parts(term)])
    _balance(tree)
    return tree


def _balance(tree: exp.Expr) -> None:
    """Balance long chains of AND or OR, which the parser nests as deeply as they are long.

    >>> chain = parse("SELECT x WHERE " + " OR ".join(["a"] * 1024)).args["where"].this
    >>> max(node.depth for node in chain.walk()) - chain.depth
    11
    """
    for chain in list(tree.find_all(exp.And, exp.Or)):
        kind = type(chain)
        if type(chain.parent) is kind:  # this is a part of a longer chain
            continue
        terms = list(chain.flatten(unnest=False))
        if len(terms) < LONG:
            continue
        whole = exp.Null()  # a placeholder for the chain, whose terms `combine_balanced` moves
        chain.replace(whole)
        whole.replace(combine_balanced(kind, terms))


def _parts(term: exp.Expr) -> list[exp.Expr]:
    """Split a term of ORDER BY: ``(a, b) DESC`` becomes the terms ``a DESC, b DESC``.

    Other terms are returned unchanged.
    """
    if not isinstance(term, exp.Ordered) or not isinstance(term.this, exp.Tuple):
        return [term]
    return [exp.Ordered(**{**term.args, "this": part}) for part in term.this.expressions]


def _surrogate_error(text: str, position: int) -> QuerySyntaxError:
    """Return the error for a lone surrogate in a query.

    The error shows the query with replacement characters, because surrogates cannot be printed.
    """
    printable = re.sub("[\ud800-\udfff]", "\N{REPLACEMENT CHARACTER}", text)
    place = Place.at(printable, position)
    reason = f"Expected Unicode text, got a lone surrogate, {text[position]!a}"
    return QuerySyntaxError.at(printable, place.line, place.column, reason)


def _check_start(text: str) -> None:
    """Raise QuerySyntaxError unless the text is one statement that starts like a query."""
    ends = groupby(Lakes().tokenize(text), lambda token: token.token_type is TokenType.SEMICOLON)
    statements = [list(tokens) for is_end, tokens in ends if not is_end]
    if len(statements) != 1:
        number = f"{len(statements)} statements" if statements else "nothing"
        raise QuerySyntaxError.at(text, 1, 1, f"Expected one SELECT, got {number}")
    first = statements[0][0]
    if first.token_type not in _STARTS:
        column = max(1, first.col - len(first.text) + 1)
        raise QuerySyntaxError.at(text, first.line, column, f"Expected a SELECT, got {first.text}")


def _parser_error(text: str, error: Mapping[str, Any]) -> QuerySyntaxError:
    """Return an error of sqlglot's parser as a QuerySyntaxError."""
    line, end, word = error["line"] or 1, error["col"] or 1, error["highlight"] or ""
    column = end - len(word) + 1
    if text.splitlines()[line - 1][column - 1 :].startswith("::"):
        return QuerySyntaxError.at(text, line, column, "Expected CAST(x AS type): `::` is a slice")
    return QuerySyntaxError.at(text, line, column, _reason(error["description"] or "", word))


def _reason(message: str, word: str) -> str:
    """Return a message of sqlglot's parser in terms of the query language.

    `word` is the word of the query that the message is about.

    >>> _reason("Required keyword: 'this' missing for <class 'sqlglot.query.Where'>", "")
    'Expected an expression in WHERE'
    """
    if missing := re.search(r"missing for <class '[\w.]+\.(\w+)'>", message):
        words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", missing[1]).upper()
        return f"Expected an expression in {_SIGNS.get(words, words)}"
    if word == "||":
        return "Expected AND or OR: || joins strings"
    if message.startswith("Invalid expression"):
        return f"Expected an operator, a clause or the end, got {word}"
    return message.split(" but got <")[0].replace("Expecting", "Expected")


def _token_error(text: str, error: TokenError) -> QuerySyntaxError:
    """Return the error for a query that cannot be tokenized, often because of an unclosed quote."""
    if opened := re.match(r"Missing (\S+) from (\d+):(\d+)", str(error.__cause__)):
        quote, line, before = opened[1], int(opened[2]), int(opened[3])
        return QuerySyntaxError.at(text, line, before + 1, f"Expected a closing {quote}")
    return QuerySyntaxError.at(text, 1, 1, "Expected only words, numbers and operators")
