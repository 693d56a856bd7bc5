"""Compare integers with floats exactly, and convert both to floats if they are in one column.

To compare an integer with a float, DuckDB would round the integer to a double. The result of this
comparison is right if the rounded integer and the float differ. If they are equal, and the integer
is beyond ±2**53, the SQL generated here compares the two as integers.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from sqlglot import exp

from deeplake_lite.errors import QueryTypeError
from deeplake_lite.query.bind.expressions.constants import MOST, items_of
from deeplake_lite.query.bind.expressions.types import HUGE
from deeplake_lite.query.bind.scalars.exact import MIRRORED
from deeplake_lite.query.parse.duckdb_nodes import ITEM, as_list, build_error, each, func
from deeplake_lite.query.values import NUMBER, REAL, Constant, Kind, Sql, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

_STRICT: dict[type[exp.Expr], type[exp.Binary]] = {exp.LTE: exp.LT, exp.GTE: exp.GT}
"""Maps ``<=`` and ``>=`` to ``<`` and ``>``."""

_EXACT = 2**53
"""Double-precision floats represent all integers from 0 to this number exactly."""

_MAX_EXACT_INTEGER = 2**24
"""32-bit floats represent all integers from 0 to this number exactly."""

_SMALL = {"int8", "int16", "uint8", "uint16"}
"""Integer dtypes whose values 32-bit floats represent exactly."""

_OF_DOUBLES = _SMALL | {"int32", "uint32"}
"""Integer dtypes whose values double-precision floats represent exactly."""


def _is_integer(dtype: str) -> bool:
    return dtype == HUGE or (bool(dtype) and np.dtype(dtype).kind in "iu")


def _is_float(dtype: str) -> bool:
    return dtype != HUGE and bool(dtype) and np.dtype(dtype).kind == "f"


def are_mixed(one: Kind, other: Kind) -> bool:
    """Return whether DuckDB, to compare values of two kinds, would round an integer to a float."""
    dtypes = one.number_dtype, other.number_dtype
    for a, b in (dtypes, dtypes[::-1]):
        if _is_integer(a) and _is_float(b):
            return a not in (_OF_DOUBLES if b == "float64" else _SMALL)
    return False


def _double(node: exp.Expr) -> exp.Expr:
    return exp.cast(exp.paren(node.copy()), "DOUBLE")


def _whole(node: exp.Expr) -> exp.Expr:
    return exp.TryCast(this=exp.paren(node.copy()), to=exp.DataType.build("HUGEINT"))


def compare(kind: type[exp.Expr], sides: Sequence[exp.Expr], kinds: Sequence[Kind]) -> exp.Expr:
    """Return SQL that compares an integer and a float, in either order, without rounding them.

    There is a separate condition that the two are equal as doubles, so that DuckDB can use a hash
    join.
    """
    if _is_float(kinds[0].number_dtype):
        return compare(MIRRORED[kind], sides[::-1], kinds[::-1])
    number, real = sides
    a, b = _double(number), _double(real)
    if kinds[0].number_dtype in _OF_DOUBLES:
        return kind(this=a, expression=b)
    is_small = exp.Between(
        this=exp.paren(number.copy()), low=exp.convert(-_EXACT), high=exp.convert(_EXACT)
    )
    whole = kind(this=exp.paren(number.copy()), expression=_whole(real))
    same = exp.EQ(this=a, expression=b)
    if kind is exp.EQ:
        return exp.and_(same, exp.or_(is_small, whole))
    strict = _STRICT.get(kind)
    if strict is None:
        tie = exp.and_(same, exp.not_(exp.paren(is_small)), whole)
        return exp.paren(exp.or_(kind(this=a.copy(), expression=b.copy()), tie))
    tie = exp.and_(same, exp.or_(is_small, whole))
    return exp.paren(exp.or_(strict(this=a.copy(), expression=b.copy()), tie))


def key(node: exp.Expr, kind: Kind) -> exp.Expr:
    """Return SQL for a struct. Two structs are equal if the integers or floats are equal.

    The struct consists of the number as a double, and its rounding error, which is 0 for a float.
    """
    # Adding 0 turns -0.0 into 0.0.
    double = exp.Add(this=_double(node), expression=exp.cast(exp.convert(0), "DOUBLE"))
    error: exp.Expr = exp.cast(exp.convert(0), "HUGEINT")
    if not _is_float(kind.number_dtype):
        error = exp.Sub(this=_whole(node), expression=_whole(_double(node)))
    pair = func(
        "struct_pack",
        exp.PropertyEQ(this=exp.to_identifier("double"), expression=double),
        exp.PropertyEQ(this=exp.to_identifier("rest"), expression=error),
    )
    present = exp.not_(exp.Is(this=exp.paren(node.copy()), expression=exp.null()))
    return exp.Case(ifs=[exp.If(this=present, true=pair)])


_ROUNDED = (
    "Integers combined with floats are converted to floats, but floats cannot represent {} here. "
    "CAST the integers AS DOUBLE, which rounds them, or the floats AS BIGINT."
)
"""Message for an integer that a conversion to a float would round. {} stands for the integer."""


def as_floats(values: Sequence[Value], kinds: Sequence[Kind]) -> list[Value]:
    """Return values in which numbers, also in lists of numbers, are converted to one float type.

    No number is rounded. Values that need no conversion are returned unchanged.

    Parameters
    ----------
    values : sequence of Value
        The values.
    kinds : sequence of Kind
        The kinds of the values; the kind of null is arbitrary.

    Raises
    ------
    QueryTypeError
        If a constant would be rounded. If an integer in a column would be rounded, DuckDB raises an
        error when the query runs.
    """
    items = [_flat_items(value, kind) for value, kind in zip(values, kinds, strict=True)]
    flat = [pair for pairs in items for pair in pairs]
    floats = _convert_to_floats([value for value, _ in flat], [kind for _, kind in flat])
    if all(value is float_ for (value, _), float_ in zip(flat, floats, strict=True)):
        return list(values)
    converted = iter(floats)
    return [
        _replace_items(value, kind, list(islice(converted, len(pairs))))
        for value, kind, pairs in zip(values, kinds, items, strict=True)
    ]


def _flat_items(value: Value, kind: Kind) -> list[tuple[Value, Kind]]:
    """Return the items of a list, each with its kind.

    A value that is not a list counts as a single item. A list that is not constant has the single
    item `ITEM`, which stands for each of its items in the SQL.
    """
    if isinstance(value, Constant) and isinstance(value.value, list):
        return [(item, NUMBER) for item in items_of(value)]
    if isinstance(value, Sql) and kind.name == "list":
        item = kind.item or kind.item_kind
        return [(Sql(ITEM.copy(), item), item)]
    return [(value, kind)]


def _replace_items(value: Value, kind: Kind, items: Sequence[Value]) -> Value:
    """Return a value in which `items` replace the items that `_flat_items` returned."""
    if isinstance(value, Constant) and isinstance(value.value, list):
        return Sql(as_list(*(_node(item) for item in items)), REAL.as_list) if items else value
    if isinstance(value, Sql) and kind.name == "list":
        return Sql(each(value.node.copy(), _node(items[0])), REAL.as_list)
    return items[0]


def _node(value: Value) -> exp.Expr:
    assert isinstance(value, Sql | Constant)
    return value.node.copy()


def _convert_to_floats(values: Sequence[Value], kinds: Sequence[Kind]) -> list[Value]:
    dtypes = {
        k.number_dtype for k, v in zip(kinds, values, strict=True) if not isinstance(v, Constant)
    }
    floats = {dtype for dtype in dtypes if _is_float(dtype)}
    large = any(_is_integer(d) and d not in _OF_DOUBLES for d in dtypes)
    if large and any(map(_is_fraction, values)):
        floats.add("float64")
    if not floats:
        return list(values)
    wide = "float64" in floats or any(_is_integer(d) and d not in _SMALL for d in dtypes)
    if not any(_is_integer(d) for d in dtypes) and not any(isinstance(v, Constant) for v in values):
        return list(values)
    return [_convert_to_float(v, k, wide=wide) for v, k in zip(values, kinds, strict=True)]


def _is_fraction(value: Value) -> bool:
    number = value.value if isinstance(value, Constant) else None
    return isinstance(number, float) and not number.is_integer()


def _convert_to_float(value: Value, kind: Kind, *, wide: bool) -> Value:
    if isinstance(value, Constant):
        number = value.value
        if type(number) is not int or abs(number) <= _MAX_EXACT_INTEGER or abs(number) > MOST:
            return value
        if float(number) != number:
            raise QueryTypeError(_ROUNDED.format(number))
        return Sql(_double(value.node), kind)
    dtype = kind.number_dtype
    if not isinstance(value, Sql) or not wide or not dtype:
        return value
    node = _double(value.node)
    if _is_integer(dtype) and dtype not in _OF_DOUBLES:
        is_rounded = exp.NEQ(this=_whole(value.node), expression=_whole(node))
        ifs = [exp.If(this=is_rounded, true=build_error(_ROUNDED.format("an integer")))]
        node = exp.Case(ifs=ifs, default=node)
    return Sql(node, replace(kind, htype=None, dtype="", real=kind.real or _is_float(dtype)))
