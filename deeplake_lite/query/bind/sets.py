"""UNION, INTERSECT, EXCEPT: of what is comparable, with the positions of what is read later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from deeplake_lite.errors import QueryError, QueryTypeError
from deeplake_lite.query.bind.digests import comparable
from deeplake_lite.query.bind.kinds import (
    as_text,
    kind_of,
)
from deeplake_lite.query.bind.scope import Relation, Scope, imported
from deeplake_lite.query.dialect import CLAUSES
from deeplake_lite.query.values import (
    TEXT,
    Choice,
    Kind,
    Sql,
    Tensor,
    Value,
    rename_keys,
)

if TYPE_CHECKING:
    from deeplake_lite.query.bind.projection import Lowered
    from deeplake_lite.query.bind.select import Binder


def set_operation(binder: Binder, tree: exp.SetOperation, parent: Scope | None) -> Lowered:
    """Return UNION, INTERSECT or EXCEPT."""
    left = binder._query(tree.this, parent)
    right = binder._query(tree.expression, parent)
    if len(left.columns) != len(right.columns):
        raise QueryError(
            f"{tree.key.upper()} takes queries of equally many columns, got "
            f"{len(left.columns)} and {len(right.columns)}."
        )
    name = tree.key.upper()
    keep_all = tree.args.get("distinct") is False
    sides = [_side(binder, side, at) for at, side in enumerate((left, right))]
    columns: dict[str, Value] = {}
    for (label, a), (_, b) in zip(sides[0][0].items(), sides[1][0].items(), strict=True):
        columns[label] = _pair(binder, label, a, b, name)
    return _set_query(binder, tree, name, keep_all, sides, columns, parent)


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
    selects: list[exp.Select] = []
    compared: list[list[exp.Expr]] = [[], []]
    out: dict[str, Value] = {}
    for label, pair in columns.items():
        nodes = []
        stored = len({_stored_type(value) for value in pair}) == 1
        for at, value in enumerate(pair):
            nodes.append(comparable(value, low, Scope(), stored=stored))
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
        names = kind_of(a).names
        kind = kind_of(a)
        classes = "class" in (kind.name, kind_of(b).name)
        if classes and (kind_of(b).names != names or kind_of(b).name != kind.name):
            for at, value in enumerate(pair):
                compared[at][number] = as_text(value, low, Scope())
            kind = TEXT
        real = kind.real or kind_of(b).real
        kind = Kind(
            kind.name, real, kind.names, kind.htype if kind.name == kind_of(b).name else None
        )
        final[label] = Sql(exp.column(f"c{number}", table=table), kind)
    for at, (_, inner_table, lowered) in enumerate(sides):
        items = [exp.alias_(node, f"c{i}") for i, node in enumerate(compared[at])]
        if tensors:
            items += [exp.alias_(node, f"k{i}") for i, node in enumerate(extra[at])]
        select = exp.Select(expressions=items)
        alias = exp.TableAlias(this=exp.to_identifier(inner_table))
        select.set("from_", exp.From(this=exp.Subquery(this=lowered.sql, alias=alias)))
        selects.append(select)
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


def _stored_type(value: Value) -> str:
    """Return the type of a column that came through unchanged, with its codec; else nothing."""
    plain = value.plain if isinstance(value, Tensor) else None
    return "" if plain is None else str(plain.field.htype)


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


def _side(binder: Binder, lowered: Lowered, at: int) -> tuple[dict[str, Value], str, Lowered]:
    table = binder._name("u")
    return imported(lowered.columns.items(), table, at), table, lowered


def _pair(binder: Binder, label: str, a: Value, b: Value, name: str) -> Any:
    if isinstance(a, Tensor) != isinstance(b, Tensor):
        raise QueryTypeError(
            f"{name} takes columns of one kind, and {label!r} is a tensor on one side only."
        )
    if isinstance(a, Tensor) and isinstance(b, Tensor) and a.type.ndim != b.type.ndim:
        raise QueryTypeError(
            f"{name} takes tensors of as many axes, and {label!r} is {a.type} and {b.type}."
        )
    return (a, b)
