"""Lowering of a SELECT to one query that DuckDB runs, and of its columns.

Each source in FROM becomes a separate table. Unchanged columns and tensors leave a SELECT as
positions of rows, so that only values that are used are read.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from deeplake_lite.errors import QueryError
from deeplake_lite.query.bind.calls import known
from deeplake_lite.query.bind.calls.aggregates import not_positional, window_parts
from deeplake_lite.query.bind.calls.special import is_sequence, unnest
from deeplake_lite.query.bind.clauses import row_order
from deeplake_lite.query.bind.clauses.endings import (
    clauses,
    limit,
    order_by,
    stop_early,
)
from deeplake_lite.query.bind.clauses.grouping import keys_of, over_group, resolve_item
from deeplake_lite.query.bind.clauses.projection import Lowered, Projection
from deeplake_lite.query.bind.clauses.sets import set_operation
from deeplake_lite.query.bind.clauses.subqueries import one_value
from deeplake_lite.query.bind.clauses.tables import read_from, rename_columns
from deeplake_lite.query.bind.clauses.unread import leave_out
from deeplake_lite.query.bind.effort import Effort
from deeplake_lite.query.bind.expressions.digests import comparable
from deeplake_lite.query.bind.expressions.lowering import Lowering
from deeplake_lite.query.bind.places import placed, start_of
from deeplake_lite.query.bind.scalars.kinds import is_numpys, kind_of
from deeplake_lite.query.bind.scope import Relation, Scope, relation_columns
from deeplake_lite.query.parse.dialect import CLAUSES, UNGROUP, as_source, func, text_of
from deeplake_lite.query.plan import Instance, Output, Plan
from deeplake_lite.query.tensors.trees import reads
from deeplake_lite.query.values import (
    TENSOR,
    Sql,
    Tensor,
    Value,
)

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Iterator

    from deeplake_lite.query.bind.expressions.params import Params
    from deeplake_lite.query.run.sources import Source


type Open = Callable[[str, str | None], Source]
"""Opens a source by its URL or name, and a version."""

type _Item = tuple[str, Value, exp.Expr]
"""An item of the select list: its name, its value and its expression."""

type RunSubquery = Callable[[Plan], Any]
"""Runs the plan of a subquery and returns its only value; None without a row."""


class Binder:
    """Lowers the SELECTs of one query.

    Parameters
    ----------
    text : str
        The query.
    open_source : callable
        Opens the sources in FROM.
    params : Params
        Values of the parameters.
    default : Source, optional
        Source of a SELECT without FROM.
    seed : int, optional
        Seed of RANDOM and SAMPLE BY.
    moment : datetime, optional
        The current time in UTC, as it was when the query first ran.
    run_subquery : callable
        Computes a subquery whose tensor is the same for all rows.
    """

    def __init__(
        self,
        text: str,
        open_source: Open,
        params: Params,
        default: Source | None = None,
        seed: int | None = None,
        moment: dt.datetime | None = None,
        *,
        run_subquery: RunSubquery,
    ) -> None:
        self._text, self.open_source, self.default = text, open_source, default
        self.run_subquery = run_subquery
        """Computes a subquery whose tensor is the same for all rows."""
        self.low = Lowering(params, self._nested, lambda e, scope: one_value(self, e, scope))
        self.low.seed, self.low.moment = seed, moment
        self.low.text, self.low.effort = text, Effort(text)
        self.low.effort.allow_values(params.size)
        self.instances: list[Instance] = []
        """Sources that the query has named so far."""
        self.queries: list[dict[str, tuple[str, Lowered]]] = []
        """Queries that WITH names: for each query around the current place, innermost last."""
        self.ctes: list[exp.CTE] = []
        """The same queries as syntax trees."""
        self.relations: dict[str, exp.Query] = {}
        """Subqueries by the names of their tables."""
        self.ungrouped: list[int] = []
        """Positions in the text of columns that are neither grouped nor aggregated."""
        self.count = 0
        """Number of generated names."""

    def plan(self, tree: exp.Query) -> Plan:
        """Return the plan of a query.

        Raises
        ------
        QueryError
            When the query is invalid.
        ColumnNotFoundError, NotFoundError
            For unknown names.
        """
        lowered = self.query(tree, None, outermost=True)
        self.low.params.check()
        outputs = tuple(
            replace(_output(name, value), start=self.low.outputs.get(name))
            for name, value in lowered.columns.items()
        )
        udfs = tuple(self.low.udfs.values())
        leave_out(lowered.sql)
        used = {(c.table, c.name) for c in lowered.sql.find_all(exp.Column)}
        for i in self.instances:
            i.scalars = {name: f for name, f in i.scalars.items() if (i.table, name) in used}
        return Plan(
            self._text,
            tuple(self.instances),
            udfs,
            lowered.sql,
            outputs,
            tuple(lowered.clauses),
            self.low.seed,
            self.low.moment,
            tuple(self.low.traces),
            self.relations,
            tuple(self.ungrouped),
            self.low.starts,
            lowered.order,
        )

    def _nested(self, tree: exp.Query, scope: Scope) -> tuple[exp.Query, list[Sql]]:
        lowered = self.query(tree, scope, bare=True)
        values = lowered.columns.values()
        kinds = [TENSOR if is_numpys(v) else kind_of(v) for v in values]
        nodes = [v.node if isinstance(v, Sql) else exp.null() for v in values]
        return lowered.sql, list(map(Sql, nodes, kinds))

    def query(
        self,
        tree: exp.Expr,
        parent: Scope | None,
        *,
        outermost: bool = False,
        bare: bool = False,
    ) -> Lowered:
        """Lower a query.

        Parameters
        ----------
        tree : exp.Expr
            The query.
        parent : Scope or None
            Scope of the query around it.
        outermost : bool
            Whether its rows are the result, so that unchanged columns may be read later.
        bare : bool
            Whether digests of tensors are enough, for an expression.
        """
        with placed(self.low.text, tree):
            return self._query(tree, parent, outermost=outermost, bare=bare)

    def _query(
        self, tree: exp.Expr, parent: Scope | None, *, outermost: bool, bare: bool
    ) -> Lowered:
        if tree.args.get(CLAUSES) and not outermost:
            raise QueryError(
                f"{tree.args[CLAUSES][0].key.upper()} BY must end the outermost query, but it is "
                "in a subquery. Query the result of the subquery: ds.query(…).query(…)."
            )
        named = self._with(tree, parent)
        try:
            if isinstance(tree, exp.Subquery):
                result = self._in_parentheses(tree, parent, outermost=outermost, bare=bare)
            elif isinstance(tree, exp.SetOperation):
                result = set_operation(self, tree, parent, outermost=outermost)
            elif isinstance(tree, exp.Select):
                result = self._select(tree, parent, outermost=outermost, bare=bare)
            else:
                raise QueryError(
                    f"A query must be a SELECT, but it is {tree.key.upper()}: {text_of(tree)}."
                )
        finally:
            names = self.queries.pop()
            del self.ctes[len(self.ctes) - len(names) :]
        if named:
            self.relations |= {table: lowered.sql for table, lowered in names.values()}
            ctes = [
                exp.CTE(this=lowered.sql, alias=exp.TableAlias(this=exp.to_identifier(table)))
                for table, lowered in names.values()
            ]
            result.sql.set("with_", exp.With(expressions=ctes))
        return result

    def _with(self, tree: exp.Expr, parent: Scope | None) -> bool:
        self.queries.append({})
        clause = tree.args.get("with_")
        if clause is None:
            return False
        if clause.args.get("recursive"):
            raise QueryError("WITH RECURSIVE is not part of the language. Use WITH.")
        for cte in clause.expressions:
            lowered = self.query(cte.this, parent or Scope())  # not outermost
            with placed(self.low.text, cte):
                lowered.columns = rename_columns(lowered.columns, cte.args["alias"])
            self.queries[-1][cte.alias] = (self.new_name("q"), lowered)
            self.ctes.append(cte)
        return True

    def _in_parentheses(
        self, tree: exp.Subquery, parent: Scope | None, *, outermost: bool, bare: bool
    ) -> Lowered:
        """Lower a query in parentheses, with the clauses after them."""
        if joins := tree.args.get("joins"):
            with placed(self.low.text, joins[0].this):
                raise QueryError(
                    "A join must be in FROM, but this one follows a query. Write SELECT * FROM "
                    f"({text_of(tree.this):.60}) AS a JOIN …."
                )
        clauses_after = ("order", "limit", "offset", UNGROUP, CLAUSES, "with_")
        if not any(map(tree.args.get, clauses_after)):
            return self.query(tree.this, parent, outermost=outermost, bare=bare)
        inner = self.query(tree.this, parent)
        return self._select_from(tree, inner, parent, outermost=outermost, bare=bare)

    def _select_from(
        self, tree: exp.Expr, inner: Lowered, parent: Scope | None, *, outermost: bool, bare: bool
    ) -> Lowered:
        """Lower the clauses after a query in parentheses, as a SELECT from that query."""
        name = self.new_name("t")
        self.low.types.note_query(name, inner.sql)
        columns = relation_columns(inner.columns.items(), name, self.count)
        source = self.as_relation(inner.sql, name)
        relation = Relation("", name, columns, source=source)
        outer = exp.Select(expressions=[exp.Star()])
        for key in ("order", "limit", "offset", UNGROUP, CLAUSES):
            outer.set(key, tree.args.get(key))
        scope = Scope([relation], parent)
        return self.finish(outer, scope, source, [], outermost=outermost, bare=bare)

    def _select(
        self, tree: exp.Select, parent: Scope | None, *, outermost: bool, bare: bool
    ) -> Lowered:
        scope = Scope(parent=parent)
        source, joins = read_from(self, tree, scope)
        return self.finish(tree, scope, source, joins, outermost=outermost, bare=bare)

    def finish(
        self,
        tree: exp.Select,
        scope: Scope,
        source: exp.Expr | None,
        joins: list[exp.Join],
        *,
        outermost: bool,
        bare: bool = False,
    ) -> Lowered:
        """Lower a SELECT whose FROM has been lowered into the scope.

        The order of the steps matters: WHERE sees rows, and GROUP BY, once its keys are in the
        scope, changes what names mean in all later clauses.
        """
        low = self.low
        scope.aliases.update(
            (item.alias, item.this) for item in tree.expressions if isinstance(item, exp.Alias)
        )
        out = exp.Select()
        if source is not None:
            out.set("from_", exp.From(this=source))
        if joins:
            out.set("joins", joins)
        conditions = self._where(tree, scope)
        if conditions:
            out.set("where", exp.Where(this=exp.and_(*conditions)))
        keys = keys_of(tree, scope, low)
        if keys:
            out.set("group", exp.Group(expressions=keys))
        scope = replace(scope, grouped=tree.args.get("group") is not None)
        values = self._items(tree, scope, {k.sql("duckdb") for k in keys})
        for item, value in zip(tree.expressions, values.values(), strict=False):
            self._record_ungrouped(item, _nodes(value), keys, scope)
        if bare:
            values = {
                n: Sql(comparable(v, low, scope), TENSOR)
                if is_numpys(v)
                else Sql(low.as_sql(v, scope), kind_of(v))
                for n, v in values.items()
            }
        for clause in ("having", "qualify"):
            if part := tree.args.get(clause):
                kind = exp.Having if clause == "having" else exp.Qualify
                node = low.clause(part.this, replace(scope, names_first=clause == "having"))
                if clause == "qualify":
                    with placed(low.text, part.this):
                        _check_windows(part.this, [node, *_nodes(*values.values())])
                self._record_ungrouped(part.this, [node], keys, scope, groups=clause == "having")
                out.set(clause, kind(this=node))
        projection = Projection()
        distinct = tree.args.get("distinct")
        lazy = outermost and not (scope.grouped or scope.aggregated)
        merges = distinct is not None and distinct.args.get("on") is None
        columns = {
            name: projection.value(v if lazy else low.types.refined(v), lazy=lazy, merges=merges)
            for name, v in values.items()
        }
        if distinct is not None:
            on = distinct.args.get("on")
            distinct_values = (
                [
                    low.value(resolve_item(p, tree, scope, "DISTINCT ON"), scope)
                    for p in on.expressions
                ]
                if on is not None
                else values.values()
            )
            terms = [not_positional(comparable(v, low, scope)) for v in distinct_values]
            out.set("distinct", exp.Distinct(on=exp.Tuple(expressions=terms)))
        if order := tree.args.get("order"):
            terms = order_by(self, order, scope, list(values.values()))
            for written, term in zip(order.expressions, terms, strict=False):
                self._record_ungrouped(written, [term], keys, scope)
            out.set("order", exp.Order(expressions=terms))
        if named := tree.args.get("windows"):
            out.set("windows", [window_parts(low, w, scope) for w in named])
        count = limit(self, tree, out, scope)
        ending = clauses(self, tree, scope, projection)
        for e in _ends(tree) if scope.grouped or scope.aggregated else ():
            self._record_ungrouped(e, _nodes(low.value(e, scope)), keys, scope)
        sorts = row_order.sorted_afterwards(out, scope) if outermost else []
        order = [projection.column(position).name for position in sorts]
        out.set("expressions", projection.items or [exp.alias_(exp.convert(1), "c0")])
        stop_early(tree, scope, out, count)
        rows = (not bare or count is not None) and not sorts
        row_order.make_deterministic(out, scope, rows=rows, most=count)
        return Lowered(out, columns, count, ending, tuple(order))

    def _where(self, tree: exp.Select, scope: Scope) -> list[exp.Expr]:
        where = tree.args.get("where")
        if where is None:
            return []
        alone = not tree.args.get("joins") and len(scope.relations) == 1
        instance = scope.relations[0].instance if alone else None
        conditions: list[exp.Expr] = []
        for part in _conjuncts(where.this):
            node = self.low.clause_of_rows(part, scope, "WHERE")
            conditions.append(exp.paren(node))
            if instance is not None:
                _note_condition(instance, node)
        return conditions

    def _items(self, tree: exp.Select, scope: Scope, keys: set[str]) -> dict[str, Value]:
        """Lower the select list; return the values by name.

        Raises
        ------
        QueryError
            For a mixture of aggregates and values of rows, without GROUP BY.
        """
        items: list[_Item] = []
        aggregates: list[exp.Expr] = []
        row_values: list[exp.Expr] = []
        for item in tree.expressions:
            star = _star(item)
            if star is not None:
                with placed(self.low.text, item):
                    items += self._star(star, item, scope, keys)
                row_values.append(item)
                continue
            e = item.unalias()
            if e.find(exp.Star) is not None and not _counts_rows(e):
                raise QueryError(
                    "* must stand alone or follow a source, as in source.*, but the query has "
                    f"{text_of(item)}."
                )
            is_alias = isinstance(item, exp.Alias)
            name = item.alias if is_alias else _name_of(e)
            before = scope.aggregates.count
            value = self.low.value(e, scope.within_alias(name) if is_alias else scope)
            if scope.aggregates.count > before:
                aggregates.append(e)
            elif _reads_rows(value, scope):
                row_values.append(e)
            if scope.grouped:
                with placed(self.low.text, e):
                    value = over_group(value, keys, e, scope, self.low)
            items.append((name, value, e))
            self.low.outputs[name] = start_of(e)
        if aggregates and row_values and not scope.grouped:
            raise QueryError(
                "Without GROUP BY, aggregates cannot be selected alongside values of rows, but "
                f"{text_of(aggregates[0])} has one value for all rows, and "
                f"{text_of(row_values[0])} one per row. GROUP BY the latter, take a LIST of it, or "
                "put OVER () after the aggregate."
            )
        return _unique(self._split_lists(items, tree, scope))

    def _split_lists(
        self, items: list[_Item], tree: exp.Select, scope: Scope
    ) -> list[tuple[str, Value]]:
        """Return the select list, with UNNEST of the lists that UNGROUP BY splits into rows."""
        parts: list[exp.Expr] = tree.args.get(UNGROUP) or []
        split = [p.sql().upper() for p in parts] == ["SPLIT"] and not scope.find("SPLIT", None)
        known = [e for _, _, e in items] + [exp.column(name) for name, _, _ in items]
        missing = [part for part in parts if part not in known and not split]
        if missing:
            with placed(self.low.text, missing[0]):
                raise QueryError(
                    "UNGROUP BY must be followed by columns of the select list, or by SPLIT for "
                    f"all of its lists, but it is {text_of(missing[0])}."
                )
        out = []
        for name, value, e in items:
            if is_sequence(value) if split else e in parts or exp.column(name) in parts:
                value = unnest(self.low, value, e, scope)
                scope.aliases[name] = func("UNNEST", e.copy())  # so that ORDER BY sees the items
            out.append((name, value))
        return out

    def _star(self, star: exp.Star, item: exp.Expr, scope: Scope, keys: set[str]) -> list[_Item]:
        table = item.table if isinstance(item, exp.Column) else None
        if table and table not in [r.alias for r in scope.relations]:
            raise scope.unknown("*", table)
        left_out = {c.name for c in star.args.get("except_") or ()}
        replacements = {a.alias: a.this for a in star.args.get("replace") or ()}
        renamed = {a.this.name: a.alias for a in star.args.get("rename") or ()}
        known = {n for r in scope.relations for n in r.columns if table in (None, "", r.alias)}
        parts = [*(star.args.get("except_") or ()), *(star.args.get("replace") or ())]
        named = {part.alias_or_name: part for part in parts}
        named |= {a.this.name: a for a in star.args.get("rename") or ()}
        for name in named.keys() - known:
            with placed(self.low.text, named[name]):
                raise scope.unknown(name, table or None)
        items: list[_Item] = []
        for relation in scope.relations:
            if table not in (None, "", relation.alias):
                continue
            for name in relation.columns:
                if name in left_out or (not table and name in relation.hidden):
                    continue
                by = None if name in scope.merged and not table else relation.alias
                e = replacements.get(name, exp.column(name, table=by))
                unnamed = by == "" and name not in replacements
                value = relation.columns[name] if unnamed else self.low.value(e, scope)
                if scope.grouped:
                    value = over_group(value, keys, e, scope, self.low)
                items.append((renamed.get(name, name), value, e))
        return items

    def _record_ungrouped(
        self,
        e: exp.Expr,
        nodes: list[exp.Expr],
        keys: list[exp.Expr],
        scope: Scope,
        *,
        groups: bool = False,
    ) -> None:
        """Record the place of an expression over a group that takes the value of a row.

        DuckDB rejects it when the query runs, and its error is then moved to that place.
        """
        is_group = groups or scope.grouped or scope.aggregated
        start = start_of(e)
        if start is not None and any(
            _takes_rows(node, keys) if is_group else _has_windows_of_groups(node) for node in nodes
        ):
            self.ungrouped.append(start)

    def as_relation(self, query: exp.Query, name: str) -> exp.Subquery:
        """Return a query as a subquery in FROM, and record it by name, for errors."""
        self.relations[name] = query
        return as_source(query, name)

    def new_name(self, prefix: str) -> str:
        """Return an unused name."""
        self.count += 1
        return f"{prefix}{self.count}"


def _conjuncts(e: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the conditions that AND joins, at any depth of parentheses."""
    if isinstance(e, exp.And):
        yield from _conjuncts(e.this)
        yield from _conjuncts(e.expression)
    elif isinstance(e, exp.Paren) and isinstance(e.this, exp.And):
        yield from _conjuncts(e.this)
    else:
        yield e


def _note_condition(instance: Instance, node: exp.Expr) -> None:
    """Add a condition to its source, if it depends on that source alone.

    Conditions on stored columns are tested first, so that fewer rows are left to compute for those
    on precomputed columns.
    """
    columns = list(node.find_all(exp.Column))
    of_others = any(c.table != instance.table for c in columns)
    if of_others or node.find(exp.Select, exp.Window) is not None:
        instance.is_filtered_later = True
        return
    precomputed = tuple(dict.fromkeys(c.name for c in columns if c.name in instance.precomputed))
    if precomputed:
        instance.staged.append((node, precomputed))
        instance.staged.sort(key=lambda part: any(reads(instance.precomputed[n]) for n in part[1]))
    elif columns:
        instance.cheap.append(node)


def _nodes(*values: Value) -> list[exp.Expr]:
    """Return the SQL expressions of values."""
    nodes: list[exp.Expr] = []
    for value in values:
        if isinstance(value, Tensor):
            nodes += value.env.values()
        elif isinstance(value, Sql):
            nodes.append(value.node)
    return nodes


def _takes_rows(node: exp.Expr, keys: list[exp.Expr]) -> bool:
    """Return whether an expression over a group has a column outside of keys and aggregates."""
    if node in keys or isinstance(node, exp.Query):
        return False
    if isinstance(node, exp.Anonymous) and node.name.upper() in known.AGGREGATES:
        return False
    return isinstance(node, exp.Column) or any(
        _takes_rows(part, keys) for part in node.iter_expressions()
    )


def _has_windows_of_groups(node: exp.Expr) -> bool:
    """Return whether PARTITION BY or ORDER BY of a window has an aggregate, so that rows group."""
    parts = (
        part
        for window in node.find_all(exp.Window)
        for part in (*(window.args.get("partition_by") or ()), window.args.get("order"))
        if part is not None
    )
    return any(
        call.name.upper() in known.AGGREGATES
        for part in parts
        for call in part.find_all(exp.Anonymous)
    )


def _ends(tree: exp.Expr) -> list[exp.Expr]:
    """Return the expressions of ARRANGE BY and SAMPLE BY."""
    parts = tree.args.get(CLAUSES) or ()
    return [e for part in parts for e in (*part.expressions, part.this) if isinstance(e, exp.Expr)]


def _check_windows(e: exp.Expr, nodes: list[exp.Expr]) -> None:
    """Reject QUALIFY without a window function. Raises QueryError."""
    if not any(node.find(exp.Window) for node in nodes):
        raise QueryError(
            f"QUALIFY must test a window function, but {text_of(e)} has none. Write WHERE, or "
            "HAVING after GROUP BY."
        )


def _star(item: exp.Expr) -> exp.Star | None:
    if isinstance(item, exp.Star):
        return item
    if isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
        return item.this
    return None


def _counts_rows(e: exp.Expr) -> bool:
    """Return whether every ``*`` of an expression is in COUNT(*) or in a subquery."""
    return all(
        isinstance(star.parent, exp.Anonymous)
        or star.find_ancestor(exp.Select) is not e.find_ancestor(exp.Select)
        for star in e.find_all(exp.Star)
    )


def _name_of(e: exp.Expr) -> str:
    """Return the name of an item without an alias: the name of its column, or its text."""
    return e.name if isinstance(e, exp.Column) else text_of(e).replace('"', "")


def _reads_rows(value: Value, scope: Scope) -> bool:
    """Return whether a value of the select list differs from row to row."""
    nodes = list(value.env.values()) if isinstance(value, Tensor) else []
    nodes += [value.node] if isinstance(value, Sql) else []
    tables = {relation.table for relation in scope.relations}
    columns = (column for node in nodes for column in node.find_all(exp.Column))
    return any(c.table in tables and c.find_ancestor(exp.Query) is None for c in columns)


def _unique(items: list[tuple[str, Value]]) -> dict[str, Value]:
    """Return values by name; a repeated name gets a number.

    >>> list(_unique([("x", 1), ("x", 2)]))
    ['x', 'x_1']
    """
    out: dict[str, Value] = {}
    for name, value in items:
        unique, number = name, 0
        while unique in out:
            number += 1
            unique = f"{name}_{number}"
        out[unique] = value
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
