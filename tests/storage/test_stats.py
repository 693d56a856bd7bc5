"""Bounds and counts of chunks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from deeplake_lite.storage import stats

DTYPES = ["bool", "int8", "uint64", "float32", "float64", "datetime64[ns]"]
arrays = st.sampled_from(["bool", "int8", "uint64", "float32", "float64"]).flatmap(
    lambda dtype: npst.arrays(dtype, st.integers(0, 12))
)


FIRST = np.array([0])


@given(arrays.filter(len), st.data())
def test_summary_of_each_run_holds_for_its_values(values, data):
    valid = data.draw(st.none() | npst.arrays(bool, len(values)))
    inner = data.draw(st.sets(st.integers(1, max(1, len(values) - 1))))
    starts = np.array([0, *sorted(n for n in inner if n < len(values))])
    bounds, counts = stats.summarize(values, valid, starts)
    assert bounds.dtype == values.dtype
    for run, start in enumerate(starts):
        span = slice(start, [*starts, len(values)][run + 1])
        kept = values[span] if valid is None else values[span][valid[span]]
        nan = np.isnan(kept) if kept.dtype.kind == "f" else np.zeros(len(kept), bool)
        numbers = kept[~nan]
        if len(numbers):
            assert bounds[run].tolist() == [numbers.min(), numbers.max()]
        else:
            assert tuple(bounds[run]) == stats.empty_bounds(values.dtype)
        assert counts[run].tolist() == [len(values[span]) - len(kept), nan.sum()]


@given(arrays.filter(lambda values: len(values) > 1), st.data())
def test_widening_two_halves_gives_the_summary_of_both(values, data):
    at = data.draw(st.integers(1, len(values) - 1))
    whole = stats.summarize(values, None, FIRST)
    bounds, counts = stats.widen(
        stats.summarize(values[:at], None, FIRST), stats.summarize(values[at:], None, FIRST)
    )
    assert bounds.dtype == values.dtype
    np.testing.assert_array_equal(bounds, whole[0])
    np.testing.assert_array_equal(counts, whole[1])


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float32"])
def test_bounds_of_an_empty_chunk_are_inverted(dtype):
    low, high = stats.empty_bounds(np.dtype(dtype))
    assert low > high
    assert np.asarray(low).dtype == dtype


def test_bounds_of_only_nulls_and_nan_are_inverted():
    bounds, counts = stats.summarize(np.array([np.nan, 3.0]), np.array([True, False]), FIRST)
    assert bounds[0, 0] > bounds[0, 1]
    assert counts.tolist() == [[1, 1]]


@pytest.mark.usefixtures("tiny")
def test_statistics_are_stored_per_chunk_and_widen_on_update(make_lake):
    ds = make_lake({"x": "int8"}, x=range(10))
    column = ds.schema["x"].id
    bounds, _ = ds.handle.table.statistics(column)
    assert bounds.tolist() == [[0, 3], [4, 7], [8, 9]]
    ds["x"][4] = 100
    ds.commit("wider")
    assert ds.handle.table.statistics(column)[0].tolist() == [[0, 3], [4, 100], [8, 9]]
    ds["x"][4] = 5
    ds.commit("no narrower")
    assert ds.handle.table.statistics(column)[0].tolist() == [[0, 3], [4, 100], [8, 9]]
    ds.optimize()
    assert ds.handle.table.statistics(column)[0].tolist() == [[0, 3], [5, 7], [8, 9]]


@pytest.mark.usefixtures("tiny")
def test_failed_append_leaves_no_statistics_behind(make_lake):
    ds = make_lake({"x": "int8"}, x=[1])
    with pytest.raises(ValueError, match="row 40: int8 holds"):
        ds.append({"x": [2] * 40 + [999]})
    ds.commit("nothing")
    ds.append({"x": [3]})
    ds.commit("one")
    assert ds.handle.table.statistics(ds.schema["x"].id)[0].tolist() == [[1, 3]]
