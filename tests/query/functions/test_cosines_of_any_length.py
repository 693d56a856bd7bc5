"""Cosine similarities do not depend on the lengths of vectors of finite numbers."""

import numpy as np
import pytest

import deeplake_lite as dl

SIZES = {
    "float32": [1e-42, 1e-40, 1e-25, 1e-19, 1, 1e18, 1e25, 1e38],
    "float64": [1e-310, 1e-200, 1e-40, 1, 1e40, 1e200, 1e307],
}


@pytest.mark.parametrize("dtype", SIZES)
def test_cosines_of_short_and_long_vectors_are_exact(dtype):
    random = np.random.default_rng(0)
    for size in SIZES[dtype]:
        stored = (random.uniform(-1, 1, (6, 4)) * size).astype(dtype)
        ds = dl.create("memory://cosines", {"e": dl.Array(dtype, (4,))}, overwrite=True)
        ds.append({"e": stored})
        exact = stored.astype(np.longdouble)
        for of in (random.uniform(-1, 1, 4), stored[0].astype(float)):
            other = of.astype(np.longdouble)
            expected = (exact @ other) / np.sqrt((exact**2).sum(1)) / np.sqrt((other**2).sum())
            result = ds.query("SELECT COSINE_SIMILARITY(e, ?) AS x", [of.tolist()])["x"][:]
            np.testing.assert_allclose(result, expected.astype(float), rtol=0, atol=1e-6)
        same = ds.query("SELECT COSINE_SIMILARITY(e, e) AS x")["x"][:]
        np.testing.assert_allclose(same, 1, rtol=1e-6)


def test_cosines_of_zero_infinite_and_nan_vectors():
    ds = dl.create("memory://odd-cosines", {"e": dl.Array("float32", (2,))})
    ds.append({"e": [[0, 0], [np.nan, 1], [np.inf, 1], [1, 0], [-1e30, 0]]})
    result = ds.query("SELECT COSINE_SIMILARITY(e, ?) AS x", [[1.0, 0.0]])["x"][:]
    np.testing.assert_array_equal(result, [0, np.nan, np.nan, 1, -1])
    result = ds.query("SELECT COSINE_SIMILARITY(e, ?) AS x", [[0.0, 0.0]])["x"][:]
    np.testing.assert_array_equal(result[[0, 3, 4]], [0, 0, 0])
