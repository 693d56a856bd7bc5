"""Two different values look different in the row details and in the history."""

from __future__ import annotations

import pytest

import deeplake_lite as dl
from deeplake_lite.dataset.repr.excerpts import WIDTH
from deeplake_lite.widget.row.history import row_history
from tests.dataset.export.test_excerpts import PAIRS, check_apart, two_versions


@pytest.mark.parametrize("kind", PAIRS)
def test_different_values_look_different_in_the_history_of_a_row(make_lake, kind):
    ds = two_versions(make_lake, kind)
    [change] = row_history(ds, int(ds.row_ids[0]))["versions"][0]["changes"]
    check_apart(kind, change["before"], change["after"])
    assert max(len(change["before"]), len(change["after"])) <= WIDTH + 2


@pytest.mark.parametrize("kind", sorted({*PAIRS} - {"link", "empty arrays"}))  # contains images
def test_different_values_look_different_in_the_row_details(make_lake, page, kind):
    ds = two_versions(make_lake, kind)
    texts = []
    for view in (dl.open(ds.url, version="v1"), ds):
        [x] = page(view).asks("detail", p=0, size=64)["columns"]
        texts.append(x["text"])
    check_apart(kind, *texts)


def test_changed_link_is_reported(make_lake):
    ds = make_lake({"x": dl.Link("image")}, x=["a.png"])
    ds.update([0], {"x": ["b.png"]})
    ds.commit("another")
    [change] = row_history(ds, int(ds.row_ids[0]))["versions"][0]["changes"]
    assert (change["before"], change["after"]) == ("a.png", "b.png")
