"""Query parameters of every library."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from deeplake_lite.errors import QueryError, QueryTypeError

from ..case_files import values_of

FEBRUARY = dt.datetime(2024, 2, 1)
BERLIN = dt.timezone(dt.timedelta(hours=1))

MOMENTS = [
    FEBRUARY,
    FEBRUARY.date(),
    FEBRUARY.replace(tzinfo=dt.UTC),
    dt.datetime(2024, 2, 1, 1, tzinfo=BERLIN),
    np.datetime64("2024-02-01"),
    np.datetime64("2024-02-01", "s"),
    np.datetime64("2024-02-01", "ns"),
    np.datetime64("2024-02-01T00:00:00.000000001", "ns"),
    pd.Timestamp(2024, 2, 1),
    pd.Timestamp("2024-02-01 01:00", tz="Europe/Berlin"),
]


@pytest.mark.parametrize("moment", MOMENTS, ids=repr)
def test_time_parameter_compares_with_a_column(ds, moment):
    assert values_of(ds.query("SELECT id WHERE time < ?", [moment]))["id"] == [0, 1, 2, 3, 4]


def test_time_parameter_finer_than_a_microsecond_is_exact():
    import deeplake_lite as dl

    moment = np.datetime64("2024-02-01T00:00:00.000000001", "ns")
    assert dl.query("SELECT ? AS x", [moment])["x"][0] == moment


@pytest.mark.parametrize(
    "span", [dt.timedelta(3), np.timedelta64(3, "D"), pd.Timedelta(3, "D")], ids=repr
)
def test_duration_parameter_is_added(ds, span):
    assert values_of(ds.query("SELECT time + ? AS t LIMIT 1", [span]))["t"] == [
        dt.datetime(2024, 1, 4)
    ]


VALUES = [
    (np.int32(3), 3),
    (np.float32(2.5), 2.5),
    (np.bool_(True), True),
    (np.str_("abc"), "abc"),
    (np.array(3), 3),
    (Decimal("-2.50"), -2.5),
    (Decimal("1e3"), 1000),
    (None, None),
    (pd.NaT, None),
    (np.datetime64("NaT", "ns"), None),
    (dt.time(3, 4), "03:04:00"),
    ((1, 2), [1, 2]),
    ([np.float32(0.5), 2], [0.5, 2]),
    (np.array(["a", "b"]), ["a", "b"]),
]


@pytest.mark.parametrize(("given", "found"), VALUES, ids=repr)
def test_parameter_is_returned_unchanged(ds, given, found):
    assert values_of(ds.query("SELECT ? AS x LIMIT 1", [given]))["x"] == [found]


@pytest.mark.parametrize("given", [np.array([1, 2]), pd.Series([1, 2])])
def test_array_is_returned_as_an_array(ds, given):
    [found] = ds.query("SELECT ? AS x LIMIT 1", [given])["x"][:]
    assert found.dtype == "int64"
    assert found.tolist() == [1, 2]


def test_array_of_times_is_a_list(ds):
    given = np.array(["2024-01-01", "2024-01-08T01:05"], "datetime64[ns]")
    assert values_of(ds.query("SELECT id WHERE time IN ?", [given]))["id"] == [0, 1]


def test_array_of_another_library_is_a_vector(ds):
    a, b = (
        ds.query("SELECT DOT(emb, ?) AS d", [given])["d"][:]
        for given in (pd.Series([1, 2, 3, 4]), np.array([1, 2, 3, 4]))
    )
    np.testing.assert_array_equal(a, b)


def test_long_vectors_that_differ_in_the_middle_stay_distinct(make_lake):
    import deeplake_lite as dl

    ds = make_lake({"emb": dl.Embedding(2000)})
    ds.append({"emb": np.ones((1, 2000))})
    a, b = np.zeros(2000), np.zeros(2000)
    a[1000] = 1
    result = ds.query("SELECT DOT(emb, ?) + 0 AS a, DOT(emb, ?) + 0 AS b", [a, b])
    assert (result["a"][0], result["b"][0]) == (1, 0)


@pytest.mark.parametrize("given", [3, "cat", {"id"}])
def test_parameters_are_a_list_or_a_dict(ds, given):
    with pytest.raises(QueryTypeError, match="Parameters must be a list with a value for each"):
        ds.query("SELECT id WHERE label = ?", given)


def test_unused_parameter_is_refused(ds):
    with pytest.raises(
        QueryError, match=r"value was passed for 'b', but the query has no parameter \$b"
    ):
        ds.query("SELECT id WHERE id = $a", {"a": 1, "b": 2})


@pytest.mark.parametrize("given", [{3, 5}, range(3, 6, 2), (3, 5), np.array([3, 5])], ids=repr)
def test_containers_of_values_are_lists(ds, given):
    assert ds.query("SELECT id WHERE id IN $few", {"few": given})["id"][:].tolist() == [3, 5]


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("id IN ($a,$b)", [2, 3]), ("id = $a+$b", [5]), ("id = $b-$a", [1]), ("id = $a*$b", [6]),
        ("id IN [$a,$b,$a]", [2, 3]), ("id = $a/*$b*/+$b", [5]),
        ("id BETWEEN $a AND $b", [2, 3]), ("id = $a AND label||$b <> '$a$b$'", [2]),
    ],
)  # fmt: skip
def test_parameter_names_end_at_word_boundaries(ds, condition, rows):
    result = ds.query(f"SELECT id WHERE {condition}", {"a": 2, "b": 3})
    assert result["id"][:].tolist() == rows


def test_dollar_quoted_strings_are_not_supported(ds):
    with pytest.raises(QueryError):
        ds.query("SELECT id WHERE label = $$cat$$")
