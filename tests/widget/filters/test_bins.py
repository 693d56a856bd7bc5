"""Ranges of equal width."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deeplake_lite.widget.filters.bins import Bins


@given(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300), st.booleans())
def test_ranges_hold_all_numbers_and_are_not_many(a, b, whole):
    low, high = min(a, b), max(a, b)
    bins = Bins.over(low, high, whole=whole)
    for number in (low, high):
        assert 0 <= math.floor((number - bins.start) / bins.width) < bins.count
    assert 1 <= bins.count <= 60
    assert len(bins.edges) == bins.count + 1


@pytest.mark.parametrize(
    ("low", "high", "edges"),
    [
        (0, 9, list(range(11))),
        (1, 1, [1, 2]),
        (0, 1, [0, 0.05, 0.1]),
        (3, 97, [0, 5, 10]),
        (1024, 2**40, [0, 100_000_000_000, 200_000_000_000]),
    ],
)
def test_edges_are_round(low, high, edges):
    bins = Bins.over(low, high, whole=(isinstance(low, int) and high != 1) or low == high)
    assert bins.edges[: len(edges)] == edges
