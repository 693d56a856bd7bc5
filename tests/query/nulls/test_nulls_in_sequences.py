"""Sequences with null items equal lists with the same items, and have the same hashes."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import deeplake_lite as dl

COLUMNS: dict[str, tuple[Any, list[Any]]] = {
    "small": (dl.Scalar("int8"), [1, None, 3]),
    "whole": (dl.Scalar("int64"), [2**53 + 1, None]),
    "large": (dl.Scalar("uint64"), [2**64 - 1, None, 1]),
    "half": (dl.Scalar("float16"), [1, None, 0.5]),
    "real": (dl.Scalar("float64"), [0.1, None, 7, None]),
    "truth": (dl.Scalar("bool"), [True, None, False]),
    "label": (dl.ClassLabel(["a", "b"]), ["b", None]),
    "text": (dl.Text(), ["a", None, "1"]),
    "json": (dl.Json(), [1, None, "x", 2.5, True, [1, None], {"k": 1.0}]),
}
OTHERS = {"none": [], "null": [None], "nulls": [None, None], "one": [1]}


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    schema = {}
    for name, (htype, _) in COLUMNS.items():
        item = type(htype)(*([htype.scalar] if isinstance(htype, dl.Scalar) else
                             [["a", "b"]] if name == "label" else []), nullable=True)  # fmt: skip
        schema[name] = dl.Sequence(item, nullable=True)
    ds = dl.create("memory://nulls-in-sequences", {"id": "int64", **schema}, overwrite=True)
    rows = {name: [values, [], [None], None] for name, (_, values) in COLUMNS.items()}
    ds.append({"id": range(4), **rows})
    ds.commit("rows")
    return ds


def literal(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    return {None: "NULL", True: "TRUE", False: "FALSE"}.get(value, repr(value))


def check(ds: dl.Dataset, left: str, right: str, expected: list[bool], params: Any = None) -> None:
    view = ds.query(
        f"SELECT {left} IS NOT DISTINCT FROM {right} AS same, {left} IS DISTINCT FROM {right} AS "
        f"differ, HASH({left}) = HASH({right}) AS hashes",
        params or {},
    )
    assert view["same"][:].tolist() == expected
    assert view["differ"][:].tolist() == [not same for same in expected]
    assert view["hashes"][:].tolist() == [*expected[:3], None]


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("form", ["{}", "{}[0:]", "CASE WHEN id < 9 THEN {0} ELSE {0} END"])
def test_sequence_with_nulls_equals_the_list_of_its_items(ds, name, form):
    values, left = COLUMNS[name][1], form.format(name)
    check(ds, left, "$p", [True, False, False, False], {"p": values})
    check(ds, left, "$p", [False, True, False, False], {"p": []})
    check(ds, left, "$p", [False, False, True, False], {"p": [None]})
    check(ds, left, "$p", [False] * 4, {"p": [*values[:-1], None, None]})
    check(ds, "$p", left, [True, False, False, False], {"p": values})
    if name != "json":
        check(ds, left, literal(values), [True, False, False, False])
    check(ds, left, f"(SELECT {name} WHERE id = 0)", [True, False, False, False])
    check(ds, left, f"(SELECT {name} WHERE id = 1)", [False, True, False, False])


@pytest.mark.parametrize(("a", "b"), list(product(["small", "half", "real"], repeat=2)))
def test_sequences_of_two_dtypes_are_compared_by_value(a, b):
    columns = {
        "a": dl.Scalar(dl_dtype(a), nullable=True),
        "b": dl.Scalar(dl_dtype(b), nullable=True),
    }
    ds = dl.create("memory://nulls-two-dtypes", {n: dl.Sequence(t) for n, t in columns.items()},
                   overwrite=True)  # fmt: skip
    ds.append({"a": [[1, None, 3], [2], []], "b": [[1, None, 3], [2], []]})
    view = ds.query("SELECT a IS NOT DISTINCT FROM b AS same, HASH(a) = HASH(b) AS hashes, "
                    "HASH(a) = HASH([1.0, NULL, 3]) AS first")  # fmt: skip
    assert view["same"][:].tolist() == view["hashes"][:].tolist() == [True] * 3
    assert view["first"][:].tolist() == [True, False, False]


def dl_dtype(name: str) -> str:
    return COLUMNS[name][0].scalar


def test_booleans_equal_numbers_but_not_in_json(ds):
    view = ds.query("SELECT HASH(truth) = HASH([1, NULL, 0]) AS r LIMIT 1")
    assert view["r"][:].tolist() == [True]
    view = ds.query("SELECT HASH([1, NULL]) = HASH($p) AS r LIMIT 1", {"p": [True, None]})
    assert view["r"][:].tolist() == [True]
    other = dl.create("memory://json-truth", {"j": dl.Sequence(dl.Json(nullable=True))},
                      overwrite=True)  # fmt: skip
    other.append({"j": [[True, None], [1, None], [1.0, 2], [2**53, 0.5]]})
    for values, expected in (
        ([True, None], [True, False, False, False]), ([1, None], [False, True, False, False]),
        ([1, 2], [False, False, True, False]), ([2**53, 0.5], [False, False, False, True]),
        (np.array([1, 2]), [False, False, True, False]),
    ):  # fmt: skip
        for form in ("j IS NOT DISTINCT FROM $p", "j[0:] IS NOT DISTINCT FROM $p",
                     "HASH(j) = HASH($p)"):  # fmt: skip
            result = other.query(f"SELECT {form} AS r", {"p": values})["r"][:].tolist()
            assert result == expected, (form, values)


@pytest.mark.parametrize("values", [[[1, 2], [3, None]], [[1], [], [2, 3]], [[None], None]])
def test_nested_lists_with_nulls_are_hashed_by_value(values):
    item = dl.Sequence(dl.Scalar("int16", nullable=True), nullable=True)
    ds = dl.create("memory://nested-nulls", {"n": dl.Sequence(item)}, overwrite=True)
    ds.append({"n": [values, [[9]]]})
    for right, params in ((literal(values), {}), ("$p", {"p": values})):
        view = ds.query(f"SELECT n IS NOT DISTINCT FROM {right} AS same, HASH(n) = HASH({right}) "
                        "AS hashes", params)  # fmt: skip
        assert view["same"][:].tolist() == view["hashes"][:].tolist() == [True, False]


@pytest.mark.parametrize("call", ["SUM(s)", "MAX(s)", "s + 1", "COALESCE(s, q)", "IF(i = 1, s, q)"])
def test_messages_about_null_items_show_the_way(make_lake, call):
    items = dl.Sequence(dl.Scalar("float32", nullable=True))
    ds = make_lake(
        {"i": "int64", "s": items, "q": dl.Sequence("float32")}, i=[1], s=[[1.5, None]], q=[[2.0]]
    )
    with pytest.raises(
        dl.QueryTypeError, match="Because of null items, s is not a tensor"
    ) as caught:
        ds.query(f"SELECT {call} AS x")
    assert "CASE" not in str(caught.value).split(": ")[0]
    way = "SELECT SUM(item) AS x FROM (SELECT UNNEST(s) AS item FROM dataset)"
    assert ds.query(way)["x"][:].tolist() == [1.5]
