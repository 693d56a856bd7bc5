"""Sets of slots and orders of rows, compared with Python's sets and lists."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deeplake_lite.storage.row_order import RowOrder
from deeplake_lite.storage.slot_set import SlotSet

SLOTS = 14
SETS = st.lists(st.integers(0, SLOTS - 1), max_size=SLOTS)


def set_of(slots):
    return SlotSet.of(np.array(slots, np.int64))


def members(slots):
    """Return the slots of a set, after checking that its ranges are disjoint and do not touch."""
    flat = slots.ranges.ravel()
    assert (np.diff(flat) > 0).all()
    assert len(slots) == len(slots.slots())
    return slots.slots().tolist()


@given(SETS, SETS, st.integers(0, SLOTS), st.integers(0, SLOTS), st.integers(1, 5))
def test_sets_of_slots_equal_sets(a, b, start, stop, size):
    one, other, every = set_of(a), set_of(b), np.arange(SLOTS)
    assert members(one) == sorted(set(a))
    assert one.contains(every).tolist() == [slot in a for slot in range(SLOTS)]
    assert one.count_below(every).tolist() == [len({s for s in a if s < n}) for n in range(SLOTS)]
    assert members(one.union(other)) == sorted({*a, *b})
    assert members(one.minus(other)) == sorted(set(a) - set(b))
    assert members(one.intersection(other)) == sorted({*a} & {*b})
    assert members(one.within(start, stop)) == sorted(s for s in set(a) if start <= s < stop)
    assert members(one.complement(start, stop)) == sorted({*range(start, stop)} - {*a})
    blocks = list(one.blocks(size))
    assert all(len(block) == size for block in blocks[:-1])
    assert np.concatenate([np.empty(0, np.int64), *blocks]).tolist() == sorted(set(a))


@given(st.lists(st.tuples(st.integers(0, SLOTS), st.integers(0, SLOTS)), max_size=6))
def test_overlapping_ranges_are_joined(ranges):
    joined = SlotSet.of_ranges(np.array(ranges, np.int64).reshape(-1, 2))
    assert members(joined) == sorted({slot for a, b in ranges for slot in range(a, b)})


@given(st.permutations(range(SLOTS)), st.integers(0, SLOTS), st.booleans(), SETS, st.integers(0, 3))
def test_orders_of_rows_equal_lists(slots, count, is_sorted, deleted, added):
    live = sorted(slots[:count]) if is_sorted else slots[:count]
    order = RowOrder.of(SLOTS, np.array(live, np.int64))
    assert (order.arranged is None) == (live == sorted(live))
    order = order.without(np.array(deleted, np.int64)).extended(added)
    live = [s for s in live if s not in deleted] + [*range(SLOTS, SLOTS + added)]
    assert len(order) == len(live)
    assert order.live().tolist() == live
    assert order.at(np.arange(len(live))).tolist() == live
    assert order.at(np.arange(len(live))[::-1]).tolist() == live[::-1]
    assert order.at(np.arange(len(live))[1:-1]).tolist() == live[1:-1]
    every = range(SLOTS + added)
    positions = [live.index(slot) if slot in live else -1 for slot in every]
    assert order.positions(np.array(every)).tolist() == positions
    assert order.contains(np.array(every)).tolist() == [slot in live for slot in every]


def test_order_without_rows_has_no_positions():
    order = RowOrder.of(3, np.array([2, 0, 1])).without(np.arange(3))
    assert order.positions(np.arange(3)).tolist() == [-1, -1, -1]


@pytest.mark.parametrize("live", [[0, 0], [2, 1, 2], [3], [-1]])
def test_contradicting_orders_are_refused(live):
    with pytest.raises(ValueError, match="slot"):
        RowOrder.of(3, np.array(live))
