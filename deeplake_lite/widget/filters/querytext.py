"""A query's text, changed in one place: what a reader wrote elsewhere stays as it was written.

The tokens of the text say where its clauses stand; the syntax tree says what they mean. A query of
groups, of a few rows, or of several SELECTs takes no condition of its own rows any more: it becomes
the source of another one, ``SELECT * FROM (…) WHERE …``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from deeplake_lite.query.parse.dialect import CLAUSES, Lakes, text_of
from deeplake_lite.query.parse.parsing import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ALL = "SELECT *"
"""What all rows are; as a query, nothing."""

_OPENS, _CLOSES = ("L_PAREN", "L_BRACKET", "CASE"), ("R_PAREN", "R_BRACKET", "END")
_WHERE, _ORDER = "WHERE", "ORDER_BY"
_BEHIND = {
    _WHERE: ("GROUP_BY", "HAVING", "WINDOW", "QUALIFY", _ORDER),
    _ORDER: (),
}
"""Clauses that stand behind one; what follows LIMIT stands behind all."""
_LAST = (
    "LIMIT", "FETCH", "OFFSET", "SORT_BY", "CLUSTER_BY", "DISTRIBUTE_BY", "UNION", "INTERSECT",
    "EXCEPT", "SEMICOLON",
)  # fmt: skip
_OF_ROWS = (
    "with_", "distinct", "group", "having", "qualify", "limit", "offset", "joins", CLAUSES,
)  # fmt: skip
"""Parts of a SELECT whose rows are not those of its source, or are only some of them."""

_STAR_OF = ("SELECT", "STAR", "FROM", "L_PAREN", "R_PAREN")


@dataclass(frozen=True)
class Word:
    """A token at the top of a query: not within parentheses, brackets, or a CASE."""

    kind: str
    start: int
    stop: int
    """Behind its last character."""


def words(text: str) -> Iterator[Word]:
    """Yield the tokens at the top of a query; what is within others counts for its first and last.

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
    """Return where a clause stands: its word, what it says, its end; thrice the same where none is.

    >>> text = "SELECT * WHERE x > 1 ORDER BY x"
    >>> start, said, end = clause(text, "WHERE")
    >>> text[start:said], text[said:end]
    ('WHERE ', 'x > 1')
    """
    behind = (*_BEHIND[kind], *_LAST)
    end, start, said = 0, -1, 0
    for word in words(text):
        if word.kind in behind:
            break
        if start >= 0 and said < 0:
            said = word.start
        if word.kind == kind:
            start, said = word.start, -1
        end = word.stop
    return (start, said, end) if start >= 0 else (end, end, end)


def with_clause(text: str, kind: str, said: str) -> str:
    """Return a query with a clause that says something else, or without it.

    >>> with_clause("SELECT * ORDER BY y LIMIT 3", "ORDER_BY", "x DESC")
    'SELECT * ORDER BY x DESC LIMIT 3'
    >>> with_clause("SELECT * WHERE x > 1", "WHERE", "")
    'SELECT *'
    """
    text = text or ALL
    start, _, end = clause(text, kind)
    written = f"{kind.replace('_', ' ')} {said}" if said else ""
    before = text[:start].rstrip()
    ends_in_note = "--" in before.rpartition("\n")[2]
    parts = (before + "\n" * ends_in_note, written, text[end:].lstrip())
    return " ".join(filter(None, parts)).strip()


def conjuncts(said: str) -> list[str]:
    """Return what a condition joins with AND; all of it where OR joins it.

    >>> conjuncts("a > 1 AND b BETWEEN 2 AND 3 AND (c OR d)")
    ['a > 1', 'b BETWEEN 2 AND 3', '(c OR d)']
    >>> conjuncts("a OR b AND c")
    ['a OR b AND c']
    """
    top = list(words(said))
    if any(word.kind in ("OR", "XOR") for word in top):
        return [said]
    parts: list[list[Word]] = [[]]
    between = False
    for word in top:
        if word.kind == "AND" and not between:
            parts.append([])
        else:
            parts[-1].append(word)
        between = word.kind == "BETWEEN" or (between and word.kind != "AND")
    return [said[part[0].start : part[-1].stop] for part in parts if part]


def joined(conditions: Sequence[str]) -> str:
    """Return conditions as one.

    >>> joined(["a OR b", "c > 1"])
    '(a OR b) AND c > 1'
    """
    if len(conditions) == 1:
        return conditions[0]
    return " AND ".join(f"({c})" if _has_or(c) else c for c in conditions)


def _has_or(condition: str) -> bool:
    return any(word.kind in ("OR", "XOR") for word in words(condition))


def condition_of(text: str) -> exp.Expr:
    """Return the tree of a condition."""
    tree = parse(f"SELECT 1 WHERE {text}").args["where"].this
    assert isinstance(tree, exp.Expression)
    return tree


def takes_conditions(text: str, columns: Sequence[str]) -> bool:
    """Tell whether a condition of the source's columns can stand in a query's own WHERE.

    >>> takes_conditions("SELECT x WHERE x > 1 ORDER BY y", ["x", "y"])
    True
    >>> takes_conditions("SELECT * LIMIT 3", ["x"]), takes_conditions("SELECT y AS x", ["x", "y"])
    (False, False)
    """
    tree = parse(text)
    if not isinstance(tree, exp.Select) or tree.find(exp.Window):
        return False
    if any(tree.args.get(part) for part in _OF_ROWS) or _is_of_a_query(tree):
        return False
    return not any(_means_another(item, columns) for item in tree.expressions)


def is_source(text: str) -> bool:
    """Tell whether a query can be the source of another one.

    >>> is_source("SELECT * LIMIT 3"), is_source("SELECT * SAMPLE BY MAX_WEIGHT(x = 1: 2)")
    (True, False)
    """
    return not parse(text).args.get(CLAUSES)


def _is_of_a_query(tree: exp.Select) -> bool:
    """Tell whether what FROM names is a query."""
    source = tree.args.get("from_")
    return source is not None and isinstance(source.this, exp.Subquery)


def _means_another(item: exp.Expr, columns: Sequence[str]) -> bool:
    """Tell whether an item of SELECT gives a column's name to something else."""
    return (
        isinstance(item, exp.Alias)
        and item.alias in columns
        and not (isinstance(item.this, exp.Column) and item.this.name == item.alias)
    )


def wrapped(text: str) -> str:
    """Return a query of all that another gives.

    >>> wrapped("SELECT * LIMIT 3;")
    'SELECT * FROM (SELECT * LIMIT 3)'
    """
    inner = text.strip().rstrip(";").rstrip()
    return f"SELECT * FROM ({inner}\n)" if "--" in inner else f"SELECT * FROM ({inner})"


def unwrapped(text: str) -> str:
    """Return the query that another gives all of; the text where it is not such a one.

    >>> unwrapped("SELECT * FROM (SELECT * LIMIT 3)"), unwrapped("SELECT *"), unwrapped("SELECT x")
    ('SELECT * LIMIT 3', '', 'SELECT x')
    """
    if text.strip() == ALL:
        return ""
    inner = inner_of(text)
    return text if inner is None or len(list(words(text))) > len(_STAR_OF) else inner


def inner_of(text: str) -> str | None:
    """Return the query within ``SELECT * FROM (…)``, whatever follows; None for other queries."""
    top = list(words(text))
    if tuple(word.kind for word in top[:5]) != _STAR_OF:
        return None
    if len(top) > len(_STAR_OF) and top[5].kind not in (_WHERE, _ORDER):
        return None
    return text[top[3].stop : top[4].start].strip()


def same(a: exp.Expr, b: exp.Expr) -> bool:
    """Tell whether two expressions are the same, however their names are quoted.

    >>> same(condition_of('"x" = 1'), condition_of("dataset.x = 1"))
    True
    """
    return _plain(a) == _plain(b)


def _plain(tree: exp.Expr) -> str:
    def bare(node: Any) -> Any:
        if isinstance(node, exp.Column):
            names = node.parts[1:] if node.parts[0].name in ("ds", "dataset") else node.parts
            names = names or node.parts
            return exp.Var(this="\0".join(part.name for part in names))
        return node

    rule: Callable[[Any], Any] = bare
    return text_of(tree.copy().transform(rule))
