"""Hashes of columns of two types agree in every form of comparison, or the query is refused."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import QueryTypeError

TYPES = {
    "a": dl.Array("float32", (2,)), "b": dl.Array("float64", (2,)), "c": dl.Array("int16", (2,)),
    "s": dl.Sequence("float32"), "d": dl.Array("datetime64[D]", (1,)),
    "u": dl.Array("datetime64[us]", (1,)), "png": dl.Image("png"), "raw": dl.Image("raw"),
}  # fmt: skip
ALIKE = [*permutations("abcs", 2), ("d", "u"), ("u", "d"), ("png", "raw"), ("raw", "png")]
IN_ONE_QUERY = [
    "HASH({0}) = HASH({1})", "HASH({0}) IN (3, HASH({1}))",
    "HASH({0}) IS NOT DISTINCT FROM HASH({1})",
    "EXISTS (SELECT 1 FROM ds AS o WHERE HASH(o.{1}) = HASH(ds.{0}))",
    "1 = (SELECT COUNT(*) FROM ds AS p JOIN ds AS q ON HASH(p.{0}) = HASH(q.{1}))",
    "1 = (SELECT COUNT(*) FROM (SELECT HASH({0}) AS x, HASH({1}) AS y FROM ds) AS p WHERE x = y)",
    "1 = (SELECT COUNT(*) FROM (SELECT HASH({0}) AS x FROM ds INTERSECT SELECT HASH({1}) FROM ds))",
    "1 = (SELECT COUNT(*) FROM (SELECT HASH({0}) AS x FROM ds UNION SELECT HASH({1}) FROM ds))",
    "0 = (SELECT COUNT(*) FROM (SELECT HASH({0}) AS x FROM ds EXCEPT SELECT HASH({1}) FROM ds))",
]  # fmt: skip
FROM_SUBQUERIES = [
    "HASH({0}) IN (SELECT HASH({1}) FROM ds)", "HASH({0}) = (SELECT HASH({1}) FROM ds LIMIT 1)",
    "HASH({0}) = ANY(SELECT HASH({1}) FROM ds)", "HASH({0}) <> ALL(SELECT HASH({1}) FROM ds)",
    "HASH({0}) NOT IN (SELECT HASH({1}) FROM ds)", "HASH({0}) = (SELECT MAX(HASH({1})) FROM ds)",
    "(SELECT HASH({0}) FROM ds LIMIT 1) = (SELECT HASH({1}) FROM ds LIMIT 1)",
]  # fmt: skip


@pytest.fixture(scope="module")
def ds():
    ds = dl.create("memory://hashes-from-subqueries", TYPES)
    image, day = np.zeros((2, 2, 3), "uint8"), np.array(["2026-01-02"], "M8[D]")
    numbers = {name: [[1, 2]] for name in "abcs"}
    ds.append(numbers | {"d": [day], "u": [day.astype("M8[us]")], "png": [image], "raw": [image]})
    ds.commit("equal values")
    return ds


def ask(ds, condition):
    text = f"SELECT {condition} AS x FROM ds"
    return dl.query(text, sources={"ds": ds})["x"][:].tolist()


@pytest.mark.parametrize("pair", ALIKE, ids="-".join)
def test_equal_values_of_two_types_have_equal_hashes_in_one_query(ds, pair):
    for form in IN_ONE_QUERY:
        assert ask(ds, form.format(*pair)) == [True], form


@pytest.mark.parametrize("pair", ALIKE, ids="-".join)
def test_hashes_of_two_types_from_subqueries_are_refused(ds, pair):
    for form in FROM_SUBQUERIES:
        with pytest.raises(QueryTypeError, match=r"only with hashes of the same type.*JOIN") as e:
            ask(ds, form.format(*pair))
        assert e.value.place is not None


@pytest.mark.parametrize("name", TYPES)
def test_hashes_of_one_type_from_subqueries_are_compared(ds, name):
    for form in FROM_SUBQUERIES:
        assert ask(ds, form.format(name, name)) == ["NOT IN" not in form and "ALL" not in form]


def test_hashes_of_computed_values_from_subqueries_are_compared(ds):
    assert ask(ds, "HASH(a + 0) IN (SELECT HASH(b + 0) FROM ds)") == [True]
    assert ask(ds, "HASH(a) IN (SELECT 3)") == [False]
