"""Conversion of arrays that NumPy would compare inexactly.

NumPy rounds large integers when it compares them with floats, and times in different units can
overflow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes.times import cast_time

if TYPE_CHECKING:
    from numpy.typing import NDArray

LARGE = 2**53
"""Largest integer up to which float64 can represent all integers."""

_NANOSECONDS = {
    "W": 604_800 * 10**9, "D": 86_400 * 10**9, "h": 3_600 * 10**9, "m": 60 * 10**9, "s": 10**9,
    "ms": 10**6, "us": 10**3, "ns": 1,
}  # fmt: skip

_MONTHS = {"Y": 12, "M": 1}


def comparable(a: NDArray[Any], b: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Convert two arrays so that NumPy compares them exactly.

    Arrays that NumPy compares exactly are returned unchanged. Other arrays become arrays of Python
    integers and floats, with NaN for NaT. Masks are preserved.

    Raises
    ------
    InvalidValueError
        When durations in months are compared with durations in days, because months differ in
        length.

    >>> a, b = comparable(np.array([2**53 + 1]), np.array([2.0**53]))
    >>> a == b, a > b
    (array([False]), array([ True]))
    >>> a, b = comparable(np.array(["2262"], "M8[ns]"), np.array("9999-12-31", "M8[D]"))
    >>> a < b
    array([ True])
    """
    kinds = {a.dtype.kind, b.dtype.kind}
    if kinds in ({"M"}, {"m"}):
        return _times(a, b)
    if "f" in kinds and kinds & {"i", "u"} and _has_large_numbers(a) and _has_large_numbers(b):
        return a.astype(object), b.astype(object)
    return a, b


def nearest(value: object, dtype: np.dtype[Any]) -> object:
    """Round a number with a fraction to a float dtype. Any other value is returned unchanged.

    As in queries, a number with a fraction stands for the nearest number that the column can store,
    so ``0.1`` equals a stored float32 0.1. NumPy does the same with Python floats. Whole numbers
    are compared exactly.

    >>> nearest(0.1, np.dtype("float32")), nearest(2.0**24 + 1, np.dtype("float32"))
    (np.float32(0.1), 16777217.0)
    """
    if dtype.kind != "f" or not isinstance(value, float | np.floating) or value % 1 == 0:
        return value
    return dtype.type(value) if np.isfinite(value) else value


def _has_large_numbers(numbers: NDArray[Any]) -> bool:
    """Return whether any number is so large that float64 may round the integers next to it."""
    if numbers.dtype.itemsize <= 2:  # 16-bit numbers are below LARGE
        return False
    return bool(np.any((numbers >= LARGE) | (numbers <= -LARGE)))


def holds_large_integers(values: NDArray[Any]) -> bool:
    """Return whether any object in the array is a Python integer that float64 may round.

    >>> holds_large_integers(np.array([0.5, 2**53 + 1], object))
    True
    """
    return any(isinstance(value, int) and abs(value) >= LARGE for value in values.flat)


def _times(a: NDArray[Any], b: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return times in the unit of the first array. If they overflow, return counts of one unit."""
    if a.dtype == b.dtype:
        return a, b
    try:
        converted = cast_time(np.ma.getdata(b), a.dtype)
    except InvalidValueError:
        return _counts(a, b)
    return a, np.ma.array(converted, mask=np.ma.getmaskarray(b)) if np.ma.isMA(b) else converted


def _counts(a: NDArray[Any], b: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return times as counts of nanoseconds or months: Python integers, with NaN for NaT."""
    units = [np.datetime_data(array.dtype)[0] for array in (a, b)]
    if a.dtype.kind == "m" and (units[0] in _MONTHS) != (units[1] in _MONTHS):
        if any(np.datetime_data(array.dtype)[0] == "generic" for array in (a, b)):
            raise InvalidValueError(
                "can only be compared with durations that have a unit, but one of them has none. "
                "Write np.timedelta64(5, 's')."
            )
        raise InvalidValueError(
            f"has durations in {units[0]!r} and cannot be compared with durations in {units[1]!r}, "
            "because months and years have no fixed length in days. Use the same unit on both "
            "sides."
        )
    left, right = (_python_counts(array) for array in (a, b))
    return left, right


def _python_counts(times: NDArray[Any]) -> NDArray[Any]:
    """Return times as Python integers, which cannot overflow: counts since 1970, or durations."""
    unit = np.datetime_data(times.dtype)[0]
    flat = np.ravel(np.ma.getdata(times))
    numbers = flat.astype(np.int64).tolist()
    counts: NDArray[Any] = np.empty(len(flat), object)
    if times.dtype.kind == "M" and unit in _MONTHS:
        months, day = _MONTHS[unit], _NANOSECONDS["D"]
        counts[:] = [_days(n * months) * day for n in numbers]
    else:
        size = {**_NANOSECONDS, **_MONTHS}[unit]
        counts[:] = [n * size for n in numbers]
    counts[np.isnat(flat)] = np.nan
    counts = counts.reshape(np.shape(times))
    return np.ma.array(counts, mask=np.ma.getmaskarray(times)) if np.ma.isMA(times) else counts


def _days(months: int) -> int:
    """Return the number of days from 1970-01-01 to the first day of a month.

    `months` counts from January 1970. The algorithm is ``days_from_civil`` from
    https://howardhinnant.github.io/date_algorithms.html, where years begin in March so that the
    leap day is the last day of the year.

    >>> _days(1), _days(-1), _days(12 * 30)
    (31, -31, 10957)
    """
    eras, month = divmod(months + 12 * 1970 - 2, 12 * 400)  # eras of 400 years, from March 0000
    year, month = divmod(month, 12)
    days = 365 * year + year // 4 - year // 100 + (153 * month + 2) // 5
    return eras * 146_097 + days - 719_468
