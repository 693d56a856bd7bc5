"""The format of data is recognised, or the nearest ones are named."""

from __future__ import annotations

import json
import os
import shutil
import tarfile

import datasets
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from PIL import Image as PillowImage

import deeplake_lite as dl
from deeplake_lite.errors import InvalidValueError, NotFoundError, OptionError
from deeplake_lite.ingest.detection.api import recognise
from deeplake_lite.ingest.detection.formats import FORMATS

COCO = {
    "images": [{"id": 1, "file_name": "a.jpg", "width": 8, "height": 8}],
    "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 4, 4]}],
    "categories": [{"id": 1, "name": "cat"}],
}


@pytest.fixture
def put(tmp_path):
    """Write files below a folder: bytes, text, or an image for None."""

    def put(**files):
        for name, content in files.items():
            path = tmp_path / "data" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                PillowImage.new("RGB", (8, 8)).save(path)
            else:
                path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return tmp_path / "data"

    return put


def found(data):
    return recognise(data)[1].function


def test_coco_files_are_recognised(put):
    root = put(**{"a.json": json.dumps(COCO), "images/a.jpg": None})
    assert found(root / "a.json") == "from_coco"


def test_splits_of_a_coco_folder_are_recognised(put, new_url):
    text = json.dumps(COCO)
    root = put(**{
        "annotations/captions_train2017.json": text, "annotations/instances_val2017.json": text,
        "annotations/instances_train2017.json": text, "train2017/a.jpg": None,
        "val2017/a.jpg": None,
    })  # fmt: skip
    source, known = recognise(root)
    assert known.name == "COCO"
    assert {split: path.name for split, path in source.items()} == {
        "train2017": "instances_train2017.json", "val2017": "instances_val2017.json"
    }  # fmt: skip
    ds = dl.ingest(root, new_url(), progress=False)
    assert ds["split"].names == ("train2017", "val2017")
    assert [len(b) for b in ds["boxes"][:]] == [1, 1]


def test_roboflow_export_of_coco_is_recognised(put, new_url):
    root = put(**{
        f"{split}/{name}": content for split in ("train", "valid")
        for name, content in (("_annotations.coco.json", json.dumps(COCO)), ("a.jpg", None))
    }, **{"README.roboflow.txt": "x"})  # fmt: skip
    ds = dl.ingest(root, new_url(), progress=False)
    assert sorted(ds["split"].names) == ["train", "valid"]


@pytest.mark.parametrize("path", ["", "data.yaml"])
def test_yolo_datasets_are_recognised(put, path):
    config = yaml.safe_dump({"train": "images", "names": ["cat"]})
    root = put(**{"data.yaml": config, "images/a.jpg": None, "labels/a.txt": "0 .5 .5 .1 .1"})
    assert found(root / path) == "from_yolo"


def test_yolo_folder_without_a_config_is_recognised(put):
    root = put(**{"images/train/a.jpg": None, "labels/train/a.txt": "0 .5 .5 .1 .1"})
    assert found(root) == "from_yolo"


@pytest.mark.parametrize("names", [["a.jpg"], ["rose/1.jpg", "lily/2.png", "README.md"]], ids=str)
def test_folders_of_images_are_recognised(put, names):
    assert found(put(**{n: "x" if n.endswith("md") else None for n in names})) == "from_folder"


def test_tables_are_recognised(put, tmp_path):
    root = put(**{"a.csv": "x\n1\n", "b.tsv": "x\ty\n1\t2\n"})
    assert found(root / "a.csv") == found(root / "b.tsv") == "from_csv"
    pq.write_table(pa.table({"x": [1]}), tmp_path / "noname")
    assert found(tmp_path / "noname") == "from_parquet"


def test_parquet_folders_and_saved_datasets_are_those_of_hugging_face(tmp_path):
    ds = datasets.Dataset.from_dict({"x": [1, 2]})
    ds.save_to_disk(tmp_path / "saved")
    (tmp_path / "hub" / "data").mkdir(parents=True)
    ds.to_parquet(tmp_path / "hub" / "data" / "train-00000-of-00001.parquet")
    assert found(tmp_path / "saved") == found(tmp_path / "hub") == "from_huggingface"


def test_shards_are_recognised_by_name(put):
    root = put(**{"a/x-000.tar": "", "a/x-001.tar": "", "a/sizes.json": "{}"})
    assert found(root / "a") == "from_webdataset"
    assert found(root / "a" / "x-000.tar") == "from_webdataset"
    assert found(str(root / "a" / "x-{000..001}.tar")) == "from_webdataset"
    assert found(str(root / "a" / "*.tar")) == "from_webdataset"
    assert found("s3://bucket/train-{000..146}.tar.gz") == "from_webdataset"
    assert found([root / "a" / "x-000.tar", root / "a" / "x-001.tar"]) == "from_webdataset"


@pytest.mark.parametrize(
    "table",
    [pd.DataFrame({"x": [1]}), pl.DataFrame({"x": [1]}), pa.table({"x": [1]}),
     datasets.Dataset.from_dict({"x": [1]}), {"x": np.array([1])}, {"x": [1]}],
    ids=["pandas", "polars", "pyarrow", "datasets", "arrays", "lists"],
)  # fmt: skip
def test_objects_are_recognised(table, new_url):
    ds = dl.ingest(table, new_url(), progress=False)
    assert list(ds["x"][:]) == [1]


def test_function_is_named_on_stderr(put, new_url, capsys):
    path = put(**{"a.csv": "x\n1\n"}) / "a.csv"
    dl.ingest(path, new_url())
    assert f"Reading {str(path)!r} as a CSV file: dl.from_csv\n" in capsys.readouterr().err
    dl.ingest(path, new_url(), progress=False)
    assert capsys.readouterr().err == ""


def test_options_reach_the_function(put, new_url):
    path = put(**{"a.csv": "x\n1\n"}) / "a.csv"
    ds = dl.ingest(path, new_url(), schema={"x": "int8"}, message="first", progress=False)
    assert ds.schema["x"].htype == dl.Scalar("int8")
    assert ds.log()[0].message == "first"
    with pytest.raises(OptionError, match="no option 'shema'"):
        dl.ingest(path, new_url(), shema={})


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "the folder is empty"),
        ({"a.xyz": "1", "b.xyz": "2"}, r"it has 2 \.xyz files.*from_arrays"),
        ({"a.json": "{}", "b.csv": "x"}, r"such as .*dl\.from_coco for COCO"),
        ({"a.tar": "", "b.parquet": ""}, r"dl\.from_huggingface.*dl\.from_webdataset"),
        ({"a.json": '{"images": 3'}, r"1 \.json file"),
        ({"a.json": "[" * 100_000}, r"1 \.json file"),
        ({"a.xml": "<?xml?><!-- a --><x/>"}, r"dl\.from_voc"),
    ],
    ids=range(7),
)
def test_unknown_folder_names_the_nearest_functions(put, tmp_path, files, message):
    (tmp_path / "data").mkdir()
    with pytest.raises(InvalidValueError, match=message):
        recognise(put(**files))


def test_unknown_file_says_how_it_begins(put):
    with pytest.raises(InvalidValueError, match=r"it begins with b'\\x00\\x01'"):
        recognise(put(**{"a.bin": b"\0\1"}) / "a.bin")
    with pytest.raises(InvalidValueError, match="it is empty"):
        recognise(put(**{"b.bin": b""}) / "b.bin")


def test_what_is_not_there_and_what_is_a_lake_are_said(tmp_path):
    with pytest.raises(
        NotFoundError, match=r"There is no file or folder 'nowhere'.*Check the path"
    ):
        recognise("nowhere")
    dl.create(str(tmp_path / "a.lake"), {"x": "int64"})
    with pytest.raises(InvalidValueError, match=r"is already a lake\. Open it with dl\.open"):
        recognise(tmp_path / "a.lake")
    with pytest.raises(OptionError, match="data must be a path"):
        recognise(3)
    with pytest.raises(InvalidValueError, match="the same format"):
        recognise([make(tmp_path / "a.csv"), make(tmp_path / "a.tar")])


def make(path):
    path.write_text("x\n1\n")
    return path


def test_functions_of_all_formats_exist():
    for known in FORMATS:
        assert callable(getattr(dl, known.function)), known


def test_pipes_and_loops_of_links_are_not_followed(put):
    root = put(**{"a.csv": "x"})
    os.symlink(root, root / "loop")
    for name in ("pipe.json", "a_train.json", "annotations.xml", "README.md"):
        os.mkfifo(root / name)
    with pytest.raises(InvalidValueError, match="not recognised"):
        recognise(root)
    shutil.rmtree(root)


def test_tar_file_is_ingested_as_it_is(tmp_path, new_url):
    (tmp_path / "0.txt").write_text("a")
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        tar.add(tmp_path / "0.txt", "0.txt")
    assert dl.ingest(tmp_path / "a.tar", new_url(), progress=False)["txt"][:] == ["a"]


# ---- every export is recognised


EXPORTS = {
    "to_coco": ("a.json", "from_coco"),
    "to_yolo": ("out", "from_yolo"),
    "to_voc": ("out", "from_voc"),
    "to_cvat": ("out.zip", "from_cvat"),
    "to_labelstudio": ("out", "from_labelstudio"),
    "to_fiftyone": ("out", "from_fiftyone"),
    "to_webdataset": ("out", "from_webdataset"),
    "to_mds": ("out", "from_mds"),
    "to_litdata": ("out", "from_litdata"),
    "to_tfrecord": ("out", "from_tfrecord"),
    "to_arrayrecord": ("out", "from_arrayrecord"),
    "to_numpy": ("out.npz", "from_numpy"),
    "to_torch": ("out.pt", "from_torch"),
    "to_parquet": ("out", "from_huggingface"),
}


@pytest.mark.filterwarnings("ignore::deeplake_lite.ExportWarning")
@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("method", EXPORTS)
def test_export_is_recognised_and_ingested(make_lake, tmp_path, new_url, method, split):
    labels = dl.Sequence(dl.ClassLabel(["cat", "dog"]))
    schema = {"image": dl.Image("png"), "boxes": dl.Boxes("xyxy"), "labels": labels}
    rows = {
        "image": [np.full((8, 9, 3), n, "uint8") for n in range(3)],
        "boxes": [[[0, 0, 4, 4]]] * 3,
        "labels": [["dog"]] * 3,
    }
    ds = make_lake(schema, **rows)
    if split:
        ds.add_column("split", dl.ClassLabel(["train", "val"]), values=["train"] * 3)
    name, function = EXPORTS[method]
    getattr(ds, method)(tmp_path / name)
    assert found(tmp_path / name) == function
    if method != "to_coco":  # without images
        again = dl.ingest(tmp_path / name, new_url(), progress=False)
        assert len(again) == 3
