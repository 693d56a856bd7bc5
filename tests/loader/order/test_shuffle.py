"""Which shuffle a view gets, and the positions of its rows."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from deeplake_lite.loader.options import Options
from deeplake_lite.loader.order.epoch import CachedOrder
from deeplake_lite.loader.order.order import SEGMENT, BlockOrder, ExactOrder, Order
from deeplake_lite.loader.order.shuffle import EXACT_BYTES, Shuffle


@dataclass
class Rows:
    """A stand-in for samples of any size."""

    count: int
    row_bytes: float

    def __len__(self):
        return self.count


SMALL, LARGE = Rows(1_000, 20_000.0), Rows(10_000_000, 20_000.0)


def test_shuffle_true_is_exact_up_to_a_size_and_by_blocks_above():
    assert Shuffle.choose(True, SMALL).kind == "exact"
    assert Shuffle.choose(True, Rows(EXACT_BYTES, 1.0)).kind == "exact"
    assert Shuffle.choose(True, Rows(EXACT_BYTES + 1, 1.0)).kind == "block"
    assert Shuffle.choose("exact", LARGE).kind == "exact"
    assert Shuffle.choose("block", SMALL).kind == "block"
    assert Shuffle.choose(False, LARGE).kind == "none"


def test_shuffle_says_what_it_is_and_why():
    assert str(Shuffle.choose(True, SMALL)) == "exact (0.0186 GiB is not more than 8 GiB)"
    text = str(Shuffle.choose(True, LARGE))
    assert text == "block of 128 rows, 104 at a time (186 GiB is more than 8 GiB)"
    assert str(Shuffle.choose("exact", LARGE)) == "exact (as requested)"


def test_block_and_window_are_part_of_the_state():
    assert Shuffle.choose(True, LARGE).to_json() == {"kind": "block", "block": 128, "window": 104}


@pytest.mark.parametrize("wanted", [None, "Exact", 1.5, 2, "none"])
def test_unknown_shuffles_are_refused(wanted):
    with pytest.raises(
        ValueError, match="shuffle must be True, False, 'exact' or 'block', but it is"
    ):
        Shuffle.choose(wanted, SMALL)


def test_orders_follow_the_chosen_shuffle():
    kinds = [type(Shuffle.choose(w, SMALL).order(1_000, 1, 2)) for w in (False, "exact", "block")]
    assert kinds == [Order, ExactOrder, BlockOrder]


def test_places_cache_few_parts_and_return_any_of_them():
    asked = []

    def at(start, stop):
        asked.append(start // SEGMENT)
        return np.arange(start, min(stop, 10 * SEGMENT))

    places = CachedOrder(SimpleNamespace(at=at))
    for start in range(0, 10 * SEGMENT - 1_000, 9_999):
        assert np.array_equal(places.at(start, start + 1_000), np.arange(start, start + 1_000))
    assert asked == list(range(10))
    assert len(places._segments) <= 4
    assert places.at(5, 6).tolist() == [5]


def test_memory_budget_limits_exact_shuffles_only_if_it_is_set_and_smaller():
    assert Shuffle.choose(True, SMALL, 2**20).kind == "block"
    assert str(Shuffle.choose(True, SMALL, 2**20)).endswith("GiB is more than 0.000977 GiB)")
    assert Shuffle.choose(True, SMALL, 2**30).kind == "exact"
    assert Shuffle.choose(True, LARGE, 2**50).kind == "block"
    assert Shuffle.choose("exact", SMALL, 2**20).kind == "exact"
    assert Options.of(batch_size=1).exact_bytes is None
    assert Options.of(batch_size=1, memory_budget="1 GiB").exact_bytes == 2**30
    assert Options.of(batch_size=1, memory_budget="1 GiB", cache="disk").exact_bytes is None
    options = Options.of(batch_size=1, memory_budget="2 GiB", cache="disk", disk_budget="1 GiB")
    assert options.exact_bytes == 2**30
