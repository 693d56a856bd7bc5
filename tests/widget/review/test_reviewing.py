"""Suspicious labels, disagreeing rows and similar rows, all as queries that can be refined."""

import re

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.widget import neighbours
from deeplake_lite.widget.filters.choices import sort_query


@pytest.fixture
def lake(make_lake):
    names = dl.ClassLabel(["ant", "bee"])
    truth = np.arange(60) % 2
    labels = truth.copy()
    labels[7] = 0
    return make_lake(
        {
            "label": names,
            "predicted": names,
            "vector": dl.Embedding(4),
            "scores": dl.Array("float32", (2,)),
        },
        label=labels,
        predicted=truth,
        vector=np.eye(2, 4)[truth] + 0.05 * np.random.default_rng(0).normal(size=(60, 4)),
        scores=np.eye(2)[truth] * 0.8 + 0.1,
    )


def test_suspects_are_shown_ranked_and_can_be_queried(lake, page):
    shown = page(lake)
    reply = shown.asks("suspects", label="label", by="embedding", column="vector")
    assert reply == {**reply, "rows": 60, "query": "SELECT * FROM suspects"}
    assert {"suspicion", "suggested"} <= set(shown.w.view.columns)
    assert shown.w.view.row_ids[0] == lake.row_ids[7]
    asked = "SELECT * FROM suspects WHERE suggested != label"
    assert shown.asks("query", text=asked)["rows"] == 1


def test_corrected_first_suspect_is_no_longer_suspected(lake, page):
    shown = page(lake)
    shown.asks("suspects", label="label", by="scores", column="scores")
    shown.asks("stage", edits=[{"positions": [0], "column": "label", "op": "set", "value": "bee"}])
    shown.asks("commit", message="mended")
    assert lake["label"][7] == 1
    assert shown.w.view["suspicion"][:].max() < 0.5
    assert len(shown.w.view) == 60


def test_rows_with_a_wrong_prediction_are_a_query(lake, page):
    shown = page(lake)
    reply = shown.asks("suspects", label="label", by="agreement", column="predicted")
    assert reply["rows"] == 1
    assert reply["query"] == "SELECT * WHERE NOT label = predicted"
    again = shown.asks("suspects", label="label", by="agreement", column="predicted", agree=True)
    assert again["rows"] == 59


def test_page_learns_what_can_be_reviewed(lake, page):
    offers = [tuple(offer.values()) for offer in page(lake).w.about["suspects"]]
    assert offers == [
        ("label", "embedding", "vector"),
        ("label", "scores", "scores"),
        ("label", "agreement", "predicted"),
        ("label", "agreement", "scores"),
    ]


def test_similar_rows_come_first(lake, page):
    shown = page(lake)
    shown.w.query = "SELECT * WHERE predicted = 'bee'"
    reply = shown.asks("neighbours", p=3, column="vector")
    assert reply["rows"] == 60
    assert f"ROW_ID() = {lake.row_ids[7]} LIMIT 1" in reply["query"]
    result = shown.w.view
    assert result.row_ids[0] == lake.row_ids[7]
    assert result["predicted"][:].tolist() == [1] * 30 + [0] * 30


def test_index_finds_similar_rows_of_a_large_lake(lake, page, monkeypatch):
    apart(lake)
    monkeypatch.setattr(neighbours, "MANY_ROWS", 10)
    shown = page(lake)
    assert "USING INDEX" not in shown.asks("neighbours", p=9, column="vector")["query"]
    lake.create_index("vector")
    shown = page(lake)
    reply = shown.asks("neighbours", p=9, column="vector")
    assert reply["query"].endswith("DESC LIMIT 1000 USING INDEX")
    assert reply["rows"] == 60
    row_id = shown.w.view.row_ids[0]
    shown.asks("filter", expression="label", kind="classes", op="toggle", values=["bee"])
    assert row_id == lake.row_ids[9]
    assert 0 < len(shown.w.view) < 60
    assert shown.w.view.row_ids[0] == row_id
    assert sort_query(reply["query"], None) == ""
    by_label = sort_query(reply["query"], "label")
    assert len(lake.query(by_label)) == 60


def test_row_without_a_vector_has_no_similar_rows(make_lake, page):
    ds = make_lake({"v": dl.Embedding(2, nullable=True)}, v=[None, [1, 0]])
    shown = page(ds)
    assert (
        "Row 0 has no value in column 'v'" in shown.fails("neighbours", p=0, column="v")["message"]
    )
    assert shown.asks("neighbours", p=1, column="v")["rows"] == 2


def test_page_learns_what_is_missing_for_a_review(make_lake, page):
    label = dl.ClassLabel(["ant", "bee", "cat"])
    about = page(make_lake({"kind": label, "x": "int32"})).w.about
    assert (about["suspects"], about["alike"]) == ([], [])
    assert about["review_needs"].count("`") == 6
    assert "whose `kind` looks wrong" in about["review_needs"]
    assert (
        '`ds.add_column("scores", dl.Array("float32", (3,)), values=scores)`'
        in about["review_needs"]
    )
    bare = page(make_lake({"x": "int32"})).w.about["review_needs"]
    assert '`ds.add_column("label", dl.ClassLabel(["ant", "bee"]), values=labels)`' in bare


def test_suggestion_for_a_missing_review_works(make_lake, page):
    label = dl.ClassLabel(["ant", "bee"])
    ds = make_lake({"label": label}, label=[0, 1, 0])
    ds.commit("labels")
    code = page(ds).w.about["review_needs"].split("`")[3::2]
    given = {"vectors": np.ones((3, 512)), "scores": np.full((3, 2), 0.5)}
    for line in code:
        eval(line, {"ds": ds, "dl": dl, **given})
    about = page(ds).w.about
    assert [one["by"] for one in about["suspects"]][:2] == ["embedding", "scores"]
    assert about["review_needs"] is None
    assert about["alike"][0] == "embedding"


def test_unrankable_column_is_reported(lake, page):
    error = page(lake).fails("suspects", label="label", by="taste")
    assert "by must be 'embedding' or 'scores'" in error["message"]


def test_suggestion_is_applied_at_once(lake, page):
    lake.update([3, 8], {"label": [0, 1]})
    lake.commit("two more mistakes")
    shown = page(lake)
    shown.asks("suspects", label="label", by="embedding", column="vector")
    expected = [{"positions": [0, 1, 2], "column": "label", "op": "take", "value": "suggested"}]
    assert shown.asks("stage", edits=expected)["staged_count"] == 2  # one for each class
    shown.asks("commit", message="as suggested")
    assert lake["label"][:].tolist() == (np.arange(60) % 2).tolist()


def apart(lake):
    """Give each row a direction of its own: the first of some neighbours identifies it."""
    angles = np.linspace(0, np.pi / 2, len(lake))
    lake["vector"][:] = np.stack([np.cos(angles), np.sin(angles), 0 * angles, 0 * angles], axis=1)
    lake.commit("apart")


@pytest.mark.parametrize("whose", ["mine", "another's"])
@pytest.mark.parametrize("filtered", [False, True])
def test_similar_rows_stay_similar_when_earlier_rows_are_deleted(lake, page, whose, filtered):
    apart(lake)
    shown, row_id = page(lake), lake.row_ids[9]
    shown.asks("neighbours", p=9, column="vector")
    if filtered:
        shown.asks("filter", expression="label", kind="classes", op="toggle", values=["bee"])
    assert shown.w.view.row_ids[0] == row_id
    writer = lake if whose == "mine" else dl.open(lake.url)
    writer.delete([0, 3, 5])
    writer.append(writer[:2])
    writer.commit("fewer")
    lake.refresh()
    shown.w.refresh()
    assert shown.w.view.row_ids[0] == row_id
    shown.w.selected = [0]
    shown.w.edit("predicted", "ant")
    shown.w.commit("and after a commit")
    assert shown.w.view.row_ids[0] == row_id


@pytest.mark.parametrize("filtered", [False, True])
def test_deletion_of_the_row_whose_neighbours_are_shown_is_reported(lake, page, filtered):
    apart(lake)
    shown = page(lake)
    shown.asks("neighbours", p=9, column="vector")
    if filtered:
        shown.asks("filter", expression="label", kind="classes", op="toggle", values=["bee"])
    text = shown.w.query
    gone = rf"'vector' of row {lake.row_ids[9]}, which no longer exists"
    lake.delete(9)
    lake.commit("gone")
    shown.w.refresh()
    assert (shown.w.query, len(shown.w.view)) == ("", 59)
    assert re.search(gone, shown.w.problem["message"])
    with pytest.raises(dl.LakeError, match=gone):
        shown.w.query = text
    assert shown.fails("query", text=text)["kind"] == "LakeError"


def test_row_that_loses_its_vector_is_reported_too(make_lake, page):
    ds = make_lake({"a (b)": dl.Embedding(2, nullable=True)}, **{"a (b)": [[0, 1], [1, 0]]})
    shown = page(ds)
    shown.asks("neighbours", p=1, column="a (b)")
    assert shown.w.view.row_ids[0] == ds.row_ids[1]
    ds["a (b)"][1] = None
    ds.commit("lost")
    shown.w.refresh()
    assert "which no longer has a value" in shown.w.problem["message"]
    assert shown.w.query == ""


def test_similar_rows_are_found_in_any_view(lake, page):
    apart(lake)
    views = (
        lake[[4, 9, 9, 2]],
        lake.query("SELECT vector, predicted WHERE label = 'bee'"),
        lake.suspects("label", column="vector"),
    )
    for view in views:
        shown = page(view)
        row_id = view.row_ids[1]
        shown.asks("neighbours", p=1, column="vector")
        assert shown.w.view.row_ids[0] == row_id


def test_row_outside_the_browsed_rows_has_no_neighbours_there(lake, page):
    apart(lake)
    for base in (lake[:3], lake.query("SELECT label, MEAN(vector) AS vector GROUP BY label")):
        shown = page(base)
        shown.w.query = f"SELECT * FROM '{lake.url}'"
        message = shown.fails("neighbours", p=9, column="vector")["message"]
        assert "row 9 belongs to another version or view" in message


ABOUT_ONE_ROW = {
    "detail": {"size": 64},
    "history": {},
    "neighbours": {"column": "vector"},
}


@pytest.mark.parametrize("query", ["", "SELECT * WHERE label = 'bee'", "SELECT * LIMIT 0"])
@pytest.mark.parametrize("kind", ABOUT_ONE_ROW)
def test_positions_out_of_range_are_refused(kind, query, lake, page):
    shown = page(lake)
    shown.w.query = query
    rows = len(shown.w.view)
    there = f"The row position must be 0 to {rows - 1}," if rows else "No rows are shown, so"
    for p in (-1, -rows - 1, rows, 10**6, 2**62):
        error = shown.fails(kind, p=p, **ABOUT_ONE_ROW[kind])
        assert error["kind"] == "LakeError"
        assert error["message"].startswith(there)
    for positions in ([-1], [rows], [2**62], [-(2**62), 0]):
        expected = {"positions": positions, "column": "label", "op": "set", "value": "ant"}
        error = shown.fails("stage", edits=[expected])
        wrong = positions[0]
        assert error["message"].startswith(
            f"Row positions must be at least 0 and less than {rows}, but one is {wrong:,}"
        )
        assert shown.asks("cells", positions=positions, columns=[])["cells"] == [] or 0 in positions
    for runs in ([[-5, 0]], [[rows, rows + 5]], [[2**62, 2**62 + 1]], [[5, -5]]):
        assert shown.asks("select", what="runs", runs=runs)["rows"] == 0
