"""JSON comes out of a subquery as it is stored, and is compared by value."""

from __future__ import annotations

import pytest

import deeplake_lite as dl

VALUES = [{"b": 1.0, "a": [2.0]}, 2.0, None, "1.0", [1.0, None]]


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    schema = {"id": "int64", "j": dl.Json(nullable=True)}
    ds = dl.create("memory://json-from-subqueries", schema, overwrite=True)
    ds.append({"id": range(len(VALUES)), "j": VALUES})
    ds.commit("rows")
    return ds


@pytest.mark.parametrize(
    "query",
    [
        "(SELECT j WHERE id = {})",
        "(SELECT j FROM ds WHERE id = {} ORDER BY j LIMIT 1)",
        "(SELECT DISTINCT j WHERE id = {})",
        "(SELECT FIRST(j) WHERE id = {})",
        "(SELECT j WHERE id = {} GROUP BY j)",
        "(SELECT k FROM (SELECT j AS k WHERE id = {}))",
        "(WITH q AS (SELECT j WHERE id = {}) SELECT j FROM q)",
    ],
)
def test_value_is_unchanged(ds: dl.Dataset, query: str) -> None:
    for row, value in enumerate(VALUES):
        result = ds.query(f"SELECT {query.format(row)} AS y LIMIT 1")["y"][0]
        assert repr(result) == repr(value)


def test_value_of_an_outer_row_is_unchanged(ds: dl.Dataset) -> None:
    result = ds.query("SELECT (SELECT b.j FROM ds b WHERE b.id = a.id) AS y FROM ds a")["y"][:]
    assert repr(list(result)) == repr(VALUES)


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("j = (SELECT j WHERE id = 1)", [1]),
        ("j IN (SELECT j WHERE id < 2)", [0, 1]),
        ("(id, j) IN (SELECT id, j WHERE id < 2)", [0, 1]),
        ("j = ANY (SELECT j WHERE id IN (0, 4))", [0, 4]),
        ("id = 2 AND 2 IN (SELECT j)", [2]),
        ("id = 0 AND '1.0' IN (SELECT j)", [0]),
        ("j IS NOT DISTINCT FROM (SELECT j WHERE id = 2)", [2]),
    ],
)
def test_values_are_compared_by_meaning(ds: dl.Dataset, condition: str, rows: list[int]) -> None:
    assert ds.query(f"SELECT id AS y WHERE {condition}")["y"][:].tolist() == rows
