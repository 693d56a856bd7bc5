"""Edits of a view go only to the branch that the view was taken from."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import ReadOnlyError, UncommittedError, VersionNotFoundError
from deeplake_lite.widget import Browser

VIEWS = {
    "the dataset": lambda ds: ds,
    "some rows": lambda ds: ds[:2],
    "rows of rows": lambda ds: ds[::-1][[1, 2]],
    "columns": lambda ds: ds[["t", "x"]],
    "rows of a query": lambda ds: ds.query("SELECT * WHERE x < 5"),
    "values of a query": lambda ds: ds.query("SELECT t, x + 1 AS y"),
    "a query of a query": lambda ds: ds.query("SELECT t, x + 1 AS y").query("SELECT * LIMIT 2"),
    "a part": lambda ds: ds.split([0.5, 0.5])[0],
    "a fold": lambda ds: ds.folds(2)[0].test,
    "suspects": lambda ds: ds.suspects("label", column="v"),
    "pickled rows": lambda ds: pickle.loads(pickle.dumps(ds[:2])),
    "pickled values": lambda ds: pickle.loads(pickle.dumps(ds.query("SELECT t, x + 1 AS y"))),
    "a lake by its URL": lambda ds: dl.query(f"SELECT * FROM '{ds.url}' VERSION 'main'"),
}
"""Ways from a handle to a browser."""

LAST = "a lake by its URL"


@pytest.fixture
def lake(make_lake):
    """Make a lake whose branches and tag are at one version, and thus indistinguishable by it."""
    names = dl.ClassLabel(["a", "b"])
    vectors = np.eye(2)[np.arange(6) % 2]
    lake = make_lake(
        {"t": "text", "x": "int32", "label": names, "v": dl.Embedding(2)},
        t=list("abcdef"),
        x=range(6),
        label=np.arange(6) % 2,
        v=vectors,
    )
    lake.branch("review")
    lake.branch("Z")
    lake.tag("v1")
    return lake


def texts(lake):
    return {name: list(dl.open(lake.url, branch=name)["t"][:]) for name in lake.branches}


def edited(lake):
    """Return the branches that have edits."""
    return {name for name, result in texts(lake).items() if "EDITED" in result}


def edit(w):
    w.selected = [0]
    w.edit("t", "EDITED")
    w.commit("an edit")


@pytest.mark.parametrize("branch", ["main", "review", "Z"])
@pytest.mark.parametrize("how", [name for name in VIEWS if name != LAST])
def test_edits_go_to_the_branch_that_a_view_was_taken_from(how, branch, lake):
    w = Browser(VIEWS[how](dl.open(lake.url).checkout(branch)))
    assert (w.about["branch"], w.about["writable"]) == (branch, True)
    edit(w)
    assert edited(lake) == {branch}
    assert "EDITED" in w.view["t"][:]


@pytest.mark.parametrize("how", VIEWS)
def test_views_of_a_version_are_not_edited(how, lake):
    for version in ("v1", lake.version, lake.version[:8], lake.log()[0]):
        w = Browser(VIEWS[how](dl.open(lake.url, version=version)))
        assert (w.about["branch"], w.about["writable"]) == (None, False)
        w.selected = [0]
        with pytest.raises(
            ReadOnlyError, match="is read-only" if how == "the dataset" else "never moves"
        ):
            w.edit("t", "EDITED")
    assert edited(lake) == set()


def test_name_of_a_version_is_shown_and_a_commit_is_shown_by_its_id(lake):
    names = {"v1": "v1", lake.version: "", lake.version[:8]: ""}
    for version, name in names.items():
        ds = dl.open(lake.url, version=version)
        assert [Browser(view).about["name"] for view in (ds, ds[:2])] == [name, name]
    assert Browser(lake[:2]).about["name"] == "main"


@pytest.mark.parametrize("how", [name for name in VIEWS if name not in ("the dataset", LAST)])
def test_branch_that_moved_on_gets_the_edits_and_others_get_none(how, lake):
    view = VIEWS[how](lake)
    other = dl.open(lake.url)
    other["x"][5] = 50
    other.commit("meanwhile")
    edit(Browser(view))
    assert edited(lake) == {"main"}
    assert dl.open(lake.url)["x"][5] == 50


@pytest.mark.parametrize("how", [name for name in VIEWS if name not in ("the dataset", LAST)])
def test_view_stays_on_its_branch_when_its_handle_switches(how, lake):
    view = VIEWS[how](lake)
    lake.checkout("review")
    edit(Browser(view))
    assert edited(lake) == {"main"}


@pytest.mark.parametrize("how", [name for name in VIEWS if name not in ("the dataset", LAST)])
def test_edits_of_a_view_of_a_deleted_branch_are_refused(how, lake):
    w = Browser(VIEWS[how](dl.open(lake.url, branch="review")))
    lake.delete_branch("review")
    w.selected = [0]
    with pytest.raises(VersionNotFoundError, match="'review'"):
        w.edit("t", "EDITED")
    assert edited(lake) == set()


def test_saved_view_belongs_to_a_version_and_is_edited_through_the_dataset(lake):
    lake.query("SELECT * WHERE x > 3").save("large")
    lake.query("SELECT t, x + 1 AS y WHERE x > 3").save("more")
    for name in ("large", "more"):
        w = Browser(dl.open(lake.url, branch="review").views()[name])
        w.selected = [0]
        with pytest.raises(ReadOnlyError, match=rf"version '{lake.version}', which never moves"):
            w.edit("t", "EDITED")
        assert w.about["writable"] is False
    w = Browser(dl.open(lake.url, branch="review"))
    w.query = "SELECT * FROM large"
    edit(w)
    assert edited(lake) == {"review"}


def test_rows_without_a_lake_are_not_edited():
    w = Browser(dl.query("SELECT 1 AS t"))
    assert w.about["writable"] is False
    w.selected = [0]
    with pytest.raises(ReadOnlyError, match="belong to no branch"):
        w.edit("t", "EDITED")


def test_view_of_open_edits_says_that_they_must_be_committed_first(lake):
    lake["x"][0] = 9
    w = Browser(lake[:2])
    assert (w.about["branch"], w.about["writable"]) == ("main", False)
    w.selected = [0]
    with pytest.raises(UncommittedError, match=r"ds\.browse\(\)"):
        w.edit("t", "EDITED")


def test_view_of_the_same_branch_is_shown_while_edits_are_staged(lake):
    w = Browser(lake)
    w.selected = [0]
    w.edit("t", "EDITED")
    for view in (lake[1:3], dl.open(lake.url)[:2]):
        w.browse(view)
        assert (len(w.view), w.staged_count) == (2, 1)
    for view in (dl.open(lake.url, branch="review")[:2], dl.open(lake.url, version="v1")[:2]):
        with pytest.raises(UncommittedError, match=r"w\.commit"):
            w.browse(view)
    w.commit("an edit")
    assert edited(lake) == {"main"}


def test_rows_of_another_branch_or_version_are_unchanged_after_a_commit(lake):
    other = dl.open(lake.url, branch="review")
    sources = {"other": other, "old": dl.open(lake.url, version="v1")}
    text = (
        "SELECT dataset.t AS t, other.t AS b, old.t AS c FROM dataset "
        "JOIN other ON dataset.x = other.x JOIN old ON dataset.x = old.x"
    )
    w = Browser(lake)
    for name, source in sources.items():
        w.show(source, name)
    w.query = text
    w.query = ""
    edit(w)
    w.query = text
    result = {name: sorted(w.view[name][:]) for name in "tbc"}
    assert result["t"] == ["EDITED", *"bcdef"]
    assert result["b"] == result["c"] == list("abcdef")
