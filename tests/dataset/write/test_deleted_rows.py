"""Diffs, merges and conflicts treat deleted rows as gone, wherever they were, even at the end."""

from __future__ import annotations

from itertools import combinations

import pytest

import deeplake_lite as dl

ROWS = 5
SOME = [
    list(rows) for count in range(1, ROWS) for rows in combinations(range(ROWS), count)
]  # fmt: skip


@pytest.fixture(params=["in order", "first gone", "last gone", "moved"])
def lake(request):
    """Make a lake of five rows, usually one with deleted or moved rows."""
    ds = dl.create("memory://deleted-rows", {"x": "int32"}, overwrite=True)
    ds.append({"x": range(ROWS)})
    ds.commit("five")
    if request.param == "first gone":
        ds.append({"x": [ROWS]})
        ds.delete([0])
    elif request.param == "last gone":
        ds.append({"x": [ROWS]})
        ds.commit("six")
        ds.delete([ROWS])
    elif request.param == "moved":
        ds.delete([1])
        ds.commit("four")
        ds.append({"x": [ROWS]})
    if ds.status():
        ds.commit("ready")
    return ds


@pytest.mark.parametrize("gone", SOME, ids=str)
def test_deleted_rows_are_gone_for_diffs_and_merges(lake, gone):
    before, ids, values = lake.version, lake.row_ids.tolist(), lake["x"][:].tolist()
    left = [v for i, v in enumerate(values) if i not in gone]
    lake.branch("side")
    side = dl.open(lake.url, branch="side")
    side.delete(gone)
    after = side.commit("gone")
    removed = {ids[i] for i in gone}
    assert set(lake.diff(before, after).removed.tolist()) == removed
    assert set(lake.diff(after, before).added.tolist()) == removed
    assert not lake.diff(before, after).changed

    side["x"][0] = 77
    side.commit("and a cell")
    lake.append({"x": [88]})
    lake.commit("one more")
    lake.merge("side")
    assert lake["x"][:].tolist() == [77, *left[1:], 88]
    side.restore(before)
    assert side["x"][:].tolist() == values
    assert side.row_ids.tolist() == ids


@pytest.mark.parametrize("gone", SOME, ids=str)
def test_edit_of_a_deleted_row_is_a_conflict(lake, gone):
    values = lake["x"][:].tolist()
    lake.branch("side")
    side, first, second = dl.open(lake.url, branch="side"), dl.open(lake.url), dl.open(lake.url)
    first.delete(gone)
    first.commit("gone")
    for row in gone:
        second["x"][row] = 100 + row
        side["x"][row] = 100 + row
    with pytest.raises(dl.ConflictError):
        second.commit("changed")
    side.commit("changed")
    again = dl.open(lake.url)
    with pytest.raises(dl.ConflictError):
        again.merge("side")
    again.merge("side", on_conflict="theirs")
    kept = [v for i, v in enumerate(values) if i not in gone]
    assert sorted(again["x"][:].tolist()) == sorted([*kept, *(100 + row for row in gone)])


@pytest.mark.parametrize("gone", SOME, ids=str)
def test_rows_deleted_on_both_sides_are_deleted_once(lake, gone):
    values = lake["x"][:].tolist()
    lake.branch("side")
    side = dl.open(lake.url, branch="side")
    side.delete(gone)
    side.commit("gone")
    lake.delete([*gone[:-1], (gone[-1] + 1) % ROWS])
    lake.commit("others gone")
    lake.merge("side")
    left = set(range(ROWS)) - {*gone, (gone[-1] + 1) % ROWS}
    assert lake["x"][:].tolist() == [values[i] for i in sorted(left)]


@pytest.mark.parametrize("how", ["commit", "rebase", "merge"])
@pytest.mark.parametrize(
    ("htype", "value"), [("int32", 5), ("text", "a"), (dl.Sequence("text"), ["a"])]
)
def test_added_and_deleted_rows_need_no_default_for_a_new_column_of_others(
    make_lake, how, htype, value
):
    ds = make_lake({"x": "int32"}, x=[1])
    ds.branch("side")
    other = dl.open(ds.url, branch="side" if how == "merge" else "main")
    ds.add_column("new", htype, values=[value])
    ds.commit("a column")
    other.append({"x": [2, 3]})
    other.delete([1, 2])
    other["x"][0] = 7
    if how == "rebase":
        other.rebase(on_conflict="ours")
    other.commit("a cell")
    if how == "merge":
        ds.merge("side")
    ds = dl.open(ds.url)
    assert ds["x"][:].tolist() == [7]
    assert list(ds["new"][:]) == [value]
    assert ds.verify()


def test_only_remaining_rows_get_the_default_of_a_new_column_of_others(make_lake):
    ds = make_lake({"x": "int32"}, x=[1])
    other = dl.open(ds.url)
    ds.add_column("new", dl.Scalar("int32", default=9), values=[5])
    ds.commit("a column")
    other.append({"x": [2, 3, 4]})
    other.delete([2])
    other.commit("rows")
    assert dl.open(ds.url)["new"][:].tolist() == [5, 9, 9]


def test_remaining_rows_need_a_default_for_a_new_column_of_others(make_lake):
    ds = make_lake({"x": "int32"}, x=[1])
    other = dl.open(ds.url)
    ds.add_column("new", "int32", values=[5])
    ds.commit("a column")
    other.append({"x": [2, 3, 4]})
    other.delete([2])
    with pytest.raises(dl.InvalidValueError, match="2 such rows"):
        other.commit("rows")
