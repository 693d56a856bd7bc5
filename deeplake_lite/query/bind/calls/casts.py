"""Lower CAST, in which types may have their SQL or their NumPy names.

DuckDB casts scalars, and NumPy casts tensors.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
from sqlglot import exp

from deeplake_lite.brief import brief
from deeplake_lite.errors import QueryTypeError
from deeplake_lite.query.bind.calls.growth import check_list_of_text
from deeplake_lite.query.bind.expressions.constants import constant
from deeplake_lite.query.bind.scalars.conversions import as_text, is_day
from deeplake_lite.query.bind.scalars.json_values import (
    as_condition,
    as_exact_condition,
    json_text,
)
from deeplake_lite.query.bind.scalars.kinds import is_json, kind_of
from deeplake_lite.query.bind.scalars.list_order import bind_name
from deeplake_lite.query.bind.scalars.moments import floor_to_microseconds
from deeplake_lite.query.database.times import exact_timestamp
from deeplake_lite.query.parse.added_nodes import WRITTEN
from deeplake_lite.query.parse.dialect import text_of
from deeplake_lite.query.parse.duckdb_nodes import build_error, func
from deeplake_lite.query.values import (
    ANY,
    BOOL,
    CLOCK,
    HALF,
    JSON,
    NANOSECONDS,
    NUMBER,
    REAL,
    TEXT,
    TIME,
    Constant,
    Kind,
    Sql,
    Tensor,
    Value,
)

if TYPE_CHECKING:
    from deeplake_lite.query.bind.expressions.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope


def cast(low: Lowering, e: exp.Cast, scope: Scope) -> Value:
    """Lower CAST.

    A cast to text turns classes into their names, and removes the quotes of JSON strings.

    Raises
    ------
    QueryTypeError
        For a CAST of a tensor to anything but numbers.
    """
    value = low.value(e.this, scope)
    to: exp.DataType = e.to
    if _is_list(value) and _name_of(to) is not None:  # DuckDB casts lists only to lists
        value = low.as_tensor(value, text_of(e.this))
    if isinstance(value, Tensor) and not value.is_scalar:
        return low.call("CAST", [value], {"type": _dtype(to, value)}, e)
    if to.this == exp.DType.BOOLEAN and is_json(value):
        node = low.as_sql(value, scope)
        is_lenient = isinstance(e, exp.TryCast)
        return Sql(as_condition(node) if is_lenient else as_exact_condition(node, text_of(e)), BOOL)
    is_text = to.this in exp.DataType.TEXT_TYPES
    if isinstance(value, Constant) and isinstance(value.value, str):
        value = _read_time(value, e)
    shows = is_text or (to.this == exp.DType.JSON and is_day(value))
    node = as_text(value, low, scope) if shows else low.as_sql(value, scope)
    if to.meta.get(WRITTEN, "").lower() == "float16":
        return Sql(_cast_to_half(node, type(e), kind_of(value)), HALF)
    if to.this in _COARSE:
        node = floor_to_microseconds(node, value)
    if to.this == exp.DType.USERDEFINED:
        to = exp.DataType.build(_FLOATS.get(to.meta[WRITTEN].lower(), to))
    kind = TEXT if is_text else _kind_of_type(to)
    if is_json(value) and to.this in _MOMENTS | _COUNTED:
        node = json_text(node)
    if to.this in (exp.DType.ARRAY, exp.DType.LIST) and kind_of(value).name in ("text", "json"):
        node = check_list_of_text(node, e, scope.lengths)
    _check_inner_times(to, low.types.refine(value), text_of(e.this))
    is_string = kind_of(low.types.refine(value)).name in ("text", "json")
    if is_string and to.this in _MOMENTS | _FINER.keys():
        return Sql(_cast_string(node, type(e), to), kind)
    if is_string and to.this in _REALS:
        return Sql(_cast_to_real(node, e, to, of_json=is_json(value)), kind)
    return Sql(type(e)(this=node, to=to.copy()), kind)


_MOMENTS = {
    exp.DType.DATE, exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ, exp.DType.DATETIME,
    exp.DType.TIMESTAMP_S, exp.DType.TIMESTAMP_MS, exp.DType.TIMESTAMP_NS,
}  # fmt: skip
"""Types of timestamps without a time zone."""

_COUNTED = {exp.DType.INTERVAL, exp.DType.TIME, exp.DType.TIMETZ}
"""Types of durations and times of day."""

_UNITS = {
    "seconds": [exp.DType.TIMESTAMP_S],
    "milliseconds": [exp.DType.TIMESTAMP_MS],
    "microseconds": [
        exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ, exp.DType.DATETIME, exp.DType.TIMESTAMPTZ,
        exp.DType.TIME, exp.DType.TIMETZ, exp.DType.INTERVAL,
    ],
    "nanoseconds": [exp.DType.TIMESTAMP_NS],
}  # fmt: skip
"""Maps each unit of time to the SQL types with this unit."""

_FINER = {
    type_: rf"[.]\d{{{places}}}\d*[1-9]"
    for places, types in zip((0, 3, 6, 9), _UNITS.values(), strict=True)
    for type_ in types
}
"""Maps each time type to a pattern that matches strings with more digits after the decimal point
than this type can represent."""

_FINER[exp.DType.INTERVAL] += r"|[.]\d{3}\d*[1-9]\d*\s*(ms|milli)|[.]\d*[1-9]\d*\s*(us|micro)"


def _read_time(value: Constant, e: exp.Cast) -> Constant:
    """Return a constant string that is cast to a time. If DuckDB would misread it, return the time.

    In TRY_CAST, a string with more digits than the type can represent becomes null.

    Raises
    ------
    QueryTypeError
        For a string with too many digits in CAST, and for a time that is out of range in
        nanoseconds.
    """
    is_finer = re.search(_FINER.get(e.to.this, "$^"), value.value, re.ASCII | re.IGNORECASE)
    if is_finer and isinstance(e, exp.TryCast):
        return constant(None)
    # DuckDB ignores the offset of a string such as '2026-01-31T12:00+02:00'.
    moment = exact_timestamp(value.value, "datetime64[ns]") if e.to.this in _MOMENTS else None
    if is_finer:
        start, end = _precision_message(e.to)
        raise QueryTypeError(f"{start}{brief(value.value, 60)}{end}")
    return value if moment is None else constant(moment)


def _check_inner_times(to: exp.DataType, value: Value, text: str) -> None:
    """Check that a CAST does not convert the strings in a list or a struct to times.

    DuckDB would drop digits of these strings.

    Raises
    ------
    QueryTypeError
        If the type `to` contains times, and the value may contain strings.
    """
    inner_types = {part.this for part in to.find_all(exp.DataType) if part is not to}
    if not inner_types & (_FINER.keys() | _MOMENTS) or not _may_hold_strings(value):
        return
    raise QueryTypeError(
        f"Strings must be cast to times one by one, but {text}, which may contain strings, is cast "
        "to a list, struct or map of times. Cast each value, as in LIST_TRANSFORM(x, item -> "
        "CAST(item AS TIMESTAMP))."
    )


def _may_hold_strings(value: Value) -> bool:
    """Return whether a value, which may be a list or a struct, may be or contain a string."""
    if isinstance(value, Constant) and value.items:
        return any(map(_may_hold_strings, value.items))
    kind = kind_of(value)
    while kind.item is not None:
        kind = kind.item
    parts = [part for _, part in kind.parts] or [kind]
    return any(part.name in ("text", "json", "list") for part in parts)


def _cast_string(node: exp.Expr, cast: type[exp.Cast], to: exp.DataType) -> exp.Expr:
    """Return the SQL that casts a string to a time type, with its UTC offset taken into account.

    A string with more digits than the type can represent is an error, or null in TRY_CAST.
    """
    if not isinstance(node, exp.Column | exp.Literal):  # the cast reads the string several times
        name = exp.to_identifier("lake_string")
        return bind_name(name, node, _cast_string(exp.Column(this=name.copy()), cast, to))
    string = _in_utc(node, cast) if to.this in _MOMENTS else node
    result = cast(this=string, to=to.copy())
    return _exact(result) if to.this in _FINER else result


def _in_utc(node: exp.Expr, cast: type[exp.Cast]) -> exp.Expr:
    """Return the SQL that converts a string with a UTC offset to one in UTC, without an offset.

    DuckDB would ignore the offset. The fraction of a second is copied as text, because the type
    TIMESTAMPTZ, which the SQL uses to convert the rest, has only microseconds.
    """
    text = exp.cast(node, "VARCHAR")
    has_offset = func("regexp_matches", text, exp.Literal.string(_OFFSET))
    seconds = func(
        "regexp_replace", text.copy(), exp.Literal.string(_FRACTION), exp.Literal.string("")
    )
    zoned = cast(this=seconds, to=exp.DataType.build("TIMESTAMPTZ"))
    plain = exp.cast(exp.cast(zoned, "TIMESTAMP"), "VARCHAR")
    fraction = func("regexp_extract", text.copy(), exp.Literal.string(_FRACTION))
    moved = exp.DPipe(this=plain, expression=fraction)
    return exp.Case(ifs=[exp.If(this=has_offset, true=moved)], default=text.copy())


_OFFSET = r":\d\d([.]\d*)?\s*[+-]\d"
"""Pattern that finds the end of a string with a UTC offset, such as the '30+0' in '12:30+02:00'."""

_FRACTION = r"[.]\d+"
"""Pattern that matches the fraction of a second, such as '.25'."""


def _precision_message(to: exp.DataType) -> tuple[str, str]:
    """Return the two parts of the message for a string with too many digits.

    The string is inserted between the two parts.
    """
    unit = next(unit for unit, types in _UNITS.items() if to.this in types)
    start = f"A string that is cast to {to.meta[WRITTEN].upper()} must be a whole number of {unit}"
    way = "" if to.this in _COUNTED or unit == "nanoseconds" else ", or cast it to TIMESTAMP_NS"
    return f"{start}, but it is ", f". Round it{way}."


def _exact(cast: exp.Cast) -> exp.Expr:
    """Return SQL for a CAST to a time type that reports strings with too many digits.

    DuckDB would drop or round digits that the type cannot represent. For such a string, CAST raises
    an error, and TRY_CAST returns null.
    """
    text = exp.cast(cast.this.copy(), "VARCHAR")
    pattern = exp.Literal.string(f"(?i){_FINER[cast.to.this]}")
    is_finer = func("regexp_matches", text, pattern)
    if isinstance(cast, exp.TryCast):
        return exp.Case(ifs=[exp.If(this=exp.not_(is_finer), true=cast)])
    start, end = _precision_message(cast.to)
    error = build_error(start, text.copy(), exp.Literal.string(end))
    return exp.Case(ifs=[exp.If(this=is_finer, true=error)], default=cast)


_REALS = {exp.DType.FLOAT, exp.DType.DOUBLE}
"""Types of floats."""


def _cast_to_real(node: exp.Expr, e: exp.Cast, to: exp.DataType, *, of_json: bool) -> exp.Expr:
    """Return the SQL that casts a string to a float.

    For a number that is out of the range of the type, CAST raises an error, and TRY_CAST returns
    null. DuckDB would return infinity.

    Parameters
    ----------
    node : exp.Expr
        The string.
    e : exp.Cast
        The cast as written in the query.
    to : exp.DataType
        The type for DuckDB.
    of_json : bool
        Whether the string is JSON, so that it has quotes.
    """
    if not isinstance(node, exp.Column | exp.Literal):  # the cast reads the string several times
        name = exp.to_identifier("lake_string")
        column = exp.Column(this=name.copy())
        return bind_name(name, node, _cast_to_real(column, e, to, of_json=of_json))
    result = type(e)(this=node.copy(), to=to.copy())
    text = json_text(node) if of_json else node.copy()
    names_infinity = func("regexp_full_match", text, exp.Literal.string(_INFINITY))
    is_beyond = exp.and_(func("isinf", result), exp.not_(names_infinity), copy=False)
    beyond: exp.Expr = exp.null()
    if not isinstance(e, exp.TryCast):
        way = exp.Literal.string(". Use TRY_CAST or a wider type.")
        written = e.to.meta[WRITTEN]
        beyond = build_error(f"A number is out of range of {written}: ", text.copy(), way)
    return exp.Case(ifs=[exp.If(this=is_beyond, true=beyond)], default=result.copy())


_INFINITY = r"(?i)\s*[+-]?inf(inity)?\s*"
"""Pattern that matches strings that mean infinity."""


def _cast_to_half(node: exp.Expr, cast: type[exp.Cast], kind: Kind) -> exp.Expr:
    """Return the SQL that casts a scalar to float16.

    DuckDB has no float16, so the result is a FLOAT that is rounded to the precision of float16. For
    a number that is out of the range of float16, CAST raises an error, and TRY_CAST returns null.
    """
    if kind.column_dtype == "float16":
        return node
    double = cast(this=node, to=exp.DataType.build("DOUBLE"))
    name = exp.to_identifier("lake_number")
    x = exp.Column(this=name.copy())
    size = func("abs", x.copy())
    exponent = func("greatest", func("floor", func("log2", size.copy())), exp.convert(_LEAST))
    unit = func("pow", exp.convert(2), exp.paren(exp.Sub(this=exponent, expression=_DIGITS)))
    rounded = func("round_even", exp.Div(this=x.copy(), expression=unit), exp.convert(0))
    is_exact = exp.or_(
        *(exp.EQ(this=size.copy(), expression=_double(text)) for text in ("0", "inf", "nan"))
    )
    is_beyond = exp.GTE(this=size.copy(), expression=exp.convert(_BEYOND))
    beyond: exp.Expr = exp.null()
    if cast is exp.Cast:
        beyond = build_error(
            "A value is out of range of float16, whose largest number is 65504: ",
            exp.cast(x.copy(), "VARCHAR"),
            exp.Literal.string(". Use TRY_CAST or a wider type."),
        )
    ifs = [exp.If(this=is_exact, true=x), exp.If(this=is_beyond, true=beyond)]
    half = exp.Case(ifs=ifs, default=exp.Mul(this=rounded, expression=unit.copy()))
    return bind_name(name, double, exp.cast(half, "FLOAT"))


def _double(text: str) -> exp.Expr:
    return exp.cast(exp.Literal.string(text), "DOUBLE")


_DIGITS = exp.convert(10)
"""Number of binary digits that a float16 stores of its significand, without the leading 1."""

_LEAST = -14
"""Smallest exponent of a float16 that is not subnormal, so that all of its digits are stored."""

_BEYOND = 65520
"""Smallest number that is rounded to infinity as a float16."""

_COARSE = (_MOMENTS - {exp.DType.TIMESTAMP_NS}) | {exp.DType.TIME, exp.DType.TIMESTAMPTZ}
"""Types of timestamps and times of day with units of a microsecond or more."""


def _is_list(value: Value) -> bool:
    """Return whether a value is a list or a constant array."""
    if isinstance(value, Constant):
        return isinstance(value.value, list | np.ndarray)
    return isinstance(value, Sql) and value.kind.name == "list"


def _kind_of_type(to: exp.DataType) -> Kind:
    """Return the kind that corresponds to an SQL type."""
    if to.this in exp.DataType.REAL_TYPES:
        return REAL
    if to.this in exp.DataType.INTEGER_TYPES:
        return NUMBER
    if to.this == exp.DType.BOOLEAN:
        return BOOL
    if to.this in exp.DataType.TEXT_TYPES:
        return TEXT
    if to.this == exp.DType.JSON:
        return JSON
    if to.this in (exp.DType.ARRAY, exp.DType.LIST) and to.expressions:
        return Kind("list", item=_kind_of_type(to.expressions[0]))
    if to.this == exp.DType.TIMESTAMP_NS:
        return NANOSECONDS
    if to.this in (exp.DType.TIME, exp.DType.TIMETZ):
        return CLOCK
    return TIME if to.this in exp.DataType.TEMPORAL_TYPES else ANY


_FLOATS = {"float32": "FLOAT", "float64": "DOUBLE"}
"""Maps NumPy's names of float types to the SQL names."""

_DTYPES = {
    "BOOLEAN": "bool", "TINYINT": "int8", "SMALLINT": "int16", "INT": "int32", "BIGINT": "int64",
    "UTINYINT": "uint8", "USMALLINT": "uint16", "UINT": "uint32", "UBIGINT": "uint64",
    "FLOAT": "float32", "DOUBLE": "float64",
}  # fmt: skip
"""Maps the SQL names of numeric types to the NumPy names."""


def _dtype(to: exp.DataType, tensor: Tensor) -> str:
    """Return the dtype that a tensor is CAST to. Raises QueryTypeError for non-numeric types."""
    name = _name_of(to)
    if name is None:
        raise QueryTypeError(
            "A tensor can be CAST only to numbers, such as FLOAT or uint8, but "
            f"{tensor.text}, which is {tensor.type}, is cast to {to.meta[WRITTEN].upper()}. For a "
            "string or a date, select one element first, or reduce the tensor."
        )
    return name


def _name_of(to: exp.DataType) -> str | None:
    """Return the NumPy name of a numeric type, or None for other types."""
    written = to.meta[WRITTEN].lower()
    is_numpy = written in _DTYPES.values() or written == "float16"
    return written if is_numpy else _DTYPES.get(to.this.value)
