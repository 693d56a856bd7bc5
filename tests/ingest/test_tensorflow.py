"""Datasets of tf.data and TensorFlow Datasets are ingested."""

from __future__ import annotations

import io

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_datasets as tfds

import deeplake_lite as dl
from deeplake_lite.errors import InvalidValueError, LakeError, NotFoundError, OptionError
from tests.ingest.conftest import picture

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of TFDS
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture
def ingest(new_url):
    return lambda data, **options: dl.from_tensorflow(data, new_url(), progress=False, **options)


def slices(**columns):
    return tf.data.Dataset.from_tensor_slices(columns)


def test_tensors_of_all_kinds_are_columns(ingest):
    data = slices(
        x=np.arange(6, dtype="f4").reshape(3, 2), n=[1, 2, 3], flag=[True, False, True],
        half=tf.constant([1, 2, 3], tf.bfloat16), text=["a", "é", ""],
        raw=[b"\xff", b"a", b""], image=[picture(0), picture(1), picture(2)],
        words=[["a", "b"]] * 3, nested={"y": [1.0, 2, 3]},
        ragged=tf.ragged.constant([[1, 2], [], [3]]),
        deep=tf.ragged.constant([[["a"], []], [], [["b", "c"]]]),
        sparse=tf.sparse.from_dense([[0, 5], [6, 0], [0, 0]]),
    )  # fmt: skip
    ds = ingest(data)
    assert {f.name: f.htype for f in ds.schema} == {
        "x": dl.Array("float32", (2,)), "n": dl.Scalar("int32"), "flag": dl.Scalar("bool"),
        "half": dl.Scalar("float32"), "text": dl.Text(), "raw": dl.Bytes(),
        "image": dl.Image("auto"), "words": dl.Sequence(dl.Text()),
        "nested.y": dl.Scalar("float32"), "ragged": dl.Array("int32", (None,)),
        "deep": dl.Sequence(dl.Sequence(dl.Text())), "sparse": dl.Array("int32", (2,)),
    }  # fmt: skip
    assert ds["text"][:] == ["a", "é", ""]
    assert [bytes(v) for v in ds["raw"][:]] == [b"\xff", b"a", b""]
    assert [bytes(v) for v in ds["image"].encoded()] == [picture(i) for i in range(3)]
    assert [v.tolist() for v in ds["ragged"][:]] == [[1, 2], [], [3]]
    assert ds["deep"][:] == [[["a"], []], [], [["b", "c"]]]
    assert ds["sparse"][:].tolist() == [[0, 5], [6, 0], [0, 0]]


def test_tuples_and_single_tensors_are_named(ingest):
    pair = tf.data.Dataset.from_tensor_slices(([1, 2], ["a", "b"]))
    assert ingest(pair).columns == ("item_0", "item_1")
    assert ingest(pair, columns=["x", "y"])["y"][:] == ["a", "b"]
    assert ingest(tf.data.Dataset.range(3))["item"][:].tolist() == [0, 1, 2]
    assert ingest(slices(a=[1], b=[2]), columns=["b"]).columns == ("b",)
    with pytest.raises(NotFoundError, match="'z'"):
        ingest(slices(a=[1]), columns=["z"])


def test_ragged_elements_keep_their_lists(ingest):
    rows = tf.ragged.constant([[[1, 2], [3]], [[], [4, 5, 6]]])
    ds = ingest(tf.data.Dataset.from_tensor_slices({"x": rows}))
    assert [[list(v) for v in row] for row in ds["x"][:]] == [[[1, 2], [3]], [[], [4, 5, 6]]]


def test_optional_elements_are_nullable(ingest):
    make = tf.experimental.Optional
    for optional, value in (
        (make.from_value(tf.constant(7)), 7),
        (make.empty(tf.TensorSpec((), tf.int32)), None),
    ):
        ds = ingest(tf.data.Dataset.from_tensors({"x": optional}))
        assert ds.schema["x"].htype == dl.Scalar("int32", nullable=True)
        assert ds[0]["x"] == value


def test_declared_types_apply(ingest):
    ds = ingest(
        slices(t=["b", "a"], n=[1, 0]), schema={"t": "bytes", "n": dl.ClassLabel(["x", "y"])}
    )
    assert [bytes(v) for v in ds["t"][:]] == [b"b", b"a"]
    assert ds["n"][:].tolist() == [1, 0]


def test_datasets_that_fail_or_do_not_end_are_refused(ingest):
    def fail(x):
        return tf.debugging.assert_less(x, tf.constant(2, tf.int64)) or x

    with pytest.raises(OptionError, match="infinite"):
        ingest(tf.data.Dataset.range(3).repeat())
    with pytest.raises(InvalidValueError, match=r"tf\.data, row 1"):
        ingest(tf.data.Dataset.from_tensor_slices([1, 0]).map(lambda x: 1 // x))
    huge = tf.sparse.SparseTensor([[0, 0]], [1], [1, 2**50])
    with pytest.raises(LakeError, match="at most"):
        ingest(tf.data.Dataset.from_tensor_slices({"x": huge}))
    with pytest.raises(LakeError, match="no column type can store a DatasetSpec"):
        ingest(tf.data.Dataset.range(4).window(2))
    for other in ([1], None, "x"):
        with pytest.raises(OptionError, match=r"must be a tf\.data\.Dataset"):
            ingest(other)


# ---- TFDS


class Flowers(tfds.core.GeneratorBasedBuilder):
    VERSION = tfds.core.Version("1.0.0")
    pkg_dir_path = tfds.core.Path(__file__).parent  # where TFDS looks for a README

    def _info(self):
        f = tfds.features
        return tfds.core.DatasetInfo(
            builder=self,
            description="Flowers.",
            features=f.FeaturesDict({
                "image": f.Image(shape=(None, None, 3), encoding_format="png"),
                "label": f.ClassLabel(names=["rose", "lily"]),
                "name": f.Text(),
                "objects": f.Sequence(
                    {"bbox": f.BBoxFeature(), "kind": f.ClassLabel(names=["x", "y"])}
                ),
                "box": f.BBoxFeature(bbox_format="XYWH"),
                "frames": f.Sequence(f.Image(shape=(2, 2, 3))),
                "depth": f.Image(shape=(2, 2, 1), dtype=np.float32),
                "vector": f.Tensor(shape=(3,), dtype=np.float32),
                "audio": f.Audio(),
                "nested": {"image": f.Image(shape=(2, 2, 3))},
            }),
            supervised_keys=("image", "label"),
        )  # fmt: skip

    def _split_generators(self, _):
        return {"train": self._generate_examples(5), "test": self._generate_examples(2)}

    def _generate_examples(self, count):
        for i in range(count):
            yield i, {
                "image": io.BytesIO(picture(i)), "label": -1 if count == 2 else i % 2,
                "name": f"é{i}",
                "objects": [
                    {"bbox": tfds.features.BBox(0.1, 0.2, 0.3, 0.4), "kind": k % 2}
                    for k in range(i)
                ],
                "box": np.array([1, 2, 3, 4], "f4"), "frames": [np.full((2, 2, 3), i, "u1")] * i,
                "depth": np.full((2, 2, 1), i + 0.5, "f4"), "vector": np.full(3, i, "f4"),
                "audio": np.arange(i + 1), "nested": {"image": np.zeros((2, 2, 3), "u1")},
            }  # fmt: skip


@pytest.fixture(scope="module")
def builder(tmp_path_factory):
    builder = Flowers(data_dir=tmp_path_factory.mktemp("tfds"))
    builder.download_and_prepare()
    return builder


def test_features_of_a_builder_are_columns(builder, new_url):
    ds = dl.from_tfds(builder, new_url(), progress=False)
    assert {f.name: f.htype for f in ds.schema} == {
        "image": dl.Image("auto"), "label": dl.ClassLabel(["rose", "lily"], nullable=True),
        "name": dl.Text(), "objects.bbox": dl.Boxes("xyxy", units="fraction"),
        "objects.kind": dl.Sequence(dl.ClassLabel(["x", "y"], nullable=True)),
        "box": dl.Boxes("xywh"), "frames": dl.Sequence(dl.Image("auto")),
        "depth": dl.Array("float32", (2, 2, 1)), "vector": dl.Array("float32", (3,)),
        "audio": dl.Array("int64", (None,)), "nested.image": dl.Image("auto"),
        "split": dl.ClassLabel(["train", "test"]),
    }  # fmt: skip
    assert len(ds) == 7
    for row, name in enumerate(ds["name"][:]):
        i = int(name[1:])
        assert bytes(ds["image"].encoded()[row]) == picture(i)
        assert len(ds["objects.kind"][row]) == len(ds["frames"][row]) == i
        boxes = np.reshape([[0.2, 0.1, 0.4, 0.3]] * i, (-1, 4))
        np.testing.assert_allclose(ds["objects.bbox"][row], boxes)
        assert ds["vector"][row].tolist() == [i] * 3
        assert ds["depth"][row][0, 0, 0] == i + 0.5
    assert np.ma.getmaskarray(ds["label"][:]).tolist() == [False] * 5 + [True] * 2
    assert ds["box"][0].tolist() == [[1, 2, 3, 4]]
    info = ds.metadata["tfds"]
    assert (info["name"], info["description"]) == ("flowers", "Flowers.")
    assert info["supervised_keys"] == ["image", "label"]


def test_prepared_folder_and_splits_are_read(builder, new_url):
    ds = dl.from_tfds(builder.data_dir, new_url(), split="test", columns=["name"], progress=False)
    assert ds.columns == ("name",)
    assert len(ds) == 2
    part = dl.from_tfds(builder, new_url(), split=["train[:2]", "test"], progress=False)
    assert part["split"].names == ("train[:2]", "test")
    assert len(part) == 4
    with pytest.raises(NotFoundError, match="'valid'"):
        dl.from_tfds(builder, new_url(), split="valid", progress=False)


def test_second_run_adds_nothing(builder, new_url):
    url = new_url()
    dl.from_tfds(builder, url, commit_every=3, progress=False)
    assert dl.from_tfds(builder, url, progress=False).ingested.added == 0


def test_datasets_that_are_not_prepared_are_refused(tmp_path, new_url):
    with pytest.raises(InvalidValueError, match="download_and_prepare"):
        dl.from_tfds(Flowers(data_dir=tmp_path), new_url())
    with pytest.raises(NotFoundError, match="There is no TFDS dataset"):
        dl.from_tfds(tmp_path, new_url())
    with pytest.raises(OptionError, match="must be a DatasetBuilder"):
        dl.from_tfds(3, new_url())


def test_damaged_files_raise_only_our_errors(builder, tmp_path, new_url):
    import shutil

    folder = tmp_path / "copy"
    shutil.copytree(builder.data_dir, folder)
    path = next(folder.glob("*train*tfrecord*"))
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(10):
        data = bytearray(whole)
        data[rng.integers(len(data))] ^= 255
        path.write_bytes(data)
        with pytest.raises(LakeError):
            dl.from_tfds(folder, new_url(), split="train", progress=False)


def test_a_dataset_of_tfds_is_one_of_tf_data(builder, new_url):
    data = builder.as_dataset(split="test")
    ds = dl.from_tfds(data, new_url(), progress=False)
    assert ds.schema["image"].htype == dl.Array("uint8", (None, None, 3))
