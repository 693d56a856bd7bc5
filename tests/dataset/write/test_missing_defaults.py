"""For rows without a value and a default, the message shows statements that work when pasted."""

from __future__ import annotations

import pytest

import deeplake_lite as dl

WAY_OUT = "Set a default, then repeat the call: "


@pytest.fixture
def ds(make_lake):
    return make_lake({"x": "int32"}, x=[1, 2])


def paste(ds, error):
    """Run the statements at the end of a message, with a value in place of "…"."""
    text = str(error.value)
    assert "has none" in text
    exec(text.partition(WAY_OUT)[2].replace("…", "7"), {"dl": dl, "ds": ds})


def add_n(ds):
    ds.add_column("n", "int8", values=[5] * len(ds))


@pytest.mark.parametrize("step", ["commit", "rebase", "commit with edits"])
def test_new_rows_and_a_new_column_at_the_tip(ds, step):
    other = dl.open(ds.url)
    add_n(other)
    other.commit("column")
    ds.append({"x": [3]})
    if step == "commit with edits":
        ds["x"][0] = 9
    with pytest.raises(dl.InvalidValueError, match=r"column 'n'.*1 such row") as error:
        ds.rebase() if step == "rebase" else ds.commit("row")
    paste(ds, error)
    ds.commit("row")
    assert ds["n"][:].tolist() == [5, 5, 7]
    assert dl.open(ds.url)["n"][:].tolist() == [5, 5, 7]


def test_new_column_and_new_rows_at_the_tip(ds):
    other = dl.open(ds.url)
    other.append({"x": [3]})
    other.commit("row")
    add_n(ds)
    with pytest.raises(dl.InvalidValueError, match="column 'n'") as error:
        ds.commit("column")
    paste(ds, error)
    assert dl.open(ds.url)["n"][:].tolist() == [5, 5, 7]


@pytest.mark.parametrize("named", ["branch", "tag", "id"])
@pytest.mark.parametrize("owner", ["ours", "theirs"])
def test_merge_with_a_column_of_one_side(ds, owner, named):
    ds.branch("fix")
    theirs = dl.open(ds.url, branch="fix")
    has, lacks = (ds, theirs) if owner == "ours" else (theirs, ds)
    add_n(has)
    has.commit("column")
    lacks.append({"x": [3]})
    lacks.commit("row")
    theirs.tag("v1")
    with pytest.raises(dl.InvalidValueError, match="column 'n'") as error:
        ds.merge({"branch": "fix", "tag": "v1", "id": theirs.version}[named])
    paste(ds, error)
    assert sorted(ds["n"][:].tolist()) == [5, 5, 7]
    assert ds.verify()
