"""Run a plan in DuckDB.

Each source becomes an Arrow table (see `staging`), the trees that the SQL calls are registered as
functions, and then DuckDB runs the SQL on these tables. DuckDB reads no files, and keeps no data
between queries.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import secrets
import tempfile
import time
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa
from duckdb.func import FunctionNullHandling, PythonUDFType
from sqlglot import exp

from deeplake_lite.dataset.arrow.cells import numbers_in, numbers_of
from deeplake_lite.errors import NotFoundError, Place, QueryError, QueryTypeError
from deeplake_lite.lazy import LazyModule
from deeplake_lite.query.bind import unknown_function
from deeplake_lite.query.database import interrupt
from deeplake_lite.query.database.connect import connect
from deeplake_lite.query.database.convert import as_arrow, from_arrow, sql_type
from deeplake_lite.query.database.duckdb_errors import explain_call, explain_error, gist, reason_of
from deeplake_lite.query.database.thread import CallThread, await_all
from deeplake_lite.query.database.times import with_durations, without_intervals
from deeplake_lite.query.result.json_parts import mark_json
from deeplake_lite.query.run.progress import Bar
from deeplake_lite.query.run.record import Run
from deeplake_lite.query.run.row_sort import sort_rows
from deeplake_lite.query.run.staging import Staging, compute_here
from deeplake_lite.query.tensors import evaluate

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow.compute as pc
    from numpy.typing import NDArray

    from deeplake_lite.query.plan import Plan, Udf
    from deeplake_lite.query.run.staging import Compute
else:
    pc = LazyModule("pyarrow.compute")

NULLS_PASS = FunctionNullHandling.SPECIAL
"""The option that makes DuckDB pass nulls to a function, and accept nulls from the function."""


def _physical_memory() -> int:
    """Return the size of the machine's memory in bytes, or 8 GiB if that is unknown."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 8 << 30


MEMORY = _physical_memory() // 2
"""DuckDB's memory limit in bytes."""

MAX_BYTES = MEMORY // 4
"""Maximum size in bytes of a result that may be larger than the sources of the query."""

MAX_PAIRS = 1 << 18
"""Maximum number of combinations of rows that are tried in the search for the expression that
caused an error."""

BATCH_ROWS = 1 << 13
"""Number of rows that are fetched between two checks of the size of a result."""


def _spill_folder() -> str:
    """Return the folder in which DuckDB stores data that does not fit in memory.

    DuckDB creates and removes the folder. By default, it would use ``.tmp`` in the current folder.
    """
    name = f"deeplake-lite-{os.getpid()}-{secrets.token_hex(4)}"
    return os.path.join(tempfile.gettempdir(), name)


@cache
def _database() -> duckdb.DuckDBPyConnection:
    """Return the database that all queries share, which has no tables, files or extensions."""
    database = connect(memory_limit=f"{MEMORY}B", temp_directory=_spill_folder())
    # The setting is new in DuckDB 2; before, x / 0 is null.
    with contextlib.suppress(duckdb.CatalogException):
        database.execute("SET GLOBAL error_on_division_by_zero = false")
    atexit.register(_end, database)
    return database


def _end(database: duckdb.DuckDBPyConnection) -> None:
    """Wait until no thread uses the database, and close it."""
    await_all()
    database.close()


if hasattr(os, "register_at_fork"):  # threads of the database do not survive a fork
    os.register_at_fork(after_in_child=_database.cache_clear)


def run(
    plan: Plan,
    progress: Callable[[int, int], None] | None = None,
    most_rows: int | None = None,
    compute: Compute = compute_here,
) -> Run:
    """Run a plan.

    Parameters
    ----------
    plan : Plan
        The plan.
    progress : callable, optional
        Called with the number of rows computed so far and the total number.
    most_rows : int, optional
        Number of rows that the caller needs. A result that may be larger than the sources may end
        after these rows; any other result is complete.
    compute : callable, optional
        Computes the tensor expressions that DuckDB needs.

    Raises
    ------
    QueryError
        If a value causes an error, such as a string that is cast to a number but is none.
    KeyboardInterrupt
        If the user has interrupted the query. The tables and functions of the query are removed.
    """

    def work(query: _Query) -> Run:
        with Bar(progress) as bar:
            staging = Staging(query.execute, query.run, bar, compute)
            query.create_functions()  # before the conditions of `staging`, which may call them
            for instance in plan.instances:
                query.register(instance.table, staging.table(instance))
            return query.finish(most_rows)

    return _in_database(plan, work)


def at_rows(plan: Plan, source: str, rows: NDArray[np.int64], name: str) -> pa.Table:
    """Return the results of a plan's SELECT for the given rows of a source, in their order.

    Parameters
    ----------
    plan : Plan
        The plan.
    source : str
        Table of the only source that the SELECT reads. All other sources of the plan belong to
        subqueries.
    rows : ndarray, (n,) int64
        Positions of rows in the source.
    name : str
        Column of the result that contains the row positions.
    """
    select = plan.sql.copy()
    for part in ("where", "order", "limit", "offset"):
        select.set(part, None)

    def work(query: _Query) -> pa.Table:
        with Bar(None) as bar:
            staging = Staging(query.execute, query.run, bar)
            for instance in plan.instances:
                is_source = instance.table == source
                table = (
                    staging.at(instance, np.sort(rows)) if is_source else staging.table(instance)
                )
                query.register(instance.table, table)
            query.create_functions()
            return query.execute(select)

    result = _in_database(plan, work)
    # DuckDB may return rows in any order, so they are sorted by position, and then as in `rows`.
    order = np.argsort(numbers_in(result[name]), kind="stable")
    return result.take(numbers_of(order[np.argsort(np.argsort(rows))]))


def _in_database[T](plan: Plan, work: Callable[[_Query], T]) -> T:
    """Connect a query to the database, call a function with this query, and disconnect."""
    query = _Query(plan)
    try:
        query.begin()
        with interrupt.interruptible(query.interrupt), query.interrupt.including(query.connection):
            return work(query)
    finally:
        query.thread.end()
        query.thread.wait()


class _Query:
    """A query that runs in the database, with its tables and functions.

    Each query has its own thread, in which it calls DuckDB.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan, self.run = plan, Run()
        self._results = {o.column for o in plan.outputs if o.column is not None}
        self._raised: BaseException | None = None
        self.thread, self.interrupt = CallThread(self._close), interrupt.Interrupt()
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._functions: list[str] = []
        self._most_rows: int | None = None
        self._tables: dict[str, pa.Table] = {}

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """The connection to the database, which exists only after `begin` was called."""
        assert self._connection is not None, "begin() comes first"
        return self._connection

    def begin(self) -> None:
        """Start the thread and connect to the database."""
        self.thread.begin()
        self._call(self._connect)

    def register(self, name: str, table: pa.Table) -> None:
        """Make a table available to the query."""
        self._tables[name] = table
        self._call(lambda: self.connection.register(name, table))

    def finish(self, most_rows: int | None) -> Run:
        """Run the plan's SQL on the registered tables, and return the result and the steps."""
        self._most_rows = most_rows
        before, started = sum(len(i.source) for i in self._plan.instances), time.perf_counter()
        table = sort_rows(self._plan.sql, self._tables)
        table = self.execute(self._plan.sql) if table is None else table
        self.run.table = _sort(table, self._plan.order)
        self.run.add_step("sql", "", before, len(self.run.table), started)
        return self.run

    def create_functions(self) -> None:
        """Register the plan's trees as DuckDB functions."""
        for udf in self._plan.udfs:
            self._call(partial(self._create, udf))

    def execute(self, sql: exp.Expr, **tables: pa.Table) -> pa.Table:
        """Run a statement, with additional tables, and return its result.

        An error of DuckDB is raised as an error of this package. A QueryTypeError points to the
        expression that caused the error, if this expression can be found.
        """
        interrupt.check()
        for name, table in tables.items():
            self.register(name, table)
        try:
            text, grows = sql.sql("duckdb"), _may_outgrow_sources(sql)
            return self._call(lambda: self._fetch_table(text, grows=grows))
        except (duckdb.Error, RuntimeError, KeyboardInterrupt) as error:
            if isinstance(error, duckdb.FatalException | duckdb.InternalException):
                _database.cache_clear()  # after such an error, DuckDB rejects all further queries
            translated = self._translate(error)
            if translated is self._raised:  # keep the cause, which is a user's error
                raise translated from translated.__cause__
            if isinstance(translated, QueryTypeError):
                if "must appear in the GROUP BY" in str(error) and self._plan.ungrouped:
                    translated.place = Place.at(self._plan.text, self._plan.ungrouped[0])
                else:
                    self._locate(translated, error, next(iter(tables), None))
            raise translated from error
        finally:
            for name in tables:
                self._call(partial(self.connection.unregister, name))

    def _fetch_table(self, text: str, *, grows: bool) -> pa.Table:
        """Run a statement and return its result. For `grows`, see `_fetch`."""
        try:
            return self._run_text(text, grows=grows)
        except UnicodeDecodeError as error:  # DuckDB's message quotes bytes that are not UTF-8
            raise duckdb.Error(error.object.decode(errors="replace")) from error

    def _run_text(self, text: str, *, grows: bool) -> pa.Table:
        relation = self.connection.sql(text)
        converted = without_intervals(relation, self._results)
        if converted is None:
            return mark_json(self._fetch(relation, grows=grows), relation.types)
        table = with_durations(self._fetch(converted, grows=grows), relation.types, self._results)
        return mark_json(table, relation.types)

    def _fetch(self, relation: duckdb.DuckDBPyRelation, *, grows: bool) -> pa.Table:
        """Return the rows of a relation.

        If `grows` is true, the result may be larger than the sources. In this case, its size is
        checked while it is fetched, and QueryError is raised if it takes too much memory.
        """
        if not grows or not hasattr(relation, "to_arrow_reader"):
            return relation.to_arrow_table()
        batches, nbytes, rows = [], 0, 0
        try:
            with relation.to_arrow_reader(BATCH_ROWS) as reader:
                for batch in reader:
                    batches.append(batch)
                    nbytes, rows = nbytes + batch.nbytes, rows + batch.num_rows
                    if nbytes > MAX_BYTES:
                        raise _too_large()
                    if self._most_rows is not None and rows > self._most_rows:
                        break
                return pa.Table.from_batches(batches, reader.schema)
        except (pa.ArrowException, OSError) as error:
            if "maximum total string size" in str(error):
                raise _too_large() from error
            raise duckdb.Error(str(error)) from error

    def _locate(self, translated: QueryTypeError, error: BaseException, staged: str | None) -> None:
        """Make an error point to the smallest expression that caused it.

        DuckDB does not say which expression failed. Therefore, all expressions of the query are
        run, one by one, until one raises the same error. If `duckdb_errors` has no specific message
        for this error, the message is replaced with one that names the function.

        Parameters
        ----------
        translated : QueryTypeError
            The error that the user sees.
        error : BaseException
            The error of DuckDB.
        staged : str or None
            A table with some rows of the source, which is used in place of the source.
        """
        complaint = gist(reason_of(error))
        tables = {instance.table for instance in self._plan.instances}
        for start, node in self._plan.traces:
            inner = {source.alias_or_name for source in node.find_all(exp.Table, exp.Subquery)}
            # Parameters of lambdas have no table.
            columns = (c for c in node.find_all(exp.Column) if c.table)
            outer = sorted({column.table for column in columns} - inner)
            if {*outer} - tables - self._plan.relations.keys():
                continue
            limit = None if len(outer) < 2 else max(1, int(MAX_PAIRS ** (1 / len(outer))))
            sources = [self._probe_source(name, limit, staged) for name in outer]
            probe = exp.select(exp.alias_(node.copy(), "x"))
            if sources:
                probe = probe.from_(sources[0])
            for source in sources[1:]:
                probe = probe.join(source, join_type="cross")
            if complaint == self._call(partial(self._find_complaint, probe.sql("duckdb"))):
                message = explain_call(error, node) or translated.args[0]
                translated.args = (message, *translated.args[1:])
                translated.place = Place.at(self._plan.text, start)
                return

    def _probe_source(self, name: str, limit: int | None, staged: str | None) -> exp.Expr:
        """Return a source or a subquery for use in FROM, with the alias `name`.

        The result has at most `limit` rows, and only the rows of the table `staged`, if there is
        one.
        """
        inner = self._plan.relations.get(name)
        query = inner or exp.select("*").from_(exp.to_table(staged or name))
        if limit is not None:
            query = exp.select("*").from_(query.subquery("probed")).limit(limit)
        return query.subquery(name)

    def _find_complaint(self, text: str) -> str | None:
        """Run SQL. Return the gist of the error that DuckDB raises, or None if there is none."""
        try:
            self._run_text(text, grows=False)
        except UnicodeDecodeError as error:
            return gist(error.object.decode(errors="replace"))
        except (duckdb.Error, RuntimeError) as error:
            return gist(reason_of(error))
        return None

    def _call[T](self, work: Callable[[], T]) -> T:
        return self.thread.call(work, self.interrupt.interrupt)

    def _connect(self) -> None:
        self._connection = _database().cursor()

    def _close(self) -> None:
        if self._connection is not None:
            for name in self._functions:
                self._connection.remove_function(name)
            self._connection.close()

    def _translate(self, error: BaseException) -> BaseException:
        """Return the error to raise in place of an error of DuckDB.

        If the error was raised by a Python function that DuckDB called, this is the function's
        error.
        """
        if self._raised is not None:
            return self._raised
        if isinstance(error, KeyboardInterrupt | duckdb.InterruptException):
            return KeyboardInterrupt()
        if isinstance(error, duckdb.CatalogException):
            return _translate_catalog_error(error)
        return QueryTypeError(explain_error(error))

    def _create(self, udf: Udf) -> None:
        """Register a tree as a DuckDB function, which takes the values of the tree's keys."""

        def call(*columns: Any) -> Any:  # DuckDB reads the annotations of this function
            try:
                keyed = zip(udf.keys, columns, strict=True)
                env = {key: from_arrow(column) for key, column in keyed}
                count = len(columns[0]) if columns else 1
                with self.interrupt.activate():  # DuckDB's threads have no context variables
                    values = evaluate.evaluate(udf.tree, env, count)
                return as_arrow(values, udf.tree.type.dtype)
            except BaseException as error:
                self._raised = error
                raise

        kind = sql_type(udf.tree.type.dtype)
        self.connection.create_function(
            udf.name, call, None, kind, type=PythonUDFType.ARROW, null_handling=NULLS_PASS
        )
        self._functions.append(udf.name)


def _sort(table: pa.Table, names: tuple[str, ...]) -> pa.Table:
    """Return a result sorted by columns of row positions. Rows without a position come last."""
    if not names or len(table) < 2:
        return table
    keys = [(name, "ascending") for name in names]
    return table.take(pc.sort_indices(table, sort_keys=keys))  # nulls come last


_MULTIPLIES = ("RANGE", "GENERATE_SERIES", "UNNEST", "REPEAT", "LPAD", "RPAD", "FORMAT", "PRINTF")
"""Functions that can make a result much larger than its sources."""


def _too_large() -> QueryError:
    return QueryError(
        f"A result must take at most {MAX_BYTES >> 20:,} MiB, but the result of this query takes "
        "more. Add a LIMIT, a condition or an aggregate."
    )


def _may_outgrow_sources(sql: exp.Expr) -> bool:
    """Return whether the result of a statement may be much larger than its sources."""
    calls = (call.name.upper() in _MULTIPLIES for call in sql.find_all(exp.Anonymous))
    return sql.find(exp.Join) is not None or any(calls)


def _translate_catalog_error(error: Exception) -> QueryError | NotFoundError:
    """Return the error for a name that DuckDB does not know."""
    text = str(error)
    if "Function with name" in text:
        name = text.split("Function with name ")[1].split(" ")[0].strip('"')
        return unknown_function(name.upper())
    return QueryTypeError(explain_error(error))
