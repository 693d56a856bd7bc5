"""Lower UNION, INTERSECT and EXCEPT.

DuckDB compares the rows of the two queries. For a tensor, it compares digests, and additional
columns have the row positions from which the tensor is read later. Columns that DuckDB does not
compare are called carried.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from deeplake_lite.errors import QueryError, QueryTypeError
from deeplake_lite.query.bind.clauses.row_order import by_position, with_positions
from deeplake_lite.query.bind.expressions.digests import (
    comparable,
    stored_type,
    with_comparable_digests,
)
from deeplake_lite.query.bind.expressions.forms import unify_tensors
from deeplake_lite.query.bind.places import locate_errors, start_of
from deeplake_lite.query.bind.scalars import beside_floats
from deeplake_lite.query.bind.scalars.agreement import (
    agree,
    check_column,
    check_hashes,
    check_times_beside_json,
)
from deeplake_lite.query.bind.scalars.conversions import as_json, as_text
from deeplake_lite.query.bind.scalars.json_values import json_key
from deeplake_lite.query.bind.scalars.kinds import WORDS, compares_as_json, kind_of, needs_numpy
from deeplake_lite.query.bind.scalars.moments import differ_in_unit, nanoseconds_of
from deeplake_lite.query.bind.scope import Relation, Scope, relation_columns
from deeplake_lite.query.parse.added_nodes import CLAUSES, UNGROUP
from deeplake_lite.query.parse.duckdb_nodes import select_from
from deeplake_lite.query.values import (
    REAL,
    TEXT,
    TIME,
    Choice,
    Constant,
    Kind,
    KindName,
    Sql,
    Tensor,
    Value,
    rename_keys,
)

if TYPE_CHECKING:
    from deeplake_lite.query.bind.clauses.projection import Lowered
    from deeplake_lite.query.bind.clauses.select import Binder
    from deeplake_lite.query.bind.expressions.lowering import Lowering
    from deeplake_lite.query.functions import Type
    from deeplake_lite.query.values import Tree

type Pair = tuple[Value, Value]
"""The left and the right value of a result column."""


@dataclass(frozen=True)
class _Side:
    """One of the two queries that a set operation combines."""

    lowered: Lowered
    table: str
    """Name of the query's table in the combined SQL."""
    columns: dict[str, Value]
    """Maps the names of the query's columns to expressions of the columns of `table`."""


def set_operation(
    binder: Binder, tree: exp.SetOperation, parent: Scope | None, *, outermost: bool
) -> Lowered:
    """Lower UNION, INTERSECT or EXCEPT."""
    low, name = binder.low, tree.key.upper()
    keep_all = tree.args.get("distinct") is False
    queries = [binder.query(part, parent) for part in _halves(tree)]
    counts = [len(query.columns) for query in queries]
    if counts[0] != counts[1]:
        with locate_errors(low.text, _item(tree, min(counts))):
            raise QueryError(
                f"The queries of {name} must have the same number of columns, but they have "
                f"{counts[0]} and {counts[1]}. Leave out columns, or add columns such as NULL AS x."
            )
    sides = [_side(binder, query, at) for at, query in enumerate(queries)]
    columns = zip(sides[0].columns.items(), sides[1].columns.values(), strict=True)
    table = binder.new_name("t")
    # DuckDB compares rows by the columns in `compared`. Rows that are equal in these columns may
    # differ in the columns in `carried`, such as the row position of a tensor. Of several equal
    # rows, the first is returned.
    compared, carried = _Columns("c"), _Columns("k")
    result: dict[str, Value] = {}
    for at, ((label, a), b) in enumerate(columns):
        with locate_errors(low.text, _item(tree, at)):
            a, b = _parse_time(sides[0], a, b), _parse_time(sides[1], b, a)
            pair = _pair(low, name, label, a, b)
            count = len(compared.pairs)
            result[label] = _add_column(
                low, label, pair, compared, carried, table, of_both=name == "UNION"
            )
            start = start_of(_item(tree, at))
            # Converting a column may raise an error, so its position in the text is recorded.
            computed = [
                node for both in compared.pairs[count:] for node in both if start is not None
            ]
            low.traces += [(start or 0, node) for node in computed if isinstance(node, exp.Case)]
    selects = [
        select_from([*compared.items(at), *carried.items(at)], side.lowered.sql, side.table)
        for at, side in enumerate(sides)
    ]
    combined = _combine(name, keep_all, selects, compared.names())
    outer = exp.Select(expressions=[exp.Star()])
    for key in ("order", "limit", "offset", UNGROUP, CLAUSES):
        outer.set(key, tree.args.get(key))
    source = binder.as_relation(combined, table)
    scope = Scope([Relation("", table, result, source=source)], parent)
    return binder.finish(outer, scope, source, [], outermost=outermost)


def _item(tree: exp.SetOperation, at: int) -> exp.Expr:
    """Return the expression of column `at` in the right query. Errors show its position."""
    select = tree.expression.find(exp.Select)
    items: list[exp.Expr] = [] if select is None else select.expressions
    return items[min(at, len(items) - 1)] if items else tree


def _halves(tree: exp.SetOperation) -> tuple[exp.Expr, exp.Expr]:
    """Return the two queries that a set operation combines, rearranged if it is a chain.

    The parser nests a chain such as ``a UNION b UNION c`` as deeply as the chain is long.
    Therefore, a long chain is split in the middle. In a chain of EXCEPT, a - b - c becomes a - (b +
    c).
    """
    parts = [tree.expression]
    left = tree.this
    while _continues(left, tree):
        parts.append(left.expression)
        left = left.this
    parts = [left, *reversed(parts)]
    if isinstance(tree, exp.Except) and len(parts) > 2:
        return parts[0], _chain(parts[1:], exp.Union(distinct=False))
    if len(parts) < 4:
        return tree.this, tree.expression
    middle = len(parts) // 2
    first, second = (_chain(half, tree) for half in (parts[:middle], parts[middle:]))
    return first, second


def _continues(left: exp.Expr, tree: exp.SetOperation) -> bool:
    """Return whether `left` is the same operation as `tree`, so that they form one chain."""
    ends = ("order", "limit", "offset", "with_", UNGROUP, CLAUSES)
    same = type(left) is type(tree) and left.args.get("distinct") == tree.args.get("distinct")
    return same and not any(left.args.get(key) for key in ends)


def _chain(parts: list[exp.Expr], tree: exp.SetOperation) -> exp.Expr:
    """Return the queries `parts`, combined from left to right by the operation of `tree`."""
    chain = parts[0].copy()
    for part in parts[1:]:
        chain = type(tree)(this=chain, expression=part.copy(), distinct=tree.args.get("distinct"))
    return chain


def _side(binder: Binder, lowered: Lowered, at: int) -> _Side:
    """Return a lowered query as the left (0) or right (1) side of a set operation."""
    table = binder.new_name("u")
    binder.relations[table] = lowered.sql
    binder.low.types.record_query(table, lowered.sql)
    return _Side(lowered, table, relation_columns(lowered.columns.items(), table, at))


class _Columns:
    """Columns of the combined query, each with an expression for the left and the right side."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self.pairs: list[tuple[exp.Expr, exp.Expr]] = []

    def add(self, left: exp.Expr, right: exp.Expr) -> str:
        """Add a column with its expressions for the two sides, and return its name."""
        self.pairs.append((left, right))
        return f"{self._prefix}{len(self.pairs) - 1}"

    def names(self) -> list[str]:
        """Return the names of the columns."""
        return [f"{self._prefix}{number}" for number in range(len(self.pairs))]

    def items(self, at: int) -> list[exp.Expr]:
        """Return the select list of the left (0) or right (1) side."""
        named = zip(self.pairs, self.names(), strict=True)
        return [exp.alias_(pair[at], name) for pair, name in named]


# ---- values of both sides in the same form


def _pair(low: Lowering, name: str, label: str, a: Value, b: Value) -> Pair:
    """Return the values of a column in both queries, converted to the same form.

    Raises QueryTypeError if only one of them is a tensor, or if the types do not fit.

    Parameters
    ----------
    low : Lowering
        The lowering of the query.
    name : str
        The set operation, such as UNION, for messages.
    label : str
        The name of the column.
    a, b : Value
        The values in the left and in the right query.
    """
    a, b = with_comparable_digests(a, b, low)
    check_hashes(kind_of(a), kind_of(b))
    if needs_numpy(a) or needs_numpy(b):
        sides = [low.types.refine(v) for v in (a, b)]
        a, b = (low.as_tensor(v, label) if kind_of(v).name == "list" else v for v in sides)
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        (left, right), _ = unify_tensors(name, [a, b], label, low)
        return left, right
    if needs_numpy(a) or needs_numpy(b):
        raise QueryTypeError(
            f"{name} must combine columns of the same kind, but {label!r} is a tensor in only one "
            "of the queries. Leave the column out, or select one value per row, as in MEAN(x)."
        )
    return low.types.refine(_as_scalar(low, a)), low.types.refine(_as_scalar(low, b))


def _parse_time(side: _Side, value: Value, other: Value) -> Value:
    """If a literal string is combined with a timestamp, return the string as a timestamp.

    Other values are returned unchanged.

    Parameters
    ----------
    side : _Side
        The query that contains the value.
    value : Value
        The value of a column in this query.
    other : Value
        The value of the column in the other query.
    """
    dtype = kind_of(other).time_dtype
    if not (
        dtype.startswith("datetime64") and isinstance(value, Sql) and value.kind.name == "text"
    ):
        return value
    named = (item for item in side.lowered.sql.selects if item.alias == value.node.name)
    literal = next((item.unalias() for item in named), None)
    if not isinstance(literal, exp.Literal):
        return value
    moment = agree(Constant(literal.this, literal), other)
    assert isinstance(moment, Constant)
    # Such a string has no more digits than a timestamp can have.
    is_text = isinstance(moment.value, str)
    return Sql(exp.cast(moment.node.copy(), "TIMESTAMP") if is_text else moment.node.copy(), TIME)


def _as_scalar(low: Lowering, value: Value) -> Value:
    return Sql(low.as_sql(value, Scope()), kind_of(value)) if isinstance(value, Tensor) else value


# ---- compared columns, and columns that are carried along


def _add_column(
    low: Lowering,
    label: str,
    pair: Pair,
    compared: _Columns,
    carried: _Columns,
    table: str,
    *,
    of_both: bool,
) -> Value:
    """Add the compared and carried columns for one column of the result, and return its value.

    Parameters
    ----------
    low : Lowering
        The lowering of the query.
    label : str
        Name of the result column.
    pair : Pair
        The values of the column in the left and in the right query.
    compared : _Columns
        Columns by which rows are compared; changed in place.
    carried : _Columns
        Columns that are not compared; changed in place.
    table : str
        Name of the table of the combined query.
    of_both : bool
        Whether the result contains rows from both queries, as with UNION.
    """
    a, b = pair
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        stored = stored_type(a) == stored_type(b)
        left, right = (comparable(value, low, Scope(), stored=stored) for value in (a, b))
        compared.add(left, right)
        if not of_both:
            return Tensor(*_carry(a, 0, carried, table), label)
        type_ = unify_tensors("", [a, b], label, low)[1]
        return _choice(label, a, b, carried, table, type_)
    kinds = _kinds_of(a, b, low)
    kind = kinds[0].combine(kinds[1])
    is_class = any(k.names for k in kinds)
    if compares_as_json(a, b):
        if not of_both:
            check_times_beside_json(a, b)
        documents = [as_json(side, low, Scope()) for side in pair]
        compared.add(*map(json_key, documents))
        name = carried.add(*documents)
        return Sql(exp.column(name, table=table), Kind("json", htype=kind.htype))
    check_column(pair)
    names = [k.name for k in kinds]
    _check_kinds(label, names)
    if beside_floats.are_mixed(*kinds):
        return _add_numbers(low, pair, compared, carried, table, of_both=of_both)
    if not of_both and differ_in_unit(*pair):
        nodes = [low.as_sql(side, Scope()) for side in pair]
        compared.add(*map(nanoseconds_of, nodes, pair))
        return Sql(exp.column(carried.add(nodes[0], exp.null()), table=table), kinds[0])
    mixed = names.count("text") == 1 and not {"list", "any"} & set(names)
    other_classes = is_class and (names[0], kinds[0].names) != (names[1], kinds[1].names)
    if mixed or other_classes:
        kind = Kind("list", item=TEXT) if kind.name == "list" else TEXT
        texts = [as_text(side, low, Scope()) for side in pair]
        name = compared.add(*(exp.cast(t, "VARCHAR") if mixed else t for t in texts))
    else:
        name = compared.add(low.as_sql(a, Scope()), low.as_sql(b, Scope()))
    return Sql(exp.column(name, table=table), kind)


def _kinds_of(a: Value, b: Value, low: Lowering) -> tuple[Kind, Kind]:
    """Return the kinds of two values. If one of them is NULL, it gets the kind of the other."""
    kind_a, kind_b = kind_of(a), kind_of(b)
    if low.types.is_null(a):
        return kind_b, kind_b
    return kind_a, kind_a if low.types.is_null(b) else kind_b


def _add_numbers(
    low: Lowering,
    pair: Pair,
    compared: _Columns,
    carried: _Columns,
    table: str,
    *,
    of_both: bool,
) -> Sql:
    """Do what `_add_column` does, for integers in one of the queries and floats in the second."""
    kinds = [kind_of(side) for side in pair]
    if of_both:
        floats = [low.as_sql(v, Scope()) for v in beside_floats.as_floats(pair, kinds)]
        return Sql(exp.column(compared.add(*floats), table=table), REAL)
    nodes = [low.as_sql(side, Scope()) for side in pair]
    compared.add(*(beside_floats.key(*side) for side in zip(nodes, kinds, strict=True)))
    return Sql(exp.column(carried.add(nodes[0], exp.null()), table=table), kinds[0])


def _check_kinds(label: str, names: list[KindName]) -> None:
    """Raise QueryTypeError if no common type can represent the two kinds of values of a column."""
    for name, other in (names, names[::-1]):
        if name in ("bytes", "time", "list") and other not in (name, "any"):
            if name != "bytes" and other == "text":
                continue
            raise QueryTypeError(
                f"A column must have the same kind of value in both queries, but {label!r} is "
                f"{WORDS[name]} in one query and {WORDS[other]} in the other. CAST the column in "
                "one of the queries, or leave it out."
            )


def _choice(label: str, a: Tensor, b: Tensor, carried: _Columns, table: str, type_: Type) -> Tensor:
    """Return a tensor that takes its value in each row from one of two tensors.

    A carried column says which of the two tensors a row has, as 0 or 1. The row positions of the
    other tensor are null.
    """
    tag = carried.add(exp.convert(0), exp.convert(1))
    sides = [_carry(side, at, carried, table) for at, side in enumerate((a, b))]
    env: dict[str, exp.Expr] = {f"{table}_{tag}": exp.column(tag, table=table)}
    for _, keys in sides:
        env.update(keys)
    return Tensor(Choice(f"{table}_{tag}", tuple(tree for tree, _ in sides), type_), env, label)


def _carry(
    side: Tensor, at: int, carried: _Columns, table: str
) -> tuple[Tree, dict[str, exp.Expr]]:
    """Add the row positions of a tensor to the carried columns.

    In the other query, these columns are NULL without a type. If the NULL had a type, it would
    change the type of the column. For example, UBIGINT combined with BIGINT becomes HUGEINT.

    Parameters
    ----------
    side : Tensor
        The tensor.
    at : int
        0 if the tensor is in the left query, 1 if it is in the right query.
    carried : _Columns
        Columns that are not compared; changed in place.
    table : str
        Name of the table of the combined query.

    Returns
    -------
    tuple of Tree and dict
        The tree and the environment of the tensor in the combined query.
    """
    renamed: dict[str, str] = {}
    env: dict[str, exp.Expr] = {}
    for key, node in side.env.items():
        pair = (exp.null(), node.copy()) if at else (node.copy(), exp.null())
        name = carried.add(*pair)
        renamed[key] = f"{table}_{name}"
        env[renamed[key]] = exp.column(name, table=table)
    return rename_keys(side.tree, renamed.__getitem__), env


# ---- set operations that keep the order of rows, and carry columns that are not compared


def _combine(name: str, keep_all: bool, selects: list[exp.Select], by: list[str]) -> exp.Query:
    """Return a set operation that compares rows only by the columns in `by`.

    DuckDB's INTERSECT and EXCEPT compare all columns, so they are replaced with a condition. On
    each side, rows with equal values are numbered from 1. With `keep_all` (UNION ALL, …), row
    number n on the left matches if the right side has a row number n with the same values.
    Otherwise, only the first of the equal rows on the left is tested, and matches if the right side
    has a row with the same values.
    """
    if name == "UNION":
        return _union(keep_all, selects, by)
    counted = [_number_equal_rows(select, by) for select in selects]
    same = [
        exp.NullSafeEQ(this=exp.column(n, table="l"), expression=exp.column(n, table="r"))
        for n in [*by, *(["n"] if keep_all else [])]
    ]
    right = select_from([exp.convert(1)], counted[1], "r")
    right.set("where", exp.Where(this=exp.and_(*same)))
    test: exp.Expr = exp.Exists(this=right)
    if name == "EXCEPT":
        test = exp.Not(this=test)
    if not keep_all:
        test = exp.and_(test, exp.EQ(this=exp.column("n", table="l"), expression=exp.convert(1)))
    out = select_from([exp.Star()], counted[0], "l")
    out.set("where", exp.Where(this=test))
    out.set("order", by_position())
    return out


def _union(keep_all: bool, selects: list[exp.Select], by: list[str]) -> exp.Query:
    """Return UNION ALL or, without `keep_all`, a UNION that compares rows by the columns `by`."""
    both = exp.Union(this=selects[0], expression=selects[1], distinct=False)
    if keep_all:
        return both
    out = select_from([exp.Star()], with_positions(both, "u"), "u")
    out.set("distinct", exp.Distinct(on=exp.Tuple(expressions=[exp.column(n) for n in by])))
    out.set("order", by_position())
    return out


def _number_equal_rows(select: exp.Select, by: list[str]) -> exp.Select:
    """Return a query with an added column `n`, which numbers the rows with equal values of `by`."""
    number = exp.Window(
        this=exp.Anonymous(this="ROW_NUMBER", expressions=[]),
        partition_by=[exp.column(n) for n in by],
        order=by_position(),
    )
    return select_from([exp.Star(), exp.alias_(number, "n")], with_positions(select, "v"), "v")
