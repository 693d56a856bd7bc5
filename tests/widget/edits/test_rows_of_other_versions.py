"""Rows of other versions: which are read-only, and where edits of the others go."""

from __future__ import annotations

import pytest

import deeplake_lite as dl

STAGE = {"positions": [0], "column": "label", "op": "set", "value": "b"}


@pytest.fixture
def lake(make_lake):
    lake = make_lake({"label": dl.ClassLabel(["a", "b"]), "x": "int32"}, label=[0] * 3, x=range(3))
    lake.tag("v1")
    lake.branch("fix")
    lake["x"][2] = 9
    lake.commit("nine")
    return lake


def contents(lake):
    return {name: dl.open(lake.url, branch=name)["label"][:].tolist() for name in ("main", "fix")}


@pytest.mark.parametrize("version", ["v1", "main", "fix"])
@pytest.mark.parametrize("columns", ["*", "label", "label, x + 1 AS y"])
def test_view_of_a_query_with_a_version_is_read_only(lake, page, version, columns):
    shown = page(lake.query(f"SELECT {columns} FROM '{lake.url}' VERSION '{version}'"))
    assert shown.w.about["writable"] is False
    row = shown.asks("detail", p=0, size=64)
    assert not any(column.get("editable") for column in row["columns"])
    assert "never moves" in shown.fails("stage", edits=[STAGE])["message"]
    shown.w.selected = [0]
    with pytest.raises(dl.ReadOnlyError, match="never moves"):
        shown.w.edit("label", "b")


@pytest.mark.parametrize("version", ["v1", "fix"])
def test_edits_of_rows_of_another_version_go_to_the_branch_that_is_shown(lake, page, version):
    shown = page(lake)
    shown.w.query = f"SELECT * FROM dataset VERSION '{version}'"
    assert (shown.w.about["writable"], shown.w.about["branch"]) == (True, "main")
    shown.asks("stage", edits=[STAGE])
    shown.w.commit("one")
    assert contents(lake) == {"main": [1, 0, 0], "fix": [0, 0, 0]}


def test_edit_of_an_old_value_that_has_changed_on_the_branch_is_a_conflict(lake, page):
    shown = page(lake)
    shown.w.query = "SELECT * FROM dataset VERSION 'v1'"
    shown.asks("stage", edits=[{"positions": [2], "column": "x", "op": "set", "value": 5}])
    with pytest.raises(dl.ConflictError, match="another writer changed the same rows"):
        shown.w.commit("five")
    assert lake["x"][:].tolist() == [0, 1, 9]


def test_edit_of_a_row_that_the_branch_no_longer_has_is_a_conflict(lake, page):
    lake.delete([0])
    lake.commit("two rows")
    shown = page(lake)
    shown.w.query = "SELECT * FROM dataset VERSION 'v1'"
    shown.asks("stage", edits=[STAGE])
    with pytest.raises(dl.ConflictError, match="another writer changed the same rows"):
        shown.w.commit("one")
    assert contents(lake)["main"] == [0, 0]


@pytest.mark.parametrize(
    "query",
    ["SELECT * WHERE x < 2", "SELECT label AS kind, x + 1 AS y", "SELECT * FROM dataset LIMIT 2"],
)
def test_rows_of_the_branch_stay_editable_in_a_query(lake, page, query):
    shown = page(lake)
    shown.w.query = query
    assert shown.w.about["writable"]
    column = "kind" if "kind" in query else "label"
    shown.asks("stage", edits=[{**STAGE, "column": column}])
    shown.w.commit("one")
    assert contents(lake)["main"] == [1, 0, 0]


def test_view_of_the_branch_from_before_a_commit_stays_editable(lake, page):
    early = lake[:2]
    lake["x"][1] = 7
    lake.commit("seven")
    shown = page(lake)
    shown.w.view = early
    assert shown.w.about["writable"]
    shown.asks("stage", edits=[STAGE])
    shown.w.commit("one")
    assert contents(lake)["main"] == [1, 0, 0]


@pytest.mark.parametrize("switch", ["view", "version", "refresh"])
def test_undone_edits_of_one_branch_are_not_repeated_on_another(lake, page, switch):
    shown = page(lake)
    shown.asks("stage", edits=[STAGE])
    shown.asks("undo")
    match switch:
        case "view":  # the rows are of another branch, but edits still go to this one
            shown.w.view = dl.open(lake.url, branch="fix")
        case "version":
            shown.asks("show_version", version="fix")
        case "refresh":
            lake.checkout("fix")
            shown.w.refresh()
    again = shown.asks("redo")
    assert again["staged_count"] == (1 if switch == "view" else 0)
    shown.w.commit("again")
    assert contents(lake)["fix"] == [0, 0, 0]
