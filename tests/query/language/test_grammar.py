"""Syntax that the parser accepts and the language lacks is an error, never ignored."""

from __future__ import annotations

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import QueryError


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    schema = {
        "id": "int64", "i": "int64", "j": dl.Scalar("int64", nullable=True), "s": "text",
        "v": dl.Embedding(2),
    }  # fmt: skip
    ds = dl.create("memory://grammar", schema, overwrite=True)
    ds.append(
        {
            "id": range(6), "i": [1, 1, 2, 2, 3, 3], "j": [5, None, 4, None, 3, 2],
            "s": list("123456"), "v": np.zeros((6, 2)),
        }
    )  # fmt: skip
    return ds


FOREIGN = [
    "SELECT a.id FROM dataset a ASOF JOIN dataset b ON a.i >= b.j",
    "SELECT a.id FROM dataset a ASOF LEFT JOIN dataset b ON a.i >= b.j",
    "SELECT a.id FROM dataset a POSITIONAL JOIN dataset b",
    "SELECT a.id FROM dataset a LEFT JOIN dataset b",
    "SELECT a.id FROM dataset a FULL JOIN dataset b",
    "SELECT a.id FROM dataset a INNER JOIN dataset b",
    "SELECT id FROM dataset a SEMI JOIN dataset b",
    "SELECT id, i FROM dataset UNION BY NAME SELECT i, id FROM dataset",
    "SELECT id, i FROM dataset UNION ALL BY NAME SELECT i, id FROM dataset",
    "SELECT id FROM dataset EXCEPT BY NAME SELECT id FROM dataset",
    "(SELECT i, id FROM dataset) WHERE id = 1",
    "(SELECT i, id FROM dataset) GROUP BY id",
    "(SELECT i, id FROM dataset) HAVING id = 1",
    "(SELECT i, id FROM dataset) QUALIFY id = 1",
    "SELECT * FROM ((SELECT i, id FROM dataset) WHERE id = 1) t",
    "SELECT id WHERE id IN ((SELECT id FROM dataset) WHERE id = 1)",
    "(SELECT id FROM dataset) WHERE id = 1 UNION SELECT id FROM dataset",
    "SELECT * FROM (SELECT i, id FROM dataset) PIVOT (SUM(id) FOR i IN (1, 2))",
    "SELECT * FROM (SELECT i, id FROM dataset) UNPIVOT (x FOR y IN (i, id))",
    "SELECT * FROM (SELECT i, id FROM dataset) TABLESAMPLE (1 ROWS)",
    "SELECT * FROM (SELECT i, id FROM dataset) TABLESAMPLE 1%",
    "SELECT id FROM dataset TABLESAMPLE 1%", "SELECT id FROM dataset USING SAMPLE 2",
    "SELECT id WHERE i BETWEEN SYMMETRIC 2 AND 1", "SELECT id WHERE i IN UNNEST([1, 2])",
    "SELECT id WHERE i NOT IN UNNEST([1])", "SELECT i GROUP BY i WITH ROLLUP",
    "SELECT i GROUP BY i WITH CUBE", "SELECT i GROUP BY i WITH TOTALS", "SELECT i LIMIT 1 BY i",
    "SELECT i ORDER BY i LIMIT 1 WITH TIES", "SELECT i ORDER BY i FETCH FIRST 3 ROWS WITH TIES",
    "SELECT * FROM (SELECT i, id FROM dataset) AS r(a, b, c)",
    "SELECT * FROM (SELECT i, id FROM dataset) AS r(a, a)",
    "SELECT * FROM (SELECT i, id FROM dataset) AS r(id)",
    "WITH r(a, b, c) AS (SELECT i, id FROM dataset) SELECT * FROM r",
    "SELECT * FROM dataset AS r(a, a)", "SELECT * FROM RANGE(3) AS r(a, b)",
    "SELECT * ILIKE 'i%'", "SELECT id CLUSTER BY j", "SELECT id DISTRIBUTE BY 0, 1",
    "SELECT id SORT BY j", "SELECT id ORDER BY j WITH FILL",
    "SELECT CAST(s AS INT DEFAULT 3 ON CONVERSION ERROR) AS x",
    "SELECT ROW_NUMBER(ORDER BY j) OVER () AS x", "SELECT RANK(j) OVER (ORDER BY j) AS x",
    "SELECT FIRST_VALUE(j IGNORE NULLS) OVER (ORDER BY id) AS x",
    "SELECT LIST(i ORDER BY id DESC LIMIT 2) AS x", "SELECT id FROM dataset FOR UPDATE",
    "SELECT id INTO x FROM dataset", "SELECT id FROM dataset t LATERAL VIEW EXPLODE(v) AS z",
]  # fmt: skip


@pytest.mark.parametrize("query", FOREIGN)
def test_foreign_syntax_is_refused(ds: dl.Dataset, query: str) -> None:
    with pytest.raises(QueryError):
        ds.query(query)


SAME = {
    "SELECT i ORDER BY i FETCH FIRST 3 ROWS ONLY": "SELECT i ORDER BY i LIMIT 3",
    "SELECT * FROM (SELECT i, id, j FROM dataset) AS r(a, b)":
        "SELECT i AS a, id AS b, j FROM dataset",
    "WITH r(a) AS (SELECT i, id FROM dataset) SELECT * FROM r": "SELECT i AS a, id FROM dataset",
    "WITH r AS (SELECT i, id FROM dataset) SELECT * FROM r AS q(x)":
        "SELECT i AS x, id FROM dataset",
    "SELECT * FROM dataset AS r(a, b)": "SELECT id AS a, i AS b, j, s, v FROM dataset",
    "SELECT r.a FROM dataset AS r(a) WHERE r.a > 2": "SELECT id AS a WHERE id > 2",
    "SELECT ALL id FROM dataset": "SELECT id",
    "WITH r AS MATERIALIZED (SELECT id FROM dataset) SELECT * FROM r": "SELECT id",
    "SELECT a.id FROM dataset a NATURAL JOIN (SELECT id FROM dataset) b": "SELECT id",
}  # fmt: skip


@pytest.mark.parametrize("query", SAME)
def test_alternative_spellings_mean_the_same(ds: dl.Dataset, query: str) -> None:
    result, expected = ds.query(query), ds.query(SAME[query])
    assert result.columns == expected.columns
    for name in result.columns:
        np.testing.assert_array_equal(
            np.ma.filled(result[name][:], -9), np.ma.filled(expected[name][:], -9)
        )


def test_position_of_foreign_syntax_is_shown(ds: dl.Dataset) -> None:
    with pytest.raises(QueryError, match=r"ASOF JOIN is not part of the language(.|\n)*\^"):
        ds.query("SELECT a.id FROM dataset a ASOF JOIN dataset b ON a.i >= b.j")
