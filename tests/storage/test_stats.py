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


@given(arrays, st.data())
def test_summary_holds_for_every_value(values, data):
    mask = npst.arrays(bool, len(values))
    valid = data.draw(st.none() | mask)
    bounds, counts = stats.summarize(values, valid)
    kept = values if valid is None else values[valid]
    nan = np.isnan(kept) if kept.dtype.kind == "f" else np.zeros(len(kept), bool)
    assert bounds.dtype == values.dtype
    assert ((bounds[0] <= kept[~nan]) & (kept[~nan] <= bounds[1])).all()
    assert counts.tolist() == [len(values) - len(kept), nan.sum()]


@given(arrays, st.integers(0, 12))
def test_widening_two_halves_gives_the_summary_of_both(values, at):
    whole = stats.summarize(values, None)
    bounds, counts = stats.widen(
        stats.summarize(values[:at], None), stats.summarize(values[at:], None)
    )
    np.testing.assert_array_equal(bounds, whole[0])
    np.testing.assert_array_equal(counts, whole[1])


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float32"])
def test_bounds_of_an_empty_chunk_are_inverted(dtype):
    low, high = stats.empty_bounds(np.dtype(dtype))
    assert low > high
    assert np.asarray(low).dtype == dtype


def test_bounds_of_only_nulls_and_nan_are_inverted():
    bounds, counts = stats.summarize(np.array([np.nan, 3.0]), np.array([True, False]))
    assert bounds[0] > bounds[1]
    assert counts.tolist() == [1, 1]


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
