"""From the text of a query to a syntax tree, or to what is wrong with the text, and where."""

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
from deeplake_lite.query.parse.dialect import Lakes, paired

if TYPE_CHECKING:
    from collections.abc import Mapping

TOO_DEEP = (
    "Expected at most some 250 expressions within one another (WITH names parts), but the query is "
    "nested too deep"
)

LONG = 16
"""Terms of AND or OR from which on they are paired."""

_STARTS = (
    TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN, TokenType.FROM,
)  # fmt: skip

_SIGNS = {
    "GT": ">", "GTE": ">=", "LT": "<", "LTE": "<=", "EQ": "=", "NEQ": "<>", "ADD": "+", "SUB": "-",
    "MUL": "*", "DIV": "/", "SAMPLE": "SAMPLE BY", "EXPAND": "EXPAND BY", "ARRANGE": "ARRANGE BY",
}  # fmt: skip
"""What the parser's names of nodes are in a query."""


def parse(text: str) -> exp.Query:
    """Return the syntax tree of a query.

    Raises
    ------
    QuerySyntaxError
        With the line, a caret under the word at fault, and what was expected.
    QueryTypeError
        For what is no text.

    Examples
    --------
    >>> parse("SELECT image[0] WHERE label = 'rose'").key
    'select'
    """
    if not isinstance(text, str):
        raise QueryTypeError(
            f"A query is a text, such as 'SELECT …', got {type(text).__name__} {brief(text)}."
        )
    if (half := find_lone_surrogate(text)) is not None:
        raise _not_unicode(text, half)
    try:
        _check_start(text)
        trees = Lakes().parse(text)
        [found] = [tree for tree in trees if not isinstance(tree, exp.Semicolon | None)]
    except ParseError as error:
        raise _of_the_parser(text, error.errors[0]) from None
    except TokenError as error:
        raise _of_the_tokens(text, error) from None
    except RecursionError:
        raise QuerySyntaxError.at(text, 1, 1, TOO_DEEP) from None
    if not isinstance(found, exp.Query):
        raise QuerySyntaxError.at(text, 1, 1, f"Expected a SELECT, got {found.key.upper()}")
    if not all(select.expressions for select in found.find_all(exp.Select)):
        raise QuerySyntaxError.at(text, 1, 1, "Expected what to SELECT, such as *")
    for order in found.find_all(exp.Order):
        order.set("expressions", [part for term in order.expressions for part in _parts(term)])
    _balance(found)
    return found


def _balance(tree: exp.Expr) -> None:
    """Pair the terms of long chains of AND and OR, which the parser nests as deep as they are long.

    >>> chain = parse("SELECT x WHERE " + " OR ".join(["a"] * 1024)).args["where"].this
    >>> max(node.depth for node in chain.walk()) - chain.depth
    11
    """
    for chain in list(tree.find_all(exp.And, exp.Or)):
        kind, terms = type(chain), list(chain.flatten(unnest=False))
        if type(chain.parent) is kind or len(terms) < LONG:
            continue
        whole = exp.Null()  # in its place meanwhile
        chain.replace(whole)
        whole.replace(paired(kind, terms))


def _parts(term: exp.Expr) -> list[exp.Expr]:
    """Return ``(a, b) DESC`` of ORDER BY as ``a DESC, b DESC``; other terms as they are."""
    if not isinstance(term, exp.Ordered) or not isinstance(term.this, exp.Tuple):
        return [term]
    return [exp.Ordered(**{**term.args, "this": part}) for part in term.this.expressions]


def _not_unicode(text: str, half: int) -> QuerySyntaxError:
    """Return the error for half a surrogate pair in a query, which it shows replaced."""
    shown = re.sub("[\ud800-\udfff]", "\N{REPLACEMENT CHARACTER}", text)
    place = Place.at(shown, half)
    wanted = f"Expected Unicode text, got half a surrogate pair, {text[half]!a}"
    return QuerySyntaxError.at(shown, place.line, place.column, wanted)


def _check_start(text: str) -> None:
    """Refuse what is no query before the parser reads on. Raises QuerySyntaxError."""
    ends = groupby(Lakes().tokenize(text), lambda token: token.token_type is TokenType.SEMICOLON)
    statements = [list(tokens) for is_end, tokens in ends if not is_end]
    if len(statements) != 1:
        number = f"{len(statements)} statements" if statements else "nothing"
        raise QuerySyntaxError.at(text, 1, 1, f"Expected one SELECT, got {number}")
    first = statements[0][0]
    if first.token_type not in _STARTS:
        column = max(1, first.col - len(first.text) + 1)
        raise QuerySyntaxError.at(text, first.line, column, f"Expected a SELECT, got {first.text}")


def _of_the_parser(text: str, found: Mapping[str, Any]) -> QuerySyntaxError:
    """Return what the parser has found as an error of ours."""
    line, end, word = found["line"] or 1, found["col"] or 1, found["highlight"] or ""
    column = end - len(word) + 1
    if text.splitlines()[line - 1][column - 1 :].startswith("::"):
        return QuerySyntaxError.at(text, line, column, "Expected CAST(x AS type): `::` is a slice")
    return QuerySyntaxError.at(text, line, column, _reason(found["description"] or "", word))


def _reason(message: str, word: str) -> str:
    """Return what the parser says in words of the language.

    >>> _reason("Required keyword: 'this' missing for <class 'sqlglot.query.Where'>", "")
    'Expected an expression in WHERE'
    """
    if missing := re.search(r"missing for <class '[\w.]+\.(\w+)'>", message):
        words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", missing[1]).upper()
        return f"Expected an expression in {_SIGNS.get(words, words)}"
    if word == "||":
        return "Expected AND or OR: || joins texts"
    if message.startswith("Invalid expression"):
        return f"Expected an operator, a clause or the end, got {word}"
    return message.split(" but got <")[0].replace("Expecting", "Expected")


def _of_the_tokens(text: str, error: TokenError) -> QuerySyntaxError:
    """Return the error for a text that has no words: a quote, most often, that stays open."""
    if opened := re.match(r"Missing (\S+) from (\d+):(\d+)", str(error.__cause__)):
        quote, line, before = opened[1], int(opened[2]), int(opened[3])
        return QuerySyntaxError.at(text, line, before + 1, f"Expected a closing {quote}")
    return QuerySyntaxError.at(text, 1, 1, "Expected words, numbers and signs to the end")
