"""Parameters that no column can hold."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from uuid import uuid4

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import deeplake_lite as dl
from deeplake_lite.dataset.saved.parameters import plain_value


@pytest.mark.parametrize(
    "value",
    ["\ud800", "a\udfff", np.str_("\ud800"), {"a": "\ud800"}, {"\ud800": 1}],
)
@pytest.mark.parametrize("column", ["text", "json"])
def test_lone_surrogate_is_refused_as_a_parameter(value, column):
    ds = dl.create(f"memory://{uuid4().hex}", {"text": dl.Text(), "json": dl.Json()})
    ds.append({"text": ["a"], "json": [{"a": 1}]})
    with pytest.raises(dl.errors.QueryTypeError, match="a lone surrogate"):
        ds.query(f"SELECT * WHERE {column} = ?", [value])
    with pytest.raises(dl.errors.QueryTypeError, match="a lone surrogate"):
        ds.query(f"SELECT * WHERE {column} IN ?", [[value]])


@pytest.mark.parametrize("dtype", ["float32", "FLOAT", "int8", "BIGINT", "bool"])
@pytest.mark.parametrize(
    "value", [[1.5, 2.0], [1, 0], np.array([1.5, 2.0]), np.array([[1, 0], [3, 4]]), (1, 2)]
)
@pytest.mark.parametrize("text", ["$p", "[k, 2]", "{literal}", "$p + 0", "LIST(k)"])
def test_lists_and_arrays_are_cast_as_tensors(make_lake, dtype, value, text):
    ds = make_lake({"k": "int32"}, k=[1])
    literal = str(np.asarray(value).tolist())
    cast = f"CAST({text.format(literal=literal)} AS {dtype})"
    result = ds.query(f"SELECT {cast} AS x", {"p": value} if "$p" in cast else {})
    name = {"FLOAT": "float32", "BIGINT": "int64"}.get(dtype, dtype)
    of = {"[k, 2]": [1, 2], "LIST(k)": [1]}.get(text, value)
    expected = np.asarray(of).astype(name)
    assert result["x"][0].dtype == expected.dtype
    assert result["x"][0].tolist() == expected.tolist()


def test_lists_are_cast_to_lists_and_strings_as_in_sql(make_lake):
    ds = make_lake({"k": "int32"}, k=[1])
    result = ds.query("SELECT CAST([1, 2] AS TEXT) AS t, CAST([k, 2] AS BIGINT[]) AS l")
    assert result["t"][:] == ["[1, 2]"]
    assert np.asarray(result["l"][0]).tolist() == [1, 2]


def test_list_of_strings_is_not_cast_to_numbers(make_lake):
    ds = make_lake({"k": "int32"}, k=[1])
    with pytest.raises(dl.QueryTypeError, match="CAST takes numbers"):
        ds.query("SELECT CAST($p AS float32) AS x", {"p": ["a", "1"]})


COLUMNS_WITH_NULLS = [
    pd.Series([0, None], dtype="Int64"), pd.array([0, None], dtype="Int64"),
    pd.Series([0, None], dtype="int64[pyarrow]"), pd.Series([0, None], dtype=object),
    pd.Index([0, None], dtype="Int64"), pa.array([0, None]), pa.chunked_array([[0], [None]]),
    np.ma.MaskedArray([0, 7], [False, True]),
]  # fmt: skip


@pytest.mark.parametrize("given", COLUMNS_WITH_NULLS, ids=lambda v: type(v).__name__)
def test_nulls_in_columns_of_other_libraries_are_null(given):
    ds = dl.create("memory://nulls-as-parameters", {"id": "int64"}, overwrite=True)
    ds.append({"id": [0, 1]})
    assert ds.query("SELECT id WHERE id IN ?", [given])["id"][:].tolist() == [0]
    assert len(ds.query("SELECT id WHERE id NOT IN ?", [given])) == 0


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (pd.Series([2**53 + 1, None], dtype="Int64"), [2**53 + 1, None]),
        (pa.array([2**53 + 1, None]), [2**53 + 1, None]),
        (pd.Series(["a", None], dtype="str"), ["a", None]),
        (pd.Series(["a", None], dtype="string"), ["a", None]),
        (pd.Series([True, None], dtype="boolean"), [True, None]),
        (pd.Categorical(["a", None]), ["a", None]),
        (pa.array(["a", None]), ["a", None]), (pa.array(["a", "b"]), ["a", "b"]),
        (pa.array([True, False]), [True, False]), (pa.array([[1], [2, 3]]), [[1], [2, 3]]),
        (pa.array([Decimal("1.5")]), [Decimal("1.5")]),
        (pa.array([b"a", None]), [b"a", None]), (pa.array([None]), [None]),
        (pa.array([{"a": 1}]), [{"a": 1}]),
        (pa.array([1, None], pa.timestamp("ns")), [np.datetime64(1, "ns"), None]),
        (np.bytes_(b"10"), b"10"),
    ],
    ids=lambda v: type(v).__name__,
)  # fmt: skip
def test_columns_of_other_libraries_are_lists(given, found):
    assert plain_value(given) == found
    assert plain_value([given]) == [found]


@pytest.mark.parametrize("given", [pa.array([1, 2]), pd.Series([1.0, np.nan])])
def test_number_columns_without_nulls_are_arrays(given):
    assert isinstance(plain_value(given), np.ndarray)


def test_negative_zero_keeps_its_sign():
    ds = dl.create("memory://negative-zero", {"id": "int64"}, overwrite=True)
    ds.append({"id": [0]})
    [zero], [inverse] = (ds.query(f"SELECT {e} AS x", [-0.0])["x"][:] for e in ("?", "1 / ?"))
    assert (math.copysign(1, zero), inverse) == (-1, -math.inf)


NULLS = [
    None, pd.NA, pd.NaT, np.ma.masked, np.datetime64("NaT", "s"), pa.scalar(None),
    pa.scalar(None, pa.int64()), pa.scalar(None, pa.string()), pa.scalar(None, pa.timestamp("ns")),
    pa.scalar(None, pa.list_(pa.int8())),
]  # fmt: skip


@pytest.mark.parametrize("null", NULLS, ids=lambda v: f"{type(v).__name__}-{v}")
def test_nulls_of_any_library_are_null(make_lake, null):
    ds = make_lake({"k": "int32"}, k=[1, 2])
    assert ds.query("SELECT k WHERE $p IS NULL", {"p": null})["k"][:].tolist() == [1, 2]
    assert len(ds.query("SELECT k WHERE k = ?", [null])) == 0
    assert ds.query("SELECT k WHERE COALESCE($p, k) = 2", {"p": null})["k"][:].tolist() == [2]


SCALARS = [
    (pa.scalar(5), 5), (pa.scalar(2**64 - 1, pa.uint64()), 2**64 - 1), (pa.scalar("a"), "a"),
    (pa.scalar(b"a"), b"a"), (pa.scalar(True), True), (pa.scalar(0.5, pa.float32()), 0.5),
    (pa.scalar(Decimal("1.50")), Decimal("1.50")), (pa.scalar([1, None]), [1, None]),
    (pa.scalar({"a": 1}), {"a": 1}),
    (pa.scalar(1, pa.timestamp("ns")), np.datetime64(1, "ns")),
    (pa.scalar(1_000, pa.timestamp("ns", "Asia/Tokyo")), dt.datetime(1970, 1, 1, 0, 0, 0, 1)),
    (pa.scalar(dt.date(2026, 1, 31)), dt.date(2026, 1, 31)),
    (pa.scalar(dt.timedelta(seconds=1)), dt.timedelta(seconds=1)),
    (pa.scalar("a").cast(pa.dictionary(pa.int8(), pa.string())), "a"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "plain"), SCALARS, ids=lambda v: str(v)[:30])
def test_arrow_values_are_accepted(given, plain):
    assert plain_value(given) == plain
    assert plain_value([given, given]) == [plain, plain]


def test_none_means_no_parameters():
    ds = dl.create("memory://no-parameters", {"id": "int64"}, overwrite=True)
    ds.append({"id": [1]})
    assert ds.query("SELECT id", None)["id"][:].tolist() == [1]
