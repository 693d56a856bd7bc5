"""The entry points of the query language: run a query, plan a query, and explain a result."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from deeplake_lite.dataset.saved.question import Question
from deeplake_lite.errors import (
    InvalidValueError,
    Place,
    QueryError,
    QueryTypeError,
    shorten_tracebacks,
)
from deeplake_lite.htypes.arrow_scalars import python_values
from deeplake_lite.htypes.words import pluralize
from deeplake_lite.query.distributed import Distributed
from deeplake_lite.query.plan import Arrange, Expand, Sample
from deeplake_lite.query.plan_text import plan_text, restore_names
from deeplake_lite.query.planning import plan_question
from deeplake_lite.query.result.view import to_view
from deeplake_lite.query.run import clauses, execute
from deeplake_lite.query.run.opening import Sources
from deeplake_lite.query.run.record import Record
from deeplake_lite.query.run.staging import compute_here
from deeplake_lite.remote.executor import check_executor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.dataset.view import View
    from deeplake_lite.query.plan import Clause, Plan
    from deeplake_lite.query.run.staging import Compute


def query(
    text: str,
    params: Sequence[object] | Mapping[str, object] | None = (),
    *,
    view: View | None = None,
    sources: Mapping[str, View] | None = None,
    progress: Callable[[int, int], None] | None = None,
    executor: Any = None,
) -> View:
    """Run a query in the tensor query language.

    Parameters
    ----------
    text : str
        A SELECT statement. FROM refers to lakes by URL and to views by their names in `sources`.
    params : sequence or mapping, optional
        A sequence of values for the ``?`` placeholders, in the order of the placeholders, or a dict
        that maps the names of ``$name`` placeholders to their values.
    view : View, optional
        The view to query if the query has no FROM. The method `View.query` passes its own view.
    sources : mapping, optional
        Views that FROM can refer to; the keys are the names to use in the query.
    progress : callable, optional
        Called after each block with the number of rows computed so far and the total number.
    executor : int or object, optional
        Where tensor expressions are computed; see `View.query`.

    Returns
    -------
    View
        The result. Its columns and tensors are read on access.

    Raises
    ------
    QuerySyntaxError
        For a syntax error. The message shows the line of the query and a caret under the error.
    QueryTypeError
        For values of the wrong kind or shape.
    ColumnNotFoundError, NotFoundError
        For an unknown column or function. The message suggests similar names.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://query-function-doc", {"x": "int32"})
    >>> ds.append({"x": [1, 2, 3]})
    >>> commit = ds.commit("three numbers")
    >>> dl.query("SELECT SUM(x) AS total FROM 'memory://query-function-doc'")["total"][:]
    array([6])
    """
    with shorten_tracebacks():
        question = Question(text, () if params is None else params)
        where = check_executor(executor)
        return _run(question, Sources(view, sources), progress, executor=where)


def ask(question: Question, most_rows: int | None = None) -> View:
    """Run a query again, with the seed, time and versions that its first run recorded.

    The result has all rows, or, if `most_rows` is given, at least the first `most_rows` rows.
    """
    sources = Sources(question.asked, opened=question.sources)
    return _run(question, sources, None, most_rows)


def _run(
    question: Question,
    sources: Sources,
    progress: Callable[[int, int], None] | None,
    most_rows: int | None = None,
    executor: Any = None,
) -> View:
    plan = plan_question(question, sources)
    default = None if sources.default is None else sources.default.view
    repeatable = replace(
        question, seed=plan.seed, moment=plan.moment, asked=default, sources=sources.opened
    )
    try:
        with _computing(plan, repeatable, executor) as compute:
            executed = execute.run(plan, progress, None if plan.clauses else most_rows, compute)
    except (QueryError, InvalidValueError) as error:
        if isinstance(error, QueryTypeError):
            error.args = (restore_names(error.args[0], plan), *error.args[1:])
        plan.locate(error)
        raise
    table, rows = executed.table, np.arange(len(executed.table))
    for clause in plan.clauses:
        table, rows = _apply(clause, plan, table, rows)
    view = to_view(plan, table, rows, repeatable)
    view.record = Record(plan, tuple(executed.steps))
    return view


@contextmanager
def _computing(plan: Plan, question: Question, executor: Any) -> Iterator[Compute]:
    """Return a context that provides the function with which expressions are computed."""
    if executor is None or not any(instance.precomputed for instance in plan.instances):
        yield compute_here
        return
    distributed = Distributed(question, executor)
    try:
        yield distributed.compute
    finally:
        distributed.close()


def explain(view: View) -> str:
    """Return the plan of the query whose result a view shows, as text.

    Each step of the plan shows its row counts and time. If the view is not the result of a query,
    the text only gives the number of rows and the dataset.
    """
    if not isinstance(view.record, Record):
        rows = pluralize(len(view), "row")
        return f"{rows} of {view.url} ({view.origin or 'all rows'}), without a query"
    return plan_text(view.record.plan, view.record.steps)


def make_plan(
    text: str,
    params: Sequence[object] | Mapping[str, object] | None = (),
    *,
    view: View | None = None,
    sources: Mapping[str, View] | None = None,
) -> Plan:
    """Return the plan of a query without running it.

    Subqueries that return a tensor are run, because their values are part of the plan.
    """
    return plan_question(Question(text, () if params is None else params), Sources(view, sources))


def _apply(
    clause: Clause, plan: Plan, table: pa.Table, rows: NDArray[np.int64]
) -> tuple[pa.Table, NDArray[np.int64]]:
    """Apply a clause to the remaining rows. Return the table and the positions of its rows.

    Only EXPAND BY returns another table, because it adds rows from the source.
    """

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
    """Return the weights of SAMPLE BY as float64, with 0 for null.

    Raises QueryTypeError if a weight is not a number.
    """
    try:
        return np.asarray(column.cast(pa.float64()).fill_null(0).to_numpy())
    except pa.ArrowException as error:
        raise QueryTypeError(
            f"SAMPLE BY needs a number for each row, but the weights have type {column.type}. "
            "CAST the weights to numbers: CAST(x AS DOUBLE)."
        ) from error
