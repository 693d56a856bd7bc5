"""Strings compared with times and numbers are read as such, never rounded to the other side.

A column of strings, and anything computed from one, only compares with strings.
"""

from __future__ import annotations

import operator

import numpy as np
import pytest

import deeplake_lite as dl

UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns")
START = np.datetime64("2020-01-06T00:00:00", "ns")
TEXTS = [
    f"2020-01-06{rest}"
    for rest in ("", "T00:00", "T05:00", "T00:00:00.4", " 00:00:00.6", "T00:00:01.5")
] + [
    f"2020-01-06T00:00:00.{digits}"
    for digits in ("0004", "0006", "0000004", "0000006", "000000001", "5")
]
OPERATORS = {
    "<": operator.lt, "<=": operator.le, "=": operator.eq, "<>": operator.ne,
    ">=": operator.ge, ">": operator.gt,
}  # fmt: skip
REVERSED = {"<": ">", "<=": ">=", "=": "=", "<>": "<>", ">=": "<=", ">": "<"}


def moments_of(unit: str) -> np.ndarray:
    return START.astype(f"datetime64[{unit}]") + np.arange(-2, 3).astype(f"timedelta64[{unit}]")


@pytest.fixture(scope="module")
def ds():
    lake = dl.create(
        "memory://moments-as-text", {u: f"datetime64[{u}]" for u in UNITS}, overwrite=True
    )
    lake.append({u: moments_of(u) for u in UNITS})
    return lake


@pytest.mark.parametrize("unit", UNITS)
def test_times_compare_with_a_string_as_a_time(unit, ds):
    times = moments_of(unit).astype("datetime64[ns]")
    for text in TEXTS:
        moment = np.datetime64(text.replace(" ", "T"), "ns")
        later = np.datetime64("2030-01-01", "ns")
        cases = {f"{unit} {sign} '{text}'": of(times, moment) for sign, of in OPERATORS.items()}
        cases |= {
            f"'{text}' {REVERSED[sign]} {unit}": of(times, moment) for sign, of in OPERATORS.items()
        }
        cases |= {
            f"{unit} IN ('{text}', '1999-01-01')": times == moment,
            f"{unit} NOT IN ('1999-01-01', '{text}')": times != moment,
            f"{unit} BETWEEN '{text}' AND '2030-01-01'": (times >= moment) & (times <= later),
            f"{unit} IS DISTINCT FROM '{text}'": times != moment,
            f"GREATEST({unit}, '{text}') = {unit}": times >= moment,
            f"NULLIF({unit}, '{text}') IS NULL": times == moment,
            f"CASE {unit} WHEN '{text}' THEN TRUE ELSE FALSE END": times == moment,
        }
        for condition, expected in cases.items():
            result = ds.query(f"SELECT ({condition}) AS x")["x"][:]
            assert result.tolist() == expected.tolist(), condition
        result = ds.query(f"SELECT {unit} = $p AS x", {"p": text})["x"][:]
        assert result.tolist() == (times == moment).tolist()


def test_date_compares_with_a_time_of_day_as_midnight(ds):
    result = ds.query("SELECT (CAST(s AS DATE) < '2020-01-06T00:00:00.5') AS x")["x"][:]
    assert result.all()


FORMS = (
    "{a} = {b}", "{a} <> {b}", "{a} < {b}", "{a} IN ({b})", "{a} BETWEEN {b} AND {b}",
    "{a} IS DISTINCT FROM {b}", "NULLIF({a}, {b}) IS NULL", "CASE {a} WHEN {b} THEN 1 ELSE 0 END",
    "EXISTS (SELECT 1 FROM dataset d WHERE {a} = {b})", "({a}, 1) = ({b}, 1)",
)  # fmt: skip


@pytest.fixture(scope="module")
def mixed():
    lake = dl.create(
        "memory://texts-beside-others",
        {
            "i": "int8",
            "u": "uint64",
            "f": "float32",
            "t": "text",
            "s": "datetime64[s]",
            "b": "bool",
        },
        overwrite=True,
    )
    lake.append({"i": [1], "u": [1], "f": [1.5], "t": ["1.4"], "s": ["2020-01-06"], "b": [True]})
    return lake


TEXT = (
    "t", "CAST(i AS TEXT)", "UPPER(t)", "CONCAT(t, i)", "CONCAT('1', '.4')", "REPEAT(t, 1)",
    "SPLIT_PART(t, '.', 1)", "CHR(49)", "STRFTIME(s, '%Y')", "t || '5'", "LIST_EXTRACT([t], 1)",
    "t[1]", "TO_BASE(7, 2)",
)  # fmt: skip


@pytest.mark.parametrize(
    "other", ["i", "u", "f", "s", "b", "1", "1.4", "i + 1", "LEN(t)", "YEAR(s)", "PI()"]
)
@pytest.mark.parametrize("text", TEXT)
def test_string_column_compares_only_with_strings(text, other, mixed):
    for form in FORMS:
        for a, b in ((text, other), (other, text)):
            with pytest.raises(dl.errors.QueryTypeError):
                mixed.query(f"SELECT ({form.format(a=a, b=b)}) AS x")


@pytest.mark.parametrize("other", ["i", "u", "f", "s", "b"])
def test_rows_are_not_joined_on_strings_and_other_types(other, mixed):
    with pytest.raises(dl.errors.QueryTypeError):
        mixed.query(f"SELECT d.i FROM dataset d JOIN dataset ON d.t = dataset.{other}")
    with pytest.raises(dl.errors.QueryTypeError):
        mixed.query(f"SELECT d.i FROM dataset d JOIN (SELECT {other} AS t) e USING (t)")


@pytest.mark.parametrize("column", ["i", "u", "f"])
@pytest.mark.parametrize("number", [1, 1.0, 1.4, 1.5, -0.5, 1.6])
def test_literal_string_next_to_a_number_is_parsed_as_a_number(column, number, mixed):
    value = 1.5 if column == "f" else 1
    for sign, of in OPERATORS.items():
        result = mixed.query(f"SELECT ({column} {sign} '{number}') AS x")["x"][0]
        assert bool(result) == of(value, number), sign
    result = mixed.query(f"SELECT {column} IN ('{number}', '77') AS x")["x"][0]
    assert bool(result) == (value == number)


JOINED = (
    "COALESCE(NULLIF({x}, 1), '{text}')", "CASE WHEN {x} > 1000 THEN {x} ELSE '{text}' END",
    "IF({x} > 1000, {x}, '{text}')", "GREATEST({x}, '{text}')", "{x} * 0 + '{text}'",
    "LAG({x}, 1, '{text}') OVER ()", "LEAD({x}, 1, {text}) OVER ()", "[{x}, '{text}'][1]",
    "LIST_EXTRACT(['{text}', {x}], 1)",
)  # fmt: skip


@pytest.mark.parametrize("column", ["i", "u"])
@pytest.mark.parametrize("form", JOINED)
def test_literal_string_among_numbers_is_not_rounded_to_their_type(form, column, mixed):
    for text in ("1.4", "7.5", " 20.25"):
        result = mixed.query(f"SELECT {form.format(x=column, text=text)} AS x")["x"][0]
        assert result == float(text), text


def test_default_of_lag_has_a_type_that_holds_it(mixed):
    result = mixed.query(
        "SELECT LAG(i, 1, f) OVER () AS a, LAG(b, 1, 3) OVER () AS b, "
        "LAG(f, 1, CAST(0.1 AS DOUBLE)) OVER () AS c, LAG(i, 1, 18446744073709551615) OVER () AS d"
    )
    assert [result[name][0] for name in "abcd"] == [1.5, 3, 0.1, 2**64 - 1]


@pytest.mark.parametrize(
    "moment",
    [
        "CAST(s AS DATE)",
        "MAKE_DATE(2020, 1, 6)",
        "DATE_TRUNC('day', s)",
        "LAST_DAY(s) - INTERVAL '25 days'",
        "MAKE_TIMESTAMP(2020, 1, 6, 0, 0, 0)",
        "STRPTIME('2020-01-06', '%Y-%m-%d')",
        "TIME_BUCKET(INTERVAL '1 day', s)",
    ],
)
def test_computed_times_compare_with_a_string_as_a_time(moment, mixed):
    for text in ("2020-01-06T05:00", "2020-01-06T00:00:00.25", "2020-01-06T00:00:00.000000001"):
        for sign, expected in (("<", True), ("=", False), (">", False), ("<>", True)):
            result = mixed.query(f"SELECT ({moment} {sign} '{text}') AS x")["x"][0]
            assert bool(result) == expected, (sign, text)


def test_union_of_numbers_and_strings_is_strings(mixed):
    rows = mixed.query("SELECT i FROM dataset UNION ALL SELECT '1.4' FROM dataset")
    assert list(rows["i"][:]) == ["1", "1.4"]


OFFSETS = {"Z": 0, "+00:00": 0, "+01:00": 60, "-0530": -330}
MOMENTS = ("2020-01-06T05:00", "2020-01-06 00:00:01.5", "2020-01-06T00:00:00.000000001")


@pytest.mark.parametrize("unit", ["s", "us", "ns"])
@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("moment", MOMENTS)
def test_utc_offset_counts_as_in_columns(unit, offset, moment):
    text = moment + offset
    utc = np.datetime64(moment.replace(" ", "T"), "ns") - np.timedelta64(OFFSETS[offset], "m")
    times = utc.astype(f"datetime64[{unit}]") + np.arange(-2, 3)
    lake = dl.create("memory://offsets", {"t": f"datetime64[{unit}]"}, overwrite=True)
    lake.append({"t": times})
    fine = times.astype("datetime64[ns]")
    cases = {f"t {sign} '{text}'": of(fine, utc) for sign, of in OPERATORS.items()}
    cases |= {
        f"t IN ('{text}', '1999-01-01')": fine == utc,
        f"t BETWEEN '{text}' AND '{text}'": fine == utc,
        f"t IS DISTINCT FROM '{text}'": fine != utc,
        f"NULLIF(t, '{text}') IS NULL": fine == utc,
        f"t = CAST('{text}' AS TIMESTAMP_NS)": fine == utc,
        f"t = COALESCE(NULLIF(t, t), '{text}')": fine == utc,
    }
    for condition, expected in cases.items():
        result = lake.query(f"SELECT ({condition}) AS x")["x"][:]
        assert result.tolist() == expected.tolist(), condition
    for condition, given in (("t = ?", text), ("t IN ?", [text])):
        result = lake.query(f"SELECT ({condition}) AS x", [given])["x"][:]
        assert result.tolist() == (fine == utc).tolist()


@pytest.mark.parametrize("zone", [" Europe/Berlin", " UTC", "EST", "+1", " +01:00"])
@pytest.mark.parametrize("condition", ["s = {}", "s IN ({})", "s = CAST({} AS TIMESTAMP)"])
def test_zone_that_is_not_an_offset_is_refused(ds, zone, condition):
    text = f"'2020-01-06 02:00{zone}'"
    with pytest.raises(dl.errors.QueryTypeError, match="must be Z or an offset from UTC"):
        ds.query(f"SELECT s WHERE {condition.format(text)}")
