"""Items of JSON sequences compare like the values of a JSON column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import QueryTypeError

VALUES: list[Any] = [True, False, 1, 1.0, 0, 0.5, 2**53 + 1, "1", "a", "", [1], ["a"], [], {"a": 1},
                     {}, None]  # fmt: skip
PARAMS = {"array": np.float32(0.5)}
OTHERS = ["1.0", "TRUE", "'a'", "9007199254740993", "f", "b", "t", "label", "n + 1",
          "CAST('nan' AS DOUBLE)", "$array", "(SELECT n LIMIT 1)"]  # fmt: skip
SIGNS = ["=", "<>", "<", ">="]


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    schema = {
        "id": "int64", "j": dl.Sequence(dl.Json(nullable=True)), "k": dl.Sequence(dl.Json()),
        "c": dl.Json(nullable=True), "n": "int64", "f": "float32", "b": "bool", "t": dl.Text(),
        "label": dl.ClassLabel(["b", "a"]), "time": "datetime64[s]",
    }  # fmt: skip
    ds = dl.create("memory://json-items", schema, overwrite=True)
    ds.append([
        {"id": at, "j": [v, None, v], "k": [0 if v is None else v], "c": v, "n": 1, "f": 0.5,
         "b": True, "t": "a", "label": "a", "time": "2020-01-01"}
        for at, v in enumerate(VALUES)
    ])  # fmt: skip
    ds.commit("rows")
    return ds


def params_of(other: str) -> dict[str, Any]:
    return {name: value for name, value in PARAMS.items() if other == f"${name}"}


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("sign", SIGNS)
def test_item_compares_like_a_json_column(ds, sign, other):
    view = ds.query(
        f"SELECT c {sign} {other} AS c, {other} {sign} c AS d, j {sign} {other} AS j, "
        f"{other} {sign} j AS i, NOT (j {sign} {other}) AS n, j[0:] {sign} {other} AS part, "
        f"k {sign} {other} AS k, ANY(j {sign} {other}) AS any",
        params_of(other),
    )
    of_column, exchanged = (view[name][:].tolist() for name in "cd")
    for names, truths in ((["j", "part"], of_column), (["i"], exchanged)):
        for name in names:
            items = [np.asarray(value, object).tolist() for value in view[name][:]]
            assert items == [[truth, None, truth] for truth in truths], name
    negated = [None if truth is None else not truth for truth in of_column]
    assert [row[0] for row in view["n"][:]] == negated
    assert [row[0] for row in view["k"][:-1]] == of_column[:-1]
    assert view["any"][:].tolist() == [truth or None for truth in of_column]


@pytest.mark.parametrize("other", OTHERS)
def test_contains_finds_equal_items(ds, other):
    view = ds.query(f"SELECT c = {other} AS c, CONTAINS(j, {other}) AS j", params_of(other))
    assert view["j"][:].tolist() == [bool(truth) for truth in view["c"][:].tolist()]


def test_contains_finds_objects_and_lists(ds):
    for value in ({"a": 1.0}, [1], ["a"]):
        view = ds.query("SELECT CONTAINS(j, $p) AS r", {"p": value})
        assert view["r"][:].tolist() == [type(v) is type(value) and v == value for v in VALUES]


@pytest.mark.parametrize("first", [True, 1, [1]])
def test_contains_finds_items_of_constant_json(ds, first):
    for expected, text in ((1, "1"), (True, "TRUE")):
        view = ds.query(f"SELECT CONTAINS($p, {text}) AS r LIMIT 1", {"p": [first, "x"]})
        assert view["r"][:].tolist() == [first is expected]


@pytest.mark.parametrize("form", ["j = {}", "{} < k", "CONTAINS(j, {})"])
@pytest.mark.parametrize("other", ["time", "$p"])
def test_times_and_bytes_are_refused(ds, form, other):
    params = {"p": b"1"} if other == "$p" else {}
    with pytest.raises(QueryTypeError, match=r"JSON with numbers, strings|bytes"):
        ds.query(f"SELECT {form.format(other)} AS r", params)
