"""The best matching equals the one found by trying every pairing."""

from itertools import permutations

import numpy as np
import pytest

from deeplake_lite.query.functions.matching import best_matching


def best_of_all(gains):
    gains = gains if gains.shape[0] <= gains.shape[1] else gains.T
    rows = range(len(gains))
    return max(sum(gains[r, c] for r, c in zip(rows, columns, strict=True))
               for columns in permutations(range(gains.shape[1]), len(gains)))  # fmt: skip


@pytest.mark.parametrize("seed", range(200))
def test_best_pairs_are_found(seed):
    rng = np.random.default_rng(seed)
    shape = rng.integers(1, 6, 2)
    gains = rng.random(shape)
    if seed % 2:
        gains = np.round(gains * 2) / 2  # ties, and boxes that do not overlap
    assert best_matching(gains) == pytest.approx(best_of_all(gains))


def test_many_boxes_are_matched_in_reasonable_time():
    gains = np.random.default_rng(0).random((100, 120))
    assert 95 < best_matching(gains) <= 100
