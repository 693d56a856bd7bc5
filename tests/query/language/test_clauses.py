"""EXPAND BY adds the neighbours of rows, at any distance."""

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.query.run.clauses import expand, sample


def in_turn(rows, total, before, after):
    """Return the rows in the order in which they are reached."""
    around = (r for row in rows for r in range(row - before, row + after + 1) if 0 <= r < total)
    return list(dict.fromkeys(around))


@pytest.mark.parametrize("seed", range(60))
def test_rows_are_placed_where_they_are_first_reached(seed):
    chance = np.random.default_rng(seed)
    total = int(chance.integers(1, 40))
    rows = chance.integers(0, total, chance.integers(0, 30))
    before, after = (int(n) for n in chance.integers(0, 12, 2))
    result = expand(rows, total, before=before, after=after)
    assert result.tolist() == in_turn(rows.tolist(), total, before, after)


def test_extent_beyond_all_rows_takes_no_more_memory_than_they_do():
    rows = np.arange(0, 1_000, 3)
    result = expand(rows, 1_000, before=10**15, after=10**15)
    assert result.tolist() == list(range(1_000))


def test_query_may_expand_beyond_the_first_and_last_row(ds):
    assert len(ds.query("SELECT id WHERE id = 3 EXPAND BY 1000000000000, 1000000000000")) == len(ds)


@pytest.mark.parametrize("clause", ["LIMIT 1000000000000", "LIMIT 100000000000 PERCENT"])
def test_sample_too_large_for_memory_is_refused(ds, clause):
    with pytest.raises(dl.QueryError, match="must draw at most 100,000,000 rows"):
        ds.query(f"SELECT id SAMPLE BY 1 REPLACE {clause}")


@pytest.mark.parametrize("weight", [1e308, 1.7e308, 1.0, 1e-300, 5e-324])
@pytest.mark.parametrize("replace", [False, True])
def test_equal_weights_draw_alike_whatever_their_value(weight, replace):
    options = {"replace": replace, "limit": 5000 if replace else 5, "percent": False, "seed": 1}
    result = sample(np.full(10, weight), **options)
    assert result.tolist() == sample(np.ones(10), **options).tolist()
    assert len(set(result.tolist())) == (10 if replace else 5)


def test_small_weights_next_to_large_ones_are_hardly_drawn():
    weights = np.array([1e308, 1e308, 1e-300, 0.0])
    drawn = sample(weights, replace=True, limit=1000, percent=False, seed=0)
    assert set(drawn.tolist()) == {0, 1}
    drawn = sample(weights, replace=False, limit=4, percent=False, seed=0)
    assert sorted(drawn[:2].tolist()) == [0, 1]
    assert drawn[2:].tolist() == [2]
