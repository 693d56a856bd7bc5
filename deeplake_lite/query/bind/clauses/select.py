"""Translation of a SELECT to a query that DuckDB runs, which is called lowering.

Each mention of a source in FROM becomes a separate table. In place of an unchanged column or a
tensor, the query for DuckDB returns the row positions from which the values are read on access.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from deeplake_lite.errors import QueryError
from deeplake_lite.query.bind.calls.aggregates import not_positional, window_parts
from deeplake_lite.query.bind.clauses import row_order
from deeplake_lite.query.bind.clauses.endings import clauses, limit, order_by, stop_early
from deeplake_lite.query.bind.clauses.grouping import keys_of, resolve_item
from deeplake_lite.query.bind.clauses.nearest import note_best_texts, note_first, request_index
from deeplake_lite.query.bind.clauses.projection import Lowered, Projection
from deeplake_lite.query.bind.clauses.select_list import lower_items
from deeplake_lite.query.bind.clauses.sets import set_operation
from deeplake_lite.query.bind.clauses.subqueries import one_value
from deeplake_lite.query.bind.clauses.tables import read_from, rename_columns
from deeplake_lite.query.bind.clauses.ungrouped import is_ungrouped
from deeplake_lite.query.bind.clauses.unused_columns import prune_columns
from deeplake_lite.query.bind.clauses.where import lower_where
from deeplake_lite.query.bind.effort import Effort
from deeplake_lite.query.bind.expressions.digests import comparable
from deeplake_lite.query.bind.expressions.lowering import Lowering
from deeplake_lite.query.bind.places import locate_errors, start_of
from deeplake_lite.query.bind.scalars.kinds import kind_of, needs_numpy
from deeplake_lite.query.bind.scope import Relation, Scope, relation_columns
from deeplake_lite.query.parse.added_nodes import CLAUSES, UNGROUP, USING_INDEX
from deeplake_lite.query.parse.dialect import text_of
from deeplake_lite.query.parse.duckdb_nodes import as_source
from deeplake_lite.query.plan import Instance, Output, Plan
from deeplake_lite.query.values import TENSOR, Sql, Tensor, Value

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable

    from deeplake_lite.query.bind.expressions.params import Params
    from deeplake_lite.query.run.sources import Source


type Open = Callable[[str, str | None], Source]
"""A function that opens a source, given its URL or name, and a version or None."""


type RunSubquery = Callable[[Plan], Any]
"""A function that runs the plan of a subquery, and returns the only value of the result, or None if
the result has no row."""


class Binder:
    """Lowers all SELECTs of one query, and puts together the plan of the query.

    Parameters
    ----------
    text : str
        The query.
    open_source : callable
        Opens the sources in FROM.
    params : Params
        Values of the parameters.
    default : Source, optional
        The source that a SELECT without FROM reads.
    seed : int, optional
        Seed of RANDOM and SAMPLE BY, if the query is run again; otherwise, a seed is drawn.
    moment : datetime, optional
        The time in UTC that counts as the current time, if the query is run again.
    run_subquery : callable
        Runs a subquery that returns the same tensor for all rows, and returns the tensor.
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
        """Runs a subquery that returns the same tensor for all rows, and returns the tensor."""
        self.low = Lowering(params, self._lower_nested, lambda e, scope: one_value(self, e, scope))
        self.low.seed, self.low.moment = seed, moment
        self.low.text, self.low.effort = text, Effort(text)
        self.low.effort.allow_values(params.size)
        self.instances: list[Instance] = []
        """The sources in the FROM clauses that have been lowered so far."""
        self.queries: list[dict[str, tuple[str, Lowered]]] = []
        """The queries that WITH clauses name. The list has a dict for each enclosing query, and the
        innermost query's dict is the last. Each dict maps names to (table in the SQL for DuckDB,
        lowered query)."""
        self.ctes: list[exp.CTE] = []
        """The queries that WITH clauses name, as syntax trees."""
        self.relations: dict[str, exp.Query] = {}
        """Maps the names of tables in the SQL for DuckDB to the SQL of the subqueries that they
        stand for."""
        self.ungrouped: list[int] = []
        """Offsets in the text of columns that a grouped query neither groups nor aggregates."""
        self.count = 0
        """Number of names that have been generated for tables, so that each name is unique."""

    def plan(self, tree: exp.Query) -> Plan:
        """Return the plan of a query.

        Raises
        ------
        QueryError
            If the query is invalid.
        ColumnNotFoundError, NotFoundError
            If the query uses the name of a column, function or source that does not exist.
        """
        lowered = self.query(tree, None, outermost=True)
        self.low.params.check()
        outputs = tuple(
            replace(_output(name, value), start=self.low.outputs.get(name))
            for name, value in lowered.columns.items()
        )
        udfs = tuple(self.low.udfs.values())
        prune_columns(lowered.sql)  # so that unneeded columns are not read below
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

    def _lower_nested(self, tree: exp.Query, scope: Scope) -> tuple[exp.Query, list[Sql]]:
        """Return the SQL and the columns of a query that is part of an expression."""
        lowered = self.query(tree, scope, bare=True)
        values = lowered.columns.values()
        kinds = [TENSOR if needs_numpy(v) else kind_of(v) for v in values]
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
            Scope of the enclosing query; None for the outermost query.
        outermost : bool
            Whether the rows of the query are the result, so that unchanged columns are read later.
        bare : bool
            Whether the query is part of an expression, which only compares its rows. Digests then
            stand for tensors.
        """
        with locate_errors(self.low.text, tree):
            return self._query(tree, parent, outermost=outermost, bare=bare)

    def _query(
        self, tree: exp.Expr, parent: Scope | None, *, outermost: bool, bare: bool
    ) -> Lowered:
        if tree.args.get(CLAUSES) and not outermost:
            raise QueryError(
                f"{tree.args[CLAUSES][0].key.upper()} BY must end the outermost query, but it is "
                "in a subquery. Run the subquery on its own, and query its result: "
                "ds.query(…).query(…)."
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
        """Lower the queries in the WITH clause of a query; return whether it has such a clause."""
        self.queries.append({})
        clause = tree.args.get("with_")
        if clause is None:
            return False
        if clause.args.get("recursive"):
            raise QueryError("WITH RECURSIVE is not part of the language. Use WITH.")
        for cte in clause.expressions:
            # Pass a parent scope, because this query is not the outermost one.
            lowered = self.query(cte.this, parent or Scope())
            with locate_errors(self.low.text, cte):
                lowered.columns = rename_columns(lowered.columns, cte.args["alias"])
            self.queries[-1][cte.alias] = (self.new_name("q"), lowered)
            self.ctes.append(cte)
        return True

    def _in_parentheses(
        self, tree: exp.Subquery, parent: Scope | None, *, outermost: bool, bare: bool
    ) -> Lowered:
        """Lower a query in parentheses, and the clauses that follow the parentheses."""
        if joins := tree.args.get("joins"):
            with locate_errors(self.low.text, joins[0].this):
                raise QueryError(
                    "A join must be in FROM, but this join follows a query. Write SELECT * FROM "
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
        """Lower the clauses after a query in parentheses as clauses of a SELECT from that query."""
        name = self.new_name("t")
        self.low.types.record_query(name, inner.sql)
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
        """Lower the remaining clauses of a SELECT whose FROM has been lowered.

        WHERE is lowered before GROUP BY adds its keys to the scope, because names in WHERE refer to
        values of rows. The other clauses are lowered afterwards, because names in them refer to
        values of groups.

        Parameters
        ----------
        tree : exp.Select
            The SELECT.
        scope : Scope
            The scope, which contains the relations of FROM.
        source : exp.Expr or None
            The lowered first item of FROM.
        joins : list of exp.Join
            The lowered joins.
        outermost, bare : bool
            See `query`.
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
        conditions = lower_where(low, tree, scope)
        if conditions:
            out.set("where", exp.Where(this=exp.and_(*conditions, copy=False)))
        keys = keys_of(tree, scope, low)
        if keys:
            out.set("group", exp.Group(expressions=keys))
        scope = replace(scope, grouped=tree.args.get("group") is not None)
        values = lower_items(low, tree, scope, {k.sql("duckdb") for k in keys})
        for item, value in zip(tree.expressions, values.values(), strict=False):
            self._record_ungrouped(item, _nodes(value), keys, scope)
        if bare:  # the rows are only compared, so no tensor has to be read later
            values = {
                n: Sql(comparable(v, low, scope), TENSOR)
                if needs_numpy(v)
                else Sql(low.as_sql(v, scope), kind_of(v))
                for n, v in values.items()
            }
        self._filter_groups(tree, out, scope, keys, values)
        projection = Projection()
        distinct = tree.args.get("distinct")
        lazy = outermost and not (scope.grouped or scope.aggregated)
        merges = distinct is not None and distinct.args.get("on") is None
        columns = {
            name: projection.value(v if lazy else low.types.refine(v), lazy=lazy, merges=merges)
            for name, v in values.items()
        }
        if distinct is not None:
            out.set("distinct", self._distinct(distinct, tree, scope, values))
        if order := tree.args.get("order"):
            terms = order_by(self, order, scope, list(values.values()))
            for written, term in zip(order.expressions, terms, strict=False):
                self._record_ungrouped(written, [term], keys, scope)
            out.set("order", exp.Order(expressions=terms))
        if named := tree.args.get("windows"):
            out.set("windows", [window_parts(low, w, scope) for w in named])
        count = limit(self, tree, out, scope)
        ending = clauses(self, tree, scope, projection)
        for e in _closing_expressions(tree) if scope.grouped or scope.aggregated else ():
            self._record_ungrouped(e, _nodes(low.value(e, scope)), keys, scope)
        # The result of a join is counted before it is sorted, because it may not fit into memory.
        sorts = row_order.positions_to_sort_by(out, scope) if outermost else []
        order = [projection.column(position).name for position in sorts]
        # Set the columns last, as ORDER BY and SAMPLE BY may add some. DuckDB needs at least one.
        out.set("expressions", projection.items or [exp.alias_(exp.convert(1), "c0")])
        stop_early(tree, scope, out, count)
        note_first(tree, out, scope, count)
        note_best_texts(self, tree, out, scope, list(values.values()), count)
        if tree.args.get(USING_INDEX):
            request_index(self, tree, out, scope, list(values.values()), count)
        # Without a LIMIT, the value of `x IN (SELECT …)` does not depend on the order of its rows.
        rows = (not bare or count is not None) and not sorts
        row_order.make_deterministic(out, scope, rows=rows, most=count)
        return Lowered(out, columns, count, ending, tuple(order))

    def _filter_groups(
        self,
        tree: exp.Select,
        out: exp.Select,
        scope: Scope,
        keys: list[exp.Expr],
        values: dict[str, Value],
    ) -> None:
        """Add the lowered HAVING and QUALIFY to the query `out`.

        In HAVING, aliases take precedence over columns.
        """
        low = self.low
        for clause in ("having", "qualify"):
            if part := tree.args.get(clause):
                kind = exp.Having if clause == "having" else exp.Qualify
                node = low.clause(part.this, replace(scope, names_first=clause == "having"))
                if clause == "qualify":
                    with locate_errors(low.text, part.this):
                        _check_windows(part.this, [node, *_nodes(*values.values())])
                self._record_ungrouped(part.this, [node], keys, scope, groups=clause == "having")
                out.set(clause, kind(this=node))

    def _distinct(
        self, distinct: exp.Distinct, tree: exp.Select, scope: Scope, values: dict[str, Value]
    ) -> exp.Distinct:
        """Lower DISTINCT to the DISTINCT ON of values that are equal if the rows are equal."""
        on = distinct.args.get("on")
        if on is not None:
            written = (resolve_item(p, tree, scope, "DISTINCT ON") for p in on.expressions)
            compared = [self.low.value(p, scope) for p in written]
        else:
            compared = list(values.values())
        terms = [not_positional(comparable(v, self.low, scope)) for v in compared]
        return exp.Distinct(on=exp.Tuple(expressions=terms))

    def _record_ungrouped(
        self,
        e: exp.Expr,
        nodes: list[exp.Expr],
        keys: list[exp.Expr],
        scope: Scope,
        *,
        groups: bool = False,
    ) -> None:
        """Record the position of an expression that uses values of rows although rows are grouped.

        DuckDB rejects such an expression when the query runs, and the error message then points to
        the recorded position.

        Parameters
        ----------
        e : exp.Expr
            The expression as written in the query.
        nodes : list of exp.Expr
            The lowered expression.
        keys : list of exp.Expr
            The lowered keys of GROUP BY.
        scope : Scope
            The scope of the expression.
        groups : bool
            Whether the expression is evaluated for groups even if there is no GROUP BY, as in
            HAVING.
        """
        is_group = groups or scope.grouped or scope.aggregated
        start = start_of(e)
        if start is not None and is_ungrouped(nodes, keys, is_group=is_group):
            self.ungrouped.append(start)

    def as_relation(self, query: exp.Query, name: str) -> exp.Subquery:
        """Return a query as a subquery in FROM, and record it under the name of its table."""
        self.relations[name] = query
        return as_source(query, name)

    def new_name(self, prefix: str) -> str:
        """Return an unused name that starts with `prefix`."""
        self.count += 1
        return f"{prefix}{self.count}"


def _nodes(*values: Value) -> list[exp.Expr]:
    """Return the SQL expressions that values consist of; constants have none."""
    nodes: list[exp.Expr] = []
    for value in values:
        if isinstance(value, Tensor):
            nodes += value.env.values()
        elif isinstance(value, Sql):
            nodes.append(value.node)
    return nodes


def _closing_expressions(tree: exp.Expr) -> list[exp.Expr]:
    """Return the expressions of ARRANGE BY and SAMPLE BY."""
    parts = tree.args.get(CLAUSES) or ()
    return [e for part in parts for e in (*part.expressions, part.this) if isinstance(e, exp.Expr)]


def _check_windows(e: exp.Expr, nodes: list[exp.Expr]) -> None:
    """Raise QueryError if the condition of QUALIFY uses no window function."""
    if not any(node.find(exp.Window) for node in nodes):
        raise QueryError(
            f"QUALIFY must test a window function, but {text_of(e)} contains no window function. "
            "Write WHERE, or HAVING after GROUP BY."
        )


def _output(name: str, value: Value) -> Output:
    """Return a column of the result from its value, which refers to columns of DuckDB's result."""
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
