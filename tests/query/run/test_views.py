"""Query results are views: queried again, sliced, exported and joined, with uncommitted edits."""

from __future__ import annotations

import asyncio
import tracemalloc
from importlib import import_module

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import deeplake_lite as dl
from deeplake_lite.query.registering import unregister

from .. import data
from ..case_files import same, values_of


def ids(view: dl.View) -> list[int]:
    return [int(i) for i in view["id"][:]]


def test_result_can_be_queried_again(ds):
    first = ds.query("SELECT id, grid, MEAN(grid) AS m WHERE id % 2 = 0")
    second = first.query("SELECT id, m, SUM(grid) AS s WHERE m > 0 ORDER BY m DESC")
    rows = [r for r in data.rows() if r.id % 2 == 0 and r.grid.mean() > 0]
    rows.sort(key=lambda r: -r.grid.mean())
    assert ids(second) == [r.id for r in rows]
    assert same(values_of(second)["s"], [float(r.grid.sum()) for r in rows])


def test_three_queries_can_be_chained(ds):
    result = (
        ds.query("SELECT * WHERE flag").query("SELECT * WHERE id > 10").query("SELECT id LIMIT 3")
    )
    assert ids(result) == [12, 15, 18]


def test_groups_can_be_queried_again(ds):
    groups = ds.query("SELECT label, COUNT(*) AS c, MEAN(grid) AS m GROUP BY label")
    result = groups.query("SELECT label, m[0] AS row, c WHERE c >= 20 ORDER BY label")
    counts = {c: [r for r in data.rows() if r.label == c] for c in data.CLASSES}
    expected = [c for c in data.CLASSES if len(counts[c]) >= 20]
    assert values_of(result)["label"] == expected
    means = [np.mean([r.grid for r in counts[c]], 0)[0] for c in expected]
    assert same(values_of(result)["row"], means)


def test_result_can_be_sliced(ds):
    result = ds.query("SELECT id, image, image[:2] AS part ORDER BY id DESC")
    assert ids(result[5:8]) == [54, 53, 52]
    assert ids(result[[3, 0]]) == [56, 59]
    assert ids(result[np.arange(60) % 20 == 0]) == [59, 39, 19]
    assert same(result[7]["part"], data.rows()[52].image[:2])
    assert same(result[10:12]["image"][1], data.rows()[48].image)
    assert ids(result[5:8].query("SELECT id WHERE id <> 53")) == [54, 52]


@pytest.mark.parametrize(
    ("index", "rows"),
    [
        (slice(10, 20), list(range(10, 20))),
        (slice(None, None, -7), list(range(59, -1, -7))),
        ([5, 2, 40], [5, 2, 40]),
        (np.arange(60) % 9 == 0, list(range(0, 60, 9))),
    ],
)
def test_query_of_a_view_reads_only_its_rows(ds, index, rows):
    view = ds[index]
    assert ids(view.query("SELECT id")) == rows
    assert values_of(view.query("SELECT COUNT(*) AS c, SUM(id) AS s")) == {
        "c": [len(rows)],
        "s": [sum(rows)],
    }
    means = [float(data.rows()[i].image.mean()) for i in rows]
    assert same(values_of(view.query("SELECT MEAN(image) AS m"))["m"], means)
    assert ids(view.query("SELECT id ORDER BY SUM(grid) DESC")) == sorted(
        rows, key=lambda i: -data.rows()[i].grid.sum()
    )


def test_query_of_a_view_of_columns_reads_only_those(ds):
    view = ds.query("SELECT id, text")
    assert view.columns == ("id", "text")
    with pytest.raises(dl.ColumnNotFoundError, match="label"):
        view.query("SELECT label")


def test_uncommitted_edits_count(make_lake):
    ds = make_lake({"a": "int32", "t": dl.Array("float32", (2,))}, a=[1, 2, 3], t=np.zeros((3, 2)))
    assert values_of(ds.query("SELECT SUM(a) AS s"))["s"] == [6]
    ds["a"][1] = 20
    ds["t"][2] = [5, 6]
    ds.append({"a": [7], "t": [[1, 1]]})
    ds.delete([0])
    assert values_of(ds.query("SELECT a, SUM(t) AS s ORDER BY a")) == {
        "a": [3, 7, 20],
        "s": [11.0, 2.0, 0.0],
    }
    ds.discard()
    assert values_of(ds.query("SELECT SUM(a) AS s"))["s"] == [6]
    ds["a"][0] = 100
    ds.commit("more")
    assert values_of(ds.query("SELECT SUM(a) AS s"))["s"] == [105]


def test_result_does_not_change_when_the_lake_does(make_lake):
    ds = make_lake({"a": "int32", "t": dl.Array("float32", (2,))}, a=[1, 2, 3], t=np.ones((3, 2)))
    result = ds.query("SELECT a, t, SUM(t) AS s WHERE a > 1")
    ds["a"][1] = 50
    ds["t"][1] = [9, 9]
    ds.commit("more")
    assert values_of(result)["s"] == [2.0, 2.0]
    assert [int(a) for a in result["a"][:]] == [2, 3]


def test_versions_can_be_queried(ds):
    old = dl.open(ds.url, version="v1")
    assert values_of(old.query("SELECT COUNT(*) AS c"))["c"] == [40]
    assert values_of(old.query("SELECT label LIMIT 3"))["label"] == ["bird"] * 3
    assert values_of(ds.query("SELECT COUNT(*) AS c FROM dataset VERSION 'v1'"))["c"] == [40]


def test_results_can_be_sources(ds, owners):
    bright = ds.query("SELECT id, MEAN(image) AS m, image WHERE MEAN(image) > 126")
    result = ds.query(
        "SELECT o.name, b.m, b.image FROM owners AS o LEFT JOIN bright AS b ON b.id = o.id "
        "ORDER BY o.id",
        sources={"owners": owners, "bright": bright},
    )
    rows = [r if r.image.mean() > 126 else None for r in data.rows()[:4]] + [None]
    assert same(values_of(result)["m"], [r and float(r.image.mean()) for r in rows])
    assert all(same(a, r and r.image) for a, r in zip(result["image"][:], rows, strict=True))


def test_lakes_can_be_queried_without_a_dataset(ds):
    assert len(dl.query("SELECT 1 AS a")) == 1
    assert len(dl.query(f"SELECT id FROM '{ds.url}' WHERE id < ?", [3])) == 3
    with pytest.raises(dl.QueryError, match="FROM"):
        dl.query("SELECT id")


def test_result_is_exported_to_pandas(ds):
    frame = ds.query(
        "SELECT id, n, label, text, time, grid * 2 AS g, MEAN(image) AS m LIMIT 5"
    ).to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == ["id", "n", "label", "text", "time", "g", "m"]
    assert frame["text"].tolist() == [r.text for r in data.rows()[:5]]
    assert np.allclose(frame["m"], [r.image.mean() for r in data.rows()[:5]])


def test_result_is_exported_to_arrow(ds):
    table = ds.query(
        "SELECT label, COUNT(*) AS c, AVG(score) AS m GROUP BY label ORDER BY c"
    ).to_arrow()
    assert isinstance(table, pa.Table)
    assert table.column_names == ["label", "c", "m"]
    assert sum(table["c"].to_pylist()) == 60
    table = ds.query("SELECT id, meta, extra, vec, tags, words, boxes").to_arrow()
    assert len(table) == 60


def test_result_becomes_a_lake(ds, new_url):
    result = ds.query(
        "SELECT id, image, label, boxes, NORMALIZE(grid) AS g WHERE flag ORDER BY id DESC"
    )
    lake = result.materialize(new_url())
    assert ids(lake) == ids(result)
    assert values_of(lake)["label"] == values_of(result)["label"]
    assert same(values_of(lake)["g"], values_of(result)["g"])


def test_result_of_rows_can_be_saved(make_lake):
    ds = make_lake({"a": "int32"}, a=[3, 1, 2])
    ds.query("SELECT * WHERE a > 1 ORDER BY a").save("large")
    assert ds.views()["large"]["a"][:].tolist() == [2, 3]


def test_sample_is_drawn_once_and_kept(ds):
    result = ds.query("SELECT id SAMPLE BY 1 LIMIT 10")
    assert ids(result) == ids(result)
    assert len(set(ids(result))) == 10


def test_random_numbers_are_drawn_once_and_kept(ds):
    result = ds.query("SELECT id, RANDOM() AS x ORDER BY x")
    first = values_of(result)["x"]
    assert first == sorted(first)
    assert first == values_of(result)["x"]
    assert first != values_of(ds.query("SELECT RANDOM() AS x ORDER BY x"))["x"]


def test_seed_repeats_a_sample(ds):
    text = "SELECT id SAMPLE BY score REPLACE LIMIT 30 SEED 5"
    assert ids(ds.query(text)) == ids(ds.query(text))
    assert ids(ds.query(text)) != ids(ds.query(text.replace("SEED 5", "SEED 6")))


def test_sample_without_replacement_has_no_duplicates(ds):
    result = ids(ds.query("SELECT id WHERE score > 0 SAMPLE BY score SEED 1"))
    assert len(result) == len(set(result)) == sum((r.score or 0) > 0 for r in data.rows())


def test_weights_determine_how_often_a_row_is_drawn(ds):
    result = ids(ds.query("SELECT id SAMPLE BY id < 6 REPLACE LIMIT 600 SEED 2"))
    counts = np.bincount(result, minlength=60)
    assert counts[6:].sum() == 0
    assert (counts[:6] > 60).all()


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("SAMPLE BY 1 LIMIT 25 PERCENT", 15),
        ("SAMPLE BY 1 REPLACE LIMIT 200 PERCENT", 120),
        ("SAMPLE BY 1 LIMIT 1000", 60),
        ("SAMPLE BY 1 REPLACE", 60),
        ("SAMPLE BY id > 49", 10),
        ("SAMPLE BY MEAN(image) > 0 LIMIT 7", 7),
        ("LIMIT 10 SAMPLE BY 1", 10),
        ("SAMPLE BY 1 LIMIT 3 SEED 1 EXPAND BY 0, 0", 3),
        ("SAMPLE BY 1 LIMIT 12 SEED 1 ARRANGE BY label", 12),
        ("ARRANGE BY label SAMPLE BY 1 LIMIT 5 SEED 9", 5),
        ("SAMPLE BY 1 LIMIT 30 SEED 3 SAMPLE BY id LIMIT 4 SEED 4", 4),
    ],
)
def test_sample_has_its_size(ds, text, count):
    assert len(ds.query(f"SELECT * {text}")) == count


def test_sample_is_arranged_after_it_is_drawn(ds):
    labels = values_of(ds.query("SELECT label SAMPLE BY 1 LIMIT 30 SEED 3 ARRANGE BY label"))[
        "label"
    ]
    assert labels == sorted(labels, key=labels.index)


def test_query_can_be_awaited(ds):
    async def ask():
        return await ds.query_async("SELECT id WHERE id < ?", [3])

    assert ids(asyncio.run(ask())) == [0, 1, 2]


def test_rows_are_dictionaries(ds):
    row = ds.query("SELECT id, text, grid[0, 0] AS g WHERE id = 4")[0]
    assert list(row) == ["id", "text", "g"]
    assert (row["id"], row["text"]) == (4, "it's 'quoted'")


def test_selection_of_columns_and_rows_keeps_their_types(ds):
    result = ds.query("SELECT label, boxes, image, meta, tags, mask WHERE flag")
    for name in result.columns:
        assert result[name].htype == ds[name].htype


def test_computed_columns_describe_themselves(ds):
    result = ds.query(
        "SELECT image[:4] AS i, CROP(image, [0, 0, 2, 2]) AS c, grid * 2 AS g, id > 3 AS b, "
        "text || '!' AS t, boxes[:1] AS x, time + INTERVAL 1 DAY AS d, COUNT(*) OVER () AS n"
    )
    kinds = [type(result[name].htype).__name__ for name in result.columns]
    assert kinds == ["Image", "Image", "Array", "Scalar", "Text", "Boxes", "Scalar", "Scalar"]


@pytest.fixture
def _spread():
    dl.function(returns="float32", name="spread")(lambda x: x.max() - x.min())
    yield
    unregister("spread")


@pytest.mark.usefixtures("_spread")
def test_user_functions_work_in_every_clause(ds):
    result = ds.query(
        "SELECT id, SPREAD(grid) AS s WHERE SPREAD(grid) > 3 ORDER BY SPREAD(grid) DESC LIMIT 8 "
        "ARRANGE BY SPREAD(grid) > 4"
    )
    rows = sorted(data.rows(), key=lambda r: r.grid.min() - r.grid.max())[:8]
    assert ids(result) == [r.id for r in rows if np.ptp(r.grid) > 3]
    groups = ds.query(
        "SELECT SPREAD(grid) > 3 AS wide, COUNT(*) AS c GROUP BY SPREAD(grid) > 3 ORDER BY wide"
    )
    assert values_of(groups)["c"][1] == sum(np.ptp(r.grid) > 3 for r in data.rows())


def test_memory_use_stays_small(make_lake, monkeypatch):
    monkeypatch.setattr(import_module("deeplake_lite.query.tensors.spans"), "BLOCK_BYTES", 2**22)
    count, side = 200, 256
    image = np.random.default_rng(0).integers(0, 256, (side, side, 3), dtype="uint8")
    ds = make_lake({"image": dl.Image("raw"), "a": "int32"})
    for start in range(0, count, 50):
        ds.append({"image": [image] * 50, "a": list(range(start, start + 50))})
    ds.commit("39 MB of pixels")
    tracemalloc.start()
    result = ds.query(
        "SELECT a, image[::2] AS half WHERE MEAN(image) > 0 ORDER BY MEAN(image) DESC"
    )
    assert len(result) == count
    assert result[0]["half"].shape == (side // 2, side, 3)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 30e6


def test_star_accepts_replacements_and_renames(ds):
    result = ds.query("SELECT * EXCLUDE (text) REPLACE (id * 2 AS id) WHERE id < 3")
    assert result["id"][:].tolist() == [2 * i for i in ds.query("SELECT id WHERE id < 3")["id"][:]]
    assert "text" not in result.columns
    named = ds.query("SELECT * RENAME (id AS number) LIMIT 1")
    assert "number" in named.columns
    assert "id" not in named.columns


def test_queried_view_has_names_without_from(ds):
    result = ds.query("SELECT id WHERE EXISTS (SELECT 1 FROM ds b WHERE b.id = dataset.id + 1)")
    ids = set(ds["id"][:].tolist())
    assert set(result["id"][:].tolist()) == {i for i in ids if i + 1 in ids}


def test_computed_arrays_of_different_ranks_are_exported_to_arrow_pandas_and_a_lake(
    make_lake, new_url
):
    grey, colour = np.array([[9, 3]], "uint8"), np.arange(12, dtype="uint8").reshape(2, 2, 3)
    ds = make_lake({"image": dl.Image("png")}, image=[grey, colour])
    view = ds.query("SELECT SORT(image) AS s")
    assert view.to_arrow()["s"].to_pylist() == [
        {"data": [3, 9], "shape": [1, 2]},
        {"data": list(range(12)), "shape": [2, 2, 3]},
    ]
    for result in (view.to_pandas()["s"], view.materialize(new_url())["s"][:]):
        assert [a.tolist() for a in result] == [[[3, 9]], colour.tolist()]


def test_range_frame_over_a_descending_column_that_may_be_nan(make_lake):
    ds = make_lake({"x": "float32"}, x=[1.0, 3.5, 2.0, np.nan])
    frame = "ORDER BY x DESC RANGE BETWEEN 1.5 PRECEDING AND CURRENT ROW"
    result = ds.query(f"SELECT x, SUM(x) OVER ({frame}) AS s WHERE x > 0 ORDER BY x DESC")
    assert result["s"][:].tolist() == [3.5, 5.5, 3.0]
