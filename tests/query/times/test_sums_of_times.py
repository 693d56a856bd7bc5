"""Sums and differences of times with other values: errors say how to write the duration."""

from __future__ import annotations

import re

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import QueryTypeError

TIMES = ["t", "CAST(t AS DATE)", "DATE_TRUNC('day', t)", "(SELECT MAX(t))", "ns", "day"]


@pytest.fixture(scope="module")
def ds():
    types = {"id": "int64", "t": "datetime64[us]", "ns": "datetime64[ns]", "day": "datetime64[D]"}
    ds = dl.create("memory://sums-of-times", types | {"m": dl.Json(), "w": "text"})
    moment = np.datetime64("2026-01-02", "us")
    ds.append(
        {"id": [1], "t": [moment], "ns": [moment], "day": [moment], "m": [{"t": 1}], "w": ["a"]}
    )
    ds.commit("rows")
    return ds


@pytest.mark.parametrize("time", TIMES)
@pytest.mark.parametrize(
    "form", ["{} - {}", "{} + {}", "{1} - {0}", "{1} + {0}", "DATE_ADD({}, {})"]
)
@pytest.mark.parametrize(("other", "noun"), [("m.t", "JSON"), ("w", "a string")])
def test_json_and_strings_beside_times_need_a_cast(ds, time, form, other, noun):
    shown = re.escape(f"{'m.t' if other == 'm.t' else 'w'} is {noun}. Write CAST({other} AS")
    with pytest.raises(QueryTypeError, match=shown):
        ds.query(f"SELECT {form.format(time, other)} AS x")


@pytest.mark.parametrize("call", ["AGE({}, {})", "DATE_DIFF('day', {}, {})", "SUBTRACT({}, {})"])
@pytest.mark.parametrize(("other", "noun"), [("m.t", "JSON"), ("w", "a string")])
def test_functions_of_times_need_a_cast(ds, call, other, noun):
    name = call.split("(")[0]
    with pytest.raises(
        QueryTypeError, match=rf"arguments of {name} must be times, but {other} is {noun}"
    ):
        ds.query(f"SELECT {call.format('t', other)} AS x")


@pytest.mark.parametrize("time", TIMES)
@pytest.mark.parametrize("duration", ["1 day", "2h 30min", "1.5 hours", "-3 weeks", "10 ms"])
@pytest.mark.parametrize(
    "form",
    ["{} - {}", "{} < {}", "TIME_BUCKET(INTERVAL '1 hour', {}, {})", "DATE_SUB('day', {}, {})"],
)
def test_quoted_duration_where_a_time_is_expected_needs_interval(ds, time, form, duration):
    way = re.escape(f"For a duration, write INTERVAL '{duration}'.")
    for quoted in (f"'{duration}'", "$p"):
        params = {"p": duration} if quoted == "$p" else {}
        if "<" in form and time in ("CAST(t AS DATE)", "DATE_TRUNC('day', t)", "(SELECT MAX(t))"):
            continue  # DuckDB rejects these itself
        with pytest.raises(QueryTypeError, match=way) as caught:
            ds.query(f"SELECT {form.format(time, quoted)} AS x", params)
        assert caught.value.place is not None


@pytest.mark.parametrize("number", ["1", "id", "1.5", "EPOCH(t)"])
def test_number_beside_a_timestamp_needs_interval(ds, number):
    way = re.escape(f"{number} is a number. If it counts days, write INTERVAL 1 DAY * ({number}).")
    for form in (f"t - {number}", f"t + {number}", f"{number} + t", f"day + {number}"):
        with pytest.raises(QueryTypeError, match=way):
            ds.query(f"SELECT {form} AS x")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("t - INTERVAL '1 day'", "2026-01-01"), ("t + '1 day'", "2026-01-03"),
        ("CAST(t AS DATE) - 1", "2026-01-01"),
        ("t - INTERVAL 1 DAY * id", "2026-01-01"),
        ("t - CAST(CAST(m.t AS TEXT) || ' day' AS INTERVAL)", "2026-01-01"),
        ("TIME_BUCKET(INTERVAL '1 day', t, INTERVAL '1 hour')", "2026-01-01T01"),
        ("TIME_BUCKET(INTERVAL '1 day', t, '2026-01-01')", "2026-01-02"),
    ],
)  # fmt: skip
def test_durations_shift_times(ds, text, expected):
    assert ds.query(f"SELECT {text} AS x")["x"][:] == np.datetime64(expected)


def test_times_of_day_take_quoted_durations(ds):
    assert ds.query("SELECT CAST(t AS TIME) - '1 hour' AS x")["x"][:] == ["23:00:00"]
