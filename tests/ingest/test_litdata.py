"""LitData's chunks are ingested, and exported again."""

from __future__ import annotations

import contextlib
import json
import random
import shutil
import struct
import warnings
from uuid import uuid4

import litdata
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from litdata.streaming.writer import BinaryWriter
from PIL import Image as PillowImage

import deeplake_lite as dl
from deeplake_lite.errors import (
    ExportWarning,
    InvalidValueError,
    LakeError,
    NotFoundError,
    OptionError,
    SchemaError,
)
from deeplake_lite.ingest.shards.litdata_json import load_nested
from deeplake_lite.ingest.shards.litdata_spec import leaf_names
from deeplake_lite.ingest.shards.unfit import UnfitError
from deeplake_lite.testing.strategies import tables
from tests.ingest.damage import damaged

pytestmark = pytest.mark.filterwarnings(  # by litdata
    "ignore::UserWarning:litdata", "ignore:unclosed file:ResourceWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
)  # fmt: skip


@pytest.fixture
def ingest(new_url):
    return lambda folder, **options: dl.from_litdata(folder, new_url(), progress=False, **options)


@pytest.fixture
def photos(tmp_path):
    """Write JPEG files."""
    paths = [tmp_path / f"{n}.jpg" for n in range(6)]
    for n, path in enumerate(paths):
        PillowImage.new("RGB", (8, 8), (40 * n, 0, 0)).save(path)
    return paths


def write(folder, samples, chunk_size=2, **options):
    """Write samples with LitData's own writer."""
    writer = BinaryWriter(str(folder), chunk_size=chunk_size, **options)
    for n, sample in enumerate(samples):
        writer.add_item(n, sample)
    writer.done()
    writer.merge()
    return folder


def read(folder, to):
    """Read samples with LitData's own reader, from a copy, because it changes the folder."""
    shutil.copytree(folder, to)
    dataset = litdata.StreamingDataset(str(to), shuffle=False)
    return [dataset[n] for n in range(len(dataset))]


# ---- files of the peer


@pytest.mark.parametrize(
    "options",
    [
        {}, {"compression": "zstd"}, {"compression": "zstd:7", "compression_level": "chunk"},
        {"compression": "zstd", "compression_level": "sample"},
        {"compression": "zstd", "compression_batch_size": 2},
    ],
    ids=lambda options: "-".join(map(str, options.values())) or "plain",
)  # fmt: skip
def test_chunks_that_litdata_wrote_are_ingested(tmp_path, photos, ingest, options):
    def sample(n):
        return {
            "i": n - 3, "s": f"é{n}", "b": bytes([n] * n), "f": n / 4, "flag": bool(n % 2),
            "t": torch.arange(n + 1), "t2": torch.full((2, n + 1), n / 2, dtype=torch.float16),
            "half": torch.full((2,), n / 2, dtype=torch.bfloat16),
            "a": np.arange(n + 1, dtype="i2"), "a2": np.full((2, 2), n, "c8"),
            "p": PillowImage.new("RGB", (4, 2), (n, 1, 2)), "j": PillowImage.open(photos[n]),
            "box": {"x": n, "label": "a"}, "pair": (n, n / 2),
        }  # fmt: skip

    def without_bfloat16(n):  # NumPy, with which LitData writes tensors, has none
        return {key: value for key, value in sample(n).items() if key != "half"}

    samples = [without_bfloat16(n) for n in range(6)]
    folder = write(tmp_path / "out", samples, 4, **options)
    ds = ingest(folder)
    types = {name: ds.schema[name].htype for name in ds.columns}
    assert {name: types[name] for name in ("i", "s", "b", "f", "flag", "t", "t2", "a2", "p")} == {
        "i": dl.Scalar("int64"), "s": dl.Text(), "b": dl.Bytes(), "f": dl.Scalar("float64"),
        "flag": dl.Scalar("bool"), "t": dl.Array("int64", (None,)),
        "t2": dl.Array("float16", (None, None)), "a2": dl.Array("complex64", (None, None)),
        "p": dl.Image("zstd"),
    }  # fmt: skip
    assert ds["j"].encoded()[3] == photos[3].read_bytes()
    for n, own in enumerate(samples):
        row = ds[n]
        for name in ("i", "s", "f", "flag", "t", "t2", "a", "a2"):
            np.testing.assert_equal(row[name], np.asarray(own[name]), err_msg=name)
        assert bytes(row["b"]) == own["b"]
        np.testing.assert_array_equal(row["p"], np.asarray(own["p"]))
        assert (row["box/x"], row["box/label"]) == (n, "a")
        assert (row["pair/0"], row["pair/1"]) == (n, n / 2)


@pytest.mark.parametrize("compression", [None, "zstd"])
def test_tables_of_arrow_are_ingested(tmp_path, ingest, compression):
    samples = [
        {"n": n, "words": ["a"] * n, "inner": [{"x": n, "y": None}], "s": None if n == 2 else "b"}
        for n in range(5)
    ]
    samples = [samples[0], *samples[1:]]
    folder = write(tmp_path / "out", samples, 3, compression=compression)
    assert (folder / "chunk-0-0.bin").read_bytes().endswith(b"LDARW01\0")
    ds = ingest(folder)
    assert ds["n"][:].tolist() == [0, 1, 2, 3, 4]
    assert ds["words"][:] == [["a"] * n for n in range(5)]
    assert ds["inner"][3] == [{"x": 3, "y": None}]
    assert ds["s"][:] == ["b", "b", None, "b", "b"]


def test_what_optimize_wrote_is_ingested(tmp_path, ingest):
    litdata.optimize(
        fn=str, inputs=list(range(5)), output_dir=str(tmp_path / "out"), chunk_bytes="1MB",
        num_workers=1, verbose=False,
    )  # fmt: skip
    assert ingest(tmp_path / "out")["0"][:] == ["0", "1", "2", "3", "4"]


def test_pickles_are_refused(tmp_path, ingest):
    folder = write(tmp_path, [{"i": n, "p": {1, n}} for n in range(3)])
    with pytest.raises(SchemaError, match="reading pickles could run arbitrary code, but 'p' is"):
        ingest(folder)
    assert ingest(folder, columns=["i"])["i"][:].tolist() == [0, 1, 2]


def test_subfolders_are_splits(tmp_path, ingest):
    for split, count in {"train": 3, "val": 2}.items():
        write(tmp_path / split, [{"i": n} for n in range(count)])
    ds = ingest(tmp_path)
    assert ds["split"].names == ("train", "val")
    assert ds["split"][:].tolist() == [0, 0, 0, 1, 1]


# ---- exports

SCHEMA = {
    "text": "text", "flag": "bool", "n": "int64", "u": "uint64", "f": "float32",
    "label": dl.ClassLabel(["cat", "dog"]), "json": "json", "v": dl.Embedding(3),
    "boxes": dl.Boxes(), "none": dl.Scalar("int32", nullable=True), "tags": dl.Sequence("text"),
    "mask": dl.Mask("instance"), "day": "datetime64[D]", "file": dl.Bytes(),
    "odd": dl.Sequence(dl.Scalar("float32")), "c": dl.Array("complex64", (2,)),
}  # fmt: skip


@pytest.fixture
def view(make_lake):
    return make_lake(
        SCHEMA,
        text=["é", ""], flag=[True, False], n=[2**60, -1], u=[2**64 - 1, 0], f=[0.5, np.inf],
        label=["dog", "cat"], json=[{"a": [1, None]}, "x"], v=[[1, 2, 3], [4, 5, 6]],
        boxes=[[[0, 1, 2, 3]], np.zeros((0, 4))], none=[5, None], tags=[["p", "q"], []],
        mask=[np.ones((1, 2, 2), bool), np.zeros((0, 2, 2), bool)],
        day=["2026-01-02", "1969-12-31"], file=[b"ab", b""], odd=[[1, np.nan], []],
        c=[[1j, 2], [3, 4]],
    )  # fmt: skip


@pytest.mark.parametrize("compression", [None, "zstd"])
def test_litdata_reads_an_export(view, tmp_path, compression):
    folder = view.to_litdata(tmp_path / "out", compression=compression)
    first, second = read(folder, tmp_path / "copy")
    assert (first["text"], first["flag"], first["n"], first["label"]) == ("é", True, 2**60, 1)
    assert (first["f"], second["f"], int(first["u"])) == (0.5, np.inf, 2**64 - 1)
    assert (first["json"], second["json"], first["none"], second["none"]) == (
        {"a": [1, None]}, "x", 5, None,
    )  # fmt: skip
    assert (first["tags"], second["tags"], first["day"]) == (["p", "q"], [], "2026-01-02")
    assert (first["v"].tolist(), first["v"].dtype) == ([1, 2, 3], np.float32)
    assert (first["boxes"].tolist(), second["boxes"].shape) == ([[0, 1, 2, 3]], (0, 4))
    assert (first["mask"].dtype, second["mask"].shape) == (bool, (0, 2, 2))
    assert bytes(first["file"]) == b"ab"
    assert first["c"].tolist() == [1j, 2]
    np.testing.assert_equal(first["odd"], [1, np.nan])


def cells_of(ds, name):
    table, slots = ds.rows.locate()
    return table.digests(ds.schema[name].id, slots).tolist()


def assert_same(again, ds):
    assert again.columns == ds.columns
    for name in ds.columns:
        assert again.schema[name].htype == ds.schema[name].htype
        assert cells_of(again, name) == cells_of(ds, name), name


@pytest.mark.parametrize("compression", [None, "zstd:1"])
def test_export_is_ingested_as_the_same_rows(view, ingest, tmp_path, compression):
    view.metadata["about"] = {"license": "CC0"}
    folder = view.to_litdata(tmp_path / "out", compression=compression)
    again = ingest(folder)
    assert_same(again, view)
    assert again.metadata["about"] == {"license": "CC0"}
    read(folder, tmp_path / "copy")  # replaces compressed chunks by decompressed ones
    assert_same(ingest(tmp_path / "copy"), view)


@given(table=tables(), compression=st.sampled_from([None, "zstd"]))
def test_rows_of_all_types_survive_the_round_trip(table, compression, tmp_path_factory):
    schema, rows = table
    ds = dl.create(f"memory://{uuid4().hex}", schema)
    ds.append(rows)
    ds.commit("rows")
    folder = tmp_path_factory.mktemp("litdata") / "out"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            ds.to_litdata(folder, chunk_bytes=200, compression=compression)
        except SchemaError:  # there are only sequences of files
            assert all(f.htype.item is not None for f in ds.schema)
            return
    losses = [str(w.message) for w in caught if w.category is ExportWarning]

    def reported(name, text):
        return any(f"'{name}'" in loss and text in loss for loss in losses)

    again = dl.from_litdata(folder, f"memory://{uuid4().hex}", progress=False)
    assert {*again.columns} == {n for n in ds.columns if not reported(n, "left out")}
    for name in again.columns:
        assert again.schema[name].htype == ds.schema[name].htype
        if not reported(name, "are read back as nulls"):
            assert cells_of(again, name) == cells_of(ds, name), (name, ds.schema[name].htype)
    shutil.rmtree(folder)


def test_splits_have_folders_of_their_own(make_lake, ingest, tmp_path):
    schema = {"n": "int32", "split": dl.ClassLabel(["train", "val", "test"])}
    ds = make_lake(schema, n=range(5), split=["train", "train", "train", "val", "val"])
    folder = ds.to_litdata(tmp_path / "out")
    assert sorted(p.name for p in folder.iterdir()) == ["train", "val"]
    assert [sample["n"] for sample in read(folder / "val", tmp_path / "copy")] == [3, 4]
    assert_same(ingest(folder), ds)


def test_losses_are_reported(make_lake, ingest, tmp_path):
    schema = {"n": "int32", "frames": dl.Sequence(dl.Image("png")), "v": dl.Embedding(2)}
    schema["v"] = dl.Array("float32", (2,), nullable=True)
    ds = make_lake(schema, n=[1, 2], frames=[[], []], v=[[1, 2], None])
    with pytest.warns(ExportWarning) as caught:
        folder = ds.to_litdata(tmp_path / "out")
    assert sorted(str(w.message).split(": ")[1].split(" ")[0] for w in caught) == [
        "'frames'",
        "'v'",
    ]
    again = ingest(folder)
    assert cells_of(again, "v") == cells_of(ds, "v")


def test_wrong_options_are_refused(view, tmp_path):
    with pytest.raises(OptionError, match="compression must be None, 'zstd' or 'zstd:1' to"):
        view.to_litdata(tmp_path / "out", compression="gz")
    with pytest.raises(OptionError, match="chunk_bytes must be positive and less than 4 GiB"):
        view.to_litdata(tmp_path / "out", chunk_bytes=0)


# ---- damage


def test_bad_samples_are_reported_or_skipped(tmp_path, ingest):
    folder = write(tmp_path, [(f"{n}", b"x") for n in range(5)], 5)
    path = folder / "chunk-0-0.bin"
    data = bytearray(path.read_bytes())
    at = 28 + 2 * 10 + 8  # the string of sample 2
    assert data[at : at + 1] == b"2"
    data[at] = 0xFF
    path.write_bytes(data)
    with pytest.raises(InvalidValueError, match=r"chunk-0-0\.bin, row 2: 0 must be UTF-8 text"):
        ingest(folder)
    ds = ingest(folder, on_error="skip")
    assert ds["0"][:] == ["0", "1", "3", "4"]
    data[at - 8] = 77  # its size
    path.write_bytes(data)
    with pytest.raises(
        InvalidValueError, match=r"row 2: the sizes of values .* add up to 10 bytes, but"
    ):
        ingest(folder)


LEAF = {"type": None, "context": None, "children_spec": []}


@pytest.mark.parametrize(
    ("config", "entry", "error", "message"),
    [
        ({}, {"filename": "../x.bin"}, InvalidValueError, "files in its own folder"),
        ({}, {"filename": "x.bin"}, NotFoundError, "lists the missing file"),
        ({}, {"chunk_size": 2**60}, InvalidValueError, "'chunk_size' is"),
        ({}, {"chunk_size": 2**31}, InvalidValueError, "must be a complete LitData chunk"),
        ({"data_format": ["int"]}, {}, InvalidValueError, "'data_format' is"),
        ({"data_format": ["int", "nothing"]}, {}, SchemaError, "must be one of str, text"),
        ({"data_format": ["int", "no_header_numpy:14"]}, {}, SchemaError, "must be one of str"),
        ({"encryption": {"a": 1}}, {}, SchemaError, "must not be encrypted"),
        ({"item_loader": "TokensLoader"}, {}, SchemaError, "for 'TokensLoader'"),
        ({"compression": "lz4"}, {}, SchemaError, "must be 'zstd', but it is 'lz4'"),
        ({"data_spec": "[" * 100_000}, {}, SchemaError, "as a JSON tree"),
        ({"data_spec": "[2, {}]"}, {}, SchemaError, "as a JSON tree"),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, dict) else "",
)
def test_wrong_indexes_are_refused(tmp_path, ingest, config, entry, error, message):
    folder = write(tmp_path, [{"i": 1, "s": "a"}, {"i": 2, "s": "b"}])
    index = json.loads((folder / "index.json").read_text())
    index["config"].update(config)
    index["chunks"][0].update(entry)
    (folder / "index.json").write_text(json.dumps(index))
    with pytest.raises(error, match=message):
        ingest(folder)


def test_names_of_values_follow_the_tree():
    tree = {"type": "builtins.dict", "context": '["a", "b"]', "children_spec": [
        LEAF, {"type": "builtins.list", "context": "null", "children_spec": [LEAF, LEAF]}
    ]}  # fmt: skip
    assert leaf_names(json.dumps([1, tree])) == ["a", "b/0", "b/1"]
    assert leaf_names(json.dumps([1, LEAF])) == ["0"]
    tree["context"] = '["b/0", "b"]'
    with pytest.raises(
        SchemaError, match="must have distinct names, but two values are named 'b/0'"
    ):
        leaf_names(json.dumps([1, tree]))
    deep = LEAF
    for _ in range(60):
        deep = {"type": "builtins.list", "context": None, "children_spec": [deep]}
    with pytest.raises(SchemaError, match="as a JSON tree"):
        leaf_names(json.dumps([1, deep]))


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=3)
    | st.lists(st.fixed_dictionaries({"a": st.none() | st.text(), "b": st.floats(0, 1)})),
)  # fmt: skip


@given(value=values)
def test_nested_values_of_litdata_are_read(value):
    from litdata.streaming.serializers import JsonLeaf, JsonSerializer

    data, _ = JsonSerializer().serialize(JsonLeaf(value))
    assert load_nested(memoryview(data)) == value


@given(data=st.binary(max_size=60), tag=st.integers(0, 12))
def test_damaged_nested_values_are_unfit(data, tag):
    with_tag = bytes([tag]) + data
    with contextlib.suppress(UnfitError):
        load_nested(memoryview(with_tag))


def test_nested_values_are_bounded():
    deep = b"".join(struct.pack("<BII", 5, 1, 0) for _ in range(100_000))
    for data in (deep, struct.pack("<BI", 1, 2**32 - 1), struct.pack("<BII", 6, 2**20, 0)):
        with pytest.raises(UnfitError):
            load_nested(memoryview(data))


def test_damaged_files_raise_only_our_errors_or_yield_rows(view, tmp_path, ingest):
    rng = random.Random(0)
    small = view[["text", "n", "json", "boxes", "none"]]
    nested = [{"n": n, "words": ["a"] * n} for n in range(4)]
    flat = [{"n": n, "t": torch.arange(n)} for n in range(4)]
    folders = [
        small.to_litdata(tmp_path / "plain"),
        small.to_litdata(tmp_path / "packed", compression="zstd"),
        write(tmp_path / "table", nested), write(tmp_path / "frames", flat, compression="zstd"),
        write(tmp_path / "samples", flat, compression="zstd", compression_level="sample"),
    ]  # fmt: skip
    for folder in folders:
        whole = {path: path.read_bytes() for path in sorted(folder.iterdir())}
        for _ in range(12):  # test_damaged_files.py has more
            path = rng.choice([*whole])
            path.write_bytes(damaged(whole[path], rng))
            with contextlib.suppress(LakeError):
                ingest(folder, on_error="skip")
            path.write_bytes(whole[path])
