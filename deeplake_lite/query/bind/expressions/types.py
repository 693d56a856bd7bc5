"""Ask DuckDB for the types of SQL expressions, which depend on DuckDB's functions."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import duckdb
from sqlglot import exp

from deeplake_lite.query.database.calculator import calculator
from deeplake_lite.query.database.convert import sql_type
from deeplake_lite.query.values import (
    ANY,
    BOOL,
    BYTES,
    CLOCK,
    JSON,
    NANOSECONDS,
    TEXT,
    TIME,
    Kind,
    Sql,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deeplake_lite.query.plan import Udf
    from deeplake_lite.query.values import Value

HUGE = "int128"
"""Dtype of 128-bit integers, such as sums, which NumPy does not have."""

_KINDS = {
    "BOOLEAN": BOOL, "VARCHAR": TEXT, "BLOB": BYTES, "JSON": JSON, "TIMESTAMP_NS": NANOSECONDS,
    "TIME": CLOCK, "TIME WITH TIME ZONE": CLOCK,
    **dict.fromkeys(
        ["DATE", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE",
         "INTERVAL"], TIME),
}  # fmt: skip
"""Maps DuckDB types, except numbers and lists, to kinds."""

_DTYPES = {
    "TINYINT": "int8", "SMALLINT": "int16", "INTEGER": "int32", "BIGINT": "int64",
    "UTINYINT": "uint8", "USMALLINT": "uint16", "UINTEGER": "uint32", "UBIGINT": "uint64",
    "HUGEINT": HUGE, "UHUGEINT": HUGE, "BIGNUM": HUGE, "FLOAT": "float32", "DOUBLE": "float64",
}  # fmt: skip


class Types:
    """Looks up the types of the expressions in one query.

    To find a type, DuckDB does not compute the expression. DuckDB only determines the type of a
    copy of the expression, in which typed nulls stand for the columns.

    Parameters
    ----------
    udfs : callable
        Returns a dict that maps names to the UDFs that NumPy computes for the query.
    """

    def __init__(self, udfs: Callable[[], Mapping[str, Udf]]) -> None:
        self._udfs = udfs
        self._columns: dict[tuple[str, str], str | exp.Expr | None] = {}
        """Maps pairs of a table and a column to the type of the column, or to an expression whose
        type has not been looked up yet."""
        self._queries: dict[str, list[str]] = {}
        """Maps the tables of recorded queries in FROM to the names of their columns."""
        self._parameters: dict[str, str] = {}
        """Maps the SQL names of lambda parameters to their types."""

    def record(self, table: str, column: str, dtype: str) -> None:
        """Record the dtype of a column of a table in FROM."""
        self._columns[table, column] = sql_type(dtype)

    def record_parameter(self, name: str, kind: Kind) -> None:
        """Record the DuckDB type of a lambda's parameter, if `kind` determines the type."""
        self._parameters.pop(name, None)
        if type_ := _type_of(kind):
            self._parameters[name] = type_

    def record_query(self, table: str, query: exp.Expr) -> None:
        """Record the expressions that a query in FROM selects."""
        selected = self._selected_expressions(query)
        self._queries[table] = list(selected)
        for name, item in selected.items():
            self._columns[table, name] = item

    def _selected_expressions(self, query: exp.Expr) -> dict[str, exp.Expr]:
        """Return a dict that maps the column names of a query to the expressions that it selects.

        The expressions refer only to sources and recorded queries. Columns of other subqueries are
        replaced with their expressions, because the aliases of these subqueries are not unique.
        """
        if isinstance(query, exp.Subquery):
            return self._selected_expressions(query.this)
        if isinstance(query, exp.SetOperation):
            sides = (
                self._selected_expressions(query.this),
                self._selected_expressions(query.expression),
            )
            pairs = zip(*(side.items() for side in sides), strict=False)
            return {name: _union_of(a, b) for (name, a), (_, b) in pairs}
        if not isinstance(query, exp.Select):
            return {}
        from_ = query.args.get("from_")
        tables = [from_, *query.args.get("joins", ())] if from_ else []
        queries: dict[str, dict[str, exp.Expr]] = {}
        for table in tables:
            name = table.this.alias
            if name in self._queries:
                queries[name] = {n: exp.column(n, table=name) for n in self._queries[name]}
            elif isinstance(table.this, exp.Subquery):
                queries[name] = self._selected_expressions(table.this)
        unrecorded = {name: q for name, q in queries.items() if name not in self._queries}
        selected: dict[str, exp.Expr] = {}
        for item in query.selects:
            if isinstance(item, exp.Alias):
                selected[item.alias] = _substitute(item.this, unrecorded)
            elif isinstance(item, exp.Subquery):
                selected[item.alias] = _substitute(exp.Subquery(this=item.this.copy()), unrecorded)
            elif isinstance(item, exp.Star):
                selected.update({n: e for columns in queries.values() for n, e in columns.items()})
            elif isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
                selected.update(queries.get(item.table, {}))
            elif isinstance(item, exp.Column):
                selected[item.name] = _substitute(item, unrecorded)
        return selected

    def refine(self, value: Value) -> Value:
        """Return a value whose kind includes the type that DuckDB finds for it."""
        if not isinstance(value, Sql) or not _is_open(value.kind):
            return value
        type_ = self.of(value.node)
        kind = None if type_ is None else _kind_of_type(type_)
        if kind is None:
            return value
        if kind.name == value.kind.name == "number":  # keep `real`: NaN can occur
            return replace(value, kind=replace(value.kind, dtype=kind.dtype))
        return replace(value, kind=kind)

    def is_null(self, value: Value) -> bool:
        """Return whether a value is the literal NULL, or a column that contains only NULL."""
        return isinstance(value, Sql) and value.kind == ANY and self.of(value.node) == '"NULL"'

    def of(self, node: exp.Expr) -> str | None:
        """Return DuckDB's name for the type of an expression, or None if it is unknown.

        DuckDB gets a copy of the expression that does not refer to tables. Clauses such as FROM are
        removed from the copy, and columns are replaced with typed nulls.
        """
        whole = exp.paren(node.copy())
        for select in list(whole.find_all(exp.Select)):
            for clause in ("from_", "joins", "where", "order", "limit", "offset", "distinct"):
                select.set(clause, None)
        for window in whole.find_all(exp.Window):
            window.set("alias", None)  # the WINDOW clause is missing here
        for column in list(whole.find_all(exp.Column)):
            if column.table:
                type_ = self._column_type(column.table, column.name)
                if type_ is None:
                    return None
                column.replace(_null(type_))
        bound = {name.name for e in whole.find_all(exp.Lambda) for name in e.expressions}
        for name in list(whole.find_all(exp.Identifier)):
            type_ = self._parameters.get(name.name)
            if type_ is not None and name.name not in bound:
                name.replace(_null(type_))
        udfs = self._udfs()
        for call in list(whole.find_all(exp.Anonymous)):
            if call.name in udfs:
                dtype = udfs[call.name].tree.type.dtype
                call.replace(_null(sql_type(dtype)))
        return _describe(whole.sql("duckdb"))

    def _column_type(self, table: str, column: str) -> str | None:
        type_ = self._columns.get((table, column))
        if isinstance(type_, exp.Expr):
            type_ = self._columns[table, column] = self.of(type_)
        return type_


_PLAIN_TYPES = {"text": "VARCHAR", "bytes": "BLOB", "json": "JSON", "bool": "BOOLEAN"}
"""Maps the names of kinds to the DuckDB types of list items of these kinds."""


def _type_of(kind: Kind) -> str:
    """Return the DuckDB type of a list item, or "" if the kind does not determine the type.

    >>> _type_of(Kind("list", item=Kind("number", dtype="int64"))), _type_of(ANY)
    ('BIGINT[]', '')
    """
    if kind.name == "list":
        item = _type_of(kind.item_kind)
        return f"{item}[]" if item else ""
    if kind.parts and all(name for name, _ in kind.parts):
        parts = [(name, _type_of(part)) for name, part in kind.parts]
        named = ", ".join(f"{exp.to_identifier(n, quoted=True)} {type_}" for n, type_ in parts)
        return f"STRUCT({named})" if all(type_ for _, type_ in parts) else ""
    dtype = kind.number_dtype or kind.time_dtype
    if dtype:
        return "HUGEINT" if dtype == HUGE else sql_type(dtype)
    return _PLAIN_TYPES.get(kind.name, "")


def _substitute(e: exp.Expr, queries: Mapping[str, Mapping[str, exp.Expr]]) -> exp.Expr:
    """Return an expression in which columns of queries are replaced with the columns' expressions.

    `queries` maps the alias of each query to a dict that maps columns to expressions.
    """
    whole = exp.paren(e.copy())
    for column in list(whole.find_all(exp.Column)):
        item = queries.get(column.table, {}).get(column.name)
        if item is not None:
            column.replace(exp.paren(item.copy()))
    return whole


def _union_of(a: exp.Expr, b: exp.Expr) -> exp.Expr:
    """Return an expression that has the type of a UNION of two other expressions."""
    sides = [exp.Select(expressions=[exp.alias_(side.copy(), "c")]) for side in (a, b)]
    return exp.Subquery(this=exp.Union(this=sides[0], expression=sides[1], distinct=False))


def _null(type_: str) -> exp.Expr:
    as_named = exp.DataType(this=exp.DataType.Type.USERDEFINED, kind=type_)
    return exp.Cast(this=exp.null(), to=as_named)


def _is_open(kind: Kind) -> bool:
    """Return whether the kind of a value is incomplete, so that DuckDB may know more about it."""
    if kind.name == "number":
        return kind.htype is None and not kind.dtype
    if kind.name == "list":
        return not kind.names if kind.item is None else _is_open(kind.item)
    return kind == ANY


def _kind_of_type(type_: str) -> Kind | None:
    """Return the kind of a DuckDB type, or None for types without a kind, such as structs and maps.

    >>> _kind_of_type("HUGEINT").dtype, _kind_of_type("DOUBLE[][3]").item.item.dtype
    ('int128', 'float64')
    >>> print(_kind_of_type("STRUCT(a INTEGER)"))
    None
    >>> _kind_of_type("DECIMAL(18,0)").dtype, _kind_of_type("DECIMAL(3,2)").dtype
    ('int128', 'float64')
    """
    if type_.endswith("]"):
        item = _kind_of_type(type_[: type_.rindex("[")])
        return None if item is None else Kind("list", item=item)
    if type_ in _KINDS:
        return _KINDS[type_]
    dtype = _DTYPES.get(type_) or _decimal_dtype(type_)
    return None if dtype is None else Kind("number", real=dtype.startswith("f"), dtype=dtype)


def _decimal_dtype(type_: str) -> str | None:
    """Return the dtype of a DuckDB decimal type in results, or None for other types.

    Decimals with decimal places become float64.
    """
    if not type_.startswith("DECIMAL("):
        return None
    return HUGE if type_.endswith(",0)") else "float64"


@lru_cache(maxsize=4096)
def _describe(text: str) -> str | None:
    try:
        with calculator() as cursor:
            [(_, type_, *_)] = cursor.execute(f"DESCRIBE SELECT {text}").fetchall()
    except duckdb.Error:  # running the query raises the same error, and shows its position
        return None
    return str(type_)
