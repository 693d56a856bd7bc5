"""Versions and saved views are listed, selected and shown."""

from __future__ import annotations

import pytest

import deeplake_lite as dl


@pytest.fixture
def ds(make_lake):
    ds = make_lake({"x": "int32"}, x=range(5))
    ds.tag("v1")
    ds.delete([0])
    ds.commit("one less")
    ds.branch("fix")
    return ds


def test_branches_tags_and_commits_are_listed(ds, page):
    reply = page(ds).asks("versions")
    assert (reply["branches"], reply["tags"]) == (["fix", "main"], ["v1"])
    assert [c["message"] for c in reply["commits"]] == ["one less", "rows", "created"]
    assert [sorted(c["names"]) for c in reply["commits"]] == [["fix", "main"], ["v1"], []]
    assert reply["shown"] == ds.version


def test_version_is_shown_with_the_query_and_the_selection(ds, page):
    p = page(ds)
    p.w.query = "SELECT * WHERE x < 3"
    p.w.selected = [1]
    reply = p.asks("show_version", version="v1")
    assert (reply["rows"], reply["writable"], reply["branch"]) == (3, False, None)
    assert p.w.view["x"][:].tolist() == [0, 1, 2]
    assert p.w.view["x"][p.w.selected].tolist() == [2]
    assert p.w.about["name"] == "v1"
    reply = p.asks("show_version", version="fix")
    assert (reply["rows"], reply["writable"], reply["branch"]) == (2, True, "fix")
    assert "no version 'v9'" in p.fails("show_version", version="v9")["message"]
    assert p.w.about["branch"] == "fix"


def test_query_that_a_version_cannot_answer_is_dropped_and_reported(ds, page):
    ds.add_column("y", "int32", values=1)
    ds.commit("a column")
    p = page(ds)
    p.w.query = "SELECT * WHERE y = 1"
    p.asks("show_version", version="v1")
    assert (p.w.query, len(p.w.view)) == ("", 5)
    assert "no column 'y'" in p.w.problem["message"]


def test_shown_rows_are_saved_under_a_name_and_filtered_further(ds, page):
    p = page(ds)
    p.w.query = "SELECT * WHERE x > 2"
    assert p.asks("save_view", name="it's hard")["name"] == "it's hard"
    assert p.fails("save_view", name="it's hard")["kind"] == "ExistsError"
    assert p.asks("save_view", name="it's hard", overwrite=True)
    views = [{"name": "it's hard", "rows": 2, "query": "SELECT * WHERE x > 2"}]
    assert p.asks("views")["views"] == views
    p.w.query = ""
    reply = p.asks("show_view", name="it's hard")
    assert (reply["query"], reply["rows"]) == ("SELECT * FROM 'it''s hard'", 2)
    reply = p.asks("filter", expression="x", kind="numbers", op="set", values=[4, None])
    assert (reply["rows"], reply["query"]) == (1, "SELECT * FROM 'it''s hard' WHERE x >= 4")
    assert "no saved view 'y'" in p.fails("show_view", name="y")["message"]


def test_uncommitted_edits_cannot_be_saved_as_a_view(ds, page):
    ds["x"][0] = 9
    assert page(ds).fails("save_view", name="a")["kind"] == "UncommittedError"
    assert dl.open(ds.url).views() == {}
