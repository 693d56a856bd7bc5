"""An edit of one row carries the row's id and is applied to that row or to none."""

import pytest

import deeplake_lite as dl


def test_edit_by_row_id_is_applied_to_that_row_only(make_lake, page):
    lake = make_lake({"x": "int32"}, x=[0, 1, 2, 3])
    shown = page(lake)
    seen = shown.asks("detail", p=2, size=64)
    expected = {"positions": [2], "row": seen["id"], "column": "x", "op": "set", "value": 9}
    other = dl.open(lake.url)
    other.delete([0])
    other.commit("one less")
    lake.refresh()
    shown.w.refresh()
    error = shown.fails("stage", gen=None, edits=[expected])
    assert f"row {seen['id']} has moved or was deleted" in error["message"]
    assert shown.w.staged_count == 0
    shown.asks("stage", edits=[{**expected, "positions": [1]}])
    shown.asks("commit", message="nine")
    assert lake["x"][:].tolist() == [1, 9, 3]


@pytest.mark.parametrize("positions", [[1], [0, 1], [], "all"])
def test_id_belongs_to_the_row_at_the_position(make_lake, page, positions):
    shown = page(make_lake({"x": "int32"}, x=[0, 1]))
    row_id = shown.asks("detail", p=0, size=64)["id"]
    expected = {"positions": positions, "row": row_id, "column": "x", "op": "set", "value": 9}
    assert "so nothing was edited" in shown.fails("stage", edits=[expected])["message"]
