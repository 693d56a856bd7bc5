"""A query without FROM reads the dataset it is run on; constants alone give one row."""

from __future__ import annotations

import pytest

import deeplake_lite as dl

VALUES = {
    "COUNT(*)": 4, "COUNT(1)": 4, "SUM(1)": 4, "LEN(LIST(1))": 4, "COUNT(DISTINCT 1)": 1,
    "COUNT(*) + 1": 5, "MAX(1) FILTER (WHERE TRUE)": 1, "COUNT(*) * 2 - SUM(1)": 4,
    "COUNT(id)": 4, "SUM(id)": 6, "CASE WHEN COUNT(*) > 3 THEN 7 ELSE 8 END": 7,
}  # fmt: skip
"""Aggregates, most of which name no column, and their results for the four rows."""


def _before(count):
    return [int(row < count - 1) for row in range(4)]


PLACES = {
    "SELECT ({}) AS x LIMIT 1": lambda v: [v],
    "SELECT id AS x WHERE ({}) = %d": lambda _: [0, 1, 2, 3],
    "SELECT id AS x WHERE id + 100 < ({}) + 100": lambda v: list(range(min(v, 4))),
    "SELECT CASE WHEN id < ({}) - 1 THEN 1 ELSE 0 END AS x": _before,
    "SELECT COUNT(*) + ({}) AS x": lambda v: [4 + v],
    "SELECT k AS x GROUP BY k HAVING COUNT(*) < ({}) + 2": lambda _: [0, 1],
    "SELECT id AS x ORDER BY ({}), id": lambda _: [0, 1, 2, 3],
    "SELECT x FROM (SELECT ({}) AS x FROM ds LIMIT 1)": lambda v: [v],
    "WITH q AS ({}) SELECT * FROM q AS s(x)": lambda v: [v],
    "SELECT id AS x WHERE id + 1 IN ({})": lambda v: [v - 1] if v <= 4 else [],
    "SELECT id AS x FROM ds WHERE ({}) = %d": lambda _: [0, 1, 2, 3],
    "SELECT MAX(id) AS x UNION ALL ({})": lambda v: [3, v],
}  # fmt: skip


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    ds = dl.create(
        "memory://without-from", {"id": "int64", "k": "int64", "v": dl.Embedding(2)}, overwrite=True
    )
    ds.append({"id": range(4), "k": [0, 0, 1, 1], "v": [[i, 1] for i in range(4)]})
    ds.commit("rows")
    return ds


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("value", VALUES)
def test_aggregates_are_over_the_queried_rows(ds, value, place):
    text = place.replace("{}", f"SELECT {value}").replace("%d", str(VALUES[value]))
    assert ds.query(text)["x"][:].tolist() == PLACES[place](VALUES[value])


@pytest.mark.parametrize("value", VALUES)
def test_constants_in_views_with_and_without_rows(ds, value):
    for view, size in ((ds[:2], 2), (ds[:0], 0)):
        other = ds.query(f"SELECT ({value}) AS x FROM here", sources={"here": view})["x"][:]
        within = ds.query("SELECT (SELECT COUNT(*) FROM here) AS x LIMIT 1", sources={"here": view})
        assert within["x"][:].tolist() == [size]
        assert view.query(f"SELECT {value} AS x")["x"][:].tolist() == other.tolist()
    assert ds[:2].query("SELECT id WHERE id < (SELECT COUNT(*)) - 1")["id"][:].tolist() == [0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT (SELECT 1) AS x", [1] * 4), ("SELECT id AS x WHERE id = (SELECT 2)", [2]),
        ("SELECT id AS x WHERE id IN (SELECT 2 UNION ALL SELECT 3)", [2, 3]),
        ("SELECT id AS x WHERE EXISTS (SELECT 1)", [0, 1, 2, 3]), ("SELECT 1 AS x", [1] * 4),
        ("SELECT id AS x WHERE id IN (SELECT ROW_NUMBER())", [0, 1, 2, 3]),
        ("SELECT id AS x WHERE id < (SELECT COUNT(*) OVER () LIMIT 1) - 2", [0, 1]),
        ("SELECT SUM(v - (SELECT [1, 1])) AS x LIMIT 1", [-1]),
    ],
)  # fmt: skip
def test_constants_are_one_row_and_rows_are_all(ds, text, expected):
    assert ds.query(text)["x"][:].tolist() == expected


CONSTANTS = {
    "SELECT 7 AS k": [7], "SELECT 'a' AS k": ["a"], "SELECT $p AS k": [3],
    "SELECT 1 AS k UNION ALL SELECT 2": [1, 2], "(SELECT 7 AS k)": [7],
    "(SELECT 7 AS k) LIMIT 2": [7], "SELECT 7 AS k ORDER BY k": [7],
    "SELECT 7 AS id ORDER BY id": [7],
    "SELECT 1 AS one, one + 1 AS k": [2], "SELECT UNNEST([1, 2]) AS k": [1, 2],
    "SELECT LEN(LIST_TRANSFORM([5, 6], x -> x + 1)) AS k": [2],
    "SELECT k FROM (SELECT 7 AS k)": [7],
    "SELECT (SELECT 7) AS k": [7], "SELECT (SELECT MAX(id)) AS k": [3, 3, 3, 3],
    "SELECT (SELECT MAX(id) FROM ds) AS k": [3, 3, 3, 3],
    "SELECT (SELECT MAX(id) FROM ds) AS k LIMIT 1": [3],
    "WITH inner_ AS (SELECT 7 AS k) SELECT k FROM inner_ UNION ALL SELECT 8": [7, 8],
    "SELECT id AS k": [0, 1, 2, 3], "SELECT 1 AS id, id AS k": [0, 1, 2, 3],
    "SELECT COUNT(*) AS k": [4], "SELECT 7 AS k WHERE id < 2": [7, 7],
    "SELECT CAST(ROW_NUMBER() AS BIGINT) AS k": [0, 1, 2, 3],
}  # fmt: skip
"""Queries without FROM, and their rows as a table."""


@pytest.mark.parametrize("text", CONSTANTS)
def test_constants_in_from_and_with_are_one_row(ds, text):
    values, params = CONSTANTS[text], {"p": 3}
    column = "id" if "AS id ORDER" in text else "k"

    def rows(query):
        return list(ds.query(query, params if "$p" in query else {})["x"][:])

    assert rows(f"SELECT {column} AS x FROM ({text})") == values
    assert rows(f"SELECT COUNT(*) AS x FROM ({text})") == [len(values)]
    assert rows(f"WITH c AS ({text}) SELECT {column} AS x FROM c") == values
    joined = f"SELECT c.{column} AS x FROM ds CROSS JOIN ({text}) c"
    assert sorted(rows(joined)) == sorted(values * 4)
    assert rows(f"WITH c AS ({text}) SELECT COUNT(*) AS x FROM c a CROSS JOIN c b") == [
        len(values) ** 2
    ]
    assert rows(f"SELECT (SELECT COUNT(*) FROM ({text})) AS x LIMIT 1") == [len(values)]


def test_outermost_constant_is_one_value_per_row(ds):
    assert ds.query("SELECT 7 AS x UNION ALL SELECT 8")["x"][:].tolist() == [7] * 4 + [8] * 4
    assert ds.query("WITH c AS (SELECT 1 AS k) SELECT 7 AS x")["x"][:].tolist() == [7] * 4
