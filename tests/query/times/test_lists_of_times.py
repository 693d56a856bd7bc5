"""An item of a list of times, passed as a parameter, is a time."""

import datetime as dt

import numpy as np
import pytest

import deeplake_lite as dl

MOMENT = dt.datetime(2024, 1, 1, 23, 30)
FINE = np.datetime64("2024-01-01T23:30:00.123456789")

LISTS = {
    "datetimes": ("t_us", [MOMENT, MOMENT + dt.timedelta(days=1)]),
    "dates": ("t_D", [MOMENT.date(), dt.date(2024, 2, 1)]),
    "a date and a time": ("t_us", [MOMENT, dt.date(2024, 2, 1)]),
    "with a time zone": ("t_us", [MOMENT.replace(tzinfo=dt.UTC), dt.datetime(2025, 1, 1)]),
    "seconds": ("t_s", np.array([MOMENT, "2024-01-03"], "M8[s]")),
    "microseconds": ("t_us", np.array([MOMENT, "2024-01-03"], "M8[us]")),
    "nanoseconds": ("t_ns", np.array([FINE, "2024-01-03"], "M8[ns]")),
    "scalars": ("t_ns", [FINE, MOMENT + dt.timedelta(days=1)]),
    "durations": ("d", [dt.timedelta(seconds=5), dt.timedelta(seconds=6)]),
    "an array of durations": ("d", np.array([5, 6], "m8[s]")),
}
"""Columns, and lists of a time that is in the column and of a later one."""


@pytest.fixture(scope="module")
def ds():
    """Make a lake with times of several types, in two rows."""
    times = {
        "t_us": np.datetime64(MOMENT, "us"), "t_D": np.datetime64("2024-01-01"),
        "t_s": np.datetime64(MOMENT, "s"), "t_ns": FINE, "d": np.timedelta64(5, "s"),
    }  # fmt: skip
    schema = {column: f"{time.dtype}" for column, time in times.items()}
    lake = dl.create("memory://lists_of_times", schema | {"id": "int64"}, overwrite=True)
    lake.append({column: [time] * 2 for column, time in times.items()} | {"id": [0, 1]})
    return lake


def _values(ds, expression, value):
    return list(ds.query(f"SELECT {expression} AS x ORDER BY id", params={"p": value})["x"][:])


@pytest.mark.parametrize("convert", [lambda x: x, list, tuple])
@pytest.mark.parametrize("name", LISTS)
def test_items_compare_as_times(ds, name, convert):
    column, values = LISTS[name]
    values = convert(values)
    for index, expected in (("0", [True, True]), ("-1", [False, False]), ("id", [True, False])):
        assert _values(ds, f"{column} = $p[{index}]", values) == expected
        assert _values(ds, f"{column} >= $p[{index}]", values) == expected
        assert _values(ds, f"{column} IS NOT DISTINCT FROM $p[{index}]", values) == expected
        assert _values(ds, f"{column} IN ($p[{index}])", values) == expected
    assert len(ds.query(f"SELECT id WHERE {column} BETWEEN $p[0] AND $p[1]", params={"p": values}))


@pytest.mark.parametrize("name", LISTS)
def test_items_are_returned_as_times(ds, name):
    column, values = LISTS[name]
    (first, _), items = _values(ds, "$p[0]", values), _values(ds, "$p[id]", values)
    assert first == items[0] == ds[column][0]
    assert items[1] > items[0]


@pytest.mark.parametrize("index", ["0", "id"])
def test_functions_take_items(ds, index):
    values = [MOMENT + dt.timedelta(minutes=7)] * 2
    assert _values(ds, f"DATE_DIFF('minute', t_us, $p[{index}])", values) == [7, 7]
    assert _values(ds, f"$p[{index}] - t_us", values) == [dt.timedelta(minutes=7)] * 2
    assert _values(ds, f"DATE_TRUNC('hour', $p[{index}]) < t_us", values) == [True] * 2
    assert _values(ds, f"YEAR($p[{index}])", values) == [2024] * 2


def test_nulls_and_positions_out_of_range(ds):
    for index in ("1", "id + 1", "id + 5"):
        x = ds.query(f"SELECT $p[{index}] AS x LIMIT 1", params={"p": [MOMENT, None]})["x"]
        assert np.ma.getmaskarray(x[:]).all()
    with pytest.raises(dl.QueryError, match="out of range for an axis of length 2"):
        ds.query("SELECT $p[2] AS x", params={"p": [MOMENT] * 2})


def test_times_of_day(ds):
    values = [dt.time(1, 2), dt.time(23, 30)]
    assert _values(ds, "CAST(t_us AS TIME) = $p[1]", values) == [True] * 2


def test_items_of_nested_lists(ds):
    values = [[dt.datetime(2020, 1, 1)], [MOMENT]]
    for expression in ("t_us = $p[1][0]", "t_us = $p[1, 0]", "t_us > $p[id, 0]"):
        assert _values(ds, expression, values)[0]


def test_an_item_of_a_list_of_several_types(ds):
    values = [MOMENT, "2024-01-02 00:30+01:00", None]
    assert _values(ds, "t_us = $p[0]", values) == [True] * 2
    assert _values(ds, "t_us = $p[1]", values) == [True] * 2
    with pytest.raises(dl.QueryError, match="Pass a separate list for each type"):
        ds.query("SELECT t_us = $p[0]", params={"p": [MOMENT, 1]})


@pytest.mark.parametrize(
    "value",
    [
        MOMENT, MOMENT.date(), dt.timedelta(1), dt.time(1), np.datetime64(MOMENT), FINE,
        np.timedelta64(1, "s"), np.array([FINE]), [np.datetime64(MOMENT)], {"b": FINE},
    ],
)  # fmt: skip
def test_dicts_take_no_times(ds, value):
    with pytest.raises(dl.QueryError, match="must be a JSON object of strings, numbers"):
        ds.query("SELECT t_us = $p.t", params={"p": {"t": value}})


@pytest.mark.parametrize("values", [[["a", 1], "b"], [["b", 1]], [[["a", 1]]], [["a"], 1]])
def test_lists_that_mix_types_within_are_json(ds, values):
    assert _values(ds, "LIST_CONTAINS($p, 'b')", values) == ["b" in values] * 2
    assert _values(ds, "LEN($p)", values) == [len(values)] * 2
