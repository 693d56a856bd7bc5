"""Datasets are found by the paths in their files, also by those that were written on Windows."""

import codecs
import json

import pytest

import deeplake_lite as dl
from deeplake_lite.errors import InvalidValueError
from tests.ingest.every_format import png

BOM = codecs.BOM_UTF8


def write_coco(folder, name, start=b""):
    document = {
        "images": [{"id": 1, "file_name": name, "width": 16, "height": 12}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4]}],
        "categories": [{"id": 1, "name": "cat"}],
    }
    (folder / "images" / "train").mkdir(parents=True)
    (folder / "images" / "train" / "a.png").write_bytes(png(0))
    (folder / "coco.json").write_bytes(start + json.dumps(document).encode())
    return folder / "coco.json"


@pytest.mark.parametrize("start", [b"", BOM])
@pytest.mark.parametrize("name", [r"train\a.png", r".\train\a.png", "train/a.png"])
def test_coco_images_are_found_by_their_paths_on_windows(tmp_path, new_url, name, start):
    path = write_coco(tmp_path, name, start)
    for ingest in (dl.from_coco, dl.ingest):
        ds = ingest(path, new_url(), progress=False)
        assert ds["path"][:] == [name]
        assert ds["image"][0].shape == (12, 16, 3)
    again = json.loads(ds.to_coco(tmp_path / "out.json").read_text())
    assert again["images"][0]["file_name"] == name


def test_coco_paths_of_windows_do_not_lead_outside(tmp_path, new_url):
    path = write_coco(tmp_path, r"train\..\..\secret.png")
    (tmp_path / "secret.png").write_bytes(png(1))
    with pytest.raises(InvalidValueError, match="must be inside the folder of images"):
        dl.from_coco(path, new_url(), images=tmp_path / "images", progress=False)


YAMLS = {
    "folders": "train: images\\train\nval: images\\val\nnames: [cat]\n",
    "path": "path: ..\\data\ntrain: images\\train\nval: .\\images\\val\nnames: [cat]\n",
    "absolute path": "path: C:\\data\ntrain: images\\train\nval: images\\val\nnames: [cat]\n",
    "Roboflow": "train: ..\\images\\train\nval: ..\\images\\val\nnames: [cat]\n",
    "lists": "train: train.txt\nval: val.txt\nnames: [cat]\n",
}


@pytest.mark.parametrize("start", [b"", BOM])
@pytest.mark.parametrize("yaml", YAMLS)
def test_yolo_images_are_found_by_their_paths_on_windows(tmp_path, new_url, yaml, start):
    root = tmp_path / "data"
    for split in ("train", "val"):
        for kind, name, data in (
            ("images", "a.png", png(0)),
            ("labels", "a.txt", b"0 .5 .5 .2 .2"),
        ):
            (root / kind / split).mkdir(parents=True)
            (root / kind / split / name).write_bytes(data)
        (root / f"{split}.txt").write_text(f".\\images\\{split}\\a.png\r\n")
    (root / "data.yaml").write_bytes(start + YAMLS[yaml].replace("\n", "\r\n").encode())
    ds = dl.from_yolo(root / "data.yaml", new_url(), progress=False)
    assert ds["path"][:] == ["images/train/a.png", "images/val/a.png"]
    assert [len(boxes) for boxes in ds["boxes"][:]] == [1, 1]


@pytest.mark.parametrize("path", ["../data", "../other/../data", "./", ".", ""])
@pytest.mark.parametrize("location", ["images", "./images", "../data/images", "all.txt"])
def test_paths_of_yolo_images_start_from_the_folder(tmp_path, new_url, path, location):
    root = tmp_path / "data"
    for folder in ("images", "labels", "../other"):
        (root / folder).mkdir(parents=True)
    (root / "images" / "a.png").write_bytes(png(0))
    (root / "labels" / "a.txt").write_text("0 .5 .5 .2 .2")
    (root / "all.txt").write_text("./images/a.png\n")
    (root / "data.yaml").write_text(f"path: {path}\ntrain: {location}\nnames: [cat]\n")
    ds = dl.from_yolo(root / "data.yaml", new_url(), progress=False)
    assert ds["path"][:] == ["images/a.png"]
