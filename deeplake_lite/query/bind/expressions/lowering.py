"""Expressions: from the syntax tree to what DuckDB computes and what NumPy computes.

Static dimension decides. What has no axes goes to DuckDB; what has some becomes a tree. Where SQL
needs the value of a tree that has no axes, the tree becomes an *island*: a column computed
beforehand, of the source that it reads, or a function that DuckDB calls with the rows' positions.
"""

from __future__ import annotations

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
from deeplake_lite.query.bind.effort import EXPRESSION, Effort
from deeplake_lite.query.bind.expressions import (
    comparisons,
    membership,
    names,
    operators,
    subscripts,
)
from deeplake_lite.query.bind.expressions.constants import as_array
from deeplake_lite.query.bind.expressions.folding import computed, folded
from deeplake_lite.query.bind.expressions.forms import (
    with_names_beside_texts,
    with_one_list_of_names,
)
from deeplake_lite.query.bind.expressions.quantified import (
    compare_with_each,
    is_quantified,
    quantified,
)
from deeplake_lite.query.bind.expressions.types import HUGE, Types
from deeplake_lite.query.bind.places import placed, put, start_of
from deeplake_lite.query.bind.scalars import beside_floats, structs
from deeplake_lite.query.bind.scalars.exact import beside_integers
from deeplake_lite.query.bind.scalars.json_compare import compare_json
from deeplake_lite.query.bind.scalars.json_values import as_bool
from deeplake_lite.query.bind.scalars.kinds import (
    WORDS,
    agree,
    as_part,
    as_text,
    check_ordered,
    goes_as_json,
    is_numpys,
    kind_of,
    settled,
)
from deeplake_lite.query.bind.scalars.moments import beside_coarser, beyond, is_fine
from deeplake_lite.query.bind.scalars.nan import but_nan
from deeplake_lite.query.functions import REGISTRY, Arg, Type, Unknown
from deeplake_lite.query.parse.dialect import func, text_of
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
    "filter": aggregates.filtered,
    "withingroup": aggregates.within_group,
    **dict.fromkeys((kind.key for kind in operators.ARITHMETIC), operators.arithmetic),
    **dict.fromkeys((kind.key for kind in comparisons.COMPARISON), comparisons.comparison),
}
"""What turns a node into a value, by its key; other nodes are rebuilt over their parts."""


_MANY = 200
"""Nodes of an expression that messages do not show as a whole."""

_udf_numbers = count()
"""Numbers in the names of functions: all queries of the process share one database."""

_MOST_TRACES = 200
"""Expressions whose places are kept."""

_INSTEAD: dict[type[exp.Expr], str] = {
    exp.JSONExtract: " Write a subscript: meta['key'].",
    exp.JSONExtractScalar: " Write a subscript: CAST(meta['key'] AS TEXT).",
}
"""What to write for parts of other databases' SQL."""

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
        "currentdate",
        "currenttime",
        "currenttimestamp",
        "escape",
        "glob",
        "hexstring",
        "localtime",
        "localtimestamp",
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
"""Nodes that are DuckDB's as they are, over parts of this language."""


_OF_TEXTS = {
    "collate": TEXT, "glob": BOOL, "regexpilike": BOOL, "regexplike": BOOL, "similarto": BOOL,
    "startswith": BOOL, "strposition": NUMBER, "substring": TEXT, "trim": TEXT,
}  # fmt: skip
"""Nodes that take texts, classes by their names among them, and what they give."""


@dataclass(frozen=True)
class _Known:
    """The value of an expression in a scope, both of which it keeps, as they are known by id."""

    e: exp.Expr
    scope: Scope
    value: Value
    aggregated: bool
    """Whether it has an aggregate."""


class Lowering:
    """Turns the expressions of one query into values; collects what they need.

    Parameters
    ----------
    params : Params
        Values of ``?`` and ``$name``.
    subquery : callable
        Lowers a SELECT within an expression: takes the node and the scope, gives DuckDB's and
        its columns.
    one_value : callable
        Gives the value of a SELECT in place of one.
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
        self.unfolded = 0
        """How often a name of the select list was replaced by what it stands for."""
        self.text = ""
        """The query, for the places of errors."""
        self.effort = Effort("")
        self.known: dict[tuple[Any, ...], _Known] = {}
        """Values by expression, scope and the scope's state: handlers ask for some repeatedly."""
        self.traces: list[tuple[int, exp.Expr]] = []
        """Where in the text what DuckDB computes comes from, parts before the whole."""
        self.starts: dict[str, int] = {}
        """Where in the text expressions of tensors are."""
        self.outputs: dict[str, int | None] = {}
        """Where in the text columns of results are, by name; those of the outermost query last."""

    def draw_seed(self) -> int:
        """Return the query's seed, drawn when it is first asked for."""
        if self.seed is None:
            self.seed = secrets.randbelow(2**31)
        return self.seed

    def sql(self, e: exp.Expr | None, scope: Scope) -> exp.Expr:
        """Return an expression as DuckDB's."""
        assert e is not None
        return self.as_sql(self.value(e, scope), scope)

    def as_sql(self, value: Value, scope: Scope) -> exp.Expr:
        """Return a value as an expression of DuckDB's.

        Raises
        ------
        QueryTypeError
            For a tensor.
        """
        match value:
            case Sql(node) | Constant(node=node):
                self.effort.spend(sum(1 for _ in node.walk()))
                return node.copy()
            case Tensor() if is_numpys(value) and value.is_scalar:
                raise QueryTypeError(
                    f"Orders and SQL's functions take real numbers, truth values and texts, but "
                    f"{value.text} is {value.type}. HASH({value.text}) tells which values are "
                    "equal."
                )
            case Tensor() if value.is_scalar:
                return self._island(value, scope)
        raise QueryTypeError(
            f"{value.text} is a tensor, {value.type}, where one value per row is needed. Reduce "
            "it, such as by MEAN(…) or an index, or wrap a condition in ANY(…) or ALL(…)."
        )

    def as_tensor(self, value: Value, text: str) -> Tensor:
        """Return a value as a tree."""
        match value:
            case Tensor():
                return value
            case Constant(None):  # of the least type, which no other is widened to
                kind = Kind("number", htype=Scalar("int8", nullable=True))
                return self.as_tensor(Sql(exp.cast(exp.null(), "TINYINT"), kind), text)
            case Constant(constant):
                return Tensor(Literal_(*as_array(constant)), {}, text)
            case Sql():
                node, kind = _of_64_bits(self.types.refined(value))
                type_ = _given_type(kind)
                if _is_span(kind) or (kind == TIME and self.types.of(node) == "INTERVAL"):
                    # as DuckDB gives spans to Arrow, those of 292 years overflow
                    node, type_ = func("epoch_us", node.copy()), Type("timedelta64[us]")
                key = _key(node)
                return Tensor(Given(key, type_), {key: node}, text)

    def _island(self, tensor: Tensor, scope: Scope) -> exp.Expr:
        """Return the column, or the call, that gives a tree's value."""
        if not tensor.env:
            return folded(tensor)
        found = self.known_island(tensor, scope)
        if found is not None:
            return found
        instance = self._instance_of(tensor, scope)
        if instance is not None:
            name = f"i{len(instance.precomputed)}"
            self.types.note(instance.table, name, tensor.type.dtype)
            instance.precomputed[name] = tensor.tree
            instance.texts[name] = tensor.text
            return exp.column(name, table=instance.table)
        udf = Udf(f"lake_f{next(_udf_numbers)}", tensor.tree, tuple(tensor.env), tensor.text)
        self.udfs[udf.name] = udf
        return _called(udf, tensor)

    def known_island(self, tensor: Tensor, scope: Scope) -> exp.Expr | None:
        """Return what gives a tree's value, if something does already."""
        instance = self._instance_of(tensor, scope)
        if instance is not None:
            known = (name for name, tree in instance.precomputed.items() if tree == tensor.tree)
            name = next(known, None)
            return None if name is None else exp.column(name, table=instance.table)
        for udf in self.udfs.values():
            if udf.tree == tensor.tree and udf.keys == tuple(tensor.env):
                return _called(udf, tensor)
        return None

    def _instance_of(self, tensor: Tensor, scope: Scope) -> Instance | None:
        """Return the source whose rows alone a tree reads, if it is in FROM here or outside."""
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
        """Return an expression for messages; of a long one the beginning, as it is written."""
        if sum(1 for _ in islice(e.walk(), _MANY)) < _MANY:
            return text_of(e)
        start = start_of(e) or 0
        return f"{self.text[start : start + 60]}…"

    def value(self, e: exp.Expr | None, scope: Scope) -> Value:
        """Return what an expression is. Raises QueryTypeError where the parser has found none."""
        if e is None:
            raise QueryTypeError(
                "An expression is missing. Write one in front of ORDER BY, or behind DISTINCT."
            )
        if scope.keys and not scope.in_aggregate and (key := scope.keys.get(e)) is not None:
            return key
        flags = scope.in_aggregate, scope.in_window, scope.names_first, scope.grouped
        names = scope.unfolding, len(scope.keys), len(scope.relations)
        state = (id(e), id(scope), *flags, *names)
        known = None if scope.parameters else self.known.get(state)
        if known is not None:
            scope.aggregated = scope.aggregated or known.aggregated
            return known.value
        self.effort.spend(EXPRESSION)
        before, scope.aggregated = scope.aggregated, False
        try:
            found = self._value(e, scope)
            aggregated = scope.aggregated
        finally:
            scope.aggregated = scope.aggregated or before
        if not scope.parameters:  # which mean nothing outside of their lambdas
            self._trace(e, found)
            self.known[state] = _Known(e, scope, found, aggregated)
        return found

    def _value(self, e: exp.Expr, scope: Scope) -> Value:
        handler = HANDLERS.get(e.key)
        try:
            found = computed(handler(self, e, scope) if handler else self.generic(e, scope))
        except (QueryError, NotFoundError) as error:
            put(error, self.text, e)
            raise
        if isinstance(found, Sql) and found.kind == ANY:  # as most functions of lists return
            return self.types.refined(found)
        return found

    def _trace(self, e: exp.Expr, found: Value) -> None:
        """Note where in the text what DuckDB computes comes from."""
        if isinstance(found, Tensor) and len(self.starts) < _MOST_TRACES:
            begins = start_of(e)
            if begins is not None:
                self.starts.setdefault(found.text, begins)
        nodes: list[exp.Expr] = [found.node] if isinstance(found, Sql) else []
        if isinstance(found, Constant) and isinstance(found.value, list):
            with suppress(QueryTypeError):  # numbers that are compared, and never SQL's
                nodes = [found.node] if len(found.value) <= _MANY else []
        if isinstance(found, Tensor) and isinstance(e, exp.Window | exp.Anonymous | exp.Filter):
            nodes = list(found.env.values())
        start = start_of(e) if nodes and len(self.traces) < _MOST_TRACES else None
        if start is not None:
            made = (n for n in nodes if not isinstance(n, exp.Column | exp.Literal))
            self.traces += ((start, node) for node in made)

    def generic(self, e: exp.Expr, scope: Scope, kind: Kind = ANY) -> Value:
        """Rebuild a node over its parts, all of them scalars.

        Raises
        ------
        QueryError
            For what DuckDB's grammar has and this language does not.
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
        """Return a comparison of scalars: classes by name, JSON by value, NaN equal to nothing."""
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
        if (always := beyond(kind, left, right)) is not None:
            side = left if is_fine(left) else right
            present = exp.not_(exp.Is(this=self.as_sql(side, scope), expression=exp.null()))
            found = exp.true() if always else exp.false()
            return exp.Case(ifs=[exp.If(this=present, true=found)])
        left, right = agree(left, right), agree(right, left)
        if kind_of(left).name == kind_of(right).name == "list":
            left, right = as_part(left), as_part(right)
        a, b = self.as_sql(left, scope), self.as_sql(right, scope)
        kinds = kind_of(left), kind_of(right)
        node = beside_coarser(kind, (left, right), (a, b)) or kind(this=a, expression=b)
        if beside_floats.are_mixed(*kinds):
            node = beside_floats.compared(kind, (a, b), kinds)
        return but_nan(node, [(a, left), (b, right)])

    def condition(self, value: Value, scope: Scope) -> exp.Expr:
        """Return a condition. Raises QueryTypeError for a tensor."""
        if isinstance(value, Tensor) and not value.is_scalar:
            raise QueryTypeError(
                f"A condition has one value per row, got {value.text}, which is {value.type}. Wrap "
                f"it in ANY(…) or ALL(…)."
            )
        kind = kind_of(value).name
        if kind in ("time", "bytes", "list"):
            raise QueryTypeError(
                f"A condition is true or false, but this is {WORDS[kind]}. Compare it with a "
                "value, or write x IS NOT NULL."
            )
        node = self.as_sql(value, scope)
        return as_bool(node) if kind == "json" else node

    def clause(self, e: exp.Expr, scope: Scope) -> exp.Expr:
        """Return the condition of a clause."""
        with placed(self.text, e):
            value = self.value(e, scope)
            node, start = self.condition(value, scope), start_of(e)
        if kind_of(value).name != "bool" and start is not None:
            self.traces.append((start, exp.cast(node.copy(), "BOOLEAN")))
        return node

    def clause_of_rows(self, e: exp.Expr, scope: Scope, name: str) -> exp.Expr:
        """Return the condition of a clause that looks at one row. Raises QueryError otherwise."""
        was = scope.aggregated
        node = self.clause(e, scope)
        if scope.aggregated and not was:
            with placed(self.text, e):
                raise QueryError(
                    f"{name} looks at one row, and {text_of(e)} at many. Use HAVING, or a subquery."
                )
        return node

    def nested(self, query: exp.Query, scope: Scope) -> tuple[exp.Query, list[Sql]]:
        """Return a query within an expression, and its columns."""
        return self._lower_query(query, scope)

    def call(
        self,
        function: str | Function,
        args: Sequence[Value],
        options: Mapping[str, Any],
        e: exp.Expr,
    ) -> Tensor:
        """Return a function of tensors: one of the language by its name, or a user's.

        Raises
        ------
        QueryTypeError
            When the arguments are not what the function takes.
        """
        entry = REGISTRY[function] if isinstance(function, str) else function
        name = function if isinstance(function, str) else f"{entry.group}: {entry.name}"
        shown = self.shown(e)
        texts = [self.shown(part) for part in _parts(e)] + [shown] * len(args)
        tensors = [self.as_tensor(a, text) for a, text in zip(args, texts, strict=False)]
        tensors = with_one_list_of_names(with_names_beside_texts(tensors))
        given = _named_classes([_arg(t) for t in tensors])
        bound = entry.bind(*given, **options)
        env: dict[str, exp.Expr] = {}
        for tensor in tensors:
            env.update(tensor.env)
        trees = tuple(
            Literal_(*as_array(a.value))
            if a.is_constant and isinstance(t.tree, Literal_)
            else t.tree
            for t, a in zip(tensors, given, strict=True)
        )
        return Tensor(Call(name, bound, trees, tuple(sorted(options.items()))), env, shown)


def _of_64_bits(value: Value) -> tuple[exp.Expr, Kind]:
    """Return a scalar as NumPy has it: sums of integers in 64 bits, or an error of DuckDB's."""
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


def _called(udf: Udf, tensor: Tensor) -> exp.Expr:
    return exp.Anonymous(this=udf.name, expressions=[tensor.env[k].copy() for k in udf.keys])


def _arg(tensor: Tensor) -> Arg:
    value = tensor.tree.value if isinstance(tensor.tree, Literal_) else Unknown
    return Arg(tensor.text, tensor.type, value)


def _named_classes(args: list[Arg]) -> list[Arg]:
    """Return arguments with names of classes as their numbers, where another is of classes."""
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
    """Return the type of a list that SQL gives."""
    return (Type("float64") if item.name == "any" else _given_type(item)).listed()


def _is_span(kind: Kind) -> bool:
    """Tell whether a value is a column's duration, which is an INTERVAL to DuckDB."""
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
