"""Labels beside images are recognised or named, and never dropped."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
import xarray as xr
from PIL import Image as PillowImage

import deeplake_lite as dl
from deeplake_lite.errors import InvalidValueError, OptionError
from deeplake_lite.ingest.detection.api import recognise
from deeplake_lite.ingest.detection.formats import FORMATS


def coco(name="a.jpg"):
    return json.dumps({
        "images": [{"id": 1, "file_name": name, "width": 8, "height": 8}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 4, 4]}],
        "categories": [{"id": 1, "name": "cat"}],
    })  # fmt: skip


LINE = "0 .5 .5 .1 .1\n"

LAYOUTS = {
    "Label Studio's COCO": ("from_coco", {
        "result.json": coco("images/a.jpg"), "images/a.jpg": None}),
    "FiftyOne's COCO": ("from_coco", {"labels.json": coco(), "data/a.jpg": None}),
    "FiftyOne's COCO splits": ("from_coco", {
        "train/labels.json": coco(), "train/data/a.jpg": None,
        "val/labels.json": coco("b.jpg"), "val/data/b.jpg": None}),
    "annotations and images": ("from_coco", {"annotations.json": coco(), "images/a.jpg": None}),
    "annotations beside images": ("from_coco", {"annotations.json": coco(), "a.jpg": None}),
    "any name": ("from_coco", {"export-17.json": coco(), "photos/a.jpg": None}),
    "paths of images": ("from_coco", {"x.json": coco("p/q/a.jpg"), "p/q/a.jpg": None}),
    "annotations folder": ("from_coco", {"annotations/x.json": coco(), "photos/a.jpg": None}),
    "splits by name": ("from_coco", {
        "train.json": coco(), "test.json": coco("b.jpg"),
        "images/a.jpg": None, "images/b.jpg": None}),
    "labelImg": ("from_yolo", {"a.jpg": None, "a.txt": LINE, "classes.txt": "cat\n"}),
    "labelImg with a BOM": ("from_yolo", {
        "a.jpg": None, "a.txt": "\ufeff" + LINE, "classes.txt": "\ufeffcat\r\n"}),
    "CVAT's YOLO": ("from_yolo", {
        "obj_train_data/a.jpg": None, "obj_train_data/a.txt": LINE, "obj.names": "cat\n",
        "obj.data": "classes = 1\nnames = data/obj.names\n",
        "train.txt": "data/obj_train_data/a.jpg\n"}),
    "Roboflow's Darknet": ("from_yolo", {
        "train/a.jpg": None, "train/a.txt": LINE, "train/_darknet.labels": "cat\n",
        "README.roboflow.txt": "see a.jpg"}),
}  # fmt: skip


@pytest.fixture
def put(tmp_path):
    def put(files):
        for name, content in files.items():
            path = tmp_path / "data" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                PillowImage.new("RGB", (8, 8)).save(path)
            else:
                path.write_text(content, "utf-8")
        return tmp_path / "data"

    return put


VOC = "<annotation><filename>a.jpg</filename></annotation>"
TWO_FORMATS = {
    ("COCO", "YOLO"): {"annotations.json": coco(), "images/a.jpg": None, "labels/a.txt": LINE},
    ("COCO", "PASCAL VOC"): {"annotations.json": coco(), "Annotations/a.xml": VOC, "a.jpg": None},
    ("YOLO", "PASCAL VOC"): {
        "images/a.jpg": None, "labels/a.txt": LINE, "Annotations/a.xml": VOC},
    ("YOLO", "CVAT"): {
        "images/a.jpg": None, "labels/a.txt": LINE, "annotations.xml": "<annotations/>"},
}  # fmt: skip


@pytest.mark.parametrize("formats", TWO_FORMATS)
def test_folder_with_labels_in_two_formats_is_refused_with_both_functions(put, new_url, formats):
    root = put(TWO_FORMATS[formats])
    with pytest.raises(InvalidValueError, match=f"in 2: {', '.join(formats)}") as error:
        dl.ingest(root, new_url(), progress=False)
    assert all(f"dl.{f.function}" in str(error.value) for f in FORMATS if f.name in formats)


@pytest.mark.parametrize("name", LAYOUTS)
def test_layout_is_recognised_with_its_labels(put, new_url, name):
    function, files = LAYOUTS[name]
    root = put(files)
    assert recognise(root)[1].function == function
    ds = dl.ingest(root, new_url(), progress=False)
    assert len(ds) == sum(content is None for content in files.values())
    assert ds["labels"].names == ("cat",)
    assert [len(boxes) for boxes in ds["boxes"][:]] == [1] * len(ds)


UNKNOWN = {
    "captions": {"a.jpg": None, "a.txt": "a photo of a cat"},
    "JSON per image": {"a.jpg": None, "a.json": '{"shapes": []}'},
    "JSON of names": {"a.jpg": None, "b.jpg": None, "labels.json": '{"a.jpg": 3, "b.jpg": 4}'},
    "list of names": {"images/a.jpg": None, "list.txt": "a.jpg 3\n"},
    "list of stems": {"images/a.jpg": None, "list.txt": "a 3\n"},
    "CSV": {"images/a.jpg": None, "labels.csv": "file,label\na.jpg,cat\n"},
    "two COCO files": {"a.jpg": None, "x.json": coco(), "y.json": coco()},
    "XML": {"a.jpg": None, "a.xml": "<x/>"},
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_labels_of_unknown_formats_are_not_dropped(put, name):
    with pytest.raises(
        InvalidValueError, match=r"seems to hold labels.*for its format, such as dl\."
    ):
        recognise(put(UNKNOWN[name]))


def test_notes_about_a_folder_of_images_are_no_labels(put):
    root = put({
        "rose/a.jpg": None, "README.txt": "such as a.jpg", "classes.txt": "rose\n",
        "info.json": '{"n01": "rose"}', "LICENSE": "a",
    })  # fmt: skip
    assert recognise(root)[1].function == "from_folder"


def test_annotations_that_are_not_read_are_listed(put, new_url, capsys):
    kinds = ("instances", "person_keypoints", "captions")
    root = put({f"annotations/{kind}_val.json": coco() for kind in kinds} | {"val/a.jpg": None})
    ds = dl.ingest(root, new_url(), progress=False)
    names = ["captions_val.json", "person_keypoints_val.json"]
    assert [s.path.rpartition("/")[2] for s in ds.ingested.skipped] == names
    assert "one annotation file per split" in ds.ingested.skipped[0].reason
    assert all(name in capsys.readouterr().err for name in names[:1])


# ---- objects and files


def test_rows_of_xarray_are_its_common_first_dimension(new_url):
    t = xr.DataArray(np.zeros((3, 2)), dims=("time", "x"))
    for data in (t, xr.Dataset({"t": t, "u": ("time", [1, 2, 3])})):
        assert len(dl.ingest(data, new_url(), progress=False)) == 3
    with pytest.raises(OptionError, match=r"such as dim='time'"):
        dl.ingest(xr.Dataset({"t": t, "u": ("x", [1, 2])}), new_url(), progress=False)


@pytest.mark.parametrize(
    ("data", "call"),
    [(np.zeros(3), r"dl\.from_arrays\("), (pl.LazyFrame({"x": [1]}), r"\.collect\(\)")],
    ids=["array", "lazy"],
)
def test_objects_that_no_function_takes_name_the_call(data, call):
    with pytest.raises(OptionError, match=call):
        recognise(data)


def test_label_studios_minimal_json_is_recognised(put):
    task = {"image": "a.jpg", "id": 1, "annotator": 1, "annotation_id": 1, "lead_time": 2.5}
    root = put({"tasks.json": json.dumps([task]), "images/a.jpg": None})
    assert recognise(root)[1].function == "from_labelstudio"


@pytest.mark.parametrize("name", ["a.records", "a.record", "a.tfrec", "a.tfrecord"])
def test_names_of_tfrecord_files_are_recognised(put, name):
    root = put({name: ""})
    assert recognise(root)[1].function == recognise(root / name)[1].function == "from_tfrecord"


@pytest.mark.parametrize("kind", ["tfrecord", "arrayrecord"])
def test_incomplete_sets_of_record_files_are_rejected(put, new_url, kind):
    suffix = {"tfrecord": "tfrecord", "arrayrecord": "array_record"}[kind]
    root = put({f"a.{suffix}-0000{n}-of-00003": "" for n in (0, 2)})
    read = getattr(dl, f"from_{kind}")
    for given in (root, root / "a.*"):
        with pytest.raises(InvalidValueError, match="00001-of-00003"):
            read(given, new_url())


def test_records_that_dataset_info_counts_must_be_there(tmp_path, new_url):
    ds = dl.create(new_url(), {"x": "int64"})
    ds.append({"x": [1, 2]})
    ds.to_tfrecord(tmp_path / "own")
    (source,) = (tmp_path / "own").glob("*.tfrecord*")
    (tmp_path / "tfds").mkdir()
    name = "pets-train.tfrecord-00000-of-00001"
    (tmp_path / "tfds" / name).write_bytes(source.read_bytes())
    spec = {"pythonClassName": "tensorflow_datasets.core.features.features_dict.FeaturesDict",
            "featuresDict": {"features": {}}}  # fmt: skip
    (tmp_path / "tfds" / "features.json").write_text(json.dumps(spec))
    info = tmp_path / "tfds" / "dataset_info.json"
    info.write_text(json.dumps({"splits": [{"name": "train", "shardLengths": ["3"]}]}))
    with pytest.raises(InvalidValueError, match="must have 3 records"):
        dl.from_tfrecord(tmp_path / "tfds", new_url(), progress=False)
    info.write_text(json.dumps({"splits": [{"name": "train", "shardLengths": ["2"]}]}))
    assert len(dl.from_tfrecord(tmp_path / "tfds", new_url(), progress=False)) == 2
