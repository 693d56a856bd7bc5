"""Comparisons of JSON values, with each other and with values of SQL's.

Numbers are compared by value, objects regardless of the order of their keys. The number 1, the text
"1" and true are three values; JSON's null is null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from deeplake_lite.query.bind.constants import MOST
from deeplake_lite.query.bind.exact import (
    MIRRORED,
    beside_floats,
    beside_huge_integers,
    number_of,
)
from deeplake_lite.query.bind.json_values import (
    as_number,
    equals_bool,
    equals_text,
    if_both,
    is_number,
    json_key,
    json_order,
    only_bool,
    only_text,
    whole_number,
)
from deeplake_lite.query.bind.kinds import agree, as_json, as_text, is_json, kind_of
from deeplake_lite.query.dialect import func
from deeplake_lite.query.values import Constant, Value

if TYPE_CHECKING:
    from deeplake_lite.query.bind.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope


def compare_json(
    kind: type[exp.Expr], left: Value, right: Value, low: Lowering, scope: Scope
) -> exp.Expr:
    """Return a comparison of two values, one of which is JSON. Raises QueryTypeError for bytes."""
    agree(left, right), agree(right, left)  # refuse what compares with its own kind alone
    if kind is exp.EQ:
        return equals_json(left, right, low, scope)
    if not is_json(left):
        return compare_json(MIRRORED[kind], right, left, low, scope)
    return _ordered(kind, left, right, low, scope)


def equals_json(left: Value, right: Value, low: Lowering, scope: Scope) -> exp.Expr:
    """Return whether two values are equal, one of which is JSON."""
    value, other = (left, right) if is_json(left) else (right, left)
    if is_json(value) and not isinstance(value, Constant):
        node = low.as_sql(value, scope)
        match kind_of(other).name:
            case "text" | "class":
                return equals_text(node, as_text(other, low, scope))
            case "number" if not _is_huge(other):
                return _compare_numbers(exp.EQ, node, other, low, scope)
            case "bool":
                return equals_bool(node, low.as_sql(other, scope))
    keys = [json_key(as_json(side, low, scope)) for side in (left, right)]
    return exp.EQ(this=keys[0], expression=keys[1])


def _is_huge(value: Value) -> bool:
    """Tell whether a value is an integer of more than 128 bits."""
    number = value.value if isinstance(value, Constant) else None
    return isinstance(number, int) and abs(number) > MOST


def _ordered(
    kind: type[exp.Expr], value: Value, other: Value, low: Lowering, scope: Scope
) -> exp.Expr:
    """Return whether a JSON value is less or greater than another value; null of another kind."""
    node = low.as_sql(value, scope)
    match kind_of(other).name:
        case "text" | "class":
            return kind(this=only_text(node), expression=as_text(other, low, scope))
        case "number":
            return _compare_numbers(kind, node, other, low, scope)
        case "bool":
            return kind(this=only_bool(node), expression=low.as_sql(other, scope))
    return kind(this=json_order(node), expression=json_order(as_json(other, low, scope)))


def _compare_numbers(
    kind: type[exp.Expr], node: exp.Expr, other: Value, low: Lowering, scope: Scope
) -> exp.Expr:
    """Return a comparison of a JSON value with a number: of integers exact, of others as floats.

    Of a JSON value of another kind `=` is false, and the others are null.
    """
    whole, real = whole_number(node), as_number(node)
    if (number := number_of(other)) is not None:
        (of_whole, integer), (of_real, given) = (
            beside(kind, number) for beside in (beside_huge_integers, beside_floats)
        )
        sides = integer.node, given.node
    else:
        of_whole = of_real = kind
        sides = low.as_sql(other, scope), low.as_sql(other, scope)
    is_whole = exp.not_(exp.Is(this=whole.copy(), expression=exp.null()))
    ifs = [exp.If(this=is_whole, true=of_whole(this=whole, expression=exp.paren(sides[0])))]
    compared = exp.Case(ifs=ifs, default=of_real(this=real, expression=exp.paren(sides[1])))
    ifs = [exp.If(this=is_number(node), true=compared)]
    if kind is exp.EQ:
        ifs.append(if_both(node, sides[1]))
    found = exp.Case(ifs=ifs)
    if not kind_of(other).real:
        return found
    return exp.paren(exp.and_(found, exp.not_(func("isnan", sides[1].copy()))))
