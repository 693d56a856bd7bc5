"""HASH distinguishes the same values as DISTINCT, wherever values of two types are combined.

JSON is never combined with booleans here: true has the hash of 1, but is a different value in
JSON.
"""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import QueryTypeError

COUNTS = [0, 1, 2, 1000]
COLUMNS: dict[str, tuple[Any, list[Any]]] = {
    "truth": ("bool", [False, True, True, False]),
    "whole": ("int64", [0, 1, 7, 2**53 + 1]),
    "large": ("uint64", [0, 1, 7, 2**53 + 2]),
    "small": ("float32", [0, 1, 7, 0.1]),
    "real": ("float64", [0, 1, 7, 0.1]),
    **{unit: (f"datetime64[{unit}]", [np.datetime64(n, unit) for n in COUNTS])
       for unit in ("D", "s", "us", "ns")},
    "text": ("str", ["a", "1", "true", "0"]),
    "label": (dl.ClassLabel(["a", "b", "c"]), [0, 1, 2, 0]),
    "json": (dl.Json(), [1, "1", 2.5, {"a": 1.0}]),
}  # fmt: skip
SIDES = [*COLUMNS, "(whole > 0)", "(whole + 1)", "us + INTERVAL 1 DAY"]
FORMS = ["x", "[x]", "[[x]]", "[x, x]", "{'k': x}", "[{'k': x}]", "{'k': [x]}",
         "LIST_TRANSFORM([x], v -> v)"]  # fmt: skip
WAYS = [
    "SELECT {0} AS x UNION ALL SELECT {1} AS x",
    "SELECT CASE WHEN id < 2 THEN {0} ELSE {1} END AS x",
    "SELECT COALESCE(NULLIF({0}, {0}), {1}) AS x",
    "SELECT LAG({0}, 2, {1}) OVER (ORDER BY id) AS x",
    "SELECT v[0] AS x FROM (SELECT [{0}] AS v UNION ALL SELECT [{1}] AS v)",
    "SELECT v['k'] AS x FROM (SELECT {{'k': {0}}} AS v UNION ALL SELECT {{'k': {1}}} AS v)",
]
UNIONS = [
    (a, b)
    for a, b in product(SIDES, SIDES)
    if a != b and ("json" not in (a, b) or not {"truth", "(whole > 0)"} & {a, b})
]
OFTEN_MIXED = [("truth", "whole"), ("(whole > 0)", "(whole + 1)"), ("us", "ns"), ("ns", "D")]


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    schema = {"id": "int64"} | {name: htype for name, (htype, _) in COLUMNS.items()}
    ds = dl.create("memory://hashes-of-two-types", schema, overwrite=True)
    ds.append({"id": range(4)} | {name: values for name, (_, values) in COLUMNS.items()})
    ds.commit("rows")
    return ds


def check(ds: dl.Dataset, query: str, forms: list[str]) -> None:
    counts = ", ".join(f"COUNT(DISTINCT HASH({form})) AS n{at}" for at, form in enumerate(forms))
    [row] = ds.query(f"SELECT COUNT(DISTINCT x) AS n, {counts} FROM ({query})")
    result = [int(row[f"n{at}"]) for at in range(len(forms))]
    assert result == [row["n"]] * len(forms), query


@pytest.mark.parametrize("side", SIDES)
def test_values_of_one_type_have_as_many_hashes_as_distinct_values(ds, side):
    check(ds, f"SELECT {side} AS x", FORMS)


@pytest.mark.parametrize(("a", "b"), UNIONS)
def test_union_of_two_types_has_as_many_hashes_as_distinct_values(ds, a, b):
    query = WAYS[0].format(a, b)
    try:
        len(ds.query(query))
    except QueryTypeError:
        return  # no column holds both
    check(ds, query, ["x", "[x]", "{'k': x}"])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("a", "b"), OFTEN_MIXED)
def test_values_of_two_types_have_as_many_hashes_in_every_form(ds, way, a, b):
    check(ds, way.format(a, b), FORMS)


@pytest.mark.parametrize(("a", "b"), OFTEN_MIXED)
def test_rows_of_two_types_are_grouped_and_arranged_by_their_hashes(ds, a, b):
    union = WAYS[0].format(a, b)
    [row] = ds.query(f"SELECT COUNT(DISTINCT x) AS n FROM ({union})")
    for form in ("x", "[x]"):
        groups = ds.query(f"SELECT COUNT(*) AS n FROM ({union}) GROUP BY HASH({form})")
        assert len(groups) == row["n"]
        result = ds.query(f"SELECT x FROM ({union}) ARRANGE BY HASH({form})")["x"][:].tolist()
        changes = sum(a != b for a, b in pairwise(result))
        assert changes == row["n"] - 1
