"""True compares with class 1 of two; with more classes the comparison is refused."""

from __future__ import annotations

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import InvalidValueError, QueryTypeError


def lake(names):
    schema = {
        "l": dl.ClassLabel(names), "ls": dl.Sequence(dl.ClassLabel(names)),
        "m": dl.ClassLabel(names, multiple=True), "b": "bool",
    }  # fmt: skip
    ds = dl.create(f"memory://truth-{len(names)}", schema)
    ds.append({"l": ["a", "b"], "ls": [["a"], ["b", "a"]], "m": [["a"], ["b"]], "b": [True, False]})
    ds.commit("rows")
    return ds


TWO, THREE = lake(["a", "b"]), lake(["a", "b", "c"])

CONDITIONS = {
    "l = true": [1], "true = l": [1], "l <> true": [0], "l IN (true)": [1], "l IN (true, 5)": [1],
    "l = ?": [1], "l = b": [], "l < true": [0], "l BETWEEN false AND false": [0],
    "l = ANY(SELECT b FROM dataset)": [0, 1], "l IN (SELECT b FROM dataset)": [0, 1],
    "l IS DISTINCT FROM true": [0], "NULLIF(l, true) IS NULL": [1], "(l, b) = (false, true)": [0],
    "CASE l WHEN true THEN true END": [1], "ANY(ls = true)": [1], "ALL(ls <> true)": [0],
}  # fmt: skip


@pytest.mark.parametrize(("condition", "rows"), CONDITIONS.items())
def test_queries(condition, rows):
    params = [True] if "?" in condition else []
    query = f"SELECT * WHERE {condition}"
    assert TWO.query(query, params)["l"][:].tolist() == rows
    of_lists = condition.startswith(("ANY(ls", "ALL(ls"))
    rule = (
        "Classes cannot be compared with booleans"
        if of_lists
        else "only if the column has exactly two classes"
    )
    with pytest.raises(QueryTypeError, match=rule):
        THREE.query(query, params)


@pytest.mark.parametrize("condition", ["ANY(m = true)", "m = [true]"])
def test_several_classes_per_row(condition):
    for ds in (TWO, THREE):
        with pytest.raises(QueryTypeError, match="Classes cannot be compared with booleans"):
            ds.query(f"SELECT * WHERE {condition}")


@pytest.mark.parametrize("other", [True, np.True_, [False, True], np.array([False, True])])
def test_columns(other):
    assert (TWO["l"] == other).tolist() == [np.ndim(other) > 0, True]
    with pytest.raises(
        InvalidValueError, match=r"one of its 3 classes, but (True|False) is a boolean"
    ):
        _ = THREE["l"] == other
