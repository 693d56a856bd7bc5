"""MDS shards are ingested, and exported again."""

from __future__ import annotations

import decimal
import io
import json
import random
import shutil
import warnings
from uuid import uuid4

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as PillowImage
from streaming import MDSWriter, StreamingDataset
from streaming.base.util import clean_stale_shared_memory

import deeplake_lite as dl
from deeplake_lite.errors import (
    ExportWarning,
    InvalidValueError,
    LakeError,
    NotFoundError,
    OptionError,
    SchemaError,
)
from deeplake_lite.testing.strategies import tables
from tests.ingest.damage import damaged

pytestmark = pytest.mark.filterwarnings(  # by streaming
    "ignore:unclosed file:ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


@pytest.fixture
def ingest(new_url):
    return lambda folder, **options: dl.from_mds(folder, new_url(), progress=False, **options)


def image(value, kind="jpeg"):
    file = io.BytesIO()
    PillowImage.new("RGB", (8, 8), (value, 0, 0)).save(file, kind)
    return file.getvalue()


ENCODINGS = {
    "i": "int", "s": "str", "b": "bytes", "f": "float32", "h": "float16", "u": "uint8",
    "j": "json", "a": "ndarray", "d": "ndarray:int16", "v": "ndarray:float32:3", "p": "pil",
    "jpg": "jpeg", "png": "png", "si": "str_int", "sf": "str_float", "sd": "str_decimal",
}  # fmt: skip


def sample(n):
    return {
        "i": n - 3, "s": f"é{n}", "b": bytes([n] * n), "f": n / 4, "h": n / 2, "u": n,
        "j": {"n": [n, None]}, "a": np.full((n + 1, 2), n, "u2"), "d": np.arange(n + 1, dtype="i2"),
        "v": np.arange(3, dtype="f4") + n, "p": PillowImage.new("RGB", (4, 2), (n, 1, 2)),
        "jpg": image(n), "png": image(n, "png"), "si": 10**n, "sf": n / 8,
        "sd": decimal.Decimal(n) / 8,
    }  # fmt: skip


def write(folder, count=9, columns=ENCODINGS, make=sample, **options):
    with MDSWriter(out=str(folder), columns=columns, **options) as writer:
        for n in range(count):
            writer.write({key: make(n)[key] for key in columns})
    return folder


def read(folder, **options):
    """Read samples with the peer's reader."""
    clean_stale_shared_memory()
    dataset = StreamingDataset(local=str(folder), shuffle=False, batch_size=1, **options)
    return [dataset[i] for i in range(len(dataset))]


# ---- files of the peer


@pytest.mark.parametrize("compression", [None, "zstd:7", "gz", "bz2", "br", "snappy"])
def test_files_that_streaming_wrote_are_ingested(tmp_path, ingest, compression):
    folder = write(
        tmp_path / "out", size_limit=4_000, compression=compression, hashes=["sha1", "xxh64"]
    )
    assert len(list(folder.iterdir())) > 3
    ds = ingest(folder)
    assert {name: ds.schema[name].htype for name in ds.columns} == {
        "i": dl.Scalar("int64"), "s": dl.Text(), "b": dl.Bytes(), "f": dl.Scalar("float32"),
        "h": dl.Scalar("float16"), "u": dl.Scalar("uint8"), "j": dl.Json(nullable=True),
        "a": dl.Array("uint16", (None, None)), "d": dl.Array("int16", (None,)),
        "v": dl.Array("float32", (3,)), "p": dl.Image("zstd"), "jpg": dl.Image("auto"),
        "png": dl.Image("auto"), "si": dl.Scalar("int64"), "sf": dl.Scalar("float64"),
        "sd": dl.Text(),
    }  # fmt: skip
    assert len(ds) == 9
    for n in range(9):
        row, own = ds[n], sample(n)
        for name in ("i", "s", "f", "h", "u", "j", "a", "d", "v", "si", "sf"):
            np.testing.assert_equal(row[name], own[name], err_msg=name)
        assert bytes(row["b"]) == own["b"]
        assert row["sd"] == str(own["sd"])
        np.testing.assert_array_equal(row["p"], np.asarray(own["p"]))
    assert [bytes(data) for data in ds["jpg"].encoded()] == [image(n) for n in range(9)]
    assert [bytes(data) for data in ds["png"].encoded()] == [image(n, "png") for n in range(9)]


def test_subfolders_are_splits(tmp_path, ingest):
    write(tmp_path / "train", 3, {"i": "int"})
    write(tmp_path / "val", 2, {"i": "int"})
    ds = ingest(tmp_path)
    assert ds["split"].names == ("train", "val")
    assert ds["split"][:].tolist() == [0, 0, 0, 1, 1]
    assert ds["i"][:].tolist() == [-3, -2, -1, -3, -2]
    assert ingest(tmp_path / "val").columns == ("i",)


def test_pickles_are_refused(tmp_path, ingest):
    folder = write(tmp_path, 2, {"i": "int", "p": "pkl"}, lambda n: {"i": n, "p": [n]})
    with pytest.raises(SchemaError, match="reading pickles could run arbitrary code, but 'p' is"):
        ingest(folder)
    assert ingest(folder, columns=["i"])["i"][:].tolist() == [0, 1]


def test_declared_types_are_used(tmp_path, ingest):
    folder = write(tmp_path, 2, {"i": "int"}, lambda n: {"i": n})
    ds = ingest(folder, schema={"i": dl.ClassLabel(["cat", "dog"])})
    assert ds["i"].names == ("cat", "dog")
    assert ds["i"][:].tolist() == [0, 1]


SCHEMA = {
    "image": dl.Image("jpeg"), "png": dl.Image("png"), "text": "text", "flag": "bool", "n": "int64",
    "n8": "int8", "f": "float32", "label": dl.ClassLabel(["cat", "dog"]), "json": "json",
    "v": dl.Embedding(3), "boxes": dl.Boxes(), "none": dl.Scalar("int32", nullable=True),
    "tags": dl.Sequence("text"), "mask": dl.Mask("instance"), "day": "datetime64[D]",
}  # fmt: skip


@pytest.fixture
def view(make_lake):
    return make_lake(
        SCHEMA,
        image=[image(1), image(2)], png=[image(1, "png"), image(2, "png")], text=["é", ""],
        flag=[True, False], n=[2**60, -1], n8=[-3, 4], f=[0.1, np.inf], label=["dog", "cat"],
        json=[{"a": [1, None]}, "x"], v=[[1, 2, 3], [4, 5, 6]],
        boxes=[[[0, 1, 2, 3]], np.zeros((0, 4))], none=[5, None], tags=[["p", "q"], []],
        mask=[np.ones((1, 2, 2), bool), np.zeros((0, 2, 2), bool)],
        day=["2026-01-02", "1969-12-31"],
    )  # fmt: skip


@pytest.mark.parametrize("compression", [None, "zstd", "gz:1"])
def test_streaming_reads_an_export(view, tmp_path, compression):
    folder = view.to_mds(tmp_path / "out", compression=compression)
    first, second = read(folder, validate_hash="xxh64")
    assert (first["text"], first["flag"], first["n"], first["n8"]) == ("é", True, 2**60, -3)
    assert (first["f"], second["f"], first["label"]) == (np.float32(0.1), np.inf, 1)
    assert (first["json"], second["json"], first["none"], second["none"]) == (
        {"a": [1, None]}, "x", 5, None,
    )  # fmt: skip
    assert (first["tags"], second["tags"], first["day"]) == (["p", "q"], [], "2026-01-02")
    assert (first["v"].tolist(), first["v"].dtype) == ([1, 2, 3], np.float32)
    assert (first["boxes"].tolist(), second["boxes"].shape) == ([[0, 1, 2, 3]], (0, 4))
    assert second["mask"].shape == (0, 2, 2)
    for name in ("image", "png"):
        np.testing.assert_array_equal(np.asarray(first[name]), view[name][0])


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
    again = ingest(view.to_mds(tmp_path / "out", compression=compression))
    assert_same(again, view)
    assert again.metadata["about"] == {"license": "CC0"}


@given(table=tables(), compression=st.sampled_from([None, "zstd"]))
def test_rows_of_all_types_survive_the_round_trip(table, compression, tmp_path_factory):
    schema, rows = table
    ds = dl.create(f"memory://{uuid4().hex}", schema)
    ds.append(rows)
    ds.commit("rows")
    folder = tmp_path_factory.mktemp("mds") / "out"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            ds.to_mds(folder, shard_bytes=200, compression=compression)
        except SchemaError:  # there are only sequences of files
            assert all(f.htype.item is not None for f in ds.schema)
            return
    losses = [str(w.message) for w in caught if w.category is ExportWarning]
    again = dl.from_mds(folder, f"memory://{uuid4().hex}", progress=False)
    left_out = {name for name in ds.columns if any(
        f"'{name}'" in text and "left out" in text for text in losses
    )}  # fmt: skip
    emptied = {name for name in ds.columns if any(
        f"'{name}'" in text and "are read back as nulls" in text for text in losses
    )}  # fmt: skip
    assert set(again.columns) == set(ds.columns) - left_out
    for name in again.columns:
        assert again.schema[name].htype == ds.schema[name].htype
        if name not in emptied:
            assert cells_of(again, name) == cells_of(ds, name), (name, ds.schema[name].htype)
    shutil.rmtree(folder)


def test_splits_have_folders_of_their_own(make_lake, ingest, tmp_path):
    schema = {"n": "int32", "split": dl.ClassLabel(["train", "val", "test"])}
    ds = make_lake(schema, n=range(5), split=["train", "train", "train", "val", "val"])
    folder = ds.to_mds(tmp_path / "out")
    assert sorted(p.name for p in folder.iterdir()) == ["train", "val"]
    assert [s["n"] for s in read(folder, split="val")] == [3, 4]
    assert_same(ingest(folder), ds)
    mixed = make_lake(schema, n=range(2), split=["val", "train"])
    with pytest.warns(ExportWarning, match="the order of rows changes"):
        mixed.to_mds(tmp_path / "mixed")


def test_losses_are_reported(make_lake, ingest, tmp_path):
    schema = {
        "n": "int32", "frames": dl.Sequence(dl.Image("png")), "c": dl.Array("complex64", (2,)),
        "file": dl.Bytes(nullable=True),
    }  # fmt: skip
    ds = make_lake(schema, n=[1, 2], frames=[[], []], c=[[1j, 2], [3, 4]], file=[None, b"x"])
    with pytest.warns(ExportWarning) as caught:
        folder = ds.to_mds(tmp_path / "out")
    messages = [str(w.message) for w in caught]
    assert len(messages) == 3
    for name, text in {"frames": "left out", "c": "npy bytes", "file": "empty bytes"}.items():
        assert any(f"'{name}'" in message and text in message for message in messages)
    assert all(w.filename == __file__ for w in caught)
    again = ingest(folder)
    for name in ("n", "c", "file"):
        assert cells_of(again, name) == cells_of(ds, name)
    with pytest.raises(SchemaError, match="needs a column that samples can hold"):
        ds[["frames"]].to_mds(tmp_path / "none")


@pytest.mark.parametrize("value", ["lz4", "zstd:0", "zstd:x", "zstd:²", "gz:10", ""])
def test_unknown_compressions_are_refused(view, tmp_path, value):
    with pytest.raises(OptionError, match="compression must be None, 'zstd' or 'zstd:1' to"):
        view.to_mds(tmp_path / "out", compression=value)


def test_shards_of_four_gibibytes_are_refused(view, tmp_path):
    with pytest.raises(OptionError, match="shard_bytes must be positive and less than 4 GiB"):
        view.to_mds(tmp_path / "out", shard_bytes="4GiB")


def test_views_without_rows_keep_their_types(view, ingest, tmp_path):
    again = ingest(view[:0].to_mds(tmp_path / "out"))
    assert len(again) == 0
    assert_same(again, view[:0])


# ---- damage


def test_bad_samples_are_reported_or_skipped(tmp_path, ingest):
    def make(n):
        return {"s": b"\xff" if n == 4 else f"{n}".encode(), "j": b"{" if n == 6 else b"1"}

    folder = write(tmp_path, 8, {"s": "str", "j": "json"}, make)
    with pytest.raises(InvalidValueError, match=r"shard\.00000\.mds, row 4: s must be UTF-8 text"):
        ingest(folder)
    ds = ingest(folder, on_error="skip")
    assert ds["s"][:] == ["0", "1", "2", "3", "5", "7"]
    assert [s.path for s in ds.ingested.skipped] == [
        "shard.00000.mds, row 4", "shard.00000.mds, row 6"
    ]  # fmt: skip


def edit(folder, **changes):
    index = json.loads((folder / "index.json").read_text())
    index["shards"][0].update(changes)
    (folder / "index.json").write_text(json.dumps(index))


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        (
            {"raw_data": {"basename": "../x", "bytes": 9}},
            InvalidValueError,
            "files in its own folder",
        ),
        ({"raw_data": {"basename": "x", "bytes": 9}}, NotFoundError, "lists the missing file"),
        ({"samples": 2**60}, InvalidValueError, "'samples' is 1152921504606846976"),
        ({"samples": 2**31}, InvalidValueError, "must be a complete MDS file with 2,147,483,648"),
        ({"samples": 3}, InvalidValueError, "must be a complete MDS file with 3 samples"),
        ({"column_names": ["a", "a"]}, InvalidValueError, "'column_names' is"),
        ({"column_encodings": ["int", "nothing"]}, SchemaError, "must be one of ndarray, uint8"),
        ({"column_encodings": ["int", "ndarray:u8:1"]}, SchemaError, "must be one of ndarray"),
        ({"format": "csv"}, InvalidValueError, "'format' is 'csv'"),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, dict) else "",
)
def test_wrong_indexes_are_refused(tmp_path, ingest, changes, error, message):
    folder = write(tmp_path, 2, {"i": "int", "s": "str"})
    edit(folder, **changes)
    with pytest.raises(error, match=message):
        ingest(folder)


def test_folders_without_an_index_are_refused(tmp_path, ingest):
    with pytest.raises(NotFoundError, match=r"There is no index\.json in"):
        ingest(tmp_path)
    for content in ("[1]", "{", "[" * 100_000, '{"shards": 3}'):
        (tmp_path / "index.json").write_text(content)
        with pytest.raises(InvalidValueError, match=r"must be a JSON|must be an index"):
            ingest(tmp_path)


def test_damaged_files_raise_only_our_errors_or_yield_right_rows(view, tmp_path, ingest):
    rng = random.Random(0)
    small = view[["text", "n", "json", "boxes", "none"]]
    plain = small.to_mds(tmp_path / "plain")
    packed = small.to_mds(tmp_path / "packed", compression="zstd")
    peer = write(tmp_path / "peer", 3, size_limit=2_000, compression="snappy")
    for folder in (plain, packed, peer):
        whole = {path: path.read_bytes() for path in folder.iterdir()}
        for _ in range(12):  # test_damaged_files.py has more
            path = rng.choice([*whole])
            path.write_bytes(damaged(whole[path], rng))
            try:
                ds = ingest(folder, on_error="skip")
            except LakeError:
                pass
            else:
                if folder is not peer and path.suffix != ".json":
                    assert len(ds) == 2
                    assert_same(ds, small)
            path.write_bytes(whole[path])


def test_rerun_adds_nothing_and_an_interrupted_one_resumes(tmp_path, new_url, monkeypatch):
    from deeplake_lite.ingest.run import Run

    folder = write(tmp_path, 3_000, {"i": "int"}, lambda n: {"i": n}, size_limit=10_000)
    write_block, calls = Run.write, []

    def failing(self, *args):
        calls.append(args)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return write_block(self, *args)

    url = new_url()
    with monkeypatch.context() as patched:
        patched.setattr(Run, "write", failing)
        with pytest.raises(KeyboardInterrupt):
            dl.from_mds(folder, url, commit_every=700, progress=False)
    ds = dl.from_mds(folder, url, progress=False)
    assert 0 < ds.ingested.added < 3_000
    assert ds["i"][:].tolist() == list(range(3_000))
    assert dl.from_mds(folder, url, progress=False).ingested.added == 0
