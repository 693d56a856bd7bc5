"""Columns of a subquery that are passed through without being computed with are not read."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import deeplake_lite as dl

SPANS = np.array([1, 2001, 3, "NaT"], "timedelta64[ns]")
"""Durations that SQL cannot hold, because it counts whole microseconds."""

MOMENTS = np.array([1, 2**62, -(2**62), "NaT"], "datetime64[s]")


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    schema = {
        "id": "int64", "span": dl.Scalar("timedelta64[ns]", nullable=True),
        "moment": dl.Scalar("datetime64[s]", nullable=True), "v": dl.Embedding(2), "text": "text",
    }  # fmt: skip
    ds = dl.create("memory://unread", schema, overwrite=True)
    ds.append(
        {
            "id": [1, 2, 3, 4],
            "span": SPANS,
            "moment": MOMENTS,
            "v": np.eye(4, 2),
            "text": list("abcd"),
        }
    )
    ds.commit("rows")
    return ds


INNER = {
    "SELECT *": [1, 2, 3, 4], "SELECT * LIMIT 3": [1, 2, 3], "SELECT * WHERE id > 1": [2, 3, 4],
    "SELECT * ORDER BY text DESC LIMIT 2": [4, 3], "SELECT * FROM (SELECT * LIMIT 2)": [1, 2],
    "SELECT DISTINCT ON (text) *": [1, 2, 3, 4], "SELECT *, id + 1 AS more": [1, 2, 3, 4],
    "(SELECT *) LIMIT 2": [1, 2], "SELECT * QUALIFY ROW_NUMBER() OVER (ORDER BY id) < 3": [1, 2],
    "SELECT *, UNNEST([1, 2]) AS u": [1, 1, 2, 2, 3, 3, 4, 4],
}  # fmt: skip

AROUND = {
    "SELECT * FROM ({}) WHERE id > 0": None,
    "SELECT id, span, moment FROM ({}) AS s WHERE s.id > 0 AND v[0] >= 0": None,
    "WITH q AS ({}) SELECT * FROM q": None,
    "WITH q AS ({}), r AS (SELECT * FROM q) SELECT id, span, moment FROM r": None,
    "SELECT * FROM ({}) ORDER BY id DESC": "sorted",
    "SELECT a.span, a.moment, b.id FROM dataset AS a JOIN ({}) AS b ON a.id = b.id": "joined",
    "SELECT id, span, moment FROM ({}) WHERE id IN (SELECT id FROM ({}))": None,
    "SELECT id, span, moment FROM ({}) WHERE id <= (SELECT MAX(id) FROM dataset)": None,
    "SELECT * FROM (SELECT * FROM (SELECT * FROM ({})))": None,
}


@pytest.mark.parametrize(("inner", "around"), list(product(INNER, AROUND)))
def test_columns_that_sql_cannot_hold_pass_through(ds, inner, around):
    text = around.replace("{}", inner)
    result = ds.query(text)
    ids = result["id"][:].tolist()
    expected = INNER[inner]
    assert sorted(ids) == sorted(expected)
    assert AROUND[around] or ids == expected
    rows = np.array(ids) - 1
    for name, values in (("span", SPANS), ("moment", MOMENTS)):
        column = np.ma.asarray(result[name][:])
        assert np.array_equal(np.ma.getmaskarray(column), np.isnat(values[rows]))
        assert (column.compressed() == values[rows][~np.isnat(values[rows])]).all()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("SELECT COUNT(*) AS n FROM (SELECT span, id LIMIT 3)", [3]),
        ("SELECT 1 AS n FROM (SELECT text LIMIT 3)", [1, 1, 1]),
        ("SELECT COUNT(*) AS n FROM (SELECT DISTINCT text, id % 2 AS odd FROM dataset)", [4]),
        ("SELECT COUNT(*) AS n FROM (SELECT DISTINCT id % 2 AS odd FROM dataset)", [2]),
        ("SELECT COUNT(*) AS n FROM (SELECT MAX(id) AS a, MIN(id) AS b FROM dataset)", [1]),
        ("SELECT COUNT(*) AS n FROM (SELECT id % 2 AS a, text FROM dataset GROUP BY ALL)", [4]),
        ("SELECT COUNT(*) AS n FROM (SELECT id % 2 AS a FROM dataset GROUP BY a)", [2]),
        ("SELECT n FROM (SELECT id AS n, text FROM dataset UNION SELECT 1, 'z')", [1, 2, 3, 4, 1]),
        ("SELECT n FROM (SELECT id AS n, id % 2 AS m FROM dataset INTERSECT SELECT id, 0)", [2, 4]),
        ("SELECT s.n FROM (SELECT id AS n, text AS t) AS s JOIN (SELECT text AS t) AS r USING (t)",
         [1, 2, 3, 4]),
        ("SELECT id AS n FROM (SELECT id, text, v) WHERE ANY(v[0:1] > 0)", [1]),
        ("SELECT id AS n FROM (FROM ds) WHERE id IN (SELECT b.id - 2 FROM (FROM ds) AS b)", [1, 2]),
    ],
)  # fmt: skip
def test_rows_depend_on_all_columns(ds, text, wanted):
    assert ds.query(text)["n"][:].tolist() == wanted


def test_only_computed_columns_of_a_source_are_passed_to_duckdb(ds):
    plan = ds.query("SELECT * FROM (SELECT * FROM (SELECT * LIMIT 3)) WHERE id > 1").record.plan
    assert [f.name for i in plan.instances for f in i.scalars.values()] == ["id"]


def test_filters_after_a_limit_apply_to_its_rows(ds):
    view = ds.query("SELECT * LIMIT 3")
    assert view.query("SELECT * WHERE id > 1")["span"][:].tolist() == SPANS[1:3].tolist()
