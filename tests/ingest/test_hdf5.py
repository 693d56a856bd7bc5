"""Datasets of HDF5 files are ingested."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import InvalidValueError, NotFoundError


@pytest.fixture
def ingest(new_url):
    return lambda path, **options: dl.from_hdf5(path, new_url(), progress=False, **options)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.h5"


def skipped(ds):
    return {s.path.partition(", ")[2]: s.reason for s in ds.ingested.skipped}


def test_datasets_of_all_kinds_are_columns(path, ingest):
    pixels = np.arange(3 * 4 * 2, dtype=">i2").reshape(3, 4, 2)
    text = h5py.string_dtype("utf-8", 3)
    compound = np.array(
        [(1, (2.5, [1, 2]), b"a"), (3, (4.5, [3, 4]), b"b"), (5, (6.5, [5, 6]), b"c")],
        [("n", "i4"), ("p", [("x", "f4"), ("v", "i1", (2,))]), ("t", text)],
    )  # fmt: skip
    with h5py.File(path, "w") as file:
        file.create_dataset("pixels", data=pixels, chunks=(2, 4, 1), compression="gzip")
        file.create_dataset("text", data=["a", "é", ""], dtype=h5py.string_dtype())
        file.create_dataset("ascii", data=np.array([b"a", b"bc", b"c"]))
        file.create_dataset("words", data=[["a", "b"]] * 3, dtype=h5py.string_dtype())
        lists = file.create_dataset("lists", (3,), dtype=h5py.vlen_dtype("i2"))
        lists[0], lists[1], lists[2] = [1, 2], [], [3]
        kind = h5py.enum_dtype({"dog": 7, "cat": 3}, basetype="i1")
        file.create_dataset("kind", data=np.array([7, 3, 7], "i1"), dtype=kind)
        file["flag"] = np.array([True, False, True])
        file["z"] = np.array([1j, 2, 3])
        file["points"] = compound
        file["when"] = np.array(["2020-01-01", "NaT", "2021-01-01"], "M8[s]").astype(
            h5py.opaque_dtype("M8[s]")
        )
        file["deep/er/x"] = np.float16([1, 2, 3])
        file.create_dataset("filled", (3,), "f4", fillvalue=np.nan)
    ds = ingest(path)
    assert {f.name: f.htype for f in ds.schema} == {
        "pixels": dl.Array("int16", (4, 2)), "text": dl.Text(), "ascii": dl.Text(),
        "words": dl.Sequence(dl.Text()), "lists": dl.Array("int16", (None,)),
        "kind": dl.ClassLabel(["cat", "dog"]), "flag": dl.Scalar("bool"),
        "z": dl.Scalar("complex128"), "points.n": dl.Scalar("int32"),
        "points.p.x": dl.Scalar("float32"), "points.p.v": dl.Array("int8", (2,)),
        "points.t": dl.Text(), "when": dl.Scalar("datetime64[s]", nullable=True),
        "deep.er.x": dl.Scalar("float16"), "filled": dl.Scalar("float32"),
    }  # fmt: skip
    np.testing.assert_array_equal(ds["pixels"][:], pixels)
    assert ds["text"][:] == ["a", "é", ""]
    assert ds["words"][1] == ["a", "b"]
    assert [v.tolist() for v in ds["lists"][:]] == [[1, 2], [], [3]]
    assert [ds["kind"].names[i] for i in ds["kind"][:]] == ["dog", "cat", "dog"]
    assert ds["points.p.v"][:].tolist() == [[1, 2], [3, 4], [5, 6]]
    assert ds["points.t"][:] == ["a", "b", "c"]
    assert np.ma.getmaskarray(ds["when"][:]).tolist() == [False, True, False]
    assert np.isnan(ds["filled"][:]).all()


def test_attributes_and_values_without_axes_are_metadata(path, ingest):
    with h5py.File(path, "w") as file:
        file["g/x"] = np.zeros(2)
        file.attrs["title"] = "signals"
        file["g"].attrs["rate"] = np.float32(0.5)
        file["g/x"].attrs["unit"] = np.bytes_(b"m")
        file["g/x"].attrs["range"] = np.array([1.0, np.inf])
        file["scale"] = 5
        file["none"] = h5py.Empty("f4")
    assert ingest(path).metadata["hdf5"] == {
        "attributes": {
            "/": {"title": "signals"}, "g": {"rate": 0.5},
            "g.x": {"unit": "m", "range": [1.0, "inf"]},
        },
        "values": {"scale": 5, "none": None},
    }  # fmt: skip


def test_data_in_other_files_is_not_read(path, ingest, tmp_path):
    with h5py.File(tmp_path / "other.hdf5", "w") as other:
        other["secret"] = np.arange(2)
    (tmp_path / "raw").write_bytes(b"x" * 16)
    layout = h5py.VirtualLayout((2,), "i8")
    layout[:] = h5py.VirtualSource(tmp_path / "other.hdf5", "secret", (2,))
    with h5py.File(path, "w") as file:
        file["x"] = [1, 2]
        file["external"] = h5py.ExternalLink("other.hdf5", "/secret")
        file["soft"] = h5py.SoftLink("/external")
        file["group/loop"] = file["/"]
        file.create_virtual_dataset("virtual", layout)
        file.create_dataset("raw", (2,), "i8", external=str(tmp_path / "raw"))
        file.create_dataset("ref", (2,), h5py.ref_dtype)
        file["type"] = np.dtype("i4")
    ds = ingest(path)
    assert ds.columns == ("x",)
    assert skipped(ds) == {
        "external": "it is a link", "soft": "it is a link", "virtual": "its data is in other files",
        "raw": "its data is in other files", "ref": "object is not supported",
        "type": "it is not a dataset",
        "group/loop": "it is nested too deeply, or another path has the same group",
    }  # fmt: skip


def test_columns_are_chosen(path, ingest):
    with h5py.File(path, "w") as file:
        file["x"], file["y"], file["g/x"] = np.zeros(2), np.zeros(3), np.ones(2)
    with pytest.raises(InvalidValueError, match="'x': 2, 'y': 3"):
        ingest(path)
    assert ingest(path, columns=["x", "g.x"]).columns == ("x", "g.x")
    with pytest.raises(InvalidValueError, match="'x': 2, 'y': 3"):
        ingest(path, columns=["x", "y"])
    with pytest.raises(NotFoundError, match=r"'g\.z'"):
        ingest(path, columns=["g.z"])


def test_several_files_follow_each_other(tmp_path, ingest):
    for number in range(2):
        with h5py.File(tmp_path / f"{number}.h5", "w") as file:
            file["x"] = np.arange(number, number + 2)
    assert ingest(tmp_path)["x"][:].tolist() == [0, 1, 1, 2]
    assert ingest(str(tmp_path / "*.h5"), on=None)["x"][:].tolist() == [0, 1, 1, 2]


def test_values_outside_an_enumeration_and_text_that_is_not_utf8_are_refused(path, ingest):
    with h5py.File(path, "w") as file:
        kind = h5py.enum_dtype({"a": 0}, basetype="i1")
        file.create_dataset("e", data=np.array([0, 5], "i1"), dtype=kind)
        file.create_dataset("t", data=np.array([b"a", b"\xff"]))
    with pytest.raises(InvalidValueError, match=r"a\.h5, row 1: must be a value of the enum.* 5\."):
        ingest(path, columns=["e"])
    with pytest.raises(InvalidValueError, match="row 1: must be UTF-8 text"):
        ingest(path, columns=["t"])


def test_an_interrupted_run_resumes(path, new_url, monkeypatch):
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=np.arange(20_000), chunks=(777,), compression="gzip")
    from deeplake_lite.ingest.run import Run

    write, calls, url = Run.write, [], new_url()

    def failing(self, *args):
        calls.append(args)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return write(self, *args)

    with monkeypatch.context() as patched:
        patched.setattr(Run, "write", failing)
        with pytest.raises(KeyboardInterrupt):
            dl.from_hdf5(path, url, commit_every=1_000, progress=False)
    ds = dl.from_hdf5(path, url, progress=False)
    assert ds["x"][:].tolist() == list(range(20_000))
    assert ds.ingested.added < 20_000
    assert dl.from_hdf5(path, url, progress=False).ingested.added == 0


@pytest.mark.parametrize("size", [0, 8, 2**64 - 16, 2**64 - 1])
@pytest.mark.parametrize("is_free", [True, False])
def test_damaged_heaps_are_refused_before_the_library_hangs(path, ingest, size, is_free):
    with h5py.File(path, "w") as file:
        file["t"] = ["one", "two", "three"]
        file.attrs["unit"] = "K"
    data = bytearray(path.read_bytes())
    at = data.index(b"GCOL") + 16
    if is_free:
        data[at : at + 2] = bytes(2)
    elif size == 8:
        size = 2**20
    elif size == 0:
        size = 2**40
    data[at + 8 : at + 16] = size.to_bytes(8, "little")
    path.write_bytes(data)
    with pytest.raises(InvalidValueError, match="a heap of strings is damaged at byte"):
        ingest(path)


CLAIM = 2**31
"""A length that is much larger than the file."""


@pytest.mark.parametrize(
    ("kind", "version"),
    [
        ("attribute", "earliest"),  # the latest version has checksums of attributes
        *((kind, v) for kind in ("contiguous", "chunked", "lists") for v in ("earliest", "latest")),
    ],
)
def test_claims_of_huge_lengths_are_refused_before_the_library_allocates(
    path, ingest, kind, version
):
    text, lists = h5py.string_dtype(), h5py.vlen_dtype("int64")
    with h5py.File(path, "w", libver=version) as file:
        file["n"] = [1, 2]
        file.attrs["description"] = "a file of a few values"
        if kind == "attribute":
            file["n"].attrs.create("unit", "kelvin", dtype=text)
            file["n"].attrs.create("units", ["kelvin", "metre"], dtype=text)
        elif kind == "lists":
            file.create_dataset("x", data=[np.arange(6), np.arange(2)], dtype=lists)
        else:
            chunks = (1,) if kind == "chunked" else None
            file.create_dataset("x", data=["kelvin", "b"], dtype=text, chunks=chunks)
    assert ingest(path).columns
    data = path.read_bytes()
    heap = data.index(b"GCOL")
    reference = (6).to_bytes(4, "little") + heap.to_bytes(8, "little")
    at = data.index(reference)
    path.write_bytes(data[:at] + CLAIM.to_bytes(4, "little") + data[at + 4 :])
    with pytest.raises(InvalidValueError, match=r"claims a value of .* bytes, but has only"):
        ingest(path)


@pytest.mark.parametrize("version", ["earliest", "latest"])
def test_strings_of_all_layouts_are_read(path, ingest, version):
    values, text = [f"value {n}" for n in range(5)], h5py.string_dtype()
    with h5py.File(path, "w", libver=version, userblock_size=512) as file:
        file.create_dataset("chunked", data=values, chunks=(2,), dtype=text)
        file.create_dataset("packed", data=values, chunks=(2,), dtype=text, compression="gzip")
        file.create_dataset("unit", data=values, dtype=text)
        file["empty"] = h5py.Empty("f8")
        for name in ("unit", "empty"):
            file[name].attrs["unit"] = "K"
            file[name].attrs["none"] = h5py.Empty(text)
    ds = ingest(path)
    assert all(ds[name][:] == values for name in ("chunked", "packed", "unit"))
    assert ds.metadata["hdf5"]["attributes"]["unit"]["unit"] == "K"


def test_files_of_another_kind_are_refused(path, ingest):
    path.write_bytes(b"what")
    with pytest.raises(InvalidValueError, match="cannot be read"):
        ingest(path)


def test_files_of_all_suffixes_are_found(tmp_path, new_url):
    for n, name in enumerate(["a.h5", "b.HDF5", "c.he5", "d.H5", "e.hdf"]):
        with h5py.File(tmp_path / name, "w") as file:
            file["x"] = [n]
    for read in (dl.from_hdf5, dl.ingest):
        assert read(tmp_path, new_url(), progress=False)["x"][:].tolist() == [0, 1, 2, 3, 4]
