"""The Python interface of the browser: query, view and selection are read, set and observed."""

from __future__ import annotations

import numpy as np
import pytest

import deeplake_lite as dl


@pytest.fixture
def ds(make_lake):
    return make_lake({"x": "int32", "t": "text"}, x=range(10), t=[f"row {i}" for i in range(10)])


def test_query_can_be_set_and_the_view_follows(ds, page):
    w = page(ds).w
    w.query = "SELECT * WHERE x >= 6"
    assert w.view["x"][:].tolist() == [6, 7, 8, 9]
    assert (w.state["rows"], w.state["generation"], w.state["query"]) == (4, 2, w.query)


def test_mistake_in_a_query_is_raised_and_changes_nothing(ds, page):
    w = page(ds).w
    w.query = "SELECT * WHERE x > 5"
    w.selected = [1]
    before = (w.query, w.view, w.state, w.selected.tolist(), w.generation)
    with pytest.raises(dl.QuerySyntaxError, match="Expected"):
        w.query = "SELECT * WHERE"
    with pytest.raises(dl.ColumnNotFoundError, match="no column 'y'"):
        w.query = "SELECT y"
    assert before == (w.query, w.view, w.state, w.selected.tolist(), w.generation)


def test_selected_rows_stay_selected_by_id_when_the_query_changes(ds, page):
    w = page(ds).w
    w.selected = [2, 7, 9]
    w.query = "SELECT * WHERE x > 5 ORDER BY x DESC"
    assert w.view["x"][w.selected].tolist() == [9, 7]
    assert w.selected.tolist() == [0, 2]
    w.query = ""
    assert w.selected.tolist() == [7, 9]
    assert w.selected_view()["x"][:].tolist() == [7, 9]


def test_selection_can_be_set_by_mask_and_observed(ds, page):
    w, seen = page(ds).w, []
    w.observe(lambda change: seen.append(change["new"].tolist()), "selected")
    w.selected = ds["x"] > 7
    w.selected = [3, 3, -1]
    assert seen == [[8, 9], [3, 9]]
    assert np.frombuffer(w._selected, "<u4").tolist() == [3, 9]
    with pytest.raises(IndexError, match="below 10"):
        w.selected = [10]
    with pytest.raises(TypeError, match="integer positions"):
        w.selected = ["a"]
    assert w.selected.tolist() == [3, 9]


def test_selection_made_on_the_page_arrives(ds, page):
    w, seen = page(ds).w, []
    w.observe(lambda change: seen.append(change["new"].tolist()), "selected")
    w.set_state({"_selected": memoryview(np.array([1, 4], "<u4").tobytes())})
    assert seen == [[1, 4]]
    w.set_state({"_selected": memoryview(np.array([1, 40], "<u4").tobytes())})
    assert w.selected.tolist() == [1]


def clicked(w, positions, generation):
    """The message that the host sends when rows are clicked."""
    packed = memoryview(np.array(positions, "<u4").tobytes())
    w.set_state({"_selected": packed, "_selected_of": generation})


def test_click_on_rows_no_longer_shown_selects_no_other_rows(ds, page):
    w, sent = page(ds).w, []
    w.selected = [7]
    clicked(w, [7, 8], w.generation)
    assert w.selected.tolist() == [7, 8]
    w.query = "SELECT * WHERE x >= 5 ORDER BY x DESC"
    assert w.view["x"][w.selected].tolist() == [8, 7]
    w.send_state = lambda key=None: sent.append(key)
    w.set_state({"_selected": b"\0\0\0\0"})  # row 0, while the page still showed all rows
    assert w.view["x"][w.selected].tolist() == [8, 7]
    assert np.frombuffer(w._selected, "<u4").tolist() == [1, 2]
    assert sent
    clicked(w, [0], w.generation)
    assert w.view["x"][w.selected].tolist() == [9]


def test_view_can_be_set_and_filtered_further(ds, page):
    w, seen = page(ds).w, []
    w.observe(lambda change: seen.append(len(change["new"])), "view")
    w.view = ds[[8, 3, 5]]
    assert w.view["x"][:].tolist() == [8, 3, 5]
    assert w.query == "SELECT * FROM given"
    w.query = f"{w.query} WHERE x > 4"
    assert w.view["x"][:].tolist() == [8, 5]
    assert seen == [3, 2]


def test_all_rows_no_rows_and_the_inverse_can_be_selected(ds, page):
    p = page(ds)
    assert p.asks("select", what="all")["rows"] == 10
    p.w.selected = [0]
    assert p.asks("select", what="invert")["rows"] == 9
    assert p.asks("select", what="none")["rows"] == 0
    assert "'all', 'none' or 'invert'" in p.fails("select", what="some")["message"]


def test_refresh_shows_new_rows_and_keeps_query_and_selection(ds, page):
    w = page(ds).w
    w.query = "SELECT * WHERE x > 7"
    w.selected = [1]
    ds.delete([8])
    ds.append({"x": [20], "t": ["new"]})
    ds.commit("one less, one more")
    assert w.view["x"][:].tolist() == [8, 9]
    w.refresh()
    assert w.view["x"][:].tolist() == [9, 20]
    assert w.selected.tolist() == [0]


def test_dataset_with_uncommitted_edits_is_shown(ds, page):
    ds.append({"x": [10], "t": ["pending"]})
    ds["x"][0] = 100
    w = page(ds).w
    assert len(w.view) == 11
    w.query = "SELECT * WHERE x >= 10"
    assert w.view["x"][:].tolist() == [100, 10]


def test_rows_without_ids_lose_the_selection(ds, page):
    w = page(ds).w
    w.selected = [1]
    w.query = "SELECT x // 5 AS half, COUNT(*) AS n GROUP BY x // 5"
    assert not w.about["has_ids"]
    assert w.selected.tolist() == []
    w.selected = [0]
    w.query = ""
    assert w.selected.tolist() == []


def test_new_browser_has_no_problem_and_leaves_captions_to_the_page(ds, page):
    w = page(ds).w
    assert w.problem is None
    assert w.settings["caption"] is None


@pytest.mark.parametrize("end", ["commit", "discard"])
def test_shown_edits_are_followed_when_their_transaction_ends(ds, page, end):
    ds.append({"x": [10], "t": ["pending"]})
    p = page(ds)
    assert p.w.state["rows"] == 11
    getattr(ds, end)()
    assert p.fails("cells", start=9, stop=11, gen=p.w.generation)["kind"] == "Stale"
    cells = p.asks("cells", start=9, stop=11, picture="t")["cells"]
    texts = ["row 9", "pending"] if end == "commit" else ["row 9"]
    assert [c["card"]["text"] for c in cells] == texts


def test_view_and_query_result_can_be_browsed(ds, page):
    w = page(ds[[7, 2]]).w
    w.query = "SELECT * WHERE x > 3"
    assert w.view["x"][:].tolist() == [7]
    p = page(ds.query("SELECT x * 2 AS double, t WHERE x > 6"))
    p.w.selected = [2]
    p.w.query = "SELECT * WHERE double > 14"
    assert p.w.view["double"][:].tolist() == [16, 18]
    assert p.w.view["double"][p.w.selected].tolist() == [18]
    assert [c["id"] for c in p.asks("cells", start=0, stop=2)["cells"]] != [None, None]
    assert len(p.asks("facets", columns=None)["facets"]) == 3


def test_joined_rows_are_shown_and_filtered(ds, page):
    p = page(ds)
    p.w.query = "SELECT a.x AS left, b.t FROM ds AS a JOIN ds AS b ON a.x = b.x + 1"
    assert len(p.asks("cells", start=0, stop=99)["cells"]) == 9
    reply = p.asks("filter", expression='"left"', kind="numbers", op="set", values=[8, None])
    assert reply["rows"] == 2
    assert reply["query"].endswith('b.x + 1) WHERE "left" >= 8')


@pytest.mark.parametrize("text", ["x > 7", "WHERE x > 7", "(x > 7)", " x > 3 AND x > 7"])
def test_bare_condition_is_a_query_of_all_rows(ds, page, text):
    shown = page(ds)
    shown.w.query = text
    assert shown.w.view["x"][:].tolist() == [8, 9]
    assert shown.w.query.startswith("SELECT * WHERE ")
    assert shown.asks("query", text=text)["query"] == shown.w.query


@pytest.mark.parametrize(
    ("text", "column"),
    [("x > 3 AND AND", 11), ("WHERE x > 3 AND AND", 17), ("t = 'row", 5), ("y = 3", 1)],
)
def test_mistake_in_a_condition_is_marked_in_the_typed_text(ds, page, text, column):
    wrong = page(ds).fails("query", text=text)
    assert (wrong["line"], wrong["column"]) == (1, column)


@pytest.mark.parametrize(
    "sent",
    [b"abc", b"\xff" * 5, memoryview(b"\0" * 7), 3, 10**12, None, "text", [1, 2], [999], {}, 1.5],
    ids=lambda sent: type(sent).__name__,
)
def test_invalid_selection_keeps_the_existing_one(make_lake, sent):
    w = make_lake({"x": "int32"}, x=range(9)).browse()
    w.selected = [2, 5]
    w.set_state({"_selected": sent})
    assert w.selected.tolist() == [2, 5]
    w.set_state({"_selected": memoryview(np.array([3, 1, 1, 99], "<u4").tobytes())})
    assert w.selected.tolist() == [1, 3]
