"""Expressions: from the syntax tree to what DuckDB computes and what NumPy computes.

Static dimension decides. What has no axes goes to DuckDB; what has some becomes a tree. Where SQL
needs the value of a tree that has no axes, the tree becomes an *island*: a column computed
beforehand, of the source that it reads, or a function that DuckDB calls with the rows' positions.
"""

from __future__ import annotations

import datetime as dt
import secrets
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlglot import exp

from deeplake_lite.errors import InvalidValueError, QueryError, QueryTypeError
from deeplake_lite.query import calls
from deeplake_lite.query.dialect import Ellipsis as Dots
from deeplake_lite.query.dialect import func, text_of
from deeplake_lite.query.functions import REGISTRY, Arg, Type
from deeplake_lite.query.functions.base import Unknown
from deeplake_lite.query.plan import ROW, Udf
from deeplake_lite.query.values import (
    ANY,
    BOOL,
    JSON,
    LIST,
    NUMBER,
    REAL,
    TEXT,
    TIME,
    Call,
    Constant,
    Given,
    Index,
    Kind,
    Literal_,
    Sql,
    Tensor,
    Tree,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from deeplake_lite.query.plan import Instance
    from deeplake_lite.query.scope import Scope

_ARITHMETIC: dict[type[exp.Expr], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.IntDiv: "//", exp.Mod: "%",
    exp.Pow: "**",
}  # fmt: skip
_COMPARISON: dict[type[exp.Expr], str] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
}  # fmt: skip
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>"}


class Lowering:
    """Turns the expressions of one query into values; collects what they need.

    Parameters
    ----------
    params : sequence or mapping
        Values of ``?`` in order, or of ``$name``.
    subquery : callable
        Lowers a SELECT within an expression: takes the node and the scope, gives DuckDB's.
    """

    def __init__(
        self,
        params: Sequence[Any] | Mapping[str, Any],
        subquery: Callable[[exp.Query, Scope], exp.Query],
    ) -> None:
        self._params, self._next_param, self._lower_query = params, 0, subquery
        self.udfs: dict[str, Udf] = {}
        self.seed: int | None = None

    def draw_seed(self) -> int:
        """Return the query's seed, drawn when it is first asked for."""
        if self.seed is None:
            self.seed = secrets.randbelow(2**31)
        return self.seed

    # ---- values into forms

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
            case Sql(node) | Constant(_, node):
                return node.copy()
            case Tensor() if value.is_scalar:
                return self._island(value, scope)
        raise QueryTypeError(
            f"{value.text} is a tensor, {value.type}, where one value per row is needed. Reduce it, "
            "such as by MEAN(…) or an index, or wrap a condition in ANY(…) or ALL(…)."
        )

    def as_tensor(self, value: Value, text: str) -> Tensor:
        """Return a value as a tree."""
        match value:
            case Tensor():
                return value
            case Constant(constant):
                return Tensor(Literal_(*_array(constant)), {}, text)
            case Sql(node, kind):
                key = _key(node)
                return Tensor(Given(key, _given_type(kind)), {key: node}, text)

    def _island(self, tensor: Tensor, scope: Scope) -> exp.Expr:
        """Return the column, or the call, that gives a tree's value."""
        instance = self._instance_of(tensor, scope)
        if instance is not None:
            for name, tree in instance.islands.items():
                if tree == tensor.tree:
                    return exp.column(name, table=instance.table)
            name = f"i{len(instance.islands)}"
            instance.islands[name] = tensor.tree
            instance.texts[name] = tensor.text
            return exp.column(name, table=instance.table)
        keys = tuple(tensor.env)
        for udf in self.udfs.values():
            if udf.tree == tensor.tree and udf.keys == keys:
                break
        else:
            udf = Udf(f"lake_f{len(self.udfs)}_{id(self):x}", tensor.tree, keys)
            self.udfs[udf.name] = udf
        return exp.Anonymous(this=udf.name, expressions=[tensor.env[k].copy() for k in keys])

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

    # ---- expressions

    def value(self, e: exp.Expr, scope: Scope) -> Value:
        """Return what an expression is."""
        kind = type(e)
        if kind in _ARITHMETIC:
            return self._arithmetic(e, scope)
        if kind in _COMPARISON:
            return self._comparison(e, scope)
        method = getattr(self, f"_{e.key}", None)
        return method(e, scope) if method else self._generic(e, scope)

    def _generic(self, e: exp.Expr, scope: Scope, kind: Kind = ANY) -> Value:
        """Rebuild a node over its parts, all of them scalars."""
        node = e.copy()
        for name, part in list(e.args.items()):
            if isinstance(part, exp.Expr):
                node.set(name, self._part(part, scope))
            elif isinstance(part, list):
                node.set(name, [self._part(p, scope) for p in part])
        return Sql(node, kind)

    def _part(self, part: Any, scope: Scope) -> Any:
        if isinstance(part, exp.DataType | exp.Identifier | exp.Var | str) or not isinstance(
            part, exp.Expr
        ):
            return part
        return self.sql(part, scope)

    def _paren(self, e: exp.Paren, scope: Scope) -> Value:
        found = self.value(e.this, scope)
        return Sql(exp.paren(found.node), found.kind) if isinstance(found, Sql) else found

    def _column(self, e: exp.Column, scope: Scope) -> Value:
        name, table = e.name, e.table or None
        if e.args.get("db"):
            table = None
        found = scope.find(name, table)
        if found is None and table is None and name in scope.aliases:
            alias = scope.aliases.pop(name)  # so that it cannot mean itself
            try:
                return self.value(alias, scope)
            finally:
                scope.aliases[name] = alias
        if found is None and table is not None:
            outer = scope.find(table, None)  # a JSON column's key, or a struct's field
            if outer is not None:
                return self._subscript(outer, [exp.Literal.string(name)], e, scope)
        if found is None:
            raise scope.unknown(name, table)
        if isinstance(found, Sql) and found.plain and isinstance(found.node, exp.Column):
            calls.need(found, scope)
        return found

    def _literal(self, e: exp.Literal, scope: Scope) -> Value:  # noqa: ARG002
        value: Any = e.this
        if not e.is_string:
            value = int(value) if value.isdigit() else float(value)
        return Constant(value, e)

    def _boolean(self, e: exp.Boolean, scope: Scope) -> Value:  # noqa: ARG002
        return Constant(bool(e.this), e)

    def _null(self, e: exp.Null, scope: Scope) -> Value:  # noqa: ARG002
        return Constant(None, e)

    def _neg(self, e: exp.Neg, scope: Scope) -> Value:
        found = self.value(e.this, scope)
        if isinstance(found, Constant) and isinstance(found.value, int | float):
            return Constant(-found.value, exp.Neg(this=found.node.copy()))
        if isinstance(found, Tensor) and not found.is_scalar:
            return self.call("NEG", [found], {}, e)
        return Sql(exp.Neg(this=self.as_sql(found, scope)), _kind(found))

    def _placeholder(self, e: exp.Placeholder, scope: Scope) -> Value:  # noqa: ARG002
        return self._parameter_value(e.this if isinstance(e.this, str) else None)

    def _parameter(self, e: exp.Parameter, scope: Scope) -> Value:  # noqa: ARG002
        return self._parameter_value(e.this.name)

    def _parameter_value(self, name: str | None) -> Value:
        if name:
            if not hasattr(self._params, "keys") or name not in self._params:
                raise QueryError(
                    f"A parameter needs a value, and ${name} has none. Pass "
                    f"query(…, {{{name!r}: value}})."
                )
            return constant(self._params[name])  # type: ignore[call-overload]
        at, self._next_param = self._next_param, self._next_param + 1
        if hasattr(self._params, "keys") or at >= len(self._params):
            raise QueryError(
                f"A parameter needs a value, and ? number {at + 1} has none. Pass a list with one "
                "value per ?."
            )
        return constant(self._params[at])

    def check_params(self) -> None:
        """Refuse values that no ``?`` takes. Raises QueryError."""
        if not hasattr(self._params, "keys") and self._next_param < len(self._params):
            raise QueryError(f"The query has {self._next_param} ?, got {len(self._params)} values.")

    def _array(self, e: exp.Array, scope: Scope) -> Value:
        parts = [self.value(p, scope) for p in e.expressions]
        node = exp.Array(expressions=[self.as_sql(p, scope) for p in parts])
        if all(isinstance(p, Constant) for p in parts):
            return Constant([p.value for p in parts], node)  # type: ignore[union-attr]
        return Sql(node, LIST)

    def _tuple(self, e: exp.Tuple, scope: Scope) -> Value:
        return self._generic(e, scope)

    def _arithmetic(self, e: exp.Expr, scope: Scope) -> Value:
        left, right = self.value(e.this, scope), self.value(e.expression, scope)
        if _has_axes(left) or _has_axes(right):
            return self.call(_ARITHMETIC[type(e)], [left, right], {}, e)
        node = type(e)(this=self.as_sql(left, scope), expression=self.as_sql(right, scope))
        if isinstance(e, exp.Div):
            return Sql(node, REAL)
        return Sql(node, _kind_of_two(left, right))

    def _comparison(self, e: exp.Expr, scope: Scope) -> Value:
        left, right = self.value(e.this, scope), self.value(e.expression, scope)
        name = _COMPARISON[type(e)]
        if _has_axes(left) or _has_axes(right):
            return self.call(name, [left, right], {}, e)
        return Sql(self.compare(type(e), left, right, scope), BOOL)

    def compare(
        self, kind: type[exp.Expr], left: Value, right: Value, scope: Scope
    ) -> exp.Expr:
        """Return a comparison of scalars: classes by name, JSON by value, NaN equal to nothing."""
        left, right = _agree(left, right), _agree(right, left)
        a, b = self.as_sql(left, scope), self.as_sql(right, scope)
        node = kind(this=a, expression=b)
        if kind is exp.NEQ:
            return exp.not_(exp.paren(self.compare(exp.EQ, left, right, scope)))
        sides = [side for side, v in ((a, left), (b, right)) if _kind(v).real]
        if not sides:
            return node
        checks = [exp.not_(func("isnan", side.copy())) for side in sides]
        return exp.paren(exp.and_(node, *checks))

    def _and(self, e: exp.And, scope: Scope) -> Value:
        return self._connected(e, "AND", scope)

    def _or(self, e: exp.Or, scope: Scope) -> Value:
        return self._connected(e, "OR", scope)

    def _connected(self, e: exp.Expr, name: str, scope: Scope) -> Value:
        left, right = self.value(e.this, scope), self.value(e.expression, scope)
        if _has_axes(left) or _has_axes(right):
            return self.call(name, [left, right], {}, e)
        a, b = self.condition(left, scope), self.condition(right, scope)
        return Sql(type(e)(this=exp.paren(a), expression=exp.paren(b)), BOOL)

    def _not(self, e: exp.Not, scope: Scope) -> Value:
        found = self.value(e.this, scope)
        if _has_axes(found):
            return self.call("NOT", [found], {}, e)
        return Sql(exp.Not(this=exp.paren(self.condition(found, scope))), BOOL)

    def condition(self, value: Value, scope: Scope) -> exp.Expr:
        """Return a condition. Raises QueryTypeError for a tensor."""
        if isinstance(value, Tensor) and not value.is_scalar:
            raise QueryTypeError(
                f"A condition has one value per row, got {value.text}, which is {value.type}. Wrap "
                f"it in ANY(…) or ALL(…)."
            )
        return self.as_sql(value, scope)

    def _between(self, e: exp.Between, scope: Scope) -> Value:
        low = exp.GTE(this=e.this.copy(), expression=e.args["low"].copy())
        high = exp.LTE(this=e.this.copy(), expression=e.args["high"].copy())
        return self.value(exp.and_(low, high), scope)

    def _in(self, e: exp.In, scope: Scope) -> Value:
        this = self.value(e.this, scope)
        if (query := e.args.get("query")) is not None:
            inner = query.this if isinstance(query, exp.Subquery) else query
            node = exp.In(this=self.as_sql(this, scope), query=self._nested(inner, scope))
            return Sql(node, BOOL)
        if _has_axes(this):
            raise QueryTypeError(
                f"IN takes one value per row, got {text_of(e.this)}, which is a tensor. Use "
                "CONTAINS(x, value)."
            )
        options = [_agree(self.value(option, scope), this) for option in e.expressions]
        a = self.as_sql(_agree(this, options[0]) if options else this, scope)
        return Sql(exp.In(this=a, expressions=[self.as_sql(o, scope) for o in options]), BOOL)

    def _is(self, e: exp.Is, scope: Scope) -> Value:
        found = self.value(e.this, scope)
        if isinstance(found, Tensor) and found.plain is not None:
            valid = calls.is_null(found)
            return Sql(exp.Is(this=self.as_sql(valid, scope), expression=exp.null()), BOOL)
        return Sql(exp.Is(this=self.as_sql(found, scope), expression=e.expression.copy()), BOOL)

    def _like(self, e: exp.Expr, scope: Scope) -> Value:
        this = calls.as_text(self.value(e.this, scope), self, scope)
        pattern = self.sql(e.expression, scope)
        return Sql(type(e)(this=this, expression=pattern), BOOL)

    _ilike = _like

    def _dpipe(self, e: exp.DPipe, scope: Scope) -> Value:
        sides = [calls.as_text(self.value(p, scope), self, scope) for p in (e.this, e.expression)]
        return Sql(exp.DPipe(this=sides[0], expression=sides[1]), TEXT)

    def _escape(self, e: exp.Escape, scope: Scope) -> Value:
        return self._generic(e, scope, BOOL)

    def _case(self, e: exp.Case, scope: Scope) -> Value:
        subject = self.value(e.this, scope) if e.this else None
        ifs, results = [], []
        for branch in e.args["ifs"]:
            when = self.value(branch.this, scope)
            test = (
                self.condition(when, scope)
                if subject is None
                else self.compare(exp.EQ, subject, when, scope)
            )
            results.append(self.value(branch.args["true"], scope))
            ifs.append(exp.If(this=test, true=self.as_sql(results[-1], scope)))
        default = None
        if e.args.get("default") is not None:
            results.append(self.value(e.args["default"], scope))
            default = self.as_sql(results[-1], scope)
        real = any(_kind(r).real for r in results)
        return Sql(
            exp.Case(ifs=ifs, default=default), REAL if real else _kind(results[0], plain=True)
        )

    def _cast(self, e: exp.Cast, scope: Scope) -> Value:
        found = self.value(e.this, scope)
        to: exp.DataType = e.to
        if isinstance(found, Tensor) and not found.is_scalar:
            raise QueryTypeError(f"CAST takes one value per row, got {found.text}: {found.type}.")
        is_text = to.this in exp.DataType.TEXT_TYPES
        node = calls.as_text(found, self, scope) if is_text else self.as_sql(found, scope)
        kind = TEXT if is_text else REAL if to.this in exp.DataType.REAL_TYPES else ANY
        if isinstance(found, Sql) and found.kind.name == "json" and is_text:
            node = calls.json_text(found.node)
        return Sql(type(e)(this=node, to=to.copy()), kind)

    _trycast = _cast

    def _interval(self, e: exp.Interval, scope: Scope) -> Value:  # noqa: ARG002
        return Sql(e.copy(), TIME)

    def _extract(self, e: exp.Extract, scope: Scope) -> Value:
        node = exp.Extract(this=e.this.copy(), expression=self.sql(e.expression, scope))
        return Sql(node, NUMBER)

    def _exists(self, e: exp.Exists, scope: Scope) -> Value:
        inner = e.this.this if isinstance(e.this, exp.Subquery) else e.this
        return Sql(exp.Exists(this=self._nested(inner, scope).this), BOOL)

    def _subquery(self, e: exp.Subquery, scope: Scope) -> Value:
        return Sql(self._nested(e.this, scope))

    def _any(self, e: exp.Any, scope: Scope) -> Value:
        return Sql(exp.Any(this=self._nested(e.this, scope)), ANY)

    def _all(self, e: exp.All, scope: Scope) -> Value:
        return Sql(exp.All(this=self._nested(e.this, scope)), ANY)

    def _nested(self, query: exp.Query, scope: Scope) -> exp.Subquery:
        return exp.Subquery(this=self._lower_query(query, scope))

    # ---- subscripts

    def _bracket(self, e: exp.Bracket, scope: Scope) -> Value:
        return self._subscript(self.value(e.this, scope), e.expressions, e, scope)

    def _subscript(
        self, base: Value, items: Sequence[exp.Expr], e: exp.Expr, scope: Scope
    ) -> Value:
        if isinstance(base, Tensor):
            return self._index(base, items, e, scope)
        if isinstance(base, Constant) and isinstance(base.value, list | np.ndarray):
            return self._index(self.as_tensor(base, text_of(e.this)), items, e, scope)
        if len(items) != 1 or isinstance(items[0], Dots):
            raise QueryTypeError(
                f"{text_of(e.this)} is no tensor and takes one index, got {len(items)}."
            )
        node, item = self.as_sql(base, scope), items[0]
        if _kind(base).name == "json":
            return Sql(func("json_extract", node, self._json_path(item, scope)), JSON)
        if isinstance(item, exp.Slice):
            ends = [p and self.value(p, scope) for p in (item.this, item.expression)]
            if item.args.get("step") is not None:
                raise QueryTypeError(
                    f"A slice of a text or a list is start:stop, without a step, got {text_of(e)}."
                )
            start = exp.convert(1) if ends[0] is None else self._position(ends[0], scope, 1)
            stop = exp.convert(-1) if ends[1] is None else self._position(ends[1], scope, 0)
            return Sql(func("array_slice", node, start, stop), _kind(base, plain=True))
        at = self.value(item, scope)
        if isinstance(at, Constant) and isinstance(at.value, str):
            return Sql(func("struct_extract", node, at.node.copy()))
        position = self._position(at, scope, 1)
        kind = TEXT if _kind(base).name == "text" else _item_kind(_kind(base))
        return Sql(func("array_extract", node, position), kind)

    def _position(self, at: Value, scope: Scope, first: int) -> exp.Expr:
        """Return a position that counts from 0 as DuckDB counts: from 1, or from the end."""
        if isinstance(at, Constant) and isinstance(at.value, int):
            return exp.convert(at.value + first if at.value >= 0 else at.value + first - 1)
        node = exp.paren(self.as_sql(at, scope))
        case = exp.Case(
            ifs=[exp.If(this=node.copy() >= 0, true=node.copy() + first)],
            default=node.copy() + (first - 1),
        )
        return exp.cast(case, "BIGINT")

    def _json_path(self, item: exp.Expr, scope: Scope) -> exp.Expr:
        at = self.value(item, scope)
        if isinstance(at, Constant) and isinstance(at.value, str):
            escaped = at.value.replace('"', '\\"')
            return exp.Literal.string(f'$."{escaped}"')
        if isinstance(at, Constant) and isinstance(at.value, int):
            return exp.Literal.string(f"$[{at.value}]" if at.value >= 0 else f"$[#{at.value}]")
        return exp.cast(self.as_sql(at, scope), "BIGINT")

    def _index(
        self, base: Tensor, items: Sequence[exp.Expr], e: exp.Expr, scope: Scope
    ) -> Tensor:
        env = dict(base.env)

        def tree(part: exp.Expr | None) -> Tree | None:
            if part is None:
                return None
            found = self.as_tensor(self.value(part, scope), text_of(part))
            env.update(found.env)
            return found.tree

        parts: list[Any] = []
        for item in items:
            if isinstance(item, Dots):
                parts.append(...)
            elif isinstance(item, exp.Slice):
                ends = (item.this, item.expression, item.args.get("step"))
                parts.append(tuple(tree(end) for end in ends))
            else:
                parts.append(tree(item))
        type_ = _indexed_type(base, parts, text_of(e))
        return Tensor(Index(base.tree, tuple(parts), type_), env, text_of(e))

    # ---- functions

    def call(
        self, name: str, args: Sequence[Value], options: Mapping[str, Any], e: exp.Expr
    ) -> Tensor:
        """Return a function of tensors.

        Raises
        ------
        QueryTypeError
            When the arguments are not what the function takes.
        """
        entry = REGISTRY[name]
        texts = [text_of(part) for part in _parts(e)] + [text_of(e)] * len(args)
        tensors = [self.as_tensor(a, text) for a, text in zip(args, texts, strict=False)]
        given = _named_classes([_arg(t) for t in tensors])
        bound = entry.bind(*given, **options)
        env: dict[str, exp.Expr] = {}
        for tensor in tensors:
            env.update(tensor.env)
        trees = tuple(
            Literal_(*_array(a.value)) if a.is_constant and isinstance(t.tree, Literal_) else t.tree
            for t, a in zip(tensors, given, strict=True)
        )
        return Tensor(Call(name, bound, trees, tuple(sorted(options.items()))), env, text_of(e))

    def _anonymous(self, e: exp.Anonymous, scope: Scope) -> Value:
        return calls.call(self, e, scope)

    def _window(self, e: exp.Window, scope: Scope) -> Value:
        return calls.window(self, e, scope)

    def _filter(self, e: exp.Filter, scope: Scope) -> Value:
        return calls.filtered(self, e, scope)

    def _distinct(self, e: exp.Distinct, scope: Scope) -> Value:
        return self._generic(e, scope)


# ---- helpers


def constant(value: Any) -> Constant:
    """Return a parameter's value.

    Raises
    ------
    QueryTypeError
        For a value that queries do not know.
    """
    if isinstance(value, np.generic):
        value = value.item() if value.ndim == 0 else value
    if isinstance(value, np.ndarray):
        return Constant(value, exp.convert(value.tolist()))
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if value is None or isinstance(
        value, bool | int | float | str | dt.date | dt.datetime | dt.timedelta | list | tuple
    ):
        if isinstance(value, float) and not np.isfinite(value):
            return Constant(value, exp.cast(exp.Literal.string(str(value)), "DOUBLE"))
        return Constant(list(value) if isinstance(value, tuple) else value, exp.convert(value))
    raise QueryTypeError(
        f"A parameter is a number, a text, a truth value, a date, a list or an array, got "
        f"{type(value).__name__}."
    )


def _array(value: Any) -> tuple[Any, Type]:
    """Return a constant as NumPy's, and its type."""
    if isinstance(value, str) or value is None:
        return value, Type("str")
    array = np.asarray(value)
    if array.dtype.kind in "U":
        return value, Type("str", array.shape)
    return array, Type(array.dtype.name, array.shape)


def _arg(tensor: Tensor) -> Arg:
    value = tensor.tree.value if isinstance(tensor.tree, Literal_) else Unknown
    return Arg(tensor.text, tensor.type, value)


def _named_classes(args: list[Arg]) -> list[Arg]:
    """Return arguments with names of classes as their numbers, where another is of classes."""
    names = next(
        (m for a in args if (m := a.type.meaning) is not None and hasattr(m, "index")), None
    )
    if names is None:
        return args
    out = []
    for arg in args:
        if arg.is_constant and arg.type.dtype == "str":
            try:
                number = np.asarray(
                    names.index(arg.value)
                    if isinstance(arg.value, str)
                    else [names.index(v) for v in arg.value]
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


def _item_kind(kind: Kind) -> Kind:
    """Return the kind of a list's items."""
    return Kind("class", names=kind.names) if kind.names else ANY


def _key(node: exp.Expr) -> str:
    return "g_" + node.sql("duckdb")


def _given_type(kind: Kind) -> Type:
    match kind.name:
        case "bool":
            return Type("bool")
        case "text":
            return Type("str")
        case "class":
            return Type("int64", (), kind.htype)
        case "list":
            return Type("float64", (None,))
        case "json":
            return Type("object")
        case _:
            return Type("float64" if kind.real else "float64")


def _has_axes(value: Value) -> bool:
    if isinstance(value, Tensor):
        return not value.is_scalar
    return isinstance(value, Constant) and isinstance(value.value, np.ndarray | list)


def _kind(value: Value, *, plain: bool = False) -> Kind:
    """Return the kind of a scalar; without the column's type where it is no longer the column."""
    match value:
        case Sql(_, kind):
            return Kind(kind.name, kind.real, kind.names) if plain else kind
        case Constant(constant):
            return kind_of_constant(constant)
        case Tensor():
            meaning = value.type.meaning
            if meaning is not None and hasattr(meaning, "names"):
                return Kind("class", names=tuple(meaning.names))
            if value.type.dtype == "bool":
                return BOOL
            if value.type.is_number:
                return REAL if np.dtype(value.type.dtype).kind == "f" else NUMBER
            return TEXT if value.type.dtype == "str" else ANY


def kind_of_constant(value: Any) -> Kind:
    """Return the kind of a constant."""
    match value:
        case bool():
            return BOOL
        case int():
            return NUMBER
        case float():
            return REAL if np.isnan(value) else NUMBER
        case str():
            return TEXT
        case dt.date() | dt.timedelta():
            return TIME
        case _:
            return ANY


def _kind_of_two(left: Value, right: Value) -> Kind:
    kinds = (_kind(left), _kind(right))
    if any(k.name == "time" for k in kinds):
        return TIME
    return REAL if any(k.real for k in kinds) else NUMBER


def _agree(value: Value, other: Value) -> Value:
    """Return a value in the form in which it compares with another: classes by name, JSON by value.

    Raises
    ------
    QueryTypeError
        For the name of no class.
    """
    mine, theirs = _kind(value), _kind(other)
    if theirs.name == "class" and isinstance(value, Constant) and isinstance(value.value, str):
        return constant(class_number(value.value, theirs))
    if mine.name == "class" and theirs.name == "class" and mine.names != theirs.names:
        assert isinstance(value, Sql)
        return Sql(calls.class_name(value.node, mine.names), TEXT)
    if mine.name == "class" and theirs.name == "text" and isinstance(value, Sql):
        if not isinstance(other, Constant):
            return Sql(calls.class_name(value.node, mine.names), TEXT)
    if mine.name == "json" and isinstance(value, Sql):
        match theirs.name:
            case "text":
                return Sql(calls.json_text(value.node), TEXT)
            case "number":
                return Sql(
                    exp.TryCast(this=calls.json_text(value.node), to=exp.DataType.build("DOUBLE")),
                    NUMBER,
                )
            case "bool":
                return Sql(
                    exp.TryCast(this=calls.json_text(value.node), to=exp.DataType.build("BOOLEAN")),
                    BOOL,
                )
    return value


def class_number(name: str, kind: Kind) -> int:
    """Return the number of a class. Raises QueryTypeError, with the nearest names."""
    from deeplake_lite.htypes import ClassLabel

    try:
        return ClassLabel(list(kind.names)).index(name)
    except InvalidValueError as error:
        raise QueryTypeError(f"A class {error.args[0]}") from error


def _indexed_type(base: Tensor, items: list[Any], text: str) -> Type:
    """Return the type of an indexed tensor. Raises QueryTypeError for too many indices."""
    shape = list(base.type.shape)
    named = [item for item in items if item is not ...]
    if len(named) > len(shape) or items.count(...) > 1:
        raise QueryTypeError(
            f"{text} has {len(named)} indices, and {base.text} has {len(shape)} axes: {base.type}."
        )
    if ... in items:
        at = items.index(...)
        gap = len(shape) - len(named)
        full = (None, None, None)
        items = items[:at] + [full] * gap + items[at + 1 :]
    out: list[int | None] = []
    for item, size in zip(items, shape, strict=False):
        if isinstance(item, tuple):
            out.append(_sliced(item, size))
        elif item.type.ndim:
            out.extend(item.type.shape)
        elif (
            isinstance(item, Literal_) and size is not None and not -size <= int(item.value) < size
        ):
            raise QueryTypeError(
                f"{text}: index {int(item.value)} is outside an axis of {size}. {base.text} is {base.type}."
            )
    out += shape[len(items) :]
    keeps = _keeps_meaning(base, items)
    return Type(base.type.dtype, tuple(out), base.type.meaning if keeps else None)


def _keeps_meaning(base: Tensor, items: list[Any]) -> bool:
    """Tell whether boxes are still boxes: the last axis is whole."""
    meaning = base.type.meaning
    if meaning is None:
        return False
    if hasattr(meaning, "names") or len(items) < base.type.ndim:
        return hasattr(meaning, "names") or all(isinstance(i, tuple) for i in items)
    return all(isinstance(i, tuple) for i in items) and items[-1] == (None, None, None)


def _sliced(item: tuple[Any, ...], size: int | None) -> int | None:
    if size is None or not all(isinstance(p, Literal_ | None) for p in item):
        if size is None and all(isinstance(p, Literal_ | None) for p in item):
            return None
        return None
    return len(range(*slice(*(None if p is None else int(p.value) for p in item)).indices(size)))
