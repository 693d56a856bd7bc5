"""Metadata and defaults that change from 1 to true, which compare equal in Python."""

import pytest

import deeplake_lite as dl

PAIRS = [(1, True), (False, 0), ([1], [True]), ({"q": 0}, {"q": False}), (0.0, -0.0)]


def note(ds, value):
    ds.metadata["k"] = value


def column_note(ds, value):
    ds["x"].metadata["k"] = value


def default(ds, value):
    ds.set_default("doc", value)


READ = {
    note: lambda ds: ds.metadata["k"],
    column_note: lambda ds: ds["x"].metadata["k"],
    default: lambda ds: ds["doc"].htype.default,
}


@pytest.fixture(params=PAIRS, ids=repr)
def pair(request):
    return request.param


@pytest.fixture(params=[note, column_note, default], ids=lambda edit: edit.__name__)
def edit(request):
    return request.param


@pytest.fixture
def ds(make_lake, edit, pair):
    ds = make_lake({"x": "int64", "doc": dl.Json(default="")}, x=[1], doc=[{}])
    edit(ds, pair[0])
    ds.commit("before")
    ds.branch("side")
    return ds


def value(ds, edit):
    return repr(READ[edit](ds))


def add_a_row(ds):
    ds.append({"x": [4]})
    return ds.commit("a row")


def test_change_is_detected(ds, edit, pair):
    before = ds.version
    edit(ds, pair[1])
    assert ds.status()
    assert ds.diff()
    ds.commit("changed")
    assert ds.diff(before, ds.version)
    assert value(dl.open(ds.url), edit) == repr(pair[1])


@pytest.mark.parametrize("move", ["checkout", "refresh", "merge", "restore"])
def test_handle_with_the_change_refuses_to_move(ds, edit, pair, move):
    add_a_row(dl.open(ds.url))
    edit(ds, pair[1])
    moves = {
        "checkout": lambda: ds.checkout("side"),
        "refresh": lambda: ds.refresh(),
        "merge": lambda: ds.merge("side"),
        "restore": lambda: ds.restore("side"),
    }
    with pytest.raises(dl.LakeError, match="uncommitted edits"):
        moves[move]()
    assert value(ds, edit) == repr(pair[1])


def test_merge_includes_the_change(ds, edit, pair):
    side = dl.open(ds.url, branch="side")
    edit(side, pair[1])
    side.metadata["z"] = 5
    side.commit("changed")
    add_a_row(ds)
    ds.merge("side")
    assert value(ds, edit) == repr(pair[1])


def test_commit_on_top_of_another_writers_keeps_the_change(ds, edit, pair):
    edit(ds, pair[1])
    add_a_row(dl.open(ds.url))
    ds.commit("changed")
    assert value(dl.open(ds.url), edit) == repr(pair[1])


def test_restore_brings_the_old_value_back(ds, edit, pair):
    before = ds.version
    edit(ds, pair[1])
    ds.commit("changed")
    ds.restore(before)
    assert value(ds, edit) == repr(pair[0])
    ds.commit("restored")
    assert value(dl.open(ds.url), edit) == repr(pair[0])


def test_transaction_commits_the_change(ds, edit, pair):
    with ds.transaction("changed"):
        edit(ds, pair[1])
    assert value(dl.open(ds.url), edit) == repr(pair[1])


def test_one_and_true_set_on_two_sides_conflict(ds, edit, pair):
    side = dl.open(ds.url, branch="side")
    for handle, new in ((ds, pair[0]), (side, pair[1])):
        edit(handle, "something else")
        handle.commit("else")
        edit(handle, new)
        handle.commit("changed")
    ds.merge("side")  # ours is unchanged: only they changed it
    assert value(ds, edit) == repr(pair[1])


def test_different_new_values_conflict(ds, edit, pair):
    side = dl.open(ds.url, branch="side")
    for handle, new in ((ds, pair[0]), (side, pair[1])):
        edit(handle, [new, "new"])
        handle.commit("changed")
    with pytest.raises(dl.ConflictError, match="Both sides changed"):
        ds.merge("side")


@pytest.mark.parametrize("edit", [column_note, default], ids=lambda edit: edit.__name__)
def test_dropping_a_column_whose_metadata_or_default_changed_is_a_conflict(ds, edit, pair):
    side = dl.open(ds.url, branch="side")
    edit(side, pair[1])
    side.commit("changed")
    ds.drop_column("x" if edit is column_note else "doc")
    ds.commit("dropped")
    with pytest.raises(dl.ConflictError, match="dropped it"):
        ds.merge("side")


def test_lists_of_json_values_compare_as_json(make_lake):
    ds = make_lake({"s": dl.Sequence("json")}, s=[[1], [True], [{"a": 1}]])
    assert (ds["s"] == [[1.0], [1], [{"a": True}]]).tolist() == [True, False, False]
