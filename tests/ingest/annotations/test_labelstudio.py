"""Label Studio's tasks are ingested, and exported with the same content."""

from __future__ import annotations

import json

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.dataset.export.annotations import labelstudio_brush as brush
from deeplake_lite.errors import InvalidValueError
from tests.ingest.annotations.datasets import (
    HEIGHT,
    RUNS,
    WIDTH,
    labelstudio,
    region,
    same,
    write,
    write_labelstudio,
)


@pytest.fixture
def ingest(new_url):
    return lambda path, **options: dl.from_labelstudio(path, new_url(), progress=False, **options)


def tasks_of(path):
    """Return the tasks of a file, with results in a fixed order."""
    found = json.loads((path if path.is_file() else path / "tasks.json").read_text())
    for task in found:
        for annotation in task["annotations"]:
            annotation["result"].sort(key=lambda result: json.dumps(result, sort_keys=True))
    return found


def test_each_result_becomes_an_object_or_a_column(tmp_path, ingest):
    ds = ingest(write_labelstudio(tmp_path, labelstudio()))
    assert ds["path"][:] == ["a.png", "upload/1/0a1b2c3d-b.png", "bucket/c.png"]
    names = [ds["labels"].names[n] for n in ds["labels"][0]]
    assert names == ["cat", "dog", "dog", "cat", "nose", "cat", "cat", "dog"]
    np.testing.assert_allclose(ds["boxes"][0][[0, 1, 5, 6, 7]], [
        *[[3.1872, 6.144, 23.9872, 27.696]] * 2, [4, 3, 20, 9], [25.6, 21.6, 38.4, 26.4],
        [32, 24, 44.8, 28.8],
    ], rtol=1e-6)  # fmt: skip
    np.testing.assert_allclose(ds["segmentation"][0][2][0][0], [32, 24])
    np.testing.assert_allclose(ds["keypoints"][0][4][0], [7.68, 6.24, 2])
    assert ds["mood"].names == ("good", "bad")
    assert ds["mood"][:].filled(-1).tolist() == [0, -1, 1]
    assert ds["tax"][0] == [["a", "b"], ["c"]]
    assert (ds["stars"][0], ds["caption"][0]) == (4, ["one", "two"])


@pytest.mark.parametrize("kind", ["out.json", "out"])
def test_tasks_come_out_with_the_same_content(tmp_path, ingest, kind):
    path = write_labelstudio(tmp_path / "in", labelstudio())
    ds = ingest(path)
    out = ds.to_labelstudio(tmp_path / kind)
    assert tasks_of(out) == tasks_of(path)
    file = out if out.is_file() else out / "tasks.json"
    again = ingest(file, images=path.parent / "images" if out.is_file() else None)
    same(ds, again)


def regions_of(path):
    (task,) = json.loads(path.read_text())
    return task["annotations"][0]["result"]


SQUARE = {"x": 0, "y": 0, "width": 9.3, "height": 9, "rotation": 0}


@pytest.fixture
def labelled(tmp_path, ingest):
    """Return a function that ingests two regions, the first of which has some labels."""

    def make(labels, *more):
        own = [region("rectanglelabels", {**SQUARE, "rectanglelabels": labels}, id="a"), *more,
               region("rectanglelabels", {**SQUARE, "rectanglelabels": ["z"]}, id="b")]  # fmt: skip
        task = {"data": {"image": "a.png"}, "annotations": [{"result": own}]}
        path = write(tmp_path / "tasks.json", json.dumps([task]))
        return ingest(path, images=False), path

    return make


@pytest.mark.parametrize(
    "labels", [["a", "b"], ["a", "b", "c"], ["a", "a"], ["z", "z", "b"], ["z"], []], ids=str
)
def test_regions_of_several_labels_are_an_object_for_each(labelled, tmp_path, labels):
    ds, path = labelled(labels)
    assert len(ds["boxes"][0]) == len(labels or [None]) + 1
    if labels:
        assert [ds["labels"].names[n] for n in ds["labels"][0]] == [*labels, "z"]
    out = ds.to_labelstudio(tmp_path / "out.json")
    assert tasks_of(out) == tasks_of(path)


def test_labels_in_results_of_their_own_are_joined_again(tmp_path, ingest):
    own = [region("rectangle", SQUARE, id="a"),
           region("labels", {**SQUARE, "labels": ["a", "b"]}, id="a"),
           region("textarea", {**SQUARE, "text": ["a note"]}, id="a")]  # fmt: skip
    task = {"data": {"image": "a.png"}, "annotations": [{"result": own}]}
    path = write(tmp_path / "tasks.json", json.dumps([task]))
    ds = ingest(path, images=False)
    assert len(ds["boxes"][0]) == 2
    assert tasks_of(ds.to_labelstudio(tmp_path / "out.json")) == tasks_of(path)


def test_edited_labels_stay_in_their_region_and_edited_boxes_leave_it(labelled, tmp_path):
    ds, _ = labelled(["a", "b"])
    ds.update([0], {"labels": [["z", "b", "z"]]})
    first, second = regions_of(ds.to_labelstudio(tmp_path / "1.json"))
    assert (first["id"], first["value"]["rectanglelabels"]) == ("a", ["z", "b"])
    assert second["id"] == "b"
    boxes = np.array(ds["boxes"][0])
    boxes[1] += 1
    ds.update([0], {"boxes": [boxes]})
    first, second, third = regions_of(ds.to_labelstudio(tmp_path / "2.json"))
    assert first["value"]["rectanglelabels"] == ["z"]
    assert second["value"]["rectanglelabels"] == ["b"]
    assert len({first["id"], second["id"], third["id"]}) == 3


def test_predictions_have_a_model_and_scores(tmp_path, new_url, ingest):
    schema = {"path": "text", "width": "int32", "height": "int32", "boxes": dl.Boxes(),
              "labels": dl.Sequence(dl.ClassLabel(["cat"])),
              "scores": dl.Sequence("float32")}  # fmt: skip
    ds = dl.create(new_url(), schema)
    ds.append({"path": ["my cats/a.png"], "width": [WIDTH], "height": [HEIGHT],
               "boxes": [[[0, 0, 32, 24], [1, 1, 2, 2]]], "labels": [["cat", "cat"]],
               "scores": [[0.5, 0.7]]})  # fmt: skip
    path = ds.to_labelstudio(tmp_path / "out.json", predictions=True)
    (task,) = json.loads(path.read_text())
    assert task["data"] == {"image": "/data/local-files/?d=my%20cats/a.png"}
    (prediction,) = task["predictions"]
    assert prediction["model_version"] == "deeplake_lite"
    assert prediction["score"] == pytest.approx(0.6)
    assert [result["score"] for result in prediction["result"]] == [0.5, 0.7]
    same(ds, ingest(path, images=False), ["path", "boxes", "labels", "scores"])


def test_ground_truth_counts_or_the_last_change(tmp_path, ingest):
    def annotation(label, **more):
        value = {"x": 0, "y": 0, "width": 9, "height": 9, "rectanglelabels": [label]}
        return {"result": [region("rectanglelabels", value)], **more}

    own = [
        [annotation("a", updated_at="2026-01-02"), annotation("b", updated_at="2026-01-01")],
        [annotation("a", ground_truth=True), annotation("b", updated_at="2026-01-01")],
        [annotation("a"), annotation("b", was_cancelled=True)],
        [annotation("b"), annotation("a")],
    ]  # fmt: skip
    tasks = [{"data": {"image": f"{n}.png"}, "annotations": a} for n, a in enumerate(own)]
    path = write(tmp_path / "tasks.json", json.dumps(tasks))
    ds = ingest(path, images=False)
    assert [[ds["labels"].names[n] for n in row] for row in ds["labels"][:]] == [["a"]] * 4
    assert tasks_of(ds.to_labelstudio(tmp_path / "out.json")) == tasks_of(path)


def test_json_min_is_read(tmp_path, ingest):
    value = {"x": 25, "y": 50, "width": 50, "height": 25, "rotation": 0,
             "rectanglelabels": ["cat"], "original_width": WIDTH,
             "original_height": HEIGHT}  # fmt: skip
    task = {"image": "/data/upload/1/a.png", "id": 1, "label": [value], "annotator": 2}
    ds = ingest(write(tmp_path / "min.json", json.dumps([task])), images=False)
    np.testing.assert_array_equal(ds["boxes"][0], np.float32([[16, 24, 48, 36]]))
    assert ds["labels"].names == ("cat",)


def test_brush_is_that_of_label_studio():
    mask = np.zeros((HEIGHT, WIDTH), bool)
    mask[3:9, 4:20] = True
    assert brush.encode(mask) == RUNS
    np.testing.assert_array_equal(brush.decode(RUNS, WIDTH, HEIGHT), mask)


@pytest.mark.parametrize("seed", range(20))
def test_brush_decodes_every_mask(seed):
    random = np.random.default_rng(seed)
    height, width = random.integers(1, 40, 2)
    mask = random.random((height, width)) > random.random()
    np.testing.assert_array_equal(brush.decode(brush.encode(mask), width, height), mask)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (
            {"x": 1, "y": 1, "width": "w", "height": 1},
            "width of a rectanglelabels must be a number",
        ),
        ({"x": 1, "y": 1, "width": -5, "height": 1}, "must not have a negative size"),
        ({"x": 1, "y": 1, "width": 5, "height": 1, "rectanglelabels": "cat"}, "a list of strings"),
    ],
    ids=["word", "negative", "label"],
)
def test_bad_regions_are_reported_with_their_task(tmp_path, ingest, value, reason):
    task = {
        "data": {"image": "a.png"},
        "annotations": [{"result": [region("rectanglelabels", value)]}],
    }
    path = write(tmp_path / "a.json", json.dumps([task]))
    with pytest.raises(InvalidValueError, match=f"a.json, task 0: .*{reason}"):
        ingest(path, images=False)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "must be JSON"), ("{}", "must be JSON"), ("[1]", "must be a JSON object"),
        ('[{"id": 1}]', "must have the key 'image'"), ("[" * 100_000, "must be JSON"),
        ('[{"data": {"image": "a.png"}}, {"data": {"image": "a.png"}}]', "must be unique"),
    ],
    ids=["empty", "object", "number", "no-data", "deep", "twice"],
)  # fmt: skip
def test_bad_files_are_reported(tmp_path, ingest, text, reason):
    path = write(tmp_path / "a.json", text)
    with pytest.raises(InvalidValueError, match=reason):
        ingest(path, images=False)


def test_brushes_of_any_claimed_size_are_refused(tmp_path, ingest):
    own = region("brushlabels", {"format": "rle", "rle": RUNS, "brushlabels": ["a"]})
    own |= {"original_width": 10**8, "original_height": 10**8}
    task = {"data": {"image": "a.png"}, "annotations": [{"result": [own]}]}
    with pytest.raises(InvalidValueError, match="a mask must have"):
        ingest(write(tmp_path / "a.json", json.dumps([task])), images=False)
