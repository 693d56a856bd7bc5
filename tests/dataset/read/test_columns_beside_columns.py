"""Comparing two columns of any types, in either order, agrees with the comparison in a query."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import LakeError, QueryTypeError

COUNTS = [0, 1, 2, 0, 1, 2, 3, 4]
COLUMNS: dict[str, tuple[Any, list[Any]]] = {
    "truth": ("bool", [True, True, False, False, True, False, True, False]),
    **{dtype: (dtype, [1, 0, 2, 1, 7, 1, 2, 0]) for dtype in ("int64", "uint8", "uint64")},
    **{dtype: (dtype, [1, 0.5, 2, 1, 7, 1, 2, np.nan]) for dtype in ("float16", "float64")},
    "some": (dl.Scalar("int64", nullable=True), [1, None, 2, None, 0, 1, 2, 0]),
    "label": (dl.ClassLabel(["a", "b", "1"]), [1, 0, 2, 1, 0, 1, 2, 0]),
    "other": (dl.ClassLabel(["b", "a"]), [1, 0, 1, 1, 0, 1, 0, 0]),
    "nameless": (dl.ClassLabel(), [1, 0, 2, 1, 7, 1, 2, 0]),
    "some_label": (dl.ClassLabel(["a", "b", "c"], nullable=True), [1, None, 2, None, 0, 1, 2, 0]),
    "words": ("str", ["a", "b", "1", "true", "", "c", "2", "a"]),
    "json": (dl.Json(), [1, 1.0, True, "1", {"a": 1}, [1], [], "a"]),
    "some_json": (dl.Json(nullable=True), [0, 2.5, False, "b", {"a": 2}, None, 2**60, "1"]),
    "numbers": (dl.Json(nullable=True), [0, 2.5, 1, 1, 7.0, None, 2**60, -1]),
    "day": ("datetime64[D]", [np.datetime64(n, "D") for n in COUNTS]),
    "moment": ("datetime64[ns]", [np.datetime64(n, "ns") for n in COUNTS]),
    "span": ("timedelta64[s]", [np.timedelta64(n, "s") for n in COUNTS]),
    "blob": ("bytes", [b"a", b"b", b"1", b"", b"c", b"2", b"a", b"a"]),
}  # fmt: skip
EQUAL = {"=": operator.eq, "<>": operator.ne}
ORDER = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
REFUSED = "refused"


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    schema = {name: htype for name, (htype, _) in COLUMNS.items()}
    ds = dl.create("memory://columns-beside-columns", schema, overwrite=True)
    ds.append({name: values for name, (_, values) in COLUMNS.items()})
    ds.commit("rows")
    return ds


def in_python(ds: dl.Dataset, a: str, op: str, b: str) -> Any:
    try:
        return (EQUAL | ORDER)[op](ds[a], ds[b]).tolist()
    except LakeError:
        return REFUSED


def in_a_query(ds: dl.Dataset, a: str, ops: dict[str, Any], b: str) -> dict[str, Any]:
    """Return results by operator, with nulls as in columns: equal only to null."""
    nulls = f"{a} IS NULL AND {b} IS NULL"
    rest = {"=": nulls, "<>": f"NOT ({nulls})"}
    names = dict(zip(ops, "uvwx", strict=False))
    items = (f"COALESCE({a} {op} {b}, {rest.get(op, 'false')}) AS {n}" for op, n in names.items())
    try:
        result = ds.query(f"SELECT {', '.join(items)}")
        return {op: result[name][:].tolist() for op, name in names.items()}
    except QueryTypeError:
        return dict.fromkeys(ops, REFUSED)


@pytest.mark.parametrize("ops", [EQUAL, ORDER], ids=["equal", "order"])
@pytest.mark.parametrize("a", COLUMNS)
def test_column_comparisons_agree_with_queries_in_both_orders(ds, a, ops):
    for b in COLUMNS:
        expected = in_a_query(ds, a, ops, b)
        for op in ops:
            result = in_python(ds, a, op, b)
            assert result == in_python(ds, b, MIRRORED[op], a), (a, op, b)
            assert result == expected[op] or REFUSED in (result, expected[op]), (a, op, b)


@pytest.mark.parametrize("name", ["int64", "uint8", "uint64", "float64", "some"])
def test_numbers_compare_with_the_numbers_of_classes(ds, name):
    numbers = ds["label"][:]
    for test in (EQUAL | ORDER).values():
        assert test(ds[name], ds["label"]).tolist() == test(ds[name], numbers).tolist()


def test_booleans_compared_with_json_are_not_numbers(ds):
    assert (ds["truth"] == ds["json"]).tolist() == [False] * 8
    assert (ds["truth"] == ds["some_json"]).tolist() == [False, False, True, *[False] * 5]


def test_json_that_cannot_be_ordered_with_numbers_is_an_error_that_names_its_column(ds):
    for test in ORDER.values():
        with pytest.raises(dl.InvalidValueError, match=r"column 'json' of type .* have no order"):
            test(ds["float64"], ds["json"])
    assert (ds["float64"] < ds["numbers"]).tolist()[:2] == [False, True]
