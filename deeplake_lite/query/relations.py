"""SELECT: from the syntax tree to one query that DuckDB runs, and what its columns are.

Each source that FROM mentions is a table of its own. Columns that come through unchanged, and
tensors, leave a SELECT as positions of rows: nothing is read that nobody looks at.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from deeplake_lite.errors import QueryError, QueryTypeError
from deeplake_lite.query import calls
from deeplake_lite.query.dialect import CLAUSES, Arrange, Expand, Sample, func, text_of
from deeplake_lite.query.lower import Lowering, _kind
from deeplake_lite.query.plan import ROW, Clause, Instance, Output, Plan
from deeplake_lite.query.scope import Relation, Scope, imported
from deeplake_lite.query.sources import kind_of, type_of
from deeplake_lite.query.values import (
    TEXT,
    Cell,
    Choice,
    Constant,
    Kind,
    Plain,
    Sql,
    Tensor,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from deeplake_lite.query.sources import Source

type Open = Callable[[str, str | None], Source]
"""From a URL or a name, and a version, to a source."""


@dataclass
class Lowered:
    """A query as DuckDB runs it, and its columns in terms of that result."""

    sql: exp.Query
    columns: dict[str, Value]
    limit: int | None = None
    clauses: list[Clause] = field(default_factory=list)


class Projection:
    """The select list that DuckDB gets: values, and positions of rows."""

    def __init__(self) -> None:
        self.items: list[exp.Expr] = []
        self._names: dict[str, str] = {}

    def column(self, node: exp.Expr) -> exp.Expr:
        """Return the name under which an expression leaves; the same one for equal ones."""
        text = node.sql("duckdb")
        if text not in self._names:
            self._names[text] = f"c{len(self.items)}"
            self.items.append(exp.alias_(node.copy(), self._names[text]))
        return exp.column(self._names[text])

    def value(self, value: Value, *, lazy: bool) -> Value:
        """Return a value in terms of the result; plain columns are only positions if `lazy`."""
        plain = value.plain if isinstance(value, Sql | Tensor) else None
        if plain is not None:
            plain = Plain(plain.source, plain.field, self.column(plain.row))
        match value:
            case Sql(node, kind) if plain is not None and lazy:
                return Sql(plain.row, kind, plain)
            case Sql(node, kind):
                return Sql(self.column(node), kind, plain)
            case Constant(_, node):
                return Sql(self.column(node), _kind(value))
            case Tensor(tree, env, text):
                moved = {key: self.column(node) for key, node in env.items()}
                return Tensor(tree, moved, text, plain)


class Binder:
    """Lowers the SELECTs of one query."""

    def __init__(
        self,
        text: str,
        open_source: Open,
        params: Sequence[Any] | Mapping[str, Any] = (),
        default: Source | None = None,
    ) -> None:
        self._text, self._open, self._default = text, open_source, default
        self._low = Lowering(params, self._nested)
        self._instances: list[Instance] = []
        self._queries: list[dict[str, tuple[str, Lowered]]] = []
        self._count = 0

    def plan(self, tree: exp.Query) -> Plan:
        """Return the plan of a query.

        Raises
        ------
        QueryError
            When it does not hold together; ColumnNotFoundError, NotFoundError for names.
        """
        lowered = self._query(tree, None, outermost=True)
        self._low.check_params()
        outputs = tuple(_output(name, value) for name, value in lowered.columns.items())
        udfs = tuple(self._low.udfs.values())
        return Plan(
            self._text,
            tuple(self._instances),
            udfs,
            lowered.sql,
            outputs,
            tuple(lowered.clauses),
            self._low.seed,
        )

    # ---- queries

    def _nested(self, tree: exp.Query, scope: Scope) -> exp.Query:
        return self._query(tree, scope, bare=True).sql

    def _query(
        self,
        tree: exp.Expr,
        parent: Scope | None,
        *,
        outermost: bool = False,
        bare: bool = False,
    ) -> Lowered:
        """Lower a query; a `bare` one gives its values alone, as an expression needs them."""
        if isinstance(tree, exp.Subquery):
            inner = self._query(tree.this, parent, outermost=outermost, bare=bare)
            if not any(tree.args.get(k) for k in ("order", "limit", "offset", CLAUSES, "with_")):
                return inner
            return self._wrapped(tree, inner, parent)
        if tree.args.get(CLAUSES) and not outermost:
            raise QueryError(
                f"{tree.args[CLAUSES][0].key.upper()} BY ends a query, and cannot stand in one within "
                "another. Query its result: ds.query(…).query(…)."
            )
        named = self._with(tree, parent)
        try:
            if isinstance(tree, exp.SetOperation):
                found = self._set_operation(tree, parent)
            elif isinstance(tree, exp.Select):
                found = self._select(tree, parent, outermost=outermost, bare=bare)
            else:
                raise QueryError(f"A query is a SELECT, got {tree.key.upper()}: {text_of(tree)}.")
        finally:
            names = self._queries.pop()
        if named:
            ctes = [
                exp.CTE(this=lowered.sql, alias=exp.TableAlias(this=exp.to_identifier(table)))
                for table, lowered in names.values()
            ]
            found.sql.set("with_", exp.With(expressions=ctes))
        return found

    def _with(self, tree: exp.Expr, parent: Scope | None) -> bool:
        self._queries.append({})
        clause = tree.args.get("with_")
        if clause is None:
            return False
        if clause.args.get("recursive"):
            raise QueryError("WITH RECURSIVE is not part of the language; WITH is.")
        for cte in clause.expressions:
            lowered = self._query(cte.this, parent)
            if columns := [c.name for c in cte.args["alias"].args.get("columns") or ()]:
                lowered.columns = dict(zip(columns, lowered.columns.values(), strict=False))
            self._queries[-1][cte.alias] = (self._name("q"), lowered)
        return True

    def _wrapped(self, tree: exp.Expr, inner: Lowered, parent: Scope | None) -> Lowered:
        """Return a query in parentheses with clauses behind them."""
        name = self._name("t")
        relation = Relation("", name, imported(inner.columns.items(), name, self._count))
        outer = exp.Select(expressions=[exp.Star()])
        for key in ("order", "limit", "offset", CLAUSES):
            outer.set(key, tree.args.get(key))
        source = exp.Subquery(this=inner.sql, alias=exp.TableAlias(this=exp.to_identifier(name)))
        return self._finish(outer, Scope([relation], parent), source, [], outermost=True)

    # ---- one SELECT

    def _select(
        self, tree: exp.Select, parent: Scope | None, *, outermost: bool, bare: bool
    ) -> Lowered:
        scope = Scope(parent=parent)
        source, joins = self._from(tree, scope)
        return self._finish(tree, scope, source, joins, outermost=outermost, bare=bare)

    def _finish(
        self,
        tree: exp.Select,
        scope: Scope,
        source: exp.Expr | None,
        joins: list[exp.Join],
        *,
        outermost: bool,
        bare: bool = False,
    ) -> Lowered:
        low = self._low
        scope.grouped = tree.args.get("group") is not None
        scope.aliases = {
            item.alias: item.this for item in tree.expressions if isinstance(item, exp.Alias)
        }
        out = exp.Select()
        if source is not None:
            out.set("from_", exp.From(this=source))
        if joins:
            out.set("joins", joins)
        conditions = self._where(tree, scope)
        if conditions:
            out.set("where", exp.Where(this=exp.and_(*conditions)))
        keys = self._group(tree, scope)
        if keys:
            out.set("group", exp.Group(expressions=keys))
        values = self._items(tree, scope, {k.sql("duckdb") for k in keys})
        if bare:
            values = {n: Sql(calls.comparable(v, low, scope), _kind(v)) for n, v in values.items()}
        for clause in ("having", "qualify"):
            if part := tree.args.get(clause):
                kind = exp.Having if clause == "having" else exp.Qualify
                out.set(clause, kind(this=low.condition(low.value(part.this, scope), scope)))
        projection = Projection()
        distinct = tree.args.get("distinct")
        lazy = outermost and not (scope.grouped or scope.aggregated)
        columns = {name: projection.value(v, lazy=lazy) for name, v in values.items()}
        if distinct is not None:
            on = distinct.args.get("on")
            by = (
                [low.sql(p, scope) for p in on.expressions]
                if on is not None
                else [calls.comparable(v, low, scope) for v in values.values()]
            )
            out.set("distinct", exp.Distinct(on=exp.Tuple(expressions=by)))
        if order := tree.args.get("order"):
            out.set(
                "order", exp.Order(expressions=self._order(order, scope, list(values.values())))
            )
        limit = self._limit(tree, out, scope)
        clauses = self._clauses(tree, scope, projection)
        out.set("expressions", projection.items or [exp.alias_(exp.convert(1), "c0")])
        self._note_enough(tree, scope, out, limit)
        return Lowered(out, columns, limit, clauses)

    def _where(self, tree: exp.Select, scope: Scope) -> list[exp.Expr]:
        where = tree.args.get("where")
        if where is None:
            return []
        alone = not tree.args.get("joins") and len(scope.relations) == 1
        instance = scope.relations[0].instance if alone else None
        conditions = []
        for part in _conjuncts(where.this):
            was = scope.aggregated
            node = self._low.condition(self._low.value(part, scope), scope)
            if scope.aggregated and not was and not scope.grouped:
                raise QueryError(
                    f"WHERE looks at one row, and {text_of(part)} at many. Use HAVING, or a subquery."
                )
            conditions.append(exp.paren(node))
            if instance is not None:
                _note_condition(instance, node)
        return conditions

    def _group(self, tree: exp.Select, scope: Scope) -> list[exp.Expr]:
        group = tree.args.get("group")
        if group is None:
            return []
        keys = []
        for part in group.expressions:
            e = part
            if isinstance(part, exp.Literal) and not part.is_string:
                at = int(part.this) - 1
                if not 0 <= at < len(tree.expressions):
                    raise QueryError(f"GROUP BY {part.this} is beyond the select list.")
                e = tree.expressions[at].unalias()
            keys.append(calls.comparable(self._low.value(e, scope), self._low, scope))
        if group.args.get("all"):
            for item in tree.expressions:
                inner = Scope(
                    scope.relations, scope.parent, scope.merged, scope.aliases, grouped=True
                )
                value = self._low.value(item.unalias(), inner)
                if not inner.aggregated:
                    keys.append(calls.comparable(value, self._low, scope))
        return keys

    def _items(self, tree: exp.Select, scope: Scope, keys: set[str]) -> dict[str, Value]:
        """Return the select list by name."""
        found: list[tuple[str, Value]] = []
        for item in tree.expressions:
            star = _star(item)
            if star is not None:
                found += self._star(star, item, scope)
                continue
            e = item.unalias()
            name = item.alias if isinstance(item, exp.Alias) else _name_of(e)
            popped = scope.aliases.pop(name, None) if isinstance(item, exp.Alias) else None
            value = self._low.value(e, scope)
            if popped is not None:
                scope.aliases[name] = popped
            if scope.grouped and isinstance(e, exp.Column):
                value = self._of_group(value, keys, e)
            found.append((name, value))
        return _unique(found)

    def _of_group(self, value: Value, keys: set[str], e: exp.Expr) -> Value:
        """Return a plain column over a group: all its values, unless the group is by it."""
        if isinstance(value, Tensor):
            low = self._low
            by = calls.digest(value, low) if not value.is_scalar else value
            if low.as_sql(by, Scope()).sql("duckdb") in keys if _is_free(by) else False:
                env = {
                    key: exp.Anonymous(this="FIRST", expressions=[node.copy()])
                    for key, node in value.env.items()
                }
                return Tensor(value.tree, env, value.text)
            return calls.grouped(value, "LIST", text_of(e))
        if isinstance(value, Sql) and value.node.sql("duckdb") not in keys:
            kind = Kind("list", htype=value.kind.htype, names=value.kind.names)
            return Sql(exp.Anonymous(this="LIST", expressions=[value.node.copy()]), kind)
        if isinstance(value, Sql):
            return Sql(value.node, value.kind)
        return value

    def _star(self, star: exp.Star, item: exp.Expr, scope: Scope) -> list[tuple[str, Value]]:
        table = item.table if isinstance(item, exp.Column) else None
        if table and table not in [r.alias for r in scope.relations]:
            raise scope.unknown("*", table)
        left_out = {c.name for c in star.args.get("except_") or ()}
        known = {n for r in scope.relations for n in r.columns if table in (None, "", r.alias)}
        for name in left_out - known:
            raise scope.unknown(name, None)
        found = []
        for relation in scope.relations:
            if table not in (None, "", relation.alias):
                continue
            for name in relation.columns:
                if name not in left_out and (table or name not in relation.hidden):
                    by = None if name in scope.merged and not table else relation.alias
                    found.append((name, self._low.value(exp.column(name, table=by), scope)
                                  if by != "" else relation.columns[name]))  # fmt: skip
        return found

    def _order(self, order: exp.Order, scope: Scope, items: list[Value]) -> list[exp.Expr]:
        terms = []
        for term in order.expressions:
            e = term.this
            if isinstance(e, exp.Literal) and not e.is_string:
                at = int(e.this) - 1
                if not 0 <= at < len(items):
                    raise QueryError(
                        f"ORDER BY {e.this} is beyond the select list of {len(items)}."
                    )
                terms += calls.sorted_by(items[at], term, self._low, scope)
                continue
            if isinstance(e, exp.Column) and not e.table and e.name in scope.aliases:
                value = self._low.value(scope.aliases[e.name], scope)  # what the SELECT calls so
            else:
                value = self._low.value(e, scope)
            terms += calls.sorted_by(value, term, self._low, scope)
        return terms

    def _limit(self, tree: exp.Expr, out: exp.Query, scope: Scope) -> int | None:
        end: int | None = None
        if limit := tree.args.get("limit"):
            e = limit.args.get("expression") or limit.args.get("count")
            count = self._whole(e, scope, "LIMIT")
            options = limit.args.get("limit_options")
            if options is not None and options.args.get("percent"):
                out.set(
                    "limit",
                    exp.Limit(
                        expression=exp.Mod(this=exp.convert(count), expression=exp.Var(this=""))
                    ),
                )
            else:
                out.set("limit", exp.Limit(expression=exp.convert(count)))
                end = int(count)
        if offset := tree.args.get("offset"):
            skip = self._whole(offset.expression, scope, "OFFSET")
            out.set("offset", exp.Offset(expression=exp.convert(int(skip))))
            end = None if end is None else end + int(skip)
        return end

    def _whole(self, e: exp.Expr, scope: Scope, what: str) -> int | float:
        value = self._low.value(e, scope)
        if (
            not isinstance(value, Constant)
            or isinstance(value.value, bool)
            or not isinstance(value.value, int | float)
            or value.value < 0
        ):
            raise QueryTypeError(f"{what} is a number of rows, 0 or more, got {text_of(e)}.")
        return value.value

    def _note_enough(
        self, tree: exp.Select, scope: Scope, out: exp.Select, limit: int | None
    ) -> None:
        """Note that a source's first rows that pass suffice."""
        stops = limit is not None and not any(
            tree.args.get(k) for k in ("order", "group", "distinct", "having", "qualify", "joins")
        )
        if stops and not scope.aggregated and len(scope.relations) == 1:
            instance = scope.relations[0].instance
            if instance is not None and not any(out.find_all(exp.Window)):
                instance.enough = limit

    def _clauses(self, tree: exp.Expr, scope: Scope, projection: Projection) -> list[Clause]:
        found = []
        for part in tree.args.get(CLAUSES) or ():
            if isinstance(part, Arrange):
                nodes = [
                    calls.comparable(self._low.value(e, scope), self._low, scope)
                    for e in part.expressions
                ]
                names = tuple(projection.column(n).name for n in nodes)
                found.append(Clause("arrange", names))
            elif isinstance(part, Sample):
                weight = projection.column(self._low.sql(part.this, scope)).name
                limit = part.args.get("limit")
                seed = part.args.get("seed")
                options = {
                    "replace": bool(part.args.get("replace")),
                    "limit": None
                    if limit is None
                    else self._whole(limit, scope, "SAMPLE BY LIMIT"),
                    "percent": bool(part.args.get("percent")),
                    "seed": self._low.draw_seed()
                    if seed is None
                    else int(self._whole(seed, scope, "SEED")),
                }
                found.append(Clause("sample", (weight,), options))
            else:
                assert isinstance(part, Expand)
                before = int(self._whole(part.args["before"], scope, "EXPAND BY"))
                after = part.args.get("after")
                ends = {
                    "before": before,
                    "after": before
                    if after is None
                    else int(self._whole(after, scope, "EXPAND BY")),
                }
                found.append(Clause("expand", (), ends))
        return found

    # ---- FROM

    def _from(self, tree: exp.Select, scope: Scope) -> tuple[exp.Expr | None, list[exp.Join]]:
        clause = tree.args.get("from_")
        if clause is None:
            if self._default is None or (
                scope.parent is not None
                and not tree.args.get("where")
                and not tree.find(exp.Column)
            ):
                return None, []
            return self._source(self._default, "", scope), []
        source = self._table(clause.this, scope)
        joins: list[exp.Join] = []
        pending = [*(clause.this.args.get("joins") or ()), *(tree.args.get("joins") or ())]
        for join in pending:
            joins.append(self._join(join, scope))
        return source, joins

    def _table(self, e: exp.Expr, scope: Scope) -> exp.Expr:
        """Put a relation into the scope; return it as DuckDB's."""
        if isinstance(e, exp.Subquery):
            lowered = self._query(e.this if not e.args.get("limit") else e, scope.parent)
            name = self._name("t")
            columns = dict(lowered.columns)
            if renamed := [
                c.name for c in (e.args.get("alias") and e.args["alias"].args.get("columns")) or ()
            ]:
                columns = dict(zip(renamed, columns.values(), strict=False))
            scope.relations.append(
                Relation(e.alias or name, name, imported(columns.items(), name, self._count))
            )
            alias = exp.TableAlias(this=exp.to_identifier(name))
            return exp.Subquery(this=lowered.sql, alias=alias)
        if not isinstance(e, exp.Table):
            raise QueryError(f"FROM takes sources and queries, got {text_of(e)}.")
        if isinstance(e.this, exp.Func):
            return self._table_function(e, scope)
        name, alias = e.name, e.alias or e.name
        for names in reversed(self._queries):
            if name in names and not e.args.get("version"):
                inner, lowered = names[name]
                table = self._name("t")
                columns = imported(lowered.columns.items(), table, self._count)
                scope.relations.append(Relation(alias, table, columns))
                return exp.alias_(exp.to_table(inner), table, table=True)
        version = e.args.get("version")
        label = None
        if version is not None:
            value = self._low.value(version, scope)
            if not isinstance(value, Constant) or not isinstance(value.value, str):
                raise QueryTypeError(f"VERSION is a text, got {text_of(version)}.")
            label = value.value
        return self._source(self._open(name, label), alias, scope)

    def _source(self, source: Source, alias: str, scope: Scope) -> exp.Expr:
        table = self._name("t")
        instance = Instance(table, source)
        self._instances.append(instance)
        row = exp.column(ROW, table=table)
        columns: dict[str, Value] = {}
        for number, f in enumerate(source.fields):
            plain = Plain(source, f, row)
            kind = kind_of(f.htype)
            if kind is not None:
                kind = source.sharpened(f, kind)
                columns[f.name] = Sql(exp.column(f"x{number}", table=table), kind, plain)
            else:
                key = f"r_{table}"
                tree = Cell(key, source, f, type_of(f.htype))
                columns[f.name] = Tensor(tree, {key: row}, f.name, plain)
        scope.relations.append(Relation(alias, table, columns, instance))
        return exp.to_table(table)

    def _table_function(self, e: exp.Table, scope: Scope) -> exp.Expr:
        name = e.this.name.upper()
        if name not in ("RANGE", "GENERATE_SERIES", "UNNEST"):
            raise QueryError(
                f"FROM takes lakes, queries, RANGE, GENERATE_SERIES and UNNEST, got {name}(…). "
                "Files other than lakes are not read."
            )
        args = [self._low.sql(p, scope) for p in e.this.expressions]
        table = self._name("t")
        column = {"RANGE": "range", "GENERATE_SERIES": "generate_series"}.get(name, "unnest")
        node = exp.Anonymous(this=name, expressions=args)
        alias = e.args.get("alias")
        renamed = [c.name for c in (alias.args.get("columns") or ())] if alias else []
        user = renamed[0] if renamed else column
        relation = Relation(
            e.alias or name.lower(), table, {user: Sql(exp.column("v", table=table))}
        )
        scope.relations.append(relation)
        as_table = exp.TableAlias(this=exp.to_identifier(table), columns=[exp.to_identifier("v")])
        return exp.Table(this=node, alias=as_table)

    def _join(self, join: exp.Join, scope: Scope) -> exp.Join:
        left = list(scope.relations)
        source = self._table(join.this, scope)
        right = scope.relations[-1]
        out = exp.Join(this=source, side=join.side or None, kind=join.kind or None)
        using = [c.name for c in join.args.get("using") or ()]
        if (join.args.get("method") or "").upper() == "NATURAL":
            using = [n for r in left for n in r.columns if n in right.columns]
        if join.args.get("on") is not None:
            low = self._low
            out.set("on", low.condition(low.value(join.args["on"], scope), scope))
        elif using:
            out.set("on", self._using(using, left, right, join, scope))
        elif not join.kind and not join.side:
            out.set("kind", "CROSS")
        return out

    def _using(
        self, names: list[str], left: list[Relation], right: Relation, join: exp.Join, scope: Scope
    ) -> exp.Expr:
        tests = []
        for name in names:
            owner = next((r for r in left if name in r.columns), None)
            if owner is None or name not in right.columns:
                raise scope.unknown(name, None)
            low = self._low
            a = low.value(exp.column(name, table=owner.alias), scope)
            b = low.value(exp.column(name, table=right.alias), scope)
            tests.append(low.compare(exp.EQ, a, b, scope))
            right.hidden.add(name)
            if join.side in ("RIGHT", "FULL"):
                either = func("coalesce", low.as_sql(a, scope), low.as_sql(b, scope))
                scope.merged[name] = Sql(either, _kind(a, plain=True))
            else:
                scope.merged[name] = a
        return exp.and_(*tests)

    # ---- UNION, INTERSECT, EXCEPT

    def _set_operation(self, tree: exp.SetOperation, parent: Scope | None) -> Lowered:
        left = self._query(tree.this, parent)
        right = self._query(tree.expression, parent)
        if len(left.columns) != len(right.columns):
            raise QueryError(
                f"{tree.key.upper()} takes queries of equally many columns, got "
                f"{len(left.columns)} and {len(right.columns)}."
            )
        name = tree.key.upper()
        keep_all = tree.args.get("distinct") is False
        sides = [self._side(side, at) for at, side in enumerate((left, right))]
        projections = (Projection(), Projection())
        columns: dict[str, Value] = {}
        for (label, a), (_, b) in zip(sides[0][0].items(), sides[1][0].items(), strict=True):
            columns[label] = self._merged_column(label, a, b, name)
        del projections
        return _set_query(self, tree, name, keep_all, sides, columns, parent)

    def _side(self, lowered: Lowered, at: int) -> tuple[dict[str, Value], str, Lowered]:
        table = self._name("u")
        return imported(lowered.columns.items(), table, at), table, lowered

    def _merged_column(self, label: str, a: Value, b: Value, name: str) -> Any:
        if isinstance(a, Tensor) != isinstance(b, Tensor):
            raise QueryTypeError(
                f"{name} takes columns of one kind, and {label!r} is a tensor on one side only."
            )
        if isinstance(a, Tensor) and isinstance(b, Tensor) and a.type.ndim != b.type.ndim:
            raise QueryTypeError(
                f"{name} takes tensors of as many axes, and {label!r} is {a.type} and {b.type}."
            )
        return (a, b)

    def _name(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"


def _set_query(
    binder: Binder,
    tree: exp.SetOperation,
    name: str,
    keep_all: bool,
    sides: list[tuple[dict[str, Value], str, Lowered]],
    columns: dict[str, Any],
    parent: Scope | None,
) -> Lowered:
    """Return a set operation: on what is comparable, with the positions of what is read later."""
    low = binder._low
    selects, carried = [], [Projection(), Projection()]
    compared: list[list[exp.Expr]] = [[], []]
    out: dict[str, Value] = {}
    for label, pair in columns.items():
        nodes = []
        for at, value in enumerate(pair):
            nodes.append(calls.comparable(value, low, Scope()))
            compared[at].append(nodes[-1])
        out[label] = pair
    tensors = any(isinstance(pair[0], Tensor) for pair in columns.values())
    final: dict[str, Value] = {}
    table = binder._name("t")
    extra: list[list[exp.Expr]] = [[], []]
    for number, (label, pair) in enumerate(columns.items()):
        a, b = pair
        if isinstance(a, Tensor):
            final[label] = _choice(label, a, b, extra, table)
            continue
        names = _kind(a).names
        kind = _kind(a)
        if kind.name == "class" or _kind(b).name == "class":
            if _kind(b).names != names or _kind(b).name != kind.name:
                for at, value in enumerate(pair):
                    compared[at][number] = calls.as_text(value, low, Scope())
                kind = TEXT
        real = kind.real or _kind(b).real
        kind = Kind(kind.name, real, kind.names, kind.htype if kind.name == _kind(b).name else None)
        final[label] = Sql(exp.column(f"c{number}", table=table), kind)
    for at, (_, inner_table, lowered) in enumerate(sides):
        items = [exp.alias_(node, f"c{i}") for i, node in enumerate(compared[at])]
        if tensors:
            items += [exp.alias_(node, f"k{i}") for i, node in enumerate(extra[at])]
        select = exp.Select(expressions=items)
        alias = exp.TableAlias(this=exp.to_identifier(inner_table))
        select.set("from_", exp.From(this=exp.Subquery(this=lowered.sql, alias=alias)))
        selects.append(select)
    del carried
    kinds = {"UNION": exp.Union, "INTERSECT": exp.Intersect, "EXCEPT": exp.Except}
    if not tensors:
        combined: exp.Query = kinds[name](
            this=selects[0], expression=selects[1], distinct=not keep_all
        )
    else:
        combined = _combined(name, keep_all, selects, len(columns))
    relation = Relation("", table, final)
    outer = exp.Select(expressions=[exp.Star()])
    for key in ("order", "limit", "offset", CLAUSES):
        outer.set(key, tree.args.get(key))
    source = exp.Subquery(this=combined, alias=exp.TableAlias(this=exp.to_identifier(table)))
    return binder._finish(outer, Scope([relation], parent), source, [], outermost=parent is None)


def _choice(label: str, a: Tensor, b: Any, extra: list[list[exp.Expr]], table: str) -> Tensor:
    """Return a tensor of either side: a tag says which, and the other's keys are null."""
    start = len(extra[0])
    tag = f"k{start}"
    extra[0].append(exp.convert(0))
    extra[1].append(exp.convert(1))
    env = {f"{table}_{tag}": exp.column(tag, table=table)}
    renamed = []
    for at, side in enumerate((a, b)):
        names = {}
        for key, node in side.env.items():
            name = f"k{len(extra[0])}"
            extra[at].append(node.copy())
            extra[1 - at].append(exp.cast(exp.null(), "BIGINT"))
            names[key] = f"{table}_{name}"
            env[names[key]] = exp.column(name, table=table)
        from deeplake_lite.query.values import rename_keys

        renamed.append(rename_keys(side.tree, names.__getitem__))
    return Tensor(Choice(f"{table}_{tag}", tuple(renamed), a.type), env, label)


def _combined(name: str, keep_all: bool, selects: list[exp.Select], count: int) -> exp.Query:
    """Return a set operation that compares the first `count` columns and carries the others."""
    by = [f"c{i}" for i in range(count)]
    if name == "UNION":
        both = exp.Union(this=selects[0], expression=selects[1], distinct=False)
        if keep_all:
            return both
        out = exp.Select(expressions=[exp.Star()])
        out.set(
            "from_",
            exp.From(
                this=exp.Subquery(this=both, alias=exp.TableAlias(this=exp.to_identifier("u")))
            ),
        )
        out.set("distinct", exp.Distinct(on=exp.Tuple(expressions=[exp.column(n) for n in by])))
        return out
    numbered = []
    for select in selects:
        inner = select.copy()
        number = exp.Window(
            this=exp.Anonymous(this="ROW_NUMBER", expressions=[]),
            partition_by=[exp.column(n) for n in by],
        )
        outer = exp.Select(expressions=[exp.Star(), exp.alias_(number, "n")])
        outer.set(
            "from_",
            exp.From(
                this=exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier("v")))
            ),
        )
        numbered.append(outer)
    same = [
        exp.NullSafeEQ(this=exp.column(n, table="l"), expression=exp.column(n, table="r"))
        for n in [*by, *(["n"] if keep_all else [])]
    ]
    right = exp.Select(expressions=[exp.convert(1)])
    right.set(
        "from_",
        exp.From(
            this=exp.Subquery(this=numbered[1], alias=exp.TableAlias(this=exp.to_identifier("r")))
        ),
    )
    right.set("where", exp.Where(this=exp.and_(*same)))
    test: exp.Expr = exp.Exists(this=right)
    if name == "EXCEPT":
        test = exp.Not(this=test)
    if not keep_all:
        test = exp.and_(test, exp.EQ(this=exp.column("n", table="l"), expression=exp.convert(1)))
    out = exp.Select(expressions=[exp.Star()])
    out.set(
        "from_",
        exp.From(
            this=exp.Subquery(this=numbered[0], alias=exp.TableAlias(this=exp.to_identifier("l")))
        ),
    )
    out.set("where", exp.Where(this=test))
    return out


# ---- helpers


def _conjuncts(e: exp.Expr) -> list[exp.Expr]:
    if isinstance(e, exp.And):
        return [*_conjuncts(e.this), *_conjuncts(e.expression)]
    if isinstance(e, exp.Paren) and isinstance(e.this, exp.And):
        return _conjuncts(e.this)
    return [e]


def _note_condition(instance: Instance, node: exp.Expr) -> None:
    """Note a condition on a source alone, so that fewer rows are left for its islands."""
    if any(node.find_all(exp.Select, exp.Window)):
        return
    columns = list(node.find_all(exp.Column))
    if any(c.table != instance.table for c in columns):
        return
    islands = tuple(dict.fromkeys(c.name for c in columns if c.name in instance.islands))
    if islands:
        instance.staged.append((node, islands))
    elif columns:
        instance.cheap.append(node)


def _is_free(value: Value) -> bool:
    return isinstance(value, Tensor) and value.is_scalar


def _star(item: exp.Expr) -> exp.Star | None:
    if isinstance(item, exp.Star):
        return item
    if isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
        return item.this
    return None


def _name_of(e: exp.Expr) -> str:
    """Return the name of a column that nobody has named: its own, or its text."""
    return e.name if isinstance(e, exp.Column) else text_of(e).replace('"', "")


def _unique(items: list[tuple[str, Value]]) -> dict[str, Value]:
    """Return values by name; a name that comes again gets a number.

    >>> list(_unique([("x", 1), ("x", 2)]))
    ['x', 'x_1']
    """
    out: dict[str, Value] = {}
    for name, value in items:
        chosen, number = name, 0
        while chosen in out:
            number += 1
            chosen = f"{name}_{number}"
        out[chosen] = value
    return out


def _output(name: str, value: Value) -> Output:
    """Return a column of the result."""
    match value:
        case Sql(node, kind, plain) if plain is not None and node is plain.row:
            return Output(name, kind, plain=plain)
        case Sql(node, kind):
            return Output(name, kind, column=node.name)
        case Tensor(plain=plain) if plain is not None:
            return Output(name, plain=plain)
        case Tensor():
            return Output(name, tensor=value)
    raise AssertionError(value)
