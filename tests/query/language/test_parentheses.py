"""Clauses after a query in parentheses, alone and nested, compared with DuckDB."""

from __future__ import annotations

from itertools import product

import duckdb
import pyarrow as pa
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import QueryError

COLUMNS = {
    "id": [3, 1, 2, 5, 4],
    "n": [10, 30, None, 20, 10],
    "t": ["a", "b", "c", "b", None],
}


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    schema = {
        "id": "int64", "n": dl.Scalar("int64", nullable=True), "t": dl.Text(nullable=True),
    }  # fmt: skip
    ds = dl.create("memory://parentheses", schema, overwrite=True)
    ds.append(COLUMNS)
    ds.commit("rows")
    return ds


@pytest.fixture(scope="module")
def oracle() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.register("dataset", pa.table(COLUMNS))
    return connection


WITHIN = [
    "SELECT * FROM dataset", "SELECT id, n, t FROM dataset WHERE id > 1",
    "SELECT * FROM dataset ORDER BY id LIMIT 4", "SELECT id + 1 AS id, n, t FROM dataset",
    "SELECT DISTINCT id, n, t FROM dataset",
    "SELECT id, n, t FROM dataset UNION ALL SELECT id * 10, n, t FROM dataset",
    "SELECT MAX(id) AS id, n, FIRST(t ORDER BY id) AS t FROM dataset GROUP BY n",
]  # fmt: skip

BEHIND = [
    "", "ORDER BY id", "ORDER BY id DESC", "ORDER BY n DESC NULLS LAST, id",
    "ORDER BY t, id LIMIT 2", "ORDER BY 1 LIMIT 2 OFFSET 1",
]  # fmt: skip

AROUND = [
    "{}", "({})", "(({})) ORDER BY id LIMIT 3", "SELECT * FROM ({}) AS s WHERE id > 1 ORDER BY id",
    "SELECT id + n AS x FROM ({}) AS s ORDER BY id", "WITH q AS ({}) SELECT * FROM q ORDER BY id",
    "SELECT n, COUNT(*) AS c, MAX(id) AS m FROM ({}) AS s GROUP BY n ORDER BY m",
    "SELECT a.id FROM dataset AS a JOIN ({}) AS b ON a.id = b.id ORDER BY a.id",
    "SELECT id FROM dataset WHERE id IN (SELECT s.id FROM ({}) AS s) ORDER BY id",
    "({}) UNION ALL (SELECT 0, 0, 'z' FROM dataset LIMIT 1) ORDER BY id, n",
    "SELECT MIN(id) AS x, MAX(n) AS y, COUNT(t) AS z FROM ({}) AS s",
]  # fmt: skip


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("behind", BEHIND)
def test_clauses_after_parentheses(ds, oracle, behind, around):
    for within in WITHIN:
        query = around.replace("{}", f"({within}) {behind}")
        view, expected = ds.query(query), oracle.sql(query).fetchall()
        result = [tuple(map(plain, view[k].values())) for k in range(len(view))]
        is_sorted = "ORDER BY" in behind + around
        assert (result if is_sorted else sorted(result, key=repr)) == (
            expected if is_sorted else sorted(expected, key=repr)
        ), query


def plain(value):
    return None if value is None or type(value).__name__ == "MaskedConstant" else value


@pytest.mark.parametrize(
    ("clause", "ids"),
    [("SAMPLE BY id > 4", [5]), ("ARRANGE BY n", [3, 4, 1, 2, 5]), ("SAMPLE BY n = 30", [1])],
)
def test_our_own_clauses_after_parentheses(ds, clause, ids):
    assert ds.query(f"(SELECT *) {clause}")["id"][:].tolist() == ids
    for within, behind in product((f"SELECT * {clause}", f"(SELECT *) {clause}"), BEHIND[1:]):
        with pytest.raises(
            QueryError, match="BY must end the outermost query, but it is in a subquery"
        ):
            ds.query(f"({within}) {behind}")


@pytest.mark.parametrize("of", ["MAX(b.n)", "b.n", "b.t", "COUNT(*)", "{'a': b.n}.a"])
@pytest.mark.parametrize(
    "condition", ["false", "b.id = 3", "b.id < dataset.id AND b.id > 4", "1 = 1"]
)
def test_bracketed_query_is_one_item(ds, oracle, of, condition):
    query = f"SELECT [(SELECT {of} FROM dataset b WHERE {condition})] AS x FROM dataset ORDER BY id"
    try:
        expected = [row[0] for row in oracle.sql(query).fetchall()]
    except duckdb.InvalidInputException:  # of several rows
        with pytest.raises(QueryError, match="must return one row"):
            ds.query(query)["x"][:]
    else:
        assert [list(map(plain, x)) for x in ds.query(query)["x"][:]] == expected
