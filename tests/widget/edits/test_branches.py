"""Edits go to the branch that the page shows, wherever the dataset moves in the meantime."""

from __future__ import annotations

import pytest

import deeplake_lite as dl


@pytest.fixture
def lake(make_lake):
    lake = make_lake({"label": dl.ClassLabel(["a", "b"]), "x": "int32"}, label=[0] * 3, x=range(3))
    lake.branch("fix")
    return lake


def contents(lake):
    return {name: dl.open(lake.url, branch=name)["label"][:].tolist() for name in ("main", "fix")}


NOTHING = {"main": [0, 0, 0], "fix": [0, 0, 0]}
STAGE = {"positions": [0], "column": "label", "op": "set", "value": "b"}
MOVED = r"shows branch 'main'.* moved to branch 'fix'.*ds\.checkout\('main'\)"


def test_dataset_on_another_branch_accepts_no_edits_until_it_is_back(lake, page):
    shown = page(lake)
    shown.asks("stage", edits=[STAGE])
    lake.checkout("fix")
    for act in (shown.w.commit, shown.w.refresh, lambda: shown.w.edit("x", 5)):
        shown.w.selected = [0]
        with pytest.raises(dl.UncommittedError, match=MOVED):
            act()
    assert "'fix'" in shown.fails("commit", message="")["message"]
    assert "'fix'" in shown.fails("refresh")["message"]
    shown.w.query = "SELECT * WHERE x < 3"
    assert (shown.w.about["branch"], shown.w.staged_count) == ("main", 1)
    assert contents(lake) == NOTHING
    lake.checkout("main")
    shown.w.commit("back")
    assert contents(lake) == {**NOTHING, "main": [1, 0, 0]}


def test_other_branch_is_shown_once_the_edits_are_dropped(lake, page):
    shown = page(lake)
    shown.asks("stage", edits=[STAGE])
    lake.checkout("fix")
    shown.w.discard()
    assert shown.w.about["branch"] == "main"
    assert "'fix'" in shown.fails("stage", edits=[STAGE])["message"]  # the page says main
    shown.w.refresh()
    assert shown.w.about["branch"] == shown.w.about["name"] == "fix"
    assert "fix" in shown.w._strip()
    shown.asks("stage", edits=[STAGE])
    shown.w.commit("on fix")
    assert contents(lake) == {**NOTHING, "fix": [1, 0, 0]}


def test_uncommitted_edits_ended_by_a_checkout_do_not_move_staged_edits(lake, page):
    lake["x"][2] = 9
    shown = page(lake)
    shown.asks("stage", edits=[STAGE])
    lake.discard()
    lake.checkout("fix")
    assert "'fix'" in shown.fails("cells", start=0, stop=1)["message"]
    lake.checkout("main")
    shown.asks("hello")
    shown.w.commit("back")
    assert contents(lake) == {**NOTHING, "main": [1, 0, 0]}


def test_another_dataset_is_shown_once_nothing_is_staged(lake, make_lake, page):
    other = make_lake({"label": dl.ClassLabel(["a", "b"]), "x": "int32"}, label=[0] * 3, x=range(3))
    for view in (other, dl.open(lake.url, branch="fix"), dl.open(lake.url, version=lake.version)):
        shown = page(lake)
        shown.asks("stage", edits=[STAGE])
        with pytest.raises(dl.UncommittedError, match=r"w\.commit"):
            shown.w.browse(view)
        shown.w.discard()
        shown.w.browse(view)
    shown = page(lake)
    shown.asks("stage", edits=[STAGE])
    shown.w.browse(dl.open(lake.url))  # the same branch
    shown.w.commit("mended")
    assert contents(lake) == {**NOTHING, "main": [1, 0, 0]}


def test_version_left_for_a_branch_is_not_written_to(lake, page):
    lake.tag("v1")
    ds = dl.open(lake.url, version="v1")
    shown = page(ds)
    ds.checkout("fix")
    assert "shows version 'v1'" in shown.fails("stage", edits=[STAGE])["message"]
    shown.w.refresh()
    shown.asks("stage", edits=[STAGE])
    shown.w.commit("on fix")
    assert contents(lake) == {**NOTHING, "fix": [1, 0, 0]}


def test_edits_of_a_deleted_branch_are_refused(lake, page):
    shown = page(dl.open(lake.url, branch="fix"))
    shown.asks("stage", edits=[STAGE])
    lake.delete_branch("fix")
    with pytest.raises(dl.VersionNotFoundError, match="'fix'"):
        shown.w.commit("gone")
    assert shown.w.staged_count == 1


def test_rows_brought_back_by_a_restore_are_compared_with_what_was_shown(lake, page):
    lake.tag("v1")
    lake["label"][1] = 1
    lake.commit("a b")
    shown = page(lake)
    shown.asks("stage", edits=[{**STAGE, "positions": [0, 1], "value": "a"}, STAGE])
    lake.restore("v1")
    assert shown.fails("commit", message="")["kind"] == "UncommittedError"
    lake.update([0], {"label": [1]})
    lake.update([1], {"label": [1]})
    lake.commit("restored")
    shown.w.commit("mended")
    assert dl.open(lake.url)["label"][:].tolist() == [1, 0, 0]
