"""Annotations show their own classes, and tags are never mistaken for those."""

from __future__ import annotations

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.schema import Schema
from deeplake_lite.widget.images.classes import class_column, tag_column

B, P, K = dl.Boxes(), dl.Polygons(), dl.Keypoints(["nose"])
C = dl.ClassLabel(["cat", "dog"], multiple=True)
S = dl.Sequence(dl.ClassLabel(["cat", "dog"]))
T = dl.Sequence(dl.Text())


@pytest.mark.parametrize(
    ("columns", "classes", "tags"),
    [
        ({"boxes": B, "labels": C}, {"boxes": "labels"}, None),
        ({"labels": S, "boxes": B, "tags": C}, {"boxes": "labels"}, "tags"),
        ({"labels": C, "boxes": B, "words": T}, {"boxes": "labels"}, "words"),
        ({"boxes": B, "tags": C}, {"boxes": None}, "tags"),
        ({"labels": C, "attributes": C, "boxes": B}, {"boxes": None}, None),
        ({"labels": C, "attributes": C}, {}, "labels"),
        ({"boxes": B, "outlines": P, "points": K, "labels": C},
         {"boxes": "labels", "outlines": None, "points": None}, None),
        ({"outlines": P, "labels": C}, {"outlines": "labels"}, None),
        ({"outlines": P, "points": K, "labels": C}, {"outlines": None, "points": None}, None),
        ({"boxes": B, "labels": C, "outlines": P, "outlines_labels": C},
         {"boxes": "labels", "outlines": "outlines_labels"}, None),
        ({"boxes": B, "labels": C, "predicted": B}, {"boxes": "labels", "predicted": None}, None),
        ({"pred_boxes": B, "pred_labels": C, "boxes": B, "labels": C},
         {"pred_boxes": "pred_labels", "boxes": "labels"}, None),
        ({"a/boxes": B, "a/labels": C, "b/boxes": B, "b/labels": C},
         {"a/boxes": "a/labels", "b/boxes": "b/labels"}, None),
        ({"boxes": B, "a/labels": C}, {"boxes": None}, None),
    ],
)  # fmt: skip
def test_classes_belong_to_the_annotations_that_they_are_named_after(columns, classes, tags):
    schema = Schema.build(columns)
    result = {name: class_column(schema, schema[name]) for name in classes}
    assert {name: f and f.name for name, f in result.items()} == classes
    tagged = tag_column(schema)
    assert (tagged and tagged.name) == tags


@pytest.mark.parametrize(
    ("noted", "found"), [("kinds", "kinds"), ("gone", None), ("x", None), ("outlines", None)]
)
def test_metadata_names_the_classes(noted, found, make_lake):
    ds = make_lake({"outlines": P, "boxes": B, "kinds": C, "x": "int32"})
    ds["outlines"].metadata["classes"] = noted
    f = class_column(ds.schema, ds.schema["outlines"])
    assert (f and f.name) == found
    boxes = class_column(ds.schema, ds.schema["boxes"])
    assert (boxes and boxes.name) == (None if noted == "kinds" else "kinds")


def lake(make_lake):
    return make_lake(
        {"labels": C, "boxes": B, "image": "image", "outlines": P, "points": K,
         "outlines_kinds": C},
        labels=[["cat"]], boxes=[[[0, 0, 4, 4]]], image=[np.zeros((8, 8, 3), "uint8")],
        outlines=[[[[0, 0], [8, 0], [0, 8]]]], points=[[[[2, 2, 2]]]], outlines_kinds=[["dog"]],
    )  # fmt: skip


def test_polygons_and_keypoints_do_not_borrow_the_classes_of_boxes(make_lake, page):
    p = page(lake(make_lake))
    names = ["boxes", "outlines", "points"]
    [cell] = p.asks("cells", start=0, stop=1, size=64, overlays=names)["cells"]
    assert {name: cell["marks"][name]["c"] for name in names} == {
        "boxes": [0],
        "outlines": [1],
        "points": None,
    }
    about = {column["name"]: column["classes"] for column in p.w.about["columns"]}
    assert (about["boxes"], about["outlines"]) == (["cat", "dog"], ["cat", "dog"])


def test_staged_class_is_shown_at_once_in_all_annotations(make_lake, page):
    p = page(lake(make_lake))
    p.w.selected = [0]
    p.w.edit("outlines_kinds", ["cat"])
    [cell] = p.asks("cells", start=0, stop=1, size=64, overlays=["boxes", "outlines"])["cells"]
    assert [cell["marks"][name]["c"] for name in ("boxes", "outlines")] == [[0], [0]]


def test_tag_never_becomes_the_class_of_a_box(make_lake, page):
    ds = lake(make_lake)
    p = page(ds)
    assert p.w.about["tags"] is None
    edit = {"positions": [0], "column": p.w.about["tags"], "op": "add_tag", "value": "blurry"}
    p.asks("stage", edits=[edit])
    p.w.commit("tagged")
    assert ds["tags"][:] == [["blurry"]]
    assert [list(ds[name][0]) for name in ("labels", "outlines_kinds")] == [[0], [1]]
    assert p.w.about["tags"] == "tags"
