"""Times of two units compare correctly, even outside the range of nanoseconds."""

from __future__ import annotations

import operator
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import deeplake_lite as dl

UNITS = ["D", "s", "ms", "us", "ns"]
MOMENTS = ["1500-01-01", "1969-12-31", "1970-01-01", "1970-01-02", "9999-12-31"]
NEAR = [-86_400 * 10**9, -1, 0, 1, 86_400 * 10**9]
TESTS = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge,
}  # fmt: skip


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    """Return a lake with each time paired with each nearby one, and nulls."""
    schema = {unit: dl.Scalar(f"datetime64[{unit}]", nullable=True) for unit in UNITS}
    ds = dl.create("memory://moments-of-two-units", schema, overwrite=True)
    for near in NEAR:
        rows: list[dict[str, Any]] = [
            {unit: np.datetime64(text, unit) for unit in UNITS[:-1]} for text in MOMENTS
        ]
        ds.append([row | {"ns": np.datetime64(near, "ns")} for row in rows])
    ds.append([{"s": None, "us": "2020-01-01", "D": None, "ms": None, "ns": None},
               {"s": "2020-01-01", "us": None, "D": "9999-01-01", "ms": None,
                "ns": np.datetime64(1, "ns")}])  # fmt: skip
    ds.commit("rows")
    return ds


def expected(ds: dl.Dataset, name: str, a: str, b: str) -> list[bool | None]:
    units = [ds[unit][:] for unit in (a, b)]
    times = [[None if np.isnat(v) else _nanoseconds(v) for v in np.ma.filled(u)] for u in units]
    pairs = zip(*times, strict=True)
    return [None if None in pair else TESTS[name](*pair) for pair in pairs]


def _nanoseconds(moment: np.datetime64) -> int:
    unit = np.datetime_data(moment.dtype)[0]
    sizes = {"D": 86_400 * 10**9, "s": 10**9, "ms": 10**6, "us": 1000, "ns": 1}
    return int(moment.astype(np.int64)) * sizes[unit]


@pytest.mark.parametrize(("a", "b"), [*permutations(UNITS, 2)])
def test_columns_of_two_units_compare_by_time(ds, a, b):
    names = dict(zip(TESTS, "uvwxyz", strict=True))
    items = ", ".join(f"{a} {op} {b} AS {name}" for op, name in names.items())
    result = ds.query(f"SELECT {items}, {a} IN ({b}, {b}) AS i, {a} IS NOT DISTINCT FROM {b} AS j")
    rows = [{k: None if v is None else bool(v) for k, v in row.items()} for row in result]
    for op, name in names.items():
        assert [row[name] for row in rows] == expected(ds, op, a, b), op
    equal = expected(ds, "=", a, b)
    assert [row["i"] for row in rows] == equal
    both = [np.isnat(np.ma.filled(ds[unit][:])) for unit in (a, b)]
    nulls = (both[0] & both[1]).tolist()
    assert [row["j"] for row in rows] == [bool(e) or n for e, n in zip(equal, nulls, strict=True)]


@pytest.mark.parametrize("unit", UNITS[:-1])
def test_rows_are_joined_by_times_of_two_units(ds, unit):
    result = ds.query(
        f"SELECT a.{unit} AS x, b.ns AS y FROM dataset AS a JOIN dataset AS b ON a.{unit} = b.ns"
    )
    assert len(result)
    assert all(_nanoseconds(row["x"]) == _nanoseconds(row["y"]) for row in result)
