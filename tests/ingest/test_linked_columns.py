"""Columns that describe the same objects of a row are updated together, or not at all."""

import json

import numpy as np
import pytest

import deeplake_lite as dl

TYPES = {
    "boxes": dl.Boxes("xyxy"),
    "labels": dl.Sequence(dl.ClassLabel(["ant", "bee", "cat"])),
    "keypoints": dl.Keypoints(["nose"], dims=2),
    "outlines": dl.Polygons(),
    "scores": dl.Array("float32", (None,)),
    "captions": dl.Sequence("text"),
    "masks": dl.Mask("instance"),
}

ROWS = {
    "boxes": [[0, 0, 1, 1], [5, 5, 9, 9]],
    "labels": ["ant", "bee"],
    "keypoints": [[[1, 1]], [[2, 2]]],
    "outlines": [[[0, 0], [1, 0], [0, 1]], [[5, 5], [9, 5], [5, 9]]],
    "scores": [0.25, 0.5],
    "captions": ["small", "large"],
    "masks": np.array([[[1, 0]], [[0, 1]]], bool),
}

EDITS = {
    "boxes": [[0, 0, 2, 2], [5, 5, 9, 9]],
    "labels": ["cat", "bee"],
    "keypoints": [[[0, 1]], [[2, 2]]],
    "outlines": [[[0, 0], [2, 0], [0, 2]], [[5, 5], [9, 5], [5, 9]]],
    "scores": [0.75, 0.5],
    "captions": ["tiny", "large"],
    "masks": np.array([[[1, 1]], [[0, 1]]], bool),
}


def table(order, name="a.png"):
    """Return rows of a source whose objects are in the given order."""
    values = {c: [[items[i] for i in order] for _ in range(2)] for c, items in ROWS.items()}
    values["masks"] = [ROWS["masks"][order] for _ in range(2)]
    return {"path": [name, "b.png"], "weight": [1, 1], **values}


def words(row):
    return {name: json.dumps(np.asarray(value).tolist()) for name, value in row.items()}


def ingest(arrays, url, **options):
    schema = {"path": "text", "weight": "int64", **TYPES}
    return dl.from_arrays(arrays, url, on="path", schema=schema, progress=False, **options)


@pytest.mark.parametrize("column", TYPES)
def test_edit_of_one_column_keeps_the_others_of_its_row_when_the_source_is_reordered(url, column):
    ds = ingest(table([0, 1]), url)
    ds[column][0] = EDITS[column]
    ds.commit("edit")
    before = words(ds[0])
    ds = ingest({**table([1, 0]), "weight": [2, 2]}, url)
    assert words(ds[0]) == {**before, "weight": "2"}
    assert ds[1]["labels"] == [1, 0]
    assert ds[1]["captions"] == ["large", "small"]
    [kept] = ds.ingested.kept
    assert kept.columns == (column,)
    assert set(kept.linked) == TYPES.keys() - {column}
    ds = ingest(table([1, 0]), url, update="force")
    assert not ds.ingested.kept
    assert words(ds[0]) == words({**ds[1], "path": "a.png"})


def test_message_names_the_columns_that_were_kept(url):
    ds = ingest(table([0, 1]), url)
    ds["labels"][0] = ["cat", "bee"]
    ds.commit("edit")
    [kept] = ingest(
        {**table([0, 1]), "boxes": [[[3, 3, 4, 4]] * 2] * 2, "labels": [["bee"] * 2] * 2}, url
    ).ingested.kept
    assert str(kept).endswith(
        "'labels' was changed in the lake, and 'boxes' describes the same objects"
    )


def test_edits_that_the_source_has_made_too_do_not_hold_back_other_columns(url):
    ds = ingest(table([0, 1]), url)
    ds["labels"][0] = ["cat", "bee"]
    ds.commit("edit")
    corrected = {**table([0, 1]), "labels": [["cat", "bee"]] * 2, "scores": [[0.5, 1]] * 2}
    ds = ingest(corrected, url)
    assert not ds.ingested.kept
    assert ds["scores"][0].tolist() == [0.5, 1]


def test_tags_are_not_linked_to_boxes(url):
    schema = {
        "path": "text",
        "tags": dl.ClassLabel(["a", "b"], multiple=True),
        "boxes": dl.Boxes("xyxy"),
    }
    rows = {"path": ["a"], "tags": [["a"]], "boxes": [[[0, 0, 1, 1]]]}
    ds = dl.from_arrays(rows, url, on="path", schema=schema)
    ds["tags"][0] = ["b"]
    ds.commit("edit")
    ds = dl.from_arrays({**rows, "boxes": [[[0, 0, 2, 2]]]}, url, on="path")
    assert ds["boxes"][0].tolist() == [[0, 0, 2, 2]]
    assert ds["tags"][0].tolist() == [1]


def coco(order, path):
    annotations = [
        {"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 1, 1], "note": "one"},
        {"id": 2, "image_id": 1, "category_id": 2, "bbox": [5, 5, 4, 4], "note": "two"},
        {"id": 3, "image_id": 1, "category_id": 2, "bbox": [1, 1, 4, 4], "note": "three"},
    ]
    document = {
        "images": [{"id": 1, "file_name": "a.png", "width": 9, "height": 9}],
        "annotations": [annotations[i] for i in order],
        "categories": [{"id": 1, "name": "ant"}, {"id": 2, "name": "bee"}],
    }
    path.write_text(json.dumps(document))
    return path


def test_label_of_a_coco_file_stays_with_its_box(url, tmp_path):
    ds = dl.from_coco(coco([0, 1], tmp_path / "a.json"), url, images=False)
    ds["labels"][0] = ["bee", "ant"]
    ds.commit("edit")
    ds = dl.from_coco(coco([2, 1], tmp_path / "a.json"), url, images=False)
    assert ds["annotation_ids"][0] == [1, 2]
    written = json.loads(ds.to_coco(tmp_path / "out.json").read_text())["annotations"]
    assert [(a["id"], a["category_id"], a["note"]) for a in written] == [
        (1, 2, "one"),
        (2, 1, "two"),
    ]


def test_class_of_a_later_file_is_added_to_labels_of_objects(url, tmp_path):
    dl.from_coco(coco([0], tmp_path / "a.json"), url, images=False)
    document = json.loads(coco([1], tmp_path / "b.json").read_text())
    document["categories"] = [{"id": 1, "name": "zebra"}, {"id": 2, "name": "bee"}]
    document["annotations"][0]["category_id"] = 1
    document["annotations"][0]["image_id"] = 2
    document["images"][0] |= {"id": 2, "file_name": "b.png"}
    (tmp_path / "b.json").write_text(json.dumps(document))
    ds = dl.from_coco(tmp_path / "b.json", url, images=False)
    assert ds["labels"].names == ("ant", "bee", "zebra")
    assert [[ds["labels"].names[n] for n in row] for row in ds["labels"][:]] == [["ant"], ["zebra"]]
