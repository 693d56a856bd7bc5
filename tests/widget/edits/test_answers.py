"""Staged edits belong to stored columns, and answers show them under whatever name."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import deeplake_lite as dl

NAMES = ["ant", "bee", "cat"]

# For each query: the columns of the answer that are stored `note`, and the computed ones.
QUERIES = {
    "all": ("", ["note"], []),
    "as it is": ("SELECT note, n", ["note"], []),
    "other rows": ("SELECT * ORDER BY n DESC", ["note"], []),
    "another name": ("SELECT n, note AS said", ["said"], []),
    "two names": ("SELECT note, n, note AS said", ["note", "said"], []),
    "swapped": ("SELECT note AS other, other AS note, n", ["other"], []),
    "swapped with another type": ("SELECT note AS n, n AS note", ["n"], []),
    "of a query": ("SELECT * FROM (SELECT n, note AS said FROM dataset)", ["said"], []),
    "computed": ("SELECT n, UPPER(note) AS note", [], ["note"]),
    "computed, another type": ("SELECT n, LEN(note) AS note", [], ["note"]),
    "computed, and another name": ("SELECT LEN(note) AS note, note AS said", ["said"], ["note"]),
    "replaced": ("SELECT * REPLACE (LEN(note) AS note)", [], ["note"]),
    "left out": ("SELECT n", [], []),
    "left out, with a name like it": ('SELECT n, n * 2 AS "note (stored)"', [], ["note (stored)"]),
}


def lake_of(make_lake):
    schema = {"note": "text", "other": "text", "n": "int32"}
    return make_lake(schema, note=["a", "b"], other=["c", "d"], n=[1, 2])


def row_of(shown, ds, at=0):
    """Return the position at which a row of the lake is shown."""
    return int(np.flatnonzero(shown.w.view.row_ids == ds.row_ids[at])[0])


def stage(shown, position, column, value="mine", op="set"):
    edit = {"positions": [position], "column": column, "op": op, "value": value}
    return shown.ask("stage", edits=[edit])[0]


def fields(shown, position):
    return {c["name"]: c for c in shown.asks("detail", p=position, size=64)["columns"]}


def cell_of(shown, position):
    columns = list(shown.w.view.columns)
    expected = {"positions": [position], "size": 64, "columns": columns}
    [cell] = shown.asks("cells", **expected, picture=None)["cells"]
    return cell


def check_shown(shown, position, edited, computed):
    """Compare the row details and the grid with the staged edits and the query's answer."""
    view = shown.w.view
    expected = {name: str(view[name][position]) for name in view.columns}
    expected |= dict.fromkeys(edited, "mine")
    large, cell = fields(shown, position), cell_of(shown, position)
    assert {name: c["text"] for name, c in large.items()} == expected
    assert {name for name, c in large.items() if c["staged"]} == {*edited}
    assert {name for name, c in large.items() if not c["editable"]} == {*computed}
    assert {name: cell["caption"][name]["t"] for name in expected} == expected
    assert {name for name in cell["staged"] if name in expected} == {*edited}
    assert cell["staged"], "the grid marks the row"
    assert dict(cell["card"]["rows"]) == expected


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("query", QUERIES)
def test_page_shows_what_the_commit_writes(make_lake, page, tmp_path, query, when):
    text, edited, computed = QUERIES[query]
    ds = lake_of(make_lake)
    shown = page(ds)
    if when == "after":
        shown.w.query = text
    for column in [*edited, "note"][:1]:
        reply = stage(shown, row_of(shown, ds), "note" if when == "before" else column)
        if when == "after" and "note" in computed and not edited:
            assert "the query computes it" in reply["error"]["message"]
            return
        assert reply["ok"], reply
    shown.w.query = text
    position = row_of(shown, ds)
    check_shown(shown, position, edited, computed)
    assert [edit["column"] for edit in shown.w.staged] == ["note"]
    made = shown.w.to_html(tmp_path / "page.html").read_text("utf-8")
    [data] = re.findall(
        r'<script type="application/json" id="data">(.*?)</script>', made, re.DOTALL
    )
    kept = json.loads(data)["details"][str(position)]["columns"]
    view = shown.w.view
    assert {c["name"]: c["text"] for c in kept} == {n: str(view[n][position]) for n in view.columns}
    shown.w.commit("mine")
    assert dl.open(ds.url)["note"][:] == ["mine", "b"]
    assert dl.open(ds.url)["other"][:] == ["c", "d"]
    result = shown.w.view
    assert all(result[name][position] == "mine" for name in edited)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("query", QUERIES)
def test_value_written_by_another_writer_is_a_conflict(make_lake, page, query, when):
    text, edited, _ = QUERIES[query]
    ds = lake_of(make_lake)
    shown = page(ds)
    shown.w.query = text if when == "after" else ""
    column = "note" if when == "before" else [*edited, "note"][0]
    if not stage(shown, row_of(shown, ds), column)["ok"]:
        return
    shown.w.query = text
    other = dl.open(ds.url)
    other.update([0], {"note": ["theirs"]})
    other.commit("theirs")
    [result] = shown.fails("commit", message="mine")["conflicts"]
    assert (result["column"], result["ours"], result["theirs"]) == ("note", "'mine'", "'theirs'")
    shown.asks("resolve", choice="theirs")
    assert dl.open(ds.url)["note"][:] == ["theirs", "b"]


@pytest.mark.parametrize("query", ["", "SELECT image, pred", "SELECT image, label AS kind, pred"])
def test_copied_class_is_compared_with_the_one_that_was_there(make_lake, page, query):
    label = dl.ClassLabel(NAMES)
    ds = make_lake(
        {"image": "image", "label": label, "pred": label},
        image=[np.zeros((4, 4, 3), np.uint8)] * 2,
        label=["ant", "ant"],
        pred=["bee", "bee"],
    )
    shown = page(ds)
    shown.w.query = query
    shown.w.selected = [0]
    shown.w.edit("kind" if "kind" in query else "label", take="pred")
    other = dl.open(ds.url)
    other.update([0], {"label": ["cat"]})
    other.commit("theirs")
    with pytest.raises(dl.ConflictError, match="theirs 'cat'"):
        shown.w.commit("mine")
    shown.w.commit("mine", on_conflict="theirs")
    assert dl.open(ds.url)["label"][:].tolist() == [2, 0]


def test_edit_of_an_older_version_is_compared_with_that_version(make_lake, page):
    ds = lake_of(make_lake)
    shown = page(ds)
    ds.update([0], {"note": ["beside the browser"]})
    ds.commit("moved on")
    for query, column in [("SELECT n", "note"), ("SELECT n, note AS said", "said")]:
        shown.w.query = query
        assert stage(shown, 0, column)["ok"]
        with pytest.raises(dl.ConflictError, match="beside the browser"):
            shown.w.commit()
        shown.w.discard()


def rename(ds):
    ds.rename_column("note", "text")


def swap(ds):
    for old, new in [("note", "held"), ("other", "note"), ("held", "other")]:
        ds.rename_column(old, new)


def take_the_name(ds):
    ds.rename_column("note", "old")
    ds.rename_column("n", "note")


def add_again(ds):
    ds.drop_column("note")
    ds.add_column("note", dl.Text(default="fresh"))


def add_another_type(ds):
    ds.drop_column("note")
    ds.add_column("note", dl.Scalar("float32", nullable=True))


def drop(ds):
    ds.drop_column("note")


MOVES = {
    rename: "text",
    swap: "other",
    take_the_name: "old",
    add_again: None,
    add_another_type: None,
    drop: None,
}


@pytest.mark.parametrize("query", ["", "SELECT * EXCLUDE ({})", "SELECT *, {} AS said"])
@pytest.mark.parametrize("by", ["the same handle", "another writer"])
@pytest.mark.parametrize("move", MOVES)
def test_edits_stay_with_their_column_when_names_are_swapped(make_lake, page, move, by, query):
    ds, now = lake_of(make_lake), MOVES[move]
    shown = page(ds)
    assert stage(shown, 0, "note")["ok"]
    writer = ds if by == "the same handle" else dl.open(ds.url)
    move(writer)
    writer.commit("moved")
    ds.refresh()
    shown.w.refresh()
    edited = [name for name in [now] if name]
    if edited and query:
        shown.w.query = query.format(now)
        edited = [] if "EXCLUDE" in query else [now, "said"]
    view = shown.w.view
    row = view[0]
    expected = {name: "–" if row[name] is None else str(row[name]) for name in view.columns}
    expected |= dict.fromkeys(edited, "mine")
    large = fields(shown, 0)
    assert {name: c["text"] or "–" for name, c in large.items()} == expected
    assert {name for name, c in large.items() if c["staged"]} == {*edited}
    caption = cell_of(shown, 0)["caption"]
    assert {name: caption[name]["t"] or "–" for name in expected} == expected
    assert [edit["column"] for edit in shown.w.staged] == [now or "note"]
    if now is None:
        [result] = shown.fails("commit", message="mine")["conflicts"]
        assert result["theirs"] == "column dropped"
        return
    shown.w.commit()
    fresh = dl.open(ds.url)
    assert fresh[now][:] == ["mine", "b"]
    assert fresh.log()[0].message == f"Edited {now} of 1 row in the browser"


def test_column_renamed_over_time_is_one_column_in_the_list(make_lake, page):
    ds = lake_of(make_lake)
    shown = page(ds)
    assert stage(shown, 0, "note")["ok"]
    rename(ds)
    ds.commit("renamed")
    shown.w.refresh()
    assert stage(shown, 1, "text")["ok"]
    assert [edit["column"] for edit in shown.w.staged] == ["text", "text"]


def test_row_shown_several_times_is_one_row(make_lake, page):
    ds = lake_of(make_lake)
    shown = page(ds)
    shown.w.query = "SELECT * SAMPLE BY MAX_WEIGHT(n > 0: 1) REPLACE True LIMIT 9"
    rows = len(np.unique(shown.w.view.row_ids))
    shown.w.selected = np.arange(len(shown.w.view))
    assert len(shown.w.view) > rows
    assert shown.w.edit("note", "mine") == rows
    assert [edit["rows"] for edit in shown.w.staged] == [rows] == [shown.w.staged_rows]
    shown.w.commit()
    assert dl.open(ds.url)["note"][:].count("mine") == rows


def test_new_tags_are_shown_in_the_column_added_by_another_writer(make_lake, page):
    ds = lake_of(make_lake)
    shown = page(ds)
    assert stage(shown, 0, None, "mine", "add_tag")["ok"]
    ds.add_column("tags", dl.Sequence("text"), values=[["theirs"], []])
    ds.commit("tags")
    shown.w.refresh()
    for query, name in [("", "tags"), ("SELECT n, tags AS marks", "marks")]:
        shown.w.query = query
        assert fields(shown, 0)[name]["text"] == "theirs\nmine"
        assert cell_of(shown, 0)["caption"][name]["t"] == "theirs, mine"
    shown.w.query = "SELECT n, LEN(tags) AS tags"
    assert fields(shown, 0)["tags"]["text"] == "1"
    shown.w.commit()
    assert ds["tags"][0] == ["theirs", "mine"]


def test_boxes_under_another_name_are_drawn_and_edited_with_their_classes(make_lake, page):
    ds = make_lake(
        {"b": dl.Boxes(units="fraction"), "b_classes": dl.ClassLabel(NAMES, multiple=True)},
        b=[[[0.1, 0.1, 0.2, 0.2]]],
        b_classes=[["ant"]],
    )
    shown = page(ds)
    shown.w.query = "SELECT b AS drawn, b_classes AS b"
    about = fields(shown, 0)["drawn"]["box_classes"]
    assert (about["column"], about["c"]) == ("b_classes", [0])
    value = {"boxes": [[0.5, 0.5, 0.6, 0.6]], "c": [2]}
    assert stage(shown, 0, "drawn", value, "set_boxes")["ok"]
    assert fields(shown, 0)["b"]["tags"] == ["cat"]
    assert "boxes" in stage(shown, 0, "b", value, "set_boxes")["error"]["message"]
    shown.w.commit()
    assert ds["b"][0] == pytest.approx(np.array([[0.5, 0.5, 0.6, 0.6]]))
    assert ds["b_classes"][0].tolist() == [2]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT other, COUNT(*) AS n GROUP BY other",
        "SELECT a.n, b.other FROM dataset a JOIN dataset b ON a.n = b.n",
    ],
)
def test_aggregated_rows_are_not_rows_of_the_lake_even_in_a_nested_query(make_lake, page, text):
    ds = lake_of(make_lake)
    shown = page(ds)
    shown.w.view = ds.query(text)
    for query in ("SELECT * FROM given", "SELECT other, n + 1 AS more FROM given"):
        shown.w.query = query
        assert not shown.w.about["has_ids"]
        assert (
            "Only rows of the dataset can be edited" in stage(shown, 0, "other")["error"]["message"]
        )


def test_page_knows_which_columns_are_stored(make_lake, page):
    label = dl.ClassLabel(NAMES)
    ds = make_lake({"label": label, "n": "int32"}, label=["ant"], n=[1])
    shown = page(ds)
    shown.w.query = "SELECT label AS kind, n, n + 1 AS more"
    stored = {column["name"]: column["stored"] for column in shown.w.about["columns"]}
    assert stored == {"kind": True, "n": True, "more": False}
