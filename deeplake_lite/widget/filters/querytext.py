"""Edits of single clauses in the text of a query. The other clauses are not changed.

The tokens of the text tell where clauses are; the syntax tree gives their meaning. If a query
groups or limits rows, or has several SELECTs, no condition on its rows can be added. Such a query
becomes a subquery instead: ``SELECT * FROM (…) WHERE …``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from deeplake_lite.query.parse.added_nodes import CLAUSES
from deeplake_lite.query.parse.dialect import Lakes, text_of
from deeplake_lite.query.parse.parsing import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ALL = "SELECT *"
"""The query for all rows, which users see as an empty query."""

_OPENS, _CLOSES = ("L_PAREN", "L_BRACKET", "CASE"), ("R_PAREN", "R_BRACKET", "END")
_WHERE, _ORDER = "WHERE", "ORDER_BY"
_BEHIND = {
    _WHERE: ("GROUP_BY", "HAVING", "WINDOW", "QUALIFY", _ORDER),
    _ORDER: (),
}
"""Maps each clause to the clauses that may follow it, in addition to those in `_LAST`."""
_LAST = (
    "LIMIT", "FETCH", "OFFSET", "SORT_BY", "CLUSTER_BY", "DISTRIBUTE_BY", "UNION", "INTERSECT",
    "EXCEPT", "SEMICOLON",
)  # fmt: skip
_OF_ROWS = (
    "with_", "distinct", "group", "having", "qualify", "limit", "offset", "joins", CLAUSES,
)  # fmt: skip
"""Arguments of a SELECT's syntax tree that make its rows differ from the rows of its source."""

_STAR_OF = ("SELECT", "STAR", "FROM", "L_PAREN", "R_PAREN")


@dataclass(frozen=True)
class Word:
    """A token at the top level of a query, outside parentheses, brackets and CASE."""

    kind: str
    start: int
    stop: int
    """Index after the token's last character."""


def words(text: str) -> Iterator[Word]:
    """Yield the top-level tokens of a query. Of nested parts, only the delimiters are yielded.

    >>> [w.kind for w in words("SELECT f(a AND b) WHERE x")]
    ['SELECT', 'VAR', 'L_PAREN', 'R_PAREN', 'WHERE', 'VAR']
    """
    depth = 0
    for token in Lakes().tokenize(text):
        kind = token.token_type.name
        depth -= kind in _CLOSES
        if depth == 0:
            yield Word(kind, token.start, token.end + 1)
        depth += kind in _OPENS


def clause(text: str, kind: str) -> tuple[int, int, int]:
    """Return the start of a clause, the start of its body, and its end.

    If the query does not have the clause, all three are the position at which it can be inserted.

    >>> text = "SELECT * WHERE x > 1 ORDER BY x"
    >>> start, body, end = clause(text, "WHERE")
    >>> text[start:body], text[body:end]
    ('WHERE ', 'x > 1')
    """
    following = (*_BEHIND[kind], *_LAST)
    end, start, body = 0, -1, 0
    for word in words(text):
        if word.kind in following:
            break
        if start >= 0 and body < 0:
            body = word.start
        if word.kind == kind:
            start, body = word.start, -1
        end = word.stop
    return (start, body, end) if start >= 0 else (end, end, end)


def with_clause(text: str, kind: str, body: str) -> str:
    """Replace the body of a clause, or remove the clause if the body is empty.

    >>> with_clause("SELECT * ORDER BY y LIMIT 3", "ORDER_BY", "x DESC")
    'SELECT * ORDER BY x DESC LIMIT 3'
    >>> with_clause("SELECT * WHERE x > 1", "WHERE", "")
    'SELECT *'
    """
    text = text or ALL
    start, _, end = clause(text, kind)
    new = f"{kind.replace('_', ' ')} {body}" if body else ""
    before = text[:start].rstrip()
    ends_in_comment = "--" in before.rpartition("\n")[2]  # a line break must follow the comment
    parts = (before + "\n" * ends_in_comment, new, text[end:].lstrip())
    return " ".join(filter(None, parts)).strip()


def without_index(text: str) -> str:
    """Remove LIMIT … USING INDEX from a query, because it needs an order by similarity.

    >>> without_index("SELECT * ORDER BY DOT(v, [1]) DESC LIMIT 9 USING INDEX")
    'SELECT * ORDER BY DOT(v, [1]) DESC'
    >>> without_index("SELECT * LIMIT 9")
    'SELECT * LIMIT 9'
    """
    top = list(words(text))
    for word, after in pairwise(top):
        if (word.kind, after.kind) == ("USING", "INDEX"):
            start = min((w.start for w in top if w.kind in ("LIMIT", "FETCH")), default=word.start)
            return f"{text[:start].rstrip()} {text[after.stop :].lstrip()}".strip()
    return text


def conjuncts(condition: str) -> list[str]:
    """Return the conditions that AND joins in a condition, or the whole condition if it has OR.

    >>> conjuncts("a > 1 AND b BETWEEN 2 AND 3 AND (c OR d)")
    ['a > 1', 'b BETWEEN 2 AND 3', '(c OR d)']
    >>> conjuncts("a OR b AND c")
    ['a OR b AND c']
    """
    top = list(words(condition))
    if any(word.kind in ("OR", "XOR") for word in top):
        return [condition]
    parts: list[list[Word]] = [[]]
    between = False  # whether the next AND belongs to BETWEEN
    for word in top:
        if word.kind == "AND" and not between:
            parts.append([])
        else:
            parts[-1].append(word)
        between = word.kind == "BETWEEN" or (between and word.kind != "AND")
    return [condition[part[0].start : part[-1].stop] for part in parts if part]


def join_conditions(conditions: Sequence[str]) -> str:
    """Join conditions with AND.

    >>> join_conditions(["a OR b", "c > 1"])
    '(a OR b) AND c > 1'
    """
    if len(conditions) == 1:
        return conditions[0]
    return " AND ".join(f"({c})" if _has_or(c) else c for c in conditions)


def _has_or(condition: str) -> bool:
    return any(word.kind in ("OR", "XOR") for word in words(condition))


def condition_of(text: str) -> exp.Expr:
    """Return the syntax tree of a condition."""
    tree = parse(f"SELECT 1 WHERE {text}").args["where"].this
    assert isinstance(tree, exp.Expression)
    return tree


def takes_conditions(text: str, columns: Sequence[str]) -> bool:
    """Return whether a condition on the source's columns can be added to the query's own WHERE.

    >>> takes_conditions("SELECT x WHERE x > 1 ORDER BY y", ["x", "y"])
    True
    >>> takes_conditions("SELECT * LIMIT 3", ["x"]), takes_conditions("SELECT y AS x", ["x", "y"])
    (False, False)
    """
    tree = parse(text)
    if not isinstance(tree, exp.Select) or tree.find(exp.Window):
        return False
    if any(tree.args.get(part) for part in _OF_ROWS) or _reads_subquery(tree):
        return False
    return not any(_shadows_column(item, columns) for item in tree.expressions)


def is_source(text: str) -> bool:
    """Return whether a query can be a subquery of another query.

    >>> is_source("SELECT * LIMIT 3"), is_source("SELECT * SAMPLE BY MAX_WEIGHT(x = 1: 2)")
    (True, False)
    """
    return not parse(text).args.get(CLAUSES)


def _reads_subquery(tree: exp.Select) -> bool:
    """Return whether FROM has a subquery."""
    source = tree.args.get("from_")
    return source is not None and isinstance(source.this, exp.Subquery)


def _shadows_column(item: exp.Expr, columns: Sequence[str]) -> bool:
    """Return whether the alias of a SELECT item shadows a column."""
    return (
        isinstance(item, exp.Alias)
        and item.alias in columns
        and not (isinstance(item.this, exp.Column) and item.this.name == item.alias)
    )


def wrap_query(text: str) -> str:
    """Return a query for all rows of another query.

    >>> wrap_query("SELECT * LIMIT 3;")
    'SELECT * FROM (SELECT * LIMIT 3)'
    """
    inner = text.strip().rstrip(";").rstrip()
    return f"SELECT * FROM ({inner}\n)" if "--" in inner else f"SELECT * FROM ({inner})"


def unwrap_query(text: str) -> str:
    """Return the inner query of a query made by `wrap_query`, or any other query unchanged.

    >>> [unwrap_query(f"SELECT {s}") for s in ("* FROM (SELECT * LIMIT 3)", "*", "x")]
    ['SELECT * LIMIT 3', '', 'SELECT x']
    """
    if text.strip() == ALL:
        return ""
    inner = inner_of(text)
    return text if inner is None or len(list(words(text))) > len(_STAR_OF) else inner


def inner_of(text: str) -> str | None:
    """Return the query inside ``SELECT * FROM (…)``, or None for any other query.

    WHERE or ORDER BY may follow the inner query.
    """
    top = list(words(text))
    if tuple(word.kind for word in top[:5]) != _STAR_OF:
        return None
    if len(top) > len(_STAR_OF) and top[5].kind not in (_WHERE, _ORDER):
        return None
    return text[top[3].stop : top[4].start].strip()


def are_equal(a: exp.Expr, b: exp.Expr) -> bool:
    """Return whether two expressions are equal, regardless of how their names are quoted.

    >>> are_equal(condition_of('"x" = 1'), condition_of("dataset.x = 1"))
    True
    """
    return _plain(a) == _plain(b)


def _plain(tree: exp.Expr) -> str:
    """Format an expression with unquoted and unqualified column names."""

    def bare(node: object) -> object:
        if isinstance(node, exp.Column):
            names = node.parts[1:] if node.parts[0].name in ("ds", "dataset") else node.parts
            names = names or node.parts
            return exp.Var(this="\0".join(part.name for part in names))
        return node

    rule: Callable[[object], Any] = bare
    return text_of(tree.copy().transform(rule))
