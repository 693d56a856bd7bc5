"""Lower comparisons, BETWEEN and IS.

DuckDB compares scalars, and NumPy compares tensors. Tuples of values are compared part by part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sqlglot import exp

from deeplake_lite.errors import QueryTypeError
from deeplake_lite.query.bind.expressions.digests import (
    compare_digests,
    digest,
    validity,
    with_comparable_digests,
)
from deeplake_lite.query.bind.expressions.numpy_inputs import is_array
from deeplake_lite.query.bind.expressions.quantified import compare_with_each, is_quantified
from deeplake_lite.query.bind.scalars import beside_floats
from deeplake_lite.query.bind.scalars.agreement import agree
from deeplake_lite.query.bind.scalars.conversions import (
    as_json,
    as_part,
    by_name,
    check_ordered,
    scalar_to_sql,
)
from deeplake_lite.query.bind.scalars.exact import adapt_for_equality, adapt_to_integers, number_of
from deeplake_lite.query.bind.scalars.json_compare import compare_json
from deeplake_lite.query.bind.scalars.json_values import json_key, json_text
from deeplake_lite.query.bind.scalars.kinds import (
    compares_as_json,
    has_axes,
    is_json,
    kind_of,
    lists_structs,
    needs_numpy,
)
from deeplake_lite.query.bind.scalars.moments import (
    compare_out_of_range,
    compare_with_coarser,
    differ_in_unit,
    is_fine,
    with_units,
)
from deeplake_lite.query.bind.scalars.nan import exclude_nan
from deeplake_lite.query.functions.user import OWN
from deeplake_lite.query.parse.dialect import text_of
from deeplake_lite.query.parse.duckdb_nodes import func
from deeplake_lite.query.values import BOOL, Constant, Sql, Tensor, Value

if TYPE_CHECKING:
    from deeplake_lite.query.bind.expressions.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope

COMPARISON: dict[type[exp.Expr], str] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
}  # fmt: skip
"""Maps the syntax nodes of comparisons to operators, which are also the names of the comparisons in
the function registry."""

_STRICT: dict[type[exp.Expr], type[exp.Expr]] = {exp.LTE: exp.LT, exp.GTE: exp.GT}


def compare_scalars(
    kind: type[exp.Expr], left: Value, right: Value, low: Lowering, scope: Scope
) -> exp.Expr:
    """Return the SQL that compares two scalars with the operator `kind`.

    Classes are compared by name, JSON is compared by value, and NaN is not equal to any value.
    """
    if is_quantified(right):
        return compare_with_each(kind, left, right, low, scope)
    left, right = scalar_to_sql(left, low, scope), scalar_to_sql(right, low, scope)
    left, right = low.types.refine(left), low.types.refine(right)
    kind, left, right = adapt_to_integers(kind, left, right)
    if kind is exp.NEQ:  # `<>` is true for NaN, all other comparisons are false
        return exp.not_(exp.paren(compare_scalars(exp.EQ, left, right, low, scope)))
    if compares_as_json(left, right):
        return compare_json(kind, left, right, low, scope)
    if kind is not exp.EQ:
        check_ordered(left, right)
    # SQL cannot represent a constant beyond the range of nanoseconds, so it is compared here.
    if (always := compare_out_of_range(kind, left, right)) is not None:
        side = left if is_fine(left) else right
        present = exp.not_(exp.Is(this=low.as_sql(side, scope), expression=exp.null()))
        constant = exp.true() if always else exp.false()
        return exp.Case(ifs=[exp.If(this=present, true=constant)])
    left, right = with_units(agree(left, right), agree(right, left), low)
    if kind_of(left).name == kind_of(right).name == "list":  # DuckDB compares their items directly
        left, right = as_part(left), as_part(right)
    a, b = low.as_sql(left, scope), low.as_sql(right, scope)
    kinds = kind_of(left), kind_of(right)
    node = compare_with_coarser(kind, (left, right), (a, b)) or kind(this=a, expression=b)
    if beside_floats.are_mixed(*kinds):
        node = beside_floats.compare(kind, (a, b), kinds)
    return exclude_nan(node, [(a, left), (b, right)])


def comparison(low: Lowering, e: exp.Expr, scope: Scope) -> Value:
    """Lower a comparison of two values."""
    if isinstance(e.this, exp.Tuple) and isinstance(e.expression, exp.Tuple):
        return low.value(_compare_parts(e), scope)
    if type(e.this) in COMPARISON:
        if not isinstance(e.this.expression, exp.DPipe):
            low.value(e.this, scope)  # raise errors of the first comparison first
        raise chained_error(e)
    if (value := _compare_hashed(low, e, scope)) is not None:
        return value
    left, right = (low.types.refine(low.value(p, scope)) for p in (e.this, e.expression))
    _check_any(e, e.this, right)
    _check_any(e, e.expression, left)
    kind, left, right = adapt_to_integers(type(e), *with_comparable_digests(left, right, low))
    if not compares_as_json(left, right) and _is_elementwise(left, right):
        return low.call(COMPARISON[kind], [left, right], {}, e)
    return Sql(compare_scalars(kind, left, right, low, scope), BOOL)


def _compare_hashed(low: Lowering, e: exp.Expr, scope: Scope) -> Value | None:
    """Lower HASH(x) = HASH(list) as a comparison of x with the list.

    The type of x determines whether the list is an array, class names or JSON. Returns None for
    other comparisons.
    """
    sides = [
        side.expressions[0]
        for side in (e.this, e.expression)
        if isinstance(side, exp.Anonymous)
        and side.name.upper() == "HASH"
        and "HASH" not in OWN
        and len(side.expressions) == 1
    ]
    if len(sides) < 2 or not isinstance(e, exp.EQ | exp.NEQ):
        return None
    values = [low.value(side, scope) for side in sides]
    literals = [v.value for v in values if isinstance(v, Constant)]
    if not any(isinstance(value, list | dict | np.ndarray) for value in literals):
        return None
    if any(map(is_json, values)):
        return low.value(type(e)(this=sides[0].copy(), expression=sides[1].copy()), scope)
    if all(map(needs_numpy, values)):
        tensors = [low.as_tensor(v, text_of(e)) for v in values]
        return Sql(compare_digests(type(e), tensors[0], tensors[1], low, scope), BOOL)
    return None


def _check_any(e: exp.Expr, part: exp.Expr, other: Value) -> None:
    """Raise QueryTypeError for ``x = ANY(y)`` if x is a number or a string.

    Here, ANY(y) is true or false. In standard SQL, ``x = ANY(y)`` compares x with each element of
    y.

    Parameters
    ----------
    e : exp.Expr
        The comparison.
    part : exp.Expr
        The side of the comparison that may be a call of ANY or ALL.
    other : Value
        The value of the other side.
    """
    quantifier = part.name.upper() if isinstance(part, exp.Anonymous) else ""
    if quantifier not in ("ANY", "ALL") or quantifier in OWN or len(part.expressions) != 1:
        return
    if kind_of(other).name in ("bool", "any") and not needs_numpy(other):
        return
    sides = [part.expressions[0] if side is part else side for side in (e.this, e.expression)]
    each = type(e)(this=sides[0].copy(), expression=sides[1].copy())
    raise QueryTypeError(
        f"{text_of(part)} is true or false, so it cannot be compared with numbers or strings, but "
        f"the query contains {text_of(e)}. To compare each element, write "
        f"{quantifier}({text_of(each)})."
    )


def _is_elementwise(left: Value, right: Value) -> bool:
    """Return whether NumPy compares two values element by element.

    This is the case if one of them is a tensor, or if one is a list from DuckDB, such as the result
    of KEYS, and the other is a single value.
    """
    if needs_numpy(left) or needs_numpy(right):
        return True
    kinds = kind_of(left), kind_of(right)
    listed = [k.item for k in kinds if k.name == "list"]
    return len(listed) == 1 and listed[0] is not None and listed[0].name in ("text", "number")


def chained_error(e: exp.Expr) -> QueryTypeError:
    """Return the error for ``a < b < c``, and for ``a = b || c = d``, which is parsed alike."""
    joined = e.this.expression
    if isinstance(joined, exp.DPipe):
        first = type(e.this)(this=e.this.this.copy(), expression=joined.this.copy())
        second = type(e)(this=joined.expression.copy(), expression=e.expression.copy())
        return QueryTypeError(
            "|| joins strings, so it cannot connect the conditions in "
            f"{text_of(e)}. Write {text_of(first)} OR {text_of(second)}."
        )
    second = type(e)(this=joined.copy(), expression=e.expression.copy())
    return QueryTypeError(
        f"Comparisons cannot be chained, but the query contains {text_of(e)}. Write "
        f"{text_of(e.this)} AND {text_of(second)}, or put one comparison in parentheses."
    )


def _compare_parts(e: exp.Expr) -> exp.Expr:
    """Return a comparison of two tuples as a combination of comparisons of single values.

    Raises
    ------
    QueryTypeError
        If the tuples are empty or have different lengths.
    """
    pairs = list(zip(e.this.expressions, e.expression.expressions, strict=False))
    if not pairs or len(e.this.expressions) != len(e.expression.expressions):
        raise QueryTypeError(
            "Tuples can be compared only if they have the same number of values and at least one, "
            f"but the query compares {text_of(e.this)} with {text_of(e.expression)}. Leave out "
            "values, or add values."
        )
    # The nodes are not copied, so that parts that occur in several options are lowered only once.
    equal = [exp.EQ(this=a, expression=b) for a, b in pairs]
    if isinstance(e, exp.EQ):
        return exp.paren(exp.and_(*equal, copy=False), copy=False)
    if isinstance(e, exp.NEQ):
        return exp.not_(exp.paren(exp.and_(*equal, copy=False), copy=False), copy=False)
    options = []
    for at, (a, b) in enumerate(pairs):
        kind = type(e) if at == len(pairs) - 1 else _STRICT.get(type(e), type(e))
        options.append(exp.and_(*equal[:at], kind(this=a, expression=b), copy=False))
    return exp.paren(exp.or_(*options, copy=False), copy=False)


def between(low: Lowering, e: exp.Between, scope: Scope) -> Value:
    """Lower BETWEEN as two comparisons."""
    least = exp.GTE(this=e.this, expression=e.args["low"])
    most = exp.LTE(this=e.this, expression=e.args["high"])
    return low.value(exp.And(this=least, expression=most), scope)


def null_safe(low: Lowering, e: exp.Expr, scope: Scope) -> Value:
    """Lower IS [NOT] DISTINCT FROM."""
    left, right = low.value(e.this, scope), low.value(e.expression, scope)
    for side, other in ((e.this, right), (e.expression, left)):
        if isinstance(other, Constant) and other.value is None:
            test = is_(low, exp.Is(this=side, expression=exp.null()), scope)
            node = low.as_sql(test, scope)
            return Sql(exp.not_(node) if isinstance(e, exp.NullSafeNEQ) else node, BOOL)
    left, right = low.types.refine(left), low.types.refine(right)
    left, right = with_comparable_digests(left, right, low)
    left, right = adapt_for_equality(left, right), adapt_for_equality(right, left)
    if _are_whole_tensors(left, right):
        tensors = [low.as_tensor(by_name(side), text_of(e)) for side in (left, right)]
        return Sql(compare_digests(type(e), tensors[0], tensors[1], low, scope), BOOL)
    left, right = scalar_to_sql(left, low, scope), scalar_to_sql(right, low, scope)
    left, right = with_units(left, right, low)
    pairs = ((left, right), (right, left))
    if differ_in_unit(left, right):
        return Sql(_null_safe_of_moments(e, left, right, low, scope), BOOL)
    if compares_as_json(left, right):
        if any(number_of(side) is not None for side in (left, right)):
            equal = func("coalesce", compare_scalars(exp.EQ, left, right, low, scope), exp.false())
            return Sql(exp.not_(equal) if isinstance(e, exp.NullSafeNEQ) else equal, BOOL)
        sides = [json_key(as_json(agree(*pair), low, scope)) for pair in pairs]
    else:
        sides = [low.as_sql(agree(*pair), scope) for pair in pairs]
        kinds = kind_of(left), kind_of(right)
        if beside_floats.are_mixed(*kinds):
            sides = [beside_floats.key(*pair) for pair in zip(sides, kinds, strict=True)]
    return Sql(type(e)(this=sides[0], expression=sides[1]), BOOL)


def _are_whole_tensors(*sides: Value) -> bool:
    """Return whether the two values are tensors, or a tensor and a list from DuckDB."""
    if all(map(needs_numpy, sides)):
        return True
    lists = [kind_of(s).name == "list" and not lists_structs(kind_of(s)) for s in sides]
    return any(lists) and any(isinstance(s, Tensor) and needs_numpy(s) for s in sides)


def _null_safe_of_moments(
    e: exp.Expr, left: Value, right: Value, low: Lowering, scope: Scope
) -> exp.Expr:
    """Return IS [NOT] DISTINCT FROM for timestamps in different units, using an exact ``=``."""
    nulls = [
        exp.Is(this=exp.paren(low.as_sql(side, scope)), expression=exp.null())
        for side in (left, right)
    ]
    equal = func("coalesce", compare_scalars(exp.EQ, left, right, low, scope), exp.false())
    same = exp.paren(exp.or_(equal, exp.and_(*nulls)))
    return exp.not_(same) if isinstance(e, exp.NullSafeNEQ) else same


def is_(low: Lowering, e: exp.Is, scope: Scope) -> Value:
    """Lower IS NULL, IS TRUE, IS FALSE and IS NAN.

    IS NULL of an unchanged column reads only which values are null, not the values.
    """
    if isinstance(e.expression, exp.Column) and e.expression.name.upper() == "NAN":
        return low.value(exp.Anonymous(this="ISNAN", expressions=[e.this]), scope)
    if not isinstance(e.expression, exp.Null | exp.Boolean):
        raise QueryTypeError(
            "IS must be followed by NULL, TRUE, FALSE, NAN or DISTINCT FROM, but the query "
            f"contains {text_of(e)}. Compare values with =."
        )
    value = low.value(e.this, scope)
    if is_array(value) and isinstance(e.expression, exp.Null):
        return Sql(exp.false(), BOOL)
    if isinstance(value, Tensor) and value.plain is not None:
        valid = validity(value)
        return Sql(exp.Is(this=low.as_sql(valid, scope), expression=exp.null()), BOOL)
    if isinstance(value, Tensor) and has_axes(value) and isinstance(e.expression, exp.Null):
        node = low.as_sql(digest(value, low, null=True), scope)
    elif is_json(value) and isinstance(e.expression, exp.Boolean):
        node = low.condition(value, scope)
    else:
        node = low.as_sql(value, scope)
        if isinstance(value, Sql) and is_json(value):
            node = json_text(node)  # a null within JSON counts as null
    return Sql(exp.Is(this=node, expression=e.expression.copy()), BOOL)
