"""Integers compare exactly with floats, as in Python, also in a column of both."""

from __future__ import annotations

import operator
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

import deeplake_lite as dl

INTEGERS = {
    "int16": [-5, 0, 300], "int32": [2**24 + 1, 2**24, -(2**31), 5],
    "uint32": [2**32 - 1, 2**24 + 1, 5],
    "int64": [2**53, 2**53 + 1, 2**53 - 1, -(2**53) - 1, 2**63 - 1, -(2**63), 5],
    "uint64": [2**53 + 1, 2**63, 2**64 - 1, 2**64 - 2048, 5],
}  # fmt: skip
FLOATS = {
    "float32": [2.0**24, 2.0**53, 2.0**63, -(2.0**31), 5.0, 0.5, np.inf, np.nan, None],
    "float64": [2.0**53, 2.0**53 + 2, -(2.0**53), 2.0**63, -(2.0**63), 2.0**64, 5.0, 0.1, 1e300,
                -np.inf, np.nan, None],
}  # fmt: skip
PAIRS = [*product(INTEGERS, FLOATS)]
SIGNS = {
    "<": operator.lt, "<=": operator.le, "=": operator.eq, "<>": operator.ne,
    ">=": operator.ge, ">": operator.gt,
}  # fmt: skip


def lake(pair: tuple[str, str]) -> tuple[dl.Dataset, list[tuple[int, Any]]]:
    """Return a lake with a row for each pair of integer and float, and those rows."""
    rows = [*product(INTEGERS[pair[0]], FLOATS[pair[1]])]
    schema = {"i": pair[0], "f": dl.Scalar(pair[1], nullable=True)}
    ds = dl.create(f"memory://beside-{'-'.join(pair)}", schema, overwrite=True)
    ds.append({"i": [i for i, _ in rows], "f": [f for _, f in rows]})
    return ds, rows


def compares(sign: str, i: int, f: float | None) -> bool | None:
    """Return the comparison of the numbers themselves."""
    if f is None:
        return None
    if np.isfinite(f):
        return SIGNS[sign](Fraction(i), Fraction(f))
    return SIGNS[sign](0.0, f)


def is_in(i: int, floats: list[Any]) -> bool:
    return any(f is not None and np.isfinite(f) and Fraction(f) == i for f in floats)


def column(ds: dl.Dataset, query: str) -> list[Any]:
    return [row["x"] for row in ds.query(query)]


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_comparisons_are_exact(pair: tuple[str, str]) -> None:
    ds, rows = lake(pair)
    for sign in SIGNS:
        expected = [compares(sign, i, f) for i, f in rows]
        assert column(ds, f"SELECT i {sign} f AS x") == expected, sign
        where = [k for k, v in enumerate(expected) if v]
        result = column(ds, f"SELECT ROW_NUMBER() AS x WHERE i {sign} f")
        assert result == where, sign
    mirrored = [compares(">", i, f) for i, f in rows]
    assert column(ds, "SELECT f < i AS x") == mirrored
    equal = [compares("=", i, f) for i, f in rows]
    for same in ("i BETWEEN f AND f", "i IN (f)", "f IN (i)"):
        assert column(ds, f"SELECT {same} AS x") == equal, same
    assert column(ds, "SELECT i IS NOT DISTINCT FROM f AS x") == [bool(e) for e in equal]
    assert column(ds, "SELECT CASE i WHEN f THEN 1 ELSE 0 END AS x") == [
        int(bool(e)) for e in equal
    ]
    nullif = [None if e else i for (i, _), e in zip(rows, equal, strict=True)]
    assert column(ds, "SELECT NULLIF(i, f) AS x") == nullif
    hashes = column(ds, "SELECT HASH(i) = HASH(f) AS x")
    assert hashes == equal


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_joins_and_sets_are_exact(pair: tuple[str, str]) -> None:
    ds, _ = lake(pair)
    integers, floats = INTEGERS[pair[0]], FLOATS[pair[1]]
    both = sorted(i for i in integers if is_in(i, floats))
    given = "(SELECT DISTINCT f FROM ds WHERE f IS NOT NULL)"
    assert sorted(column(ds, "SELECT i AS x INTERSECT SELECT f")) == both
    assert sorted(column(ds, "SELECT i AS x EXCEPT SELECT f")) == sorted({*integers} - {*both})
    assert sorted({*column(ds, f"SELECT i AS x WHERE i IN {given}")}) == both
    assert sorted({*column(ds, f"SELECT i AS x WHERE i = ANY{given}")}) == both
    join = f"SELECT DISTINCT a.i AS x FROM ds a JOIN {given} b ON a.i = b.f"
    assert sorted(column(ds, join)) == both
    left = "(SELECT DISTINCT i FROM ds)"
    query = f"SELECT i AS x FROM {left} a JOIN (SELECT DISTINCT f AS i FROM ds) b USING (i)"
    assert sorted(column(ds, query)) == both


VALUES = [
    "COALESCE(i, f)", "CASE WHEN i > 0 OR i <= 0 THEN i ELSE f END", "IF(i IS NULL, f, i)",
    "[i, f][0]", "COALESCE(NULLIF(i, i), i, f)", "LIST_APPEND([f], i)[1]",
]  # fmt: skip


@pytest.mark.parametrize("form", VALUES)
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_column_of_integers_and_floats_is_exact_or_an_error(
    pair: tuple[str, str], form: str
) -> None:
    ds, _ = lake(pair)
    for i in INTEGERS[pair[0]]:
        query = f"SELECT {form} AS x WHERE i = {i} LIMIT 1"
        if Fraction(float(i)) == i:
            assert Fraction(float(column(ds, query)[0])) == i
        else:
            with pytest.raises(dl.QueryTypeError, match="cannot represent an integer"):
                ds.query(query)


def test_union_of_integers_and_floats_is_exact_or_an_error() -> None:
    ds, _ = lake(("int64", "float32"))
    assert {*column(ds, "SELECT i AS x WHERE i = 5 UNION SELECT f WHERE f = 5")} == {5.0}
    with pytest.raises(dl.QueryTypeError, match=r"CAST the integers AS DOUBLE(.|\n)*\^"):
        ds.query("SELECT i AS x UNION SELECT f")
    assert len(ds.query("SELECT CAST(i AS DOUBLE) AS x UNION SELECT f")) > 5
    ds, _ = lake(("int32", "float32"))
    result = ds.query("SELECT i AS x UNION ALL SELECT f")["x"][:]
    assert result.dtype == np.float64
    assert 2**24 + 1 in result
