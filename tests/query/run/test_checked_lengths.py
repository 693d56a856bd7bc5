"""Functions with a checked result length work in every clause, or the error says where they do."""

from __future__ import annotations

from typing import Any

import pytest

import deeplake_lite as dl
from deeplake_lite.errors import QueryTypeError

CHECKED = {
    "REPLACE(s, 'a', s)": ["a", "bb"], "REGEXP_REPLACE(s, 'a', s)": ["a", "bb"],
    "REPEAT(s, id)": ["a", "bbbb"], "LPAD(s, n, s)": ["a", "bb"], "RPAD(s, n, s)": ["a", "bb"],
    "RANGE(id)": [[0], [0, 1]], "GENERATE_SERIES(1, id)": [[1], [1, 2]],
    "LIST_RESIZE([id], id)": [[1], [2, None]], "s || t": ["ac", "bbd"],
    "LEN(STRING_SPLIT(s, 'b'))": [1, 3], "LEN(REGEXP_EXTRACT_ALL(s, '.'))": [1, 2],
    "CONCAT(s, t)": ["ac", "bbd"], "CONCAT_WS('-', s, t)": ["a-c", "bb-d"],
}  # fmt: skip
"""Calls, and their results for two rows, in order."""
TAKEN = ("s ||", "CONCAT")
"""Calls that OVER accepts: sources alone are not checked."""
CLAUSES = {
    "SELECT {} AS a": None,
    "SELECT id AS a WHERE {} IS NOT NULL": [1, 2],
    "SELECT MIN(id) AS a GROUP BY {}": [1, 2],
    "SELECT id AS a ORDER BY {} DESC": [2, 1],
    "SELECT DISTINCT {} AS a": None,
    "SELECT x.id AS a FROM dataset AS x JOIN dataset AS y ON {x} = {y}": [1, 2],
    "SELECT COUNT({}) AS a": [2],
    "SELECT FIRST({} ORDER BY {}) AS a": "first",
    "SELECT COUNT(*) FILTER (WHERE {} IS NOT NULL) AS a": [2],
    "SELECT LIST_TRANSFORM([1], v -> {})[0] AS a": None,
    "SELECT COUNT({}) OVER () AS a": [2, 2],
    "SELECT COUNT(*) OVER (PARTITION BY c) AS a FROM (SELECT {} AS c FROM dataset)": [1, 1],
    "SELECT ROW_NUMBER() OVER (ORDER BY c) AS a FROM (SELECT {} AS c FROM dataset)": [1, 2],
}


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    schema = {"id": "int64", "n": "int32", "s": "text", "t": "text"}
    ds = dl.create("memory://checked", schema, overwrite=True)
    ds.append([{"id": 1, "n": 1, "s": "a", "t": "c"}, {"id": 2, "n": 2, "s": "bb", "t": "d"}])
    return ds


def plain(value: Any) -> Any:
    """Return a list of numbers in Python types, and anything else unchanged."""
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        return value
    return [None if v is None else int(v) for v in value]


def of_table(call: str, table: str) -> str:
    """Return a call with its columns qualified by a table."""
    for name in ("id", "n", "s", "t"):
        for before, after in (("(", ","), ("(", ")"), (" ", ","), (" ", ")"), ("[", "]")):
            call = call.replace(f"{before}{name}{after}", f"{before}{table}.{name}{after}")
    return call.replace("s || t", f"{table}.s || {table}.t")


@pytest.mark.parametrize("clause", CLAUSES)
@pytest.mark.parametrize("call", CHECKED)
def test_checked_functions_work_in_every_clause(ds, call, clause):
    known = CLAUSES[clause]
    expected = CHECKED[call] if known is None else CHECKED[call][:1] if known == "first" else known
    query = clause.format(call, call, x=of_table(call, "x"), y=of_table(call, "y"))
    assert [plain(row["a"]) for row in ds.query(query)] == expected


@pytest.mark.parametrize("part", ["PARTITION BY {}", "ORDER BY {}", "PARTITION BY id ORDER BY {}"])
@pytest.mark.parametrize("call", CHECKED)
def test_over_accepts_checked_functions_or_says_what_to_do(ds, call, part):
    query = f"SELECT COUNT(*) OVER ({part.format(call)}) AS a"
    if call.startswith(TAKEN):
        assert len(ds.query(query)) == 2
        return
    with pytest.raises(QueryTypeError, match="Compute it in a subquery"):
        ds.query(query)


@pytest.mark.parametrize(
    ("key", "named"),
    {
        "(s || t) LIKE t": "s || t", "s || t DESC": "s || t", "id, LENGTH(s || t)": "s || t",
        "(SELECT MAX(REPEAT(s, id)) FROM dataset)": "REPEAT(s, id)",
        "LENGTH(REPEAT(s, id))": "REPEAT(s, id)",
    }.items(),
)  # fmt: skip
def test_message_names_what_is_checked(ds, key, named):
    inner = "FROM (SELECT id, REPEAT(s, 2) AS s, REPEAT(t, 2) AS t FROM dataset)"
    for clause in ("ORDER BY", "PARTITION BY"):
        if clause == "ORDER BY" or "DESC" not in key:
            with pytest.raises(QueryTypeError) as caught:
                ds.query(f"SELECT ROW_NUMBER() OVER ({clause} {key}) AS a {inner}")
            assert f"but {named} is checked. Compute" in str(caught.value)
