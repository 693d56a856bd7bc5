"""Conversion between a facet's choice and a condition in the query text.

Choices are only stored in the query text: they are written into this text and read back from it. A
condition belongs to a facet if the facet itself would write the condition (`condition_for`). All
other conditions are kept and apply as well. For example, ``x > 2`` belongs to no facet, because a
facet's ranges include their lower end.
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
    are_equal,
    clause,
    condition_of,
    conjuncts,
    inner_of,
    join_conditions,
    takes_conditions,
    unwrap_query,
    with_clause,
    without_index,
    wrap_query,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

type FacetKind = Literal["classes", "tags", "numbers", "times", "booleans"]
type Op = Literal["set", "toggle", "clear"]

KINDS: tuple[FacetKind, ...] = get_args(FacetKind.__value__)

_RANGES = ("numbers", "times")


def filter_query(
    text: str,
    expression: str,
    kind: FacetKind,
    op: Op,
    values: Sequence[object],
    *,
    columns: Sequence[str],
    as_rows: bool = True,
) -> str:
    """Return a query with a new choice for a facet.

    Parameters
    ----------
    text : str
        The query, or an empty string for all rows.
    expression : str
        Expression of the facet, such as a column.
    kind : {"classes", "tags", "numbers", "times", "booleans"}
        Kind of the facet.
    op : {"set", "toggle", "clear"}
        Whether to replace the choice with the values, to toggle each value, or to remove the
        choice.
    values : sequence
        Chosen values, where None stands for null, or the two ends of a range that excludes its
        upper end.
    columns : sequence of str
        Columns of the dataset or view that the query reads.
    as_rows : bool
        Whether the result consists of rows of that dataset or view. If not, the query becomes a
        subquery.

    Examples
    --------
    >>> text = filter_query("", "label", "classes", "set", ["rose"], columns=["label", "x"])
    >>> text
    "SELECT * WHERE label = 'rose'"
    >>> text = filter_query(text, "x", "numbers", "set", [0, 2.5], columns=["label", "x"])
    >>> text
    "SELECT * WHERE label = 'rose' AND x >= 0 AND x < 2.5"
    >>> filter_query(text, "label", "classes", "toggle", [None], columns=["label", "x"])
    "SELECT * WHERE (label = 'rose' OR label IS NULL) AND x >= 0 AND x < 2.5"
    >>> filter_query(text, "x", "numbers", "clear", [], columns=["label", "x"])
    "SELECT * WHERE label = 'rose'"
    """
    choice = _next_choice(text, expression, kind, op, values)
    if text and not (as_rows and takes_conditions(text, columns)) and inner_of(text) is None:
        if not choice:
            return text
        text = wrap_query(text)
    _, start, end = clause(text or "SELECT *", "WHERE")
    old = conjuncts(text[start:end]) if text else []
    replaced = _facet_conditions(old, expression, kind)
    at = replaced[0] if replaced else len(old)
    others = [c for i, c in enumerate(old) if i not in replaced]
    new = [condition_for(expression, kind, choice)] if choice else []
    if new and _matching_conditions(others, expression, kind):
        new = [f"({new[0]})"]  # in parentheses, unlike conditions from users
    conditions = [*others[:at], *new, *others[at:]]
    return unwrap_query(
        with_clause(text, "WHERE", join_conditions(conditions) if conditions else "")
    )


def sort_query(text: str, expression: str | None, *, descending: bool = False) -> str:
    """Set or remove the sort order of a query.

    >>> sort_query("SELECT * WHERE x > 1", "x", descending=True)
    'SELECT * WHERE x > 1 ORDER BY x DESC'
    >>> sort_query("SELECT * LIMIT 3", "x"), sort_query("SELECT * ORDER BY x", None)
    ('SELECT * FROM (SELECT * LIMIT 3) ORDER BY x', '')
    """
    if text and expression and not _takes_order(text):
        text = wrap_query(text)
    if text and not expression:
        text = without_index(text)
    order = f"{expression}{' DESC' if descending else ''}" if expression else ""
    return unwrap_query(with_clause(text, "ORDER_BY", order))


def _takes_order(text: str) -> bool:
    tree = parse(text)
    if not isinstance(tree, exp.Select):
        return False
    return not any(tree.args.get(part) for part in ("limit", "offset", "clauses"))


def order_of(text: str) -> dict[str, object] | None:
    """Return the expression and direction by which a query sorts.

    Return None if the query does not sort, or if it sorts by several expressions.

    >>> order_of("SELECT * ORDER BY x DESC")
    {'expression': 'x', 'descending': True}
    """
    _, start, end = clause(text, "ORDER_BY") if text else (0, 0, 0)
    order = parse(text).args.get("order") if start < end else None
    if order is None or len(order.expressions) != 1:
        return None
    item = text[start:end]
    for suffix, descending in ((" DESC", True), (" ASC", False)):
        if item.upper().endswith(suffix):
            return {"expression": item[: -len(suffix)].strip(), "descending": descending}
    return {"expression": item, "descending": False}


def choice_of(text: str, expression: str, kind: FacetKind) -> list[object] | None:
    """Return a facet's choice in a query.

    The choice is a list of values, or the two ends of a range. It is None if all rows are chosen.

    >>> text = "SELECT * WHERE label IN ('a', 'b') AND x >= 2 AND LEN(s) > LEN(t)"
    >>> choice_of(text, "label", "classes"), choice_of(text, "x", "numbers")
    (['a', 'b'], [2, None])
    >>> choice_of(text, "s", "classes")
    """
    if not text:
        return None
    _, start, end = clause(text, "WHERE")
    conditions = conjuncts(text[start:end])
    trees = [condition_of(conditions[i]) for i in _facet_conditions(conditions, expression, kind)]
    if not trees:
        return None
    parts = [part for tree in trees for part in _parts(tree, _connector(kind))]
    if kind in _RANGES:
        lows, highs = _range_ends(parts)
        return [lows[0] if lows else None, highs[0] if highs else None]
    values: list[Any] = []
    for part in parts:
        values += [v for v in _values(part) if v not in values]
    return values


def condition_for(expression: str, kind: FacetKind, values: Sequence[object]) -> str:
    """Return a choice as a condition in the query language.

    >>> condition_for("x", "numbers", [None, 3]), condition_for("s", "classes", ["it's", None])
    ('x < 3', "(s = 'it''s' OR s IS NULL)")
    >>> condition_for("t", "tags", ["a", "b"])
    "(CONTAINS(t, 'a') OR CONTAINS(t, 'b'))"
    """
    if kind in _RANGES:
        low, high = values
        ends = ((">=", low), ("<", high))
        parts = [f"{expression} {sign} {literal(end)}" for sign, end in ends if end is not None]
        return " AND ".join(parts)
    valid = [v for v in values if v is not None]
    parts = []
    if kind == "tags":
        parts = [f"CONTAINS({expression}, {literal(v)})" for v in valid]
    elif len(valid) == 1:
        parts = [f"{expression} = {literal(valid[0])}"]
    elif valid:
        parts = [f"{expression} IN ({', '.join(map(literal, valid))})"]
    if len(valid) < len(values):
        parts.append(f"{expression} IS NULL")
    return parts[0] if len(parts) == 1 else f"({' OR '.join(parts)})"


def _next_choice(
    text: str, expression: str, kind: FacetKind, op: Op, values: Sequence[object]
) -> list[object]:
    """Return a facet's choice after an operation. An empty list chooses all rows."""
    if kind in _RANGES:
        ends = [] if op == "clear" else list(values)
        if ends and len(ends) != 2:
            raise LakeError(
                f"A range must have two ends, but this one has {len(ends)}: {brief(ends)}. "
                "Pass None for an open end."
            )
        convert = _exact_number if kind == "numbers" else str
        ends = [end if end is None else convert(end) for end in ends]
        return ends if any(end is not None for end in ends) else []
    if op == "set":
        return [v for i, v in enumerate(values) if v not in values[:i]]
    if op == "clear":
        return []
    if op != "toggle":
        raise LakeError(
            "The operation of a filter must be 'set', 'toggle' or 'clear', but it is "
            f"{brief(op, 40)}. Reload the page."
        )
    now = choice_of(text, expression, kind) or []
    return [v for v in now if v not in values] + [v for v in values if v not in now]


def _exact_number(end: Any) -> object:
    """Restore a number that was sent to the page as a float or a string.

    >>> _exact_number(1152921504606847000), _exact_number("9007199254740993")
    (1152921504606846976, 9007199254740993)
    """
    if isinstance(end, str):
        if not re.fullmatch(r"[+-]?\d{1,40}", end):
            raise LakeError(
                f"The end of a range must be a number, but it is {brief(end)}. Reload the page."
            )
        return int(end)
    is_large = isinstance(end, int) and abs(end) > EXACT
    return int(float(end)) if is_large else end


def _expression(text: str) -> exp.Expr:
    """Return the syntax tree of a facet's expression.

    Raises QueryError if the text consists of several conditions.
    """
    tree = condition_of(text)
    if isinstance(tree, exp.Connector):
        raise QueryError(
            f"A facet must have one expression, but it has {brief(text, 80)}. Reload the page."
        )
    return tree


def _facet_conditions(conditions: Sequence[str], expression: str, kind: FacetKind) -> list[int]:
    """Return the indices of the conditions that make up a facet's choice.

    A user may have added conditions that also look like a facet's choice. If there are more
    conditions than the facet writes, the facet's own condition is the last one in parentheses.

    >>> _facet_conditions(["x >= 2", "label = 'a'", "x < 9"], "x", "numbers")
    [0, 2]
    >>> _facet_conditions(["CONTAINS(t, 'a')", "CONTAINS(t, 'b')"], "t", "tags")
    []
    """
    matches = _matching_conditions(conditions, expression, kind)
    trees = [condition_of(conditions[i]) for i in matches]
    if kind in _RANGES:
        is_one = _is_one_range([part for tree in trees for part in _parts(tree, exp.And)])
    else:
        is_one = len(matches) <= 1
    if is_one:
        return matches
    return [i for i, tree in zip(matches, trees, strict=True) if isinstance(tree, exp.Paren)][-1:]


def _matching_conditions(conditions: Sequence[str], expression: str, kind: FacetKind) -> list[int]:
    """Return the indices of the conditions that look like a choice of this facet."""
    facet, matches = _expression(expression), []
    for i, condition in enumerate(conditions):
        parts = _parts(condition_of(condition), _connector(kind))
        fits = all(_is_part(part, facet, kind) for part in parts)
        if fits and (kind not in _RANGES or _is_one_range(parts)):
            matches.append(i)
    return matches


def _connector(kind: FacetKind) -> type[exp.Connector]:
    """Return the connector that joins the parts of a choice: AND for ranges, otherwise OR."""
    return exp.And if kind in _RANGES else exp.Or


def _parts(tree: exp.Expr, connector: type[exp.Connector]) -> list[exp.Expr]:
    """Return the operands of a condition's top-level connector."""
    inner = tree.unnest()
    if isinstance(inner, connector):
        return [*_parts(inner.left, connector), *_parts(inner.right, connector)]
    return [inner]


def _is_part(tree: exp.Expr, facet: exp.Expr, kind: FacetKind) -> bool:
    """Return whether a condition can be part of a facet's choice."""
    match tree:
        case exp.GTE() | exp.LT():
            return are_equal(tree.left, facet) and _is_end(tree.right, kind)
        case exp.Is():
            is_null = isinstance(tree.expression, exp.Null)
            return kind not in _RANGES and are_equal(tree.this, facet) and is_null
        case exp.Anonymous() if tree.name.upper() == "CONTAINS" and len(tree.expressions) == 2:
            of, tag = tree.expressions
            return kind == "tags" and are_equal(of, facet) and _is_constant(tag)
        case exp.EQ():
            is_value = kind in ("classes", "booleans") and _is_constant(tree.right)
            return is_value and are_equal(tree.left, facet)
        case exp.In():
            is_value = kind in ("classes", "booleans") and are_equal(tree.this, facet)
            return is_value and bool(tree.expressions) and all(map(_is_constant, tree.expressions))
    return False


def _is_end(tree: exp.Expr, kind: FacetKind) -> bool:
    """Return whether a constant can be an end of a facet's range: a number, or a time as text."""
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


def _values(part: exp.Expr) -> Iterator[object]:
    """Yield the values that one part of a choice selects."""
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
    """Return whether conditions have at most one lower and one upper bound."""
    return all(len(ends) <= 1 for ends in _range_ends(parts))


def _range_ends(parts: Sequence[exp.Expr]) -> tuple[list[object], list[object]]:
    """Return the lower ends and the upper ends of the ranges in some conditions, as two lists."""
    lows, highs = [], []
    for part in parts:
        match part:
            case exp.GTE():
                lows.append(_constant(part.right))
            case exp.LT():
                highs.append(_constant(part.right))
    return lows, highs
