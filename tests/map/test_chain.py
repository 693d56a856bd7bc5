"""The lineage of columns goes on through copies, exports and loaders."""

import json

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.dataset.versions.commit import commit
from deeplake_lite.map import lineage_of

from . import functions, lakes


@pytest.fixture
def ds(tmp_path):
    ds = lakes.make(tmp_path / "a.lake", 10)
    ds.map(functions.double, columns="x", into={"y": "int64"})
    return ds


def test_materialized_queries_have_the_origins_of_their_columns(ds, tmp_path):
    view = ds.query("SELECT y AS twice, name, x + 1 AS more WHERE x > 3")
    copy = view.materialize(str(tmp_path / "b.lake"))
    twice = copy.lineage("twice")
    assert (twice.job, twice.lake, twice.input_version) == ("materialize", ds.url, ds.version)
    assert twice.parameters == {"selection": "SELECT y AS twice, name, x + 1 AS more WHERE x > 3"}
    assert twice.rows == 6
    assert twice.inputs["y"].to_json() == ds.lineage("y").to_json()
    assert copy.lineage("name").inputs == {"name": None}
    more = copy.lineage("more")
    assert (more.inputs, more.lake) == ({}, ds.url)
    assert "of a query in version" in str(more)
    assert len(str(twice).splitlines()) == 2


def test_copies_of_copies_and_jobs_on_copies_have_the_whole_chain(ds, tmp_path):
    first = ds[2:].materialize(str(tmp_path / "b.lake"))
    second = first[["y", "x"]].materialize(str(tmp_path / "c.lake"))
    names = [line.split(":")[0].strip() for line in str(second.lineage("y")).splitlines()]
    assert names == ["y", "y", "y"]
    second.map(functions.double, columns="x", into="y")
    assert second.lineage("y").inputs["x"].inputs["x"].job == "materialize"
    second.rename_column("x", "z")
    second.commit("renamed")
    assert second.lineage("z").inputs["x"].lake == ds.url


def test_columns_that_a_copy_gets_later_have_no_origin(ds, tmp_path):
    copy = ds.materialize(str(tmp_path / "b.lake"))
    copy.add_column("late", dl.Scalar("int32", nullable=True))
    copy.commit("late")
    assert copy.lineage("late") is None
    assert copy.lineage("y").inputs["y"].function == "double"


def test_joins_name_the_lake_of_each_column(ds, tmp_path):
    other = dl.create(str(tmp_path / "o.lake"), {"x": "int64", "label": "text"})
    other.append({"x": [1, 2], "label": ["one", "two"]})
    other.commit("labels")
    view = dl.query("SELECT a.y, o.label FROM a JOIN o ON a.x = o.x", sources={"a": ds, "o": other})
    columns = lineage_of(view)["columns"]
    assert columns["y"]["url"] == ds.url
    assert columns["y"]["origin"]["function"] == "double"
    assert columns["label"] == {
        "url": other.url, "version": other.version, "column": "label", "origin": None
    }  # fmt: skip
    copy = view.materialize(str(tmp_path / "b.lake"))
    assert copy.lineage("label").lake == other.url


def test_results_of_queries_without_a_lake_can_be_copied(tmp_path):
    copy = dl.query("SELECT 1 AS n").materialize(str(tmp_path / "b.lake"))
    assert copy.lineage("n").inputs == {}


@pytest.mark.parametrize(
    "record",
    [None, 3, {}, {"how": "x"}, {"how": 1, "lineage": {}, "ids": {}}, {"lineage": []}],
    ids=str,
)
def test_odd_records_of_others_are_ignored(ds, record):
    ds.add_column("late", dl.Scalar("int32", nullable=True))
    commit(ds.handle, "odd", {"copied": record})
    assert ds.lineage("late") is None
    assert ds.lineage("y").function == "double"


def test_copies_of_uncommitted_rows_say_so(ds):
    ds.append({"x": [5], "name": ["new"], "y": [3]})
    lineage = lineage_of(ds)
    assert lineage["uncommitted"]
    assert lineage["rows"] == 11
    assert lineage["columns"]["y"]["origin"]["job"] == "double-y"


def test_loaders_return_what_determines_their_batches(ds):
    view = ds.query("SELECT * WHERE x > 3")
    loader = view.batches(4, shuffle=True, seed=7, columns=["y"])
    lineage = json.loads(json.dumps(loader.lineage()))
    assert lineage["columns"] == ["y"]
    assert (lineage["rows"], lineage["seed"], lineage["global_batch_size"]) == (6, 7, 4)
    assert lineage["shuffle"] == loader.state_dict()["shuffle"]
    [source] = lineage["sources"]
    assert source["version"] == ds.version
    assert source["selection"] == "SELECT * WHERE x > 3"
    assert list(source["columns"]) == ["y"]
    assert source["columns"]["y"]["origin"]["function"] == "double"
    same = view.batches(4, shuffle=True, seed=7, columns=["y"]).lineage()
    assert same == loader.lineage()
    assert ds.batches(4, columns=["y"]).lineage() != same


def test_loaders_of_mixes_name_each_view_with_its_weight(ds):
    mix = dl.mix([(ds[:5], 3), (ds[5:], 1)], seed=2)
    lineage = json.loads(json.dumps(mix.batches(2, columns=["y", "_source"]).lineage()))
    assert [source["weight"] for source in lineage["sources"]] == [0.75, 0.25]
    assert [source["selection"] for source in lineage["sources"]] == ["[:5]", "[5:]"]
    assert lineage["columns"] == ["y", "_source"]


def test_torch_loaders_and_datasets_return_their_lineage(ds):
    lineage = ds.pytorch(batch_size=2, columns=["y"]).lineage()
    assert lineage["sources"][0]["columns"]["y"]["origin"]["job"] == "double-y"
    dataset = ds.pytorch_dataset(columns=["y"]).lineage()
    assert dataset["sources"][0]["columns"] == lineage["sources"][0]["columns"]
    assert sorted(dataset) == ["columns", "rows", "seed", "sources"]
    assert ds.pytorch_dataset("iterable", columns=["y"]).lineage() == dataset


def test_exports_record_the_lineage(ds, tmp_path):
    ds.query("SELECT y AS twice WHERE x > 3").to_numpy(str(tmp_path / "a.npz"))
    with np.load(tmp_path / "a.npz") as arrays:
        text = next(str(arrays[name]) for name in arrays.files if "lineage" in str(arrays[name]))
    lineage = json.loads(text)["lineage"]
    assert lineage["columns"]["twice"]["origin"]["function"] == "double"
    assert lineage["selection"] == "SELECT y AS twice WHERE x > 3"
