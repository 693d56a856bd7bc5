"""Virtual columns behave like stored ones."""

import numpy as np
import pytest

import deeplake_lite as dl

COLUMNS = {
    "one shape": (dl.Array("float32", (2,), nullable=True), [[1, np.nan], None, [3, 4]]),
    "a number": (dl.Scalar("int32", nullable=True), [1, None, 0]),
    "any shape": (dl.Array("float32", (None, 2), nullable=True), [[[1, 2]], None, []]),
    "text": (dl.Text(nullable=True), ["a", None, ""]),
    "a sequence": (dl.Sequence("int16", nullable=True), [[1, 2], None, []]),
    "texts": (dl.Sequence(dl.Text()), [["a", ""], ["b"], []]),
}


@pytest.fixture(params=COLUMNS)
def lake(make_lake, request):
    htype, values = COLUMNS[request.param]
    return make_lake({"x": htype, "n": "int32"}, x=values, n=range(3))


@pytest.fixture
def derived(lake):
    """Return the lake's rows in reverse, as a view that is not of stored columns."""
    return lake.query("SELECT x, n, n * 2 AS twice ORDER BY n DESC")


def test_digests_equal_those_of_stored_cells(lake, derived):
    stored = lake.handle.table.digests(lake.schema["x"].id, np.arange(3))
    result = derived.rows.table.digests(derived.schema["x"].id, np.arange(3))
    assert result.tolist() == stored[::-1].tolist()


def test_derived_column_compares_with_a_stored_one(lake, derived):
    asked = "SELECT x FROM ds {} SELECT x FROM derived"
    assert len(lake.query(asked.format("INTERSECT"), sources={"derived": derived})) == 3
    assert len(lake.query(asked.format("EXCEPT"), sources={"derived": derived})) == 0


def test_sizes_equal_those_of_the_cells(make_lake):
    ds = make_lake({"t": dl.Text(), "s": dl.Sequence(dl.Text())}, t=["ab", ""], s=[["a", "bc"], []])
    result = ds.query("SELECT t, s, 1 AS one")
    assert result.rows.table.sizes(result.schema["t"].id, np.arange(2)).tolist() == [2, 0]
    assert result.rows.table.sizes(result.schema["s"].id, np.arange(2)).tolist() == [3, 0]
