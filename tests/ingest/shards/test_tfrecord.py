"""TFRecord files are ingested, as TensorFlow and TensorFlow Datasets write them."""

from __future__ import annotations

import gzip
import io
import random
import zlib
from importlib import import_module

import fsspec
import numpy as np
import pytest
import tensorflow as tf
from PIL import Image as PillowImage

import deeplake_lite as dl
from deeplake_lite.dataset.export.shards import tf_example
from deeplake_lite.dataset.export.shards.record_frames import frame, masked_crc
from deeplake_lite.dataset.export.shards.tf_example import serialize_example
from deeplake_lite.errors import (
    InvalidValueError,
    LakeError,
    NotFoundError,
    OptionError,
    StorageError,
)
from tests.ingest.damage import damaged


@pytest.fixture
def ingest(new_url):
    return lambda files, **options: dl.from_tfrecord(files, new_url(), progress=False, **options)


def image(value, kind="jpeg"):
    file = io.BytesIO()
    PillowImage.new("RGB", (8, 8), (value, 0, 0)).save(file, kind)
    return file.getvalue()


def feature(values):
    """Return a feature of TensorFlow."""
    values = values if isinstance(values, list | tuple | np.ndarray) else [values]
    if isinstance(values[0], str | bytes):
        data = [v.encode() if isinstance(v, str) else v for v in values]
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=data))
    if isinstance(values[0], int | np.integer):
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))
    return tf.train.Feature(float_list=tf.train.FloatList(value=values))


def example(**values):
    """Return an Example that TensorFlow has serialized."""
    features = {name: feature(value) for name, value in values.items()}
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


def sequence_example(context, lists):
    """Return a SequenceExample that TensorFlow has serialized."""
    own = tf.train.FeatureLists(
        feature_list={
            name: tf.train.FeatureList(feature=[feature(v) for v in values])
            for name, values in lists.items()
        }
    )
    return tf.train.SequenceExample(
        context=tf.train.Features(feature={n: feature(v) for n, v in context.items()}),
        feature_lists=own,
    ).SerializeToString()


def write(path, records, compression=""):
    with tf.io.TFRecordWriter(str(path), compression) as writer:
        for record in records:
            writer.write(record)
    return path


def rows(count=12):
    return [
        example(
            image=image(i), label=i % 3, name=f"é {i}", raw=bytes([i, 255]), score=i / 2,
            box=[1.0, 2.0, 3.0, float(i)], ids=list(range(i % 4)) or [9, 9],
            words=["a"] * (i % 3 + 1),
        )
        for i in range(count)
    ]  # fmt: skip


# ---- files of the peer


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])
def test_files_that_tensorflow_wrote_are_ingested(tmp_path, ingest, compression):
    ds = ingest(write(tmp_path / "a.tfrecord", rows(), compression))
    assert {name: ds.schema[name].htype for name in ds.columns} == {
        "box": dl.Array("float32", (4,)), "ids": dl.Array("int64", (None,)),
        "image": dl.Image("auto"), "label": dl.Scalar("int64"), "name": dl.Text(),
        "raw": dl.Bytes(), "score": dl.Scalar("float32"), "words": dl.Sequence("text"),
    }  # fmt: skip
    assert [bytes(data) for data in ds["image"].encoded()] == [image(i) for i in range(12)]
    assert ds["label"][:].tolist() == [i % 3 for i in range(12)]
    assert ds["name"][3] == "é 3"
    assert bytes(ds["raw"][5]) == bytes([5, 255])
    assert ds["box"][7].tolist() == [1, 2, 3, 7]
    assert ds["ids"][3].tolist() == [0, 1, 2]
    assert ds["words"][2] == ["a"] * 3
    assert ds["score"][:].tolist() == [i / 2 for i in range(12)]


@pytest.mark.parametrize(
    "files", ["", "t-*.tfrecord", "t-00{0..2}.tfrecord", "t-00{0,1,2}.tfrecord"], ids="{!r}".format
)
def test_files_are_named_by_folders_patterns_and_braces(tmp_path, ingest, files):
    for i in range(3):
        write(tmp_path / f"t-00{i}.tfrecord", [example(x=i)])
    (tmp_path / "README.md").write_text("no records")
    assert ingest(f"{tmp_path}/{files}")["x"][:].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "name",
    ["a.tfrecord", "a.tfrecords", "a.tfrec", "a.TFRecord.gz", "a.tfrecord-00000-of-00001",
     "train-00000-of-00001", "a-train.tfrecord-00000-of-00001.gz"],
)  # fmt: skip
def test_usual_names_are_found_in_a_folder(tmp_path, ingest, name):
    write(tmp_path / name, [example(x=1)])
    (tmp_path / "a.tar").write_bytes(b"")
    (tmp_path / "a.array_record-00000-of-00001").write_bytes(b"")
    assert len(ingest(tmp_path)) == 1


def test_urls_are_read(tmp_path, ingest):
    data = write(tmp_path / "a.tfrecord", [example(x=1), example(x=2)]).read_bytes()
    with fsspec.open("memory://records/a.tfrecord", "wb") as file:
        file.write(data)
    assert ingest("memory://records/a.tfrecord")["x"][:].tolist() == [1, 2]
    with pytest.raises(StorageError, match="cannot be read"):
        ingest("memory://records/b.tfrecord")


def test_sequence_examples_become_sequences(tmp_path, ingest):
    lists = [
        {"tokens": ["a", "b"], "frames": [image(1), image(2)], "ids": [1, 2], "v": [[1.0, 2.0]]},
        {"tokens": ["c"], "frames": [], "ids": [], "v": [[3.0, 4.0], [5.0, 6.0]]},
    ]
    ds = ingest(
        write(tmp_path / "a.tfrecord", [sequence_example({"n": i}, v) for i, v in enumerate(lists)])
    )
    assert {name: ds.schema[name].htype for name in ds.columns} == {
        "n": dl.Scalar("int64"), "tokens": dl.Sequence("text"), "ids": dl.Sequence("int64"),
        "frames": dl.Sequence(dl.Image("auto")), "v": dl.Sequence(dl.Array("float32", (2,))),
    }  # fmt: skip
    assert ds["tokens"][:] == [["a", "b"], ["c"]]
    assert [len(frames) for frames in ds["frames"][:]] == [2, 0]
    assert [list(ids) for ids in ds["ids"][:]] == [[1, 2], []]
    assert [np.asarray(v).tolist() for v in ds["v"][:]] == [[[1, 2]], [[3, 4], [5, 6]]]
    flat = ingest(tmp_path / "a.tfrecord", schema={"ids": dl.Array("int32", (None,))})
    assert [ids.tolist() for ids in flat["ids"][:]] == [[1, 2], []]


# ---- types


def test_missing_feature_is_null(tmp_path, ingest):
    empty = tf.train.Example(
        features=tf.train.Features(feature={"x": tf.train.Feature()})
    ).SerializeToString()
    ds = ingest(write(tmp_path / "a.tfrecord", [example(x=1, t="a"), example(t="b"), empty, b""]))
    assert ds["x"][:].tolist() == [1, None, None, None]
    assert ds["t"][:] == ["a", "b", None, None]


def test_features_whose_names_no_column_can_have_get_others(tmp_path, ingest):
    names = ["a", "a/b", "a/b/c", "/x//y", "__id", "n\n", "..", "", "l" * 300]
    ds = ingest(write(tmp_path / "a.tfrecord", [example(**dict.fromkeys(names, 1))]))
    assert sorted(ds.columns) == sorted(
        ["a_", "a/b_", "a/b/c", "x/y", "id", "n_", ".._", "feature", "l" * 250]
    )
    both = ingest(write(tmp_path / "b.tfrecord", [sequence_example({"x": 1}, {"x": [1, 2]})]))
    assert (both["x"][0], list(both["x_"][0])) == (1, [1, 2])
    assert [*ingest(tmp_path / "a.tfrecord", features=["a", "/x//y"]).columns] == ["a_", "x/y"]


def test_features_select_columns_and_give_their_types(tmp_path, ingest):
    path = write(tmp_path / "a.tfrecord", rows())
    types = {"label": dl.ClassLabel(["a", "b", "c"]), "image": "image", "ids": "class_label"}
    ds = ingest(path, features=types | {"ids": dl.Array("int16", (None,))})
    assert [*ds.columns] == ["label", "image", "ids"]
    assert ds["label"].names == ("a", "b", "c")
    assert ds.schema["ids"].htype == dl.Array("int16", (None,))
    assert [*ingest(path, features=["name", "score"]).columns] == ["name", "score"]
    with pytest.raises(NotFoundError, match=r"no feature 'nam'\. Did you mean 'name'"):
        ingest(path, features=["nam"])
    for wrong in (3, [], {}, {1: "text"}):
        with pytest.raises(OptionError, match="features"):
            ingest(path, features=wrong)


def test_descriptions_of_tensorflow_are_taken(tmp_path, ingest):
    records = [example(a=1, b=[1, 2], c="x", d=[1.0, 2.0, 3.0, 4.0], e=["p", "q"], f=[1, 2, 3])]
    features = {
        "a": tf.io.FixedLenFeature([], tf.int64), "b": tf.io.FixedLenFeature([2], tf.int64),
        "c": tf.io.FixedLenFeature([], tf.string), "e": tf.io.VarLenFeature(tf.string),
        "d": tf.io.FixedLenSequenceFeature([2], tf.float32, allow_missing=True),
        "g": tf.io.RaggedFeature(tf.int64, value_key="f"),
        "h": tf.io.FixedLenFeature([2], tf.int64, default_value=[7, 8]),
        "i": tf.io.VarLenFeature(tf.float32),
    }  # fmt: skip
    ds = ingest(write(tmp_path / "a.tfrecord", records), features=features)
    assert {name: ds.schema[name].htype for name in ds.columns} == {
        "a": dl.Scalar("int64"), "b": dl.Array("int64", (2,)), "c": dl.Text(),
        "e": dl.Sequence("text"), "d": dl.Array("float32", (None, 2)),
        "g": dl.Array("int64", (None,)), "h": dl.Array("int64", (2,)),
        "i": dl.Array("float32", (None,)),
    }  # fmt: skip
    parsed = tf.io.parse_single_example(records[0], features)
    for name in ("a", "b", "d", "g", "h"):
        np.testing.assert_array_equal(ds[name][0], parsed[name].numpy())
    assert ds["e"][0] == ["p", "q"]
    assert ds["i"][0].tolist() == []
    sparse = tf.io.SparseFeature("a", "b", tf.int64, 10)
    with pytest.raises(OptionError, match="sparse or partitioned"):
        ingest(tmp_path / "a.tfrecord", features={"s": sparse})


def test_a_feature_that_a_description_requires_is_an_error(tmp_path, ingest):
    path = write(tmp_path / "a.tfrecord", [example(a=1), example(b=1)])
    with pytest.raises(InvalidValueError, match="record 1"):
        ingest(path, features={"a": tf.io.FixedLenFeature([], tf.int64)})


def test_declared_types_decide_how_values_are_read(tmp_path, ingest):
    pixels = np.arange(4, dtype="u1")
    record = example(
        p=pixels.tobytes(), c="dog", j='{"a": 1}', flag=1, when=3, x=[1.0, 2.0, 3.0, 4.0],
        f=np.array([0.1], "<f8").tobytes(), t=["cat", "dog"],
    )  # fmt: skip
    ds = ingest(
        write(tmp_path / "a.tfrecord", [record]),
        schema={
            "p": dl.Array("uint8", (2, 2)), "c": dl.ClassLabel(["cat", "dog"]), "j": "json",
            "flag": "bool", "x": dl.Boxes(), "f": "float64",
            "t": dl.ClassLabel(["dog", "cat"], multiple=True),
        },
    )  # fmt: skip
    assert ds["p"][0].tolist() == [[0, 1], [2, 3]]
    assert ds["c"][0] == 1
    assert ds["j"][0] == {"a": 1}
    assert ds["flag"][0]
    assert ds["x"][0].tolist() == [[1, 2, 3, 4]]
    assert ds["f"][0] == 0.1
    assert ds["t"][0].tolist() == [1, 0]


def test_text_that_begins_like_an_image_stays_text(tmp_path, ingest):
    ds = ingest(write(tmp_path / "a.tfrecord", [example(x="BMW"), example(x="BM")]))
    assert ds["x"][:] == ["BMW", "BM"]


# ---- errors


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (b"hello", "must be a tf.train.Example, but it is cut short or damaged"),
        (b"\x1a\x00", "must be a tf.train.Example, but it has fields"),
        (example(x=[1, 2], t="a"), "column 'x': a feature must have one value"),
        (example(x=1, t=b"\xff"), "column 't': a value must be UTF-8 text"),
        (example(x="a", t="a"), "column 'x': a value must be a number"),
        (example(x=1, t=2), "column 't': a value must be bytes"),
        (
            example(x=1, t="a", new=1),
            "only have features that the first records have, but this record also has 'new'",
        ),
    ],
    ids=range(7),
)
def test_bad_record_is_an_error_or_skipped(tmp_path, ingest, record, message):
    good = [example(x=i, t="a") for i in range(1_000)]
    path = write(tmp_path / "a.tfrecord", [*good, record, *good[:2]])
    at = sum(map(len, map(frame, good)))
    with pytest.raises(InvalidValueError, match=rf"a\.tfrecord, record 1000 \(byte {at:,}\): .*"):
        ingest(path)
    ds = ingest(path, on_error="skip")
    assert len(ds) == 1_002
    (skipped,) = ds.ingested.skipped
    assert skipped.path == f"a.tfrecord, record 1000 (byte {at:,})"
    assert message in skipped.reason


def test_wrong_checksum_of_the_content_is_reported_with_its_record(tmp_path, ingest):
    records = [example(x=i) for i in range(5)]
    path = write(tmp_path / "a.tfrecord", records)
    data = bytearray(path.read_bytes())
    at = sum(map(len, map(frame, records[:2])))
    data[at + 12 + 8] ^= 1
    path.write_bytes(data)
    with pytest.raises(InvalidValueError, match=rf"record 2 \(byte {at:,}\): .*checksum"):
        ingest(path)
    ds = ingest(path, on_error="skip")
    assert ds["x"][:].tolist() == [0, 1, 3, 4]


def test_damaged_lengths_and_cut_files_are_refused(tmp_path, ingest):
    records = [example(x=i) for i in range(5)]
    path = write(tmp_path / "a.tfrecord", records)
    whole = path.read_bytes()
    at = len(frame(records[0]))
    damaged = bytearray(whole)
    damaged[at] ^= 1
    for data, message in {
        bytes(damaged): rf"the length of a\.tfrecord, record 1 \(byte {at}\) does not",
        whole[:-1]: r"record 4 \(byte \d+\) has only \d+ of \d+ bytes",
        whole[: at + 5]: r"record 1 \(byte \d+\) has 5 bytes",
        b"x" * 100: r"must match its checksum, .* record 0 \(byte 0\) does not",
        gzip.compress(whole)[:-9]: "must be a complete compressed file",
        zlib.compress(whole)[:-3]: "must be a complete compressed file",
        zlib.compress(whole) + b"x": "must be a complete compressed file",
        b"": "must have records",
    }.items():
        path.write_bytes(data)
        with pytest.raises(InvalidValueError, match=message):
            ingest(path)
        with pytest.raises(InvalidValueError, match=message):
            ingest(path, on_error="skip")


def test_a_length_that_no_record_can_have_takes_no_memory(tmp_path, ingest):
    for size in (2**60, 2**31 - 1):
        head = size.to_bytes(8, "little")
        (tmp_path / "a.tfrecord").write_bytes(head + masked_crc(head).to_bytes(4, "little"))
        with pytest.raises(InvalidValueError, match=r"a\.tfrecord, record 0"):
            ingest(tmp_path / "a.tfrecord")


def test_compressed_zeros_take_no_memory(tmp_path, ingest):
    (tmp_path / "a.tfrecord").write_bytes(zlib.compress(bytes(2**26)))
    with pytest.raises(InvalidValueError, match="not a TFRecord file"):
        ingest(tmp_path / "a.tfrecord")


def test_files_without_records_or_features_are_refused(tmp_path, ingest):
    with pytest.raises(InvalidValueError, match="must have features"):
        ingest(write(tmp_path / "a.tfrecord", [b"", b""]))
    with pytest.raises(InvalidValueError, match=r"record 0 \(byte 0\), is not"):
        ingest(write(tmp_path / "b.tfrecord", [b"hello"]))
    with pytest.raises(NotFoundError, match="no TFRecord file at"):
        ingest(tmp_path / "c.tfrecord")
    with pytest.raises(NotFoundError, match="list is empty"):
        ingest([])


def test_damaged_files_raise_only_our_errors_or_give_right_rows(tmp_path, new_url):
    rng = random.Random(0)
    records = rows(6)
    right = {image(i) for i in range(6)}
    path = write(tmp_path / "a.tfrecord", records)
    plain = path.read_bytes()
    for whole in (plain, gzip.compress(plain), zlib.compress(plain)):
        for _ in range(30):
            path.write_bytes(damaged(whole, rng))
            try:
                ds = dl.from_tfrecord(path, new_url(), progress=False, on_error="skip")
            except LakeError:
                continue
            assert {bytes(data) for data in ds["image"].encoded()} <= right


def test_damaged_messages_raise_only_our_errors(tmp_path, ingest):
    rng = random.Random(1)
    whole = sequence_example({"x": [1, 2], "t": "a"}, {"l": [1, 2], "m": ["a"]})
    good = [whole] * 5
    for _ in range(30):
        path = write(tmp_path / "a.tfrecord", [*good, damaged(whole, rng)])
        try:
            ingest(path, on_error="skip")
        except LakeError:
            continue


# ---- reruns


def test_second_run_adds_nothing_and_an_interrupted_one_resumes(tmp_path, new_url, monkeypatch):
    url = new_url()
    files = [write(tmp_path / f"{i}.tfrecord", [example(x=1_500 * i + j) for j in range(1_500)])
             for i in range(2)]  # fmt: skip
    ds = dl.from_tfrecord(tmp_path, url, progress=False)
    again = dl.from_tfrecord(tmp_path, url, progress=False)
    assert (len(again), again.ingested.added, again.version) == (3_000, 0, ds.version)
    from deeplake_lite.ingest.run import Run

    written, calls = Run.write, []

    def failing(self, *args):
        calls.append(args)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return written(self, *args)

    url = new_url()
    with monkeypatch.context() as patched:
        patched.setattr(Run, "write", failing)
        with pytest.raises(KeyboardInterrupt):
            dl.from_tfrecord(files, url, commit_every=1_000, progress=False)
    ds = dl.from_tfrecord(files, url, progress=False)
    assert ds["x"][:].tolist() == list(range(3_000))
    assert ds.ingested.added < 3_000


def test_rows_are_updated_by_their_key(tmp_path, new_url):
    url = new_url()
    path = write(tmp_path / "a.tfrecord", [example(id=1, t="a"), example(id=2, t="b")])
    dl.from_tfrecord(path, url, on="id", progress=False)
    write(path, [example(id=1, t="a"), example(id=2, t="c"), example(id=3, t="d")])
    ds = dl.from_tfrecord(path, url, on="id", progress=False)
    assert ds["t"][:] == ["a", "c", "d"]
    assert (ds.ingested.added, ds.ingested.changed, ds.ingested.unchanged) == (1, 1, 1)


def test_serialized_examples_are_those_of_tensorflow():
    values = {"b": [b"x", b""], "f": np.array([1.5, np.nan], "f4"), "i": np.array([-1, 2**62])}
    theirs = tf.train.Example.FromString(serialize_example(values))
    assert list(theirs.features.feature["b"].bytes_list.value) == [b"x", b""]
    assert list(theirs.features.feature["i"].int64_list.value) == [-1, 2**62]
    np.testing.assert_array_equal(theirs.features.feature["f"].float_list.value, values["f"])
    assert theirs.SerializeToString(deterministic=True) == serialize_example(values)


@pytest.mark.parametrize("seed", range(20))
def test_serialized_examples_of_any_features_are_those_of_protobuf(seed):
    rng = np.random.default_rng(seed)
    sizes, names = [0, 1, 127, 128, 20_000], ["", "a", "A", "é", "𝄞", "\uffff", "a/b", "n" * 300]
    values = {}
    for name in rng.permutation(names)[: rng.integers(len(names) + 1)].tolist():
        count = int(rng.choice(sizes))
        values[name] = [
            lambda n: [memoryview(rng.bytes(rng.choice(sizes))) for _ in range(n % 100)],
            lambda n: rng.normal(size=n).astype("f4"),
            lambda n: rng.integers(-(2**63), 2**63 - 1, n) >> rng.integers(64, size=n),
        ][rng.integers(3)](count)  # fmt: skip
    data = serialize_example(values)
    theirs = tf.train.Example.FromString(data)
    assert theirs.SerializeToString(deterministic=True) == data
    assert set(theirs.features.feature) == set(values)
    for name, given in values.items():
        feature = theirs.features.feature[name]
        found = getattr(feature, feature.WhichOneof("kind")).value
        np.testing.assert_array_equal(found, [bytes(v) for v in given] if isinstance(given, list)
                                      else given)  # fmt: skip


def test_examples_that_no_reader_accepts_are_refused(monkeypatch):
    monkeypatch.setattr(tf_example, "_MAX_BYTES", 1_000)
    assert len(serialize_example({"x": [b"y" * 970]})) < 1_000
    with pytest.raises(InvalidValueError, match="must have less than 1,000 bytes"):
        serialize_example({"x": [b"y" * 1_000]})


@pytest.mark.parametrize("length", [1, 2])
def test_integers_among_floats_are_not_rounded(tmp_path, ingest, length):
    number = 2**24 + 1  # which exact in float32
    kinds = [example(x=[number] * length), example(x=[0.5] * length)]
    write(tmp_path / "a.tfrecord", kinds)
    ds = ingest(tmp_path / "a.tfrecord")
    assert [np.ravel(x).tolist() for x in ds["x"][:]] == [[number] * length, [0.5] * length]
    write(tmp_path / "b.tfrecord", [example(x=[2**53 + 1] * length), kinds[1]])
    with pytest.raises(InvalidValueError, match="exact in float64"):
        ingest(tmp_path / "b.tfrecord")
    declared = {"x": dl.Array("float32", (None,))}
    assert len(ingest(tmp_path / "b.tfrecord", schema=declared)) == 2


def test_integers_after_the_first_records_are_not_rounded(tmp_path, ingest, monkeypatch):
    monkeypatch.setattr(import_module("deeplake_lite.ingest.shards.example_source"), "SAMPLED", 1)
    write(tmp_path / "a.tfrecord", [example(x=[0.5]), example(x=[7]), example(x=[2**24 + 1])])
    with pytest.raises(InvalidValueError, match="exact in float32"):
        ingest(tmp_path / "a.tfrecord")
    ds = ingest(tmp_path / "a.tfrecord", on_error="skip")
    assert ds["x"][:].tolist() == [0.5, 7]
