"""Distances stay exact where |x|² − 2xy + |y|² would not, and ones of many rows are products."""

import numpy as np
import pytest

from deeplake_lite.query.functions import REGISTRY, Arg, Type

COLUMN = Arg("x", Type("float32", (128,)))


@pytest.mark.parametrize("offset", [0, 100])
def test_distances_of_near_vectors_are_exact(offset):
    rng = np.random.default_rng(0)
    rows = (offset + rng.normal(size=(2000, 128))).astype("float32")
    rows[:1000] = rows[0] + 1e-3 * rng.normal(size=(1000, 128)).astype("float32")
    query = rows[0].astype("float64")
    found = REGISTRY["L2_DISTANCE"].bind(COLUMN, query).compute(rows, lead=1)
    wanted = np.linalg.norm(rows.astype("float64") - query, axis=1)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wanted, rtol=1e-4)


def test_a_vector_has_the_cosine_one_with_itself_and_none_above():
    rows = np.random.default_rng(0).normal(size=(500, 128)).astype("float32")
    bound = REGISTRY["COSINE_SIMILARITY"].bind(COLUMN, COLUMN)
    found = bound.compute(rows, rows, lead=1)
    assert found.max() <= 1
    np.testing.assert_allclose(found, 1, rtol=1e-6)


def test_sixteen_bit_vectors_are_multiplied_in_thirty_two():
    rows = np.full((2, 4), 300, "float16")
    bound = REGISTRY["DOT"].bind(Arg("x", Type("float16", (4,))), [1, 1, 1, 300])
    assert bound.type == Type("float32")
    assert bound.compute(rows, None, lead=1).tolist() == [90900, 90900]
