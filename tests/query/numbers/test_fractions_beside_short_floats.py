"""A decimal constant stands for the nearest number that the float column can hold."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import deeplake_lite as dl

if TYPE_CHECKING:
    from collections.abc import Callable

STORED = [0.1, 0.5, 1.5e-5, 1e-60, -0.1, 3.0, 16777216.0, float("inf"), float("nan")]
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le,
    ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
FRACTIONS = [0.1, 0.5, 1.5e-5, 1e-60, -0.1, 2.75]
NUMBERS = {
    "float": FRACTIONS,
    "np.float32": [np.float32(x) for x in FRACTIONS],
    "np.float64": [np.float64(x) for x in FRACTIONS],
    "int": [0, 3, 2**24, 2**24 + 1, 2**60 + 1, -(10**30)],
    "whole": [3.0, 2.0**24 + 1, 1e30],
}


@pytest.fixture(scope="module", params=["float16", "float32", "float64"])
def ds(request: pytest.FixtureRequest) -> dl.Dataset:
    dtype = request.param
    schema = {"f": dtype, "n": dl.Scalar(dtype, nullable=True)}
    ds = dl.create(f"memory://fractions-{dtype}", schema, overwrite=True)
    with np.errstate(over="ignore"):
        stored = np.array(STORED).astype(dtype)
    ds.append({"f": stored, "n": stored})
    ds.commit("rows")
    return ds


def _numpys(column: np.ndarray, test: Callable[[Any, Any], Any], number: Any) -> list[bool]:
    """Return NumPy's comparison: with the nearest number for fractions, exact for integers."""
    if isinstance(number, int) or float(number).is_integer():
        exact = number if isinstance(number, int) else float(number)
        return [bool(test(float(x), exact)) for x in column]
    if type(number) is np.float64:  # the one fraction that NumPy would not round
        number = float(number)
    if type(number) is np.float32:
        number = column.dtype.type(number)
    return [bool(x) for x in test(column, number)]


@pytest.mark.parametrize("sign", OPERATORS)
@pytest.mark.parametrize("kind", NUMBERS)
def test_columns_queries_and_numpy_agree(ds, kind, sign):
    test, column = OPERATORS[sign], ds["f"][:]
    for number in NUMBERS[kind]:
        expected = _numpys(column, test, number)
        for name in ("f", "n"):
            assert [bool(x) for x in test(ds[name], number)] == expected, number
            answer = ds.query(f"SELECT {name} {sign} $x AS x", {"x": number})["x"][:]
            assert [bool(x) for x in answer] == expected, number
        if kind in ("float", "int"):
            literal = ds.query(f"SELECT {number!r} {sign} f AS x")["x"][:]
            assert [bool(x) for x in literal] == [bool(x) for x in _mirrored(ds, sign, number)]


def _mirrored(ds: dl.Dataset, sign: str, number: Any) -> Any:
    mirrored = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
    return OPERATORS[mirrored.get(sign, sign)](ds["f"], number)


@pytest.mark.parametrize(
    "condition",
    ["f IN (0.1, 7)", "f IN ($x)", "f BETWEEN 0.1 AND 0.1", "f = '0.1'", "f = 1e-1",
     "CASE f WHEN 0.1 THEN TRUE ELSE FALSE END", "f IS NOT DISTINCT FROM $x",
     "NULLIF(f, 0.1) IS NULL"],
)  # fmt: skip
def test_every_comparison_rounds_the_same_way(ds, condition):
    rows = ds.query(
        f"SELECT ROW_NUMBER() AS x WHERE {condition}", {"x": 0.1} if "$" in condition else {}
    )
    assert rows["x"][:].tolist() == [0]


def test_arrays_and_lists_are_compared_without_rounding(ds):
    column = ds["f"][:]
    for other in ([0.1] * len(STORED), np.full(len(STORED), 0.1)):
        assert (ds["f"] == other).tolist() == (column == other).tolist()
