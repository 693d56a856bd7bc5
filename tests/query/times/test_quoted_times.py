"""A quoted time that meets a time is read to the last digit, and its UTC offset is respected."""

import datetime as dt

import numpy as np
import pytest

import deeplake_lite as dl

TIME = np.datetime64("2024-01-01T23:30")
SAME = "2024-01-02 00:30+01:00"
"""The same time with an offset from UTC."""

FINE = "2024-01-01 23:30:00.123456789"

ODD = "2024/01/02 00:30+01:00"
"""A time in a form whose offset SQL ignores."""

COLUMNS = {"t": "datetime64[us]", "s": "datetime64[s]", "n": "datetime64[ns]"}

ZERO = dt.timedelta(0)

CALLS = {
    "DATE_DIFF('minute', {t}, {q})": 0,
    "DATE_DIFF('minute', {q}, {t})": 0,
    "DATEDIFF('second', {t}, {q})": 0,
    "DATE_SUB('minute', {t}, {q})": 0,
    "DATESUB('hour', {q}, {t})": 0,
    "EPOCH(AGE({t}, {q}))": 0,
    "EPOCH(AGE({q}, {t}))": 0,
    "{q} - {t}": ZERO,
    "{t} - {q}": ZERO,
    "SUBTRACT({t}, {q})": ZERO,
    "SUBTRACT({q}, {t})": ZERO,
    "({q} + INTERVAL 1 HOUR) - {t}": dt.timedelta(hours=1),
    "DATE_ADD({q}, INTERVAL 1 DAY) - {t}": dt.timedelta(days=1),
    "({q} - INTERVAL 1 HOUR) - {t}": dt.timedelta(hours=-1),
    "TIME_BUCKET(INTERVAL 1 DAY, {t}, {q}) = {t}": True,
    "[{t}, {q}][0] = [{t}, {q}][1]": True,
    "LIST_VALUE({q}, {t})[0] = {t}": True,
    "{{'a': [{t}, {q}]}}.a[1] = {t}": True,
    "COALESCE({t}, {q}) = {t}": True,
    "COALESCE(NULLIF({t}, {t}), {q}) = {t}": True,
    "GREATEST({t}, {q}) = LEAST({t}, {q})": True,
    "LAG({t}, 1, {q}) OVER () = {t}": True,
    "CASE WHEN FALSE THEN {t} ELSE {q} END = {t}": True,
    "{t} BETWEEN {q} AND {q}": True,
    "{t} IN ({q})": True,
    "NULLIF({t}, {q}) IS NULL": True,
    "{t} IS NOT DISTINCT FROM {q}": True,
    "LIST_CONTAINS([{t}], {q})": True,
    "LIST_APPEND([{t}], {q})[1] = {t}": True,
    "LIST_RESIZE([{t}], 2, {q})[1] = {t}": True,
    "LIST_TRANSFORM([{t}], x -> x - {q})[0]": ZERO,
    "LIST_TRANSFORM([{t}], x -> DATE_DIFF('minute', x, {q}))[0]": 0,
    "MAP([{t}], [1])[{q}]": 1,
    "ELEMENT_AT(MAP([{t}], [1]), {q})[0]": 1,
    "MAP_EXTRACT(MAP([{t}], [1]), {q})[0]": 1,
    "MAP_CONTAINS(MAP([{t}], [1]), {q})": True,
    "MAP_CONTAINS_VALUE(MAP([1], [{t}]), {q})": True,
    "MAP_CONTAINS_ENTRY(MAP([1], [{t}]), 1, {q})": True,
    "STRUCT_CONTAINS(ROW({t}), {q})": True,
    "CAST({q} AS TIMESTAMP) = {t}": True,
}
"""Calls with a time and a quoted time that is the same, and their results."""

QUOTED = [f"'{SAME}'", "$p", "$l[0]", "$l[-1]"]


@pytest.fixture(scope="module")
def ds():
    """Make a lake with one time in several units."""
    lake = dl.create("memory://quoted_times", COLUMNS | {"d": "timedelta64[us]"}, overwrite=True)
    lake.append({column: [TIME] for column in COLUMNS} | {"d": [np.timedelta64(1, "s")]})
    return lake


def _value(ds, expression):
    values = {"p": SAME, "l": [SAME]}
    params = {name: value for name, value in values.items() if f"${name}" in expression}
    return ds.query(f"SELECT {expression} AS x", params=params)["x"][0]


@pytest.mark.parametrize("quoted", QUOTED)
@pytest.mark.parametrize("call", CALLS)
def test_offsets_are_respected(ds, call, quoted):
    for column in COLUMNS:
        assert _value(ds, call.format(t=column, q=quoted)) == CALLS[call]


@pytest.mark.parametrize("column", COLUMNS)
def test_all_digits_are_read(ds, column):
    moment = np.datetime64(FINE)
    calls = (f"[{column}, '{FINE}'][1]", f"COALESCE(NULL, '{FINE}', {column})")
    calls += (f"LIST_APPEND([{column}], '{FINE}')[1]", f"LAG({column}, 1, '{FINE}') OVER ()")
    for call in calls:
        assert _value(ds, call) == moment
    assert _value(ds, f"DATE_DIFF('microsecond', {column}, '{FINE}')") == 123456


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize(
    "call",
    ["'{}' - {}", "SUBTRACT('{}', {})", "AGE('{}', {})", "[{1}, '{0}'][1] - {1}"],
)
def test_durations_with_nanoseconds_are_errors(ds, call, column):
    with pytest.raises(dl.QueryError, match="has nanoseconds"):
        ds.query(f"SELECT {call.format(FINE, column)} AS x").to_pandas()


@pytest.mark.parametrize("text", [ODD, "2024-01-01 23:30 Europe/Berlin", "x", f"{FINE}1"])
@pytest.mark.parametrize("call", [c for c in CALLS if "INTERVAL 1 H" not in c and "CAST" not in c])
def test_other_strings_are_rejected(ds, call, text):
    if "INTERVAL 1 DAY)" in call or (text == "x" and "STRUCT_CONTAINS" in call):
        return  # the string stands beside a duration, or beside a value of any type
    with pytest.raises(dl.QueryError):
        ds.query(f"SELECT {call.format(t='t', q=repr(text))} AS x").to_pandas()


@pytest.mark.parametrize("expression", ["t + '{}'", "ADD(t, '{}')", "d - '{}'", "[d, '{}']"])
def test_quoted_durations_are_whole_microseconds(ds, expression):
    with pytest.raises(dl.QueryError, match="whole number of microseconds"):
        ds.query(f"SELECT {expression.format('0.0000005 s')} AS x")
    ds.query(f"SELECT {expression.format('0.000005 s')} AS x").to_pandas()


def test_lists_with_nanoseconds_keep_their_unit(ds):
    with pytest.raises(dl.QueryError, match="has nanoseconds"):
        ds.query("SELECT [t, n + INTERVAL 1 SECOND, $p][2] - t", params={"p": FINE}).to_pandas()


@pytest.mark.parametrize("call", ["LIST_APPEND([{}], 'x')", "LIST_CONTAINS([{}], 'x')"])
def test_strings_that_are_no_times_have_a_message(ds, call):
    with pytest.raises(dl.QueryError, match=r"TEXT|'x'"):
        ds.query(f"SELECT {call.format('t')} AS x").to_pandas()


def test_structs_are_no_type_of_a_cast(ds):
    with pytest.raises(
        dl.QueryError, match=r"The type in CAST must be a simple type .* a TIMESTAMP"
    ):
        ds.query("SELECT CAST({'a': t} AS STRUCT(a TIMESTAMP))")
