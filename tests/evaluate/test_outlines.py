import numpy as np
import pytest
from pycocotools import mask as coco_mask

import deeplake_lite as dl
from deeplake_lite.evaluate.outlines import mask_of_outlines, mask_of_runs

from . import coco


@pytest.mark.parametrize("seed", range(5))
def test_outlines_are_drawn_as_by_pycocotools(seed, monkeypatch):
    random = np.random.default_rng(seed)
    for case in range(100):
        size = int(random.integers(1, 60))
        monkeypatch.setattr(coco, "SIZE", size)
        outlines = [
            random.uniform(-5, 65, (random.integers(3, 12), 2))
            for _ in range(random.integers(1, 3))
        ]
        if case % 3 == 0:  # corners on the grid, and repeated ones
            outlines = [np.round(outline)[[0, *range(len(outline))]] for outline in outlines]
        expected = coco.mask_of(outlines).T.ravel()
        np.testing.assert_array_equal(mask_of_outlines(outlines, size, size), expected)


@pytest.mark.parametrize("seed", range(5))
def test_run_lengths_are_decoded_as_by_pycocotools(seed):
    random = np.random.default_rng(seed)
    mask = random.random(random.integers(1, 90, 2)) < random.random()
    mask[:, : mask.shape[1] // 2] = seed % 2
    encoded = coco.runs_of(mask)
    np.testing.assert_array_equal(mask_of_runs(encoded), mask.T.ravel())
    assert coco_mask.area({**encoded, "counts": encoded["counts"].encode()}) == mask.sum()


@pytest.mark.parametrize(
    "encoded",
    [
        {},
        {"size": [2, 2]},
        {"size": [2, 2], "counts": [1, 2]},
        {"size": [2, 2], "counts": [-1, 5]},
        {"size": [2, 2], "counts": [[4]]},
        {"size": [2**40, 2**40], "counts": [2**63]},
        {"size": [2**20, 2**20], "counts": [2**40]},
        {"size": ["x", 2], "counts": "1"},
        {"size": [2, 2], "counts": "o"},
        {"size": [2, 2], "counts": "\udc80" * 40},
        {"size": None, "counts": None},
        {"size": [2, 2], "counts": "o" * 10_000},
    ],
)
def test_invalid_run_lengths_are_refused(encoded):
    with pytest.raises(dl.InvalidValueError, match="A run-length encoding must have a 'size'"):
        mask_of_runs(encoded)
