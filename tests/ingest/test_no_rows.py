"""Exports without rows can be read back."""

import warnings

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import ExportWarning
from tests.ingest.every_format import FORMATS

OTHERS = {"csv", "huggingface", "npz", "npy", "hdf5", "zarr", "idx", "folder"}
"""Formats that an export of this package does not write, or writes with another package."""


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in OTHERS])
def test_exports_without_rows_are_read_back(name, tmp_path, new_url):
    form = FORMATS[name]
    ds = form.ingest(form.write(tmp_path / "data", 0), new_url(), progress=False)
    assert len(ds) == 0
    assert form.column in ds.columns


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
