"""Times in nanoseconds: calendar fields before and after 1970, counts and hashes."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pytest

import deeplake_lite as dl

MOMENTS = [
    np.datetime64(text, "ns")
    for text in (
        "1969-12-31T23:59:59.999999999", "1969-12-31T23:59:59.999999001", "1970-01-01",
        "1970-01-01T00:00:00.000000001", "1899-12-31T23:59:59.999999500", "1900-01-01",
        "1960-02-29T23:59:59.999999999", "2000-02-29T11:59:59.999999999",
        "2024-12-31T23:59:59.999999999", "1677-12-31T23:59:59.999999999",
        "2262-01-01T00:00:00.000000001", "1969-12-31T22:59:59.123456789",
    )
]  # fmt: skip
UNITS = ["microsecond", "millisecond", "second", "minute", "hour", "day", "week", "month",
         "quarter", "year", "decade", "century", "millennium"]  # fmt: skip
PARTS = [*UNITS, "dow", "isodow", "doy", "isoyear", "era", "yearweek"]
NAMED = ["YEAR", "MONTH", "DAY", "DAYOFMONTH", "DAYNAME", "MONTHNAME", "DAYOFWEEK", "DAYOFYEAR",
         "ISODOW", "ISOYEAR", "WEEK", "WEEKDAY", "WEEKOFYEAR", "YEARWEEK", "QUARTER", "DECADE",
         "CENTURY", "MILLENNIUM", "ERA", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND",
         "JULIAN", "LAST_DAY", "EPOCH_MS", "EPOCH_US"]  # fmt: skip
TYPES = ["DATE", "TIMESTAMP", "TIMESTAMP_MS", "TIMESTAMP_S", "TIME", "DATETIME"]
OF_CALENDAR = [
    *(f"{name}({{}})" for name in NAMED),
    *(f"DATE_TRUNC('{unit}', {{}})" for unit in UNITS),
    *(f"DATETRUNC('{unit}', {{}})" for unit in ("day", "year")),
    *(f"DATE_PART('{unit}', {{}})" for unit in PARTS),
    *(f"DATEPART('{unit}', {{}})" for unit in ("day", "year")),
    *(f"EXTRACT({unit} FROM {{}})" for unit in UNITS),
    *(f"CAST({{}} AS {name})" for name in TYPES),
    *(f"TRY_CAST({{}} AS {name})" for name in TYPES),
    *(f"TIME_BUCKET(INTERVAL 1 {unit}, {{}})" for unit in ("second", "hour", "day", "month")),
    *(f"DATE_DIFF('{unit}', {{}}, past)" for unit in UNITS),
    *(f"DATEDIFF('{unit}', past, {{}})" for unit in ("day", "year")),
    *(f"DATE_SUB('{unit}', {{}}, past)" for unit in UNITS),
    "DATE_PART(['year', 'day'], {})", "STRFTIME({}, '%Y-%m-%d %H:%M:%S')",
]  # fmt: skip


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    schema = {"t": "datetime64[ns]", "u": "datetime64[us]", "past": "datetime64[us]"}
    ds = dl.create("memory://nanoseconds", schema, overwrite=True)
    past = np.datetime64("1969-12-31T23:59:59.999999", "us")
    ds.append([{"t": t, "u": t.astype("datetime64[us]"), "past": past} for t in MOMENTS])
    return ds


def column(ds: dl.Dataset, text: str) -> list[Any]:
    return [row["a"] for row in ds.query(f"SELECT {text} AS a")]


@pytest.mark.parametrize("text", OF_CALENDAR)
def test_calendar_fields_are_those_of_the_microsecond(ds, text):
    expected = column(ds, text.format("u"))
    assert column(ds, text.format("t")) == expected
    assert column(ds, text.format("[t][0]")) == expected
    assert column(ds, f"LIST_TRANSFORM([t], v -> {text.format('v')})[0]") == expected


@pytest.mark.parametrize(
    ("text", "of"),
    {
        "YEAR(t)": lambda d: d.year,
        "MONTH(t)": lambda d: d.month,
        "DAY(t)": lambda d: d.day,
        "HOUR(t)": lambda d: d.hour,
        "SECOND(t)": lambda d: d.second,
        "MICROSECOND(t)": lambda d: d.second * 10**6 + d.microsecond,
        "ISODOW(t)": lambda d: d.isoweekday(),
        "DAYOFYEAR(t)": lambda d: d.timetuple().tm_yday,
        "QUARTER(t)": lambda d: (d.month + 2) // 3,
        "DECADE(t)": lambda d: d.year // 10,
        "DAYNAME(t)": lambda d: d.strftime("%A"),
        "CAST(t AS DATE)": lambda d: d.date(),
        "CAST(t AS TIMESTAMP)": lambda d: d,
        "DATE_TRUNC('month', t)": lambda d: dt.datetime(d.year, d.month, 1),
    }.items(),
)
def test_parts_of_times_agree_with_python(ds, text, of):
    result = [np.asarray(v).item() if text[0] in "CD" else v for v in column(ds, text)]
    result = [v.date() if text.endswith("DATE)") and hasattr(v, "date") else v for v in result]
    assert result == [of(t.astype("datetime64[us]").item()) for t in MOMENTS]


COUNTS = {
    "EPOCH_NS": lambda ns: ns,
    "EPOCH_US": lambda ns: ns // 1000,
    "EPOCH_MS": lambda ns: (ns // 1000 + 500) // 1000,
    "EPOCH": lambda ns: ns // 1000 / 1e6,
}
"""Counts since 1970 in nanoseconds: milliseconds are rounded, others rounded down."""


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("unit", ["ns", "us", "ms", "s", "D"])
def test_counts_since_1970_are_numbers_in_every_unit(name, unit):
    schema = {"t": f"datetime64[{unit}]"}
    ds = dl.create(f"memory://counts-{unit}-{name}", schema, overwrite=True)
    moments = [t.astype(f"datetime64[{unit}]") for t in MOMENTS]
    ds.append([{"t": t} for t in moments])
    counts = [int(t.astype("datetime64[ns]").astype(np.int64)) for t in moments]
    assert column(ds, f"{name}(t)") == [COUNTS[name](ns) for ns in counts]


@pytest.mark.parametrize(
    "made",
    [
        "MAKE_TIMESTAMP_NS(EPOCH_NS(t))", "CAST(CAST(t AS TEXT) AS TIMESTAMP_NS)", "[t][0]",
        "COALESCE(NULL, t)", "CASE WHEN TRUE THEN t END", "{'k': t}['k']",
        "MAP(['k'], [t])['k']", "LIST_TRANSFORM([t], v -> v)[0]", "t + INTERVAL 0 DAY",
        "GREATEST(t, t)", "NULLIF(t, past)",
    ],
)  # fmt: skip
def test_equal_times_have_equal_hashes_however_they_are_made(ds, made):
    result = ds.query(f"SELECT t = {made} AS a, HASH(t) = HASH({made}) AS b WHERE t <> past")
    assert all(row["a"] and row["b"] for row in result)
    [counts] = ds.query(f"SELECT COUNT(DISTINCT HASH({made})) AS a, COUNT(DISTINCT t) AS b")
    assert counts["a"] == counts["b"]


@pytest.mark.parametrize("moment", MOMENTS[:3], ids=str)
def test_nanosecond_constants_have_the_hashes_of_columns(ds, moment):
    ns = int(moment.astype(np.int64))
    for made in (f"MAKE_TIMESTAMP_NS({ns})", f"CAST('{moment}' AS TIMESTAMP_NS)"):
        query = f"SELECT HASH(t) = HASH({made}) AS a WHERE t = '{moment}'"
        assert [row["a"] for row in ds.query(query)] == [True]
    query = "SELECT HASH(t) = HASH($p) AS a WHERE t = $p"
    assert [row["a"] for row in ds.query(query, {"p": moment})] == [True]
