"""Bytes, classes, strings and numbers cannot be combined with each other in any clause."""

from __future__ import annotations

import numpy as np
import pytest

import deeplake_lite as dl


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    schema = {
        "id": "int64", "k": dl.ClassLabel(["1", "0"]), "n": "int32", "t": "text",
        "b": dl.Bytes(nullable=True), "d": "datetime64[s]",
    }  # fmt: skip
    ds = dl.create("memory://together", schema, overwrite=True)
    ds.append(
        {
            "id": range(3), "k": [0, 1, 1], "n": [0, 7, 0], "t": ["0", "07", "cat"],
            "b": [b"a", None, b"x"], "d": ["2020-01-01", "2020-01-01", "2021-01-01"],
        }
    )  # fmt: skip
    return ds


def refused(ds: dl.Dataset, query: str, message: str) -> None:
    params = {"p": b"a"} if "$p" in query else None
    with pytest.raises(dl.QueryTypeError, match=rf"{message}(.|\n)*\^"):
        ds.query(query, *([params] if params else []))


@pytest.mark.parametrize(
    "query",
    [
        *(f"SELECT k {op} SELECT {x}" for op in ("UNION", "UNION ALL", "INTERSECT", "EXCEPT")
          for x in ("n", "1", "id / 2")),
        "SELECT n EXCEPT SELECT k", "SELECT COALESCE(k, 1) AS x", "SELECT GREATEST(k, n) AS x",
        "SELECT CASE WHEN id = 0 THEN k ELSE n END AS x", "SELECT IF(id = 0, n, k) AS x",
        "SELECT LAG(k, 1, 0) OVER (ORDER BY id) AS x",
    ],
)  # fmt: skip
def test_no_column_holds_classes_and_numbers(ds: dl.Dataset, query: str) -> None:
    refused(ds, query, "cannot contain both classes and numbers")


@pytest.mark.parametrize(
    "pair",
    [
        ("[t]", "[n]"), ("[k]", "[n]"), ("LIST(k)", "LIST(n)"), ("{'a': t}", "{'a': n}"),
        ("{'a': k}", "{'a': n}"), ("{'a': [k]}", "{'a': [n]}"), ("[[t]]", "[[n]]"), ("[b]", "[t]"),
        ("{'a': b}", "{'a': t}"), ("[d]", "[t]"), ("[t]", "[n = 0]"),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "form",
    [
        "SELECT {} = {} AS x", "SELECT {} < {} AS x", "SELECT {} IS NOT DISTINCT FROM {} AS x",
        "SELECT {} IN (SELECT {} FROM dataset) AS x", "SELECT {} IN ({}) AS x",
        "SELECT {} AS x UNION SELECT {}", "SELECT {} AS x EXCEPT SELECT {}",
        "SELECT COALESCE({}, {}) AS x", "SELECT NULLIF({}, {}) AS x",
        "SELECT CASE {} WHEN {} THEN 1 END AS x",
    ],
)  # fmt: skip
def test_parts_of_lists_and_structs_compare_like_values(
    ds: dl.Dataset, form: str, pair: tuple[str, str]
) -> None:
    for a, b in (pair, pair[::-1]):
        refused(ds, form.format(a, b), "are compared part by part|combined only with bytes")


def test_join_on_lists_checks_their_items(ds: dl.Dataset) -> None:
    refused(ds, "SELECT a.id FROM ds a JOIN ds b ON [a.k] = [b.n]", "are compared part by part")


@pytest.mark.parametrize("text", ["'a'", "t", "'\\x41'", "LOWER(t)"])
@pytest.mark.parametrize(
    "form",
    [
        "COALESCE(b, {})", "COALESCE({}, b)", "IFNULL(b, {})", "GREATEST(b, {})", "[b, {}]",
        "CASE WHEN id = 0 THEN b ELSE {} END", "IF(id = 0, b, {})", "NULLIF(b, {})", "[$p, {}]",
        "LAG(b, 1, {}) OVER (ORDER BY id)", "LIST_VALUE(b, {})", "LIST_CONTAINS([b], {})",
        "LIST_APPEND([b], {})", "LIST_HAS_ANY([b], [{}])", "LIST_RESIZE([b], 3, {})",
        "b IN ($p, {})", "b NOT IN ({}, $p)", "{} IN ($p, b)", "b = {}", "b || {}",
        "b IS DISTINCT FROM {}", "b BETWEEN $p AND {}", "CASE b WHEN {} THEN 1 END",
        "{} IN (SELECT b FROM dataset)",
    ],
)  # fmt: skip
def test_bytes_only_combine_with_bytes(ds: dl.Dataset, form: str, text: str) -> None:
    refused(ds, f"SELECT {form.format(text)} AS x", "ENCODE")


def test_encoded_strings_are_bytes(ds: dl.Dataset) -> None:
    result = ds.query("SELECT COALESCE(b, ENCODE('é')) AS x, [b, ENCODE('a')] AS y, b IN ($p) AS z",
                     {"p": b"a"})  # fmt: skip
    assert [*result["x"][:]] == [b"a", "é".encode(), b"x"]
    assert result["z"][0]


TIMES = {
    "SELECT d EXCEPT SELECT '2020-01-01'": ["2021-01-01"],
    "SELECT d INTERSECT SELECT '2020-01-01T00:00'": ["2020-01-01"],
    "SELECT '2020-01-01T01:00+01:00' AS d INTERSECT SELECT d": ["2020-01-01"],
    "SELECT d UNION SELECT '2020-01-01T00:00:00.5'":
        ["2020-01-01", "2021-01-01", "2020-01-01T00:00:00.5"],
}  # fmt: skip


@pytest.mark.parametrize("query", TIMES)
def test_quoted_time_is_a_time_in_set_operations(ds: dl.Dataset, query: str) -> None:
    result = ds.query(query)["d"][:]
    np.testing.assert_array_equal(result, np.array(TIMES[query], "datetime64[us]"))


@pytest.mark.parametrize("text", ["nope", "2019", "", "2026-13", "today"])
@pytest.mark.parametrize(
    "form",
    ["d = '{}'", "d > '{}'", "d IN ('{}')", "d BETWEEN '{}' AND '2026-01-31'", "'{}' <= d",
     "d IS DISTINCT FROM '{}'"],
)  # fmt: skip
def test_invalid_time_string_error_says_how_times_are_written(
    ds: dl.Dataset, form: str, text: str
) -> None:
    refused(ds, f"SELECT id WHERE {form.format(text)}", "must be a time, such as '2026-01-31'")
    refused(ds, f"SELECT d UNION SELECT '{text}'", "must be a time, such as '2026-01-31'")
