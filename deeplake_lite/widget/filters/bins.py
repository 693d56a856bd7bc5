"""Ranges of equal width whose ends are round numbers, or round times."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

WANTED = 20
"""Ranges, about."""

_DAY = 86_400.0
_SPANS = (
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, _DAY,
    2 * _DAY, 7 * _DAY, 14 * _DAY, 30 * _DAY, 60 * _DAY, 90 * _DAY, 182 * _DAY, 365 * _DAY,
)  # fmt: skip
"""Round spans of time, seconds."""


@dataclass(frozen=True)
class Bins:
    """Ranges of equal width, each without its upper end.

    Examples
    --------
    >>> Bins.over(3, 97)
    Bins(start=0.0, width=5.0, count=20, whole=False, times=False)
    >>> Bins.over(0, 1.7e9, times=True).edges[:2]
    ['1970-01-01T00:00:00', '1972-09-11T00:00:00']
    """

    start: float
    width: float
    count: int
    whole: bool = False
    """Whether they are of whole numbers."""
    times: bool = False
    """Whether the numbers are seconds since 1970."""

    @classmethod
    def over(cls, low: float, high: float, *, whole: bool = False, times: bool = False) -> Self:
        """Return ranges that hold numbers from low to high."""
        width = _round_width(high - low, whole=whole, times=times)
        if not width or low + width == low or high + width == high:  # beyond the digits there are
            width = max(abs(low), abs(high), 1.0) / 8
        start = math.floor(low / width) * width
        count = math.floor((high - start) / width) + 1
        return cls(float(start), float(width), count, whole, times)

    @property
    def edges(self) -> list[Any]:
        """The ends, one more than there are ranges: numbers, or times in ISO 8601."""
        found = [self.start + i * self.width for i in range(self.count + 1)]
        if self.times:
            return [_iso(second) for second in found]
        if all(edge.is_integer() and abs(edge) < 2**53 for edge in found):
            return [int(edge) for edge in found]
        digits = 2 - math.floor(math.log10(self.width))
        return [round(edge, digits) for edge in found]


def _round_width(span: float, *, whole: bool, times: bool) -> float:
    """Return a round width of which a span has about as many as are wanted.

    >>> _round_width(94, whole=False, times=False), _round_width(7, whole=True, times=False)
    (5.0, 1.0)
    """
    if span <= 0 or not math.isfinite(span):
        return 1.0
    rough = span / WANTED
    if times and rough >= 1:
        return float(next((s for s in _SPANS if s >= rough), math.ceil(rough / _DAY) * _DAY))
    if whole and rough <= 1:
        return 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    return float(next(power * m for m in (1, 2, 5, 10) if power * m >= rough * 0.999))


def _iso(second: float) -> str:
    """Return a time as a query reads it."""
    try:
        when = datetime.fromtimestamp(second, UTC)
    except (OverflowError, ValueError, OSError):
        return "9999-12-31T00:00:00" if second > 0 else "0001-01-01T00:00:00"
    return when.replace(tzinfo=None).isoformat()
