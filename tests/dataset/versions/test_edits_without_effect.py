"""Edits that cancel each other out count as no edits, for every call that needs committed rows."""

import pickle

import numpy as np
import pytest

import deeplake_lite as dl


def set_same_metadata(ds):
    ds.metadata["note"] = ds.metadata["note"]


def add_and_remove_metadata(ds):
    ds.metadata["more"] = 1
    ds.metadata.pop("more")


def append_and_delete(ds):
    ds.append({"x": [9], "t": ["z"]})
    ds.delete(len(ds) - 1)


def rename_back_and_forth(ds):
    ds.rename_column("x", "y")
    ds.rename_column("y", "x")


def add_and_drop_column(ds):
    ds.add_column("y", "int32", values=[1, 2, 3])
    ds.drop_column("y")


def set_no_default(ds):
    ds.set_default("x", None)


CANCELLING = [
    set_same_metadata,
    add_and_remove_metadata,
    append_and_delete,
    rename_back_and_forth,
    add_and_drop_column,
    set_no_default,
]

NEEDS_COMMITTED_ROWS = {
    "verify": lambda ds: bool(ds.verify()),
    "pickle": lambda ds: pickle.loads(pickle.dumps(ds))["x"][:].tolist() == [0, 1, 2],
    "pickle a view": lambda ds: pickle.loads(pickle.dumps(ds[:1]))["t"][:] == ["a"],
    "pickle a query": lambda ds: (
        pickle.loads(pickle.dumps(ds.query("SELECT x + 1 AS y")))["y"][:].tolist() == [1, 2, 3]
    ),
    "save": lambda ds: ds[1:].save("rest") or ds.views()["rest"]["x"][:].tolist() == [1, 2],
    "save a query": lambda ds: (
        ds.query("SELECT x * 2 AS y").save("twice")
        or ds.views()["twice"]["y"][:].tolist() == [0, 2, 4]
    ),
    "loader's state": lambda ds: bool(ds.batches(2).state_dict()),
    "browse a view": lambda ds: ds[:1].browse() is not None,
    "tag": lambda ds: ds.tag("t") or "t" in ds.tags,
    "transaction": lambda ds: ds.transaction().__enter__() is ds,
    "refresh": lambda ds: ds.refresh() is ds,
    "restore": lambda ds: ds.restore(ds.version) or not ds.status(),
}


@pytest.fixture
def ds(make_lake):
    ds = make_lake({"x": "int32", "t": "text"}, x=range(3), t=list("abc"))
    ds.metadata["note"] = "first"
    ds.commit("three rows with a note")
    return ds


@pytest.mark.parametrize("call", NEEDS_COMMITTED_ROWS)
@pytest.mark.parametrize("edit", CANCELLING, ids=lambda edit: edit.__name__)
def test_edits_that_cancel_out_hinder_nothing(ds, edit, call):
    edit(ds)
    assert not ds.status()
    assert NEEDS_COMMITTED_ROWS[call](ds)


def test_view_of_uncommitted_rows_stays_uncommitted_when_they_are_deleted(ds):
    ds.append({"x": [9], "t": ["z"]})
    view = ds[:]
    ds.delete(3)
    with pytest.raises(dl.UncommittedError):
        pickle.dumps(view)
    assert pickle.loads(pickle.dumps(ds[:]))["x"][:].tolist() == [0, 1, 2]


@pytest.mark.parametrize("edit", CANCELLING, ids=lambda edit: edit.__name__)
def test_later_edits_count(ds, edit):
    edit(ds)
    ds["x"][0] = 7
    with pytest.raises(dl.UncommittedError):
        pickle.dumps(ds)
    with pytest.raises(dl.UncommittedError):
        ds.verify()


@pytest.mark.parametrize("shuffled", [False, True])
def test_restoring_the_current_rows_is_no_edit(ds, shuffled):
    first = ds.optimize(shuffle=shuffled)
    ds.restore(first)
    assert not ds.status()
    assert ds.commit("nothing") == first
    ds["x"][0] = 9
    ds.commit("changed")
    ds["x"][0] = dl.open(ds.url, version=first)["x"][0]
    same = ds.commit("changed back")
    ds.restore(first)
    assert not ds.status()
    assert ds.commit("nothing") == same


def test_restore_reports_another_order_only_if_there_is_one(ds):
    first = ds.version
    ds["x"][0] = 9
    ds.commit("changed")
    ds.restore(first)
    assert repr(ds.status()) == "1 cell updated"
    ds.commit("restored")
    ds.delete(2)
    ds.commit("last row gone")
    ds.restore(first)
    assert repr(ds.status()) == "1 row added"
    np.testing.assert_array_equal(ds["x"][:], [0, 1, 2])


def test_restoring_a_read_only_version_is_rejected_even_without_a_difference(ds):
    with pytest.raises(dl.ReadOnlyError):
        dl.open(ds.url, version=ds.version).restore(ds.version)


def test_another_order_of_columns_is_an_edit(ds):
    ds.branch("fix")
    fix = dl.open(ds.url, branch="fix")
    ds.add_column("a", "int32", values=[1, 2, 3])
    first = ds.commit("a")
    fix.add_column("b", "int32", values=[1, 2, 3])
    fix.commit("b")
    ds.merge("fix")
    fix.merge(first)
    assert (ds.columns, fix.columns) == (("x", "t", "a", "b"), ("x", "t", "b", "a"))
    ds.restore("fix")
    assert repr(ds.status()) == "columns reordered"
    ds.commit("as in fix")
    assert dl.open(ds.url).columns == fix.columns
