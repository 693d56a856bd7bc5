"""Products, norms and distances are right for vectors of any size, as exact fractions show."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import deeplake_lite as dl

SIZES = [1e-300, 1e-200, 1e-40, 1, 1e15, 1e38, 1e160, 1e200, 1e307]


def exact(vector):
    return [Fraction(float(x)) for x in vector]


def dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def is_near(value, expected, room):
    """Return whether a float is near a fraction, or infinite if the fraction is too large."""
    limits = np.finfo(np.asarray(value).dtype)
    if abs(expected) > Fraction(float(limits.max)):
        return math.isinf(value) and (value > 0) == (expected > 0)
    digits = Fraction(2e-5 if limits.bits == 32 else 1e-12)
    return abs(Fraction(float(value)) - expected) <= digits * room + Fraction(float(limits.tiny))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int16"])
def test_products_and_distances_of_small_and_huge_vectors(dtype):
    random = np.random.default_rng(0)
    sizes = [s for s in SIZES if np.dtype(dtype).kind != "f" or s <= float(np.finfo(dtype).max) / 8]
    sizes = sizes if np.dtype(dtype).kind == "f" else [1e3]
    blocks = [random.uniform(-1, 1, (2, 4)) * size for size in sizes]
    rows = np.concatenate(blocks).astype(dtype)
    ds = dl.create("memory://products", {"v": dl.Array(dtype, (4,))}, overwrite=True)
    ds.append({"v": rows})
    text = "SELECT DOT(v, $q) AS d, L2_DISTANCE($q, v) AS l, COSINE_SIMILARITY(v, $q) AS c"
    for size in SIZES:
        query = random.uniform(-1, 1, 4) * size
        result, q = ds.query(text, {"q": query}), exact(query)
        for row, d, l2, cosine in zip(rows, *(result[n][:] for n in "dlc"), strict=True):
            v = exact(row)
            squares, product_ = dot(v, v) * dot(q, q), dot(v, q)
            assert is_near(d, product_, sum(abs(x * y) for x, y in zip(v, q, strict=True)))
            apart = [x - y for x, y in zip(v, q, strict=True)]
            assert is_near_root(l2, dot(apart, apart))
            if squares:
                of_exact = product_**2 / squares
                assert abs(Fraction(float(cosine)) ** 2 - of_exact) < Fraction(1, 10**4)


def is_near_root(value, square):
    """Return whether a float is near the root of a fraction."""
    limits = np.finfo(np.asarray(value).dtype)
    if math.isinf(value):
        return square > Fraction(float(limits.max)) ** 2
    digits = Fraction(1e-4 if limits.bits == 32 else 1e-11)
    least = 10 * Fraction(float(limits.tiny)) ** 2
    return abs(Fraction(float(value)) ** 2 - square) <= digits * square + least


@pytest.mark.parametrize(("dtype", "size"), list(product(["float32", "float64"], [1e-30, 1, 1e30])))
def test_norms_of_small_and_huge_vectors(dtype, size):
    size = size if dtype == "float32" else size**6
    ds = dl.create("memory://norms", {"v": dl.Array(dtype, (2,))}, overwrite=True)
    ds.append({"v": np.array([[3, 4], [0, 0], [-5, 12]]) * size})
    norms = ds.query("SELECT L2_NORM(v) AS x")["x"][:]
    np.testing.assert_allclose(norms, np.array([5, 0, 13]) * size, rtol=1e-6)


def test_infinite_and_nan_elements_count_as_in_numpy():
    rows = np.array([[np.inf, 1], [np.nan, 1], [-np.inf, np.inf], [1e200, 0], [0, 0]])
    ds = dl.create("memory://odd-products", {"v": dl.Array("float64", (2,))}, overwrite=True)
    ds.append({"v": rows})
    q = np.array([1.0, 2.0])
    result = ds.query("SELECT DOT(v, $q) AS d, L2_DISTANCE(v, $q) AS l", {"q": q})
    np.testing.assert_array_equal(result["d"][:], [np.inf, np.nan, np.nan, 1e200, 0])
    np.testing.assert_array_equal(result["l"][:], [np.inf, np.nan, np.inf, 1e200, np.sqrt(5)])


@pytest.mark.parametrize(
    ("dtype", "element"), [("int64", 2**62), ("int64", -(2**62)), ("uint64", 2**63)]
)
def test_products_of_integers_that_do_not_fit_are_refused(dtype, element):
    ds = dl.create("memory://large-products", {"v": dl.Array(dtype, (2,))}, overwrite=True)
    ds.append({"v": np.array([[1, 2], [element, 3]], dtype)})
    with pytest.raises(dl.QueryError, match=f"do not fit in {dtype}. Multiply one of the vectors"):
        ds.query("SELECT DOT(v, v) AS d")["d"][:]
    small = ds.query("SELECT DOT(v, $q) AS d", {"q": np.array([1, 0], dtype)})
    assert small["d"][:].tolist() == [1, element]
    assert ds.query("SELECT DOT(v * 1.0, v) AS d")["d"][:].tolist() == [5.0, float(element) ** 2]
