"""Datasets of FiftyOne are ingested, and exported by the rules of its importer.

FiftyOne needs a MongoDB server, so it is not run here. The samples in `datasets` were written by
FiftyOne 1.22, and the rules below are those of its `FiftyOneDatasetImporter` and its label classes.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.dataset.export.annotations import fiftyone_labels as labels
from deeplake_lite.errors import InvalidValueError, NotFoundError, OptionError
from tests.ingest.annotations.datasets import (
    BINARY,
    HEIGHT,
    WIDTH,
    fiftyone_sample,
    png,
    same,
    write,
    write_fiftyone,
)


@pytest.fixture
def ingest(new_url):
    return lambda path, **options: dl.from_fiftyone(path, new_url(), progress=False, **options)


def samples_of(root):
    """Return the samples of a dataset."""
    return json.loads((root / "samples.json").read_text())["samples"]


def test_each_label_becomes_an_object_or_a_column(tmp_path, ingest):
    ds = ingest(write_fiftyone(tmp_path))
    assert ds["path"][:] == ["a.png", "b.png"]
    assert (ds["split"].names, ds["tags"].names) == (("val",), ("night",))
    names = [ds["labels"].names[n] for n in ds["labels"][0]]
    assert names == ["cat", "dog", "body", "pond", "pond"]
    np.testing.assert_allclose(ds["boxes"][0][:2], [[4, 6, 8, 9], [6.4, 9.6, 25.6, 28.8]])
    assert ds["masks"][0][0].sum() == 12
    assert [len(o) for o in ds["segmentation"][0]] == [0, 0, 0, 2, 0]
    assert [len(o) for o in ds["polylines"][0]] == [0, 0, 0, 0, 2]
    np.testing.assert_allclose(ds["keypoints"][0][2], [[6.4, 9.6, 2], [0, 0, 0]])
    assert ds.schema["keypoints"].htype.names == ("nose", "tail")
    np.testing.assert_allclose(ds["scores"][0], [0.9, np.nan, np.nan, np.nan, np.nan])
    assert ds["occluded"][0] == [False, True, False, False, False]
    assert ds.schema["seg"].htype.names[8] == "class 8"
    assert (ds["weather"][0], ds["n"][0], ds["score"][0], ds["reg"][0]) == ("sunny", 3, 0.5, 1.5)
    assert ds["width"][1] == WIDTH


def test_samples_come_out_with_the_same_content(tmp_path, ingest):
    root = write_fiftyone(tmp_path / "in")
    ds = ingest(root)
    out = ds.to_fiftyone(tmp_path / "out")
    same(ds, ingest(out))
    first, second = samples_of(out)
    expected = fiftyone_sample()
    assert {key: first[key] for key in expected} == expected
    assert second["metadata"] == {"_cls": "ImageMetadata", "width": WIDTH, "height": HEIGHT}
    for name in ("data/a.png", "fields/seg.mask_path/a.png"):
        assert (out / name).read_bytes() == (root / name).read_bytes()


def test_document_declares_every_field(tmp_path, ingest):
    out = ingest(write_fiftyone(tmp_path / "in")).to_fiftyone(tmp_path / "out")
    document = json.loads((out / "metadata.json").read_text())
    declared = {f["name"]: f for f in document["sample_fields"]}
    own = {key for sample in samples_of(out) for key in sample if not key.startswith("_")}
    assert own - declared.keys() == {"words"}  # a list, which is kept, but has no column
    detections = declared["ground_truth"]["fields"][0]
    assert detections["embedded_doc_type"] == "fiftyone.core.labels.Detection"
    assert {"id", "tags", "label", "bounding_box", "mask", "confidence", "index"} <= {
        f["name"] for f in detections["fields"]
    }
    for key in ("version", "media_type", "saved_views", "workspaces", "annotation_runs", "runs"):
        assert key in document
    assert document["mask_targets"]["seg"]["8"] == "class 8"
    assert document["skeletons"]["kp"] == {"labels": ["nose", "tail"], "edges": [[0, 1]]}
    assert document["info"] == {"user": 1}


def test_mask_is_that_of_fiftyone():
    ones = np.ones((3, 4), bool)
    assert labels.binary_of(ones) == {"$binary": {"base64": BINARY, "subType": "00"}}
    np.testing.assert_array_equal(labels.array_of({"$binary": {"base64": BINARY}}), ones)


def test_edits_win_and_the_rest_stays(tmp_path, ingest):
    ds = ingest(write_fiftyone(tmp_path / "in"))
    ds["labels"][0] = ["dog", "dog", "body", "pond", "pond"]
    ds["cls"][0] = None
    ds["weather"][0] = "rainy"
    sample = samples_of(ds.to_fiftyone(tmp_path / "out"))[0]
    first = sample["ground_truth"]["detections"][0]
    assert (first["label"], first["iscrowd"], first["tags"]) == ("dog", True, ["t"])
    assert "cls" not in sample
    assert sample["weather"] == "rainy"


def test_order_of_objects_of_several_fields_survives(tmp_path, new_url, ingest):
    schema = {"image": dl.Image("png"), "path": "text", "segmentation": dl.Sequence(dl.Polygons()),
              "boxes": dl.Boxes(), "labels": dl.Sequence(dl.ClassLabel(["a", "b"]))}  # fmt: skip
    ds = dl.create(new_url(), schema)
    triangle = [[0, 0], [4, 0], [0, 4]]
    ds.append({"image": [png()], "path": ["a.png"], "boxes": [[[0, 0, 4, 4], [1, 1, 2, 2]]],
               "segmentation": [[[triangle], []]], "labels": [["b", "a"]]})  # fmt: skip
    out = ds.to_fiftyone(tmp_path / "out")
    same(ds, ingest(out), ["image", "path", "segmentation", "boxes", "labels"])


def test_field_is_chosen_if_several_have_objects(tmp_path, ingest):
    sample = fiftyone_sample()
    other = {"_cls": "Detections", "detections": []}
    root = write_fiftyone(tmp_path / "a", {**sample, "predictions": other})
    assert len(ingest(root)["boxes"][0]) == 5
    assert len(ingest(root, label_field="predictions")["boxes"][0]) == 0
    with pytest.raises(NotFoundError, match="no field of objects 'x'"):
        ingest(root, label_field="x")
    sample["gt"] = sample.pop("ground_truth")
    root = write_fiftyone(tmp_path / "b", {**sample, "predictions": other})
    with pytest.raises(OptionError, match="Choose one: label_field='gt'"):
        ingest(root)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"filepath": None}, "must have a filepath"),
        ({"filepath": "../secret.png"}, "must be inside the folder"),
        ({"filepath": "data/none.png"}, "there is no image"),
        ({"ground_truth": {"_cls": "Detections", "detections": [{"_cls": "Star"}]}},
         "a label must be 'Detection', 'Polyline' or 'Keypoint'"),
        ({"ground_truth": {"_cls": "Detections", "detections": [
            {"_cls": "Detection", "bounding_box": [0, 0, 1]}]}}, "must have 4 numbers"),
        ({"seg": {"_cls": "Segmentation", "mask_path": "../../x.png"}}, "the dataset's folder"),
        ({"seg": {"_cls": "Segmentation", "mask": {"$binary": {"base64": "eJw="}}}}, "must be"),
    ],
    ids=["no-path", "outside", "missing", "class", "box", "mask-outside", "mask"],
)  # fmt: skip
def test_bad_samples_are_reported_with_their_number(tmp_path, ingest, change, reason):
    write(tmp_path / "secret.png", png())
    root = write_fiftyone(tmp_path / "in", {**fiftyone_sample(), **change})
    with pytest.raises(InvalidValueError, match=f"samples.json, sample 0: .*{reason}"):
        ingest(root)
    assert len(ingest(root, on_error="skip")) == 1


def test_folders_without_a_dataset_are_reported(tmp_path, ingest):
    with pytest.raises(NotFoundError, match=r"metadata\.json"):
        ingest(tmp_path)
    write(tmp_path / "metadata.json", '{"media_type": "video"}')
    with pytest.raises((InvalidValueError, NotFoundError)):
        ingest(tmp_path)
