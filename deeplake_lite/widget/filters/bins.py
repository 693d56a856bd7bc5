"""Histogram bins of equal width, with round numbers or round times as edges.

Filters use exactly these edges. Therefore, clicking a bar selects as many rows as the bar shows.
"""

from __future__ import annotations

import math
import sys

import numpy as np

WANTED = 20
"""Approximate number of bins."""

EXACT = 2**53
"""JavaScript, whose numbers are floats, can represent all integers up to this one."""

_DAY = 86_400.0
_SPANS = (
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, _DAY,
    2 * _DAY, 7 * _DAY, 14 * _DAY, 30 * _DAY, 60 * _DAY, 90 * _DAY, 182 * _DAY, 365 * _DAY,
)  # fmt: skip
"""Round spans of time, in seconds."""

_STEPS = {"ns": 1, "us": 1, "ms": 1000, "s": 10**6, "m": 60 * 10**6, "h": 3600 * 10**6}
"""Microseconds in each time unit, but at least 1. With coarser units, bins consist of whole
days."""

_HUGE, _LEAST = 1e308, 1e-300
"""Limits near the ends of the range of floats. Edges of at least `_HUGE` are not rounded, and the
width of a bin is at least `_LEAST`."""

_DAYS = 86_400 * 10**6
_MAX_MICROSECONDS = 2**63 - 1


type Edge = float | str
"""An edge of a bin: a number, or a time in ISO 8601."""


def edges_of_numbers(low: float, high: float) -> list[float]:
    """Return the edges of half-open bins that cover the numbers from low to high.

    >>> edges_of_numbers(0.1, 0.32)[:4]
    [0.1, 0.12, 0.14, 0.16]
    """
    width = _round_width(high - low)
    if low + width == low or high + width == high:  # the width is below the float precision
        width = max(abs(low), abs(high), 1.0) / 8
    digits = 2 - math.floor(math.log10(width))
    first, last = math.floor(low / width), math.floor(high / width) + 1
    while _edge(first, width, digits) > low:  # rounding may raise the edge
        first -= 1
    while _edge(first + 1, width, digits) <= low:
        first += 1
    most = sys.float_info.max
    # The margin covers rounding in float32 columns, which queries compare as float32.
    while _edge(last, width, digits) <= min(high + width * 1e-6, most):
        last += 1
    edges = [_edge(i, width, digits) for i in range(first, last + 1)]
    return sorted({min(max(edge, -most), most) for edge in edges})  # JSON has no infinity


def edges_of_integers(low: int, high: int) -> list[int]:
    """Return the edges of bins that cover the integers from low to high.

    >>> edges_of_integers(3, 5), edges_of_integers(2**60 + 1, 2**60 + 9)
    ([3, 4, 5, 6], [1152921504606846976, 1152921504606847488])
    """
    width = max(1, int(_round_width(high - low)))
    largest = max(abs(low), abs(high))
    spacing = 2 ** max(0, largest.bit_length() + 1 - EXACT.bit_length() + 1)
    # Multiples of the spacing of floats are exact in JavaScript.
    return _multiples(low, high, -(-width // spacing) * spacing)


def edges_of_times(low: np.datetime64, high: np.datetime64) -> list[str]:
    """Return the edges of bins that cover the times from low to high, as ISO 8601.

    The edges are multiples of the column's unit, because queries round other times to this unit.

    >>> edges_of_times(np.datetime64("1970-01-01"), np.datetime64("2023-11-14"))[:2]
    ['1970-01-01T00:00:00', '1972-09-11T00:00:00']
    """
    first, last = _microseconds(low), _microseconds(high)
    unit = _STEPS.get(np.datetime_data(low)[0], _DAYS)
    width = max(unit, round(_round_time((last - first) / 1e6) * 1e6))
    edges = _multiples(first, last, -(-width // unit) * unit)
    return [_iso(us) for us in edges if abs(us) <= _MAX_MICROSECONDS]


def _microseconds(time: np.datetime64) -> int:
    """Convert a time in any unit to microseconds since 1970, rounded down."""
    second = time.astype("M8[s]")
    return int(second.astype(np.int64)) * 10**6 + int((time - second) / np.timedelta64(1, "us"))


def _multiples(low: int, high: int, width: int) -> list[int]:
    """Return the multiples of a width that enclose a range.

    The first is at most `low`, and only the last is greater than `high`.
    """
    return [i * width for i in range(low // width, high // width + 2)]


def _edge(at: int, width: float, digits: int) -> float:
    """Return a multiple of a round width, without the rounding error in its last digits."""
    edge = at * width
    return round(edge, digits) + 0.0 if abs(edge) < _HUGE else edge  # adding 0.0 avoids -0.0


def _round_width(span: float) -> float:
    """Return a round width that divides a span into about `WANTED` bins.

    >>> _round_width(94), _round_width(7)
    (5.0, 0.5)
    """
    if span <= 0 or not math.isfinite(span):
        return 1.0
    rough = max(span / WANTED, _LEAST)
    power = 10.0 ** math.floor(math.log10(rough))
    return float(next(power * m for m in (1, 2, 5, 10) if power * m >= rough * 0.999))


def _round_time(span: float) -> float:
    """Return a round width, in seconds, that divides a span of time into about `WANTED` bins."""
    rough = span / WANTED
    if rough < 1:
        return _round_width(span)
    return float(next((s for s in _SPANS if s >= rough), math.ceil(rough / _DAY) * _DAY))


def _iso(microseconds: int) -> str:
    """Format a time for queries, with at least four digits for the year.

    >>> _iso(1), _iso(-62_198_755_200_000_000)
    ('1970-01-01T00:00:00.000001', '-0001-01-01T00:00:00')
    """
    exact = np.datetime64(microseconds, "us")
    text = str(exact if microseconds % 10**6 else exact.astype("M8[s]"))
    year, rest = text.lstrip("-").split("-", 1)
    return f"{'-' if text.startswith('-') else ''}{year:0>4}-{rest}"
