"""Boxes of two formats are not comparable, because their numbers have different meanings."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import QueryTypeError

SIDES = [
    ("b", "w"), ("b + 0", "w"), ("b[0]", "w[0]"), ("b[0:1]", "BOX_CONVERT(b, 'cxcywh')"),
    ("s", "t"), ("s[0]", "w"), ("LIST(b)", "LIST(w)"), ("b", "(SELECT w LIMIT 1)"),
]  # fmt: skip


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    boxes = {"b": dl.Boxes("xyxy"), "w": dl.Boxes("xywh")}
    lists = {"s": dl.Sequence(dl.Boxes("xyxy")), "t": dl.Sequence(dl.Boxes("xywh"))}
    ds = dl.create("memory://boxes-of-two-formats", {**boxes, **lists}, overwrite=True)
    value = np.array([[0, 1, 2, 3]], "float32")
    ds.append({"b": [value], "w": [value], "s": [[value]], "t": [[value]]})
    ds.commit("rows")
    return ds


@pytest.mark.parametrize(("left", "right"), [p for s in SIDES for p in permutations(s)])
@pytest.mark.parametrize("sign", ["IS NOT DISTINCT FROM", "IS DISTINCT FROM"])
def test_boxes_of_two_formats_are_not_compared(ds, left, right, sign):
    with pytest.raises(
        QueryTypeError,
        match=r"same format(.|\n)*Convert .* with BOX_CONVERT",
    ):
        ds.query(f"SELECT {left} {sign} {right} AS r")


def test_sources_do_not_join_on_boxes_of_two_formats(ds):
    other = dl.create("memory://boxes-2", {"b": dl.Boxes("xywh")}, overwrite=True)
    other.append({"b": [np.zeros((1, 4), "float32")]})
    other.commit("rows")
    for condition in ("USING (b)", "ON x.b IS NOT DISTINCT FROM y.b"):
        with pytest.raises(QueryTypeError, match="same format"):
            ds.query(f"SELECT x.s FROM x JOIN y {condition}", sources={"x": ds, "y": other})


@pytest.mark.parametrize(
    ("left", "right"),
    [("b", "BOX_CONVERT(w, 'xyxy')"), ("b", "[[0, 1, 2, 3]]"), ("w", "[[0, 1, 2, 3]]"),
     ("HASH(b)", "HASH(w)"), ("HASH(w)", "HASH([[0, 1, 2, 3]])"), ("b[:, 0]", "w[:, 0]")],
)  # fmt: skip
def test_boxes_compare_with_boxes_of_the_same_format_and_with_numbers(ds, left, right):
    expected = right != "BOX_CONVERT(w, 'xyxy')"
    view = ds.query(f"SELECT {left} IS NOT DISTINCT FROM {right} AS r")
    assert view["r"][:].tolist() == [expected]
