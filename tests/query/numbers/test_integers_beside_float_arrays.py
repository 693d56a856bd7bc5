"""Arrays of floats are compared with constant integers exactly, even if no float equals these."""

from __future__ import annotations

import operator
from fractions import Fraction
from uuid import uuid4

import numpy as np
import pytest

import deeplake_lite as dl

COMPARED = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt,
    "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
DTYPES = {"float16": 11, "float32": 24, "float64": 53}
"""Dtypes, and the binary digits that each of them has."""


def numbers(dtype):
    """Return numbers around the first integer that a dtype does not hold."""
    most = 2 ** DTYPES[dtype]
    return [most - 1, most, most + 1, most + 2, most + 3, 3, -most - 1, -most, 10**6, 2**63 + 1]


def holds(compare, a, b):
    """Tell whether a comparison of a float with an integer holds in exact arithmetic."""
    if np.isfinite(a):
        return compare(Fraction(float(a)), b)
    return compare(float(a), 0 if np.isinf(a) else b)


@pytest.fixture(scope="module", params=DTYPES)
def ds(request):
    dtype = request.param
    schema = {
        "fixed": dl.Array(dtype, (4,)),
        "ragged": dl.Array(dtype, (None,)),
        "items": dl.Sequence(dl.Scalar(dtype, nullable=True)),
    }
    ds = dl.create(f"memory://{uuid4().hex}", schema, overwrite=True)
    most = 2 ** DTYPES[dtype]
    rows = np.array([[most, -most, 1, np.nan], [most - 1, most + 2, np.inf, -np.inf]], dtype)
    ds.append({name: list(rows) for name in schema})
    return ds, dtype, rows


@pytest.mark.parametrize("name", ["fixed", "ragged", "items"])
def test_comparisons_are_exact(ds, name):
    ds, dtype, rows = ds
    for number in numbers(dtype):
        for sign, compare in COMPARED.items():
            expected = [[holds(compare, a, number) for a in row] for row in rows]
            mirrored = [
                [holds(lambda a, b, c=compare: c(b, a), a, number) for a in row] for row in rows
            ]
            for shown in (str(number), f"{number}.0", "$p"):
                params = {"p": number} if shown == "$p" else {}
                result = ds.query(f"SELECT {name} {sign} {shown} AS y", params)["y"][:]
                assert [list(row) for row in result] == expected, (sign, shown)
                result = ds.query(f"SELECT {shown} {sign} {name} AS y", params)["y"][:]
                assert [list(row) for row in result] == mirrored, (shown, sign)


@pytest.mark.parametrize("name", ["fixed", "ragged", "items"])
def test_contains_finds_equal_numbers_only(ds, name):
    ds, dtype, rows = ds
    for number in numbers(dtype):
        expected = [any(holds(operator.eq, a, number) for a in row) for row in rows]
        result = ds.query(f"SELECT CONTAINS({name}, $p) AS y", {"p": number})["y"][:]
        assert result.tolist() == expected, number
