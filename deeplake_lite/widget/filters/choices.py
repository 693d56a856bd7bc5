"""A facet's choice as a condition in the text of the query, and the choice that a query makes.

The text is the one truth: a choice is written into it, and read off it again. A condition is a
facet's where the facet itself would write it (`written`); all others stay as they are, ``x > 2``
among them, since a range has its lower end in it, and a choice is added to them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, get_args

from sqlglot import exp

from deeplake_lite.brief import brief
from deeplake_lite.errors import LakeError, QueryError
from deeplake_lite.query.parse.names import literal
from deeplake_lite.query.parse.parsing import parse
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

KINDS: tuple[FacetKind, ...] = get_args(FacetKind.__value__)

_RANGES = ("numbers", "times")


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
    mine = _own(kept, expression, kind)
    at = mine[0] if mine else len(kept)
    others = [c for i, c in enumerate(kept) if i not in mine]
    new = [written(expression, kind, wanted)] if wanted else []
    if new and _alike(others, expression, kind):
        new = [f"({new[0]})"]  # tells it from theirs
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

    >>> text = "SELECT * WHERE label IN ('a', 'b') AND x >= 2 AND LEN(s) > LEN(t)"
    >>> chosen(text, "label", "classes"), chosen(text, "x", "numbers"), chosen(text, "s", "classes")
    (['a', 'b'], [2, None], None)
    """
    if not text:
        return None
    _, said, end = clause(text, "WHERE")
    conditions = conjuncts(text[said:end])
    mine = [condition_of(conditions[i]) for i in _own(conditions, expression, kind)]
    if not mine:
        return None
    parts = [part for tree in mine for part in _parts(tree, _joint(kind))]
    if kind in _RANGES:
        lows, highs = _ends(parts)
        return [lows[0] if lows else None, highs[0] if highs else None]
    found: list[Any] = []
    for part in parts:
        found += [v for v in _values(part) if v not in found]
    return found


def written(expression: str, kind: FacetKind, values: Sequence[Any]) -> str:
    """Return a choice as a condition.

    >>> written("x", "numbers", [None, 3]), written("s", "classes", ["it's", None])
    ('x < 3', "(s = 'it''s' OR s IS NULL)")
    >>> written("t", "tags", ["a", "b"])
    "(CONTAINS(t, 'a') OR CONTAINS(t, 'b'))"
    """
    if kind in _RANGES:
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
    if kind in _RANGES:
        given = [] if op == "clear" else list(values)
        if given and len(given) != 2:
            raise LakeError(f"A range has two ends, got {len(given)}: {brief(given)}.")
        whole = _exactly if kind == "numbers" else str
        ends = [end if end is None else whole(end) for end in given]
        return ends if any(end is not None for end in ends) else []
    if op == "set":
        return [v for i, v in enumerate(values) if v not in values[:i]]
    if op == "clear":
        return []
    if op != "toggle":
        raise LakeError(f"A filter is 'set', 'toggle' or 'clear', got {brief(op, 40)}.")
    now = chosen(text, expression, kind) or []
    return [v for v in now if v not in values] + [v for v in values if v not in now]


def _exactly(end: Any) -> Any:
    """Return a number as it was before a page wrote it, which has floats and texts alone.

    >>> _exactly(1152921504606847000), _exactly("9007199254740993")
    (1152921504606846976, 9007199254740993)
    """
    if isinstance(end, str):
        if not re.fullmatch(r"[+-]?\d{1,40}", end):
            raise LakeError(f"An end of a range is a number, got {brief(end)}.")
        return int(end)
    is_large = isinstance(end, int) and abs(end) > EXACT
    return int(float(end)) if is_large else end


def _expression(text: str) -> exp.Expr:
    """Return the tree of what a facet is of. Raises QueryError for more than an expression."""
    tree = condition_of(text)
    if isinstance(tree, exp.Connector):
        raise QueryError(f"A facet is of one expression, got {brief(text, 80)}.")
    return tree


def _own(conditions: Sequence[str], expression: str, kind: FacetKind) -> list[int]:
    """Return which conditions are a facet's choice.

    Where more have its form than it writes, a user has joined them with AND: its own is the last
    one in parentheses then.

    >>> _own(["x >= 2", "label = 'a'", "x < 9"], "x", "numbers")
    [0, 2]
    >>> _own(["CONTAINS(t, 'a')", "CONTAINS(t, 'b')"], "t", "tags")
    []
    """
    alike = _alike(conditions, expression, kind)
    trees = [condition_of(conditions[i]) for i in alike]
    if kind in _RANGES:
        is_one = _is_one_range([part for tree in trees for part in _parts(tree, exp.And)])
    else:
        is_one = len(alike) <= 1
    if is_one:
        return alike
    return [i for i, tree in zip(alike, trees, strict=True) if isinstance(tree, exp.Paren)][-1:]


def _alike(conditions: Sequence[str], expression: str, kind: FacetKind) -> list[int]:
    """Return which conditions have the form of a facet's choice."""
    facet, found = _expression(expression), []
    for i, condition in enumerate(conditions):
        parts = _parts(condition_of(condition), _joint(kind))
        fits = all(_is_part(part, facet, kind) for part in parts)
        if fits and (kind not in _RANGES or _is_one_range(parts)):
            found.append(i)
    return found


def _joint(kind: FacetKind) -> type[exp.Connector]:
    """Return what joins the parts of a choice."""
    return exp.And if kind in _RANGES else exp.Or


def _parts(tree: exp.Expr, joint: type[exp.Connector]) -> list[exp.Expr]:
    """Return what a condition joins."""
    inner = tree.unnest()
    if isinstance(inner, joint):
        return [*_parts(inner.left, joint), *_parts(inner.right, joint)]
    return [inner]


def _is_part(tree: exp.Expr, facet: exp.Expr, kind: FacetKind) -> bool:
    """Tell whether a condition is one of those that a facet's choice joins."""
    match tree:
        case exp.GTE() | exp.LT():
            return same(tree.left, facet) and _is_end(tree.right, kind)
        case exp.Is():
            is_null = isinstance(tree.expression, exp.Null)
            return kind not in _RANGES and same(tree.this, facet) and is_null
        case exp.Anonymous() if tree.name.upper() == "CONTAINS" and len(tree.expressions) == 2:
            of, tag = tree.expressions
            return kind == "tags" and same(of, facet) and _is_constant(tag)
        case exp.EQ():
            is_value = kind in ("classes", "booleans") and _is_constant(tree.right)
            return is_value and same(tree.left, facet)
        case exp.In():
            is_value = kind in ("classes", "booleans") and same(tree.this, facet)
            return is_value and bool(tree.expressions) and all(map(_is_constant, tree.expressions))
    return False


def _is_end(tree: exp.Expr, kind: FacetKind) -> bool:
    """Tell whether a range of a facet ends with this: a number, or the text of a time."""
    return kind in _RANGES and _is_constant(tree) and tree.is_string == (kind == "times")


def _is_constant(tree: exp.Expr) -> bool:
    if isinstance(tree, exp.Neg):
        return isinstance(tree.this, exp.Literal) and not tree.this.is_string
    return isinstance(tree, exp.Literal | exp.Boolean)


def _constant(tree: exp.Expr) -> Any:
    if isinstance(tree, exp.Neg):
        return -_constant(tree.this)
    if isinstance(tree, exp.Boolean):
        return bool(tree.this)
    if tree.is_string:
        return tree.name
    number = float(tree.name)
    return int(tree.name) if tree.name.isdigit() else number


def _values(part: exp.Expr) -> Iterator[Any]:
    """Yield the values that a part of a choice lets pass."""
    match part:
        case exp.In():
            yield from map(_constant, part.expressions)
        case exp.EQ():
            yield _constant(part.right)
        case exp.Is():
            yield None
        case exp.Anonymous():
            yield _constant(part.expressions[1])


def _is_one_range(parts: Sequence[exp.Expr]) -> bool:
    """Tell whether conditions have a lower end and an upper one, at most."""
    return all(len(ends) <= 1 for ends in _ends(parts))


def _ends(parts: Sequence[exp.Expr]) -> tuple[list[Any], list[Any]]:
    """Return the lower and the upper ends that conditions name."""
    lows, highs = [], []
    for part in parts:
        match part:
            case exp.GTE():
                lows.append(_constant(part.right))
            case exp.LT():
                highs.append(_constant(part.right))
    return lows, highs
