"""Distances are exact where |x|² − 2xy + |y|² is not, and use matrix products for many rows."""

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.query.functions import REGISTRY, Arg, Type

COLUMN = Arg("x", Type("float32", (128,)))


@pytest.mark.parametrize("offset", [0, 100])
def test_distances_of_nearby_vectors_are_exact(offset):
    rng = np.random.default_rng(0)
    rows = (offset + rng.normal(size=(2000, 128))).astype("float32")
    rows[:1000] = rows[0] + 1e-3 * rng.normal(size=(1000, 128)).astype("float32")
    query = rows[0].astype("float64")
    result = REGISTRY["L2_DISTANCE"].bind(COLUMN, query).compute(rows, lead=1)
    expected = np.linalg.norm(rows.astype("float64") - query, axis=1)
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, expected, rtol=1e-4)


def test_cosine_of_a_vector_with_itself_is_one_and_never_above():
    rows = np.random.default_rng(0).normal(size=(500, 128)).astype("float32")
    bound = REGISTRY["COSINE_SIMILARITY"].bind(COLUMN, COLUMN)
    result = bound.compute(rows, rows, lead=1)
    assert result.max() <= 1
    np.testing.assert_allclose(result, 1, rtol=1e-6)


def test_16_bit_vectors_are_multiplied_in_32_bits():
    rows = np.full((2, 4), 300, "float16")
    bound = REGISTRY["DOT"].bind(Arg("x", Type("float16", (4,))), [1, 1, 1, 300])
    assert bound.type == Type("float32")
    assert bound.compute(rows, None, lead=1).tolist() == [90900, 90900]


INTEGERS = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


@pytest.mark.parametrize("left", INTEGERS)
@pytest.mark.parametrize("right", INTEGERS)
def test_products_of_integers_equal_numpys_in_64_bits(left, right):
    rng = np.random.default_rng(0)
    x, y = (rng.integers(0, 2, (5, 3)).astype(dtype) for dtype in (left, right))
    x[0, 0] = np.iinfo(left).max - 2 if left != "bool" else 1  # so that the sum fits
    are_unsigned = x.dtype.kind in "bu" and y.dtype.kind in "bu"
    if "uint64" in (left, right) and not are_unsigned:  # in int64, which must hold all of them
        x, y = (np.where(a > 1, 1, a).astype(a.dtype) if a.dtype == "uint64" else a for a in (x, y))
    wide_type = "uint64" if "uint64" in (left, right) and are_unsigned else "int64"
    wide = [a.astype(wide_type) for a in (x, y)]
    expected = np.vecdot(*wide)
    sides = [Arg("x", Type(left, (3,))), Arg("y", Type(right, (3,)))]
    bound = REGISTRY["DOT"].bind(*sides)
    result = bound.compute(x, y, lead=1)
    assert bound.type.dtype == result.dtype == expected.dtype
    np.testing.assert_array_equal(result, expected)


@pytest.mark.whole
@pytest.mark.parametrize("name", ["DOT", "COSINE_SIMILARITY", "L2_DISTANCE", "MAXSIM"])
def test_complex_vectors_are_refused_and_not_cut_to_their_real_part(make_lake, name):
    several = (None,) if name == "MAXSIM" else ()
    types = {"z": dl.Array("complex64", (*several, 3)), "v": dl.Array("float32", (*several, 3))}
    rows = np.ones((2, *(1 for _ in several), 3))
    ds = make_lake(types, z=rows * 1j, v=rows)
    constant = rows[0] * 1j
    for first, second in (("z", "v"), ("v", "z"), ("z", "z"), ("v", "$q"), ("z", "$q")):
        with pytest.raises(dl.QueryTypeError, match=r"vectors must be real, but \S+ is complex"):
            ds.query(f"SELECT {name}({first}, {second}) AS r", {"q": constant})
