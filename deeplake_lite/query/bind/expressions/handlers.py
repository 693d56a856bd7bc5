"""A table of handlers, which are functions that each lower one class of syntax node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deeplake_lite.query.bind.calls import aggregates, call, casts, lambdas
from deeplake_lite.query.bind.expressions import (
    clock,
    comparisons,
    membership,
    names,
    operators,
    subscripts,
)
from deeplake_lite.query.bind.expressions.quantified import lower_quantifier
from deeplake_lite.query.bind.scalars import structs

if TYPE_CHECKING:
    from collections.abc import Callable

    from deeplake_lite.query.bind.expressions.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope
    from deeplake_lite.query.values import Value


type Handler = Callable[[Lowering, Any, Scope], Value]
"""A function that lowers a syntax node in a scope, and returns the value."""

HANDLERS: dict[str, Handler] = {
    "column": names.column,
    "dot": names.dot,
    "identifier": lambdas.parameter_of_lambda,
    "lambda": lambdas.refuse,
    "literal": names.literal,
    "boolean": names.boolean,
    "null": names.null,
    "placeholder": names.placeholder,
    "parameter": names.parameter,
    "paren": operators.paren,
    "neg": operators.neg,
    "array": operators.array_of,
    "and": operators.and_,
    "or": operators.or_,
    "not": operators.not_,
    "between": comparisons.between,
    "nullsafeeq": comparisons.null_safe,
    "nullsafeneq": comparisons.null_safe,
    "in": membership.in_,
    "is": comparisons.is_,
    "like": operators.like,
    "dpipe": operators.dpipe,
    "escape": operators.escape,
    "case": operators.case,
    "if": operators.if_,
    "cast": casts.cast,
    "interval": operators.interval,
    "extract": operators.extract,
    "currentdate": clock.current_time,
    "currenttime": clock.current_time,
    "currenttimestamp": clock.current_time,
    "localtime": clock.current_time,
    "localtimestamp": clock.current_time,
    "exists": membership.exists,
    "struct": structs.struct_of,
    "propertyeq": structs.property_of,
    "subquery": membership.subquery,
    "any": lower_quantifier,
    "all": lower_quantifier,
    "tuple": operators.tuple_of,
    "bitwiseand": operators.bitwise,
    "bitwiseor": operators.bitwise,
    "bitwisenot": operators.bitwise,
    "arrayoverlaps": operators.overlaps,
    "bracket": subscripts.bracket,
    "ilike": operators.like,
    "trycast": casts.cast,
    "anonymous": call.call,
    "window": aggregates.window,
    "filter": aggregates.filter_,
    "withingroup": aggregates.within_group,
    **dict.fromkeys((kind.key for kind in operators.ARITHMETIC), operators.arithmetic),
    **dict.fromkeys((kind.key for kind in comparisons.COMPARISON), comparisons.comparison),
}
"""Maps the keys that sqlglot gives to classes of syntax nodes to their handlers. A node without a
handler is rebuilt from its lowered parts."""
