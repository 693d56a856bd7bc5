"""Asking: from a text to a view. `query` is what users call; the other modules are its steps."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from deeplake_lite.dataset.saved.question import Question
from deeplake_lite.errors import (
    InvalidValueError,
    Place,
    QueryError,
    QuerySyntaxError,
    QueryTypeError,
    shown_briefly,
)
from deeplake_lite.htypes.arrow_scalars import python_values
from deeplake_lite.query.bind import Binder, Params
from deeplake_lite.query.parse.grammar import check_parts
from deeplake_lite.query.parse.parsing import TOO_DEEP, parse
from deeplake_lite.query.plan import Arrange, Expand, Sample
from deeplake_lite.query.plan_text import named, plan_text
from deeplake_lite.query.result.view import to_view
from deeplake_lite.query.run import clauses, execute
from deeplake_lite.query.run.nested import only_value
from deeplake_lite.query.run.opening import Sources
from deeplake_lite.query.run.record import Record
from deeplake_lite.query.values import depth

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.dataset.view import View
    from deeplake_lite.query.plan import Clause, Plan


MOST_DEPTH = 250
"""How many functions may lie within one another: each takes up to three of Python's 1,000 frames
when it is computed, below whatever has called for the values."""


def query(
    text: str,
    params: Sequence[Any] | Mapping[str, Any] = (),
    *,
    view: View | None = None,
    sources: Mapping[str, View] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> View:
    """Answer a question in the tensor query language with a view.

    Parameters
    ----------
    text : str
        A SELECT; FROM names lakes by their URL, or views by their name in `sources`.
    params : sequence or mapping
        Values of ``?`` in order, or of ``$name``.
    view : View, optional
        What is asked where FROM is left out; `View.query` gives itself.
    sources : mapping, optional
        Views by the names that FROM has for them.
    progress : callable, optional
        Called with how many rows of how many are computed, whenever a block is.

    Returns
    -------
    View
        Columns and tensors are read when they are looked at.

    Raises
    ------
    QuerySyntaxError
        With the line and a caret.
    QueryTypeError
        For values of the wrong kind or shape.
    ColumnNotFoundError, NotFoundError
        For a column or a function that there is not, with the nearest names.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://asked-doc", {"x": "int32"})
    >>> ds.append({"x": [1, 2, 3]})
    >>> commit = ds.commit("three numbers")
    >>> dl.query("SELECT SUM(x) AS total FROM 'memory://asked-doc'")["total"][:]
    array([6])
    """
    with shown_briefly():
        return _answer(Question(text, params), Sources(view, sources), progress)


def ask(question: Question, most_rows: int | None = None) -> View:
    """Answer a query again, as it was answered before; there may be fewer rows behind the most."""
    sources = Sources(question.asked, opened=question.sources)
    return _answer(question, sources, None, most_rows)


def _answer(
    question: Question,
    sources: Sources,
    progress: Callable[[int, int], None] | None,
    most_rows: int | None = None,
) -> View:
    plan = _planned(question, sources)
    try:
        done = execute.run(plan, progress, None if plan.clauses else most_rows)
    except (QueryError, InvalidValueError) as error:
        if isinstance(error, QueryTypeError):
            error.args = (named(error.args[0], plan), *error.args[1:])
        plan.locate(error)
        raise
    table, rows = done.table, np.arange(len(done.table))
    for clause in plan.clauses:
        table, rows = _apply(clause, plan, table, rows)
    asked = None if sources.default is None else sources.default.view
    kept = replace(question, seed=plan.seed, asked=asked, sources=sources.opened)
    found = to_view(plan, table, rows, kept)
    found._record = Record(plan, tuple(done.steps))
    return found


def explain(view: View) -> str:
    """Return the plan of the query that made a view, with rows and times as it went."""
    if view._record is None:
        return f"{len(view):,} rows of {view.url}, {view.origin or 'all'}: no query made them"
    return plan_text(view._record.plan, view._record.steps)


def make_plan(
    text: str,
    params: Sequence[Any] | Mapping[str, Any] = (),
    *,
    view: View | None = None,
    sources: Mapping[str, View] | None = None,
) -> Plan:
    """Return what would be done for a query, without doing it.

    Queries within it that stand for a tensor are answered: it is part of the plan.
    """
    return _planned(Question(text, params), Sources(view, sources))


def _planned(question: Question, sources: Sources) -> Plan:
    tree = parse(question.text)
    check_parts(tree, question.text)
    params = Params(question.params, tree)
    try:
        binder = Binder(
            question.text, sources, params, sources.default, question.seed, run_subquery=only_value
        )
        plan = binder.plan(tree)
    except RecursionError:
        raise QuerySyntaxError.at(question.text, 1, 1, TOO_DEEP) from None
    if any(depth(of) > MOST_DEPTH for of in plan.trees()):
        raise QuerySyntaxError.at(question.text, 1, 1, TOO_DEEP)
    return plan


def _apply(
    clause: Clause, plan: Plan, table: pa.Table, rows: NDArray[np.int64]
) -> tuple[pa.Table, NDArray[np.int64]]:
    """Apply a clause to the rows that are left; EXPAND BY makes another table of them."""

    def at_rows(name: str) -> pa.ChunkedArray:
        return table[name].take(pa.array(rows))

    match clause:
        case Arrange(columns):
            keys = list(zip(*(python_values(at_rows(name)) for name in columns), strict=True))
            return table, rows[clauses.arrange(keys)]
        case Sample(column, replace_, limit, percent, seed, start):
            options = {"replace": replace_, "limit": limit, "percent": percent, "seed": seed}
            try:
                drawn = clauses.sample(_weights(at_rows(column)), **options)  # type: ignore[arg-type]
            except QueryError as error:
                error.place = None if start is None else Place.at(plan.text, start)
                raise
            return table, rows[drawn]
        case Expand(source, column, before, after):
            total = next(len(i.source) for i in plan.instances if i.table == source)
            wider = clauses.expand(at_rows(column).to_numpy(), total, before=before, after=after)
            return execute.at_rows(plan, source, wider, column), np.arange(len(wider))


def _weights(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Return weights of rows, 0 where null. Raises QueryTypeError for what is no number."""
    try:
        return np.asarray(column.cast(pa.float64()).fill_null(0).to_numpy())
    except pa.ArrowException as error:
        raise QueryTypeError(f"SAMPLE BY takes a number per row, got {column.type}.") from error
