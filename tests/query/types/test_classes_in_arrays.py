"""Arrays and sequences of classes are compared by the names of their classes."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import deeplake_lite as dl

VALUES = [["a", "b"], ["b"], []]
COLUMNS = {
    "tags": dl.ClassLabel(["a", "b"], multiple=True),
    "turned": dl.ClassLabel(["b", "a"], multiple=True),
    "seq": dl.Sequence(dl.ClassLabel(["a", "b"])),
    "nulls": dl.Sequence(dl.ClassLabel(["c", "b", "a"], nullable=True)),
    "texts": dl.Sequence(dl.Text()),
}
ARRAYS = [*COLUMNS, "tags[0:5]", "turned[0:5]", "seq[0:5]", "nulls[0:5]",
          "CASE WHEN id >= 0 THEN tags ELSE turned END"]  # fmt: skip


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    schema = {"id": "int64", "label": dl.ClassLabel(["a", "b"]), **COLUMNS}
    ds = dl.create("memory://classes-in-arrays", schema, overwrite=True)
    ds.append({"id": range(3), "label": ["a", "b", "a"], **dict.fromkeys(COLUMNS, VALUES)})
    ds.commit("rows")
    return ds


def check(ds: dl.Dataset, left: str, right: str, expected: list[bool], params=None) -> None:
    params = params or {}
    view = ds.query(
        f"SELECT {left} IS NOT DISTINCT FROM {right} AS same, {left} IS DISTINCT FROM {right} AS "
        f"differ, HASH({left}) = HASH({right}) AS hashes",
        params,
    )
    assert view["same"][:].tolist() == expected
    assert view["differ"][:].tolist() == [not same for same in expected]
    assert view["hashes"][:].tolist() == expected
    result = ds.query(f"SELECT id WHERE {left} IS NOT DISTINCT FROM {right}", params)
    assert result["id"][:].tolist() == np.flatnonzero(expected).tolist()


@pytest.mark.parametrize(("left", "right"), list(product(ARRAYS, COLUMNS)))
def test_two_arrays_are_equal_if_their_class_names_are(ds, left, right):
    check(ds, left, right, [True] * 3)


@pytest.mark.parametrize("array", ARRAYS)
@pytest.mark.parametrize(
    ("names", "expected"),
    [(["a", "b"], [True, False, False]), (["b"], [False, True, False]), (["b", "a"], [False] * 3),
     (["none"], [False] * 3), ([], [False, False, True])],
)  # fmt: skip
def test_list_of_names_equals_its_classes(ds, array, names, expected):
    check(ds, array, str(names), expected)
    check(ds, str(names), array, expected)
    check(ds, array, "$p", expected, {"p": names})


def test_array_of_names_equals_its_classes(ds):
    check(ds, "tags", "$p", [True, False, False], {"p": np.array(["a", "b"])})
    check(ds, "tags", "[label, 'b']", [True, False, False])


def test_null_classes_equal_null_names(ds):
    part = "LIST_CONCAT([label], [NULL])"
    assert ds.query(f"SELECT {part} IS NOT DISTINCT FROM ['b', NULL] AS r")["r"][:].tolist() == [
        False, True, False,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("values", "expected"),
    [("LIST(label)", ["a", "b", "a"]), ("LIST(tags)", VALUES), ("LIST(seq)", VALUES),
     ("LIST(turned)", VALUES)],
)  # fmt: skip
def test_list_over_a_group_equals_its_names(ds, values, expected):
    for right, same in ((expected, True), (expected[::-1][1:], False)):
        [row] = ds.query(f"SELECT {values} IS NOT DISTINCT FROM $p AS same", {"p": right})
        assert row["same"] == same


def test_sources_join_on_names(ds):
    url = "memory://classes-in-arrays-2"
    other = dl.create(url, {"tags": COLUMNS["turned"], "n": "int64"}, overwrite=True)
    other.append({"tags": [["b"], ["a", "b"]], "n": [10, 20]})
    other.commit("rows")
    for condition in ("ON x.tags IS NOT DISTINCT FROM y.tags", "USING (tags)",
                      "ON x.texts IS NOT DISTINCT FROM y.tags"):  # fmt: skip
        view = ds.query(
            f"SELECT id, n FROM x JOIN y {condition} ORDER BY id", sources={"x": ds, "y": other}
        )
        assert [(row["id"], row["n"]) for row in view] == [(0, 20), (1, 10)]


def test_classes_equal_their_numbers(ds):
    view = ds.query("SELECT tags IS NOT DISTINCT FROM [0, 1] AS r, seq IS DISTINCT FROM [1] AS s")
    assert view["r"][:].tolist() == [True, False, False]
    assert view["s"][:].tolist() == [True, False, True]
