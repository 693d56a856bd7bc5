"""Datasets of TensorFlow Datasets are ingested with their classes, splits and shapes."""

from __future__ import annotations

import io
import json
import shutil

import numpy as np
import pytest
import tensorflow_datasets as tfds
from PIL import Image as PillowImage

import deeplake_lite as dl
from deeplake_lite.errors import InvalidValueError, SchemaError

READ = {"tfrecord": dl.from_tfrecord, "array_record": dl.from_arrayrecord}

FEATURES = tfds.features.FeaturesDict({
    "image": tfds.features.Image(shape=(None, None, 3), encoding_format="jpeg"),
    "label": tfds.features.ClassLabel(names=["cat", "dog"]),
    "text": tfds.features.Text(),
    "x": np.int32,
    "wide": np.float64,
    "flag": np.bool_,
    "large": np.uint64,
    "vector": tfds.features.Tensor(shape=(3,), dtype=np.float32),
    "open": tfds.features.Tensor(shape=(None, None), dtype=np.float32, encoding="zlib"),
    "pairs": tfds.features.Tensor(shape=(None, 2), dtype=np.uint8),
    "packed": tfds.features.Tensor(shape=(2, 2), dtype=np.float64, encoding="bytes"),
    "maybe": tfds.features.Tensor(shape=(), dtype=np.int32, optional=True),
    "objects": tfds.features.Sequence({
        "bbox": tfds.features.BBoxFeature(),
        "label": tfds.features.ClassLabel(names=["a", "b", "c"]),
        "name": tfds.features.Text(),
    }),
    "group": {"y": np.float32, "tags": tfds.features.Sequence(np.int64)},
    "lists": tfds.features.Sequence(tfds.features.Sequence(np.int64)),
    "frames": tfds.features.Sequence(tfds.features.Image(encoding_format="png")),
    "audio": tfds.features.Audio(shape=(None,)),
    "words": tfds.features.Translation(languages=["en", "fr"]),
})  # fmt: skip


def example(i):
    box = tfds.features.BBox(ymin=0.125, xmin=0.25, ymax=0.5, xmax=0.75)
    return {
        "image": np.full((8, 8, 3), i, "u1"), "label": -1 if i == 3 else i % 2, "text": f"é{i}",
        "x": i - 5, "wide": i / 4, "flag": i % 2 == 0, "large": 2**63 + i,
        "vector": np.arange(3, dtype="f4") + i, "open": np.full((i % 3, 2), i, "f4"),
        "pairs": np.full((i % 3, 2), i, "u1"), "packed": np.eye(2) / 3,
        "maybe": None if i % 2 else i,
        "objects": [{"bbox": box, "label": j, "name": f"o{j}"} for j in range(i % 3)],
        "group": {"y": i / 2, "tags": list(range(i % 4))},
        "lists": [[1] * j for j in range(i % 3)],
        "frames": [np.full((4, 4, 3), j, "u1") for j in range(i % 3)],
        "audio": np.arange(i, dtype="i8"), "words": {"en": "a", "fr": "b"},
    }  # fmt: skip


class Pets(tfds.core.GeneratorBasedBuilder):
    """A dataset."""

    VERSION = tfds.core.Version("1.0.0")
    code_path = None  # by which TFDS looks for checksums of downloads
    pkg_dir_path = None

    def _info(self):
        return tfds.core.DatasetInfo(builder=self, features=FEATURES, description="Pets.")

    def _split_generators(self, _):
        return {"train": self._generate_examples(0, 6), "test": self._generate_examples(6, 8)}

    def _generate_examples(self, first, stop):
        for i in range(first, stop):
            yield i, example(i)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Write the dataset in each format."""
    found = {}
    for name in READ:
        builder = Pets(data_dir=tmp_path_factory.mktemp(name), file_format=name)
        builder.download_and_prepare()
        found[name] = builder.data_dir
    return found


@pytest.mark.parametrize("name", READ)
def test_types_classes_and_splits_are_those_of_the_dataset(folders, new_url, name):
    ds = READ[name](folders[name], new_url(), progress=False)
    assert {n: ds.schema[n].htype for n in ds.columns} == {
        "image": dl.Image("auto"), "label": dl.ClassLabel(["cat", "dog"], nullable=True),
        "text": dl.Text(), "x": dl.Scalar("int32"), "wide": dl.Scalar("float64"),
        "flag": dl.Scalar("bool"), "large": dl.Scalar("uint64"),
        "vector": dl.Array("float32", (3,)), "open": dl.Array("float32", (None, None)),
        "pairs": dl.Array("uint8", (None, 2)), "packed": dl.Array("float64", (2, 2)),
        "maybe": dl.Scalar("int32", nullable=True),
        "objects/bbox": dl.Boxes("xyxy", units="fraction"),
        "objects/label": dl.ClassLabel(["a", "b", "c"], multiple=True),
        "objects/name": dl.Sequence("text"), "group/y": dl.Scalar("float32"),
        "group/tags": dl.Array("int64", (None,)),
        "lists": dl.Sequence(dl.Array("int64", (None,))),
        "frames": dl.Sequence(dl.Image("auto")), "audio": dl.Array("int64", (None,)),
        "words/en": dl.Text(), "words/fr": dl.Text(), "split": dl.ClassLabel(["train", "test"]),
    }  # fmt: skip
    assert ds.metadata["tfds"] == {"name": "pets", "version": "1.0.0", "description": "Pets."}
    assert np.bincount(ds["split"][:]).tolist() == [6, 2]
    for row in range(len(ds)):
        i = int(ds["text"][row][1:])
        want, got = example(i), ds[row]
        for column in ("x", "wide", "flag", "large", "vector", "open", "pairs", "packed", "maybe"):
            np.testing.assert_array_equal(got[column], want[column], err_msg=column)
        assert got["label"] == (None if i == 3 else i % 2)
        assert got["objects/bbox"].tolist() == [[0.25, 0.125, 0.75, 0.5]] * (i % 3)
        assert got["objects/label"].tolist() == list(range(i % 3))
        assert got["objects/name"] == [f"o{j}" for j in range(i % 3)]
        assert got["group/tags"].tolist() == want["group"]["tags"]
        assert [part.tolist() for part in got["lists"]] == want["lists"]
        assert [frame.tolist() for frame in got["frames"]] == [f.tolist() for f in want["frames"]]
        assert got["audio"].tolist() == list(range(i))


def test_files_of_one_split_have_no_column_of_splits(folders, new_url):
    ds = dl.from_tfrecord(f"{folders['tfrecord']}/*-train.*", new_url(), progress=False)
    assert "split" not in ds.columns
    assert ds["label"].names == ("cat", "dog")
    named = dl.from_tfrecord(
        folders["tfrecord"], new_url(), features=["label", "x"], progress=False
    )
    assert [*named.columns] == ["label", "x", "split"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "must be a JSON object"), ("[]", "must be a JSON object"),
        ('{"type": "x", "content": {}}', "must be written by TFDS 4.4 or later"),
        ('{"pythonClassName": "x", "featuresDict": 3}', "must be in TFDS's form"),
        ('{"pythonClassName": "x", "featuresDict": {"features": {"label": {"sequence": 1}}}}',
         "must be in TFDS's form"),
        ('{"pythonClassName":"x"' + ',"sequence":{"feature":{"x":1' * 300 + "}}" * 300 + "}",
         "levels deep|must be a JSON object"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "must be a JSON object"),
    ],
    ids=range(7),
)  # fmt: skip
def test_damaged_descriptions_are_refused(folders, tmp_path, new_url, content, message):
    shutil.copytree(folders["tfrecord"], tmp_path / "d")
    (tmp_path / "d" / "features.json").write_text(content)
    with pytest.raises(InvalidValueError, match=message):
        dl.from_tfrecord(tmp_path / "d", new_url(), progress=False)


def test_features_json_of_another_tool_is_ignored(folders, tmp_path, new_url):
    shutil.copytree(folders["tfrecord"], tmp_path / "d")
    (tmp_path / "d" / "features.json").write_text('{"label": 3}')
    ds = dl.from_tfrecord(tmp_path / "d", new_url(), progress=False)
    assert ds.schema["label"].htype == dl.Scalar("int64")
    assert ds.schema["image"].htype == dl.Image("auto")


def test_folders_with_different_descriptions_are_refused(folders, tmp_path, new_url):
    for name in ("a", "b"):
        shutil.copytree(folders["tfrecord"], tmp_path / name)
    (tmp_path / "b" / "features.json").unlink()
    with pytest.raises(InvalidValueError, match="must have the same features"):
        dl.from_tfrecord([tmp_path / "a", tmp_path / "b"], new_url(), progress=False)


def test_a_feature_named_like_the_column_of_splits_is_refused(folders, tmp_path, new_url):
    shutil.copytree(folders["tfrecord"], tmp_path / "d")
    path = tmp_path / "d" / "features.json"
    content = json.loads(path.read_text())
    own = content["featuresDict"]["features"]
    own["split"] = own.pop("x")
    path.write_text(json.dumps(content))
    with pytest.raises(SchemaError, match="are stored in the column 'split'"):
        dl.from_tfrecord(tmp_path / "d", new_url(), progress=False)


def test_tfds_reads_an_export(make_lake, tmp_path):
    file = io.BytesIO()
    PillowImage.new("RGB", (4, 3), (9, 0, 0)).save(file, "png")
    schema = {
        "image": "image", "label": dl.ClassLabel(["cat", "dog"]), "text": "text",
        "group/large": "uint64", "maybe": dl.Scalar("int8", nullable=True), "boxes": dl.Boxes(),
        "tags": dl.ClassLabel(["p", "q"], multiple=True), "block": dl.Array("float32", (2, 2)),
        "outlines": dl.Polygons(), "null": dl.Text(nullable=True),
    }  # fmt: skip
    rows = {
        "image": [file.getvalue()] * 2, "label": ["dog", "cat"], "text": ["é", ""],
        "group/large": [2**63 + 1, 2], "maybe": [1, 2], "boxes": [[[0, 1, 2, 3]], []],
        "tags": [["q"], []], "block": [np.eye(2)] * 2, "null": ["a", None],
        "outlines": [[[[0, 0], [4, 0], [0, 3]]], []],
    }  # fmt: skip
    ds = make_lake(schema, **rows)
    for name, method in (("tfrecord", ds.to_tfrecord), ("array_record", ds.to_arrayrecord)):
        method(tmp_path / name, shard_bytes=10)
        builder = tfds.builder_from_directory(tmp_path / name)
        assert builder.info.features["label"].names == ["cat", "dog"]
        assert "null" not in builder.info.features
        source = builder.as_data_source(split="train") if name == "array_record" else [
            *tfds.as_numpy(builder.as_dataset(split="train", shuffle_files=False))
        ]  # fmt: skip
        assert [row["label"] for row in source] == [1, 0]
        first = source[0]
        assert first["image"].shape == (3, 4, 3)
        assert first["group"]["large"] == 2**63 + 1
        assert np.asarray(first["boxes"]).tolist() == [[0, 1, 2, 3]]
        assert first["block"].tolist() == [[1, 0], [0, 1]]
        assert np.asarray(first["tags"]).tolist() == [1]
        assert first["maybe"] == 1
