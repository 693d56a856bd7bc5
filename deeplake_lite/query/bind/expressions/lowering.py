"""Lowering of expressions, from the syntax tree to SQL for DuckDB and trees for NumPy.

The static number of axes decides: DuckDB computes values without axes, and values with axes become
trees. Where SQL needs the value of a tree without axes, the tree becomes a *precomputed column* of
the source that it reads, or a function that DuckDB calls with the positions of the rows.
"""

from __future__ import annotations

import datetime as dt
import secrets
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlglot import exp

from deeplake_lite.errors import InvalidValueError, NotFoundError, QueryError, QueryTypeError
from deeplake_lite.htypes import ClassLabel, Scalar
from deeplake_lite.query.bind.calls import aggregates, call, casts, lambdas
from deeplake_lite.query.bind.effort import EXPRESSION_COST, Effort
from deeplake_lite.query.bind.expressions import (
    clock,
    comparisons,
    membership,
    names,
    operators,
    subscripts,
)
from deeplake_lite.query.bind.expressions.constants import as_array
from deeplake_lite.query.bind.expressions.folding import fold, fold_to_sql
from deeplake_lite.query.bind.expressions.forms import (
    as_truths,
    with_names_beside_texts,
    with_one_list_of_names,
    with_types_of_nulls,
)
from deeplake_lite.query.bind.expressions.quantified import (
    compare_with_each,
    is_quantified,
    quantified,
)
from deeplake_lite.query.bind.expressions.types import HUGE, Types
from deeplake_lite.query.bind.places import add_place, placed, start_of
from deeplake_lite.query.bind.scalars import beside_floats, structs
from deeplake_lite.query.bind.scalars.exact import beside_integers
from deeplake_lite.query.bind.scalars.json_compare import compare_json
from deeplake_lite.query.bind.scalars.json_values import as_condition
from deeplake_lite.query.bind.scalars.kinds import (
    WORDS,
    agree,
    as_part,
    as_text,
    check_ordered,
    goes_as_json,
    is_null_constant,
    is_numpys,
    kind_of,
    settled,
)
from deeplake_lite.query.bind.scalars.moments import (
    beside_coarser,
    compare_out_of_range,
    is_fine,
    with_units,
)
from deeplake_lite.query.bind.scalars.nan import exclude_nan
from deeplake_lite.query.database.times import microseconds_of
from deeplake_lite.query.functions import REGISTRY, Arg, Type, Unknown
from deeplake_lite.query.parse.dialect import text_of
from deeplake_lite.query.plan import ROW, Instance, Udf
from deeplake_lite.query.values import (
    ANY,
    BOOL,
    NUMBER,
    TEXT,
    TIME,
    Call,
    Constant,
    Given,
    Kind,
    Literal_,
    Sql,
    Tensor,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from deeplake_lite.query.bind.expressions.params import Params
    from deeplake_lite.query.bind.scope import Scope
    from deeplake_lite.query.functions import Function


type Handler = Callable[[Any, Any, Scope], Value]

HANDLERS: dict[str, Handler] = {
    "column": names.column,
    "dot": names.dot,
    "identifier": lambdas.parameter_of_lambda,
    "lambda": lambdas.refuse,
    "literal": names.literal,
    "boolean": names.boolean,
    "null": names.null,
    "placeholder": names.placeholder,
    "parameter": names.parameter,
    "paren": operators.paren,
    "neg": operators.neg,
    "array": operators.array_of,
    "and": operators.and_,
    "or": operators.or_,
    "not": operators.not_,
    "between": comparisons.between,
    "nullsafeeq": comparisons.null_safe,
    "nullsafeneq": comparisons.null_safe,
    "in": membership.in_,
    "is": comparisons.is_,
    "like": operators.like,
    "dpipe": operators.dpipe,
    "escape": operators.escape,
    "case": operators.case,
    "if": operators.if_,
    "cast": casts.cast,
    "interval": operators.interval,
    "extract": operators.extract,
    "currentdate": clock.current_time,
    "currenttime": clock.current_time,
    "currenttimestamp": clock.current_time,
    "localtime": clock.current_time,
    "localtimestamp": clock.current_time,
    "exists": membership.exists,
    "struct": structs.struct_of,
    "propertyeq": structs.property_of,
    "subquery": membership.subquery,
    "any": quantified,
    "all": quantified,
    "tuple": operators.tuple_of,
    "bitwiseand": operators.bitwise,
    "bitwiseor": operators.bitwise,
    "bitwisenot": operators.bitwise,
    "arrayoverlaps": operators.overlaps,
    "bracket": subscripts.bracket,
    "ilike": operators.like,
    "trycast": casts.cast,
    "anonymous": call.call,
    "window": aggregates.window,
    "filter": aggregates.filter_,
    "withingroup": aggregates.within_group,
    **dict.fromkeys((kind.key for kind in operators.ARITHMETIC), operators.arithmetic),
    **dict.fromkeys((kind.key for kind in comparisons.COMPARISON), comparisons.comparison),
}
"""Functions that lower a node, by the node's key; other nodes are rebuilt over their parts."""


_MANY = 200
"""Number of nodes from which on messages show only the beginning of an expression."""

_udf_numbers = count()
"""Numbers for the names of functions, since all queries of the process share one database."""

_MOST_TRACES = 200
"""Maximum number of expressions of a query whose places are recorded."""

_INSTEAD: dict[type[exp.Expr], str] = {
    exp.JSONExtract: " Write a subscript: meta['key'].",
    exp.JSONExtractScalar: " Write a subscript: CAST(meta['key'] AS TEXT).",
}
"""How to write operators of other databases in this language."""

REBUILT = frozenset(
    [
        "attimezone",
        "bitwiseand",
        "bitwiseleftshift",
        "bitwisenot",
        "bitwiseor",
        "bitwiserightshift",
        "bitwisexor",
        "collate",
        "escape",
        "glob",
        "hexstring",
        "regexpilike",
        "regexplike",
        "similarto",
        "startswith",
        "strposition",
        "substring",
        "trim",
        "tuple",
    ]
)
"""Nodes that DuckDB computes unchanged, over lowered parts."""


_LOGIC = {"NOT", "AND", "OR", "ANY", "ALL", "ALL_STRICT", "SUM", "MEAN"}
"""Functions that take lists of truth values, some of which may be null."""

_OF_TEXTS = {
    "collate": TEXT, "glob": BOOL, "regexpilike": BOOL, "regexplike": BOOL, "similarto": BOOL,
    "startswith": BOOL, "strposition": NUMBER, "substring": TEXT, "trim": TEXT,
}  # fmt: skip
"""Nodes that take strings, and classes by their names, and the kinds of their results."""


@dataclass(frozen=True)
class _Known:
    """The cached value of an expression in a scope.

    The cache key has the ids of the expression and the scope, so this object keeps both alive.
    """

    e: exp.Expr
    scope: Scope
    value: Value
    aggregated: bool
    """Whether the expression contains an aggregate."""


class Lowering:
    """Lowers the expressions of one query, and collects their functions and precomputed columns.

    Parameters
    ----------
    params : Params
        Values of ``?`` and ``$name``.
    subquery : callable
        Lowers a SELECT within an expression: takes its node and the scope, and returns the query
        for DuckDB and its columns.
    one_value : callable
        Returns the value of a SELECT that is used as a single value.
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
        """Number of aliases that were replaced with their expressions."""
        self.text = ""
        """The query, for the places of errors."""
        self.effort = Effort("")
        self.known: dict[tuple[Any, ...], _Known] = {}
        """Cached values by expression, scope and the scope's state, as handlers repeat requests."""
        self.traces: list[tuple[int, exp.Expr]] = []
        """Positions in the text and the SQL that comes from there, parts before the whole."""
        self.starts: dict[str, int] = {}
        """Positions of tensor expressions, by their text."""
        self.outputs: dict[str, int | None] = {}
        """Positions of result columns, by name; the outermost query sets its own last."""

    def draw_seed(self) -> int:
        """Return the query's seed, drawn on first use."""
        if self.seed is None:
            self.seed = secrets.randbelow(2**31)
        return self.seed

    def read_clock(self) -> dt.datetime:
        """Return the query's current time in UTC, read on first use."""
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
            For a tensor with axes, and for a value that SQL has no type for.
        """
        match value:
            case Sql(node) | Constant(node=node):
                self.effort.spend(sum(1 for _ in node.walk()))
                return node.copy()
            case Tensor() if is_numpys(value) and value.is_scalar:
                raise QueryTypeError(
                    "Sort keys and SQL functions must be real numbers, booleans or strings, "
                    f"but {value.text} is {value.type}. Use HASH({value.text}) to test for "
                    "equality."
                )
            case Tensor() if value.is_scalar:
                return self._precompute(value, scope)
        raise QueryTypeError(
            f"One value per row is needed here, but {value.text} is a tensor, {value.type}. Reduce "
            "it, for example with MEAN(…) or an index, or wrap a condition in ANY(…) or ALL(…)."
        )

    def as_tensor(self, value: Value, text: str) -> Tensor:
        """Return a value as a tensor, for NumPy."""
        match value:
            case Tensor():
                return value
            case Constant(None):  # of the smallest type, so that it widens no other
                kind = Kind("number", htype=Scalar("int8", nullable=True))
                return self.as_tensor(Sql(exp.cast(exp.null(), "TINYINT"), kind), text)
            case Constant(constant):
                return Tensor(Literal_(*as_array(constant)), {}, text)
            case Sql():
                node, kind = _in_64_bits(self.types.refined(value))
                type_ = _given_type(kind)
                if _is_span(kind) or (kind == TIME and self.types.of(node) == "INTERVAL"):
                    # An INTERVAL reaches Arrow in nanoseconds, which overflow after 292 years.
                    node, type_ = microseconds_of(node), Type("timedelta64[us]")
                key = _key(node)
                return Tensor(Given(key, type_), {key: node}, text)

    def _precompute(self, tensor: Tensor, scope: Scope) -> exp.Expr:
        """Let a tree be precomputed, and return the column or the function call with its value."""
        if not tensor.env:
            return fold_to_sql(tensor)
        known = self.find_precomputed(tensor, scope)
        if known is not None:
            return known
        instance = self._instance_of(tensor, scope)
        if instance is not None:
            name = f"i{len(instance.precomputed)}"
            self.types.note(instance.table, name, tensor.type.dtype)
            instance.precomputed[name] = tensor.tree
            instance.texts[name] = tensor.text
            return exp.column(name, table=instance.table)
        udf = Udf(f"lake_f{next(_udf_numbers)}", tensor.tree, tuple(tensor.env), tensor.text)
        self.udfs[udf.name] = udf
        return _call_udf(udf, tensor)

    def find_precomputed(self, tensor: Tensor, scope: Scope) -> exp.Expr | None:
        """Return the column or the function call that computes a tree already; None without one."""
        instance = self._instance_of(tensor, scope)
        if instance is not None:
            known = (name for name, tree in instance.precomputed.items() if tree == tensor.tree)
            name = next(known, None)
            return None if name is None else exp.column(name, table=instance.table)
        for udf in self.udfs.values():
            if udf.tree == tensor.tree and udf.keys == tuple(tensor.env):
                return _call_udf(udf, tensor)
        return None

    def _instance_of(self, tensor: Tensor, scope: Scope) -> Instance | None:
        """Return the source in FROM, here or in a query around, that alone a tree reads.

        None for a tree that reads rows of several sources, or other values of the query.
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

    def shown(self, e: exp.Expr) -> str:
        """Return an expression as messages show it: a long one is cut after 60 characters."""
        if sum(1 for _ in islice(e.walk(), _MANY)) < _MANY:
            return text_of(e)
        start = start_of(e) or 0
        return f"{self.text[start : start + 60]}…"

    def value(self, e: exp.Expr | None, scope: Scope) -> Value:
        """Lower an expression, or return its cached value.

        Raises
        ------
        QueryTypeError
            For a missing expression, which the parser lets pass at some places.
        """
        if e is None:
            raise QueryTypeError(
                "An expression is missing. Write one before ORDER BY, or after DISTINCT."
            )
        if scope.keys and not scope.in_aggregate and (key := scope.keys.get(e)) is not None:
            return key
        flags = scope.in_aggregate, scope.in_window, scope.names_first, scope.grouped
        names = scope.unfolding, len(scope.keys), len(scope.relations)
        state = (id(e), id(scope.relations), *flags, *names)
        known = None if scope.parameters else self.known.get(state)
        if known is not None:
            scope.aggregates.count += known.aggregated
            return known.value
        self.effort.spend(EXPRESSION_COST)
        before = scope.aggregates.count
        result = self._value(e, scope)
        if not scope.parameters:  # parameters have no meaning outside of their lambdas
            self._trace(e, result)
            self.known[state] = _Known(e, scope, result, scope.aggregates.count > before)
        return result

    def _value(self, e: exp.Expr, scope: Scope) -> Value:
        handler = HANDLERS.get(e.key)
        try:
            result = fold(handler(self, e, scope) if handler else self.generic(e, scope))
        except (QueryError, NotFoundError) as error:
            add_place(error, self.text, e)
            raise
        if isinstance(result, Sql) and result.kind == ANY:  # ask DuckDB for the type
            return self.types.refined(result)
        return result

    def _trace(self, e: exp.Expr, value: Value) -> None:
        """Record where in the text a value comes from, for errors that DuckDB or NumPy raise."""
        if isinstance(value, Tensor) and len(self.starts) < _MOST_TRACES:
            begins = start_of(e)
            if begins is not None:
                self.starts.setdefault(value.text, begins)
        nodes: list[exp.Expr] = [value.node] if isinstance(value, Sql) else []
        if isinstance(value, Constant) and isinstance(value.value, list):
            with suppress(QueryTypeError):  # the list may have numbers too large for SQL
                nodes = [value.node] if len(value.value) <= _MANY else []
        if isinstance(value, Tensor) and isinstance(e, exp.Window | exp.Anonymous | exp.Filter):
            nodes = list(value.env.values())
        start = start_of(e) if nodes and len(self.traces) < _MOST_TRACES else None
        if start is not None:
            computed = (n for n in nodes if not isinstance(n, exp.Column | exp.Literal))
            self.traces += ((start, node) for node in computed)

    def generic(self, e: exp.Expr, scope: Scope, kind: Kind = ANY) -> Value:
        """Rebuild a node over its lowered parts, which must be scalars.

        Raises
        ------
        QueryError
            For a node that is not part of the language.
        """
        if e.key not in REBUILT:
            way = _INSTEAD.get(type(e), "")
            raise QueryError(f"{e.key.upper()} is not part of the language: {text_of(e)}.{way}")
        node, of_text = e.copy(), e.key in _OF_TEXTS
        for name, part in list(e.args.items()):
            if isinstance(part, exp.Expr):
                node.set(name, self._part(part, scope, of_text=of_text))
            elif isinstance(part, list):
                node.set(name, [self._part(p, scope, of_text=of_text) for p in part])
        return Sql(node, _OF_TEXTS.get(e.key, kind))

    def _part(self, part: Any, scope: Scope, *, of_text: bool) -> Any:
        if isinstance(part, exp.DataType | exp.Identifier | exp.Var | str) or not isinstance(
            part, exp.Expr
        ):
            return part
        value = settled(self.value(part, scope), self, scope)
        return as_text(value, self, scope) if of_text else self.as_sql(as_part(value), scope)

    def compare(self, kind: type[exp.Expr], left: Value, right: Value, scope: Scope) -> exp.Expr:
        """Return a comparison of scalars.

        Classes compare by name and JSON by value, and NaN equals nothing.
        """
        if is_quantified(right):
            return compare_with_each(kind, left, right, self, scope)
        left, right = settled(left, self, scope), settled(right, self, scope)
        left, right = self.types.refined(left), self.types.refined(right)
        kind, left, right = beside_integers(kind, left, right)
        if kind is exp.NEQ:
            return exp.not_(exp.paren(self.compare(exp.EQ, left, right, scope)))
        if goes_as_json(left, right):
            return compare_json(kind, left, right, self, scope)
        if kind is not exp.EQ:
            check_ordered(left, right)
        if (always := compare_out_of_range(kind, left, right)) is not None:
            side = left if is_fine(left) else right
            present = exp.not_(exp.Is(this=self.as_sql(side, scope), expression=exp.null()))
            constant = exp.true() if always else exp.false()
            return exp.Case(ifs=[exp.If(this=present, true=constant)])
        left, right = with_units(agree(left, right), agree(right, left), self)
        if kind_of(left).name == kind_of(right).name == "list":
            left, right = as_part(left), as_part(right)
        a, b = self.as_sql(left, scope), self.as_sql(right, scope)
        kinds = kind_of(left), kind_of(right)
        node = beside_coarser(kind, (left, right), (a, b)) or kind(this=a, expression=b)
        if beside_floats.are_mixed(*kinds):
            node = beside_floats.compare(kind, (a, b), kinds)
        return exclude_nan(node, [(a, left), (b, right)])

    def condition(self, value: Value, scope: Scope) -> exp.Expr:
        """Return a value as a condition. Raises QueryTypeError for a value that cannot be one."""
        if isinstance(value, Tensor) and not value.is_scalar:
            raise QueryTypeError(
                f"A condition must have one value per row, but {value.text} is {value.type}. Wrap "
                "it in ANY(…) or ALL(…)."
            )
        kind = kind_of(value).name
        if kind in ("time", "bytes", "list"):
            raise QueryTypeError(
                f"A condition must be true or false, but it is {WORDS[kind]}. Compare it with a "
                "value, or write x IS NOT NULL."
            )
        node = self.as_sql(value, scope)
        return as_condition(node) if kind == "json" else node

    def clause(self, e: exp.Expr, scope: Scope) -> exp.Expr:
        """Lower the condition of a clause."""
        with placed(self.text, e):
            value = self.value(e, scope)
            node, start = self.condition(value, scope), start_of(e)
        if kind_of(value).name != "bool" and start is not None:
            self.traces.append((start, exp.cast(node.copy(), "BOOLEAN")))
        return node

    def clause_of_rows(self, e: exp.Expr, scope: Scope, name: str) -> exp.Expr:
        """Lower the condition of a clause that has no aggregates. Raises QueryError for one."""
        before = scope.aggregates.count
        node = self.clause(e, scope)
        if scope.aggregates.count > before:
            with placed(self.text, e):
                raise QueryError(
                    f"{name} must look at one row at a time, but {text_of(e)} aggregates rows. Use "
                    "HAVING, or a subquery."
                )
        return node

    def nested(self, query: exp.Query, scope: Scope) -> tuple[exp.Query, list[Sql]]:
        """Lower a query within an expression; return its SQL and its columns."""
        return self._lower_query(query, scope)

    def call(
        self,
        function: str | Function,
        args: Sequence[Value],
        options: Mapping[str, Any],
        e: exp.Expr,
    ) -> Tensor:
        """Return a call to a function that NumPy computes.

        Parameters
        ----------
        function : str or Function
            Name of a function of the language, or a user's function.
        args : sequence of Value
            Arguments.
        options : mapping
            Constant arguments, by name.
        e : exp.Expr
            The call as written in the query, for messages.

        Raises
        ------
        QueryTypeError
            When the function does not take these arguments.
        """
        entry = REGISTRY[function] if isinstance(function, str) else function
        name = function if isinstance(function, str) else f"{entry.group}: {entry.name}"
        shown = self.shown(e)
        texts = [self.shown(part) for part in _parts(e)] + [shown] * len(args)
        tensors = [self.as_tensor(a, text) for a, text in zip(args, texts, strict=False)]
        tensors = with_types_of_nulls(tensors, [is_null_constant(a) for a in args])
        tensors = with_one_list_of_names(with_names_beside_texts(tensors))
        if entry.name in _LOGIC:
            tensors = [as_truths(tensor) for tensor in tensors]
        arguments = _number_classes([_arg(t) for t in tensors])
        bound = entry.bind(*arguments, **options)
        env: dict[str, exp.Expr] = {}
        for tensor in tensors:
            env.update(tensor.env)
        trees = tuple(
            Literal_(a.value, a.type) if a.is_constant and isinstance(t.tree, Literal_) else t.tree
            for t, a in zip(tensors, arguments, strict=True)
        )
        return Tensor(Call(name, bound, trees, tuple(sorted(options.items()))), env, shown)


def _in_64_bits(value: Value) -> tuple[exp.Expr, Kind]:
    """Return a scalar in a type that NumPy has, and its kind.

    Integers of 128 bits, such as sums, are cast to 64 bits; DuckDB raises an error on overflow.
    """
    assert isinstance(value, Sql)
    node, kind = value.node, value.kind
    while kind.item is not None:
        kind = kind.item
    if kind.dtype != HUGE:
        return node, value.kind
    to = "BIGINT" + "[]" * _depth(value.kind)
    return exp.cast(exp.paren(node.copy()), to), _with_dtype(value.kind, "int64")


def _depth(kind: Kind) -> int:
    return 0 if kind.item is None else 1 + _depth(kind.item)


def _with_dtype(kind: Kind, dtype: str) -> Kind:
    item = None if kind.item is None else _with_dtype(kind.item, dtype)
    return replace(kind, item=item, dtype="" if item is not None else dtype)


def _call_udf(udf: Udf, tensor: Tensor) -> exp.Expr:
    return exp.Anonymous(this=udf.name, expressions=[tensor.env[k].copy() for k in udf.keys])


def _arg(tensor: Tensor) -> Arg:
    value = tensor.tree.value if isinstance(tensor.tree, Literal_) else Unknown
    return Arg(tensor.text, tensor.type, value)


def _number_classes(args: list[Arg]) -> list[Arg]:
    """Replace constant class names by class numbers, if another argument holds class labels."""
    types = (a.type if a.type.items is None else a.type.items.of for a in args)
    classes = next((t.classes for t in types if t.classes is not None), None)
    if classes is None:
        return args
    out = []
    for arg in args:
        if arg.is_constant and arg.type.dtype == "str" and arg.value is not None:
            try:
                number = np.asarray(
                    classes.index(arg.value)
                    if isinstance(arg.value, str)
                    else [classes.index(v) for v in arg.value]
                )
            except InvalidValueError as error:
                raise QueryTypeError(f"{arg.text}: {error.args[0]}") from error
            arg = Arg(arg.text, Type("int64", number.shape), number)
        out.append(arg)
    return out


def _parts(e: exp.Expr) -> list[exp.Expr]:
    if isinstance(e, exp.Anonymous):
        return list(e.expressions)
    return [p for p in (e.this, e.args.get("expression")) if isinstance(p, exp.Expr)]


def _key(node: exp.Expr) -> str:
    return "g_" + node.sql("duckdb")


def _list_type(item: Kind) -> Type:
    """Return the type of a list that DuckDB computes."""
    return (Type("float64") if item.name == "any" else _given_type(item)).listed()


def _is_span(kind: Kind) -> bool:
    """Return whether a value is a duration from a column, which is an INTERVAL in DuckDB."""
    dtype = kind.time_dtype
    return dtype.startswith("timedelta64") and np.datetime_data(dtype)[0] not in "YM"


def _given_type(kind: Kind) -> Type:
    match kind.name:
        case "bool":
            return Type("bool")
        case "text":
            return Type("str")
        case "class":
            return Type("int64", (), kind.htype or ClassLabel(list(kind.names)))
        case "list":
            return _list_type(kind.of_item)
        case "json":
            return Type("object")
        case "bytes":
            return Type("bytes")
        case "time" if _is_span(kind):
            return Type("timedelta64[us]")
        case "time":
            return Type(kind.time_dtype or "datetime64[us]")
        case "number" if kind.number_dtype:
            return Type(kind.number_dtype)
        case _:
            return Type("float64")
