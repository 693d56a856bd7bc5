"""The arguments of a call: positional values, named options, DISTINCT and ORDER BY."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from deeplake_lite.errors import QueryTypeError
from deeplake_lite.query.bind.calls.aggregates import order_terms
from deeplake_lite.query.bind.expressions.constants import option
from deeplake_lite.query.parse.dialect import text_of

if TYPE_CHECKING:
    from deeplake_lite.query.bind.expressions.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope
    from deeplake_lite.query.functions import Function
    from deeplake_lite.query.values import Value


@dataclass
class Arguments:
    """The lowered arguments of a call."""

    values: list[Value] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    """Maps the names of options to their values, which are constants."""
    order: list[exp.Expr] = field(default_factory=list)
    """Terms of ORDER BY within the call."""
    distinct: bool = False
    """Whether an aggregate uses each distinct value only once."""


def lower_arguments(
    low: Lowering, e: exp.Anonymous, entry: Function | None, scope: Scope, *, over_rows: bool
) -> Arguments:
    """Lower the arguments of a call, including options (``axis = 0``, ``axis := 0``).

    `entry` is the function in the registry, or None for a function of DuckDB. `over_rows` says
    whether the function aggregates rows.
    """
    arguments = Arguments()
    inside = replace(scope, in_aggregate=True) if over_rows else scope
    for position, part in enumerate(e.expressions):
        if _is_option(part, position, entry, scope):
            arguments.options[part.this.name] = option(low, part.expression, inside)
        elif entry is not None and _is_misnamed(part, entry, scope):
            raise QueryTypeError(
                f"{e.name.upper()} has no option {part.this.name}: {text_of(e)}. Write "
                f"{entry.signature}."
            )
        else:
            if isinstance(part, exp.Order):
                arguments.order, part = order_terms(low, part, inside), part.this
            if isinstance(part, exp.Distinct):
                arguments.distinct, part = True, part.expressions[0]
            arguments.values.append(low.value(part, inside))
    return arguments


def _is_option(part: exp.Expr, position: int, entry: Function | None, scope: Scope) -> bool:
    """Return whether an argument is an option: ``axis = 0``, ``axis := 0`` or ``axis => 0``.

    ``x = 1`` is a comparison, not an option, if it is the first argument, as in ``ANY(x = 1)``. It
    is also a comparison if x is a column, unless the function has a parameter x with a default.
    """
    is_equation = isinstance(part, exp.EQ | exp.PropertyEQ | exp.Kwarg)
    if not is_equation or not isinstance(part.this, exp.Column | exp.Identifier | exp.Var):
        return False
    name, parameters = part.this.name, _parameters(entry)
    if name not in parameters or not isinstance(part, exp.EQ):
        return name in parameters
    is_written_as_column = isinstance(part.this, exp.Column) and (
        bool(part.this.table) or part.this.this.quoted
    )
    is_column = name in scope.names() or scope.alias(name) is not None
    return position > 0 and not is_written_as_column and (parameters[name] or not is_column)


def _is_misnamed(part: exp.Expr, entry: Function, scope: Scope) -> bool:
    """Return whether an argument is ``name = value``, where `name` is no parameter or column."""
    if not isinstance(part, exp.EQ | exp.PropertyEQ | exp.Kwarg):
        return False
    is_name = (
        isinstance(part.this, exp.Column) and not part.this.table and not part.this.this.quoted
    )
    names = {*scope.names(), *_parameters(entry)}
    return is_name and part.this.name not in names and scope.alias(part.this.name) is None


def _parameters(entry: Function | None) -> dict[str, bool]:
    """Return a dict that tells for each parameter in a function's signature if it has a default."""
    if entry is None or "(" not in entry.signature:
        return {}
    inside = entry.signature.split("(", 1)[1].rstrip(")")
    parts = [part.strip(" *") for part in inside.split(",") if part.strip()]
    return {part.split("=")[0].strip(): "=" in part for part in parts}
