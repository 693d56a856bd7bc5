"""GREATEST, LEAST and CLIP with constants that a tensor's dtype cannot hold widen the tensor."""

from __future__ import annotations

import numpy as np
import pytest

import deeplake_lite as dl

DTYPES = [
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "float32",
]
NUMBERS = [-1, 300, 100_000, 2**40, -(2**40), 1e5, -1e30, 1e300]


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_results_are_those_of_wide_numbers(make_lake, dtype, number):
    array = np.array([3, 100], dtype)
    ds = make_lake({"x": dl.Array(dtype, (2,))}, x=[array])
    for text, wide in [
        (f"GREATEST(x, {number})", np.maximum(array.astype(float), number)),
        (f"LEAST({number}, x)", np.minimum(array.astype(float), number)),
        (f"CLIP(x, {number}, {number})", np.full(2, number, float)),
    ]:
        [result] = ds.query(f"SELECT {text} AS y")["y"][:]
        assert np.isfinite(result).all()
        assert np.allclose(result.astype(float), wide, rtol=1e-6), text


@pytest.mark.parametrize("dtype", DTYPES)
def test_constants_in_range_keep_the_dtype(make_lake, dtype):
    ds = make_lake({"x": dl.Array(dtype, (2,))}, x=[[3, 100]])
    [result] = ds.query("SELECT GREATEST(x, 7) AS y")["y"][:]
    assert result.dtype == dtype
    assert result.tolist() == [7, 100]
