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


def test_a_published_lake_has_the_lineage_but_no_locations(ds, tmp_path):
    copy = ds[2:].materialize(str(tmp_path / "b.lake"))
    copy.publish(str(tmp_path / "site"))
    published = dl.open(str(tmp_path / "site"))
    origin = published.lineage("y")
    assert (origin.job, origin.lake, origin.input_version) == ("publish", None, copy.version)
    materialized = origin.inputs["y"]
    assert (materialized.job, materialized.lake) == ("materialize", None)
    assert materialized.inputs["y"].function == "double"
    assert len(str(origin).splitlines()) == 3
    assert str(tmp_path) not in json.dumps([c.metadata for c in published.log()])
    assert published.lineage("name").inputs["name"].inputs == {"name": None}


FORMATS = {
    "npz": (lambda v, p: v.to_numpy(f"{p}/a.npz"), lambda p, u: dl.from_numpy(f"{p}/a.npz", u)),
    "pt": (lambda v, p: v.to_torch(f"{p}/a.pt"), lambda p, u: dl.from_torch(f"{p}/a.pt", u)),
    "webdataset": (
        lambda v, p: v.to_webdataset(f"{p}/x"),
        lambda p, u: dl.from_webdataset(f"{p}/x", u),
    ),
    "tfrecord": (lambda v, p: v.to_tfrecord(f"{p}/x"), lambda p, u: dl.from_tfrecord(f"{p}/x", u)),
    "arrayrecord": (
        lambda v, p: v.to_arrayrecord(f"{p}/x"),
        lambda p, u: dl.from_arrayrecord(f"{p}/x", u),
    ),
    "mds": (lambda v, p: v.to_mds(f"{p}/x"), lambda p, u: dl.from_mds(f"{p}/x", u)),
    "litdata": (lambda v, p: v.to_litdata(f"{p}/x"), lambda p, u: dl.from_litdata(f"{p}/x", u)),
}
"""Exports that record the lineage, and the imports that restore it."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FORMATS)
def test_imports_of_exports_go_on_with_the_lineage(ds, tmp_path, name):
    write, read = FORMATS[name]
    view = ds.query("SELECT y AS twice, name, x + 1 AS more WHERE x > 3")
    write(view, tmp_path)
    new = read(tmp_path, str(tmp_path / "new.lake"))
    twice = new.lineage("twice")
    assert (twice.job, twice.lake, twice.input_version) == ("ingest", ds.url, ds.version)
    assert twice.parameters == {"selection": "SELECT y AS twice, name, x + 1 AS more WHERE x > 3"}
    assert (twice.rows, twice.version) == (6, new.version)
    assert twice.inputs["y"].to_json() == ds.lineage("y").to_json()
    assert new.lineage("name").inputs == {"name": None}
    assert (new.lineage("more").inputs, new.lineage("more").lake) == ({}, ds.url)
    again = new.materialize(str(tmp_path / "copy.lake"))
    assert again.lineage("twice").inputs["twice"].inputs["y"].function == "double"


def test_rows_that_are_added_to_a_lake_do_not_change_its_lineage(ds, tmp_path):
    ds.to_numpy(str(tmp_path / "a.npz"))
    own = dl.create(str(tmp_path / "own.lake"), {"x": "int64", "name": "text", "y": "int64"})
    own.append({"x": [1], "name": ["own"], "y": [0]})
    own.commit("own")
    added = dl.from_numpy(str(tmp_path / "a.npz"), own.url)
    assert len(added) == 11
    assert added.lineage("y") is None


def test_an_import_in_several_commits_has_the_lineage(ds, tmp_path):
    ds.to_mds(str(tmp_path / "x"))
    new = dl.from_mds(str(tmp_path / "x"), str(tmp_path / "new.lake"), commit_every=3)
    assert len(new.log()) >= 3
    assert new.lineage("y").inputs["y"].function == "double"


ODD = [
    None,
    "lineage",
    {"url": 3},
    {"columns": []},
    {"columns": {"y": 3}},
    {"columns": {"y": {"url": "a", "version": "b", "column": "c", "origin": 7}}},
    {"columns": {"z": {}}, "computed": []},
    {"rows": "many"},
]
"""Changes of a recorded lineage, or other values in its place."""


@pytest.mark.parametrize("change", ODD, ids=str)
def test_odd_lineages_in_files_are_ignored(ds, tmp_path, change):
    file = str(tmp_path / "a.npz")
    ds.to_numpy(file)
    edit(file, lambda note: {**note, "lineage": altered(note["lineage"], change)})
    new = dl.from_numpy(file, str(tmp_path / "new.lake"))
    assert len(new) == 10
    origin = new.lineage("y")
    assert origin is None or origin.inputs in ({}, {"c": None})


@pytest.mark.parametrize("time", ["yesterday", "9" * 5_000, ""], ids=["word", "long", "empty"])
def test_odd_times_and_deep_chains_in_files_are_ignored(ds, tmp_path, time):
    file = str(tmp_path / "a.npz")
    ds.to_numpy(file)

    def change(note):
        origin = note["lineage"]["columns"]["y"]["origin"]
        for _ in range(300):
            origin = {**origin, "inputs": {"y": origin}}
        note["lineage"]["columns"]["y"]["origin"] = origin
        note["lineage"]["columns"]["x"]["origin"] = {**origin, "inputs": {}, "time": time}
        return note

    edit(file, change)
    new = dl.from_numpy(file, str(tmp_path / "new.lake"))
    assert new.lineage("x").inputs == {"x": None}
    assert 90 < len(str(new.lineage("y")).splitlines()) < 110


def altered(lineage, change):
    return {**lineage, **change} if isinstance(change, dict) else change


def edit(file, change):
    """Change the note in a file of arrays."""
    with np.load(file) as content:
        arrays = {name: content[name] for name in content.files}
    [key] = [name for name in arrays if "lineage" in str(arrays[name])]
    arrays[key] = np.array(json.dumps(change(json.loads(str(arrays[key])))))
    np.savez(file, **arrays)
