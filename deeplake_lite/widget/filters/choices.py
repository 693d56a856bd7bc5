"""A facet's choice as a condition in the text of the query, and the choice that a query makes.

The text is the one truth: a choice is written into it, and read off it again. Conditions that
compare a facet's expression with constants are that facet's; all others stay as they are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

from sqlglot import exp

from deeplake_lite.errors import LakeError, QueryError
from deeplake_lite.query.names import literal
from deeplake_lite.query.parsing import parse
from deeplake_lite.widget.filters.bins import EXACT
from deeplake_lite.widget.filters.querytext import (
    clause,
    condition_of,
    conjuncts,
    inner_of,
    joined,
    same,
    takes_conditions,
    unwrapped,
    with_clause,
    wrapped,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

type FacetKind = Literal["classes", "tags", "numbers", "times", "booleans"]
type Op = Literal["set", "toggle", "clear"]

_BOUNDS = (exp.GT, exp.GTE, exp.LT, exp.LTE)


def filtered(
    text: str,
    expression: str,
    kind: FacetKind,
    op: Op,
    values: Sequence[Any],
    *,
    columns: Sequence[str],
    as_rows: bool = True,
) -> str:
    """Return a query with another choice of a facet.

    Parameters
    ----------
    expression : str
        What the facet is of, such as a column.
    values : sequence
        Values that are chosen, None for null; or the ends of a range, the upper one left out of it.
    columns : sequence of str
        Those of what is asked.
    as_rows : bool
        Whether the answer has rows of what is asked: a query of groups becomes a source.

    Examples
    --------
    >>> text = filtered("", "label", "classes", "set", ["rose"], columns=["label", "x"])
    >>> text
    "SELECT * WHERE label = 'rose'"
    >>> text = filtered(text, "x", "numbers", "set", [0, 2.5], columns=["label", "x"])
    >>> text
    "SELECT * WHERE label = 'rose' AND x >= 0 AND x < 2.5"
    >>> filtered(text, "label", "classes", "toggle", [None], columns=["label", "x"])
    "SELECT * WHERE (label = 'rose' OR label IS NULL) AND x >= 0 AND x < 2.5"
    >>> filtered(text, "x", "numbers", "clear", [], columns=["label", "x"])
    "SELECT * WHERE label = 'rose'"
    """
    wanted = _chosen_next(text, expression, kind, op, values)
    if text and not (as_rows and takes_conditions(text, columns)) and inner_of(text) is None:
        if not wanted:
            return text
        text = wrapped(text)
    _, said, end = clause(text or "SELECT *", "WHERE")
    kept = conjuncts(text[said:end]) if text else []
    facet = _expression(expression)
    mine = [i for i, c in enumerate(kept) if _is_about(condition_of(c), facet)]
    at = mine[0] if mine else len(kept)
    others = [c for i, c in enumerate(kept) if i not in mine]
    new = [written(expression, kind, wanted)] if wanted else []
    conditions = [*others[:at], *new, *others[at:]]
    return unwrapped(with_clause(text, "WHERE", joined(conditions) if conditions else ""))


def sorted_by(text: str, expression: str | None, *, descending: bool = False) -> str:
    """Return a query in another order.

    >>> sorted_by("SELECT * WHERE x > 1", "x", descending=True)
    'SELECT * WHERE x > 1 ORDER BY x DESC'
    >>> sorted_by("SELECT * LIMIT 3", "x"), sorted_by("SELECT * ORDER BY x", None)
    ('SELECT * FROM (SELECT * LIMIT 3) ORDER BY x', '')
    """
    if text and expression and not _takes_order(text):
        text = wrapped(text)
    said = f"{expression}{' DESC' if descending else ''}" if expression else ""
    return unwrapped(with_clause(text, "ORDER_BY", said))


def _takes_order(text: str) -> bool:
    tree = parse(text)
    if not isinstance(tree, exp.Select):
        return False
    return not any(tree.args.get(part) for part in ("limit", "offset", "clauses"))


def order_of(text: str) -> dict[str, Any] | None:
    """Return what a query sorts by; None for nothing, or for more than one expression.

    >>> order_of("SELECT * ORDER BY x DESC")
    {'expression': 'x', 'descending': True}
    """
    _, said, end = clause(text, "ORDER_BY") if text else (0, 0, 0)
    order = parse(text).args.get("order") if said < end else None
    if order is None or len(order.expressions) != 1:
        return None
    word = text[said:end]
    for suffix, descending in ((" DESC", True), (" ASC", False)):
        if word.upper().endswith(suffix):
            return {"expression": word[: -len(suffix)].strip(), "descending": descending}
    return {"expression": word, "descending": False}


def chosen(text: str, expression: str, kind: FacetKind) -> list[Any] | None:
    """Return what a query chooses of a facet: values, or the ends of a range; None for all.

    >>> text = "SELECT * WHERE label IN ('a', 'b') AND x > 2 AND LEN(s) > LEN(t)"
    >>> chosen(text, "label", "classes"), chosen(text, "x", "numbers"), chosen(text, "s", "classes")
    (['a', 'b'], [2, None], None)
    """
    if not text:
        return None
    _, said, end = clause(text, "WHERE")
    facet = _expression(expression)
    trees = [condition_of(c) for c in conjuncts(text[said:end])]
    mine = [tree for tree in trees if _is_about(tree, facet)]
    if not mine:
        return None
    if kind in ("numbers", "times"):
        return _range(mine)
    found: list[Any] = []
    for tree in mine:
        found += [v for v in _values(tree) if v not in found]
    return found


def written(expression: str, kind: FacetKind, values: Sequence[Any]) -> str:
    """Return a choice as a condition.

    >>> written("x", "numbers", [None, 3]), written("s", "classes", ["it's", None])
    ('x < 3', "(s = 'it''s' OR s IS NULL)")
    >>> written("t", "tags", ["a", "b"])
    "(CONTAINS(t, 'a') OR CONTAINS(t, 'b'))"
    """
    if kind in ("numbers", "times"):
        low, high = values
        ends = ((">=", low), ("<", high))
        said = [f"{expression} {sign} {literal(end)}" for sign, end in ends if end is not None]
        return " AND ".join(said)
    there = [v for v in values if v is not None]
    parts = []
    if kind == "tags":
        parts = [f"CONTAINS({expression}, {literal(v)})" for v in there]
    elif len(there) == 1:
        parts = [f"{expression} = {literal(there[0])}"]
    elif there:
        parts = [f"{expression} IN ({', '.join(map(literal, there))})"]
    if len(there) < len(values):
        parts.append(f"{expression} IS NULL")
    return parts[0] if len(parts) == 1 else f"({' OR '.join(parts)})"


def _chosen_next(
    text: str, expression: str, kind: FacetKind, op: Op, values: Sequence[Any]
) -> list[Any]:
    """Return what is chosen after a step; nothing for all."""
    if kind in ("numbers", "times"):
        given = [] if op == "clear" else list(values)
        if given and len(given) != 2:
            raise LakeError(f"A range has two ends, got {len(given)}: {given!r:.60}.")
        whole = _exactly if kind == "numbers" else str
        ends = [end if end is None else whole(end) for end in given]
        return ends if any(end is not None for end in ends) else []
    if op == "set":
        return [v for i, v in enumerate(values) if v not in values[:i]]
    if op == "clear":
        return []
    if op != "toggle":
        raise LakeError(f"A filter is 'set', 'toggle' or 'clear', got {op!r:.40}.")
    now = chosen(text, expression, kind) or []
    return [v for v in now if v not in values] + [v for v in values if v not in now]


def _exactly(end: Any) -> Any:
    """Return a number as it was before a page wrote it, which has floats and texts alone.

    >>> _exactly(1152921504606847000), _exactly("9007199254740993")
    (1152921504606846976, 9007199254740993)
    """
    if isinstance(end, str):
        if not re.fullmatch(r"[+-]?\d{1,40}", end):
            raise LakeError(f"An end of a range is a number, got {end!r:.60}.")
        return int(end)
    is_large = isinstance(end, int) and abs(end) > EXACT
    return int(float(end)) if is_large else end


def _expression(text: str) -> exp.Expr:
    """Return the tree of what a facet is of. Raises QueryError for more than an expression."""
    tree = condition_of(text)
    if isinstance(tree, exp.Connector):
        raise QueryError(f"A facet is of one expression, got {text!r:.80}.")
    return tree


def _is_about(tree: exp.Expr, facet: exp.Expr) -> bool:
    """Tell whether a condition compares a facet's expression with constants, and nothing else."""
    match tree:
        case exp.Paren(this=inner):
            return _is_about(inner, facet)
        case exp.Or() | exp.And():
            return _is_about(tree.left, facet) and _is_about(tree.right, facet)
        case exp.In():
            items = tree.expressions
            return same(tree.this, facet) and bool(items) and all(map(_is_constant, items))
        case exp.Between():
            ends = (tree.args["low"], tree.args["high"])
            return same(tree.this, facet) and all(map(_is_constant, ends))
        case exp.EQ() | exp.GT() | exp.GTE() | exp.LT() | exp.LTE():
            return same(tree.left, facet) and _is_constant(tree.right)
        case exp.Is():
            return same(tree.this, facet) and isinstance(tree.expression, exp.Null)
        case exp.Anonymous() if tree.name.upper() == "CONTAINS" and len(tree.expressions) == 2:
            return same(tree.expressions[0], facet) and _is_constant(tree.expressions[1])
    return False


def _is_constant(tree: exp.Expr) -> bool:
    inner = tree.this if isinstance(tree, exp.Neg) else tree
    return isinstance(inner, exp.Literal | exp.Boolean)


def _constant(tree: exp.Expr) -> Any:
    if isinstance(tree, exp.Neg):
        return -_constant(tree.this)
    if isinstance(tree, exp.Boolean):
        return bool(tree.this)
    if tree.is_string:
        return tree.name
    number = float(tree.name)
    return int(tree.name) if tree.name.isdigit() else number


def _values(tree: exp.Expr) -> Iterator[Any]:
    """Yield the values that a condition lets pass."""
    match tree:
        case exp.Paren(this=inner):
            yield from _values(inner)
        case exp.Or():
            yield from _values(tree.left)
            yield from _values(tree.right)
        case exp.In():
            yield from map(_constant, tree.expressions)
        case exp.EQ():
            yield _constant(tree.right)
        case exp.Is():
            yield None
        case exp.Anonymous():
            yield _constant(tree.expressions[1])


def _range(trees: Sequence[exp.Expr]) -> list[Any]:
    """Return the ends that conditions leave."""
    low: Any = None
    high: Any = None
    for tree in trees:
        for node in (n for n in tree.walk() if isinstance(n, (*_BOUNDS, exp.Between, exp.EQ))):
            if isinstance(node, exp.Between):
                low, high = _constant(node.args["low"]), _constant(node.args["high"])
            elif isinstance(node, exp.EQ):
                low = high = _constant(node.right)
            elif isinstance(node, exp.GT | exp.GTE):
                low = _constant(node.right)
            else:
                high = _constant(node.right)
    return [low, high]
