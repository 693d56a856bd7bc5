"""An expression of a lambda's item follows the same rules as one of the value itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import LakeError, QueryError

B = 2**53
SCHEMA = {
    "id": "int64", "i8": "int8", "u": "uint64", "big": "int64", "d": "float64", "f": "float32",
    "x": dl.Scalar("float64", nullable=True), "b": "bool", "s": "text", "bb": "bytes",
    "j": dl.Json(nullable=True), "l": dl.ClassLabel(["cat", "dog"]),
    "t": "datetime64[ns]", "td": "datetime64[D]", "w": "timedelta64[us]",
}  # fmt: skip
ROWS = [
    {"id": k, "i8": k - 1, "u": B + 1, "big": B + 1, "d": float(B), "f": 2.0**24 + k,
     "x": [float("nan"), 1.0, None, -1.0][k], "b": k % 2 == 0, "s": ["ab", "1", "", "b"][k],
     "bb": [b"1", b"ab", b"", b"1"][k], "j": [1, "1", None, {"a": [1]}][k], "l": k % 2,
     "t": np.datetime64("1969-12-31T23:59:59.999999999") + np.timedelta64(k, "ns"),
     "td": np.datetime64("2024-01-01"), "w": np.timedelta64(k, "us")}
    for k in range(4)
]  # fmt: skip
COLUMNS = [name for name in SCHEMA if name != "id"]
EXPRESSIONS = [
    "{} = 1", "{} <> 1", "{} < 1", "{} >= 1", "1 < {}", "{} = '1'", "{} <> 'ab'", "{} < 'b'",
    "{} = {}", "{} <= {}", "{} = big", "{} < big", "{} = d", "{} >= x", "{} = s", "{} = j",
    "{} = bb", "{} = t", "{} = l", "{} IN (1, 2)", "{} IN ('1', 'ab')", "{} IN (big, NULL)",
    "{} BETWEEN 0 AND 1", "{} BETWEEN 'a' AND 'b'", "{} BETWEEN d AND big", "{} IS NULL",
    "{} IS NOT DISTINCT FROM x", "{} IS DISTINCT FROM big",
    "CASE WHEN {} = 1 THEN 'y' ELSE 'n' END",
    "CASE {} WHEN 1 THEN 1 WHEN 'ab' THEN 2 END", "COALESCE({}, x)", "NULLIF({}, 1)",
    "{} || 'x'", "'x' || {} || {}", "CONCAT({}, 'x')", "{} + 1", "1 - {}", "{} * 2", "{} / 2",
    "{} // 2", "{} % 2", "-{}", "{} + x", "{} * big", "HASH({})", "CAST({} AS TEXT)",
    "{} > 0 AND b",
    "NOT ({} = 1)", "{} LIKE 'a%'", "ABS({})", "UPPER({})", "LEN({})", "ISNAN({})", "{}[0]",
    "{}['a']", "GREATEST({}, 1)", "{}", "'2024-01-01' = {}",
    "{} = '1969-12-31T23:59:59.999999999'",
    "{} + INTERVAL 1 DAY", "EPOCH_NS({})", "[{}, {}]", "{{'k': {}}}", "NAME({})",
]  # fmt: skip


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    ds = dl.create("memory://lambdas", SCHEMA, overwrite=True)
    ds.append(ROWS)
    return ds


def answer(ds: dl.Dataset, expression: str) -> Any:
    """Return the values of an expression, or the type of its error."""
    try:
        return [plain(row["a"]) for row in ds.query(f"SELECT {expression} AS a")]
    except LakeError as error:
        return QueryError if error.place is not None else error


def plain(value: Any) -> Any:
    """Return a comparable form of a value: NaN as a string, arrays as their items."""
    if isinstance(value, np.ndarray | list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, float | np.floating) and np.isnan(value):
        return "NaN"
    return value


def as_items(found: Any) -> Any:
    return found if found is QueryError else [[value] for value in found]


@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("column", COLUMNS)
def test_lambda_agrees_with_the_expression_of_the_value(ds, column, part):
    value = "NAME(l)" if column == "l" else column  # lists hold classes by name
    wrong = []
    for text in EXPRESSIONS[part::4]:
        expected = as_items(answer(ds, text.format(value, value)))
        body = text.format("v", "v")
        made = f"LIST_TRANSFORM([{column}], v -> {body})"
        result = answer(ds, made)
        if result != expected:
            wrong.append((made, result, expected))
    assert not wrong, "\n".join(map(str, wrong))


CONDITIONS = ["{} = 1", "{} <> 1", "{} > 0", "{} = {}", "{} = '1'", "{} IN (1, 2)", "{} = big",
              "{} BETWEEN 0 AND 1", "CASE WHEN {} = 1 THEN b END", "{} IS NULL"]  # fmt: skip


@pytest.mark.parametrize("column", COLUMNS)
def test_filter_keeps_items_for_which_a_condition_holds(ds, column):
    value = "NAME(l)" if column == "l" else column
    for text in CONDITIONS:
        holds = answer(ds, text.format(value, value))
        kept = answer(ds, f"LEN(LIST_FILTER([{column}], v -> {text.format('v', 'v')}))")
        expected = holds if holds is QueryError else [int(bool(h)) for h in holds]
        assert kept == expected, text


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize(
    "text", ["CASE WHEN {0} > {1} THEN {0} ELSE {1} END", "CASE WHEN {0} = {1} THEN {0} END"]
)
def test_reduction_compares_two_items_like_two_values(ds, column, text):
    value = "NAME(l)" if column == "l" else column
    expected = answer(ds, text.format(value, value))
    result = answer(ds, f"LIST_REDUCE([{column}, {column}], (p, q) -> {text.format('p', 'q')})")
    assert result == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    {
        "LIST_REDUCE([x, 0.5], (p, q) -> CASE WHEN p > q THEN p ELSE q END)": [0.5, 1, 0.5, 0.5],
        "LIST_REDUCE([1, 2], (p, q) -> p * 0.5)": [0.5] * 4,
        "LIST_REDUCE([id, 2], (p, q) -> p / q)": [0, 0.5, 1, 1.5],
        "LIST_REDUCE([id, 2], (p, q) -> p || q, 'n')": ["n02", "n12", "n22", "n32"],
        "LIST_REDUCE([id, id], (p, q, at) -> p + at)": [2, 3, 4, 5],
        "LIST_TRANSFORM([x], x -> LIST_TRANSFORM([x, 2], x -> x > 0))":
            [[[False, True]], [[True, True]], [[None, True]], [[False, True]]],
        "LIST_TRANSFORM([1], id -> id + 1)": [[2]] * 4,
        "LIST_TRANSFORM([1], ds -> ds + dataset.id)": [[1], [2], [3], [4]],
        "LIST_TRANSFORM([1], ID -> id)": [[0], [1], [2], [3]],
        "LIST_TRANSFORM([1], V -> v)": [[1]] * 4,
        "LIST_TRANSFORM([5, 6], (v, at) -> at)": [[1, 2]] * 4,
        "LIST_TRANSFORM([id], v -> LIST_TRANSFORM([1], w -> v + w + id))":
            [[[1]], [[3]], [[5]], [[7]]],
        "LIST_TRANSFORM(LIST_FILTER([id, 1], v -> v < 2), v -> v > 0)":
            [[False, True], [True, True], [True], [True]],
        "LIST_TRANSFORM([s], v -> v.UPPER())": [["AB"], ["1"], [""], ["B"]],
        "LIST_TRANSFORM([{'a': x}], v -> v.a > 0)": [[False], [True], [None], [False]],
        "LIST_TRANSFORM([j], v -> v)[0] || 'x'": ["1x", "1x", None, '{"a":[1]}x'],
        "LIST_TRANSFORM(CAST('[1,\"1\"]' AS JSON[]), v -> v = 1)": [[True, False]] * 4,
        "LIST_TRANSFORM(RANGE(2), v -> v > id)": [[False, True], *[[False, False]] * 3],
        "LIST_TRANSFORM(STRING_SPLIT('a,b', ','), v -> v || 'c')": [["ac", "bc"]] * 4,
        "LIST_TRANSFORM(LIST_SORT([x, 2]), v -> v > 0)":
            [[True, False], [True, True], [True, None], [False, True]],
        "LIST_TRANSFORM(LIST_APPEND([1], x), v -> v > 0)":
            [[True, False], [True, True], [True, None], [True, False]],
        "LIST_TRANSFORM([1.5, NULL, x], v -> v > 0)":
            [[True, None, False], [True, None, True], [True, None, None], [True, None, False]],
        "LIST_TRANSFORM(NULL, v -> v)": [None] * 4,
        "LIST_TRANSFORM([], v -> v)": [[]] * 4,
    }.items(),
)  # fmt: skip
def test_parameters_shadow_other_names(ds, text, expected):
    assert answer(ds, text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    {
        "LIST_TRANSFORM([bb], v -> v = '1')": "combined only with bytes",
        "LIST_TRANSFORM([s], v -> v = 1)": "can be compared only with strings",
        "LIST_TRANSFORM([1], v -> SUM(v))": "LIST_SUM",
        "LIST_TRANSFORM([1], v -> SUM(v) OVER ())": "LIST_SUM",
        "LIST_TRANSFORM([1], v -> (SELECT v))": "must not contain a subquery",
        "LIST_TRANSFORM([1], v -> EXISTS (SELECT id FROM dataset))": "must not contain a subquery",
        "LIST_TRANSFORM([1], v -> v IN (SELECT id FROM dataset))": "must not contain a subquery",
        "COUNT(v -> v)": "Lambdas must be arguments of",
        "LIST_TRANSFORM([1], (v, v) -> v)": "parameters with different names",
        "LIST_TRANSFORM([1], (u, v, w) -> v)": "1 to 2 parameters",
        "LIST_REDUCE([1], v -> v)": "2 to 3 parameters",
        "LIST_REDUCE([1, 2], (p, q) -> 'a')": "turns a number into a string",
        "LIST_REDUCE([s], (p, q) -> LEN(p))": "turns a string into a number",
        "LIST_TRANSFORM([1], 1)": "takes a list and a lambda",
        "LIST_TRANSFORM(1, v -> v)": "takes a list, but 1 is a number",
        "LIST_TRANSFORM(s, v -> v)": "takes a list, but s is a string",
        "LIST_TRANSFORM(j, v -> v)": r"CAST\(j AS JSON\[\]\)",
        "LIST_TRANSFORM([1], v -> q)": "no column 'q'",
    }.items(),
)  # fmt: skip
def test_errors_of_lambdas_say_what_to_write(ds, text, message):
    with pytest.raises(LakeError, match=message) as caught:
        ds.query(f"SELECT {text} AS a")
    assert caught.value.place is not None


NAN = float("nan")


@pytest.mark.parametrize("values", [[NAN, 1.0, None, -1.0, NAN, 5.0], [NAN], [None, 2.0], []])
@pytest.mark.parametrize("nulls", ["", "NULLS FIRST", "NULLS LAST"])
@pytest.mark.parametrize("call", ["SORT(l, 'ASC'", "SORT(l, 'desc'", "REVERSE_SORT(l"])
def test_nan_is_last_in_sorted_lists(values, nulls, call):
    ds = dl.create("memory://sorted", {"x": dl.Scalar("float64", nullable=True)}, overwrite=True)
    ds.append({"x": [*values, 7.0, NAN]})
    words = f", '{nulls}'" if nulls else ""
    descends = "ASC" not in call
    numbers = sorted([v for v in [*values, 7.0] if v is not None and v == v], reverse=descends)
    null = [None] * values.count(None)
    nans = ["NaN"] * (1 + sum(v is not None and v != v for v in values))
    expected = [*null, *numbers, *nans] if "FIRST" in nulls else [*numbers, *nans, *null]
    for name in ("LIST", "ARRAY"):
        query = f"SELECT {name}_{call}{words}) AS a FROM (SELECT LIST(x) AS l FROM dataset)"
        assert [plain(row["a"]) for row in ds.query(query)] == [expected]
    if "REVERSE" not in call:
        grade = f"LIST_GRADE_UP{call.removeprefix('SORT')}{words})"
        inner = "SELECT LIST(x) AS l FROM dataset"
        query = f"SELECT LIST_TRANSFORM({grade}, i -> l[i - 1]) AS a FROM ({inner})"
        assert [plain(row["a"]) for row in ds.query(query)] == [expected]
