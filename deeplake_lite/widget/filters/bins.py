"""Ranges of equal width whose ends are round numbers, or round times.

The ends are what a filter compares with, to the last digit: a bar shows the rows that it filters.
"""

from __future__ import annotations

import math
import sys

import numpy as np

WANTED = 20
"""Ranges, about."""

EXACT = 2**53
"""Integers up to here are numbers of a page, which has floats alone."""

_DAY = 86_400.0
_SPANS = (
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, _DAY,
    2 * _DAY, 7 * _DAY, 14 * _DAY, 30 * _DAY, 60 * _DAY, 90 * _DAY, 182 * _DAY, 365 * _DAY,
)  # fmt: skip
"""Round spans of time, seconds."""

_STEPS = {"ns": 1, "us": 1, "ms": 1000, "s": 10**6, "m": 60 * 10**6, "h": 3600 * 10**6}
"""Microseconds of a column's unit, and no fewer than one; coarser units are whole days."""

_HUGE, _LEAST = 1e308, 1e-300
"""From where a number is not rounded to digits, and the least width: powers of ten end there."""

_DAYS = 86_400 * 10**6
_MOST_MICROSECONDS = 2**63 - 1


def edges_of_numbers(low: float, high: float) -> list[float]:
    """Return the ends of ranges, each without its upper end, that hold numbers from low to high.

    >>> edges_of_numbers(0.1, 0.32)[:4]
    [0.1, 0.12, 0.14, 0.16]
    """
    width = _round_width(high - low)
    if low + width == low or high + width == high:  # beyond the digits there are
        width = max(abs(low), abs(high), 1.0) / 8
    digits = 2 - math.floor(math.log10(width))
    first, last = math.floor(low / width), math.floor(high / width) + 1
    while _edge(first, width, digits) > low:  # a quotient is rounded, and so is an edge
        first -= 1
    while _edge(first + 1, width, digits) <= low:
        first += 1
    most = sys.float_info.max
    while _edge(last, width, digits) <= min(high + width * 1e-6, most):  # float32 is compared so
        last += 1
    edges = [_edge(i, width, digits) for i in range(first, last + 1)]
    return sorted({min(max(edge, -most), most) for edge in edges})  # JSON has no infinity


def edges_of_integers(low: int, high: int) -> list[int]:
    """Return the ends of ranges that hold integers from low to high.

    >>> edges_of_integers(3, 5), edges_of_integers(2**60 + 1, 2**60 + 9)
    ([3, 4, 5, 6], [1152921504606846976, 1152921504606847488])
    """
    width = max(1, int(_round_width(high - low)))
    held = max(abs(low), abs(high))
    apart = 2 ** max(0, held.bit_length() + 1 - EXACT.bit_length() + 1)
    return _multiples(low, high, -(-width // apart) * apart)  # a page has them exactly


def edges_of_times(low: np.datetime64, high: np.datetime64) -> list[str]:
    """Return the ends of ranges that hold times from low to high, as ISO 8601.

    The ends are times of the column, too: a query rounds a finer one to the column's unit.

    >>> edges_of_times(np.datetime64("1970-01-01"), np.datetime64("2023-11-14"))[:2]
    ['1970-01-01T00:00:00', '1972-09-11T00:00:00']
    """
    first, last = _microseconds(low), _microseconds(high)
    unit = _STEPS.get(np.datetime_data(low)[0], _DAYS)
    width = max(unit, round(_round_time((last - first) / 1e6) * 1e6))
    edges = _multiples(first, last, -(-width // unit) * unit)
    return [_iso(us) for us in edges if abs(us) <= _MOST_MICROSECONDS]


def _microseconds(time: np.datetime64) -> int:
    """Return the microseconds since 1970 of a time of any unit, rounded down."""
    second = time.astype("M8[s]")
    return int(second.astype(np.int64)) * 10**6 + int((time - second) / np.timedelta64(1, "us"))


def _multiples(low: int, high: int, width: int) -> list[int]:
    """Return the multiples of a width, from one that is not above low to one that is above high."""
    return [i * width for i in range(low // width, high // width + 2)]


def _edge(at: int, width: float, digits: int) -> float:
    """Return a multiple of a round width, without the error of its last digits."""
    edge = at * width
    return round(edge, digits) + 0.0 if abs(edge) < _HUGE else edge  # no -0.0


def _round_width(span: float) -> float:
    """Return a round width of which a span has about as many as are wanted.

    >>> _round_width(94), _round_width(7)
    (5.0, 0.5)
    """
    if span <= 0 or not math.isfinite(span):
        return 1.0
    rough = max(span / WANTED, _LEAST)
    power = 10.0 ** math.floor(math.log10(rough))
    return float(next(power * m for m in (1, 2, 5, 10) if power * m >= rough * 0.999))


def _round_time(span: float) -> float:
    """Return a round span of time of which another has about as many as are wanted, seconds."""
    rough = span / WANTED
    if rough < 1:
        return _round_width(span)
    return float(next((s for s in _SPANS if s >= rough), math.ceil(rough / _DAY) * _DAY))


def _iso(microseconds: int) -> str:
    """Return a time as a query reads it.

    >>> _iso(1), _iso(-62_198_755_200_000_000)
    ('1970-01-01T00:00:00.000001', '-0001-01-01T00:00:00')
    """
    exact = np.datetime64(microseconds, "us")
    said = str(exact if microseconds % 10**6 else exact.astype("M8[s]"))
    year, rest = said.lstrip("-").split("-", 1)
    return f"{'-' if said.startswith('-') else ''}{year:0>4}-{rest}"
