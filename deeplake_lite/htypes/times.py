"""How dates, times and durations become datetime64 and timedelta64 of one unit without loss.

Steps: `cast_time` reads whatever stands for a moment (datetime, date, pandas' Timestamp, ISO 8601
text) as NumPy does, then converts to the unit and back, so that neither overflow nor truncation
goes unseen. Moments with a time zone become UTC.
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
"""Units that a time column may have, coarse to fine."""

COUNTED = ("timedelta64[Y]", "timedelta64[M]")
"""Durations without a length, which Arrow, pandas and CSV know as whole numbers only."""

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
"""Units as NumPy writes them, without their plural."""

_MOMENT = re.compile(
    # without a month, five digits or more may be a whole date
    r"(?P<time>(?P<year>\d{4}|[+-]?\d{5,12}(?=-)|-\d{1,4}(?=-)|-\d{3,6})"
    r"(-\d\d(-\d\d([T ]\d\d(:\d\d(:\d\d(\.\d{1,9})?)?)?)?)?)?)"
    r"(?P<zone>Z|(?P<sign>[+-])(?P<hours>\d\d):?(?P<minutes>\d\d))?"
)
_DURATION = re.compile(
    rf"(?P<count>-?\d{{1,19}}) ?((?P<unit>{'|'.join(UNITS)})|(?P<word>{'|'.join(_WORDS)})s?)"
)


def cast_time(array: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return `array` as `dtype`, which is datetime64 or timedelta64 with a unit.

    Raises
    ------
    InvalidValueError
        For what is no moment (or duration), lies outside the unit's range, or is finer than the
        unit.

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
    if dtype.kind == "M" and (block := _moments_of_one_form(values)) is not None:
        return _convert(block, dtype).reshape(array.shape)
    read = _moment if dtype.kind == "M" else _duration
    times = [read(value, dtype) for value in values]
    if len({time.dtype for time in times}) == 1:
        return _convert(np.array(times), dtype).reshape(array.shape)
    converted = [_convert(np.asarray(time), dtype)[()] for time in times]
    return np.array(converted, dtype=dtype).reshape(array.shape)


def spans_of(values: Any, dtype: str) -> Any:
    """Return whole numbers of a table, also in lists, as the durations that they count.

    Where `dtype` has a length, or a number is no count of it, values are returned as they are.

    >>> spans_of([5, None, [np.array([1])]], "timedelta64[M]")
    [np.timedelta64(5,'M'), None, [array([1], dtype='timedelta64[M]')]]
    """
    if dtype not in COUNTED:
        return values
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
        counts = np.ma.compressed(values)
        fit = bool(((counts <= _MOST) & (counts >= -_MOST)).all())
        return values.astype(np.int64).astype(dtype) if fit else values
    if isinstance(values, np.ndarray) and values.dtype == object:
        spans = np.fromiter(spans_of(list(values.flat), dtype), object, values.size)
        return spans.reshape(values.shape)
    if isinstance(values, list):
        return [spans_of(value, dtype) for value in values]
    if isinstance(values, bool | np.timedelta64) or not isinstance(values, int | np.integer):
        return values
    return np.int64(values).astype(dtype) if abs(int(values)) <= _MOST else values


_MOST = 2**63 - 1
"""Largest count; the least one is NaT."""


def read_time(value: Any, dtype: np.dtype[Any]) -> np.datetime64 | np.timedelta64:
    """Return a moment, or a duration, in the unit that it comes in.

    Raises
    ------
    InvalidValueError
        For anything else.

    >>> read_time("2026-01-02", np.dtype("datetime64[ns]"))
    np.datetime64('2026-01-02')
    """
    return _moment(value, dtype) if dtype.kind == "M" else _duration(value, dtype)


def _moments_of_one_form(values: list[Any]) -> NDArray[Any] | None:
    """Read datetimes, or texts of one unit, without time zones in one go; None for all else."""
    kinds = set(map(type, values))
    if kinds == {datetime} and all(value.tzinfo is None for value in values):
        return np.array(values, "datetime64[us]")
    if kinds == {str} and len(set(map(len, values))) == 1:
        matches = [match for match in map(_MOMENT.fullmatch, values) if match]
        if len(matches) == len(values) and not any(match["zone"] for match in matches):
            try:
                block = np.array(values, "datetime64")
            except ValueError:
                return None  # which one?
            years = [int(match["year"]) for match in matches]
            return block if np.array_equal(_years_of(block), years) else None
    return None


def _years_of(times: NDArray[Any]) -> NDArray[np.int64]:
    """Return the years of moments.

    Those of a text tell whether it was read: NumPy wraps nanoseconds of years that they do not
    reach, without a word.
    """
    return times.astype("datetime64[Y]").astype(np.int64) + 1970


def _convert(times: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Change the unit of `times`, refusing what changes their value."""
    if np.datetime_data(times.dtype)[0] == "generic" and not np.isnat(times).all():
        raise _not_a_time(times.reshape(-1)[0], dtype)
    if dtype.kind == "m" and not np.can_cast(times.dtype, dtype, "same_kind"):
        raise _not_a_time(times.reshape(-1)[0], dtype)
    try:
        converted = times.astype(dtype)
        lost = (converted.astype(times.dtype) != times) & ~np.isnat(times)
    except OverflowError:
        lost = _beyond(times, dtype)
    if lost.any():
        raise InvalidValueError(
            f"must fit {dtype.name} exactly, got {times[lost][0]}. Declare a column of another "
            f"unit ({', '.join(UNITS)}), or round with .astype({dtype.name!r})."
        )
    return converted


def _beyond(times: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[np.bool_]:
    """Tell which times the other unit does not reach."""
    lost = np.zeros(times.shape, bool)
    for at in np.ndindex(times.shape):
        try:
            times[at].astype(dtype)
        except OverflowError:
            lost[at] = True
    return lost


def _moment(value: Any, dtype: np.dtype[Any]) -> np.datetime64:
    """Read one moment in the unit that it comes in."""
    if isinstance(value, np.datetime64):
        return value
    if hasattr(value, "to_datetime64"):  # pandas' Timestamp, which has nanoseconds
        stamp: np.datetime64 = value.to_datetime64()
        return stamp
    if isinstance(value, datetime):
        return _utc_of(value)
    if isinstance(value, date):
        return np.datetime64(value, "D")
    if isinstance(value, str) and (match := _MOMENT.fullmatch(value)):
        try:
            return _utc(match)
        except ValueError:
            raise _not_a_time(value, dtype) from None
        except OverflowError:
            raise InvalidValueError(
                f"must lie in the years that its digits of a second allow, got {brief(value)}. "
                "Write it with fewer digits of a second."
            ) from None
    raise _not_a_time(value, dtype)


def _utc(match: re.Match[str]) -> np.datetime64:
    """Return the moment of a text. Raises ValueError, and OverflowError beyond the unit's years."""
    time = np.datetime64(match["time"])
    if _years_of(np.asarray(time)) != int(match["year"]):
        raise OverflowError
    if match["sign"]:
        minutes = 60 * int(match["hours"]) + int(match["minutes"])
        time -= np.timedelta64(minutes if match["sign"] == "+" else -minutes, "m")
    return time


def _utc_of(moment: datetime) -> np.datetime64:
    """Return a datetime in UTC, also where that lies in a year that `datetime` does not have.

    >>> from datetime import timezone
    >>> _utc_of(datetime(9999, 12, 31, 23, tzinfo=timezone(-timedelta(hours=1))))
    np.datetime64('10000-01-01T00:00:00.000000')
    """
    offset = moment.utcoffset()
    local = np.datetime64(moment.replace(tzinfo=None), "us")
    return local if offset is None else local - exact_span(offset)


def exact_span(span: timedelta) -> np.timedelta64:
    """Return a timedelta in microseconds or, where int64 holds too few of them, in a longer unit.

    NumPy's own conversion wraps around beyond 292,271 years.

    Raises
    ------
    InvalidValueError
        For a timedelta that long with microseconds, which no unit holds.

    >>> exact_span(timedelta(days=110_000_000))
    np.timedelta64(9504000000000000,'ms')
    """
    count = span // timedelta(microseconds=1)
    for unit, size in (("us", 1), ("ms", 1_000), ("s", 1_000_000)):
        if count % size == 0 and abs(count // size) < 2**63:
            return np.timedelta64(count // size, unit)  # type: ignore[call-overload,no-any-return]
    raise InvalidValueError(
        f"must be at most 2**63 microseconds long, or be whole seconds, got {span}. Round it: "
        f"timedelta(days={span.days}, seconds={span.seconds})."
    )


def _duration(value: Any, dtype: np.dtype[Any]) -> np.timedelta64:
    """Read one duration in the unit that it comes in."""
    if isinstance(value, np.timedelta64):
        return value
    if hasattr(value, "to_timedelta64"):  # pandas' Timedelta
        span: np.timedelta64 = value.to_timedelta64()
        return span
    if isinstance(value, timedelta):
        return exact_span(value)
    if isinstance(value, time) and value.tzinfo is None:  # as Arrow's: since midnight
        return exact_span(datetime.combine(date.min, value) - datetime.min)
    if isinstance(value, str) and (match := _DURATION.fullmatch(value)):
        unit: Any = match["unit"] or _WORDS[match["word"]]
        count = int(match["count"])
        if abs(count) < 2**63:
            return np.timedelta64(count, unit)
    raise _not_a_time(value, dtype)


def _not_a_time(value: Any, dtype: np.dtype[Any]) -> InvalidValueError:
    """Build the error for what is no moment, or no duration."""
    unit = np.datetime_data(dtype)[0]
    way = (
        "Give a datetime, an ISO 8601 text such as '2026-01-31T12:00', or np.datetime64"
        if dtype.kind == "M"
        else f"Give a timedelta, a text such as '5 {unit}', or np.timedelta64(5, {unit!r})"
    )
    if value is None:
        way = (
            "A list with nulls is a Sequence: dl.Sequence(dl.Scalar("
            f"{dtype.name!r}, nullable=True))"
        )
    kind = "moment" if dtype.kind == "M" else "duration"
    return InvalidValueError(
        f"must be a {kind} ({dtype.name}), got {type(value).__name__} {brief(value)}. {way}."
    )
