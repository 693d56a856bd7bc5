"""Ranks share the same batches, whatever their number, without duplicates or communication."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deeplake_lite.loader.order.epoch import CachedOrder, positions_of
from deeplake_lite.loader.order.order import ExactOrder
from deeplake_lite.loader.order.shares import Shares

WORLDS = (1, 2, 3, 4, 6, 8)
LASTS = ("uneven", "drop", "pad")
ROWS = st.integers(0, 400)


def epoch(n, batch_size, world_size, last):
    """Return the batches of each rank: positions, and how many are not padding."""
    places = CachedOrder(ExactOrder(n, 1, 0))
    ranks = []
    for rank in range(world_size):
        shares = Shares(n, batch_size, rank, world_size, last)
        ranks.append([positions_of(places, shares, k) for k in range(len(shares))])
    return ranks


def batches_of_all(ranks):
    """Return the rows of each batch of all ranks, without padding."""
    longest = max(map(len, ranks))
    return [
        np.concatenate([rank[k][0][: rank[k][1]] for rank in ranks if k < len(rank)]).tolist()
        for k in range(longest)
    ]


@given(n=ROWS, share=st.integers(1, 5), last=st.sampled_from(LASTS))
def test_global_batch_is_the_same_set_for_any_number_of_ranks(n, share, last):
    size = 24 * share
    alone = [set(rows) for rows in batches_of_all(epoch(n, size, 1, last))]
    for world in WORLDS:
        ranks = epoch(n, size // world, world, last)
        result = batches_of_all(ranks)
        assert [set(rows) for rows in result] == alone
        assert all(len(rows) == len(set(rows)) for rows in result)  # ranks are disjoint


@given(n=ROWS, batch=st.integers(1, 30), world=st.sampled_from(WORLDS))
def test_every_row_appears_once_across_all_ranks(n, batch, world):
    for last in ("uneven", "pad"):
        rows = [r for b in batches_of_all(epoch(n, batch, world, last)) for r in b]
        assert Counter(rows) == Counter(range(n))
    dropped = [r for b in batches_of_all(epoch(n, batch, world, "drop")) for r in b]
    assert len(dropped) == n // (batch * world) * batch * world == len(set(dropped))


@given(n=ROWS, batch=st.integers(1, 30), world=st.sampled_from(WORLDS))
def test_padding_or_dropping_gives_ranks_equal_numbers_of_batches_and_rows(n, batch, world):
    for last in ("pad", "drop"):
        ranks = epoch(n, batch, world, last)
        assert len({len(rank) for rank in ranks}) == 1
        assert all(len(rows) == batch for rank in ranks for rows, _ in rank)
    uneven = [sum(own for _, own in rank) for rank in epoch(n, batch, world, "uneven")]
    assert max(uneven) - min(uneven) <= 1


@given(n=st.integers(1, 400), batch=st.integers(1, 30), world=st.sampled_from(WORLDS))
def test_padding_repeats_rows_that_the_global_batch_reads_anyway(n, batch, world):
    ranks = epoch(n, batch, world, "pad")
    whole = batches_of_all(ranks)
    for rank in ranks:
        for k, (rows, own) in enumerate(rank):
            assert set(rows[own:].tolist()) <= set(whole[k])
            assert own == batch or k == len(rank) - 1


@pytest.mark.parametrize("last", LASTS)
def test_places_follow_the_order(last):
    order = ExactOrder(200_000, 3, 0)
    shares = Shares(200_000, 1_000, 1, 3, last)
    places = CachedOrder(order)
    for k in (0, 21, 22, 43, len(shares) - 1):
        rows, own = positions_of(places, shares, k)
        assert np.array_equal(rows[:own], order.at(0, order.n)[list(shares.rows(k))])


def test_no_rows_give_no_batches():
    for last in LASTS:
        assert len(Shares(0, 4, 1, 2, last)) == 0
