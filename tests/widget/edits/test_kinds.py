"""An edit is refused as a whole, or staged, shown in the row details and committed."""

import numpy as np
import pytest

import deeplake_lite as dl

NAMES = ["far", "near"]
COLUMNS = {
    "classes": (dl.ClassLabel(NAMES), 0),
    "numbers": (dl.ClassLabel(), 3),
    "several classes": (dl.ClassLabel(NAMES, multiple=True), [0, 1]),
    "several numbers": (dl.ClassLabel(multiple=True), [1, 3]),
    "items of classes": (dl.Sequence(dl.ClassLabel(NAMES)), [0, 1]),
    "items of numbers": (dl.Sequence(dl.ClassLabel()), [1, 3]),
    "several or null": (dl.ClassLabel(multiple=True, nullable=True), None),
    "texts": (dl.Sequence("text"), ["1", "3"]),
    "text": (dl.Text(), "1"),
    "json": (dl.Json(), {"a": [1]}),
    "integer": (dl.Scalar("int8"), 1),
    "float": (dl.Scalar("float32", nullable=True), None),
    "flag": (dl.Scalar("bool"), True),
    "time": (dl.Scalar("datetime64[s]"), np.datetime64("2026-01-01", "s")),
    "boxes": (dl.Boxes(), [[1, 2, 3, 4]]),
}
VALUES = [
    0, 1, 3, -1, 300, 2**40, 1.5, True, None, "", "1", " 3 ", "-1", "x", "far", "1e400",
    "2026-01-01", [], [1, 3], ["1", "x"], ["far"], [None], [[1, 2, 3, 4]], {"a": 1},
]  # fmt: skip
BOXES = {"boxes": [[0, 0, 1, 1]], "c": [9]}
EDITS = [
    *((op, value) for op in ("set", "add_tag", "remove_tag") for value in VALUES),
    ("set_boxes", BOXES),
    ("take", "x"),
]


@pytest.mark.parametrize("kind", COLUMNS)
def test_edit_is_refused_or_can_be_shown_and_committed(make_lake, page, kind):
    htype, old = COLUMNS[kind]
    lake = make_lake({"x": htype}, x=[old])
    shown, staged = page(lake), 0
    for op, value in EDITS:
        expected = {"positions": [0], "column": "x", "op": op, "value": value}
        reply, _ = shown.ask("stage", edits=[expected, {**expected, "op": "no such"}])
        assert not reply["ok"]
        assert shown.w.staged_count == 0
        reply, _ = shown.ask("stage", edits=[expected])
        assert shown.w.staged_count == reply["ok"]
        if reply["ok"]:
            staged += 1
            fields = shown.asks("detail", p=0, size=64)["columns"]
            assert [f for f in fields if "damaged" in f] == []
            shown.asks("cells", start=0, stop=1, size=64, columns=["x"])
            shown.asks("commit", message=f"{op} {value}")
            lake.update([0], {"x": [old]})
            if lake.status():
                lake.commit("back")
            shown.w.refresh()
    assert staged


@pytest.mark.parametrize("kind", ["several numbers", "items of numbers"])
def test_tags_of_unnamed_classes_are_added_and_removed_by_number(make_lake, page, kind):
    htype, old = COLUMNS[kind]
    lake = make_lake({"tags": htype}, tags=[old])
    shown = page(lake)
    for op, value in [("remove_tag", 1), ("add_tag", "7"), ("add_tag", 3), ("add_tag", " 0 ")]:
        expected = {"positions": [0], "column": "tags", "op": op, "value": value}
        shown.asks("stage", edits=[expected])
    [field] = shown.asks("detail", p=0, size=64)["columns"]
    assert field["value"] == [3, 7, 0]
    shown.asks("facets", columns=None)
    assert [edit["what"] for edit in shown.w.staged] == ["− 1", "+ 7", "+ 3", "+ 0"]
    expected = {"positions": [0], "column": "tags", "op": "add_tag", "value": "cat"}
    assert "have no names" in shown.fails("stage", edits=[expected])["message"]
    shown.asks("commit", message="by number")
    assert np.asarray(lake["tags"][0]).tolist() == [3, 7, 0]
