"""Convert durations and timestamps between Arrow and DuckDB, and read times in strings, exactly.

DuckDB stores a duration as an INTERVAL of months, days and microseconds. It rounds a duration in
nanoseconds that it gets from Arrow, and it returns durations to Arrow as int64 nanoseconds, which
overflow at 292 years. Therefore, this module accepts only durations of whole microseconds, and lets
DuckDB return them as int64 microseconds.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from deeplake_lite.brief import brief
from deeplake_lite.dataset.arrow.types import is_list
from deeplake_lite.errors import QueryTypeError
from deeplake_lite.htypes.words import pluralize
from deeplake_lite.query.database.calculator import calculator
from deeplake_lite.query.parse.duckdb_nodes import build_error, func

if TYPE_CHECKING:
    from collections.abc import Collection

    import duckdb
    from duckdb.sqltypes import DuckDBPyType
    from numpy.typing import NDArray

_PER_MICROSECOND = 1000
_MICROSECONDS = {"s": 1_000_000, "ms": 1000, "us": 1}
"""Maps Arrow's units, except nanoseconds, to the number of microseconds in each unit."""

_TIMESTAMP = re.compile(
    r"(?P<time>\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.]\d{1,9})?)?)?)(?P<finer>(?<=[.]\d{9})\d+)?"
    r"(?P<zone>Z|(?P<sign>[+-])(?P<hours>\d\d):?(?P<minutes>\d\d))?",
    re.ASCII,
)
"""Matches timestamps that DuckDB and NumPy read in the same way, except for an offset from UTC."""

_IN_ZONE = re.compile(_TIMESTAMP.pattern + r"\s*(?P<rest>[+-]\d.*|(?!T\d)[A-Za-z].*)", re.ASCII)
"""Matches timestamps with a time zone that is not an offset from UTC."""


def read_timestamp(text: str) -> np.datetime64 | None:
    """Return the timestamp in a string, in UTC, or None if its format or date is invalid.

    Raises
    ------
    QueryTypeError
        If the time zone is not an offset from UTC, or if there are fractions of a nanosecond.

    >>> read_timestamp("2026-01-02 03:04"), read_timestamp("2026-02-30"), read_timestamp("now")
    (np.datetime64('2026-01-02T03:04'), None, None)
    >>> read_timestamp("2026-01-02T03:04+01:00")
    np.datetime64('2026-01-02T02:04')
    """
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        _check_zone(text)
        return None
    if (match["finer"] or "").strip("0"):
        raise QueryTypeError(
            "A quoted time must be a whole number of nanoseconds, but it is "
            f"{brief(text, 60)}. Write at most nine digits after the decimal point."
        )
    whole, _, fraction = match["time"].replace(" ", "T", 1).partition(".")
    fraction = fraction.rstrip("0")
    try:
        time = np.datetime64(f"{whole}.{fraction}" if len(fraction) in range(1, 7) else whole)
    except ValueError:  # the calendar has no such day
        return None
    if match["sign"]:
        minutes = 60 * int(match["hours"]) + int(match["minutes"])
        time -= np.timedelta64(minutes if match["sign"] == "+" else -minutes, "m")
    return time if len(fraction) <= _PLACES else _with_nanoseconds(time, fraction, text)


_PLACES = 6
"""Number of decimal places of a second with which int64 can represent times in any year."""


def _with_nanoseconds(second: np.datetime64, fraction: str, text: str) -> np.datetime64:
    """Return a timestamp in nanoseconds, given the full second and the digits of the fraction.

    Raises QueryTypeError if the timestamp is out of range for nanoseconds.
    """
    count = int(second.astype("M8[s]").astype(np.int64)) * 10**9 + int(fraction.ljust(9, "0"))
    if abs(count) >= 2**63 - 1:  # the largest and smallest counts mean infinity in SQL
        raise QueryTypeError(
            "A quoted time with more than six decimal places must be in the years 1677 to 2262, "
            f"but it is {brief(text, 60)}. Write at most six decimal places."
        )
    return np.datetime64(count, "ns")


_FRACTION = re.compile(r"[.](?P<digits>\d*?)0*(?!\d)\s*(?P<unit>[a-z]*)", re.ASCII | re.IGNORECASE)
"""Matches the fraction of a number, without trailing zeros, and the unit after the number."""


def check_microseconds(text: str) -> None:
    """Check that a string has no duration or time of day that DuckDB would round.

    Raises
    ------
    QueryTypeError
        If the string has fractions of a microsecond.

    Examples
    --------
    >>> check_microseconds("00:00:00.00500000")
    >>> check_microseconds("0.0050004 seconds")
    Traceback (most recent call last):
        ...
    deeplake_lite.errors.QueryTypeError: A quoted duration or time of day must be a whole number ...
    """
    if any(len(m["digits"]) > _places(m["unit"].lower()) for m in _FRACTION.finditer(text)):
        raise QueryTypeError(
            "A quoted duration or time of day must be a whole number of microseconds, but it is "
            f"{brief(text, 60)}. Write fewer decimal places."
        )


def advise_interval(text: str) -> str:
    """Return a hint on how to write durations if a string looks like a duration, or else "".

    >>> advise_interval("1 day"), advise_interval("2026-01-32")
    (" For a duration, write INTERVAL '1 day'.", '')
    """
    is_duration = _LIKE_A_DURATION.fullmatch(text) is not None
    return f" For a duration, write INTERVAL {text[:60]!r}." if is_duration else ""


_LIKE_A_DURATION = re.compile(
    r"\s*([-+]?\d+([.]\d*)?\s*"
    r"(millenni|centur|decade|year|quarter|mon|week|day|hour|min|sec|milli|micro|ms|us|[ydhmsw]\b)"
    r"[a-z]*\s*)+",
    re.IGNORECASE | re.ASCII,
)
"""Matches durations, such as 1 day or 2h 30min."""


def check_time_of_day(text: str) -> None:
    """Check that a string that is compared with times of day is a time of day.

    DuckDB would read a date as midnight, and ignore an offset from UTC.

    Raises
    ------
    QueryTypeError
        If the string is not a time of day, or has fractions of a microsecond.

    Examples
    --------
    >>> check_time_of_day("9:30")
    >>> check_time_of_day("2026-01-02")
    Traceback (most recent call last):
        ...
    deeplake_lite.errors.QueryTypeError: A string compared with times of day must be a time ...
    """
    if _TIME_OF_DAY.fullmatch(text) is None:
        raise QueryTypeError(
            "A string compared with times of day must be a time of day, such as '09:30' or "
            f"'09:30:00.5', but it is {brief(text, 60)}. To compare dates, write CAST(t AS DATE)."
            f"{advise_interval(text)}"
        )
    check_microseconds(text)


_TIME_OF_DAY = re.compile(r"\d{1,2}:\d{1,2}(:\d{1,2}([.]\d*)?)?", re.ASCII)
"""Matches times of day. DuckDB checks whether the hours and minutes are in range."""


def _places(unit: str) -> int:
    """Return the number of decimal places that DuckDB reads exactly in a duration with a unit."""
    if unit.startswith(("us", "micro")):
        return 0
    return 3 if unit.startswith(("ms", "milli")) else 6


def may_be_timestamp(text: str) -> bool:
    """Return whether a string may be a timestamp that DuckDB reads exactly.

    If the format of the string is one that `read_timestamp` does not support, the string must have
    neither a fraction, which DuckDB might round, nor an offset from UTC, which DuckDB ignores. In
    this case, only DuckDB checks whether the date exists.

    >>> may_be_timestamp("2026/01/02 03:04:05"), may_be_timestamp("2026/01/02 03:04:05.5")
    (True, False)
    >>> may_be_timestamp("2024-2-30"), may_be_timestamp("2024-02-30"), may_be_timestamp("now")
    (True, False, False)
    """
    if _TIMESTAMP.fullmatch(text):
        return read_timestamp(text) is not None
    has_fraction = any(match["digits"] for match in _FRACTION.finditer(text))
    is_like_timestamp = _LIKE_A_TIMESTAMP.fullmatch(text) is not None
    return is_like_timestamp and not has_fraction and not has_odd_zone(text)


def has_odd_zone(text: str) -> bool:
    """Return whether a time in an unusual format has an offset from UTC, which DuckDB ignores.

    >>> has_odd_zone("2026/01/02 03:04+01:00"), has_odd_zone("2026-01-02 03:04+01:00")
    (True, False)
    """
    return _TIMESTAMP.fullmatch(text) is None and _ODD_ZONE.search(text) is not None


_LIKE_A_TIMESTAMP = re.compile(
    r"[+-]?\d+[-/ ]\d+[-/ ]\d+.*|-?infinity|epoch", re.IGNORECASE | re.DOTALL
)
"""Matches strings that DuckDB may read as timestamps."""

_ODD_ZONE = re.compile(r":\d+\s*[-+a-z]", re.IGNORECASE)
"""Finds the start of a time zone after a time of day."""


def read_odd_timestamp(text: str) -> np.datetime64 | None:
    """Return the timestamp in a string whose format `read_timestamp` does not support.

    DuckDB reads this string. Returns None if DuckDB cannot read it, or if the timestamp is
    infinite.

    >>> read_odd_timestamp("2026/1/2"), read_odd_timestamp("2024-2-30")
    (np.datetime64('2026-01-02T00:00:00.000000'), None)
    """
    if not may_be_timestamp(text):
        return None
    with calculator() as cursor:
        row = cursor.execute("SELECT epoch_us(TRY_CAST(? AS TIMESTAMP))", [text]).fetchone()
    return None if row is None or row[0] is None else np.datetime64(row[0], "us")


def _check_zone(text: str) -> None:
    """Raise QueryTypeError for a timestamp whose time zone is not an offset from UTC."""
    match = _IN_ZONE.fullmatch(text)
    if match is not None:
        raise QueryTypeError(
            "The time zone of a quoted time must be Z or an offset from UTC, such as +01:00, but "
            f"it is {brief(match['rest'], 30)}. Write the time in UTC, or pass a datetime with a "
            "time zone as a parameter."
        )


def exact_timestamp(text: str, dtype: str) -> np.datetime64 | None:
    """Return the timestamp in a string if DuckDB would misread this string, or else None.

    DuckDB ignores offsets from UTC. DuckDB also rounds the timestamp to the unit of the times, of
    dtype `dtype`, with which the timestamp is compared.

    >>> exact_timestamp("2026-01-02 03:04:05.6", "datetime64[s]")
    np.datetime64('2026-01-02T03:04:05.600')
    >>> exact_timestamp("2026-01-02 03:04:05.6", "datetime64[ms]")
    >>> exact_timestamp("2026-01-02 03:04:05Z", "datetime64[ms]")
    np.datetime64('2026-01-02T03:04:05')
    """
    timestamp = read_timestamp(text)
    if timestamp is None:
        return None
    unit = dtype if dtype.startswith("datetime64") else "datetime64[D]"
    has_zone = _TIMESTAMP.fullmatch(text)["zone"] is not None  # type: ignore[index]
    return timestamp if has_zone or not _fits(timestamp, unit) else None


def _fits(timestamp: np.datetime64, unit: str) -> bool:
    """Return whether converting a timestamp to a unit does not change it, or overflows."""
    try:
        return bool(timestamp.astype(unit) == timestamp)
    except OverflowError:
        return True


def check_times(array: pa.Array, name: str) -> None:
    """Check that an array has no durations or timestamps that DuckDB would change.

    `name` is the name of the column, for messages.

    Raises
    ------
    QueryTypeError
        If a duration has nanoseconds or is too long for int64 microseconds, or if a timestamp is
        the first or the last one of its unit, which means infinity in DuckDB.

    >>> check_times(pa.array([2_000, 1_500], pa.duration("ns")), "took")
    Traceback (most recent call last):
        ...
    deeplake_lite.errors.QueryTypeError: SQL computes with durations in whole microseconds, ...
    """
    if pa.types.is_timestamp(array.type):
        _check_finite(array, name)
    if not pa.types.is_duration(array.type):
        return
    values = array.to_numpy(zero_copy_only=False)
    counts = values.view(np.int64)
    if array.type.unit == "ns":
        wrong = counts % _PER_MICROSECOND != 0
    else:
        most = np.iinfo(np.int64).max // _MICROSECONDS[array.type.unit]
        wrong = (counts > most) | (counts < -most)
    wrong &= ~np.isnat(values)
    if wrong.any():
        raise QueryTypeError(
            "SQL computes with durations in whole microseconds, up to 292,271 years, but "
            f"{name} contains {values[wrong][0]!r}. Store rounded durations, or counts in an int64 "
            "column."
        )


def _check_finite(times: pa.Array, name: str) -> None:
    """Raise QueryTypeError for the first or last time of a unit, which means infinity in SQL."""
    counts = _counts(times)
    ends = np.abs(counts) == np.iinfo(np.int64).max
    if ends.any():
        timestamp = counts[ends][0].view(f"datetime64[{times.type.unit}]")
        raise QueryTypeError(
            f"Timestamps must be finite, but {name} contains {timestamp}, the first or last "
            "timestamp of its unit, which means infinity in SQL. Store null for a missing time: "
            "ds.set_nullable(…)."
        )


def check_result(array: pa.Array) -> None:
    """Check that NumPy can represent the times in a result of DuckDB, at any depth of nesting.

    Raises
    ------
    QueryTypeError
        If a time is infinite, which DuckDB exports as the first or last time of the unit, or if a
        duration has the value that means null in NumPy.

    >>> check_result(pa.array([[2**63 - 1]], pa.list_(pa.timestamp("us"))))
    Traceback (most recent call last):
        ...
    deeplake_lite.errors.QueryTypeError: Times in a result must be finite, but one is infinity. ...
    """
    kind = array.type
    if pa.types.is_struct(kind):
        for part in array.flatten():
            check_result(part)
    elif pa.types.is_map(kind):
        check_result(array.keys)
        check_result(array.items)
    elif is_list(kind):
        check_result(array.flatten())
    elif pa.types.is_timestamp(kind) or pa.types.is_date32(kind):
        _check_no_infinity(_counts(array))
    elif pa.types.is_duration(kind) and (_counts(array) == np.iinfo(np.int64).min).any():
        raise QueryTypeError(
            "Durations in a result must be at least -(2**63 - 1) microseconds, but one is -2**63, "
            "which means null in NumPy. Return durations as strings: CAST(d AS TEXT)."
        )


def _counts(times: pa.Array) -> NDArray[Any]:
    """Return times as integers, with 0 for null."""
    kind = pa.int32() if pa.types.is_date32(times.type) else pa.int64()
    return np.asarray(times.view(kind).fill_null(0).to_numpy(zero_copy_only=False))


def _check_no_infinity(counts: NDArray[Any]) -> None:
    most = np.iinfo(counts.dtype).max
    ends = counts[(counts >= most) | (counts <= -most)]
    if len(ends):
        raise QueryTypeError(
            f"Times in a result must be finite, but one is {'-' if ends[0] < 0 else ''}infinity. "
            "Replace infinity with null, CASE WHEN ISFINITE(t) THEN t END, or return CAST(t AS "
            "TEXT)."
        )


def durations_of(array: pa.Array) -> pa.Array:
    """Return DuckDB INTERVALs of at most 292 years as durations in microseconds.

    Raises
    ------
    QueryTypeError
        If an INTERVAL has months, because months differ in length.
    """
    counts = [None if v is None else _microseconds(v) for v in array.to_pylist()]
    return pa.array(counts, pa.duration("us"))


def _microseconds(interval: Any) -> int:
    if interval.months:
        raise QueryTypeError(f"{_MONTHS}{pluralize(interval.months, 'month')}{_WAY_OUT}")
    return int(interval.days * 86_400_000_000 + interval.nanoseconds // _PER_MICROSECOND)


_MONTHS = (
    "Durations in a result or combined with an array must not contain months, because months "
    "differ in length, but one is "
)
"""Start of the message about a duration with months. The duration follows."""

_WAY_OUT = (
    ". Add the duration to a time in the same query, t + INTERVAL 1 MONTH, or count days between "
    "times: DATE_DIFF('day', a, b)."
)
"""End of the message about a duration with months, after the duration."""


def microseconds_of(span: exp.Expr) -> exp.Expr:
    """Return SQL for a duration as int64 microseconds, which fails if the duration has months."""
    return _without_months(span, func("epoch_us", span.copy()))


def duration_text(span: exp.Expr) -> exp.Expr:
    """Return SQL for a duration as a string, which raises an error if the duration has months."""
    return _without_months(span, exp.cast(span.copy(), "VARCHAR"))


def _without_months(span: exp.Expr, result: exp.Expr) -> exp.Expr:
    """Return SQL that computes `result`, or raises an error if the duration has months."""
    counts = (func("datepart", exp.Literal.string(u), span.copy()) for u in ("year", "month"))
    zero, text = exp.convert(0), exp.cast(span.copy(), "VARCHAR")
    has_months = exp.or_(*(exp.NEQ(this=count, expression=zero.copy()) for count in counts))
    error = build_error(_MONTHS, text, exp.Literal.string(_WAY_OUT))
    return exp.Case(ifs=[exp.If(this=has_months, true=error)], default=result)


def without_intervals(
    relation: duckdb.DuckDBPyRelation, results: Collection[str] = ()
) -> duckdb.DuckDBPyRelation | None:
    """Return a relation in which INTERVALs are int64 microseconds, or None if it has no INTERVALs.

    Users get the columns `results`. Structs and maps in these columns become JSON, so INTERVALs
    within structs and maps become strings, as in ``CAST(d AS TEXT)``.
    """
    if not any(map(_has_interval, relation.types)):
        return None
    items = (
        f"{_exchange(_quoted(name), type_, spells=name in results)} AS {_quoted(name)}"
        for name, type_ in zip(relation.columns, relation.types, strict=True)
    )
    return relation.project(", ".join(items))


def with_durations(
    table: pa.Table, types: list[DuckDBPyType], results: Collection[str] = ()
) -> pa.Table:
    """Return the result of `without_intervals`, with the microseconds converted to durations.

    `types` are the types that the relation had before `without_intervals`.
    """
    columns = [
        column.cast(_duration(column.type, type_, spells=name in results))
        if _has_interval(type_)
        else column
        for name, column, type_ in zip(table.column_names, table.columns, types, strict=True)
    ]
    return pa.table(columns, table.column_names)


def _has_interval(type_: DuckDBPyType) -> bool:
    if type_.id == "interval":
        return True
    return type_.id in _NESTED and any(_has_interval(part) for _, part in _parts(type_))


_STRUCTS = ("struct", "tuple", "map")
_NESTED = ("list", "array", *_STRUCTS)


def _parts(type_: DuckDBPyType) -> list[tuple[str, DuckDBPyType]]:
    return [(name, part) for name, part in type_.children if not isinstance(part, int | list)]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _exchange(
    node: str, type_: DuckDBPyType, *, spells: bool, is_inside: bool = False, depth: int = 0
) -> str:
    """Return SQL that replaces the INTERVALs in a value with strings or microseconds.

    Parameters
    ----------
    node : str
        The SQL of the value.
    type_ : DuckDBPyType
        The type of the value.
    spells : bool
        Whether INTERVALs in structs and maps become strings; all others become microseconds.
    is_inside : bool
        Whether the value is in a struct or a map.
    depth : int
        Number of lists that contain the value.
    """
    if not _has_interval(type_):
        return node
    if type_.id == "interval":
        span = exp.Var(this=node)
        return (duration_text if spells and is_inside else microseconds_of)(span).sql("duckdb")
    is_inside |= type_.id in _STRUCTS
    parts, item = _parts(type_), f"lake_item{depth}"

    def exchange(value: str, part: DuckDBPyType, levels: int = 0) -> str:
        return _exchange(value, part, spells=spells, is_inside=is_inside, depth=depth + levels)

    def exchange_each(values: str, part: DuckDBPyType) -> str:
        return f"[{exchange(item, part, 1)} FOR {item} IN {values}]"

    match type_.id:
        case "struct":
            fields = (
                f"{_quoted(name)} := "
                + exchange(f"struct_extract({node}, '{name.replace("'", "''")}')", part)
                for name, part in parts
            )
            exchanged = f"struct_pack({', '.join(fields)})"
        case "tuple":
            fields = (
                exchange(f"struct_extract({node}, {position})", part)
                for position, (_, part) in enumerate(parts, 1)
            )
            exchanged = f"row({', '.join(fields)})"
        case "map":
            keys, values = (
                exchange_each(f"map_{which}({node})", part)
                for (_, part), which in zip(parts, ("keys", "values"), strict=True)
            )
            exchanged = f"map({keys}, {values})"
        case _:
            exchanged = exchange_each(node, parts[0][1])
    return f"CASE WHEN {node} IS NOT NULL THEN {exchanged} END"


def _duration(kind: pa.DataType, type_: DuckDBPyType, *, spells: bool) -> pa.DataType:
    """Return the Arrow type of a value whose INTERVALs, now integers, will become durations.

    `kind` is the Arrow type with integers, and `type_` the DuckDB type with INTERVALs.
    """
    if not _has_interval(type_) or (spells and type_.id in _STRUCTS):
        return kind
    if type_.id == "interval":
        return pa.duration("us")
    parts = [part for _, part in _parts(type_)]
    match type_.id:
        case "struct" | "tuple":
            pairs = zip(kind, parts, strict=True)
            return pa.struct([f.with_type(_duration(f.type, p, spells=spells)) for f, p in pairs])
        case "map":
            key, value = parts
            return pa.map_(
                _duration(kind.key_type, key, spells=spells),
                _duration(kind.item_type, value, spells=spells),
            )
    return pa.list_(_duration(kind.value_type, parts[0], spells=spells))
