"""Two versions side by side: changes are marked, whatever else happened to the columns."""

import numpy as np
import pytest

import deeplake_lite as dl


@pytest.fixture
def lake(make_lake):
    pixels = np.random.default_rng(0).integers(0, 255, (6, 12, 16, 3), np.uint8)
    schema = {"image": "image", "label": dl.ClassLabel(["ant", "bee"]), "text": "text", "n": "int8"}
    ds = make_lake(schema, image=list(pixels), label=[0] * 6, text=list("abcdef"), n=range(6))
    ds.tag("v1")
    ds.update([4, 1], {"label": "bee"})
    ds["text"][1] = "B"
    ds["image"][2] = 255 - pixels[2]
    ds.delete(3)
    ds.append({"image": list(pixels[:2]), "label": [1, 1], "text": ["x", "y"], "n": [8, 9]})
    ds.rename_column("text", "note")
    ds.commit("mended")
    return ds


class Pair:
    """A stand-in for the page."""

    def __init__(self, widget):
        self.w, self.sent, self._req = widget, [], 0
        widget.send = lambda content, buffers=None: self.sent.append((content, buffers or []))

    def ask(self, kind, **fields):
        self._req += 1
        gen = self.w.state["generation"]
        self.w._handle_custom_msg({"type": kind, "req": self._req, "gen": gen, **fields}, [])
        return self.sent[-1][0]


@pytest.fixture
def pair(lake):
    return Pair(dl.browse_diff(lake, "v1", "main"))


def test_page_learns_how_many_rows_differ(pair):
    about = pair.w.about
    assert (about["mode"], about["a"], about["b"]) == ("diff", "v1", "main")
    assert about["counts"] == {"changed": 3, "added": 2, "removed": 1}
    assert about["changed_columns"] == {"image": 1, "label": 2, "note": 1}
    assert (pair.w.state["tab"], pair.w.state["rows"]) == ("changed", 3)
    assert repr(pair.w) == "Difference of v1 and main: rows 3 changed, 2 added, 1 removed"


def test_changed_rows_have_both_sides(pair):
    cells = pair.ask("cells", start=0, stop=9, size=64, picture="image", columns=["n"])["cells"]
    assert [cell["changed"] for cell in cells] == [["label", "note"], ["image"], ["label"]]
    [first, drawn, last] = cells
    assert first["a"]["caption"]["note"]["t"] == "b"  # which was called text
    assert first["b"]["caption"]["note"]["t"] == "B"
    assert [last[side]["caption"]["label"]["t"] for side in "ab"] == ["ant", "bee"]
    assert [first[side]["caption"]["n"]["t"] for side in "ab"] == ["1", "1"]
    data = bytes(pair.sent[-1][1][0])
    before, after = (data[c["v"][0] : sum(c["v"][:2])] for c in (drawn["a"], drawn["b"]))
    assert before != after
    assert (drawn["a"]["w"], drawn["a"]["h"]) == (16, 12)


def test_rows_by_column_and_added_and_removed_rows_are_tabs(pair):
    assert pair.ask("tab", tab="changed", column="note")["rows"] == 1
    assert pair.w.state["column"] == "note"
    assert pair.ask("tab", tab="added", column=None)["rows"] == 2
    [first, _] = pair.ask("cells", start=0, stop=2, size=64, columns=["note"])["cells"]
    assert first["a"] is None
    assert first["b"]["caption"]["note"]["t"] == "x"
    assert pair.ask("tab", tab="removed")["rows"] == 1
    [gone] = pair.ask("cells", start=0, stop=2, size=64, columns=["note"])["cells"]
    assert gone["b"] is None
    assert gone["a"]["caption"]["note"]["t"] == "d"
    assert "'changed', 'added' or 'removed'" in pair.ask("tab", tab="moved")["error"]["message"]


def test_row_details_have_two_sides_and_mark_differences(pair):
    before, after = (pair.ask("detail", p=0, size=64, side=side) for side in "ab")
    texts = [{c["name"]: c["text"] for c in reply["columns"]} for reply in (before, after)]
    assert [text["note"] for text in texts] == ["b", "B"]
    assert {c["name"] for c in after["columns"] if c["changed"]} == {"label", "note"}
    assert not any(c.get("editable") for c in after["columns"])
    pair.ask("tab", tab="added")
    assert pair.ask("detail", p=0, size=64, side="a")["ok"] is False
    assert pair.ask("detail", p=0, size=64, side="b")["ok"]


def test_positions_of_another_tab_are_stale(pair):
    pair.w._handle_custom_msg({"type": "cells", "req": 1, "gen": 0, "start": 0, "stop": 1}, [])
    assert pair.sent[-1][0]["error"]["kind"] == "Stale"


def test_uncommitted_edits_are_compared_too(lake):
    lake["n"][0] = 77
    [cell] = Pair(dl.browse_diff(lake)).ask("cells", start=0, stop=9, size=64)["cells"]
    assert cell["changed"] == ["n"]
    assert [cell[side]["caption"]["n"]["t"] for side in "ab"] == ["0", "77"]


def test_equal_versions_and_versions_without_images_are_shown(make_lake):
    ds = make_lake({"n": "int8"}, n=[1, 2])
    pair = Pair(dl.browse_diff(ds))
    assert pair.ask("cells", start=0, stop=9, size=64)["cells"] == []
    ds["n"][0] = 5
    pair = Pair(dl.browse_diff(ds))
    [cell] = pair.ask("cells", start=0, stop=9, size=64)["cells"]
    assert cell["a"]["card"]["kind"] == "table"


def test_notebook_without_widgets_shows_the_table(pair):
    data, _ = pair.w._repr_mimebundle_()
    assert "v1" in data["text/html"]
    assert data["text/plain"] == repr(pair.w)


def test_unknown_version_is_reported(lake):
    with pytest.raises(dl.VersionNotFoundError, match="v2"):
        dl.browse_diff(lake, "v2", "main")


def test_column_named_like_a_dropped_one_is_not_confused_with_it(make_lake):
    ds = make_lake({"b": "text", "a": "text"}, b=["kept"], a=["gone"])
    ds.tag("v1")
    ds.drop_column("a")
    ds.rename_column("b", "a")
    ds["a"][0] = "kept, and changed"
    ds.commit("renamed")
    pair = Pair(dl.browse_diff(ds, "v1", "main"))
    [cell] = pair.ask("cells", start=0, stop=1, columns=["a"])["cells"]
    assert cell["a"]["caption"]["a"]["t"] == "kept"
    [one] = [c for c in pair.ask("detail", p=0, side="a")["columns"] if c["name"] == "a"]
    assert one["text"] == "kept"


def test_diff_is_captured_when_it_is_displayed(pair, monkeypatch):
    from IPython.display import DisplayHandle

    updates = []
    with pytest.raises(dl.LakeError, match="Show it in a cell first"):
        pair.w.freeze()
    monkeypatch.setattr(DisplayHandle, "update", lambda _, data, **_raw: updates.append(data))
    pair.w._displays.append(DisplayHandle())
    pair.w.freeze()
    assert "note" in updates[0]["text/html"]
    assert updates[0]["text/plain"] == repr(pair.w)
