"""Boxes and their classes stay equal in number, however they are edited."""

from __future__ import annotations

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.widget.edits.staged import Staged
from deeplake_lite.widget.images.overlays import MOST

NAMES = ["ant", "bee", "cat"]
BOXES = [[4, 2, 10, 8], [12, 4, 20, 12], [24, 4, 36, 16]]
CLASSES = {
    "one each": ["bee", "cat", "ant"],
    "null": None,
    "fewer": ["bee", "cat"],
    "more": ["bee", "cat", "ant", "ant"],
}
QUERIES = {
    "both": "",
    "boxes alone": "SELECT image, boxes",
    "other classes": "SELECT image, boxes, other AS boxes_classes",
    "reversed": "SELECT image, boxes ORDER BY n DESC",
}
ACTIONS = ["draw", "delete", "nudge", "name"]
HALF = [0.5, 0.5, 0.6, 0.6]


@pytest.fixture
def lake(make_lake):
    def make(classes=CLASSES["one each"], boxes=BOXES):
        several = dl.ClassLabel(NAMES, multiple=True, nullable=True)
        schema = {"image": "image", "boxes": dl.Boxes(), "boxes_classes": several}
        return make_lake(
            {**schema, "other": several, "n": "int32"},
            image=[np.full((20, 40, 3), i, np.uint8) for i in range(2)],
            boxes=[boxes] * 2,
            boxes_classes=[classes] * 2,
            other=[["cat"] * 3] * 2,
            n=[0, 1],
        )

    return make


def row(shown, position=0):
    """Return the data with which the page edits a row: the id, boxes, and their classes."""
    reply = shown.asks("detail", p=position, size=64)
    result = next(column for column in reply["columns"] if column["name"] == "boxes")
    return reply["id"], result["marks"]["boxes"], result["box_classes"]


def act(action, boxes, classes):
    """Return boxes and classes after an action of the reader."""
    boxes, classes = list(boxes), classes and list(classes)
    match action:
        case "draw":
            boxes.append(HALF)
            classes = classes and [*classes, 1]
        case "delete":
            boxes.pop(0)
            classes = classes and classes[1:]
        case "nudge":
            boxes[0] = [v + 0.01 for v in boxes[0]]
        case "name":
            classes = classes and [2, *classes[1:]]
    return boxes, classes


def stage(shown, boxes, classes, **more):
    value = {"boxes": boxes, "c": classes}
    expected = {"positions": [0], "column": "boxes", "op": "set_boxes", "value": value, **more}
    return shown.ask("stage", edits=[expected])[0]


def cells(ds, position=0):
    fresh = dl.open(ds.url)
    classes = fresh["boxes_classes"][position]
    names = None if classes is None or classes is np.ma.masked else [NAMES[i] for i in classes]
    return fresh["boxes"][position].round(1).tolist(), names


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("classes", CLASSES)
@pytest.mark.parametrize("query", QUERIES)
def test_edit_of_boxes_keeps_a_class_for_each_or_changes_nothing(
    lake, page, query, classes, action
):
    ds = lake(CLASSES[classes])
    shown = page(ds)
    shown.w.query = QUERIES[query]
    row_id, boxes, about = row(shown)
    [at] = np.flatnonzero(ds.row_ids == int(row_id))
    before = cells(ds, at)
    assert about["column"] == "boxes_classes"
    assert (about["c"] is not None) == (classes == "one each")
    drawn, numbers = act(action, boxes, about["c"])
    reply = stage(shown, drawn, numbers, row=row_id)
    shown.w.commit("edited")
    after = cells(ds, at)
    if classes in ("fewer", "more") and action in ("draw", "delete"):
        assert f"3 boxes but {len(CLASSES[classes])} classes" in reply["error"]["message"]
        assert after == before
        return
    assert reply["ok"], reply
    assert len(after[0]) == len(drawn)
    expected = {"draw": "bee cat ant bee", "delete": "cat ant", "name": "cat cat ant"}
    if classes == "one each":
        assert after[1] == expected.get(action, "bee cat ant").split()
    else:
        assert after[1] == CLASSES[classes]


@pytest.mark.parametrize("sent", [[], [0, 1], [0, 1, 2, 0]])
@pytest.mark.parametrize("classes", CLASSES)
def test_different_numbers_of_boxes_and_classes_are_refused(lake, page, classes, sent):
    ds = lake(CLASSES[classes])
    shown = page(ds)
    _, boxes, _ = row(shown)
    reply = stage(shown, boxes, sent)
    assert not reply["ok"]
    assert shown.w.staged_count == 0
    if classes == "one each":
        assert f"3 boxes and {len(sent)} classes" in reply["error"]["message"]


@pytest.mark.parametrize("sent", [[0, 0, 0], [1, 2]])
def test_classes_invented_by_the_page_are_refused(lake, page, sent):
    ds = lake(CLASSES["fewer"])
    shown = page(ds)
    _, boxes, _ = row(shown)
    assert not stage(shown, boxes[: len(sent)], sent)["ok"]
    assert cells(ds) == (BOXES, CLASSES["fewer"])


def test_boxes_that_lost_their_classes_are_refused(lake, page):
    shown = page(lake())
    _, boxes, _ = row(shown)
    reply = stage(shown, boxes[1:], None)
    assert "2 boxes and 0 classes" in reply["error"]["message"]
    assert stage(shown, boxes[1:], [2, 0])["ok"]


def test_boxes_beyond_the_drawn_ones_keep_their_classes(lake, page):
    many = np.tile(np.float32(BOXES), (MOST, 1))[: MOST + 3]
    ds = lake([NAMES[i % 3] for i in range(MOST + 3)], many)
    shown = page(ds)
    _, boxes, about = row(shown)
    assert len(boxes) == len(about["c"]) == MOST
    assert stage(shown, boxes[1:], about["c"][1:])["ok"]
    shown.w.commit("one less")
    assert cells(ds) == (many[1:].tolist(), [NAMES[i % 3] for i in range(1, MOST + 3)])


def test_classes_in_a_column_newer_than_the_shown_version_are_kept(make_lake, page):
    picture = np.zeros((20, 40, 3), np.uint8)
    ds = make_lake({"image": "image", "boxes": dl.Boxes()}, image=[picture], boxes=[BOXES])
    old = ds[:]
    several = dl.ClassLabel(NAMES, multiple=True)
    ds.add_column("boxes_classes", several, values=[CLASSES["one each"]])
    ds.commit("classes")
    shown = page(old)
    _, boxes, _ = row(shown)
    assert not stage(shown, boxes[1:], None)["ok"]
    assert stage(shown, boxes[1:], [2, 0])["ok"]
    shown.w.commit("one less")
    assert cells(ds) == (BOXES[1:], ["cat", "ant"])


def test_first_boxes_of_a_row_have_classes(lake, page):
    ds = lake(None, np.zeros((0, 4)))
    shown = page(ds)
    _, boxes, about = row(shown)
    assert (boxes, about["c"]) == ([], [])
    assert stage(shown, [HALF], [2])["ok"]
    shown.w.commit("first")
    assert cells(ds) == ([[20, 10, 24, 12]], ["cat"])


def test_edit_of_a_row_other_than_the_shown_one_is_refused(lake, page):
    ds = lake()
    shown = page(ds)
    _, boxes, about = row(shown)
    reply = stage(shown, boxes[1:], about["c"][1:], row=str(ds.row_ids[1]))
    assert "nothing was edited" in reply["error"]["message"]
    assert shown.w.staged_count == 0


def test_hidden_classes_changed_by_another_writer_are_a_conflict(lake, page):
    ds = lake()
    shown = page(ds)
    shown.w.query = "SELECT image, boxes"
    _, boxes, about = row(shown)
    assert stage(shown, boxes[1:], about["c"][1:])["ok"]
    ds["boxes_classes"][0] = ["cat"] * 3
    ds.commit("beside the browser")
    listed = shown.fails("commit", message="mine")["conflicts"]
    assert [c["column"] for c in listed] == ["boxes", "boxes_classes"]


@pytest.mark.parametrize("choice", ["ours", "theirs"])
@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("theirs", ["move", "rename", "both", "more"])
def test_boxes_and_classes_of_one_side_are_resolved_together(lake, page, theirs, action, choice):
    ds = lake()
    shown = page(ds)
    row_id, boxes, about = row(shown)
    drawn, numbers = act(action, boxes, about["c"])
    assert stage(shown, drawn, numbers)["ok"]
    other = dl.open(ds.url)
    moved, named = np.array(BOXES, np.float32) + 1, ["cat"] * 3
    change = {"move": {"boxes": [moved]}, "rename": {"boxes_classes": [named]}}
    change["both"] = change["move"] | change["rename"]
    change["more"] = {"boxes": [[*BOXES, BOXES[0]]], "boxes_classes": [[*named, "ant"]]}
    other.update([0], change[theirs])
    other.commit("theirs")
    result = cells(ds)
    reply = shown.ask("commit", message="mine")[0]
    if not reply["ok"]:
        listed = [(c["id"], c["column"]) for c in reply["error"]["conflicts"]]
        assert listed == [(row_id, "boxes"), (row_id, "boxes_classes")]
        shown.asks("resolve", choice=choice)
    boxes, classes = cells(ds)
    assert len(boxes) == len(classes)
    if choice == "theirs":
        assert not reply["ok"]
        assert (boxes, classes) == result
    else:
        assert len(boxes) == len(drawn)
        assert classes == [NAMES[i] for i in numbers]


@pytest.mark.parametrize("at", [0, 1])
def test_edit_of_boxes_is_dropped_together_with_their_classes(lake, page, at):
    shown = page(lake())
    _, boxes, about = row(shown)
    stage(shown, boxes[1:], about["c"][1:])
    shown.asks("stage", edits=[{"positions": [1], "column": "n", "op": "set", "value": 5}])
    shown.asks("drop", id=shown.w.staged[at]["id"])
    assert [edit["column"] for edit in shown.w.staged] == ["n"]
    shown.asks("undo")
    assert [edit["column"] for edit in shown.w.staged] == ["boxes", "boxes_classes", "n"]
    shown.asks("redo")
    shown.asks("undo")
    shown.asks("drop", id=shown.w.staged[2]["id"])
    assert [edit["column"] for edit in shown.w.staged] == ["boxes", "boxes_classes"]


def test_edit_linked_to_a_missing_next_one_is_dropped_alone():
    from dataclasses import replace

    staged = Staged()
    edit = staged.edit("x", "f", "set", np.array([1]), 1, None, "")
    staged.add([replace(edit, with_next=True)])
    assert len(staged.drop(edit.id)) == 1


@pytest.mark.parametrize("kind", ["boxes", "keypoints", "polygons"])
@pytest.mark.parametrize(
    ("op", "value", "taken"),
    [
        ("add_tag", "cat", False),
        ("add_tag", "bee", True),
        ("remove_tag", "bee", False),
        ("remove_tag", "cat", True),
        ("set", ["bee", "cat"], True),
        ("set", ["bee"], False),
        ("set", [], False),
        ("set", None, False),
    ],
)
def test_number_of_classes_of_annotations_cannot_be_edited(make_lake, page, kind, op, value, taken):
    marks = {
        "boxes": (dl.Boxes(), BOXES[:2]),
        "keypoints": (dl.Keypoints(["a"]), np.ones((2, 1, 3), np.float32)),
        "polygons": (dl.Polygons(), [np.ones((3, 2), np.float32)] * 2),
    }
    htype, values = marks[kind]
    several = dl.ClassLabel(NAMES, multiple=True, nullable=True)
    ds = make_lake({"m": htype, "m_classes": several}, m=[values], m_classes=[["ant", "bee"]])
    shown = page(ds)
    expected = {"positions": [0], "column": "m_classes", "op": op, "value": value}
    reply = shown.ask("stage", edits=[expected])[0]
    assert reply["ok"] == taken, reply
    if not taken:
        assert "ds.update" in reply["error"]["message"]
        assert shown.w.staged_count == 0


def test_boxes_copied_from_another_column_need_as_many_classes(make_lake, page):
    several = dl.ClassLabel(NAMES, multiple=True)
    ds = make_lake(
        {"boxes": dl.Boxes(), "boxes_classes": several, "found": dl.Boxes()},
        boxes=[BOXES, BOXES],
        boxes_classes=[["bee", "cat", "ant"]] * 2,
        found=[BOXES[:2], BOXES[::-1]],
    )
    shown = page(ds)
    take = {"column": "boxes", "op": "take", "value": "found"}
    assert (
        "item in 'boxes', but it would have 3 classes and 2 items"
        in shown.fails("stage", edits=[{**take, "positions": [0]}])["message"]
    )
    assert shown.ask("stage", edits=[{**take, "positions": [1]}])[0]["ok"]
