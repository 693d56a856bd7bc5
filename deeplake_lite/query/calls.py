"""What a function's name means where it stands: SQL's, NumPy's, or an aggregate over a group.

Scalars go to DuckDB, under its names. Tensors go to the registry. What SQL and NumPy both have
(SUM, MIN, …) is NumPy's for a tensor outside GROUP BY, and an aggregate otherwise.
"""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from deeplake_lite.errors import NotFoundError, QueryTypeError
from deeplake_lite.query.dialect import func, text_of
from deeplake_lite.query.functions import REGISTRY, Type
from deeplake_lite.query.plan import ROW
from deeplake_lite.query.values import (
    ANY,
    BOOL,
    NUMBER,
    REAL,
    TEXT,
    Cell,
    Constant,
    Grouped,
    Kind,
    Meta,
    Sql,
    Tensor,
    Value,
)

if TYPE_CHECKING:
    from deeplake_lite.query.lower import Lowering
    from deeplake_lite.query.scope import Scope

_NAMES = {
    "MEAN": "AVG", "STD": "STDDEV_SAMP", "STDDEV": "STDDEV_SAMP", "VAR": "VAR_SAMP",
    "VARIANCE": "VAR_SAMP", "PROD": "PRODUCT", "LOG": "LN", "LENGTH": "LENGTH",
}  # fmt: skip
"""Names that differ from DuckDB's, of functions of scalars."""

AGGREGATES = {
    "COUNT", "SUM", "AVG", "MEAN", "MIN", "MAX", "STD", "STDDEV", "VAR", "VARIANCE", "MEDIAN",
    "PROD", "PRODUCT", "FIRST", "LAST", "ANY_VALUE", "LIST", "ARRAY_AGG", "QUANTILE",
    "QUANTILE_CONT", "QUANTILE_DISC", "MODE", "STRING_AGG", "ARG_MIN", "ARG_MAX", "MIN_BY",
    "MAX_BY", "BOOL_AND", "BOOL_OR", "APPROX_COUNT_DISTINCT", "STDDEV_POP", "STDDEV_SAMP",
    "VAR_POP", "VAR_SAMP", "CORR", "COVAR_POP", "COVAR_SAMP", "HISTOGRAM", "ENTROPY", "KURTOSIS",
    "SKEWNESS", "COUNT_IF", "SUM_IF", "BIT_AND", "BIT_OR", "BIT_XOR", "GROUP_CONCAT", "LISTAGG",
    "APPROX_QUANTILE", "FAVG", "FSUM", "MAD", "GROUPING",
}  # fmt: skip
"""Functions of many rows."""

_ROWWISE = {
    "SUM",
    "AVG",
    "MEAN",
    "MIN",
    "MAX",
    "STD",
    "STDDEV",
    "VAR",
    "VARIANCE",
    "MEDIAN",
    "PROD",
}
"""Aggregates that reduce a row's tensor where there is no GROUP BY, and go elementwise otherwise."""

_ELEMENTWISE = {"AVG": "MEAN", "STDDEV": "STD", "VARIANCE": "VAR"}

_PICKS = {"FIRST", "LAST", "ANY_VALUE"}

_REAL = {
    "SQRT", "LN", "LOG", "LOG2", "LOG10", "EXP", "POW", "POWER", "SIN", "COS", "TAN", "ASIN",
    "ACOS", "ATAN", "ATAN2", "AVG", "MEAN", "STD", "STDDEV", "VAR", "VARIANCE", "MEDIAN", "PROD",
    "CBRT", "CORR",
}  # fmt: skip
"""Functions that may give NaN whatever they take."""

_SAME = {"ABS", "ROUND", "FLOOR", "CEIL", "MIN", "MAX", "SUM", "COALESCE", "GREATEST", "LEAST",
         "FIRST", "LAST", "ANY_VALUE", "LAG", "LEAD", "FIRST_VALUE", "LAST_VALUE", "MODE",
         "NULLIF", "IFNULL", "QUANTILE_DISC"}  # fmt: skip
"""Functions whose result is of the kind of their first argument."""

_KEEPS_CLASS = {"MIN", "MAX", "FIRST", "LAST", "ANY_VALUE", "MODE", "LAG", "LEAD", "FIRST_VALUE",
                "LAST_VALUE"}  # fmt: skip

_COUNTS = {"COUNT", "LENGTH", "COUNT_IF", "ROW_NUMBER", "RANK", "DENSE_RANK"}


def need(found: Sql, scope: Scope) -> None:
    """Note that DuckDB needs a source's column."""
    assert found.plain is not None
    at: Scope | None = scope
    while at is not None:
        for relation in at.relations:
            if relation.instance is not None and relation.table == found.node.table:
                relation.instance.scalars[found.node.name] = found.plain.field
                return
        at = at.parent


def call(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value:
    """Return what a function call is.

    Raises
    ------
    NotFoundError
        For a function that nobody has, with the nearest names.
    """
    name = e.name.upper()
    special = _SPECIAL.get(name)
    if special is not None:
        found = special(low, e, scope)
        if found is not None:
            return found
    args, options = _arguments(low, e, name, scope)
    if any(isinstance(a, Tensor) and not a.is_scalar for a in args):
        return _of_tensors(low, name, args, options, e, scope)
    if name in REGISTRY and not _is_sql(name):
        return low.call(name, args, options, e)
    if name in ("ASUM", "AMEAN", "AMIN", "AMAX", "ASTD"):
        return low.call(name, args, options, e)
    if options:
        raise QueryTypeError(f"{name} of scalars takes no {', '.join(options)}: {text_of(e)}.")
    return _of_scalars(low, name, args, e, scope)


def _arguments(
    low: Lowering, e: exp.Anonymous, name: str, scope: Scope
) -> tuple[list[Value], dict[str, Any]]:
    """Return the arguments, and those given by name (``axis = 0``, ``axis := 0``)."""
    args: list[Value] = []
    options: dict[str, Any] = {}
    known = _parameters(name)
    inner = scope.in_aggregate
    scope.in_aggregate = inner or name in AGGREGATES
    try:
        for part in e.expressions:
            named = (
                isinstance(part, exp.EQ | exp.PropertyEQ | exp.Kwarg) and part.this.name in known
            )
            if named and isinstance(part.this, exp.Column | exp.Identifier | exp.Var):
                options[part.this.name] = _constant(low, part.expression, scope)
            else:
                args.append(low.value(part, scope))
    finally:
        scope.in_aggregate = inner
    return args, options


def _parameters(name: str) -> list[str]:
    """Return the names of a function's parameters, as its signature has them."""
    if name not in REGISTRY or "(" not in REGISTRY[name].signature:
        return []
    inside = REGISTRY[name].signature.split("(", 1)[1].rstrip(")")
    return [part.split("=")[0].strip(" *") for part in inside.split(",") if part.strip()]


def _constant(low: Lowering, part: exp.Expr, scope: Scope) -> Any:
    value = low.value(part, scope)
    if not isinstance(value, Constant):
        raise QueryTypeError(f"An option is a constant, got {text_of(part)}.")
    return _plain(value.value)


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _is_sql(name: str) -> bool:
    """Tell whether DuckDB has the function for scalars."""
    return name in AGGREGATES or name in _NAMES or name in _REAL or name in _SAME or name in {
        "CONTAINS", "LOWER", "UPPER",
    }  # fmt: skip


def _of_tensors(
    low: Lowering,
    name: str,
    args: list[Value],
    options: dict[str, Any],
    e: exp.Expr,
    scope: Scope,
) -> Value:
    first = args[0]
    assert isinstance(e, exp.Anonymous)
    if name == "COUNT" and isinstance(first, Tensor):
        scope.aggregated = True
        return Sql(exp.Anonymous(this="COUNT", expressions=[_some_key(first)]), NUMBER)
    if name in _PICKS and isinstance(first, Tensor):
        scope.aggregated = True
        env = {
            key: exp.Anonymous(this=name, expressions=[node.copy()])
            for key, node in first.env.items()
        }
        plain = first.plain and replace(
            first.plain, row=exp.Anonymous(this=name, expressions=[first.plain.row.copy()])
        )
        return Tensor(first.tree, env, text_of(e), plain)
    if name in ("LIST", "ARRAY_AGG") and isinstance(first, Tensor):
        scope.aggregated = True
        return grouped(first, "LIST", text_of(e))
    if name in _ROWWISE and scope.grouped and not options and len(args) == 1:
        assert isinstance(first, Tensor)
        return grouped(first, _ELEMENTWISE.get(name, name), text_of(e))
    if name in REGISTRY:
        return low.call(name, args, options, e)
    raise _unknown(name, f" for tensors, such as {first.text}" if isinstance(first, Tensor) else "")


def grouped(tensor: Tensor, aggregate: str, text: str) -> Tensor:
    """Return the values of a tensor over a group, or their elementwise aggregate."""
    struct = exp.Anonymous(
        this="struct_pack",
        expressions=[
            exp.PropertyEQ(this=exp.to_identifier(key, quoted=True), expression=node.copy())
            for key, node in tensor.env.items()
        ],
    )
    rows = exp.Anonymous(this="LIST", expressions=[struct])
    key = "l_" + rows.sql("duckdb")
    inner = tensor.type
    if aggregate == "LIST":
        type_ = Type(inner.dtype, (None, *inner.shape), inner.meaning)
    else:
        floats = aggregate in ("MEAN", "STD", "VAR", "MEDIAN")
        dtype = "float64" if floats and inner.dtype[0] in "biu" else inner.dtype
        wide = {"b": "int64", "i": "int64", "u": "uint64"}
        if aggregate in ("SUM", "PROD") and inner.dtype[0] in wide:
            dtype = wide[inner.dtype[0]]
        type_ = Type(dtype, inner.shape)
    return Tensor(Grouped(key, tensor.tree, aggregate, type_), {key: rows}, text)


def _some_key(tensor: Tensor) -> exp.Expr:
    return next(iter(tensor.env.values())).copy() if tensor.env else exp.convert(1)


def _of_scalars(
    low: Lowering, name: str, args: list[Value], e: exp.Anonymous, scope: Scope
) -> Value:
    if name in AGGREGATES:
        scope.aggregated = scope.aggregated or not scope.in_aggregate
    first = args[0] if args else None
    kind = _result_kind(name, first)
    is_text = kind is ANY and name not in AGGREGATES and any(_is_class(a) for a in args)
    nodes = [as_text(a, low, scope) if is_text else low.as_sql(a, scope) for a in args]
    for at, part in enumerate(e.expressions):
        if isinstance(part, exp.Star):
            nodes[at] = exp.Star()
    return Sql(exp.Anonymous(this=_NAMES.get(name, name), expressions=nodes), kind)


def _result_kind(name: str, first: Value | None) -> Kind:
    from deeplake_lite.query.lower import _kind

    if name in _COUNTS:
        return NUMBER
    if name in _REAL:
        return REAL
    if name in _SAME and first is not None:
        kind = _kind(first)
        if kind.name == "class" and name in _KEEPS_CLASS:
            return kind
        return Kind(kind.name if kind.name != "class" else "number", kind.real)
    return ANY


def _is_class(value: Value) -> bool:
    return isinstance(value, Sql) and value.kind.name == "class"


def window(low: Lowering, e: exp.Window, scope: Scope) -> Value:
    """Return a function over a window of rows."""
    was, scope.in_aggregate, before = scope.in_aggregate, True, scope.aggregated
    try:
        inner = e.this
        found = _row_number() if inner.name.upper() == "ROW_NUMBER" else low.value(inner, scope)
        node = e.copy()
        node.set("this", low.as_sql(found, scope))
        node.set("partition_by", [low.sql(p, scope) for p in e.args.get("partition_by") or ()])
        if e.args.get("order"):
            node.set("order", exp.Order(expressions=ordered(low, e.args["order"], scope)))
    finally:
        scope.in_aggregate, scope.aggregated = was, before
    return Sql(node, found.kind if isinstance(found, Sql) else ANY)


def _row_number() -> Sql:
    return Sql(exp.Anonymous(this="ROW_NUMBER", expressions=[]), NUMBER)


def ordered(low: Lowering, order: exp.Order, scope: Scope) -> list[exp.Expr]:
    """Return what a window sorts by."""
    return [
        part
        for term in order.expressions
        for part in sorted_by(low.value(term.this, scope), term, low, scope)
    ]


def sorted_by(
    value: Value, term: exp.Expr, low: Lowering, scope: Scope
) -> list[exp.Expr]:
    """Return what to sort by: NaN last either way, and null behind it unless it is said."""
    from deeplake_lite.query.lower import _kind

    node, descends = low.as_sql(value, scope), bool(term.args.get("desc"))
    nulls_first = bool(term.args.get("nulls_first"))
    out = []
    if _kind(value).real and descends:
        nan = func("isnan", node.copy())
        out.append(exp.Ordered(this=nan, desc=False, nulls_first=nulls_first))
    out.append(exp.Ordered(this=node, desc=descends, nulls_first=nulls_first))
    return out


def filtered(low: Lowering, e: exp.Filter, scope: Scope) -> Value:
    """Return an aggregate of some rows: ``… FILTER (WHERE …)``."""
    found = low.value(e.this, scope)
    was, scope.in_aggregate = scope.in_aggregate, True
    try:
        where = exp.Where(this=low.condition(low.value(e.expression.this, scope), scope))
    finally:
        scope.in_aggregate = was
    if isinstance(found, Tensor):
        env = {k: exp.Filter(this=n, expression=where.copy()) for k, n in found.env.items()}
        return Tensor(found.tree, env, text_of(e))
    assert isinstance(found, Sql)
    return Sql(exp.Filter(this=found.node, expression=where), found.kind)


# ---- special functions


def _meta(what: str, type_: Any) -> Any:
    def special(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value | None:
        if len(e.expressions) != 1:
            return None
        found = low.value(e.expressions[0], scope)
        if isinstance(found, Constant):
            return None
        if found.plain is None:
            return None
        key = _key_of_row(found)
        tree = Meta(key, found.plain.source, found.plain.field, what, type_(found))
        return Tensor(tree, {key: found.plain.row}, text_of(e))

    return special


def _key_of_row(found: Any) -> str:
    if isinstance(found, Tensor) and isinstance(found.tree, Cell):
        return found.tree.key
    return "r_" + found.plain.row.sql("duckdb")


def _shape_type(found: Any) -> Type:
    return Type("int64", (found.type.ndim if isinstance(found, Tensor) else 0,))


def _row_position(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value | None:  # noqa: ARG001
    """Return the row's position in its source: ROW_NUMBER() without OVER."""
    for relation in scope.relations:
        if relation.instance is not None:
            return Sql(exp.column(ROW, table=relation.table), NUMBER)
    return None


def _row_id(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value | None:  # noqa: ARG001
    wanted = e.expressions[0].name if e.expressions else None
    for relation in scope.relations:
        if relation.instance is not None and wanted in (None, relation.alias):
            row = exp.column(ROW, table=relation.table)
            key = "r_" + row.sql("duckdb")
            tree = Meta(key, relation.instance.source, None, "row_id", Type("int64"))
            return Tensor(tree, {key: row}, text_of(e))
    return None


def _count_star(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value | None:
    if not e.expressions or isinstance(e.expressions[0], exp.Star):
        scope.aggregated = scope.aggregated or not scope.in_aggregate
        return Sql(exp.Anonymous(this="COUNT", expressions=[exp.Star()]), NUMBER)
    if isinstance(e.expressions[0], exp.Distinct):
        scope.aggregated = scope.aggregated or not scope.in_aggregate
        parts = [comparable(low.value(p, scope), low, scope) for p in e.expressions[0].expressions]
        return Sql(
            exp.Anonymous(this="COUNT", expressions=[exp.Distinct(expressions=parts)]), NUMBER
        )
    return None


def comparable(value: Value, low: Lowering, scope: Scope) -> exp.Expr:
    """Return a scalar that is equal where values are: a tensor's digest."""
    if isinstance(value, Tensor) and not value.is_scalar:
        return low.as_sql(digest(value, low), scope)
    return low.as_sql(value, scope)


def digest(tensor: Tensor, low: Lowering) -> Tensor:
    """Return the digest of a tensor: of a column that came unchanged, without reading it."""
    if tensor.plain is not None and isinstance(tensor.tree, Cell):
        leaf = tensor.tree
        tree = Meta(leaf.key, leaf.source, leaf.field, "hash", Type("uint64"))
        return Tensor(tree, tensor.env, tensor.text)
    return low.call("HASH", [tensor], {}, exp.Anonymous(this="HASH", expressions=[]))


def is_null(tensor: Tensor) -> Tensor:
    """Return whether a column's cell is null, without reading it."""
    assert tensor.plain is not None
    key = _key_of_row(tensor)
    tree = Meta(key, tensor.plain.source, tensor.plain.field, "present", Type("bool"))
    return Tensor(tree, {key: tensor.plain.row}, tensor.text)


def _hash(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value | None:
    if len(e.expressions) != 1:
        return None
    found = low.value(e.expressions[0], scope)
    return digest(found, low) if isinstance(found, Tensor) else None


def _random(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value | None:
    """Return a number in [0, 1) per row: a function of the seed and the row's position."""
    seed = _constant(low, e.expressions[0], scope) if e.expressions else low.draw_seed()
    for relation in scope.relations:
        if relation.instance is not None:
            row = exp.column(ROW, table=relation.table)
            key = "r_" + row.sql("duckdb")
            tree = Meta(key, relation.instance.source, None, f"random:{seed}", Type("float64"))
            return Tensor(tree, {key: row}, text_of(e))
    return None


def _name(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value | None:
    """Return a class by its name: NAME(label)."""
    found = low.value(e.expressions[0], scope) if len(e.expressions) == 1 else None
    if isinstance(found, Sql) and found.kind.name == "class":
        return Sql(class_name(found.node, found.kind.names), TEXT)
    return None


def _keys(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value | None:
    found = low.value(e.expressions[0], scope) if len(e.expressions) == 1 else None
    if isinstance(found, Sql) and found.kind.name == "json":
        return Sql(exp.Anonymous(this="json_keys", expressions=[found.node.copy()]), ANY)
    return None


_SPECIAL = {
    "SHAPE": _meta("shape", _shape_type),
    "NDIM": _meta("ndim", lambda _: Type("int64")),
    "SIZE": _meta("size", lambda _: Type("int64")),
    "NBYTES": _meta("nbytes", lambda _: Type("int64")),
    "ROW_NUMBER": _row_position,
    "ROW_ID": _row_id,
    "COUNT": _count_star,
    "HASH": _hash,
    "RANDOM": _random,
    "NAME": _name,
    "KEYS": _keys,
}


# ---- text


def as_text(value: Value, low: Lowering, scope: Scope) -> exp.Expr:
    """Return a scalar as a text where it has one: a class's name."""
    if isinstance(value, Sql) and value.kind.name == "class":
        return class_name(value.node, value.kind.names)
    return low.as_sql(value, scope)


def class_name(node: exp.Expr, names: tuple[str, ...]) -> exp.Expr:
    """Return the name of a class by its number."""
    listed = exp.Array(expressions=[exp.Literal.string(name) for name in names])
    return func("list_extract", listed, exp.paren(node.copy()) + 1)


def json_text(node: exp.Expr) -> exp.Expr:
    """Return the text of a JSON value: a string without its quotes."""
    return func("json_extract_string", node.copy(), exp.Literal.string("$"))


def _unknown(name: str, of: str = "") -> NotFoundError:
    error = NotFoundError.named(f"function{of}", name, REGISTRY)
    assert isinstance(error, NotFoundError)
    return error


def unknown_function(name: str, known: list[str]) -> NotFoundError:
    """Return the error for a function that neither NumPy's part nor DuckDB has."""
    names = {*REGISTRY, *(k.upper() for k in known)}
    words = sorted(n for n in names if n.isidentifier())
    near = get_close_matches(name, words, n=3)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    return NotFoundError(
        f"There is no function {name}.{hint} Functions of tensors: "
        f"{', '.join(sorted(n for n in REGISTRY if n.isidentifier()))}; of scalars: DuckDB's."
    )


__all__ = ["AGGREGATES", "BOOL", "call", "digest", "filtered", "grouped", "ordered", "window"]
