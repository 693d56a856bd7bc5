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
    result = ds.query("SELECT t_s WHERE t_s < CAST('2030-01-01 00:00:00+00' AS TIMESTAMPTZ)")
    assert len(result) == 1


CASTS = {
    "TIMESTAMP_S": ("2020-02-29 00:00:01.000", "2020-02-29 00:00:01.4"),
    "TIMESTAMP_MS": ("2020/02/29 00:00:01.5", "2020-02-29 00:00:01.0004"),
    "TIMESTAMP": ("2020-02-29 00:00:01.0000010", "2020-02-29 00:00:01.0000004"),
    "DATETIME": ("2020-02-29 00:00:01.5", "2020/02/29 00:00:01.0000000009"),
    "TIMESTAMPTZ": ("2020-02-29 00:00:01.5+00", "2020-02-29 00:00:01.0000004+01"),
    "TIMESTAMP_NS": ("2020-02-29 00:00:01.0000004", "2020-02-29 00:00:01.0000000004"),
    "TIME": ("12:00:00.5", "12:00:00.0000004"),
    "INTERVAL": ("1.5 ms", "1.0004 ms"),
}
"""Types of times, a string that each holds exactly, and one that it does not hold."""


@pytest.mark.parametrize("form", ["'{}'", "CONCAT('{}', '')", "TO_JSON('{}')"])
@pytest.mark.parametrize("type_", CASTS)
def test_cast_of_a_string_is_exact_or_refused(ds: dl.Dataset, type_: str, form: str) -> None:
    exact, finer = (form.format(text) for text in CASTS[type_])
    cast = f"CAST({{}} AS {type_}) IS NOT NULL AS x"
    assert ds.query(f"SELECT {cast.format(exact)}")["x"][:].tolist() == [True]
    assert ds.query(f"SELECT TRY_{cast.format(exact)}")["x"][:].tolist() == [True]
    assert ds.query(f"SELECT TRY_{cast.format(finer)}")["x"][:].tolist() == [False]
    with pytest.raises(dl.QueryTypeError, match=r"must be a whole number of \w*seconds"):
        ds.query(f"SELECT {cast.format(finer)}")["x"][:]


@pytest.mark.parametrize("unit", ["D", "s", "us", "ns"])
@pytest.mark.parametrize("text", TIMES)
def test_times_are_searched_in_lists(ds: dl.Dataset, text: str, unit: str) -> None:
    for call in (f"LIST_CONTAINS([t_{unit}], $p)", f"LIST_POSITION([t_{unit}], $p) = 1"):
        if TIMES[text]:
            assert ds.query(f"SELECT {call} AS x", {"p": text})["x"][:].tolist() == [True]
        else:
            with pytest.raises(dl.QueryTypeError, match="must be a whole number of nano"):
                ds.query(f"SELECT {call} AS x", {"p": text})


def test_time_searched_in_a_list_is_not_rounded(ds: dl.Dataset) -> None:
    text = "2020-02-29 00:00:00.000000009"
    for unit in ("s", "us", "ns"):
        result = ds.query(f"SELECT LIST_CONTAINS([t_{unit}], $p) AS x", {"p": text})
        assert result["x"][:].tolist() == [False]


@pytest.mark.parametrize(
    ("text", "is_time"),
    [
        ("2020/02/29", True),
        ("2020-2-29 00:00", True),
        ("2020 02 29", True),
        ("2020-2-30", False),
        ("2020/02/29 00:00:00+01:00", False),
        ("2020/02/29 00:00:00 CET", False),
        ("29.02.2020", False),
    ],
)
def test_scalars_and_arrays_accept_times_in_the_same_forms(
    ds: dl.Dataset, text: str, is_time: bool
) -> None:
    for query in ("t_s = $p", "ALL(v = $p)", "CONTAINS(v, $p)", "LIST_CONTAINS([t_s], $p)"):
        if is_time:
            assert ds.query(f"SELECT {query} AS x", {"p": text})["x"][:].tolist() == [True]
        else:
            with pytest.raises(dl.QueryTypeError):
                ds.query(f"SELECT {query} AS x", {"p": text})["x"][:]


@pytest.mark.parametrize("query", ["t_s = $p", "t_ns = $p", "$p <> t_D", "v = $p"])
def test_time_string_with_surrounding_spaces_is_refused(ds: dl.Dataset, query: str) -> None:
    with pytest.raises(dl.QueryTypeError, match=r"[Tt]imes .* but .*' 2020-02-29 '"):
        ds.query(f"SELECT {query} AS x", {"p": " 2020-02-29 "})


@pytest.mark.parametrize("text", ["'1.5 seconds'", "'1.5' SECOND", "'1500 ms'", "'0.025 minutes'"])
def test_interval_has_its_unit_in_its_string_or_after_it(ds: dl.Dataset, text: str) -> None:
    result = ds.query(f"SELECT INTERVAL {text} AS x")["x"][:]
    assert result.tolist() == [np.timedelta64(1500, "ms").astype("m8[us]").item()]
    with pytest.raises(dl.QueryTypeError, match="must be a whole number of microseconds"):
        ds.query("SELECT INTERVAL '1.0000005 seconds' AS x")
