"""Lower a function call to SQL for DuckDB, a tree for NumPy, or an aggregate over a group.

DuckDB computes functions of scalars. The registry contains functions of tensors, which NumPy
computes. Some names, such as SUM and MIN, belong to a function of each kind. With such a name, a
call on a tensor outside of GROUP BY reduces the tensor of each row with NumPy, and any other call
is an aggregate of rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from deeplake_lite.errors import QueryError, QueryTypeError
from deeplake_lite.query.bind.calls import function_names
from deeplake_lite.query.bind.calls.arguments import lower_arguments
from deeplake_lite.query.bind.calls.lambdas import LAMBDAS
from deeplake_lite.query.bind.calls.scalar_calls import call_scalars
from deeplake_lite.query.bind.calls.special import OF_OTHERS, SPECIAL
from deeplake_lite.query.bind.calls.tensor_calls import call_tensors
from deeplake_lite.query.bind.expressions.numpy_inputs import as_column
from deeplake_lite.query.bind.scalars.kinds import has_axes, needs_numpy
from deeplake_lite.query.functions import REGISTRY
from deeplake_lite.query.functions.user import OWN
from deeplake_lite.query.parse.dialect import text_of
from deeplake_lite.query.values import Sql, Tensor, Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from deeplake_lite.query.bind.expressions.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope
    from deeplake_lite.query.functions import Function


_OPERATORS: dict[str, Callable[[exp.Anonymous], exp.Expr]] = {
    "DATE_ADD": lambda e: exp.Add(this=e.expressions[0], expression=e.expressions[1]),
    "EQUALS": lambda e: exp.EQ(this=e.expressions[0], expression=e.expressions[1]),
    "LOGICAL_AND": lambda e: exp.and_(*e.expressions),
    "LOGICAL_OR": lambda e: exp.or_(*e.expressions),
    "LOGICAL_NOT": lambda e: exp.Not(this=e.expressions[0]),
    "NULLIF": lambda e: exp.Case(
        ifs=[
            exp.If(this=exp.EQ(this=e.expressions[0], expression=e.expressions[1]), true=exp.null())
        ],
        default=e.expressions[0],
    ),
}
"""Maps each function that is replaced with an operator or with CASE to its replacement."""

_ARGUMENT_COUNTS = {
    "DATE_ADD": 2, "EQUALS": 2, "LOGICAL_AND": 2, "LOGICAL_OR": 2, "LOGICAL_NOT": 1, "NULLIF": 2,
}  # fmt: skip
"""Maps each function in `_OPERATORS` to its number of arguments. LOGICAL_AND and LOGICAL_OR also
accept more arguments."""

_RETURNS_WHOLE = function_names.PICKS | function_names.LISTS | {"COALESCE", "IFNULL"}
"""Functions that return their arguments, or values among them, unchanged."""

NAMED = _OPERATORS.keys() | SPECIAL.keys() | OF_OTHERS.keys() | LAMBDAS.keys() | {"COLUMNS"}
"""Names of functions that `call` handles before it searches the registry and DuckDB's catalog."""


def call(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value:
    """Lower a function call.

    Raises
    ------
    NotFoundError
        For an unknown function. The message suggests similar names.
    """
    name = e.name.upper()
    if name in OWN:
        return _call_user_function(low, OWN[name], e, scope)
    if name == "COLUMNS":
        raise QueryError("COLUMNS is not part of the language. Name the columns, or write *.")
    if name in ("ARRAY_VALUE", "LIST_PACK", "LIST_VALUE"):
        return low.value(exp.Array(expressions=e.expressions), scope)
    if name in _OPERATORS:
        count, least = len(e.expressions), _ARGUMENT_COUNTS[name]
        if count < least or (count > least and name not in ("LOGICAL_AND", "LOGICAL_OR")):
            noun = "argument" if least == 1 else "arguments"
            raise QueryTypeError(
                f"{name} takes {least} {noun}, but the call has {count}: {text_of(e)}."
            )
        if name == "NULLIF":
            _check_nullif(low, e, scope)
        return low.value(_OPERATORS[name](e), scope)
    if name in function_names.TAKES_NOTHING and e.expressions:
        raise QueryTypeError(
            f"{name}() takes no arguments, but the call is {text_of(e)}. Leave out the arguments."
        )
    special = SPECIAL.get(name) or OF_OTHERS.get(name) or LAMBDAS.get(name)
    if special is not None:
        value: Value | None = special(low, e, scope)
        if value is not None:
            return value
    args = lower_arguments(
        low, e, REGISTRY.get(name), scope, over_rows=name in function_names.AGGREGATES
    )
    # These functions return their argument unchanged, so a sequence must stay a list. NumPy would
    # turn it into an array.
    if name in _RETURNS_WHOLE:
        pairs = zip(args.values, e.expressions, strict=True)
        args.values = [as_column(value, text_of(part)) for value, part in pairs]
    has_tensors = name in REGISTRY and name != "COUNT" and any(map(has_axes, args.values))
    if has_tensors or any(isinstance(a, Tensor) and needs_numpy(a) for a in args.values):
        return call_tensors(low, name, args, e, scope)
    if name in REGISTRY and name not in function_names.OF_SCALARS:
        return low.call(name, args.values, args.options, e)
    if args.options:
        named = ", ".join(args.options)
        raise QueryTypeError(
            f"{name} has no option {named} for scalars, but the call is {text_of(e)}. Leave out "
            f"{named}."
        )
    return call_scalars(low, name, args, e, scope)


def _check_nullif(low: Lowering, e: exp.Anonymous, scope: Scope) -> None:
    """Reject tensors in NULLIF, and limit the size of its arguments, which the CASE repeats.

    Raises
    ------
    QueryTypeError
        If an argument is a tensor, because comparing tensors gives more than one value per row.
    """
    for part in e.expressions:
        value = low.value(part, scope)
        if isinstance(value, Tensor) and has_axes(value):
            x, y = map(text_of, e.expressions)
            raise QueryTypeError(
                f"NULLIF compares one value per row, but {text_of(part)} is a tensor, "
                f"{value.type}. To compare whole values, write CASE WHEN {x} IS NOT DISTINCT FROM "
                f"{y} THEN NULL ELSE {x} END."
            )
        if isinstance(value, Sql):
            low.effort.repeat(value.node)


def _call_user_function(low: Lowering, entry: Function, e: exp.Anonymous, scope: Scope) -> Tensor:
    """Lower a call to a function that the user has registered."""
    args = lower_arguments(low, e, entry, scope, over_rows=False)
    if args.distinct or args.order:
        raise QueryTypeError(
            f"Only aggregates take DISTINCT or ORDER BY within a call, but the call is "
            f"{text_of(e)}. Leave out DISTINCT and ORDER BY."
        )
    return low.call(entry, args.values, args.options, e)
