"""Asking: from a text to a view. `query` is what users call; the other modules are its steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from deeplake_lite.errors import LakeNotFoundError, QueryError, QueryTypeError
from deeplake_lite.query import clauses, execute
from deeplake_lite.query.bind import Binder, Params
from deeplake_lite.query.dialect import parse
from deeplake_lite.query.plan_text import named, plan_text
from deeplake_lite.query.result import to_view
from deeplake_lite.query.sources import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.dataset.view import View
    from deeplake_lite.query.plan import Clause, Plan
    from deeplake_lite.query.staging import Step

SELF = ("dataset", "ds", "this", "self")
"""Names of the view that the query is asked of."""


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
    plan = make_plan(text, params, view=view, sources=sources)
    try:
        done = execute.run(plan, progress)
    except QueryTypeError as error:
        raise QueryTypeError(named(error.args[0], plan)) from error.__cause__
    table, rows = done.table, np.arange(len(done.table))
    for clause in plan.clauses:
        table, rows = _apply(clause, plan, table, rows)
    found = to_view(plan, table, rows)
    found._record = Record(plan, tuple(done.steps))
    return found


@dataclass(frozen=True, eq=False)
class Record:
    """How a view came about."""

    plan: Plan
    steps: tuple[Step, ...]


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
    """Return what would be done for a query, without doing it."""
    default = None if view is None else Source(view, "dataset")
    known = {name: Source(v, name) for name, v in (sources or {}).items()}

    def open_source(name: str, version: str | None) -> Source:
        from deeplake_lite.dataset.opening import open as open_lake

        if default is not None and name in SELF and name not in known:
            known[name] = default
        found = known.get(name)
        if version is not None:
            url = name if found is None else found.view.url
            allow = () if found is None else found.view._lake.allow
            return Source(open_lake(url, version=version, allow=allow), name)
        if found is not None:
            return found
        try:
            known[name] = Source(open_lake(name), name)
        except LakeNotFoundError as error:
            raise QueryError(
                f"FROM takes the URL of a lake, or a name given in sources={{…}}, got {name!r}: "
                f"{error}"
            ) from error
        return known[name]

    tree = parse(text)
    return Binder(text, open_source, Params(params, tree), default).plan(tree)


def _apply(
    clause: Clause, plan: Plan, table: pa.Table, rows: NDArray[np.int64]
) -> tuple[pa.Table, NDArray[np.int64]]:
    """Apply a clause to the rows that are left; EXPAND BY makes another table of them."""
    columns = [table[name].take(pa.array(rows)) for name in clause.columns]
    if clause.kind == "arrange":
        keys = list(zip(*(c.to_pylist() for c in columns), strict=True))
        return table, rows[clauses.arrange(keys)]
    if clause.kind == "sample":
        weights = columns[0].cast(pa.float64()).fill_null(0).to_numpy()
        return table, rows[clauses.sample(weights, **clause.options)]
    names = {node.name for o in plan.outputs for node in _positions(o)}
    if len(plan.instances) != 1 or len(names) != 1 or any(o.column for o in plan.outputs):
        raise QueryError(
            "EXPAND BY adds rows of one source: select its columns, or tensor functions of them, "
            "without joins and groups."
        )
    [name] = names
    positions = table[name].to_numpy()[rows]
    wider = clauses.expand(positions, len(plan.instances[0].source), **clause.options)
    return pa.table({name: wider}), np.arange(len(wider))


def _positions(output: Any) -> list[Any]:
    if output.plain is not None:
        return [output.plain.row]
    return list(output.tensor.env.values()) if output.tensor is not None else []
