"""Lower expressions from the syntax tree to SQL for DuckDB and trees for NumPy.

Values whose type has no axes become SQL, and values with axes become trees. Where SQL needs a
scalar that a tree computes, such as MEAN(image), the tree becomes a *precomputed column* of the
source that it reads, or a user-defined function (UDF) that DuckDB calls with the row positions.
"""

from __future__ import annotations

import datetime as dt
import secrets
from contextlib import suppress
from dataclasses import dataclass
from itertools import count, islice
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from deeplake_lite.errors import NotFoundError, QueryError, QueryTypeError
from deeplake_lite.query.bind.effort import EXPRESSION_COST, Effort
from deeplake_lite.query.bind.expressions.folding import fold, fold_to_sql
from deeplake_lite.query.bind.expressions.handlers import HANDLERS
from deeplake_lite.query.bind.expressions.numpy_calls import call_function
from deeplake_lite.query.bind.expressions.numpy_inputs import as_tensor
from deeplake_lite.query.bind.expressions.rebuild import rebuild
from deeplake_lite.query.bind.expressions.types import Types
from deeplake_lite.query.bind.places import add_place, locate_errors, start_of
from deeplake_lite.query.bind.scalars.json_values import as_condition
from deeplake_lite.query.bind.scalars.kinds import WORDS, kind_of, needs_numpy
from deeplake_lite.query.parse.dialect import text_of
from deeplake_lite.query.plan import ROW, Instance, Udf
from deeplake_lite.query.values import ANY, Constant, Sql, Tensor, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from deeplake_lite.query.bind.expressions.params import Params
    from deeplake_lite.query.bind.scope import Scope
    from deeplake_lite.query.functions import Function


_MANY = 200
"""Messages show only the beginning of an expression with at least this number of nodes."""

_udf_numbers = count()
"""Numbers for the names of UDFs. They are unique in the process, because all queries share one
database."""

_MAX_TRACES = 200
"""Maximum number of expressions in a query whose positions are recorded."""


@dataclass(frozen=True)
class _CachedValue:
    """The cached value of an expression in a scope.

    The key of the cache contains the ids of the expression and the scope. This object refers to
    both of them, so that they are not freed and their ids not reused.
    """

    e: exp.Expr
    scope: Scope
    value: Value
    aggregated: bool
    """Whether the expression contains an aggregate."""


class Lowering:
    """Lowers the expressions of one query, and collects the UDFs and precomputed columns they need.

    Parameters
    ----------
    params : Params
        Values of ``?`` and ``$name``.
    subquery : callable
        Lowers a SELECT that is part of an expression. It takes the syntax tree and the scope, and
        returns the query for DuckDB and the columns of this query.
    one_value : callable
        Lowers a SELECT that is used as a single value. It takes the same arguments, and returns the
        value.
    """

    def __init__(
        self,
        params: Params,
        subquery: Callable[[exp.Query, Scope], tuple[exp.Query, list[Sql]]],
        one_value: Callable[[exp.Query, Scope], Value],
    ) -> None:
        self.params, self._lower_query, self.one_value = params, subquery, one_value
        self.udfs: dict[str, Udf] = {}
        self.types = Types(lambda: self.udfs)
        self.seed: int | None = None
        self.moment: dt.datetime | None = None
        self.unfolded = 0
        """Number of times that an alias has been replaced with its expression."""
        self.text = ""
        """Text of the query, in which messages show the position of an error."""
        self.effort = Effort("")
        self.cache: dict[tuple[Any, ...], _CachedValue] = {}
        """Cache of lowered values, because handlers lower some expressions more than once. The keys
        consist of the expression, the scope and the state of the scope."""
        self.traces: list[tuple[int, exp.Expr]] = []
        """Pairs of an offset in the text and the SQL to which the expression at this offset was
        lowered. Inner expressions come before the expressions that contain them."""
        self.starts: dict[str, int] = {}
        """Maps the texts of tensor expressions to their offsets in the query."""
        self.outputs: dict[str, int | None] = {}
        """Maps the names of columns to the offsets of their expressions. The outermost query is
        lowered last, so its columns override those of subqueries with the same names."""

    def draw_seed(self) -> int:
        """Return the seed of the query, which is drawn on the first call."""
        if self.seed is None:
            self.seed = secrets.randbelow(2**31)
        return self.seed

    def read_clock(self) -> dt.datetime:
        """Return the time in UTC that counts as the current time, read on the first call."""
        if self.moment is None:
            self.moment = dt.datetime.now(dt.UTC).replace(tzinfo=None)
        return self.moment

    def sql(self, e: exp.Expr | None, scope: Scope) -> exp.Expr:
        """Lower an expression to SQL for DuckDB."""
        assert e is not None
        return self.as_sql(self.value(e, scope), scope)

    def as_sql(self, value: Value, scope: Scope) -> exp.Expr:
        """Return a value as SQL for DuckDB.

        Raises
        ------
        QueryTypeError
            For a tensor with axes, and for a value whose type does not exist in SQL.
        """
        match value:
            case Sql(node) | Constant(node=node):
                self.effort.spend(sum(1 for _ in node.walk()))
                return node.copy()
            case Tensor() if needs_numpy(value) and value.is_scalar:
                raise QueryTypeError(
                    "Values to sort by and arguments of SQL functions must be real numbers, "
                    f"booleans or strings, but {value.text} is {value.type}. To test values for "
                    f"equality, compare HASH({value.text})."
                )
            case Tensor() if value.is_scalar:
                return self._precompute(value, scope)
        raise QueryTypeError(
            f"Only a single value per row is allowed here, but {value.text} is a tensor, "
            f"{value.type}. Reduce it, for example with MEAN(…) or an index, or wrap a condition "
            "in ANY(…) or ALL(…)."
        )

    def as_tensor(self, value: Value, text: str) -> Tensor:
        """Return a value as a tensor. `text` is the expression as written in the query."""
        return as_tensor(value, text, self.types)

    def _precompute(self, tensor: Tensor, scope: Scope) -> exp.Expr:
        """Turn a tree into a precomputed column or a UDF. Return the SQL of the column or call."""
        if not tensor.env:
            return fold_to_sql(tensor)
        existing = self.find_precomputed(tensor, scope)
        if existing is not None:
            return existing
        instance = self._instance_of(tensor, scope)
        if instance is not None:
            name = f"i{len(instance.precomputed)}"
            self.types.record(instance.table, name, tensor.type.dtype)
            instance.precomputed[name] = tensor.tree
            instance.texts[name] = tensor.text
            return exp.column(name, table=instance.table)
        udf = Udf(f"lake_f{next(_udf_numbers)}", tensor.tree, tuple(tensor.env), tensor.text)
        self.udfs[udf.name] = udf
        return _call_udf(udf, tensor)

    def find_precomputed(self, tensor: Tensor, scope: Scope) -> exp.Expr | None:
        """Return the precomputed column or UDF call that already computes a tree, or None."""
        instance = self._instance_of(tensor, scope)
        if instance is not None:
            names = (name for name, tree in instance.precomputed.items() if tree == tensor.tree)
            name = next(names, None)
            return None if name is None else exp.column(name, table=instance.table)
        for udf in self.udfs.values():
            if udf.tree == tensor.tree and udf.keys == tuple(tensor.env):
                return _call_udf(udf, tensor)
        return None

    def _instance_of(self, tensor: Tensor, scope: Scope) -> Instance | None:
        """Return the source that a tree reads, from the FROM of this or of an enclosing query.

        Returns None if the tree reads several sources, or also reads scalars that DuckDB computes.
        """
        tables = {
            (node.table if isinstance(node, exp.Column) and node.name == ROW else None)
            for node in tensor.env.values()
        }
        if len(tables) != 1 or None in tables:
            return None
        [table] = tables
        at: Scope | None = scope
        while at is not None:
            for relation in at.relations:
                if relation.instance is not None and relation.table == table:
                    return relation.instance
            at = at.parent
        return None

    def short_text(self, e: exp.Expr) -> str:
        """Return the text of an expression for messages.

        Of an expression with `_MANY` nodes or more, return the first 60 characters.
        """
        if sum(1 for _ in islice(e.walk(), _MANY)) < _MANY:
            return text_of(e)
        start = start_of(e) or 0
        return f"{self.text[start : start + 60]}…"

    def value(self, e: exp.Expr | None, scope: Scope) -> Value:
        """Lower an expression, or return its value from the cache.

        Raises
        ------
        QueryTypeError
            If the expression is missing (None), which the parser does not always notice.
        """
        if e is None:
            raise QueryTypeError(
                "An expression is missing. Write an expression before ORDER BY, or after DISTINCT."
            )
        if scope.keys and not scope.in_aggregate and (key := scope.keys.get(e)) is not None:
            return key
        flags = scope.in_aggregate, scope.in_window, scope.names_first, scope.grouped
        names = scope.unfolding, len(scope.keys), len(scope.relations)
        state = (id(e), id(scope.relations), *flags, *names)
        cached = None if scope.parameters else self.cache.get(state)
        if cached is not None:
            scope.aggregates.count += cached.aggregated
            return cached.value
        self.effort.spend(EXPRESSION_COST)
        before = scope.aggregates.count
        result = self._value(e, scope)
        if not scope.parameters:  # the parameters of a lambda are defined only within it
            self._trace(e, result)
            self.cache[state] = _CachedValue(e, scope, result, scope.aggregates.count > before)
        return result

    def _value(self, e: exp.Expr, scope: Scope) -> Value:
        handler = HANDLERS.get(e.key)
        try:
            result = fold(handler(self, e, scope) if handler else rebuild(self, e, scope))
        except (QueryError, NotFoundError) as error:
            add_place(error, self.text, e)
            raise
        if isinstance(result, Sql) and result.kind == ANY:  # ask DuckDB for the type
            return self.types.refine(result)
        return result

    def _trace(self, e: exp.Expr, value: Value) -> None:
        """Record the position of an expression in the text, for errors when the query runs."""
        if isinstance(value, Tensor) and len(self.starts) < _MAX_TRACES:
            begins = start_of(e)
            if begins is not None:
                self.starts.setdefault(value.text, begins)
        nodes: list[exp.Expr] = [value.node] if isinstance(value, Sql) else []
        if isinstance(value, Constant) and isinstance(value.value, list):
            with suppress(QueryTypeError):  # the list may contain numbers too large for SQL
                nodes = [value.node] if len(value.value) <= _MANY else []
        if isinstance(value, Tensor) and isinstance(e, exp.Window | exp.Anonymous | exp.Filter):
            nodes = list(value.env.values())
        start = start_of(e) if nodes and len(self.traces) < _MAX_TRACES else None
        if start is not None:
            computed = (n for n in nodes if not isinstance(n, exp.Column | exp.Literal))
            self.traces += ((start, node) for node in computed)

    def condition(self, value: Value, scope: Scope) -> exp.Expr:
        """Return a value as a condition in SQL.

        Raises QueryTypeError if the value is not one boolean, number, string or JSON value per row.
        """
        if isinstance(value, Tensor) and not value.is_scalar:
            raise QueryTypeError(
                f"A condition must have one value per row, but {value.text} is {value.type}. Write "
                "ANY(…) or ALL(…) around the condition."
            )
        kind = kind_of(value).name
        if kind in ("time", "bytes", "list"):
            raise QueryTypeError(
                f"A condition must be true or false, but it is {WORDS[kind]}. Compare the value "
                "with another one, or write x IS NOT NULL."
            )
        node = self.as_sql(value, scope)
        return as_condition(node) if kind == "json" else node

    def clause(self, e: exp.Expr, scope: Scope) -> exp.Expr:
        """Lower the condition of a clause such as WHERE or HAVING to SQL."""
        with locate_errors(self.text, e):
            value = self.value(e, scope)
            node, start = self.condition(value, scope), start_of(e)
        if kind_of(value).name != "bool" and start is not None:
            self.traces.append((start, exp.cast(node.copy(), "BOOLEAN")))
        return node

    def clause_of_rows(self, e: exp.Expr, scope: Scope, name: str) -> exp.Expr:
        """Lower the condition of a clause, named `name`, that is evaluated for each row.

        Raises QueryError if the condition contains an aggregate.
        """
        before = scope.aggregates.count
        node = self.clause(e, scope)
        if scope.aggregates.count > before:
            with locate_errors(self.text, e):
                raise QueryError(
                    f"{name} is evaluated for each row separately, but {text_of(e)} aggregates "
                    "rows. Use HAVING, or a subquery."
                )
        return node

    def lower_query(self, query: exp.Query, scope: Scope) -> tuple[exp.Query, list[Sql]]:
        """Lower a query that is part of an expression, and return its SQL and its columns."""
        return self._lower_query(query, scope)

    def call(
        self,
        function: str | Function,
        args: Sequence[Value],
        options: Mapping[str, object],
        e: exp.Expr,
    ) -> Tensor:
        """Return a call to a function that NumPy computes.

        Parameters
        ----------
        function : str or Function
            Name of a function in the registry, or a function that the user has registered.
        args : sequence of Value
            Arguments.
        options : mapping
            Names and values of options, which are constant arguments such as ``axis = 0``.
        e : exp.Expr
            The call as written in the query, for messages.

        Raises
        ------
        QueryTypeError
            If the function does not accept these arguments.
        """
        return call_function(self, function, args, options, e)


def _call_udf(udf: Udf, tensor: Tensor) -> exp.Expr:
    return exp.Anonymous(this=udf.name, expressions=[tensor.env[k].copy() for k in udf.keys])
