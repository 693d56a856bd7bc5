"""Orders contain every row once, are reproducible, and are as good as random."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deeplake_lite.loader.order.order import (
    SEGMENT,
    BlockOrder,
    ExactOrder,
    Order,
    Permutation,
    mix64,
)

SIZES = st.integers(0, 3_000)
KEYS = st.integers(0, 2**64 - 1)


@given(SIZES, KEYS)
def test_permutation_contains_every_number_once(n, key):
    assert np.array_equal(np.sort(Permutation(n, key)(np.arange(n))), np.arange(n))


@pytest.mark.parametrize("n", [SEGMENT - 1, SEGMENT, SEGMENT + 1, 3 * SEGMENT + 5])
def test_permutation_of_several_parts_contains_every_number_once(n):
    assert np.array_equal(np.sort(Permutation(n, 7)(np.arange(n))), np.arange(n))


@pytest.mark.parametrize("n", [2**31, 2**32 - 1, 2**32, 2**32 + 1, 10**12, 2**62])
def test_large_permutations_are_in_range_and_without_repeats(n):
    some = np.concatenate([np.arange(2_000), n - 1 - np.arange(2_000)])
    result = Permutation(n, 3)(some)
    assert result.min() >= 0
    assert result.max() < n
    assert len(np.unique(result)) == len(some)
    assert result.astype(float).mean() == pytest.approx(n / 2, rel=0.05)


def test_numbers_are_frozen():
    """Checkpoints depend on them: a change needs a new kind of shuffle, not a new version of it."""
    assert mix64(0) == 16294208416658607535
    assert mix64(1, 2, 3) == 15020427595393229491
    assert ExactOrder(12, 5, 1).at(0, 12).tolist() == EXACT_12
    assert ExactOrder(1_000_003, 0, 0).at(500_000, 500_006).tolist() == EXACT_MILLION
    assert ExactOrder(2**40, 0, 0).at(2**39, 2**39 + 3).tolist() == EXACT_LARGE
    assert BlockOrder(30, 5, 1, block=4, window=3).at(0, 30).tolist() == BLOCK_30


EXACT_12 = [2, 5, 11, 1, 9, 10, 7, 8, 4, 0, 3, 6]
EXACT_MILLION = [351194, 484028, 272068, 27637, 437538, 423996]
EXACT_LARGE = [1097571410556, 83728861027, 751378007344]
BLOCK_30 = [
    18,
    16,
    2,
    11,
    17,
    10,
    9,
    3,
    19,
    1,
    8,
    0,
    29,
    7,
    27,
    4,
    6,
    5,
    28,
    24,
    26,
    25,
    20,
    23,
    22,
    14,
    12,
    13,
    21,
    15,
]


def test_any_part_of_an_order_is_computed_alone():
    for order in orders(5_000):
        whole = order.at(0, 5_000)
        for start, stop in [(0, 1), (17, 18), (999, 2_500), (4_990, 6_000), (5_000, 5_001)]:
            assert np.array_equal(order.at(start, stop), whole[start:stop])


def test_different_seeds_and_epochs_give_different_orders():
    result = {
        tuple(ExactOrder(100, seed, epoch).at(0, 100).tolist())
        for seed, epoch in itertools.product([-1, 0, 1, 2**63], range(20))
    }
    assert len(result) == 80


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_all_orders_of_few_rows_are_equally_likely(n):
    draws = 100 * math.factorial(n) if n < 5 else 3_000
    counts = Counter(
        tuple(Permutation(n, mix64(0, k))(np.arange(n)).tolist()) for k in range(draws)
    )
    expected = draws / math.factorial(n)
    chi = sum((counts[p] - expected) ** 2 / expected for p in itertools.permutations(range(n)))
    assert z(chi, math.factorial(n) - 1) < 4


@pytest.mark.parametrize("n", [7, 16, 33, 100, 257, 999, 1_003, 1_024])
def test_rows_are_equally_likely_in_any_place_and_next_to_any_other(n):
    draws = 400 if n < 300 else 100
    result = np.array([Permutation(n, mix64(1, k))(np.arange(n)) for k in range(draws)])
    bins = min(n, 16)
    at = np.arange(n) * bins // n
    table = np.zeros((bins, bins))
    np.add.at(table, (np.broadcast_to(at, result.shape), at[result]), 1)
    expected = np.outer(np.bincount(at), np.bincount(at)) * draws / n
    assert z(((table - expected) ** 2 / expected).sum(), (bins - 1) ** 2) < 4
    steps = np.bincount((np.diff(result, axis=1) % n).ravel(), minlength=n)[1:]
    assert z(((steps - steps.mean()) ** 2 / steps.mean()).sum(), n - 2) < 4


@pytest.mark.parametrize("n", [100, 1_003, 10_000, 200_000])
def test_places_are_independent_of_positions(n):
    correlations = [
        np.corrcoef(np.arange(n), ExactOrder(n, seed, 0).at(0, n))[0, 1] for seed in range(20)
    ]
    assert np.abs(correlations).max() < 4 / math.sqrt(n)
    assert abs(np.mean(correlations)) < 4 / math.sqrt(20 * n)


def test_epochs_are_independent_of_each_other():
    first, second = (ExactOrder(10_000, 0, epoch).at(0, 10_000) for epoch in range(2))
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.04
    assert (first == second).sum() < 8


@given(n=st.integers(0, 400), block=st.integers(1, 50), window=st.integers(1, 6), seed=KEYS)
def test_block_order_contains_every_row_once_window_by_window(n, block, window, seed):
    order = BlockOrder(n, seed, 3, block, window)
    result = order.at(0, n)
    assert np.array_equal(np.sort(result), np.arange(n))
    count = -(-n // block)
    seen, place = [], 0
    while place < n:  # windows are whole blocks, and none of them occurs again
        end = min(b for b in {order.after(b, block) for b in range(count)} if b > place)
        blocks = set((result[place:end] // block).tolist())
        assert end - place == sum(min(block, n - b * block) for b in blocks)
        assert len(blocks) <= window
        seen += blocks
        place = end
    assert sorted(seen) == list(range(count))


@given(n=st.integers(1, 400), rows=st.integers(1, 60), seed=KEYS)
def test_after_is_past_the_last_row_of_a_block(n, rows, seed):
    for order in orders(n, seed):
        result = order.at(0, n)
        for block in range(-(-n // rows)):
            last = int(np.flatnonzero(result // rows == block).max())
            assert last < order.after(block, rows) <= n


@given(n=st.integers(0, 400), rows=st.integers(1, 60), seed=KEYS)
def test_uses_of_a_block_begin_and_end_around_its_rows(n, rows, seed):
    for order in orders(n, seed):
        begins, ends = order.uses(rows)
        assert len(begins) == len(ends) == -(-n // rows)
        numbers = order.at(0, n) // rows
        for block, (begin, end) in enumerate(zip(begins, ends, strict=True)):
            places = np.flatnonzero(numbers == block)
            assert 0 <= begin <= places.min()
            assert end == order.after(block, rows) > places.max()


@given(n=st.integers(1, 400), rows=st.integers(1, 60), seed=KEYS)
def test_uses_are_exact_for_a_view_in_order_and_one_window_for_blocks(n, rows, seed):
    begins, ends = Order(n, seed).uses(rows)
    assert (ends - begins).tolist() == [min(rows, n - start) for start in range(0, n, rows)]
    begins, ends = BlockOrder(n, seed, 2, block=rows, window=3).uses(rows)
    assert (ends - begins).max() <= 3 * rows


def orders(n, seed=1):
    return [Order(n, seed, 2), ExactOrder(n, seed, 2), BlockOrder(n, seed, 2, block=16, window=3)]


def z(chi, freedom):
    """Return how many standard deviations a chi-square lies above its mean."""
    return (chi - freedom) / math.sqrt(2 * freedom)
