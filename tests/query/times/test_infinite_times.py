"""Infinite times compare and compute within a query, but are never returned: NumPy has none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.query.registering import unregister

if TYPE_CHECKING:
    from collections.abc import Iterator

TYPES = ["DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMPTZ"]

PLACES = [
    "{}", "[{}]", "[[], [NULL, {}]]", "{{'a': {}}}", "ROW(1, {})", "MAP([1], [{}])",
    "MAP([{}], [1])", "{{'a': [{}]}}", "(SELECT {})", "(SELECT [{}])", "COALESCE(NULL, {})",
    "CASE WHEN id = 1 THEN {} END", "MAX({})", "LIST({})", "HISTOGRAM({})",
    "MIN({}) OVER ()", "UNNEST([{}])", "LIST_TRANSFORM([{}], x -> x)", "v < {}", "OWN_TIME({})",
]  # fmt: skip
"""Forms in which DuckDB returns a time."""

LEAST = "TO_MICROSECONDS(-9223372036854775807 - 1)"


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    ds = dl.create(
        "memory://infinite-times",
        {"id": "int64", "t": "datetime64[s]", "v": dl.Array("datetime64[s]", (2,))},
        overwrite=True,
    )
    ds.append(
        {"id": [0, 1], "t": ["2020-01-01", "1600-05-31"], "v": [np.array([1, 2], "M8[s]")] * 2}
    )
    ds.commit("times")
    return ds


@pytest.fixture(autouse=True)
def own_time() -> Iterator[None]:
    @dl.function(returns="int64", override=True)
    def own_time(x: object) -> int:
        return len(repr(x))

    yield
    unregister("OWN_TIME")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("sign", ["", "-"])
def test_infinity_cannot_be_returned(ds: dl.Dataset, sign: str, type_: str, place: str) -> None:
    time = f"CAST('{sign}infinity' AS {type_})"
    message = (
        rf"Times in a result must be finite, but one is {sign}infinity. Replace inf(.|\n)*Line 1"
    )
    with pytest.raises(dl.QueryTypeError, match=message):
        ds.query(f"SELECT {place.format(time)} AS x")["x"][:]


@pytest.mark.parametrize("form", ["GREATEST(t, 'infinity')", "LEAST('-infinity', t)"])
def test_quoted_infinity_cannot_be_returned(ds: dl.Dataset, form: str) -> None:
    with pytest.raises(dl.QueryTypeError, match="Times in a result must be finite"):
        ds.query(f"SELECT {form} AS x")["x"][:]


@pytest.mark.parametrize("type_", TYPES[:4])
def test_infinity_is_allowed_within_a_query(ds: dl.Dataset, type_: str) -> None:
    time = f"CAST('infinity' AS {type_})"
    result = ds.query(
        f"SELECT t < {time} AS a, ISINF({time}) AS b, CAST({time} AS TEXT) AS c, {time} IS NULL AS "
        f"d, CASE WHEN ISFINITE({time}) THEN {time} END IS NULL AS e, t > '-infinity' AS f"
    )
    values = [result[name][0] for name in "abcdef"]
    assert [str(value) for value in values] == ["True", "True", "infinity", "False", "True", "True"]


@pytest.mark.parametrize("place", ["{}", "[{}]", "CASE WHEN id = 0 THEN {} END", "LIST({})"])
def test_duration_that_means_null_cannot_be_returned(ds: dl.Dataset, place: str) -> None:
    with pytest.raises(dl.QueryTypeError, match="means null in NumPy"):
        ds.query(f"SELECT {place.format(LEAST)} AS x")["x"][:]


def test_longest_durations_can_be_returned(ds: dl.Dataset) -> None:
    result = ds.query(
        "SELECT TO_MICROSECONDS(9223372036854775807) AS a, TO_MICROSECONDS(-9223372036854775807) "
        f"AS b, CAST({LEAST} AS TEXT) AS c LIMIT 1"
    )
    assert result["a"][0] == np.timedelta64(2**63 - 1, "us")
    assert result["b"][0] == np.timedelta64(1 - 2**63, "us")
    assert result["c"][0] == "-2562047788:00:54.775808"
