"""Lower operators, CASE, LIKE and similar syntax.

DuckDB computes scalars, and NumPy computes values with axes.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

import numpy as np
from sqlglot import exp

from deeplake_lite.brief import brief
from deeplake_lite.errors import QueryTypeError
from deeplake_lite.query.bind.calls import growth
from deeplake_lite.query.bind.expressions.comparisons import chained_error, compare_scalars
from deeplake_lite.query.bind.expressions.constants import list_of, negate, null_tensor
from deeplake_lite.query.bind.expressions.forms import unify_tensors
from deeplake_lite.query.bind.expressions.numpy_inputs import is_array
from deeplake_lite.query.bind.expressions.rebuild import rebuild
from deeplake_lite.query.bind.scalars import beside_floats
from deeplake_lite.query.bind.scalars.agreement import (
    check_bytes,
    check_column,
    parse_fractions,
    parse_times,
    unify,
)
from deeplake_lite.query.bind.scalars.conversions import (
    as_json,
    as_part,
    as_text,
    by_name,
    scalar_to_sql,
)
from deeplake_lite.query.bind.scalars.exact import parse_fraction
from deeplake_lite.query.bind.scalars.json_values import as_exact_number
from deeplake_lite.query.bind.scalars.kinds import (
    WORDS,
    has_axes,
    is_json,
    is_null_constant,
    kind_of,
    kind_of_two,
    needs_numpy,
)
from deeplake_lite.query.bind.scalars.moments import (
    FINE_UNITS,
    as_timestamp,
    check_beside_time,
    floor_to_microseconds,
    read_quoted_times,
    sum_of_moments,
    with_units_beside_texts,
)
from deeplake_lite.query.database.times import check_microseconds
from deeplake_lite.query.functions.user import OWN
from deeplake_lite.query.parse.added_nodes import CALL, WORDY
from deeplake_lite.query.parse.dialect import text_of
from deeplake_lite.query.parse.duckdb_nodes import as_list, func
from deeplake_lite.query.values import (
    BOOL,
    BYTES,
    JSON,
    LIST,
    NUMBER,
    REAL,
    TEXT,
    TIME,
    Choice,
    Constant,
    Kind,
    Sql,
    Tensor,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deeplake_lite.query.bind.expressions.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope


ARITHMETIC: dict[type[exp.Expr], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.IntDiv: "//", exp.Mod: "%",
    exp.Pow: "**",
}  # fmt: skip
_SMALL = {"int8", "int16", "int32", "uint8", "uint16", "uint32"}


def paren(low: Lowering, e: exp.Paren, scope: Scope) -> Value:
    """Lower an expression in parentheses."""
    inner = low.value(e.this, scope)
    return Sql(exp.paren(inner.node), inner.kind) if isinstance(inner, Sql) else inner


def neg(low: Lowering, e: exp.Neg, scope: Scope) -> Value:
    """Lower ``-x``."""
    operand = low.value(e.this, scope)
    if isinstance(operand, Constant) and isinstance(operand.value, int | float):
        return negate(operand)
    if needs_numpy(operand):
        return low.call("NEG", [operand], {}, e)
    _refuse_bytes(e.this, operand, e)
    node = _as_operand(low.as_sql(operand, scope), operand, e)
    return Sql(exp.Neg(this=node), kind_of_two(operand, operand))


def array_of(low: Lowering, e: exp.Array, scope: Scope) -> Value:
    """Lower ``[a, b]``, in which classes become their names.

    If all items are constants, the list is a constant, too.
    """
    if e.meta.get(WORDY):
        scope.check_word("array", "ARRAY[…] makes a list", '"array"[…]', "[…] alone for a list")
    parts = [scalar_to_sql(low.value(p, scope), low, scope) for p in e.expressions]
    parts = parse_fractions(parse_times(parts))
    check_column(map(by_name, parts))
    parts = [as_part(p) for p in parts]
    if any(map(is_json, parts)):
        parts = [as_part(Sql(as_json(p, low, scope), JSON)) for p in parts]
    constants = [p for p in parts if isinstance(p, Constant)]
    if len(constants) == len(parts):
        return list_of(constants)
    parts = [low.types.refine(p) for p in parts]
    parts = beside_floats.as_floats(parts, [kind_of(p) for p in parts])
    node = as_list(*(low.as_sql(p, scope) for p in parts))
    kinds = {kind_of(p) for p in parts if not is_null_constant(p)}
    has_several_units = len({kind.time_dtype for kind in kinds}) > 1
    if len(kinds) > 1:
        kinds = {replace(kind, htype=None, dtype="") for kind in kinds}
    if len(kinds) > 1 and {kind.name for kind in kinds} == {"number"}:
        kinds = {REAL}
    if {kind.name for kind in kinds} == {"time"} and has_several_units:
        return low.types.refine(Sql(node, LIST))
    return Sql(node, Kind("list", item=kinds.pop()) if len(kinds) == 1 else LIST)


def arithmetic(low: Lowering, e: exp.Expr, scope: Scope) -> Value:
    """Lower an arithmetic operator with two operands."""
    left, right = low.value(e.this, scope), low.value(e.expression, scope)
    if isinstance(e, exp.Mod) and _leaves_random_unchanged(e.this, right):
        raise QueryTypeError(
            f"RANDOM() is at least 0 and below 1, so {text_of(e)} would be RANDOM() itself. Write "
            f"FLOOR(RANDOM() * {text_of(e.expression)}) for random whole numbers below "
            f"{text_of(e.expression)}."
        )
    if needs_numpy(left) or needs_numpy(right):
        return low.call(ARITHMETIC[type(e)], [left, right], {}, e)
    for part, value in ((e.this, left), (e.expression, right)):
        _refuse_bytes(part, value, e)
    left, right = with_units_beside_texts((left, right), low)
    if isinstance(e, exp.Add | exp.Sub):
        check_beside_time(e.this, left, right)
        check_beside_time(e.expression, right, left)
    left, right = read_quoted_times(type(e), (left, right))
    if (moments := sum_of_moments(e, left, right, low, scope)) is not None:
        return moments
    left, right = parse_fraction(left), parse_fraction(right)
    sides = [_as_operand(low.as_sql(v, scope), v, e) for v in (left, right)]
    node = type(e)(this=sides[0], expression=sides[1])
    if isinstance(e, exp.Div):
        return Sql(node, REAL)
    if not (_is_whole(left) and _is_whole(right)):
        if isinstance(e, exp.IntDiv):
            node = func("trunc", node)  # DuckDB's // does not round floats
        elif isinstance(e, exp.Mod) and not _is_divisor(right):
            # The remainder of a division by 0 is null; DuckDB returns NaN for floats.
            node.set("expression", func("nullif", sides[1], exp.convert(0)))
    if any(kind_of(v).is_clock for v in (left, right)):  # a time of day or a duration
        return low.types.refine(Sql(node))
    return Sql(node, kind_of_two(left, right))


def _is_whole(value: Value) -> bool:
    """Return whether a scalar is known to be an integer."""
    if isinstance(value, Constant):
        return type(value.value) is int
    dtype = kind_of(value).column_dtype
    return bool(dtype) and np.dtype(dtype).kind in "iu"


def _is_divisor(value: Value) -> bool:
    """Return whether a value is known to be a number other than 0."""
    number = value.value if isinstance(value, Constant) else None
    return isinstance(number, int | float) and number != 0


def _leaves_random_unchanged(e: exp.Expr, modulus: Value) -> bool:
    """Return whether ``e % modulus`` is ``RANDOM() % number`` with the result ``RANDOM()``."""
    number = modulus.value if isinstance(modulus, Constant) else None
    call = e.unnest()
    is_random = isinstance(call, exp.Anonymous) and call.name.upper() == "RANDOM"
    return "RANDOM" not in OWN and is_random and isinstance(number, int | float) and number >= 1


def _refuse_bytes(part: exp.Expr, value: Value, e: exp.Expr) -> None:
    """Raise QueryTypeError if an operand of an arithmetic operator is bytes or a list."""
    kind = kind_of(value).name
    if kind in ("bytes", "list"):
        raise QueryTypeError(
            f"Arithmetic needs numbers, but {text_of(part)} is {WORDS[kind]}: {text_of(e)}. "
            "Compute with a number, such as LENGTH(x) or an item of a list."
        )


def _as_operand(node: exp.Expr, value: Value, e: exp.Expr) -> exp.Expr:
    """Return the SQL of an operand, with small integers cast to BIGINT, and JSON to a number."""
    kind = kind_of(value)
    if kind.name == "json":
        return as_exact_number(node, text_of(e))
    dtype = value.type.dtype if isinstance(value, Tensor) else kind.column_dtype
    if dtype in _SMALL:
        return exp.cast(node, "BIGINT")
    return node


def and_(low: Lowering, e: exp.And, scope: Scope) -> Value:
    """Lower AND."""
    return connect(low, e, "AND", scope)


def or_(low: Lowering, e: exp.Or, scope: Scope) -> Value:
    """Lower OR."""
    return connect(low, e, "OR", scope)


def connect(low: Lowering, e: exp.Expr, name: str, scope: Scope) -> Value:
    """Lower AND or OR, which is elementwise if an operand has axes."""
    left, right = low.value(e.this, scope), low.value(e.expression, scope)
    if has_axes(left) or has_axes(right):
        return low.call(name, [left, right], {}, e)
    a, b = low.condition(left, scope), low.condition(right, scope)
    left_side, right_side = exp.paren(a, copy=False), exp.paren(b, copy=False)
    return Sql(type(e)(this=left_side, expression=right_side), BOOL)


def not_(low: Lowering, e: exp.Not, scope: Scope) -> Value:
    """Lower NOT."""
    operand = low.value(e.this, scope)
    if has_axes(operand):
        return low.call("NOT", [operand], {}, e)
    return Sql(exp.Not(this=exp.paren(low.condition(operand, scope))), BOOL)


def bitwise(low: Lowering, e: exp.Expr, scope: Scope) -> Value:
    """Lower ``&``, ``|`` and ``~``.

    For boolean tensors, these operators mean AND, OR and NOT. For scalars, they are DuckDB's
    bitwise operators.

    Raises
    ------
    QueryTypeError
        If an operand is a tensor that is not boolean.
    """
    parts = [p for p in (e.this, e.args.get("expression")) if p is not None]
    values = [low.value(p, scope) for p in parts]
    if not any(map(has_axes, values)):
        return rebuild(low, e, scope, NUMBER)
    for part, value in zip(parts, values, strict=True):
        tensor = low.as_tensor(value, text_of(part))
        if tensor.type.dtype != "bool" and isinstance(e, exp.BitwiseNot):
            raise QueryTypeError(
                f"~ negates a condition, but {text_of(part)} is {tensor.type}. Write NOT "
                f"{text_of(part)} to test for zeros{_complement(part, tensor)}."
            )
        if tensor.type.dtype != "bool":
            raise QueryTypeError(
                f"& and | connect conditions, but in {text_of(e)}, {text_of(part)} is "
                f"{tensor.type}. Because & and | bind more tightly than comparisons, write "
                "(x > 1) & (x < 2), or use AND and OR."
            )
    return low.call(_BITWISE[type(e)], values, {}, e)


def _complement(part: exp.Expr, tensor: Tensor) -> str:
    """Return a hint on how to invert the bits of integers, such as 255 - x for uint8."""
    dtype = tensor.type.dtype
    if not tensor.type.is_number or np.dtype(dtype).kind not in "iu":
        return ""
    most = np.iinfo(dtype).max if dtype.startswith("u") else -1
    return f", or {most} - {text_of(part)} to invert the bits"


_BITWISE: dict[type[exp.Expr], str] = {
    exp.BitwiseAnd: "AND", exp.BitwiseOr: "OR", exp.BitwiseNot: "NOT",
}  # fmt: skip


def overlaps(low: Lowering, e: exp.ArrayOverlaps, scope: Scope) -> Value:
    """Raise QueryTypeError for ``&&``."""
    raise QueryTypeError(
        f"Conditions must be connected with AND, but the query contains {text_of(e)}. Write AND "
        "instead of &&."
    )


def like(low: Lowering, e: exp.Expr, scope: Scope) -> Value:
    """Lower LIKE or ILIKE, which compare a class by its name."""
    if isinstance(e.this, exp.Like | exp.ILike):
        raise chained_error(e)
    pattern = low.value(e.expression, scope)
    if isinstance(pattern, Constant) and isinstance(pattern.value, str):
        _hint_at_glob(pattern.value, e)
    this = as_text(low.value(e.this, scope), low, scope)
    node = type(e)(this=this, expression=as_text(pattern, low, scope))
    return Sql(exp.not_(exp.paren(node)) if e.args.get("negate") else node, BOOL)


def _hint_at_glob(pattern: str, e: exp.Expr) -> None:
    """Warn if the pattern of a LIKE seems to use ``*``, a wildcard of GLOB."""
    if "*" in pattern and "%" not in pattern:
        warnings.warn(
            f"The wildcards of LIKE are % and _, so the pattern {brief(pattern)} matches a literal "
            f"*. For the wildcards * and ?, write {text_of(e.this)} GLOB "
            f"{text_of(exp.Literal.string(pattern[:60]))}.",
            stacklevel=2,
        )


def dpipe(low: Lowering, e: exp.DPipe, scope: Scope) -> Value:
    """Lower ``||``, which joins strings, bytes or lists. Classes become their names.

    Raises
    ------
    QueryTypeError
        If an operand is a boolean, because ``||`` does not mean OR.
    """
    parts = list(e.flatten())
    values = [low.value(p, scope) for p in parts]
    if all(kind_of(value).name == "list" or has_axes(value) for value in values):
        joined = exp.Anonymous(this="LIST_CONCAT", expressions=[part.copy() for part in parts])
        return low.value(joined, scope)
    if any(kind_of(value).name == "bool" for value in values):
        raise QueryTypeError(
            "|| joins strings, so it cannot connect conditions, but the query contains "
            f"{text_of(e)}. Write {_text_with_or(e)}."
        )
    if any(kind_of(value).name == "bytes" for value in values):
        first = next(value for value in values if kind_of(value).name == "bytes")
        for value in values:
            check_bytes(first, value)
        blobs = [low.as_sql(value, scope) for value in values]
        return Sql(_chain(blobs), BYTES)
    nodes = growth.check_joined(
        values, [as_text(value, low, scope) for value in values], e, scope.lengths
    )
    kinds = {kind_of(by_name(value), plain=True) for value in values}
    kind = kinds.pop() if {k.name for k in kinds} == {"list"} and len(kinds) == 1 else TEXT
    return Sql(_chain(nodes), kind)


def _chain(nodes: Sequence[exp.Expr]) -> exp.Expr:
    """Return values joined with ``||``, from left to right.

    All operands but the first get parentheses, unless they are columns or literals. Otherwise, a
    key of GROUP BY such as ``a || b`` would not be recognised in ``c || (a || b)``.
    """
    first, *others = nodes
    for node in others:
        is_whole = isinstance(node, exp.Column | exp.Literal | exp.Paren)
        first = exp.DPipe(this=first, expression=node if is_whole else exp.paren(node))
    return first


def _text_with_or(e: exp.DPipe) -> str:
    """Return the text of ``a < b || c < d`` with OR in place of ``||``."""
    left, right, around = e.this, e.expression, e.parent
    if isinstance(around, exp.Binary) and around.this is e:
        right = type(around)(this=right.copy(), expression=around.expression.copy())
    elif isinstance(around, exp.Binary):
        left = type(around)(this=around.this.copy(), expression=left.copy())
    return f"{text_of(left)} OR {text_of(right)}"


def escape(low: Lowering, e: exp.Escape, scope: Scope) -> Value:
    """Lower LIKE … ESCAPE."""
    return rebuild(low, e, scope, BOOL)


def case(low: Lowering, e: exp.Case, scope: Scope) -> Value:
    """Lower CASE."""
    subject = low.value(e.this, scope) if e.this else None
    tests: list[exp.Expr] = []
    results: list[Value] = []
    for branch in e.args["ifs"]:
        when = low.value(branch.this, scope)
        test = (
            low.condition(when, scope)
            if subject is None
            else compare_scalars(exp.EQ, subject, when, low, scope)
        )
        tests.append(test)
        results.append(low.value(branch.args["true"], scope))
    if e.args.get("default") is not None:
        results.append(low.value(e.args["default"], scope))
    if any(is_array(r) or (isinstance(r, Tensor) and needs_numpy(r)) for r in results):
        return case_of_tensors(low, tests, results, e)
    results, kind = unify(results, low, scope)
    nodes = [low.as_sql(r, scope) for r in results]
    ifs = [exp.If(this=test, true=node) for test, node in zip(tests, nodes, strict=False)]
    default = nodes[-1] if len(nodes) > len(ifs) else None
    return Sql(exp.Case(ifs=ifs, default=default), kind)


def case_of_tensors(
    low: Lowering, tests: list[exp.Expr], results: list[Value], e: exp.Expr
) -> Tensor:
    """Return the value of a CASE whose results are tensors.

    DuckDB computes, for each row, the number of the branch that applies.
    """
    name, text = e.meta.get(CALL) or ("CASE", text_of(e))
    tensors = [None if is_null_constant(r) else low.as_tensor(r, text) for r in results]
    present = [t for t in tensors if t is not None]
    aligned, type_ = unify_tensors(name, present, text, low)
    following = iter(aligned)
    tensors = [None if t is None else next(following) for t in tensors]
    options = [null_tensor(type_, text) if t is None else t for t in tensors]
    if len(options) == len(tests):
        options.append(null_tensor(type_, text))
    ifs = [exp.If(this=test, true=exp.convert(number)) for number, test in enumerate(tests)]
    which = exp.Case(ifs=ifs, default=exp.convert(len(tests)))
    key = f"w_{which.sql('duckdb')}"
    env: dict[str, exp.Expr] = {key: which}
    for option in options:
        env.update(option.env)
    return Tensor(Choice(key, tuple(o.tree for o in options), type_), env, text)


def if_(low: Lowering, e: exp.If, scope: Scope) -> Value:
    """Lower IF, as CASE."""
    branch = exp.If(this=e.this.copy(), true=e.args["true"].copy())
    other = e.args.get("false")
    node = exp.Case(ifs=[branch], default=other and other.copy())
    node.meta[CALL] = "IF", text_of(e)
    return case(low, node, scope)


def interval(low: Lowering, e: exp.Interval, scope: Scope) -> Value:
    """Lower INTERVAL. Raises QueryTypeError for a constant with a fraction of a microsecond."""
    if isinstance(e.this, exp.Literal):
        count = e.this.name
        with suppress(InvalidOperation):  # the parser writes small numbers like 1E-7
            count = format(Decimal(count), "f")
        check_microseconds(f"{count} {e.text('unit')}")
    return Sql(e.copy(), TIME)


def extract(low: Lowering, e: exp.Extract, scope: Scope) -> Value:
    """Lower EXTRACT(part FROM time)."""
    value = low.value(e.expression, scope)
    moment = as_timestamp(low.as_sql(value, scope), value)
    if e.name.lower() not in FINE_UNITS:
        moment = floor_to_microseconds(moment, value)
    node = exp.Extract(this=e.this.copy(), expression=moment)
    return Sql(node, NUMBER)


def tuple_of(low: Lowering, e: exp.Tuple, scope: Scope) -> Value:
    """Lower ``(a, b)``. If all items are constants, it is a constant, too."""
    parts = [low.value(p, scope) for p in e.expressions]
    constants = [p for p in parts if isinstance(p, Constant)]
    if len(constants) < len(parts):
        return rebuild(low, e, scope)
    return Constant(
        [p.value for p in constants],
        lambda: exp.Tuple(expressions=[p.node.copy() for p in constants]),
        items=tuple(constants),
    )
