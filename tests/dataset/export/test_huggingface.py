"""Views become datasets of Hugging Face and Parquet folders, and are read back unchanged."""

from __future__ import annotations

import shutil
from itertools import count

import datasets
import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deeplake_lite as dl
from deeplake_lite.errors import ExistsError, ExportWarning, MissingPackageError, OptionError
from deeplake_lite.testing.strategies import tables
from tests.dataset.everything import SCHEMA, VALUES, lake, png
from tests.dataset.export.test_round_trips import COLUMNS

NUMBERS = count()


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    """Keep `datasets` from the network."""
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    datasets.disable_progress_bars()


def url():
    return f"memory://huggingface-{next(NUMBERS)}"


def through_object(ds, _):
    return dl.from_huggingface(ds.to_huggingface(), url(), progress=False)


def through_folder(ds, folder):
    return dl.from_huggingface(ds.to_parquet(folder / "hub"), url(), progress=False)


def through_files(ds, folder):
    return dl.from_parquet(ds.to_parquet(folder / "hub"), url(), progress=False)


WAYS = [through_object, through_folder, through_files]


def cells_of(ds, name):
    """Return the stored form of each cell."""
    return ds.handle.table.digests(ds.schema[name].id, np.arange(len(ds))).tolist()


def load(folder, cache):
    """Return the dataset that the peer reads from a folder."""
    return datasets.load_dataset(str(folder), cache_dir=str(cache))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", COLUMNS)
def test_every_type_round_trips(name, way, tmp_path):
    schema, values = COLUMNS[name]
    ds = lake(schema, {name: values})
    new = way(ds, tmp_path)
    assert new.schema[name].htype == ds.schema[name].htype
    assert cells_of(new, name) == cells_of(ds, name)


@settings(max_examples=15)
@given(tables(), st.sampled_from(WAYS[:2]))
def test_random_views_round_trip(tmp_path_factory, table, way):
    schema, values = table
    ds = lake(schema, values)
    new = way(ds, tmp_path_factory.mktemp("random"))
    assert [(f.name, f.htype) for f in new.schema] == [(f.name, f.htype) for f in ds.schema]
    assert {n: cells_of(new, n) for n in ds.columns} == {n: cells_of(ds, n) for n in ds.columns}


def test_peer_reads_all_types_from_the_folder(tmp_path):
    ds = lake()
    folder = ds.to_parquet(tmp_path / "hub")
    read = load(folder, tmp_path / "cache")["train"]
    files = [str(path) for path in folder.rglob("*.parquet")]
    other = datasets.load_dataset("parquet", data_files=files, cache_dir=str(tmp_path / "cache"))
    in_memory = ds.to_huggingface()
    assert read.features == other["train"].features == in_memory.features
    assert read.column_names == list(SCHEMA)
    undecoded = read.cast_column("image", datasets.Image(decode=False))
    assert [image and image["bytes"] for image in undecoded["image"]] == VALUES["image"]
    assert read.features["label"].names == ["rose", "tulip"]
    assert list(read["label"]) == [1, None, 0]
    assert list(read["notes"]) == VALUES["notes"]
    assert read[0]["image"].size == (5, 4)
    assert in_memory[0]["frames"][0].size == (2, 2)


def test_peer_saves_and_loads_the_dataset(tmp_path):
    ds = lake({n: SCHEMA[n] for n in ("image", "label", "notes", "matrix")},
              {n: VALUES[n] for n in ("image", "label", "notes", "matrix")})  # fmt: skip
    saved = ds.to_huggingface()
    saved.save_to_disk(tmp_path / "saved")
    assert datasets.load_from_disk(str(tmp_path / "saved")).features == saved.features
    new = dl.from_huggingface(tmp_path / "saved", url(), progress=False)
    assert new.to_arrow().to_pylist() == ds.to_arrow().to_pylist()
    assert new["label"].names == ("rose", "tulip")


def test_changed_features_win_over_recorded_types():
    ds = lake({"label": dl.ClassLabel(["a", "b"]), "x": "int8"}, {"label": [0, 1], "x": [1, 2]})
    changed = ds.to_huggingface().cast_column("label", datasets.ClassLabel(names=["c", "d"]))
    new = dl.from_huggingface(changed, url(), progress=False)
    assert new["label"].names == ("c", "d")
    assert new.schema["x"].htype == dl.Scalar("int8")


def test_each_split_has_its_own_files(tmp_path):
    schema = {"x": "int8", "split": dl.ClassLabel(["test", "train", "none"])}
    ds = lake(schema, {"x": [1, 2, 3, 4], "split": [0, 1, 1, 1]})
    folder = ds.to_parquet(tmp_path / "hub", rows_per_file=2)
    assert sorted(path.name for path in folder.rglob("*.parquet")) == [
        "test-00000-of-00001.parquet", "train-00000-of-00002.parquet",
        "train-00001-of-00002.parquet",
    ]  # fmt: skip
    read = load(folder, tmp_path / "cache")
    assert {name: list(own["x"]) for name, own in read.items()} == {"test": [1], "train": [2, 3, 4]}
    new = dl.from_huggingface(folder, url(), progress=False)
    assert new.schema["split"].htype == ds.schema["split"].htype
    assert sorted(map(tuple, new.to_pandas().to_numpy().tolist())) == [
        (1, "test"), (2, "train"), (3, "train"), (4, "train")
    ]  # fmt: skip


def test_changed_order_is_reported(tmp_path):
    schema = {"x": "int8", "split": dl.ClassLabel(["train", "test"])}
    ds = lake(schema, {"x": [1, 2], "split": [1, 0]})
    with pytest.warns(ExportWarning, match="the order of rows changes"):
        ds.to_parquet(tmp_path / "hub")


def test_null_split_stays_a_column(tmp_path):
    schema = {"x": "int8", "split": dl.ClassLabel(["train", "test"], nullable=True)}
    ds = lake(schema, {"x": [1, 2], "split": [1, None]})
    new = dl.from_huggingface(ds.to_parquet(tmp_path / "hub"), url(), progress=False)
    assert new.to_arrow().to_pylist() == ds.to_arrow().to_pylist()


def test_description_and_paths_survive(tmp_path):
    features = datasets.Features({"image": datasets.Image(), "label": datasets.Value("string")})
    row = {"image": {"bytes": png((2, 3)), "path": "a.png"}, "label": "x"}
    dataset = datasets.Dataset.from_list([row], features=features)
    dataset.info.description = "Pets: 'cats'\u2028"
    ds = dl.from_huggingface(dataset, url(), progress=False)
    exported = ds.to_huggingface()
    assert exported.features == features
    assert exported.info.description == dataset.info.description
    assert exported.cast_column("image", datasets.Image(decode=False))[0] == row
    for way in WAYS:
        new = way(ds, tmp_path / way.__name__)
        assert new.to_arrow().to_pylist() == ds.to_arrow().to_pylist()
        assert new.metadata["huggingface"] == ds.metadata["huggingface"]


@pytest.mark.parametrize("name", ["yes", "no: x", "é\u2028\x85", "'", '"', "#", "🦀", "\t"])
def test_card_holds_any_class_name(name, tmp_path):
    ds = lake({"label": dl.ClassLabel([name, "1"])}, {"label": [0]})
    read = load(ds.to_parquet(tmp_path / "hub"), tmp_path / "cache")["train"]
    assert read.features["label"].names == [name, "1"]


def test_empty_view_is_exported(tmp_path):
    ds = lake()[:0]
    assert len(ds.to_huggingface()) == 0
    read = dl.from_huggingface(ds.to_parquet(tmp_path / "hub"), url(), progress=False)
    assert (len(read), read.columns) == (0, ds.columns)


def test_metadata_of_columns_is_reported(tmp_path):
    ds = lake({"x": "int8"}, {"x": [1]})
    ds["x"].metadata["unit"] = "m"
    with pytest.warns(ExportWarning, match="to_huggingface leaves out the metadata of 'x'"):
        ds.to_huggingface()
    with pytest.warns(ExportWarning, match="to_parquet leaves out the metadata of 'x'"):
        ds.to_parquet(tmp_path / "hub")


def test_nothing_is_overwritten(tmp_path):
    ds = lake({"x": "int8"}, {"x": [1]})
    (tmp_path / "a").write_text("x")
    with pytest.raises(ExistsError, match="to_parquet writes to a new or empty folder"):
        ds.to_parquet(tmp_path)
    with pytest.raises(OptionError, match="rows_per_file"):
        ds.to_parquet(tmp_path / "hub", rows_per_file=0)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_missing_package_is_reported(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "datasets", None)
    with pytest.raises(MissingPackageError, match=r"needs the package datasets\. Install it"):
        lake({"x": "int8"}, {"x": [1]}).to_huggingface()


def test_row_groups_are_small(tmp_path, monkeypatch):
    monkeypatch.setattr("deeplake_lite.dataset.export.huggingface.parquet.GROUP_BYTES", 10_000)
    ds = lake({"image": dl.Image("png")}, {"image": [png((2, 2))] * 300})
    (path,) = ds.to_parquet(tmp_path / "hub").rglob("*.parquet")
    assert pq.ParquetFile(path).metadata.num_row_groups == 2


def test_peer_reads_the_rows_of_a_second_export(tmp_path):
    ds = lake({"a": "int64"}, {"a": [1, 2]})
    for value in (5, 77):
        ds["a"][0] = value
        folder = ds.to_parquet(tmp_path / "hub")
        assert load(folder, tmp_path / "cache")["train"]["a"][:] == [value, 2]
        shutil.rmtree(folder)
