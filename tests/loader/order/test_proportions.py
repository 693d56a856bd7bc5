"""Proportions are exact, and a view repeats no row before all its rows have appeared."""

from collections import Counter
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deeplake_lite.loader.order import proportions
from deeplake_lite.loader.order.proportions import MixOrder, quotas
from deeplake_lite.loader.order.shuffle import Shuffle

WEIGHTS = st.lists(st.integers(1, 1_000), min_size=1, max_size=5).map(
    lambda ws: tuple(Fraction(w, sum(ws)) for w in ws)
)


@pytest.fixture(autouse=True)
def small_parts():
    """Make parts of 64 positions, so that an epoch has several."""
    with mock.patch.object(proportions, "SEGMENT", 64):
        yield


def mix(n, rows, weights, epoch=0, shuffle="exact"):
    how = Shuffle(shuffle, 4, 2)
    return MixOrder(n, 5, epoch, tuple(rows), tuple(weights), (how,) * len(rows))


@given(weights=WEIGHTS, size=st.integers(0, 10_000))
def test_quotas_are_within_one_of_the_share_and_fill_all_places(weights, size):
    result = quotas(weights, size)
    assert sum(result) == size
    assert all(abs(q - w * size) < 1 for q, w in zip(result, weights, strict=True))


@given(
    weights=WEIGHTS, n=st.integers(1, 300), epochs=st.integers(1, 4), seed=st.integers(1, 9),
    shuffle=st.sampled_from(["exact", "block", "none"]),
)  # fmt: skip
def test_each_view_shows_all_rows_before_any_repeats(weights, n, epochs, seed, shuffle):
    rows = [seed * (i + 2) for i in range(len(weights))]
    result = np.concatenate([mix(n, rows, weights, e, shuffle).at(0, n) for e in range(epochs)])
    ends = np.cumsum(rows)
    views = np.searchsorted(ends, result, side="right")
    for view, count in enumerate(rows):
        own = result[views == view] - (ends[view] - count)
        for start in range(0, len(own), count):
            one = own[start : start + count].tolist()
            assert len(set(one)) == len(one)
            if shuffle == "none":
                assert one == list(range(len(one)))


@given(weights=WEIGHTS, n=st.integers(1, 300))
def test_parts_have_exact_shares(weights, n):
    order = mix(n, [7] * len(weights), weights)
    views = order.at(0, n) // 7
    for start in range(0, n, 64):
        part = Counter(views[start : start + 64].tolist())
        expected = quotas(weights, min(64, n - start))
        assert [part[v] for v in range(len(weights))] == list(expected)


@given(weights=WEIGHTS, n=st.integers(1, 300))
def test_every_block_may_be_used_in_the_whole_epoch(weights, n):
    begins, ends = mix(n, [7] * len(weights), weights).uses(4)
    assert begins.tolist() == [0] * -(-7 * len(weights) // 4)
    assert ends.tolist() == [n] * len(begins)


@given(weights=WEIGHTS, n=st.integers(1, 300), data=st.data())
def test_any_part_is_computed_alone(weights, n, data):
    order = mix(n, range(3, 3 + len(weights)), weights, epoch=3)
    start = data.draw(st.integers(0, n))
    stop = data.draw(st.integers(start, n + 10))
    assert np.array_equal(order.at(start, stop), order.at(0, n)[start:stop])


def test_numbers_are_frozen():
    order = mix(12, (5, 50), (Fraction(3, 4), Fraction(1, 4)))
    assert order.at(0, 12).tolist() == FROZEN


FROZEN = [2, 4, 0, 3, 1, 0, 2, 49, 42, 4, 33, 1]


def test_epochs_and_passes_are_ordered_differently():
    weights = (Fraction(1, 2), Fraction(1, 2))
    first, second = (mix(40, (20, 20), weights, e).at(0, 40) for e in range(2))
    assert sorted(first) == sorted(second) == list(range(40))
    assert first.tolist() != second.tolist()
    views = [first[first < 20], first[first >= 20] - 20]  # of the same size, but in another order
    assert views[0].tolist() != views[1].tolist()
