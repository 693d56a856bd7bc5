"""Lower HASH of scalars, so that equal values of different types have equal hashes.

Numbers are hashed by value, classes by name, timestamps and durations by their number of
microseconds, and JSON and structs by their canonical JSON text. The functions return SQL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from deeplake_lite.query.bind.scalars.conversions import as_json, as_text
from deeplake_lite.query.bind.scalars.json_values import (
    as_number,
    is_number,
    is_of_type,
    json_key,
    json_text,
    only_bool,
    whole_number,
)
from deeplake_lite.query.bind.scalars.kinds import kind_of, unit_of_months
from deeplake_lite.query.bind.scalars.moments import as_timestamp, is_fine
from deeplake_lite.query.parse.duckdb_nodes import func
from deeplake_lite.query.values import NUMBER, Sql, Value

if TYPE_CHECKING:
    from deeplake_lite.query.bind.expressions.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope


def hash_of(value: Value, low: Lowering, scope: Scope) -> Sql:
    """Return the hash of a scalar, which is null for null."""
    node = low.as_sql(value, scope)
    kind = kind_of(value)
    match kind.name:
        case "time" if unit_of_months(kind):
            digest = _hash_number(node)
        case "number":
            digest = _hash_number(node)
        case "bool":
            digest = _hash_bool(node)
        case "class":
            digest = func("hash", as_text(value, low, scope))
        case "time":
            digest = _hash_time(node, value)
        case "json":
            digest = _hash_json(node)
        case _ if kind.parts or kind.name == "list":  # NumPy hashes other lists
            digest = _hash_key(as_json(value, low, scope))
        case _:
            digest = func("hash", node)
    present = exp.not_(exp.Is(this=exp.paren(node.copy()), expression=exp.null()))
    return Sql(exp.Case(ifs=[exp.If(this=present, true=digest)]), NUMBER)


def _hash_number(node: exp.Expr) -> exp.Expr:
    """Return the hash of a number. Equal whole numbers of any type have equal hashes.

    Whole numbers are hashed as BIGINT, or by their digits if they do not fit in 64 bits.
    """
    ifs = []
    for type_ in ("BIGINT", "HUGEINT"):
        whole = exp.TryCast(this=node.copy(), to=exp.DataType.build(type_))
        is_whole = exp.EQ(this=whole, expression=exp.paren(node.copy()))
        form = whole.copy() if type_ == "BIGINT" else exp.cast(whole.copy(), "VARCHAR")
        ifs.append(exp.If(this=is_whole, true=func("hash", form)))
    return exp.Case(ifs=ifs, default=_hash_tagged(exp.cast(node.copy(), "DOUBLE"), "fraction"))


def _hash_tagged(node: exp.Expr, form: str) -> exp.Expr:
    """Return the hash of a value together with the tag `form`.

    DuckDB hashes the bits of a value. Without the tag, the smallest float would have the same hash
    as the integer 1, and a number of nanoseconds the same hash as this number of microseconds.
    """
    return func("hash", node, exp.Literal.string(form))


def _hash_bool(node: exp.Expr) -> exp.Expr:
    return func("hash", exp.cast(exp.cast(node.copy(), "BOOLEAN"), "BIGINT"))


def _hash_time(node: exp.Expr, value: Value) -> exp.Expr:
    """Return the hash of a time in microseconds. If it is not a whole number, use nanoseconds."""
    microseconds = func("hash", func("epoch_us", as_timestamp(node.copy(), value)))
    if not is_fine(value):
        return microseconds
    nanoseconds = func("epoch_ns", node.copy())
    remainder = exp.Mod(this=nanoseconds, expression=exp.convert(1000))
    is_finer = exp.NEQ(this=remainder, expression=exp.convert(0))
    ifs = [exp.If(this=is_finer, true=_hash_tagged(nanoseconds.copy(), "nanoseconds"))]
    return exp.Case(ifs=ifs, default=microseconds)


def _hash_json(node: exp.Expr) -> exp.Expr:
    ifs = [
        exp.If(this=is_of_type(node, "VARCHAR"), true=func("hash", json_text(node))),
        exp.If(this=is_of_type(node, "BOOLEAN"), true=_hash_bool(only_bool(node))),
        exp.If(this=is_number(node), true=_hash_json_number(node)),
    ]
    present = exp.not_(exp.Is(this=json_text(node), expression=exp.null()))
    inner = exp.Case(ifs=ifs, default=_hash_key(node))
    return exp.Case(ifs=[exp.If(this=present, true=inner)])


def _hash_key(node: exp.Expr) -> exp.Expr:
    """Return the hash of a JSON list or object.

    This hash differs from the hash of a string with the same text.
    """
    return _hash_tagged(json_key(node), "json")


def _hash_json_number(node: exp.Expr) -> exp.Expr:
    """Return the hash of a JSON number. Whole numbers are not rounded to floats first."""
    whole = whole_number(node)
    is_whole = exp.not_(exp.Is(this=whole, expression=exp.null()))
    ifs = [exp.If(this=is_whole, true=_hash_number(whole))]
    return exp.Case(ifs=ifs, default=_hash_number(as_number(node)))
