"""Quality measures distinguish a good shuffle from none."""

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.loader.report.quality import (
    equal_pairs,
    label_runs,
    label_runs_by_chance,
    rank_correlation,
)

N = 2_000


@pytest.fixture(scope="module")
def ds():
    ds = dl.create(
        "memory://quality-test",
        {"x": "int32", "label": dl.ClassLabel(["a", "b", "c"]), "word": dl.Text(nullable=True)},
        overwrite=True,
    )
    ds.append(
        {
            "x": range(N),
            "label": [i * 3 // N for i in range(N)],
            "word": [None if i < 1_000 else "w" for i in range(N)],
        }
    )
    return ds


def test_ordered_rows_are_far_from_random(ds):
    quality = ds.batches(50).shuffle_quality()
    assert quality.rank_correlation == pytest.approx(1)
    assert (quality.label, quality.label_runs) == ("label", 3)
    assert quality.label_runs_by_chance == pytest.approx(N * 2 / 3, rel=0.01)
    assert quality.block_pairs > 10 * quality.block_pairs_by_chance


def test_exact_shuffle_is_as_good_as_random(ds):
    for epoch in range(3):
        loader = ds.batches(50, shuffle=True, seed=2)
        loader.set_epoch(epoch)
        quality = loader.shuffle_quality()
        assert abs(quality.rank_correlation) < 4 / np.sqrt(N)
        assert quality.label_runs == pytest.approx(quality.label_runs_by_chance, rel=0.06)
        assert quality.block_pairs == pytest.approx(quality.block_pairs_by_chance, rel=0.15)


def test_label_may_be_named_and_null(ds):
    quality = ds.batches(50).shuffle_quality("word")
    assert (quality.label, quality.label_runs) == ("word", 2)
    with pytest.raises(dl.ColumnNotFoundError, match="Did you mean 'label'"):
        ds.batches(50).shuffle_quality("lable")


def test_report_without_a_label_has_no_line_for_it(ds):
    quality = ds.batches(50, columns=["x"]).shuffle_quality()
    assert quality.label is quality.label_runs is quality.label_runs_by_chance is None
    assert "labels" not in repr(quality)


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_few_rows_have_a_quality(ds, rows):
    quality = ds[:rows].batches(2, shuffle=True).shuffle_quality()
    assert quality.rows == rows
    assert "rank correlation" in repr(quality)


def test_view_is_left_unchanged(ds):
    loader = ds.batches(50, shuffle=True)
    before = [b["x"].tolist() for b in loader]
    again = ds.batches(50, shuffle=True)
    again.shuffle_quality()
    assert [b["x"].tolist() for b in again] == before


def test_figures_agree_with_a_simulation():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 300)
    runs = [label_runs(rng.permutation(labels)) for _ in range(400)]
    assert np.mean(runs) == pytest.approx(label_runs_by_chance(labels), rel=0.01)
    some = rng.permutation(50)
    assert rank_correlation(some) == pytest.approx(np.corrcoef(np.arange(50), some)[0, 1])
    keys = rng.integers(0, 5, 40)
    assert equal_pairs(keys) == sum(a == b for i, a in enumerate(keys) for b in keys[:i])
