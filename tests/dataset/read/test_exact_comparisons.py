"""Comparisons of number and time columns are exact, or raise our errors."""

from __future__ import annotations

import datetime as dt
import operator
from decimal import Decimal
from fractions import Fraction
from itertools import count, product

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import deeplake_lite as dl
from deeplake_lite.dataset.read.exact_comparisons import comparable
from deeplake_lite.errors import InvalidValueError, LakeError

fresh = count()
TESTS = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
EDGES = [
    0,
    1,
    -1,
    127,
    2**31,
    2**53 - 1,
    2**53,
    2**53 + 1,
    -(2**53) - 1,
    2**63 - 1,
    -(2**63),
    2**64 - 1,
]
FRACTIONS = [
    0.0,
    0.5,
    -0.5,
    2.0**53,
    -(2.0**53),
    2.0**63,
    2.0**64,
    1e300,
    float("inf"),
    -float("inf"),
]


def column(htype, values):
    ds = dl.create(f"memory://exactly-{next(fresh)}", {"x": htype})
    ds.append({"x": values})
    return ds["x"]


def fitting(dtype):
    if np.dtype(dtype).kind == "f":
        most = float(np.finfo(dtype).max)
        return [v for v in FRACTIONS if abs(v) <= most or abs(v) == float("inf")]
    info = np.iinfo(dtype)
    return [v for v in EDGES if info.min <= v <= info.max]


DTYPES = ["int8", "int64", "uint8", "uint32", "uint64", "float16", "float32", "float64"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_compare_exactly(dtype):
    values = fitting(dtype)
    x = column(dtype, values)
    for other, test in product([*EDGES, *FRACTIONS, Decimal(2**53 + 1), Decimal("0.5")], TESTS):
        expected = [test(exact(value), exact(other)) for value in values]
        assert test(x, other).tolist() == expected, (other, test)
    for theirs, test in product(DTYPES, TESTS):
        others = np.resize(np.array(fitting(theirs), theirs), len(values))
        expected = [test(exact(a), exact(b)) for a, b in zip(values, others.tolist(), strict=True)]
        assert test(x, others).tolist() == expected, (theirs, test)


def exact(value):
    return value if isinstance(value, float) and abs(value) == float("inf") else Fraction(value)


VALUES = {"datetime64[s]": "2020", "timedelta64[D]": "3 days", "text": "3"}
UNITS = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns"]
COUNTS = [0, 1, -1, 700, -700, 2**40, -(2**40), 2**62, -(2**62)]


def test_lists_of_integers_around_the_int64_limit_compare_exactly():
    values = [2**53 + 1, 2**64 - 1, 5]
    x = column("uint64", values)
    for same in (values, np.array(values, "uint64"), pa.array(values, pa.uint64())):
        assert (x == same).tolist() == [True] * 3
    assert (x < [2**53, 2**64 - 2, 5]).tolist() == [False] * 3
    assert (x == [2**53 + 1, None, 2**64 - 1]).tolist() == [True, False, False]
    assert (x == [2.0**53, 2**64 - 1, 5.0]).tolist() == [False, True, True]


def test_time_of_a_finer_unit_keeps_its_digits():
    x = column("datetime64[ms]", ["2026-01-02"] * 2)
    fine = np.datetime64("2026-01-02T00:00:00.000000001", "ns")
    for other in (fine, pd.Timestamp(fine), str(fine), np.array([fine] * 2), [fine] * 2):
        assert (x == other).tolist() == [False] * 2
        assert (x < other).tolist() == [True] * 2


@pytest.mark.parametrize("unit", UNITS)
def test_times_compare_exactly(unit):
    values = np.array(COUNTS[:5]).astype(f"datetime64[{unit}]")
    x = column(f"datetime64[{unit}]", values)
    for other, theirs, test in product(COUNTS, UNITS, TESTS):
        right = np.datetime64(other, theirs)
        expected = [test(nanoseconds(value), nanoseconds(right)) for value in values]
        assert test(x, right).tolist() == expected, (right, test)


def nanoseconds(moment):
    """Return the nanoseconds since 1970 of a time in any unit, counting days one by one."""
    unit, n = np.datetime_data(moment.dtype)[0], int(moment.astype(np.int64))
    if unit in ("Y", "M"):
        months = n * 12 if unit == "Y" else n
        cycles, months = divmod(months, 4800)  # per 400 years, all of the same number of days
        n = cycles * 146_097 + int(np.datetime64(months, "M").astype("M8[D]").astype(int))
        unit = "D"
    sizes = {"W": 604_800, "D": 86_400, "h": 3_600, "m": 60, "s": 1}
    return (
        n * sizes[unit] * 10**9 if unit in sizes else n * {"ms": 10**6, "us": 10**3, "ns": 1}[unit]
    )


@pytest.mark.parametrize("unit", UNITS)
def test_durations_compare_exactly(unit):
    values = np.array(COUNTS[:5]).astype(f"timedelta64[{unit}]")
    x = column(f"timedelta64[{unit}]", values)
    for other, theirs, test in product(COUNTS, UNITS, TESTS):
        right = np.timedelta64(other, theirs)
        if (unit in "YM") != (theirs in "YM"):
            with pytest.raises(InvalidValueError, match="no fixed length in days"):
                test(x, right)
            continue
        expected = [test(length(value), length(right)) for value in values]
        assert test(x, right).tolist() == expected, (right, test)


def length(span):
    unit, n = np.datetime_data(span.dtype)[0], int(span.astype(np.int64))
    if unit in ("Y", "M"):
        return n * {"Y": 12, "M": 1}[unit]
    return nanoseconds(np.datetime64(n, unit))


def test_null_and_nat_are_neither_less_nor_greater():
    x = column(dl.Scalar("datetime64[ns]", nullable=True), [None, "2020-01-01"])
    for far in ("9999-12-31", dt.datetime.max, np.datetime64(2**62, "D")):
        assert (x < far).tolist() == [False, True]
        assert (x > far).tolist() == [False, False]
        assert (x == far).tolist() == [False, False]
        assert (x == [None, far]).tolist() == [True, False]
    nat, moment = np.array(["NaT"], "M8[ns]"), np.array([2**62], "M8[D]")
    for test in TESTS:
        with np.errstate(invalid="ignore"):
            assert test(*comparable(nat, moment)).tolist() == [test is operator.ne]


@pytest.mark.parametrize(
    "htype", ["int64", "float32", "datetime64[s]", "timedelta64[D]", "text", "json"]
)
@pytest.mark.parametrize(
    "other",
    [
        np.array(5), np.array("x"), Decimal("sNaN"), 10**400, [[1], [1, 2]], {"a": 1}, b"x",
        range,
        float("nan"), (), np.array([], "M8[s]"), 1j, np.datetime64("NaT", "s"),
    ],
    ids=repr,
)  # fmt: skip
def test_unusual_values_compare_or_raise_our_errors(htype, other):
    x = column(htype, [])
    y = column(htype, [VALUES.get(htype, 3)])
    for one, test in product((x, y), TESTS):
        try:
            assert test(one, other).shape == (len(one),)
        except LakeError as error:
            assert len(str(error)) < 400  # noqa: PT017 - it may not be raised


def test_json_value_may_be_a_zero_dimensional_array():
    assert (column("json", [5, "a"]) == np.array(5)).tolist() == [True, False]
