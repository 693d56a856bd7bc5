"""Arrays of Zarr groups are ingested."""

from __future__ import annotations

import json
import os

import numcodecs
import numpy as np
import pytest
import zarr

import deeplake_lite as dl
from deeplake_lite.errors import InvalidValueError, LakeError, NotFoundError, OptionError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of Zarr: formats may change


@pytest.fixture
def ingest(new_url):
    return lambda group, **options: dl.from_zarr(group, new_url(), progress=False, **options)


@pytest.mark.parametrize("format_", [2, 3])
def test_arrays_of_both_formats_are_columns(tmp_path, ingest, format_):
    group = zarr.open_group(tmp_path / "a.zarr", mode="w", zarr_format=format_)
    group.create_array("x", data=np.arange(12, dtype="f4").reshape(3, 4), chunks=(2, 2))
    group.create_array("filled", shape=(3,), dtype="i2", fill_value=7)
    group.create_array("nan", shape=(3,), dtype="f8", fill_value=np.nan)
    group.create_array("when", data=np.array(["2020-01-01", "NaT", "2021-01-01"], "M8[s]"))
    text = group.create_array("text", shape=(3,), dtype=str)
    text[:] = np.array(["a", "é", ""], object)
    nested = group.create_group("g")
    nested.create_array("y", data=np.array([True, False, True]))
    group.create_array("scale", data=np.array(0.5))
    group.attrs["title"] = "a"
    nested["y"].attrs["unit"] = "m"
    for source in (tmp_path / "a.zarr", zarr.open_group(tmp_path / "a.zarr", mode="r")):
        ds = ingest(source)
        assert {f.name: f.htype for f in ds.schema} == {
            "filled": dl.Scalar("int16"), "nan": dl.Scalar("float64"), "text": dl.Text(),
            "when": dl.Scalar("datetime64[s]", nullable=True), "x": dl.Array("float32", (4,)),
            "g.y": dl.Scalar("bool"),
        }  # fmt: skip
        assert ds["x"][:].tolist() == np.arange(12).reshape(3, 4).tolist()
        assert ds["filled"][:].tolist() == [7] * 3
        assert np.isnan(ds["nan"][:]).all()
        assert ds["text"][:] == ["a", "é", ""]
        assert ds["g.y"][:].tolist() == [True, False, True]
        assert ds.metadata["zarr"] == {
            "attributes": {"/": {"title": "a"}, "g.y": {"unit": "m"}}, "values": {"scale": 0.5},
        }  # fmt: skip


def test_a_single_array_is_a_column(tmp_path, ingest):
    zarr.save_array(tmp_path / "x.zarr", np.arange(3))
    assert ingest(tmp_path / "x.zarr")["values"][:].tolist() == [0, 1, 2]


def test_columns_are_chosen(tmp_path, ingest):
    group = zarr.open_group(tmp_path / "a.zarr", mode="w")
    group.create_array("x", data=np.zeros(2))
    group.create_array("y", data=np.zeros(3))
    with pytest.raises(InvalidValueError, match="'x': 2, 'y': 3"):
        ingest(tmp_path / "a.zarr")
    assert ingest(tmp_path / "a.zarr", columns=["y"]).columns == ("y",)
    with pytest.raises(NotFoundError, match="'z'"):
        ingest(tmp_path / "a.zarr", columns=["z"])
    with pytest.raises(NotFoundError, match="no Zarr group"):
        ingest(tmp_path / "b.zarr")
    with pytest.raises(OptionError, match="must be a zarr"):
        ingest(3)


def test_objects_are_never_unpickled(tmp_path, ingest):
    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "harm"),)

    folder = tmp_path / "a.zarr" / "x"
    folder.mkdir(parents=True)
    (tmp_path / "a.zarr" / ".zgroup").write_text('{"zarr_format": 2}')
    codec = numcodecs.Pickle()
    meta = {
        "zarr_format": 2, "shape": [1], "chunks": [1], "dtype": "|O", "order": "C",
        "compressor": None, "fill_value": None, "filters": [codec.get_config()],
    }  # fmt: skip
    (folder / ".zarray").write_text(json.dumps(meta))
    (folder / "0").write_bytes(codec.encode(np.array([Evil()], object)))
    with pytest.raises(LakeError):
        ingest(tmp_path / "a.zarr")
    assert not (tmp_path / "harm").exists()


def test_second_run_adds_nothing(tmp_path, new_url):
    zarr.save_group(tmp_path / "a.zarr", x=np.arange(9_000))
    url = new_url()
    dl.from_zarr(tmp_path / "a.zarr", url, commit_every=4_000, progress=False)
    ds = dl.from_zarr(tmp_path / "a.zarr", url, progress=False)
    assert (len(ds), ds.ingested.added) == (9_000, 0)


@pytest.mark.parametrize("format_", [2, 3])
def test_zip_files_are_read(tmp_path, new_url, format_):
    path = tmp_path / "a.zip"
    with zarr.storage.ZipStore(path, mode="w") as store:
        group = zarr.create_group(store, zarr_format=format_)
        group.create_array("x", data=np.arange(6))
    before = path.read_bytes()
    for read in (dl.from_zarr, dl.ingest):
        assert read(path, new_url(), progress=False)["x"][:].tolist() == [*range(6)]
    assert path.read_bytes() == before
    path.write_bytes(before[:100])
    with pytest.raises(InvalidValueError, match="cannot be read"):
        dl.from_zarr(path, new_url())
