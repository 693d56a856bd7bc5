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
def test_long_sides_are_calculated(seed, monkeypatch):
    random = np.random.default_rng(seed)
    outlines = [random.uniform(-1e5, 1e5, (4, 2)) for _ in range(20)]
    for outline in outlines:
        outline[:2] = random.uniform(0, 40, (2, 2))  # so that it crosses the image
    exact = [mask_of_outlines([outline], 40, 50) for outline in outlines]
    monkeypatch.setattr("deeplake_lite.evaluate.outlines._LONGEST", 2**30)
    drawn = [mask_of_outlines([outline], 40, 50) for outline in outlines]
    assert any(mask.any() and not mask.all() for mask in drawn)
    for a, b in zip(exact, drawn, strict=True):
        assert np.count_nonzero(a != b) <= 4 * 2 * 90  # a pixel at each crossing of the border


@pytest.mark.parametrize("far", [1e6, 1e12, 1e300, float("inf")])
def test_corners_far_outside_take_no_time_and_keep_the_rest(far):
    outline = np.array([[2.0, 3.0], [far, 3.0], [far, 8.0], [2.0, 8.0]])
    expected = np.zeros((20, 10), bool)
    expected[2:, 3:8] = True
    np.testing.assert_array_equal(mask_of_outlines([outline], 10, 20), expected.ravel())


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
