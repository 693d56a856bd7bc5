"""Rows that come several times in an epoch: each time, they get random numbers of their own."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.loader.order.epoch import CachedOrder, passes_of, positions_of
from deeplake_lite.loader.order.order import SEGMENT
from deeplake_lite.loader.order.proportions import MixShuffle
from deeplake_lite.loader.order.shares import Shares
from deeplake_lite.loader.order.shuffle import Shuffle
from deeplake_lite.loader.read.samples import ViewSamples

FEW, MANY = 5, 40


def noisy(sample, rng):
    return {"x": sample["x"], "draw": rng.integers(2**40)}


def noisy_batch(batch, rng):
    return {**batch, "draw": np.full(len(batch["x"]), rng.integers(2**40))}


@pytest.fixture(scope="module")
def views():
    few = dl.create("memory://repeated-few", {"x": "int32"}, overwrite=True)
    few.append({"x": range(FEW)})
    few.commit("rows")
    many = dl.create("memory://repeated-many", {"x": "int32"}, overwrite=True)
    many.append({"x": range(1_000, 1_000 + MANY)})
    many.commit("rows")
    return few, many


def oversampled(views):
    return dl.mix({views[0]: 1, views[1]: 1}, seed=3)


def epoch(loader):
    """Return the rows of an epoch as pairs of the value and its random number, batch by batch."""
    batches = []
    for batch in loader:
        own = ~batch.get("_padding", np.zeros(len(batch["x"]), bool))
        batches.append(
            list(zip(batch["x"][own].tolist(), batch["draw"][own].tolist(), strict=True))
        )
    return batches


def flat(batches):
    return [pair for batch in batches for pair in batch]


REPEATED = {
    "a mix with a small view": oversampled,
    "a mix of one view": lambda v: dl.mix({v[0]: 1}, length=4 * FEW),
    "a mix of overlapping views": lambda v: dl.mix([(v[0], 1), (v[0][:2], 1)], length=30),
    "a mix of a view with repeated rows": lambda v: dl.mix([(v[0][[0, 1, 0]], 1), (v[1], 1)]),
    "a view with repeated rows": lambda v: v[0][[0, 1, 0, 0, 4]],
    "a view of repeated rows of a query": lambda v: v[0].query("SELECT x * 2 AS x")[[3, 3, 1, 3]],
    "a query that repeats rows": lambda v: v[0].query("SELECT x, UNNEST([7, 8, 9]) AS y"),
}


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("make", REPEATED.values(), ids=REPEATED)
def test_every_repetition_of_a_row_has_its_own_random_numbers(views, make, shuffle):
    loader = make(views).batches(7, columns=["x"], shuffle=shuffle, transform=noisy)
    epochs = [flat(epoch(loader)) for _ in range(3)]
    assert all(max(Counter(x for x, _ in pairs).values()) > 1 for pairs in epochs)
    draws = [draw for pairs in epochs for _, draw in pairs]
    assert len(set(draws)) == len(draws)


def test_first_time_of_a_row_has_the_numbers_that_it_has_without_repetition(views):
    expected = dict(flat(epoch(views[0].batches(3, seed=3, transform=noisy))))
    for view in (views[0][[4, 0, 4, 0]], dl.mix({views[0]: 1}, length=3 * FEW)):
        first = {}
        for x, draw in flat(epoch(view.batches(4, seed=3, transform=noisy))):
            first.setdefault(x, draw)
        assert first == {x: expected[x] for x in first}


def test_random_numbers_do_not_depend_on_workers(views):
    def made(**options):
        loader = oversampled(views).batches(6, shuffle=True, transform=noisy, **options)
        return [epoch(loader), epoch(loader)]

    expected = made(num_workers=0)
    assert made(num_workers=3) == expected
    assert made(num_workers=2, workers="processes") == expected
    assert made(cache="decoded") == expected


def test_random_numbers_do_not_depend_on_ranks(views):
    alone = epoch(oversampled(views).batches(12, shuffle=True, transform=noisy))
    for world in (2, 3):
        ranks = [
            epoch(
                oversampled(views).batches(
                    12 // world, shuffle=True, transform=noisy, rank=r, world_size=world
                )
            )
            for r in range(world)
        ]
        for k, batch in enumerate(alone):
            assert Counter(flat(rank[k] for rank in ranks)) == Counter(batch)


def test_random_numbers_are_the_same_after_resuming_anywhere(views):
    def made():
        return oversampled(views).batches(8, shuffle=True, transform=noisy)

    loader = made()
    list(loader)  # in the second epoch, the views are in the middle of a pass
    states = [loader.state_dict(), *(loader.state_dict() for _ in loader)][1:]
    loader.set_epoch(1)
    whole = epoch(loader)
    for k, state in enumerate(states[:-1]):
        fresh = made()
        fresh.load_state_dict(state)
        assert epoch(fresh) == whole[k + 1 :]


def test_batches_that_begin_with_the_same_row_have_different_random_numbers(views):
    loader = dl.mix({views[0]: 1}, length=3 * FEW).batches(FEW, batch_transform=noisy_batch)
    batches = epoch(loader)
    assert len({batch[0][0] for batch in batches}) == 1
    assert len({batch[0][1] for batch in batches}) == len(batches)


def test_samples_of_a_torch_dataset_differ_where_the_view_repeats_rows(views):
    dataset = views[0][[2, 2, 3]].pytorch_dataset(transform=noisy)
    draws = [int(dataset[i]["draw"]) for i in range(3)]
    assert len(set(draws)) == 3
    dataset.set_epoch(0)
    assert [int(sample["draw"]) for sample in dataset.__getitems__([0, 1, 2])] == draws


@pytest.mark.parametrize("epoch", [0, 1, 5])
def test_passes_count_the_earlier_ones_of_the_epoch_in_every_part(epoch):
    rows, n = (7_000, 90_000), SEGMENT + 30_000
    kinds = (Shuffle("exact"), Shuffle("none"))
    order = MixShuffle(rows, (Fraction(1, 3), Fraction(2, 3)), kinds).order(n, 1, epoch)
    positions, passes = order.at(0, n), order.passes(0, n)
    pairs = set(zip(positions.tolist(), passes.tolist(), strict=True))
    assert len(pairs) == n
    assert passes[positions < rows[0]].max() >= n // 3 // rows[0]
    assert passes.min() == 0
    for start, stop in ((0, 1), (SEGMENT - 5, SEGMENT + 5), (n - 9, n + 9)):
        assert np.array_equal(order.passes(start, stop), passes[start:stop])
    places, shares = CachedOrder(order), Shares(n, 500, rank=1, world_size=2, last="pad")
    for batch in (0, SEGMENT // 1_000, len(shares) - 1):
        mine, own = positions_of(places, shares, batch)
        at = list(shares.rows(batch))
        assert np.array_equal(mine[:own], positions[at])
        assert np.array_equal(passes_of(places, shares, batch)[:own], passes[at])


def test_epoch_without_repetition_has_no_passes():
    order = MixShuffle((40, 60), (Fraction(2, 5), Fraction(3, 5)), (Shuffle("none"),) * 2)
    assert order.order(100, 0, 0).passes(0, 100) is None
    assert order.order(100, 0, 7).passes(0, 100) is None
    assert order.order(90, 0, 1).passes(0, 90).max() == 1


def test_whole_lake_is_not_searched_for_repeated_rows(views, monkeypatch):
    def refuse(*_):
        raise AssertionError("the ids of all rows are read")

    samples = ViewSamples.of(views[0], with_ids=True)
    with monkeypatch.context() as patch:
        patch.setattr(ViewSamples, "ids", refuse)
        assert samples.where(np.arange(2)).repeats is None
        part = ViewSamples.of(views[0][[2, 2, 3]], with_ids=True)
        assert part.where(np.arange(3)).repeats.tolist() == [0, 1, 0]
