"""A fixed order for the rows of a result, which does not depend on DuckDB's threads.

When DuckDB joins, groups or numbers rows, or compares them with a subquery, the order of the rows
depends on which thread finishes first. Views are saved and used for training, so the same query of
the same version must return the same rows in the same order. Joined rows are therefore sorted by
their position in the left source, and then in the right source. Groups and distinct rows are sorted
by the first row in which they occur. Row positions also decide the order of ties in ORDER BY, in
window functions, and in aggregates that depend on the order of rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from deeplake_lite.query.parse.duckdb_nodes import as_source, func
from deeplake_lite.query.plan import ROW

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deeplake_lite.query.bind.scope import Relation, Scope

ORDERED = {
    "LIST", "ARRAY_AGG", "FIRST", "LAST", "ANY_VALUE", "ARBITRARY", "STRING_AGG", "LISTAGG",
    "GROUP_CONCAT", "MODE",
}  # fmt: skip
"""Aggregates whose result depends on the order of the rows."""

ANY = {"ANY_VALUE", "ARBITRARY"}
"""Aggregates that may return any non-null value in DuckDB. In a query, they return the first
non-null value."""

ITEM = "__item"
"""Name of a column with the positions that unnested items have in their list."""

GREATEST = {"ARG_MAX", "ARGMAX", "MAX_BY", "ARG_MAX_NULL", "ARG_MAX_NULLS_LAST"}
LEAST = {"ARG_MIN", "ARGMIN", "MIN_BY", "ARG_MIN_NULL", "ARG_MIN_NULLS_LAST"}
"""Aggregates that pick the row with the smallest value. The aggregates in `GREATEST` pick the row
with the largest value. If values are equal, both pick the first row."""

NULLS_LAST = {"ARG_MAX_NULLS_LAST", "ARG_MIN_NULLS_LAST"}
"""Members of `GREATEST` and `LEAST` that pick a row whose value is null only if all values are
null."""

NUMBERED = {"ROW_NUMBER", "NTILE", "LAG", "LEAD"}
"""Window functions whose result depends on the order of tied rows, but not on a frame. (The frame
of a window is the range of rows that the function sees.)"""

OF_FRAMES = {"FIRST_VALUE", "LAST_VALUE", "NTH_VALUE"}
"""Window functions whose result depends on the order of the rows in the frame."""


def make_deterministic(
    select: exp.Select, scope: Scope, *, rows: bool, most: int | None = None
) -> None:
    """Change a SELECT so that its result does not depend on the order in which DuckDB runs it.

    Parameters
    ----------
    select : Select
        The SELECT that DuckDB will run, complete except for the order. It is changed in place.
    scope : Scope
        The scope of the SELECT, with its relations.
    rows : bool
        Whether the order of the result's rows matters. In ``x IN (SELECT …)``, it does not.
    most : int, optional
        Sum of LIMIT and OFFSET, which is the number of rows that the query needs.
    """
    _inline_windows(select)
    for call in list(_find_own(select, exp.Anonymous)):
        _order_aggregate(call, scope)
    if scope.aggregated and not scope.grouped:
        return  # the result has one row
    for window in list(_find_own(select, exp.Window)):
        _break_window_ties(window, scope)
    if rows and _loses_order(select):
        if most is not None and _is_cross_join(select):
            _limit_sources(select, most)
        order = select.args.get("order")
        terms = [*(order.expressions if order is not None else ()), *_position_terms(scope)]
        if terms:
            terms += _item_terms(select)
            select.set("order", exp.Order(expressions=terms))


def positions_to_sort_by(select: exp.Select, scope: Scope) -> list[exp.Expr]:
    """Return the columns of row positions by which to sort the result of a join.

    The list is empty if DuckDB sorts the result. DuckDB does not sort a join, because it would have
    to compute all rows before the first could be counted. Rows are counted, because a result with
    more rows than fit in memory is an error.
    """
    parts = ("order", "limit", "offset", "group", "distinct")
    is_join = select.args.get("joins") and not any(select.args.get(part) for part in parts)
    return _positions(scope) if is_join and not scope.aggregated else []


def with_positions(query: exp.Query, name: str) -> exp.Select:
    """Return a query that adds a column of row positions, named `ROW`, to another query."""
    return _with_positions(as_source(query, name))


def _with_positions(source: exp.Expr) -> exp.Select:
    number = exp.Window(this=exp.Anonymous(this="ROW_NUMBER", expressions=[]))
    select = exp.Select(expressions=[exp.Star(), exp.alias_(number, ROW)])
    select.set("from_", exp.From(this=source))
    return select


def by_position() -> exp.Order:
    """Return the ORDER BY that sorts a query from `with_positions` by row position."""
    return exp.Order(expressions=[_ascending(exp.column(ROW))])


def _is_cross_join(select: exp.Select) -> bool:
    """Return whether a SELECT returns all combinations of its sources' rows, sorted by position."""
    parts = ("where", "group", "having", "qualify", "distinct", "order")
    if any(select.args.get(part) for part in parts) or not select.args.get("joins"):
        return False
    if not all(map(_is_cross_product, select.args["joins"])):
        return False
    calls = [
        call.name.upper() for item in select.expressions for call in item.find_all(exp.Anonymous)
    ]
    return "UNNEST" not in calls and not any(i.find(exp.Window) for i in select.expressions)


def _is_cross_product(join: exp.Join) -> bool:
    """Return whether a join has no condition: a comma, a CROSS JOIN, or a bare JOIN."""
    parts = set(filter(join.args.get, join.args))
    return parts <= {"this", "kind"} and (join.kind or "CROSS") in {"CROSS", "INNER"}


def _limit_sources(select: exp.Select, most: int) -> None:
    """Limit each source of a cross join to its first `most` rows.

    Combinations are sorted by position, so the first `most` combinations only contain these rows.
    Without this limit, DuckDB would compute all combinations before sorting.
    """
    for part in (select.args["from_"], *select.args["joins"]):
        source = part.this
        limited = exp.Select(
            expressions=[exp.Star()], limit=exp.Limit(expression=exp.convert(most))
        )
        part.set("this", as_source(limited, source.alias_or_name))
        limited.set("from_", exp.From(this=source))


def _positions(scope: Scope) -> list[exp.Expr]:
    """Return the columns of row positions of all relations, except in SEMI and ANTI joins."""
    return [_position(relation) for relation in scope.relations if not relation.tested]


def _position(relation: Relation) -> exp.Expr:
    """Return the column of row positions of a relation. If it is missing in a subquery, add it."""
    if relation.instance is None and relation.source is not None:
        node, relation.source = relation.source, None
        node.replace(as_source(_with_positions(node.copy()), relation.table))
    return exp.column(ROW, table=relation.table)


def _position_terms(scope: Scope) -> list[exp.Expr]:
    """Return the terms that sort rows by position, or groups by the position of their first row."""
    positions = _positions(scope)
    if scope.grouped and positions:
        row = positions[0] if len(positions) == 1 else func("ROW", *positions)
        positions = [func("MIN", row)]
    return [_ascending(position) for position in positions]


def _item_terms(select: exp.Select) -> list[exp.Expr]:
    """Add a column with the positions of unnested items, and return the term that sorts by it."""
    calls = [call for call in _find_own(select, exp.Anonymous) if call.name.upper() == "UNNEST"]
    lengths = [func("LEN", call.expressions[0].copy()) for call in calls]
    if not lengths or any(call.find_ancestor(exp.Order) for call in calls):
        return []
    longest = lengths[0] if len(lengths) == 1 else func("GREATEST", *lengths)
    number = func("UNNEST", func("RANGE", longest))
    select.append("expressions", exp.alias_(number, ITEM))
    return [_ascending(exp.column(ITEM))]


def _ascending(position: exp.Expr) -> exp.Ordered:
    return exp.Ordered(this=position, nulls_first=False)


def _loses_order(select: exp.Select) -> bool:
    """Return whether DuckDB may return the rows of a SELECT in a different order in each run."""
    if any(select.args.get(part) for part in ("order", "joins", "group", "distinct")):
        return True
    parts = [select.args.get(part) for part in ("where", "qualify")]
    parts += select.expressions
    return any(part is not None and part.find(exp.Query, exp.Window) is not None for part in parts)


def _find_own[T: exp.Expr](select: exp.Select, kind: type[T]) -> Iterator[T]:
    """Yield the nodes of a class in a SELECT, except those in FROM, WHERE and subqueries."""
    parts = [select.args.get(part) for part in ("having", "qualify", "distinct", "order", "group")]
    parts += [*select.expressions, *(select.args.get("windows") or ())]
    for part in parts:
        if part is not None:
            nodes = part.walk(prune=lambda node: isinstance(node, exp.Query))
            yield from (node for node in nodes if isinstance(node, kind))


def _order_aggregate(call: exp.Anonymous, scope: Scope) -> None:
    """Make an aggregate process its rows in a fixed order.

    Rows are in the order of the ORDER BY within the call, if there is one. Tied rows, or all rows
    if there is no ORDER BY, are in the order of their positions.
    """
    name, args = call.name.upper(), call.expressions
    window = call.find_ancestor(exp.Window)
    if window is not None and not _is_window_function(window, call):
        window = None
    by_position: list[exp.Expr] = (
        [_ascending(p) for p in _positions(scope)] if window is None else _position_terms(scope)
    )
    if name in GREATEST | LEAST and len(args) > 1 and not isinstance(args[1], exp.Order):
        value, positions = args[1].copy(), [term.this for term in by_position]
        is_least, nulls_last = name in LEAST, name in NULLS_LAST
        args[1].replace(_break_ties(value, positions, least=is_least, nulls_last=nulls_last))
    elif name in ANY and window is not None and len(args) == 1 and by_position:
        if not isinstance(args[0], exp.Order):  # for ANY_VALUE, DuckDB would sort each frame again
            call.set("this", "ARG_MIN")
            call.append("expressions", func("ROW", *(term.this for term in by_position)))
    elif (name in ORDERED or (window is not None and name in OF_FRAMES)) and args:
        _sort_rows(args, by_position, window)


def _sort_rows(
    args: list[exp.Expr], by_position: list[exp.Expr], window: exp.Window | None
) -> None:
    """Make an aggregate or a window function process its rows in an order without ties.

    In the ORDER BY of a window, rows with equal values must stay tied, because they belong to the
    same frame. The order without ties is therefore put into the call: ``LIST(x ORDER BY k,
    position) OVER (ORDER BY k)``.
    """
    written = args[-1] if isinstance(args[-1], exp.Order) else None
    last = args[-1] if written is None else written.this
    first = last if len(args) == 1 else args[0]
    terms: list[exp.Expr] = [] if written is None else written.expressions
    if window is not None and not terms:
        if _counts_rows(window):
            return  # the window gets an order without ties
        order = window.args.get("order")
        terms = [] if order is None else [term.copy() for term in order.expressions]
    if not isinstance(first, exp.Distinct):
        terms = [*terms, *by_position]
    elif not terms:  # DuckDB can sort distinct values only by themselves
        terms = [_ascending(first.expressions[0].copy())]
    if terms:
        args[-1].replace(exp.Order(this=last.copy(), expressions=terms))


def _inline_windows(select: exp.Select) -> None:
    """Replace the names of windows with their definitions, so that each can have its order."""
    named = {window.this.name: window for window in select.args.get("windows") or ()}
    for window in named.values():  # a window may extend an earlier window
        _complete(window, named)
    for window in list(_find_own(select, exp.Window)):
        if window not in named.values():
            _complete(window, named)
    select.set("windows", None)


def _complete(window: exp.Window, named: dict[str, exp.Window]) -> None:
    """If a window extends a named window, copy the parts of the named window into it."""
    alias = window.args.get("alias")
    if alias is None or alias.name not in named:
        return
    base = named[alias.name]
    for part in ("partition_by", "order", "spec"):
        of_base = base.args.get(part)
        if of_base and not window.args.get(part):
            is_list = isinstance(of_base, list)
            window.set(part, [node.copy() for node in of_base] if is_list else of_base.copy())
    window.set("alias", None)


def _is_window_function(window: exp.Window, call: exp.Expr) -> bool:
    """Return whether a call is the function before OVER, not one in the parentheses after it."""
    return call is window.this or call is window.this.this


def _break_ties(
    value: exp.Expr, positions: list[exp.Expr], *, least: bool, nulls_last: bool
) -> exp.Expr:
    """Return the value that ARG_MAX or ARG_MIN compares, combined with the row position.

    If several rows have equal values, the aggregate then picks the first of these rows.
    """
    if not positions:
        return value
    signed = positions if least else [exp.Neg(this=p) for p in positions]
    is_null = exp.Is(this=exp.paren(value.copy()), expression=exp.null())
    present = exp.not_(is_null)
    if nulls_last:
        return func("ROW", is_null if least else present, value, *signed)
    return exp.Case(ifs=[exp.If(this=present, true=func("ROW", value, *signed))])


def _break_window_ties(window: exp.Window, scope: Scope) -> None:
    """If the result of a window depends on the order of tied rows, also sort them by position."""
    if not _counts_rows(window):
        if window.this.name.upper() not in NUMBERED:
            return
        window.set("spec", None)  # the frame has no effect, and RANGE allows only one term
    order = window.args.get("order")
    terms = [*(order.expressions if order is not None else ()), *_position_terms(scope)]
    if terms:
        window.set("order", exp.Order(expressions=terms))


def _counts_rows(window: exp.Window) -> bool:
    """Return whether a window has a ROWS frame, whose result depends on the order of tied rows.

    EXCLUDE TIES and EXCLUDE GROUP are exceptions, because they need the ties.
    """
    spec = window.args.get("spec")
    excluded = "" if spec is None else str(spec.args.get("exclude") or "").upper()
    return spec is not None and spec.args.get("kind") == "ROWS" and excluded not in _NEED_TIES


_NEED_TIES = {"TIES", "GROUP"}
