"""Structs and maps of JSON compare by meaning with those of numbers."""

from __future__ import annotations

from typing import Any

import pytest

import deeplake_lite as dl

P = 2**53
ROWS: list[tuple[Any, float]] = [(1, 1.0), (2.0, 2.0), (P + 1, float(P)), ("1", 1.0), (True, 1.0)]
EQUAL = [True, True, False, False, False]
PAIRS = [
    ("{'a': j}", "{'a': f}"), ("{'a': {'b': j}}", "{'a': {'b': f}}"), ("{'a': [j]}", "{'a': [f]}"),
    ("[{'a': j}]", "[{'a': f}]"), ("[[j]]", "[[f]]"), ("{'a': j, 'b': f}", "{'b': f, 'a': f}"),
    ("MAP {'a': j}", "MAP {'a': f}"), ("ROW(j, k)", "ROW(f, k)"),
    ("STRUCT_PACK(a := j)", "{'a': f}"),
    ("STRUCT_INSERT({'a': j}, b := 1)", "{'a': f, 'b': 1}"), ("LIST_VALUE({'a': j})", "[{'a': f}]"),
    ("{'a': j}['a']", "f"), ("{'a': {'b': j}}.a", "{'b': f}"), ("[{'a': j}][0]", "{'a': f}"),
]  # fmt: skip
"""Values that are equal where j and f are."""


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    made = dl.create(
        "memory://structs", {"k": "int64", "j": dl.Json(), "f": "float64"}, overwrite=True
    )
    made.append({"k": range(5), "j": [j for j, _ in ROWS], "f": [f for _, f in ROWS]})
    return made


def ask(ds: dl.Dataset, query: str) -> list[Any]:
    return ds.query(query, sources={"ds": ds}).to_arrow()["x"].to_pylist()


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_containers_of_json_are_equal_by_meaning(ds: dl.Dataset, a: str, b: str) -> None:
    for left, right in ((a, b), (b, a)):
        for condition in (
            "{} = {}", "NOT ({} <> {})", "{} IS NOT DISTINCT FROM {}", "{} IN ({})",
            "NULLIF({}, {}) IS NULL", "CASE {} WHEN {} THEN true ELSE false END",
        ):  # fmt: skip
            assert ask(ds, f"SELECT {condition.format(left, right)} AS x") == EQUAL, condition


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_containers_of_json_are_searched_by_meaning(ds: dl.Dataset, a: str, b: str) -> None:
    for condition in ("{} IN ({})", "{} = ANY ({})", "NOT ({} <> ALL ({}))"):
        query = condition.format(a, f"SELECT {b} WHERE k < 2")
        assert ask(ds, f"SELECT {query} AS x WHERE k < 3") == [True, True, False]


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_containers_of_json_are_deduplicated_by_meaning(ds: dl.Dataset, a: str, b: str) -> None:
    both = "SELECT {} AS x WHERE k < 2 {} SELECT {} WHERE k < 2"
    assert len(ask(ds, both.format(a, "UNION", b))) == 2
    assert len(ask(ds, both.format(b, "INTERSECT", a))) == 2
    assert ask(ds, both.format(a, "EXCEPT", b)) == []


@pytest.mark.parametrize(("a", "b"), PAIRS[:3] + PAIRS[6:10])
def test_equal_structs_have_equal_hashes(ds: dl.Dataset, a: str, b: str) -> None:
    assert ask(ds, f"SELECT HASH({a}) = HASH({b}) AS x") == EQUAL
    assert ask(ds, f"SELECT HASH({a}) = HASH(TO_JSON({a})) AS x") == [True] * 5


def test_joins_compare_structs_by_meaning(ds: dl.Dataset) -> None:
    join = "SELECT COUNT(*) AS x FROM ds AS p JOIN ds AS q ON {'a': p.j} = {'a': q.f} AND p.k < 2"
    assert ask(ds, join) == [4]  # 1 is the value of three rows


def test_list_contains_a_struct_by_meaning(ds: dl.Dataset) -> None:
    assert ask(ds, "SELECT LIST_CONTAINS([{'a': j}], {'a': f}) AS x") == EQUAL
    assert ask(ds, "SELECT LIST_CONTAINS([{'a': f}], {'a': j}) AS x") == EQUAL


ORDERED = [
    "{'a': j} < {'a': f}", "{'a': j} < {'a': j}", "[j] >= [j]",
    "[j] BETWEEN [j] AND [j]", "GREATEST([j], [j])", "(SELECT {'a': f} LIMIT 1) > {'a': j}",
    "LIST_SORT(LIST(j))", "LIST_MAX(LIST(j))", "LIST_MIN([j])", "ARRAY_SORT([j, j])",
    "MAX({'a': j})", "MIN([j])", "ARG_MAX(k, {'a': j})", "ARG_MIN(k, [j])",
    "RANK() OVER (ORDER BY {'a': j})", "LIST(k ORDER BY [j])", "{'a': j} < ANY (SELECT {'a': f})",
]  # fmt: skip


@pytest.mark.parametrize("item", ORDERED)
def test_json_in_a_container_has_no_order(ds: dl.Dataset, item: str) -> None:
    refusal = "Lists and structs that contain JSON have no order"
    with pytest.raises(dl.QueryTypeError, match=refusal):
        ask(ds, f"SELECT {item} AS x")
    for order in ("{'a': j}", "[j]", "k, [j]"):
        with pytest.raises(dl.QueryTypeError, match=refusal):
            ask(ds, f"SELECT k AS x ORDER BY {order}")


def test_tuples_are_ordered_lexicographically(ds: dl.Dataset) -> None:
    for order in ("(j, k)", "(j, k) DESC", "(f, j)", "(f, k) DESC NULLS FIRST"):
        parts = order[1:].split(")")
        each = ", ".join(f"{part}{parts[1]}" for part in parts[0].split(", "))
        query = "SELECT k AS x ORDER BY {}"
        assert ask(ds, query.format(order)) == ask(ds, query.format(each))
        window = "SELECT ROW_NUMBER() OVER (ORDER BY {}) AS x"
        assert ask(ds, window.format(order)) == ask(ds, window.format(each))
        listed = "SELECT LIST(k ORDER BY {}) AS x"
        assert ask(ds, listed.format(order)) == ask(ds, listed.format(each))


def test_values_of_structs_of_both_kinds_form_one_group(ds: dl.Dataset) -> None:
    either = "CASE WHEN k = 0 THEN {'a': j} ELSE {'a': f} END"
    assert ask(ds, f"SELECT COUNT(*) AS x WHERE k IN (0, 3) GROUP BY {either}") == [2]
    assert ask(ds, "SELECT {'a': j}['a'] + f AS x WHERE k = 0") == [2.0]
