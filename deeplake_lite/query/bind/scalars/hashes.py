"""HASH of scalars: DuckDB's, of a form that equal values share whatever their types.

Numbers go by value, classes by name, moments and durations by microseconds, JSON and structs by
meaning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from deeplake_lite.query.bind.scalars.json_values import (
    as_number,
    is_number,
    is_of_type,
    json_key,
    json_text,
    only_bool,
    whole_number,
)
from deeplake_lite.query.bind.scalars.kinds import as_json, as_text, kind_of, unit_of_months
from deeplake_lite.query.bind.scalars.moments import as_timestamp, is_fine
from deeplake_lite.query.parse.dialect import func
from deeplake_lite.query.values import NUMBER, Sql, Value

if TYPE_CHECKING:
    from deeplake_lite.query.bind.expressions.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope


def hash_of(value: Value, low: Lowering, scope: Scope) -> Sql:
    """Return the hash of a scalar, null of null."""
    node = low.as_sql(value, scope)
    kind = kind_of(value)
    match kind.name:
        case "time" if unit_of_months(kind):
            found = _of_number(node)
        case "number":
            found = _of_number(node)
        case "bool":
            found = _of_bool(node)
        case "class":
            found = func("hash", as_text(value, low, scope))
        case "time":
            found = _of_time(node, value)
        case "json":
            found = _of_json(node)
        case _ if kind.parts or kind.name == "list":  # of structs: those of others are NumPy's
            found = _of_key(as_json(value, low, scope))
        case _:
            found = func("hash", node)
    present = exp.not_(exp.Is(this=exp.paren(node.copy()), expression=exp.null()))
    return Sql(exp.Case(ifs=[exp.If(this=present, true=found)]), NUMBER)


def _of_number(node: exp.Expr) -> exp.Expr:
    """Return the hash of a number: of a whole one as an integer, or as its digits."""
    ifs = []
    for type_ in ("BIGINT", "HUGEINT"):
        whole = exp.TryCast(this=node.copy(), to=exp.DataType.build(type_))
        is_whole = exp.EQ(this=whole, expression=exp.paren(node.copy()))
        form = whole.copy() if type_ == "BIGINT" else exp.cast(whole.copy(), "VARCHAR")
        ifs.append(exp.If(this=is_whole, true=func("hash", form)))
    return exp.Case(ifs=ifs, default=_marked(exp.cast(node.copy(), "DOUBLE"), "fraction"))


def _marked(node: exp.Expr, form: str) -> exp.Expr:
    """Return the hash of a value in a form of its own.

    DuckDB hashes bits, which the least float has as the integer 1 does, and a nanosecond as a
    microsecond.
    """
    return func("hash", node, exp.Literal.string(form))


def _of_bool(node: exp.Expr) -> exp.Expr:
    return func("hash", exp.cast(exp.cast(node.copy(), "BOOLEAN"), "BIGINT"))


def _of_time(node: exp.Expr, value: Value) -> exp.Expr:
    """Return the hash of microseconds; of nanoseconds where those do not suffice."""
    microseconds = func("hash", func("epoch_us", as_timestamp(node.copy(), value)))
    if not is_fine(value):
        return microseconds
    finer = func("epoch_ns", node.copy())
    rest = exp.Mod(this=finer, expression=exp.convert(1000))
    is_finer = exp.NEQ(this=rest, expression=exp.convert(0))
    ifs = [exp.If(this=is_finer, true=_marked(finer.copy(), "nanoseconds"))]
    return exp.Case(ifs=ifs, default=microseconds)


def _of_json(node: exp.Expr) -> exp.Expr:
    ifs = [
        exp.If(this=is_of_type(node, "VARCHAR"), true=func("hash", json_text(node))),
        exp.If(this=is_of_type(node, "BOOLEAN"), true=_of_bool(only_bool(node))),
        exp.If(this=is_number(node), true=_of_json_number(node)),
    ]
    present = exp.not_(exp.Is(this=json_text(node), expression=exp.null()))
    inner = exp.Case(ifs=ifs, default=_of_key(node))
    return exp.Case(ifs=[exp.If(this=present, true=inner)])


def _of_key(node: exp.Expr) -> exp.Expr:
    """Return the hash of a list or an object by its meaning; the text '{}' is no {}."""
    return _marked(json_key(node), "json")


def _of_json_number(node: exp.Expr) -> exp.Expr:
    """Return the hash of JSON's number: of a whole one by all of its digits."""
    whole = whole_number(node)
    is_whole = exp.not_(exp.Is(this=whole, expression=exp.null()))
    ifs = [exp.If(this=is_whole, true=_of_number(whole))]
    return exp.Case(ifs=ifs, default=_of_number(as_number(node)))
