"""Months, whose lengths differ, shift times and compare in a query, but cannot be returned."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.query.registering import unregister

if TYPE_CHECKING:
    from collections.abc import Iterator

MONTHS = {
    "INTERVAL '1 year'": "1 year",
    "INTERVAL 1 MONTH": "1 month",
    "INTERVAL '-13 months 3 days'": "-1 year -1 month 3 days",
    "AGE(t, TIMESTAMP '2019-11-30')": "1 month 1 day",
    "TO_MONTHS(3)": "3 months",
    "TO_YEARS(id + 1)": "1 year",
    "CAST('2 months' AS INTERVAL)": "2 months",
    "(d + INTERVAL 1 MONTH)": "1 month 00:00:00.005",
    "CASE WHEN id = 0 THEN TO_MONTHS(2) ELSE d END": "2 months",
}
"""Durations in months of the first row, and their form in messages."""

PLACES = [
    "{}", "[{}]", "[[d], [{}]]", "{{'a': {}}}", "ROW({})", "[ROW(1, {})]", "MAP([1], [{}])",
    "MAP([{}], [1])", "{{'a': [{}]}}", "(SELECT {} FROM ds WHERE id = 0)", "v < {}", "OWN_SPAN({})",
    "OWN_SPAN([{}])", "LIST({}) OVER ()",
]  # fmt: skip
"""Forms in which DuckDB returns a duration."""


@pytest.fixture(scope="module", autouse=True)
def ds() -> dl.Dataset:
    ds = dl.create(
        "memory://months",
        {
            "id": "int64",
            "t": "datetime64[s]",
            "d": "timedelta64[ms]",
            "v": dl.Array("timedelta64[s]", (2,)),
        },
        overwrite=True,
    )
    ds.append(
        {
            "id": [0, 1],
            "t": ["2020-01-01", "2020-05-31"],
            "d": np.array([5, 86_400_000], "m8[ms]"),
            "v": [np.array([1, 2], "m8[s]")] * 2,
        }
    )
    ds.commit("times")
    return ds


@pytest.fixture(autouse=True)
def own_span() -> Iterator[None]:
    @dl.function(returns="int64", override=True)
    def own_span(x: object) -> int:
        return len(repr(x))

    yield
    unregister("OWN_SPAN")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("span", MONTHS)
def test_months_cannot_be_returned(ds: dl.Dataset, span: str, place: str) -> None:
    with pytest.raises(dl.QueryTypeError, match="must not contain months") as caught:
        ds.query(f"SELECT {place.format(span)} AS x WHERE id = 0")["x"][:]
    if "OWN_SPAN([" not in place:
        assert f"but one is {MONTHS[span]}. Add the duration to a time" in str(caught.value)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT INTERVAL 1 MONTH AS x UNION ALL SELECT d FROM ds",
        "SELECT x FROM (SELECT TO_MONTHS(id) AS x FROM ds)",
        "SELECT MAX(TO_MONTHS(id)) AS x",
        "SELECT TO_MONTHS(id) AS x GROUP BY x",
        "SELECT DISTINCT TO_MONTHS(id) AS x",
        "SELECT HISTOGRAM(TO_MONTHS(id)) AS x",
    ],
)
def test_every_clause_refuses_to_return_months(ds: dl.Dataset, query: str) -> None:
    with pytest.raises(dl.QueryTypeError, match="must not contain months"):
        ds.query(query)["x"][:]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT t + INTERVAL 1 MONTH AS x", ["2020-02-01", "2020-06-30"]),
        ("SELECT t + m AS x FROM (SELECT t, TO_MONTHS(1) AS m FROM ds)", ["2020-02-01"]),
        ("SELECT id AS x WHERE AGE(t, TIMESTAMP '2010-01-01') > INTERVAL 10 YEAR", [1]),
        ("SELECT id AS x ORDER BY AGE(t, TIMESTAMP '2010-01-01') DESC", [1, 0]),
        ("SELECT CAST(TO_MONTHS(14) AS TEXT) AS x", ["1 year 2 months"] * 2),
        ("SELECT DATE_DIFF('day', TIMESTAMP '2019-12-31', t) AS x", [1, 152]),
    ],
)  # fmt: skip
def test_months_are_allowed_within_a_query(
    ds: dl.Dataset, text: str, expected: list[object]
) -> None:
    result = ds.query(text)["x"][: len(expected)]
    assert [str(x)[: len(str(e))] for x, e in zip(result, expected, strict=True)] == [
        str(e) for e in expected
    ]


def test_whole_days_can_be_returned(ds: dl.Dataset) -> None:
    result = ds.query("SELECT INTERVAL '400 days' AS a, AGE(t, t - INTERVAL 3 DAY) AS b LIMIT 1")
    assert result["a"][0] == np.timedelta64(400, "D")
    assert result["b"][0] == np.timedelta64(3, "D")


def test_error_shows_the_position(ds: dl.Dataset) -> None:
    with pytest.raises(dl.QueryTypeError, match="Line 1, column 12"):
        ds.query("SELECT id, TO_MONTHS(id) AS x")
