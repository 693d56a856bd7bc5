"""Lower names of columns and aliases, literals, and parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from deeplake_lite.errors import ColumnNotFoundError, NotFoundError, QueryError, QueryTypeError
from deeplake_lite.query.bind.calls.catalog import catalog
from deeplake_lite.query.bind.calls.unknown_function import unknown_function
from deeplake_lite.query.bind.expressions.constants import literal_constant
from deeplake_lite.query.bind.expressions.subscripts import subscript
from deeplake_lite.query.functions import REGISTRY
from deeplake_lite.query.functions.user import OWN
from deeplake_lite.query.parse.added_nodes import AT
from deeplake_lite.query.parse.dialect import text_of
from deeplake_lite.query.values import Constant, Sql, Tensor, Value

if TYPE_CHECKING:
    from deeplake_lite.query.bind.expressions.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope


MAX_ALIAS_EXPANSIONS = 2_000
"""Maximum number of times that a query may replace an alias with the alias's expression.

Each replacement may double the size of the query.
"""


def column(low: Lowering, e: exp.Column, scope: Scope) -> Value:
    """Lower the name of a column, a key in a column, an alias, or a parameter of a lambda.

    Raises
    ------
    ColumnNotFoundError, QueryError
        If there is nothing with this name.
    """
    first, *others = (part.name for part in e.parts)
    if others:
        return _dotted(low, first, others, e, scope)
    alias = scope.alias(first)
    is_first = alias is not None and _alias_comes_first(e, scope)
    value = None if is_first else scope.find(first, None)
    if value is None and alias is not None:
        return _unfold(low, first, alias, scope)
    if value is None and (of_lambda := _parameter(first, scope)) is not None:
        return low.value(of_lambda, scope)
    if value is None:
        raise _unknown_name(e, scope)
    return value


def _parameter(name: str, scope: Scope) -> exp.Identifier | None:
    """Return the only parameter of a lambda that has a name, ignoring case, or None."""
    matches = [p for p in scope.parameters if p.casefold() == name.casefold()]
    return exp.to_identifier(matches[0]) if len(matches) == 1 else None


def _alias_comes_first(e: exp.Column, scope: Scope) -> bool:
    """Return whether a name means an alias even if there is a column with the same name."""
    return scope.names_first and not scope.in_aggregate and e not in scope.keys


def _unfold(low: Lowering, name: str, alias: exp.Expr, scope: Scope) -> Value:
    """Lower the expression of an alias.

    Raises QueryError if aliases have been used more than `MAX_ALIAS_EXPANSIONS` times.
    """
    low.unfolded += 1
    if low.unfolded > MAX_ALIAS_EXPANSIONS:
        raise QueryError(
            "A query may use aliases of its select list in other expressions at most "
            f"{MAX_ALIAS_EXPANSIONS:,} times, but {name!r} exceeds this limit. Compute {name!r} in "
            f"a subquery: FROM (SELECT … AS {name})."
        )
    value = low.value(alias, scope.within_alias(name))
    if isinstance(value, Sql):
        low.effort.repeat(value.node)
    if isinstance(value, Sql) and isinstance(value.node, exp.Binary):
        return Sql(exp.paren(value.node), value.kind)
    return value


def _dotted(low: Lowering, first: str, others: list[str], e: exp.Column, scope: Scope) -> Value:
    """Lower ``source.column.key…`` or ``column.key…``. `first` is its first name."""
    value, keys = scope.find(others[0], first), others[1:]
    if value is None:
        owners = [r for r in scope.relations if first in r.columns]
        if len(owners) > 1 and first in scope.tables():  # `first` is the name of a source
            raise scope.unknown(others[0], first)
        value, keys = scope.find(first, None), others
    if value is None:
        raise scope.unknown(others[0], first)
    if keys and isinstance(value, Tensor):
        return _part(low, value, keys[0], e, scope)
    return low.value(in_brackets(e, scope), scope) if keys else value


def in_brackets(e: exp.Expr, scope: Scope) -> exp.Expr:
    """Return ``column.key`` as ``column['key']``. Other expressions are returned unchanged."""
    if not isinstance(e, exp.Column) or len(e.parts) < 2:
        return e
    parts = [part.copy() for part in e.parts]
    names = [part.name for part in parts]
    if len(parts) > 2 and scope.find(names[1], names[0]) is not None:
        base: exp.Expr = exp.Column(this=parts[1], table=parts[0])
        keys = names[2:]
    elif scope.find(names[1], names[0]) is None and scope.find(names[0], None) is not None:
        base, keys = exp.Column(this=parts[0]), names[1:]
    else:
        return e
    for key in keys:
        base = exp.Bracket(this=base, expressions=[exp.Literal.string(key)])
    return base


def _unknown_name(e: exp.Column, scope: Scope) -> QueryError | ColumnNotFoundError:
    """Return the error for an unknown name, with a hint on strings for a name in double quotes."""
    error = scope.unknown(e.name, None)
    if not e.this.quoted or not isinstance(error, ColumnNotFoundError):
        return error
    return ColumnNotFoundError(
        f"{error.args[0]} Double quotes are for names; to write a string, use "
        f"{exp.Literal.string(e.name)}."
    )


def dot(low: Lowering, e: exp.Dot, scope: Scope) -> Value:
    """Lower ``x.f(y)``, which means ``F(x, y)``, or ``x.key``, a key of a JSON value.

    Raises
    ------
    NotFoundError
        If a function has the name of a module before it, as in ``np.mean(x)``.
    """
    parts = [part.name for part in e.this.find_all(exp.Identifier, bfs=False)]
    is_name = bool(parts) and parts[0] not in scope.parameters
    is_name = is_name and (
        isinstance(e.this, exp.Identifier) or not e.this.find(exp.Column, exp.Func)
    )
    if not isinstance(e.expression, exp.Anonymous):
        return _part(low, low.value(e.this, scope), e.expression.name, e, scope)
    function = e.expression
    if is_name and parts[0] not in scope.tables() and scope.find(parts[0], None) is None:
        name = _IN_MODULES.get(function.name.upper(), function.name.upper())
        if name not in {*REGISTRY, *OWN} and name.lower() not in catalog():
            raise unknown_function(name)
        call = exp.Anonymous(this=name, expressions=function.expressions)
        raise NotFoundError(
            f"Functions are called without a module, but the query contains {text_of(e)}. Write "
            f"{text_of(call)}."
        )
    base = exp.column(*reversed(parts)) if is_name else e.this
    call = exp.Anonymous(this=function.this, expressions=[base.copy(), *function.expressions])
    return low.value(call, scope)


def _part(low: Lowering, value: Value, name: str, e: exp.Expr, scope: Scope) -> Value:
    """Lower ``x.key``, a key of a JSON value or a field of a struct.

    Raises QueryTypeError if x is a tensor.
    """
    if not isinstance(value, Tensor) or (value.is_scalar and not value.type.is_number):
        return subscript(low, value, [exp.Literal.string(name)], e, scope)
    function = _ATTRIBUTES.get(name, name.upper())
    raise QueryTypeError(
        f"Tensors have no attributes in queries, but the query contains {text_of(e)}. Write "
        f"{function}({value.text})."
    )


_IN_MODULES = {
    "NORM": "L2_NORM", "ABSOLUTE": "ABS", "AMAX": "MAX", "AMIN": "MIN", "AVERAGE": "MEAN",
    "RAVEL": "FLATTEN",
}  # fmt: skip
"""Maps names of NumPy's functions to the names of these functions in queries, where they differ."""

_ATTRIBUTES = {"T": "TRANSPOSE"}
"""Maps attributes of NumPy arrays to the functions in queries that return the same value."""


def literal(low: Lowering, e: exp.Literal, scope: Scope) -> Value:
    """Lower a number or a string."""
    return Constant(e.this, e) if e.is_string else literal_constant(e)


def boolean(low: Lowering, e: exp.Boolean, scope: Scope) -> Value:
    """Lower TRUE or FALSE."""
    return Constant(bool(e.this), e)


def null(low: Lowering, e: exp.Null, scope: Scope) -> Value:
    """Lower NULL."""
    return Constant(None, e)


def placeholder(low: Lowering, e: exp.Placeholder, scope: Scope) -> Value:
    """Return the value of ``?``, or of a placeholder with a name."""
    named = isinstance(e.this, str) and e.this
    return low.params.get_named(e.this) if named else low.params.get_positional(e.meta[AT])


def parameter(low: Lowering, e: exp.Parameter, scope: Scope) -> Value:
    """Return the value of ``$name``."""
    return low.params.get_named(e.this.name)
