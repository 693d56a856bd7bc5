"""An array that is a parameter keeps its dtype and its shape where it becomes a column."""

from __future__ import annotations

import numpy as np
import pytest

import deeplake_lite as dl

ARRAYS = [
    np.array([[1, 2], [3, 4]], "float32"), np.array([0.1], "float16"), np.array([1, 2], "uint8"),
    np.array([1 + 2j], "complex64"), np.array([True, False]), np.zeros((0, 3), "int16"),
    np.array(["2026-01-02"], "datetime64[D]"), np.array([5], "timedelta64[ms]"),
]  # fmt: skip
COLUMNS = [
    "SELECT $p AS x", "SELECT x FROM (SELECT $p AS x FROM ds)", "SELECT (SELECT $p) AS x",
    "SELECT (SELECT $p LIMIT 1) AS x", "SELECT CASE WHEN id >= 0 THEN $p ELSE $p END AS x",
    "SELECT IF(id < 0, NULL, $p) AS x", "SELECT COALESCE($p, $p) AS x", "SELECT DISTINCT $p AS x",
    "SELECT IFNULL(NULL, $p) AS x", "SELECT $p AS x UNION ALL SELECT $p", "SELECT FIRST($p) AS x",
    "SELECT $p AS x GROUP BY id", "SELECT ANY_VALUE($p) AS x GROUP BY id", "SELECT $p AS x LIMIT 1",
    "WITH q AS (SELECT $p AS x) SELECT x FROM q", "SELECT FIRST_VALUE($p) OVER () AS x",
]  # fmt: skip


@pytest.fixture(scope="module")
def ds():
    ds = dl.create("memory://arrays-as-columns", {"id": "int64", "v": dl.Array("int16", (None,))})
    ds.append({"id": [0, 1, 2], "v": [[1], [2, 3], []]})
    ds.commit("rows")
    return ds


def ask(ds, text, array):
    return dl.query(text, {"p": array}, sources={"ds": ds}, view=ds)["x"][:]


@pytest.mark.parametrize("text", COLUMNS)
@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: array.dtype.name)
def test_array_keeps_its_dtype_and_its_shape(ds, array, text):
    found = ask(ds, text, array)
    assert len(found)
    for row in found:
        assert row.dtype == array.dtype
        np.testing.assert_array_equal(np.asarray(row), array)


def test_arrays_in_lists_keep_their_dtype(ds):
    [rows] = ask(ds, "SELECT LIST($p) AS x", np.array([1, 2], "int16"))
    assert [row.dtype.name for row in rows] == ["int16"] * 3


def test_list_stays_a_list(ds):
    assert list(ask(ds, "SELECT $p AS x LIMIT 1", [1, 2])) == [[1, 2]]


def test_array_beside_a_column_has_its_dtype(ds):
    for text in ("SELECT IF(id = 1, v, $p) AS x", "SELECT COALESCE(v, $p) AS x"):
        assert {row.dtype.name for row in ask(ds, text, np.array([7]))} == {"int16"}
    union = ask(ds, "SELECT v AS x UNION ALL SELECT $p", np.array([7], "int16"))
    assert [row.tolist() for row in union] == [[1], [2, 3], [], [7], [7], [7]]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT LAG($p) OVER (ORDER BY id) AS x",
        "SELECT b.x FROM ds AS a LEFT JOIN (SELECT 1 AS id, $p AS x) AS b ON a.id = b.id + 1",
        "SELECT b.x FROM ds AS a LEFT JOIN q AS b ON a.id = b.id + 1",
        "SELECT b.x FROM ds AS a LEFT JOIN (SELECT id, x + 0 AS x FROM q) AS b ON a.id = b.id + 1",
    ],
)
def test_array_is_null_where_there_is_no_row(ds, text):
    picked = "WITH q AS (SELECT id, IF(id = 1, v, $p) AS x FROM ds) "
    first, *_ = ask(
        ds, (picked if " q " in text or " q)" in text else "") + text, np.array([7], "int16")
    )
    assert first is None or np.ma.getmaskarray(first).all()
