"""JSON as a condition: booleans as they are, numbers true unless 0, other values null."""

from __future__ import annotations

from typing import Any

import pytest

import deeplake_lite as dl

TRUE = [True, 1, 1.0, 2, 1.5, -1, 0.25, 1e-300, 1e300, 2**63, -(2**80), 10**30, 10**400]
FALSE = [False, 0, 0.0, -0.0]
NEITHER: list[Any] = [None, "", "1", "true", "false", "x", {}, {"a": True}, [], [True]]
VALUES = [*TRUE, *FALSE, *NEITHER]
MEANING = [True] * len(TRUE) + [False] * len(FALSE) + [None] * len(NEITHER)


def lake(values: list[Any]) -> dl.Dataset:
    ds = dl.create("memory://json-conditions", {"id": "int64", "j": dl.Json()}, overwrite=True)
    ds.append({"id": range(len(values)), "j": [{"ok": value} for value in values]})
    return ds


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    return lake(VALUES)


def rows(meaning: bool | None) -> list[int]:
    return [row for row, value in enumerate(MEANING) if value is meaning]


@pytest.mark.parametrize(
    ("query", "meaning"),
    [
        ("SELECT id WHERE j.ok", True),
        ("SELECT id WHERE NOT j.ok", False),
        ("SELECT id WHERE (j.ok) IS NULL OR (NOT j.ok IS NULL AND (j.ok AND true) IS NULL)", None),
        ("SELECT id WHERE j.ok OR false", True),
        ("SELECT id WHERE LOGICAL_AND(j.ok, true)", True),
        ("SELECT id WHERE j.ok IS TRUE", True),
        ("SELECT id WHERE j.ok IS FALSE", False),
        ("SELECT id WHERE j.ok IS NOT TRUE AND j.ok IS NOT FALSE", None),
        ("SELECT id WHERE TRY_CAST(j.ok AS BOOLEAN)", True),
        ("SELECT id WHERE NOT TRY_CAST(j.ok AS BOOLEAN)", False),
        ("SELECT id WHERE CASE WHEN j.ok THEN 1 ELSE 0 END = 1", True),
        ("SELECT id WHERE IF(NOT j.ok, 1, 0) = 1", False),
        ("SELECT id WHERE LEN(LIST_FILTER([j.ok], v -> v)) = 1", True),
        ("SELECT id GROUP BY id HAVING FIRST(j.ok)", True),
        ("SELECT id GROUP BY id HAVING BOOL_OR(j.ok)", True),
        ("SELECT id GROUP BY id HAVING NOT BOOL_AND(j.ok)", False),
        ("SELECT id GROUP BY id HAVING COUNT_IF(j.ok) = 1", True),
        ("SELECT id GROUP BY id HAVING COUNT(*) FILTER (WHERE NOT j.ok) = 1", False),
        ("SELECT a.id FROM ds a JOIN ds b ON a.id = b.id AND a.j.ok", True),
    ],
)
def test_every_clause_interprets_json_the_same_way(
    ds: dl.Dataset, query: str, meaning: bool | None
) -> None:
    assert ds.query(query)["id"][:].tolist() == rows(meaning)


@pytest.mark.parametrize("value", NEITHER[1:], ids=repr)
def test_cast_refuses_values_that_are_not_conditions(value: Any) -> None:
    ds = lake([True, 0, 1.0, None, value])
    with pytest.raises(
        dl.QueryTypeError, match=r"a value in CAST\(j.ok AS BOOLEAN\) is .*TRY_CAST"
    ):
        ds.query("SELECT CAST(j.ok AS BOOLEAN) AS y")
    result = lake([True, 0, 1.0, None]).query("SELECT CAST(j.ok AS BOOLEAN) AS y")["y"][:]
    assert result.tolist() == [True, False, True, None]


def test_json_strings_cast_to_text_are_conditions() -> None:
    result = lake(["true", "0"]).query("SELECT CAST(CAST(j.ok AS TEXT) AS BOOLEAN) AS y")["y"][:]
    assert result.tolist() == [True, False]
