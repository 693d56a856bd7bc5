"""Exports without rows can be read back."""

import warnings

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import ExportWarning
from tests.ingest.every_format import FORMATS, annotated, png, table

OTHERS = {"csv", "huggingface", "npz", "npy", "hdf5", "zarr", "idx", "folder"}
"""Formats that an export of this package does not write, or writes with another package."""


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in OTHERS])
def test_exports_without_rows_are_read_back(name, tmp_path, new_url):
    form = FORMATS[name]
    path = form.write(tmp_path / "data", 0)
    for ingest in (form.ingest, dl.ingest):  # dl.ingest recognises them, too
        ds = ingest(path, new_url(), progress=False)
        assert len(ds) == 0
        assert form.column in ds.columns


EXPORTS = {
    "to_lance", "to_deeplake",  # in tests/apart/test_lakes.py
    "to_arrow", "to_pandas", "to_polars", "to_xarray", "to_huggingface",  # below
    "to_folder",  # not recognised by design, as the CSV file may hold labels
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::deeplake_lite.errors.ExportWarning")
def test_files_without_rows_are_recognised_by_any_name(tmp_path, new_url):
    empty = annotated(0)
    for path in (
        empty.to_labelstudio(tmp_path / "labels.json"),
        empty.to_coco(tmp_path / "coco.json"),
        empty.to_cvat(tmp_path / "cvat.zip"),
        empty.to_cvat(tmp_path / "cvat.xml"),
    ):
        assert len(dl.ingest(path, new_url(), progress=False)) == 0


def test_images_are_not_lost_to_files_without_rows(tmp_path, new_url):
    (tmp_path / "a.png").write_bytes(png(0))
    (tmp_path / "tasks.json").write_text("[]")
    assert len(dl.ingest(tmp_path, new_url(), progress=False)) == 1  # a folder of images
    for name in ("Annotations", "JPEGImages"):
        (tmp_path / "voc" / name).mkdir(parents=True)
    (tmp_path / "voc" / "labelmap.txt").write_text("")
    (tmp_path / "voc" / "JPEGImages" / "a.png").write_bytes(png(0))
    assert len(dl.ingest(tmp_path / "voc", new_url(), progress=False)) == 1


def test_every_export_is_tested():
    exports = {name for name in dir(dl.View) if name.startswith("to_")}
    assert exports - EXPORTS == {f"to_{name}" for name in FORMATS if name not in OTHERS} - {
        "to_mds, compressed", "to_litdata, compressed"
    }  # fmt: skip


@pytest.mark.parametrize("method", ["to_arrow", "to_pandas", "to_polars", "to_huggingface"])
def test_objects_without_rows_are_recognised(method, new_url):
    empty = table(0)
    ds = dl.ingest(getattr(empty, method)(), new_url(), progress=False)
    assert (len(ds), ds.columns) == (0, empty.columns)


def test_arrays_without_rows_are_recognised(new_url):
    empty = table(0, "n", "vector")
    ds = dl.ingest(empty.to_xarray(), new_url(), progress=False)
    assert (len(ds), ds.columns) == (0, (*empty.columns, "row_id"))


def test_folders_without_rows_are_read_back(tmp_path, new_url):
    folder = annotated(0).to_folder(tmp_path / "out")
    ds = dl.from_folder(folder, new_url(), labels=folder / "metadata.csv", progress=False)
    assert len(ds) == 0
    assert "image" in ds.columns


@pytest.mark.parametrize("task", ["detect", "segment", "obb", "pose"])
@pytest.mark.parametrize("rows", [0, 1])
def test_yolo_datasets_without_objects_keep_their_task(task, rows, tmp_path, new_url):
    schema = {
        "image": dl.Image("png"),
        "boxes": dl.Boxes("xyxy"),
        "labels": dl.Sequence(dl.ClassLabel(["cat"])),
        "segmentation": dl.Sequence(dl.Polygons()),
        "keypoints": dl.Keypoints(["eye"]),
    }
    ds = dl.create(new_url(), schema)
    if rows:
        ds.append({"image": [np.zeros((4, 4), "u1")], "boxes": [np.zeros((0, 4))], "labels": [[]],
                   "segmentation": [[]], "keypoints": [np.zeros((0, 1, 3))]})  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExportWarning)
        path = ds.to_yolo(tmp_path / "out", task=task)
    back = dl.from_yolo(path, new_url(), progress=False)
    assert len(back) == rows
    assert ("segmentation" in back.columns) == (task in ("segment", "obb"))
    assert ("keypoints" in back.columns) == (task == "pose")
    assert "yolo" not in back.metadata
