"""Build syntax nodes for DuckDB's SQL, such as calls, lists, errors and subqueries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

if TYPE_CHECKING:
    from collections.abc import Sequence


def func(name: str, *args: exp.Expr) -> exp.Expr:
    """Return a call to a DuckDB function."""
    return exp.Anonymous(this=name, expressions=list(args))


OUR_ERROR = "deeplake_lite: "
"""Prefix of the messages of errors that the generated SQL raises, which distinguishes them from
DuckDB's own errors. Users do not see this prefix."""


def build_error(message: str, *more: exp.Expr) -> exp.Expr:
    """Return a call that makes DuckDB raise an error.

    The message is the string `message`, followed by the values of the expressions `more`.

    >>> build_error("There is no ", exp.column("x")).sql("duckdb")
    "ERROR(CONCAT('deeplake_lite: There is no ', x))"
    """
    start = exp.Literal.string(OUR_ERROR + message)
    return func("error", func("concat", start, *more) if more else start)


def as_list(*items: exp.Expr) -> exp.Array:
    """Return a list, ``[a, b]``.

    Subqueries among the items get parentheses, because sqlglot would otherwise write ARRAY(…).

    >>> as_list(exp.select("1").subquery()).sql("duckdb")
    '[((SELECT 1))]'
    """
    return exp.Array(expressions=[exp.paren(i) if isinstance(i, exp.Query) else i for i in items])


ITEM = exp.column("lake_item")
"""Stands for the current item in the argument `body` of `each`."""


def each(node: exp.Expr, body: exp.Expr) -> exp.Expr:
    """Return SQL that computes `body` for each `ITEM` of the list `node`, or NULL for NULL."""
    comprehension = exp.Comprehension(
        this=body, expression=exp.to_identifier(ITEM.name), iterator=node.copy()
    )
    is_present = exp.not_(exp.Is(this=node.copy(), expression=exp.null()))
    items = exp.Array(expressions=[comprehension])
    return exp.Case(ifs=[exp.If(this=is_present, true=items)])


def combine_balanced(kind: type[exp.Connector], terms: Sequence[exp.Expr]) -> exp.Expr:
    """Return terms combined with AND or OR, as a balanced tree, so that it is not deep.

    >>> terms = [exp.column("a") for _ in range(1024)]
    >>> max(node.depth for node in combine_balanced(exp.Or, terms).walk())
    11
    """
    while len(terms) > 1:
        pairs = zip(terms[::2], terms[1::2], strict=False)
        unpaired = terms[-1:] if len(terms) % 2 else []
        terms = [*(kind(this=a, expression=b) for a, b in pairs), *unpaired]
    return terms[0]


def as_source(query: exp.Query, name: str) -> exp.Subquery:
    """Return ``(query) AS name``, for use in FROM."""
    return exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(name)))


def select_from(items: Sequence[exp.Expr], query: exp.Query, name: str) -> exp.Select:
    """Return ``SELECT items FROM (query) AS name``."""
    select = exp.Select(expressions=list(items))
    select.set("from_", exp.From(this=as_source(query, name)))
    return select
