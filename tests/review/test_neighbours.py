"""Neighbours agree with a brute-force NumPy search; above some size, most of them do."""

import numpy as np
import pytest

from deeplake_lite.review import neighbours
from deeplake_lite.review.neighbours import largest, nearest


def brute(vectors, count):
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, -np.inf)
    return np.argsort(-cosines, axis=1)[:, :count]


@pytest.fixture
def vectors():
    """Return vectors around thirty directions."""
    random = np.random.default_rng(1)
    centres = random.normal(size=(30, 16))
    return (centres[random.integers(0, 30, 3000)] + 0.5 * random.normal(size=(3000, 16))).astype(
        np.float32
    )


def test_neighbours_agree_with_brute_force(vectors):
    rows, cosines = nearest(vectors, 7)
    expected = brute(vectors, 7)
    assert [set(row) for row in rows.tolist()] == [set(row) for row in expected.tolist()]
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert np.allclose(cosines[5], unit[rows[5]] @ unit[5], atol=1e-5)


def test_blocks_of_a_few_rows_give_the_same_result(vectors, monkeypatch):
    whole = np.sort(nearest(vectors, 5)[0])
    monkeypatch.setattr(neighbours, "BLOCK_BYTES", 40_000)
    assert (np.sort(nearest(vectors, 5)[0]) == whole).all()


@pytest.mark.parametrize("width", [1, 3, 16, 33, 500, 1003])
def test_largest_values_agree_with_a_sort(width):
    values = np.random.default_rng(0).normal(size=(20, width)).astype(np.float32)
    count = min(3, width)
    result = np.take_along_axis(values, largest(values, count), axis=1)
    assert (np.sort(result) == np.sort(values)[:, -count:]).all()


def test_most_neighbours_in_clusters_are_found(vectors, monkeypatch):
    monkeypatch.setattr(neighbours, "EXACT_ROWS", 1000)
    monkeypatch.setattr(neighbours, "COMPARED", 600)
    monkeypatch.setattr(neighbours, "_CLUSTER_ROWS", 100)
    rows, _ = nearest(vectors, 7)
    expected = brute(vectors, 7)
    shared = [len(set(a) & set(b)) for a, b in zip(rows.tolist(), expected.tolist(), strict=True)]
    assert np.mean(shared) / 7 > 0.9
    assert not (rows == np.arange(len(rows))[:, np.newaxis]).any()


def test_huge_cluster_is_compared_with_a_sample_of_it(monkeypatch):
    monkeypatch.setattr(neighbours, "EXACT_ROWS", 100)
    monkeypatch.setattr(neighbours, "COMPARED", 50)
    rows, cosines = nearest(np.ones((2000, 4), np.float32), 5)
    assert (rows >= 0).all()
    assert np.allclose(cosines, 1)


def test_zero_vectors_have_orthogonal_neighbours():
    rows, cosines = nearest(np.zeros((4, 3), np.float32), 2)
    assert (rows >= 0).all()
    assert (cosines == 0).all()
