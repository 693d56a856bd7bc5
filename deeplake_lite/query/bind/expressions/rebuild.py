"""Lower syntax nodes that DuckDB's SQL has, too. Only their parts must be lowered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from deeplake_lite.errors import QueryError
from deeplake_lite.query.bind.scalars.conversions import as_part, as_text, scalar_to_sql
from deeplake_lite.query.parse.dialect import text_of
from deeplake_lite.query.values import ANY, BOOL, NUMBER, TEXT, Kind, Sql, Value

if TYPE_CHECKING:
    from deeplake_lite.query.bind.expressions.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope


_INSTEAD: dict[type[exp.Expr], str] = {
    exp.JSONExtract: " Write a subscript: meta['key'].",
    exp.JSONExtractScalar: " Write a subscript: CAST(meta['key'] AS TEXT).",
    exp.IgnoreNulls: " Use ANY_VALUE(x), which skips nulls, or filter the rows in a subquery.",
}
"""Maps syntax of other SQL dialects to hints on how to write it in this language."""

_WORDS = {"alias": "AS", "ignorenulls": "IGNORE NULLS", "respectnulls": "RESPECT NULLS"}
"""Maps names that the parser gives to some syntax to the SQL keywords."""

REBUILT = frozenset(
    [
        "attimezone",
        "bitwiseand",
        "bitwiseleftshift",
        "bitwisenot",
        "bitwiseor",
        "bitwiserightshift",
        "bitwisexor",
        "collate",
        "escape",
        "glob",
        "hexstring",
        "regexpilike",
        "regexplike",
        "similarto",
        "startswith",
        "strposition",
        "substring",
        "trim",
        "tuple",
    ]
)
"""The names of the syntax nodes that stay the same in DuckDB's SQL, except for their parts."""

_OF_TEXTS = {
    "collate": TEXT, "glob": BOOL, "regexpilike": BOOL, "regexplike": BOOL, "similarto": BOOL,
    "startswith": BOOL, "strposition": NUMBER, "substring": TEXT, "trim": TEXT,
}  # fmt: skip
"""Maps nodes that take strings to the kinds of their results. If an operand is a class, the node
gets the name of the class."""


def rebuild(low: Lowering, e: exp.Expr, scope: Scope, kind: Kind = ANY) -> Value:
    """Return a copy of a node with lowered parts, which must be scalars.

    Raises
    ------
    QueryError
        If the node is not part of the query language.
    """
    if e.key not in REBUILT:
        way = _INSTEAD.get(type(e), "")
        word = _WORDS.get(e.key, e.key.upper())
        raise QueryError(f"{word} is not part of the language: {text_of(e)}.{way}")
    node, of_text = e.copy(), e.key in _OF_TEXTS
    for name, part in list(e.args.items()):
        if isinstance(part, exp.Expr):
            node.set(name, _part(low, part, scope, of_text=of_text))
        elif isinstance(part, list):
            node.set(name, [_part(low, p, scope, of_text=of_text) for p in part])
    return Sql(node, _OF_TEXTS.get(e.key, kind))


def _part(low: Lowering, part: object, scope: Scope, *, of_text: bool) -> object:
    if not isinstance(part, exp.Expr) or isinstance(part, exp.DataType | exp.Identifier | exp.Var):
        return part
    value = scalar_to_sql(low.value(part, scope), low, scope)
    return as_text(value, low, scope) if of_text else low.as_sql(as_part(value), scope)
