"""Decimals as the numbers that JSON and float64 have."""

from __future__ import annotations

from decimal import Decimal


def survives_float64(number: Decimal) -> bool:
    """Return whether the nearest float64 is printed as the same number, so that it can come back.

    >>> [survives_float64(Decimal(s)) for s in ("0.30000000000000004", "0.10000000000000001")]
    [True, False]
    """
    return Decimal(repr(float(number))) == number


def as_json_number(number: Decimal) -> int | float:
    """Return a decimal as the number that a column of such decimals has: an integer, or a float.

    Raises
    ------
    TypeError
        When float64 would round the decimal.

    Examples
    --------
    >>> as_json_number(Decimal("0.70")), as_json_number(Decimal("12345678901234567890"))
    (0.7, 12345678901234567890)
    >>> as_json_number(Decimal("12345678901234567.5"))
    Traceback (most recent call last):
        ...
    TypeError: float64 would round the decimal 12345678901234567.5
    """
    if number.as_tuple().exponent == 0:
        return int(number)
    if number.is_finite() and not survives_float64(number):
        raise TypeError(f"float64 would round the decimal {number}")
    return float(number)  # JSON has no NaN and no infinity, and its encoder says so
