"""JSON in lists, structs and maps compares by value and is returned as JSON."""

from __future__ import annotations

from typing import Any

import pytest

import deeplake_lite as dl
from deeplake_lite.errors import QueryTypeError

DOCUMENT = {"a": 1, "b": [2]}
VALUES: list[Any] = [DOCUMENT, {"b": [2.0], "a": 1}, "x", None, 5, "5"]
TEXTS = ["x", "y", "x", "null", "5", "5"]


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    ds = dl.create(
        "memory://json-in-lists",
        {"j": dl.Json(nullable=True), "t": "text", "k": "int8"},
        overwrite=True,
    )
    ds.append({"j": VALUES, "t": TEXTS, "k": range(6)})
    return ds


WITHIN = {
    "[j]": lambda v: [v],
    "[[j]]": lambda v: [[v]],
    "[NULL, j]": lambda v: [None, v],
    "LIST_VALUE(j)": lambda v: [v],
    "{'k': j}": lambda v: {"k": v},
    "{'k': [j]}": lambda v: {"k": [v]},
    "[{'k': j}]": lambda v: [{"k": v}],
    "STRUCT_PACK(k := j)": lambda v: {"k": v},
    "ROW(j)": lambda v: {"element1": v},
    "(j, k)": lambda v: {"element1": v},
    "MAP(['m'], [j])": lambda v: [["m", v]],
    "TO_JSON({'k': j})": lambda v: {"k": v},
    "JSON_OBJECT('k', j)": lambda v: {"k": v},
    "JSON_ARRAY(j)": lambda v: [v],
    "TO_JSON(j)": lambda v: v,
    "[j][0]": lambda v: v,
    "{'k': j}.k": lambda v: v,
    "LIST_CONCAT([j], [j])": lambda v: [v, v],
    "LIST_TRANSFORM([1], i -> j)": lambda v: [v],
    "[k, j][1]": lambda v: v,
    "[t, j][1]": lambda v: v,
}


@pytest.mark.parametrize("expression", WITHIN)
def test_json_is_returned_unchanged(ds: dl.Dataset, expression: str) -> None:
    result = ds.query(f"SELECT {expression} AS v ORDER BY k")["v"][:]
    for value, got in zip(VALUES, result, strict=True):
        if isinstance(got, dict):
            got.pop("element2", None)
        assert got == WITHIN[expression](value)


@pytest.mark.parametrize(
    "expression", ["LIST([j] ORDER BY k)", "LIST({'k': j} ORDER BY k)", "LIST(j ORDER BY k)"]
)
def test_json_of_a_group_is_returned_unchanged(ds: dl.Dataset, expression: str) -> None:
    [result] = ds.query(f"SELECT {expression} AS v")["v"][:]
    inner = {"[": lambda v: [v], "{": lambda v: {"k": v}}.get(expression[5], lambda v: v)
    assert result == [inner(v) for v in VALUES]


def test_keys_of_a_histogram_are_json(ds: dl.Dataset) -> None:
    [result] = ds.query("SELECT HISTOGRAM(j) AS v")["v"][:]
    assert sorted(result, key=repr) == sorted([[DOCUMENT, 2], ["x", 1], [5, 1], ["5", 1]], key=repr)


EQUAL = [
    "x.j = y.j", "[x.j] = [y.j]", "{'k': x.j} = {'k': y.j}", "(x.j, 1) = (y.j, 1)",
    "ROW(x.j) = ROW(y.j)", "[x.j] IN ([y.j])", "[x.j] IS NOT DISTINCT FROM [y.j]",
    "HASH([x.j]) = HASH([y.j])", "LIST_CONTAINS([x.j], y.j)", "CONTAINS([x.j], y.j)",
    "LIST_HAS_ANY([x.j], [y.j])", "LIST_POSITION([x.j], y.j) = 1",
    "LEN(LIST_DISTINCT([x.j, y.j])) = 1", "TO_JSON({'k': x.j}) = TO_JSON({'k': y.j})",
]  # fmt: skip


@pytest.mark.parametrize("condition", EQUAL)
def test_equal_json_satisfies_these_conditions(ds: dl.Dataset, condition: str) -> None:
    query = (
        "SELECT x.k AS a, y.k AS b FROM x JOIN y ON x.j IS NOT NULL AND y.j IS NOT NULL AND "
        + condition
    )
    result = dl.query(query, sources={"x": ds, "y": ds})
    some = [k for k, v in enumerate(VALUES) if v is not None]
    expected = [(a, b) for a in some for b in some if VALUES[a] == VALUES[b]]
    assert sorted(zip(result["a"][:].tolist(), result["b"][:].tolist(), strict=True)) == expected


@pytest.mark.parametrize("part", ["[j]", "{'k': j}", "ROW(j)"])
@pytest.mark.parametrize(
    "query",
    ["SELECT DISTINCT {} AS v", "SELECT {} AS v, COUNT(*) AS n GROUP BY v",
     "SELECT {} AS v FROM dataset UNION SELECT {} FROM dataset"],
)  # fmt: skip
def test_equal_json_is_one_value(ds: dl.Dataset, query: str, part: str) -> None:
    assert len(ds.query(query.replace("{}", part))) == 5


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("LIST_CONTAINS([j], 'x')", [2]), ("LIST_CONTAINS([j], 5)", [4]),
        ("LIST_CONTAINS([j], '5')", [5]), ("CONTAINS([j], 'x')", [2]),
        ("LIST_POSITION([j], t) = 1", [2, 5]), ("JSON_TYPE(j) = 'VARCHAR'", [2, 5]),
        ("JSON_EXTRACT_STRING(j, '$.a') = '1'", [0, 1]), ("JSON_VALID(j)", [0, 1, 2, 4, 5]),
    ],
)  # fmt: skip
def test_values_are_searched_in_json(ds: dl.Dataset, condition: str, rows: list[int]) -> None:
    assert ds.query(f"SELECT k WHERE {condition} ORDER BY k")["k"][:].tolist() == rows


@pytest.mark.parametrize("other", ["[y.t]", "[y.k]", "['x', y.t]"])
def test_lists_of_json_only_combine_with_lists_of_json(ds: dl.Dataset, other: str) -> None:
    with pytest.raises(QueryTypeError, match="combined only with lists of JSON"):
        dl.query(f"SELECT x.k FROM x JOIN y ON [x.j] = {other}", sources={"x": ds, "y": ds})


def test_only_objects_have_keys() -> None:
    lake = dl.create("memory://keys-of-json", {"j": dl.Json(nullable=True)}, overwrite=True)
    lake.append({"j": [{"b": 1, "a": 2}, {}, [1], "x", 1, 1.5, True, None]})
    result = lake.query("SELECT KEYS(j) AS k")["k"][:]
    assert [None if k is None else list(k) for k in result] == [["b", "a"], [], *[None] * 6]
    assert len(lake.query("SELECT j WHERE KEYS(j) IS NULL")) == 6


LISTS: list[list[Any]] = [
    [5], [5.0], ["5"], ["5", "x"], [1, "x"], [DOCUMENT], [None, 5], [{"b": [2], "a": 1.0}, "5"],
    [7], [[2], 5], [True],
]  # fmt: skip


def place(items: list[Any], value: Any) -> int | None:
    """Return the position of a value among items, from 1."""
    is_same = [item == value and (type(item) is bool) == (type(value) is bool) for item in items]
    return is_same.index(True) + 1 if any(is_same) else None


@pytest.mark.parametrize("items", LISTS, ids=str)
def test_json_is_searched_in_lists_of_constants(ds: dl.Dataset, items: list[Any]) -> None:
    result = ds.query(
        "SELECT LIST_CONTAINS(?, j) AS a, LIST_POSITION(?, j) AS b, LIST_HAS_ANY(?, [j]) AS c, "
        "LIST_HAS_ALL(?, [j]) AS d WHERE j IS NOT NULL ORDER BY k",
        [items] * 4,
    )
    places = [place(items, value) for value in VALUES if value is not None]
    assert result["a"][:].tolist() == [p is not None for p in places]
    assert result["b"][:].tolist() == places
    assert result["c"][:].tolist() == result["d"][:].tolist() == result["a"][:].tolist()


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("LIST_CONTAINS([5], j)", [4]), ("LIST_CONTAINS(['5'], j)", [5]),
        ("LIST_CONTAINS([5.0, 'x'], j)", [2, 4]), ("LIST_HAS([5, 7], j)", [4]),
        ("LIST_POSITION(['x', '5'], j) = 2", [5]), ("LIST_CONTAINS([k + 1], j)", [4]),
        ("LIST_CONTAINS([t, 'x'], j)", [2, 5]), ("LIST_HAS_ALL([5.0, 'x'], [j, 5])", [2, 3, 4]),
        ("LIST_CONTAINS(LIST_APPEND([1], j), 'x')", [2]),
        ("LIST_CONTAINS(LIST_PREPEND(j, [1]), 'x')", [2]),
        ("LIST_CONTAINS(LIST_CONCAT([1.0], [j]), 1)", [0, 1, 2, 3, 4, 5]),
    ],
)  # fmt: skip
def test_json_is_searched_by_value(ds: dl.Dataset, condition: str, rows: list[int]) -> None:
    query = condition.replace("k + 1", "CAST(k AS BIGINT) + 1")
    assert ds.query(f"SELECT k WHERE {query} ORDER BY k")["k"][:].tolist() == rows


@pytest.mark.parametrize(
    ("expression", "given", "value"),
    [
        ("?", [{"a": 1}], [{"a": 1}]), ("?", [{"a": 1}, None, 2], [{"a": 1}, None, 2]),
        ("?", [[{"a": 1}], []], [[{"a": 1}], []]), ("{'q': ?}", {"a": 2}, {"q": {"a": 2}}),
        ("{'q': ?}", [{"a": 2}], {"q": [{"a": 2}]}), ("[?, j]", {"a": 1}, [{"a": 1}, DOCUMENT]),
        ("UNNEST(?)", [{"a": 1}], {"a": 1}), ("LIST_VALUE(?)", {"a": 1}, [{"a": 1}]),
        ("?[0]", [{"a": 1}, 3], {"a": 1}), ("COALESCE(NULL, ?)", {"a": 1}, {"a": 1}),
    ],
)  # fmt: skip
def test_objects_in_parameters_are_json(
    ds: dl.Dataset, expression: str, given: Any, value: Any
) -> None:
    assert ds.query(f"SELECT {expression} AS v ORDER BY k LIMIT 1", [given])["v"][0] == value


@pytest.mark.parametrize(
    ("either", "expected"),
    [
        ("CASE WHEN id = 0 THEN [] ELSE [j] END", [[], ["a"], [None]]),
        ("CASE WHEN id = 0 THEN [NULL] ELSE [j] END", [[None], ["a"], [None]]),
        ("CASE WHEN id = 0 THEN NULL ELSE [j] END", [None, ["a"], [None]]),
        ("CASE WHEN id = 0 THEN [1.5, 'x'] ELSE [j] END", [[1.5, "x"], ["a"], [None]]),
        ("IF(id > 0, [j], [])", [[], ["a"], [None]]),
        ("COALESCE(CASE WHEN id > 0 THEN [j] END, [])", [[], ["a"], [None]]),
    ],
)
def test_literal_list_next_to_one_of_json_is_a_list_of_json(either, expected):
    ds = dl.create(
        "memory://either-list", {"id": "int64", "j": dl.Json(nullable=True)}, overwrite=True
    )
    ds.append({"id": [0, 1, 2], "j": [10, "a", None]})
    assert ds.query(f"SELECT {either} AS x")["x"][:] == expected
    firsts = [x[0] if x else None for x in expected]
    for first in (f"LIST_EXTRACT({either}, 1)", f"({either})[0]"):
        assert ds.query(f"SELECT {first} AS x")["x"][:] == firsts
    assert ds.query(f"SELECT id WHERE LIST_CONTAINS({either}, 'a')")["id"][:].tolist() == [1]
