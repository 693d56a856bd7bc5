"""Arrays of NumPy's files are ingested, and written again."""

from __future__ import annotations

import io
import os
import warnings
import zipfile
from uuid import uuid4

import numpy as np
import pytest
from hypothesis import given, settings
from PIL import Image as PillowImage

import deeplake_lite as dl
from deeplake_lite.errors import InvalidValueError, NotFoundError
from deeplake_lite.testing import strategies


@pytest.fixture
def ingest(new_url):
    return lambda files, **options: dl.from_numpy(files, new_url(), progress=False, **options)


@pytest.fixture
def npz(tmp_path):
    """Write an npz file."""

    def npz(to="a.npz", compress=False, **arrays):
        (np.savez_compressed if compress else np.savez)(tmp_path / to, **arrays)
        return tmp_path / to

    return npz


# ---- npz files


@pytest.mark.parametrize("compress", [False, True])
def test_arrays_of_an_npz_file_are_columns(npz, ingest, compress):
    arrays = {
        "image": np.arange(2 * 10_000 * 3, dtype=">u2").reshape(10_000, 2, 3),
        "label": np.arange(10_000),
        "name": np.array([f"é{i}" for i in range(10_000)]),
        "raw": np.array([b"a", b"bc"] * 5_000),
        "when": np.array(["2020-01-01", "NaT"] * 5_000, "M8[D]"),
        "columns": np.asfortranarray(np.arange(40_000.0).reshape(10_000, 4)),
        "empty": np.zeros((10_000, 0), "f4"),
        "words": np.array([["a", "b"]] * 10_000),
    }
    ds = ingest(npz(**arrays, scale=0.5, note=np.array("x"), compress=compress))
    assert {f.name: f.htype for f in ds.schema} == {
        "image": dl.Array("uint16", (2, 3)), "label": dl.Scalar("int64"), "name": dl.Text(),
        "raw": dl.Bytes(), "when": dl.Scalar("datetime64[D]", nullable=True),
        "columns": dl.Array("float64", (4,)), "empty": dl.Array("float32", (None,)),
        "words": dl.Sequence(dl.Text()),
    }  # fmt: skip
    for name in ("image", "label", "columns"):
        np.testing.assert_array_equal(ds[name][:], arrays[name])
    assert ds["name"][:] == arrays["name"].tolist()
    assert [bytes(v) for v in ds["raw"][:2]] == [b"a", b"bc"]
    assert np.ma.getmaskarray(ds["when"][:2]).tolist() == [False, True]
    assert ds["words"][9_999] == ["a", "b"]
    assert ds.metadata["numpy"] == {"scale": 0.5, "note": "x"}


def test_several_npz_files_follow_each_other(npz, ingest, tmp_path):
    npz("a.npz", x=np.array([1, 2], "int8"), y=np.zeros((2, 3)))
    npz("b.npz", x=np.array([300], "int16"), y=np.ones((1, 2)))
    ds = ingest(tmp_path / "*.npz")
    assert ds["x"][:].tolist() == [1, 2, 300]
    assert [row.shape for row in ds["y"][:]] == [(3,), (3,), (2,)]
    npz("c.npz", x=np.array(["a"]), y=np.ones((1, 2)))
    with pytest.raises(dl.SchemaError, match="must have the same type"):
        ingest(tmp_path / "*.npz")
    npz("c.npz", z=np.array([1]))
    with pytest.raises(InvalidValueError, match="All parts must have the same columns"):
        ingest(tmp_path)


def test_arrays_of_different_lengths_are_named(npz, ingest):
    with pytest.raises(InvalidValueError, match="'x': 2, 'y': 3"):
        ingest(npz(x=np.zeros(2), y=np.zeros(3)))
    with pytest.raises(InvalidValueError, match="has none"):
        ingest(npz(x=np.array(1)))


def test_declared_types_apply(npz, ingest):
    path = npz(image=np.zeros((2, 4, 4), "u1"), label=np.array(["b", "a"]), n=np.array([0, 1]))
    schema = {"image": dl.Image("png"), "label": "class_label", "n": dl.ClassLabel(["x", "y"])}
    ds = ingest(path, schema=schema)
    assert ds["label"].names == ("a", "b")
    assert ds["image"][0].shape == (4, 4)
    assert ds["n"][:].tolist() == [0, 1]


# ---- npy files


def test_npy_files_are_columns(tmp_path, ingest):
    np.save(tmp_path / "image.npy", np.asfortranarray(np.arange(24).reshape(4, 2, 3)))
    np.save(tmp_path / "label.npy", np.arange(4, dtype="i1"))
    one = ingest(tmp_path / "image.npy")
    assert one.columns == ("image",)
    np.testing.assert_array_equal(one["image"][:], np.arange(24).reshape(4, 2, 3))
    both = ingest(tmp_path / "*.npy")
    assert both.columns == ("image", "label")
    named = ingest({"x": tmp_path / "image.npy", "y": tmp_path / "label.npy"})
    assert named.columns == ("x", "y")
    assert named["y"][:].tolist() == [0, 1, 2, 3]


def test_fields_of_structures_are_columns(tmp_path, ingest):
    dtype = np.dtype([("p", [("x", "f4"), ("ü", "i2", (2,))]), ("n", "U3")])
    array = np.zeros(3, dtype)
    array["p"]["ü"] = [[1, 2], [3, 4], [5, 6]]
    array["n"] = ["a", "b", "c"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that are not Latin-1
        np.save(tmp_path / "r.npy", array)
        np.savez(tmp_path / "r.npz", r=array)
    ds = ingest(tmp_path / "r.npy")
    assert ds.columns == ("p.x", "p.ü", "n")
    assert ds["p.ü"][:].tolist() == [[1, 2], [3, 4], [5, 6]]
    ds = ingest(tmp_path / "r.npz")
    assert ds.columns == ("r.p.x", "r.p.ü", "r.n")
    assert ds["r.n"][:] == ["a", "b", "c"]


def test_objects_are_never_unpickled(tmp_path, npz, ingest):
    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "harm"),)

    np.save(tmp_path / "x.npy", np.array([Evil()], object), allow_pickle=True)
    for path in (tmp_path / "x.npy", npz(x=np.array([Evil(), None], object))):
        with pytest.raises(InvalidValueError, match="must not contain Python objects"):
            ingest(path)
    assert not (tmp_path / "harm").exists()


def test_claims_of_headers_are_checked(tmp_path, ingest):
    def header(shape):
        file = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<f8", "fortran_order": False, "shape": shape}
        )
        return file.getvalue()

    for shape in [(2**60,), (3, 2**40), (2**50, 0), (-1,), (2**61, 2**61)]:
        (tmp_path / "x.npy").write_bytes(header(shape))
        with pytest.raises(InvalidValueError, match=r"x\.npy"):
            ingest(tmp_path / "x.npy")
        with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
            archive.write(tmp_path / "x.npy", "x.npy")
        with pytest.raises(InvalidValueError, match=r"x\.npz"):
            ingest(tmp_path / "x.npz")
    np.save(tmp_path / "x.npy", np.zeros((1, 2**20), "u1"))
    with pytest.raises(dl.TooLargeError, match="column 'x'"):
        ingest(tmp_path / "x.npy", limits=dl.Limits(max_bytes=2**19))


def test_files_without_arrays_are_refused(tmp_path, ingest):
    with pytest.raises(NotFoundError):
        ingest(tmp_path / "no.npy")
    (tmp_path / "x.npy").write_bytes(b"what")
    with pytest.raises(InvalidValueError, match="is not an npz file"):
        ingest(tmp_path / "x.npy")
    np.save(tmp_path / "x.npy", np.array(1))
    with pytest.raises(InvalidValueError, match="axis for rows"):
        ingest(tmp_path / "x.npy")
    np.savez(tmp_path / "y.npz", x=np.zeros(1))
    with zipfile.ZipFile(tmp_path / "y.npz", "a") as archive:
        archive.writestr("README", "x")
    assert [str(s) for s in ingest(tmp_path / "y.npz").ingested.skipped] == [
        "y.npz, README: it is not an npy file"
    ]


def test_second_run_adds_nothing_and_an_interrupted_one_resumes(npz, new_url, monkeypatch):
    url, path = new_url(), npz(x=np.arange(20_000), y=np.zeros((20_000, 3)), compress=True)
    from deeplake_lite.ingest.run import Run

    write, calls = Run.write, []

    def failing(self, *args):
        calls.append(args)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return write(self, *args)

    with monkeypatch.context() as patched:
        patched.setattr(Run, "write", failing)
        with pytest.raises(KeyboardInterrupt):
            dl.from_numpy(path, url, commit_every=1_000, progress=False)
    ds = dl.from_numpy(path, url, progress=False)
    assert ds["x"][:].tolist() == list(range(20_000))
    assert ds.ingested.added < 20_000
    assert dl.from_numpy(path, url, progress=False).ingested.added == 0


# ---- export


def cells_of(ds, name):
    return ds.handle.table.digests(ds.schema[name].id, np.arange(len(ds))).tolist()


@settings(max_examples=30, deadline=None)
@given(table=strategies.tables())
def test_export_is_ingested_as_the_same_cells(table, tmp_path_factory):
    schema, rows = table
    ds = dl.create(f"memory://{uuid4().hex}", schema)
    ds.append(rows)
    ds.commit("rows")
    path = tmp_path_factory.getbasetemp() / f"{uuid4().hex}.npz"
    for images in ("files", "pixels"):
        ds.to_numpy(path, images=images, compress=images == "files")
        again = dl.from_numpy(path, f"memory://{uuid4().hex}", progress=False)
        assert again.columns == ds.columns
        for name in ds.columns:
            assert again.schema[name].htype == ds.schema[name].htype
            assert cells_of(again, name) == cells_of(ds, name), (name, images)
        with np.load(path, allow_pickle=False) as arrays:
            mine = ds.to_numpy(images=images)
            assert arrays.keys() - mine.keys() == {"deeplake_lite"}
            for name, array in mine.items():
                np.testing.assert_array_equal(array, arrays[name])
                assert array.dtype == arrays[name].dtype


def test_export_has_arrays_that_other_programs_understand(make_lake, tmp_path):
    schema = {
        "image": dl.Image("jpeg"), "label": dl.ClassLabel(["cat", "dog"], nullable=True),
        "boxes": dl.Boxes(), "t": "text", "x": dl.Scalar("float32", nullable=True),
        "any": dl.Array("int8", (None, None)),
    }  # fmt: skip
    ds = make_lake(
        schema, image=[np.zeros((4, 6, 3), "u1")] * 2, label=["dog", None],
        boxes=[np.zeros((2, 4)), np.zeros((0, 4))], t=["é", "ab"], x=[1.5, None],
        any=[np.ones((2, 3), "i1"), np.zeros((1, 1), "i1")],
    )  # fmt: skip
    arrays = ds.to_numpy()
    assert arrays["image"].shape == (2, 4, 6, 3)
    assert arrays["label"].tolist() == [1, -1]
    assert arrays["label_valid"].tolist() == [True, False]
    assert arrays["label_names"].tolist() == ["cat", "dog"]
    assert (arrays["boxes"].shape, arrays["boxes_offsets"].tolist()) == ((2, 4), [0, 2, 2])
    assert arrays["t"].tolist() == ["é", "ab"]
    np.testing.assert_array_equal(arrays["x"], [1.5, np.nan])
    assert arrays["any_shapes"].tolist() == [[2, 3], [1, 1]]
    files = ds.to_numpy(images="files")
    assert files["image"][: files["image_offsets"][1]].tobytes() == bytes(ds["image"].encoded()[0])
    a, b = ds.to_numpy(tmp_path / "a.npz"), ds.to_numpy(tmp_path / "b.npz")
    assert a.read_bytes() == b.read_bytes()
    back = dl.from_numpy(a, "memory://numpy-understood", progress=False)
    assert back.schema["image"].htype == dl.Image("png")
    np.testing.assert_array_equal(back["image"][0], ds["image"][0])


def test_long_strings_and_a_nul_at_the_end_are_bytes(make_lake, tmp_path, new_url):
    texts = ["x" * 100_000, *"abcdefghijklmnopqrstuvwxyz" * 4, "nul\0"]
    ds = make_lake({"t": "text"}, t=texts)
    arrays = ds.to_numpy()
    assert arrays["t"].dtype == np.uint8
    again = dl.from_numpy(ds.to_numpy(tmp_path / "a.npz"), new_url(), progress=False)
    assert again["t"][:] == texts


def test_exports_that_would_be_wrong_are_refused(make_lake, tmp_path):
    ds = make_lake(
        {"x": dl.Scalar("int8", nullable=True), "x_valid": "bool"}, x=[1], x_valid=[True]
    )
    with pytest.raises(dl.SchemaError, match="need the name 'x_valid'"):
        ds.to_numpy(tmp_path / "a.npz")
    assert not (tmp_path / "a.npz").exists()

    def png(mode):
        file = io.BytesIO()
        PillowImage.new(mode, (2, 2)).save(file, "png")
        return file.getvalue()

    ds = make_lake({"image": dl.Image("png")}, image=[png("L"), png("I;16")])
    with pytest.raises(InvalidValueError, match="row 1 has uint16, and the rows before"):
        ds.to_numpy()
    assert ds.to_numpy(images="files")["image"].dtype == np.uint8


@pytest.mark.parametrize("pattern", ["{name}_{split}", "{split}_{name}"])
def test_splits_in_the_names_of_arrays_are_a_column(tmp_path, new_url, pattern):
    arrays = {
        pattern.format(name=name, split=split): np.arange(rows)
        for split, rows in (("test", 1), ("train", 3)) for name in ("x", "y")
    }  # fmt: skip
    np.savez(tmp_path / "mnist.npz", **arrays)
    ds = dl.ingest(tmp_path / "mnist.npz", new_url(), progress=False)
    assert ds["x"][:].tolist() == ds["y"][:].tolist() == [0, 1, 2, 0]
    assert (ds["split"].names, ds["split"][:].tolist()) == (("train", "test"), [0, 0, 0, 1])
    some = dl.from_numpy(tmp_path / "mnist.npz", new_url(), columns=["y"], progress=False)
    assert (some.schema.names, len(some)) == (("y", "split"), 4)
    name = pattern.format(name="x", split="test")
    one = dl.from_numpy(tmp_path / "mnist.npz", new_url(), columns=[name], progress=False)
    assert (one.schema.names, len(one)) == ((name,), 1)
    with pytest.raises(NotFoundError, match="'z'"):
        dl.from_numpy(tmp_path / "mnist.npz", new_url(), columns=["z"])


def test_arrays_of_different_lengths_need_columns(tmp_path, new_url):
    np.savez(tmp_path / "a.npz", x_train=np.arange(3), x_test=np.arange(2), y_train=np.arange(3))
    with pytest.raises(InvalidValueError, match="columns="):
        dl.from_numpy(tmp_path / "a.npz", new_url())
