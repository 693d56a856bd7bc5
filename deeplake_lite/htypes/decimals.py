"""Conversion of decimals to the numbers that JSON and float64 support."""

from __future__ import annotations

from decimal import Decimal


def survives_float64(number: Decimal) -> bool:
    """Return whether a decimal survives a round trip through float64.

    >>> [survives_float64(Decimal(s)) for s in ("0.30000000000000004", "0.10000000000000001")]
    [True, False]
    """
    return Decimal(repr(float(number))) == number


def as_json_number(number: Decimal) -> int | float:
    """Convert a decimal to an integer if its exponent is 0, and otherwise to a float.

    Raises
    ------
    TypeError
        If float64 would round the decimal.

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
    return float(number)  # the JSON encoder rejects NaN and infinity
