"""Staged edits of rows and columns that another writer removed: dropped, and reported."""

import pytest

import deeplake_lite as dl


@pytest.fixture
def lake(make_lake):
    return make_lake({"x": "int32", "t": "text"}, x=range(4), t=list("abcd"))


def stage(shown, column, value):
    edit = {"positions": [0, 1], "column": column, "op": "set", "value": value}
    shown.asks("stage", edits=[edit])


def notes(shown, monkeypatch):
    messages = []
    monkeypatch.setattr(shown.w, "notify", messages.append)
    return messages


@pytest.mark.parametrize("choice", ["ours", "theirs"])
def test_commit_says_which_edits_it_dropped(lake, page, monkeypatch, choice):
    shown = page(lake)
    stage(shown, "x", 9)
    stage(shown, "t", "z")
    other = dl.open(lake.url)
    other.delete(0)
    other.drop_column("t")
    other.commit("removed")
    told = notes(shown, monkeypatch)
    with pytest.raises(dl.ConflictError):
        shown.w.commit("mine")
    assert not told
    shown.w.commit("mine", on_conflict=choice)
    [text] = [m["text"] for m in told if m["type"] == "note"]
    assert "not written" in text
    assert "'t' of 2 rows" in text
    assert "'x' of 1 row" in text
    assert dl.open(lake.url)["x"][:].tolist() == [9, 2, 3]


def test_commit_that_writes_everything_says_nothing(lake, page, monkeypatch):
    shown = page(lake)
    stage(shown, "x", 9)
    other = dl.open(lake.url)
    other["x"][0] = 5
    other.commit("changed")
    told = notes(shown, monkeypatch)
    shown.w.commit("mine", on_conflict="ours")
    assert not [m for m in told if m["type"] == "note"]
