"""Quoted times and durations are read to the last digit or refused, in every comparison."""

from __future__ import annotations

import numpy as np
import pytest

import deeplake_lite as dl

TIMES = {
    "2020-02-29 00:00:00.0000000009": False,
    "2020-02-29T00:00:00.0000000009": False,
    "2020-02-29T00:00:00.0000000009Z": False,
    "2020-02-29 00:00:00.00000000000000000001": False,
    "2020-02-29 00:00:00.0000000000": True,
    "2020-02-29T00:00:00.0000000000": True,
    "2020-02-29T02:00:00.000000000000+02:00": True,
}
"""Quoted times, and whether all digits beyond nanoseconds are zeros."""

SPANS = {
    "00:00:00.0050004": False,
    "00:00:00.0050000001": False,
    "5.0004 ms": False,
    "5000.4 microseconds": False,
    "0.0050004 seconds": False,
    "00:00:00.0050000": True,
    "00:00:00.005": True,
    "5.000 milliseconds": True,
    "0.005 seconds": True,
}
"""Quoted durations, and whether they are whole microseconds."""

FORMS = {
    "{x} = {text}": True,
    "{text} = {x}": True,
    "{x} IN ({text}, {text})": True,
    "{x} BETWEEN {text} AND {text}": True,
    "{x} < {text}": False,
    "NOT ({x} <> {text})": True,
    "CASE {x} WHEN {text} THEN true ELSE false END": True,
    "COALESCE({x}, {text}) = {x}": True,
    "{x} IS NOT DISTINCT FROM {text}": True,
}
"""Comparisons, and their results for equal times."""


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    time = np.datetime64("2020-02-29")
    units = ("D", "s", "ms", "us", "ns")
    fields = {f"t_{unit}": f"datetime64[{unit}]" for unit in units}
    ds = dl.create(
        "memory://fractions",
        {**fields, "td": "timedelta64[ms]", "v": dl.Array("datetime64[s]", (1,))},
        overwrite=True,
    )
    values = {f"t_{unit}": [time.astype(f"M8[{unit}]")] for unit in units}
    ds.append({**values, "td": [np.timedelta64(5, "ms")], "v": [time.astype("M8[s]").reshape(1)]})
    ds.commit("a day")
    return ds


def check(ds: dl.Dataset, form: str, column: str, text: str, *, is_exact: bool) -> None:
    for shown, params in ((f"'{text}'", {}), ("$p", {"p": text})):
        query = f"SELECT {form.format(x=column, text=shown)} AS x"
        if is_exact:
            assert np.ravel(ds.query(query, params)["x"][:]).tolist() == [FORMS[form]]
        else:
            with pytest.raises(dl.QueryTypeError, match=r"must be a whole number of (nano|micro)"):
                ds.query(query, params)["x"][:]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("text", TIMES)
@pytest.mark.parametrize("column", ["t_D", "t_s", "t_ms", "t_us", "t_ns", "(t_s + INTERVAL 0 DAY)"])
def test_times_are_read_to_the_last_digit(
    ds: dl.Dataset, column: str, text: str, form: str
) -> None:
    check(ds, form, column, text, is_exact=TIMES[text])


@pytest.mark.parametrize("form", ["{x} = {text}", "{text} = {x}", "{x} < {text}"])
@pytest.mark.parametrize("text", TIMES)
def test_times_next_to_arrays_are_read_to_the_last_digit(
    ds: dl.Dataset, text: str, form: str
) -> None:
    check(ds, form, "v", text, is_exact=TIMES[text])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("text", SPANS)
@pytest.mark.parametrize("column", ["td", "(td + td - td)"])
def test_durations_are_read_to_the_last_digit(
    ds: dl.Dataset, column: str, text: str, form: str
) -> None:
    check(ds, form, column, text, is_exact=SPANS[text])


@pytest.mark.parametrize(
    "query",
    [
        "CAST('00:00:00.0050004' AS INTERVAL)",
        "CAST('12:00:00.0000004' AS TIME)",
        "CAST(t_s AS TIME) = '00:00:00.0000004'",
        "INTERVAL '1.5' MICROSECOND",
        "INTERVAL 0.0000001 SECOND",
        "INTERVAL 1.2345678 SECOND",
        "CAST('2020-02-29 00:00:00.0000000009' AS TIMESTAMP)",
        "CAST('2020-02-29 00:00:00.0000000009' AS TIMESTAMP_NS)",
        "TIMESTAMP '2020-02-29 00:00:00.0000000009'",
    ],
)
def test_casts_are_read_to_the_last_digit(ds: dl.Dataset, query: str) -> None:
    with pytest.raises(dl.QueryTypeError, match=r"must be a whole number of (nano|micro)seconds"):
        ds.query(f"SELECT {query} AS x")["x"][:]


@pytest.mark.parametrize("text", ["2020/02/29 00:00:00.4", "2020-2-29 0:00:00.4"])
def test_fraction_in_another_form_is_refused(ds: dl.Dataset, text: str) -> None:
    with pytest.raises(dl.QueryTypeError, match="A string compared with times must be a time"):
        ds.query(f"SELECT t_s = '{text}' AS x")
    assert ds.query(f"SELECT t_s = '{text[:-2]}' AS x")["x"][:].tolist() == [True]


def test_one_digit_hour_is_not_a_time_zone(ds: dl.Dataset) -> None:
    assert ds.query("SELECT t_s = '2020-02-29T0:00' AS x")["x"][:].tolist() == [True]


def test_cast_with_another_form_of_time_zone_compares(ds: dl.Dataset) -> None:
    found = ds.query("SELECT t_s WHERE t_s < CAST('2030-01-01 00:00:00+00' AS TIMESTAMPTZ)")
    assert len(found) == 1
