"""Running a plan: cheap conditions in DuckDB, islands in NumPy on the rows that are left, then SQL.

Steps: each source becomes an Arrow table (`staging`), functions of trees are made known, the query
runs over it all. DuckDB reads no files, and keeps nothing between queries.
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
from deeplake_lite.query.database.complaints import bare, explained, gist
from deeplake_lite.query.database.connect import connect
from deeplake_lite.query.database.convert import as_arrow, from_arrow, sql_type
from deeplake_lite.query.database.spans import with_durations, without_intervals
from deeplake_lite.query.database.thread import Aside, await_all
from deeplake_lite.query.result.json_parts import note_json
from deeplake_lite.query.run.progress import Bar
from deeplake_lite.query.run.record import Run
from deeplake_lite.query.run.staging import Staging
from deeplake_lite.query.tensors import evaluate

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow.compute as pc
    from numpy.typing import NDArray

    from deeplake_lite.query.plan import Plan, Udf
else:
    pc = LazyModule("pyarrow.compute")

NULLS_PASS = FunctionNullHandling.SPECIAL
"""Functions are called with nulls, too, and may give them."""


def _physical_memory() -> int:
    """Return the bytes of the machine's memory; 8 GiB where it does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 8 << 30


MEMORY = _physical_memory() // 2
"""Bytes that DuckDB may hold while it computes."""

MOST_BYTES = MEMORY // 4
"""Bytes of a result that may be larger than its sources, at the most."""

MOST_PAIRS = 1 << 18
"""Rows of several sources, crossed, in which the place of an error is looked for."""

BATCH_ROWS = 1 << 13
"""Rows of a result that may have more rows than its sources, between looks at its size."""


def _spill_folder() -> str:
    """Return where DuckDB writes what does not fit into memory; it makes and removes the folder.

    Otherwise that would be ``.tmp`` in the current folder.
    """
    name = f"deeplake-lite-{os.getpid()}-{secrets.token_hex(4)}"
    return os.path.join(tempfile.gettempdir(), name)


@cache
def _database() -> duckdb.DuckDBPyConnection:
    """Return the database that all queries share: empty, without files or extensions."""
    database = connect(memory_limit=f"{MEMORY}B", temp_directory=_spill_folder())
    with contextlib.suppress(duckdb.CatalogException):  # before DuckDB 2, where it is null anyway
        database.execute("SET GLOBAL error_on_division_by_zero = false")
    atexit.register(_end, database)
    return database


def _end(database: duckdb.DuckDBPyConnection) -> None:
    """Close the database when all have left it."""
    await_all()
    database.close()


if hasattr(os, "register_at_fork"):  # the database does not live on in a child
    os.register_at_fork(after_in_child=_database.cache_clear)


def run(
    plan: Plan,
    progress: Callable[[int, int], None] | None = None,
    most_rows: int | None = None,
) -> Run:
    """Run a plan; a result that outgrows its sources, and `most_rows`, ends soon behind those.

    Raises
    ------
    QueryError
        For what only turns out when values are seen: a text that is no number, and the like.
    KeyboardInterrupt
        When the user has stopped it; nothing is left behind.
    """

    def work(query: _Query) -> Run:
        with Bar(progress) as bar:
            staging = Staging(query.ask, query.run, bar)
            query.create_functions()  # conditions that are checked first may call them
            for instance in plan.instances:
                query.register(instance.table, staging.table(instance))
            return query.finish(most_rows)

    return _in_database(plan, work)


def at_rows(plan: Plan, source: str, rows: NDArray[np.int64], name: str) -> pa.Table:
    """Return what a plan's SELECT gives for some rows of its source, in their order.

    Parameters
    ----------
    source : str
        Table of the source that SELECT goes over; other sources are those of queries within it.
    name : str
        The result's column of positions.
    """
    select = plan.sql.copy()
    for part in ("where", "order", "limit", "offset"):
        select.set(part, None)

    def work(query: _Query) -> pa.Table:
        with Bar(None) as bar:
            staging = Staging(query.ask, query.run, bar)
            for instance in plan.instances:
                chosen = instance.table == source
                table = staging.at(instance, np.sort(rows)) if chosen else staging.table(instance)
                query.register(instance.table, table)
            query.create_functions()
            return query.ask(select)

    found = _in_database(plan, work)
    order = np.argsort(numbers_in(found[name]), kind="stable")
    return found.take(numbers_of(order[np.argsort(np.argsort(rows))]))


def _in_database[T](plan: Plan, work: Callable[[_Query], T]) -> T:
    """Do work with a query in the database, and leave nothing behind."""
    query = _Query(plan)
    try:
        query.begin()
        with interrupt.heard_by(query.connection):
            return work(query)
    finally:
        query.aside.end()
        query.aside.wait()


class _Query:
    """One query in the database: its tables, its functions, and what they raised.

    All calls of DuckDB are made in a thread of the query's own.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan, self.run = plan, Run()
        self._raised: BaseException | None = None
        self.aside = Aside(self._close)
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._functions: list[str] = []
        self._most_rows: int | None = None

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """The query's own, since it has begun."""
        assert self._connection is not None, "a query begins first"
        return self._connection

    def begin(self) -> None:
        """Connect to the database."""
        self.aside.begin()
        self._call(self._connect)

    def register(self, name: str, table: pa.Table) -> None:
        """Let the query read a table."""
        self._call(lambda: self.connection.register(name, table))

    def finish(self, most_rows: int | None) -> Run:
        """Run the query over its tables."""
        self._most_rows = most_rows
        before, started = sum(len(i.source) for i in self._plan.instances), time.perf_counter()
        self.run.table = _in_order(self.ask(self._plan.sql), self._plan.order)
        self.run.note("sql", "", before, len(self.run.table), started)
        return self.run

    def create_functions(self) -> None:
        """Let DuckDB call the plan's trees."""
        for udf in self._plan.udfs:
            self._call(partial(self._create, udf))

    def ask(self, sql: exp.Expr, **tables: pa.Table) -> pa.Table:
        """Run one statement, with some more tables; what DuckDB raises becomes an error of ours."""
        interrupt.check()
        for name, table in tables.items():
            self.register(name, table)
        try:
            text, grows = sql.sql("duckdb"), _grows(sql)
            return self._call(lambda: self._table(text, grows=grows))
        except (duckdb.Error, RuntimeError, KeyboardInterrupt) as error:
            if isinstance(error, duckdb.FatalException | duckdb.InternalException):
                _database.cache_clear()  # it answers nothing any more
            ours = self._ours(error)
            if ours is self._raised:  # a user's error is the cause of ours
                raise ours from ours.__cause__
            if isinstance(ours, QueryTypeError):
                if "must appear in the GROUP BY" in str(error) and self._plan.ungrouped:
                    ours.place = Place.at(self._plan.text, self._plan.ungrouped[0])
                else:
                    self._place(ours, gist(bare(error)), next(iter(tables), None))
            raise ours from error
        finally:
            for name in tables:
                self._call(partial(self.connection.unregister, name))

    def _table(self, text: str, *, grows: bool) -> pa.Table:
        """Run a statement; look at the size of its result as it grows. Raises QueryError."""
        try:
            return self._answer(text, grows=grows)
        except UnicodeDecodeError as error:  # of a message that shows bytes
            raise duckdb.Error(error.object.decode(errors="replace")) from error

    def _answer(self, text: str, *, grows: bool) -> pa.Table:
        relation = self.connection.sql(text)
        counted = without_intervals(relation)
        if counted is None:
            return note_json(self._fetched(relation, grows=grows), relation.types)
        found = with_durations(self._fetched(counted, grows=grows), relation.types)
        return note_json(found, relation.types)

    def _fetched(self, relation: duckdb.DuckDBPyRelation, *, grows: bool) -> pa.Table:
        """Return the rows of a relation. Raises QueryError where they take too much memory."""
        if not grows or not hasattr(relation, "to_arrow_reader"):
            return relation.to_arrow_table()
        batches, held, rows = [], 0, 0
        try:
            with relation.to_arrow_reader(BATCH_ROWS) as reader:
                for batch in reader:
                    batches.append(batch)
                    held, rows = held + batch.nbytes, rows + batch.num_rows
                    if held > MOST_BYTES:
                        raise _too_large()
                    if self._most_rows is not None and rows > self._most_rows:
                        break
                return pa.Table.from_batches(batches, reader.schema)
        except (pa.ArrowException, OSError) as error:
            if "maximum total string size" in str(error):
                raise _too_large() from error
            raise duckdb.Error(str(error)) from error

    def _place(self, error: QueryTypeError, complaint: str, staged: str | None) -> None:
        """Give an error the place of the smallest expression that DuckDB complains of likewise.

        Rows that are `staged` stand for the source whose rows they are.
        """
        tables = {instance.table for instance in self._plan.instances}
        for start, node in self._plan.traces:
            within = {source.alias_or_name for source in node.find_all(exp.Table, exp.Subquery)}
            known = sorted({c.table for c in node.find_all(exp.Column)} - within)
            if {*known} - tables - self._plan.relations.keys():
                continue
            limit = None if len(known) < 2 else max(1, int(MOST_PAIRS ** (1 / len(known))))
            sources = [self._probed(name, limit, staged) for name in known]
            probe = exp.select(exp.alias_(node.copy(), "x"))
            if sources:
                probe = probe.from_(sources[0])
            for source in sources[1:]:
                probe = probe.join(source, join_type="cross")
            if complaint == self._call(partial(self._complaint, probe.sql("duckdb"))):
                error.place = Place.at(self._plan.text, start)
                return

    def _probed(self, name: str, limit: int | None, staged: str | None) -> exp.Expr:
        """Return a source, or a query within, under its name: its first rows if it is crossed."""
        inner = self._plan.relations.get(name)
        query = inner or exp.select("*").from_(exp.to_table(staged or name))
        if limit is not None:
            query = exp.select("*").from_(query.subquery("probed")).limit(limit)
        return query.subquery(name)

    def _complaint(self, text: str) -> str | None:
        """Return the kind of what DuckDB has against a query; None for nothing."""
        try:
            self.connection.sql(text).to_arrow_table()
        except UnicodeDecodeError as error:
            return gist(error.object.decode(errors="replace"))
        except (duckdb.Error, RuntimeError) as error:
            return gist(bare(error))
        return None

    def _call[T](self, work: Callable[[], T]) -> T:
        return self.aside.call(work, self._interrupt)

    def _interrupt(self) -> None:
        if self._connection is not None:
            self._connection.interrupt()

    def _connect(self) -> None:
        self._connection = _database().cursor()

    def _close(self) -> None:
        if self._connection is not None:
            for name in self._functions:
                self._connection.remove_function(name)
            self._connection.close()

    def _ours(self, error: BaseException) -> BaseException:
        """Return what is behind an error of DuckDB's, or what it says, as an error of ours."""
        if self._raised is not None:
            return self._raised
        if isinstance(error, KeyboardInterrupt | duckdb.InterruptException):
            return KeyboardInterrupt()
        if isinstance(error, duckdb.CatalogException):
            return _unknown(error)
        return QueryTypeError(explained(error))

    def _create(self, udf: Udf) -> None:
        """Let DuckDB call a tree: with positions of pairs of rows, of groups, or with scalars."""

        def call(*columns: Any) -> Any:  # DuckDB looks at the names of types
            try:
                keyed = zip(udf.keys, columns, strict=True)
                env = {key: from_arrow(column) for key, column in keyed}
                count = len(columns[0]) if columns else 1
                return as_arrow(evaluate.evaluate(udf.tree, env, count), udf.tree.type.dtype)
            except BaseException as error:
                self._raised = error
                raise

        kind = sql_type(udf.tree.type.dtype)
        self.connection.create_function(
            udf.name, call, None, kind, type=PythonUDFType.ARROW, null_handling=NULLS_PASS
        )
        self._functions.append(udf.name)


def _in_order(table: pa.Table, names: tuple[str, ...]) -> pa.Table:
    """Return a result sorted by columns of positions; rows without one come last."""
    if not names or len(table) < 2:
        return table
    keys = [(name, "ascending") for name in names]
    return table.take(pc.sort_indices(table, sort_keys=keys))  # nulls come last


_MULTIPLIES = ("RANGE", "GENERATE_SERIES", "UNNEST", "REPEAT", "LPAD", "RPAD", "FORMAT", "PRINTF")


def _too_large() -> QueryError:
    return QueryError(
        f"A result takes at most {MOST_BYTES >> 20:,} MiB, but this has more. Use LIMIT, a "
        "condition, or an aggregate."
    )


def _grows(sql: exp.Expr) -> bool:
    """Tell whether a result may be much larger than the sources."""
    calls = (call.name.upper() in _MULTIPLIES for call in sql.find_all(exp.Anonymous))
    return sql.find(exp.Join) is not None or any(calls)


def _unknown(error: Exception) -> QueryError | NotFoundError:
    text = str(error)
    if "Function with name" in text:
        name = text.split("Function with name ")[1].split(" ")[0].strip('"')
        return unknown_function(name.upper())
    return QueryTypeError(explained(error))
