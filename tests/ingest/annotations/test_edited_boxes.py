"""An edited box of an object that has another shape is reported by exports that cannot hold it."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from PIL import Image as PillowImage

import deeplake_lite as dl
from deeplake_lite.errors import ExportWarning

SHAPES = {
    "polygon": '<polygon label="dog" occluded="1" points="1,2;30,2;10,30" z_order="1"/>',
    "rotated": '<box label="dog" xtl="5" ytl="5" xbr="20" ybr="15" rotation="30.0" z_order="0"/>',
}


@pytest.fixture
def cvat(tmp_path, new_url):
    """Ingest a file of CVAT with one shape."""

    def cvat(shape):
        image = f'<image id="0" name="a.jpg" width="64" height="48">{SHAPES[shape]}</image>'
        path = tmp_path / "c.xml"
        path.write_text(f"<annotations><version>1.1</version>{image}</annotations>")
        return dl.from_cvat(path, new_url(), images=False, progress=False)

    return cvat


EXPORTS = {"to_cvat": "o.xml", "to_labelstudio": "o.json", "to_fiftyone": "o"}


@pytest.mark.parametrize("method", EXPORTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_edited_box_is_reported(cvat, tmp_path, shape, method):
    ds = cvat(shape)
    ds["boxes"][0] = [[40, 30, 60, 45]]
    ds.commit("moved")
    with pytest.warns(ExportWarning, match="the box of 1 object is replaced by the bounding"):
        getattr(ds, method)(tmp_path / EXPORTS[method])


@pytest.mark.parametrize("shape", SHAPES)
def test_unedited_objects_are_written_again_without_a_warning(cvat, tmp_path, shape):
    ds = cvat(shape)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ExportWarning)
        ds.to_cvat(tmp_path / "o.xml")


def test_edited_box_of_a_rotated_region_of_label_studio_is_reported(tmp_path, new_url):
    value = {
        "x": 25,
        "y": 50,
        "width": 50,
        "height": 25,
        "rotation": 20,
        "rectanglelabels": ["cat"],
    }
    size = {"original_width": 64, "original_height": 48}
    result = {"type": "rectanglelabels", "from_name": "label", "value": value, **size}
    task = {"data": {"image": "a.jpg"}, "annotations": [{"result": [result]}]}
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps([task]))
    ds = dl.from_labelstudio(path, new_url(), images=False, progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ExportWarning)
        ds.to_labelstudio(tmp_path / "same.json")
    ds["boxes"][0] = [[1, 1, 9, 9]]
    with pytest.warns(ExportWarning, match="the box of 1 object is replaced by the bounding"):
        ds.to_labelstudio(tmp_path / "o.json")


def test_edited_box_beside_an_outline_is_reported_by_yolo(tmp_path, new_url):
    root = tmp_path / "data"
    for folder in ("images", "labels"):
        (root / folder).mkdir(parents=True)
    PillowImage.new("RGB", (64, 48)).save(root / "images" / "a.png")
    (root / "labels" / "a.txt").write_text("0 0.1 0.1 0.5 0.1 0.5 0.5")
    (root / "data.yaml").write_text("train: images\nnames: [cat]")
    ds = dl.from_yolo(root, new_url(), progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ExportWarning)
        ds.to_yolo(tmp_path / "same")
    ds["boxes"][0] = np.float32([[0.5, 0.5, 0.1, 0.1]])
    with pytest.warns(ExportWarning, match="the box of 1 object does not fit its outline"):
        ds.to_yolo(tmp_path / "moved")
