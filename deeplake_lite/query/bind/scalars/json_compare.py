"""Compare JSON values with each other and with other scalars.

Numbers are compared by value, and objects regardless of the order of their keys. The number 1, the
string "1" and true are three different values. A JSON null counts as an SQL null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from deeplake_lite.query.bind.expressions.constants import MOST
from deeplake_lite.query.bind.scalars.agreement import agree
from deeplake_lite.query.bind.scalars.conversions import as_json, as_text, check_ordered
from deeplake_lite.query.bind.scalars.exact import (
    MIRRORED,
    adapt_to_floats,
    adapt_to_huge_integers,
    number_of,
)
from deeplake_lite.query.bind.scalars.json_values import (
    as_number,
    equals_bool,
    equals_text,
    if_both,
    is_number,
    json_key,
    json_order,
    json_text,
    only_bool,
    only_text,
    whole_number,
)
from deeplake_lite.query.bind.scalars.kinds import is_json, kind_of
from deeplake_lite.query.bind.scalars.nan import exclude_nan
from deeplake_lite.query.values import JSON, Constant, Sql, Value

if TYPE_CHECKING:
    from deeplake_lite.query.bind.expressions.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope


def compare_json(
    kind: type[exp.Expr], left: Value, right: Value, low: Lowering, scope: Scope
) -> exp.Expr:
    """Return SQL that compares two values, at least one of which is JSON or contains JSON.

    Raises
    ------
    QueryTypeError
        If the other value is of a kind that cannot be compared with JSON, such as bytes.
    """
    agree(left, right), agree(right, left)  # raise errors for wrong kinds
    if kind is exp.EQ:
        return equals_json(left, right, low, scope)
    if is_json(right) and not is_json(left):
        return compare_json(MIRRORED[kind], right, left, low, scope)
    return _compare_order(kind, left, right, low, scope)


def equals_json(left: Value, right: Value, low: Lowering, scope: Scope) -> exp.Expr:
    """Return SQL that tests whether two values, at least one of which contains JSON, are equal."""
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
    """Return whether a value is an integer with more than 128 bits."""
    number = value.value if isinstance(value, Constant) else None
    return isinstance(number, int) and abs(number) > MOST


def _compare_order(
    kind: type[exp.Expr], value: Value, other: Value, low: Lowering, scope: Scope
) -> exp.Expr:
    """Return SQL that compares a JSON value by size with another value.

    The result is null if one of them is a string, number or boolean, and the other is of another
    kind.
    """
    check_ordered(value, other)
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
    """Return SQL that compares a JSON value with a number.

    Integers are compared exactly, and fractions as floats. For a JSON value that is not a number,
    `=` is false and other comparisons are null.
    """
    whole, real = whole_number(node), as_number(node)
    if (number := number_of(other)) is not None:
        (of_whole, integer), (of_real, float_) = (
            adapt(kind, number) for adapt in (adapt_to_huge_integers, adapt_to_floats)
        )
        sides = integer.node, float_.node
    else:
        of_whole = of_real = kind
        sides = low.as_sql(other, scope), low.as_sql(other, scope)
    is_whole = exp.not_(exp.Is(this=whole.copy(), expression=exp.null()), copy=False)
    exact: exp.Expr = of_whole(this=whole, expression=exp.paren(sides[0]))
    if number is None:
        exact = _compare_exactly(kind, whole, real, sides[0])
    ifs = [exp.If(this=is_whole, true=exact)]
    result = exp.Case(ifs=ifs, default=of_real(this=real, expression=exp.paren(sides[1])))
    ifs = [exp.If(this=is_number(node), true=result)]
    if kind is exp.EQ:
        ifs.append(if_both(node, sides[1]))
    comparison = exp.Case(ifs=ifs)
    return exclude_nan(comparison, [(sides[1], other), (json_text(node), Sql(node, JSON))])


def _compare_exactly(
    kind: type[exp.Expr], whole: exp.Expr, real: exp.Expr, other: exp.Expr
) -> exp.Expr:
    """Return SQL that compares an integer with a number of any type. Neither of them is rounded.

    The SQL compares the integer with the integer that is nearest to the number. If the two integers
    are equal, it compares the nearest integer with the number. Numbers with more than 128 bits are
    compared as floats.

    Parameters
    ----------
    kind : type of exp.Expr
        The comparison operator.
    whole : exp.Expr
        The integer, as a HUGEINT.
    real : exp.Expr
        The same integer as a float.
    other : exp.Expr
        The number.
    """
    other = exp.paren(other.copy())
    near = exp.TryCast(this=other, to=exp.DataType.build("HUGEINT"))
    comparison: exp.Expr = exp.and_(
        exp.EQ(this=whole.copy(), expression=near), kind(this=near.copy(), expression=other.copy())
    )
    if kind is not exp.EQ:
        beyond = exp.LT if kind in (exp.LT, exp.LTE) else exp.GT
        comparison = exp.or_(beyond(this=whole.copy(), expression=near.copy()), comparison)
    is_near = exp.not_(exp.Is(this=near.copy(), expression=exp.null()))
    ifs = [exp.If(this=is_near, true=comparison)]
    return exp.Case(ifs=ifs, default=kind(this=real.copy(), expression=other.copy()))
