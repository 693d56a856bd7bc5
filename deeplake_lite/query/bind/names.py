"""What stands for something else: columns, literals, parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from deeplake_lite.errors import QueryError
from deeplake_lite.query.bind.subscripts import subscript
from deeplake_lite.query.dialect import AT
from deeplake_lite.query.values import (
    Constant,
    Sql,
    Value,
)

if TYPE_CHECKING:
    from deeplake_lite.query.bind.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope


def column(low: Lowering, e: exp.Column, scope: Scope) -> Value:
    """Return what a name means: a column, or what the SELECT calls so."""
    name, table = e.name, e.table or None
    if e.args.get("db"):
        table = None
    found = scope.find(name, table)
    if found is None and table is None and name in scope.aliases:
        alias = scope.aliases.pop(name)  # so that it cannot mean itself
        try:
            meant = low.value(alias, scope)
        finally:
            scope.aliases[name] = alias
        if isinstance(meant, Sql) and isinstance(meant.node, exp.Binary):
            return Sql(exp.paren(meant.node), meant.kind)
        return meant
    if found is None and table is not None:
        outer = scope.find(table, None)  # a JSON column's key, or a struct's field
        if outer is not None:
            return subscript(low, outer, [exp.Literal.string(name)], e, scope)
    if found is None:
        raise scope.unknown(name, table)
    return found


def literal(low: Lowering, e: exp.Literal, scope: Scope) -> Value:
    """Return a number or a text."""
    value: Any = e.this
    if not e.is_string:
        try:
            value = int(value) if value.isdecimal() else float(value)
        except ValueError:
            raise QueryError(f"A number is such as 3, 2.5 or 1e-3, got {value}.") from None
    return Constant(value, e)


def boolean(low: Lowering, e: exp.Boolean, scope: Scope) -> Value:
    """Return a truth value."""
    return Constant(bool(e.this), e)


def null(low: Lowering, e: exp.Null, scope: Scope) -> Value:
    """Return null."""
    return Constant(None, e)


def placeholder(low: Lowering, e: exp.Placeholder, scope: Scope) -> Value:
    """Return the value of ``?``."""
    named = isinstance(e.this, str) and e.this
    return low.params.named(e.this) if named else low.params.at(e.meta[AT])


def parameter(low: Lowering, e: exp.Parameter, scope: Scope) -> Value:
    """Return the value of ``$name``."""
    return low.params.named(e.this.name)
