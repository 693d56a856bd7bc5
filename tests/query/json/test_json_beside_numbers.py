"""JSON numbers compare and compute exactly with SQL numbers, or are refused."""

from __future__ import annotations

import operator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import deeplake_lite as dl

P = 2**53
JSON = [0, 1, -2, P, P + 1, P + 2, -P - 1, 2**63 - 1, 2**64 - 1, 2**64 + 1, 0.5, 1.0, -1.5, 1e300]
COLUMNS = {
    "float64": [0.0, 1.0, 2.5, -1.5, float(P), float(P + 2), 2.0**63, 2.0**64, 1e300, -1e300],
    "float32": [0.0, 1.0, 0.5, float(P), 2.0**64, -2.5],
    "int64": [0, 1, P, P + 1, -P - 1, 2**63 - 1, -(2**63)],
    "uint64": [0, P + 1, 2**63, 2**64 - 1],
    "int8": [0, 1, -2],
}
OPERATORS = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge,
}  # fmt: skip


@pytest.mark.parametrize("dtype", COLUMNS)
@pytest.mark.parametrize("sign", OPERATORS)
def test_json_compares_exactly_with_columns_of_numbers(dtype: str, sign: str) -> None:
    pairs = [(j, x) for j in JSON for x in COLUMNS[dtype]]
    ds = dl.create("memory://json-numbers", {"j": dl.Json(), "x": dtype}, overwrite=True)
    ds.append({"j": [j for j, _ in pairs], "x": np.array([x for _, x in pairs], dtype)})
    expected = [OPERATORS[sign](Fraction(j), Fraction(x)) for j, x in pairs]
    assert ds.query(f"SELECT j {sign} x AS v")["v"][:].tolist() == expected
    expected = [OPERATORS[sign](Fraction(x), Fraction(j)) for j, x in pairs]
    assert ds.query(f"SELECT x {sign} j AS v")["v"][:].tolist() == expected


def test_json_is_not_ordered_with_nan_and_is_less_than_infinity() -> None:
    ds = dl.create("memory://json-nan", {"j": dl.Json(), "x": "float64"}, overwrite=True)
    rows: list[Any] = [np.nan, np.inf, -np.inf]
    ds.append({"j": [P + 1] * 3, "x": rows})
    for sign, compare in OPERATORS.items():
        result = ds.query(f"SELECT j {sign} x AS v")["v"][:].tolist()
        assert result == [compare(P + 1, x) for x in rows]


WHOLE = ["9007199254740993", "9007199254740993.0", "9007199254740993.00"]
SOUGHT = [
    "LIST_CONTAINS([j], {})", "LIST_HAS_ANY([j], [{}])", "LIST_POSITION([j], {}) IS NOT NULL",
    "CONTAINS([j], {})", "[j] = [{}]",
    "LIST_CONTAINS(LIST(j) OVER (ROWS BETWEEN CURRENT ROW AND CURRENT ROW), {})",
    "COALESCE(j, {0}) = {0}", "CASE WHEN j < 0 THEN j ELSE {} END = j", "NULLIF(j, {}) IS NULL",
    "j IN ({}, 5)", "LEN(LIST_DISTINCT([j, {}])) = 1",
]  # fmt: skip


@pytest.mark.parametrize("number", WHOLE)
@pytest.mark.parametrize("condition", SOUGHT)
def test_integers_next_to_json_keep_their_digits(condition: str, number: str) -> None:
    ds = dl.create("memory://json-lists", {"j": dl.Json()}, overwrite=True)
    ds.append({"j": [P, P + 1, P + 2]})
    result = ds.query(f"SELECT {condition.format(number)} AS v")["v"][:].tolist()
    assert result == [False, True, False]


def test_number_with_too_many_digits_is_a_float_next_to_json() -> None:
    ds = dl.create("memory://json-huge", {"j": dl.Json()}, overwrite=True)
    ds.append({"j": [1, 10**400]})
    assert ds.query("SELECT LIST_CONTAINS([j], 1e999999999) AS v")["v"][0] is np.False_


COMPUTED = [
    "j + 0", "0 + j", "j - j", "j * 1", "j / 1", "j // 1", "j % 7", "-j", "j ** 1", "SUM(j)",
    "SUM(j) OVER ()", "SUM(DISTINCT j)", "PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY j)",
]  # fmt: skip


@pytest.mark.parametrize("item", COMPUTED)
@pytest.mark.parametrize("number", [P + 1, -P - 1, 2**63 - 1, 2**64 - 1, 2**100 + 1])
def test_sql_computes_with_json_exactly_or_not_at_all(item: str, number: int) -> None:
    ds = dl.create("memory://json-sums", {"j": dl.Json()}, overwrite=True)
    ds.append({"j": [number]})
    with pytest.raises(dl.QueryError, match="CAST the JSON value AS BIGINT"):
        ds.query(f"SELECT {item} AS v").to_arrow()


@pytest.mark.parametrize("item", COMPUTED)
@pytest.mark.parametrize("number", [0, 3, -P, P + 2, 2**80, 0.5, 1e300, 1.0])
def test_sql_computes_with_json_that_a_float_represents(item: str, number: float) -> None:
    ds = dl.create("memory://json-sums", {"j": dl.Json(), "f": "float64"}, overwrite=True)
    ds.append({"j": [number], "f": [number]})
    result, expected = (
        ds.query(f"SELECT {text} AS v").to_arrow()["v"].to_pylist()
        for text in (item, item.replace("j", "f"))
    )
    assert result == expected


@pytest.mark.parametrize("given", ["{}", "$p", "i", "{}.0"])
@pytest.mark.parametrize("number", [1, P, P + 1, P + 2, -P - 1, 2**62 + 1])
def test_contains_compares_all_digits_of_a_number_in_a_json_list(given: str, number: int) -> None:
    lists = [[1, "a"], [P, 2.5], [P + 1], [P + 2, None], [-P - 1, -P], [2**62 + 1, 1.0], ["1"], []]
    ds = dl.create("memory://json-has", {"l": dl.Json(), "i": "int64"}, overwrite=True)
    ds.append({"l": lists, "i": [number] * len(lists)})
    query = f"SELECT CONTAINS(l, {given.format(number)}) AS v"
    params = {"p": number} if given == "$p" else {}
    result = ds.query(query, params).to_arrow()["v"].to_pylist()
    expected = [any(type(v) in (int, float) and v == number for v in items) for items in lists]
    assert [bool(v) for v in result] == expected
