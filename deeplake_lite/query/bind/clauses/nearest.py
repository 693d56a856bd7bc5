"""Lower searches for the nearest vectors and the best strings.

These searches need only a few rows of a source, which are found before the SQL runs. USING INDEX
lets a query find the nearest vectors with an index.

USING INDEX is part of the query, and not an option of the call, so that it is stored with a saved
view, and can be written wherever a query is written: in Python, in the browser and on the command
line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sqlglot import exp

from deeplake_lite.errors import QueryError
from deeplake_lite.query.bind.clauses.endings import is_all, spans_rows, value_of_term
from deeplake_lite.query.bind.places import locate_errors
from deeplake_lite.query.parse.added_nodes import UNGROUP, USING_INDEX
from deeplake_lite.query.plan import BestTexts, First, Nearest
from deeplake_lite.query.values import Call, Cell, Literal_, Meta, Tensor

if TYPE_CHECKING:
    from deeplake_lite.query.bind.clauses.select import Binder
    from deeplake_lite.query.bind.scope import Scope
    from deeplake_lite.query.plan import Instance
    from deeplake_lite.query.values import Value

DESCENDING = {"COSINE_SIMILARITY": True, "DOT": True, "L2_DISTANCE": False}
"""Maps functions that compare vectors to whether the nearest vectors have the largest values."""

_FORM = (
    "Write SELECT … ORDER BY COSINE_SIMILARITY(column, vector) DESC LIMIT n USING INDEX. The "
    "function may also be DOT (with DESC) or L2_DISTANCE (with ASC)."
)


def request_index(
    binder: Binder,
    tree: exp.Select,
    out: exp.Select,
    scope: Scope,
    items: list[Value],
    count: int | None,
) -> None:
    """Record that a query asks for an index.

    Parameters
    ----------
    binder : Binder
        The binder.
    tree : exp.Select
        The SELECT.
    out : exp.Select
        The lowered SELECT, with its columns and its ORDER BY.
    scope : Scope
        Its scope.
    items : list
        The values of its select list.
    count : int or None
        Sum of LIMIT and OFFSET, or None if there is no LIMIT.

    Raises
    ------
    QueryError
        If the query is not a search for the nearest vectors of one source.
    """
    with locate_errors(binder.low.text, tree.args[USING_INDEX]):
        instance = _only_source(tree, scope, out)
        if instance is None:
            raise QueryError(
                "USING INDEX searches the rows of one source, so the query must not have joins, "
                f"subqueries in FROM, groups, windows or DISTINCT. {_FORM}"
            )
        if count is None:
            raise QueryError(f"USING INDEX needs a LIMIT that is a number of rows. {_FORM}")
        if (order := tree.args.get("order")) is not None:
            instance.nearest = _nearest(binder, order.expressions[0], scope, items, count)
        if instance.nearest is None:
            raise QueryError(
                "USING INDEX needs ORDER BY with the similarity between a column and a vector that "
                f"is the same for all rows. {_FORM}"
            )


def note_first(tree: exp.Select, out: exp.Select, scope: Scope, count: int | None) -> None:
    """Record that a query only needs the rows that sort first by a precomputed column.

    NumPy finds these rows, and their ties, faster than the SQL. The parameters are those of
    `request_index`.
    """
    instance, order = _only_source(tree, scope, out), out.args.get("order")
    if instance is None or order is None or not count or instance.is_filtered_later:
        return
    term = order.expressions[0]
    negated = isinstance(term.this, exp.Neg)
    column = term.this.this.unnest() if negated else term.this
    if term.args.get("nulls_first") or term.args.get("desc") or not isinstance(column, exp.Column):
        return
    tree_of = instance.precomputed.get(column.name) if column.table == instance.table else None
    if tree_of is not None and tree_of.type.dtype in ("float32", "float64"):
        instance.first = First(column.name, negated, count)


def note_best_texts(
    binder: Binder,
    tree: exp.Select,
    out: exp.Select,
    scope: Scope,
    items: list[Value],
    count: int | None,
) -> None:
    """Record that a query only needs the rows that sort first by BM25_SIMILARITY.

    Since the scores of all rows are known before the SQL runs, other rows can be left out. The
    parameters are those of `request_index`.
    """
    instance, order = _only_source(tree, scope, out), tree.args.get("order")
    if instance is None or order is None or not count or len(order.expressions) != 1:
        return
    [term] = order.expressions
    if is_all(term.this) or not term.args.get("desc") or term.args.get("nulls_first"):
        return
    match value_of_term(binder, term.this, scope, items):
        case Tensor(tree=Meta(field=f, what=what)) if f is not None and what.startswith("bm25:"):
            instance.best = BestTexts(f, what.removeprefix("bm25:"), count)


def _only_source(tree: exp.Select, scope: Scope, out: exp.Select) -> Instance | None:
    """Return the only source of a SELECT whose rows are rows of this source, or None.

    The result is None, too, if a window or an UNNEST depends on other rows.
    """
    parts = ("group", "distinct", "having", "qualify", "joins", UNGROUP)
    many = any(tree.args.get(part) for part in parts) or scope.aggregated
    many = many or any(map(spans_rows, tree.expressions)) or out.find(exp.Window) is not None
    return scope.relations[0].instance if len(scope.relations) == 1 and not many else None


def _nearest(
    binder: Binder, term: exp.Expr, scope: Scope, items: list[Value], count: int
) -> Nearest | None:
    """Return the search that a term of ORDER BY stands for, or None for any other term.

    Raises
    ------
    QueryError
        If the term sorts the nearest vectors last.
    """
    value = None if is_all(term.this) else value_of_term(binder, term.this, scope, items)
    match value:
        case Tensor(tree=Call(name=name, args=(a, b))) if name in DESCENDING:
            cell, vector = (a, b) if isinstance(a, Cell) else (b, a)
            if bool(term.args.get("desc")) != DESCENDING[name]:
                word = "DESC" if DESCENDING[name] else "ASC"
                raise QueryError(
                    f"USING INDEX finds the nearest vectors, which ORDER BY {name}(…) {word} "
                    f"returns first, but the query sorts in the other order. {_FORM}"
                )
            if isinstance(cell, Cell) and isinstance(vector, Literal_):
                array = np.asarray(vector.value)
                if array.ndim == 1 and not term.args.get("nulls_first"):
                    return Nearest(cell.field, name, array, count)
    return None
