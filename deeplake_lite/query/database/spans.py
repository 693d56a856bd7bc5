"""Spans of time and moments between Arrow and DuckDB, exactly or not at all.

DuckDB counts a span in months, days and microseconds. It rounds nanoseconds on the way in, and on
the way out it gives Arrow the rest as nanoseconds in int64, which overflow after 292 years. So
spans come in only where microseconds hold them, and leave as int64 microseconds.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from deeplake_lite.brief import brief
from deeplake_lite.errors import QueryTypeError

if TYPE_CHECKING:
    import duckdb

MONTH_DAYS = 30
"""Days of a month in a span of time, as in DuckDB's comparisons."""

_PER_MICROSECOND = 1000
_MICROSECONDS = {"s": 1_000_000, "ms": 1000, "us": 1}
"""Microseconds of each unit of Arrow's that is no finer."""


_MOMENT = re.compile(
    r"(?P<time>\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.]\d{1,9})?)?)?)"
    r"(?P<zone>Z|(?P<sign>[+-])(?P<hours>\d\d):?(?P<minutes>\d\d))?",
    re.ASCII,
)
"""The form of a moment that DuckDB and NumPy read in the same way, but for its offset from UTC."""

_IN_ZONE = re.compile(_MOMENT.pattern + r"\s*(?P<rest>[+-]\d.*|[A-Za-z].*)", re.ASCII)
"""A moment in a zone that has no such form."""


def read_moment(text: str) -> np.datetime64 | None:
    """Return the moment that a text gives, in UTC; None for another form, or no such day.

    Raises
    ------
    QueryTypeError
        For a time zone that is no offset from UTC.

    >>> read_moment("2026-01-02 03:04"), read_moment("2026-02-30"), read_moment("yesterday")
    (np.datetime64('2026-01-02T03:04'), None, None)
    >>> read_moment("2026-01-02T03:04+01:00")
    np.datetime64('2026-01-02T02:04')
    """
    match = _MOMENT.fullmatch(text)
    if match is None:
        _check_zone(text)
        return None
    try:
        time = np.datetime64(match["time"].replace(" ", "T", 1))
    except ValueError:  # no day of the calendar
        return None
    if match["sign"]:
        minutes = 60 * int(match["hours"]) + int(match["minutes"])
        time -= np.timedelta64(minutes if match["sign"] == "+" else -minutes, "m")
    return time


def _check_zone(text: str) -> None:
    """Refuse a moment in a zone that is no offset. Raises QueryTypeError."""
    match = _IN_ZONE.fullmatch(text)
    if match is not None:
        raise QueryTypeError(
            "The time zone of a moment in quotes is its offset from UTC, such as +01:00, or Z, but "
            f"it is {brief(match['rest'], 30)}. Write the moment in UTC, or pass a datetime with "
            "its tzinfo as a parameter."
        )


def moment_beside(text: str, dtype: str) -> np.datetime64 | None:
    """Return the moment that a text gives where DuckDB would read another; None otherwise.

    It would round a moment that is finer than times of a dtype, and ignore the offset from UTC.

    >>> moment_beside("2026-01-02 03:04:05.6", "datetime64[s]")
    np.datetime64('2026-01-02T03:04:05.600')
    >>> moment_beside("2026-01-02 03:04:05.6", "datetime64[ms]")
    >>> moment_beside("2026-01-02 03:04:05Z", "datetime64[ms]")
    np.datetime64('2026-01-02T03:04:05')
    """
    moment = read_moment(text)
    if moment is None:
        return None
    unit = dtype if dtype.startswith("datetime64") else "datetime64[D]"
    has_zone = _MOMENT.fullmatch(text)["zone"] is not None  # type: ignore[index]
    return moment if has_zone or moment.astype(unit) != moment else None


def check_times(array: pa.Array, name: str) -> None:
    """Refuse durations and moments that SQL would change; arrays of anything else pass.

    Raises
    ------
    QueryTypeError
        For durations that are finer than microseconds, or too long for them; for the first and
        the last moment of a unit, which DuckDB takes for infinity.

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
            f"{name} has {values[wrong][0]!r}. Round it, or keep it as a count in an int64 column."
        )


def _check_finite(moments: pa.Array, name: str) -> None:
    """Refuse the moments that stand for infinity: the greatest count of their unit, either way."""
    counts = moments.view(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    ends = np.abs(counts) == np.iinfo(np.int64).max
    if ends.any():
        moment = counts[ends][0].view(f"datetime64[{moments.type.unit}]")
        raise QueryTypeError(
            f"SQL takes {moment}, the first or last moment of its unit, for infinity, but {name} "
            "has it. Store null where there is no moment: ds.set_nullable(…)."
        )


def durations_of(array: pa.Array) -> pa.Array:
    """Return spans in DuckDB's own form, within 292 years, as durations in microseconds."""
    spans = [None if v is None else _microseconds(v) for v in array.to_pylist()]
    return pa.array(spans, pa.duration("us"))


def _microseconds(span: Any) -> int:
    days = MONTH_DAYS * span.months + span.days
    return int(days * 86_400_000_000 + span.nanoseconds // _PER_MICROSECOND)


def without_intervals(relation: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation | None:
    """Return a relation with spans as int64 microseconds; None where it has no spans."""
    if not any(map(_has_interval, relation.types)):
        return None
    pairs = zip(relation.columns, relation.types, strict=True)
    return relation.project(", ".join(f"{_count(_quoted(n), t)} AS {_quoted(n)}" for n, t in pairs))


def with_durations(table: pa.Table, types: list[Any]) -> pa.Table:
    """Return the table of such a relation, with int64 microseconds as the spans that they are."""
    columns = [
        column.cast(_duration(column.type, type_)) if _has_interval(type_) else column
        for column, type_ in zip(table.columns, types, strict=True)
    ]
    return pa.table(columns, table.column_names)


def _has_interval(type_: Any) -> bool:
    if type_.id == "interval":
        return True
    return type_.id in _NESTED and any(_has_interval(part) for _, part in _parts(type_))


_NESTED = ("list", "struct", "map", "array")


def _parts(type_: Any) -> list[tuple[str, Any]]:
    return [part for part in type_.children if not isinstance(part[1], int)]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _count(node: str, type_: Any, depth: int = 0) -> str:
    """Return the SQL of a value with its spans as microseconds."""
    if not _has_interval(type_):
        return node
    if type_.id == "interval":
        return f"epoch_us({node})"
    parts, item = _parts(type_), f"lake_item{depth}"
    match type_.id:
        case "struct":
            fields = (
                f"{_quoted(name)} := "
                + _count(f"struct_extract({node}, '{name.replace("'", "''")}')", part, depth)
                for name, part in parts
            )
            found = f"struct_pack({', '.join(fields)})"
        case "map":
            keys, values = (
                f"[{_count(item, part, depth + 1)} FOR {item} IN map_{which}({node})]"
                for (_, part), which in zip(parts, ("keys", "values"), strict=True)
            )
            found = f"map({keys}, {values})"
        case _:
            found = f"[{_count(item, parts[0][1], depth + 1)} FOR {item} IN {node}]"
    return f"CASE WHEN {node} IS NOT NULL THEN {found} END"


def _duration(kind: pa.DataType, type_: Any) -> pa.DataType:
    """Return an Arrow type with durations where DuckDB's has spans."""
    if not _has_interval(type_):
        return kind
    if type_.id == "interval":
        return pa.duration("us")
    parts = [part for _, part in _parts(type_)]
    match type_.id:
        case "struct":
            fields = zip(kind, parts, strict=True)
            return pa.struct([f.with_type(_duration(f.type, part)) for f, part in fields])
        case "map":
            key, value = parts
            return pa.map_(_duration(kind.key_type, key), _duration(kind.item_type, value))
    return pa.list_(_duration(kind.value_type, parts[0]))
