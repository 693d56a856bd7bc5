"""Views are exported as TFRecord and ArrayRecord files, and read back as the same cells."""

from __future__ import annotations

import warnings
from uuid import uuid4

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given

import deeplake_lite as dl
from deeplake_lite.dataset.export.shards.record_frames import frame
from deeplake_lite.dataset.export.shards.tf_example import serialize_example
from deeplake_lite.errors import ExportWarning
from deeplake_lite.testing.strategies import tables
from tests.dataset.everything import VALUES
from tests.dataset.export.test_round_trips import lake_of_every_type

WAYS = {
    "tfrecord": (dl.Dataset.to_tfrecord, dl.from_tfrecord),
    "arrayrecord": (dl.Dataset.to_arrayrecord, dl.from_arrayrecord),
}


def url():
    return f"memory://{uuid4().hex}"


def cells(ds, name):
    """Return the stored form of each cell."""
    return ds.handle.table.digests(ds.schema[name].id, np.arange(len(ds))).tolist()


def assert_same(new, ds):
    assert [(f.name, f.htype) for f in new.schema] == [(f.name, f.htype) for f in ds.schema]
    for name in ds.columns:
        assert cells(new, name) == cells(ds, name), name


@pytest.mark.parametrize("way", WAYS)
def test_every_type_round_trips(way, tmp_path):
    write, read = WAYS[way]
    ds = lake_of_every_type()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExportWarning)
        write(ds, tmp_path / "out")
    assert_same(read(tmp_path / "out", url(), progress=False), ds)


@pytest.mark.parametrize("way", WAYS)
@given(table=tables(min_size=1))
def test_any_view_round_trips(way, table, tmp_path_factory):
    write, read = WAYS[way]
    schema, rows = table
    ds = dl.create(url(), schema)
    ds.append(rows)
    ds.commit()
    folder = tmp_path_factory.mktemp("out")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExportWarning)
            write(ds, folder, shard_bytes=100)
    except dl.InvalidValueError:
        assert any(f.htype.value_dtype == "float64" for f in ds.schema)
        return
    new = read(folder, url(), progress=False)
    assert [(f.name, f.htype) for f in new.schema] == [(f.name, f.htype) for f in ds.schema]
    for f in ds.schema:
        if f.htype.value_dtype != "float64":
            assert cells(new, f.name) == cells(ds, f.name), f


def make(schema, rows):
    ds = dl.create(url(), schema)
    ds.append(rows)
    ds.commit()
    return ds


def test_tensorflow_reads_an_export(tmp_path):
    image = VALUES["image"][:2]
    ds = make(
        {"image": "image", "label": dl.ClassLabel(["a", "b"]), "v": dl.Embedding(3), "t": "text",
         "n": dl.Scalar("int64", nullable=True), "boxes": dl.Boxes()},
        {"image": image, "label": ["b", "a"], "v": np.eye(3)[:2], "t": ["é", ""], "n": [None, 7],
         "boxes": [[[1, 2, 3, 4]], []]},
    )  # fmt: skip
    files = ds.to_tfrecord(tmp_path / "out")
    features = {
        "image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64),
        "v": tf.io.FixedLenFeature([3], tf.float32), "t": tf.io.FixedLenFeature([], tf.string),
        "n": tf.io.FixedLenFeature([], tf.int64, default_value=-1),
        "boxes": tf.io.FixedLenSequenceFeature([4], tf.float32, allow_missing=True),
    }  # fmt: skip
    records = tf.data.TFRecordDataset([str(file) for file in files])
    first, second = (tf.io.parse_single_example(record, features) for record in records)
    assert [first["image"].numpy(), second["image"].numpy()] == image
    assert [int(first["label"]), int(second["n"]), int(first["n"])] == [1, 7, -1]
    assert second["v"].numpy().tolist() == [0, 1, 0]
    assert first["t"].numpy().decode() == "é"
    assert (first["boxes"].numpy().tolist(), second["boxes"].shape) == ([[1, 2, 3, 4]], (0, 4))


@pytest.mark.parametrize("way", WAYS)
def test_files_depend_only_on_the_rows(way, tmp_path):
    write, read = WAYS[way]
    ds = make({"x": "int64", "blob": "bytes"}, {"x": range(50), "blob": [bytes(100)] * 50})
    files = write(ds, tmp_path / "a", shard_bytes=1_000, executor=1)
    again = write(ds, tmp_path / "b", shard_bytes=1_000, executor=3)
    assert len(files) > 3
    assert [f.name for f in files] == [f.name for f in again]
    assert {p.name: p.read_bytes() for p in (tmp_path / "a").iterdir()} == {
        p.name: p.read_bytes() for p in (tmp_path / "b").iterdir()
    }
    assert read(files, url(), progress=False)["x"][:].tolist() == list(range(50))


@pytest.mark.parametrize("way", WAYS)
def test_a_view_without_rows_round_trips(way, tmp_path):
    write, read = WAYS[way]
    ds = make({"x": "int64", "t": dl.Text(nullable=True)}, {"x": [1], "t": ["a"]})
    write(ds[:0], tmp_path / "out")
    new = read(tmp_path / "out", url(), progress=False)
    assert len(new) == 0
    assert [(f.name, f.htype) for f in new.schema] == [(f.name, f.htype) for f in ds.schema]


def test_metadata_of_the_dataset_is_kept(tmp_path):
    ds = make({"x": "int64"}, {"x": [1]})
    ds.metadata["about"] = {"author": "é"}
    ds.commit()
    ds.to_tfrecord(tmp_path / "out")
    new = dl.from_tfrecord(tmp_path / "out", url(), progress=False)
    assert new.metadata["about"] == {"author": "é"}


def test_losses_are_reported_before_anything_is_written(tmp_path):
    ds = make({"x": "float64", "y": dl.Sequence("float64")}, {"x": [0.1], "y": [[0.5]]})
    with pytest.warns(ExportWarning, match="rounds 'x', 'y' to float32"):
        ds.to_tfrecord(tmp_path / "out")
    new = dl.from_tfrecord(tmp_path / "out", url(), progress=False)
    assert new["x"][0] == np.float32(0.1)
    with (
        pytest.warns(ExportWarning),
        pytest.raises(dl.InvalidValueError, match=r"column 'x'.*at most 3\.4e38"),
    ):
        make({"x": "float64"}, {"x": [1, 1e300]}).to_tfrecord(tmp_path / "large")
    assert not (tmp_path / "large").exists()
    infinite = make({"x": "float32"}, {"x": [np.inf, np.nan]})
    infinite.to_tfrecord(tmp_path / "infinite")
    again = dl.from_tfrecord(tmp_path / "infinite", url(), progress=False)
    np.testing.assert_array_equal(again["x"][:], [np.inf, np.nan])


def test_declared_types_convert_the_values_of_an_export(tmp_path):
    ds = make({"l": dl.ClassLabel(["a", "b"]), "x": "int8"}, {"l": ["b", "a"], "x": [1, 2]})
    ds.to_tfrecord(tmp_path / "out")
    schema = {"l": dl.ClassLabel(["b", "c", "a"]), "x": "int64"}
    for options in ({"schema": schema}, {"features": schema}):
        new = dl.from_tfrecord(tmp_path / "out", url(), progress=False, **options)
        assert (new["l"][:].tolist(), new["x"][:].tolist()) == ([0, 2], [1, 2])
        assert new.schema["x"].htype == dl.Scalar("int64")


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ({"a/value": np.arange(4), "a/shape": np.array([2, 3]), "l": np.array([0])}, "column 'a'"),
        ({"a/value": np.arange(4), "l": np.array([0])}, "must have the feature 'a/shape'"),
        ({"l": np.array([2])}, "a class number must be from 0 to 1"),
        ({"l": np.array([0, 1])}, "feature 'l' must have 1 value, but it has 2"),
        ({"l": [b"x"]}, "feature 'l' must have numbers"),
        ({"l": np.array([1.5])}, "feature 'l' must have integers"),
        ({"l": np.array([0]), "t": [b"\xff"]}, "must be UTF-8"),
        ({"l": np.array([0]), "o/ragged_row_lengths_0": np.array([2**40]),
          "o/ragged_flat_values": np.zeros(2, "f4")}, "must have valid list lengths"),
        ({"l": np.array([0]), "o/ragged_row_lengths_0": np.array([2]),
          "o/ragged_flat_values": np.zeros(2, "f4")}, "must have 4 values, but it has 2"),
        ({"l": np.array([0]), "x": np.array([300])}, "must fit int8"),
    ],
    ids=range(10),
)  # fmt: skip
def test_records_that_do_not_fit_the_types_are_bad_rows(tmp_path, features, message):
    ds = make(
        {"a": dl.Array("int8", (None, None), nullable=True), "l": dl.ClassLabel(["p", "q"]),
         "t": dl.Text(nullable=True), "o": dl.Polygons(nullable=True),
         "x": dl.Scalar("int8", nullable=True)},
        {"a": [[[1]]], "l": ["p"], "t": ["a"], "o": [[]], "x": [1]},
    )  # fmt: skip
    (file,) = ds.to_tfrecord(tmp_path / "out")
    good = file.read_bytes()
    file.write_bytes(good + frame(serialize_example(features)) + good)
    with pytest.raises(dl.InvalidValueError, match="record 1"):
        dl.from_tfrecord(file, url(), progress=False)
    new = dl.from_tfrecord(file, url(), progress=False, on_error="skip")
    assert new["l"][:].tolist() == [0, 0]
    (skipped,) = new.ingested.skipped
    assert message in skipped.reason


@pytest.mark.parametrize(
    "content",
    ["{", "[]", "{}", '{"columns": {"x": 3}, "metadata": {}}', '{"columns": 1}'],
    ids=range(5),
)
def test_damaged_types_are_refused(tmp_path, content):
    ds = make({"x": "int8"}, {"x": [1]})
    ds.to_tfrecord(tmp_path / "out")
    (tmp_path / "out" / "deeplake_lite.json").write_text(content)
    with pytest.raises(dl.InvalidValueError, match=r"deeplake_lite\.json"):
        dl.from_tfrecord(tmp_path / "out", url(), progress=False)
