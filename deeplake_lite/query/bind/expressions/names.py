"""What stands for something else: columns, literals, parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from deeplake_lite.errors import (
    ColumnNotFoundError,
    NotFoundError,
    QueryError,
    QueryTypeError,
)
from deeplake_lite.query.bind.calls.call import unknown_function
from deeplake_lite.query.bind.calls.catalog import catalog
from deeplake_lite.query.bind.expressions.constants import of_literal
from deeplake_lite.query.bind.expressions.subscripts import subscript
from deeplake_lite.query.functions import REGISTRY
from deeplake_lite.query.functions.user import OWN
from deeplake_lite.query.parse.dialect import AT, text_of
from deeplake_lite.query.values import Constant, Sql, Tensor, Value

if TYPE_CHECKING:
    from deeplake_lite.query.bind.expressions.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope


MOST_UNFOLDED = 2_000
"""How often names of the select list are replaced by what they stand for: each may double it."""


def column(low: Lowering, e: exp.Column, scope: Scope) -> Value:
    """Return what a name means: a column, a key within one, or what the SELECT calls so.

    Raises
    ------
    ColumnNotFoundError, QueryError
        For a name that means nothing here.
    """
    first, *rest = (part.name for part in e.parts)
    if rest:
        return _dotted(low, first, rest, e, scope)
    called = first in scope.aliases
    found = None if called and _is_called_so(e, scope) else scope.find(first, None)
    if found is None and called:
        return _aliased(low, first, scope)
    if found is None and (of_lambda := _parameter(first, scope)) is not None:
        return low.value(of_lambda, scope)
    if found is None:
        raise _unknown(e, scope)
    return found


def _parameter(name: str, scope: Scope) -> exp.Identifier | None:
    """Return the one parameter of a lambda that a name means regardless of case."""
    alike = [known for known in scope.parameters if known.casefold() == name.casefold()]
    return exp.to_identifier(alike[0]) if len(alike) == 1 else None


def _is_called_so(e: exp.Column, scope: Scope) -> bool:
    """Tell whether a name is the select list's before it is a column's."""
    return scope.names_first and not scope.in_aggregate and e not in scope.keys


def _aliased(low: Lowering, name: str, scope: Scope) -> Value:
    """Return what the select list calls so. Raises QueryError where names unfold without end."""
    low.unfolded += 1
    if low.unfolded > MOST_UNFOLDED:
        raise QueryError(
            "Names of the select list stand for their expressions, at most "
            f"{MOST_UNFOLDED:,} times in a query, but {name!r} makes it more. Compute it in a "
            f"query within: FROM (SELECT … AS {name})."
        )
    around, alias = scope.unfolding, scope.aliases.pop(name)  # so that it cannot mean itself
    scope.unfolding = (*around, name)
    try:
        meant = low.value(alias, scope)
    finally:
        scope.aliases[name], scope.unfolding = alias, around
    if isinstance(meant, Sql) and isinstance(meant.node, exp.Binary):
        return Sql(exp.paren(meant.node), meant.kind)
    return meant


def _dotted(low: Lowering, first: str, rest: list[str], e: exp.Column, scope: Scope) -> Value:
    """Return ``source.column.key…`` or ``column.key…``."""
    found, keys = scope.find(rest[0], first), rest[1:]
    if found is None:
        owners = [r for r in scope.relations if first in r.columns]
        if len(owners) > 1 and first in scope.tables():  # the source is meant
            raise scope.unknown(rest[0], first)
        found, keys = scope.find(first, None), rest
    if found is None:
        raise scope.unknown(rest[0], first)
    if keys and isinstance(found, Tensor):
        return _part(low, found, keys[0], e, scope)
    return low.value(in_brackets(e, scope), scope) if keys else found


def in_brackets(e: exp.Expr, scope: Scope) -> exp.Expr:
    """Return ``column.key`` as ``column['key']``, which means the same; anything else as it is."""
    if not isinstance(e, exp.Column) or len(e.parts) < 2:
        return e
    parts = [part.copy() for part in e.parts]
    names = [part.name for part in parts]
    if len(parts) > 2 and scope.find(names[1], names[0]) is not None:
        found: exp.Expr = exp.Column(this=parts[1], table=parts[0])
        keys = names[2:]
    elif scope.find(names[1], names[0]) is None and scope.find(names[0], None) is not None:
        found, keys = exp.Column(this=parts[0]), names[1:]
    else:
        return e
    for key in keys:
        found = exp.Bracket(this=found, expressions=[exp.Literal.string(key)])
    return found


def _unknown(e: exp.Column, scope: Scope) -> QueryError | ColumnNotFoundError:
    """Return the error for a name that means nothing; for a text in the quotes of a name, too."""
    error = scope.unknown(e.name, None)
    if not e.this.quoted or not isinstance(error, ColumnNotFoundError):
        return error
    return ColumnNotFoundError(
        f"{error.args[0]} Double quotes are around names; a text is {exp.Literal.string(e.name)}."
    )


def dot(low: Lowering, e: exp.Dot, scope: Scope) -> Value:
    """Return ``x.f(y)``, which is ``F(x, y)``, or a key of JSON.

    Raises
    ------
    NotFoundError
        For a function of a module of Python's.
    """
    parts = [part.name for part in e.this.find_all(exp.Identifier, bfs=False)]
    is_name = bool(parts) and parts[0] not in scope.parameters
    is_name = is_name and (
        isinstance(e.this, exp.Identifier) or not e.this.find(exp.Column, exp.Func)
    )
    if not isinstance(e.expression, exp.Anonymous):
        return _part(low, low.value(e.this, scope), e.expression.name, e, scope)
    called = e.expression
    if is_name and parts[0] not in scope.tables() and scope.find(parts[0], None) is None:
        name = _IN_MODULES.get(called.name.upper(), called.name.upper())
        if name not in {*REGISTRY, *OWN} and name.lower() not in catalog():
            raise unknown_function(name)
        shown = exp.Anonymous(this=name, expressions=called.expressions)
        raise NotFoundError(
            f"A function stands without a module before it: {text_of(shown)}, got {text_of(e)}."
        )
    base = exp.column(*reversed(parts)) if is_name else e.this
    chained = exp.Anonymous(this=called.this, expressions=[base.copy(), *called.expressions])
    return low.value(chained, scope)


def _part(low: Lowering, found: Value, name: str, e: exp.Expr, scope: Scope) -> Value:
    """Return a key of a JSON value, or a field of a struct. Raises QueryTypeError for a tensor."""
    if not isinstance(found, Tensor) or (found.is_scalar and not found.type.is_number):
        return subscript(low, found, [exp.Literal.string(name)], e, scope)
    function = _ATTRIBUTES.get(name, name.upper())
    raise QueryTypeError(
        f"A tensor has functions, not attributes: {function}({found.text}), got {text_of(e)}."
    )


_IN_MODULES = {
    "NORM": "L2_NORM", "ABSOLUTE": "ABS", "AMAX": "MAX", "AMIN": "MIN", "AVERAGE": "MEAN",
    "RAVEL": "FLATTEN",
}  # fmt: skip
"""Functions of NumPy's under the names that they have here, where those differ."""

_ATTRIBUTES = {"T": "TRANSPOSE"}
"""Functions that give what attributes of arrays do, where the names differ."""


def literal(low: Lowering, e: exp.Literal, scope: Scope) -> Value:
    """Return a number or a text."""
    return Constant(e.this, e) if e.is_string else of_literal(e)


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
