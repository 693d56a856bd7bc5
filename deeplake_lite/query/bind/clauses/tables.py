"""Lower FROM: add sources, subqueries, table functions and joins to the scope."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from deeplake_lite.errors import QueryError, QueryTypeError
from deeplake_lite.query.bind.calls import function_names
from deeplake_lite.query.bind.expressions.comparisons import compare_scalars
from deeplake_lite.query.bind.expressions.digests import compare_digests, count_argument
from deeplake_lite.query.bind.expressions.operators import case_of_tensors
from deeplake_lite.query.bind.places import locate_errors
from deeplake_lite.query.bind.scalars.agreement import unify
from deeplake_lite.query.bind.scalars.kinds import needs_numpy
from deeplake_lite.query.bind.scope import OWN, Relation, Scope, relation_columns
from deeplake_lite.query.parse.dialect import text_of
from deeplake_lite.query.parse.duckdb_nodes import func
from deeplake_lite.query.plan import ROW, Instance
from deeplake_lite.query.run.sources import kind_of as kind_of_htype
from deeplake_lite.query.run.sources import type_of
from deeplake_lite.query.values import Cell, Constant, Plain, Sql, Tensor, Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.query.bind.clauses.select import Binder
    from deeplake_lite.query.bind.expressions.lowering import Lowering
    from deeplake_lite.query.run.sources import Source
    from deeplake_lite.query.values import Kind


def read_from(
    binder: Binder, tree: exp.Select, scope: Scope
) -> tuple[exp.Expr | None, list[exp.Join]]:
    """Lower FROM and the joins, and add their relations to the scope.

    Returns the first item of FROM, or None if the SELECT reads no source, and a list of the joins,
    all of them lowered.
    """
    clause, joins = tree.args.get("from_"), list(tree.args.get("joins") or ())
    if clause is not None:
        source = table(binder, clause.this, scope)
        joins = [*(clause.this.args.get("joins") or ()), *joins]
    elif binder.default is not None and (
        joins or scope.parent is None or _reads(tree, binder.default)
    ):
        source = source_table(binder, binder.default, OWN, scope)
    elif joins:
        raise QueryError(
            "A query that is not run on a dataset must name both sides of a join, but this query "
            f"only has JOIN {text_of(joins[0].this)}. Write SELECT … FROM 'url' JOIN "
            f"{text_of(joins[0].this)}."
        )
    else:
        return None, []
    return source, [join_relation(binder, join, scope) for join in joins]


def _reads(tree: exp.Select, source: Source) -> bool:
    """Return whether a SELECT without FROM uses rows of `source`, not only constants."""
    if any(tree.args.get(part) for part in ("where", "group", "having", "qualify")):
        return True
    functions = {call.name.upper() for call in tree.find_all(exp.Anonymous)}
    if (
        functions & (function_names.AGGREGATES | _OF_ROWS)
        or tree.find(exp.Star, exp.Window) is not None
    ):
        return True
    aliases = {item.alias for item in tree.expressions if isinstance(item, exp.Alias)}
    stored = {f.name for f in source.fields}
    return any(
        c.table
        or c.name not in aliases
        or (c.name in stored and not isinstance(c.parent, exp.Ordered))  # not an alias in ORDER BY
        for c in tree.find_all(exp.Column)
    )


_OF_ROWS = {"ROW_NUMBER", "ROW_ID", "RANDOM"}
"""Functions that return a value for each row without reading a column."""


def rename_columns(columns: dict[str, Value], alias: exp.TableAlias | None) -> dict[str, Value]:
    """Return the columns of a relation, renamed by its alias.

    An alias such as ``AS t(a, b)`` names the first columns. All further columns keep their names.

    Raises
    ------
    QueryError
        If there are more names than columns, or if names are repeated.
    """
    names = [] if alias is None else [c.name for c in alias.args.get("columns") or ()]
    if alias is None or not names:
        return columns
    unchanged = list(columns)[len(names) :]
    if len(names) > len(columns) or len({*names, *unchanged}) < len(names) + len(unchanged):
        raise QueryError(
            f"The names in an alias must be unique, with at most one per column, but the alias is "
            f"{text_of(alias)}, and the columns are {', '.join(columns)}."
        )
    return type(columns)(zip([*names, *unchanged], columns.values(), strict=True))


def table(binder: Binder, e: exp.Expr, scope: Scope) -> exp.Expr:
    """Lower one item of FROM, and add it to the scope as a relation."""
    with locate_errors(binder.low.text, e):
        source = _table(binder, e, scope)
    scope.relations[-1].source = source
    return source


def _table(binder: Binder, e: exp.Expr, scope: Scope) -> exp.Expr:
    if isinstance(e, exp.Subquery):
        parts = {key: part for key, part in e.args.items() if key not in ("alias", "joins")}
        # Pass a parent scope, because this query is not the outermost one.
        lowered = binder.query(exp.Subquery(**parts), scope.parent or Scope())
        name = binder.new_name("t")
        columns = rename_columns(dict(lowered.columns), e.args.get("alias"))
        binder.low.types.record_query(name, lowered.sql)
        scope.add(
            Relation(e.alias or name, name, relation_columns(columns.items(), name, binder.count))
        )
        return binder.as_relation(lowered.sql, name)
    if isinstance(e, exp.Unnest):
        raise QueryError(
            "UNNEST of a column must be in the select list, but the query has FROM … "
            f"{text_of(e)}. Use a subquery: FROM (SELECT *, UNNEST(x) AS item FROM …)."
        )
    if not isinstance(e, exp.Table):
        raise QueryError(
            f"FROM must list sources or subqueries, but it contains {text_of(e)}. Write the name "
            "of a source, a URL in quotes, or a query in parentheses."
        )
    if e.args.get("db"):
        raise QueryError(
            f"A source in FROM must be a name, or a URL in quotes, but it is {text_of(e)}. Schemas "
            "are not part of the language."
        )
    if isinstance(e.this, exp.Func):
        return table_function(binder, e, scope)
    name, alias = e.name, str(e.alias or e.name)
    for names in reversed(binder.queries):
        if name in names and not e.args.get("version"):
            inner, lowered = names[name]
            table = binder.new_name("t")
            binder.low.types.record_query(table, lowered.sql)
            columns = relation_columns(lowered.columns.items(), table, binder.count)
            scope.add(Relation(alias, table, rename_columns(columns, e.args.get("alias"))))
            binder.relations[table] = lowered.sql
            return exp.alias_(exp.to_table(inner), table, table=True)
    version = e.args.get("version")
    label = None
    if version is not None:
        value = binder.low.value(version, scope)
        if not isinstance(value, Constant) or not isinstance(value.value, str):
            raise QueryTypeError(
                f"VERSION must be a string, but it is {text_of(version)}. Write it in quotes, as "
                "in VERSION 'v1'."
            )
        label = value.value
    node = source_table(binder, binder.open_source(name, label), alias, scope)
    relation = scope.relations[-1]
    relation.columns = rename_columns(relation.columns, e.args.get("alias"))
    return node


class Columns(dict[str, Value]):
    """A dict of the columns of a source. The exact type of a column is looked up on first use."""

    def __getitem__(self, name: str) -> Value:
        """Return a column. Its type has the number of axes if this is the same for all values."""
        value = super().__getitem__(name)
        is_open = isinstance(value, Tensor) and (value.type.shape is None or value.type.items)
        if isinstance(value, Tensor) and is_open and isinstance(value.tree, Cell):
            leaf = value.tree
            leaf = replace(leaf, type=leaf.source.type_of(leaf.field))
            self[name] = value = replace(value, tree=leaf)
        return value


def source_table(binder: Binder, source: Source, alias: str, scope: Scope) -> exp.Expr:
    """Add a source to the scope as a relation, and return the table that stands for it in SQL."""
    table = binder.new_name("t")
    instance = Instance(table, source)
    binder.instances.append(instance)
    row = exp.column(ROW, table=table)
    binder.low.types.record(table, ROW, "int64")
    columns = Columns()
    binder.low.effort.allow_columns(source)
    for number, f in enumerate(source.fields):
        plain = Plain(source, f, row)
        kind = kind_of_htype(f.htype)
        if kind is not None:
            kind = source.narrow_kind(f, kind)
            instance.scalars[f"x{number}"] = f
            _record_dtype(binder, table, f"x{number}", kind)
            columns[f.name] = Sql(exp.column(f"x{number}", table=table), kind, plain)
        else:
            key = f"r_{table}"
            tree = Cell(key, source, f, type_of(f.htype))
            columns[f.name] = Tensor(tree, {key: row}, f.name, plain)
    scope.add(Relation(alias, table, columns, instance))
    return exp.to_table(table)


_DTYPES = {"text": "str", "json": "object", "bytes": "bytes", "bool": "bool"}
"""Maps kinds of columns to the dtypes of these columns."""


def _record_dtype(binder: Binder, table: str, column: str, kind: Kind) -> None:
    """Record the dtype of a column of a source, unless it contains class labels."""
    dtype = kind.column_dtype if kind.name in ("number", "time") else ""
    if dtype_ := dtype or _DTYPES.get(kind.name):
        binder.low.types.record(table, column, dtype_)


def table_function(binder: Binder, e: exp.Table, scope: Scope) -> exp.Expr:
    """Lower RANGE, GENERATE_SERIES or UNNEST in FROM, and add it to the scope."""
    name = e.this.name.upper()
    if name not in ("RANGE", "GENERATE_SERIES", "UNNEST"):
        raise QueryError(
            "FROM must contain lakes, queries, RANGE, GENERATE_SERIES or UNNEST, but it contains "
            f"{name}(…). To query a file, ingest it into a lake first."
        )
    args = [binder.low.sql(p, scope) for p in e.this.expressions]
    table = binder.new_name("t")
    column = {"RANGE": "range", "GENERATE_SERIES": "generate_series"}.get(name, "unnest")
    node = exp.Anonymous(this=name, expressions=args)
    columns: dict[str, Value] = {column: Sql(exp.column("v", table=table))}
    columns = rename_columns(columns, e.args.get("alias"))
    scope.add(Relation(e.alias or name.lower(), table, columns))
    as_table = exp.TableAlias(this=exp.to_identifier(table), columns=[exp.to_identifier("v")])
    return exp.Table(this=node, alias=as_table)


def join_relation(binder: Binder, join: exp.Join, scope: Scope) -> exp.Join:
    """Lower a join, and add its right side to the scope as a relation."""
    left = list(scope.relations)
    if nested := join.this.args.get("joins"):
        with locate_errors(binder.low.text, join.this):
            raise QueryError(
                "Joins must be written one after the other, each with its own condition, but the "
                f"join with {text_of(nested[0].this)} is nested in another join. Write JOIN "
                "(SELECT * FROM a JOIN b ON …) AS c."
            )
    source = table(binder, join.this, scope)
    right = scope.relations[-1]
    right.tested = (join.kind or "").upper() in ("SEMI", "ANTI")
    out = exp.Join(this=source, side=join.side or None, kind=join.kind or None)
    shared = {c.name: c for c in join.args.get("using") or ()}
    if (join.args.get("method") or "").upper() == "NATURAL":
        shared = {n: join for r in left for n in r.columns if n in right.columns}
    if join.args.get("on") is not None:
        low = binder.low
        out.set("on", low.clause_of_rows(join.args["on"], scope, "ON"))
    elif shared:
        out.set("on", using(binder, shared, left, right, join, scope))
    elif not join.kind and not join.side:
        out.set("kind", "CROSS")
    return out


def using(
    binder: Binder,
    names: Mapping[str, exp.Expr],
    left: list[Relation],
    right: Relation,
    join: exp.Join,
    scope: Scope,
) -> exp.Expr:
    """Return the condition of a join with USING (…), and merge the shared columns in the scope.

    `names` maps each shared column to the syntax node whose position is shown in errors about the
    column.
    """
    tests = []
    low = binder.low
    for name, written in names.items():
        owner = next((r for r in left if name in r.columns), None)
        if owner is None or name not in right.columns:
            with locate_errors(low.text, written):
                raise scope.unknown(name, None)
        a = scope.merged.get(name) or low.value(exp.column(name, table=owner.alias), scope)
        b = low.value(exp.column(name, table=right.alias), scope)
        tests.append(_is_same(a, b, low, scope))
        right.hidden.add(name)
        outer = join.side in ("RIGHT", "FULL")
        scope.merged[name] = _first_non_null(a, b, name, low, scope) if outer else a
    return exp.and_(*tests)


def _is_same(a: Value, b: Value, low: Lowering, scope: Scope) -> exp.Expr:
    """Return the condition that two values are equal. Tensors are compared as a whole."""
    if isinstance(a, Tensor) and isinstance(b, Tensor) and needs_numpy(a) and needs_numpy(b):
        return compare_digests(exp.EQ, a, b, low, scope)
    return compare_scalars(exp.EQ, a, b, low, scope)


def _first_non_null(a: Value, b: Value, name: str, low: Lowering, scope: Scope) -> Value:
    """Return a value that is `a` where `a` is not null, and otherwise `b`."""
    if isinstance(a, Tensor) and isinstance(b, Tensor) and needs_numpy(a):
        is_present = exp.not_(exp.Is(this=count_argument(a, low, scope), expression=exp.null()))
        return case_of_tensors(low, [is_present], [a, b], exp.column(name))
    values, kind = unify([a, b], low, scope)
    node = func("coalesce", *(low.as_sql(value, scope) for value in values))
    return Sql(node, replace(kind, htype=None))
