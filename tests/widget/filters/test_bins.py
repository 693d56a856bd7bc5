"""Bins of equal width, whose bars show the rows that they filter."""

from __future__ import annotations

import itertools
import json
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deeplake_lite as dl
from deeplake_lite.widget.filters.bins import edges_of_integers, edges_of_numbers, edges_of_times

fresh = itertools.count()


@given(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300))
def test_bins_cover_all_numbers_and_are_few(a, b):
    low, high = min(a, b), max(a, b)
    edges = edges_of_numbers(low, high)
    assert edges[0] <= low <= high < edges[-1]
    assert edges == sorted(set(edges))
    assert 2 <= len(edges) <= 60


@given(st.integers(-(2**63), 2**64 - 1), st.integers(-(2**63), 2**64 - 1))
def test_bins_cover_all_integers_as_floats_represent_them(a, b):
    low, high = min(a, b), max(a, b)
    edges = edges_of_integers(low, high)
    assert edges[0] <= low <= high < edges[-1]
    assert edges == sorted(set(edges))
    assert [int(float(edge)) for edge in edges] == edges
    assert 2 <= len(edges) <= 60


TIMES = st.integers(-(9 * 10**18), 9 * 10**18)  # microseconds


@given(TIMES, st.integers(0, 10**12), st.sampled_from(["D", "s", "ms", "us"]))
def test_bins_cover_all_times(first, span, unit):
    low, high = (np.datetime64(us, "us").astype(f"M8[{unit}]") for us in (first, first + span))
    edges = [np.datetime64(edge) for edge in edges_of_times(low, high)]
    assert edges[0] <= low <= high < edges[-1]
    assert edges == sorted(set(edges))
    assert 2 <= len(edges) <= 70


@pytest.mark.parametrize(
    ("edges", "first"),
    [
        (edges_of_integers(0, 9), [*range(11)]),
        (edges_of_integers(1, 1), [1, 2]),
        (edges_of_numbers(0, 1), [0, 0.05, 0.1]),
        (edges_of_numbers(3, 97), [0, 5, 10]),
        (edges_of_integers(1024, 2**40), [0, 100_000_000_000, 200_000_000_000]),
        (edges_of_integers(0, 2**62), [0, 5 * 10**17]),
    ],
)
def test_edges_are_round(edges, first):
    assert edges[: len(first)] == first


def values_of(kind: str, rng: np.random.Generator) -> list:
    """Return values of a column, some of them at the edges of bins."""
    match kind:
        case "rounded" | "float32":
            return [k / 100 for k in range(101)]
        case "float16":
            return [*np.arange(0, 1, 0.01, "float16")]
        case "near":
            return [1 + k * 2.0**-52 for k in range(50)]
        case "odd":
            return [0.1, 0.2, np.nan, np.inf, -np.inf, None, -0.0, 0.30000000000000004]
        case "large":
            return [2**60 + k for k in range(50)]
        case "least":
            return [-128, 5, 127]
        case "int64":
            return [-(2**63), 2**63 - 1, 0]
        case "uint64":
            return [2**64 - 1 - int(k) for k in rng.integers(0, 5000, 50)]
        case "milliseconds":
            start = np.datetime64("2020-01-01T00:00:00.000", "ms")
            return [start + np.timedelta64(100 * k, "ms") for k in range(50)]
        case "nanoseconds":
            start = np.datetime64("2020-01-01T00:00:00.000000001", "ns")
            return [start + np.timedelta64(333_333_333 * k, "ns") for k in range(50)]
        case "days":
            return [np.datetime64("1999-12-30") + np.timedelta64(k, "D") for k in range(50)]
        case "seconds":
            return [np.datetime64(k % 2, "s") for k in range(30)]
        case "few milliseconds":
            return [np.datetime64(k % 4, "ms") for k in range(30)]
        case "microseconds":
            return [np.datetime64(1_600_000_000_000_000 + 97 * k, "us") for k in range(50)]
        case "within a microsecond":
            return [np.datetime64(1_600_000_000_000_000_000 + k, "ns") for k in range(5)]
        case "sentinel":
            return [np.datetime64("2020-01-01", "s"), np.datetime64("9999-12-31T23:59:59", "s")]
        case "far":
            return [np.datetime64(y, "s") for y in ("-0044-03-15", "0000-01-01", "12000-01-01")]
        case "same time":
            return [np.datetime64("2020-01-01T00:00:00.000000123", "ns")] * 3
        case "same":
            return [0.5, 0.5]
    raise AssertionError(kind)


DTYPES = {
    "rounded": "float64", "float32": "float32", "float16": "float16", "near": "float64",
    "odd": "float64", "large": "int64", "least": "int8", "int64": "int64", "uint64": "uint64",
    "milliseconds": "datetime64[ms]", "nanoseconds": "datetime64[ns]", "days": "datetime64[D]",
    "seconds": "datetime64[s]", "few milliseconds": "datetime64[ms]",
    "microseconds": "datetime64[us]", "within a microsecond": "datetime64[ns]",
    "sentinel": "datetime64[s]", "far": "datetime64[s]", "same time": "datetime64[ns]",
    "same": "float64",
}  # fmt: skip


def as_a_page_says(value: object) -> object:
    """Return a value as a page sends it: for a large number, digits that identify the float."""
    if isinstance(value, int) and abs(value) > 2**53:
        return int(Decimal(repr(float(value))))
    return json.loads(json.dumps(value))


@pytest.mark.parametrize("kind", DTYPES)
def test_bar_shows_the_rows_that_it_filters(kind, page):
    values = values_of(kind, np.random.default_rng(0))
    ds = dl.create(f"memory://bars-{next(fresh)}", {"s": dl.Scalar(DTYPES[kind], nullable=True)})
    ds.append({"s": values})
    shown = page(ds)
    [facet] = shown.asks("facets", columns=None)["facets"]
    assert len(facet["edges"]) == len(facet["all"]) + 1
    assert sum(facet["all"]) + facet["nulls"][0] == len(values)
    if kind != "odd":
        assert sum(facet["all"]) == len(values)
    only = {"same time": "2020-01-01T00:00:00.000000123", "same": "0.5"}
    assert facet["only"] == only.get(kind)
    for ends, bar in zip(pairwise(facet["edges"]), facet["all"], strict=True):
        asked = [as_a_page_says(end) for end in ends]
        result = shown.asks("filter", expression="s", kind=facet["kind"], op="set", values=asked)
        assert result["rows"] == bar, ends
        shown.asks("filter", expression="s", kind=facet["kind"], op="clear", values=[])


TAGS = {
    "classes": (dl.ClassLabel(["car", "dog"], multiple=True, nullable=True), "tags"),
    "texts": (dl.Sequence("text", nullable=True), "tags"),
}


@pytest.mark.parametrize("kind", TAGS)
def test_row_with_a_duplicate_tag_counts_once(kind, page):
    htype, _ = TAGS[kind]
    ds = dl.create(f"memory://tags-{next(fresh)}", {"t": htype})
    ds.append({"t": [["car"] * 10, ["dog", "car"], [], None, ["dog"]]})
    shown = page(ds)
    facet = next(f for f in shown.asks("facets", columns=None)["facets"] if f["kind"] == "tags")
    counts = {name: count for _, name, count, _ in facet["values"]}
    assert counts == {"car": 2, "dog": 2}
    assert facet["nulls"] == [1, 1]
    for value, name, count, _ in facet["values"]:
        for said in (value, name):
            result = shown.asks("filter", expression="t", kind="tags", op="set", values=[said])
            assert result["rows"] == count
    result = shown.asks("filter", expression="t", kind="tags", op="set", values=[None])
    assert result["rows"] == 1


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("low", "high"),
    [
        (0.0, 5e-324), (1e-310, 3e-310), (-1e-320, 1e-310), (5e-324, 5e-324), (1e-300, 1e-290),
        (-1.7e308, 1.7e308), (0.0, 1.7e308), (1.5e308, 1.6e308), (-1e-320, 1.7e308), (0.0, 1e308),
    ],
)  # fmt: skip
def test_bins_cover_the_smallest_and_largest_numbers(low, high, sign):
    low, high = sorted([sign * low, sign * high])
    edges = edges_of_numbers(low, high)
    assert edges[0] <= low <= high < edges[-1]
    assert edges == sorted(set(edges))
    assert 2 <= len(edges) <= 100
    json.dumps(edges, allow_nan=False)
