"""Running a plan: cheap conditions in DuckDB, islands in NumPy on the rows that are left, then SQL.

Steps: each source becomes an Arrow table; where islands are needed, its cheap conditions choose
rows first, conditions with islands the rows after that; the query runs over what is left. DuckDB
reads no files, and keeps nothing between queries.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa

from deeplake_lite.dataset.arrow import numbers_of
from deeplake_lite.errors import NotFoundError, QueryError, QueryTypeError
from deeplake_lite.query import evaluate
from deeplake_lite.query.bind import unknown_function
from deeplake_lite.query.plan import ROW
from deeplake_lite.query.trees import walk

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray
    from sqlglot import exp

    from deeplake_lite.query.plan import Instance, Plan, Udf

STAGED_ROWS = 4096
"""Rows whose islands are computed before it is seen whether they are enough."""

_ARROW_TYPES = {
    "bool": "BOOLEAN", "int8": "TINYINT", "int16": "SMALLINT", "int32": "INTEGER",
    "int64": "BIGINT", "uint8": "UTINYINT", "uint16": "USMALLINT", "uint32": "UINTEGER",
    "uint64": "UBIGINT", "float16": "FLOAT", "float32": "FLOAT", "float64": "DOUBLE",
    "str": "VARCHAR",
}  # fmt: skip


@dataclass(frozen=True)
class Step:
    """One step as it went, for `explain`."""

    name: str
    """``"where"``, an island's name, or ``"sql"``."""
    table: str
    """Of the instance that it was done for; empty for the query itself."""
    rows_in: int
    rows_out: int
    seconds: float


@dataclass
class Run:
    """A plan that has run."""

    table: pa.Table
    steps: list[Step] = field(default_factory=list)

    def note(self, name: str, table: str, before: int, after: int, started: float) -> None:
        """Keep how a step went that began at `started`."""
        self.steps.append(Step(name, table, before, after, time.perf_counter() - started))


@cache
def _database() -> duckdb.DuckDBPyConnection:
    """Return the database that all queries share: empty, without files or extensions."""
    return duckdb.connect(
        config={
            "enable_external_access": False,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "python_enable_replacements": False,
        }
    )


def run(plan: Plan, progress: Callable[[int, int], None] | None = None) -> Run:
    """Run a plan.

    Raises
    ------
    QueryError
        For what only turns out when values are seen: a text that is no number, and the like.
    """
    connection = _database().cursor()
    done = Run(pa.table({}))
    functions: list[str] = []
    try:
        for instance in plan.instances:
            connection.register(instance.table, _table(connection, instance, done, progress))
        for udf in plan.udfs:
            _create(connection, udf)
            functions.append(udf.name)
        started = time.perf_counter()
        done.table = _arrow(connection, plan.sql)
        done.note("sql", "", sum(len(i.source) for i in plan.instances), len(done.table), started)
    finally:
        for name in functions:
            connection.remove_function(name)
        connection.close()
    return done


def _arrow(connection: Any, sql: exp.Expr) -> pa.Table:
    """Run one statement; what DuckDB raises becomes an error of ours."""
    try:
        return connection.sql(sql.sql("duckdb")).to_arrow_table()
    except duckdb.CatalogException as error:
        raise _translated(connection, error) from error
    except duckdb.InterruptException as error:
        raise KeyboardInterrupt from error
    except duckdb.Error as error:
        if isinstance(error.__cause__, QueryError):
            raise error.__cause__ from None
        raise QueryTypeError(_reason(error)) from error


def _reason(error: BaseException) -> str:
    text = str(error).split("\n\nLINE")[0].split("\nLINE")[0].split("\n\tCandidate")[0].strip()
    return " ".join(text.split()).removeprefix("Binder Error: ").removeprefix("Conversion Error: ")


def _translated(connection: Any, error: Exception) -> QueryError | NotFoundError:
    text = str(error)
    if "Function with name" in text:
        name = text.split("Function with name ")[1].split(" ")[0].strip('"')
        return unknown_function(name.upper())
    return QueryError(_reason(error))


# ---- sources


def _table(connection: Any, instance: Instance, done: Run, progress: Any) -> pa.Table:
    """Return a source's table: the rows that are left, with their islands."""
    source, count = instance.source, len(instance.source)
    columns = {name: source.scalar(f) for name, f in instance.scalars.items()}
    columns[ROW] = numbers_of(_positions(count))
    table = pa.table(columns)
    if not instance.islands:
        return table
    if instance.cheap:
        started, before = time.perf_counter(), len(table)
        table = _filtered(connection, instance, table, instance.cheap)
        done.note("where", instance.table, before, len(table), started)
    left = _staged(connection, instance, table, done, progress)
    for name, tree in instance.islands.items():
        if name not in left.column_names:
            left = _with_island(left, instance, name, done, progress)
    return left


def _positions(count: int) -> NDArray[np.int64]:
    return np.arange(count, dtype=np.int64)


def _filtered(
    connection: Any, instance: Instance, table: pa.Table, conditions: Sequence[exp.Expr]
) -> pa.Table:
    """Return the rows of a table that pass conditions."""
    from sqlglot import exp

    select = exp.Select(expressions=[exp.column(ROW, table=instance.table)])
    alias = exp.alias_(exp.to_table("lake_rows"), instance.table, table=True)
    select.set("from_", exp.From(this=alias))
    select.set("where", exp.Where(this=exp.and_(*(exp.paren(c.copy()) for c in conditions))))
    numbered = table.set_column(
        table.schema.get_field_index(ROW), ROW, numbers_of(_positions(len(table)))
    )
    connection.register("lake_rows", numbered)
    try:
        kept = _arrow(connection, select)[ROW]
    finally:
        connection.unregister("lake_rows")
    order = np.sort(kept.to_numpy())
    return table if len(order) == len(table) else table.take(numbers_of(order))


def _staged(
    connection: Any, instance: Instance, table: pa.Table, done: Run, progress: Any
) -> pa.Table:
    """Apply the conditions that need islands, in the order written; stop when rows are enough."""
    if not instance.staged:
        return table
    size = len(table) if instance.enough is None else STAGED_ROWS
    kept: list[pa.Table] = []
    for start in range(0, max(len(table), 1), max(size, 1)):
        part = table.slice(start, size)
        for condition, islands in instance.staged:
            for name in islands:
                if name not in part.column_names:
                    part = _with_island(part, instance, name, done, progress)
            started, before = time.perf_counter(), len(part)
            part = _filtered(connection, instance, part, [condition])
            done.note("where", instance.table, before, len(part), started)
        kept.append(part)
        if instance.enough is not None and sum(map(len, kept)) >= instance.enough:
            break
    return pa.concat_tables(kept)


def _with_island(
    table: pa.Table, instance: Instance, name: str, done: Run, progress: Any
) -> pa.Table:
    """Compute an island for a table's rows."""
    started, tree = time.perf_counter(), instance.islands[name]
    rows = table[ROW].to_numpy()
    keys = {leaf.key for leaf in walk(tree) if hasattr(leaf, "key")}
    note = None if progress is None else lambda count: progress(count, len(rows))
    values = evaluate.evaluate(tree, dict.fromkeys(keys, rows), len(rows), note)
    done.note(name, instance.table, len(rows), len(rows), started)
    return table.append_column(name, as_arrow(values, tree.type.dtype))


def as_arrow(values: Any, dtype: str) -> pa.Array:
    """Return computed scalars as Arrow; None and masked become null.

    >>> as_arrow([1, None], "int64").to_pylist()
    [1, None]
    """
    if np.ma.isMaskedArray(values):
        return numbers_of(np.ma.getdata(values), np.ma.getmaskarray(values))
    if isinstance(values, np.ndarray):
        return numbers_of(values)
    plain = [None if v is None or v is np.ma.masked else v for v in values]
    if dtype in ("str", "object"):
        return pa.array([None if v is None else str(v) for v in plain], pa.string())
    kind = pa.from_numpy_dtype(np.dtype(dtype))
    return pa.array([None if v is None else np.asarray(v).item() for v in plain], kind)


# ---- functions that DuckDB calls


def _create(connection: Any, udf: Udf) -> None:
    """Let DuckDB call a tree: with positions of pairs of rows, of groups, or with scalars."""

    def call(*columns: Any) -> pa.Array:
        env = {key: from_arrow(column) for key, column in zip(udf.keys, columns, strict=True)}
        count = len(columns[0]) if columns else 1
        return as_arrow(evaluate.evaluate(udf.tree, env, count), udf.tree.type.dtype)

    connection.create_function(
        udf.name,
        call,
        None,
        _ARROW_TYPES[udf.tree.type.dtype],
        type="arrow",
    )


def from_arrow(column: pa.Array | pa.ChunkedArray) -> Any:
    """Return a column of DuckDB's as NumPy's: masked where null, lists as objects."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks)
    if (
        pa.types.is_nested(column.type)
        or pa.types.is_string(column.type)
        or pa.types.is_large_string(column.type)
    ):
        out = np.empty(len(column), object)
        out[:] = column.to_pylist()
        return out
    if column.null_count:
        null = column.is_null().to_numpy(zero_copy_only=False)
        filled = column.fill_null(False if pa.types.is_boolean(column.type) else 0)
        return np.ma.MaskedArray(filled.to_numpy(zero_copy_only=False), null)
    return column.to_numpy(zero_copy_only=False)
