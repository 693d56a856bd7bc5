"""Samples of a view: what is known about rows without reading them."""

from unittest import mock

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.dataset.read import virtual
from deeplake_lite.loader.read.samples import ROW_ID, ViewSamples

PIXELS = [np.full((4, 5, 3), i, np.uint8) for i in range(6)]


@pytest.fixture
def ds(make_lake):
    schema = {"x": "int32", "i": dl.Image("png"), "b": dl.Boxes(), "n": dl.Image(nullable=True)}
    pixels = [None, *PIXELS[1:]]
    return make_lake(
        schema, x=range(6), i=PIXELS, b=[[[0, 0, 1, 1]] * i for i in range(6)], n=pixels
    )


def test_shape_is_known_if_all_rows_have_it(ds):
    samples = ViewSamples.of(ds)
    result = {f.name: samples.shape_of(f) for f in samples.fields}
    assert result == {"x": (), "i": (4, 5, 3), "b": None, "n": None}
    assert ViewSamples.of(ds[1:]).shape_of(ds.schema["n"]) == (4, 5, 3)
    assert ViewSamples.of(ds[:0]).shape_of(ds.schema["i"]) is None


def test_shapes_of_a_join_come_from_its_source_without_reading_cells(ds):
    text = "SELECT a.x + 1 AS x, b.i AS i FROM dataset a LEFT JOIN other b ON a.x = b.x"
    inner = ViewSamples.of(ds.query(text, sources={"other": ds[["x", "i"]]}))
    outer = ViewSamples.of(ds.query(text, sources={"other": ds[["x", "i"]][:3]}))
    with mock.patch.object(virtual.ViewColumn, "read", side_effect=AssertionError("read")):
        assert inner.shape_of(inner.fields[1]) == (4, 5, 3)
        assert outer.shape_of(outer.fields[1]) is None
    shapes = outer.view.rows.table.shapes(outer.fields[1].id, np.arange(6))
    assert shapes.tolist() == [[4, 5, 3]] * 3 + [[-1, -1, -1]] * 3


def test_estimated_row_size_is_close_to_the_average(ds):
    samples = ViewSamples.of(ds, ["i", "x"])
    assert samples.row_bytes == pytest.approx(ds[["i", "x"]].nbytes / 6)
    assert ViewSamples.of(ds[:0]).row_bytes == 1.0


def test_ids_are_read_only_if_needed(ds):
    rows = np.array([4, 0, 4])
    assert set(ViewSamples.of(ds, ["x"]).read(rows)) == {"x"}
    cells = ViewSamples.of(ds, ["x"], with_ids=True).read(rows)
    assert cells[ROW_ID].values.tolist() == ds.row_ids[rows].tolist()


@pytest.mark.parametrize(
    "view",
    [
        lambda ds: ds,
        lambda ds: ds[2:5],
        lambda ds: ds[[3, 3]],
        lambda ds: ds.query("SELECT x * 2 AS y, i ORDER BY x DESC"),
    ],
)
def test_fingerprint_is_the_same_wherever_the_view_is(ds, view):
    here, there = view(ds), view(dl.open(ds.url))
    assert ViewSamples.of(here).fingerprint == ViewSamples.of(there).fingerprint


def test_few_large_rows_among_many_are_counted(make_lake):
    sizes = [100_000 if i % 500 == 7 else 10 for i in range(3000)]
    ds = make_lake({"b": dl.Bytes()}, b=[bytes(size) for size in sizes])
    assert ViewSamples.of(ds).row_bytes == pytest.approx(np.mean(sizes))


def test_sizes_of_columns_passed_through_a_query_are_looked_up_without_reading(ds):
    result = ViewSamples.of(ds.query("SELECT i, b, x + 1 AS y WHERE x > 2"))
    with mock.patch.object(virtual.ViewColumn, "read", side_effect=AssertionError("read")):
        assert result.row_bytes == pytest.approx(ds[["i", "b"]][3:].nbytes / 3 + 8)
    assert not result.computed
