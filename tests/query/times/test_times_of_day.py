"""Times of day: strings beside them must be times of day, and lists of them take subscripts."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import QueryTypeError

NOT_TIMES_OF_DAY = [
    "2026-01-02", "2026-01-02T10:00", "2026-01-02 10:00:00", "epoch", "10:00:00+01", "10", "abc",
    "", " 10:00",
]  # fmt: skip
CLOCKS = [
    "CAST(t AS TIME)", "LOCALTIME", "CURRENT_TIME", "MAKE_TIME(1, 2, 3.0)", "$clock",
    "COALESCE(CAST(t AS TIME), LOCALTIME)", "(CAST(t AS TIME) + INTERVAL '1 hour')", "$clocks[id]",
    "TRY_CAST('10:00' AS TIME)", "(SELECT CAST(t AS TIME) LIMIT 1)", "[CAST(t AS TIME)][0]",
]  # fmt: skip
FORMS = [
    "{} = {}", "{} <> {}", "{} < {}", "{} IN ('10:00', {})", "{} IN ({}, LOCALTIME)",
    "{} BETWEEN {} AND '10:00'", "{} BETWEEN '09:00' AND {}", "{} IS DISTINCT FROM {}",
    "({}, 1) = ({}, 1)", "({}, 1) IN (({}, 1))", "COALESCE({}, {}) IS NULL",
    "NULLIF({}, {}) IS NULL", "CASE {} WHEN {} THEN TRUE END", "GREATEST({}, {}) IS NULL",
    "LEN([{}, {}]) = 2", "LIST_CONTAINS([{}], {})", "LIST_POSITION([{}], {}) = 1",
    "MAP([{}], [1])[{}] = 1", "{} NOT IN ({})",
]  # fmt: skip
RULE = r"A string compared with times of day must be a time of day, such as '09:30' .*, but it is"


@pytest.fixture(scope="module")
def ds():
    ds = dl.create("memory://times-of-day", {"id": "int64", "t": "datetime64[us]"})
    ds.append({"id": [0, 1], "t": ["2026-01-02T00:00:00", "2026-01-02T10:00:00.5"]})
    ds.commit("rows")
    return ds


def ask(ds, text, /, **params):
    given = {"clock": dt.time(10), "clocks": [dt.time(9), dt.time(10)]} | params
    return ds.query(text, {name: value for name, value in given.items() if f"${name}" in text})


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("clock", CLOCKS)
def test_string_beside_times_of_day_must_be_one(ds, clock, form):
    for text in NOT_TIMES_OF_DAY:
        for quoted in (f"'{text}'", "$text"):
            with pytest.raises(QueryTypeError, match=RULE) as caught:
                ask(ds, f"SELECT id WHERE {form.format(clock, quoted)}", text=text)
            assert caught.value.place is not None


def test_parameters_that_are_lists_are_checked(ds):
    for text in ("CAST(t AS TIME) IN $text", "CAST(t AS TIME) = $text[0]"):
        with pytest.raises(QueryTypeError, match=RULE):
            ask(ds, f"SELECT id WHERE {text}", text=["2026-01-02"])


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("= '00:00'", [0]), ("= '0:00:00'", [0]), ("= '10:00:00.5'", [1]), ("< '10:00'", [0]),
        ("IN ('10:00:00.500')", [1]), ("BETWEEN '09:00' AND '11:00'", [1]), ("> '23:59:59.'", []),
    ],
)  # fmt: skip
def test_times_of_day_compare_with_quoted_ones(ds, condition, rows):
    assert ask(ds, f"SELECT id WHERE CAST(t AS TIME) {condition}")["id"][:].tolist() == rows


def test_query_within_a_query_keeps_the_rule(ds):
    with pytest.raises(QueryTypeError, match=RULE):
        ask(ds, "SELECT x FROM (SELECT CAST(t AS TIME) AS x) WHERE x = '2026-01-02'")
    with pytest.raises(QueryTypeError, match=RULE):
        ask(ds, "SELECT '2026-01-02' IN (SELECT CAST(t AS TIME)) AS x")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$p[id]", ["01:00:00", "02:30:00"]),
        ("$p[-1 - id]", ["03:00:00.500000", "02:30:00"]),
        ("$p[id + 2]", ["03:00:00.500000", None]),
        ("$p[0:2]", [["01:00:00", "02:30:00"]] * 2),
        ("$p[id:]", [["01:00:00", "02:30:00", "03:00:00.500000"], ["02:30:00", "03:00:00.500000"]]),
        ("$p[id] < '02:00'", [True, False]),
        ("$p[id] = CAST(t AS TIME)", [False, False]),
        ("$nested[id][0]", ["01:00:00", None]),
        ("$nested[id]", [["01:00:00"], [None]]),
        ("$gaps[id]", [None, "02:00:00"]),
    ],
)
def test_lists_of_times_of_day_take_subscripts(ds, text, expected):
    params = {
        "p": [dt.time(1), dt.time(2, 30), dt.time(3, 0, 0, 500_000)],
        "nested": [[dt.time(1)], [None]],
        "gaps": [None, dt.time(2)],
    }
    used = {name: value for name, value in params.items() if f"${name}" in text}
    found = ds.query(f"SELECT {text} AS x", used)["x"][:]
    assert (found.tolist() if isinstance(found, np.ndarray) else list(found)) == expected


def test_subscript_of_times_of_day_must_be_one_position(ds):
    with pytest.raises(QueryTypeError, match="An index must be a whole number"):
        ds.query("SELECT $p[[0, 1]] AS x", {"p": [dt.time(1), dt.time(2)]})
