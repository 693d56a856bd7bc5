"""Compare two timestamps or two durations exactly, even if their units differ."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.errors import QueryTypeError
from deeplake_lite.query.database.times import read_odd_timestamp, read_timestamp
from deeplake_lite.query.functions.base import Arg
from deeplake_lite.query.functions.value_type import Type

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.query.functions.json_items import Comparison


_UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns")
"""Units of times, from coarse to fine."""


def as_times(arg: Arg, other: Arg) -> Arg:
    """Return a constant that is compared with times as times. Return other arguments unchanged.

    The constant may contain strings, or times from Python's datetime module.

    Raises
    ------
    QueryTypeError
        If a string is not a timestamp, or if no unit can represent all times of the constant.
    """
    other_type = other.type if other.type.items is None else other.type.items.of
    if not other_type.is_time or not arg.is_constant or arg.value is None:
        return arg
    values = np.asarray(arg.value)
    if values.dtype.kind not in "UO" or not values.size:
        return arg
    parts = [_part(value, arg, other_type) for value in values.flat]
    if {getattr(part, "dtype", np.dtype("O")).kind for part in parts} not in ({"M"}, {"m"}):
        return arg  # the comparison then raises an error
    times = _to_common_unit(parts, arg).reshape(values.shape)
    return Arg(arg.text, Type(times.dtype.name, times.shape), times)


def times_of(values: list[Any]) -> NDArray[Any] | None:
    """Return a list of timestamps, or a list of durations, as an array. For others, return None.

    >>> times_of([dt.date(2026, 1, 2), dt.datetime(2026, 1, 2, 3)])
    array(['2026-01-02T00:00:00.000000', '2026-01-02T03:00:00.000000'],
          dtype='datetime64[us]')
    >>> times_of([dt.date(2026, 1, 2), None])
    """
    times = [as_numpy_time(value) for value in values]
    kinds = {time.dtype.kind if isinstance(time, np.generic) else "" for time in times}
    if kinds not in ({"M"}, {"m"}):
        return None
    array = np.array(times)
    return array if all(map(_is_same, times, array)) else None


def as_numpy_time(value: Any) -> Any:
    """Return a time from Python's datetime module as a NumPy time. Return others unchanged."""
    match value:
        case dt.timedelta():
            return np.timedelta64(value, "us")
        case dt.datetime():
            return np.datetime64(value, "us")
        case dt.date():
            return np.datetime64(value, "D")
    return value


def _part(value: Any, arg: Arg, other_type: Type) -> Any:
    """Return None, a string or a Python time as a NumPy time. Return other values unchanged."""
    match value:
        case None:
            return np.array("NaT", other_type.dtype)[()]
        case str():
            return _read(str(value), arg, other_type)
    return as_numpy_time(value)


def _read(text: str, arg: Arg, other_type: Type) -> np.datetime64:
    """Return the timestamp in a string.

    Raises QueryTypeError if the string is no timestamp, or is compared with durations.
    """
    if other_type.dtype.startswith("timedelta"):
        raise QueryTypeError(
            f"Durations can only be compared with durations, but {arg.text} is a string. Write "
            "INTERVAL 2 HOUR, or pass a timedelta as a parameter."
        )
    timestamp = read_timestamp(text)
    if timestamp is None:
        timestamp = read_odd_timestamp(text)
    if timestamp is None:
        raise QueryTypeError(
            f"Times can only be compared with times, but {brief(text, 60)} is not a time. Write a "
            "time such as '2026-01-31 12:30:00'."
        )
    return timestamp


def _to_common_unit(parts: list[Any], arg: Arg) -> NDArray[Any]:
    """Return times as one array. Raises QueryTypeError if no unit can represent all of them."""
    times = np.array(parts)
    if not all(map(_is_same, parts, times)):
        raise QueryTypeError(
            f"All times in an array must have the same unit, but no unit fits all of {arg.text}: "
            f"{brief(arg.value, 80)}. Compare with single times."
        )
    return times


def _is_same(part: Any, converted: object) -> bool:
    """Return whether a time is equal to its conversion to another unit, which may overflow."""
    return bool(np.isnat(part) or compare_times(np.equal, part, converted))


def check_times(sign: str, x: Arg, y: Arg) -> None:
    """Raise QueryTypeError unless both values are timestamps, or both are durations."""
    kinds = {arg.type.dtype.split("[")[0] for arg in (x, y)}
    if len(kinds) > 1:
        raise QueryTypeError(
            f"{sign} compares times with times and durations with durations, but {x.text} is "
            f"{x.type} and {y.text} is {y.type}."
        )


def compare_times(compare: Comparison, a: object, b: object) -> Any:
    """Return the result of comparing times element by element. NaT behaves like NaN.

    If the units differ, the finer times are truncated to the coarser unit. If the times are then
    equal, the remainder decides. Converting the coarser times to the finer unit could overflow,
    since nanoseconds cannot represent the year 3000, for example.

    >>> days = np.array(["2020-01-01", "3000-01-01", "NaT"], "M8[D]")
    >>> compare_times(np.less, days, np.datetime64("2020-01-01T00:00:00.000000001"))
    array([ True, False, False])
    """
    a, b = np.asarray(a), np.asarray(b)
    if not a.dtype.kind == b.dtype.kind in "mM":
        raise QueryTypeError(
            "Times can only be compared with times, and durations with durations, but "
            f"{a.dtype} is compared with {b.dtype}."
        )
    return compare(a, b) if a.dtype == b.dtype else compare(_order(a, b), 0)


def _order(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.float64]:
    """Return -1 where a is less than b, 0 where a equals b, 1 where a is greater, NaN for NaT."""
    coarse, fine = (np.datetime_data(side.dtype)[0] for side in (a, b))
    if _UNITS.index(coarse) > _UNITS.index(fine):
        return -_order(b, a)
    cut, has_remainder = (_cut_months if coarse in "YM" else _cut)(b, coarse)
    counts = a.view(np.int64)
    order = np.where(counts == cut, -1.0 * has_remainder, np.where(counts < cut, -1.0, 1.0))
    return np.where(np.isnat(a) | np.isnat(b), np.nan, order)


def _cut(times: NDArray[Any], unit: str) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the number of whole units in each time, and whether there is a remainder."""
    fine = np.datetime_data(times.dtype)[0]
    ratio = np.array(1, f"m8[{unit}]") // np.array(1, f"m8[{fine}]")
    counts = times.view(np.int64)
    return counts // ratio, counts % ratio != 0


def _cut_months(times: NDArray[Any], unit: str) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the number of whole months or years in each time, and whether there is a remainder.

    Raises TypeError for durations in days or finer units, because months differ in length.
    """
    of = np.datetime_data(times.dtype)[0]
    if times.dtype.kind == "m" or of == "M":
        return _cut(times, unit)
    if of == "W":
        times = times.astype("M8[D]")
    counts, has_remainder = _cut(times, "D")  # `astype` may raise OverflowError near the minimum
    days = counts.view("M8[D]")
    whole = days.astype(f"M8[{unit}]")
    return whole.view(np.int64), has_remainder | (whole.astype("M8[D]") != days)
