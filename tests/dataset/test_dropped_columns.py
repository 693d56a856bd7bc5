"""Dropping columns that the transaction has written to, and restoring them."""

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.storage import column
from deeplake_lite.storage.repo import run

BYTES = 5_000_000
"""Size of a cell that fills a chunk of ``values``, so that it is written before the commit."""

CELLS = {
    "bytes": (dl.Bytes(), b"a", bytes(BYTES)),
    "sequence": (dl.Sequence(dl.Text()), ["a"], ["é" * BYTES]),
    "array": (dl.Array("uint8", (None,)), np.zeros(3, "u1"), np.zeros(BYTES, "u1")),
    "dense": (dl.Array("float32", (64,)), np.zeros(64, "f4"), np.ones(64, "f4")),
}


@pytest.fixture(params=list(CELLS))
def cells(request, monkeypatch):
    """A type, a small cell and a large one; chunks of the type ``dense`` are written early too."""
    monkeypatch.setattr(column, "SPILL_BYTES", 100)
    return CELLS[request.param]


def leftovers(ds, column):
    """Return the arrays and groups of a column in the committed version."""
    names = ("", "values/", "tail/", "extents/", "data/", "items/")
    has = ds.handle.table.session.has
    generation = ds.handle.table.state.generation
    return [name for name in names if run(has(f"{generation}/{column}/{name}zarr.json"))]


def assert_equal(cell, other):
    assert np.array_equal(cell, other)


def test_column_is_written_and_dropped_in_one_transaction(new_url, cells):
    htype, small, large = cells
    ds = dl.create(new_url(), {"x": "int64", "b": htype})
    ds.append({"x": [1], "b": [small]})
    version = ds.commit("small")
    column = ds.schema["b"].id
    ds.append({"x": [2, 3], "b": [large, large]})
    ds.drop_column("b")
    ds.commit("dropped")
    assert leftovers(ds, column) == []
    assert ds["x"][:].tolist() == [1, 2, 3]
    ds.restore(version)
    ds.commit("restored")
    ds.append({"x": [4], "b": [large]})
    ds.commit("large")
    assert_equal(ds[1]["b"], large)
    assert ds.verify()


def test_column_is_added_and_dropped_in_one_transaction(new_url, cells):
    htype, _, large = cells
    ds = dl.create(new_url(), {"x": "int64"})
    ds.append({"x": [1, 2, 3]})
    ds.commit("x")
    ds.add_column("b", htype, values=[large] * 3)
    column = ds.schema["b"].id
    ds.drop_column("b")
    ds["x"][0] = 5
    ds.commit("dropped")
    assert leftovers(ds, column) == []
    assert ds["x"][:].tolist() == [5, 2, 3]


def test_dropped_column_with_large_cells_is_restored(new_url, cells):
    htype, small, large = cells
    ds = dl.create(new_url(), {"x": "int64", "b": htype})
    ds.append({"x": [1, 2], "b": [large, small]})
    version = ds.commit("rows")
    ds.drop_column("b")
    ds.commit("dropped")
    ds.restore(version)
    ds.commit("restored")
    ds.append({"x": [3], "b": [large]})
    ds.commit("appended")
    for handle in (ds, dl.open(ds.url)):
        for i, cell in enumerate([large, small, large]):
            assert_equal(handle[i]["b"], cell)
    assert ds.verify()
    ds.optimize()
    assert_equal(ds[2]["b"], large)


@pytest.mark.parametrize("side", ["ours", "theirs"])
def test_one_drops_a_column_while_the_other_appends_large_cells(new_url, cells, side):
    htype, small, large = cells
    ds = dl.create(new_url(), {"x": "int64", "b": htype})
    ds.append({"x": [1, 2], "b": [large, small]})
    ds.commit("rows")
    other = dl.open(ds.url)
    other.append({"x": [3], "b": [large]})
    ds.drop_column("b")
    ds.commit("dropped")
    with pytest.raises(dl.ConflictError):
        other.commit("appended")
    other.rebase(on_conflict=side)
    other.commit("appended")
    assert other["x"][:].tolist() == [1, 2, 3]
    assert ("b" in other.columns) == (side == "ours")
    if side == "ours":
        for i, cell in enumerate([large, small, large]):
            assert_equal(other[i]["b"], cell)
    assert other.verify()


@pytest.mark.parametrize("whole", [True, False])
def test_one_restores_a_dropped_column_while_the_other_does_too(new_url, cells, whole):
    """Two writers restore a column; the second one may have written to its new array already."""
    htype, small, large = cells
    ds = dl.create(new_url(), {"x": "int64", "b": htype})
    ds.append({"x": [1, 2], "b": [large, small]})
    version = ds.commit("rows")
    ds.drop_column("b")
    ds.commit("dropped")
    other = dl.open(ds.url)
    ds.restore(version)
    other.restore(version)
    if whole:
        ds.append({"x": [3], "b": [large]})
    other.append({"x": [4], "b": [large]})
    ds.commit("first")
    other.commit("second")
    assert other["x"][:].tolist() == ([1, 2, 3, 4] if whole else [1, 2, 4])
    for i, x in enumerate(other["x"][:].tolist()):
        assert_equal(other[i]["b"], small if x == 2 else large)
    assert other.verify()
