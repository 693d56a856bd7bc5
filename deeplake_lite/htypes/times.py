"""Lossless conversion of dates, times and durations to datetime64 and timedelta64 with one unit.

`cast_time` reads times (datetime, date, pandas' Timestamp, ISO 8601 strings) as NumPy does. It then
converts them to the unit and back, to detect overflow and truncation. Times with a time zone are
converted to UTC.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.errors import InvalidValueError

if TYPE_CHECKING:
    from numpy.typing import NDArray

UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns")
"""Units that a time column may have, from coarse to fine."""

COUNTED = ("timedelta64[Y]", "timedelta64[M]")
"""Durations of varying length, which Arrow, pandas and CSV represent as integers."""

_WORDS = {
    "year": "Y",
    "month": "M",
    "week": "W",
    "day": "D",
    "hour": "h",
    "minute": "m",
    "second": "s",
    "millisecond": "ms",
    "microsecond": "us",
    "nanosecond": "ns",
}
"""Maps the singular name of each unit to NumPy's abbreviation."""

_TIME = re.compile(
    # a year with five or more digits needs a month, since 20260131 may be a whole date
    r"(?P<time>(?P<year>\d{4}|[+-]?\d{5,12}(?=-)|-\d{1,4}(?=-)|-\d{3,6})"
    r"(-\d\d(-\d\d([T ]\d\d(:\d\d(:\d\d(\.\d{1,9})?)?)?)?)?)?)"
    r"(?P<zone>Z|(?P<sign>[+-])(?P<hours>\d\d):?(?P<minutes>\d\d))?"
)
_DURATION = re.compile(
    rf"(?P<count>-?\d{{1,19}}) ?((?P<unit>{'|'.join(UNITS)})|(?P<word>{'|'.join(_WORDS)})s?)"
)


def cast_time(array: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Convert an array to `dtype`, which is datetime64 or timedelta64 with a unit.

    Raises
    ------
    InvalidValueError
        For values that are not times (or durations), are outside the unit's range, or are finer
        than the unit.

    >>> cast_time(np.array(["2026-01-02", "2026-01-02T03:00+01:00"]), np.dtype("datetime64[s]"))
    array(['2026-01-02T00:00:00', '2026-01-02T02:00:00'], dtype='datetime64[s]')
    """
    if array.dtype == dtype:
        return array
    if array.dtype.kind == dtype.kind:
        return _convert(array, dtype)
    if array.dtype.kind not in "OU":
        raise _not_a_time(array.reshape(-1)[0], dtype)
    values = array.reshape(-1).tolist()
    if dtype.kind == "M" and (block := _read_uniform_times(values)) is not None:
        return _convert(block, dtype).reshape(array.shape)
    read = _read_datetime if dtype.kind == "M" else _read_duration
    times = [read(value, dtype) for value in values]
    if len({time.dtype for time in times}) == 1:
        return _convert(np.array(times), dtype).reshape(array.shape)
    converted = [_convert(np.asarray(time), dtype)[()] for time in times]
    return np.array(converted, dtype=dtype).reshape(array.shape)


def spans_of(values: Any, dtype: str) -> Any:
    """Convert integers in a table, also in lists, to durations if `dtype` is months or years.

    Values are returned unchanged if `dtype` is not such a duration, or if they are not integers.

    >>> spans_of([5, None, [np.array([1])]], "timedelta64[M]")
    [np.timedelta64(5,'M'), None, [array([1], dtype='timedelta64[M]')]]
    """
    if dtype not in COUNTED:
        return values
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
        counts = np.ma.compressed(values)
        fit = bool(((counts <= _MAX_COUNT) & (counts >= -_MAX_COUNT)).all())
        return values.astype(np.int64).astype(dtype) if fit else values
    if isinstance(values, np.ndarray) and values.dtype == object:
        spans = np.fromiter(spans_of(list(values.flat), dtype), object, values.size)
        return spans.reshape(values.shape)
    if isinstance(values, list):
        return [spans_of(value, dtype) for value in values]
    if isinstance(values, bool | np.timedelta64) or not isinstance(values, int | np.integer):
        return values
    return np.int64(values).astype(dtype) if abs(int(values)) <= _MAX_COUNT else values


_MAX_COUNT = 2**63 - 1
"""Largest number of units in a duration. The smallest int64 is not a number, but means NaT."""


def read_time(value: object, dtype: np.dtype[Any]) -> np.datetime64 | np.timedelta64:
    """Convert a value to datetime64 or timedelta64, in the value's own unit.

    Raises
    ------
    InvalidValueError
        If the value is neither a time nor a duration.

    >>> read_time("2026-01-02", np.dtype("datetime64[ns]"))
    np.datetime64('2026-01-02')
    """
    return _read_datetime(value, dtype) if dtype.kind == "M" else _read_duration(value, dtype)


def _read_uniform_times(values: list[Any]) -> NDArray[Any] | None:
    """Read naive datetimes, or strings of equal length without time zones, in one conversion.

    Return None for any other values.
    """
    kinds = set(map(type, values))
    if kinds == {datetime} and all(value.tzinfo is None for value in values):
        return np.array(values, "datetime64[us]")
    if kinds == {str} and len(set(map(len, values))) == 1:
        matches = [match for match in map(_TIME.fullmatch, values) if match]
        if len(matches) == len(values) and not any(match["zone"] for match in matches):
            try:
                block = np.array(values, "datetime64")
            except ValueError:
                return None  # the caller then finds the bad value
            years = [int(match["year"]) for match in matches]
            return block if np.array_equal(_years_of(block), years) else None
    return None


def _years_of(times: NDArray[Any]) -> NDArray[np.int64]:
    """Return the year of each time.

    Callers compare these years with the years in the parsed strings, since NumPy silently wraps
    around for times that nanoseconds cannot represent.
    """
    return times.astype("datetime64[Y]").astype(np.int64) + 1970


def _convert(times: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Convert times to another unit. Raises InvalidValueError if the conversion changes a time."""
    if np.datetime_data(times.dtype)[0] == "generic" and not np.isnat(times).all():
        raise _not_a_time(times.reshape(-1)[0], dtype)
    if dtype.kind == "m" and not np.can_cast(times.dtype, dtype, "same_kind"):
        raise _not_a_time(times.reshape(-1)[0], dtype)
    try:
        converted = times.astype(dtype)
        lost = (converted.astype(times.dtype) != times) & ~np.isnat(times)
    except OverflowError:
        lost = _find_overflows(times, dtype)
    if lost.any():
        raise InvalidValueError(
            f"must fit {dtype.name} exactly, but it is {times[lost][0]}. Declare a column with "
            f"another unit ({', '.join(UNITS)}), or truncate with .astype({dtype.name!r})."
        )
    return converted


def _find_overflows(times: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[np.bool_]:
    """Return a bool array that is True for times outside the range of `dtype`."""
    lost = np.zeros(times.shape, bool)
    for at in np.ndindex(times.shape):
        try:
            times[at].astype(dtype)
        except OverflowError:
            lost[at] = True
    return lost


def _read_datetime(value: object, dtype: np.dtype[Any]) -> np.datetime64:
    """Convert a value to datetime64, in the value's own unit."""
    if isinstance(value, np.datetime64):
        return value
    if hasattr(value, "to_datetime64"):  # pandas' Timestamp, which supports nanoseconds
        stamp: np.datetime64 = value.to_datetime64()
        return stamp
    if isinstance(value, datetime):
        return _datetime_to_utc(value)
    if isinstance(value, date):
        return np.datetime64(value, "D")
    if isinstance(value, str) and (match := _TIME.fullmatch(value)):
        try:
            return _match_to_utc(match)
        except ValueError:
            raise _not_a_time(value, dtype) from None
        except OverflowError:
            raise InvalidValueError(
                "must be in a year that fits in 64 bits at its precision (about 1678 to 2262 with "
                "7 to 9 decimal places, ±290,000 with 4 to 6), but it is "
                f"{brief(value)}. Write fewer decimal places, or leave out the seconds."
            ) from None
    raise _not_a_time(value, dtype)


def _match_to_utc(match: re.Match[str]) -> np.datetime64:
    """Return the time in a parsed string, in UTC.

    Raises ValueError for an impossible date, and OverflowError for a year outside the unit's range.
    """
    time = np.datetime64(match["time"])
    if _years_of(np.asarray(time)) != int(match["year"]):
        raise OverflowError
    if match["sign"]:
        minutes = 60 * int(match["hours"]) + int(match["minutes"])
        time -= np.timedelta64(minutes if match["sign"] == "+" else -minutes, "m")
    return time


def _datetime_to_utc(value: datetime) -> np.datetime64:
    """Convert a datetime to UTC, even if the result is in a year that `datetime` does not support.

    >>> from datetime import timezone
    >>> _datetime_to_utc(datetime(9999, 12, 31, 23, tzinfo=timezone(-timedelta(hours=1))))
    np.datetime64('10000-01-01T00:00:00.000000')
    """
    offset = value.utcoffset()
    local = np.datetime64(value.replace(tzinfo=None), "us")
    return local if offset is None else local - exact_span(offset)


def exact_span(span: timedelta) -> np.timedelta64:
    """Convert a timedelta to microseconds, or to a coarser unit if microseconds overflow int64.

    NumPy's conversion wraps around beyond 292,271 years.

    Raises
    ------
    InvalidValueError
        For a timedelta that is both too long and too precise for every unit.

    >>> exact_span(timedelta(days=110_000_000))
    np.timedelta64(9504000000000000,'ms')
    """
    count = span // timedelta(microseconds=1)
    for unit, size in (("us", 1), ("ms", 1_000), ("s", 1_000_000)):
        if count % size == 0 and abs(count // size) < 2**63:
            return np.timedelta64(count // size, unit)  # type: ignore[call-overload,no-any-return]
    raise InvalidValueError(
        "must be shorter than 2**63 microseconds or a whole number of seconds, but it is "
        f"{span}. Round it: timedelta(days={span.days}, seconds={span.seconds})."
    )


def _read_duration(value: object, dtype: np.dtype[Any]) -> np.timedelta64:
    """Convert a value to timedelta64, in the value's own unit."""
    if isinstance(value, np.timedelta64):
        return value
    if hasattr(value, "to_timedelta64"):  # pandas' Timedelta
        span: np.timedelta64 = value.to_timedelta64()
        return span
    if isinstance(value, timedelta):
        return exact_span(value)
    if isinstance(value, time) and value.tzinfo is None:  # the duration since midnight, as in Arrow
        return exact_span(datetime.combine(date.min, value) - datetime.min)
    if isinstance(value, str) and (match := _DURATION.fullmatch(value)):
        unit: Any = match["unit"] or _WORDS[match["word"]]
        count = int(match["count"])
        if abs(count) < 2**63:
            return np.timedelta64(count, unit)
    raise _not_a_time(value, dtype)


def _not_a_time(value: object, dtype: np.dtype[Any]) -> InvalidValueError:
    """Build the error for a value that is not a time, or not a duration."""
    unit = np.datetime_data(dtype)[0]
    hint = (
        "Pass a datetime, an ISO 8601 string such as '2026-01-31T12:00', or np.datetime64"
        if dtype.kind == "M"
        else f"Pass a timedelta, a string such as '5 {unit}', or np.timedelta64(5, {unit!r})"
    )
    if value is None:
        hint = (
            "To store lists with nulls, declare dl.Sequence(dl.Scalar("
            f"{dtype.name!r}, nullable=True))"
        )
    kind = "time" if dtype.kind == "M" else "duration"
    return InvalidValueError(
        f"must be a {kind} ({dtype.name}), but it is {type(value).__name__} {brief(value)}. {hint}."
    )
