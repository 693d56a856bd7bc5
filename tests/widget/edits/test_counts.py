"""Boxes and their classes stay equal in number, whatever is staged, dropped or restored."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

import deeplake_lite as dl
from deeplake_lite.widget.edits import journal
from deeplake_lite.widget.edits.editing import Editing

from ..conftest import Page

NAMES = ["ant", "bee", "cat"]
CORNERS = [[0.1, 0.1, 0.2, 0.2], [0.3, 0.3, 0.4, 0.4], [0.5, 0.5, 0.6, 0.6], [0.7, 0.7, 0.8, 0.8]]
PAIR = ("boxes", "boxes_classes")
_numbers = count()


@pytest.fixture
def url(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    make(str(tmp_path / "lake"))
    return str(tmp_path / "lake")


def make(url):
    """Make a lake of two rows, with two boxes and their classes each."""
    several = dl.ClassLabel(NAMES, multiple=True)
    boxes = dl.Boxes(units="fraction")
    ds = dl.create(url, {"boxes": boxes, "boxes_classes": several, "found": boxes, "n": "int32"})
    pair = {"boxes": [CORNERS[:2]] * 2, "boxes_classes": [["ant", "bee"]] * 2}
    ds.append({**pair, "found": [CORNERS[1:3]] * 2, "n": [0, 1]})
    ds.commit("rows")
    return ds


def stage(shown, op, value, position=0, column="boxes_classes"):
    edit = {"positions": [position], "column": column, "op": op, "value": value}
    return shown.ask("stage", edits=[edit])[0]


def draw(shown, classes, position=0):
    """Stage as many boxes as classes."""
    value = {"boxes": CORNERS[: len(classes)], "c": classes}
    return stage(shown, "set_boxes", value, position, "boxes")


def written(url):
    """Return how many boxes each row has, and their classes."""
    ds = dl.open(url)
    return [
        (len(boxes), [NAMES[i] for i in classes])
        for boxes, classes in zip(ds["boxes"][:], ds["boxes_classes"][:], strict=True)
    ]


SAME = (2, ["ant", "bee"])
LATER = {
    "a class that is there": ([0, 1, 2], "add_tag", "cat"),
    "a class that is not there": ([0], "remove_tag", "bee"),
    "all classes": ([0, 1, 2], "set", ["cat"] * 3),
    "must have one class": ([1, 2], "set", ["cat", "cat"]),
}


@pytest.mark.parametrize("at", [0, 1])
@pytest.mark.parametrize("later", LATER)
def test_classes_made_for_boxes_are_dropped_with_them(url, page, later, at):
    classes, op, value = LATER[later]
    shown = page(dl.open(url))
    assert draw(shown, classes)["ok"]
    assert stage(shown, "set", 7, 1, "n")["ok"]
    assert stage(shown, op, value)["ok"]
    before = shown.w.staged
    shown.sent.clear()
    shown.asks("drop", id=shown.w.staged[at]["id"])
    assert [edit["column"] for edit in shown.w.staged] == ["n"]
    [note] = [sent["text"] for sent, _ in shown.sent if sent["type"] == "note"]
    assert (
        f"so these edits were dropped as well: 'boxes_classes' {before[-1]['what']}. Undo" in note
    )
    shown.asks("undo")
    assert shown.w.staged == before
    shown.asks("redo")
    shown.w.commit("n alone")
    assert written(url) == [SAME, SAME]
    assert dl.open(url)["n"][:].tolist() == [0, 7]


def test_edits_of_other_rows_and_complete_ones_stay(url, page):
    shown = page(dl.open(url))
    assert draw(shown, [0, 1, 2])["ok"]
    assert draw(shown, [2])["ok"]
    assert stage(shown, "set", ["bee"])["ok"]
    assert stage(shown, "set", ["cat", "cat"], 1)["ok"]
    shown.sent.clear()
    shown.asks("drop", id=shown.w.staged[0]["id"])
    assert "note" not in {sent["type"] for sent, _ in shown.sent}
    shown.w.commit("two rows")
    assert written(url) == [(1, ["bee"]), (2, ["cat", "cat"])]


def test_copied_boxes_are_dropped_with_the_classes_that_they_were_copied_for(url, page):
    shown = page(dl.open(url))
    assert draw(shown, [0])["ok"]
    assert draw(shown, [2, 2])["ok"]
    assert stage(shown, "take", "found", 0, "boxes")["ok"]
    shown.asks("drop", id=shown.w.staged[-2]["id"])
    assert [edit["column"] for edit in shown.w.staged] == ["boxes", "boxes_classes"]
    shown.w.commit("one box")
    assert written(url) == [(1, ["ant"]), SAME]


def test_edits_dropped_with_boxes_are_dropped_from_the_draft_too(url, page):
    shown = page(dl.open(url))
    draw(shown, [0, 1, 2])
    stage(shown, "add_tag", "cat")
    stage(shown, "set", 7, 0, "n")
    shown.asks("drop", id=shown.w.staged[0]["id"])
    [draft] = journal.drafts_in(journal.folder_of(url), "main", None)
    assert draft.complete
    assert [edit.column for edit in draft.edits] == ["n"]


def test_draft_incompatible_with_staged_edits_is_refused_and_kept(url, page):
    left, shown = page(dl.open(url)), page(dl.open(url))
    assert stage(left, "set", ["cat", "cat"])["ok"]
    assert draw(shown, [0])["ok"]
    [offered] = shown.w.part(Editing).drafts()
    with pytest.raises(
        dl.InvalidValueError, match=r"it would have 2 classes and 1 item\..*w\.discard\(\)"
    ):
        shown.w.restore()
    assert "contradicts the edits" in shown.fails("restore", id=offered.id)["message"]
    assert (len(shown.w.staged), len(left.w.staged)) == (2, 1)
    shown.w.commit("one box")
    assert written(url) == [(1, ["ant"]), SAME]
    shown.w.restore()
    with pytest.raises(dl.ConflictError):
        shown.w.commit("classes")
    with pytest.raises(dl.InvalidValueError, match="but it would have 2 classes and 1 item"):
        shown.w.commit("classes", on_conflict="ours")
    shown.w.commit("classes", on_conflict="theirs")
    assert written(url) == [(1, ["ant"]), SAME]


@pytest.mark.parametrize("choice", ["ours", "theirs"])
def test_classes_are_not_copied_over_a_different_number_of_boxes(url, page, choice):
    shown = page(dl.open(url))
    assert stage(shown, "set", ["cat", "cat"])["ok"]
    other = dl.open(url)
    other.update([0], {"boxes": [CORNERS[:3]], "boxes_classes": [["bee"] * 3]})
    other.commit("theirs")
    reply = shown.ask("commit", message="mine")[0]
    assert reply["error"]["kind"] == "ConflictError"
    reply = shown.ask("resolve", choice=choice)[0]
    assert written(url) == [(3, ["bee"] * 3), SAME]
    assert reply["ok"] == (choice == "theirs")
    assert len(shown.w.staged) == (choice == "ours")


POSITION = st.integers(0, 1)
CLASSES = st.lists(st.integers(0, 2), max_size=4)
ACTIONS = st.one_of(
    st.tuples(st.just("draw"), CLASSES, POSITION),
    st.tuples(st.just("set"), CLASSES.map(lambda found: [NAMES[i] for i in found]), POSITION),
    st.tuples(st.sampled_from(["add_tag", "remove_tag"]), st.sampled_from(NAMES), POSITION),
    st.tuples(st.just("take"), st.just("found"), POSITION),
    st.tuples(st.just("drop"), st.integers(0, 9), POSITION),
    st.tuples(st.sampled_from(["undo", "redo"]), st.none(), POSITION),
)


def act(shown, action, value, position):
    match action:
        case "draw":
            draw(shown, value, position)
        case "take":
            stage(shown, action, value, position, "boxes")
        case "drop":
            if listed := shown.w.staged:
                shown.asks("drop", id=listed[value % len(listed)]["id"])
        case "undo" | "redo":
            shown.asks(action)
        case _:
            stage(shown, action, value, position)


@given(actions=st.lists(ACTIONS, max_size=10))
def test_every_row_has_a_class_for_each_box_after_any_edits(actions):
    url = f"memory://counts-{next(_numbers)}"
    ds = make(url)
    shown = Page(ds)
    pending = shown.w.part(Editing).pending

    def staged():
        boxes, classes = (pending.stored(ds.schema[name].id, ds.row_ids)[1] for name in PAIR)
        counts = [len(result) for result in boxes]
        return list(zip(counts, [[NAMES[i] for i in result] for result in classes], strict=True))

    for action in actions:
        act(shown, *action)
        assert all(boxes == len(classes) for boxes, classes in staged())
    expected = staged()
    shown.w.commit("all")
    assert written(url) == expected
