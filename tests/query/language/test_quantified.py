"""ANY and ALL of a subquery compare with each of its values, including NaN and null."""

from __future__ import annotations

import math
import operator
from itertools import combinations

import pytest

import deeplake_lite as dl

VALUES = [0.0, 1.5, math.nan, None, 2.0]
OPERATORS = {
    "<": operator.lt, "<=": operator.le, "=": operator.eq, "<>": operator.ne,
    ">=": operator.ge, ">": operator.gt,
}  # fmt: skip


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    lake = dl.create(
        "memory://quantified",
        {"id": "int64", "f": dl.Scalar("float64", nullable=True)},
        overwrite=True,
    )
    lake.append({"id": range(len(VALUES)), "f": VALUES})
    return lake


def holds(sign: str, each: str, value: float | None, others: list[float | None]) -> bool | None:
    """Return a quantified comparison in SQL's three booleans, None for unknown."""
    result: list[bool | None] = []
    for other in others:
        is_known = value is not None and other is not None
        result.append(OPERATORS[sign](value, other) if is_known else None)
    decisive = each == "ANY"
    if decisive in result:
        return decisive
    return None if None in result else not decisive


SETS = [list(s) for count in range(4) for s in combinations(range(len(VALUES)), count)]


@pytest.mark.parametrize("each", ["ANY", "ALL"])
@pytest.mark.parametrize("sign", OPERATORS)
def test_nan_is_unequal_to_all_and_not_comparable(ds, sign, each):
    for ids in SETS:
        wanted = ", ".join(map(str, ids)) or "-1"
        query = f"f {sign} {each} (SELECT f FROM ds WHERE id IN ({wanted}))"
        expected = [holds(sign, each, v, [VALUES[i] for i in ids]) for v in VALUES]
        for condition, truth in ((query, True), (f"NOT ({query})", False)):
            result = ds.query(f"SELECT id WHERE {condition} ORDER BY id")["id"][:].tolist()
            assert result == [i for i, e in enumerate(expected) if e is truth], condition


@pytest.mark.parametrize("ids", SETS[:12])
def test_not_in_is_unequal_to_all(ds, ids):
    expected = ", ".join(map(str, ids)) or "-1"
    inner = f"(SELECT f FROM ds WHERE id IN ({expected}))"
    first, second = (
        ds.query(f"SELECT id WHERE f IS NOT NULL AND f {form} {inner} ORDER BY id")["id"][
            :
        ].tolist()
        for form in ("NOT IN", "<> ALL")
    )
    assert first == second
