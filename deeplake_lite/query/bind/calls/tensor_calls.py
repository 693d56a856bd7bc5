"""Lower calls with at least one tensor argument."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from deeplake_lite.errors import QueryTypeError
from deeplake_lite.query.bind.calls import function_names
from deeplake_lite.query.bind.calls.aggregates import aggregate_group, map_rows, pick_row
from deeplake_lite.query.bind.calls.catalog import catalog
from deeplake_lite.query.bind.calls.unknown_function import unknown_function
from deeplake_lite.query.bind.expressions.digests import count_argument
from deeplake_lite.query.bind.scalars.conversions import ordering
from deeplake_lite.query.bind.scalars.kinds import has_axes, needs_numpy
from deeplake_lite.query.functions import REGISTRY
from deeplake_lite.query.parse.added_nodes import CALL
from deeplake_lite.query.parse.dialect import text_of
from deeplake_lite.query.values import NUMBER, Sql, Tensor, Value

if TYPE_CHECKING:
    from deeplake_lite.query.bind.calls.arguments import Arguments
    from deeplake_lite.query.bind.expressions.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope


def call_tensors(
    low: Lowering, name: str, arguments: Arguments, e: exp.Anonymous, scope: Scope
) -> Value:
    """Lower a call with at least one tensor argument."""
    args, first = arguments.values, arguments.values[0]
    if arguments.distinct:
        raise QueryTypeError(
            f"DISTINCT in a call needs one value per row, but {text_of(_tensor_among(args, e))} is "
            "a tensor. Select the distinct rows first: FROM (SELECT DISTINCT x FROM …)."
        )
    if name == "COUNT" and isinstance(first, Tensor):
        scope.count_aggregate()
        return Sql(
            exp.Anonymous(this="COUNT", expressions=[count_argument(first, low, scope)]), NUMBER
        )
    if name in function_names.BY_ANOTHER and len(args) > 2:
        raise QueryTypeError(
            f"{name} of a tensor returns the value of one row, but the call is {text_of(e)}. For "
            "the values of n rows, write ORDER BY … LIMIT n."
        )
    # Functions that pick a row are applied to row positions instead of tensors, so that tensors
    # are read only for the rows in the result.
    if (
        name in function_names.PICKS
        and isinstance(first, Tensor)
        and not any(map(has_axes, args[1:]))
    ):
        if name not in function_names.WINDOWS:
            scope.count_aggregate()
        other_args = [ordering(a, low, scope) for a in args[1:]]
        if name in function_names.PASSES_NULLS:
            present = count_argument(first, low, scope)
            first = map_rows(first, lambda row: _where_present(row, present), text_of(e))
        return pick_row(first, name, other_args, arguments.order, text_of(e))
    if name in function_names.LISTS and isinstance(first, Tensor):
        scope.count_aggregate()
        return aggregate_group(first, "LIST", text_of(e), arguments.order)
    is_complex = isinstance(first, Tensor) and first.is_scalar and needs_numpy(first)
    if is_complex and function_names.ELEMENTWISE.get(name, name) in ("MIN", "MAX", "MEDIAN"):
        raise QueryTypeError(
            f"{text_of(e)} compares values by size, but complex numbers have no order. Use their "
            "absolute values: ABS(x)."
        )
    # SUM, MIN, … of a tensor aggregate over a group if there is one. Without a group, and within
    # another aggregate, they reduce the tensor of each row.
    over_group = (scope.grouped or is_complex) and not scope.in_aggregate
    if name in function_names.ROWWISE and over_group and not arguments.options and len(args) == 1:
        scope.count_aggregate()
        first = low.as_tensor(first, text_of(e))
        return aggregate_group(first, function_names.ELEMENTWISE.get(name, name), text_of(e))
    if arguments.order:
        raise QueryTypeError(
            f"Only aggregates take ORDER BY within a call, but the call is {text_of(e)}. Leave out "
            "ORDER BY."
        )
    if name in ("COALESCE", "IFNULL"):
        return low.value(_first_present(e), scope)
    if name in REGISTRY:
        return low.call(name, args, arguments.options, e)
    if name.lower() in catalog():
        raise QueryTypeError(
            f"{name} takes one value per row, but {text_of(_tensor_among(args, e))} is a tensor. "
            "Reduce it, for example with MEAN(…), or take an element of it."
        )
    raise unknown_function(name)


def _where_present(row: exp.Expr, present: exp.Expr) -> exp.Expr:
    """Return SQL for a row position that is null where `present` is null.

    Aggregates skip rows with a null position.
    """
    is_present = exp.not_(exp.Is(this=present.copy(), expression=exp.null()))
    return exp.Case(ifs=[exp.If(this=is_present, true=row)])


def _tensor_among(args: list[Value], e: exp.Anonymous) -> exp.Expr:
    """Return the first argument that is a tensor, as written in the query."""
    parts: list[exp.Expr] = e.expressions
    return next(p for p, a in zip(parts, args, strict=False) if needs_numpy(a))


def _first_present(e: exp.Anonymous) -> exp.Case:
    """Return a CASE that is equivalent to a COALESCE of tensors."""
    *others, last = e.expressions
    ifs = [exp.If(this=exp.Not(this=exp.Is(this=p, expression=exp.null())), true=p) for p in others]
    case = exp.Case(ifs=ifs, default=last)
    case.meta[CALL] = e.name.upper(), text_of(e)
    return case
