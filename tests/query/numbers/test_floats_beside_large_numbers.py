"""Float columns compare exactly with constants that no float represents."""

from __future__ import annotations

import operator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import deeplake_lite as dl

TESTS = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge,
}  # fmt: skip
FLOATS = [2.0**53, 2.0**63, 1.0, 2.0**24, -(2.0**24), -(2.0**53), 1e30, float("inf"), 0.5]
DTYPES = ["float16", "float32", "float64"]
CONSTANTS = [
    "9007199254740993", "9007199254740992", "9223372036854775807", "9223372036854775808",
    "-9007199254740993", "9007199254740992.5", "-9007199254740992.5", "16777217", "16777216",
    "-16777217", "16777216.5", "1000000000000000019884624838656", "1000000000000000019884624838657",
    "70000", "3", "0.5",
]  # fmt: skip


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    schema = {dtype: dl.Scalar(dtype, nullable=True) for dtype in DTYPES}
    ds = dl.create("memory://floats-beside-numbers", schema, overwrite=True)
    with np.errstate(over="ignore"):
        columns: dict[str, Any] = {d: np.array(FLOATS).astype(d).tolist() for d in DTYPES}
    ds.append({name: [*values, None] for name, values in columns.items()})
    ds.commit("rows")
    return ds


def exact(value: Any) -> Any:
    return value if isinstance(value, float) and np.isinf(value) else Fraction(value)


def ways_to_say(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Return a constant as a number, in quotes, and as parameters."""
    ways: list[tuple[str, dict[str, Any]]] = [
        (text, {}), (f"'{text}'", {}), ("$p", {"p": Decimal(text)}),
    ]  # fmt: skip
    return ways if "." in text else [*ways, ("$p", {"p": int(text)})]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("text", CONSTANTS)
def test_constant_that_no_float_represents_is_not_rounded(ds, dtype, text):
    floats = ds[dtype][:].compressed().tolist()
    for said, params in ways_to_say(text):
        given = {op: f"{dtype} {op} {said}" for op in TESTS} | {
            "IN": f"{dtype} IN ({said})", "of two": f"{dtype} IN ({said}, 77)",
            "same": f"{dtype} IS NOT DISTINCT FROM {said}",
            "case": f"CASE {dtype} WHEN {said} THEN TRUE ELSE FALSE END",
        }  # fmt: skip
        items = (f"{text} AS a{at}" for at, text in enumerate(given.values()))
        query = f"SELECT {', '.join(items)} WHERE {dtype} IS NOT NULL"
        result = ds.query(query, params) if params else ds.query(query)
        for at, name in enumerate(given):
            test = TESTS.get(name, operator.eq)
            expected = [bool(test(exact(value), Fraction(text))) for value in floats]
            assert result[f"a{at}"][:].tolist() == expected, (said, name)


@pytest.mark.parametrize("dtype", DTYPES)
def test_null_next_to_a_constant_that_no_float_represents_is_null(ds, dtype):
    for op in TESTS:
        [row] = ds.query(f"SELECT {dtype} {op} 9007199254740993 AS a WHERE {dtype} IS NULL")
        assert row["a"] is None


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_fraction_is_compared_as_the_nearest_float(make_lake, dtype):
    ds = make_lake({"x": dtype}, x=[0.1, 1234.56, 3])
    result = ds.query("SELECT x = 0.1 AS a, x IN (0.1, 1234.56) AS b")
    assert result["a"][:].tolist() == [True, False, False]
    assert result["b"][:].tolist() == [True, True, False]
